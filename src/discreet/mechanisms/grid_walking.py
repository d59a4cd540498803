"""What the mechanisms share that walk on a public grid: their declarations, and the walk itself."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any, Protocol

from discreet.arguments import whole
from discreet.artifact import SamplingRecord
from discreet.domain.declarations import Domain
from discreet.errors import UsageError
from discreet.families import Family
from discreet.mechanisms.base import RandomSource
from discreet.mechanisms.posterior_sampling import declared_grid, read_least
from discreet.priors import Prior
from discreet.privacy.costs.grid_walk import GridWalk, barker_choice, read_width
from discreet.privacy.costs.likelihood_range import labels_range
from discreet.privacy.costs.parameter_grid import ParameterGrid
from discreet.privacy.costs.simplex_walk import SimplexWalk, simplex_walk
from discreet.privacy.rounding import decimal, rational_up
from discreet.rational import Number, exact, plain

_MOST_STEPS = 10_000


class _Walking(Protocol):
    @property
    def prior(self) -> Prior: ...
    @property
    def support(self) -> Any: ...
    @property
    def cells(self) -> int | None: ...
    @property
    def width(self) -> int | None: ...


def planned_walk(mechanism: _Walking, family: Family, domain: Domain) -> GridWalk:
    """Return the walk on a grid that a mechanism declares, or say why there is none."""
    grid = declared_grid(family, domain, mechanism.prior, mechanism.support, mechanism.cells)
    return GridWalk(grid, read_width(mechanism.width, grid.cells))


def planned_shares(mechanism: _Walking, family: Family) -> SimplexWalk:
    """Return the walk over label probabilities that a mechanism declares."""
    least = read_least(family, mechanism.support)
    # refuses a least probability that leaves no room
    labels_range(least * (1 if len(least) > 1 else family.n_probabilities or 1))
    return simplex_walk(mechanism.prior.natural(), least, mechanism.cells, mechanism.width)


def walk_of(record: SamplingRecord, family: Family, domain: Domain) -> GridWalk:
    """Return the walk on a grid that a record describes."""
    assert record.support is not None
    assert isinstance(record.prior, Prior)
    cells, width = (int(record.parameters[name]) for name in ("cells", "width"))
    return GridWalk(ParameterGrid(family, domain, record.prior, record.support, cells), width)


def shares_of(record: SamplingRecord) -> SimplexWalk:
    """Return the walk over label probabilities that a record describes."""
    assert record.support is not None
    least = [low for low, _ in record.support]
    return simplex_walk(
        record.conjugate.natural(), least, *(int(record.parameters[name]) for name in ("cells", "width"))
    )


def barker_walk(
    walk: GridWalk | SimplexWalk, scores: Any, start: Any, proposals: Iterable[Any], source: RandomSource
) -> list[Any]:
    """Return the states after each proposal. A proposal beyond the support is refused without looking at the data."""
    path: list[Any] = []
    at = start
    for proposal in proposals:
        to: Any = walk.moved(at, proposal)
        if to is not None and source.exponential(barker_choice(scores, at, to)) == 1:
            at = to
        path.append(at)
    return path


def read_steps(steps: Any, name: str = "steps", most: int = _MOST_STEPS) -> int:
    """Read how many steps a chain takes."""
    return whole(steps, name, most=most)


def read_temperature(temperature: Number | None) -> Fraction | None:
    """Read the temperature of a chain, which is at least 1."""
    if temperature is None:
        return None
    read = exact(temperature, "temperature")
    if read < 1:
        raise UsageError(f"temperature must be at least 1, got temperature={plain(read)}.")
    return read


def too_many_steps(steps: int, cost: Fraction, epsilon: Fraction, paid: int, least: Fraction) -> UsageError:
    """Return the refusal of more steps than the budget pays for."""
    enough = float(rational_up(decimal(least), 6))
    possible = f"it pays for {paid}" if paid else "it does not pay for one"
    return UsageError(
        f"{steps} steps at this temperature cost epsilon = {float(cost):.4g}, more than epsilon={plain(epsilon)}: "
        f"{possible}.",
        hint=f"a temperature of {enough:g} or more pays for all of them",
    )
