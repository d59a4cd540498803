r"""The best test between two distributions on finitely many points, after n independent draws, with its exact errors.

By the lemma of Neyman and Pearson the best test compares the sum of the log-ratios log(P/Q) of all draws with a
threshold. Here each log-ratio is rounded to a lattice first, so that the distribution of the sum is a convolution
power, which a Fourier transform gives to some 1e-13. The test on the rounded sum is a test like any other: its errors
are exact, and somebody could use it. Where the log-ratios lie on a lattice themselves (a probability, a Poisson rate or
a normal mean, on their grids) nothing is lost; elsewhere rounding costs the adversary a little, and
:attr:`RatioTest.slack` bounds it.

References
----------
Neyman and Pearson (1933), On the problem of the most efficient tests of statistical hypotheses. Koskela, Jälkö and
Honkela (2020), Computing tight differential privacy guarantees using FFT.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Points of the lattice of the summed log-ratio, and mass outside of a window, which is moved to its ends or neglected.
_MOST_POINTS = 1 << 18
_LEAST_BINS, _MOST_BINS = 64, 1 << 14
_TAIL = 1e-14
# Numbers in memory at one time of a simulation.
_BLOCK = 1 << 22
# Sums of n places stay within this many times (number of bins) sqrt(n) of their mean but for that mass (Hoeffding).
_REACH = float(np.sqrt(np.log(2 / _TAIL) / 2))


@dataclass(frozen=True)
class RatioTest:
    """A threshold on the summed log-ratio, with a coin for sums that are equal to it, and its two exact errors.

    ``false_first`` is the chance to say P when the draws are from Q, ``false_second`` the reverse; with the coin they
    are equal. ``advantage`` is the largest 1 minus the sum of both errors that any threshold has, and no test at all
    exceeds it by more than ``slack``.
    """

    threshold: int
    coin: float
    false_first: float
    false_second: float
    advantage: float
    slack: float

    @property
    def error(self) -> float:
        """The larger error."""
        return max(self.false_first, self.false_second)


@dataclass(frozen=True, eq=False)
class DistributionPair:
    """Two distributions on the same points, by their log-masses."""

    log_p: np.ndarray
    log_q: np.ndarray

    def best_test(self, n_draws: int) -> RatioTest:
        """Return the test whose larger error is smallest."""
        place, p, q = self.binned(n_draws)
        start, size = _window(p, q, n_draws)
        below_p, below_q = (np.cumsum(_power(mass, n_draws, start, size)) for mass in (p, q))
        # for each threshold: says Q below it, P from it on
        false_second = np.clip(np.concatenate([[0.0], below_p]), 0, 1)
        false_first = np.clip(1 - np.concatenate([[0.0], below_q]), 0, 1)
        gap = false_first - false_second
        at = min(max(int(np.argmax(gap <= 0)), 1), size)
        coin = float(gap[at - 1] / max(gap[at - 1] - gap[at], 1e-300))
        # the coin mixes the thresholds at - 1 and at: it says Q with this chance where the sum is at - 1
        first, second = (float((1 - coin) * e[at - 1] + coin * e[at]) for e in (false_first, false_second))
        advantage = max(float((1 - false_first - false_second).max()), 0.0)
        return RatioTest(start + at - 1, coin, first, second, advantage, self._slack(place, p, q, n_draws))

    def binned(self, n_draws: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the bin of each point, and the two masses of the bins, as fine as so many draws allow."""
        ratio = self.log_p - self.log_q
        order = np.argsort(ratio)
        mass = (np.exp(self.log_p) + np.exp(self.log_q))[order]
        tail = _TAIL / n_draws
        inside = order[(np.cumsum(mass) > tail) & (np.cumsum(mass[::-1])[::-1] > tail)]
        low, high = float(ratio[inside[0]]), float(ratio[inside[-1]])
        share = np.clip((ratio - low) / max(high - low, 1e-300), 0, 1)
        means = [float(np.exp(log_mass) @ share) for log_mass in (self.log_p, self.log_q)]
        width = min(n_draws, 2 * _REACH * np.sqrt(n_draws) + n_draws * abs(means[0] - means[1]))
        bins = min(max(int(_MOST_POINTS / width), _LEAST_BINS), _MOST_BINS)
        if len(inside) <= bins and np.allclose(
            np.sort(share[inside]), np.linspace(0, 1, len(inside)), atol=1e-9
        ):
            # a lattice as it is
            bins = len(inside)
        place = np.rint(share * (bins - 1)).astype(int)
        sums = (np.bincount(place, np.exp(log_mass), bins) for log_mass in (self.log_p, self.log_q))
        p, q = (each / each.sum() for each in sums)
        return place, p, q

    def divergence(self) -> float:
        """Return the Kullback-Leibler divergence of P from Q."""
        return max(float(np.exp(self.log_p) @ (self.log_p - self.log_q)), 0.0)

    def simulate(
        self, test: RatioTest, n_draws: int, trials: int, rng: np.random.Generator
    ) -> tuple[int, int]:
        """Play the test on simulated draws; return how often it was wrong about draws from P, and from Q."""
        place, wrong = self.binned(n_draws)[0], []
        for log_mass, first in ((self.log_p, True), (self.log_q, False)):
            sums = _sums(np.exp(log_mass), place, n_draws, trials, rng)
            tossed = (sums == test.threshold) & (rng.random(trials) < test.coin)
            says_second = (sums < test.threshold) | tossed
            wrong.append(int((says_second if first else ~says_second).sum()))
        return wrong[0], wrong[1]

    def _slack(self, place: np.ndarray, p: np.ndarray, q: np.ndarray, n_draws: int) -> float:
        r"""Bound what rounding takes from the best test's advantage.

        Let P' have the bins of P, and within them the shape of Q. Between P' and Q the log-ratio is a function of the
        bin, so binning loses nothing there; and TV(P^n, Q^n) <= TV(P^n, P'^n) + TV(P'^n, Q^n), where the first is at
        most the square root of n KL(P | P') / 2.
        """
        mass = np.exp(self.log_p)
        known = (p > 0) & (q > 0)
        there = known[place] & (mass > 0)
        log_ratio = np.log(p[known]) - np.log(q[known])
        within = np.zeros(len(p))
        within[known] = log_ratio
        lost = float(mass[there] @ (self.log_p - self.log_q - within[place])[there])
        # where Q is too small for a float, all of P's mass may count as lost
        return float(np.sqrt(max(n_draws * lost, 0.0) / 2)) + n_draws * float(p[~known].sum())


