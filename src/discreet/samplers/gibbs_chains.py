"""The chains of private Gibbs sampling by name: from every record to the arrays of a release's draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice

import numpy as np

from discreet.models.hidden_markov import HiddenMarkov
from discreet.models.mixture import WEIGHTS, Mixture
from discreet.samplers.hidden_markov_chain import HiddenMarkovChain
from discreet.samplers.hidden_markov_chain import sweeps as hidden_markov_sweeps
from discreet.samplers.mixture_chain import MixtureChain
from discreet.samplers.mixture_chain import sweeps as mixture_sweeps
from discreet.samplers.secure import RandomSource


@dataclass(frozen=True)
class ChainSettings:
    """What everybody knows of a chain, in floating point; ``updated`` is how many records are assigned anew."""

    steps: int
    least: tuple[float, ...]
    temperature: float
    weight_prior: float
    label_prior: float
    updated: int | None


def mixture_draws(
    model: Mixture, settings: ChainSettings, codes: np.ndarray, source: RandomSource
) -> dict[str, np.ndarray]:
    """Run the chain of a mixture."""
    chain = MixtureChain(
        model.components,
        model.sizes,
        settings.least,
        settings.temperature,
        settings.weight_prior,
        settings.label_prior,
        settings.updated,
    )
    states = source.floating(lambda rng: list(islice(mixture_sweeps(chain, codes, rng), settings.steps)))
    tables = {name: np.array([s.tables[d] for s in states]) for d, name in enumerate(model.column_names)}
    return {WEIGHTS: np.array([s.weights for s in states]), **tables}


def hidden_markov_draws(
    model: HiddenMarkov, settings: ChainSettings, codes: np.ndarray, source: RandomSource
) -> dict[str, np.ndarray]:
    """Run the chain of a hidden Markov model; its states are numbered by frequency over all sweeps."""
    chain = HiddenMarkovChain(
        model.states,
        tuple(feature.n_labels for feature in model.features),
        settings.least,
        settings.temperature,
        settings.weight_prior,
        settings.label_prior,
    )
    counts = place_counts(model, codes)
    states = source.floating(
        lambda rng: list(islice(hidden_markov_sweeps(chain, counts, rng), settings.steps))
    )
    # one numbering for the whole chain, by the paths, which are published: the most frequent state first
    paths = np.array([s.paths for s in states])
    order = np.argsort(-np.bincount(paths.ravel(), minlength=model.states), kind="stable")
    moves = np.array([s.transitions for s in states])[:, [*order, model.states]][:, :, order]
    tables = {
        feature.name: np.array([s.tables[d][order] for s in states])
        for d, feature in enumerate(model.features)
    }
    return {**tables, "transition": moves, "states": np.argsort(order)[paths] + 1}


def place_counts(model: HiddenMarkov, codes: np.ndarray) -> list[np.ndarray]:
    """Count the entries of every sequence and time by label, one array for each feature; held-out places are empty."""
    shape = (model.n_sequences, model.time.n_labels)
    n_places = len(model.columns) - len(model.features)
    place = codes[:, n_places - 1].astype(np.int64)
    if model.chain is not None:
        place += shape[1] * codes[:, 0].astype(np.int64)
    counts = []
    for feature, code in zip(model.features, codes[:, n_places:].T, strict=True):
        size = feature.n_labels
        found = np.bincount(place * size + code, minlength=shape[0] * shape[1] * size).reshape(*shape, size)
        for at in model.held_out:
            found[at] = 0
        counts.append(found)
    return counts


#: What runs the chain of a model, by the name that the model gives in ``chain_name``.
CHAINS: Mapping[str, Callable[..., dict[str, np.ndarray]]] = {
    "mixture": mixture_draws,
    "hidden_markov": hidden_markov_draws,
}
