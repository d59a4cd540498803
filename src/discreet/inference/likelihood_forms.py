r"""Likelihoods of a release as formulas of its parameter, for NumPy, JAX, PyTensor and Stan alike.

* Shares of two labels: what was released depends on the counts (no, yes) alone, so that

      p(y | p) = sum over (no, yes) of  w(no, yes) p^yes (1 - p)^no,

  with weights w that hold the noise, the ways to choose, and the prior on the number of usable records.
* Shares of several labels: the same, one label after the other: a convolution over counts.
* One parameter of another family: its logarithm at points, joined by a cubic curve.
* Any model: what was released given the totals behind it, which are then latent in a model of one's own.

All is up to a constant that does not depend on the parameter.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.special import logsumexp

# stands for the logarithm of 0: sums, and gradients of sums, stay numbers
_NEVER = -1e30
# Probabilities of 0 and 1 have logarithms all the same.
_LEAST = 1e-300


@dataclass(frozen=True)
class Arrays:
    """A library of arrays: its module, its log-sum-exp over the last axis, and how it takes arrays of NumPy."""

    xp: Any
    log_sum_exp: Any
    array: Any


NUMPY = Arrays(np, lambda x: logsumexp(x, axis=-1), np.asarray)


class Form(ABC):
    """A likelihood as a formula of one parameter, a number or a vector."""

    #: Name of the parameter.
    parameter: str
    #: How many axes one value of it has.
    axes: ClassVar[int] = 0

    @property
    @abstractmethod
    def terms(self) -> int:
        """How many numbers one value takes to evaluate, about."""

    @abstractmethod
    def log_prob(self, theta: Any, arrays: Arrays) -> Any:
        """Return the log likelihood, vectorised over the leading axes of ``theta``."""

    @abstractmethod
    def stan_function(self) -> str:
        """Return the body of a Stan function of the parameter ``theta``."""

    @property
    @abstractmethod
    def stan_type(self) -> tuple[str, str]:
        """The parameter's type in Stan: as an argument, and with its limits as a parameter."""


@dataclass(frozen=True)
class PairsForm(Form):
    """Two labels: counts of no and of yes, and their log weights."""

    no: np.ndarray
    yes: np.ndarray
    log_weight: np.ndarray
    parameter = "p"

    @property
    def terms(self) -> int:
        return self.no.size

    def log_prob(self, theta: Any, arrays: Arrays) -> Any:
        xp = arrays.xp
        p = theta[..., None]
        log_p, log_q = xp.log(xp.clip(p, _LEAST, 1.0)), xp.log(xp.clip(1.0 - p, _LEAST, 1.0))
        return arrays.log_sum_exp(self.log_weight + self.yes * log_p + self.no * log_q)

    def stan_function(self) -> str:
        size = self.no.size
        return (
            f"  vector[{size}] no = {_column(self.no)};\n"
            f"  vector[{size}] yes = {_column(self.yes)};\n"
            f"  vector[{size}] log_weight = {_column(self.log_weight)};\n"
            "  return log_sum_exp(log_weight + yes * log(theta) + no * log1m(theta));\n"
        )

    @property
    def stan_type(self) -> tuple[str, str]:
        return "real", "real<lower=0, upper=1>"


@dataclass(frozen=True)
class CellsForm(Form):
    """Several labels: of each the first count, and log weights of the counts from there on; and those of totals."""

    low: tuple[int, ...]
    log_weight: tuple[np.ndarray, ...]
    total_low: int
    log_total: np.ndarray
    parameter = "p"
    axes = 1

    @property
    def terms(self) -> int:
        widest = max(weight.size for weight in self.log_weight)
        return widest * sum(weight.size for weight in self.log_weight)

    def log_prob(self, theta: Any, arrays: Arrays) -> Any:
        xp = arrays.xp
        log_p = xp.log(xp.clip(theta, _LEAST, 1.0))
        cells = [
            weight + (first + np.arange(weight.size)) * log_p[..., k, None]
            for k, (first, weight) in enumerate(zip(self.low, self.log_weight, strict=True))
        ]
        height, low, size = cells[0], self.low[0], self.log_weight[0].size
        for k in range(1, len(cells)):
            first, width = self.low[k], self.log_weight[k].size
            last = k == len(cells) - 1
            totals = (
                self.total_low + np.arange(self.log_total.size)
                if last
                else np.arange(size + width - 1) + low + first
            )
            # the count of this label along the last axis, what is left of the total for the labels before
            rest = totals[:, None] - first - np.arange(width)[None, :] - low
            inside = (rest >= 0) & (rest < size)
            terms = height[..., np.where(inside, rest, 0)] + cells[k][..., None, :]
            height = arrays.log_sum_exp(xp.where(inside, terms, _NEVER))
            low, size = int(totals[0]), totals.size
        return arrays.log_sum_exp(height + self.log_total)

    def stan_function(self) -> str:
        cells = len(self.low)
        starts = np.concatenate([[0], np.cumsum([weight.size for weight in self.log_weight])])
        return (
            f"  array[{cells}] int low = {_array(self.low)};\n"
            f"  array[{cells + 1}] int start = {_array(starts)};\n"
            f"  vector[{starts[-1]}] log_weight = {_column(np.concatenate(self.log_weight))};\n"
            f"  vector[{self.log_total.size}] log_total = {_column(self.log_total)};\n"
            f"  int total_low = {self.total_low};\n"
            f"  int most = {starts[-1] - cells + 1};\n"
            "  int at = low[1];\n"
            "  int size = start[2];\n"
            "  vector[most] height = rep_vector(negative_infinity(), most);\n"
            "  for (i in 1:size) height[i] = log_weight[i] + (low[1] + i - 1) * log(theta[1]);\n"
            f"  for (k in 2:{cells}) {{\n"
            "    int width = start[k + 1] - start[k];\n"
            "    vector[most] joined = rep_vector(negative_infinity(), most);\n"
            "    vector[width] cell;\n"
            "    for (j in 1:width) cell[j] = log_weight[start[k] + j] + (low[k] + j - 1) * log(theta[k]);\n"
            "    for (t in 1:(size + width - 1)) {\n"
            "      int first = max(1, t - size + 1);\n"
            "      int last = min(width, t);\n"
            "      vector[last - first + 1] terms;\n"
            "      for (j in first:last) terms[j - first + 1] = cell[j] + height[t - j + 1];\n"
            "      joined[t] = log_sum_exp(terms);\n"
            "    }\n"
            "    height = joined;\n"
            "    size += width - 1;\n"
            "    at += low[k];\n"
            "  }\n"
            "  vector[num_elements(log_total)] whole = log_total;\n"
            "  for (t in 1:num_elements(whole)) {\n"
            "    int i = total_low + t - at;\n"
            "    whole[t] += (i >= 1 && i <= size) ? height[i] : negative_infinity();\n"
            "  }\n"
            "  return log_sum_exp(whole);\n"
        )

    @property
    def stan_type(self) -> tuple[str, str]:
        return "vector", f"simplex[{len(self.low)}]"


