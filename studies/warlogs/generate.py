"""Simulated log entries with the published shape of two leaked collections, which are not shipped.

What is public of the shape: how many entries, region codes and months; the median number of entries in a region and
month; which labels are most frequent in which state; that Iraq's regions changed their state after troops peaked in
autumn 2007; that Afghanistan's entries grew denser over the years (Foulds et al. 2016, section 5 and supplement E).
Everything else here is made up, with two facts of real logs kept: regions differ, and cells vary more than independent
entries would, so that no number of states fits exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

TYPES = (
    "friendly action",
    "explosive hazard",
    "enemy action",
    "criminal event",
    "suspicious incident",
    "non-combat event",
    "friendly fire",
    "other",
)
CATEGORIES = (
    "cache found/cleared",
    "ied found/cleared",
    "ied explosion",
    "direct fire",
    "indirect fire",
    "murder",
    "raid",
    "detention",
    "small unit actions",
    "cordon/search",
    "mine found/cleared",
    "ied false",
    "unexploded ordnance",
    "escalation of force",
    "kidnapping",
    "attack",
    "patrol",
    "show of force",
    "close air support",
    "accident",
    "ambush",
    "sniper",
    "arson",
    "other",
)
FACTIONS = ("friendly", "host_nation", "civilian", "enemy")
HARMS = ("wounded", "killed", "detained")
CASUALTIES = ("friendly_or_host_casualties", "civilian_casualties", "enemy_casualties")


@dataclass(frozen=True, eq=False)
class Theatre:
    """The declared shape of one collection, and the truth behind its simulation.

    Parameters
    ----------
    name, regions, months
        Declared before any entry is read. ``stray`` are region codes with next to no data, left out by declaration.
    sizes
        Entries a month in each region, and by what factor they grow over the whole time.
    profiles
        By state: probabilities of types, of categories, and of each casualty indicator.
    states
        The true state of each region and month.
    """

    name: str
    regions: tuple[str, ...]
    stray: tuple[str, ...]
    months: tuple[str, ...]
    sizes: tuple[float, ...]
    growth: float
    spread: float
    n_entries: int
    profiles: tuple[tuple[np.ndarray, ...], ...]
    states: np.ndarray
    #: How tightly regions follow their state's profile, and cells their region's: Dirichlet concentrations.
    regional: float
    local: float

    def cell_sizes(self, rng: np.random.Generator) -> np.ndarray:
        """Draw how many entries each region and month has."""
        ramp = self.growth ** np.linspace(-0.5, 0.5, len(self.months))
        expected = np.outer(self.sizes, ramp) * rng.lognormal(0, self.spread, self.states.shape)
        return rng.multinomial(self.n_entries, (expected / expected.sum()).ravel()).reshape(self.states.shape)

    def tables(self, rng: np.random.Generator) -> list[np.ndarray]:
        """Draw true counts, one array (regions, months, labels) for each feature."""
        sizes = self.cell_sizes(rng)
        out = []
        for feature in range(len(self.profiles[0])):
            mine = [
                rng.dirichlet(self.regional * state[feature], len(self.regions)) for state in self.profiles
            ]
            table = np.empty((*sizes.shape, len(self.profiles[0][feature])), dtype=np.int64)
            for place in np.ndindex(*sizes.shape):
                profile = mine[self.states[place]][place[0]]
                table[place] = rng.multinomial(sizes[place], rng.dirichlet(self.local * profile))
            out.append(table)
        return out

    def entries(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Draw raw log entries, one row each, as the collections have them: casualties counted by faction and harm."""
        tables = self.tables(rng)
        n_months = len(self.months)
        sizes = tables[0].sum(axis=2).ravel()
        cell = np.repeat(np.arange(sizes.size), sizes)
        columns: dict[str, np.ndarray] = {
            "region": np.array(self.regions, dtype=object)[cell // n_months],
            "month": np.array(self.months, dtype=object)[cell % n_months],
        }
        for name, labels, table in zip(("type", "category"), (TYPES, CATEGORIES), tables[:2], strict=True):
            columns[name] = np.array(labels, dtype=object)[_shuffled(table, rng)]
        hurt = [_shuffled(table, rng) == 1 for table in tables[2:]]
        ours = rng.random(cell.size) < 0.5
        touched = {
            "friendly": hurt[0] & ours,
            "host_nation": hurt[0] & ~ours,
            "civilian": hurt[1],
            "enemy": hurt[2],
        }
        for faction in FACTIONS:
            kind = rng.integers(len(HARMS), size=cell.size)
            number = 1 + rng.poisson(0.6, cell.size)
            for place, harm in enumerate(HARMS):
                columns[f"{faction}_{harm}"] = np.where(touched[faction] & (kind == place), number, 0)
        return self._with_strays(columns, rng)

    def _with_strays(self, columns: dict[str, np.ndarray], rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Put a few entries into the region codes that are not declared, and shuffle the rows."""
        n = len(columns["region"])
        stray = rng.choice(n, size=n // 1000, replace=False)
        columns["region"] = columns["region"].copy()
        columns["region"][stray] = np.array(self.stray, dtype=object)[
            rng.integers(len(self.stray), size=stray.size)
        ]
        order = rng.permutation(n)
        return {name: values[order] for name, values in columns.items()}


def _shuffled(table: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a label for each entry, cell after cell, in random order within each cell."""
    n_labels = table.shape[-1]
    labels = np.repeat(np.tile(np.arange(n_labels), table[..., 0].size), table.ravel())
    sizes = table.sum(axis=-1).ravel()
    cell = np.repeat(np.arange(sizes.size), sizes)
    return labels[np.lexsort((rng.random(labels.size), cell))]


def _profile(likely: dict[str, float], labels: tuple[str, ...]) -> np.ndarray:
    """Return probabilities: the named ones as given, the rest shared out evenly."""
    rest = (1 - sum(likely.values())) / (len(labels) - len(likely))
    return np.array([likely.get(label, rest) for label in labels])


def _state(
    types: dict[str, float], categories: dict[str, float], hurt: tuple[float, ...]
) -> tuple[np.ndarray, ...]:
    casualties = [np.array([1 - rate, rate]) for rate in hurt]
    return (_profile(types, TYPES), _profile(categories, CATEGORIES), *casualties)


def _months(first: int, last: int, without: tuple[str, ...] = ()) -> tuple[str, ...]:
    names = [f"{year}-{month:02d}" for year in range(first, last + 1) for month in range(1, 13)]
    return tuple(name for name in names if name not in without)


def iraq() -> Theatre:
    """Return the larger collection: 390,000 entries, two states, one change in each region in autumn 2007."""
    months = _months(2004, 2009, without=("2004-05",))
    regions = ("MND-BAGHDAD", "MND-C", "MND-CS", "MND-N", "MND-SE", "MNF-W", "MND-W")
    changes = ("2007-09", "2007-10", "2007-11", "2007-11", "2007-09", "2007-10", "2007-10")
    states = np.ones((len(regions), len(months)), dtype=np.int64)
    for region, change in enumerate(changes):
        states[region, months.index(change) :] = 0
    well = _state(
        {"friendly action": 0.42, "explosive hazard": 0.24, "enemy action": 0.10, "criminal event": 0.08},
        {
            "cache found/cleared": 0.24,
            "ied found/cleared": 0.12,
            "ied explosion": 0.08,
            "raid": 0.10,
            "detention": 0.10,
        },
        (0.07, 0.06, 0.16),
    )
    badly = _state(
        {"explosive hazard": 0.40, "enemy action": 0.22, "friendly action": 0.12, "criminal event": 0.14},
        {
            "ied explosion": 0.22,
            "ied found/cleared": 0.14,
            "direct fire": 0.14,
            "indirect fire": 0.08,
            "murder": 0.10,
        },
        (0.15, 0.19, 0.09),
    )
    return Theatre(
        "Iraq",
        regions,
        ("MND-S", "MND-NE"),
        months,
        sizes=(1110.0, 1075.0, 150.0, 1065.0, 100.0, 1075.0, 1060.0),
        growth=1.0,
        spread=0.12,
        n_entries=390_000,
        profiles=(well, badly),
        states=states,
        regional=800.0,
        local=500.0,
    )


def afghanistan() -> Theatre:
    """Return the smaller collection: 75,000 entries, three states, ever more entries."""
    months = _months(2004, 2009)
    regions = ("RC EAST", "RC SOUTH", "RC CAPITAL", "RC NORTH", "RC WEST", "UNKNOWN")
    at = months.index
    states = np.zeros((len(regions), len(months)), dtype=np.int64)
    for region, (second, third) in enumerate(
        [("2006-05", "2008-06"), ("2006-03", "2008-04"), ("2006-09", "2009-03"), ("2007-04", "2009-04"),
         ("2006-11", "2008-12"), ("2007-01", "2009-01")]
    ):  # fmt: skip
        states[region, at(second) :] = 1
        states[region, at(third) :] = 2
    early = _state(
        {
            "friendly action": 0.16,
            "explosive hazard": 0.30,
            "enemy action": 0.20,
            "suspicious incident": 0.16,
        },
        {
            "mine found/cleared": 0.22,
            "ied found/cleared": 0.12,
            "indirect fire": 0.14,
            "unexploded ordnance": 0.12,
        },
        (0.09, 0.03, 0.05),
    )
    middle = _state(
        {"enemy action": 0.46, "explosive hazard": 0.18, "friendly action": 0.10, "non-combat event": 0.14},
        {"direct fire": 0.34, "indirect fire": 0.16, "close air support": 0.12, "ied explosion": 0.06},
        (0.19, 0.10, 0.07),
    )
    late = _state(
        {"explosive hazard": 0.44, "enemy action": 0.24, "friendly action": 0.12, "criminal event": 0.08},
        {"ied explosion": 0.26, "ied found/cleared": 0.24, "direct fire": 0.12, "show of force": 0.08},
        (0.14, 0.13, 0.08),
    )
    return Theatre(
        "Afghanistan",
        regions,
        ("RC NONE", "MISSION SUPPORT"),
        months,
        sizes=(190.0, 160.0, 22.0, 26.0, 32.0, 26.0),
        growth=60.0,
        spread=0.2,
        n_entries=75_000,
        profiles=(early, middle, late),
        states=states,
        regional=800.0,
        local=500.0,
    )
