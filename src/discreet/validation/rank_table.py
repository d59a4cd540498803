"""A calibration in words and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from discreet.inference.summary import aligned
from discreet.validation.ranks import CONFIDENCE, PROBS, Coverage, Uniformity

# Passing says nothing if 90% intervals that hold the truth six times in ten could pass.
_TELLING = 0.6


@dataclass(frozen=True, repr=False)
class CalibrationSummary:
    """The tests and the coverage of every parameter, and the verdict; printing it aligns them in tables."""

    uniformity: Mapping[str, Uniformity]
    coverage: Mapping[str, Sequence[Coverage]]
    passed: bool
    false_alarm: float
    about: tuple[str, str]
    warnings: tuple[str, ...] = ()
    #: How rarely 90% intervals must hold the truth for so many trials to notice, mostly; None if they never would.
    noticeable: float | None = None

    @property
    def power(self) -> str:
        """What so few trials could notice, in one sentence."""
        if self.noticeable is None:
            return "so few trials cannot notice anything, whatever the posterior"
        return (
            "so many trials notice, four times in five, 90% intervals that hold the truth at most "
            f"{100 * self.noticeable:.0f}% of the time"
        )

    @property
    def verdict(self) -> str:
        """One sentence."""
        if self.passed:
            told = self.noticeable is not None and self.noticeable >= _TELLING
            claim = "calibrated" if told else "too few trials to tell"
            return (
                f"{claim}: nothing speaks against it at a false-alarm rate of {100 * self.false_alarm:.3g}%"
            )
        name = min(self.uniformity, key=lambda name: self.uniformity[name].least_p_value)
        worst = self.uniformity[name]
        if worst.outside_p_value < worst.p_value:
            share = f"{100 * worst.outside:.3g}% of the truths lie outside their 90% intervals"
            return f"NOT calibrated: {share} ({name}, p-value {p_value(worst.outside_p_value)})"
        return f"NOT calibrated: ranks of {name} are not uniform (KS {worst.ks:.3f}, p-value {p_value(worst.p_value)})"

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and strings."""
        return {
            "passed": self.passed,
            "verdict": self.verdict,
            "false_alarm": self.false_alarm,
            "noticeable_coverage": self.noticeable,
            "parameters": [
                {
                    "name": name,
                    **asdict(found),
                    "coverage": [asdict(row) for row in self.coverage[name]],
                }
                for name, found in self.uniformity.items()
            ],
            "warnings": list(self.warnings),
        }

    @property
    def tables(self) -> list[str]:
        """The tests and the coverage, as lines of two tables."""
        tests = [["", "KS", "p-value", "outside 90%", "p-value"]]
        shares = [["", *(f"{100 * prob:g}% interval" for prob in PROBS)]]
        for name, found in self.uniformity.items():
            tests.append(
                [
                    name,
                    f"{found.ks:.4f}",
                    p_value(found.p_value),
                    f"{100 * found.outside:.1f}%",
                    p_value(found.outside_p_value),
                ]
            )
            cells = (
                f"{100 * c.share:.1f}% ({100 * c.low:.1f}–{100 * c.high:.1f})" for c in self.coverage[name]
            )
            shares.append([name, *cells])
        return [*aligned(tests), "", *aligned(shares)]

    @property
    def sentences(self) -> list[str]:
        """What to know about the tables, and the verdict."""
        limits = f"coverage with {100 * CONFIDENCE:g}% limits (Clopper-Pearson)"
        return [limits, *(f"warning: {text}" for text in self.warnings), self.power, self.verdict]

    def __str__(self) -> str:
        return "\n".join([*self.about, "", *self.tables, "", *self.sentences])

    __repr__ = __str__


def describe(settings: Mapping[str, Any], engines: Mapping[str, int], trials: int) -> tuple[str, str]:
    """Say in one line what was simulated, and in another how it was read."""
    if settings["records"] is not None:
        count = "{:,} to {:,}".format(*settings["records"])
    else:
        count = f"{'up to ' if settings['missing'] == 'count' else ''}{settings['n']:,}"
    # a release counts missing values unless told that there are none; a simulation has none unless told otherwise
    whole = ", none missing" if settings["missing"] == "none" and settings["records"] is None else ""
    what = (
        f"{settings['model']} model of {count} simulated records{whole}, prior {settings['prior']}, "
        f"{settings['guarantee']}"
    )
    read = ", ".join(
        f"{name} engine" if number == trials else f"{name} engine ({number:,} trials)"
        for name, number in engines.items()
    )
    return what, f"{trials:,} trials, ranks among {settings['draws']} draws, {read}"


def p_value(p: float) -> str:
    """Print a p-value to two digits."""
    return f"{p:.2f}" if p >= 0.1 else f"{p:.2g}"
