"""Families by name, as the command line writes them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Any, TypeVar

from discreet.arguments import instance, shown
from discreet.errors import UsageError
from discreet.families.bernoulli import Bernoulli
from discreet.families.categorical import Categorical
from discreet.families.exponential import Exponential
from discreet.families.gamma import Gamma
from discreet.families.geometric import Geometric
from discreet.families.histogram import Histogram
from discreet.families.laplace import Laplace
from discreet.families.mean import Mean
from discreet.families.multivariate_normal import MultivariateNormal
from discreet.families.negative_binomial import NegativeBinomial
from discreet.families.normal import Normal
from discreet.families.poisson import Poisson
from discreet.families.predicate import Predicate
from discreet.families.record_sums import RecordSums
from discreet.models.registry import REGISTERED as _FAMILIES
from discreet.models.registry import build
from discreet.names import did_you_mean

__all__ = ["build", "names", "parse", "register"]

_Kind = TypeVar("_Kind", bound=type[RecordSums])


def register(kind: _Kind) -> _Kind:
    """Make this family known by its name to the program that registers it; usable as a decorator.

    Nothing is ever imported by a name found in a file: a file that names a family which is not registered is refused.
    So whoever reads such a file registers the family first, and the command line knows the built-in ones only.
    """
    name = getattr(kind, "name", None)
    if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise UsageError("a family's name must be lower case letters, digits and underscores.")
    if _FAMILIES.get(name, kind) is not kind:
        raise UsageError(f"the name {name!r} is taken by another family.")
    _FAMILIES[name] = kind
    return kind


def names() -> tuple[str, ...]:
    """Return the names of the known families."""
    return tuple(_FAMILIES)


def parse(text: str) -> RecordSums:
    """Read a family as the command line writes it.

    ``"normal"``, ``"normal:variance=4"``, ``"categorical:labels=a|b|c"``, ``"categorical:k=4"``. Several constants are
    separated by commas.
    """
    name, _, rest = instance(text, "model", str, "a text").partition(":")
    name = name.strip().lower().replace("-", "_")
    options: dict[str, str] = {}
    # a comma starts a new constant only if a key follows, so labels may hold commas
    for part in re.split(r",(?=\s*[a-z_]+\s*=)", rest) if rest.strip() else []:
        key, equals, value = part.partition("=")
        key = key.strip()
        if not equals or not key or not value.strip():
            raise UsageError(f"cannot read model {text!r}.", hint=_syntax(name))
        if key in options:
            raise UsageError(f"model {text!r} gives {key} twice.")
        options[key] = value.strip()
    return _checked(name, options).from_options(options)


def _checked(name: str, constants: Mapping[str, Any]) -> Any:
    """Return the family of this name, if its constructor takes these constants."""
    kind = _FAMILIES.get(name)
    if kind is None:
        hint = f"{did_you_mean(name, names())}known families: {', '.join(names())}"
        raise UsageError(f"unknown family {name!r}.", hint=hint)
    taken = inspect.signature(kind).parameters
    unknown = [key for key in constants if key not in taken]
    if unknown:
        known = f"it knows {', '.join(taken)}" if taken else "it has no constants"
        raise UsageError(f"{name} does not take {shown(unknown[0])}: {known}.")
    needed = [
        key
        for key, value in taken.items()
        if value.default is inspect.Parameter.empty and key not in constants
    ]
    if needed:
        raise UsageError(f"{name} needs {needed[0]}.", hint=f"on the command line write {name}:{needed[0]}=…")
    return kind


def _syntax(name: str) -> str:
    """Say how the command line writes this family's constants."""
    kind = _FAMILIES.get(name)
    if kind is None:
        return "write name:constant=value, as in normal:variance=4"
    taken = list(inspect.signature(kind).parameters)
    if not taken:
        return f"{name} has no constants: write {name}"
    return f'write "{name}:labels=a|b|c"' if "labels" in taken else f"write {name}:{taken[0]}=…"


for _kind in (
    Mean,
    Histogram,
    Bernoulli,
    Categorical,
    Poisson,
    Geometric,
    NegativeBinomial,
    Exponential,
    Gamma,
    Laplace,
    Normal,
    MultivariateNormal,
    Predicate,
):
    register(_kind)
