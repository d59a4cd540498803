r"""Posterior draws as private mechanisms under a metric: what a Lipschitz log-likelihood guarantees.

If l(theta) <= L for every theta of the prior's support, the log-ratio of the posteriors of two tables x, y is at most
2 L rho(x, y), for any prior (theorem 8.1); N draws cost N times that. Where a prior has parameters that are steeper,
restrict it to Theta_L (theorem 17 a). The factor 2 is for the normalizing constant. On an interval of a parameter it is
often not needed, because what counts is by how much the change of the log-likelihood *differs between parameters*: K
times the width of eta(theta) over the interval, in the notation of :mod:`discreet.privacy.metric.lipschitz`, at most 2L
and only half of it where eta has one sign.

Corollary 9 and theorem 8.2 of the same paper have no function here, because they promise nothing; see
:mod:`discreet.privacy.metric.constants` and :mod:`discreet.privacy.metric.posterior_distances`.

References
----------
Dimitrakakis et al. (2017), theorems 8.1 and 17, corollary 10, lemmas 23 and 24.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, cast

import numpy as np

from discreet.arguments import whole
from discreet.checked import checked
from discreet.errors import UsageError
from discreet.families.base import Family, Theta
from discreet.models import ColumnModel, MarkovChain, Model, Trajectories
from discreet.models.discrete import DiscreteModel
from discreet.privacy.costs.likelihood_range import simplex_range
from discreet.privacy.guarantees import positive_budget
from discreet.privacy.metric.distances import RecordDistance
from discreet.privacy.metric.lipschitz import (
    Ends,
    check_ends,
    log_likelihoods,
    natural_width,
    smooth_set,
    statistic_slope,
)
from discreet.privacy.metric_dp import MetricDP, PseudoMetric
from discreet.privacy.rounding import float_result_up
from discreet.rational import Number, exact

# Relative error of a log-density, far above what float64 does.
_ROOM = 1e-12


@dataclass(frozen=True)
class RestrictedPosterior:
    """A parameter set that a prior was restricted to, and what posterior draws on it promise."""

    support: Ends
    guarantee: MetricDP


@checked
def lipschitz_posterior(
    constant: Number, metric: PseudoMetric | Literal["hamming"], *, samples: int = 1, unit: str | None = None
) -> MetricDP:
    """Return the guarantee of posterior draws if the log-likelihood is Lipschitz (theorem 8.1, corollary 10.1).

    Parameters
    ----------
    constant
        L: at least l(theta) for *every* theta in the prior's support and all records, as proven. A number that was
        found by trying some records or parameters is not.
    metric
        The distance between tables that L is for.
    samples
        How many draws.
    unit
        What a neighbor changes, if not one record.

    Privacy
    -------
    2 L per draw and unit of distance, for any prior on that support. ``to_neighbors()`` of the result is what it says
    about tables that differ in one record, which takes bounded records.
    """
    return MetricDP(
        2 * whole(samples, "samples") * positive_budget(constant, "constant"), 0, metric, unit=unit
    )


@checked
def restricted_posterior(
    family: Family, level: Number, distance: RecordDistance, *, samples: int = 1
) -> RestrictedPosterior:
    """Restrict a prior to Theta_L = {theta: l(theta) <= level}, and return the set and the guarantee (theorem 17 a).

    Parameters
    ----------
    family
        A family with one parameter and a closed form of l(theta).
    level
        L.
    distance
        Between records.
    samples
        How many draws.

    Privacy
    -------
    The set is rounded inwards and epsilon up. Epsilon is at most 2 L per draw, as in print, and half of that for
    rates, variances and the geometric distribution, where eta has one sign. Any prior that puts no mass outside of the
    set will do, and draws must come from the posterior under *that* prior: to draw from the unrestricted posterior and
    throw away what falls outside is the same distribution (if nobody learns how often that happened), to clip the draws
    is not.
    """
    support = smooth_set(family, level, distance)
    return RestrictedPosterior(support, supported_posterior(family, support, distance, samples=samples))


@checked
def supported_posterior(
    family: Family, support: Sequence[Number | None], distance: RecordDistance, *, samples: int = 1
) -> MetricDP:
    """Return the guarantee of posterior draws if the prior's support is an interval of the family's parameter.

    ``support`` is a pair of ends; None is infinity, allowed for a variance.

    Privacy
    -------
    For tables x and y the change of the log-likelihood is eta(theta) times the difference of their statistics, up to
    what does not depend on theta. So it ranges over K rho(x, y) times the width of eta, and the log-ratio of the
    posteriors cannot be larger. That is the exact cost at worst: the posterior of many records that all lie at one end
    comes as close as one likes. It is never above theorem 8.1's 2L.
    """
    slope = statistic_slope(family, distance)
    width = natural_width(family, check_ends(family, support))
    return MetricDP(whole(samples, "samples") * slope * width, 0, distance.metric)


@checked
def finite_posterior(
    family: Family, theta: Theta, distance: RecordDistance, records: Any, *, samples: int = 1
) -> MetricDP:
    """Return the guarantee of posterior draws if there are finitely many parameters and finitely many records.

    Parameters
    ----------
    family
        Any family; only its likelihood is used.
    theta
        *All* parameter values that the prior allows, by draw name.
    distance
        Between records.
    records
        *All* records that there can be.
    samples
        How many draws.

    Privacy
    -------
    For every pair of records the change of the log-likelihood is computed at every parameter. Its range over parameters
    bounds the log-ratio of the posteriors; the largest range per unit of distance, over all pairs, is epsilon, rounded
    up by more than log-densities are off in float64. Parameters or records that were left out are not covered.
    """
    table = log_likelihoods(family, theta, records)
    first, second = np.triu_indices(table.shape[-1], k=1)
    x = np.asarray(records)
    rho = np.asarray(distance.between(x[first], x[second]), dtype=float)
    table = table.reshape(-1, table.shape[-1])
    reach = np.ptp(table[:, first] - table[:, second], axis=0)
    room = _ROOM * float(np.max(np.abs(table), initial=1.0))
    if not np.isfinite(table).all() or np.any(reach[rho == 0] > room):
        raise UsageError("the log-likelihood is not Lipschitz on these parameters and records.")
    largest = float(np.max((reach[rho > 0] + room) / rho[rho > 0], initial=0.0))
    return MetricDP(whole(samples, "samples") * float_result_up(largest), 0, distance.metric)


@checked
def normal_posterior(
    precision_norm: Number, mean_norm: Number, distance: RecordDistance, *, samples: int = 1
) -> MetricDP:
    """Return the guarantee of posterior draws for a multivariate normal (lemma 23).

    Parameters
    ----------
    precision_norm
        Largest Frobenius norm of the precision matrix over the prior's support: the root of the sum of the squares of
        its eigenvalues.
    mean_norm
        Largest norm of the mean; 0 if the mean is known to be 0.
    distance
        ``RecordDistance.outer_product``.
    samples
        How many draws.

    Privacy
    -------
    L = precision_norm max(1, mean_norm) / 2, valid as printed. "Which implies 3 epsilon for bounded data" is not: two
    records of norm at most 1 can be 4.71 apart in two or more dimensions, and 4 in one.
    """
    if distance.kind != "outer_product":
        raise UsageError("a multivariate normal takes the distance of outer products.")
    mean = exact(mean_norm, "mean_norm")
    if mean < 0 or (distance.centered and mean):
        raise UsageError(f"mean_norm must not be negative, and 0 if centered, got mean_norm={mean_norm}.")
    constant = positive_budget(precision_norm, "precision_norm") * max(mean, Fraction(1)) / 2
    return lipschitz_posterior(constant, distance.metric, samples=samples)


@checked
def network_posterior(
    children: Sequence[int] | ColumnModel,
    least: Number,
    *,
    cells: int | None = None,
    changed: Literal["record", "value"] = "record",
    samples: int = 1,
) -> MetricDP:
    r"""Return the guarantee of posterior draws for a discrete Bayesian network or Markov chain (lemma 24, corrected).

    Parameters
    ----------
    children
        A model of labels: a :class:`~discreet.models.BayesianNetwork`, a :class:`~discreet.models.NaiveBayes` without
        numbers, a :class:`~discreet.models.MarkovChain`, of which a record is then a whole sequence, or
        :class:`~discreet.models.Trajectories`. Or, for each variable, how many variables it is a parent of: a Markov
        chain of T steps has 1 for each and 0 for the last.
    least
        No conditional probability is smaller, for any parameter in the prior's support.
    cells
        The least number of values that a variable has; 2 unless given, or as the model says.
    changed
        What neighbors differ in: a ``record``, which is a row with all its variables or a whole trajectory, or one
        ``value`` of it.
    samples
        How many draws.

    Privacy
    -------
    The distance counts the factors p(x_k | parents) whose arguments differ. A changed value reaches 1 + (its number of
    children) of them, at most, a changed record all K and never more. In print the distance is the former sum, an
    upper bound, and "2 max(1 + children) log(1/least) under the classical definition" is for one value, not for a
    record; likewise "4 log(1/least)" for Markov chains is for one step of one trajectory. Each factor lies between
    ``least`` and 1 - (cells - 1) least, so that L = log((1 - (cells - 1) least) / least).
    """
    model = None if isinstance(children, Sequence | np.ndarray) else children
    if model is not None:
        if cells is not None:
            raise UsageError("cells follow from the model: leave out cells.")
        degrees, cells = _factors(model)
    else:
        degrees, cells = (
            [int(degree) for degree in cast(Sequence[int], children)],
            2 if cells is None else cells,
        )
    if not degrees or min(degrees) < 0 or max(degrees) >= len(degrees):
        raise UsageError("children must list, for each variable, how many of the others it is a parent of.")
    if changed not in ("record", "value"):
        raise UsageError(f"changed must be 'record' or 'value', got changed={changed!r:.40}.")
    if cells < 2:
        raise UsageError(f"cells must be at least 2, got cells={cells}.")
    reach = len(degrees) if changed == "record" else 1 + max(degrees)
    metric = PseudoMetric("changed factors of the network", reach)
    twice = simplex_range(cells, exact(least, "least"))
    return MetricDP(
        whole(samples, "samples") * twice, 0, metric, unit=None if changed == "record" else "one value"
    )


def _factors(model: Model) -> tuple[list[int], int]:
    """Return of how many variables each one is a parent, and the least number of labels of any."""
    chain = model.closed_form(_CHAINS)
    if chain is not None:
        return chain(model)
    of_labels = model.require(DiscreteModel, "a network, naive Bayes or a Markov chain is needed")
    if len(of_labels.label_columns) != len(of_labels.columns):
        raise UsageError("a column of numbers has no least probability: give a model of labels.")
    factors = of_labels.conditionals()
    degrees = [sum(factor.child in one.parents for one in factors) for factor in factors]
    return degrees, min(factor.child.n_labels for factor in factors)


_CHAINS: dict[type[Model], Callable[[Any], tuple[list[int], int]]] = {
    MarkovChain: lambda chain: ([1] * (chain.label_columns[1].n_labels - 1) + [0], chain.state.n_labels),
    Trajectories: lambda paths: ([1] * (len(paths.columns) - 1) + [0], len(paths.states)),
}
