"""One posterior sample (or a few): privacy from a tempered likelihood instead of noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.artifact import Samples
from discreet.artifact.records.posterior_sample import (
    PosteriorSampleRecord,
    labels_support,
    range_and_slack,
)
from discreet.domain.bounds import Bounds, read_pairs
from discreet.domain.declarations import Domain
from discreet.errors import UsageError
from discreet.families import Family
from discreet.mechanisms.base import (
    RandomSource,
    Sized,
    Totals,
    conjugate_family,
    draw_points,
    read_samples,
)
from discreet.mechanisms.noise import Priced
from discreet.priors import Prior
from discreet.priors.normal_inverse_wishart import NormalInverseWishart, outer, unpack
from discreet.privacy.costs.likelihood_range import labels_range, simplex_range, temperature_for
from discreet.privacy.costs.parameter_grid import (
    ParameterGrid,
    check_support,
    grid_cells,
    grid_refusal,
)
from discreet.privacy.costs.principal_axes import PrincipalAxes
from discreet.privacy.costs.rejection import acceptance_bound, tries_for
from discreet.privacy.guarantees import failure_probability, positive_budget
from discreet.privacy.metric.per_unit import PerUnit
from discreet.rational import Number, exact, float_up, plain
from discreet.samplers.principal_axes import (
    EIGENVALUES,
    ROTATIONS,
    AxesPosterior,
    components_for,
    draw_rotations,
)
from discreet.samplers.truncated_dirichlet import check_lower, sample_truncated_dirichlet

# A rejection sampler that may accept more rarely than this, for some table, is refused.
_LEAST_ACCEPTANCE = 1e-5
_HEAVIEST_PRIOR = 1e14
#: A support, the range of the log-likelihood over it, what rounding adds for each draw, and further numbers.
_Limits = tuple[Bounds, Fraction, Fraction, dict[str, Fraction]]


@dataclass(frozen=True)
class PosteriorSampling(Priced, Sized):
    """Release ``samples`` draws from a posterior whose likelihood is tempered: raised to the power 1/T.

    Parameters
    ----------
    prior
        The family's conjugate prior, or its text. It is part of the guarantee and is not tempered.
    epsilon
        The price of all samples together.
    metric, epsilon_per_unit
        Instead of ``epsilon``: a promise that fades with distance. ``metric="absolute"``, and the price of all samples
        between two records whose values are one unit apart.
    samples
        How many draws. Each costs its share: the temperature grows in proportion.
    support
        The truncated parameter set, from public knowledge: ``(low, high)`` of the parameter, strictly inside its range;
        for ``Normal()`` a dictionary ``{"mean": (low, high), "variance": (low, high)}``; for ``Categorical`` one
        number, the least that any probability can be, or one for each label, ``{"a": 0.01, "b": 0.05}``; for
        ``MultivariateNormal``, with every column in half-widths from the middle of its bounds, ``{"normal_mean": (-1,
        1), "covariance": (0.02, 1)}``: how far the mean may lie out along a principal axis, and the eigenvalues.
    range_bound
        An upper bound of the log-likelihood's range to use in place of the exact one, from
        :func:`~discreet.privacy.costs.likelihood_range.from_difference` (Foulds et al., theorem 2) or
        :func:`~discreet.privacy.costs.likelihood_range.from_likelihood` (theorem 3). It is checked, never believed,
        and makes the temperature higher.
    cells
        How many points the public grid has along each parameter; by default 4096, or 256 for each of two.
    delta
        For ``Categorical``. With it the guarantee is (epsilon, delta), and as many proposals are made for each draw as
        it pays for, whatever the records are. Without it they are made until one is accepted, which can take longer for
        some records.

    Privacy
    -------
    Neighbors: ``replace``. Sensitivity: the range R of the log-likelihood difference between any two records, over the
    support and the data bounds (:mod:`discreet.privacy.costs.likelihood_range`); every record counts once, clipped and
    imputed, because a record that is left out takes its log-partition along and R no longer bounds the change. Theorem:
    a draw from prior(theta) likelihood(theta)^(1/T) is (R/T)-DP (the exponential mechanism; Foulds et al. 2016,
    theorem 2 and equations 4 to 14; Dimitrakakis et al. 2017, theorem 8 and algorithm 1), so N independent ones with
    T = max(1, N R / epsilon) are epsilon-DP. The printed forms take 2C >= R for the range. The support must stay
    inside the parameter's range: at p = 0 or 1 a single record changes the posterior without limit.

    Under a metric: two records at a distance d, of at most D, change the log-likelihood over a range of at most R d / D
    (:meth:`~discreet.privacy.costs.parameter_grid.ParameterGrid.range`), so the same temperature for epsilon = D
    epsilon_per_unit makes the loss at most d epsilon_per_unit, at every distance (Dimitrakakis et al. 2017, theorem 8.1
    with the range in place of 2L). Distances are on the grid of :mod:`discreet.privacy.metric.per_unit`; the rounding
    of scores is charged per smallest distance.

    For one parameter, and for the mean and variance of ``Normal()``, the draw is the exponential mechanism on a finite
    public grid: scores are integers computed exactly from the exact sums, their rounding (2^-51 of log-ratio) is in the
    temperature, and OpenDP reports the noisy maximum in exact arithmetic. For ``Categorical`` it is a truncated
    Dirichlet sampler in floating point, and the release says so; with ``delta`` that sampler is not exact, and what it
    can be off by is charged (:mod:`discreet.privacy.costs.rejection`; Foulds et al. 2016, proposition 3). For
    ``MultivariateNormal`` it is an exact draw from a large finite set, in floating point, with the range of
    :mod:`discreet.privacy.costs.principal_axes`.

    References
    ----------
    Foulds, Geumlek, Welling and Chaudhuri (2016), sections 2.3 and 3. Dimitrakakis et al. (2017), algorithm 1.
    """

    name = "posterior_sample"
    example = 'for example dc.mechanisms.PosteriorSampling("beta:1,1", epsilon=1, support=(0.01, 0.99))'
    prior: Prior
    budget: Fraction | PerUnit
    samples: int
    support: Any
    range_bound: Fraction | None
    cells: int | None
    delta: Fraction | None

    def __init__(
        self,
        prior: Prior | str,
        *,
        epsilon: Number | None = None,
        metric: Any = None,
        epsilon_per_unit: Number | None = None,
        samples: int = 1,
        support: Any = None,
        range_bound: Number | None = None,
        cells: int | None = None,
        delta: Number | None = None,
    ) -> None:
        support_is = "a support, the parameters that are possible, from public knowledge"
        prior = self._read_prior(prior)
        budget: Fraction | PerUnit | None = PerUnit.read(metric, epsilon_per_unit)
        if budget is not None and delta is not None:
            raise UsageError("a promise per unit of distance has no delta.", hint="leave out delta")
        if epsilon is not None:
            if budget is not None:
                raise UsageError("give either epsilon, or metric with epsilon_per_unit.", hint=self.example)
            budget = positive_budget(epsilon, "epsilon")
        self._set(
            prior=prior,
            budget=self._needed(budget, "epsilon"),
            support=self._needed(support, support_is),
            samples=read_samples(samples),
            range_bound=None if range_bound is None else positive_budget(range_bound, "range_bound"),
            cells=cells,
            delta=None if delta is None else failure_probability(delta),
        )

    def _check_size(self, record: Any, family: Family, domain: Domain, n_records: int) -> None:
        if family.n_probabilities is not None:
            added = n_records / float(record.parameters["temperature"])
            if acceptance_bound(self.prior.natural(), added) < _LEAST_ACCEPTANCE:
                raise UsageError(
                    "drawing from this truncated posterior could take too long for some tables.",
                    hint="use a prior whose entries are at least 1, or a larger epsilon",
                )

    def _record(self, family: Family, domain: Domain) -> PosteriorSampleRecord:
        family = conjugate_family(self, family)
        if family.n_probabilities is not None:
            support, needed, slack, extra = self._of_labels(family, family.n_probabilities)
        else:
            if self.delta is not None:
                raise UsageError(
                    f"delta is for draws that are proposed and accepted, and those of {family.name} are not.",
                    hint="leave out delta: epsilon is all that they cost",
                )
            of = self._of_axes if family.prior_type is NormalInverseWishart else self._of_grid
            support, needed, slack, extra = of(family, domain)
        if self.range_bound is not None:
            if self.range_bound < needed:
                raise UsageError(
                    f"range_bound is below the range of this likelihood, {float(needed):.6g}, "
                    f"got range_bound={plain(self.range_bound)}."
                )
            needed = self.range_bound
        temperature = temperature_for(needed, self.epsilon, self.samples, slack)
        numbers = {"temperature": temperature, "range": needed, **extra}
        return PosteriorSampleRecord(self.prior, support, numbers)

    def _of_labels(self, family: Family, k: int) -> _Limits:
        least = read_least(family, self.support)
        if self.cells is not None:
            raise UsageError("cells are for a grid, and labels have none: leave out cells.")
        one = len(least) == 1
        needed = simplex_range(k, least[0]) if one else labels_range(least)
        # the sampler's own limits, before a row is read
        check_lower([float_up(low) for low in least] if not one else float_up(least[0]), k)
        base = self.prior.natural()
        if float(base.sum()) > _HEAVIEST_PRIOR:
            raise UsageError("the prior outweighs any data there is.", hint="use a weaker one")
        extra = {}
        if self.delta is not None:
            # whatever the number of records: they only make cells heavier
            acceptance = acceptance_bound(base, 0.0)
            tries = tries_for(self.epsilon, self.delta, acceptance=acceptance, draws=self.samples)
            extra["tries"] = Fraction(tries)
        return labels_support(least, k), needed, Fraction(0), extra

    def _of_axes(self, family: Family, domain: Domain) -> _Limits:
        if self.cells is not None:
            raise UsageError("cells are for a grid of one or two parameters: leave out cells.")
        support = support_pairs(family, self.support)
        return support, PrincipalAxes.of(family.n_columns, support).range(), Fraction(0), {}

    def _of_grid(self, family: Family, domain: Domain) -> _Limits:
        grid = declared_grid(family, domain, self.prior, self.support, self.cells)
        needed, slack = range_and_slack(grid, per_distance=isinstance(self.budget, PerUnit))
        return support_pairs(family, self.support), needed, slack, {"cells": Fraction(grid.cells)}

    def draw(self, record: PosteriorSampleRecord, totals: Totals, source: RandomSource) -> Samples:
        temperature, support = record.parameters["temperature"], record.support
        assert support is not None
        # rounded up, all: a support or a temperature below the declared one would cost more than epsilon
        if totals.family.n_probabilities is not None:
            least = [float_up(low) for low, _ in support]
            tries = None if self.delta is None else int(record.parameters["tries"])
            return self._draw_labels(float_up(temperature), least, totals, source, tries)
        if isinstance(self.prior, NormalInverseWishart):
            axes = PrincipalAxes.of(totals.family.n_columns, support)
            return self._draw_axes(float_up(temperature), axes, self.prior, totals, source)
        cells = int(record.parameters["cells"])
        grid = ParameterGrid(totals.family, totals.domain, self.prior, support, cells)
        return draw_points(grid, temperature, self.samples, totals, source)

    def _draw_labels(
        self, temperature: float, least: list[float], totals: Totals, source: RandomSource, tries: int | None
    ) -> Samples:
        counts = np.array([float(count) for count in totals.features()])
        alpha = self.prior.natural() + counts / temperature
        lower = np.broadcast_to(least, alpha.shape)
        drawn = source.floating(
            lambda rng: sample_truncated_dirichlet(alpha, lower, self.samples, rng, tries=tries)
        )
        return Samples.of({"p": drawn}, "floating")

    def _draw_axes(
        self,
        temperature: float,
        axes: PrincipalAxes,
        prior: NormalInverseWishart,
        totals: Totals,
        source: RandomSource,
    ) -> Samples:
        d, n = axes.dim, totals.n_records / temperature
        shift, half = (
            np.array([float(v) for v in each or ()]) for each in totals.family.affine_map(totals.domain)
        )
        sums = np.array([float(feature) for feature in totals.features()]) / temperature
        mean, scale = (np.array(prior.mean) - shift) / half, np.array(prior.scale) / outer(half)
        posterior = AxesPosterior(
            axes,
            log_power=n + prior.df + d,
            scatter=unpack(sums[d:], d) + scale + prior.kappa * outer(mean),
            pull=sums[:d] + prior.kappa * mean,
            weight=n + prior.kappa,
            n_eigenvalues=EIGENVALUES[d],
            n_components=components_for(axes, n + prior.kappa),
        )

        def sampler(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
            return posterior.sample(draw_rotations(d, ROTATIONS[d], rng), self.samples, rng)

        means, covariances = source.floating(sampler)
        draws = {"normal_mean": shift + half * means, "covariance": covariances * outer(half)}
        return Samples.of(draws, "floating")


def declared_grid(
    family: Family, domain: Domain, prior: Any, support: Any, cells: int | None
) -> ParameterGrid:
    """Return the grid of parameters that a mechanism declares, or say why there is none."""
    refusal = grid_refusal(family)
    if refusal is not None:
        raise UsageError(f"{refusal}.")
    pairs = support_pairs(family, support)
    check_support(family, pairs)
    return ParameterGrid(family, domain, prior, pairs, grid_cells(family, cells))


def support_pairs(family: Family, support: Any) -> Bounds:
    """Read a support as one exact pair for each parameter, in the order of the draws."""
    if isinstance(support, Mapping):
        names = family.draw_names
        if set(support) != set(names):
            raise UsageError(f"the support of {family.name} is by name: {' and '.join(names)}.")
        support = [support[name] for name in names]
    return read_pairs(support, "support")


def read_least(family: Family, support: Any) -> tuple[Fraction, ...]:
    """Read the support of labels: the least probability of any, or one for each label, by label."""
    if isinstance(support, Mapping):
        labels = family.labels or ()
        if set(support) != set(labels):
            raise UsageError(
                "support must name every label, and nothing else.", hint=f"the labels: {', '.join(labels)}"
            )
        return tuple(exact(support[label], "support") for label in labels)
    if isinstance(support, Sequence | np.ndarray) and not isinstance(support, str):
        raise UsageError(
            "the support of categorical is one number, the least that any label's probability can be, or one for each "
            "label, by label.",
            hint=f"for example support={0.1 / (family.n_probabilities or 1):.2g}",
        )
    return (exact(support, "support"),)
