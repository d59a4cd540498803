"""What an analyst sees who has NumPy and SciPy alone. Run as a script: with ``--pretend`` all else is refused.

Prints one JSON object: what every release file named on the command line gave, and what some other calls said.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


class OnlyNumPyAndSciPy:
    """Refuses to find what is neither Python's own, nor NumPy, SciPy or this library."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        root = name.partition(".")[0]
        known = {"numpy", "scipy", "discreet", *sys.stdlib_module_names}
        # Python's own that are not in that list, such as what sysconfig reads, begin with an underscore
        if root not in known and not root.startswith("_"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def told(call: Callable[[], Any]) -> str:
    """Return what a call gave, or the type and text of its error."""
    try:
        return f"ok {call()}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def read(path: str) -> str:
    """Read a release file."""
    import discreet as dc

    return told(lambda: dc.infer(path, rng=0, draws=400).diagnostics.engine)


def main() -> None:
    if "--pretend" in sys.argv:
        sys.meta_path.insert(0, OnlyNumPyAndSciPy())  # pyright: ignore[reportArgumentType]
    import discreet as dc
    from discreet.cli import run

    paths = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    files = {Path(path).name: read(path) for path in paths}
    exact = next(path for path in paths if files[Path(path).name] == "ok exact")
    posterior = dc.infer(exact, rng=0)
    calls = {
        "summary": told(lambda: len(posterior.summary()) > 0),
        "plot": told(posterior.plot),
        "to_arviz": told(posterior.to_arviz),
        "release": told(lambda: dc.release("rows.csv", dc.Bernoulli(), column="x", epsilon=1)),
        "ledger": told(lambda: dc.Ledger),
        "report": told(lambda: dc.report),
        "sklearn": told(lambda: __import__("discreet.sklearn")),
        "conversion": told(lambda: dc.compose(dc.PureDP("0.1"), dc.PureDP("0.2")).to_approx("1e-6")),
        "names": told(
            lambda: [
                name for name in dc.__all__ if name not in ("Ledger", "report") and not hasattr(dc, name)
            ]
        ),
    }
    print(json.dumps({"files": files, "calls": calls, "loaded": sorted(sys.modules)}))
    sys.exit(run(["infer", exact]))


if __name__ == "__main__":
    main()
