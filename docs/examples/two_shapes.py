"""Families of one's own with two statistics: shares of a day, and waiting times of unknown shape."""

from dataclasses import dataclass

import numpy as np
from scipy.special import betainc, betaln, gammainc, gammaln

from discreet.families import Support, VectorFamily, register


@register
@dataclass(frozen=True)
class Share(VectorFamily):
    """A share between 0 and 1, beta distributed, with density proportional to x^(a-1) (1-x)^(b-1)."""

    name = "share"
    draw_names = ("a", "b")
    low: float = 0.02
    high: float = 0.98

    @property
    def support(self):
        return Support(0.0, 1.0)

    def statistics(self, x):
        return [np.log(x), np.log1p(-x)]

    def natural(self, theta):
        return np.stack([theta["a"], theta["b"]], axis=-1)

    def log_partition(self, eta):
        return betaln(eta[..., 0], eta[..., 1])

    def log_base_measure(self, x):
        return -np.log(x) - np.log1p(-x)

    def cdf(self, x, theta):
        return betainc(np.asarray(theta["a"])[..., None], np.asarray(theta["b"])[..., None], x)

    def sample(self, theta, size, rng):
        return np.clip(rng.beta(theta["a"], theta["b"], size), 1e-12, 1 - 1e-12)


@register
@dataclass(frozen=True)
class Waiting(VectorFamily):
    """A waiting time, gamma distributed, with unknown shape and rate."""

    name = "waiting"
    draw_names = ("shape", "rate")
    low: float = 0.05
    high: float = 20.0

    @property
    def support(self):
        return Support(0.0, np.inf)

    def statistics(self, x):
        return [np.log(x), x]

    def natural(self, theta):
        return np.stack([theta["shape"], -theta["rate"]], axis=-1)

    def log_partition(self, eta):
        return gammaln(eta[..., 0]) - eta[..., 0] * np.log(-eta[..., 1])

    def log_base_measure(self, x):
        return -np.log(x)

    def cdf(self, x, theta):
        return gammainc(np.asarray(theta["shape"])[..., None], np.asarray(theta["rate"])[..., None] * x)

    def sample(self, theta, size, rng):
        return np.maximum(rng.gamma(theta["shape"], 1 / theta["rate"], size), 1e-12)
