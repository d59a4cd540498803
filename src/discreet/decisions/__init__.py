"""Answering questions from a posterior: the response of highest expected utility over its draws.

``posterior.respond(utility, candidates)`` is the verb (:mod:`.argmax`), the classes here are ready utilities, and a
:class:`~discreet.decisions.response.Response` is what comes back. All of it reads draws that exist already,
so no answer spends any budget.

References
----------
Dimitrakakis, Nelson, Zhang, Mitrokotsa, Rubinstein (2017), "Differential privacy for Bayesian inference through
posterior sampling", JMLR 18, Algorithm 2 (PSAQR) and Lemma 11.
"""

from discreet.decisions.argmax import respond
from discreet.decisions.base import Utility
from discreet.decisions.decisions import DecisionTable, ZeroOne
from discreet.decisions.loss_functions import AbsoluteError, IntervalScore, SquaredError
from discreet.decisions.regret_bound import SamplingBound
from discreet.decisions.response import Response

__all__ = [
    "AbsoluteError",
    "DecisionTable",
    "IntervalScore",
    "Response",
    "SamplingBound",
    "SquaredError",
    "Utility",
    "ZeroOne",
    "respond",
]
