r"""The exact distribution behind noisy totals, for tables that are made up.

Two tables whose totals differ by d_j whole steps in coordinate j are told apart by the log-ratio of the noise. For
discrete Laplace noise of scale b steps it depends on where the reading lies: below both totals, above both, or at one
of the d_j - 1 steps between them. So a coordinate is a distribution on d_j + 1 points with masses in closed form, and
a release is their product.

Steps of 2^-24 make d_j a large number: then neighboring steps are counted as one, and products whose log-ratios are
nearly equal likewise. That loses the adversary next to nothing: merged points differ by less than a two-thousandth of
the whole log-ratio.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.artifact import Release
from discreet.curator.publish import release_with
from discreet.errors import UsageError
from discreet.mechanisms import Laplace
from discreet.models import Model
from discreet.privacy import PureDP
from discreet.privacy.metric.error_limit import ErrorLimit
from discreet.validation.likelihood_ratio import DistributionPair
from discreet.validation.sampled_distribution import common_length

# Points of one coordinate, and of a product.
_POINTS, _PRODUCT = 2048, 1 << 13


@dataclass(frozen=True)
class NoisyTotals:
    """Totals of a model with discrete Laplace noise: with two tables, the distributions of a release."""

    model: Model
    mechanism: Laplace
    bounds: Any

    @classmethod
    def of(cls, model: Any, mechanism: Any, bounds: Any) -> NoisyTotals:
        """Read the declarations; other noise than Laplace has no bounded log-ratio and is refused."""
        mechanism = Laplace.expect(
            mechanism,
            "the distribution of a release is computed for Laplace noise and for posterior samples.",
            hint="for example dc.mechanisms.Laplace(1); of a guarantee alone, distinguish gives the limit",
        )
        if not isinstance(model, Model):
            raise UsageError(f"model must be a family such as dc.Bernoulli(), got {type(model).__name__}.")
        return cls(model, mechanism, bounds)

    @property
    def loss(self) -> float:
        """How large one replaced record can make the log-ratio, at most, in either direction."""
        return float(self.mechanism.epsilon)

    def limit(self, apart: int) -> ErrorLimit:
        """Return what no test can do better, between tables that differ in so many records."""
        return ErrorLimit.of_guarantee(PureDP(self.mechanism.epsilon), max(apart, 1))

    def compared(self, first: Any, second: Any) -> tuple[DistributionPair, int]:
        """Return the distributions of a release of either table, and the number of records."""
        one, other = (self._exact(table) for table in (first, second))
        n_records = common_length(one.records, other.records)
        log_p, log_q = np.zeros(1), np.zeros(1)
        for a, b, noise in zip(one.totals.values, other.totals.values, one.noise, strict=True):
            if a != b:
                here_p, here_q = shifted_laplace(abs(a - b), noise.width)
                log_p = (log_p[:, None] + here_p).ravel()
                log_q = (log_q[:, None] + here_q).ravel()
                log_p, log_q = _merged(log_p, log_q)
        return DistributionPair(log_p, log_q), n_records

    def _exact(self, table: Any) -> Release:
        """Return the release of a table that is made up, without its noise: what the noise is centered at."""
        return release_with(
            lambda noise: 0, table, self.model, self.mechanism, bounds=self.bounds, missing="none"
        )

    def describe(self) -> str:
        """Return what is released, in one line."""
        return f"{self.model.name} model, noisy totals, {self.mechanism.guarantee('replace').describe()}"


def shifted_laplace(steps: int, width: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the log-masses of a reading, noise of this width around 0 or around ``steps``: below, between, above.

    With a = exp(-1 / width), P(k <= 0) = 1 / (1 + a), P(k >= d) = a^d / (1 + a), and P(i <= k < j) = (a^i - a^j) /
    (1 + a) for 0 < i < j; around ``steps`` the same read backwards.
    """
    n_between = min(steps - 1, _POINTS)
    edges = np.rint(np.linspace(1, steps, n_between + 1)) if n_between else np.empty(0)
    start, end = edges[:-1], edges[1:]
    between = -start / width + np.log(-np.expm1((start - end) / width))
    back = -(steps - end + 1) / width + np.log(-np.expm1((start - end) / width))
    whole = np.log1p(np.exp(-1 / width))
    log_p = np.concatenate([[0.0], between, [-steps / width]]) - whole
    log_q = np.concatenate([[-steps / width], back, [0.0]]) - whole
    return log_p, log_q


def _merged(log_p: np.ndarray, log_q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Count points with equal log-ratios as one, and if there are too many, those with nearly equal ones."""
    ratio = log_p - log_q
    _, place = np.unique(np.round(ratio, 12), return_inverse=True)
    if place.max() >= _PRODUCT:
        low, high = ratio.min(), ratio.max()
        place = np.rint((ratio - low) / (high - low) * (_PRODUCT - 1)).astype(int)
        _, place = np.unique(place, return_inverse=True)
    # the ratios are bounded, so neither sum is empty where the other is not
    return tuple(np.log(np.bincount(place, np.exp(each))) for each in (log_p, log_q))  # pyright: ignore[reportReturnType]
