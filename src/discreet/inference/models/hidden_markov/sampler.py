"""The Gibbs sampler of hidden Markov models: counts as they are, or latent behind noise.

An iteration draws the emission probabilities given states and counts, the transition probabilities given states, and
all paths given both, by filtering forward and sampling backward. Behind noise the counts are latent as well, and moves
of counts, of totals, and of states and probabilities that take the counts along are added. Chains are a leading axis.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.inference.models.hidden_markov import path_kernels as kernels
from discreet.inference.models.hidden_markov import start
from discreet.inference.models.hidden_markov.count_tables import Latent, Read
from discreet.inference.models.hidden_markov.noisy_cells import Noisy, SequenceCells

# Log-factorials up to here are looked up; the table is 800 kB.
_MOST_FACTORIALS = 100_000
# Exchanged entries, at first; adapted during burn-in to this share of accepted exchanges.
_FIRST_SIZE, _MOST_SIZE, _WANTED = 4, 96, 0.35
# Iterations until emissions count in full: with fewer or many more, fewer of the states that serve are found.
_RAMP = 20
# Iterations on readings taken for counts, before counts become latent.
_FIRST_LOOK = 100
# States that switch with their tables, on average over paths, below which this is tried in every 32nd iteration, not
# every fourth.
_SELDOM = 0.05


@dataclass(frozen=True, eq=False)
class Draws:
    """Kept draws, chains first, then draws.

    ``states`` has one entry for each cell with a place, ``emission`` one for each state and label, ``transition`` one
    for each state (the dummy state before the first step last) and state.
    """

    states: np.ndarray
    emission: np.ndarray
    transition: np.ndarray
    totals: np.ndarray | None = None

    @property
    def n_draws(self) -> int:
        """How many draws each chain kept."""
        return self.states.shape[1]


def sample(
    n_states: int,
    cells: SequenceCells,
    *,
    noisy: Noisy | None = None,
    draws: int = 100,
    burn_in: int = 100,
    chains: int = 1,
    thin: int = 1,
    alpha: float = 1.0,
    beta: float | np.ndarray = 1.0,
    rng: np.random.Generator,
) -> Draws:
    """Draw states and parameters.

    Parameters
    ----------
    n_states
        Number of hidden states.
    cells
        Counts: true ones, or readings. Without ``noisy`` they are taken as they are.
    noisy
        What is known of the noise on the readings; makes the counts latent.
    draws, burn_in, thin
        Iterations kept by each chain, iterations before, and iterations for each kept one.
    chains
        Number of chains.
    alpha, beta
        Concentration of the Dirichlet distributions of transitions and emissions; ``beta`` may have one for each label.
    rng
        Source of random numbers.
    """
    plain = cells if noisy is None else cells.clipped()
    chain = Chains(n_states, plain, None, chains, alpha, beta, rng)
    # behind noise the states start where readings that are taken for counts would have them: latent counts follow the
    # states they are in, so states that begin as one are hard to part, and states that begin as several soon join
    for i in range(burn_in if noisy is None else min(burn_in, _FIRST_LOOK)):
        # states are told apart slowly at first, or the first accidental grouping would stay
        chain.power = min(1.0, (i + 1) / _RAMP) ** 2
        chain.iterate(adapt=True)
    if noisy is not None:
        chain = Chains(n_states, cells, noisy, chains, alpha, beta, rng, chain.z)
        for _ in range(burn_in):
            chain.iterate(adapt=True)
    chain.power = 1.0
    kept = []
    for _ in range(draws):
        for _ in range(thin):
            chain.iterate(adapt=False)
        kept.append(chain.snapshot())
    states, emission, transition, totals = (np.stack(part, axis=1) for part in zip(*kept, strict=True))
    return Draws(states, emission, transition, None if noisy is None else totals)


class Chains:
    """The state of all chains, and what an iteration does to it.

    ``power`` tempers the emissions when paths are drawn: below 1 during burn-in only.
    """

    def __init__(
        self,
        n_states: int,
        cells: SequenceCells,
        noisy: Noisy | None,
        n_chains: int,
        alpha: float,
        beta: float | np.ndarray,
        rng: np.random.Generator,
        z: np.ndarray | None = None,
    ) -> None:
        self.n_states, self.cells, self.noisy, self.rng = n_states, cells, noisy, rng
        self.alpha, self.power = float(alpha), 1.0
        self.beta = np.array(np.broadcast_to(beta, cells.values.shape[1]), dtype=float)
        n_rows = n_states + (cells.n_stateless > 0)
        n_labels = cells.values.shape[1]
        self.z = start.first_paths(n_states, cells, n_chains, rng) if z is None else z
        self.p = np.empty((n_chains, n_rows, n_labels))
        self.log_p = np.empty_like(self.p)
        self.transition = np.empty((n_chains, n_states + 1, n_states))
        self.log_emission = np.empty((n_chains, cells.n_placed, n_states))
        # known counts are shared by all chains
        self.counts = cells.values[None]
        self.totals = np.zeros((n_chains, len(cells.values)))
        if noisy is not None:
            totals = start.first_totals(cells, noisy)
            self.totals[:] = totals
            self.counts = np.stack([start.first_tables(cells, noisy, totals, one) for one in self.z])
            self.factorials = kernels.log_factorials(_MOST_FACTORIALS)
            self.active = np.flatnonzero(cells.observed)
            self.size = np.full(n_chains, float(_FIRST_SIZE))
            self.switched = np.ones(n_chains)
        self.turn = 0

    def iterate(self, *, adapt: bool) -> None:
        """Update everything once, in place."""
        cells, noisy = self.cells, self.noisy
        kernels.draw_parameters(
            self.rng,
            self.counts,
            self.z,
            cells.n_placed,
            cells.length,
            cells.starts,
            self.alpha,
            self.beta,
            self.p,
            self.log_p,
            self.transition,
        )
        np.matmul(
            self.counts[:, : cells.n_placed],
            self.log_p[:, : self.n_states].swapaxes(1, 2),
            out=self.log_emission,
        )
        if self.power != 1.0:
            self.log_emission *= self.power
        kernels.draw_states(
            self.rng,
            self.z,
            cells.n_placed,
            cells.length,
            self.transition,
            self.log_emission,
        )
        if noisy is not None:
            self._move_tables(noisy, adapt)

    def _move_tables(self, noisy: Noisy, adapt: bool) -> None:
        cells = self.cells
        sizes = np.clip(np.round(self.size), 1, _MOST_SIZE).astype(np.int64)
        # large exchanges take longer, so there are fewer of them
        moves = np.maximum(2 * len(self.active) // (4 + sizes), 4)
        # where paths never switch with their tables, it is seldom tried
        switch = self.turn % np.where(self.switched > _SELDOM, 4, 32) == 0
        done = kernels.move_tables(
            self.rng,
            self.turn,
            moves,
            sizes,
            switch,
            self.active,
            Latent(self.counts, self.totals, self.z, self.p, self.log_p),
            self.transition,
            Read(cells.values, noisy.rates, cells.starts, cells.observed, noisy.gaussian),
            self.beta,
            cells.n_placed,
            cells.length,
            self.factorials,
            noisy.log_prior,
            noisy.low,
        )
        self.turn += 1
        if adapt:
            self.size = np.clip(self.size * np.exp(done[0] - _WANTED), 1.0, _MOST_SIZE)
            self.switched = np.where(switch, 0.9 * self.switched + 0.1 * done[1], self.switched)

    def snapshot(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return a copy of states, emission and transition probabilities, and totals."""
        return (
            self.z[:, : self.cells.n_placed].astype(np.int32),
            self.p[:, : self.n_states].copy(),
            self.transition.copy(),
            self.totals.copy(),
        )
