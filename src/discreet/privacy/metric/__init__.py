"""Privacy under a metric: what a smooth log-likelihood promises, and what follows from it.

    distances     between records, and how far apart two can be
    lipschitz     how steep a log-likelihood is, in closed form or by trying pairs of records
    guarantees    posterior draws under a metric: theorems 8.1 and 17 (a), networks, normals
    divergences   exact total variation and hockey-stick divergence of conjugate posteriors
    constants     priors under which steep parameters are rare
    bounds        robustness, what an adversary can tell, and what privacy costs in utility; no guarantees

Constants and bounds make no release, and most have no page of their own. They are kept as theory: the study of the
paper (studies/dimitrakakis) computes its lemmas from them, and its tables show where the printed ones are wrong.
``normal_posterior`` (lemma 23), ``draws_to_distinguish`` (theorem 13), ``estimation_error`` (lemma 18) and
``restriction_loss`` (theorem 17 b) are in no table either, and are the corrected forms of what the paper prints.

References
----------
Dimitrakakis, Nelson, Zhang, Mitrokotsa and Rubinstein (2017), Differential privacy for Bayesian inference through
posterior sampling.
"""

from discreet.privacy.metric.constants import (
    StochasticLipschitz,
    beta_constants,
    exponential_constants,
    laplace_constants,
    precision_constants,
)
from discreet.privacy.metric.distances import RecordDistance
from discreet.privacy.metric.lipschitz import (
    finite_bernoulli,
    lipschitz,
    lipschitz_by_pairs,
    smooth_set,
    statistic_slope,
)
from discreet.privacy.metric.posterior_distances import (
    Bracket,
    hockey_stick,
    posterior_guarantee,
    worst_hockey_stick,
)
from discreet.privacy.metric.theorems import (
    RestrictedPosterior,
    finite_posterior,
    lipschitz_posterior,
    network_posterior,
    normal_posterior,
    restricted_posterior,
    supported_posterior,
)
from discreet.privacy.metric.utility_bounds import (
    advantage_bound,
    distinguishing_distance,
    draws_for_loss,
    draws_to_distinguish,
    empirical_distance,
    estimation_error,
    kl_bound,
    le_cam_error,
    prior_change_bound,
    regret_bound,
    restriction_loss,
    sampling_half_width,
    stochastic_kl_bound,
    total_variation_bound,
)

__all__ = [
    "Bracket",
    "RecordDistance",
    "RestrictedPosterior",
    "StochasticLipschitz",
    "advantage_bound",
    "beta_constants",
    "distinguishing_distance",
    "draws_for_loss",
    "draws_to_distinguish",
    "empirical_distance",
    "estimation_error",
    "exponential_constants",
    "finite_bernoulli",
    "finite_posterior",
    "hockey_stick",
    "kl_bound",
    "laplace_constants",
    "le_cam_error",
    "lipschitz",
    "lipschitz_by_pairs",
    "lipschitz_posterior",
    "network_posterior",
    "normal_posterior",
    "posterior_guarantee",
    "precision_constants",
    "prior_change_bound",
    "regret_bound",
    "restricted_posterior",
    "restriction_loss",
    "sampling_half_width",
    "smooth_set",
    "statistic_slope",
    "stochastic_kl_bound",
    "supported_posterior",
    "total_variation_bound",
    "worst_hockey_stick",
]
