"""Tables that a planned release may meet: simulated, summed exactly, and read under any budget.

A table's noise is drawn once, as standard Laplace or normal numbers, and scaled by each budget. So widths under two
budgets differ by the budgets and not by chance, and a width is a smooth function of the budget.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from discreet.arguments import generator
from discreet.curator.declare import declare
from discreet.curator.draw import read_totals
from discreet.curator.publish import privatize
from discreet.domain.declarations import Domain, Neighbors
from discreet.domain.unit import Unit
from discreet.errors import UsageError
from discreet.families.record_sums import RecordSums
from discreet.inference.analyst import infer
from discreet.inference.engine import TooLong
from discreet.inference.posterior import Posterior
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.k_norm import KNorm
from discreet.mechanisms.noise import Laplace
from discreet.models.base import Model
from discreet.models.grouped import read_groups
from discreet.objects import as_array
from discreet.planning.public_tables import public_columns
from discreet.planning.simulated_people import COLUMN, People
from discreet.samplers.secure import RandomSource

#: Larger tables are simulated with so many records and scaled: a width depends on the shape of a table, not its digits.
_MOST_ROWS = 20_000
#: More groups are alike: the noise on a group does not depend on how many there are.
_MOST_GROUPS = 3
#: Draws of each posterior; the error of a quantile averages out over tables.
_DRAWS = 2000
_PRIOR_DRAWS = 20_000
#: Kinds of models, as they name their engines, of which chains are faster than other engines.
_CHAINS = ("family", "multivariate_normal")
#: Tables of which one is like the other are read so often.
_ALIKE = 3


@dataclass(frozen=True)
class Width:
    """The width of the interval and the posterior standard deviation of each table."""

    widths: np.ndarray
    sds: np.ndarray

    @property
    def width(self) -> float:
        """The mean width over tables."""
        return float(self.widths.mean())

    @property
    def usual(self) -> tuple[float, float]:
        """The range of widths of four of five tables."""
        low, high = np.quantile(self.widths, [0.1, 0.9])
        return float(low), float(high)

    @property
    def sd(self) -> float:
        """The mean standard deviation over tables."""
        return float(self.sds.mean())


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
    #: Whether all tables are drawn from the same parameters or records.
    alike: bool = False
    #: Whether there are chains that are much faster than other engines; their errors average out over tables.
    chains: bool = False
    unit: Unit | None = None
    #: Numbers of the parameter, each in its own unit, that widths are averaged over; none if it is one.
    averaged: tuple[str, ...] = ()
    _known: dict[Any, Width] = field(default_factory=dict, repr=False, compare=False)

    def width(self, mechanism: Mechanism, most: int | None = None) -> Width:
        """Return what posteriors look like under a mechanism, over the tables or ``most`` of them."""
        key = (mechanism.guarantee(self.neighbors), most)
        if key not in self._known:
            self._known[key] = self._simulated(mechanism, most)
        return self._known[key]

    def width_without_noise(self, endless: Mechanism) -> Width:
        """Return what posteriors look like if there is next to no noise."""
        return self.width(endless, _ALIKE if self.alike else None)

    def width_of_noise(self, nothing: Mechanism) -> Width:
        """Return what posteriors look like if there is nothing but noise: one like the other."""
        if self._of_one_number:
            prior = self.model.read_prior(self.prior, self.domain)
            return Width(
                *(np.array([one]) for one in self._measured(prior.sample(_PRIOR_DRAWS, generator(0))))
            )
        return self.width(nothing, _ALIKE)

    @property
    def _of_one_number(self) -> bool:
        """Whether chains draw a single number: they hardly move if there is nothing but noise."""
        return self.chains and len(self.model.draw_names) == 1

    def _simulated(self, mechanism: Mechanism, most: int | None) -> Width:
        size = len(self.totals)
        chosen = range(size)[:: max(1, size // min(size, most or size))]
        engine = "gibbs" if self.chains else "auto"
        found = [self._read(mechanism, table, engine) for table in chosen]
        return Width(*(np.array(values) for values in zip(*found, strict=True)))

    def naming(self, mechanism: Mechanism) -> Tables:
        """Return the tables with a parameter that the posterior has: by default what it has most numbers of."""
        one = self._posteriors(mechanism, 0, "auto", 100)[0]
        alone = tuple(one.scalars())
        # a feature stands for its coefficient
        mine = [full for full in alone if full.endswith(f"[{self.parameter}]")]
        asked = mine[0] if len(mine) == 1 else self.parameter
        if asked and asked not in (*one.draws, *alone):
            raise _no_parameter(self.model, asked, dict.fromkeys((*one.draws, *alone)))
        name = asked or max(one.draws, key=lambda name: one.draws[name].ndim)
        averaged = tuple(full for full in alone if full.startswith(f"{name}["))
        return replace(self, parameter=name, averaged=averaged if len(averaged) > 1 else ())

    def _posteriors(self, mechanism: Mechanism, table: int, engine: Any, draws: int) -> list[Posterior]:
        """Return the posterior of a table, or of each of its groups."""
        # the same for every budget, but for its scale
        source = RandomSource.seeded(np.random.default_rng(table))
        standard = iter(_standard(self.uniforms[table], mechanism))
        release = privatize(
            source.noise
            if mechanism.name == KNorm.name
            else lambda noise: round(noise.width * next(standard)),
            self.totals[table],
            self.n,
            self.model,
            self.domain,
            mechanism,
            columns=self.columns,
            neighbors=self.neighbors,
            unit=self.unit,
            coin=source.coin,
        )
        try:
            found = infer(release, prior=self.prior, engine=engine, draws=draws, rng=table)
        except TooLong:
            if not self.model.slow_in_words:
                raise
            raise TooLong(
                "a plan reads many tables, and this model takes too long for that.",
                hint=f"plan for fewer terms: {self.model.slow_in_words}",
            ) from None
        return list(found.values()) if isinstance(found, Mapping) else [found]

    def _read(self, mechanism: Mechanism, table: int, engine: Any) -> tuple[float, float]:
        each = self._posteriors(mechanism, table, engine, _DRAWS)
        draws = [
            one.draws[self.parameter] if self.parameter in one.draws else one.scalars()[self.parameter]
            for one in each
        ]
        width, sd = np.mean([self._measured(values) for values in draws], axis=0)
        return float(width), float(sd)

    def _measured(self, draws: np.ndarray) -> tuple[float, float]:
        """Return the width of the interval of draws and their standard deviation, over all entries."""
        low, high = np.quantile(draws, [(1 - self.prob) / 2, (1 + self.prob) / 2], axis=0)
        return float(np.mean(high - low)), float(np.mean(draws.std(axis=0, ddof=1)))


def _standard(uniforms: np.ndarray, mechanism: Mechanism) -> np.ndarray:
    """Return standard noise of the mechanism's kind at these probabilities."""
    from scipy import special

    if mechanism.name == Laplace.name:
        return np.where(uniforms < 0.5, np.log(2 * uniforms), -np.log(2 * (1 - uniforms)))
    return special.ndtri(uniforms)


