"""Engines by model: every engine is one line of this table."""

from __future__ import annotations

from typing import Literal

EngineName = Literal["auto", "exact", "augment", "gibbs", "plain", "grid", "tree", "naive"]

# which any family can be read by, beside an exact one
_OF_FAMILIES = (
    "discreet.inference.engines.augment.augment_engine:AUGMENT",
    "discreet.inference.engines.gibbs.gibbs_engine:GIBBS",
    "discreet.inference.engines.gibbs.plain:PLAIN",
    "discreet.inference.engines.naive:NAIVE",
)

#: The engines of each kind of model, by the name that a model gives in ``engines``, as ``module:name``: most exact
#: first. They are imported when they are needed, because some bring a compiler along.
ENGINES: dict[str, tuple[str, ...]] = {
    "bernoulli": ("discreet.inference.models.bernoulli:EXACT", *_OF_FAMILIES),
    "categorical": (
        "discreet.inference.models.categorical:EXACT",
        *_OF_FAMILIES[:1],
        # counts whose noise hangs together, which no other engine reads
        "discreet.inference.models.contingency_engine:CORRELATED",
        *_OF_FAMILIES[1:],
    ),
    "cluster_mean": (
        "discreet.inference.models.cluster_mean:GRID",
        "discreet.inference.models.cluster_mean:NAIVE",
    ),
    "contingency_table": (
        "discreet.inference.models.contingency_engine:EXACT",
        "discreet.inference.models.contingency_engine:GIBBS",
    ),
    "family": ("discreet.inference.engines.scalar.line_draws:EXACT", *_OF_FAMILIES),
    "hidden_markov": (
        "discreet.inference.models.hidden_markov.hidden_markov_engine:GIBBS",
        "discreet.inference.models.hidden_markov.hidden_markov_engine:NAIVE",
    ),
    "histogram": (
        "discreet.inference.models.histogram:TREE",
        "discreet.inference.models.histogram:NAIVE",
    ),
    "linear_regression": (
        "discreet.inference.models.linear_regression:GIBBS",
        "discreet.inference.models.linear_regression:AUGMENT",
        "discreet.inference.models.linear_regression:NAIVE",
    ),
    "logistic_products": (
        "discreet.inference.models.logistic_regression:GIBBS",
        "discreet.inference.models.logistic_regression:NAIVE",
    ),
    "logistic_step": (
        "discreet.inference.models.newton_step:LOGISTIC",
        "discreet.inference.models.newton_step:LOGISTIC_NAIVE",
    ),
    "logistic_table": (
        "discreet.inference.models.logistic_table:EXACT",
        "discreet.inference.models.logistic_table:NAIVE",
    ),
    "markov_chain": ("discreet.inference.models.markov:EXACT", "discreet.inference.models.markov:NAIVE"),
    "mean": ("discreet.inference.models.mean:GRID", "discreet.inference.models.mean:NAIVE"),
    "mixture": ("discreet.inference.models.mixture:GIBBS", "discreet.inference.models.mixture:NAIVE"),
    "multivariate_normal": (
        "discreet.inference.models.multivariate_normal:AUGMENT",
        "discreet.inference.models.multivariate_normal:GIBBS",
        "discreet.inference.models.multivariate_normal:GRID",
        "discreet.inference.models.multivariate_normal:NAIVE",
    ),
    "naive_bayes": (
        "discreet.inference.models.naive_bayes:EXACT",
        "discreet.inference.models.naive_bayes:GRID",
        "discreet.inference.models.naive_bayes:GIBBS",
        "discreet.inference.models.naive_bayes:NAIVE",
    ),
    "poisson_products": (
        "discreet.inference.models.poisson_regression:GIBBS",
        "discreet.inference.models.poisson_regression:NAIVE",
    ),
    "poisson_step": (
        "discreet.inference.models.newton_step:POISSON",
        "discreet.inference.models.newton_step:POISSON_NAIVE",
    ),
    "network": (
        "discreet.inference.models.network.network_engine:GIBBS",
        "discreet.inference.models.network.network_engine:NAIVE",
    ),
    "none": (),
    "released_draws": ("discreet.inference.engines.released_draws.draws_engine:EXACT",),
}
