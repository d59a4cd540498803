"""Numbers that somebody else published, read as a release: from arguments, or from a file that has them as keys."""

from __future__ import annotations

import inspect
import json
import tomllib
import uuid
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

import numpy as np

from discreet.arguments import instance, listed, shown, whole
from discreet.artifact.files import read_text
from discreet.artifact.possible_totals import MOST_RECORDS
from discreet.artifact.records.foreign import ForeignRecord, PublishedNumber
from discreet.artifact.release import Release, Statistics
from discreet.errors import UsageError
from discreet.models import Model
from discreet.models.model_file import declared
from discreet.names import asked_for, check_name, closest
from discreet.privacy.guarantees import ApproxDP, Guarantee, PureDP, Unstated, ZeroConcentratedDP
from discreet.privacy.laws import LawName
from discreet.rational import Number, exact
from discreet.version import __version__

_LAWS = get_args(LawName)
_ALIASES = {"normal": "gaussian", "two_sided_geometric": "geometric", "discrete_normal": "discrete_gaussian"}


def foreign(
    model: Model,
    *,
    values: Any,
    noise: str | Mapping[str, str],
    scale: Number | Mapping[str, Number] | None = None,
    records: int | None = None,
    bounds: Any = None,
    covariance: Any = None,
    truncated: Number | Mapping[str, Number] | None = None,
    rounded: bool | Number | Mapping[str, Any] = False,
    clipped: Any = None,
    column: Any = None,
    dataset: str | None = None,
    claims: Guarantee | None = None,
    source: str | None = None,
    unit_label: str | None = None,
) -> Release:
    """Return noisy numbers that somebody else published as a release, for :func:`infer` to read.

    Parameters
    ----------
    model
        What the numbers are about: ``dc.Bernoulli()``, ``dc.Categorical([...])``, ``dc.Histogram(...)`` or
        ``dc.Mean()``.
    values
        The published numbers, by name. For a share ``{"yes": 123.4}``, ``"no"``; for shares the labels; for a
        distribution ``"bin 0"``, ``"bin 1"``, ... or a list in their order; for a mean ``"sum"``, ``"count"`` and
        ``"sum_of_squares"``. A noisy ``"count"`` of all records can stand beside them where it is not known.
    noise
        ``"laplace"``, ``"gaussian"``, ``"discrete_laplace"``, ``"discrete_gaussian"`` or ``"geometric"`` (discrete
        Laplace by another name); or by name, if numbers differ.
    scale
        Its scale: b of a density that falls like exp(-distance / b) for Laplace and geometric noise, sigma for
        Gaussian noise; or by name.
    records
        The number of records, if it is known; it is then taken to be exact.
    bounds
        Of the column, for means and histograms: values were clipped to them before they were added up.
    covariance
        Of Gaussian noise that is not independent, in the order of ``values``, instead of ``scale``.
    truncated
        The noise itself was drawn given that it is at most this far from 0.
    rounded
        True if the number was rounded to an integer after the noise; or the step it was rounded to.
    clipped
        Limits that the number was clipped to after the noise: ``0`` for counts that were not let below zero, or a pair
        with None for no limit.
    column, dataset, unit_label
        Names, for tables and pictures.
    claims
        The guarantee that its publisher claims, such as ``dc.PureDP(1)``. Nothing here can check it.
    source
        Who published the numbers, or with what software.

    Returns
    -------
    Release
        Of the kind *foreign*: everything that reads releases reads it; its statement promises nothing.
    """
    instance(model, "model", Model, "a model such as dc.Bernoulli()")
    known = None if records is None else whole(records, "records", most=MOST_RECORDS)
    neighbors = "add_remove" if known is None else "replace"
    domain = model.read_domain(bounds, "clip", "none")
    given = _numbers_by_name(values, model)
    laws: dict[str, Any] = {
        "noise": noise,
        "scale": scale,
        "truncated": truncated,
        "rounded": rounded,
        "clipped": clipped,
    }
    for name, law in laws.items():
        if isinstance(law, Mapping):
            laws[name] = model.published_by_name(law)
        _check_names(name, laws[name], given)
    if (scale is None) == (covariance is None):
        raise UsageError("give scale, or covariance for Gaussian noise that hangs together.")
    variances = None if covariance is None else _matrix(covariance, len(given))
    numbers = tuple(
        _number(of, value, {key: _own(law, of) for key, law in laws.items()}, variances, at)
        for at, (of, value) in enumerate(given.items())
    )
    record = ForeignRecord(numbers, variances, None if source is None else check_name(source, "source"))
    laid = record.laid(model, domain, known)
    columns = model.read_columns(None if column is None else (asked_for(column),)) or ("value",)
    return Release(
        id=str(uuid.uuid4()),
        dataset=None if dataset is None else check_name(dataset, "dataset"),
        model=model,
        columns=columns,
        domain=domain,
        neighbors=neighbors,
        unit=None,
        max_rows=1,
        records=known,
        mechanism=record,
        guarantees={"statistics": _claimed(claims, neighbors)},
        software={"discreet": __version__},
        statistics=Statistics.of(laid.layout, laid.values),
        unit_label=None if unit_label is None else check_name(unit_label, "unit_label"),
    )