def expected_tables(
    model: Model,
    *,
    mechanism: Mechanism,
    n: int,
    size: int,
    prior: Any,
    public: Any,
    groups: int | None,
    people: People | None,
    parameter: str | None,
    prob: float,
    neighbors: Neighbors,
    rng: np.random.Generator,
    **declared: Any,
) -> Tables:
    """Simulate ``size`` tables of ``n`` records, or people, as the prior, or what is public, lets one expect them."""
    own = model.read_columns(None)
    name = parameter or ("" if own else model.draw_names[0])
    if own is None and name.partition("[")[0] not in model.draw_names:
        raise _no_parameter(model, name, model.draw_names)
    single = model = mechanism.suited(model)
    if people is not None:
        model = people.suited(model)
    whole, relation = model, neighbors
    columns, parts = own or (COLUMN,), 1
    if groups is not None:
        parts, relation = min(groups, _MOST_GROUPS), "add_remove"
        whole = read_groups(model, "group", [f"group {k}" for k in range(parts)])
        columns = (COLUMN, "group")
    each = max(1, n // (groups or 1))
    domain = model.read_domain(
        declared.get("bounds"), declared.get("outside") or "clip", declared.get("missing") or "count"
    )
    unit = None if people is None else people.unit(model, columns, domain)
    if own is None:
        family = single.require(RecordSums, "a plan is for a family, or for a model with public records")
        rough = None if people is not None and people.is_table(public) else public
        shapes = _shapes(family, domain, family.read_prior(prior, domain), rough, size, rng)
        drawn = [lambda n, shape=shape: _rows(family, domain, shape, n, rng) for shape in shapes]
        if people is not None:
            drawn = [people.rows(one, public, rng) for one in drawn]
            declared |= people.declared
    else:
        table = public_columns(own, public)
        drawn = [lambda n: resampled(table, n, rng)] * size
    # group k of a table is like table k: groups differ as tables do
    blocks = [
        [_totals(model, drawn[(t + g) % size], each, mechanism, relation, declared) for g in range(parts)]
        for t in range(size)
    ]
    totals = tuple(tuple(value for block in table for value in block) for table in blocks)
    # antithetic in pairs, and spread evenly over tables in every coordinate
    half = rng.permuted(np.tile((np.arange((size + 1) // 2) + 0.5), (len(totals[0]), 1)), axis=1).T
    probabilities = half / ((size + 1) // 2)
    uniforms = np.concatenate([0.5 + probabilities / 2, 0.5 - probabilities / 2])[:size]
    flipped = rng.permuted(np.stack([uniforms, 1 - uniforms]), axis=0)[0]
    tables = Tables(
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
        alike=public is not None,
        chains=model.engines in _CHAINS,
        unit=unit,
    )
    return tables if own is None else tables.naming(mechanism)


def _no_parameter(model: Model, name: str, names: Iterable[str]) -> UsageError:
    return UsageError(f"{model.name} has no parameter {name!r:.40}.", hint=f"it has {', '.join(names)}")


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
    if isinstance(shape, Mapping):
        return model.simulate(shape, domain, n, rng)
    return shape[rng.integers(len(shape), size=n)]


def resampled(table: Mapping[str, np.ndarray], n: int, rng: np.random.Generator) -> dict[str, list[Any]]:
    """Draw records of a table again, with replacement."""
    at = rng.integers(len(next(iter(table.values()))), size=n)
    return {name: column[at].tolist() for name, column in table.items()}


def _totals(
    model: Model,
    draw: Callable[[int], Any],
    n: int,
    mechanism: Mechanism,
    neighbors: Neighbors,
    declared: Mapping[str, Any],
) -> list[int]:
    """Return the exact totals of ``n`` records, those of fewer scaled if there are too many to be drawn."""
    size = min(n, _MOST_ROWS)
    asked = declare(draw(size), model, mechanism, neighbors=neighbors, **declared)
    values = read_totals(asked)[0].values
    return [round(value * n / size) for value in values] if n > size else list(values)
