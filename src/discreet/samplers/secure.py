"""Where the randomness of a release comes from: OpenDP's exact samplers, fed by the operating system.

There is no seed and no argument through which one could be given to a release; simulations bring a source of their own.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from discreet.extras import needed_for
from discreet.privacy import DiscreteGaussian, DiscreteLaplace, Noise, PermuteAndFlip
from discreet.privacy.selection import Choice, ExponentialChoice
from discreet.samplers.csprng import undisturbed

# draws of one call of OpenDP's
_PIECE = 4096
# so few draws are faster one by one, by a measurement that is made once
_FEW = 4


def _absent(distribution: Any) -> Any:
    raise TypeError(f"this source has no sampler for {type(distribution).__name__}")


@dataclass(frozen=True)
class RandomSource:
    """Where the randomness of a release comes from.

    Releases use :data:`SECURE`, which takes no seed; simulations use :meth:`seeded`.
    ``floating`` runs a floating-point sampler on a generator; ``exponential`` makes one choice by the exponential
    mechanism; ``noise`` draws one integer of noise; ``permute_and_flip`` makes one choice by that mechanism; ``coin``
    is true with a given probability.
    """

    floating: Callable[[Callable[[np.random.Generator], Any]], Any] = _absent
    exponential: Callable[[ExponentialChoice], int] = _absent
    noise: Callable[[Noise], int] = _absent
    permute_and_flip: Callable[[PermuteAndFlip], int] = _absent
    coin: Callable[[Fraction], bool] = _absent

    def noises(self, distribution: Noise, n: int) -> list[int]:
        """Draw ``n`` independent integers of noise, many at a time where the source can."""
        many = getattr(self.noise, "many", None)
        return [self.noise(distribution) for _ in range(n)] if many is None else many(distribution, n)

    def batch(self, distribution: Noise, n: int) -> np.ndarray:
        """Draw ``n`` independent integers of noise as an array: proposals, of which few are kept."""
        drawn = getattr(self.noise, "batch", None)
        return np.array(self.noises(distribution, n)) if drawn is None else drawn(distribution, n)

    @classmethod
    def seeded(cls, rng: np.random.Generator) -> RandomSource:
        """Return a source for simulation."""
        return cls(
            lambda sampler: sampler(rng),
            lambda distribution: distribution.sample(rng),
            SeededDraw(rng),
            lambda distribution: int(rng.choice(len(distribution.scores), p=distribution.mass())),
            lambda probability: bool(rng.random() < float(probability)),
        )


@dataclass(frozen=True)
class SeededDraw:
    """Draws integers from noise distributions for simulation."""

    rng: np.random.Generator

    def __call__(self, noise: Noise) -> int:
        """Draw one integer from ``noise``."""
        return int(noise.sample(1, self.rng)[0])

    def batch(self, noise: Noise, n: int) -> np.ndarray:
        """Draw ``n`` independent integers from ``noise`` at once."""
        return noise.sample(n, self.rng)


@lru_cache(maxsize=1)
def _opendp() -> Any:
    with needed_for("a release"):
        from opendp import domains, measurements, measures, metrics, mod

    mod.enable_features("contrib")
    # its prelude has all of this too, and imports scikit-learn, for longer than the rest of a small release takes
    return SimpleNamespace(domains=domains, measurements=measurements, measures=measures, metrics=metrics)


class SecureDraw:
    """Draws integers from noise distributions.

    OpenDP reads the float scale as an exact rational and samples without floating-point error (Canonne, Kamath and
    Steinke 2020). The 64-bit type is asked for by name: OpenDP's default integer has 32 bits and saturates.
    """

    def __call__(self, noise: Noise) -> int:
        """Draw one integer from ``noise``."""
        return int(_adds(noise)(0))

    def many(self, noise: Noise, n: int) -> list[int]:
        """Draw ``n`` independent integers from ``noise``: OpenDP's noise on a vector of zeros, piece by piece.

        A call for each would take ten times as long. OpenDP holds no lock of Python's while it draws, so pieces are
        drawn side by side, each by a measurement of its own.
        """
        if n <= _FEW:
            return [self(noise) for _ in range(n)]
        pieces = [min(_PIECE, n - start) for start in range(0, n, _PIECE)]
        if len(pieces) < 2:
            return [int(value) for size in pieces for value in _adds_to_each(noise)([0] * size)]
        with ThreadPoolExecutor(min(len(pieces), os.cpu_count() or 1)) as pool:
            drawn = list(pool.map(lambda size: _adds_to_each(noise)([0] * size), pieces))
        return [int(value) for piece in drawn for value in piece]


secure_draw = SecureDraw()


@lru_cache(maxsize=32)
def _adds(noise: Noise) -> Any:
    """Return OpenDP's measurement for a distribution. It holds no state, so the cells of a table share one."""
    dp = _opendp()
    return _measurement(
        noise,
        dp.domains.atom_domain(T="i64"),
        dp.metrics.absolute_distance(T="i64"),
        dp.metrics.absolute_distance(T="i64"),
    )


def _adds_to_each(noise: Noise) -> Any:
    """Return OpenDP's measurement that adds independent noise to each integer of a vector."""
    dp = _opendp()
    return _measurement(
        noise,
        dp.domains.vector_domain(dp.domains.atom_domain(T="i64")),
        dp.metrics.l1_distance(T="i64"),
        dp.metrics.l2_distance(T="i64"),
    )


def _measurement(noise: Noise, domain: Any, for_laplace: Any, for_gaussian: Any) -> Any:
    dp = _opendp()
    match noise:
        case DiscreteLaplace(scale):
            return dp.measurements.make_laplace(domain, for_laplace, scale=scale)
        case DiscreteGaussian(sigma):
            return dp.measurements.make_gaussian(domain, for_gaussian, scale=sigma)
        case _:
            raise TypeError(f"no secure sampler for {type(noise).__name__}")


def secure_choose(distribution: PermuteAndFlip) -> int:
    """Choose one candidate by ``distribution``.

    OpenDP's choice under pure differential privacy is permute-and-flip, in exact rational arithmetic: the float scale
    is read as a rational, and its coins are exact, like the noise of :func:`secure_draw`.
    """
    return _noisy_max(distribution, _opendp().measures.max_divergence())


def secure_select(distribution: ExponentialChoice) -> int:
    """Choose one candidate by the exponential mechanism.

    OpenDP reports the noisy maximum under Gumbel noise, which it refines digit by digit until the largest is certain:
    the float scale is read as a rational, and no floating-point number decides. It accounts for this noise in
    concentrated privacy, which is why that measure is named here; our own accounting is that of
    :class:`~discreet.privacy.selection.ExponentialChoice`.
    """
    return _noisy_max(distribution, _opendp().measures.zero_concentrated_divergence())


def _noisy_max(distribution: Choice, measure: Any) -> int:
    """Return the candidate of the largest noisy score; the measure of privacy decides which noise is added."""
    dp = _opendp()
    space = dp.domains.vector_domain(dp.domains.atom_domain(T="i64")), dp.metrics.linf_distance(T="i64")
    measurement = dp.measurements.make_noisy_max(*space, measure, scale=distribution.scale)
    return int(measurement(list(distribution.scores)))


def secure_coin(probability: Fraction) -> bool:
    """Be true with exactly this probability."""
    return secrets.randbelow(probability.denominator) < probability.numerator


#: The randomness of releases: the operating system's, without a seed.
SECURE = RandomSource(undisturbed, secure_select, secure_draw, secure_choose, secure_coin)