def _window(p: np.ndarray, q: np.ndarray, n: int) -> tuple[int, int]:
    """Return where the sums of n places are, but for a negligible mass: the first, and how many."""
    most = n * (len(p) - 1)
    means = [n * float(mass @ np.arange(len(mass))) for mass in (p, q)]
    reach = _REACH * np.sqrt(n) * (len(p) - 1)
    start = max(int(np.floor(min(means) - reach)), 0)
    return start, min(int(np.ceil(max(means) + reach)), most) - start + 1


def _power(mass: np.ndarray, n: int, start: int, size: int) -> np.ndarray:
    """Return the distribution of the sum of n independent places, on ``size`` values from ``start`` on."""
    from scipy.fft import irfft, next_fast_len, rfft

    if n == 1:
        return mass[start : start + size]
    # sums are taken modulo the length, which puts each into the window unless it is outside of it
    length = int(next_fast_len(max(size, len(mass)), real=True))  # pyright: ignore[reportArgumentType]
    wrapped = np.asarray(irfft(np.asarray(rfft(mass, length)) ** n, length))
    return np.maximum(wrapped[np.arange(start, start + size) % length], 0.0)


def _sums(mass: np.ndarray, place: np.ndarray, n: int, trials: int, rng: np.random.Generator) -> np.ndarray:
    """Draw n points, for each trial, and return the sum of their places."""
    many = 4 * n > len(mass)
    edges, whole = np.cumsum(mass)[:-1], mass / mass.sum()
    block = max(_BLOCK // (len(mass) if many else n), 1)
    out = []
    for start in range(0, trials, block):
        size = min(block, trials - start)
        if many:
            out.append(rng.multinomial(n, whole, size=size) @ place)
        else:
            # one draw at a time is cheaper than one point at a time
            out.append(place[np.searchsorted(edges, rng.random((size, n)), side="right")].sum(axis=1))
    return np.concatenate(out)