@dataclass(frozen=True)
class CurveForm(Form):
    """One parameter: a piecewise cubic of its logarithm, its logit or itself, and straight lines beyond.

    ``pieces[i]`` are the coefficients on the i-th interval of ``points``, the highest power first, in the distance from
    its beginning.
    """

    parameter: str
    axis: Literal["log", "logit", "identity"]
    points: np.ndarray
    pieces: np.ndarray

    @property
    def terms(self) -> int:
        return self.pieces.size

    def log_prob(self, theta: Any, arrays: Arrays) -> Any:
        xp = arrays.xp
        if self.axis == "identity":
            t = theta
        else:
            t = xp.log(xp.clip(theta, _LEAST, np.inf))
            if self.axis == "logit":
                t = t - xp.log(xp.clip(1.0 - theta, _LEAST, np.inf))
        points, pieces = arrays.array(self.points), arrays.array(self.pieces)
        inside = xp.clip(t, self.points[0], self.points[-1])
        # the last interval holds its end too
        i = xp.clip(xp.searchsorted(points, inside, side="right") - 1, 0, self.points.size - 2)
        x, (a, b, c, d) = inside - points[i], (pieces[i, j] for j in range(4))
        slope = (3 * a * x + 2 * b) * x + c
        return ((a * x + b) * x + c) * x + d + slope * (t - inside)

    def stan_function(self) -> str:
        n = self.points.size
        axis = {"log": "log(theta)", "logit": "logit(theta)", "identity": "theta"}[self.axis]
        rows = ", ".join(f"[{', '.join(map(_shown, row))}]" for row in self.pieces.tolist())
        return (
            f"  vector[{n}] points = {_column(self.points)};\n"
            f"  matrix[{n - 1}, 4] piece = [{rows}];\n"
            f"  real t = {axis};\n"
            f"  real inside = fmin(fmax(t, points[1]), points[{n}]);\n"
            "  int i = 1;\n"
            f"  while (i < {n - 1} && points[i + 1] <= inside) i += 1;\n"
            "  real x = inside - points[i];\n"
            "  real slope = (3 * piece[i, 1] * x + 2 * piece[i, 2]) * x + piece[i, 3];\n"
            "  return ((piece[i, 1] * x + piece[i, 2]) * x + piece[i, 3]) * x + piece[i, 4] + slope * (t - inside);\n"
        )

    @property
    def stan_type(self) -> tuple[str, str]:
        limits = {"log": "real<lower=0>", "logit": "real<lower=0, upper=1>", "identity": "real"}
        return "real", limits[self.axis]


@dataclass(frozen=True)
class TotalsForm(Form):
    """The noise alone: the released numbers given the exact totals, or counts, that they stand for.

    ``width`` is the scale of Laplace noise, or the sigma of Gaussian noise. Between the points of the grid it is the
    same formula, so that totals may be real numbers in a sampler that has no others.
    """

    released: np.ndarray
    width: np.ndarray
    laplace: np.ndarray
    parameter = "totals"
    axes = 1

    @property
    def terms(self) -> int:
        return self.released.size

    def log_prob(self, theta: Any, arrays: Arrays) -> Any:
        xp = arrays.xp
        away = xp.abs(theta - self.released) / self.width
        return 0.0 - xp.sum(xp.where(self.laplace, away, away**2 / 2), axis=-1)

    def stan_function(self) -> str:
        size = self.released.size
        return (
            f"  vector[{size}] released = {_column(self.released)};\n"
            f"  vector[{size}] width = {_column(self.width)};\n"
            f"  array[{size}] int laplace = {_array(self.laplace)};\n"
            "  real found = 0;\n"
            f"  for (i in 1:{size}) {{\n"
            "    real away = abs(theta[i] - released[i]) / width[i];\n"
            "    found -= laplace[i] ? away : square(away) / 2;\n"
            "  }\n"
            "  return found;\n"
        )

    @property
    def stan_type(self) -> tuple[str, str]:
        return "vector", f"vector[{self.released.size}]"


def _shown(value: float) -> str:
    return repr(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def _column(values: Any) -> str:
    return f"[{', '.join(_shown(v) for v in np.asarray(values, dtype=float).tolist())}]'"


def _array(values: Any) -> str:
    return f"{{{', '.join(str(int(v)) for v in values)}}}"
