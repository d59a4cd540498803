"""What private Gibbs sampling asks of a model: the draws of a state of its chain, and where they can be."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from discreet.domain.columns import Labels
from discreet.models.column_model import ColumnModel


class GibbsModel(ColumnModel):
    """A model with hidden states: labels of every column have a distribution of their own in each.

    A sweep of its chain draws the hidden states given the label probabilities, then the label probabilities given the
    states, then whatever else the states decide, which reads no record.
    """

    #: Which chain draws its states: a name in :mod:`discreet.samplers.gibbs_chains`.
    chain_name: ClassVar[str]
    #: Whether every record has a hidden state of its own, so that a sweep may leave some as they are.
    state_per_record: ClassVar[bool] = False

    @property
    @abstractmethod
    def n_states(self) -> int:
        """How many hidden states there are."""

    @property
    @abstractmethod
    def emitted(self) -> tuple[Labels, ...]:
        """The columns whose label probabilities depend on the hidden state, each under its name: states by labels."""

    @abstractmethod
    def state_probabilities(self) -> Mapping[str, tuple[int, ...]]:
        """Return the shapes of the draws that say how probable hidden states are, along their last axis."""

    def state_paths(self) -> Mapping[str, tuple[int, ...]]:
        """Return the shapes of the hidden states that are published, numbered from 1."""
        return {}