def _numbers_by_name(values: Any, model: Model) -> dict[str, Any]:
    """Return published numbers by name: those given, or a list in the order in which the model has them."""
    if isinstance(values, Mapping):
        return model.published_by_name(values)
    some = listed(values, "values", 'a dictionary such as {"yes": 123.4}')
    names = model.published_names()
    if len(names) != len(some):
        raise UsageError(
            f"a list of values has one for each of {len(names)}: {', '.join(names[:6]):.120}; got {len(some)}.",
            hint='or name them: values={"yes": 123.4}',
        )
    return dict(zip(names, some, strict=True))


def _check_names(argument: str, law: Any, given: Mapping[str, Any]) -> None:
    """Raise unless an argument by name is for numbers that were given, and for all of those if it must be."""
    if not isinstance(law, Mapping):
        return
    for name in law:
        if name not in given:
            near = closest(str(name), given)
            raise UsageError(
                f"{argument} is given for {str(name)!r:.60}, which is not among the values.",
                hint=None if near is None else f"did you mean {near!r:.60}?",
            )
    if argument in ("noise", "scale") and (lacking := [name for name in given if name not in law]):
        raise UsageError(f"{argument} is not given for {lacking[0]!r:.60}.")


def _own(law: Any, name: str) -> Any:
    return law.get(name) if isinstance(law, Mapping) else law


def _number(
    of: str, value: Any, law: Mapping[str, Any], covariance: tuple[tuple[Fraction, ...], ...] | None, at: int
) -> PublishedNumber:
    """Read one published number with its noise."""
    name = law["noise"]
    name = _ALIASES.get(name, name) if isinstance(name, str) else name
    if name not in _LAWS:
        near = closest(name, _LAWS) if isinstance(name, str) else None
        raise UsageError(
            f"noise must be one of {', '.join(map(repr, _LAWS))}, got noise={shown(law['noise'])}.",
            hint=None if near is None else f"did you mean {near!r}?",
        )
    if covariance is None:
        scale = exact(law["scale"], "scale")
    else:
        scale = Fraction(float(max(covariance[at][at], Fraction(0))) ** 0.5).limit_denominator(10**12)
    rounded = 1 if law["rounded"] is True else law["rounded"]
    step = None if rounded is None or rounded is False else exact(rounded, "rounded")
    lower, upper = _limits(law["clipped"])
    bound = None if law["truncated"] is None else exact(law["truncated"], "truncated")
    law_name: LawName = name  # pyright: ignore[reportAssignmentType]
    number = exact(value, f"the value of {of!r:.40}")
    return PublishedNumber(of, number, law_name, scale, step, lower, upper, bound)


