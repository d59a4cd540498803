r"""Groups with a vector of parameters each, and what they have in common: draws of the centers, the spreads and groups.

What group g says for itself of its vector x_g is l_g(x) = q_g(x) / q(x): q_g is the distribution of the draws that its
own engine made, q the prior they were made under (two stages, Lunn et al. 2013), both as multivariate t distributions.
The parameters of one group hang together in q_g as its features do, and that is kept: pooling each parameter by its
marginal would take the others to be as little known as they are without pooling. Over groups

    x_gj = m_j + s_j t_gj,    t_gj ~ Student(4),    m_j ~ N(0, CENTER^2),    s_j with density SPREAD / (SPREAD + s)^2,

one parameter independent of the other: a table has too few groups to learn a whole covariance matrix from. A heavy tail
leaves room for a group that is unlike the others in one parameter. Both kinds of t are normal given weights, so groups
and centers are drawn from normal distributions, weights from gamma distributions; what q adds is a Metropolis step.
Spreads and centers are moved with the groups where they are and with the groups going along, because the first is stuck
where groups are alike, the second where they are far apart (Yu and Meng 2011).

References
----------
Lunn, Barrett, Sweeting, Thompson (2013), "Fully Bayesian hierarchical modelling in two stages, with application to
meta-analysis", J. R. Stat. Soc. C 62(4). Yu, Meng (2011), "To center or not to center: that is not the question", J.
Comput. Graph. Stat. 20(3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import gammaln

from discreet.inference.engine import spend

#: Weak priors, where bounds are mapped to [-1, 1].
CENTER, SPREAD = 2.0, 0.5
#: Degrees of freedom of groups around their center.
FREEDOM = 4.0
_LEAST_SPREAD = 1e-4
_FREEDOMS = np.array([1.5, 2.0, 3.0, 4.0, 6.0, 10.0, 20.0, 60.0, 200.0])
_MOST_FITTED, _FIT_ROUNDS = 2000, 25
_WARM, _THIN = 200, 4
_MOST_CHAINS, _ALL_NUMBERS = 64, 200_000
_LENGTHS = (1.2, 0.4, 0.12)
# seconds of one move for each number of the groups' matrices; measured
_SECONDS = 6e-8


@dataclass(frozen=True)
class Student:
    """A multivariate t distribution: its middle, the inverse of its scale matrix, and its degrees of freedom."""

    middle: np.ndarray
    precision: np.ndarray
    freedom: float

    @classmethod
    def of(cls, x: np.ndarray) -> Student:
        """Fit draws, points × dimension, by maximum likelihood."""
        x = x[:: max(len(x) // _MOST_FITTED, 1)]
        n, p = x.shape
        middle, freedom = np.median(x, axis=0), 6.0
        scale = np.cov(x.T).reshape(p, p)
        tiny = 1e-12 * np.trace(scale) / p + 1e-300
        precision = np.linalg.inv(scale + tiny * np.eye(p))
        constant = gammaln((_FREEDOMS + p) / 2) - gammaln(_FREEDOMS / 2) - p / 2 * np.log(_FREEDOMS)
        for _ in range(_FIT_ROUNDS):
            far = _squares(x - middle, precision)
            weights = (freedom + p) / (freedom + far)
            middle = weights @ x / weights.sum()
            scale = (weights * (x - middle).T) @ (x - middle) / n
            precision = np.linalg.inv(scale + tiny * np.eye(p))
            far = _squares(x - middle, precision)[:, None]
            heights = constant - (_FREEDOMS + p) / 2 * np.log1p(far / _FREEDOMS)
            freedom = float(_FREEDOMS[heights.sum(axis=0).argmax()])
        return cls(middle, precision, freedom)

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """Return the log density at points, up to a constant."""
        far = _squares(x - self.middle, self.precision)
        return -(self.freedom + len(self.middle)) / 2 * np.log1p(far / self.freedom)


def _squares(x: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """Return the squared lengths of vectors under one precision matrix, or one for each place of the last axis."""
    if precision.ndim == 2:
        flat = x.reshape(-1, x.shape[-1])
        return np.einsum("ni,ni->n", flat @ precision, flat).reshape(x.shape[:-1])
    return np.einsum("cgi,cgi->cg", np.einsum("cgi,gij->cgj", x, precision), x)


@dataclass(frozen=True)
class VectorDraws:
    """Draws of centers and spreads (draws × parameters), and of groups (draws × groups × parameters)."""

    center: np.ndarray
    spread: np.ndarray
    groups: np.ndarray


@dataclass
class _State:
    """Chains × parameters: center and spread. Chains × groups × parameters: groups and weights around the center."""

    center: np.ndarray
    spread: np.ndarray
    groups: np.ndarray
    around: np.ndarray
    own: np.ndarray


@dataclass(frozen=True)
class VectorHierarchy:
    """What groups say for themselves, and the prior under which they were read."""

    alone: Sequence[Student]
    prior: Student

    def draw(self, size: int, rng: np.random.Generator) -> VectorDraws:
        """Draw ``size`` times, chain after chain of many short ones that run side by side."""
        middle = np.stack([one.middle for one in self.alone])
        precision = np.stack([one.precision for one in self.alone])
        freedom = np.array([one.freedom for one in self.alone])
        n_groups, p = middle.shape
        chains = int(np.clip(_ALL_NUMBERS / (n_groups * p * p), 4, _MOST_CHAINS))
        each = -(-size // chains)
        walk = _Walk(self.prior, middle, precision, freedom, rng)
        moves = _WARM + _THIN * each
        spend(_SECONDS * moves * chains * n_groups * p * p * (p + 4))
        state, kept = walk.start(chains), []
        for move in range(moves):
            walk.move(state)
            if move >= _WARM and (move - _WARM) % _THIN == _THIN - 1:
                kept.append((state.center.copy(), state.spread.copy(), state.groups.copy()))
        center, spread, groups = (np.stack(parts, axis=1) for parts in zip(*kept, strict=True))
        return VectorDraws(
            center.reshape(-1, p)[:size], spread.reshape(-1, p)[:size], groups.reshape(-1, n_groups, p)[:size]
        )


@dataclass(frozen=True)
class _Walk:
    prior: Student
    middle: np.ndarray
    precision: np.ndarray
    freedom: np.ndarray
    rng: np.random.Generator

    @cached_property
    def _pull(self) -> np.ndarray:
        return np.einsum("gij,gj->gi", self.precision, self.middle)

    def start(self, chains: int) -> _State:
        """Return chains that start apart: spreads over two orders of magnitude, groups where they say they are."""
        n_groups, p = self.middle.shape
        spread = SPREAD * np.exp(self.rng.uniform(np.log(0.05), np.log(2.0), (chains, p)))
        center = np.median(self.middle, axis=0) + 0.1 * self.rng.standard_normal((chains, p))
        ones = np.ones((chains, n_groups, p))
        return _State(center, spread, ones * self.middle, ones, np.ones((chains, n_groups)))

    def move(self, at: _State) -> None:
        """Move everything once, in place."""
        self._groups(at)
        self._weights(at)
        self._center_apart(at)
        self._spread_apart(at)
        self._center_along(at)
        self._spread_along(at)

    def _height(self, groups: np.ndarray, own: np.ndarray) -> np.ndarray:
        """Return what each group says for itself, given its weight: chains × groups."""
        far = _squares(groups - self.middle, self.precision)
        return -0.5 * own * far - self.prior.log_density(groups)

    def _groups(self, at: _State) -> None:
        tight = at.around / at.spread[:, None] ** 2
        precision = at.own[..., None, None] * self.precision
        pull = at.own[..., None] * self._pull + tight * at.center[:, None]
        i = np.arange(precision.shape[-1])
        precision[..., i, i] += tight
        there = _normal(precision, pull, self.rng)
        gain = self.prior.log_density(at.groups) - self.prior.log_density(there)
        accepted = np.log(self.rng.random(gain.shape)) < gain
        at.groups = np.where(accepted[..., None], there, at.groups)

    def _weights(self, at: _State) -> None:
        far = ((at.groups - at.center[:, None]) / at.spread[:, None]) ** 2
        at.around = self.rng.standard_gamma((FREEDOM + 1) / 2, far.shape) / ((FREEDOM + far) / 2)
        p = self.middle.shape[1]
        far = _squares(at.groups - self.middle, self.precision)
        shape = np.broadcast_to((self.freedom + p) / 2, far.shape)
        at.own = self.rng.standard_gamma(shape) / ((self.freedom + far) / 2)

    def _center_apart(self, at: _State) -> None:
        tight = at.around / at.spread[:, None] ** 2
        precision = tight.sum(axis=1) + CENTER**-2
        mean = (tight * at.groups).sum(axis=1) / precision
        at.center = mean + self.rng.standard_normal(mean.shape) / np.sqrt(precision)

    def _spread_apart(self, at: _State) -> None:
        total = (at.around * (at.groups - at.center[:, None]) ** 2).sum(axis=1)
        n_groups = at.groups.shape[1]

        def height(spread: np.ndarray) -> np.ndarray:
            return -n_groups * np.log(spread) - 0.5 * total / spread**2 + _log_spread(spread)

        for length in _LENGTHS:
            there = at.spread * np.exp(length * self.rng.standard_normal(at.spread.shape))
            gain = height(there) - height(at.spread)
            at.spread = np.where(np.log(self.rng.random(gain.shape)) < gain, there, at.spread)

    def _center_along(self, at: _State) -> None:
        """Move the center, and all groups by as much."""
        apart = at.groups - at.center[:, None]
        pull = self._pull - np.einsum("cgi,gij->cgj", apart, self.precision)
        pull = (at.own[..., None] * pull).sum(axis=1)
        precision = np.einsum("cg,gij->cij", at.own, self.precision)
        precision += CENTER**-2 * np.eye(self.middle.shape[1])
        there = _normal(precision, pull, self.rng)
        moved = there[:, None] + apart
        gain = (self.prior.log_density(at.groups) - self.prior.log_density(moved)).sum(axis=1)
        accepted = np.log(self.rng.random(gain.shape)) < gain
        at.center = np.where(accepted[:, None], there, at.center)
        at.groups = np.where(accepted[:, None, None], moved, at.groups)

    def _spread_along(self, at: _State) -> None:
        """Move one spread after the other, and all groups away from the center or towards it."""
        height = self._height(at.groups, at.own).sum(axis=1)
        for j in range(self.middle.shape[1]):
            length = _LENGTHS[self.rng.integers(len(_LENGTHS))]
            times = np.exp(length * self.rng.standard_normal(len(height)))
            there = at.spread[:, j] * times
            moved = at.groups.copy()
            moved[..., j] = at.center[:, None, j] + times[:, None] * (moved[..., j] - at.center[:, None, j])
            found = self._height(moved, at.own).sum(axis=1)
            gain = found - height + _log_spread(there) - _log_spread(at.spread[:, j])
            accepted = np.log(self.rng.random(gain.shape)) < gain
            at.spread[:, j] = np.where(accepted, there, at.spread[:, j])
            at.groups = np.where(accepted[:, None, None], moved, at.groups)
            height = np.where(accepted, found, height)


def _log_spread(spread: np.ndarray) -> np.ndarray:
    """Return the log prior density of the log of a spread."""
    density = np.log(spread) - 2 * np.log(SPREAD + spread)
    return np.where(spread > _LEAST_SPREAD, density, -np.inf)


def _normal(precision: np.ndarray, pull: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw from normal distributions with these precision matrices P and means P^-1 pull.

    Column by column for all matrices at once, which are many and small.
    """
    p = pull.shape[-1]
    root = np.zeros_like(precision)
    for j in range(p):
        rest = precision[..., j:, j] - (root[..., j:, :j] * root[..., j, None, :j]).sum(axis=-1)
        root[..., j:, j] = rest / np.sqrt(rest[..., :1])
    found = np.empty_like(pull)
    for j in range(p):
        below = (root[..., j, :j] * found[..., :j]).sum(axis=-1)
        found[..., j] = (pull[..., j] - below) / root[..., j, j]
    found += rng.standard_normal(pull.shape)
    for j in reversed(range(p)):
        above = (root[..., j + 1 :, j] * found[..., j + 1 :]).sum(axis=-1)
        found[..., j] = (found[..., j] - above) / root[..., j, j]
    return found
