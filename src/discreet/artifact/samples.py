"""Samples in place of statistics: what a posterior-sampling mechanism releases, and how it was set."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from discreet.artifact.readers import choice, count, exact_fields, optional, pair, rational, text_of, tuple_of
from discreet.families.base import Family
from discreet.priors import Prior, parse
from discreet.rational import text

if TYPE_CHECKING:
    from discreet.artifact.release import Release

Arithmetic = Literal["exact", "floating"]

#: Sampling mechanisms that a file may name, and where the check of their numbers is: a function ``check`` that takes a
#: release and raises ValueError. A closed list: nothing is ever imported by a name found in a file.
CHECKS: Mapping[str, str] = {
    "posterior_sample": "discreet.artifact.posterior_sample",
    "direct_posterior": "discreet.artifact.renyi_posterior",
    "diffused_posterior": "discreet.artifact.renyi_posterior",
    "concentrated_posterior": "discreet.artifact.renyi_posterior",
    "diffused_query": "discreet.artifact.renyi_posterior",
    "concentrated_query": "discreet.artifact.renyi_posterior",
    "langevin": "discreet.artifact.langevin",
    "noisy_sgd": "discreet.artifact.noisy_sgd",
    "private_metropolis": "discreet.artifact.private_walks",
    "private_annealing": "discreet.artifact.private_walks",
    "private_gibbs": "discreet.artifact.private_gibbs",
    "table_posterior": "discreet.artifact.table_posterior",
}

#: How the samples differ from those of the posterior that everybody would expect, by mechanism.
KINDS: Mapping[str, str] = {
    "posterior_sample": "tempered",
    "direct_posterior": "direct",
    "diffused_posterior": "diffused",
    "concentrated_posterior": "concentrated",
    "diffused_query": "diffused",
    "concentrated_query": "concentrated",
    "table_posterior": "tempered",
}

#: How samples of mechanisms that sample from no posterior were made: what follows "They are", with all its words. A
#: mechanism is in :data:`KINDS` or here.
WAYS: Mapping[str, str] = {
    "langevin": "states of a Langevin walk with finite steps",
    "noisy_sgd": "the last iterate of noisy gradient descent",
    "private_metropolis": "the trace of a tempered Markov chain",
    "private_annealing": "the outcome of annealed importance sampling of a tempered posterior",
    "private_gibbs": "the trace of a tempered Markov chain",
}

#: Mechanisms whose samples depend on each other: states of a walk, or choices among a few.
DEPENDENT = frozenset({"langevin", "private_annealing", "private_gibbs", "private_metropolis"})

_FIELDS = "name prior support parameters"
_MOST_VALUES = 10**6
# axes of one draw: a number, a vector, a matrix, or one matrix for each of several components
_DEEPEST = 3


@dataclass(frozen=True)
class Samples:
    """Parameter draws, released as they are.

    ``draws`` holds, for each parameter name, one entry per draw: a number, or nested tuples for a vector or matrix.
    ``arithmetic`` is ``"exact"`` if the draws were chosen from a public grid in exact arithmetic, and ``"floating"`` if
    a floating-point sampler made them: the theorem is then about the law that the sampler approximates.
    """

    draws: Mapping[str, tuple[Any, ...]]
    arithmetic: Arithmetic

    @classmethod
    def of(cls, draws: Mapping[str, Any], arithmetic: Arithmetic) -> Samples:
        """Take arrays, draws first."""
        return cls({name: _nested(np.asarray(values)) for name, values in draws.items()}, arithmetic)

    @property
    def count(self) -> int:
        """How many draws there are."""
        return len(next(iter(self.draws.values())))

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the draws as arrays, draws first."""
        return {name: np.array(values, dtype=float) for name, values in self.draws.items()}


