"""What a curator declares before any row is read, checked and written down as a domain."""

from __future__ import annotations

from typing import Any, get_args

from discreet.errors import UsageError
from discreet.families.base import Family
from discreet.families.impute import check_imputed, read_imputed
from discreet.families.layout import Domain, Outside
from discreet.families.shapes import Missing
from discreet.mechanisms.quantile import are_bought


def sampling_domain(
    model: Family, bounds: Any, outside: Outside | None, missing: Missing | None, impute: Any
) -> Domain:
    """Return the declarations behind samples, for which every record must count once."""
    _check_model(model)
    _check_policies(outside or "clip", missing or "impute")
    if outside == "redact" or missing == "count":
        asked = "outside='redact'" if outside == "redact" else "missing='count'"
        raise UsageError(
            f"{asked} leaves records out, and samples are private only if every record counts.",
            hint="values are clipped to the bounds, and missing ones replaced by impute=…",
        )
    if outside == "clip" and model.vocabulary is not None:
        raise UsageError(f"outside='clip' has no meaning for {model.name}: labels cannot be clipped.")
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
    if model.vocabulary is not None and outside == "clip":
        raise UsageError(f"outside='clip' has no meaning for {model.name}: labels cannot be clipped.")
    return Domain(model.parse_bounds(bounds), model.labels, outside, missing)


def _check_model(model: Any) -> None:
    if not isinstance(model, Family):
        raise UsageError(f"model must be a family such as dc.Bernoulli(), got {type(model).__name__}.")


def _check_policies(outside: Any, missing: Any) -> None:
    if outside not in get_args(Outside):
        raise UsageError(f"outside must be 'redact' or 'clip', got outside={outside!r}.")
    if missing not in get_args(Missing):
        raise UsageError(f"missing must be 'count' or 'none', got missing={missing!r}.")
