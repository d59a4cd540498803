"""What private Gibbs sampling asks of a model: the draws of a state of its chain, and where they can be."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import ClassVar

from discreet.domain.columns import Labels
from discreet.models.base import Draws
from discreet.models.column_model import ColumnModel


class GibbsModel(ColumnModel):
    """A model that a chain can be run on, one conditional after the other.

    There are two kinds. One has hidden states, and labels of every column have a distribution of their own in each: a
    sweep of its chain draws the hidden states given the label probabilities, then the label probabilities given the
    states, then whatever else the states decide, which reads no record. The other has finitely many values of each
    parameter and says itself what an update can cost.
    """

    #: Which chain draws its states: a name in :mod:`discreet.samplers.gibbs_chains`.
    chain_name: ClassVar[str] = "none"
    #: Whether every record has a hidden state of its own, so that a sweep may leave some as they are.
    state_per_record: ClassVar[bool] = False

    @property
    def n_states(self) -> int:
        """How many hidden states there are."""
        return 0

    @property
    def emitted(self) -> tuple[Labels, ...]:
        """The columns whose tables of label probabilities the records have part in, each under its name."""
        return ()

    def label_shapes(self) -> Mapping[str, tuple[int, ...]]:
        """Return the shapes of those tables: states by labels, where all depend on the same hidden state."""
        return {column.name: (self.n_states, column.n_labels) for column in self.emitted}

    @property
    def without_states(self) -> tuple[str, ...]:
        """The names of those tables that no hidden state has part in: drawing hidden states does not read them."""
        return ()

    def state_probabilities(self) -> Mapping[str, tuple[int, ...]]:
        """Return the shapes of the draws that say how probable hidden states are, along their last axis."""
        return {}

    def state_paths(self) -> Mapping[str, tuple[int, ...]]:
        """Return the shapes of the hidden states that are published, numbered from 1."""
        return {}

    @property
    def update_ranges(self) -> tuple[Fraction, ...]:
        """The range of every update of a sweep, where the model declares its own values and likelihood."""
        return ()

    def holds(self, draws: Draws) -> bool:
        """Tell whether all draws are among the declared values, where there are such."""
        return True
