"""The exact distribution behind a released posterior sample, for tables that are made up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.artifact.records.base import SamplingRecord
from discreet.errors import UsageError
from discreet.families.base import Family
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.posterior_sampling import PosteriorSampling
from discreet.models.base import Model
from discreet.privacy.costs.parameter_grid import ParameterGrid
from discreet.privacy.costs.parameter_set import ParameterSet
from discreet.privacy.selection import ExponentialChoice
from discreet.validation.likelihood_ratio import DistributionPair
from discreet.validation.sampled_labels import DrawDistribution, LabelDistribution

_UNKNOWN = "the distribution of a draw is known for posterior samples: give mechanism=…"
_EXAMPLE = 'for example dc.mechanisms.PosteriorSampling("beta:1,1", epsilon=1, support=(0.01, 0.99))'


@dataclass(frozen=True)
class PosteriorDistribution(DrawDistribution):
    """The public points of a mechanism and its temperature: with the sums of a table, the distribution of a draw."""

    grid: ParameterGrid | ParameterSet
    drawn_from: str

    @classmethod
    def of(cls, model: Family, mechanism: Any, bounds: Any) -> PosteriorDistribution:
        """Read the declarations as a release does, and refuse what is not drawn from public points."""
        known = distribution_of_draw(model, mechanism, bounds)
        if not isinstance(known, cls):
            raise UsageError(
                f"samples of {model.name} do not come from a public grid, so their distribution is not exact."
            )
        return known

    def compared(self, first: Any, second: Any) -> tuple[DistributionPair, int]:
        """Return the distributions of a draw from either table, and the number of records."""
        totals, n_records = self.both(first, second)
        p, q = (self.distribution(each.features(), n_records).log_mass() for each in totals)
        return DistributionPair(p, q), n_records

    def distribution(self, features: Sequence[Fraction], n_records: int) -> ExponentialChoice:
        """Return the distribution of one draw for a table with these sums."""
        return self.grid.distribution(features, n_records, self.temperature)

    def describe(self) -> str:
        """Return what is drawn, in one line."""
        return f"{self.drawn_from}, temperature {float(self.temperature):.4g}"


def distribution_of_draw(
    model: Family, mechanism: Any, bounds: Any
) -> PosteriorDistribution | LabelDistribution:
    """Return what is known of a draw: its distribution on public points, or its density of labels' probabilities."""
    mechanism = Mechanism.expect(mechanism, _UNKNOWN, hint=_EXAMPLE)
    if not isinstance(model, Model):
        raise UsageError(f"model must be a family such as dc.Bernoulli(), got {type(model).__name__}.")
    model = model.require(Family, "the distribution of a draw is known for families")
    domain = model.read_domain(bounds, "clip", "none")
    mechanism.check(model, domain)
    record = mechanism.plan(model, domain, 1).require(SamplingRecord, _UNKNOWN)
    grid, temperature = record.scored_points(model, domain), record.parameters.get("temperature")
    if temperature is None:
        raise UsageError(_UNKNOWN, hint=_EXAMPLE)
    if grid is None:
        labels = PosteriorSampling.expect(mechanism, _UNKNOWN, hint=_EXAMPLE)
        return LabelDistribution.of(model, labels, record)
    return PosteriorDistribution(
        model, mechanism, bounds, grid.range(), temperature, grid, _drawn_from(model, record)
    )


def _drawn_from(model: Family, record: SamplingRecord) -> str:
    """Return of which model, with which prior and on which support the draws are."""
    ranges = [
        f"{name} in [{float(low):g}, {float(high):g}]"
        for name, (low, high) in zip(model.draw_names, record.support or (), strict=False)
    ]
    return ", ".join([f"{model.name} model", f"prior {record.prior}", *ranges])
