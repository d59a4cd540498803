"""What a curator declares before any row is read, checked and written down as a domain."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from discreet.arguments import one_of
from discreet.errors import UsageError
from discreet.families.base import Family
from discreet.families.impute import check_imputed, read_imputed
from discreet.families.layout import Domain, Outside, layout_for
from discreet.families.shapes import Missing, Neighbors
from discreet.mechanisms.base import NoiseMechanism
from discreet.mechanisms.quantile import are_bought
from discreet.mechanisms.records import RecordMechanism
from discreet.mechanisms.sealing import Mechanism
from discreet.models.base import Model
from discreet.models.base import read_imputed as read_columns_imputed


def sampling_domain(
    model: Family, bounds: Any, outside: Outside | None, missing: Missing | None, impute: Any
) -> Domain:
    """Return the declarations behind samples, for which every record must count once."""
    _check_model(model)
    _check_policies("clip" if outside is None else outside, "impute" if missing is None else missing)
    _every_record(outside, missing)
    if are_bought(bounds):
        raise UsageError("samples need declared bounds: private quantiles are for noisy totals.")
    if missing == "none":
        if impute is not None:
            raise UsageError("impute contradicts missing='none': leave out one of them.")
        return Domain(model.parse_bounds(bounds), model.labels, "clip", "none")
    if impute is None:
        raise UsageError(
            "samples need impute, a public value that stands for missing ones.",
            hint="give impute=…, or declare with missing='none' that nothing is missing",
        )
    domain = Domain(model.parse_bounds(bounds), model.labels, "clip", "impute", read_imputed(model, impute))
    check_imputed(model, domain)
    return domain


def declare(model: Family, *, bounds: Any, outside: Outside, missing: Missing) -> Domain:
    """Check the curator's declarations for noisy totals and return them as a domain."""
    _check_model(model)
    _check_policies(outside, missing)
    if missing == "impute":
        raise UsageError("missing='impute' is for mechanisms that release samples.")
    # no label lies outside the bounds, so either word does nothing, and files write the same one
    policy: Outside = outside if model.vocabulary is None else "redact"
    return Domain(model.parse_bounds(bounds), model.labels, policy, missing)


def structured_domain(
    model: Model,
    mechanism: Mechanism,
    outside: Outside | None,
    missing: Missing | None,
    impute: Any,
    neighbors: Neighbors,
) -> Domain:
    """Check the declarations for a model of several columns, whose labels and bounds are its own."""
    if isinstance(mechanism, NoiseMechanism):
        if impute is not None or missing == "impute":
            raise UsageError(
                "impute is for mechanisms that release samples.",
                hint="noise takes missing='count', which counts missing values as a label of their own",
            )
        _check_policies("redact" if outside is None else outside, "count" if missing is None else missing)
        policy: Outside = ("redact" if outside is None else outside) if model.numeric_columns else "redact"
        domain = Domain(None, None, policy, "count" if missing is None else missing)
        mechanism.scales(layout_for(model, domain, neighbors))
        return domain
    if not isinstance(mechanism, RecordMechanism):
        raise UsageError(f"{type(mechanism).__name__} samples a family, and {model.name} is none.")
    _check_policies("clip" if outside is None else outside, "impute" if missing is None else missing)
    _every_record(outside, missing)
    if neighbors not in mechanism.relations:
        raise UsageError(
            f"{type(mechanism).__name__} is private for neighbors={' or '.join(map(repr, mechanism.relations))}, "
            f"got neighbors={neighbors!r}."
        )
    domain = Domain(
        None, None, "clip", "impute" if missing is None else missing, _stand_ins(model, missing, impute)
    )
    mechanism.check(model, domain)
    return domain


def _stand_ins(model: Model, missing: Missing | None, impute: Any) -> tuple[Fraction | str, ...] | None:
    """Read what stands for missing values, which is given exactly if the curator does not say that there are none."""
    if missing == "none" and impute is not None:
        raise UsageError("impute contradicts missing='none': leave out one of them.")
    if missing == "none":
        return None
    if impute is None:
        raise UsageError(
            "samples need impute, a public value that stands for missing ones.",
            hint="give impute=…, or declare with missing='none' that nothing is missing",
        )
    return read_columns_imputed(model, impute)


def _every_record(outside: Outside | None, missing: Missing | None) -> None:
    """Raise if a policy would leave records out."""
    if outside == "redact" or missing == "count":
        asked = "outside='redact'" if outside == "redact" else "missing='count'"
        raise UsageError(
            f"{asked} leaves records out, and samples are private only if every record counts.",
            hint="values are clipped to the bounds, and missing ones replaced by impute=…",
        )


def _check_model(model: Any) -> None:
    if not isinstance(model, Family):
        raise UsageError(f"model must be a family such as dc.Bernoulli(), got {type(model).__name__}.")


def _check_policies(outside: Any, missing: Any) -> None:
    one_of(outside, "outside", Outside)
    one_of(missing, "missing", Missing)
