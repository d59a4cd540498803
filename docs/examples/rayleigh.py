"""A family of one's own: distances from the center of a target."""

from dataclasses import dataclass

import numpy as np

from discreet.families import Family, Support, register
from discreet.priors import Gamma


@register
@dataclass(frozen=True)
class Rayleigh(Family):
    """Positive, with density 2 rate x exp(-rate x^2); rate is 1 / (2 sigma^2)."""

    name = "rayleigh"
    prior_type = Gamma
    draw_names = ("rate",)
    statistic_range = (0.0, np.inf)

    @property
    def support(self):
        return Support(0.0, np.inf)

    def measure(self, x):
        return x * x

    def measure_range(self, low, high):
        return low * low, high * high

    def log_base_measure(self, x):
        return np.log(2 * x, out=np.full(np.shape(x), -np.inf), where=x > 0)

    def natural(self, theta):
        return -np.asarray(theta["rate"])[..., None]

    def from_natural(self, eta):
        return {"rate": -eta[..., 0]}

    def log_partition(self, eta):
        return -np.log(-eta[..., 0])

    def update(self, prior, s, n):
        return Gamma(prior.shape + n, prior.rate + s[..., 0])
