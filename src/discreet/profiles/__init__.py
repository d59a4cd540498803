"""Profile-based privacy: hide who, keep what.

Each person's data come from one of several known distributions, their *profile*. Edges of a graph say which profiles
must stay confusable. A mechanism perturbs one observation on the person's own device, just enough that a report hardly
helps to tell the two ends of an edge apart, and much less than hiding the observation itself would need.

    graph = dc.profiles.ProfileGraph.clusters(usage_by_user, groups=role_by_user)
    mechanism = dc.profiles.SmoothCategorical().fit(graph, epsilon=0.5)
    mechanism.save("mechanism.json")                    # what every device carries

    report = mechanism.privatize("heavy", "ana")        # on the device
    posterior = dc.profiles.infer_mix(reports, mechanism)   # at the analyst's

============================  ==================================================
``graph``, ``frames``         profiles and edges
``exact``                     the guarantee in integers, and how to make it hold
``programs``, ``objectives``  linear programs and what they minimize
one file per mechanism        the thesis' four, and two baselines
``draws``                     the only place where an observation is perturbed
``auditing``, ``composition`` what one report costs, and several
``bins``, ``reporter``        numbers as categories; one person's reports over time
``inference``, ``slices``     the analyst's posterior
``codec``                     files
============================  ==================================================

References
----------
Geumlek (2020), chapter 7. Geumlek and Chaudhuri (2019), "Profile-based privacy for locally private computations".
"""

from discreet.profiles.auditing import Audit, EdgeLoss, audit
from discreet.profiles.base import FittedMechanism, ProfileMechanism
from discreet.profiles.bins import Bins
from discreet.profiles.composition import ProfileGuarantee, compose
from discreet.profiles.graph import ProfileGraph
from discreet.profiles.inference import infer_frequencies, infer_mix
from discreet.profiles.one_bit import OneBitCluster, OneBitPair
from discreet.profiles.randomized_response import KRandomizedResponse, RandomizedResponse
from discreet.profiles.reporter import Reporter
from discreet.profiles.smooth import SmoothCategorical, SmoothOneBit

__all__ = [
    "Audit",
    "Bins",
    "EdgeLoss",
    "FittedMechanism",
    "KRandomizedResponse",
    "OneBitCluster",
    "OneBitPair",
    "ProfileGraph",
    "ProfileGuarantee",
    "ProfileMechanism",
    "RandomizedResponse",
    "Reporter",
    "SmoothCategorical",
    "SmoothOneBit",
    "audit",
    "compose",
    "infer_frequencies",
    "infer_mix",
]
