"""Answering questions from a posterior: the response of highest expected utility over its draws.

``posterior.respond(utility, candidates)`` is the verb (:mod:`.argmax`), ``dc.utilities`` holds ready utilities, and a
:class:`~discreet.decisions.response.Response` is what comes back. All of it reads draws that exist already,
so no answer spends any budget.

References
----------
Dimitrakakis, Nelson, Zhang, Mitrokotsa, Rubinstein (2017), "Differential privacy for Bayesian inference through
posterior sampling", JMLR 18, Algorithm 2 (PSAQR) and Lemma 11.
"""

from discreet.decisions.argmax import respond
from discreet.decisions.regret_bound import SamplingBound
from discreet.decisions.response import Response

__all__ = ["Response", "SamplingBound", "respond"]
