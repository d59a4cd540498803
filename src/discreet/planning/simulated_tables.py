"""Tables that a planned release may meet: simulated, summed exactly, and read under any budget.

A table's noise is drawn once, as standard Laplace or normal numbers, and scaled by each budget. So widths under two
budgets differ by the budgets and not by chance, and a width is a smooth function of the budget.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.curator.declare import declare
from discreet.curator.draw import read_totals
from discreet.curator.publish import privatize
from discreet.domain.declarations import Domain, Neighbors
from discreet.errors import UsageError
from discreet.families.record_sums import RecordSums
from discreet.inference.analyst import infer
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.noise import Laplace
from discreet.models.base import Model
from discreet.models.grouped import read_groups
from discreet.objects import as_array

#: Larger tables are simulated with so many records and scaled: a width depends on the shape of a table, not its digits.
_MOST_ROWS = 20_000
#: More groups are alike: the noise on a group does not depend on how many there are.
_MOST_GROUPS = 24
#: Draws of each posterior; the error of a quantile averages out over tables.
_DRAWS = 2000


@dataclass(frozen=True)
class Width:
    """The mean width of the interval, and the mean posterior standard deviation, over tables."""

    width: float
    sd: float


@dataclass(frozen=True)
class Tables:
    """Simulated tables: exact totals and standard noise of each."""

    model: Model
    domain: Domain
    columns: tuple[str, ...]
    neighbors: Neighbors
    n: int
    parameter: str
    prior: Any
    prob: float
    totals: tuple[tuple[int, ...], ...]
    uniforms: np.ndarray

    def width(self, mechanism: Mechanism, most: int | None = None) -> Width:
        """Return what posteriors look like under a mechanism, over the tables or the first ``most`` of them."""
        chosen = range(len(self.totals))[:: max(1, len(self.totals) // (most or len(self.totals)))]
        found = [self._read(mechanism, table) for table in chosen]
        return Width(*(float(np.mean(values)) for values in zip(*found, strict=True)))

    def _read(self, mechanism: Mechanism, table: int) -> tuple[float, float]:
        standard = iter(_standard(self.uniforms[table], mechanism))
        release = privatize(
            lambda noise: round(noise.width * next(standard)),
            self.totals[table],
            self.n,
            self.model,
            self.domain,
            mechanism,
            columns=self.columns,
            neighbors=self.neighbors,
        )
        found = infer(release, prior=self.prior, draws=_DRAWS, rng=table)
        each = found.values() if isinstance(found, Mapping) else [found]
        ends = [one.interval(self.prob)[self.parameter] for one in each]
        widths = [np.mean(np.subtract(high, low)) for low, high in ends]
        return float(np.mean(widths)), float(np.mean([np.mean(one.sd()[self.parameter]) for one in each]))


def _standard(uniforms: np.ndarray, mechanism: Mechanism) -> np.ndarray:
    """Return standard noise of the mechanism's kind at these probabilities."""
    from scipy import special

    if mechanism.name == Laplace.name:
        return np.where(uniforms < 0.5, np.log(2 * uniforms), -np.log(2 * (1 - uniforms)))
    return special.ndtri(uniforms)


def expected_tables(
    model: RecordSums,
    *,
    n: int,
    size: int,
    prior: Any,
    public: Any,
    groups: int | None,
    parameter: str | None,
    prob: float,
    neighbors: Neighbors,
    rng: np.random.Generator,
    **declared: Any,
) -> Tables:
    """Simulate ``size`` tables of ``n`` records as the prior, or what is public, lets one expect them."""
    name = model.draw_names[0] if parameter is None else parameter
    if name not in model.draw_names:
        raise UsageError(
            f"{model.name} has no parameter {name!r:.40}.", hint=f"it has {', '.join(model.draw_names)}"
        )
    whole, relation = model, neighbors
    columns, parts = ("column",), 1
    if groups is not None:
        parts, relation = min(groups, _MOST_GROUPS), "add_remove"
        whole = read_groups(model, "group", [f"group {k}" for k in range(parts)])
        columns = ("column", "group")
    each = max(1, n // (groups or 1))
    domain = model.read_domain(
        declared.get("bounds"), declared.get("outside") or "clip", declared.get("missing") or "count"
    )
    read_prior = model.read_prior(prior, domain)
    shapes = _shapes(model, domain, read_prior, public, size, rng)
    # group k of a table is like table k: groups differ as tables do
    blocks = [
        [
            _totals(model, _rows(model, domain, shapes[(t + g) % size], each, rng), each, relation, declared)
            for g in range(parts)
        ]
        for t in range(size)
    ]
    totals = tuple(tuple(value for block in table for value in block) for table in blocks)
    # antithetic in pairs, and spread evenly over tables in every coordinate
    half = rng.permuted(np.tile((np.arange((size + 1) // 2) + 0.5), (len(totals[0]), 1)), axis=1).T
    probabilities = half / ((size + 1) // 2)
    uniforms = np.concatenate([0.5 + probabilities / 2, 0.5 - probabilities / 2])[:size]
    flipped = rng.permuted(np.stack([uniforms, 1 - uniforms]), axis=0)[0]
    return Tables(
        whole,
        domain,
        columns,
        neighbors,
        each * parts,
        name,
        prior,
        prob,
        totals,
        np.clip(flipped, 1e-6, 1 - 1e-6),
    )


def _shapes(
    model: RecordSums, domain: Domain, prior: Any, public: Any, size: int, rng: np.random.Generator
) -> Sequence[Any]:
    """Return what each table is drawn from: parameters, or public records that are drawn again."""
    if public is None:
        return model.plausible(prior, domain, size, rng)
    if isinstance(public, Mapping):
        return [dict(public)] * size
    rows = as_array(public, labels=model.labels is not None)
    if rows is None or rows.ndim == 0 or len(rows) < 2:
        raise UsageError(
            "public must be rough values of the parameters, or a list of public records like those to be released.",
            hint=f'for example public={{"{model.draw_names[0]}": …}}',
        )
    return [rows] * size


def _rows(model: RecordSums, domain: Domain, shape: Any, n: int, rng: np.random.Generator) -> np.ndarray:
    size = min(n, _MOST_ROWS)
    if isinstance(shape, Mapping):
        return model.simulate(shape, domain, size, rng)
    return shape[rng.integers(len(shape), size=size)]


def _totals(
    model: RecordSums, rows: np.ndarray, n: int, neighbors: Neighbors, declared: Mapping[str, Any]
) -> list[int]:
    """Return the exact totals of rows, scaled to ``n`` records."""
    asked = declare(rows, model, Laplace(1), neighbors=neighbors, **declared)
    values = read_totals(asked)[0].values
    return [round(value * n / len(rows)) for value in values] if n > len(rows) else list(values)
