"""What files must satisfy that hold a private walk over one parameter, or what annealing made of several."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.artifact.records.base import CHAIN_CAUTION, UNKNOWN, SamplingRecord
from discreet.artifact.records.posterior_sample import ROOM, labels_support
from discreet.artifact.samples import Samples
from discreet.privacy import ApproxDP, PureDP
from discreet.privacy.costs.annealing_path import AnnealingPath
from discreet.privacy.costs.grid_walk import GridWalk, read_width
from discreet.privacy.costs.parameter_grid import (
    SLACK,
    ParameterGrid,
    check_support,
    grid_cells,
    grid_refusal,
)
from discreet.privacy.costs.simplex_walk import SimplexWalk, simplex_walk

if TYPE_CHECKING:
    from discreet.artifact.release import Release

_UNPAID = "its steps cost more than its guarantee says"


class PrivateMetropolisRecord(SamplingRecord):
    """States of a private walk over the parameters."""

    name = "private_metropolis"
    kind = "the trace of a tempered Markov chain"
    caution = CHAIN_CAUTION
    of_posterior = False
    independent = False

    def check_guarantee(self, release: Release, samples: Samples) -> None:
        by_metropolis = "rejection" in self.parameters
        arithmetic, more = ("floating", ["rejection"]) if by_metropolis else ("exact", [])
        self.check_form(samples, arithmetic, ["temperature", "range", "cells", "width", *more])
        labels = release.conjugate_family.n_probabilities is not None
        walk, promised = _shares(release) if labels else _walk(release), release.guarantees["samples"]
        temperature, claimed = self.parameters["temperature"], self.parameters["range"]
        if temperature < 1 or claimed < walk.range() * (1 - ROOM):
            raise ValueError(_UNPAID)
        if not isinstance(promised, ApproxDP if by_metropolis else PureDP):
            raise ValueError("its guarantee is of another kind")
        if samples.count * (claimed / temperature + SLACK) > promised.epsilon:
            raise ValueError(_UNPAID)
        if by_metropolis:
            assert isinstance(promised, ApproxDP)
            assert release.records is not None
            if not isinstance(walk, GridWalk) or len(walk.grid.axes) > 1:
                raise ValueError("its rule is for one parameter")
            bound = self.parameters["rejection"]
            worst = walk.worst_rejection(release.records, temperature)
            if worst * (1 - float(ROOM)) > bound or samples.count * bound > promised.delta:
                raise ValueError(_UNPAID)


class PrivateAnnealingRecord(SamplingRecord):
    """Ends of annealed trajectories, chosen by their weights."""

    name = "private_annealing"
    kind = "the outcome of annealed importance sampling of a tempered posterior"
    caution = "draws may repeat: they were chosen among the ends of a few annealed trajectories"
    noisy = ("weights", "log_evidence")
    of_posterior = False
    independent = False

    def check_guarantee(self, release: Release, samples: Samples) -> None:
        noisy, evidence = "weights_epsilon" in self.parameters, "evidence_epsilon" in self.parameters
        names = ["range", "step_range", "cells", "width", "trajectories", "moves"]
        names += ["weights_epsilon"] * noisy + ["evidence_epsilon", "change"] * evidence
        # early files with noisy weights say "exact"; they keep loading, and `in_floating_point` says what is true
        self.check_form(samples, samples.arithmetic if noisy or evidence else "exact", names, ["epsilons"])
        walk, promised = _walk(release), release.guarantees["samples"]
        numbers, path = self.parameters, AnnealingPath(self.paths["epsilons"])
        trajectories, moves = (_whole(numbers[name]) for name in ("trajectories", "moves"))
        full, step = numbers["range"], numbers["step_range"]
        if (
            full < walk.grid.range() * (1 - ROOM)
            or step < walk.range() * (1 - ROOM)
            or path.epsilons[-1] > full
        ):
            raise ValueError(_UNPAID)
        if not isinstance(promised, PureDP) or (noisy and numbers["weights_epsilon"] <= 0):
            raise ValueError("its guarantee is of another kind")
        published = samples.noisy
        if "weights" in published and (
            not noisy or {len(published["weights"]), samples.count} != {trajectories}
        ):
            raise ValueError("its weights are not those of its trajectories")
        if evidence != ("log_evidence" in published) or len(published.get("log_evidence", (0,))) != 1:
            raise ValueError("its evidence is missing, or was not paid for")
        if evidence and (
            numbers["evidence_epsilon"] <= 0
            or numbers["change"] < walk.grid.change() * (1 - ROOM)
            or path.epsilons[0] != 0
        ):
            raise ValueError(_UNPAID)
        cost = path.cost(
            step / full,
            trajectories=trajectories,
            moves=moves,
            samples=samples.count,
            weights_epsilon=numbers["weights_epsilon"] if noisy else None,
            evidence_epsilon=numbers.get("evidence_epsilon"),
        )
        if cost > promised.epsilon:
            raise ValueError(_UNPAID)


def _walk(release: Release) -> GridWalk:
    """Rebuild the walk from the declarations, and raise unless every draw is one of its points."""
    record, samples, family = release.sampling_record, release.samples, release.conjugate_family
    assert samples is not None
    refusal = grid_refusal(family)
    if refusal is not None:
        raise ValueError(refusal)
    if record.support is None or release.neighbors != "replace":
        raise ValueError(UNKNOWN)
    check_support(family, record.support)
    cells = grid_cells(family, _whole(record.parameters["cells"]))
    grid = ParameterGrid(family, release.domain, record.conjugate, record.support, cells)
    draws = samples.arrays()
    if any(values.ndim != 1 for values in draws.values()) or not grid.holds(draws):
        raise ValueError("a draw lies outside its support")
    return GridWalk(grid, read_width(_whole(record.parameters["width"]), cells))


def _shares(release: Release) -> SimplexWalk:
    """Rebuild the walk over label probabilities, and raise unless every draw is one of its states."""
    record, samples, k = release.sampling_record, release.samples, release.conjugate_family.n_probabilities
    assert samples is not None
    assert k is not None
    if record.support is None or release.neighbors != "replace":
        raise ValueError(UNKNOWN)
    least = tuple(low for low, _ in record.support)
    if len(least) not in (1, k) or record.support != labels_support(least, k):
        raise ValueError("its support is not that of its labels")
    numbers = (_whole(record.parameters[name]) for name in ("cells", "width"))
    walk = simplex_walk(record.conjugate.natural(), least, *numbers)
    if not walk.holds_draws(samples.arrays()):
        raise ValueError("a draw lies outside its support")
    return walk


def _whole(value: Fraction) -> int:
    if value.denominator != 1 or value < 1:
        raise ValueError("a number of its mechanism is no whole number")
    return int(value)
