"""The methods that are compared, on tables of counts: what each would release, and what is read from it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from discreet.inference.models.hidden_markov import path_kernels as kernels
from discreet.inference.models.hidden_markov.noisy_cells import Noisy, SequenceCells
from discreet.inference.models.hidden_markov.sampler import Draws, sample
from discreet.privacy.noise import DiscreteLaplace
from discreet.samplers.truncated_dirichlet import sample_truncated_dirichlet

#: The library's default concentrations.
FLAT = 1.0


@dataclass(frozen=True, eq=False)
class Counts:
    """True counts, cells by the labels of all features, and which cells are for training."""

    values: np.ndarray
    sizes: tuple[int, ...]
    n_sequences: int
    length: int
    training: np.ndarray

    @classmethod
    def of(cls, tables: list[np.ndarray], training: np.ndarray | None = None) -> Counts:
        """Put the tables of all features side by side."""
        n_sequences, length = tables[0].shape[:2]
        flat = np.concatenate([table.reshape(n_sequences * length, -1) for table in tables], axis=1)
        known = np.ones(len(flat), dtype=bool) if training is None else training
        return cls(flat, tuple(table.shape[2] for table in tables), n_sequences, length, known)

    @property
    def n_entries(self) -> int:
        """Entries for training."""
        return int(self.values[self.training, : self.sizes[0]].sum())

    def pooled(self) -> Counts:
        """Return corpus-wide counts: one cell, for a model without states."""
        whole = self.values[self.training].sum(axis=0, keepdims=True)
        return Counts(whole, self.sizes, 1, 1, np.ones(1, dtype=bool))

    def cells(self, values: np.ndarray | None = None) -> SequenceCells:
        """Return what the sampler reads: these counts, or noisy ones in their place."""
        return SequenceCells(
            self.values if values is None else values,
            self.sizes,
            self.n_sequences,
            self.length,
            observed=self.training,
        )


@dataclass(frozen=True)
class Effort:
    """Iterations before draws are kept, and how many are kept."""

    burn_in: int
    draws: int


@dataclass(frozen=True, eq=False)
class Noised:
    """A release with discrete Laplace noise: every record is in one cell of each of D tables, L1 sensitivity 2 D."""

    counts: Counts
    values: np.ndarray
    width: float

    @classmethod
    def draw(cls, counts: Counts, epsilon: float, rng: np.random.Generator) -> Noised:
        """Add the noise that the library's release would add, from a seeded source."""
        width = 2 * len(counts.sizes) / epsilon
        noise = DiscreteLaplace(width).sample(counts.values.size, rng).reshape(counts.values.shape)
        return cls(counts, counts.values + noise, width)

    def naive(self, states: int, effort: Effort, rng: np.random.Generator) -> Draws:
        """Read noisy counts, clipped at zero, as if they were true ones."""
        cells = self.counts.cells(self.values).clipped()
        return sample(states, cells, draws=effort.draws, burn_in=effort.burn_in, rng=rng)

    def aware(self, states: int, effort: Effort, rng: np.random.Generator) -> Draws:
        """Read noisy counts as what they are."""
        widths = np.full(self.values.shape[1], self.width)
        noisy = Noisy(widths, gaussian=False, n_entries=self.counts.n_entries)
        cells = self.counts.cells(self.values)
        return sample(states, cells, noisy=noisy, draws=effort.draws, burn_in=effort.burn_in, rng=rng)


def non_private(counts: Counts, states: int, effort: Effort, rng: np.random.Generator) -> Draws:
    """Read true counts."""
    return sample(states, counts.cells(), draws=effort.draws, burn_in=effort.burn_in, rng=rng)


def ops_temperature(sizes: tuple[int, ...], multiplier: float, epsilon: float) -> float:
    """Return the temperature of one posterior sample: the range of an entry's log-likelihood ratio over epsilon.

    No probability is below 1 / (M K_d), so an entry's likelihood is within the product over features of
    (1 - (K_d - 1) / (M K_d)) and 1 / (M K_d), and the difference of two entries' logs within twice that range. Never
    below 1: a sample from the posterior itself is all one may want.
    """
    least = 1 / (multiplier * np.asarray(sizes, dtype=float))
    most = 1 - (np.asarray(sizes) - 1) * least
    return max(1.0, float(2 * np.log(most / least).sum()) / epsilon)


def ops(
    counts: Counts, states: int, multiplier: float, epsilon: float, effort: Effort, rng: np.random.Generator
) -> Draws:
    """Gibbs sampling of the tempered posterior with truncated probabilities.

    Private at epsilon is one draw, the last, and that only if the chain has converged; the others are for comparison.
    """
    cells = counts.cells()
    tempered = cells.values / ops_temperature(counts.sizes, multiplier, epsilon)
    starts = cells.starts
    z = rng.integers(states, size=(1, cells.n_placed))
    p = np.empty((1, states, starts[-1]))
    spare = np.empty_like(p)
    transition = np.empty((1, states + 1, states))
    kept = []
    for turn in range(effort.burn_in + effort.draws):
        kernels.draw_parameters(
            rng,
            tempered[None],
            z,
            cells.n_placed,
            cells.length,
            starts,
            FLAT,
            FLAT,
            spare,
            np.empty_like(p),
            transition,
        )
        for k in range(states):
            totals = tempered[z[0] == k].sum(axis=0)
            for begin, end in pairwise(starts):
                least = 1 / (multiplier * (end - begin))
                p[0, k, begin:end] = sample_truncated_dirichlet(FLAT + totals[begin:end], least, 1, rng)[0]
        log_emission = (tempered @ np.log(p[0]).T)[None]
        kernels.draw_states(rng, z, cells.n_placed, cells.length, transition, log_emission)
        if turn >= effort.burn_in:
            kept.append((z[0].astype(np.int32), p[0].copy(), transition[0].copy()))
    return Draws(*(np.stack([one[part] for one in kept])[None] for part in range(3)))


def last(draws: Draws) -> Draws:
    """Return the last draw alone."""
    return Draws(draws.states[:, -1:], draws.emission[:, -1:], draws.transition[:, -1:])
