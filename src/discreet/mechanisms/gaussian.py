"""Discrete Gaussian noise: zero-concentrated or approximate differential privacy."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import ClassVar, Literal

from discreet.artifact.records.noise import GaussianRecord
from discreet.domain.declarations import Neighbors
from discreet.errors import UsageError
from discreet.mechanisms.noise import NoiseMechanism
from discreet.models.layout import Layout
from discreet.privacy import ApproxDP, Guarantee, ZeroConcentratedDP
from discreet.privacy.gaussian import rho_for_approx, sigma_for_approx
from discreet.rational import Number, sqrt_up


@dataclass(frozen=True)
class Gaussian(NoiseMechanism):
    """Add discrete Gaussian noise of parameter sigma_j = w_j sigma to each coordinate.

    Give ``rho``, or ``epsilon`` with ``delta``.

    Privacy
    -------
    Neighbors: either relation; the layout's sensitivity is for the one declared. Sensitivity: D2 = sup over
    neighbors of the square root of sum_j (change_j / w_j)^2, joint, grid steps included. Theorem: independent
    discrete Gaussians give (sum_j change_j^2 / 2 sigma_j^2)-zCDP, so sigma = D2 / sqrt(2 rho) gives rho-zCDP
    (Canonne, Kamath and Steinke 2020, theorem 4). For (epsilon, delta), one coordinate is calibrated from the
    discrete distribution's own sum, several through zCDP; see :mod:`discreet.privacy.gaussian`.
    """

    name: ClassVar[str] = "discrete_gaussian"
    norm: ClassVar[Literal["l1", "l2"]] = "l2"
    record = GaussianRecord
    promise: ZeroConcentratedDP | ApproxDP

    def __init__(
        self, *, rho: Number | None = None, epsilon: Number | None = None, delta: Number | None = None
    ) -> None:
        if rho is not None and epsilon is None and delta is None:
            promise = ZeroConcentratedDP(rho)
        elif rho is None and epsilon is not None and delta is not None:
            promise = ApproxDP(epsilon, delta)
        else:
            raise UsageError("gaussian noise takes either rho, or epsilon with delta.")
        object.__setattr__(self, "promise", promise)

    def guarantee(self, neighbors: Neighbors) -> Guarantee:
        if isinstance(self.promise, ZeroConcentratedDP):
            return ZeroConcentratedDP(self.promise.rho, neighbors=neighbors)
        return ApproxDP(self.promise.epsilon, self.promise.delta, neighbors=neighbors)

    def divided(self, share: Fraction) -> tuple[Gaussian, Gaussian]:
        budgets = self.promise.budgets().items()
        first, second = (
            Gaussian(**{name: value * part for name, value in budgets}) for part in (1 - share, share)
        )
        return first, second

    def unit_scale(self, layout: Layout) -> Fraction:
        if isinstance(self.promise, ZeroConcentratedDP):
            rho = self.promise.rho
        else:
            epsilon, delta = float(self.promise.epsilon), float(self.promise.delta)
            if len(layout.names) == 1:
                step = layout.grid[0] / layout.width[0]
                most_steps = floor(layout.l2_sensitivity / step)
                return Fraction(sigma_for_approx(epsilon, delta, most_steps)) * step
            rho = Fraction(rho_for_approx(epsilon, delta))
        return sqrt_up(layout.l2_sensitivity**2 / (2 * rho))
