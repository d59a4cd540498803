"""Checks of a release path that need no adversary: what must not matter, and what must not be seen.

Row order, engine and chunking must not change a single integer of the totals; two files must differ in nothing but what
was released; randomness must not repeat itself, in this process or in another; and whole releases must be distributed
as the runs in which only the draw was repeated.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from subprocess import Popen, TimeoutExpired
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from discreet.curator.draw import draw
from discreet.errors import DiscreetError
from discreet.mechanisms.base import Totals
from discreet.samplers.secure import SECURE
from discreet.validation.audit_result import StructureCheck
from discreet.validation.exact_changes import exact_changes
from discreet.validation.learned_events import output_classes
from discreet.validation.neighboring_tables import TableSpace
from discreet.validation.outputs import Outputs, tabulated
from discreet.validation.privacy_bounds import epsilon_at_least
from discreet.validation.release_runs import KEY, ReleaseRuns, same_data

if TYPE_CHECKING:
    from discreet.validation.audit import FunctionRuns

#: A distribution is called another one by chance this often at most, over all comparisons of a check.
FALSE_ALARM = 1e-4
#: People of the table on which order, engine and chunking are varied, and how often it is cut in two.
_PEOPLE, _CUTS = 61, 8
_FRESH_RUNS, _MOST_FRESH, _PATIENCE = 3, 60, 600
# two interpreters that draw on their own may release the same so rarely
_BY_CHANCE = 1e-6
# outputs of a class that the other table never gives, to be looked at
_SEVERAL = 8
#: What two files may differ in: who and when, and what was released.
_FREE = {"id", "sha256", "statistics.values", "samples.draws", "samples.noisy", "fit_check"}
_FREE_BOUNDS = {"domain.bounds", "statistics.shift", "statistics.half"}
_FREE_GROUPS = {"model", "statistics", "mechanism", "group_selection"}


def release_checks(
    runs: ReleaseRuns,
    tables: tuple[Any, Any],
    outputs: Outputs,
    space: TableSpace | None,
    end_to_end: int,
    rng: np.random.Generator,
) -> tuple[StructureCheck, ...]:
    """Check a release path; ``space`` are its tables, None where the caller gave two and no other can be invented."""
    times = _fresh_runs(outputs)
    fresh = [runs.in_fresh_process(tables[0], times) for _ in range(2)] if isinstance(tables[0], dict) else []
    try:
        found = list(_whole_releases(runs, tables, outputs, space, end_to_end))
    except DiscreetError as problem:
        found = [StructureCheck("end to end", False, f"a whole release failed: {problem.message}")]
    found += _noise(runs, tables, outputs, rng)
    if space is not None:
        found += exact_changes(runs, space, rng)
        found += _invariances(runs, space, rng)
    return (*found, _fresh_processes(fresh))


def function_checks(function: FunctionRuns, table: Any) -> tuple[StructureCheck, ...]:
    """Check where a caller's function takes its randomness from, as far as that can be seen."""
    before = _generator_states()
    function.draws(table, 1)
    moved = [name for name, state in _generator_states().items() if state != before[name]]
    if moved:
        words = f"it draws from {' and '.join(moved)}, which a seed repeats and outputs give away"
        return (StructureCheck("randomness", False, words),)
    return ()


def _generator_states() -> dict[str, Any]:
    """Return the states of generators that everybody in a process shares."""
    shared = np.random.get_state(legacy=False)  # noqa: NPY002
    return {
        "NumPy's global generator": repr(shared["state"]["key"].tobytes()) + str(shared["state"]["pos"]),  # pyright: ignore
        "Python's global generator": random.getstate(),
    }


