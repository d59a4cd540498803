"""Posterior samples from a finite public set of parameters: any family, any prior."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.arguments import listed
from discreet.artifact import Samples
from discreet.artifact.records.finite_posterior import FinitePosteriorRecord
from discreet.domain.declarations import Domain
from discreet.errors import UsageError
from discreet.families import Family
from discreet.mechanisms.base import Mechanism, RandomSource, Totals, draw_points, read_samples
from discreet.models import Model
from discreet.models.layout import Layout
from discreet.privacy.costs.likelihood_range import temperature_for
from discreet.privacy.costs.parameter_set import (
    MOST_VALUES,
    ParameterSet,
    read_values,
    read_weights,
    sensitivity_weights,
)
from discreet.privacy.costs.scored_points import SLACK
from discreet.privacy.guarantees import positive_budget
from discreet.rational import Number, exact, plain

#: Prior weights proportional to e^(-l(theta)), by name.
SENSITIVITY = "sensitivity"


@dataclass(frozen=True)
class FinitePosterior(Mechanism):
    r"""Release ``samples`` draws from a tempered posterior on a finite set of parameters.

    Parameters
    ----------
    parameters
        The possible parameters, from public knowledge, at least two and at most 4,096: numbers for a family with one
        parameter, probabilities of all labels for ``Categorical``, dictionaries by name for several parameters,
        ``[{"mean": 0, "variance": 1}, {"mean": 2, "variance": 1}]``.
    weights
        Their prior weights, which add up to 1; equal ones by default. ``"sensitivity"`` stands for weights proportional
        to e^(-l(theta)), with l(theta) the most by which the log-likelihoods of two records can differ at theta.
    epsilon
        The price of all samples together.
    samples
        How many draws. Each costs its share: the temperature grows in proportion.
    largest_change
        Leave out the parameters at which l(theta) is larger: the prior is restricted to the others.

    Privacy
    -------
    Neighbors: ``replace``. Sensitivity: the range R of the log-likelihood difference between any two records over the
    set and the data bounds (:mod:`discreet.privacy.costs.parameter_set`); every record counts once, clipped and
    imputed. Theorem: a draw from weight(theta) likelihood(theta)^(1/T) is (R/T)-DP, for any weights that do not depend
    on the data (the exponential mechanism; Foulds et al. 2016, theorem 2; Dimitrakakis et al. 2017, theorem 8), so N
    independent ones with T = max(1, N R / epsilon) are epsilon-DP. With ``largest_change`` = L the range is at most
    2L (Dimitrakakis et al. 2017, theorem 17), and T goes by the range itself.

    The draw is the exponential mechanism on the set: scores are integers computed exactly from the exact sums, their
    rounding (2^-51 of log-ratio) is in the temperature, and OpenDP reports the noisy maximum in exact arithmetic, for
    every family, labels among them.

    References
    ----------
    Foulds, Geumlek, Welling and Chaudhuri (2016), section 2.3. Dimitrakakis et al. (2017), section 3.1, algorithm 1 and
    theorem 17.
    """

    name = "finite_posterior"
    delta = None
    what = "a posterior on a finite set needs"
    example = "for example dc.mechanisms.FinitePosterior([0.1, 0.2, 0.5], [0.5, 0.3, 0.2], epsilon=1)"
    parameters: tuple[Any, ...]
    weights: tuple[Fraction, ...] | None
    epsilon: Fraction
    samples: int
    largest_change: Fraction | None

    def __init__(
        self,
        parameters: Any,
        weights: Any = None,
        *,
        epsilon: Number | None = None,
        samples: int = 1,
        largest_change: Number | None = None,
    ) -> None:
        listing = tuple(listed(parameters, "parameters", "a list of parameters", most=MOST_VALUES + 1))
        if not 2 <= len(listing) <= MOST_VALUES:
            raise UsageError(
                f"parameters must be from 2 to {MOST_VALUES:,}, got "
                f"{'more' if len(listing) > MOST_VALUES else len(listing) or 'none'}.",
                hint=self.example,
            )
        if isinstance(weights, str) and weights != SENSITIVITY:
            raise UsageError(f'weights must be numbers, or "{SENSITIVITY}".', hint=self.example)
        self._set(
            parameters=listing,
            weights=None if isinstance(weights, str) else read_weights(weights, len(listing)),
            epsilon=positive_budget(self._needed(epsilon, "epsilon"), "epsilon"),
            samples=read_samples(samples),
            largest_change=None
            if largest_change is None
            else positive_budget(largest_change, "largest_change"),
        )

    def check(self, model: Model, domain: Domain, layout: Layout | None = None) -> FinitePosteriorRecord:
        family = model.require(Family, f"{type(self).__name__} samples a family")
        points = self._points(family, domain)
        needed = points.range()
        temperature = temperature_for(needed, self.epsilon, self.samples, SLACK)
        return FinitePosteriorRecord.of(points, temperature, needed)

    def _points(self, family: Family, domain: Domain) -> ParameterSet:
        """Return the set with its prior weights, restricted if that was asked for."""
        n = len(self.parameters)
        values = read_values(family, self.parameters)
        points = ParameterSet(family, domain, values, self.weights or read_weights(None, n))
        points.check()
        if self.largest_change is not None:
            kept = np.flatnonzero(points.changes() <= float(self.largest_change))
            if len(kept) < 2:
                least = float(np.sort(points.changes())[1])
                raise UsageError(
                    f"largest_change leaves fewer than two parameters, got "
                    f"largest_change={plain(self.largest_change)}.",
                    hint=f"two are left from {least:.4g} on",
                )
            points = _subset(points, kept)
        if self.weights is None:
            computed = sensitivity_weights(points.changes())
            return ParameterSet(family, domain, points.values, tuple(exact(w, "weights") for w in computed))
        return points

    def draw(self, record: FinitePosteriorRecord, totals: Totals, source: RandomSource) -> Samples:
        points = record.scored_points(totals.family, totals.domain)
        return draw_points(points, record.parameters["temperature"], self.samples, totals, source)


def _subset(points: ParameterSet, kept: np.ndarray) -> ParameterSet:
    """Return some of the parameters, with the same prior restricted to them."""
    n, whole = len(points.weights), sum(points.weights[at] for at in kept)
    values = {}
    for name, flat in points.values.items():
        size = len(flat) // n
        values[name] = tuple(v for at in kept for v in flat[at * size : (at + 1) * size])
    weights = tuple(exact(float(points.weights[at] / whole), "weights") for at in kept)
    return ParameterSet(points.family, points.domain, values, weights)
