"""The distribution of a private choice among finitely many candidates.

Nothing in this file makes the choice of a release: that is OpenDP's work, on the private side. ``sample`` is for
simulation and takes ``rng``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.arguments import fill, listed, positive
from discreet.errors import UsageError


@dataclass(frozen=True)
class Choice:
    """A random choice among candidates with integer scores."""

    scores: tuple[int, ...]
    scale: float

    def __init__(self, scores: Sequence[int], scale: float) -> None:
        read = tuple(listed(scores, "scores", "a list of whole numbers"))
        if not read or not all(isinstance(score, int | np.integer) for score in read):
            raise UsageError("scores must be whole numbers, and at least one.")
        fill(self, scores=read, scale=positive(scale, "scale"))

    @property
    def _log_weights(self) -> np.ndarray:
        """Return (score_i - best) / scale of each candidate."""
        best = max(self.scores)
        return np.array([float(score - best) for score in self.scores]) / self.scale


@dataclass(frozen=True, init=False)
class PermuteAndFlip(Choice):
    """Walk through the candidates in random order; take candidate i with probability exp((score_i - best) / scale).

    The best candidate is always taken, so the walk ends. Scores are integers. The distribution is that of the largest
    of ``score_i + scale * E_i`` with independent standard exponential E_i.

    Privacy
    -------
    If one record changes every score by at most D, the choice is (2 D / scale)-DP, like the exponential mechanism with
    weights exp(score / scale), and its expected score is never worse.

    References
    ----------
    McKenna and Sheldon (2020), Permute-and-flip: a new mechanism for differentially private selection. Ding, Kifer,
    Saghaian, Steinke, Wang, Xiao and Zhang (2021), The permute-and-flip mechanism is identical to report-noisy-max
    with exponential noise.
    """

    def mass(self) -> np.ndarray:
        r"""Return the probability of each candidate.

        Let every candidate arrive at a uniform time in [0, 1], and p_i be the probability that it is then taken. The
        walk reaches i at time t if no other candidate came before and would have been taken, so

            P[i] = p_i \int_0^1 \prod_{j \ne i} (1 - p_j t) dt,

        the integral of a polynomial, for which Gauss-Legendre quadrature with half as many nodes is exact.
        """
        p = np.exp(self._log_weights)
        nodes, weights = np.polynomial.legendre.leggauss(len(p) // 2 + 1)
        t, weights = 0.5 * (nodes + 1), 0.5 * weights
        log_stay = np.log1p(-np.outer(t, p))
        others = log_stay.sum(axis=1, keepdims=True) - log_stay
        return p * (weights @ np.exp(others))

    def sample(self, rng: np.random.Generator) -> int:
        """Draw one candidate, for simulation."""
        return int(np.argmax(self._log_weights + rng.exponential(size=len(self.scores))))


@dataclass(frozen=True, init=False)
class ExponentialChoice(Choice):
    """Take candidate i with probability proportional to exp(score_i / scale): the exponential mechanism.

    Scores are integers. The distribution is that of the largest of ``score_i + scale * G_i`` with independent standard
    Gumbel G_i.

    Privacy
    -------
    Let one record change score_i by d_i. The choice is ((max d_i - min d_i) / scale)-DP: the weights' log-ratio at i is
    d_i / scale, and that of the sums of the weights is an average of them in the sense of the exponential, so between
    the least and the largest. Adding the same number to all scores changes nothing.

    References
    ----------
    McSherry and Talwar (2007), Mechanism design via differential privacy. Dong, Durfee and Rogers (2020), Optimal
    differential privacy composition for exponential mechanisms (bounded range).
    """

    def mass(self) -> np.ndarray:
        """Return the probability of each candidate."""
        weights = np.exp(self._log_weights)
        return weights / weights.sum()

    def log_mass(self) -> np.ndarray:
        """Return the log-probability of each candidate, also where the probability is too small for a float."""
        weights = self._log_weights
        return weights - np.log(np.exp(weights).sum())

    def sample(self, rng: np.random.Generator) -> int:
        """Draw one candidate, for simulation."""
        return int(np.argmax(self._log_weights + rng.gumbel(size=len(self.scores))))
