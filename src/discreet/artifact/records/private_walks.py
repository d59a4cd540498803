"""What files must satisfy that hold a private walk over one parameter, or what annealing made of several."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.artifact.records.base import CHAIN_CAUTION, UNKNOWN, SamplingRecord
from discreet.artifact.records.posterior_sample import ROOM, declared_grid, least_of_labels, whole_number
from discreet.artifact.samples import Samples
from discreet.privacy import ApproxDP, PureDP
from discreet.privacy.costs.annealing_path import AnnealingPath
from discreet.privacy.costs.grid_walk import GridWalk, read_width
from discreet.privacy.costs.parameter_grid import SLACK
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
        labels, promised = release.conjugate_family.n_probabilities, release.guarantees["samples"]
        walk = _walk(release, samples) if labels is None else _shares(release, samples, labels)
        if not isinstance(promised, ApproxDP if by_metropolis else PureDP):
            raise ValueError("its guarantee is of another kind")
        needed = walk.range() * (1 - ROOM)
        self.check_temperature(needed, SLACK, samples.count, promised.epsilon, _UNPAID)
        if by_metropolis:
            assert isinstance(promised, ApproxDP)
            assert release.records is not None
            if not isinstance(walk, GridWalk) or len(walk.grid.axes) > 1:
                raise ValueError("its rule is for one parameter")
            bound = self.parameters["rejection"]
            worst = walk.worst_rejection(release.records, self.parameters["temperature"])
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
        walk, promised = _walk(release, samples), release.guarantees["samples"]
        numbers, path = self.parameters, AnnealingPath(self.paths["epsilons"])
        trajectories, moves = (whole_number(numbers[name]) for name in ("trajectories", "moves"))
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


def _walk(release: Release, samples: Samples) -> GridWalk:
    """Rebuild the walk from the declarations, and raise unless every draw is one of its points."""
    grid = declared_grid(release, samples)
    return GridWalk(grid, read_width(whole_number(release.sampling_record.parameters["width"]), grid.cells))


def _shares(release: Release, samples: Samples, n_labels: int) -> SimplexWalk:
    """Rebuild the walk over label probabilities, and raise unless every draw is one of its states."""
    record = release.sampling_record
    if record.support is None or release.neighbors != "replace":
        raise ValueError(UNKNOWN)
    least = least_of_labels(record.support, n_labels)
    numbers = (whole_number(record.parameters[name]) for name in ("cells", "width"))
    walk = simplex_walk(record.conjugate.natural(), least, *numbers)
    if not walk.holds_draws(samples.arrays()):
        raise ValueError("a draw lies outside its support")
    return walk
