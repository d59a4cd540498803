r"""Many short chains at once: a population that travels from prior to posterior, then samples.

Walkers live in populations, each in two halves. Every move of a half proposes from what the other half knows,
so detailed balance is exact and nothing needs tuning:

independence
    A point near a random walker of the other half (a kernel density of it), or a global proposal: a draw from the
    prior, or from near the face value of the readings. In few dimensions this alone gives nearly independent draws;
    global proposals keep the tails honest, suffice where noise dominates, and find what was missed on the way from the
    prior.
difference
    A step along the difference of two walkers of the other half (ter Braak 2006), now and then of its whole length,
    which jumps between modes.
variances
    The noise given everything else, then its variances, by Gibbs (Bernstein and Sheldon 2018, algorithm 1, line 6); not
    needed where they have been integrated out.

The way from the prior: noise is inflated until readings say nothing, then deflated in steps that keep half of the
walkers effective, with resampling (of all together, so that none is left in a mode that has lost its mass) and moves in
between. From then on the populations never meet, and warm-up goes on until they agree.

References
----------
ter Braak (2006), "A Markov chain Monte Carlo version of the genetic algorithm Differential Evolution". Del Moral,
Doucet, Jasra (2006), "Sequential Monte Carlo samplers". Margossian et al. (2024), "Nested R-hat: assessing the
convergence of Markov chain Monte Carlo when running many short chains".
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.errors import OutOfReachError
from discreet.inference.engine import left, spend
from discreet.inference.engines.gibbs.global_proposals import GlobalProposals
from discreet.inference.engines.gibbs.target import Place, Target

#: Populations that exchange nothing once they have arrived, so that their agreement means something.
POPULATIONS = 4
#: Nested R-hat above which populations are said to disagree.
R_HAT_LIMIT = 1.01
# share of global proposals in the independence move
_GLOBAL_SHARE = 0.15
# centers of the kernel density, at most
_CENTERS = 32
# dimensions in which a kernel density of the other half is still a good proposal
_KERNEL_DIM = 4
_MOST_THIN = 16
_PILOT, _ATTEMPTS = 6, 5
# sweeps at most between two steps of the way from the prior
_MOST_SWEEPS = 10
# steps of that way, at most. Where the model holds some 30 are enough, for a trillion records too; totals that
# contradict it, by thousands of noise scales, would take as many steps as they are off.
_MOST_ROUNDS, _MOST_OF_MANY = 120, 60
# what a sweep of a usual number of walkers on that way costs, for each pair of readings; measured
_SWEEP_SECONDS, _READING_SECONDS = 7e-4, 3.5e-3
# Walkers of a population: in few dimensions, in more, and where an integral over three columns makes each expensive.
# There sweeps between steps, attempts to agree and seconds of the draws at the end are fewer too.
_FEW_DIM, _MANY_DIM, _EXPENSIVE = 128, 192, 64
_FEW_SWEEPS, _FEW_ATTEMPTS, _LAST_SECONDS = 5, 3, 3.0


@dataclass
class State:
    """Where the walkers are: coordinates, noise variances (walkers last), and the target's parts there."""

    x: np.ndarray
    w: np.ndarray
    place: Place
    log_likelihood: np.ndarray


