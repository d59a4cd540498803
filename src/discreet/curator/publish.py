"""The curator's verb: rows in, release out.

Declare, read, charge, draw: each step is one call, and its result is carried to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from discreet.arguments import flag, shown
from discreet.artifact import LedgerStamp, Release
from discreet.curator.declare import Declaration, declare
from discreet.curator.declared import Declared
from discreet.curator.draw import Reading, draw, read
from discreet.domain.declarations import Domain, Missing, Neighbors, Outside
from discreet.domain.unit import NullUnit, Unit
from discreet.errors import DataError, UsageError
from discreet.families import RecordSums
from discreet.mechanisms import Gaussian, KNorm, Laplace
from discreet.mechanisms.base import Mechanism, RandomSource, Totals
from discreet.models import Model
from discreet.models.grouped import private_column
from discreet.models.public_rows import warn_caller
from discreet.names import check_name
from discreet.privacy import Noise, PermuteAndFlip
from discreet.rational import Number
from discreet.samplers.secure import SECURE, secure_choose, secure_coin

if TYPE_CHECKING:
    from discreet.curator.charge import Payer
    from discreet.curator.explain import Explanation
    from discreet.ledger import Ledger


@overload
def release(
    data: Any,
    model: Model | Mapping[str, RecordSums],
    *,
    explain: Literal[True],
    **declared: Unpack[Declared],
) -> Explanation: ...
@overload
def release(data: Any, model: Model, **declared: Unpack[Declared]) -> Release: ...
@overload
def release(
    data: Any, model: Mapping[str, RecordSums], **declared: Unpack[Declared]
) -> dict[str, Release]: ...
def release(
    data: Any,
    model: Model | Mapping[str, RecordSums],
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    mechanism: str | Mechanism | None = None,
    column: Any = None,
    columns: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    bounds: Any = None,
    outside: Outside | Mapping[str, Outside] | None = None,
    missing: Missing | Mapping[str, Missing] | None = None,
    impute: Any = None,
    neighbors: Neighbors = "replace",
    split: Mapping[str, Number] | None = None,
    fit_check: Any = None,
    unit: Any = None,
    per_unit: Any = None,
    max_rows: Any = None,
    row_bounds: Any = None,
    last_by: Any = None,
    null_unit: NullUnit = "leave_out",
    weights: Any = None,
    weight_bounds: Any = None,
    by: Any = None,
    groups: Any = None,
    max_groups: Any = None,
    where: Any = None,
    unit_label: str | Mapping[str, str] | None = None,
    table: str | None = None,
    query: str | None = None,
    ledger: Ledger | str | None = None,
    dataset: str | None = None,
    analyst: str | None = None,
    about: Mapping[str, Any] | None = None,
    keep: str | PathLike[str] | None = None,
    explain: bool = False,
) -> Release | dict[str, Release] | Explanation:
    """Release private statistics of one column (or several) for a model, or private samples of its parameters.

    Parameters
    ----------
    data
        A path to a CSV or Parquet file, or a pandas, Polars, PyArrow, DuckDB or NumPy table, or a list. In a CSV file
        one line is one record: a file with line breaks inside fields must be rewritten first, for example as Parquet.
        An empty line is no record if the file has two or more columns. Several files with the same columns are read as
        one: a list of which every entry is a path or text that ends like a data file's name, a folder of Parquet files,
        a pattern such as ``"visits/*.csv"``; any other list is data. Spreadsheets (.xlsx) and files of Stata, SPSS and
        SAS are read through pandas. Or the address of a PostgreSQL database, ``"postgresql://user@host/database"``,
        with ``table`` or ``query``: sums are then computed inside the server.
    model
        The family the analyst will fit, such as ``dc.Bernoulli()``. Or several, by column:
        ``{"smoker": dc.Bernoulli(), "age": dc.Normal()}`` gives one release for each; the budget is for all together.
        Or one of ``dc.models``, which declares its own columns.
    epsilon, delta, rho
        The budget. Laplace noise takes ``epsilon``, and a ``delta`` if groups are private; Gaussian noise takes
        ``rho``, or ``epsilon`` with ``delta``.
    mechanism
        ``"laplace"``, ``"gaussian"``, ``"k-norm"``, or a mechanism object that holds its own budget, such as a
        :class:`PosteriorSampling`, which releases samples instead of statistics. If it is left out: Gaussian noise for
        ``rho``, and for ``epsilon`` with ``delta``; with ``epsilon`` alone k-norm noise for linear regressions on one
        or two features (numbers, or two labels each; under ``replace`` also three numbers), and Laplace noise for
        everything else.
    column, columns
        Which column or columns make a record. Not needed for a bare array or list; always needed for a CSV file, whose
        first line is a record if somebody forgot the header. A pandas column under another one goes by its tuple,
        ``column=("blood", "pressure")``.
    bounds
        ``(low, high)`` for a numeric column, one pair per column if there are several. Choose them from public
        knowledge, never from the data; or buy them, with :class:`PrivateQuantiles`.
    outside
        ``"clip"`` (the default): a value outside the bounds counts as the nearest bound. ``"redact"``, for typing
        errors and not for samples: as the middle of the range; then a population most of which is out of range can
        explain the same sums, and posteriors of real columns miss more often. Labels have no bounds: either word is
        accepted and does nothing.
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
    fit_check
        A share of the budget, such as ``0.2``, that buys noisy counts by which :func:`infer` tells whether the column
        follows the family: of bins that are equally likely under the family as the noisy totals say it is. The totals
        get the rest, and the guarantee stays what was asked for. For families of one column of numbers; with several
        models one share for all, or by name.
    by, groups
        Release the model for every group of the table at once: the column that makes the groups, or a list of them,
        and the labels it may hold, ``by="region", groups=["north", "south"]``, or lists by column. The budget is for
        all groups together, and a group without a record is released like any other. ``groups="private"``: labels
        that enough people have are published, by noise and a threshold, for half of ``epsilon`` and a ``delta``; with
        ``unit`` it takes ``max_groups``, and of several columns one can be private, ``{"region": "private", ...}``.
    max_groups
        With ``unit`` and ``by``: a person has one record in each of at most so many groups, made of their rows
        there and chosen by a hash. Without it a person is in one group, by a rule for the column that makes groups.
    table, query
        Of a database: the name of a table (or view), alone or after its schema and a point; or the text of one SELECT,
        which is run in a transaction that may not write.
    ledger, dataset, analyst
        A :class:`Ledger` (or its URL) that is charged before any noise is drawn, for the data set of this name, and for
        this analyst if analysts have budgets. Without a ledger, ``dataset`` is a name for the statement.
    unit, per_unit
        The column that tells people apart, such as ``unit="patient_id"``, and how the rows of one person become one
        record: ``"mean"``, ``"sum"``, ``"max"``, ``"min"`` or ``"count"`` for numbers, ``"any"`` or ``"all"`` for yes
        and no, ``"last"``; or rules by column. The person with all rows is then protected, and the posterior is about
        people. Without ``unit``, a record is one row.
    max_rows
        Instead of ``per_unit``: at most so many rows of each person count, chosen by a hash; the posterior is of the
        mean of such rows, with intervals for a sample of people. For :class:`Mean`.
    row_bounds
        What each row is clipped to before the rule: the bounds of the record unless given, with 0 in them for sums.
    last_by
        The column of numbers by which a row is the last, for ``"last"``; dates as days since some date.
    null_unit
        Rows in which ``unit`` is missing: ``"leave_out"`` (the default), or ``"own"``, each a person of its own.
    weights, weight_bounds
        A column of survey weights, and the public bounds that they are clipped to, such as ``(0, 10)``: for
        :class:`Mean` (a share is the mean of 0 and 1). Without ``unit``, or with ``max_rows``.
    where
        A public filter of rows, ``where="age >= 18 and region = 'north'"``: columns compared with numbers, texts or
        dates, joined by ``and``, ``or`` and parentheses. Other rows count as rows without a value; how many satisfy the
        filter is private under both neighbor relations.
    unit_label
        The unit that the numbers of the column are in, such as ``"years"``: public text, written into the file and
        shown in tables and pictures. With several models, a dictionary by name.
    about
        Public declarations in words, such as ``{"curators": "Clinic", "intended_use": "staffing"}``: written into the
        file as they are, for registries of releases. :data:`discreet.artifact.about.FIELDS` lists the fields.
    keep
        A folder for this release alone: after a crash, the same call returns the same release, charged once.
    explain
        Instead of a release return an :class:`Explanation` of what it would do: the queries that would run and what
        would leave the engine, sensitivity, scales of noise, cost. Nothing is charged, drawn or taken from a row.

    Returns
    -------
    Release, or a dictionary of one for each model; with ``explain`` an Explanation

    Raises
    ------
    BudgetError
        If the ledger does not allow it. Nothing was charged then, and no noise drawn.

    Privacy
    -------
    Rows are summed exactly, on integers, and noise calibrated to the joint sensitivity is drawn from the operating
    system's generator; see :class:`discreet.mechanisms.Laplace` and :class:`discreet.mechanisms.Gaussian` for the
    theorems, and :class:`discreet.mechanisms.PosteriorSampling` for samples, which need no noise.
    Whatever the rows hold, nothing is raised, printed or logged about them.
    """
    explaining = explain is not False and flag(explain, "explain")
    for what, name in {"dataset": dataset, "analyst": analyst}.items():
        if name is not None:
            check_name(name, what)
    if table is not None or query is not None:
        from discreet.data.sources.database import rows_in

        data = rows_in(data, table, query)
    payer = None
    if ledger is not None or analyst is not None:
        from discreet.curator.charge import payer_of

        payer = payer_of(ledger, dataset, analyst)
    declarations = {
        "column": column,
        "columns": columns,
        "bounds": bounds,
        "outside": outside,
        "missing": missing,
        "impute": impute,
        "neighbors": neighbors,
        "fit_check": fit_check,
        "unit": unit,
        "per_unit": per_unit,
        "max_rows": max_rows,
        "row_bounds": row_bounds,
        "last_by": last_by,
        "null_unit": null_unit,
        "weights": weights,
        "weight_bounds": weight_bounds,
        "by": by,
        "groups": groups,
        "max_groups": max_groups,
        "where": where,
        "unit_label": unit_label,
        "about": about,
    }
    budget = {"epsilon": epsilon, "delta": delta, "rho": rho}
    if isinstance(model, Mapping):
        from discreet.curator.budget_split import declare_several, divide

        if isinstance(mechanism, Mechanism):
            raise UsageError(
                "several models divide a budget: give epsilon or rho, and the mechanism by its name."
            )
        shares = divide(model, split, budget)
        chosen = {name: choose_mechanism(mechanism, **share) for name, share in shares.items()}
        asked = declare_several(data, model, chosen, **declarations)
    else:
        if split is not None:
            raise UsageError("split divides a budget among several models, and there is one.")
        if by is not None and private_column(by, groups) is not None:
            from discreet.mechanisms.private_groups import LabelBudget

            declarations["label_budget"], budget = LabelBudget.divided(mechanism or "laplace", **budget)
        # groups, and several rows of a person, have Laplace noise
        plain = by is None and max_rows is None and rho is None and delta is None
        if mechanism is None and plain and isinstance(model, Model):
            mechanism = model.noise(neighbors)
        asked = {"": declare(data, model, choose_mechanism(mechanism, **budget), **declarations)}
    if explaining:
        from discreet.curator.explain import explain as explained

        return explained(asked, payer)
    for one in asked.values():
        if one.model.slow_in_words and not one.mechanism.every_record:
            warn_caller(one.model.slow_in_words)
    made = _kept(keep, asked, payer, dataset)
    return made if isinstance(model, Mapping) else made[""]


def _kept(
    folder: Any, asked: Mapping[str, Declaration], payer: Payer | None, dataset: str | None
) -> dict[str, Release]:
    """Publish; with a folder, once, however often it is asked for."""
    if folder is None:
        return _publish(asked, payer, SECURE, dataset)
    from discreet.curator.keep import once

    return once(folder, asked, payer, dataset, lambda who, kept: _publish(asked, who, SECURE, dataset, kept))


def _publish(
    asked: Mapping[str, Declaration],
    payer: Payer | None,
    source: RandomSource,
    dataset: str | None,
    kept: Callable[[Callable[[], dict[str, Release]]], dict[str, Release]] = lambda drawn: drawn(),
) -> dict[str, Release]:
    """Read the rows, charge all releases at once, and draw them; ``kept`` draws, and makes it durable.

    Privacy
    -------
    The charge is durable before the first random number is drawn. What comes after it may fail, and then the budget is
    spent for nothing. An entry ``released`` precedes every file that is given to anybody.
    """
    if payer is not None:
        # refused before the rows are read, where that can be known; the charge below decides
        payer.check(asked)
    readings = {name: read(one) for name, one in asked.items()}
    if len({one.n_records for one in readings.values()}) > 1:
        raise DataError("the data did not stay the same while it was read.")
    if payer is None:
        return kept(lambda: {name: draw(one, source, dataset=dataset) for name, one in readings.items()})
    charge = payer.charge(asked)
    stamp = LedgerStamp(charge.ledger, charge.sequence, charge.hash)
    made = kept(
        lambda: {name: draw(one, source, dataset=dataset, stamp=stamp) for name, one in readings.items()}
    )
    payer.released(charge, made)
    return made


def release_with(
    draw_noise: Callable[[Noise], int],
    data: Any,
    model: Model,
    mechanism: Mechanism,
    *,
    dataset: str | None = None,
    choose: Callable[[PermuteAndFlip], int] = secure_choose,
    **declarations: Any,
) -> Release:
    """Release with noise from ``draw_noise``, and within bounds chosen by ``choose`` if they are to be bought.

    Simulations pass seeded samplers of the same distributions; :func:`release` passes the secure ones and offers no
    other. Everything that can be refused is refused before the first row is read.
    """
    source = RandomSource(noise=draw_noise, permute_and_flip=choose)
    return sample_with(source, data, model, mechanism, dataset=dataset, **declarations)


def sample_with(
    source: RandomSource,
    data: Any,
    model: Model,
    mechanism: Mechanism,
    *,
    dataset: str | None = None,
    **declarations: Any,
) -> Release:
    """Release with the randomness of ``source``, for simulation; ``declarations`` go to :func:`declare`."""
    return draw(read(declare(data, model, mechanism, **declarations)), source, dataset=dataset)


def privatize(
    draw_noise: Callable[[Noise], int],
    values: Sequence[int],
    n_records: int,
    model: Model,
    domain: Domain,
    mechanism: Mechanism,
    *,
    columns: tuple[str, ...],
    neighbors: Neighbors,
    unit: Unit | None = None,
    coin: Callable[[Fraction], bool] = secure_coin,
) -> Release:
    """Release exact totals that are known already, in layout order and grid steps, for simulation."""
    layout, mechanism = model.layout(domain, neighbors), mechanism.within(model, domain, neighbors)
    guarantees = {"statistics": mechanism.guarantee(neighbors)}
    asked = Declaration(
        data=None,
        model=model,
        mechanism=mechanism,
        columns=columns,
        domain=domain,
        neighbors=neighbors,
        layout=layout,
        guarantees=guarantees,
        unit=unit,
    )
    public = n_records if neighbors == "replace" else None
    record = mechanism.plan(model, domain, public, layout)
    totals = Totals(model, domain, tuple(values), n_records, layout)
    return draw(Reading(asked, columns, n_records, record, totals), RandomSource(noise=draw_noise, coin=coin))


def choose_mechanism(
    mechanism: Any,
    epsilon: Number | None,
    delta: Number | None,
    rho: Number | None,
) -> Mechanism:
    """Return the mechanism asked for, by its name or as an object that holds its own budget."""
    budget = (epsilon, delta, rho)
    if isinstance(mechanism, Mechanism):
        if budget != (None, None, None):
            raise UsageError("a mechanism object holds its own budget: leave out epsilon, delta and rho.")
        return mechanism
    if mechanism is None:
        mechanism = "laplace" if rho is None and delta is None else "gaussian"
    if not isinstance(mechanism, str) or mechanism not in ("laplace", "gaussian", "k-norm"):
        raise UsageError(
            f"mechanism must be 'laplace', 'gaussian', 'k-norm' or an object, got mechanism={shown(mechanism)}."
        )
    if epsilon is None and delta is None and rho is None:
        example = "rho=0.01, or epsilon=0.5 with delta=1e-6" if mechanism == "gaussian" else "epsilon=0.5"
        raise UsageError(f"give a budget, such as {example}.")
    if mechanism == "gaussian":
        return Gaussian(rho=rho, epsilon=epsilon, delta=delta)
    if epsilon is None or delta is not None or rho is not None:
        raise UsageError(
            f"{mechanism} noise takes epsilon alone.", hint="mechanism='gaussian' takes delta or rho"
        )
    return Laplace(epsilon) if mechanism == "laplace" else KNorm(epsilon)
