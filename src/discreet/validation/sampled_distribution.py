"""The exact distribution behind a released posterior sample, for tables that are made up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.artifact import SamplingRecord
from discreet.curator.declare import declare
from discreet.curator.draw import read_totals
from discreet.errors import UsageError
from discreet.families import Family
from discreet.mechanisms import PosteriorSampling
from discreet.mechanisms.base import Mechanism, Totals
from discreet.models import Model
from discreet.privacy.costs.parameter_grid import ParameterGrid
from discreet.privacy.costs.parameter_set import ParameterSet
from discreet.privacy.metric.error_limit import ErrorLimit
from discreet.privacy.selection import ExponentialChoice
from discreet.validation.likelihood_ratio import DistributionPair

_UNKNOWN = "the distribution of a draw is known for posterior samples: give mechanism=…"
_EXAMPLE = 'for example dc.mechanisms.PosteriorSampling("beta:1,1", epsilon=1, support=(0.01, 0.99))'
# Steps of the lattice along each label, by how many labels it is over.
_STEPS = {1: 1 << 14, 2: 384, 3: 80}
# How much the divergence may change if the lattice is made half as fine, relative to itself.
_CHANGE = 0.02


@dataclass(frozen=True)
class DrawDistribution:
    """A mechanism that samples a tempered posterior of a family: with a table, the distribution of a draw."""

    model: Family
    mechanism: Any
    bounds: Any
    needed: Fraction
    temperature: Fraction

    @property
    def span(self) -> float:
        """How far one replaced record can move the log-ratio of a draw's distribution, at most: the range over T."""
        return float(self.needed / self.temperature)

    @property
    def loss(self) -> float:
        """How large one replaced record can make the log-ratio, at most: the same, if the other direction has none."""
        return self.span

    def limit(self, apart: int) -> ErrorLimit:
        """Return what no test can do better, between tables that differ in so many records."""
        return ErrorLimit.of_range(apart * self.span)

    def totals(self, table: Any) -> Totals:
        """Sum a table as a release does: clipped, and with the same rounding."""
        return read_totals(declare(table, self.model, self.mechanism, bounds=self.bounds, missing="none"))[0]

    def both(self, first: Any, second: Any) -> tuple[list[Totals], int]:
        """Sum two tables, and return their number of records, which must be the same."""
        totals = [self.totals(table) for table in (first, second)]
        return totals, common_length(*(each.n_records for each in totals))


def common_length(one: int | None, other: int | None) -> int:
    """Return how many records each of two tables has, or refuse tables of different lengths."""
    if one is None or one != other:
        raise UsageError(
            "the tables must have equally many records: under neighbors='replace' the number is public."
        )
    return one


@dataclass(frozen=True)
class PosteriorDistribution(DrawDistribution):
    """The public points of a mechanism and its temperature: with the sums of a table, the distribution of a draw."""

    grid: ParameterGrid | ParameterSet
    drawn_from: str

    @classmethod
    def of(cls, model: Family, mechanism: Any, bounds: Any) -> PosteriorDistribution:
        """Read the declarations as a release does, and refuse what is not drawn from public points."""
        known = distribution_of_draw(model, mechanism, bounds)
        if not isinstance(known, cls):
            raise UsageError(
                f"samples of {model.name} do not come from a public grid, so their distribution is not exact."
            )
        return known

    def compared(self, first: Any, second: Any) -> tuple[DistributionPair, int]:
        """Return the distributions of a draw from either table, and the number of records."""
        totals, n_records = self.both(first, second)
        p, q = (self.distribution(each.features(), n_records).log_mass() for each in totals)
        return DistributionPair(p, q), n_records

    def distribution(self, features: Sequence[Fraction], n_records: int) -> ExponentialChoice:
        """Return the distribution of one draw for a table with these sums."""
        return self.grid.distribution(features, n_records, self.temperature)

    def describe(self) -> str:
        """Return what is drawn, in one line."""
        return f"{self.drawn_from}, temperature {float(self.temperature):.4g}"


