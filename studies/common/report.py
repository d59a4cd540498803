"""The end of a study: claims as text, numbers as JSON, the files, and the exit code."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from .claim import Claim, Panel

RESULTS = Path(__file__).parents[1] / "results"


def arguments_of(description: str | None) -> argparse.ArgumentParser:
    """Return a parser with the options that every study has."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the picture and the numbers")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a claim fails")
    return parser


def report(claims: Sequence[Claim]) -> str:
    """Return the claims and how many of them hold."""
    width = max((len(claim.source) for claim in claims), default=0) + 1
    lines = []
    for claim in claims:
        verdict = "pass" if claim.holds else "FAIL"
        lines += [f"{verdict}  {claim.source:<{width}} {claim.text}", f"{'':{width + 7}}{claim.measured}"]
    lines.append(f"{sum(claim.holds for claim in claims)} of {len(claims)} claims hold")
    return "\n".join(lines)


def to_dict(
    name: str, settings: dict[str, Any], panels: Sequence[Panel], claims: Sequence[Claim]
) -> dict[str, object]:
    """Return plain numbers: the settings, the claims and every point of the figure."""
    return {
        "schema": f"discreet/study-{name}/1",
        "settings": settings,
        "claims": [asdict(claim) for claim in claims],
        "panels": {
            panel.name: {key: np.asarray(values).tolist() for key, values in panel.series.items()}
            for panel in panels
        },
    }


def write(folder: Path, name: str, text: str, numbers: dict[str, Any]) -> dict[str, str]:
    """Write report and numbers; return both by the ending of their file."""
    folder.mkdir(parents=True, exist_ok=True)
    contents = {"txt": text, "json": json.dumps(numbers, indent=1, ensure_ascii=False)}
    for ending, content in contents.items():
        (folder / f"{name}.{ending}").write_text(content + "\n", encoding="utf-8")
    return contents


def finished(options: argparse.Namespace, contents: dict[str, str], claims: Sequence[Claim]) -> int:
    """Print what was asked for, and return the exit code."""
    print(contents["json" if options.json else "txt"])
    return int(options.check and not all(claim.holds for claim in claims))


def conclude(
    options: argparse.Namespace,
    name: str,
    settings: dict[str, Any],
    panels: Sequence[Panel],
    draw: Callable[..., object],
    more: str = "",
) -> int:
    """Write report, numbers and picture of a study whose claims are its panels'; return the exit code.

    ``more`` follows the claims in the report.
    """
    claims = [claim for panel in panels for claim in panel.claims]
    contents = write(options.out, name, report(claims) + more, to_dict(name, settings, panels, claims))
    draw(panels, path=options.out / f"{name}.png")
    return finished(options, contents, claims)
