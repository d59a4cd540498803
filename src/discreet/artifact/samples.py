"""Samples in place of statistics: what a mechanism releases that draws parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from discreet.artifact.readers import COUNT, INTEGER, Field, encode_fields, one_of, read_fields

if TYPE_CHECKING:
    from discreet.artifact.release import Release

Arithmetic = Literal["exact", "floating"]

_MOST_VALUES = 10**6
# axes of one draw: a number, a vector, a matrix, or one matrix for each of several components
_DEEPEST = 3


@dataclass(frozen=True)
class Samples:
    """Parameter draws, released as they are.

    ``draws`` holds, for each parameter name, one entry per draw: a number, or nested tuples for a vector or matrix.
    ``arithmetic`` is ``"exact"`` if the draws were chosen from a public grid in exact arithmetic, and ``"floating"`` if
    a floating-point sampler made them: the theorem is then about the distribution that the sampler approximates.
    """

    draws: Mapping[str, tuple[Any, ...]]
    arithmetic: Arithmetic
    #: Noisy integers beside the draws, by name, of mechanisms that publish some.
    noisy: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        draws: Mapping[str, Any],
        arithmetic: Arithmetic,
        noisy: Mapping[str, tuple[int, ...]] | None = None,
    ) -> Samples:
        """Take arrays, draws first."""
        nested = {name: _nested(np.asarray(values)) for name, values in draws.items()}
        return cls(nested, arithmetic, noisy or {})

    @property
    def count(self) -> int:
        """How many draws there are."""
        return len(next(iter(self.draws.values())))

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the draws as arrays, draws first."""
        return {name: np.array(values, dtype=float) for name, values in self.draws.items()}


def encode_samples(samples: Samples) -> dict[str, Any]:
    """Return samples as JSON."""
    return encode_fields(samples, _FIELDS, _RARE)


def read_samples(value: Any) -> Samples:
    """Read samples, or raise ValueError."""
    read = read_fields("samples", value, _FIELDS, _RARE)
    n = read.pop("count")
    if not read["draws"]:
        raise ValueError("there are no draws")
    if n < 1 or any(len(entries) != n for entries in read["draws"].values()):
        raise ValueError("the draws are not as many as they are said to be")
    return Samples(**read)


def check_draws(release: Release) -> Samples:
    """Return the samples; raise unless they are of the model's parameters, and every record of the table counted."""
    samples, domain = release.samples, release.domain
    if samples is None:
        raise ValueError("its mechanism makes samples, and there are none")
    if tuple(samples.draws) != tuple(release.model.draw_names):
        raise ValueError("its draws are not those of its model")
    if not set(samples.noisy) <= set(release.sampling_record.noisy):
        raise ValueError("its mechanism publishes no such noisy numbers")
    if domain.outside != "clip" or domain.missing == "count":
        raise ValueError("samples need every record: values are clipped and imputed, never left out")
    if release.group_selection is not None or "groups" in release.guarantees:
        raise ValueError("groups are of noisy totals")
    if release.bounds_choice is not None:
        raise ValueError("its bounds are bought, and samples need declared ones")
    if release.fit_check is not None or "fit_check" in release.guarantees:
        raise ValueError("a fit check is of noisy totals, and it holds samples")
    shapes = [array.shape for array in _regular(samples).values()]
    if sum(math.prod(shape) for shape in shapes) > _MOST_VALUES:
        raise ValueError("there are too many draws")
    return samples


def _regular(samples: Samples) -> dict[str, np.ndarray]:
    try:
        return samples.arrays()
    except (TypeError, ValueError):
        raise ValueError("its draws are not of one shape") from None


def _nested(values: np.ndarray) -> tuple[Any, ...]:
    return tuple(_nested(v) if v.ndim else float(v) for v in values)


def _lists(value: Any) -> Any:
    return [_lists(v) for v in value] if isinstance(value, tuple) else value


def _tuples(value: Any, depth: int = 0) -> Any:
    if isinstance(value, list) and depth < _DEEPEST:
        return tuple(_tuples(v, depth + 1) for v in value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("a draw is not a number")
    return float(value)


_FIELDS = {
    "count": COUNT,
    "arithmetic": one_of("exact", "floating"),
    "draws": Field(_lists, _tuples).listed.named,
}
# absent if there are none, so that files without them stay what they were
_RARE = {"noisy": INTEGER.listed.named}
