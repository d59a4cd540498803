"""Every public callable, given what it does not take: one line of explanation, nothing else, and nothing charged.

The walk is by introspection, so a new export is covered, or fails a test here until it has a valid call in
``callables.py``. What is left out stands in a table with its reason, and the long run fails if an entry of ``LEFT`` has
become unnecessary, so the table can only shrink.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.errors import UsageError
from tests.hostile.arguments import VALUES, Finding, judge
from tests.hostile.callables import (
    EXAMPLES,
    INSTANCES,
    MISSING,
    PROTOCOL,
    RECORDS,
    ROWS,
    Public,
    example,
    exports,
    methods,
)

#: Values tried for each argument in the short run.
FEW = 2
#: Too slow for the short run; the long run has them.
SLOW = {
    "audit",
    "calibrate",
    "plan",
    "validation.distinguish",
    "profiles.infer_mix",
    "profiles.infer_frequencies",
}
#: (callable, argument) that are left out, and why.
EXPECTED = {
    ("calibrate", "progress"): "prints a progress bar when asked to",
    ("validation.distinguish", "draws"): "without draws it searches for seconds",
    ("calibrate", "trials"): "many trials take long",
    ("PrivateLinearRegression.fit", "y"): "warns of a table as target, as scikit-learn's conventions ask",
    ("PrivateLogisticRegression.fit", "y"): "warns of a table as target, as scikit-learn's conventions ask",
}
#: Known findings, to be mended: callables and why they wait.
LEFT: dict[str, str] = {
    "families.absolute": "arithmetic on arrays and expressions alike, used inside Family.measure",
    "amplification.iterated_laplace_epsilons": "numerical integration takes seconds at the ends of the floats",
    "validation.discrepancy": "an infinitesimal bandwidth overflows with a warning",
    "Calibration": "methods of results: false-alarm rates and titles are not read yet",
    "NoisySGD": "guarantee_at: the model is not read yet",
    "OrnsteinUhlenbeck": "methods of kernels are not read yet",
    "PrivateNaiveBayes": "raises what scikit-learn's own checks raise, as its conventions ask",
    "ProfileGraph": "methods of graphs: positions and frames are not read yet",
    "ProfileGuarantee": "a record of fit; its class method reads a graph that the library made",
}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls may write files: they go to a folder of the test's own."""
    monkeypatch.chdir(tmp_path)


def found_in(public: Public, rng: np.random.Generator, few: int | None) -> list[Finding]:
    """Call with hostile arguments, one at a time; ``few`` of them, or all."""
    found = []
    for argument in public.parameters:
        if (public.name, argument) in EXPECTED:
            continue
        names = list(VALUES) if few is None else list(rng.choice(list(VALUES), few, replace=False))
        for value in names:
            wrong = judge(public.with_argument(argument, VALUES[value]()))
            if wrong is not None:
                found.append(Finding(public.name, argument, value, *wrong))
    return found


def walked(*, slow: bool = False) -> Iterator[Public]:
    """Return every export, and the methods of every object that their valid calls make; of slow calls if asked."""
    instances: dict[type, Any] = {}
    for name, function in exports().items():
        if name in RECORDS:
            continue
        public = example(name, function)
        yield public
        if slow or name not in SLOW:
            made = public.function(*public.positional, **public.named)
            instances.setdefault(type(made), made)
    for make in INSTANCES.values():
        instances.setdefault(type(make()), make())
    seen = set()
    for kind, instance in instances.items():
        if not kind.__module__.startswith("discreet"):
            continue
        for public in methods(kind.__name__, instance):
            key = getattr(public.function, "__func__", public.function)
            if key not in seen and public.name.rpartition(".")[2] not in PROTOCOL:
                seen.add(key)
                yield public


def is_left(public: Public) -> bool:
    return public.name in LEFT or public.name.partition(".")[0] in LEFT


def test_every_export_has_a_valid_call() -> None:
    known = set(EXAMPLES) | set(RECORDS)
    assert set(exports()) == known
    for name, function in exports().items():
        if name not in RECORDS and name not in SLOW:
            public = example(name, function)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                public.function(*public.positional, **public.named)


