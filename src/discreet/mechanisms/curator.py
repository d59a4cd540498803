"""The curator's verb: rows in, release out."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from typing import Any, get_args

from discreet.artifact import BoundsChoice, NoiseRecord, Release, Statistics
from discreet.errors import DataError, UsageError
from discreet.families.base import Family
from discreet.families.layout import Domain, Outside, layout_for
from discreet.families.shapes import Missing, Neighbors
from discreet.mechanisms.base import Choose, Draw, NoiseMechanism
from discreet.mechanisms.gaussian import GaussianMechanism
from discreet.mechanisms.laplace import LaplaceMechanism
from discreet.mechanisms.quantile import are_bought, choose_bounds, planned
from discreet.mechanisms.sampler import secure_choose, secure_draw
from discreet.privacy import Guarantee, PureDP
from discreet.privacy.guarantees import check_neighbors
from discreet.rational import Number
from discreet.version import __version__


def release(
    data: Any,
    model: Family,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    mechanism: str | NoiseMechanism = "laplace",
    column: str | None = None,
    columns: Sequence[str] | None = None,
    bounds: Any = None,
    outside: Outside = "redact",
    missing: Missing = "count",
    neighbors: Neighbors = "replace",
    unit: str | None = None,
    max_rows: int = 1,
    ledger: None = None,
    dataset: str | None = None,
    analyst: str | None = None,
) -> Release:
    """Release private statistics of one column (or several) for a model.

    Parameters
    ----------
    data
        A path to a CSV or Parquet file, or a pandas, Polars, PyArrow, DuckDB or NumPy table, or a list. In a CSV file
        one line is one record: a file with line breaks inside fields must be rewritten first, for example as Parquet.
        An empty line is no record if the file has two or more columns.
    model
        The family the analyst will fit, such as ``dc.Bernoulli()``.
    epsilon, delta, rho
        The budget. Laplace noise takes ``epsilon``; Gaussian noise takes ``rho``, or ``epsilon`` with ``delta``.
    mechanism
        ``"laplace"``, ``"gaussian"``, or a mechanism object that holds its own budget.
    column, columns
        Which column or columns make a record. Not needed for a bare array or list; always needed for a CSV file, whose
        first line is a record if somebody forgot the header.
    bounds
        ``(low, high)`` for a numeric column, one pair per column if there are several. Choose them from public
        knowledge, never from the data; or buy them, with :class:`PrivateQuantiles`.
    outside
        ``"redact"``: a value outside the bounds counts as the middle of the range. ``"clip"``: as the nearest bound.
    missing
        ``"count"``: how many values are usable is released as well. ``"none"``: the curator declares that
        none is missing.
    neighbors
        ``"replace"``: the number of records is public. ``"add_remove"``: it is protected too.
    dataset
        A name for the statement.
    unit, max_rows, ledger, analyst
        Not available yet: leave them out.

    Returns
    -------
    Release

    Privacy
    -------
    Rows are summed exactly, on integers, and noise calibrated to the joint sensitivity is drawn from the operating
    system's generator; see :class:`LaplaceMechanism` and :class:`GaussianMechanism` for the theorems. Whatever the rows
    hold, nothing is raised, printed or logged about them.
    """
    if ledger is not None or analyst is not None:
        raise UsageError("ledgers are not available yet: ledger and analyst must be None.")
    if unit is not None or max_rows != 1:
        raise UsageError("only one record per person is supported so far: unit must be None and max_rows 1.")
    return release_with(
        secure_draw,
        data,
        model,
        choose_mechanism(mechanism, epsilon, delta, rho),
        columns=_columns(column, columns),
        bounds=bounds,
        outside=outside,
        missing=missing,
        neighbors=neighbors,
        dataset=dataset,
    )


def release_with(
    draw: Draw,
    data: Any,
    model: Family,
    mechanism: NoiseMechanism,
    *,
    columns: tuple[str, ...] | None = None,
    bounds: Any = None,
    outside: Outside = "redact",
    missing: Missing = "count",
    neighbors: Neighbors = "replace",
    dataset: str | None = None,
    choose: Choose = secure_choose,
) -> Release:
    """Release with noise from ``draw``, and within bounds chosen by ``choose`` if they are to be bought.

    Simulations pass seeded samplers of the same laws; :func:`release` passes the secure ones and offers no other.
    Everything that can be refused is refused before the first row is read.
    """
    from discreet.data import count_cells, summarize

    plan = planned(bounds, model) if isinstance(model, Family) and are_bought(bounds) else None
    # bounds to be bought cannot be wider than this, and no declaration depends on how much narrower they get
    widest = bounds if plan is None else [how.within for how in plan]
    domain = declare(model, bounds=widest, outside=outside, missing=missing)
    check_neighbors(neighbors)
    layout = layout_for(model, domain, neighbors)
    mechanism.scales(layout)
    n_counted = None
    if plan is not None:
        counted = count_cells(data, model, [how.grid(model) for how in plan], columns)
        n_counted = counted.n_records
        _check_count(n_counted, neighbors)
        chosen = choose_bounds(choose, counted.counts, plan, model, neighbors)
        domain = replace(domain, bounds=chosen)
        layout = layout_for(model, domain, neighbors)
    summary = summarize(data, model, domain, layout, columns)
    if n_counted not in (None, summary.n_records):
        raise DataError("the data did not stay the same while it was read.")
    return privatize(
        draw,
        summary.values,
        summary.n_records,
        model,
        domain,
        mechanism,
        columns=summary.columns,
        neighbors=neighbors,
        dataset=dataset,
        bounds_choice=plan,
    )


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
) -> Release:
    """Add noise to exact statistics, in layout order and grid steps, and seal them in a release.

    ``bounds_choice`` says how the bounds in ``domain`` were bought, and joins the guarantee.
    """
    _check_count(n_records, neighbors)
    layout = layout_for(model, domain, neighbors)
    scales = mechanism.scales(layout)
    noisy = [
        value + draw(mechanism.law(float(scale / grid)))
        for value, scale, grid in zip(values, scales, layout.grid, strict=True)
    ]
    guarantees: dict[str, Guarantee] = {"statistics": mechanism.guarantee(neighbors)}
    if bounds_choice is not None:
        guarantees["bounds"] = PureDP(sum(made.epsilon for made in bounds_choice), neighbors=neighbors)
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
        guarantees=guarantees,
        software={"discreet": __version__, "opendp": _opendp_version()},
        bounds_choice=bounds_choice,
    )


def _check_count(n_records: int, neighbors: Neighbors) -> None:
    if neighbors == "replace" and n_records == 0:
        raise UsageError(
            "the table is empty, and under neighbors='replace' its size is public.",
            hint="use neighbors='add_remove' if the number of records must stay private",
        )


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


def _columns(column: str | None, columns: Sequence[str] | None) -> tuple[str, ...] | None:
    if column is not None and columns is not None:
        raise UsageError("give either column or columns, not both.")
    if isinstance(columns, str):
        raise UsageError("columns must be a list of names; use column for a single one.")
    if column is not None:
        return (column,)
    return None if columns is None else tuple(columns)


def choose_mechanism(
    mechanism: str | NoiseMechanism, epsilon: Number | None, delta: Number | None, rho: Number | None
) -> NoiseMechanism:
    """Return the mechanism asked for, or say which budget it takes."""
    if isinstance(mechanism, NoiseMechanism):
        if (epsilon, delta, rho) != (None, None, None):
            raise UsageError("a mechanism object holds its own budget: leave out epsilon, delta and rho.")
        return mechanism
    if mechanism in ("laplace", "gaussian") and (epsilon, delta, rho) == (None, None, None):
        example = "epsilon=0.5" if mechanism == "laplace" else "rho=0.01, or epsilon=0.5 with delta=1e-6"
        raise UsageError(f"give a budget, such as {example}.")
    if mechanism == "laplace":
        if epsilon is None or delta is not None or rho is not None:
            raise UsageError(
                "laplace noise takes epsilon alone.", hint="mechanism='gaussian' takes delta or rho"
            )
        return LaplaceMechanism(epsilon)
    if mechanism == "gaussian":
        return GaussianMechanism(rho=rho, epsilon=epsilon, delta=delta)
    raise UsageError(f"mechanism must be 'laplace', 'gaussian' or an object, got mechanism={mechanism!r}.")


@cache
def _opendp_version() -> str:
    """Read once: looking a version up costs more than a small release."""
    return version("opendp")
