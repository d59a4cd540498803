"""What files must satisfy that hold a private walk over one parameter, or what annealing made of several."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.artifact.posterior_sample import ROOM
from discreet.privacy import ApproxDP, PureDP
from discreet.privacy.annealing_path import AnnealingPath
from discreet.privacy.grid_walk import GridWalk, read_width, walk_refusal
from discreet.privacy.parameter_grid import SLACK, ParameterGrid, check_support, grid_cells, grid_refusal

if TYPE_CHECKING:
    from discreet.artifact.release import Release

_UNPAID = "its steps cost more than its guarantee says"


def check(release: Release) -> None:
    """Raise unless the guarantee covers every step, and the draws lie on the grid."""
    checks = {"private_metropolis": _check_walk, "private_annealing": _check_annealing}
    checks[release.mechanism.name](release)


def _check_walk(release: Release) -> None:
    record, samples = release.sampling_record, release.samples
    assert samples is not None
    by_metropolis = "rejection" in record.parameters
    expected = {"temperature", "range", "cells", "width"} | ({"rejection"} if by_metropolis else set())
    if set(record.parameters) != expected or record.paths:
        raise ValueError("its mechanism has missing or unknown parameters")
    if samples.arithmetic != ("floating" if by_metropolis else "exact"):
        raise ValueError("its samples claim another arithmetic than their mechanism has")
    walk, promised = _walk(release), release.guarantees["samples"]
    temperature, claimed = record.parameters["temperature"], record.parameters["range"]
    if temperature < 1 or claimed < walk.range() * (1 - ROOM):
        raise ValueError(_UNPAID)
    if not isinstance(promised, ApproxDP if by_metropolis else PureDP):
        raise ValueError("its guarantee is of another kind")
    if samples.count * (claimed / temperature + SLACK) > promised.epsilon:
        raise ValueError(_UNPAID)
    if by_metropolis:
        assert isinstance(promised, ApproxDP)
        assert release.records is not None
        bound = record.parameters["rejection"]
        worst = walk.worst_rejection(release.records, temperature)
        if worst * (1 - float(ROOM)) > bound or samples.count * bound > promised.delta:
            raise ValueError(_UNPAID)


def _check_annealing(release: Release) -> None:
    record, samples = release.sampling_record, release.samples
    assert samples is not None
    noisy = "weights_epsilon" in record.parameters
    expected = {"range", "step_range", "cells", "width", "trajectories", "moves"}
    if set(record.parameters) != expected | ({"weights_epsilon"} if noisy else set()):
        raise ValueError("its mechanism has missing or unknown parameters")
    if set(record.paths) != {"epsilons"}:
        raise ValueError("its mechanism has missing or unknown parameters")
    # early files with noisy weights say "exact"; they keep loading, and ``Release.in_floating_point`` says what is true
    if samples.arithmetic != "exact" and not noisy:
        raise ValueError("its samples claim another arithmetic than their mechanism has")
    walk, promised = _walk(release), release.guarantees["samples"]
    numbers, path = record.parameters, AnnealingPath(record.paths["epsilons"])
    trajectories, moves = (_whole(numbers[name]) for name in ("trajectories", "moves"))
    full, step = numbers["range"], numbers["step_range"]
    if full < walk.grid.range() * (1 - ROOM) or step < walk.range() * (1 - ROOM) or path.epsilons[-1] > full:
        raise ValueError(_UNPAID)
    if not isinstance(promised, PureDP) or (noisy and numbers["weights_epsilon"] <= 0):
        raise ValueError("its guarantee is of another kind")
    cost = path.cost(
        step / full,
        trajectories=trajectories,
        moves=moves,
        samples=samples.count,
        weights_epsilon=numbers["weights_epsilon"] if noisy else None,
    )
    if cost > promised.epsilon:
        raise ValueError(_UNPAID)


def _walk(release: Release) -> GridWalk:
    """Rebuild the walk from the declarations, and raise unless every draw is one of its points."""
    record, samples, family = release.sampling_record, release.samples, release.family
    assert samples is not None
    for refusal in (walk_refusal(family), grid_refusal(family)):
        if refusal is not None:
            raise ValueError(refusal)
    if record.support is None or release.neighbors != "replace":
        raise ValueError("its mechanism has missing or unknown parameters")
    check_support(family, record.support)
    cells = grid_cells(family, _whole(record.parameters["cells"]))
    grid = ParameterGrid(family, release.domain, record.conjugate, record.support, cells)
    draws = samples.arrays()
    if any(values.ndim != 1 for values in draws.values()) or not grid.holds(draws):
        raise ValueError("a draw lies outside its support")
    return GridWalk(grid, read_width(_whole(record.parameters["width"]), cells))


def _whole(value: Fraction) -> int:
    if value.denominator != 1 or value < 1:
        raise ValueError("a number of its mechanism is no whole number")
    return int(value)
