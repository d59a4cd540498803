"""The exact distribution behind a released posterior sample, for tables that are made up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.curator.declare import declare
from discreet.curator.draw import read_totals
from discreet.errors import UsageError
from discreet.families.base import Family
from discreet.mechanisms.base import Totals
from discreet.mechanisms.posterior_sampling import PosteriorSampling
from discreet.models.base import Model
from discreet.privacy.costs.parameter_grid import ParameterGrid
from discreet.privacy.metric.error_limit import ErrorLimit
from discreet.privacy.selection import ExponentialChoice
from discreet.validation.likelihood_ratio import DistributionPair


@dataclass(frozen=True)
class PosteriorDistribution:
    """The public grid of a mechanism and its temperature: with the sums of a table, the distribution of every draw."""

    model: Family
    mechanism: PosteriorSampling
    bounds: Any
    grid: ParameterGrid
    temperature: Fraction

    @classmethod
    def of(cls, model: Family, mechanism: Any, bounds: Any) -> PosteriorDistribution:
        """Read the declarations as a release does, and refuse what has no grid."""
        mechanism = PosteriorSampling.expect(
            mechanism,
            "the distribution of a draw is known for posterior samples: give mechanism=…",
            hint='for example dc.mechanisms.PosteriorSampling("beta:1,1", epsilon=1, support=(0.01, 0.99))',
        )
        if not isinstance(model, Model):
            raise UsageError(f"model must be a family such as dc.Bernoulli(), got {type(model).__name__}.")
        model = model.require(Family, "the distribution of a draw is known for families")
        domain = model.read_domain(bounds, "clip", "none")
        model.check_prior(mechanism.prior)
        record = mechanism.plan(model, domain, 1)
        if "cells" not in record.parameters or record.support is None:
            raise UsageError(
                f"samples of {model.name} do not come from a public grid, so their distribution is not exact."
            )
        grid = ParameterGrid(model, domain, mechanism.prior, record.support, int(record.parameters["cells"]))
        return cls(model, mechanism, bounds, grid, record.parameters["temperature"])

    @property
    def span(self) -> float:
        """How far one replaced record can move the log-ratio of a draw's distribution, at most: the range over T."""
        return float(self.grid.range() / self.temperature)

    @property
    def loss(self) -> float:
        """How large one replaced record can make the log-ratio, at most: the same, if the other direction has none."""
        return self.span

    def limit(self, apart: int) -> ErrorLimit:
        """Return what no test can do better, between tables that differ in so many records."""
        return ErrorLimit.of_range(apart * self.span)

    def totals(self, table: Any) -> Totals:
        """Sum a table as a release does: clipped, and with the same rounding."""
        return read_totals(declare(table, self.model, self.mechanism, bounds=self.bounds, missing="none"))[0]

    def compared(self, first: Any, second: Any) -> tuple[DistributionPair, int]:
        """Return the distributions of a draw from either table, and the number of records."""
        totals = [self.totals(table) for table in (first, second)]
        n_records = totals[0].n_records
        if totals[1].n_records != n_records:
            raise UsageError(
                "the tables must have equally many records: under neighbors='replace' the number is public."
            )
        p, q = (self.distribution(each.features(), n_records).log_mass() for each in totals)
        return DistributionPair(p, q), n_records

    def distribution(self, features: Sequence[Fraction], n_records: int) -> ExponentialChoice:
        """Return the distribution of one draw for a table with these sums."""
        return self.grid.distribution(features, n_records, self.temperature)

    def describe(self) -> str:
        """Return what is drawn, in one line."""
        names = ", ".join(
            f"{name} in [{float(low):g}, {float(high):g}]"
            for name, (low, high) in zip(self.model.draw_names, self.grid.support, strict=True)
        )
        hot = f"temperature {float(self.temperature):.4g}"
        return f"{self.model.name} model, prior {self.mechanism.prior}, {names}, {hot}"
