"""The curator's verb: rows in, release out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from discreet.arguments import listed, shown
from discreet.artifact import Release
from discreet.errors import UsageError
from discreet.families.base import Family
from discreet.families.layout import Outside
from discreet.families.shapes import Missing, Neighbors
from discreet.mechanisms.base import Choose, Draw, NoiseMechanism
from discreet.mechanisms.declarations import declare
from discreet.mechanisms.gaussian import GaussianMechanism
from discreet.mechanisms.laplace import LaplaceMechanism
from discreet.mechanisms.paying import pay_and_draw, payer_of
from discreet.mechanisms.pending import declared
from discreet.mechanisms.records import RecordMechanism
from discreet.mechanisms.sampler import secure_choose, secure_draw
from discreet.mechanisms.sampling import RandomSource, SamplingMechanism
from discreet.mechanisms.sealing import Mechanism, privatize
from discreet.mechanisms.several import declared_several, divided
from discreet.models.base import Model
from discreet.objects import asked_for
from discreet.rational import Number

if TYPE_CHECKING:
    from discreet.privacy.ledger import Ledger

__all__ = ["choose_mechanism", "declare", "privatize", "release", "release_with", "sample_with"]


@overload
def release(
    data: Any,
    model: Family | Model,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    mechanism: str | Mechanism = "laplace",
    column: Any = None,
    columns: Sequence[str] | None = None,
    bounds: Any = None,
    outside: Outside | None = None,
    missing: Missing | None = None,
    impute: Any = None,
    neighbors: Neighbors = "replace",
    split: Mapping[str, Number] | None = None,
    unit: str | None = None,
    max_rows: int = 1,
    ledger: Ledger | str | None = None,
    dataset: str | None = None,
    analyst: str | None = None,
) -> Release: ...


@overload
def release(
    data: Any,
    model: Mapping[str, Family],
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    mechanism: str | Mechanism = "laplace",
    column: Any = None,
    columns: Mapping[str, Sequence[str]] | None = None,
    bounds: Any = None,
    outside: Outside | Mapping[str, Outside] | None = None,
    missing: Missing | Mapping[str, Missing] | None = None,
    impute: Any = None,
    neighbors: Neighbors = "replace",
    split: Mapping[str, Number] | None = None,
    unit: str | None = None,
    max_rows: int = 1,
    ledger: Ledger | str | None = None,
    dataset: str | None = None,
    analyst: str | None = None,
) -> dict[str, Release]: ...


def release(
    data: Any,
    model: Family | Model | Mapping[str, Family],
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    mechanism: str | Mechanism = "laplace",
    column: Any = None,
    columns: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    bounds: Any = None,
    outside: Outside | Mapping[str, Outside] | None = None,
    missing: Missing | Mapping[str, Missing] | None = None,
    impute: Any = None,
    neighbors: Neighbors = "replace",
    split: Mapping[str, Number] | None = None,
    unit: str | None = None,
    max_rows: int = 1,
    ledger: Ledger | str | None = None,
    dataset: str | None = None,
    analyst: str | None = None,
) -> Release | dict[str, Release]:
    """Release private statistics of one column (or several) for a model, or private samples of its parameters.

    Parameters
    ----------
    data
        A path to a CSV or Parquet file, or a pandas, Polars, PyArrow, DuckDB or NumPy table, or a list. In a CSV file
        one line is one record: a file with line breaks inside fields must be rewritten first, for example as Parquet.
        An empty line is no record if the file has two or more columns. A list is data, never a list of files: one in
        which every entry is a path, or text that ends like a data file's name, is refused.
    model
        The family the analyst will fit, such as ``dc.Bernoulli()``. Or several, by column:
        ``{"smoker": dc.Bernoulli(), "age": dc.Normal()}`` gives one release for each; the budget is for all together.
        Or one of ``dc.models``, which declares its own columns.
    epsilon, delta, rho
        The budget. Laplace noise takes ``epsilon``; Gaussian noise takes ``rho``, or ``epsilon`` with ``delta``.
    mechanism
        ``"laplace"``, ``"gaussian"``, or a mechanism object that holds its own budget, such as a
        :class:`PosteriorSamplingMechanism`, which releases samples instead of statistics.
    column, columns
        Which column or columns make a record. Not needed for a bare array or list; always needed for a CSV file, whose
        first line is a record if somebody forgot the header. A pandas column under another one goes by its tuple,
        ``column=("blood", "pressure")``.
    bounds
        ``(low, high)`` for a numeric column, one pair per column if there are several. Choose them from public
        knowledge, never from the data; or buy them, with :class:`PrivateQuantiles`.
    outside
        ``"redact"`` (the default for statistics): a value outside the bounds counts as the middle of the range.
        ``"clip"`` (the default for samples, and the only choice for them): as the nearest bound. Labels have no bounds:
        either word is accepted and does nothing.
    missing
        ``"count"`` (the default for statistics): how many values are usable is released as well. ``"none"``: the
        curator declares that none is missing. ``"impute"`` (the default for samples): ``impute`` stands for them.
    impute
        For samples: a public value within the bounds, or a label, that stands for every missing value; one per column
        if there are several, by name for one of ``dc.models``.
    neighbors
        ``"replace"``: the number of records is public. ``"add_remove"``: it is protected too.
    split
        With several models, how the budget is divided: weights by name, 1 for those not named. ``{"age": 3}`` gives age
        three times what each of the others gets. ``bounds``, ``columns``, ``outside`` and ``missing`` are then by name
        too (the last two may be the same for all).
    ledger, dataset, analyst
        A :class:`Ledger` (or its URL) that is charged before any noise is drawn, for the data set of this name, and for
        this analyst if analysts have budgets. Without a ledger, ``dataset`` is a name for the statement.
    unit, max_rows
        Not available yet: leave them out.

    Returns
    -------
    Release, or a dictionary of one for each model

    Raises
    ------
    BudgetError
        If the ledger does not allow it. Nothing was charged then, and no noise drawn.

    Privacy
    -------
    Rows are summed exactly, on integers, and noise calibrated to the joint sensitivity is drawn from the operating
    system's generator; see :class:`LaplaceMechanism` and :class:`GaussianMechanism` for the theorems, and
    :class:`PosteriorSamplingMechanism` for samples, which need no noise. Whatever the rows hold, nothing is raised,
    printed or logged about them.
    """
    if unit is not None or isinstance(max_rows, bool) or not isinstance(max_rows, int) or max_rows != 1:
        raise UsageError("only one record per person is supported so far: unit must be None and max_rows 1.")
    payer = payer_of(ledger, dataset, analyst)
    if isinstance(model, Mapping):
        if column is not None:
            raise UsageError("several models take their columns by name: leave out column.")
        if isinstance(mechanism, Mechanism):
            raise UsageError(
                "several models divide a budget: give epsilon or rho, and the mechanism by its name."
            )
        if impute is not None:
            raise UsageError("impute is for mechanisms that release samples.")
        shares = divided(model, split, {"epsilon": epsilon, "delta": delta, "rho": rho})
        several = declared_several(
            data,
            model,
            {name: choose_mechanism(mechanism, **share) for name, share in shares.items()},
            columns=columns,
            bounds=bounds,
            outside=outside,
            missing=missing,
            neighbors=neighbors,
        )
        return pay_and_draw(payer, several, secure_draw, secure_choose, dataset)
    if split is not None:
        raise UsageError("split divides a budget among several models, and there is one.")
    if isinstance(mechanism, SamplingMechanism | RecordMechanism):
        _no_budget(epsilon, delta, rho)
        chosen = mechanism
    else:
        chosen = choose_mechanism(mechanism, epsilon, delta, rho)
    one = declared(
        data,
        model,
        chosen,
        columns=_columns(column, columns),
        bounds=bounds,
        outside=outside,  # pyright: ignore[reportArgumentType]
        missing=missing,  # pyright: ignore[reportArgumentType]
        neighbors=neighbors,
        impute=impute,
    )
    return pay_and_draw(payer, {"": one}, secure_draw, secure_choose, dataset)[""]


def release_with(
    draw: Draw,
    data: Any,
    model: Family | Model,
    mechanism: NoiseMechanism,
    *,
    columns: tuple[str, ...] | None = None,
    bounds: Any = None,
    outside: Outside | None = None,
    missing: Missing | None = None,
    neighbors: Neighbors = "replace",
    dataset: str | None = None,
    choose: Choose = secure_choose,
) -> Release:
    """Release with noise from ``draw``, and within bounds chosen by ``choose`` if they are to be bought.

    Simulations pass seeded samplers of the same laws; :func:`release` passes the secure ones and offers no other.
    Everything that can be refused is refused before the first row is read.
    """
    asked = declared(
        data,
        model,
        mechanism,
        columns=columns,
        bounds=bounds,
        outside=outside,
        missing=missing,
        neighbors=neighbors,
    )
    return asked.read().finish(draw, choose, dataset)


def sample_with(
    source: RandomSource,
    data: Any,
    model: Family | Model,
    mechanism: SamplingMechanism | RecordMechanism,
    *,
    columns: tuple[str, ...] | None = None,
    bounds: Any = None,
    missing: Missing | None = None,
    impute: Any = None,
    neighbors: Neighbors = "replace",
    dataset: str | None = None,
) -> Release:
    """Release samples with the randomness of ``source``, for simulation; see :func:`release_with`."""
    asked = declared(
        data,
        model,
        mechanism,
        columns=columns,
        bounds=bounds,
        outside=None,
        missing=missing,
        neighbors=neighbors,
        impute=impute,
    )
    return asked.read().finish(secure_draw, secure_choose, dataset, source=source)


def _columns(column: Any, columns: Any) -> tuple[str, ...] | None:
    if column is not None and columns is not None:
        raise UsageError("give either column or columns, not both.")
    if isinstance(columns, str | Mapping):
        raise UsageError("columns must be a list of names; use column for a single one.")
    if column is not None:
        return (asked_for(column),)
    if columns is None:
        return None
    return tuple(asked_for(name) for name in listed(columns, "columns", "a list of names"))


def choose_mechanism(
    mechanism: Any, epsilon: Number | None, delta: Number | None, rho: Number | None
) -> NoiseMechanism:
    """Return the noise mechanism asked for, or say which budget it takes."""
    if isinstance(mechanism, NoiseMechanism):
        _no_budget(epsilon, delta, rho)
        return mechanism
    if isinstance(mechanism, SamplingMechanism | RecordMechanism):
        raise UsageError(f"{type(mechanism).__name__} releases samples, and noise is needed here.")
    if not isinstance(mechanism, str) or mechanism not in ("laplace", "gaussian"):
        raise UsageError(
            f"mechanism must be 'laplace', 'gaussian' or an object, got mechanism={shown(mechanism)}."
        )
    if epsilon is None and delta is None and rho is None:
        example = "epsilon=0.5" if mechanism == "laplace" else "rho=0.01, or epsilon=0.5 with delta=1e-6"
        raise UsageError(f"give a budget, such as {example}.")
    if mechanism == "laplace":
        if epsilon is None or delta is not None or rho is not None:
            raise UsageError(
                "laplace noise takes epsilon alone.", hint="mechanism='gaussian' takes delta or rho"
            )
        return LaplaceMechanism(epsilon)
    return GaussianMechanism(rho=rho, epsilon=epsilon, delta=delta)


def _no_budget(*budget: Number | None) -> None:
    if any(part is not None for part in budget):
        raise UsageError("a mechanism object holds its own budget: leave out epsilon, delta and rho.")
