"""How a posterior was got, and how far its draws can be trusted.

:class:`Diagnostics` is the record every :class:`~discreet.inference.posterior.Posterior` carries. An engine states
what it did; effective sample size and R-hat are worked out when somebody asks, because they cost more than an exact
posterior does.

References
----------
Vehtari, Gelman, Simpson, Carpenter, Bürkner (2021), "Rank-normalization, folding, and localization: an improved R-hat
for assessing convergence of MCMC", Bayesian Analysis 16(2). Geyer (1992), "Practical Markov chain Monte Carlo".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from discreet.inference.fit_check import FitResult

#: A rank-normalized R-hat above this says that the chains do not agree (Vehtari et al. 2021, section 4).
R_HAT_LIMIT = 1.01
#: Bulk ESS per chain below which R-hat and ESS themselves are unreliable (Vehtari et al. 2021, section 4).
ESS_PER_CHAIN = 100
# Splitting a chain must leave two draws to each half.
_SHORTEST_CHAIN = 4


@dataclass(frozen=True)
class Diagnostics:
    """How the draws were made.

    Parameters
    ----------
    engine
        Name of the engine, as in ``infer(engine=...)``.
    approximation
        What the engine approximates, in a few words; ``"none"`` if the draws come from the posterior itself.
    reason
        Why this engine: what ``auto`` weighed, or that the caller asked for it.
    warnings
        What a careful reader should know before using the draws, one sentence each.
    independent
        Whether the draws are independent. Then ESS is their number and R-hat is 1, by construction.
    prior
        The weak prior that was taken because the analyst gave none, in words; empty if one was given.
    given
        What the posterior takes for granted: ``"the column is poisson"``.
    missing
        What was assumed beforehand of the number of missing values, in words; empty if it is known or ignored.
    headline
        What a reader must know before any number, the first line of every summary; empty if nothing.
    fit_check
        What the fit check of the release says, None if it has none.
    chains
        Draws by name, shaped (chains, draws, ...). The posterior fills this in; engines leave it out.
    categorical
        Names of draws that are labels: they have no ranks, so neither ESS nor R-hat. The posterior fills this in.
    """

    engine: str
    approximation: str = "none"
    reason: str = ""
    warnings: tuple[str, ...] = ()
    independent: bool = False
    missing: str = ""
    prior: str = ""
    given: str = ""
    headline: str = ""
    fit_check: FitResult | None = None
    chains: Mapping[str, np.ndarray] = field(default_factory=dict, repr=False, compare=False)
    categorical: frozenset[str] = field(default=frozenset(), repr=False)

    @property
    def n_chains(self) -> int:
        """Number of chains, 0 before a posterior has taken this record."""
        return next((x.shape[0] for x in self.chains.values()), 0)

    @property
    def n_draws(self) -> int:
        """Number of draws over all chains, 0 before a posterior has taken this record."""
        return next((x.shape[0] * x.shape[1] for x in self.chains.values()), 0)

    @property
    def _numbers(self) -> dict[str, np.ndarray]:
        return {name: x for name, x in self.chains.items() if name not in self.categorical}

    @cached_property
    def ess(self) -> dict[str, Any]:
        """Bulk effective sample size by name: a float, or an array for a vector of parameters."""
        if self.independent:
            return {k: plain(np.full(x.shape[2:], float(self.n_draws))) for k, x in self._numbers.items()}
        return {k: plain(bulk_ess(x)) for k, x in self._numbers.items()}

    @cached_property
    def r_hat(self) -> dict[str, Any]:
        """Rank-normalized split R-hat by name: a float, or an array for a vector of parameters."""
        if self.independent:
            return {k: plain(np.ones(x.shape[2:])) for k, x in self._numbers.items()}
        return {k: plain(r_hat(x)) for k, x in self._numbers.items()}

    @cached_property
    def mixing_warnings(self) -> tuple[str, ...]:
        """Sentences about mixing that ESS and R-hat give cause for; empty if there is none."""
        if self.independent or not self.chains:
            return ()
        found = []
        # what was released cannot be continued
        remedy = "the released chain is short" if self.engine == "samples" else "run longer, with more draws"
        worst = max((float(np.max(v)) for v in self.r_hat.values()), default=1.0)
        if not worst <= R_HAT_LIMIT:
            found.append(
                f"the chains do not agree (R-hat {np.ceil(1000 * worst) / 1000:.3f}, want at most {R_HAT_LIMIT}): "
                f"{remedy}."
            )
        least = min((float(np.min(v)) for v in self.ess.values()), default=np.inf)
        if not least >= ESS_PER_CHAIN * self.n_chains:
            found.append(
                f"few effective draws (ESS {least:.0f}, want at least {ESS_PER_CHAIN * self.n_chains}): {remedy}."
            )
        return tuple(found)

    def __str__(self) -> str:
        lines = [
            ("engine", self.engine),
            ("approximation", self.approximation_in_words),
            ("reason", self.reason),
            ("prior", self.prior and f"{self.prior} (weak, the default)"),
            ("missing values", self.missing),
            ("fit check", "" if self.fit_check is None else self.fit_check),
            ("draws", self.draws_in_words if self.chains else ""),
            *(("warning", text) for text in (*self.warnings, *self.mixing_warnings)),
        ]
        return "\n".join(f"{name:<14} {text}" for name, text in lines if text)

    @property
    def approximation_in_words(self) -> str:
        """What is approximated; where nothing is, what is taken for granted, for a line of text."""
        if self.approximation != "none":
            return self.approximation
        return f"exact, given that {self.given}" if self.given else "no approximation"

    @property
    def engine_in_words(self) -> str:
        """The engine and what it approximates, for a line of text."""
        # "exact engine, exact, given that ..." would say it twice
        exact = self.engine == "exact" and self.approximation == "none" and self.given
        return (
            self.approximation_in_words if exact else f"{self.engine} engine, {self.approximation_in_words}"
        )

    @property
    def draws_in_words(self) -> str:
        """How many draws of which kind, for a line of text."""
        if self.n_draws == 1:
            return "1 draw"
        if self.independent:
            return f"{self.n_draws} independent draws"
        chains = "1 chain" if self.n_chains == 1 else f"{self.n_chains} chains"
        return f"{self.n_draws} draws in {chains}"


def bulk_ess(chains: np.ndarray) -> np.ndarray:
    """Return the bulk effective sample size: that of the rank-normalized draws, chains split in half.

    Parameters
    ----------
    chains
        Shape (chains, draws, ...).

    Returns
    -------
    One value for each component; ``nan`` for chains of fewer than four draws, draws that are not finite, and draws
    that never change.
    """
    return _guarded(chains, lambda x: ess(_rank_normalize(x)))


def mean_ess(chains: np.ndarray) -> np.ndarray:
    """Return the effective sample size of the mean of the draws themselves, chains split in half.

    Arguments and ``nan`` as for :func:`bulk_ess`. The standard error of the mean is sd / sqrt(mean_ess).
    """
    return _guarded(chains, ess)


def r_hat(chains: np.ndarray) -> np.ndarray:
    """Return the larger of the rank-normalized split R-hat of the draws and that of the folded draws.

    The folded draws are distances to the median: they show chains that agree on location but not on spread.
    Arguments and ``nan`` as for :func:`bulk_ess`.
    """

    def both(x: np.ndarray) -> np.ndarray:
        folded = np.abs(x - np.median(x, axis=(0, 1)))
        return np.fmax(_plain_r_hat(_rank_normalize(x)), _plain_r_hat(_rank_normalize(folded)))

    return _guarded(chains, both)


def ess(chains: np.ndarray) -> np.ndarray:
    r"""Return the effective sample size of the mean, S / tau, without splitting or ranking (eq. 10-13).

    tau = -1 + 2 (sum of the autocorrelation pairs rho_2k + rho_2k+1), cut at the first pair that is not positive and
    made monotone (Geyer 1992). The estimate is capped at S log10(S), which only antithetic chains reach.
    """
    m, n = chains.shape[:2]
    autocovariance = _autocovariance(chains).mean(axis=0)
    within = autocovariance[0] * n / (n - 1)
    pooled = autocovariance[0] + (chains.mean(axis=1).var(axis=0, ddof=1) if m > 1 else 0.0)
    rho = 1.0 - (within - autocovariance) / pooled
    rho[0] = 1.0
    n_pairs = max((n - 1) // 2, 1)
    even, odd = rho[0 : 2 * n_pairs : 2], rho[1 : 2 * n_pairs : 2]
    pairs = even + odd
    # the pair where the sum is cut, or the last one there is, still gives its even half if that is positive:
    # Stan and ArviZ do so, and users compare numbers
    cut = np.minimum(np.logical_and.accumulate(pairs > 0, axis=0).sum(axis=0), max(n_pairs - 1, 1))
    lag = np.arange(n_pairs).reshape(-1, *(1,) * cut.ndim)
    monotone = np.minimum.accumulate(np.where(lag < cut, pairs, 0.0), axis=0)
    half_pair = np.where(lag == cut, np.maximum(even, 0.0), 0.0)
    tau = -1.0 + 2.0 * monotone.sum(axis=0) + half_pair.sum(axis=0)
    total = m * n
    return total / np.maximum(tau, 1.0 / np.log10(total))


def _guarded(chains: np.ndarray, statistic: Any) -> np.ndarray:
    """Apply ``statistic`` to split chains, ``nan`` where it has no meaning."""
    x = np.asarray(chains, dtype=float)
    n = x.shape[1]
    if n < _SHORTEST_CHAIN:
        return np.full(x.shape[2:], np.nan)
    # an odd middle draw belongs to neither half
    halves = np.concatenate([x[:, : n // 2], x[:, n - n // 2 :]])
    with np.errstate(invalid="ignore"):
        usable = np.isfinite(halves).all(axis=(0, 1)) & (np.ptp(halves, axis=(0, 1)) > 0)
        if not usable.any():
            return np.full(x.shape[2:], np.nan)
        # a stand-in keeps the arithmetic of useless components quiet
        shape = halves.shape[:2] + (1,) * (x.ndim - 2)
        stand_in = np.arange(np.prod(shape), dtype=float).reshape(shape)
        return np.where(usable, statistic(np.where(usable, halves, stand_in)), np.nan)


def _rank_normalize(x: np.ndarray) -> np.ndarray:
    """Replace draws by normal scores of their average ranks over all chains (eq. 14)."""
    from scipy.special import ndtri
    from scipy.stats import rankdata

    flat = x.reshape(x.shape[0] * x.shape[1], *x.shape[2:])
    ranks = rankdata(flat, axis=0)
    return ndtri((ranks - 3 / 8) / (flat.shape[0] + 1 / 4)).reshape(x.shape)


def _plain_r_hat(x: np.ndarray) -> np.ndarray:
    """Return sqrt(pooled variance / within-chain variance) (eq. 1-4)."""
    n = x.shape[1]
    within = x.var(axis=1, ddof=1).mean(axis=0)
    between = x.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.sqrt((n - 1) / n + between / within)


def _autocovariance(x: np.ndarray) -> np.ndarray:
    """Return the autocovariance of each chain at every lag, divided by n, along axis 1."""
    n = x.shape[1]
    centered = x - x.mean(axis=1, keepdims=True)
    # twice the length, so that the circular convolution does not wrap; a power of two, so that it is fast
    length = 1 << (2 * n - 1).bit_length()
    spectrum = np.fft.rfft(centered, n=length, axis=1)
    return np.fft.irfft(np.abs(spectrum) ** 2, n=length, axis=1)[:, :n] / n


def plain(values: Any) -> Any:
    """Give scalars back as floats."""
    return float(values) if np.ndim(values) == 0 else values
