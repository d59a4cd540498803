"""What a calibration found: ranks, tests, coverage, a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arguments import FilePath, probability
from discreet.validation.bands import Band, simultaneous_band
from discreet.validation.rank_table import CalibrationSummary, describe
from discreet.validation.ranks import Coverage, Uniformity, coverage, noticeable_coverage, uniformity

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: A verdict raises a false alarm this often, unless the caller asks for another rate.
FALSE_ALARM = 0.01


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
