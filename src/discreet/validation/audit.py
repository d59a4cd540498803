"""The verb audit: a black box that tries to prove a privacy claim wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil, inf
from time import perf_counter
from typing import Any

import numpy as np

from discreet.arguments import MOST_DRAWS, Rng, flag, generator, probability, whole
from discreet.domain.bounds import read_pairs
from discreet.domain.columns import Numeric
from discreet.domain.declarations import Neighbors
from discreet.errors import DiscreetError, UsageError
from discreet.families import Bernoulli
from discreet.mechanisms import Mechanism
from discreet.models import Model
from discreet.privacy.guarantees import check_neighbors
from discreet.rational import Number
from discreet.validation.audit_result import Audit, Claim, StructureCheck
from discreet.validation.learned_events import learned
from discreet.validation.neighboring_tables import Pair, Person, TableSpace, search
from discreet.validation.outputs import Outputs, tabulated
from discreet.validation.privacy_bounds import delta_at_least, divergence_at_least, epsilon_at_least
from discreet.validation.progress import progress_bar
from discreet.validation.release_runs import ReleaseRuns

#: An event is chosen at a smaller error rate than it is judged by, because many are looked at.
_CHOICE_ERROR = 0.05
_FEWEST_RUNS = 200
# runs of the search: under each table that is tried, and under the best pairs
_TASTE, _PILOT = (30, 300), (200, 4000)
_CLIMB = 16
# draws at a time, between two steps of the progress bar
_PORTION = 5000


@dataclass(frozen=True)
class FunctionRuns:
    """A caller's function of a table; ``batched`` if it takes the number of runs as well and returns them all."""

    function: Callable[..., Any]
    bounds: Any = None
    neighbors: Neighbors = "replace"
    batched: bool = False

    @property
    def name(self) -> str:
        """The name of the function, or of its class."""
        return getattr(self.function, "__name__", type(self.function).__name__)[:60]

    def space(self, n: int) -> TableSpace:
        """Return lists of numbers between bounds, and beyond them."""
        if self.bounds is None:
            raise UsageError(
                "a function needs two neighboring tables, or bounds of the numbers in them.",
                hint="give pair=(table, table), or bounds=(low, high)",
            )
        pairs = read_pairs(self.bounds, "bounds")
        if len(pairs) != 1:
            raise UsageError("invented tables are lists of numbers: give one pair of bounds.")
        return TableSpace((Numeric("bounds", *pairs[0]),), self.neighbors, n, gaps=False)

    def draws(self, data: Any, times: int) -> Sequence[Any]:
        """Call the function so many times."""
        try:
            if not self.batched:
                return [self.function(data) for _ in range(times)]
            made = list(self.function(data, times))
        except DiscreetError:
            raise
        except Exception as problem:
            words = " ".join(str(problem).split())[:200]
            raise UsageError(f"the audited function raised {type(problem).__name__}: {words}") from problem
        if len(made) != times:
            raise UsageError(f"the audited function returned {len(made)} outputs instead of {times}.")
        return made


