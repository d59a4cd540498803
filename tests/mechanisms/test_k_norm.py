"""K-norm noise: its privacy by enumeration and by an audit, its files, and what takes it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise, product
from typing import Any

import jsonschema
import numpy as np
import pytest

import discreet as dc
from discreet.artifact.codec import checksum
from discreet.artifact.records.k_norm import KNormRecord
from discreet.artifact.records.noise import NoiseRecord
from discreet.curator.publish import sample_with
from discreet.domain.declarations import Missing, Neighbors
from discreet.errors import ReleaseFileError, UsageError
from discreet.mechanisms import KNorm
from discreet.mechanisms.base import Totals
from discreet.models.product_norm import product_norm
from discreet.models.regression import Regression
from discreet.samplers.secure import RandomSource
from discreet.validation.outputs import tabulated
from discreet.validation.release_runs import ReleaseRuns
from discreet.validation.structure import _noise
from tests.artifact.test_release_file import SCHEMA
from tests.mechanisms.altered_files import altered
from tests.models.test_product_norm import records

BOUNDS: dict[str, Any] = {
    "y": (0, 10),
    "x": (-2, 2),
    "u": (1, 4),
    "v": (0, 1),
    "b": ["no", "yes"],
    "c": ["p", "q"],
}
RELATIONS: tuple[Neighbors, ...] = ("replace", "add_remove")
#: Declarations that noise differs by: the relation, and whether usable records are counted.
DECLARED: tuple[tuple[Neighbors, Missing], ...] = (
    ("replace", "count"),
    ("replace", "none"),
    ("add_remove", "count"),
)


def line_on(*features: str, **more: Any) -> dc.models.LinearRegression:
    declared = {k: v for k, v in BOUNDS.items() if k in {"y", *features}}
    return dc.models.LinearRegression("y", list(features), bounds=declared, **more)


def rows_of(n: int, rng: np.random.Generator) -> dict[str, Any]:
    x, u, v = rng.uniform(-2, 2, n), rng.uniform(1, 4, n), rng.uniform(0, 1, n)
    b, c = rng.choice(["no", "yes"], n), rng.choice(["p", "q"], n)
    y = np.clip(4 + 1.5 * x - 0.5 * u + (b == "yes") + rng.normal(0, 0.7, n), 0, 10)
    return {"y": y, "x": x, "u": u, "v": v, "b": b, "c": c}


def planned(
    model: Regression, neighbors: Neighbors, missing: Missing = "count", epsilon: Any = 1
) -> tuple[KNorm, KNormRecord, Totals]:
    domain = model.read_domain(None, "clip", missing)
    mechanism = KNorm(epsilon).within(model, domain, neighbors)
    suited = mechanism.suited(model)
    layout = suited.layout(domain, neighbors)
    totals = Totals(suited, domain, (0,) * len(layout.names), 1, layout)
    return mechanism, mechanism.check(suited, domain, layout), totals


# -- privacy -------------------------------------------------------------------------------------------


def largest_loss(record: KNormRecord, totals: Totals, neighbors: Neighbors) -> float:
    """Return the largest log-ratio of masses at k and k + change, over a square of the lattice and all neighbors.

    Numbers are -1, 0 or 1, so that changes are whole numbers: a lattice that is coarse enough to be enumerated.
    """
    model = totals.model
    assert isinstance(model, Regression)
    every = records(model, np.array([-1.0, 0.0, 1.0]))
    size = every.shape[1]
    norm = product_norm(model.released_design, neighbors, record.forms)
    scales = np.array([float(one) for one in record.scale])
    forms = norm.scaled / float(record.norm_scale)

    def exponent(k: np.ndarray) -> np.ndarray:
        return np.maximum((np.abs(k) / scales[:size]).sum(axis=-1), (k @ forms.T).max(axis=-1))

    square = np.array(list(product((-2, -1, 0, 1, 2), repeat=size)), dtype=float)
    here = exponent(square)
    usable = np.append(np.ones(len(every) - 1), 0.0)
    worst = 0.0
    for first, second in product(range(len(every)), repeat=2):
        if neighbors == "add_remove" and second != len(every) - 1:
            continue
        loss = float(np.abs(exponent(square + every[first] - every[second]) - here).max())
        if len(scales) > size:
            loss += abs(usable[first] - usable[second]) / scales[size]
        worst = max(worst, loss)
    return worst


@pytest.mark.parametrize(("neighbors", "missing"), DECLARED)
@pytest.mark.parametrize("feature", ["x", "b"])
def test_no_ratio_of_masses_exceeds_what_is_promised(
    feature: str, neighbors: Neighbors, missing: Missing
) -> None:
    promised = 3.0
    _, record, totals = planned(line_on(feature), neighbors, missing, 3)
    found = largest_loss(record, totals, neighbors)
    assert 0.95 * promised <= found <= promised * (1 + 1e-12)
    half = replace(record, scale=tuple(one / 2 for one in record.scale), norm_scale=record.norm_scale / 2)
    assert largest_loss(half, totals, neighbors) > 1.8 * promised


@pytest.mark.parametrize(("neighbors", "missing"), DECLARED)
def test_the_budget_is_spent_and_no_more(neighbors: Neighbors, missing: Missing) -> None:
    """In rationals: scales are rounded up to floats in grid steps, and so is that of the usable count."""
    for epsilon in ("1e-8", "0.1", "1/3", 1, 7, "1e6"):
        _, record, totals = planned(line_on("x", "u"), neighbors, missing, epsilon)
        spent = 1 / record.norm_scale + sum(1 / one for one in record.scale[9:])
        assert 1 - Fraction(1, 10**12) <= spent / Fraction(epsilon) <= 1
        assert totals.layout is not None
        for scale, width, grid in zip(
            record.scale[:9], totals.layout.width, totals.layout.grid, strict=False
        ):
            assert Fraction(float(scale / grid)) == scale / grid
            assert 1 <= scale / (width * record.sensitivity * record.norm_scale) < 1 + Fraction(1, 10**12)


def test_the_exact_loss_between_totals_is_that_of_the_density(rng: np.random.Generator) -> None:
    mechanism, record, totals = planned(line_on("x"), "replace")
    norm = product_norm(line_on("x").design, "replace", record.forms)
    for change in rng.integers(-(2**24), 2**24, (20, 6)):
        mapped = change[:5] / 2**24
        forms = (norm.forms @ mapped / [float(one) for one in norm.reaches]).max() / float(record.norm_scale)
        l1 = sum(abs(mapped[i]) / float(record.scale[i]) for i in range(5))
        count = abs(change[5]) / float(record.scale[5])
        other = replace(totals, values=tuple(int(value) for value in change))
        assert float(mechanism.loss(record, totals, other)) == pytest.approx(max(l1, forms) + count)
        assert mechanism.loss(record, other, totals) == mechanism.loss(record, totals, other)


def audited(**more: Any) -> dc.validation.Audit:
    quick: dict[str, Any] = {"epsilon": 4, "runs": 1200, "checks": False, "rng": 1, "confidence": 0.9999}
    pair = ({"y": [10.0, 5.0], "x": [2.0, 0.0]}, {"y": [0.0, 5.0], "x": [2.0, 0.0]})
    return dc.audit(line_on("x"), pair=pair, **{**quick, **more})


@pytest.mark.slow
def test_an_audit_comes_near_the_promise_and_not_beyond() -> None:
    found = audited(runs=8000)
    assert found.subject == "linear_regression of y, x by KNorm"
    assert found.passed
    assert 1.5 < found.epsilon_lower <= 4


def test_an_eighth_of_the_noise_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = KNorm._density

    def little(self: KNorm, record: KNormRecord, data: Totals) -> Any:
        eighth = [one / 8 for one in record.scale]
        return right(self, replace(record, scale=tuple(eighth), norm_scale=record.norm_scale / 8), data)

    assert not audited(epsilon=1, runs=700).violated
    monkeypatch.setattr(KNorm, "_density", little)
    assert audited(epsilon=1, runs=700).violated


def test_audits_compare_noise_with_the_joint_distribution(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    runs = ReleaseRuns.of(line_on("x"), {"epsilon": 1})
    table = {"y": [1.0, 2.0, 9.0], "x": [0.0, 1.0, -1.0]}
    outputs = tabulated(*(runs.draws(table, 500) for _ in range(2)))
    (found,) = _noise(runs, (table, table), outputs, rng)
    assert found.passed
    # as if every sum had the Laplace noise that is thinned
    monkeypatch.setattr(
        KNormRecord,
        "draws",
        lambda self, release, size, rng: (
            np.rint(rng.laplace(0, float(scale / grid), size))
            for scale, grid in zip(self.scale, release.totals.grid, strict=True)
        ),
    )
    (found,) = _noise(runs, (table, table), outputs, rng)
    assert not found.passed


# -- files ---------------------------------------------------------------------------------------------


@cache
def a_release(neighbors: Neighbors = "replace", missing: Missing = "count") -> dc.Release:
    rng = np.random.default_rng(3)
    return sample_with(
        RandomSource.seeded(rng),
        rows_of(200, rng),
        line_on("x", "b"),
        KNorm(1),
        neighbors=neighbors,
        missing=missing,
    )


@pytest.mark.parametrize(("neighbors", "missing"), DECLARED)
def test_files_are_read_as_they_were_written(neighbors: Neighbors, missing: Missing) -> None:
    release = a_release(neighbors, missing)
    written = release.to_json()
    assert dc.Release.from_json(written) == release
    jsonschema.validate(json.loads(written), SCHEMA)
    assert dc.Release.from_json(altered(release, ("mechanism", "name"), "k_norm")) == release
    said = release.statement()
    assert "epsilon = 1" in said
    assert len(release.noise) == len(release.totals.names)
    # of more noise than is needed the promise holds too
    more = [str(Fraction(one) * 2) for one in json.loads(written)["mechanism"]["scale"]]
    assert dc.Release.from_json(altered(release, ("mechanism", "scale"), more))


def _times(factor: str) -> Callable[[str], str]:
    return lambda value: str(Fraction(value) * Fraction(factor))


def _first_form(change: Callable[[list[int]], Any]) -> Callable[[Any], Any]:
    return lambda forms: [change(forms[0]), *forms[1:]]


LESS = "its noise is less than its guarantee needs"
NO_NORM = "its norm does not fit its model"
ALONE = "noise by a norm is for epsilon alone"
FIT_CHECK = {"cuts": ["1/2"], "values": ["1", "2"], "scale": "1", "sensitivity": "2"}
PURE = {"kind": "pure", "epsilon": "1"}

ALTERED: dict[str, tuple[tuple[Any, ...], Any, str]] = {
    "a smaller norm": (("mechanism", "norm_scale"), _times("0.999"), LESS),
    "a larger norm than its L1 part": (("mechanism", "norm_scale"), _times("1.1"), LESS),
    "no norm scale": (("mechanism", "norm_scale"), "0", "not positive"),
    "a negative norm scale": (("mechanism", "norm_scale"), _times("-1"), "not positive"),
    **{f"less noise on sum {at}": (("mechanism", "scale", at), _times("0.999"), LESS) for at in range(8)},
    "less noise on the count": (("mechanism", "scale", 8), _times("0.999"), LESS),
    "negative noise": (("mechanism", "scale", 3), _times("-1"), "not positive"),
    "too much noise": (("mechanism", "scale", 3), "1" + "0" * 40, "wider than 64-bit"),
    "a scale missing": (("mechanism", "scale"), lambda scales: scales[:-1], "do not fit"),
    "a scale more": (("mechanism", "scale"), lambda scales: [*scales, "24"], "do not fit"),
    "a smaller sensitivity": (("mechanism", "sensitivity"), _times("0.999"), LESS),
    "no forms": (("mechanism", "forms"), [], NO_NORM),
    "null": (("mechanism", "forms"), None, "list of linear forms"),
    "no list": (("mechanism", "forms"), {"0": 1}, "list of linear forms"),
    "numbers": (("mechanism", "forms"), [1, 2], "list of linear forms"),
    "a form of nothing": (("mechanism", "forms"), _first_form(lambda form: [0] * len(form)), NO_NORM),
    "a short form": (("mechanism", "forms"), _first_form(lambda form: form[:-1]), NO_NORM),
    "a long form": (("mechanism", "forms"), _first_form(lambda form: [*form, 1]), NO_NORM),
    "texts": (("mechanism", "forms"), _first_form(lambda form: list(map(str, form))), NO_NORM),
    "floats": (("mechanism", "forms"), _first_form(lambda form: list(map(float, form))), NO_NORM),
    "truths": (("mechanism", "forms"), _first_form(lambda form: list(map(bool, form))), NO_NORM),
    "lists": (("mechanism", "forms"), _first_form(lambda form: [form] * len(form)), NO_NORM),
    "a huge coefficient": (("mechanism", "forms"), _first_form(lambda form: [10**30, *form[1:]]), NO_NORM),
    "many forms": (("mechanism", "forms"), lambda forms: forms[:1] * 17, NO_NORM),
    "another mechanism": (("mechanism", "name"), "discrete_laplace", "missing or unknown"),
    "a smaller epsilon": (("guarantees", 0, "epsilon"), "0.999", LESS),
    "delta": (
        ("guarantees", 0),
        {"kind": "approx", "epsilon": "1", "delta": "1/1000", "for": "statistics"},
        ALONE,
    ),
    "rho": (("guarantees", 0), {"kind": "zero_concentrated", "rho": "1", "for": "statistics"}, ALONE),
    "nothing promised": (("guarantees", 0), {"kind": "unstated", "for": "statistics"}, ALONE),
    "a metric": (
        ("guarantees", 0),
        {
            "kind": "metric",
            "epsilon": "1",
            "delta": "0",
            "metric": {"name": "absolute", "diameter": "1"},
            "for": "statistics",
        },
        ALONE,
    ),
    "a fit check": (("guarantees",), lambda parts: [*parts, {**PURE, "for": "fit_check"}], ALONE),
    "bought bounds": (("guarantees",), lambda parts: [*parts, {**PURE, "for": "bounds"}], ALONE),
    "chosen groups": (("guarantees",), lambda parts: [*parts, {**PURE, "for": "groups"}], ALONE),
    "a fit check that nobody paid for": (("fit_check",), FIT_CHECK, ALONE),
    "made from another": (
        ("coarsened",),
        {"release": "abc", "guarantees": [{"kind": "pure", "epsilon": "2"}]},
        ALONE,
    ),
    "other neighbors": (("neighbors",), "add_remove", "records are public exactly under replace"),
    "no count": (("domain", "missing"), "none", "do not fit"),
    "people": (
        ("unit",),
        {"column": "person", "per_unit": [], "row_bounds": [], "last_by": None, "null_unit": "leave_out"},
        "does not take its rules for people",
    ),
    "several rows": (("max_rows",), 2, "its number of rows a person is not its model's"),
    "a filter": (("where",), "x > 1", "rows were filtered"),
    "a value out of reach": (("statistics", "values", 0), "9" * 18, "further from every possible total"),
}


@pytest.mark.parametrize("name", ALTERED)
def test_altered_files_are_refused(name: str) -> None:
    where, change, words = ALTERED[name]
    release = a_release()
    before: Any = json.loads(release.to_json())
    if callable(change):
        for step in where:
            before = before[step]
        change = change(before)
    with pytest.raises(ReleaseFileError, match=words):
        dc.Release.from_json(altered(release, where, change))


def test_under_add_remove_the_promise_for_replaced_records_is_another() -> None:
    """With neighbors replaced and the number of records made up, the noise would be too small."""
    release = a_release("add_remove")
    document = json.loads(altered(release, ("neighbors",), "replace"))
    with pytest.raises(ReleaseFileError, match=LESS):
        dc.Release.from_json(altered_document(document, ("records",), 200))


def altered_document(document: dict[str, Any], where: tuple[str, ...], value: Any) -> str:
    document[where[0]] = value
    document["sha256"] = checksum(document)
    return json.dumps(document)


def test_another_norm_is_another_noise() -> None:
    """What inference takes for the noise follows from what the file says."""
    release = a_release()
    forms = json.loads(release.to_json())["mechanism"]["forms"]
    fewer = dc.Release.from_json(altered(release, ("mechanism", "forms"), forms[:1]))
    assert all(one.sd > other.sd for one, other in list(zip(fewer.noise, release.noise, strict=True))[:3])


# -- what takes it -------------------------------------------------------------------------------------


def test_it_is_the_noise_of_small_linear_regressions(rng: np.random.Generator) -> None:
    rows = rows_of(60, rng)
    for features, names in {
        ("x",): ("k_norm", "k_norm"),
        ("b",): ("k_norm", "k_norm"),
        ("x", "x ** 2"): ("discrete_laplace", "discrete_laplace"),
        ("x", "u", "b"): ("discrete_laplace", "discrete_laplace"),
        ("x", "u", "v"): ("k_norm", "discrete_laplace"),
        ("x", "u", "v", "b"): ("discrete_laplace", "discrete_laplace"),
    }.items():
        for neighbors, name in zip(RELATIONS, names, strict=True):
            declared = [one for one in features if " " not in one]
            model = dc.models.LinearRegression(
                "y", list(features), bounds={k: BOUNDS[k] for k in ("y", *declared)}
            )
            asked = dc.release(rows, model, epsilon=1, neighbors=neighbors, explain=True)
            assert f"  {name}" in str(asked).splitlines()
    given: dict[str, Any] = {"epsilon": 1, "mechanism": "laplace"}
    assert dc.release(rows, line_on("x"), **given).mechanism.name == "discrete_laplace"
    assert dc.release(rows, line_on("x"), mechanism="gaussian", rho=1).mechanism.name == "discrete_gaussian"
    grouped = dc.release(rows, line_on("x"), epsilon=1, by="b", groups={"b": ["no", "yes"]})
    assert grouped.mechanism.name == "discrete_laplace"
    smoker = dc.models.LogisticRegression({"b": ["no", "yes"]}, {"x": (-2, 2)})
    assert dc.release(rows, smoker, epsilon=1).mechanism.name == "discrete_laplace"
    # whoever asks for it gets it
    assert dc.release(rows, smoker, epsilon=1, mechanism="k-norm").mechanism.name == "k_norm"


def test_explain_says_what_it_costs() -> None:
    rows = {"y": [1.0], "x": [1.0]}
    said = str(dc.release(rows, line_on("x"), epsilon=2, explain=True))
    assert "for epsilon = 1.91667; the usable count has Laplace noise for the rest" in said
    none = str(dc.release(rows, line_on("x"), epsilon=2, missing="none", explain=True))
    assert "usable count" not in none
    assert "by a norm in which no record moves them by over 1" in none


MEAN: dict[str, Any] = {"bounds": (0, 1), "column": "x"}


@pytest.mark.parametrize(
    ("model", "more", "words"),
    [
        (dc.Mean(), MEAN, "for small regressions"),
        (line_on("x", "x ** 2"), {}, "without products and squares"),
        (line_on("x", "u", "b"), {}, "one or two features"),
        (
            line_on("x", "u", "v"),
            {"neighbors": "add_remove"},
            "under neighbors='replace' also for three numbers",
        ),
        (line_on("x"), {"by": "b", "groups": {"b": ["no", "yes"]}}, "for small regressions"),
        (line_on("x"), {"unit": "id", "max_rows": 2}, "takes no max_rows"),
        (line_on("x"), {"fit_check": "0.1"}, "fit_check is for"),
        (line_on("x"), {"delta": "1e-6"}, "k-norm noise takes epsilon alone"),
        (line_on("x"), {"epsilon": None, "rho": 1}, "k-norm noise takes epsilon alone"),
        (line_on("x"), {"epsilon": "1e-9"}, "too small"),
        (line_on("x"), {"epsilon": "1e-300"}, "too small"),
        (line_on("x"), {"epsilon": 0}, "must be positive"),
        (line_on("x"), {"impute": {"x": 0}}, "impute is for mechanisms that release samples"),
    ],
)
def test_what_it_is_not_for(model: Any, more: dict[str, Any], words: str) -> None:
    rows = {"y": [1.0, 2.0], "x": [0.5, 0.5], "u": [1, 2], "v": [0, 1], "b": ["no", "yes"], "id": [1, 2]}
    asked: dict[str, Any] = {"epsilon": 1, "mechanism": "k-norm", **more}
    with pytest.raises(UsageError, match=words):
        dc.release(rows, model, **asked)


def test_a_person_may_be_the_record() -> None:
    rows = {"y": [1.0, 9.0, 4.0], "x": [0.5, 1.5, -1.0], "id": [1, 1, 2]}
    release = dc.release(rows, line_on("x"), epsilon=1, unit="id", per_unit="mean")
    assert (release.mechanism.name, release.records) == ("k_norm", 2)
    assert release.guarantee == dc.PureDP(1, unit="id")
    assert dc.Release.from_json(release.to_json()) == release


@pytest.mark.parametrize("missing", ["count", "none"])
def test_the_rows_decide_neither_errors_nor_kinds(missing: Any) -> None:
    """Rows that are empty, endless or of another kind are released like any others."""
    for y, x in (([np.nan], [np.nan]), ([np.inf], [-np.inf]), ([None], ["text"]), ([1e308], [-1e308])):
        release = dc.release({"y": y, "x": x}, line_on("x"), epsilon=1, missing=missing)
        assert dc.Release.from_json(release.to_json()).mechanism.name == "k_norm"


@pytest.mark.parametrize("epsilon", ["3e-9", "1e-6", "1e4", "1e12", "1e200"])
def test_budgets_of_any_size(epsilon: str) -> None:
    rows = {"y": [10.0, 5.0], "x": [2.0, 0.0]}
    release = dc.release(rows, line_on("x"), epsilon=epsilon)
    assert dc.Release.from_json(release.to_json()) == release
    # x, y, x ** 2, x * y and y ** 2 of the first record, and nothing of the second
    names = ["x", "y", "x ** 2", "x * y", "y ** 2", "usable"]
    if Fraction(epsilon) > 10**9:
        found = dict(zip(release.totals.names, release.totals.numbers, strict=True))
        assert [found[name] for name in names] == [1, 1, 1, 1, 1, 2]


def test_what_cannot_be_done_with_it() -> None:
    release = a_release()
    with pytest.raises(UsageError, match="k-norm noise has no coarser version"):
        dc.coarsen(release, epsilon="0.5")
    for how in ({}, {"latent": True}):
        with pytest.raises(UsageError, match="noise by a norm has no closed form"):
            release.likelihood(**how)


def test_scales_in_tables_are_standard_deviations() -> None:
    release = a_release()
    record = release.noise_record
    assert record.spread == "noise sd"
    spreads = record.spreads(release)
    assert spreads[:-1] == pytest.approx([one.sd * 2.0**-24 for one in release.noise[:-1]])
    assert all(sd < np.sqrt(2) * scale for sd, scale in zip(spreads, map(float, record.scale), strict=True))
    assert NoiseRecord.spread == "noise scale"
    assert all(a != b for a, b in pairwise(sorted(spreads)[-3:]))
