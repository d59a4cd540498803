"""The verb ``coarsen``: a more private version of a release, made without the rows."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.artifact import Release
from discreet.artifact.origin import Origin
from discreet.errors import UsageError
from discreet.mechanisms.noise import NOISES, NoiseMechanism
from discreet.privacy import Guarantee
from discreet.rational import Number
from discreet.samplers.secure import SECURE, RandomSource

if TYPE_CHECKING:
    from discreet.ledger import Ledger


def coarsen(
    release: Release | str | Path,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    ledger: Ledger | str | None = None,
) -> Release:
    """Return a release with more noise: for readers who are to know less, and without reading the rows again.

    It is distributed like a release of the same table that was made for the smaller budget at once (Laplace
    noise exactly; Gaussian noise within the gap that its guarantee pays for), and :func:`infer` reads it like one.

    Parameters
    ----------
    release
        A release of noisy totals, or its file.
    epsilon, delta, rho
        The smaller budget, in the kind of the release: ``epsilon`` for Laplace noise; ``rho``, or ``epsilon`` with
        ``delta``, for Gaussian noise. It is for the whole file, with what its bounds cost if they were bought.
    ledger
        The :class:`Ledger` (or its URL) that the release was charged to. It notes the new file under the same charge:
        what is made from a release costs nothing beyond it.

    Returns
    -------
    Release
        Its ``coarsened`` says what it was made from. A fit check is left out: its bins follow from the finer totals.

    Privacy
    -------
    Neighbors, unit and sensitivity are those of the release. Whoever sees this file alone has its own guarantee; see
    :meth:`~discreet.mechanisms.Laplace.completion` and :meth:`~discreet.mechanisms.Gaussian.completion`. Whoever sees
    the original too, or several files made from it, together with anybody else who does, has the original's: they are
    functions of it and of fresh randomness. Two files made from one original are **not** as good as a chain: their
    guarantees add up, to the original's at most. Coarsen the coarser one again to serve a third tier.
    Randomness is the operating system's, without a seed.
    """
    found = release if isinstance(release, Release) else Release.load(release)
    made = coarsen_with(SECURE, found, epsilon=epsilon, delta=delta, rho=rho)
    if ledger is None:
        return made
    from discreet.curator.charge import ledger_of

    made = replace(made, ledger=found.ledger)
    ledger_of(ledger).derived(found, made.id, json.loads(made.to_json())["sha256"])
    return made


def coarsen_with(source: RandomSource, release: Release, **budget: Number | None) -> Release:
    """Coarsen with the randomness of ``source``, for simulation."""
    before = release.noise_record
    if release.group_selection is not None:
        raise UsageError(
            "its groups were chosen from the data, and cannot be made to tell less.",
            hint="make a release of its own for the smaller budget",
        )
    kind = NOISES.get(before.name)
    if kind is None:
        raise UsageError(
            f"{before.name.replace('_', '-')} noise has no coarser version.",
            hint="make a release of its own for the smaller budget, or release with mechanism='laplace'",
        )
    given = {name: value for name, value in budget.items() if value is not None}
    if "diameter" in release.guarantee.budgets():
        raise UsageError(
            "a release under a metric has no coarser version: make another release from the rows."
        )
    if set(given) != set(release.guarantee.budgets()):
        raise UsageError(
            f"a coarser version takes {' and '.join(release.guarantee.budgets())}, as the release does."
        )
    mechanism = _for_totals(kind(**given), release)
    layout = release.layout
    promised = mechanism.guarantee(release.neighbors).for_unit(release.guarantee.unit)
    record = mechanism.coarser(before, layout)
    now, then = promised.budgets(), release.guarantees["statistics"].budgets()
    if record is None or any(now[name] > then[name] for name in now):
        raise UsageError(
            f"a coarser version needs less budget than the release, which has {release.guarantee.describe()}."
        )
    statistics = release.totals
    added: list[int] = []
    for (scale, wider, grid), run in groupby(zip(before.scale, record.scale, statistics.grid, strict=True)):
        added += kind.completion(scale / grid, wider / grid, len(list(run)), source)
    values = tuple(value + more for value, more in zip(statistics.values, added, strict=True))
    kept = {name: part for name, part in release.guarantees.items() if name == "bounds"}
    return replace(
        release,
        id=str(uuid.uuid4()),
        mechanism=record,
        guarantees={"statistics": promised, **kept},
        statistics=replace(statistics, values=values),
        fit_check=None,
        ledger=None,
        coarsened=Origin(release.id, tuple(release.guarantees.values())),
    )


def _for_totals(asked: NoiseMechanism, release: Release) -> NoiseMechanism:
    """Return the mechanism of the totals: what was asked for, less what the bounds cost."""
    bought: Guarantee | None = release.guarantees.get("bounds")
    if bought is None:
        return asked
    paid: Mapping[str, Fraction] = bought.budgets()
    whole = asked.guarantee(release.neighbors).budgets()
    if set(paid) != set(whole):
        raise UsageError("a release with bought bounds and Gaussian noise cannot be coarsened.")
    rest = {name: whole[name] - paid[name] for name in whole}
    if any(value <= 0 for value in rest.values()):
        raise UsageError(
            f"its bounds were bought for {bought.describe()}, and cannot be made to tell less.",
            hint="ask for more than that",
        )
    return type(asked)(**rest)