def audit(
    subject: Any,
    *,
    model: Model | None = None,
    pair: tuple[Any, Any] | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    runs: int = 100_000,
    confidence: float = 0.99,
    n: int = 4,
    batched: bool = False,
    checks: bool = True,
    end_to_end: int = 1000,
    rng: Rng = None,
    progress: bool | None = None,
    **declared: Any,
) -> Audit:
    """Try to prove a privacy claim wrong: run a mechanism under two neighboring tables until it tells them apart.

    Neighboring tables are invented, the worst that a search finds; no rows of anybody's are read and no budget is
    spent. Half of the runs choose an event that is likelier under one table than under the other, the other half count
    it, and Clopper and Pearson's bounds give an epsilon that the mechanism cannot be below.

    Parameters
    ----------
    subject
        What to audit: a model with the arguments of :func:`release` beside it,
        ``dc.audit(dc.Mean(), bounds=(0, 100), epsilon=1)``, or several by column; a mechanism that holds its budget,
        ``dc.audit(dc.mechanisms.Laplace(1))``; or any function of a table that returns what it would publish, as
        numbers, texts, and lists or dictionaries of them.
    model
        What a mechanism is audited on: :class:`Bernoulli` unless given.
    pair
        Two neighboring tables, instead of those of the search. Invent them: what an audit finds is not private.
    epsilon, delta, rho
        The budget of a release; of a function what it claims, if anything.
    runs
        Runs under each of the two tables.
    confidence
        Probability with which a claim that is true is not called wrong.
    n
        Records, or people, of invented tables.
    batched
        Whether a function takes the number of runs as its second argument, and returns that many outputs.
    checks
        Whether to check what needs no probability as well: of a release that order, engine and chunking of rows do not
        matter, that files differ in nothing but what is released, that randomness has no seed; how long it takes.
    end_to_end
        So many whole releases, half of them under each table, must agree with the runs in which only the draw was
        repeated.
    rng
        A seed or a generator for the search. What is audited draws its own randomness.
    progress
        Whether to show a progress bar on stderr; by default if that is a terminal.
    declared
        Further arguments of :func:`release`; of a function, ``bounds`` of the numbers in invented tables and
        ``neighbors``.

    Returns
    -------
    Audit
        Whose ``epsilon_lower`` is the bound, ``summary()`` the text and ``passed`` the verdict.

    References
    ----------
    Jagielski, Ullman and Oprea (2020), *Auditing differentially private machine learning*; Bichsel et al. (2021),
    *DP-Sniper*; Mironov (2012), *On significance of the least significant bits for differential privacy*.
    """
    runs = whole(runs, "runs", least=_FEWEST_RUNS, most=MOST_DRAWS)
    whole(end_to_end, "end_to_end", least=2)
    error, n = 1 - probability(confidence, "confidence"), whole(n, "n", most=100_000)
    rng = generator(rng)
    if progress is not None:
        flag(progress, "progress")
    start = perf_counter()
    budget = {"epsilon": epsilon, "delta": delta, "rho": rho}
    subject, claim = _read(subject, model, budget, declared, flag(batched, "batched"))
    with progress_bar(2 * runs, progress, "Auditing") as done:
        chosen, tables = _tables(subject, pair, claim, n, runs, rng)
        outputs = tabulated(*(_many(subject, table, runs, done) for table in tables))
    found = _bounds(outputs, claim, error)
    structure: tuple[StructureCheck, ...] = ()
    if flag(checks, "checks"):
        from discreet.validation.structure import function_checks, release_checks, support_check

        structure = (support_check(outputs, claim.epsilon, claim.delta or 0.0),)
        if isinstance(subject, ReleaseRuns):
            space = None if pair is not None else subject.space(n)
            structure += release_checks(subject, tables, outputs, space, end_to_end, rng)
        else:
            structure += function_checks(subject, tables[0])
    return Audit(
        subject.name,
        claim,
        confidence=1 - error,
        runs=runs,
        pair="those given" if chosen is None else chosen.in_words(),
        tables=tables,
        checks=structure,
        seconds=perf_counter() - start,
        **found,
    )


def _read(
    subject: Any, model: Any, budget: Mapping[str, Any], declared: dict[str, Any], batched: bool
) -> tuple[Any, Claim]:
    """Return what is to be run, and what is claimed of it."""
    if isinstance(subject, type) and issubclass(subject, Model | Mechanism):
        raise UsageError(f"subject is a class: write {subject.__name__}(…).")
    if isinstance(subject, Mechanism):
        told = [name for name, value in budget.items() if value is not None]
        if told:
            raise UsageError(f"a mechanism object holds its own budget: leave out {told[0]}.")
        runs = ReleaseRuns.of(Bernoulli() if model is None else model, {**declared, "mechanism": subject})
        return runs, Claim.of(runs.guarantee)
    if model is not None:
        raise UsageError("model is for the audit of a mechanism: leave it out.")
    if isinstance(subject, Model | Mapping):
        if batched:
            raise UsageError("batched is for functions: leave it out.")
        runs = ReleaseRuns.of(subject, {**declared, **budget})
        return runs, Claim.of(runs.guarantee)
    if not callable(subject):
        raise UsageError(
            f"an audit takes a model, a mechanism or a function, got {type(subject).__name__:.40}.",
            hint="for example dc.audit(dc.Bernoulli(), epsilon=1)",
        )
    unknown = [name for name in declared if name not in ("bounds", "neighbors")]
    if unknown:
        raise UsageError(f"the audit of a function takes no {unknown[0]:.40}.")
    if "neighbors" in declared:
        check_neighbors(declared["neighbors"])
    return FunctionRuns(subject, **declared, batched=batched), Claim.read(**budget)


