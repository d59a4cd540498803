r"""The Ornstein-Uhlenbeck mechanism: let the true value diffuse, pulled toward a public point, and publish where it is.

    dX = -pull X dt + sqrt(2) spread dW,    X_0 = f(D),    publish X_t.

Variation of constants gives X_t = e^(-pull t) X_0 + sqrt(2) spread \int_0^t e^(-pull (t - s)) dW_s, and the isometry
of Itô the variance of the integral: X_t is normal with mean shrink * f(D), shrink = e^(-pull t), and variance 2
spread^2 \int_0^t e^(-2 pull u) du = spread^2 (1 - shrink^2) / pull in each coordinate (2 spread^2 t without pull).

So it is the Gaussian mechanism with noise sigma = sd / shrink, shrunk afterward, as anybody could have done with its
output; what the diffusion adds is the semigroup: X_s for s > t, made from X_t alone, serves an audience that is trusted
less, at a guarantee of its own.

References
----------
Named in section 6.5 of Geumlek (2020), where the formulas are missing; derived here. Balle, Barthe, Gaboardi and
Geumlek (2019).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arguments import not_negative, positive, whole
from discreet.checked import checked
from discreet.domain.declarations import Neighbors
from discreet.privacy.amplification.differences import mean_exp
from discreet.privacy.amplification.statements import concentrated
from discreet.privacy.guarantees import ZeroConcentratedDP


@dataclass(frozen=True)
class OrnsteinUhlenbeck:
    """The process dX = -pull X dt + sqrt(2) spread dW, stopped at ``time``; without pull it is Brownian motion.

    Privacy
    -------
    Neighbors: those whose f differ by at most ``l2_sensitivity`` in Euclidean norm; see :meth:`rho`.
    """

    pull: float
    spread: float
    time: float

    def __post_init__(self) -> None:
        not_negative(self.pull, "pull")
        positive(self.spread, "spread")
        positive(self.time, "time")

    @classmethod
    def calibrated(
        cls, rho: float, l2_sensitivity: float, radius: float, dimension: int
    ) -> OrnsteinUhlenbeck:
        """Return the process at time 1 that is rho-zCDP with the least error for the worst f of norm ``radius``.

        The Gaussian mechanism needs variance v = l2_sensitivity^2 / (2 rho). Shrinking its output by s costs (1 - s)^2
        radius^2 + s^2 dimension v, least at s = radius^2 / (radius^2 + dimension v).
        """
        variance = positive(l2_sensitivity, "l2_sensitivity") ** 2 / (2 * positive(rho, "rho"))
        excess = whole(dimension, "dimension") * variance / positive(radius, "radius") ** 2
        pull = np.log1p(excess)  # -log s
        # v = spread^2 (e^(2 pull) - 1) / pull
        spread = np.sqrt(variance * pull / np.expm1(2 * pull))
        return cls(float(pull), float(spread), 1.0)

    @property
    def shrink(self) -> float:
        """Factor of f in the mean."""
        return float(np.exp(-self.pull * self.time))

    @property
    def sd(self) -> float:
        """Standard deviation of each coordinate."""
        decay = mean_exp(np.array(-2 * self.pull * self.time))
        return float(self.spread * np.sqrt(2 * self.time * decay))

    @property
    def equivalent_sigma(self) -> float:
        """Noise of the Gaussian mechanism with the same guarantee; infinite where that is no float."""
        with np.errstate(over="ignore"):
            return float(self.sd * np.exp(self.pull * self.time))

    @checked
    def rho(self, l2_sensitivity: float) -> float:
        """Return rho = pull l2_sensitivity^2 / (2 spread^2 (e^(2 pull time) - 1)); the Rényi divergence is order * rho.

        Exact for two f at that distance. Without pull: l2_sensitivity^2 / (4 spread^2 time).
        """
        return (positive(l2_sensitivity, "l2_sensitivity") / self.equivalent_sigma) ** 2 / 2

    def guarantee(
        self, l2_sensitivity: float, *, neighbors: Neighbors = "replace", unit: str | None = None
    ) -> ZeroConcentratedDP:
        """Return what holds for neighbors of this relation, whose f differ by at most ``l2_sensitivity``."""
        return concentrated(self.rho(l2_sensitivity), neighbors=neighbors, unit=unit)

    @checked
    def mean_squared_error(self, radius: float, dimension: int) -> float:
        """Return the expected squared distance of X_t and f, for f of norm ``radius`` in this dimension.

        (1 - shrink)^2 radius^2 + dimension * sd^2. For :meth:`calibrated` it is d v / (1 + d v / radius^2), with v the
        variance and d v the error of the Gaussian mechanism of the same guarantee: always smaller, and never above
        radius^2.
        """
        bias = -np.expm1(-self.pull * self.time) * not_negative(radius, "radius")
        return float(bias**2 + whole(dimension, "dimension") * self.sd**2)

    @checked
    def later(self, time: float) -> OrnsteinUhlenbeck:
        """Return the process stopped ``time`` later; it can be made from X_t alone."""
        return OrnsteinUhlenbeck(self.pull, self.spread, self.time + positive(time, "time"))