def test_every_method_has_its_arguments() -> None:
    lacking = [
        f"{public.name}: {argument}"
        for public in walked()
        for argument, value in public.named.items()
        if value is MISSING
    ]
    assert not lacking, lacking


def test_a_few_hostile_arguments_each(rng: np.random.Generator) -> None:
    found = [
        each
        for public in walked()
        if public.name not in SLOW and not is_left(public)
        for each in found_in(public, rng, FEW)
    ]
    assert not found, "\n".join(map(str, found))


@pytest.mark.slow
def test_all_hostile_arguments(rng: np.random.Generator, seed: int) -> None:
    print(f"seed {seed}")
    found, calls, left = [], 0, set()
    for public in walked(slow=True):
        mine = found_in(public, rng, None)
        calls += len(VALUES) * len(public.parameters)
        if is_left(public):
            left |= {name for name in (public.name, public.name.partition(".")[0]) if name in LEFT and mine}
        else:
            found += mine
    print(f"{calls} calls, {len(found)} findings")
    assert not found, "\n".join(map(str, found))
    assert set(LEFT) == left, f"no longer needed: {set(LEFT) - left}"


@pytest.mark.slow
def test_pairs_of_hostile_arguments(rng: np.random.Generator, seed: int) -> None:
    print(f"seed {seed}")
    found = []
    for public in walked():
        names = [name for name in public.parameters if name != "*" and (public.name, name) not in EXPECTED]
        if is_left(public) or public.name in SLOW or len(names) < 2:
            continue
        for _ in range(20):
            pair = rng.choice(names, 2, replace=False)
            values = rng.choice(list(VALUES), 2)
            given = {**public.named, **{n: VALUES[v]() for n, v in zip(pair, values, strict=True)}}
            wrong = judge(lambda given=given, public=public: public.function(*public.positional, **given))
            if wrong is not None:
                found.append(Finding(public.name, " and ".join(pair), " and ".join(values), *wrong))
    assert not found, "\n".join(map(str, found))


def test_a_refused_release_charges_nothing(rng: np.random.Generator, tmp_path: Path) -> None:
    ledger = dc.Ledger(f"sqlite:///{tmp_path / 'budget.db'}", budget=dc.PureDP(1000))
    valid = {"data": ROWS, "model": dc.Bernoulli(), "epsilon": 1, "ledger": ledger, "dataset": "clinic"}
    public = Public("release", dc.release, (), valid)
    found = []
    for argument in sorted(set(public.parameters) - {"ledger", "data"}):
        for value in rng.choice(list(VALUES), 8, replace=False):
            before, refused = ledger.head, False
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    public.with_argument(argument, VALUES[value]())()
            except dc.DiscreetError:
                refused = True
            if refused and ledger.head != before:
                found.append((argument, value))
    assert not found


def _raw(value: Any) -> None:
    [][value]


def _lines(value: Any) -> None:
    error = UsageError("x")
    error.message = "two\nlines"
    raise error


def _prints(value: Any) -> None:
    print(value)


def _warns(value: Any) -> None:
    warnings.warn("careful", UserWarning, stacklevel=1)


def _hangs(value: Any) -> None:
    while True:
        pass


@pytest.mark.parametrize(
    ("planted", "kind"),
    [
        (_raw, "raw "),
        (_lines, "several lines"),
        (_prints, "printing"),
        (_warns, "warning"),
        (_hangs, "hang"),
    ],
)
def test_planted_failures_are_found(planted: Any, kind: str) -> None:
    wrong = judge(lambda: planted(3), limit=0.2)
    assert wrong is not None
    assert wrong[0].startswith(kind)


def test_what_is_quoted_is_one_short_line() -> None:
    error = UsageError("a must be b, got " + "x\n" * 500 + ": use c.", hint="one\ntwo")
    assert "\n" not in error.message
    assert len(error.message) <= 300
    assert error.message.startswith("a must be b")
    assert error.message.endswith("use c.")
    assert error.hint == "one two"
