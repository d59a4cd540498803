"""What a calibration found: ranks, tests, coverage, a verdict; in words and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arguments import FilePath, probability
from discreet.inference.summary import aligned
from discreet.validation.bands import Band, simultaneous_band
from discreet.validation.ranks import (
    CONFIDENCE,
    PROBS,
    Coverage,
    Uniformity,
    coverage,
    noticeable_coverage,
    uniformity,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: A verdict raises a false alarm this often, unless the caller asks for another rate.
FALSE_ALARM = 0.01
# Passing says nothing if 90% intervals that hold the truth six times in ten could pass.
_TELLING = 0.6


@dataclass(frozen=True, eq=False, repr=False)
class Calibration:
    """Where the true parameter fell among the draws, in each of many simulated releases.

    Parameters
    ----------
    ranks
        By full name of the scalar (``p[b]``), its rank in each trial as a number in (0, 1): uniform if the posterior is
        calibrated.
    settings
        What was simulated, as plain values.
    engines
        How many trials each engine read.
    seconds
        How long it took.
    warnings
        What a careful reader should know, one sentence each.
    """

    ranks: Mapping[str, np.ndarray]
    settings: Mapping[str, Any]
    engines: Mapping[str, int]
    seconds: float
    warnings: tuple[str, ...] = ()

    @property
    def trials(self) -> int:
        """Number of simulated releases."""
        return len(next(iter(self.ranks.values())))

    @cached_property
    def uniformity(self) -> dict[str, Uniformity]:
        """Kolmogorov-Smirnov test, and test of the width, by name."""
        return {name: uniformity(values) for name, values in self.ranks.items()}

    @cached_property
    def coverage(self) -> dict[str, tuple[Coverage, ...]]:
        """How often central intervals of 50, 80, 90 and 95% held the truth, by name."""
        return {name: coverage(values) for name, values in self.ranks.items()}

    def passed(self, false_alarm: float = FALSE_ALARM) -> bool:
        """Tell whether the ranks give no reason to doubt the posterior.

        A calibrated posterior fails with probability at most ``false_alarm``, which all tests of all parameters share
        equally (two tests each, see :class:`~discreet.validation.ranks.Uniformity`). Passing is evidence, never proof:
        an error too small for this many trials goes unseen.
        """
        each = self._level(probability(false_alarm, "false_alarm"))
        return all(found.least_p_value > each for found in self.uniformity.values())

    def _level(self, false_alarm: float) -> float:
        """Return the level of each of the tests that share a false-alarm rate."""
        return false_alarm / (2 * len(self.ranks))

    def band(self, prob: float = 0.95) -> Band:
        """Return the band that holds the whole distribution function of one calibrated parameter's ranks."""
        return simultaneous_band(self.trials, prob)

    def summary(self, false_alarm: float = FALSE_ALARM) -> CalibrationSummary:
        """Return tables of the tests and of the coverage, with the verdict."""
        return CalibrationSummary(
            self.uniformity,
            self.coverage,
            self.passed(false_alarm),
            false_alarm,
            self.about,
            self.warnings,
            noticeable_coverage(self.trials, self._level(false_alarm)),
        )

    @property
    def about(self) -> tuple[str, str]:
        """What was simulated, and how, in two lines."""
        return describe(self.settings, self.engines, self.trials)

    def plot(
        self,
        path: FilePath | None = None,
        *,
        prob: float | None = None,
        false_alarm: float = FALSE_ALARM,
        **options: Any,
    ) -> Figure:
        """Draw how far each parameter's ranks are from uniform, inside a simultaneous band, and their histogram.

        ``false_alarm`` is that of the verdict, and of the bands of all parameters together unless ``prob`` says
        otherwise. ``options`` go to :func:`discreet.reporting.plot_calibration`.
        """
        from discreet.reporting import plot_calibration

        summary = self.summary(false_alarm)
        band = self.band(1 - false_alarm / len(self.ranks) if prob is None else prob)
        notes = [*self.about, summary.power]
        outside = [name for name, values in self.ranks.items() if not band.holds(values)]
        if summary.passed:
            notes.append(summary.verdict)
            if outside:
                # another test than those of the verdict
                leave = "leaves its band" if len(outside) == 1 else "leave their bands"
                notes.append(f"{', '.join(outside)} {leave} all the same: run more trials")
        return plot_calibration(
            self.ranks,
            points=band.points,
            low=band.low,
            high=band.high,
            prob=band.prob,
            path=path,
            title=f"Calibration, {', '.join(self.engines)} engine",
            notes=notes,
            warning=None if summary.passed else summary.verdict,
            words={
                name: f"KS {found.ks:.3f}, p-value {found.p_value:.2g}"
                for name, found in self.uniformity.items()
            },
            **options,
        )

    def to_dict(self, false_alarm: float = FALSE_ALARM) -> dict[str, Any]:
        """Return plain numbers and strings, without the ranks themselves."""
        return {
            **self.settings,
            "trials": self.trials,
            **self.summary(false_alarm).to_dict(),
            "engines": dict(self.engines),
            "seconds": self.seconds,
        }

    def __repr__(self) -> str:
        return str(self.summary())


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
