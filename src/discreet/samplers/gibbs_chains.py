"""The chains of private Gibbs sampling by name: from every record to the arrays of a release's draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice

import numpy as np

from discreet.models.declared_likelihood import STEP, DeclaredLikelihood
from discreet.models.hidden_markov import HiddenMarkov
from discreet.models.hidden_network import HiddenNetwork
from discreet.models.mixture import WEIGHTS, Mixture
from discreet.privacy.costs.scored_points import weight_choice
from discreet.privacy.selection import ExponentialChoice
from discreet.rational import float_up
from discreet.samplers.hidden_markov_chain import HiddenMarkovChain
from discreet.samplers.hidden_markov_chain import sweeps as hidden_markov_sweeps
from discreet.samplers.hidden_network_chain import HiddenNetworkChain
from discreet.samplers.hidden_network_chain import sweeps as hidden_network_sweeps
from discreet.samplers.mixture_chain import MixtureChain
from discreet.samplers.mixture_chain import sweeps as mixture_sweeps
from discreet.samplers.secure import RandomSource


@dataclass(frozen=True)
class ChainSettings:
    """What everybody knows of a chain; ``updated`` is how many records are assigned anew, None for all."""

    steps: int
    least: tuple[float, ...]
    temperature: Fraction
    weight_prior: float
    label_prior: float
    updated: int | None

    @property
    def weights(self) -> tuple[float, float, float]:
        """What the likelihood and the priors weigh: the temperature, rounded up, and the two priors."""
        return float_up(self.temperature), self.weight_prior, self.label_prior


def mixture_draws(
    model: Mixture, settings: ChainSettings, codes: np.ndarray, source: RandomSource
) -> dict[str, np.ndarray]:
    """Run the chain of a mixture."""
    chain = MixtureChain(model.components, model.sizes, settings.least, *settings.weights, settings.updated)
    states = source.floating(lambda rng: list(islice(mixture_sweeps(chain, codes, rng), settings.steps)))
    tables = {name: np.array([s.tables[d] for s in states]) for d, name in enumerate(model.column_names)}
    return {WEIGHTS: np.array([s.weights for s in states]), **tables}


def hidden_markov_draws(
    model: HiddenMarkov, settings: ChainSettings, codes: np.ndarray, source: RandomSource
) -> dict[str, np.ndarray]:
    """Run the chain of a hidden Markov model; its states are numbered by frequency over all sweeps."""
    sizes = tuple(feature.n_labels for feature in model.features)
    chain = HiddenMarkovChain(model.states, sizes, settings.least, *settings.weights)
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


def hidden_network_draws(
    model: HiddenNetwork, settings: ChainSettings, codes: np.ndarray, source: RandomSource
) -> dict[str, np.ndarray]:
    """Run the chain of a network with hidden columns."""
    least = dict(zip((column.name for column in model.emitted), settings.least, strict=True))
    chain = HiddenNetworkChain(model, least, *settings.weights, settings.updated)
    states = source.floating(
        lambda rng: list(islice(hidden_network_sweeps(chain, codes, rng), settings.steps))
    )
    return {name: np.array([state.tables[name] for state in states]) for name in model.draw_names}


def declared_draws(
    model: DeclaredLikelihood, settings: ChainSettings, codes: np.ndarray, source: RandomSource
) -> dict[str, np.ndarray]:
    """Run the chain of a declared likelihood: every parameter in turn by the exponential mechanism, exactly."""
    sizes = [column.n_labels for column in model.columns]
    records = np.bincount(
        np.ravel_multi_index(tuple(codes.T.astype(np.int64)), sizes), minlength=math.prod(sizes)
    )
    likelihood = model.table() @ records
    prior = np.array(model.prior_steps, dtype=np.int64)
    # from the prior, which is not tempered
    first = source.exponential(weight_choice(prior.tolist(), float_up(1 / STEP)))
    state = [int(at) for at in np.unravel_index(first, model.n_values)]
    prior = prior.reshape(model.n_values)
    states = []
    for _ in range(settings.steps):
        for at in range(len(state)):
            line = (*state[:at], slice(None), *state[at + 1 :])
            state[at] = source.exponential(
                conditional(likelihood[line].tolist(), prior[line].tolist(), settings.temperature)
            )
        states.append(tuple(state))
    return {
        name: np.array([float(values[one[at]]) for one in states])
        for at, (name, values) in enumerate(model.parameters)
    }


def conditional(likelihood: list[int], prior: list[int], temperature: Fraction) -> ExponentialChoice:
    """Return the distribution of one parameter's values: the prior times the likelihood to the power 1 / temperature.

    Scores are the exact sums over records plus a rounded multiple of the prior, which no record has part in, so that
    rounding costs nothing.
    """
    scores = [one + round(temperature * other) for one, other in zip(likelihood, prior, strict=True)]
    # a larger scale moves less
    return weight_choice(scores, float_up(temperature / STEP))


#: What runs the chain of a model, by the name that the model gives in ``chain_name``.
CHAINS: Mapping[str, Callable[..., dict[str, np.ndarray]]] = {
    "mixture": mixture_draws,
    "hidden_markov": hidden_markov_draws,
    "hidden_network": hidden_network_draws,
    "declared_likelihood": declared_draws,
}
