"""Models in release files: families, and models of several columns, both from closed lists."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet import families
from discreet.artifact.readers import constants, imputed, plain_json, rational, text_of, tuple_of
from discreet.families import impute
from discreet.families.base import Family
from discreet.models import registry
from discreet.models.base import Model, check_imputed
from discreet.models.columns import Labels

if TYPE_CHECKING:
    from discreet.artifact.release import Release


def read_model(name: Any, parameters: Any) -> Family | Model:
    """Build the model that a file names, with its known constants; raise ValueError or UsageError."""
    name = text_of(name)
    if registry.known(name):
        return registry.build(name, plain_json(parameters))
    return families.build(name, constants(parameters))


def read_imputed(value: Any, model: Family | Model) -> tuple[Fraction | str, ...]:
    """Read what stands for missing values, as the model's columns need it."""
    if not isinstance(model, Model):
        return imputed(value, model.labels)
    values = tuple_of(text_of, value)
    if len(values) != len(model.columns):
        raise ValueError("there is not one value to impute for each column")
    return tuple(
        one if isinstance(column, Labels) else rational(one)
        for column, one in zip(model.columns, values, strict=True)
    )


def check_family(release: Release) -> None:
    """Raise unless the declarations are ones that the family takes."""
    release.family.check_bounds(release.domain.bounds)
    if release.domain.labels != release.family.labels:
        raise ValueError("its labels are not its model's")
    if len(release.columns) != release.family.n_columns:
        raise ValueError("it has the wrong number of columns")
    if release.samples is not None:
        impute.check_imputed(release.family, release.domain)


def check_structured(release: Release) -> None:
    """Raise unless the declarations are the model's own."""
    model, domain = release.model, release.domain
    assert isinstance(model, Model)
    if domain.bounds is not None or domain.labels is not None or release.bounds_choice is not None:
        raise ValueError("its model's columns have labels and bounds of their own")
    if release.columns != model.column_names:
        raise ValueError("its columns are not its model's")
    if (domain.impute is None) != (domain.missing != "impute"):
        raise ValueError("a value is imputed exactly if missing is impute")
    if domain.impute is not None:
        check_imputed(model, domain.impute)
