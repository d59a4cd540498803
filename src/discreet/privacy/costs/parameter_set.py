r"""A finite public set of parameter values with any prior weights, and the tempered posterior on it.

The log-likelihood of a record with features f is slopes(theta) . f + level(theta), up to the base measure h(x), in
which no parameter has part. So the range of :mod:`discreet.privacy.costs.likelihood_range` is

    max over theta, theta' in the set and records f, f' of (slopes(theta) - slopes(theta')) . (f - f'),

and the shape of the records (:meth:`~discreet.models.shapes.RecordShape.largest_difference`) knows the inner maximum:
exactly for one statistic, for z and z^2, for labels and for any table of statistics, and never too small for several
columns. Nothing is asked of the family but its natural parameters and log-partition at the values of the set, so that
families of one's own are as good as those that are there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from discreet.arguments import listed
from discreet.domain.declarations import Domain
from discreet.errors import UsageError
from discreet.families import Family
from discreet.privacy.costs.likelihood_range import GRID_STEP, range_up
from discreet.privacy.costs.parameter_grid import MAPPED, open_ranges
from discreet.privacy.costs.scored_points import STEEPEST, ScoredPoints
from discreet.rational import exact

#: Values of a set, at most.
MOST_VALUES = 4096
# Pairs of values times what one of them takes, at most.
_MOST_WORK = 1 << 30
# What weights, and probabilities of labels, may miss 1 by: decimals do.
_OFF = 1e-9
# No prior weight that is computed here is smaller.
_LEAST_WEIGHT = 1e-280

#: Values of each parameter, one after the other; of a vector all its entries, and so on.
Values = Mapping[str, tuple[Fraction, ...]]


@dataclass(frozen=True)
class ParameterSet(ScoredPoints):
    """Values of a family's parameters and their prior weights, as exact numbers."""

    family: Family
    domain: Domain
    values: Values
    weights: tuple[Fraction, ...]

    @cached_property
    def points(self) -> dict[str, np.ndarray]:
        return {
            name: np.array([float(v) for v in self.values[name]]).reshape(-1, *entry_shape(self.family, name))
            for name in self.family.draw_names
        }

    @cached_property
    def tables(self) -> tuple[np.ndarray, np.ndarray]:
        shape = self.family.geometry
        m = len(shape.feature_names)
        shift, half = (
            np.array([float(v) for v in each or [1] * self.family.n_columns])
            for each in self.family.affine_map(self.domain)
        )
        try:
            with np.errstate(all="ignore"):
                in_mapped_units = self.family.closed_form(MAPPED)
                if in_mapped_units is not None:
                    return in_mapped_units(self.family, self.points, float(shift[0]), float(half[0]))
                eta = np.asarray(self.family.natural(self.points), dtype=float)
                slopes = eta @ shape.unmap(np.zeros(m), np.eye(m), shift, half).T
                constant = eta @ shape.unmap(np.ones(1), np.zeros((1, m)), shift, half)[0]
                levels = constant - np.asarray(self.family.log_partition(eta), dtype=float)
        except Exception:  # whatever a user's function raises
            raise UsageError(f"the natural parameters of {self.family.name} cannot be computed.") from None
        n = len(self.weights)
        if slopes.shape != (n, m) or levels.shape != (n,):
            raise UsageError(
                f"the natural parameters of {self.family.name} are not one vector for each value."
            )
        return slopes, levels

    @cached_property
    def log_base(self) -> np.ndarray:
        return np.log(np.array([float(weight) for weight in self.weights]))

    def check(self) -> None:
        """Raise unless every value is possible, and the log-likelihood of one record bounded at each of them."""
        n = len(self.weights)
        if n * n * self._work > _MOST_WORK:
            most = int((_MOST_WORK / self._work) ** 0.5)
            raise UsageError(f"{self.family.name} takes at most {most:,} parameters, got {n:,}.")
        for name, (low, high) in open_ranges(self.family).items():
            for value in self.values[name]:
                if not low < value < high:
                    raise UsageError(
                        f"{name} must lie strictly inside ({low:g}, {high:g}), got {float(value):g} among the "
                        "parameters."
                    )
        for name in (name for name, axes in self.family.draw_axes.items() if axes == 2):
            matrices = self.points[name]
            symmetric = np.array_equal(matrices, np.swapaxes(matrices, -1, -2))
            if not symmetric or not (np.linalg.eigvalsh(matrices) > 0).all():
                raise UsageError(
                    f"{name} must be symmetric and positive definite, at each of the parameters."
                )
        rows = self._rows(self.points)
        if self.family.n_probabilities is not None and not (
            (rows > 0).all() and np.allclose(rows.sum(axis=-1), 1.0, rtol=0.0, atol=_OFF)
        ):
            raise UsageError("the probabilities of labels must be positive and sum to 1, at each parameter.")
        slopes, levels = self.tables
        finite = (np.abs(slopes) < STEEPEST).all(axis=1) & (np.abs(levels) < STEEPEST)
        if not finite.all():
            at = int(np.argmin(finite)) + 1
            raise UsageError(
                f"the log-likelihood of one record is not bounded at parameter number {at} of {n}.",
                hint="leave it out: one record could change the posterior without limit",
            )
        if len(np.unique(rows, axis=0)) < n:
            raise UsageError("each parameter may be given once.")

    @property
    def _work(self) -> int:
        """What the largest difference between two records of one pair of values takes."""
        return max(len(self.family.geometry.feature_names), self.family.geometry.n_rows)

    def range(self) -> Fraction:
        """Return the range over the set and the bounds, rounded up.

        Rounding the features to the grid adds at most one step of each, and rounding the slopes to float64 at most
        2^-49 of the largest.
        """
        slopes, shape = self.tables[0], self.family.geometry
        most = 0.0
        for at in range(len(slopes) - 1):
            apart = slopes[at + 1 :] - slopes[at]
            rounding = GRID_STEP * np.abs(apart).sum(axis=1)
            most = max(most, float((shape.largest_difference(apart) + rounding).max()))
        return range_up(most + float(2.0**-48 * np.abs(slopes).sum(axis=1).max()))

    def changes(self) -> np.ndarray:
        """Return, at each value, by how much the log-likelihoods of two records can differ: the paper's l(theta).

        Without the base measure h(x), which cancels in every posterior.
        """
        return self.family.geometry.largest_difference(self.tables[0])

    def holds(self, draws: Mapping[str, np.ndarray]) -> bool:
        """Tell whether every draw is one of the set."""
        return all(choice is not None for choice in self._chosen(draws))

    def chosen(self, draws: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return which of the values each draw is."""
        return np.array(self._chosen(draws), dtype=int)

    def _chosen(self, draws: Mapping[str, np.ndarray]) -> list[int | None]:
        if any(draws[name].shape[1:] != values.shape[1:] for name, values in self.points.items()):
            return [None]
        where = {tuple(row): at for at, row in enumerate(self._rows(self.points))}
        return [where.get(tuple(row)) for row in self._rows(draws)]

    def _rows(self, values: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return one row of numbers for each value of all parameters."""
        return np.concatenate(
            [values[name].reshape(len(values[name]), -1) for name in self.family.draw_names], axis=1
        )


def sensitivity_weights(changes: np.ndarray) -> np.ndarray:
    """Return prior weights proportional to e^(-l(theta)), for values at which records differ by l(theta).

    Parameters that tell records apart better get exponentially less weight (Dimitrakakis et al. 2017, section 3.1).
    """
    weights = np.exp(np.min(changes) - changes)
    return np.maximum(weights / weights.sum(), _LEAST_WEIGHT)


def entry_shape(family: Family, name: str) -> tuple[int, ...]:
    """Return the shape of one value of a parameter: of a number, a vector or a matrix."""
    return (family.n_probabilities or family.n_columns,) * family.draw_axes.get(name, 0)


def read_values(family: Family, parameters: Sequence[Any]) -> Values:
    """Read a list of parameter values: numbers, vectors, or dictionaries of several parameters by name."""
    if not family.is_likelihood:
        raise UsageError(f"{family.name} has no likelihood, and so no posterior on a set of parameters.")
    names = family.draw_names
    flat: dict[str, list[Fraction]] = {name: [] for name in names}
    for one in parameters:
        by_name = one if isinstance(one, Mapping) else {names[0]: one}
        if set(by_name) != set(names):
            raise UsageError(
                f"a parameter of {family.name} is given by name: {' and '.join(names)}.",
                hint="for example {" + ", ".join(f'"{name}": …' for name in names) + "}",
            )
        for name in names:
            flat[name].extend(_entries(by_name[name], name, entry_shape(family, name)))
    return {name: tuple(values) for name, values in flat.items()}


def read_weights(weights: Any, n: int) -> tuple[Fraction, ...]:
    """Read prior weights, one for each of ``n`` values, or make them equal."""
    if weights is None:
        return (Fraction(1, n),) * n
    read = tuple(exact(w, "weights") for w in listed(weights, "weights", "numbers", most=MOST_VALUES + 1))
    if len(read) != n:
        raise UsageError(f"there must be one weight for each parameter, got {len(read)} for {n}.")
    if min(read) <= 0:
        raise UsageError("weights must be positive.", hint="leave a parameter out that is impossible")
    if abs(sum(read) - 1) > _OFF:
        raise UsageError(f"weights must add up to 1, got a sum of {float(sum(read)):.6g}.")
    return read


def _entries(value: Any, name: str, shape: tuple[int, ...]) -> list[Fraction]:
    """Read one value of a parameter, entry by entry."""
    if not shape:
        return [exact(value, name)]
    wanted = f"{shape[0]} numbers" if len(shape) == 1 else f"{shape[0]} rows"
    entries = listed(value, name, wanted, most=shape[0] + 1)
    if len(entries) != shape[0]:
        raise UsageError(f"{name} takes {wanted} in each parameter, got {len(entries)}.")
    return [number for entry in entries for number in _entries(entry, name, shape[1:])]
