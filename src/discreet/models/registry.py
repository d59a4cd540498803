"""Models by name: the closed list that release files choose from."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet.arguments import instance
from discreet.arguments import text as read_text
from discreet.errors import UsageError
from discreet.names import did_you_mean

if TYPE_CHECKING:
    from discreet.models.base import Model

#: Where the class of each model of several columns is, as ``module:class``. A closed list: nothing is imported by a
#: name found in a file.
MODELS: dict[str, str] = {
    "bayesian_network": "discreet.models.network:BayesianNetwork",
    "cluster_mean": "discreet.families.cluster_mean:ClusterMean",
    "contingency_table": "discreet.models.contingency:ContingencyTable",
    "declared_likelihood": "discreet.models.declared_likelihood:DeclaredLikelihood",
    "declared_loss": "discreet.models.declared_loss:DeclaredLoss",
    "grouped": "discreet.models.grouped:Grouped",
    "hidden_markov": "discreet.models.hidden_markov:HiddenMarkov",
    "hidden_network": "discreet.models.hidden_network:HiddenNetwork",
    "linear_regression": "discreet.models.linear_regression:LinearRegression",
    "logistic_regression": "discreet.models.logistic_regression:LogisticRegression",
    "markov_chain": "discreet.models.markov:MarkovChain",
    "mixture": "discreet.models.mixture:Mixture",
    "naive_bayes": "discreet.models.naive_bayes:NaiveBayes",
    "trajectories": "discreet.models.trajectories:Trajectories",
    "poisson_regression": "discreet.models.poisson_regression:PoissonRegression",
}


#: Models that register themselves by class: the families, and those of users.
REGISTERED: dict[str, type[Model]] = {}


def build(name: str, constants: Mapping[str, Any]) -> Model:
    """Return the model of this name with these constants, as a release file gives them; they are checked."""
    instance(constants, "constants", Mapping, "a dictionary of constants by name")
    return kind_named(name).from_constants(constants)


def kind_named(name: str) -> type[Model]:
    """Return the class of the model of this name, or say which there are."""
    if read_text(name, "name") in MODELS:
        module, _, kind = MODELS[name].partition(":")
        return getattr(import_module(module), kind)
    # the families register themselves when their room is opened, which lies above this one
    import_module("discreet.families")
    if name not in REGISTERED:
        guess = did_you_mean(name, (*REGISTERED, *MODELS))
        raise UsageError(
            f"unknown model {name!r:.60}; a program that registers it can read it, the command line knows the built-in "
            "ones only.",
            hint=f"{guess}known are the models of dc.models, and {', '.join(REGISTERED)}",
        )
    return REGISTERED[name]
