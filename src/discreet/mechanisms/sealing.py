"""The last step of a release: noise or samples drawn, and sealed with everything that was declared and promised."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from itertools import groupby
from typing import TYPE_CHECKING

from discreet.artifact import (
    BoundsChoice,
    LedgerStamp,
    NoiseRecord,
    Release,
    Samples,
    SamplingRecord,
    Statistics,
)
from discreet.artifact.totals import MOST_RECORDS
from discreet.errors import UsageError
from discreet.families.base import Family
from discreet.families.layout import Domain, layout_for
from discreet.families.shapes import Neighbors
from discreet.mechanisms.base import Draw, NoiseMechanism, draws
from discreet.mechanisms.records import RecordMechanism
from discreet.mechanisms.sampling import RandomSource, SamplingMechanism, Totals
from discreet.models.base import Model
from discreet.privacy import Guarantee, PureDP
from discreet.rational import quotient
from discreet.version import __version__

if TYPE_CHECKING:
    from discreet.data import Records, Summary, TableSummary
    from discreet.mechanisms.pending import Declared

#: Whatever makes a release private.
Mechanism = NoiseMechanism | SamplingMechanism | RecordMechanism


def draw_samples(
    source: RandomSource | None,
    asked: Declared,
    read: Summary | TableSummary | Records,
    record: SamplingRecord,
    *,
    dataset: str | None = None,
    stamp: LedgerStamp | None = None,
) -> Release:
    """Draw the samples that were planned, and seal them in a release."""
    from discreet.data import Records, Summary
    from discreet.data.seal import sealed

    if source is None:
        from discreet.mechanisms.sampler import secure_source

        source = secure_source()
    mechanism, random = asked.mechanism, source

    def draw() -> Samples:
        if isinstance(mechanism, RecordMechanism):
            assert isinstance(read, Records)
            return mechanism.draw(record, read, random)
        assert isinstance(mechanism, SamplingMechanism)
        assert isinstance(asked.model, Family)
        assert isinstance(read, Summary)
        return mechanism.draw(record, Totals(asked.model, asked.domain, read.values, read.n_records), random)

    samples = sealed(draw, "the samples could not be drawn.")
    return Release(
        id=str(uuid.uuid4()),
        dataset=dataset,
        model=asked.model,
        columns=read.columns,
        domain=asked.domain,
        neighbors=asked.neighbors,
        unit=None,
        max_rows=1,
        records=read.n_records if asked.neighbors == "replace" else None,
        statistics=None,
        mechanism=record,
        guarantees=asked.guarantees,
        software={"discreet": __version__, "opendp": _opendp_version()},
        samples=samples,
        ledger=stamp,
    )


def privatize(
    draw: Draw,
    values: Sequence[int],
    n_records: int,
    model: Family | Model,
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
    noise: list[int] = []
    for (scale, grid), run in groupby(zip(scales, layout.grid, strict=True)):
        noise += draws(draw, mechanism.law(quotient(scale, grid)), len(list(run)))
    noisy = [value + added for value, added in zip(values, noise, strict=True)]
    return Release(
        id=str(uuid.uuid4()),
        dataset=dataset,
        model=model,
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
    mechanism: Mechanism,
    bounds_choice: Sequence[BoundsChoice] | None,
    neighbors: Neighbors,
) -> dict[str, Guarantee]:
    """Return what a release promises: for its statistics or samples, and for its bounds if they are bought."""
    purpose = "statistics" if isinstance(mechanism, NoiseMechanism) else "samples"
    guarantees: dict[str, Guarantee] = {purpose: mechanism.guarantee(neighbors)}
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
    if neighbors == "replace" and n_records > MOST_RECORDS:
        raise UsageError(f"a release file holds at most {MOST_RECORDS:,} records.")


@cache
def _opendp_version() -> str:
    """Read once: looking a version up costs more than a small release."""
    return version("opendp")