@dataclass(frozen=True)
class SamplingRecord:
    """How samples were made: everything public that their guarantee rests on.

    ``prior`` is part of the guarantee: a family's conjugate prior; for models of several columns a text that the
    mechanism writes and its check reads, or None. ``support`` is the truncated parameter set, one (low, high) pair for
    each parameter, or None. ``parameters`` are exact numbers, by the mechanism's own names (``temperature``, ``range``,
    ``order``, ...); ``paths`` are sequences of them, where a mechanism goes through several (temperatures, step sizes).
    """

    name: str
    prior: Prior | str | None
    support: tuple[tuple[Fraction, Fraction], ...] | None
    parameters: Mapping[str, Fraction]
    paths: Mapping[str, tuple[Fraction, ...]] = field(default_factory=dict)

    @property
    def conjugate(self) -> Prior:
        """The conjugate prior of a family; raise ValueError if there is none."""
        if not isinstance(self.prior, Prior):
            raise ValueError("its prior is no conjugate prior of a family")
        return self.prior

    @property
    def kind(self) -> str:
        """In a few words, what the samples are from."""
        return f"{KINDS[self.name]} posterior" if self.name in KINDS else WAYS[self.name]


def encode_samples(samples: Samples) -> dict[str, Any]:
    """Return samples as JSON."""
    draws = {name: _lists(values) for name, values in samples.draws.items()}
    return {"count": samples.count, "arithmetic": samples.arithmetic, "draws": draws}


def read_samples(value: Any) -> Samples:
    """Read samples, or raise ValueError."""
    exact_fields("samples", value, "count arithmetic draws")
    if not isinstance(value["draws"], dict) or not value["draws"]:
        raise ValueError("there are no draws")
    draws = {text_of(name): tuple_of(_tuples, entries) for name, entries in value["draws"].items()}
    read = Samples(draws, choice(value["arithmetic"], "exact", "floating"))
    n = count(value["count"])
    if n < 1 or any(len(entries) != n for entries in draws.values()):
        raise ValueError("the draws are not as many as they are said to be")
    return read


def encode_record(record: SamplingRecord) -> dict[str, Any]:
    """Return the record as JSON."""
    support = None if record.support is None else [[text(low), text(high)] for low, high in record.support]
    return {
        "name": record.name,
        "prior": None if record.prior is None else str(record.prior),
        "support": support,
        "parameters": {name: text(value) for name, value in record.parameters.items()},
        # absent otherwise, so that files without them stay what they were
        **(
            {"paths": {name: [text(v) for v in path] for name, path in record.paths.items()}}
            if record.paths
            else {}
        ),
    }


def read_record(value: Any, *, structured: bool = False) -> SamplingRecord:
    """Read a record, or raise ValueError or UsageError; the prior of a ``structured`` model is kept as text."""
    follows = isinstance(value, dict) and "paths" in value
    exact_fields("mechanism", value, _FIELDS + " paths" * follows)
    paths = value["paths"] if follows else {}
    if not isinstance(value["parameters"], dict) or not isinstance(paths, dict):
        raise ValueError("the mechanism's parameters are not an object")
    return SamplingRecord(
        name=choice(value["name"], *CHECKS),
        prior=optional(text_of, value["prior"]) if structured else parse(text_of(value["prior"])),
        support=optional(lambda v: tuple_of(pair, v), value["support"]),
        parameters={text_of(name): rational(number) for name, number in value["parameters"].items()},
        paths={text_of(name): tuple_of(rational, path) for name, path in paths.items()},
    )


def check_samples(release: Release) -> None:
    """Raise unless the samples fit the model, and the mechanism's numbers are enough for the guarantee."""
    record, samples, model = release.mechanism, release.samples, release.model
    if samples is None or not isinstance(record, SamplingRecord):
        raise ValueError("its mechanism makes no samples")
    if isinstance(model, Family):
        model.check_prior(record.conjugate)
    if tuple(samples.draws) != tuple(model.draw_names):
        raise ValueError("its draws are not those of its model")
    if release.domain.outside != "clip" or release.domain.missing == "count":
        raise ValueError("samples need every record: values are clipped and imputed, never left out")
    if release.bounds_choice is not None:
        raise ValueError("its bounds are bought, and samples need declared ones")
    shapes = [array.shape for array in _regular(samples).values()]
    if sum(math.prod(shape) for shape in shapes) > _MOST_VALUES:
        raise ValueError("there are too many draws")
    check: Callable[[Release], None] = import_module(CHECKS[record.name]).check
    check(release)


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