class Walkers:
    """A set of populations exploring one target."""

    def __init__(self, target: Target, rng: np.random.Generator) -> None:
        self._target, self._rng, self._dim = target, rng, target.dim
        self._kappa, self._moved = math.inf, 0.0
        self._kernel = self._dim <= _KERNEL_DIM
        #: Whether every place takes an integral over three columns.
        self.expensive = target.family.n_columns > 2
        #: Walkers of a population, an even number.
        self.each = _FEW_DIM if self._kernel else _EXPENSIVE if self.expensive else _MANY_DIM
        # where nothing was redacted, the prior
        self._global = target if target.face_value is None else GlobalProposals.of(target, rng)
        size = POPULATIONS * self.each
        x, w = target.reference(size, rng), target.readings.draw_variances(size, rng)
        self._state = State(x, w, target.place(x), np.zeros(size))

    # -- from the prior to the posterior --------------------------------------------------------------

    def arrive(self) -> None:
        """Deflate the noise step by step until the walkers stand in the posterior."""
        state = self._state
        # the reference has a uniform count; its prior, where it is not flat, enters with the first weights
        carried = state.place.log_prior - self._target.log_reference(state.x)
        carried = np.where(np.isnan(carried), -np.inf, carried)
        start = 10 * (1 + float(np.abs(state.place.residual).max()))
        log_kappa = math.log(start)
        # with many readings a step takes longer
        n_readings = self._target.n_readings
        usual = max(_SWEEP_SECONDS * n_readings**2, _READING_SECONDS * n_readings)
        for _ in range(_MOST_ROUNDS if n_readings <= 3 else _MOST_OF_MANY):
            self._kappa, log_weights, log_new = self._next(log_kappa, carried)
            log_kappa = math.log(self._kappa)
            chosen = self._resample(log_weights)
            state = self._state = State(
                state.x[chosen], state.w[:, chosen], state.place.take(chosen), log_new[chosen]
            )
            # copies made by resampling must part before the next step: more moves in more dimensions
            self._moved = 0.0
            for _ in range(_FEW_SWEEPS if self.expensive else _MOST_SWEEPS):
                spend(usual * self.each / (_FEW_DIM if self._kernel else _MANY_DIM))
                self.sweep(force_both=True)
                if self._moved >= 0.5 + self._dim / 3:
                    break
            if self._kappa == 1:
                return
            carried = -state.log_likelihood
        raise OutOfReachError(
            f"the totals are too far from any that a {self._target.family.name} model of these records gives: its "
            "posterior is out of reach.",
            hint="take another model; to compare, ignoring the noise: engine='naive'",
        )

    def _next(self, log_kappa: float, carried: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the smallest inflation that leaves half of the walkers effective, with weights and likelihoods."""
        state = self._state

        def at(log_kappa: float) -> tuple[float, np.ndarray, np.ndarray]:
            kappa = math.exp(log_kappa)
            log_new = self._target.log_collapsed(state.place, state.w, kappa)
            return kappa, carried + log_new, log_new

        low, high = 0.0, log_kappa
        found = at(low)
        if _effective(found[1]) >= 0.5:
            return found
        for _ in range(12):
            middle = (low + high) / 2
            found = at(middle)
            share = _effective(found[1])
            if 0.45 <= share <= 0.6:
                return found
            low, high = (middle, high) if share < 0.5 else (low, middle)
        # weights that no inflation evens out come from the prior of the count, or a gap in it: take them as they are
        return at(high)

    def _resample(self, log_weights: np.ndarray) -> np.ndarray:
        """Resample systematically, all populations together; return the chosen walkers in random order."""
        size = len(log_weights)
        weights = np.exp(log_weights - log_weights.max()) if np.isfinite(log_weights.max()) else np.ones(size)
        cumulative = np.cumsum(weights) / weights.sum()
        points = (np.arange(size) + self._rng.random()) / size
        # copies would be neighbors: spread them over populations and halves
        return self._rng.permutation(np.minimum(np.searchsorted(cumulative, points), size - 1))

    # -- one sweep -------------------------------------------------------------------------------------

    def sweep(self, *, force_both: bool = False) -> None:
        """Move every walker once by each move."""
        state, rng = self._state, self._rng
        if not self._target.collapses:
            state.w = self._target.draw_variances(state.place, state.w, self._kappa, rng)
            state.log_likelihood = self._target.log_likelihood(state.place, state.w, self._kappa)
        grid = np.arange(POPULATIONS * self.each).reshape(POPULATIONS, 2, -1)
        for side in (0, 1):
            movers, others = grid[:, side], grid[:, 1 - side]
            self._independence(movers, others)
            if force_both or not self._kernel:
                self._difference(movers, others)

    def _difference(self, movers: np.ndarray, others: np.ndarray) -> None:
        rng, x = self._rng, self._state.x
        p, half = movers.shape
        first = rng.integers(0, half, (p, half))
        second = (first + rng.integers(1, half, (p, half))) % half
        step = x[np.take_along_axis(others, first, 1)] - x[np.take_along_axis(others, second, 1)]
        length = 2.38 / math.sqrt(2 * self._dim) * rng.uniform(0.5, 1.1, (p, half, 1))
        length = np.where(rng.random((p, half, 1)) < 0.1, 1.0, length)
        jitter = 1e-3 * rng.standard_normal((p, half, self._dim))
        spread = x[others].std(axis=1, keepdims=True)
        proposal = x[movers] + length * step + jitter * spread
        self._accept(movers, proposal, np.zeros(movers.size))

    def _independence(self, movers: np.ndarray, others: np.ndarray) -> None:
        rng, x = self._rng, self._state.x
        p, half = movers.shape
        cloud = x[others]
        center = cloud.mean(axis=1, keepdims=True)
        off = cloud - center
        covariance = off.transpose(0, 2, 1) @ off / half
        # a population that has collapsed to fewer points than dimensions still gets a regular shape
        variances = np.einsum("pii->pi", covariance)
        covariance += np.eye(self._dim) * (1e-6 * variances + 1e-300)[:, :, None]
        root = np.linalg.cholesky(covariance)
        centers, width = center, 1.0
        if self._kernel:
            centers = cloud[:, :_CENTERS]
            width = 1.06 * centers.shape[1] ** (-1 / (self._dim + 4))
        # Student kernels of 5 degrees of freedom: lighter ones would leave walkers of the tails behind
        stretch = np.sqrt(5 / rng.chisquare(5, (p, half, 1)))
        z = rng.standard_normal((p, half, self._dim)) * stretch * width
        pick = rng.integers(0, centers.shape[1], (p, half))
        proposal = np.take_along_axis(centers, pick[:, :, None], axis=1) + z @ root.transpose(0, 2, 1)
        far = rng.random((p, half)) < _GLOBAL_SHARE
        proposal[far] = self._global.reference(int(far.sum()), rng)
        inverse = np.linalg.inv(root) / width
        log_det = np.log(np.abs(np.einsum("pii->pi", inverse))).sum(axis=1)
        both = np.concatenate([x[movers], proposal], axis=1)
        log_q = _student_mixture(both, centers, inverse) + log_det[:, None]
        log_r = self._global.log_reference(both.reshape(-1, self._dim)).reshape(log_q.shape)
        log_q = np.logaddexp(math.log1p(-_GLOBAL_SHARE) + log_q, math.log(_GLOBAL_SHARE) + log_r)
        self._accept(movers, proposal, (log_q[:, :half] - log_q[:, half:]).ravel())

    def _accept(self, movers: np.ndarray, proposal: np.ndarray, log_ratio: np.ndarray) -> None:
        state, at = self._state, movers.ravel()
        x = proposal.reshape(-1, self._dim)
        place = self._target.place(x)
        log_l = self._target.log_collapsed(place, state.w[:, at], self._kappa)
        old = state.place.log_prior[at] + state.log_likelihood[at]
        log_ratio = log_ratio + place.log_prior + log_l - old
        # nan only where both the old and the new density are zero: then any move is as good
        taken = ~(np.log1p(-self._rng.random(at.size)) > log_ratio)
        index = at[taken]
        state.x[index] = x[taken]
        state.log_likelihood[index] = log_l[taken]
        state.place.log_prior[index] = place.log_prior[taken]
        state.place.residual[:, index] = place.residual[:, taken]
        state.place.covariance[:, :, index] = place.covariance[:, :, taken]
        # each half is moved on its own
        self._moved += float(taken.mean()) / 2

    # -- sampling --------------------------------------------------------------------------------------

    def run(self, steps: int, thin: int = 1) -> np.ndarray:
        """Return coordinates (steps, walkers, dimension), ``thin`` sweeps apart."""
        out = np.empty((steps, *self._state.x.shape))
        for step in range(steps):
            for _ in range(thin):
                self.sweep()
            out[step] = self._state.x
        return out


def _effective(log_weights: np.ndarray) -> float:
    """Return the effective share of weighted walkers, 0 if none has any weight."""
    top = log_weights.max()
    if not np.isfinite(top):
        return 0.0
    weights = np.exp(log_weights - top)
    return float(weights.sum() ** 2 / (weights**2).sum() / weights.size)


def _student_mixture(points: np.ndarray, centers: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    """Log of the average over centers of a Student t density with 5 degrees of freedom, without its log volume."""
    d = points.shape[2]
    a, b = points @ inverse.transpose(0, 2, 1), centers @ inverse.transpose(0, 2, 1)
    squared = np.zeros((len(a), a.shape[1], b.shape[1]))
    for i in range(d):
        gap = a[:, :, None, i] - b[:, None, :, i]
        squared += gap * gap
    constant = math.lgamma((5 + d) / 2) - math.lgamma(2.5) - d / 2 * math.log(5 * math.pi)
    if b.shape[1] == 1:
        return constant - (5 + d) / 2 * np.log1p(squared[:, :, 0] / 5)
    # the nearest center is always among the terms, so nothing underflows to zero before it is far outside
    return constant + np.log(((1 + squared / 5) ** (-(5 + d) / 2)).mean(axis=2))


def nested_r_hat(draws: np.ndarray) -> np.ndarray:
    """Return nested R-hat of each coordinate; draws are (steps, walkers, dimension), populations one after another."""
    steps, n, d = draws.shape
    grouped = draws.reshape(steps, POPULATIONS, n // POPULATIONS, d)
    means = grouped.mean(axis=(0, 2))
    within = grouped.var(axis=(0, 2), ddof=1).mean(axis=0)
    between = means.var(axis=0, ddof=1)
    return np.sqrt(1 + between / np.where(within > 0, within, 1.0))


def lag_correlation(draws: np.ndarray, lag: int) -> float:
    """Return the largest correlation, over coordinates, between walkers and themselves ``lag`` steps later."""
    early, late = draws[:-lag], draws[lag:]
    center, variance = draws.mean(axis=(0, 1)), draws.var(axis=(0, 1))
    covariance = ((early - center) * (late - center)).mean(axis=(0, 1))
    return float((covariance / np.where(variance > 0, variance, 1.0)).max())


def sample(
    target: Target, size: int, chains: int, rng: np.random.Generator
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Draw coordinates (size, dimension), chain after chain and walker after walker within a chain.

    Returns
    -------
    The draws, and a warning if the populations still disagree after the longest warm-up.
    """
    walkers = Walkers(target, rng)
    walkers.arrive()
    total, expensive = POPULATIONS * walkers.each, walkers.expensive
    thin, warnings = 1, ()
    half, worst, a_sweep = np.empty(0), 1.0, 0.0
    for attempt in range(_FEW_ATTEMPTS if expensive else _ATTEMPTS):
        before = left() if expensive else 0.0
        pilot = walkers.run(_PILOT * 2**attempt)
        a_sweep = (before - left()) / len(pilot) if expensive else 0.0
        half = pilot[len(pilot) // 2 :]
        worst = float(nested_r_hat(half).max())
        # means of fewer walkers differ by more
        if worst <= 1 + (R_HAT_LIMIT - 1) * (_MANY_DIM / walkers.each if expensive else 1.0):
            break
    else:
        warnings = (
            f"populations of walkers do not agree (nested R-hat {worst:.3f}): do not trust the tails.",
        )
    reach = len(half) - 1
    correlation = lag_correlation(half, 1)
    if correlation > 0:
        correlation = max(correlation, max(lag_correlation(half, reach), 0.0) ** (1 / reach))
    if correlation > 0.4:
        # draws far enough apart that successive ones are correlated by 0.4 at most
        thin = min(_MOST_THIN, math.ceil(math.log(0.4) / math.log(min(correlation, 0.999))))
    per_chain = size // chains
    owned = max(total // chains, 1)
    steps = math.ceil(per_chain / owned)
    if expensive and a_sweep:
        thin = max(1, min(thin, int(_LAST_SECONDS / (steps * a_sweep))))
    draws = walkers.run(steps, thin)
    # evenly spaced walkers of each chain's own block
    needed = math.ceil(per_chain / steps)
    mine = np.arange(chains)[:, None] * total // chains + np.arange(needed) * owned // needed
    order = draws[:, mine % total].transpose(1, 2, 0, 3).reshape(chains, -1, target.dim)
    return order[:, :per_chain].reshape(-1, target.dim), warnings
