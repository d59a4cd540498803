r"""For each family, the neighboring posteriors that differ most, and where a table's sums lead.

A place is a vector of natural hyperparameters, as :meth:`Prior.natural` gives it. One record adds r times an increment
to it, and a replaced record moves it by a step. Proofs are in :mod:`discreet.privacy.costs.posterior_neighbors`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.domain.bounds import Bounds
from discreet.errors import UsageError
from discreet.families import (
    Bernoulli,
    Categorical,
    Exponential,
    Family,
    Gamma,
    Geometric,
    Laplace,
    Poisson,
    Predicate,
)
from discreet.families.normal import Normal, NormalKnownMean, NormalKnownVariance
from discreet.priors import Beta, Dirichlet, Prior
from discreet.priors.gamma import Gamma as GammaPrior
from discreet.priors.normal import Normal as NormalPrior
from discreet.privacy.costs.posterior_divergence import PosteriorPair


@dataclass(frozen=True)
class Reach:
    """What the public declarations say: the family, the number of records and the bounds."""

    family: Any
    n_records: int
    bounds: Bounds | None

    @property
    def lowest(self) -> float:
        """The least statistic that a record can have."""
        return float(self._range()[0])

    @property
    def width(self) -> float:
        """How much the statistics of two records can differ."""
        low, high = self._range()
        return float(high - low)

    def _range(self) -> tuple[Fraction, Fraction]:
        assert self.bounds is not None
        return self.family.measure_range(*self.bounds[0])


def check_family(family: Family) -> tuple[_Pairs, _Adds]:
    """Return what is proven for this family of its largest divergence; raise if nothing is."""
    proven = family.closed_form(_PROVEN)
    if proven is None:
        name = family.closed_form(_LONG_NAMES) or family.name
        raise UsageError(
            f"no largest divergence between neighboring posteriors is proven for {name}.",
            hint="release noisy totals instead; a normal with known mean or variance has a proof",
        )
    return proven


def extreme_pairs(reach: Reach, start: np.ndarray, r: float) -> list[PosteriorPair]:
    """Return the pairs among which the largest divergence is, for a prior at ``start`` and records that count r."""
    pairs, _ = check_family(reach.family)
    return pairs(reach, [float(a) for a in start], r)


def increment(family: Family, sums: Sequence[Fraction], n_records: int) -> list[Fraction]:
    """Return what records with these sums of statistics add to the natural hyperparameters, exactly."""
    _, adds = check_family(family)
    return adds(family, sums, Fraction(n_records))


def _two_cells(reach: Reach, start: list[float], r: float) -> list[PosteriorPair]:
    """Move the count of the first cell from 0 to 1, n - 1 to n, 1 to 0 and n to n - 1."""
    (a, b), n = start, reach.n_records
    return [
        PosteriorPair(Beta, (a + r * k, b + r * (n - k)), (move * r, -move * r))
        for k, move in ((0, 1), (n - 1, 1), (1, -1), (n, -1))
    ]


def _cells(reach: Reach, start: list[float], r: float) -> list[PosteriorPair]:
    if len(start) == 2:
        return _two_cells(reach, start, r)
    # the two labels with the least alpha, and all others as one: they do not move
    i, j = sorted(start)[:2]
    rest = math.fsum([*start, -i, -j, r * (reach.n_records - 1)])
    return [
        PosteriorPair(Dirichlet, (first + r, second, rest), (-r, r, 0.0))
        for first, second in ((i, j), (j, i))
    ]


def _there_and_back(
    kind: type[Prior], low: tuple[float, ...], step: tuple[float, ...]
) -> list[PosteriorPair]:
    high = tuple(a + b for a, b in zip(low, step, strict=True))
    return [PosteriorPair(kind, low, step), PosteriorPair(kind, high, tuple(-b for b in step))]


def _poisson(reach: Reach, start: list[float], r: float) -> list[PosteriorPair]:
    (shape, rate), n = start, r * reach.n_records
    return _there_and_back(GammaPrior, (shape + n * reach.lowest, rate + n), (r * reach.width, 0.0))


def _geometric(reach: Reach, start: list[float], r: float) -> list[PosteriorPair]:
    (a, b), n = start, r * reach.n_records
    return _there_and_back(Beta, (a + n, b + n * reach.lowest), (0.0, r * reach.width))


def _rates(reach: Reach, start: list[float], r: float) -> list[PosteriorPair]:
    (shape, rate), n = start, r * reach.n_records
    power, share = (float(part) for part in _power_and_share(reach.family))
    place = shape + n * power, rate + n * share * reach.lowest
    return _there_and_back(GammaPrior, place, (0.0, r * share * reach.width))


def _power_and_share(family: Any) -> tuple[Fraction, Fraction]:
    """Return what a record adds to the shape, and what share of its statistic to the rate."""
    return family.closed_form(_POWER_AND_SHARE) or (Fraction(family.power), Fraction(1))


def _normal(reach: Reach, start: list[float], r: float) -> list[PosteriorPair]:
    (pull, precision), each = start, r / reach.family.variance
    n, step = reach.n_records, (reach.width * each, 0.0)
    ends = n * reach.lowest * each, (n * reach.lowest + (n - 1) * reach.width) * each
    return [
        pair
        for end in ends
        for pair in _there_and_back(NormalPrior, (pull + end, precision + n * each), step)
    ]


def _add_rates(family: Any, sums: Sequence[Fraction], n: Fraction) -> list[Fraction]:
    power, share = _power_and_share(family)
    return [n * power, share * sums[0]]


_Pairs = Callable[[Reach, list[float], float], list[PosteriorPair]]
_Adds = Callable[[Any, Sequence[Fraction], Fraction], list[Fraction]]
#: The pairs, and what records with these sums of statistics add to the natural hyperparameters.
_PROVEN: dict[type[Family], tuple[_Pairs, _Adds]] = {
    Bernoulli: (_two_cells, lambda _, sums, n: [sums[0], n - sums[0]]),
    Predicate: (_two_cells, lambda _, sums, n: [sums[0], n - sums[0]]),
    Categorical: (_cells, lambda _, sums, n: list(sums)),
    Poisson: (_poisson, lambda _, sums, n: [sums[0], n]),
    Geometric: (_geometric, lambda _, sums, n: [n, sums[0]]),
    Exponential: (_rates, _add_rates),
    Gamma: (_rates, _add_rates),
    Laplace: (_rates, _add_rates),
    NormalKnownMean: (_rates, _add_rates),
    NormalKnownVariance: (
        _normal,
        lambda family, sums, n: [part / Fraction(family.variance) for part in (sums[0], n)],
    ),
}
# Of families with a gamma prior on something else than their rate: on the precision, of a variance.
_POWER_AND_SHARE: dict[type[Family], tuple[Fraction, Fraction]] = {
    NormalKnownMean: (Fraction(1, 2), Fraction(1, 2))
}
_LONG_NAMES: dict[type[Family], str] = {Normal: "normal with unknown mean and variance"}
