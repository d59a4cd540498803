"""A release in two steps: first everything that can be refused, then the noise.

Between the two the ledger is charged. The first step reads the rows and draws nothing, so whatever goes wrong in it
costs no budget; the second draws, and by then the charge is on the disk.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, get_args

from discreet.artifact import BoundsChoice, LedgerStamp, NoiseRecord, Release, Statistics
from discreet.errors import DataError, UsageError
from discreet.families.base import Family
from discreet.families.layout import Domain, Outside, layout_for
from discreet.families.shapes import Missing, Neighbors
from discreet.mechanisms.base import Choose, Draw, NoiseMechanism
from discreet.mechanisms.quantile import are_bought, choose_bounds, planned
from discreet.privacy import Guarantee, PureDP
from discreet.privacy.guarantees import check_neighbors
from discreet.version import __version__

if TYPE_CHECKING:
    from discreet.data import CellCounts, Summary


@dataclass(frozen=True)
class Declared:
    """A release of which nothing was read yet: the declarations, all of them checked."""

    data: Any
    model: Family
    mechanism: NoiseMechanism
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

        if self.plan is not None:
            grids = [how.grid(self.model) for how in self.plan]
            counted = count_cells(self.data, self.model, grids, self.columns)
            check_count(counted.n_records, self.neighbors)
            return Pending(self, counted, None)
        layout = layout_for(self.model, self.domain, self.neighbors)
        summary = summarize(self.data, self.model, self.domain, layout, self.columns)
        check_count(summary.n_records, self.neighbors)
        return Pending(self, None, summary)


@dataclass(frozen=True)
class Pending:
    """A release that lacks only its noise: exact cell counts if bounds are to be bought, exact sums if not. Private."""

    declared: Declared
    counted: CellCounts | None
    summary: Summary | None

    @property
    def n_records(self) -> int:
        """The number of records that were read. Private under ``add_remove``."""
        found = self.counted or self.summary
        assert found is not None
        return found.n_records

    def finish(
        self, draw: Draw, choose: Choose, dataset: str | None = None, stamp: LedgerStamp | None = None
    ) -> Release:
        """Draw the noise."""
        from discreet.data import summarize

        asked, domain, summary = self.declared, self.declared.domain, self.summary
        if asked.plan is not None and self.counted is not None:
            chosen = choose_bounds(choose, self.counted.counts, asked.plan, asked.model, asked.neighbors)
            domain = replace(domain, bounds=chosen)
            layout = layout_for(asked.model, domain, asked.neighbors)
            summary = summarize(asked.data, asked.model, domain, layout, asked.columns)
            if summary.n_records != self.counted.n_records:
                raise DataError("the data did not stay the same while it was read.")
        assert summary is not None
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
    model: Family,
    mechanism: NoiseMechanism,
    *,
    columns: tuple[str, ...] | None,
    bounds: Any,
    outside: Outside,
    missing: Missing,
    neighbors: Neighbors,
) -> Declared:
    """Check all declarations; no row is read."""
    plan = planned(bounds, model) if isinstance(model, Family) and are_bought(bounds) else None
    # bounds to be bought cannot be wider than this, and no declaration depends on how much narrower they get
    widest = bounds if plan is None else [how.within for how in plan]
    domain = declare(model, bounds=widest, outside=outside, missing=missing)
    check_neighbors(neighbors)
    mechanism.scales(layout_for(model, domain, neighbors))
    return Declared(data, model, mechanism, columns, domain, plan, neighbors)


def declare(model: Family, *, bounds: Any, outside: Outside, missing: Missing) -> Domain:
    """Check the curator's declarations and return them as a domain."""
    if not isinstance(model, Family):
        raise UsageError(f"model must be a family such as dc.Bernoulli(), got {type(model).__name__}.")
    if outside not in get_args(Outside):
        raise UsageError(f"outside must be 'redact' or 'clip', got outside={outside!r}.")
    if missing not in get_args(Missing):
        raise UsageError(f"missing must be 'count' or 'none', got missing={missing!r}.")
    if model.vocabulary is not None and outside == "clip":
        raise UsageError(f"outside='clip' has no meaning for {model.name}: labels cannot be clipped.")
    return Domain(model.parse_bounds(bounds), model.labels, outside, missing)


def privatize(
    draw: Draw,
    values: Sequence[int],
    n_records: int,
    model: Family,
    domain: Domain,
    mechanism: NoiseMechanism,
    *,
    columns: tuple[str, ...],
    neighbors: Neighbors,
    dataset: str | None = None,
    bounds_choice: tuple[BoundsChoice, ...] | None = None,
    stamp: LedgerStamp | None = None,
) -> Release:
    """Add noise to exact statistics, in layout order and grid steps, and seal them in a release.

    ``bounds_choice`` says how the bounds in ``domain`` were bought, and joins the guarantee; ``stamp``, where the
    release was charged.
    """
    check_count(n_records, neighbors)
    layout = layout_for(model, domain, neighbors)
    scales = mechanism.scales(layout)
    noisy = [
        value + draw(mechanism.law(float(scale / grid)))
        for value, scale, grid in zip(values, scales, layout.grid, strict=True)
    ]
    return Release(
        id=str(uuid.uuid4()),
        dataset=dataset,
        family=model,
        columns=columns,
        domain=domain,
        neighbors=neighbors,
        unit=None,
        max_rows=1,
        records=n_records if neighbors == "replace" else None,
        statistics=Statistics(
            layout.names, tuple(noisy), layout.grid, layout.width, layout.shift, layout.half
        ),
        mechanism=NoiseRecord(mechanism.name, scales, mechanism.sensitivity(layout)),
        guarantees=promised(mechanism, bounds_choice, neighbors),
        software={"discreet": __version__, "opendp": _opendp_version()},
        ledger=stamp,
        bounds_choice=bounds_choice,
    )


def promised(
    mechanism: NoiseMechanism, bounds_choice: Sequence[BoundsChoice] | None, neighbors: Neighbors
) -> dict[str, Guarantee]:
    """Return what a release promises: for its statistics, and for its bounds if they are bought."""
    guarantees: dict[str, Guarantee] = {"statistics": mechanism.guarantee(neighbors)}
    if bounds_choice is not None:
        guarantees["bounds"] = PureDP(sum(made.epsilon for made in bounds_choice), neighbors=neighbors)
    return guarantees


def check_count(n_records: int, neighbors: Neighbors) -> None:
    """Raise if the table is empty and may be seen to be."""
    if neighbors == "replace" and n_records == 0:
        raise UsageError(
            "the table is empty, and under neighbors='replace' its size is public.",
            hint="use neighbors='add_remove' if the number of records must stay private",
        )


@cache
def _opendp_version() -> str:
    """Read once: looking a version up costs more than a small release."""
    return version("opendp")
