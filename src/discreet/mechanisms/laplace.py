"""Discrete Laplace noise: pure differential privacy."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

from discreet.artifact.records.noise import LaplaceRecord
from discreet.domain.declarations import Neighbors
from discreet.mechanisms.noise import NoiseMechanism
from discreet.models.layout import Layout
from discreet.privacy import PureDP
from discreet.privacy.guarantees import positive_budget
from discreet.rational import Number


@dataclass(frozen=True)
class Laplace(NoiseMechanism):
    """Add discrete Laplace noise of scale b_j = w_j D1 / epsilon to each coordinate.

    Privacy
    -------
    Neighbors: either relation; the layout's sensitivity is for the one declared.
    Sensitivity: D1 = sup over neighbors of ``sum_j |change_j| / w_j``, joint, grid steps included.
    Theorem: the log-ratio of the two mass functions at any output is at most ``sum_j |change_j| / b_j``
    <= epsilon, so the release is epsilon-DP (Dwork et al. 2006; on integers Ghosh, Roughgarden and Sundararajan
    2009). Scales are rounded up, which only strengthens it.
    """

    name: ClassVar[str] = "discrete_laplace"
    norm: ClassVar[Literal["l1", "l2"]] = "l1"
    record = LaplaceRecord
    epsilon: Fraction

    def __init__(self, epsilon: Number) -> None:
        object.__setattr__(self, "epsilon", positive_budget(epsilon, "epsilon"))

    def guarantee(self, neighbors: Neighbors) -> PureDP:
        return PureDP(self.epsilon, neighbors=neighbors)

    def divided(self, share: Fraction) -> tuple[Laplace, Laplace]:
        return Laplace(self.epsilon * (1 - share)), Laplace(self.epsilon * share)

    def unit_scale(self, layout: Layout) -> Fraction:
        return layout.l1_sensitivity / self.epsilon