def _limits(clipped: Any) -> tuple[Fraction | None, Fraction | None]:
    if clipped is None or clipped is False:
        return None, None
    pair: Sequence[Any] = clipped if isinstance(clipped, tuple | list) else (clipped, None)
    if len(pair) != 2:
        raise UsageError(
            "clipped must be a lower limit, or a pair of limits.", hint="clipped=0, or clipped=(0, 500)"
        )
    low, high = (None if limit is None else exact(limit, "clipped") for limit in pair)
    return low, high


def _matrix(covariance: Any, size: int) -> tuple[tuple[Fraction, ...], ...]:
    try:
        matrix = np.asarray(covariance, dtype=float)
    except (TypeError, ValueError):
        matrix = np.empty(0)
    if matrix.shape != (size, size) or not np.isfinite(matrix).all():
        raise UsageError(f"covariance must be a matrix of {size} × {size} finite numbers.")
    return tuple(tuple(exact(float(v), "covariance") for v in row) for row in np.atleast_2d(matrix))


def _claimed(claims: Guarantee | None, neighbors: Any) -> Guarantee:
    """Return what is claimed, for the neighbors that the release is about."""
    if claims is None:
        return Unstated(neighbors=neighbors)
    promised = instance(claims, "claims", Guarantee, "a guarantee such as dc.PureDP(1)")
    if promised.neighbors == neighbors:
        return promised
    if neighbors == "replace":
        return promised.to_replace()
    raise UsageError(
        "a guarantee for neighbors='replace' is about a table whose number of records is known.",
        hint="give records=..., or claim a guarantee for neighbors='add_remove'",
    )


# bytes; a hundred thousand counts take less
_LARGEST = 2**24
_KEYS = tuple(inspect.signature(foreign).parameters)


def load_description(path: str | Path) -> dict[str, Any]:
    """Return the arguments of :func:`discreet.foreign` that a file declares; its model may still be a text."""
    content = read_text(path, "description", _LARGEST)
    is_toml = str(path).lower().endswith(".toml")
    try:
        # decimals as they are written, and never rounded
        read = (
            tomllib.loads(content, parse_float=Decimal)
            if is_toml
            else json.loads(content, parse_float=Decimal)
        )
    except (ValueError, RecursionError):
        kind = "TOML" if is_toml else "JSON"
        raise UsageError(
            f"{path}: this is no description of published numbers: it is not valid {kind}."
        ) from None
    if not isinstance(read, dict):
        raise UsageError(
            f"{path}: this is no description of published numbers.", hint="it has keys such as values"
        )
    for key in read:
        if key not in _KEYS:
            near = closest(key, _KEYS)
            raise UsageError(
                f"{path}: unknown key {key!r:.60}.",
                hint=f"did you mean {near}?" if near else f"it takes {', '.join(_KEYS)}",
            )
    if isinstance(read.get("model"), dict):
        read["model"] = declared(read["model"], str(path))
    if "claims" in read:
        read["claims"] = _read_claims(read["claims"], "replace" if "records" in read else "add_remove")
    return read


def _read_claims(given: Any, neighbors: Any) -> Guarantee:
    """Read a claimed guarantee: epsilon, epsilon and delta, or rho, and the neighbors it is for."""
    kinds = {("epsilon",): PureDP, ("delta", "epsilon"): ApproxDP, ("rho",): ZeroConcentratedDP}
    if not isinstance(given, dict):
        raise UsageError("claims must be a table such as {epsilon = 1}.")
    rest = dict(given)
    neighbors = rest.pop("neighbors", neighbors)
    kind = kinds.get(tuple(sorted(rest)))
    if kind is None:
        raise UsageError("claims has epsilon, epsilon and delta, or rho.", hint="claims = {epsilon = 1}")
    return kind(**rest, neighbors=neighbors)
