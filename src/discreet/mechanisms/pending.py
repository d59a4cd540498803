"""A release in two steps: first everything that can be refused, then the noise.

Between the two the ledger is charged. The first step reads the rows and draws nothing, so whatever goes wrong in it
costs no budget; the second draws, and by then the charge is on the disk.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from discreet.artifact import BoundsChoice, LedgerStamp, Release, SamplingRecord
from discreet.errors import DataError, UsageError
from discreet.families.base import Family
from discreet.families.impute import fallback
from discreet.families.layout import Domain, Outside, layout_for
from discreet.families.shapes import Missing, Neighbors
from discreet.mechanisms.base import Choose, Draw, NoiseMechanism
from discreet.mechanisms.declarations import declare, sampling_domain, structured_domain
from discreet.mechanisms.quantile import are_bought, choose_bounds, planned
from discreet.mechanisms.records import RecordMechanism
from discreet.mechanisms.sampling import RandomSource, SamplingMechanism
from discreet.mechanisms.sealing import Mechanism, check_count, draw_samples, privatize, promised
from discreet.models.base import Model
from discreet.models.base import fallback as first_values
from discreet.models.markov import MarkovChain
from discreet.names import check_name
from discreet.privacy import Guarantee
from discreet.privacy.guarantees import check_neighbors

if TYPE_CHECKING:
    from discreet.data import CellCounts, Records, Summary, TableSummary


@dataclass(frozen=True)
class Declared:
    """A release of which nothing was read yet: the declarations, all of them checked."""

    data: Any = field(repr=False)
    model: Family | Model
    mechanism: Mechanism
    columns: tuple[str, ...] | None
    domain: Domain
    plan: tuple[BoundsChoice, ...] | None
    neighbors: Neighbors

    @property
    def guarantees(self) -> dict[str, Guarantee]:
        """What will be promised, part by part."""
        return promised(self.mechanism, self.plan, self.neighbors)

    @property
    def label(self) -> str:
        """What is released, in a few words, for a ledger."""
        return f"{self.model.name} of {', '.join(self.columns)}" if self.columns else self.model.name

    def read(self) -> Pending:
        """Read the rows, up to where the first noise is needed."""
        from discreet.data import count_cells, summarize

        if isinstance(self.model, Model):
            return self._read_structured(self.model)
        if self.plan is not None:
            grids = [how.grid(self.model) for how in self.plan]
            counted = count_cells(self.data, self.model, grids, self.columns)
            check_count(counted.n_records, self.neighbors)
            return Pending(self, counted, None)
        domain = self.domain
        if isinstance(self.mechanism, SamplingMechanism) and domain.missing == "none":
            # every record must count, also one that breaks the declaration
            domain = replace(domain, missing="impute", impute=fallback(self.model, domain))
        layout = layout_for(self.model, domain, self.neighbors)
        summary = summarize(self.data, self.model, domain, layout, self.columns)
        check_count(summary.n_records, self.neighbors)
        if isinstance(self.mechanism, SamplingMechanism):
            sampling = self.mechanism.plan(self.model, self.domain, summary.n_records)
            return Pending(self, None, summary, sampling)
        return Pending(self, None, summary)

    def _read_structured(self, model: Model) -> Pending:
        """Read the rows of a model of several columns: counts for noise, or every record."""
        from discreet.data import count_tables, count_transitions, read_records

        if not isinstance(self.mechanism, RecordMechanism):
            if isinstance(model, MarkovChain):
                counts = count_transitions(self.data, model)
            else:
                counts = count_tables(self.data, model, self.domain)
            check_count(counts.n_records, self.neighbors)
            return Pending(self, None, counts)
        domain = self.domain
        if domain.missing == "none":
            # every record must count, also one that breaks the declaration
            domain = replace(domain, missing="impute", impute=first_values(model))
        records = read_records(self.data, model, domain)
        check_count(records.n_records, self.neighbors)
        public = records.n_records if self.neighbors == "replace" else None
        return Pending(self, None, records, self.mechanism.plan(model, self.domain, public))


@dataclass(frozen=True, repr=False)
class Pending:
    """A release that lacks only its noise. Private.

    It has read exact cell counts if bounds are to be bought, exact sums or counts if not, or every record.

    ``sampling`` is the public record of a release of samples.
    """

    declared: Declared
    counted: CellCounts | None
    summary: Summary | TableSummary | Records | None
    sampling: SamplingRecord | None = None

    def __post_init__(self) -> None:
        # of a file without a header the first row stands for names, so that no message repeats one
        names = self.declared.columns if self.summary is None else self.summary.columns
        for name in names or ():
            check_name(name, "the name of a column")

    @property
    def n_records(self) -> int:
        """The number of records that were read. Private under ``add_remove``."""
        found = self.counted or self.summary
        assert found is not None
        return found.n_records

    def finish(
        self,
        draw: Draw,
        choose: Choose,
        dataset: str | None = None,
        stamp: LedgerStamp | None = None,
        source: RandomSource | None = None,
    ) -> Release:
        """Draw the noise; or, from ``source``, the samples."""
        from discreet.data import Records, summarize

        asked, domain, summary = self.declared, self.declared.domain, self.summary
        if self.sampling is not None:
            assert summary is not None
            return draw_samples(source, asked, summary, self.sampling, dataset=dataset, stamp=stamp)
        assert isinstance(asked.mechanism, NoiseMechanism)
        if asked.plan is not None and self.counted is not None:
            assert isinstance(asked.model, Family)
            chosen = choose_bounds(choose, self.counted.counts, asked.plan, asked.model, asked.neighbors)
            domain = replace(domain, bounds=chosen)
            layout = layout_for(asked.model, domain, asked.neighbors)
            summary = summarize(asked.data, asked.model, domain, layout, asked.columns)
            if summary.n_records != self.counted.n_records:
                raise DataError("the data did not stay the same while it was read.")
        assert summary is not None
        assert not isinstance(summary, Records)
        return privatize(
            draw,
            summary.values,
            summary.n_records,
            asked.model,
            domain,
            asked.mechanism,
            columns=summary.columns,
            neighbors=asked.neighbors,
            dataset=dataset,
            bounds_choice=asked.plan,
            stamp=stamp,
        )


def declared(
    data: Any,
    model: Family | Model,
    mechanism: Mechanism,
    *,
    columns: tuple[str, ...] | None,
    bounds: Any,
    outside: Outside | None,
    missing: Missing | None,
    neighbors: Neighbors,
    impute: Any = None,
) -> Declared:
    """Check all declarations; no row is read."""
    if isinstance(model, Model):
        if columns is not None or bounds is not None:
            raise UsageError(
                f"{model.name} declares its own columns and bounds: leave out column, columns and bounds."
            )
        check_neighbors(neighbors)
        domain = structured_domain(model, mechanism, outside, missing, impute, neighbors)
        return Declared(data, model, mechanism, model.column_names, domain, None, neighbors)
    if isinstance(mechanism, RecordMechanism):
        raise UsageError(
            f"{type(mechanism).__name__} reads records of a model of several columns, got {type(model).__name__}."
        )
    if isinstance(mechanism, SamplingMechanism):
        return _declared_sampling(
            Declared(
                data,
                model,
                mechanism,
                columns,
                sampling_domain(model, bounds, outside, missing, impute),
                None,
                neighbors,
            )
        )
    if impute is not None:
        raise UsageError(
            "impute is for mechanisms that release samples.",
            hint="noise takes missing='count', which leaves missing values out",
        )
    plan = planned(bounds, model) if isinstance(model, Family) and are_bought(bounds) else None
    # bounds to be bought cannot be wider than this, and no declaration depends on how much narrower they get
    widest = bounds if plan is None else [how.within for how in plan]
    domain = declare(
        model,
        bounds=widest,
        outside="redact" if outside is None else outside,
        missing="count" if missing is None else missing,
    )
    check_neighbors(neighbors)
    mechanism.scales(layout_for(model, domain, neighbors))
    return Declared(data, model, mechanism, columns, domain, plan, neighbors)


def _declared_sampling(asked: Declared) -> Declared:
    """Check what a sampling mechanism adds to the declarations."""
    mechanism, model = asked.mechanism, asked.model
    assert isinstance(mechanism, SamplingMechanism)
    assert isinstance(model, Family)
    check_neighbors(asked.neighbors)
    if asked.neighbors != "replace":
        raise UsageError("samples protect a record's content, not that it is there: use neighbors='replace'.")
    model.check_prior(mechanism.prior)
    mechanism.check(model, asked.domain)
    return asked
