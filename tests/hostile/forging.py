"""Forged files: release and profile files as somebody would write them who wants the reader to hang, crash or lie.

:func:`forge` makes the file of a seed and a number. Most are golden files with some of their JSON changed and the
checksum made anew; some are *consistent*, with declarations, totals and noise of any size that fit one another, so that
they are accepted and go on to the engines; some are text that is hardly JSON.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import discreet as dc
from discreet.artifact.codec import checksum
from tests.hostile.consistent import consistent

GOLDEN = Path(dc.__file__).parent / "artifact" / "golden"
#: What a forger would like to see on a line of its own.
MARK = "FORGED LINE"
# Characters of a list that is repeated: what is larger than a reader reads at all costs the forger alone.
_LONGEST = 20_000_000
#: Seldom taken as a base: reading them takes seconds.
SLOW = ("bayesian-network", "multivariate", "langevin")

TEXTS = (
    "",
    " ",
    "\n",
    f"x\n{MARK}\ny",
    f"x\r\n{MARK}",
    f"x\x85{MARK}",
    f"x\u2028{MARK}",
    f"x\x0b{MARK}",
    "\x00",
    "\x1b[2J",
    "\u202egnorw",
    "a\u200bb",
    "\ud800",
    "\udfff\ud800",
    "\U0001f469\u200d\U0001f52c",
    "é",
    "e\u0301",
    "١٢٣",
    "0x10",
    "1_0",
    "NaN",
    "x” is safe. The promise is “y",
    "a" * 199,
    "a" * 300,
    "a" * 100_000,
    "$\\frac{1}{0}$",
    "[bold]x[/bold]",
    "{0}",
    "%s",
    "../../x",
    "beta:1,1",
    "beta:1e300,1e300",
    "beta:0,0",
    "gamma:1e-300,1",
    "symmetric_dirichlet:1e11",
    "<missing>",
    "p",
    "mean",
)
NUMBERS = (
    "0",
    "-0",
    "1",
    "-1",
    "2",
    "1/2",
    "1/3",
    "-1/3",
    "0.1",
    "1e5",
    "1/0",
    "0/1",
    "00012",
    "1.0000000000000001",
    "9" * 18,
    "9" * 19,
    "9" * 40,
    "9" * 300,
    "1" + "0" * 299,
    "1/" + "9" * 299,
    "9" * 5000,
    "4611686018427387904",
    "9223372036854775807",
    "-9223372036854775808",
    "1000000000000",
    "1000000000001",
    "1000000000000000000",
    "16777216",
    "16777217",
    "1" + "0" * 12,
    "1/1000000000000",
    "3.14159",
    "5",
    "10",
    "100",
    "1000",
    "1000000",
    "999999937",
    "36028797018963968",
    "72057594037927936",
    "72057594037927937",
)
VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    2,
    7,
    100,
    10**6,
    10**12,
    10**12 + 1,
    2**53,
    2**63 - 1,
    2**63,
    2**64,
    10**40,
    10**400,
    0.5,
    -0.0,
    1e-320,
    1e308,
    -1e308,
    0.1,
    1.0,
    [],
    {},
    [[]],
    [None],
    [0],
    ["0"],
    [[["0"]]],
    {"": None},
    {"name": "x"},
    "x",
)


@dataclass(frozen=True)
class Forged:
    """One file: what it was made from, how, and its text."""

    kind: str
    base: str
    how: str
    text: str


@cache
def _golden() -> dict[str, str]:
    return {path.stem.removeprefix("v1-"): path.read_text("utf-8") for path in sorted(GOLDEN.glob("*.json"))}


@cache
def _profiles() -> dict[str, str]:
    from discreet.profiles import (
        KRandomizedResponse,
        OneBitPair,
        ProfileGraph,
        SmoothCategorical,
        SmoothOneBit,
    )
    from discreet.profiles.codec import mechanism_to_json

    two = ProfileGraph({"ana": 0.2, "ben": 0.3, "eva": 0.8}, [("ana", "ben")])
    pair = ProfileGraph({"ana": 0.2, "ben": 0.3}, "complete")
    three = ProfileGraph.chain({"a": [0.2, 0.3, 0.5], "b": [0.1, 0.1, 0.8], "c": ["1/3", "1/3", "1/3"]})
    made = {
        "pair": OneBitPair().fit(pair, 1),
        "smooth": SmoothOneBit().fit(two, "1/2"),
        "categorical": SmoothCategorical().fit(three, 1),
        "response": KRandomizedResponse().fit(three, 2),
    }
    return {name: json.dumps(mechanism_to_json(one), ensure_ascii=False) for name, one in made.items()}


def bases(kind: str) -> dict[str, str]:
    """Return the files that forgeries of a kind start from, by name."""
    return _golden() if kind == "release" else _profiles()


def forge(seed: int, number: int) -> Forged:
    """Return the forged file of a seed and a number."""
    rng = np.random.default_rng([seed, number])
    kind = "profile" if rng.random() < 0.12 else "release"
    if kind == "release" and rng.random() < 0.03:
        return Forged(kind, *consistent(rng))
    names = list(bases(kind))
    base = str(rng.choice(names))
    if base.startswith(SLOW) and rng.random() < 0.8:
        base = str(rng.choice(names))
    body = json.loads(bases(kind)[base])
    ways = []
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        way = WAYS[int(rng.integers(len(WAYS)))]
        ways.append(way.__name__.strip("_"))
        # what is nested too deep for the forger, or no number to reckon with, stays as it is
        with suppress(RecursionError, dc.DiscreetError):
            way(body, rng, kind)
    return Forged(kind, base, "+".join(ways), _written(body, rng))


def _written(body: Any, rng: np.random.Generator) -> str:
    """Seal a body and write it down; now and then not as JSON asks for it."""
    if isinstance(body, dict) and rng.random() < 0.97:
        with suppress(RecursionError):
            body["sha256"] = checksum(body)
    try:
        text = json.dumps(body, ensure_ascii=bool(rng.random() < 0.5))
    except RecursionError:
        text = "[" * 10_000
    odd = rng.random()
    if odd < 0.01:
        return text[: int(rng.integers(len(text)))]
    if odd < 0.02:
        return text.replace("{", '{"format": "discreet/release", ', 1)
    if odd < 0.03:
        return text.replace("null", str(rng.choice(["NaN", "Infinity", "-Infinity", "1e999", "[" * 5000])), 1)
    if odd < 0.035:
        return "\ufeff" + text
    return text


# -- ways to change a body ------------------------------------------------------------------------------


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of everything in a body but the body itself; of long lists, some."""
    items = list(
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, one in items[:12]:
        yield (*path, key)
        yield from places(one, (*path, key))


def _pick(
    body: Any, rng: np.random.Generator, wanted: Callable[[Any], bool] = lambda _: True
) -> tuple[Any, Any]:
    """Return the container and key of a place that is wanted; shallow places are as likely as deep ones."""
    found = [path for path in places(body) if wanted(_at(body, path))]
    if not found:
        return body, next(iter(body))
    depths = sorted({len(path) for path in found})
    depth = depths[int(rng.integers(len(depths)))]
    mine = [path for path in found if len(path) == depth]
    path = mine[int(rng.integers(len(mine)))]
    return _at(body, path[:-1]), path[-1]


def _at(body: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        body = body[key]
    return body


def _is_number(value: Any) -> bool:
    return (
        isinstance(value, str)
        and bool(value)
        and value.lstrip("-").replace("/", "").replace(".", "").isdigit()
    )


def _number(body: Any, rng: np.random.Generator, kind: str) -> None:
    """Another exact number, wild or near."""
    holder, key = _pick(body, rng, _is_number)
    old = holder[key]
    if rng.random() < 0.5 or not _is_number(old):
        holder[key] = str(rng.choice(NUMBERS))
        return
    value = dc.rational.exact(old, "x") if len(old) < 300 else 1
    factor = dc.rational.exact(
        str(rng.choice(["-1", "2", "1/2", "1000", "1/1000", "1000000000", "999999/1000000"])), "x"
    )
    holder[key] = str(value * factor + (rng.random() < 0.2))


def _value(body: Any, rng: np.random.Generator, kind: str) -> None:
    """A JSON value of another kind."""
    holder, key = _pick(body, rng)
    holder[key] = copy.deepcopy(VALUES[int(rng.integers(len(VALUES)))])


def _plain_number(body: Any, rng: np.random.Generator, kind: str) -> None:
    """Another JSON number."""
    holder, key = _pick(body, rng, lambda v: isinstance(v, int | float))
    choices = [v for v in VALUES if isinstance(v, int | float)]
    holder[key] = choices[int(rng.integers(len(choices)))]


def _text(body: Any, rng: np.random.Generator, kind: str) -> None:
    """Another text."""
    holder, key = _pick(body, rng, lambda v: isinstance(v, str))
    holder[key] = TEXTS[int(rng.integers(len(TEXTS)))]


def _rename(body: Any, rng: np.random.Generator, kind: str) -> None:
    """One name or label, changed wherever it stands, in values, in keys and within the names of cells."""
    found = [_at(body, path) for path in places(body)]
    short = [v for v in found if isinstance(v, str) and 0 < len(v) < 20 and not _is_number(v)]
    old, new = str(rng.choice(short)), TEXTS[int(rng.integers(len(TEXTS)))]
    names = body.get("columns")
    if isinstance(names, list) and names and rng.random() < 0.3:
        old = str(names[0])
    if json.dumps(body).count(old) * len(new) > _LONGEST:
        new = new[:10]

    def changed(value: Any) -> Any:
        if isinstance(value, str):
            return value.replace(f"={old}", f"={new}") if value != old else new
        if isinstance(value, list):
            return [changed(one) for one in value]
        if isinstance(value, dict):
            return {(new if key == old else key): changed(one) for key, one in value.items()}
        return value

    body.update({key: changed(value) for key, value in list(body.items()) if key != "format"})


def _delete(body: Any, rng: np.random.Generator, kind: str) -> None:
    holder, key = _pick(body, rng)
    del holder[key]


def _add(body: Any, rng: np.random.Generator, kind: str) -> None:
    """A field or entry more, made up or moved from elsewhere."""
    holder, key = _pick(body, rng)
    taken = copy.deepcopy(holder[key])
    other, _ = _pick(body, rng)
    if isinstance(other, dict):
        other[str(rng.choice(["extra", "unit", "paths", "impute", "bounds_choice", "", "__class__"]))] = taken
    else:
        other.insert(int(rng.integers(len(other) + 1)), taken)


def _repeat(body: Any, rng: np.random.Generator, kind: str) -> None:
    """A list made long, short or shuffled."""
    holder, key = _pick(body, rng, lambda v: isinstance(v, list) and len(v) > 0)
    old = holder[key]
    if not isinstance(old, list) or not old:
        return
    times = min(int(rng.choice([0, 2, 3, 50, 2000, 20_000])), _LONGEST // len(json.dumps(old)))
    longer = (
        (old * times)[:200_000] if rng.random() < 0.7 else [old[int(i)] for i in rng.permutation(len(old))]
    )
    # each entry on its own: a later change of one that all share would multiply
    holder[key] = json.loads(json.dumps(longer))


def _many_labels(body: Any, rng: np.random.Generator, kind: str) -> None:
    """Labels by the thousand, as declared."""
    holder, key = _pick(
        body, rng, lambda v: isinstance(v, list) and len(v) > 1 and all(isinstance(x, str) for x in v)
    )
    holder[key] = [f"v{i}" for i in range(int(rng.choice([30, 300, 3000, 30_000])))]


def _nest(body: Any, rng: np.random.Generator, kind: str) -> None:
    """A value wrapped into lists or objects, many deep."""
    holder, key = _pick(body, rng)
    value = holder[key]
    for _ in range(int(rng.choice([1, 2, 8, 200, 600]))):
        value = [value] if rng.random() < 0.5 else {"x": value}
    holder[key] = value


def _swap(body: Any, rng: np.random.Generator, kind: str) -> None:
    """A field of another file in place of this one's."""
    other = json.loads(str(rng.choice(list(bases(kind).values()))))
    shared = [key for key in body if key in other and key != "sha256"]
    if shared:
        key = str(rng.choice(shared))
        body[key] = other[key]


def _scale(body: Any, rng: np.random.Generator, kind: str) -> None:
    """All values, records or noise times one number."""
    factor = int(10 ** rng.integers(0, 13))
    try:
        if rng.random() < 0.5 and body.get("records"):
            body["records"] = int(body["records"]) * factor
        if rng.random() < 0.7:
            s = body["statistics"]
            s["values"] = [str(int(v) * factor) for v in s["values"]]
        else:
            m = body["mechanism"]
            m["scale"] = [str(dc.rational.exact(v, "x") * factor) for v in m["scale"]]
    except (KeyError, TypeError, ValueError):
        pass


WAYS: tuple[Callable[[Any, np.random.Generator, str], None], ...] = (
    _number,
    _number,
    _number,
    _value,
    _plain_number,
    _text,
    _rename,
    _rename,
    _delete,
    _add,
    _repeat,
    _many_labels,
    _nest,
    _swap,
    _scale,
)
