"""What a release says of the moments of its table: noisy sums of means and products, and what ties them together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.artifact import Release
from discreet.inference.engine import Question
from discreet.inference.record_prior import CountPrior, closest
from discreet.models.design import Design
from discreet.models.regression import Regression
from discreet.privacy import Noise
from discreet.privacy.thinned import ThinnedLaplace

# counts that are weighed one by one; of more, some
_MOST_COUNTS = 1_000_000
_LOG_TAIL = 40.0
# the least eigenvalue of a covariance matrix on mapped bounds
_LEAST = 1e-6


@dataclass(frozen=True)
class Readings:
    """Noisy sums of p terms and of their products, target last.

    ``means`` and ``mean_scales`` are the noisy sums of the terms and the scales of their noise, ``products`` and
    ``product_scales`` those of their products, p × p. Where ``tied`` a product repeats another place, ``other``: (0, b)
    is the sum of term b - 1, (a, b) the product of terms a - 1 and b - 1, (0, 0) says that it is 1, as the square of a
    sign is, and (-1, -1) that it is 0. ``names`` are the terms'.
    """

    means: np.ndarray
    mean_scales: np.ndarray
    products: np.ndarray
    product_scales: np.ndarray
    tied: np.ndarray
    other: np.ndarray
    laplace: bool
    names: tuple[str, ...] = ()
    joint: ThinnedLaplace | None = None

    @classmethod
    def of(cls, release: Release, wanted: Design | None = None) -> Readings:
        """Return what a release of a regression holds, but for the usable count; or the ``wanted`` part of it.

        A part of noise that is drawn jointly is given with the standard deviations that its sums have.
        """
        design = release.model.require(
            Regression, "sums of products are read of a regression"
        ).released_design
        totals, noise = release.totals, release.noise
        values = np.array(totals.values, dtype=float) * totals.steps
        joint, is_whole = release.mechanism.joint(release), wanted is None or wanted == design
        if joint is not None and is_whole:
            return cls.placed(design, values, np.array(joint.scales), True, joint)
        scales = np.array([one.width for one in noise]) * totals.steps
        if wanted is not None and not is_whole:
            places = {product: at for at, product in enumerate(design.products)}
            mine = [places[product] for product in wanted.products]
            design, values, scales = wanted, values[mine], scales[mine]
        return cls.placed(design, values, scales, noise[0].kind == "laplace")

    @classmethod
    def placed(
        cls,
        design: Design,
        values: np.ndarray,
        scales: np.ndarray,
        laplace: bool,
        joint: ThinnedLaplace | None = None,
    ) -> Readings:
        """Return the noisy sums of a design's distinct products, each in its places."""
        p = len(design.terms)
        first = design.pairs
        products, product_scales = np.zeros((p, p)), np.ones((p, p))
        tied = np.zeros((p, p), dtype=np.bool_)
        other = np.full((p, p, 2), -1, dtype=np.int64)
        for j in range(p):
            for k in range(j + 1):
                at = design.index[j + 1, k + 1]
                if at >= 0 and first[at] in ((j + 1, k + 1), (k + 1, j + 1)):
                    products[j, k] = products[k, j] = values[at]
                    product_scales[j, k] = product_scales[k, j] = scales[at]
                    continue
                tied[j, k] = tied[k, j] = True
                if at >= 0:
                    other[j, k] = other[k, j] = first[at]
                elif j == k:
                    other[j, j] = 0
        mine = design.index[0, 1:]
        return cls(
            values[mine], scales[mine], products, product_scales, tied, other, laplace, design.names, joint
        )

    def with_target(self, sums: np.ndarray, scales: np.ndarray, square: float, looseness: float) -> Readings:
        """Return readings with one term more: its sum and those of its products with the others, and its square."""
        p = self.size + 1

        def wider(matrix: np.ndarray, last: np.ndarray, corner: float) -> np.ndarray:
            whole = np.zeros((p, p), dtype=matrix.dtype)
            whole[:-1, :-1] = matrix
            whole[-1, :-1] = whole[:-1, -1] = last
            whole[-1, -1] = corner
            return whole

        other = np.full((p, p, 2), -1, dtype=np.int64)
        other[:-1, :-1] = self.other
        return Readings(
            np.append(self.means, sums[0]),
            np.append(self.mean_scales, scales[0]),
            wider(self.products, sums[1:], square),
            wider(self.product_scales, scales[1:], looseness),
            wider(self.tied, np.zeros(p - 1, dtype=np.bool_), False),
            other,
            self.laplace,
            (*self.names, "the target"),
        )

    @property
    def of_features(self) -> Readings:
        """Readings of all terms but the target, as of noise by coordinate: to tell how much there is of it."""
        mean_sds, product_sds = self.sds
        return Readings(
            self.means[:-1],
            mean_sds[:-1],
            self.products[:-1, :-1],
            product_sds[:-1, :-1],
            self.tied[:-1, :-1],
            self.other[:-1, :-1],
            False,
            self.names[:-1],
        )

    def possible(self, n: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the moments at face value, moved to the nearest that a table could have."""
        mean, covariance = self.at_face_value(n)
        spectrum, vectors = np.linalg.eigh(covariance)
        return mean, (vectors * np.maximum(spectrum, _LEAST)) @ vectors.T

    @property
    def size(self) -> int:
        """The number of terms."""
        return len(self.means)

    @property
    def sds(self) -> tuple[np.ndarray, np.ndarray]:
        """Standard deviations of the noise on sums of terms and of products."""
        if self.joint is not None:
            found, places = self.joint.sds, self.places
            return found[places[:, 0]], np.where(self.tied, 0.0, _mirrored(found[places[:, 1:]]))
        factor = np.sqrt(2.0) if self.laplace else 1.0
        return self.mean_scales * factor, np.where(self.tied, 0.0, self.product_scales * factor)

    def tie(self, n: float) -> float:
        """Return the sd with which tied moments may differ: little beside sampling error, or beside the noise."""
        return 0.02 / math.sqrt(n) + 0.03 * float(self.mean_scales.min()) / n

    def given(self, n: float) -> tuple[Any, ...]:
        """Return what compiled densities take: sums, scales of noise, and ties for n records."""
        return (
            self.means,
            self.mean_scales,
            self.laplace,
            self.products,
            self.product_scales,
            self.tied,
            self.other,
            self.tie(n),
            *self.thinned,
        )

    @property
    def thinned(self) -> tuple[np.ndarray, np.ndarray]:
        """What thins Laplace noise: sums × linear forms, and where each sum is; no forms where nothing does.

        Of a form and its negative, which there always is too, one is enough.
        """
        if self.joint is None:
            return np.zeros((1, 0)), np.zeros((self.size, self.size + 1), dtype=np.int64)
        forms = np.array(self.joint.forms)
        first = forms[np.arange(len(forms)), (forms != 0).argmax(axis=1)]
        return np.ascontiguousarray(forms[first > 0].T), self.places

    @property
    def places(self) -> np.ndarray:
        """Which coordinate the sum of each term is, and of its product with an earlier one or itself; -1 if tied."""
        rows, columns = np.nonzero(np.tril(~self.tied))
        # released are the terms, and then the products with the first term, with the second one, ...
        order = np.lexsort((rows, columns))
        found = np.full((self.size, self.size + 1), -1, dtype=np.int64)
        found[:, 0] = np.arange(self.size)
        found[rows[order], columns[order] + 1] = self.size + np.arange(len(order))
        return found

    def at_face_value(self, n: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean and the covariance matrix that the noisy sums would have without noise."""
        mean = self.means / n
        second = self.products / n
        for j, k in np.argwhere(self.tied):
            a, b = self.other[j, k]
            repeated = mean[b - 1] if a == 0 else self.products[a - 1, b - 1] / n
            second[j, k] = 0.0 if a < 0 else 1.0 if b == 0 else repeated
        return mean, second - np.outer(mean, mean)


def _mirrored(lower: np.ndarray) -> np.ndarray:
    return np.tril(lower) + np.tril(lower, -1).T


def usable_counts(question: Question, size: int) -> np.ndarray:
    """Draw the number of usable records from what the release and the prior say of it; one number if it is known."""
    found, weights = weighed_counts(question)
    return found if len(found) == 1 else question.rng.choice(found, size=size, p=weights)


def weighed_counts(question: Question) -> tuple[np.ndarray, np.ndarray]:
    """Return possible numbers of usable records and their probabilities."""
    release = question.release
    if release.totals.names[-1] != "usable":
        return np.array([float(release.records or 0)]), np.ones(1)
    return _weighed(question.usable, int(release.totals.values[-1]), release.noise[-1])


def _weighed(prior: CountPrior, reading: int, noise: Noise) -> tuple[np.ndarray, np.ndarray]:
    """Return possible counts and their probabilities."""
    reach = noise.reach(_LOG_TAIL)
    least = max(prior.low, 1, int(reading - reach))
    most = int(reading + reach) if prior.high is None else min(prior.high, int(reading + reach))
    if most < least:
        # so far outside that only the nearest possible count is left
        return np.array([float(max(prior.low, 1) if reading < least else max(most, 1))]), np.ones(1)
    found = np.arange(float(least), most + 1.0)
    if len(found) > _MOST_COUNTS:
        # one by one where the prior has a peak, and where few values are missing
        near = [node + side for node in prior.nodes for side in (-1.0, 0.0, 1.0)]
        some = np.round(np.linspace(least, most, _MOST_COUNTS))
        found = np.unique(np.concatenate([some, near, found[-_MOST_COUNTS // 10 :]]))
        found = found[(least <= found) & (found <= most)]
    # a count stands for all that no other one is nearer to
    ends = np.concatenate([[least - 0.5], (found[1:] + found[:-1]) / 2, [most + 0.5]])
    log_weights = prior.log_mass(found) + noise.log_mass(reading - found) + np.log(np.diff(ends))
    if log_weights.max() == -np.inf:
        return np.array([float(closest(prior, reading))]), np.ones(1)
    weights = np.exp(log_weights - log_weights.max())
    return found, weights / weights.sum()
