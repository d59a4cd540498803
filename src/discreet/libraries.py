"""Readers of what other libraries put out: each returns a release, with the noise that its library adds.

They take plain outputs (numbers, rows, dictionaries, data frames that can be listed) and import none of the libraries.
Every one is :func:`discreet.foreign` with the noise filled in; further arguments, such as ``records``, ``column`` or
``claims``, are handed on to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from discreet.arguments import instance, listed, positive, shown, whole
from discreet.artifact.foreign import foreign
from discreet.artifact.release import Release
from discreet.errors import UsageError
from discreet.families import Bernoulli, Histogram, Mean
from discreet.models.base import Model

__all__ = ["bigquery", "census", "diffprivlib", "opendp", "opendp_frame", "pipeline_dp", "smartnoise"]

# What OpenDP calls its distributions in query.summarize().
_OPENDP = {
    "Integer Laplace": "discrete_laplace",
    "Float Laplace": "laplace",
    "Integer Gaussian": "discrete_gaussian",
    "Float Gaussian": "gaussian",
}
# And its privacy measures, by the noise that goes with them.
_MEASURES = {"MaxDivergence": "laplace", "ZeroConcentratedDivergence": "gaussian"}


def opendp(
    model: Model,
    values: Mapping[str, Any],
    measurement: Any,
    *,
    sensitivity: float = 1,
    d_in: Any = 1,
    **more: Any,
) -> Release:
    """Read what OpenDP measurements or ``Context`` queries returned.

    Parameters
    ----------
    model
        What the numbers are about, as :func:`discreet.foreign` takes it.
    values
        The released numbers, by name. Integers carry discrete noise, decimals continuous noise.
    measurement
        The measurement, or the query of a ``Context``, that released them; or one for each, by name. A query knows the
        scale of its noise; of a measurement it follows from its privacy map.
    sensitivity, d_in
        How far a record moves the exact number (or a dictionary by name), and the distance that the measurement is
        asked about: of a count 1, of a sum between bounds the larger one. Read for measurements only.
    """
    made = measurement if isinstance(measurement, Mapping) else dict.fromkeys(values, measurement)
    noise, scale = {}, {}
    for name, value in values.items():
        if name not in made:
            raise UsageError(f"measurement is not given for {name!r:.60}.")
        moved = sensitivity[name] if isinstance(sensitivity, Mapping) else sensitivity
        law, scale[name] = _opendp_noise(made[name], positive(moved, "sensitivity"), d_in)
        noise[name] = law if isinstance(value, float) else f"discrete_{law}"
    return foreign(model, values=values, noise=noise, scale=scale, **_from("OpenDP", more))


def _opendp_noise(made: Any, sensitivity: float, d_in: Any) -> tuple[str, float]:
    """Return which noise a measurement or query adds, and its scale."""
    is_query = hasattr(made, "param") and hasattr(made, "resolve")
    measure = str(getattr(made.resolve() if is_query else made, "output_measure", "")).partition("(")[0]
    if measure not in _MEASURES:
        raise UsageError(
            "measurement must be an OpenDP measurement or query with Laplace or Gaussian noise.",
            hint="dc.foreign(..., noise=, scale=) takes any numbers",
        )
    if is_query:
        return _MEASURES[measure], positive(made.param(), "the scale of the query")
    cost = positive(made.map(d_in), "the privacy map of the measurement")
    # epsilon = sensitivity / b, and rho = (sensitivity / sigma)^2 / 2
    return _MEASURES[measure], sensitivity / (cost if _MEASURES[measure] == "laplace" else (2 * cost) ** 0.5)


def opendp_frame(
    model: Model, frame: Any, summary: Any, *, by: str | None = None, signed: bool = False, **more: Any
) -> Release:
    """Read a data frame that an OpenDP query on Polars released, with what ``query.summarize()`` says of its noise.

    Parameters
    ----------
    model
        ``dc.Categorical`` of the keys of a grouped frame; ``dc.Mean()`` of a frame of one row with a sum and ``len``.
    frame, summary
        The released frame and the summary, as Polars frames or as lists of rows.
    by
        The column of the keys, for counts by group.
    signed
        Whether counts were let below zero: ``dp.len(signed=True)``. OpenDP clips them at zero otherwise.
    """
    rows, said = _rows(frame, "frame"), {str(row["column"]): row for row in _rows(summary, "summary")}
    noise: dict[str, str] = {}
    scale: dict[str, Any] = {}
    values: dict[str, Any] = {}
    clipped: dict[str, Any] = {}
    for row in rows:
        for column, value in row.items():
            if column == by:
                continue
            if column not in said or said[column]["distribution"] not in _OPENDP:
                raise UsageError(f"the summary names no noise that is known for column {column!r:.60}.")
            counted = said[column]["aggregate"] != "Sum"
            name = str(row[by]) if by is not None else "count" if counted else "sum"
            values[name] = value
            noise[name], scale[name] = _OPENDP[said[column]["distribution"]], said[column]["scale"]
            if counted and not signed:
                clipped[name] = 0
    return foreign(
        model, values=values, noise=noise, scale=scale, clipped=clipped or None, **_from("OpenDP", more)
    )


def pipeline_dp(
    model: Model, output: Iterable[Any], *, noise: str = "laplace", partition: Any = None, **more: Any
) -> Release:
    """Read what PipelineDP's ``DPEngine.aggregate`` returned for public partitions.

    Parameters
    ----------
    model
        ``dc.Categorical`` of the partitions' keys, from their counts; or ``dc.Mean()``, from the sum and the count of
        one ``partition``. A mean that PipelineDP computed itself is a ratio, and is not read.
    output
        Pairs of key and metrics. ``AggregateParams(output_noise_stddev=True)`` writes the noise beside them.
    noise
        ``"laplace"`` or ``"gaussian"``, as in ``noise_kind``.
    partition
        Which one, for a mean.
    """
    found = dict(_metrics(pair) for pair in listed(output, "output", "pairs of a key and metrics"))
    root = 2**0.5 if noise == "laplace" else 1.0
    if partition is None:
        every = {
            str(key): _pipeline_number(metrics, ("count", "privacy_id_count"), key)
            for key, metrics in found.items()
        }
    elif partition not in found:
        raise UsageError(f"there is no partition {shown(partition)} in the output.")
    else:
        metrics = found[partition]
        every = {"sum": _pipeline_number(metrics, ("sum",), partition)}
        if more.get("records") is None:
            every["count"] = _pipeline_number(metrics, ("count", "privacy_id_count"), partition)
    values = {name: number for name, (number, _) in every.items()}
    scale = {name: deviation / root for name, (_, deviation) in every.items()}
    return foreign(model, values=values, noise=noise, scale=scale, **_from("PipelineDP", more))


def _metrics(pair: Any) -> tuple[Any, dict[str, Any]]:
    try:
        key, metrics = pair
        return key, dict(metrics if isinstance(metrics, Mapping) else metrics._asdict())
    except (AttributeError, TypeError, ValueError):
        raise UsageError(f"output must be pairs of a key and metrics, got {shown(pair)}.") from None


def _pipeline_number(metrics: Mapping[str, Any], names: tuple[str, ...], key: Any) -> tuple[float, float]:
    """Return a metric and the standard deviation of its noise."""
    for name in names:
        if name in metrics:
            if f"{name}_noise_stddev" not in metrics:
                raise UsageError(
                    f"the {name} of {shown(key)} does not say how wide its noise is.",
                    hint="AggregateParams(output_noise_stddev=True) writes it",
                )
            return float(metrics[name]), float(metrics[f"{name}_noise_stddev"])
    raise UsageError(f"partition {shown(key)} has no {' or '.join(names)}.")


def diffprivlib(
    tool: str, output: Any, *, epsilon: float, records: int | None = None, bounds: Any = None, **more: Any
) -> Release:
    """Read what one of diffprivlib's tools returned: ``histogram``, ``count_nonzero``, ``sum`` or ``mean``.

    Counts carry geometric noise and are clipped at zero (and at the number of values); sums and means carry Laplace
    noise and are clipped to what their bounds allow. A mean is read through its sum, because the number of values is
    public.

    Parameters
    ----------
    tool, output
        The name of the tool, and what it returned; of ``histogram`` the pair of counts and edges.
    epsilon
        What was paid for it.
    records
        How many values there were; a histogram can do without.
    bounds
        Of the values, for ``sum`` and ``mean``.
    """
    spent = positive(epsilon, "epsilon")
    more = _from("diffprivlib", more)
    if tool == "histogram":
        counts, edges = output
        edges = [float(edge) for edge in edges]
        model = Histogram(edges=edges, branching=max(len(edges) - 1, 2))
        counts = [int(count) for count in counts]
        return foreign(
            model, values=counts, noise="geometric", scale=1 / spent, clipped=0, records=records, **more
        )
    if tool not in ("count_nonzero", "sum", "mean"):
        raise UsageError(
            f"diffprivlib's {shown(tool)} is not read.", hint="histogram, count_nonzero, sum and mean are"
        )
    n = whole(records, "records")
    if tool == "count_nonzero":
        limits, values = (0, n), {"yes": int(output)}
        return foreign(
            Bernoulli(), values=values, noise="geometric", scale=1 / spent, clipped=limits, records=n, **more
        )
    low, high = (float(limit) for limit in listed(bounds, "bounds", "a pair of numbers"))
    total = float(output) * (n if tool == "mean" else 1)
    return foreign(
        Mean(),
        values={"sum": total},
        noise="laplace",
        scale=(high - low) / spent,
        clipped=(low * n, high * n),
        records=n,
        bounds=(low, high),
        **more,
    )


def smartnoise(
    model: Model,
    rows: Iterable[Any],
    *,
    epsilon: float,
    count: str,
    by: str | None = None,
    total: str | None = None,
    bounds: Any = None,
    max_ids: int = 1,
    **more: Any,
) -> Release:
    """Read rows that a SmartNoise SQL query returned, the first of which names the columns.

    Counts and sums of integers carry discrete Laplace noise, whose scale is ``max_ids`` times the largest value over
    epsilon; SmartNoise spends epsilon on every column.

    Parameters
    ----------
    model
        ``dc.Categorical`` of the values of ``by``; or ``dc.Mean()``, from ``total`` and ``count`` in a single row.
    rows
        As ``reader.execute`` returns them.
    epsilon, max_ids
        As the query and its metadata have them.
    count, by, total
        Names of the columns: of ``COUNT(*)``, of the groups, and of ``SUM(...)``.
    bounds
        Of the column that was added up.
    """
    found = _rows(rows, "rows")
    scale = whole(max_ids, "max_ids") / positive(epsilon, "epsilon")
    more = _from("SmartNoise SQL", more)
    if by is not None:
        values = {str(row[by]): row[count] for row in found}
        return foreign(model, values=values, noise="discrete_laplace", scale=scale, **more)
    if len(found) != 1 or total is None:
        raise UsageError("a mean is read from one row with a sum and a count.", hint="give total=, or by=")
    largest = max(abs(float(limit)) for limit in listed(bounds, "bounds", "a pair of numbers"))
    return foreign(
        model,
        values={"sum": found[0][total], "count": found[0][count]},
        noise="discrete_laplace",
        scale={"sum": scale * largest, "count": scale},
        bounds=bounds,
        **more,
    )


def bigquery(
    model: Model,
    rows: Iterable[Any],
    *,
    epsilon: float,
    count: str,
    by: str,
    max_groups_contributed: int = 1,
    contribution_bound: int = 1,
    **more: Any,
) -> Release:
    """Read counts by group of a BigQuery query ``WITH DIFFERENTIAL_PRIVACY``, or of Google's libraries.

    Laplace noise of scale ``max_groups_contributed * contribution_bound / epsilon``, as documented, rounded to
    integers where the counts are integers. Groups must be public ones (``group_selection_strategy = PUBLIC_GROUPS``):
    others are left out if they are small, and what is left says so in no way that can be read.

    Parameters
    ----------
    model
        ``dc.Categorical`` of the groups.
    rows
        Rows of the result, as dictionaries.
    epsilon
        What is spent on this count: a query's epsilon is divided among its aggregates.
    count, by
        Names of the columns: of the count and of the groups.
    """
    values = {str(row[by]): row[count] for row in _rows(rows, "rows")}
    scale = whole(max_groups_contributed, "max_groups_contributed") * whole(
        contribution_bound, "contribution_bound"
    )
    are_whole = all(isinstance(value, int) for value in values.values())
    return foreign(
        model,
        values=values,
        noise="laplace",
        scale=scale / positive(epsilon, "epsilon"),
        rounded=are_whole,
        **_from("BigQuery", more),
    )


def census(model: Model, rows: Any, *, geocode: str, query: str, **more: Any) -> Release:
    """Read one query of one place from a noisy measurement file of the 2020 US census.

    Parameters
    ----------
    model
        ``dc.Categorical`` of the query's cells, in the order of the file.
    rows
        Rows with ``geocode``, ``query_name``, ``value`` and ``variance``, as a list or a data frame: the documented
        form of those files. Values carry discrete Gaussian noise of that variance.
    geocode, query
        Which row: ``query`` with or without the suffix ``_dpq`` that names in those files have.
    """
    wanted = query if query.endswith("_dpq") else f"{query}_dpq"
    found = [
        row for row in _rows(rows, "rows") if str(row["geocode"]) == geocode and row["query_name"] == wanted
    ]
    if len(found) != 1:
        raise UsageError(
            f"there are {len(found)} rows of {wanted!r:.60} for geocode {geocode!r:.40}, not one."
        )
    values = [int(value) for value in found[0]["value"]]
    sigma = positive(float(found[0]["variance"]), "variance") ** 0.5
    more = _from("US Census Bureau, noisy measurement file", more)
    return foreign(model, values=values, noise="discrete_gaussian", scale=sigma, **more)


def _rows(given: Any, name: str) -> list[dict[str, Any]]:
    """Return rows as dictionaries: of a data frame, or a list of them; a first row of names is one of names."""
    if hasattr(given, "to_dicts"):
        given = given.to_dicts()
    elif hasattr(given, "to_dict") and not isinstance(given, Mapping):
        given = given.to_dict("records")
    rows = listed(given, name, "a data frame or a list of rows")
    if rows and not isinstance(rows[0], Mapping):
        heads = listed(rows[0], name, "rows, the first of which names the columns")
        rows = [dict(zip(heads, row, strict=True)) for row in rows[1:]]
    if not rows:
        raise UsageError(f"{name} has no rows.")
    return [dict(instance(row, name, Mapping, "rows with named columns")) for row in rows]


def _from(library: str, more: Mapping[str, Any]) -> dict[str, Any]:
    return {"source": library, **more}