def _tables(
    subject: FunctionRuns | ReleaseRuns,
    pair: Any,
    claim: Claim,
    n: int,
    runs: int,
    rng: np.random.Generator,
) -> tuple[Pair | None, tuple[Any, Any]]:
    """Return two neighboring tables: the caller's, or the worst that a search finds."""
    if pair is not None:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise UsageError("pair must be two neighboring tables, (table, table).")
        return None, (pair[0], pair[1])
    space = subject.space(n)
    is_list = isinstance(subject, FunctionRuns)

    def table(people: tuple[Person, ...]) -> Any:
        made = space.records(people)
        return made["bounds"] if is_list else made

    def draw(people: tuple[Person, ...], times: int) -> Sequence[Any]:
        return subject.draws(table(people), times)

    taste, pilot = (int(np.clip(runs // share, *ends)) for share, ends in ((150, _TASTE), (20, _PILOT)))
    candidates = search(space, draw, rng, times=taste, steps=_CLIMB)
    best, chosen = -inf, candidates[0]
    aim = partial(epsilon_at_least, error=_CHOICE_ERROR, delta=claim.delta)
    for one in candidates if len(candidates) > 1 else ():
        outputs = tabulated(*(draw(people, pilot) for people in one.people()))
        held = outputs.half(0.5, 1)
        hits = _ordered(learned(outputs).event(aim), held)
        reached = inf if outputs.deterministic else float(aim(*hits, len(held[0])))
        if reached > best:
            best, chosen = reached, one
    first, second = chosen.people()
    return chosen, (table(first), table(second))


def _many(
    subject: FunctionRuns | ReleaseRuns, table: Any, runs: int, done: Callable[[int], None]
) -> list[Any]:
    """Return all outputs under one table, portion by portion."""
    made: list[Any] = []
    portions = ceil(runs / _PORTION)
    for at in range(portions):
        size = runs * (at + 1) // portions - len(made)
        made += subject.draws(table, size)
        done(size)
    return made


def _ordered(event: Any, sides: tuple[np.ndarray, np.ndarray]) -> tuple[int, int]:
    """Return the hits of an event, first under the table that it speaks for."""
    one, other = (event.hits(side) for side in sides)
    return (one, other) if event.above else (other, one)


def _bounds(outputs: Outputs, claim: Claim, error: float) -> dict[str, Any]:
    """Choose events on the first half of the runs, and bound the privacy loss on the second."""
    learnt, counted = learned(outputs), outputs.half(0.5, 1)
    runs, each = len(counted[0]), error / claim.parts
    event = learnt.event(partial(epsilon_at_least, error=error * _CHOICE_ERROR, delta=claim.delta))
    hits = _ordered(event, counted)
    low = float(epsilon_at_least(*hits, runs, error=each, delta=claim.delta))
    if outputs.deterministic and (claim.epsilon is None or low > claim.epsilon):
        low = inf
    delta = None
    if claim.epsilon is not None:
        aim = partial(delta_at_least, epsilon=claim.epsilon)
        other = learnt.event(partial(aim, error=error * _CHOICE_ERROR))
        delta = float(aim(*_ordered(other, counted), runs, error=error))
    renyi: dict[float, float] = {}
    if claim.renyi:
        cells, swapped = learnt.partition(dict(claim.renyi), each)
        first, second = (cells.hits(side) for side in (counted[::-1] if swapped else counted))
        renyi = {
            order: divergence_at_least(first, second, runs, error=each, order=order) for order in claim.renyi
        }
    return {
        "epsilon_lower": low,
        "delta_lower": delta,
        "renyi_lower": renyi,
        "event": event.how,
        "hits": hits,
        "warnings": tuple(_cautions(outputs, claim, runs)),
    }


def _cautions(outputs: Outputs, claim: Claim, runs: int) -> list[str]:
    """Say what so many runs cannot show."""
    said = []
    if outputs.constant:
        said.append("all outputs under both tables were the same, so this pair says nothing")
    if claim.epsilon is not None and np.log(runs / 10) < claim.epsilon:
        said.append(
            f"{2 * runs:,} runs cannot refute so large an epsilon: events are at most 1 in {runs:,} rare"
        )
    if 0 < claim.delta < 10 / runs:
        said.append(
            f"{2 * runs:,} runs do not see events as rare as delta = {claim.delta:g}; try a larger delta"
        )
    return said
