"""Lemmas 19 to 22: the constants c, L0 and C of conjugate priors, against quadrature and enumeration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from common.claim import Claim, Panel
from scipy import stats
from scipy.special import betaln

import discreet as dc
from discreet.privacy.metric import (
    RecordDistance,
    StochasticLipschitz,
    beta_constants,
    exponential_constants,
    laplace_constants,
    lipschitz,
    precision_constants,
)

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(400)


@dataclass(frozen=True)
class Example:
    """A lemma about one record under a trimmed exponential prior."""

    source: str
    words: str
    constants: StochasticLipschitz
    printed: float
    family: dc.families.Family
    parameter: Callable[[np.ndarray], dict[str, np.ndarray]]
    distance: RecordDistance
    support: tuple[float, float]
    prior_rate: float

    @property
    def records(self) -> np.ndarray:
        """A dense set of records."""
        assert self.distance.bounds is not None
        low, high = self.distance.bounds[0]
        return np.linspace(float(low), float(high), 401)

    def prior(self) -> tuple[np.ndarray, np.ndarray]:
        """Return nodes of the trimmed prior and their mass."""
        low, high = self.support
        theta = low + (high - low) * (_NODES + 1) / 2
        mass = _WEIGHTS * np.exp(-self.prior_rate * theta)
        return theta, mass / mass.sum()

    def likelihood(self, theta: np.ndarray) -> np.ndarray:
        """Return the density of every record at every parameter."""
        at = [self.parameter(np.array(t)) for t in theta]
        return np.exp(np.array([self.family.log_density(self.records, one) for one in at]))

    def ratio(self) -> float:
        """Return the largest maximal over marginal likelihood."""
        theta, mass = self.prior()
        dense = np.linspace(*self.support, 801)
        return float((self.likelihood(dense).max(axis=0) / (mass @ self.likelihood(theta))).max())

    def tail_gap(self) -> float:
        """Return the least of exp(-c (L - L0)) minus the prior's mass above L; not negative if c and L0 are right."""
        low, high = self.support
        theta = np.linspace(low, high, 4001)
        level = lipschitz(self.family, self.parameter(theta), self.distance)
        shape = np.exp(-self.prior_rate * theta)
        tail = (shape - shape[-1]) / (shape[0] - shape[-1])
        return float(np.min(np.exp(-self.constants.c * (level - self.constants.start)) - tail))


def rate_of(theta: np.ndarray) -> dict[str, np.ndarray]:
    """Return a rate by its name."""
    return {"rate": theta}


def variance_of(theta: np.ndarray) -> dict[str, np.ndarray]:
    """Return the variance of a precision."""
    return {"variance": 1 / theta}


def examples() -> list[Example]:
    """Return settings in which the printed constants of lemmas 20 and 22 are caught."""
    normal = precision_constants(2, (0.1, 0.5), 3, 0)
    return [
        Example(
            "lemma 19",
            "exponential records, trimmed exponential prior: c, L0 and C as printed",
            exponential_constants(2, (1, 3), 1),
            3 / min(np.exp(-1), 3 * np.exp(-3)),
            dc.Exponential(),
            rate_of,
            RecordDistance.absolute(0, 1),
            (1, 3),
            2,
        ),
        Example(
            "lemma 20",
            "Laplace records: c and L0 as printed, C corrected; the printed C mixes rate and scale",
            laplace_constants(2, (0.5, 0.6), 0.05, 0),
            0.6 / (2 * min(1 / 1.2, np.exp(-0.05 / 0.5) / (2 * 0.5))),
            dc.Laplace(location=0),
            rate_of,
            RecordDistance.absolute("-0.05", "0.05"),
            (0.5, 0.6),
            2,
        ),
        Example(
            "lemma 22",
            "normal records with known mean: c and L0 as printed, C corrected; print has a minimum for a maximum",
            normal,
            min(np.sqrt(0.5 / 0.1) * np.exp(0.1 * 0.5**2 / 2), np.exp(0.5**3 / 2)),
            dc.Normal(mean=0),
            variance_of,
            RecordDistance.quadratic(-3, 3),
            (0.1, 0.5),
            2,
        ),
    ]


def ratios() -> Panel:
    """Check every example, and the beta-binomial one by enumeration."""
    claims, names, printed, true, library = [], [], [], [], []
    for one in examples():
        found = one.ratio()
        wrong = one.source != "lemma 19"
        claims.append(
            Claim(
                one.source,
                one.words,
                one.tail_gap() >= -1e-12 and found <= one.constants.ratio and (one.printed < found) == wrong,
                f"c = {one.constants.c:g}, L0 = {one.constants.start:g}; C: exact {found:.3f}, here "
                f"{one.constants.ratio:.3f}, printed {one.printed:.3f}{' (too small)' if wrong else ''}",
            )
        )
        names.append(one.source)
        printed.append(one.printed)
        true.append(found)
        library.append(one.constants.ratio)
    beta, numbers = _coins()
    names.insert(2, "lemma 21")
    for into, value in zip((printed, true, library), numbers, strict=True):
        into.insert(2, value)
    claims[2:2] = beta
    return Panel("ratios", {"lemma": names, "printed": printed, "exact": true, "library": library}, claims)


def _coins() -> tuple[list[Claim], tuple[float, float, float]]:
    alpha, n = 4.0, 10
    constants = beta_constants(alpha, n)
    level = np.linspace(0.01, 30, 3000)
    tail = 2 * stats.beta.cdf(1 / (1 + np.exp(level)), alpha, alpha)
    p = np.linspace(0, 1, 20_001)
    exact = max(
        float((p**k * (1 - p) ** (n - k)).max())
        / np.exp(betaln(alpha + k, alpha + n - k) - betaln(alpha, alpha))
        for k in range(n + 1)
    )
    printed = float(np.exp(betaln(alpha, alpha) - betaln((n + 2 * alpha - 1) / 2, (n + 2 * alpha + 1) / 2)))
    # the count's own constant: the binomial coefficient, which the posterior does not see
    log_choose = -np.log(n + 1) - betaln(n - np.arange(n + 1) + 1, np.arange(n + 1) + 1)
    slope = float(np.abs(np.diff(log_choose)).max())
    needed, twice = (
        next(float(a) for a in np.arange(1.1, 20, 0.1) if beta_constants(a, 1).c >= c) for c in (1, 2)
    )
    return [
        Claim(
            "lemma 21",
            "tosses with a Beta(a, a) prior: c as printed, above 1 only for a large enough; C exact, far below print",
            bool(np.all(tail <= np.exp(-constants.c * level) * (1 + 1e-9)))
            and bool(np.any(tail > np.exp(-1.05 * constants.c * level)))
            and abs(exact / constants.ratio - 1) < 1e-6
            and printed > 10 * exact,
            f"a = 4, n = 10: c = {constants.c:.3f}, C = {exact:.1f}, printed {printed:.0f}; c >= 1 takes "
            f"a = {needed:.1f}, c >= 2 takes a = {twice:.1f}",
        ),
        Claim(
            "lemma 21",
            "L0 = log n is the binomial coefficient of the count, which cancels in the posterior; for tosses L0 is 0",
            abs(slope - np.log(n)) < 1e-9 and constants.start == 0,
            f"n = 10: the coefficient's steepest step is {slope:.4f} = log 10; the log-odds alone start at 0",
        ),
    ], (printed, exact, constants.ratio)
