"""Structured models by name: the closed list that release files choose from."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet.models.base import Model

#: Where the class of each model is, as ``module:class``. A closed list: nothing is imported by a name found in a file.
MODELS: dict[str, str] = {
    "bayesian_network": "discreet.models.network:BayesianNetwork",
    "declared_loss": "discreet.models.declared_loss:DeclaredLoss",
    "hidden_markov": "discreet.models.hidden_markov:HiddenMarkov",
    "linear_regression": "discreet.models.regression:LinearRegression",
    "logistic_regression": "discreet.models.regression:LogisticRegression",
    "markov_chain": "discreet.models.markov:MarkovChain",
    "mixture": "discreet.models.mixture:Mixture",
    "naive_bayes": "discreet.models.naive_bayes:NaiveBayes",
}


def known(name: str) -> bool:
    """Tell whether there is a structured model of this name."""
    return name in MODELS


def build(name: str, constants: Mapping[str, Any]) -> Model:
    """Return the model of this name with these constants, as a release file gives them; they are checked."""
    if name not in MODELS:
        raise UsageError(f"unknown model {name!r:.60}.", hint=f"known models: {', '.join(MODELS)}")
    module, _, kind = MODELS[name].partition(":")
    return getattr(import_module(module), kind).from_constants(constants)