def support_check(outputs: Outputs, claimed: float | None, delta: float = 0.0) -> StructureCheck:
    """Check that what one table can give out the other can too: values that repeat, and how fine numbers are.

    Classes of outputs that only one table gave in the first half of the runs are counted in the second; with ``delta``
    there may be some, which have no more than that probability.
    """
    train, counted = outputs.half(0, 0.5), outputs.half(0.5, 1)
    worst, share = 0.0, 0.0
    for at in range(len(outputs.names)):
        for classes in output_classes(np.concatenate([train[0][:, at], train[1][:, at]])):
            seen = [classes(side[:, at]) for side in train]
            for flip in (False, True):
                alone = _only(*(seen[::-1] if flip else seen))
                sides = [
                    np.isin(classes(side[:, at]), alone) for side in (counted[::-1] if flip else counted)
                ]
                hits = [int(side.sum()) for side in sides]
                found = float(
                    epsilon_at_least(
                        hits[0], hits[1], len(sides[0]), error=FALSE_ALARM / len(outputs.names), delta=delta
                    )
                )
                if hits[1] == 0 and found > worst:
                    worst, share = found, hits[0] / len(sides[0])
    holes = worst > (claimed if claimed is not None else np.inf)
    words = "both tables give out the same kinds of values"
    if holes:
        words = f"{100 * share:.3g}% of the outputs of one table are of a kind that the other never gives"
    return StructureCheck("support", not holes, words)


