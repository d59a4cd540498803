"""The release file: round trips, golden files, the schema, and every way a file can be wrong."""

from __future__ import annotations

import copy
import json
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

import discreet as dc
from discreet.artifact.codec import checksum
from discreet.errors import DataError, ReleaseFileError
from discreet.families import Family

GOLDEN = sorted(Path(str(files("discreet.artifact") / "golden")).glob("*.json"))
SCHEMA = json.loads((files("discreet.artifact") / "release.schema.json").read_text(encoding="utf-8"))


def forge(content: str, change: Any) -> str:
    """Change the body and its checksum, as somebody with bad intentions could."""
    body = json.loads(content)
    change(body)
    body["sha256"] = checksum(body)
    return json.dumps(body)


@pytest.fixture
def content() -> str:
    return dc.release([1, 0, None, 1], dc.Bernoulli(), epsilon=0.5, dataset="try").to_json()


def test_there_are_golden_files() -> None:
    assert len(GOLDEN) >= 19


@pytest.mark.parametrize("path", GOLDEN, ids=lambda p: p.stem)
def test_golden_files_keep_loading_bit_for_bit(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert dc.Release.load(path).to_json() == text
    jsonschema.validate(json.loads(text), SCHEMA)


@pytest.mark.parametrize("path", GOLDEN, ids=lambda p: p.stem)
def test_golden_files_can_be_read_by_an_engine(path: Path) -> None:
    release = dc.Release.load(path)
    if release.samples is not None:
        draws = dc.infer(path).draws
        assert draws.keys() == release.samples.draws.keys()
        assert all(np.isfinite(x).all() for x in draws.values())
        return
    prior = None
    if isinstance(release.model, Family):
        prior = release.family.default_prior or release.family.suggested_prior(release.domain)
    elif isinstance(release.model, dc.models.NaiveBayes):
        prior = release.model.suggested_prior()
    found: Any = dc.infer(path, prior=prior, engine="naive", draws=40, rng=0)
    each = found.values() if release.model.groups else [found]
    assert all(np.isfinite(x).all() for posterior in each for x in posterior.draws.values())


def test_save_and_load(tmp_path: Path, content: str) -> None:
    path = tmp_path / "r.json"
    release = dc.Release.from_json(content)
    release.save(path)
    assert dc.Release.load(path) == release
    assert path.read_text(encoding="utf-8") == content
    assert [p.name for p in tmp_path.iterdir()] == ["r.json"]


def test_a_release_shows_itself_in_one_line() -> None:
    answers = {"smoker": [1, 0] * 1250}
    made = dc.release(answers, dc.Bernoulli(), column="smoker", epsilon=0.5)
    promise = "pure differential privacy with epsilon = 0.5"
    assert repr(made) == f"<Release of smoker: bernoulli, 2 statistics, {promise}, 2500 records>"
    private = dc.release(answers, dc.Bernoulli(), column="smoker", epsilon=0.5, neighbors="add_remove")
    assert (
        repr(private) == f"<Release of smoker: bernoulli, 2 statistics, {promise}, private number of records>"
    )
    assert "2500" not in repr(private)


def test_a_failed_save_leaves_the_old_file(
    tmp_path: Path, content: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r.json"
    path.write_text("old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(DataError, match="No space left"):
        dc.Release.from_json(content).save(path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["r.json"]


def test_unwritable_and_missing_places(tmp_path: Path, content: str) -> None:
    with pytest.raises(DataError, match="cannot write"):
        dc.Release.from_json(content).save(tmp_path / "no" / "such" / "r.json")
    with pytest.raises(DataError, match="cannot write"):
        dc.Release.from_json(content).save(tmp_path)
    with pytest.raises(DataError, match="cannot read"):
        dc.Release.load(tmp_path / "absent.json")


def test_every_single_character_matters(content: str) -> None:
    """Deleting or changing any one character of the file is noticed, unless it is white space between tokens."""
    body = json.loads(content)
    noticed = ignored = 0
    for i in range(len(content)):
        for altered in (
            content[:i] + content[i + 1 :],
            content[:i] + ("7" if content[i] != "7" else "8") + content[i + 1 :],
        ):
            try:
                same = json.loads(altered) == body
            except ValueError:
                same = False
            if same:
                ignored += 1
                continue
            with pytest.raises(ReleaseFileError):
                dc.Release.from_json(altered)
            noticed += 1
    assert noticed > 1000 > ignored


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"format": "x"}', "NaN", "[" * 100_000, '{"format": "discreet/release"}']
)
def test_other_files(text: str) -> None:
    with pytest.raises(ReleaseFileError):
        dc.Release.from_json(text)


def test_truncated_and_binary(tmp_path: Path, content: str) -> None:
    for cut in (1, len(content) // 2, len(content) - 3):
        with pytest.raises(ReleaseFileError):
            dc.Release.from_json(content[:cut])
    (tmp_path / "r.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ReleaseFileError, match="UTF-8"):
        dc.Release.load(tmp_path / "r.json")


def _put(*path_and_value: Any) -> Any:
    *path, value = path_and_value

    def change(body: dict[str, Any]) -> None:
        for key in path[:-1]:
            body = body[key]
        body[path[-1]] = value

    return change


FORGERIES = {
    "unknown version": _put("version", 2),
    "version is true": _put("version", True),
    "extra field": _put("surprise", 1),
    "extra inner field": _put("domain", "surprise", 1),
    "unknown family": _put("model", "name", "os.system"),
    "unknown constant": _put("model", "parameters", "variance", 1),
    "unknown distribution": _put("mechanism", "name", "none"),
    "wrong distribution": _put("mechanism", "name", "discrete_gaussian"),
    "less noise": _put("mechanism", "scale", ["1", "4"]),
    "zero noise": _put("mechanism", "scale", ["0", "0"]),
    "less sensitivity": _put("mechanism", "sensitivity", "1"),
    "better epsilon": _put("guarantees", 0, "epsilon", "1/100"),
    "negative epsilon": _put("guarantees", 0, "epsilon", "-1"),
    "no guarantee": _put("guarantees", []),
    "unknown guarantee": _put("guarantees", 0, "kind", "trust me"),
    "float value": _put("statistics", "values", [1.5, 2]),
    "one value": _put("statistics", "values", ["1"]),
    "other names": _put("statistics", "names", ["a", "b"]),
    "other grid": _put("statistics", "grid", ["1/2", "1"]),
    "negative records": _put("records", -1),
    "records true": _put("records", True),
    "private count under replace": _put("records", None),
    "other neighbors": _put("neighbors", "add_remove"),
    "two columns": _put("columns", ["a", "b"]),
    "samples": _put("samples", [1]),
    "unit": _put("unit", "household"),
    "rows": _put("max_rows", 2),
    "outside": _put("domain", "outside", "keep"),
    "division by zero": _put("mechanism", "sensitivity", "1/0"),
    "software list": _put("software", ["x"]),
    "values null": _put("statistics", "values", None),
    "two guarantees": lambda body: body["guarantees"].append({"kind": "pure", "epsilon": "1", "for": "statistics"}),
    "guarantee for nothing": _put("guarantees", 0, "for", "nothing"),
    "huge scale": _put("mechanism", "scale", ["1" + "0" * 399, "4"]),
    "huge epsilon": _put("guarantees", 0, "epsilon", "1" + "0" * 399),
    "tiny delta": _put(
        "guarantees", [{"kind": "approx", "epsilon": "1", "delta": f"1/{10**40}", "for": "statistics"}]
    ),
    "huge value": _put("statistics", "values", ["1" + "0" * 30, "4"]),
    "huge records": _put("records", 10**30),
    "rows as a float": _put("max_rows", 1.0),
    "other digits": _put("mechanism", "sensitivity", "٢"),
    "exponent bomb": _put("model", {"name": "normal", "parameters": {"mean": "1e99999999"}}),
}  # fmt: skip


@pytest.mark.parametrize("change", FORGERIES.values(), ids=FORGERIES)
def test_a_sealed_file_that_does_not_hang_together_is_refused(content: str, change: Any) -> None:
    with pytest.raises(ReleaseFileError) as caught:
        dc.Release.from_json(forge(content, change))
    assert "\n" not in caught.value.message


BOUGHT = next(path for path in GOLDEN if path.stem == "v1-exponential-bought-bounds")


def _drop(name: str) -> Any:
    return lambda body: body.pop(name)


BOUGHT_FORGERIES = {
    "no choice": _drop("bounds_choice"),
    "choice is null": _put("bounds_choice", None),
    "choice is empty": _put("bounds_choice", []),
    "choice is text": _put("bounds_choice", ["permute_and_flip"]),
    "two choices": lambda body: body["bounds_choice"].append(body["bounds_choice"][0]),
    "not paid for": lambda body: body["guarantees"].pop(),
    "paid for too little": _put("guarantees", 1, "epsilon", "1/10"),
    "paid for twice": lambda body: body["guarantees"].append(body["guarantees"][1]),
    "paid for in another currency": _put("guarantees", 1, {"kind": "zero_concentrated", "rho": "2/5", "for": "bounds"}),
    "bounds first": lambda body: body["guarantees"].reverse(),
    "unknown method": _put("bounds_choice", 0, "method", "peeking"),
    "extra field": _put("bounds_choice", 0, "seed", 1),
    "reversed quantiles": _put("bounds_choice", 0, "quantiles", ["39/40", "1/40"]),
    "quantile of one": _put("bounds_choice", 0, "quantiles", ["1/40", "1"]),
    "quantile too fine": _put("bounds_choice", 0, "quantiles", ["1/10000000", "39/40"]),
    "reversed range": _put("bounds_choice", 0, "within", ["365", "0"]),
    "range outside the support": _put("bounds_choice", 0, "within", ["-365", "365"]),
    "range narrower than the bounds": _put("bounds_choice", 0, "within", ["0", "100"]),
    "other cells": _put("bounds_choice", 0, "cells", 1000),
    "one cell": _put("bounds_choice", 0, "cells", 1),
    "cells true": _put("bounds_choice", 0, "cells", True),
    "too many cells": _put("bounds_choice", 0, "cells", 2**20),
    "no epsilon": _put("bounds_choice", 0, "epsilon", "0"),
    "float epsilon": _put("bounds_choice", 0, "epsilon", 0.4),
}  # fmt: skip


@pytest.mark.parametrize("change", BOUGHT_FORGERIES.values(), ids=BOUGHT_FORGERIES)
def test_bought_bounds_must_hang_together(change: Any) -> None:
    with pytest.raises(ReleaseFileError) as caught:
        dc.Release.from_json(forge(BOUGHT.read_text(encoding="utf-8"), change))
    assert "\n" not in caught.value.message


def test_bounds_that_were_not_bought_are_not_paid_for(content: str) -> None:
    extra = {"kind": "pure", "epsilon": "1/10", "for": "bounds"}
    with pytest.raises(ReleaseFileError, match="paid for exactly if"):
        dc.Release.from_json(forge(content, lambda body: body["guarantees"].append(extra)))


@pytest.mark.parametrize("path", [p for p in GOLDEN if "bought" in p.stem], ids=lambda p: p.stem)
def test_the_statement_says_that_bounds_were_bought(path: Path) -> None:
    made = dc.Release.load(path)
    said = made.statement()
    assert f"The promise is {made.guarantee.describe()}:" in said
    parts = [made.guarantees[purpose].describe() for purpose in ("statistics", "bounds")]
    assert f"two parts: {parts[0]} for the totals, and {parts[1]} for the choice of the bounds." in said
    assert "were chosen from the data" in said
    # six digits of a bound are enough to read
    low = made.domain.bounds[0][0]  # pyright: ignore[reportOptionalSubscript]
    assert f"[{float(low):.6g}, " in said
    assert "declared bounds" not in said
    assert "chosen from the data" not in dc.Release.load(GOLDEN[0]).statement()


def test_the_golden_price_is_the_sum() -> None:
    prices = {p.stem: dc.Release.load(p).guarantee for p in GOLDEN if "bought" in p.stem}
    assert prices == {
        "v1-exponential-bought-bounds": dc.PureDP("0.9"),
        "v1-multivariate-normal-bought-bounds": dc.ApproxDP(2, "1e-6"),
        "v1-poisson-bought-bounds": dc.ZeroConcentratedDP("0.18", neighbors="add_remove"),
    }


def test_the_seal_alone_is_not_a_signature(content: str) -> None:
    """A forger who keeps the numbers consistent passes: the docs say so, and this shows it."""
    forged = dc.Release.from_json(forge(content, _put("statistics", "values", ["123", "4"])))
    assert forged.totals.values == (123, 4)


def test_the_statement_never_rounds_in_its_own_favor() -> None:
    for epsilon in ("0.001", "0.003", "0.01", "0.05", "0.5", "0.7", "1", "3", "8", "1/3"):
        release = dc.release([1, 0, 1], dc.Bernoulli(), epsilon=epsilon)
        said = float(release.statement().split("more than ")[1].split(" times")[0])
        true = np.exp(float(Fraction(epsilon)))
        assert true <= said <= 1 + 1.01 * (true - 1) + 1e-9
        assert f"epsilon = {epsilon}:" in release.statement()


def test_repeated_keys_are_refused(content: str) -> None:
    with pytest.raises(ReleaseFileError):
        dc.Release.from_json(content.replace('"records"', '"dataset": "try", "records"'))


@pytest.mark.parametrize(
    "name", ["extra field", "float value", "unknown distribution", "samples", "negative records"]
)
def test_the_schema_agrees_with_the_reader(content: str, name: str) -> None:
    body = copy.deepcopy(json.loads(content))
    jsonschema.validate(body, SCHEMA)
    FORGERIES[name](body)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(body, SCHEMA)


@pytest.mark.parametrize(
    "name", ["unknown method", "extra field", "one cell", "float epsilon", "choice is null", "too many cells"]
)
def test_the_schema_agrees_with_the_reader_of_bought_bounds(name: str) -> None:
    body = json.loads(BOUGHT.read_text(encoding="utf-8"))
    BOUGHT_FORGERIES[name](body)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(body, SCHEMA)


def test_statement_says_who_what_and_how_much(content: str) -> None:
    text = dc.Release.from_json(content).statement()
    for phrase in (
        "“try”",
        "epsilon = 0.5",
        "1.649 times",
        "number of records, 4, is public",
        "missing values",
    ):
        assert phrase in text
    assert "\n" not in text
    private = dc.release(
        [1, 0], dc.Bernoulli(), rho=0.1, mechanism="gaussian", neighbors="add_remove", missing="none"
    )
    for phrase in ("number of records is protected too", "rho = 0.1", "declared that no value is missing"):
        assert phrase in private.statement()


def said(rows: list[float], family: object, **options: object) -> str:
    return dc.release(rows, family, **options).statement()  # pyright: ignore[reportArgumentType, reportCallIssue]


def test_a_promise_that_protects_hardly_anybody_says_so() -> None:
    words = "So weak a promise protects hardly anybody."
    assert words not in said([1, 0], dc.Bernoulli(), epsilon=10)
    weak = said([1, 0], dc.Bernoulli(), epsilon=50)
    assert words in weak
    assert "more than e^50 times" in weak
    # rho = 2 implies epsilon = 11.2 at delta = 1e-6
    assert words not in said([1, 0], dc.Bernoulli(), rho=1, mechanism="gaussian")
    assert words in said([1, 0], dc.Bernoulli(), rho=2, mechanism="gaussian")
    assert words in said([1, 0], dc.Bernoulli(), rho=10**7, mechanism="gaussian")


def test_a_zero_concentrated_promise_is_put_into_words() -> None:
    text = said([1, 0], dc.Bernoulli(), rho="0.005", mechanism="gaussian")
    epsilon = float(text.split("It implies epsilon = ")[1].split(" with delta = 1e-06")[0])
    exact = dc.ZeroConcentratedDP("0.005").to_approx("1e-6").epsilon
    assert exact <= Fraction(str(epsilon)) <= exact * Fraction(102, 100)
    assert np.exp(epsilon) <= float(text.split("more than ")[1].split(" times")[0])


def test_the_statement_names_models_and_redaction_as_one_writes_them() -> None:
    poisson = said([1, 0], dc.Poisson(), bounds=(0, 9), epsilon=1, outside="redact")
    assert "a Poisson model" in poisson
    assert "with the middle of the range in its place" in poisson
    distances = said([1, 0], dc.Laplace(location=3), bounds=(0, 9), epsilon=1, outside="redact")
    assert "a Laplace model" in distances
    assert "with the middle of the range of what the model sums up in its place" in distances
    two = said([[1, 0], [2, 3]], dc.MultivariateNormal(2), bounds=[(0, 9), (0, 9)], epsilon=1)  # pyright: ignore
    assert "a multivariate normal model" in two


@pytest.mark.parametrize(
    ("name", "phrase"),
    [
        ("trajectories-table-posterior", "a record is a whole trajectory"),
        ("poisson-regression-step", "if they were taken from another release"),
        ("logistic-step", "if they were taken from another release"),
    ],
)
def test_a_statement_says_what_a_record_is_and_where_a_step_begins(name: str, phrase: str) -> None:
    golden = Path(dc.__file__).parent / "artifact" / "golden"
    assert phrase in dc.Release.load(golden / f"v1-{name}.json").statement()
    assert phrase not in dc.Release.load(golden / "v1-bernoulli.json").statement()
