"""A family of one's own for two counts of one person, that need not be independent."""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from discreet.families import Support, VectorFamily, register


@register
@dataclass(frozen=True)
class TwoCounts(VectorFamily):
    """Two counts x and y from 0 to ``most``, in proportion to C(most, x) C(most, y) exp(a x + b y + c x y).

    For c = 0 they are independent and binomial. Both are in one column, as x (most + 1) + y.
    """

    name = "two_counts"
    draw_names = ("a", "b", "c")
    low: float = 0
    high: float = 168
    most: int = 12

    @property
    def support(self):
        return Support(0.0, (self.most + 1.0) ** 2 - 1, discrete=True)

    def pack(self, x, y):
        """Return both counts as one number; what is beyond ``most`` counts as it."""
        x, y = (np.clip(np.rint(np.asarray(each, dtype=float)), 0, self.most) for each in (x, y))
        return x * (self.most + 1) + y

    def statistics(self, x):
        x, y = np.divmod(x, self.most + 1)
        return [x, y, x * y]

    def natural(self, theta):
        return np.stack([theta["a"], theta["b"], theta["c"]], axis=-1)

    def log_base_measure(self, x):
        x, y = np.divmod(x, self.most + 1)
        each = [gammaln(k + 1) + gammaln(self.most - k + 1) for k in (x, y)]
        return 2 * gammaln(self.most + 1) - each[0] - each[1]

    def log_partition(self, eta):
        # a sum over all pairs, of which there are finitely many
        pairs = np.arange((self.most + 1.0) ** 2)
        log_p = np.asarray(eta) @ np.stack(self.statistics(pairs)) + self.log_base_measure(pairs)
        return np.logaddexp.reduce(log_p, axis=-1)

    def sample(self, theta, size, rng):
        pairs = np.arange((self.most + 1.0) ** 2)
        eta = np.array([float(theta[name]) for name in self.draw_names])
        log_p = eta @ np.stack(self.statistics(pairs)) + self.log_base_measure(pairs)
        return rng.choice(pairs, size, p=np.exp(log_p - np.logaddexp.reduce(log_p)))
