r"""The analyst's prior on how many of n records are missing, when n is public and the usable count is noisy.

Most columns are complete or nearly so, some lack a part, and few are nearly empty. The default has three parts:

    0.45   none is missing;
    0.15   a few are, P(k) = 1 / (k H_n) for k = 1..n, H_n = 1 + 1/2 + ... + 1/n: even over orders of magnitude;
    0.40   a share s is, with density 3 (1 - s)^2, so that P(k) = 3 (n-k+1) (n-k+2) / ((n+1) (n+2) (n+3)), k = 0..n.

A flat prior on 0..n would expect half of the column to be missing. The parts were chosen by exact enumeration of
Bernoulli releases (`studies/missing_prior_choice.py`) and by the coverage of means of real columns with 5% missing:
with a heavier first part intervals miss when 5% to 25% are missing and noise is large, with a lighter one ranks are
off on complete columns, and without the second part a few hundred missing in a million would be taken for none.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, floor
from typing import Any

import numpy as np
from scipy.special import digamma, gammaln, xlog1py, xlogy

from discreet.arguments import numbers, shown
from discreet.artifact import Release
from discreet.errors import UsageError

#: In models of several columns: Dirichlet weights of a value that is missing and of one that is there, within a row of
#: a table. Of a thousand records none is missing with probability 0.38, a share of 7% is expected, any is possible.
MISSING_WEIGHT, PRESENT_WEIGHT = 0.15, 2.0
#: The same in words; and what is said of columns of labels alone.
LABEL_WORDS = f"a missing label has Dirichlet weight {MISSING_WEIGHT:g} beside the labels'"
BETA_WORDS = f"a share with prior Beta({MISSING_WEIGHT:g}, {PRESENT_WEIGHT:g})"

# Of so many possible numbers, windows are found from some.
_MOST_NODES = 1024
_HINT = "give a share (0.05), an interval of shares (0.0, 0.1) or of whole numbers (0, 40), or an array of weights"


@dataclass(frozen=True)
class MissingPrior(ABC):
    """A prior on how many of ``n_records`` are missing, and so on the usable count from ``low`` to ``high``.

    ``least`` and ``most`` are the smallest and the largest possible number of missing values. ``nodes`` are a few
    increasing usable counts, those among them where the prior peaks and changes most. ``likely`` is a range of usable
    counts that must be looked at whatever the release says, as noise that makes a count unlikely may be outweighed by
    a narrow prior; (1, 0) if there is none.
    """

    n_records: int
    least: int = field(init=False, default=0)
    most: int = field(init=False, default=0)
    low: int = field(init=False, default=0)
    high: int = field(init=False, default=0)
    likely: tuple[int, int] = field(init=False, default=(1, 0))
    nodes: np.ndarray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._span(0, self.n_records)

    def _span(
        self, least: int, most: int, likely: tuple[int, int] = (1, 0), nodes: np.ndarray | None = None
    ) -> None:
        """Set the ends, between which there is nothing to look at unless it is said."""
        ends = low, high = self.n_records - most, self.n_records - least
        nodes = np.unique(ends) if nodes is None else nodes
        told = {"least": least, "most": most, "low": low, "high": high, "likely": likely, "nodes": nodes}
        for name, value in told.items():
            object.__setattr__(self, name, value)

    @abstractmethod
    def log_missing(self, k: np.ndarray) -> np.ndarray:
        """Return log P(k missing) for whole numbers k, up to a constant; -inf where impossible."""

    @abstractmethod
    def describe(self) -> str:
        """Return the prior in words, for diagnostics."""

    def log_mass(self, n: np.ndarray) -> np.ndarray:
        """Return the log prior of usable counts inside [low, high], up to a constant."""
        return self.log_missing(self.n_records - np.asarray(n, dtype=float))

    def sample(self, rng: np.random.Generator) -> int:
        """Draw a number of missing values."""
        k = np.arange(self.least, self.most + 1)
        mass = np.exp(self.log_missing(k) - self.log_peak)
        return int(rng.choice(k, p=mass / mass.sum()))

    @property
    def log_peak(self) -> float:
        """The largest log prior."""
        return float(np.max(self.log_mass(self.nodes)))

    def nearest(self, n: float, *, above: bool) -> int | None:
        """Return the possible usable count nearest to ``n`` that is at least (or at most) ``n``, if there is one."""
        if above:
            return None if n > self.high else max(ceil(n), self.low)
        return None if n < self.low else min(floor(n), self.high)

    def between(self, edges: np.ndarray) -> np.ndarray:
        """Return the mass of the usable counts between half-integers, up to a constant: that of the middle one each.

        Good for priors that are smooth where intervals are wide.
        """
        middle = np.floor(edges[:-1] + 0.5 * np.diff(edges) + 1e-9)
        log_mass = self.log_mass(np.clip(middle, self.low, self.high)) + np.log(np.diff(edges))
        return np.exp(log_mass - log_mass.max())


@dataclass(frozen=True)
class FewMissing(MissingPrior):
    """The default: none with probability ``none``, a few with probability ``few``, otherwise a share."""

    none: float = 0.45
    few: float = 0.15

    def log_missing(self, k: np.ndarray) -> np.ndarray:
        k, n = np.asarray(k, dtype=float), float(self.n_records)
        left = np.maximum(n - k, 0.0)
        part = 3 * (1 - self.none - self.few) * (left + 1) / (n + 1) * (left + 2) / (n + 2) / (n + 3)
        few = self.few / (digamma(n + 1) + np.euler_gamma) if n else 0.0
        first = self.none if n else self.none + self.few
        mass = part + np.where(k < 0.5, first, few / np.maximum(k, 1.0))
        with np.errstate(divide="ignore"):
            return np.where((k < 0) | (k > n), -np.inf, np.log(mass))

    def describe(self) -> str:
        return f"few expected (none with probability {self.none:g}, else a few or any share)"


#: The default in words.
FEW_WORDS = FewMissing(0).describe()


@dataclass(frozen=True)
class ShareMissing(MissingPrior):
    """Each record is missing with a known probability: k is binomial."""

    share: float

    def log_missing(self, k: np.ndarray) -> np.ndarray:
        k, n = np.asarray(k, dtype=float), float(self.n_records)
        inside = (k >= 0) & (k <= n)
        k = np.where(inside, k, 0.0)
        log_ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
        return np.where(inside, log_ways + xlogy(k, self.share) + xlog1py(n - k, -self.share), -np.inf)

    def __post_init__(self) -> None:
        n, share = self.n_records, self.share
        least, most = n if share == 1 else 0, 0 if share == 0 else n
        mode = n - min(int(share * (n + 1)), n)
        # the binomial falls by e^-30 within this distance, beyond its own steps
        reach = 8 * (n * share * (1 - share)) ** 0.5 + 30
        low, high = max(floor(mode - reach), n - most), min(ceil(mode + reach), n - least)
        nodes = np.unique(np.round(np.concatenate([np.linspace(low, high, 65), [mode]])))
        self._span(least, most, (low, high), nodes)

    def describe(self) -> str:
        return f"each record with probability {self.share:g}"


@dataclass(frozen=True)
class MissingBetween(MissingPrior):
    """Every number from ``fewest`` to ``largest`` alike."""

    fewest: int
    largest: int

    def log_missing(self, k: np.ndarray) -> np.ndarray:
        return np.where((k >= self.fewest) & (k <= self.largest), 0.0, -np.inf)

    def __post_init__(self) -> None:
        self._span(self.fewest, self.largest)

    def describe(self) -> str:
        return f"every number from {self.fewest} to {self.largest} alike"


@dataclass(frozen=True, eq=False)
class WeightedMissing(MissingPrior):
    """Weights on 0, 1, 2, ... missing."""

    weights: np.ndarray

    def log_missing(self, k: np.ndarray) -> np.ndarray:
        k = np.asarray(k, dtype=float)
        inside = (k >= 0) & (k < self.weights.size)
        with np.errstate(divide="ignore"):
            return np.where(inside, np.log(self.weights[np.where(inside, k, 0).astype(np.int64)]), -np.inf)

    def __post_init__(self) -> None:
        possible = np.flatnonzero(self.weights)
        some = possible[:: -(-possible.size // _MOST_NODES)]
        nodes = self.n_records - np.unique([*some, int(np.argmax(self.weights)), possible[-1]])[::-1]
        self._span(int(possible[0]), int(possible[-1]), nodes=nodes)

    def nearest(self, n: float, *, above: bool) -> int | None:
        return nearest_of(self.n_records - np.flatnonzero(self.weights)[::-1], n, above)

    def between(self, edges: np.ndarray) -> np.ndarray:
        # weights may sit on single numbers, so each is summed
        below = np.concatenate([[0.0], np.cumsum(self.weights)])
        missing = np.clip(np.ceil(self.n_records - edges), 0, self.weights.size).astype(np.int64)
        return -np.diff(below[missing])

    def describe(self) -> str:
        return f"weights on {self.least} to {self.most}"


def nearest_of(possible: np.ndarray, n: float, above: bool) -> int | None:
    """Return the number nearest to ``n`` among increasing ones that are at least (or at most) ``n``, if any is."""
    side = possible[possible >= n] if above else possible[possible <= n][::-1]
    return int(side[0]) if side.size else None


def missing_prior(missing: Any, n_records: int) -> MissingPrior:
    """Read ``infer(missing=...)``: None, a share, an interval of shares or whole numbers, or an array of weights."""
    if missing is None:
        return FewMissing(n_records)
    if isinstance(missing, float | int | np.floating | np.integer) and not isinstance(missing, bool):
        if not 0 <= missing <= 1:
            raise UsageError(
                f"missing must be a share between 0 and 1, got missing={shown(missing)}.", hint=_HINT
            )
        return ShareMissing(n_records, float(missing))
    if isinstance(missing, tuple):
        return _between(missing, n_records)
    if not isinstance(missing, np.ndarray | Sequence) or isinstance(missing, str):
        raise UsageError("missing must be a share, an interval or an array of weights.", hint=_HINT)
    weights = read_weights(missing, "missing", _HINT)
    if weights.size > n_records + 1 and weights[n_records + 1 :].any():
        raise UsageError(
            f"missing weights reach beyond all {n_records} records.",
            hint="one weight for each of 0, 1, ..., n",
        )
    return WeightedMissing(n_records, weights[: n_records + 1])


def read_weights(given: Any, name: str, hint: str | None = None) -> np.ndarray:
    """Read weights on 0, 1, 2, ..."""
    weights = numbers(given, name, finite=False)
    if weights.ndim != 1 or not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() == 0:
        raise UsageError(f"{name} weights must be a list of non-negative numbers, not all zero.", hint=hint)
    return weights


def _between(interval: tuple[Any, ...], n_records: int) -> MissingPrior:
    ends = [v for v in interval if isinstance(v, int | float | np.number) and not isinstance(v, bool)]
    if len(interval) != 2 or len(ends) != 2:
        raise UsageError("missing must be a pair (low, high), or an array of weights.", hint=_HINT)
    low, high = ends
    if all(isinstance(v, int | np.integer) for v in ends) and ends != [0, 1]:
        fewest, largest = int(low), int(high)
    else:
        if not 0 <= low <= high <= 1:
            raise UsageError(
                f"missing shares must satisfy 0 <= low <= high <= 1, got missing=({low}, {high}).", hint=_HINT
            )
        fewest, largest = ceil(low * n_records - 1e-9), floor(high * n_records + 1e-9)
        # a narrow interval between two whole numbers: the nearest one
        fewest, largest = min(fewest, largest), max(fewest, largest)
    if not 0 <= fewest <= largest <= n_records:
        raise UsageError(
            f"missing must satisfy 0 <= low <= high <= {n_records}, got missing=({low}, {high}).", hint=_HINT
        )
    return MissingBetween(n_records, fewest, largest)


def expected_missing(missing: Any, release: Release) -> MissingPrior:
    """Return the analyst's prior on the number of missing values of a release, or say why it takes none."""
    if release.samples is not None:
        raise UsageError("missing is for noisy totals.", hint="leave out missing")
    if release.records is None:
        raise UsageError(
            "the number of records is private in this release, so missing takes no prior.",
            hint="give records= a prior on the number of usable records",
        )
    if release.domain.missing != "count":
        raise UsageError(
            f"this release was made with missing={release.domain.missing!r}, so the number of missing values takes no "
            "prior.",
            hint="leave out missing",
        )
    return missing_prior(missing, release.records)
