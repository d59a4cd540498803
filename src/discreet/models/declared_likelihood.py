"""Any likelihood of records of labels, over finitely many values of its parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise, product
from typing import Any, ClassVar, Self

import numpy as np

from discreet.arguments import fill, listed, numbers, shown
from discreet.domain.columns import (
    Column,
    Labels,
    are_texts,
    decode_columns,
    encode_columns,
    only_labels,
    read_columns,
)
from discreet.errors import UsageError
from discreet.models.base import Draws
from discreet.models.gibbs_model import GibbsModel
from discreet.names import check_name
from discreet.rational import exact, text

#: Logarithms are whole numbers of steps of this size, so that sums over records are exact.
STEP = Fraction(1, 1 << 20)
# a probability below e^-700 is 0 in float64
_STEEPEST = 700
_MOST_VALUES = 1000
# values of all parameters times combinations of labels: what a file should hold
_MOST_NUMBERS = 100_000
_PARTS = ("columns", "parameters", "log_likelihood", "log_prior")

LogLikelihood = Callable[[dict[str, float], dict[str, str]], float]
LogPrior = Callable[[dict[str, float]], float]


@dataclass(frozen=True, init=False)
class DeclaredLikelihood(GibbsModel):
    """A likelihood of the curator's own, drawn from by private Gibbs sampling, one parameter after the other.

    Parameters
    ----------
    columns
        Labelled columns: ``{"dose": ["low", "high"], "ill": ["no", "yes"]}``.
    parameters
        The values that each parameter can have, increasing: ``{"base": [0.05, 0.1, 0.2], "effect": [-1, 0, 1]}``.
    log_likelihood
        A function of the parameters and of one record, both dictionaries: ``lambda parameters, record: ...`` returns
        the log-probability of the record, between -700 and 700. Or its values as a table, which is what a file can
        declare: one list for each combination of values of the parameters, of one number for each combination of
        labels, the last parameter and the last column changing fastest.
    log_prior
        A function of the parameters, or a list of its values; all combinations are equally likely if it is left out.

    The function is called before any row is read, once for every combination of values and labels: what is in the
    release file, and what the chain reads, is the table of its values, rounded to 2^-20.

    Privacy
    -------
    Records add up: the conditional of one parameter given the others is exp(log_prior + sum over records of
    log_likelihood / T), up to a constant. Replace record x by x': the log-weight of value v changes by (l(v, x') - l(v,
    x)) / T, and the update costs the range of this change, over all values, all pairs of records and all values of the
    other parameters (:attr:`update_ranges`). It is computed exactly from the table, on both sides of the wall, so that
    nothing is taken on the curator's word; the function never sees a row.
    """

    name: ClassVar[str] = "declared_likelihood"
    chain_name: ClassVar[str] = "declared_likelihood"
    columns: tuple[Labels, ...]  # pyright: ignore[reportIncompatibleVariableOverride]
    parameters: tuple[tuple[str, tuple[Fraction, ...]], ...]
    #: Steps of 2^-20: a row for each combination of values, a number for each combination of labels.
    likelihood_steps: tuple[tuple[int, ...], ...]
    prior_steps: tuple[int, ...]
    _ranges: tuple[Fraction, ...] = field(compare=False, repr=False)

    def __init__(
        self,
        columns: Mapping[str, Any] | Sequence[Column],
        parameters: Mapping[str, Sequence[Any]],
        log_likelihood: LogLikelihood | Sequence[Sequence[float]],
        *,
        log_prior: LogPrior | Sequence[float] | None = None,
    ) -> None:
        self._declare(columns, parameters)
        n_states, n_records = self._shape
        if n_states * n_records > _MOST_NUMBERS:
            raise UsageError(
                f"{n_states} combinations of values times {n_records} of labels are more than {_MOST_NUMBERS} numbers, "
                "the most that a file should hold.",
                hint="take fewer values, or fewer labels",
            )
        names, values = zip(*self.parameters, strict=True)
        states = [dict(zip(names, map(float, each), strict=True)) for each in product(*values)]
        labels = product(*(column.labels for column in self.columns))
        records = [dict(zip(self.column_names, each, strict=True)) for each in labels]
        if callable(log_likelihood):
            table = [[_asked(log_likelihood, "log_likelihood", s, dict(r)) for r in records] for s in states]
        else:
            table = _read_table(log_likelihood, "log_likelihood", (len(states), len(records)))
        if log_prior is None:
            prior: Any = [0] * len(states)
        elif callable(log_prior):
            prior = [_asked(log_prior, "log_prior", s) for s in states]
        else:
            prior = _read_table(log_prior, "log_prior", (len(states),))
        self._fill(
            [[_steps(x, "log_likelihood") for x in row] for row in table],
            [_steps(x, "log_prior") for x in prior],
        )

    def _declare(self, columns: Any, parameters: Any) -> None:
        read = only_labels(read_columns(columns), self.name)
        if not isinstance(parameters, Mapping) or not parameters:
            raise UsageError(
                "parameters must be a dictionary of their values by name.",
                hint='for example parameters={"p": [0.1, 0.2, 0.5]}',
            )
        named = tuple((name, _values(name, given)) for name, given in parameters.items())
        fill(self, columns=read, parameters=named)

    def _fill(self, table: list[list[int]], prior: list[int]) -> None:
        fill(self, likelihood_steps=tuple(map(tuple, table)), prior_steps=tuple(prior))
        fill(self, _ranges=self._computed_ranges())
        if not self._ranges:
            raise UsageError(
                "log_likelihood says the same of all records: there is nothing to learn from them."
            )

    @property
    def draw_names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.parameters)

    @property
    def n_values(self) -> tuple[int, ...]:
        """How many values each parameter can have."""
        return tuple(len(values) for _, values in self.parameters)

    @property
    def _shape(self) -> tuple[int, int]:
        """How many combinations of values and of labels there are."""
        return math.prod(self.n_values), math.prod(column.n_labels for column in self.columns)

    def table(self) -> np.ndarray:
        """Return the log-likelihood in steps: one axis for each parameter, the last for combinations of labels."""
        return np.array(self.likelihood_steps, dtype=np.int64).reshape(*self.n_values, -1)

    @property
    def update_ranges(self) -> tuple[Fraction, ...]:
        """For each parameter, the range of the change that replacing a record makes to its log-weights, at T = 1.

        With l(v, x), for values v, w and records x, x' the difference of the change at v and at w is [l(v, x') - l(w,
        x')] - [l(v, x) - l(w, x)]: for each pair of values it is largest where l(v, .) - l(w, .) is largest and least.
        Parameters that no record has part in cost nothing, and are left out.
        """
        return self._ranges

    def _computed_ranges(self) -> tuple[Fraction, ...]:
        table, found = self.table(), []
        for axis, n_values in enumerate(self.n_values):
            along = np.moveaxis(table, axis, 0)
            found.append(max(int(np.ptp(along - along[v], axis=-1).max()) for v in range(n_values)))
        return tuple(largest * STEP for largest in found if largest)

    def holds(self, draws: Draws) -> bool:
        """Tell whether all draws are among the declared values."""
        return all(
            draws[name].ndim == 1 and np.isin(draws[name], [float(v) for v in values]).all()
            for name, values in self.parameters
        )

    def constants(self) -> dict[str, Any]:
        return {
            "columns": encode_columns(self.columns),
            "parameters": [
                {"name": name, "values": [text(v) for v in values]} for name, values in self.parameters
            ],
            "log_likelihood": [list(row) for row in self.likelihood_steps],
            "log_prior": list(self.prior_steps),
        }

    @classmethod
    def from_constants(cls, constants: Mapping[str, Any]) -> Self:
        if set(constants) != set(_PARTS) or not isinstance(constants["parameters"], list):
            raise ValueError(f"a declared likelihood has {', '.join(_PARTS)}")
        for one in constants["parameters"]:
            told = isinstance(one, dict) and set(one) == {"name", "values"} and isinstance(one["name"], str)
            if not told or not are_texts(one["values"]):
                raise ValueError("a parameter of the likelihood has no name and values")
        named = {one["name"]: one["values"] for one in constants["parameters"]}
        if len(named) != len(constants["parameters"]):
            raise ValueError("a parameter of the likelihood is there twice")
        made = cls.__new__(cls)
        made._declare(decode_columns(constants["columns"]), named)
        shape = made._shape
        if math.prod(shape) > _MOST_NUMBERS:
            raise ValueError("the table of the likelihood is too large")
        table, prior = constants["log_likelihood"], constants["log_prior"]
        if not isinstance(table, list) or len(table) != shape[0]:
            raise ValueError("the table of the likelihood has another shape")
        made._fill([_whole_steps(row, shape[1]) for row in table], _whole_steps(prior, shape[0]))
        return made

    def row_log_density(
        self, draws: Draws, codes: np.ndarray, values: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the log-probability of every row for every draw; a missing label is summed over."""
        shape = tuple(column.n_labels for column in self.columns)
        log_p = (self.table() * float(STEP)).reshape(-1, *shape)
        for axis in range(1, log_p.ndim):
            log_p = np.concatenate([log_p, np.logaddexp.reduce(log_p, axis=axis, keepdims=True)], axis=axis)
        at = [np.searchsorted([float(v) for v in values], draws[name]) for name, values in self.parameters]
        states = np.ravel_multi_index(at, self.n_values)
        return log_p[states][:, *np.asarray(codes).T]


def _values(name: Any, given: Any) -> tuple[Fraction, ...]:
    """Read the values of a parameter: increasing, and different as floating-point numbers."""
    check_name(name, "the name of a parameter")
    wanted = f"between 2 and {_MOST_VALUES} numbers"
    read = tuple(
        exact(value, f"a value of {name:.60}")
        for value in listed(given, f"the values of {name:.60}", wanted, most=_MOST_VALUES + 1)
    )
    if not 2 <= len(read) <= _MOST_VALUES or any(float(low) >= float(high) for low, high in pairwise(read)):
        raise UsageError(f"the values of {name:.60} must be {wanted}, increasing.")
    return read


def _asked(function: Callable[..., Any], what: str, *given: dict[str, Any]) -> Any:
    """Call a function of the curator's; no row is there yet, so that its failure may be shown."""
    try:
        with np.errstate(all="ignore"):
            return float(function(*(dict(one) for one in given)))
    except Exception as problem:
        where = ", ".join(f"{name}={value}" for one in given for name, value in one.items())
        raise UsageError(f"{what} failed with {type(problem).__name__} at {where:.120}.") from None


def _read_table(given: Any, what: str, shape: tuple[int, ...]) -> Any:
    read = numbers(given, what)
    if read.shape != shape:
        size = " lists of ".join(map(str, shape))
        raise UsageError(f"{what} must be a function, or {size} numbers, got {shown(given):.60}.")
    return read.tolist()


def _steps(value: float, what: str) -> int:
    if not -_STEEPEST <= value <= _STEEPEST:
        raise UsageError(
            f"{what} must lie between {-_STEEPEST} and {_STEEPEST}, got {value:g}.",
            hint="keep away from values of the parameters for which a record is impossible",
        )
    return round(value / float(STEP))


def _whole_steps(row: Any, size: int) -> list[int]:
    """Read a list of logarithms in steps from a file, or raise ValueError."""
    if not isinstance(row, list) or len(row) != size:
        raise ValueError("the table of the likelihood has another shape")
    most = int(_STEEPEST / STEP)
    if not all(isinstance(x, int) and not isinstance(x, bool) and abs(x) <= most for x in row):
        raise ValueError("a logarithm of the likelihood is not a number of steps")
    return row