def _only(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Return the classes that one side has several times, and the other never."""
    found, times = np.unique(ours, return_counts=True)
    return np.setdiff1d(found[times >= _SEVERAL], theirs)


# -- whole releases ------------------------------------------------------------------------------------


def _whole_releases(
    runs: ReleaseRuns, tables: tuple[Any, Any], outputs: Outputs, space: TableSpace | None, end_to_end: int
) -> Iterator[StructureCheck]:
    """Release end to end under both tables in turn, and compare; of other tables as large, only the files."""
    held: list[list[Any]] = [[], []]
    texts: list[list[str]] = [[], []]
    seconds: list[list[float]] = [[], []]
    shared = _generator_states()
    for at in range(end_to_end):
        which = at % 2
        start = perf_counter()
        output, text = runs.whole(tables[which])
        seconds[which].append(perf_counter() - start)
        held[which].append(output)
        texts[which].append(text)
    moved = [name for name, state in _generator_states().items() if state != shared[name]]
    whole = tabulated(held[0], held[1])
    if len({repr(one) for one in held[0]}) == 1 and len(held[0]) > 1 and not outputs.constant:
        yield StructureCheck(
            "randomness", False, f"{len(held[0]):,} whole releases of one table were the same"
        )
    elif moved:
        yield StructureCheck("randomness", False, f"a release draws from {' and '.join(moved)}")
    yield _agreement(whole, outputs, end_to_end)
    if space is not None:
        texts.append([runs.whole(space.records((person,) * space.n))[1] for person in space.people()])
    yield _same_files(texts)
    yield _timing(seconds)


def _agreement(whole: Outputs, outputs: Outputs, end_to_end: int) -> StructureCheck:
    """Compare whole releases with runs in which only the draw was repeated: each number, and how far it spreads."""
    words = f"{end_to_end:,} whole releases, written and read again, "
    found = []
    # an output may hold some numbers only now and then: where it does not, they are below all others
    for name in dict.fromkeys((*outputs.names, *whole.names)):
        apart = []
        for one, other in zip(whole.column(name), outputs.column(name), strict=True):
            held = (np.nan_to_num(side, nan=-1e300, posinf=1e300, neginf=-1e299) for side in (one, other))
            found.append(_same_distribution(*held))
            first, second = (side[np.isfinite(side)] for side in (one, other))
            if first.size and second.size:
                center = np.median(second)
                apart.append((np.abs(first - center), np.abs(second - center)))
        # both tables together: how far from the middle, where a scale that is wrong shows best
        first, second = (
            (np.concatenate(side) for side in zip(*apart, strict=True)) if apart else (np.zeros(0),) * 2
        )
        if min(first.size, second.size) > 1 and (np.ptp(first) > 0 or np.ptp(second) > 0):
            found.append(float(stats.ttest_ind(first, second, equal_var=False).pvalue))  # pyright: ignore[reportAttributeAccessIssue]
    lowest = min(1.0, float(np.nanmin(found)) * len(found))
    agree = lowest > FALSE_ALARM
    told = f"agree with the runs (p = {lowest:.2g})" if agree else "differ from the runs"
    return StructureCheck("end to end", agree, words + told)


def _same_files(texts: Sequence[Sequence[str]]) -> StructureCheck:
    """Check that files differ in nothing but what was released: neither in a key, nor in another value."""
    rest = {_masked(text) for side in texts for text in side if text}
    if len(rest) == 1:
        return StructureCheck("file", True, "keys and values depend on nothing but what is released")
    return StructureCheck("file", False, f"{len(rest)} kinds of files beside what is released")


def _masked(text: str) -> str:
    made = []
    for one in text.split("\n{\n"):
        body = json.loads(one if one.startswith("{") else "{\n" + one)
        free = set(_FREE)
        if body.get("bounds_choice"):
            free |= _FREE_BOUNDS
        if body.get("group_selection"):
            free |= _FREE_GROUPS
        made.append(_without(body, free))
    return json.dumps(made, sort_keys=True)


def _without(value: Any, free: set[str], at: str = "") -> Any:
    if at in free:
        # how many numbers there are is not free, unless the whole part is
        return len(value) if at == "statistics.values" else "released"
    if isinstance(value, dict):
        return {key: _without(held, free, f"{at}.{key}".strip(".")) for key, held in value.items()}
    return value


def _timing(seconds: Sequence[Sequence[float]]) -> StructureCheck:
    """Report how long releases of the two tables take; a difference is said, and not judged."""
    one, other = (1000 * float(np.median(side)) for side in seconds)
    p = float(stats.mannwhitneyu(seconds[0], seconds[1]).pvalue)  # pyright: ignore[reportAttributeAccessIssue]
    tell = "a difference that chance explains" if p > 0.01 else f"chance alone has p = {p:.1g}"
    return StructureCheck("timing", None, f"medians of {one:.3g} ms and {other:.3g} ms, {tell}")


def _noise(
    runs: ReleaseRuns, tables: tuple[Any, Any], outputs: Outputs, rng: np.random.Generator
) -> Iterator[StructureCheck]:
    """Compare noise on totals with the distribution that the file names, which inference takes for true."""
    if len(runs.asked) > 1 or outputs.names == ():
        return
    readings = runs.batched(tables[0])
    reading = None if readings is None else next(iter(readings.values()))
    if reading is None or reading.record.held != "statistics" or not isinstance(reading.data, Totals):
        return
    found, made = [1.0], draw(reading, SECURE)
    known = reading.record.draws(made, len(outputs.first), rng)
    for at, (noise, total) in enumerate(zip(known, reading.data.values, strict=True)):
        found.append(_same_distribution(outputs.first[:, at] - total, noise))
    lowest = min(found) * (len(found) - 1)
    passed = lowest > FALSE_ALARM
    words = "distributed as the file says" if passed else "not distributed as the file says"
    yield StructureCheck("noise", passed, f"{words} (p = {min(1.0, lowest):.2g})")


def _same_distribution(one: np.ndarray, other: np.ndarray) -> float:
    """Return the p-value of a test that two samples come from one distribution."""
    return float(stats.ks_2samp(one, other, method="asymp").pvalue)  # pyright: ignore[reportAttributeAccessIssue]


# -- what must not matter ------------------------------------------------------------------------------


def _invariances(runs: ReleaseRuns, space: TableSpace, rng: np.random.Generator) -> Iterator[StructureCheck]:
    """Read one table in many ways; every integer must stay the same."""
    people = [
        tuple(space.varied_row(rng) for _ in range(int(rng.integers(1, space.rows + 1))))
        for _ in range(_PEOPLE)
    ]
    rows = space.records(people)

    def totals(data: Any) -> dict[str, Any]:
        return {name: one.data for name, one in runs.readings(data, row_key=KEY).items()}

    base = totals(rows)
    if None in base.values():
        return

    def same(data: Any) -> bool:
        other = totals(data)
        return all(same_data(one, other[name]) for name, one in base.items())

    if all(one.mechanism.reads == "totals" for one in runs.asked.values()):
        order = rng.permutation(len(next(iter(rows.values()))))
        mixed = {name: [values[at] for at in order] for name, values in rows.items()}
        yield _verdict("row order", {"another order": same(mixed)}, "leaves every total as it is")
        cuts = {f"cut {at + 1}": _adds_up(totals, space, people, base, rng) for at in range(_CUTS)}
        yield _verdict("chunking", cuts, "totals of parts add up to those of the whole")
    with tempfile.TemporaryDirectory() as folder:
        ways = dict(_other_ways(rows, Path(folder)))
        yield _verdict(
            "engine", {name: same(data) for name, data in ways.items()}, f"{', '.join(ways)}: the same totals"
        )


def _adds_up(
    totals: Callable[[Any], dict[str, Any]],
    space: TableSpace,
    people: Sequence[Any],
    base: Mapping[str, Any],
    rng: np.random.Generator,
) -> bool:
    """Tell whether the totals of two parts of the people add up to those of all of them."""
    left = rng.random(len(people)) < 0.5
    left[:2] = True, False
    # everybody keeps their name, whether their rows are in a part or not
    parts = [
        totals(space.records([person if kept else () for person, kept in zip(people, keep, strict=True)]))
        for keep in (left, ~left)
    ]
    return all(
        tuple(whole.values)
        == tuple(a + b for a, b in zip(parts[0][name].values, parts[1][name].values, strict=True))
        for name, whole in base.items()
    )


def _other_ways(rows: Mapping[str, list[Any]], folder: Path) -> Iterator[tuple[str, Any]]:
    """Return the same rows as other engines hold them, and as files."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    table = pa.table(dict(rows))
    size = table.num_rows
    yield "Arrow", table
    yield "Arrow in chunks", pa.concat_tables([table.slice(at, 7) for at in range(0, size, 7)])
    if find_spec("polars") is not None:
        import polars

        held = polars.DataFrame(table)
        yield "Polars", held
        # read by the engine itself, as a database is
        yield "Polars, lazily", held.lazy()
    if find_spec("pandas") is not None:
        yield "pandas", table.to_pandas()
    pyarrow.csv.write_csv(table, folder / "rows.csv")
    yield "CSV", str(folder / "rows.csv")
    pyarrow.parquet.write_table(table, folder / "rows.parquet")
    yield "Parquet", str(folder / "rows.parquet")
    (folder / "parts").mkdir()
    for at, start in enumerate(range(0, size, 20)):
        pyarrow.parquet.write_table(table.slice(start, 20), folder / "parts" / f"{at}.parquet")
    yield "several files", str(folder / "parts")


def _verdict(name: str, found: Mapping[str, bool], words: str) -> StructureCheck:
    wrong = [way for way, same in found.items() if not same]
    return StructureCheck(name, not wrong, f"{wrong[0]} changes the totals" if wrong else words)


# -- other processes -----------------------------------------------------------------------------------


def _fresh_runs(outputs: Outputs) -> int:
    """Return how often to release in a fresh interpreter: more often if two releases are often the same."""
    _, counts = np.unique(outputs.first, axis=0, return_counts=True)
    alike = float(((counts / counts.sum()) ** 2).sum())
    needed = np.log(_BY_CHANCE) / np.log(min(alike, 1 - 1e-9))
    return int(np.clip(np.ceil(needed), _FRESH_RUNS, _MOST_FRESH))


def _fresh_processes(workers: Sequence[Popen[bytes] | None]) -> StructureCheck:
    """Compare what two fresh interpreters released: a generator with a seed would give the same twice."""
    started = [worker for worker in workers if worker is not None]
    made = []
    for worker in started:
        try:
            answer, _ = worker.communicate(timeout=_PATIENCE)
        except TimeoutExpired:
            worker.kill()
            worker.communicate()
            answer = b""
        made.append(json.loads(answer) if answer and worker.returncode == 0 else None)
    if len(made) < 2 or None in made:
        return StructureCheck(
            "fresh processes", None, "not compared: the settings cannot be sent to another process"
        )
    # of deterministic outputs the bound on epsilon tells
    repeated = made[0] == made[1] and len(set(made[0])) > 1
    words = "two interpreters released the same" if repeated else "two interpreters release different things"
    return StructureCheck("fresh processes", not repeated, words)