@dataclass(frozen=True)
class LabelDistribution(DrawDistribution):
    r"""The truncated Dirichlet distributions of a mechanism: with the counts of a table, that of every draw.

    It is found by numerical integration. A draw p of labels has the density prod_k p_k^(alpha_k - 1), alpha = prior +
    counts / T, where every p_k is at least its ``least``. Two tables of equal size with counts c and c' have the
    log-ratio sum_k (c_k - c'_k) / T log p_k, up to a constant, in which labels with equal counts have no part. So the
    density is summed over a lattice of the other labels' probabilities,

        p_k = least_k + (x_k + 1/2) h,    x_k = 0, 1, ...,    sum over all labels of p_k = 1,

    with a convolution for the labels that have no part. A lattice of half as many points must say the same, or the
    tables are refused: their draws are too concentrated for it.
    """

    least: tuple[float, ...]

    @classmethod
    def of(cls, model: Family, mechanism: PosteriorSampling, record: SamplingRecord) -> LabelDistribution:
        """Take the temperature and the least probabilities of a release."""
        least = [float(low) for low, _ in record.support or ()]
        each = least * (model.n_probabilities or 1) if len(least) == 1 else least
        needed, temperature = record.parameters["range"], record.parameters["temperature"]
        return cls(model, mechanism, None, needed, temperature, tuple(each))

    def compared(self, first: Any, second: Any) -> tuple[DistributionPair, int]:
        """Return the distributions of a draw from either table, on a lattice, and the number of records."""
        totals, n_records = self.both(first, second)
        counts = np.array([[float(c) for c in each.features()] for each in totals])
        alpha = self.mechanism.prior.natural() + counts / float(self.temperature)
        differing = np.flatnonzero(counts[0] != counts[1])
        over = differing[: len(counts[0]) - 1]
        if len(over) > max(_STEPS):
            raise UsageError(
                f"the tables differ in the counts of {len(differing)} labels, and their draws would have to be "
                f"integrated over {len(over)} probabilities.",
                hint=f"compare tables that differ in at most {max(_STEPS)} labels, such as neighbors",
            )
        steps = _STEPS[max(len(over), 1)]
        fine, coarse = (self._pair(alpha, over, size) for size in (steps, steps // 2))
        if abs(fine.divergence() - coarse.divergence()) > _CHANGE * fine.divergence() + 1e-12:
            raise UsageError(
                "the draws of these tables are too concentrated to be integrated.",
                hint="take fewer records, or a smaller epsilon",
            )
        return fine, n_records

    def _pair(self, alpha: np.ndarray, over: np.ndarray, steps: int) -> DistributionPair:
        """Return the two distributions on a lattice over the probabilities of some labels."""
        least = np.array(self.least)
        k = len(least)
        step = (1 - least.sum()) / (steps + k / 2)
        p = least[:, None] + (np.arange(steps + 1) + 0.5) * step
        places = np.meshgrid(*[np.arange(steps + 1)] * len(over), indexing="ij")
        rest = np.asarray(steps - sum(places)) if len(over) else np.full(1, steps)
        inside = rest >= 0
        others = np.setdiff1d(np.arange(k), over)
        found = []
        for one in alpha:
            log_f = (one[:, None] - 1) * np.log(p)
            log_mass = _log_convolved(log_f[others])[rest[inside]]
            for label, place in zip(over, places, strict=True):
                log_mass = log_mass + log_f[label][place[inside]]
            log_mass = np.maximum(log_mass - log_mass.max(), -700.0)
            found.append(log_mass - np.logaddexp.reduce(log_mass))
        return DistributionPair(*found)

    def describe(self) -> str:
        """Return what is drawn, in one line."""
        lows = sorted(set(self.least))
        most = f" to {lows[-1]:g}" if len(lows) > 1 else ""
        return (
            f"{self.model.name} model, prior {self.mechanism.prior}, probabilities of at least {lows[0]:g}{most}, "
            f"temperature {float(self.temperature):.4g}, by numerical integration"
        )


def _log_convolved(log_f: np.ndarray) -> np.ndarray:
    """Return the logarithm of the convolution of functions on 0, 1, ..., as far as they go."""
    total = log_f[0]
    for row in log_f[1:]:
        peaks = total.max(), row.max()
        product = np.convolve(np.exp(total - peaks[0]), np.exp(row - peaks[1]))[: len(row)]
        total = np.log(np.maximum(product, 1e-300)) + sum(peaks)
    return total


def distribution_of_draw(
    model: Family, mechanism: Any, bounds: Any
) -> PosteriorDistribution | LabelDistribution:
    """Return what is known of a draw: its distribution on public points, or its density of labels' probabilities."""
    mechanism = Mechanism.expect(mechanism, _UNKNOWN, hint=_EXAMPLE)
    if not isinstance(model, Model):
        raise UsageError(f"model must be a family such as dc.Bernoulli(), got {type(model).__name__}.")
    model = model.require(Family, "the distribution of a draw is known for families")
    domain = model.read_domain(bounds, "clip", "none")
    mechanism.check(model, domain)
    record = mechanism.plan(model, domain, 1).require(SamplingRecord, _UNKNOWN)
    grid, temperature = record.scored_points(model, domain), record.parameters.get("temperature")
    if temperature is None:
        raise UsageError(_UNKNOWN, hint=_EXAMPLE)
    if grid is None:
        labels = PosteriorSampling.expect(mechanism, _UNKNOWN, hint=_EXAMPLE)
        return LabelDistribution.of(model, labels, record)
    return PosteriorDistribution(
        model, mechanism, bounds, grid.range(), temperature, grid, _drawn_from(model, record)
    )


def _drawn_from(model: Family, record: SamplingRecord) -> str:
    """Return of which model, with which prior and on which support the draws are."""
    ranges = [
        f"{name} in [{float(low):g}, {float(high):g}]"
        for name, (low, high) in zip(model.draw_names, record.support or (), strict=False)
    ]
    return ", ".join([f"{model.name} model", f"prior {record.prior}", *ranges])
