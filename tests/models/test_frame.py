"""A model of several columns, from rows to a file and back: by noise, and by a mechanism that reads records."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import jsonschema
import numpy as np
import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.artifact.codec import checksum
from discreet.cli.app import app
from discreet.curator.publish import release_with, sample_with
from discreet.errors import ReleaseFileError, UsageError
from discreet.mechanisms.base import RandomSource
from discreet.mechanisms.noise import NoiseMechanism
from discreet.models.base import Model
from tests.models.toy import TOY, Toy, ToyMechanism

SCHEMA = json.loads((files("discreet.artifact") / "release.schema.json").read_text(encoding="utf-8"))
ROWS = {
    "stage": ["1", "2", "3", "3", None, "7", "2"],
    "sex": ["f", "m", "m", "", "f", "f", "x"],
    "pressure": [100.0, None, 1e300, -5.0, 61.0, float("nan"), 150.0],
    "id": [1, 2, 3, 4, 5, 6, 7],
}
IMPUTE = {"sex": "m", "pressure": 120, "stage": 2}
pytestmark = pytest.mark.usefixtures("known")


def counted(model: Model = TOY, mechanism: NoiseMechanism | None = None, **how: Any) -> dc.Release:
    return release_with(lambda _: 0, ROWS, model, mechanism or dc.mechanisms.Laplace(1), **how)


def sampled(rng: np.random.Generator, **how: Any) -> dc.Release:
    how = {"impute": IMPUTE} | how
    return sample_with(RandomSource.seeded(rng), ROWS, TOY, ToyMechanism("1/2"), **how)


# -- noise --------------------------------------------------------------------------------------------


def test_counts_are_those_of_the_rows() -> None:
    release = counted()
    cells = dict(zip(release.totals.names, release.totals.values, strict=True))
    assert sum(cells.values()) == release.records == 7
    assert {name: value for name, value in cells.items() if value} == {
        "sex=f|stage=1": 1,
        "sex=m|stage=2": 1,
        "sex=m|stage=3": 1,
        "sex=<missing>|stage=3": 1,
        "sex=f|stage=<missing>": 2,
        "sex=<missing>|stage=2": 1,
    }
    none = counted(missing="none").totals
    assert len(none.names) == 6
    assert sum(none.values) == 3


@pytest.mark.parametrize(("neighbors", "l1", "l2_squared"), [("replace", 6, 6), ("add_remove", 3, 3)])
def test_the_noise_is_scaled_to_all_tables_together(neighbors: Any, l1: int, l2_squared: int) -> None:
    model = Toy({name: ["0", "1"] for name in "abcd"})
    data = {name: ["0", "1", "1"] for name in "abcd"}
    laplace = release_with(lambda _: 0, data, model, dc.mechanisms.Laplace(2), neighbors=neighbors)
    assert laplace.noise_record.sensitivity == l1
    assert set(laplace.noise_record.scale) == {l1 / 2}
    gaussian = release_with(lambda _: 0, data, model, dc.mechanisms.Gaussian(rho=1), neighbors=neighbors)
    assert float(gaussian.noise_record.sensitivity) == pytest.approx(l2_squared**0.5, rel=1e-9)
    assert gaussian.noise_record.sensitivity**2 >= l2_squared
    assert (laplace.records is None) == (neighbors == "add_remove")


def test_a_record_moves_the_counts_by_no_more_than_the_sensitivity(rng: np.random.Generator) -> None:
    """Every pair of records of a small world, missing and undeclared values among them: attained, never exceeded."""
    model = Toy({"a": ["0", "1"], "b": ["0", "1"], "c": ["0", "1"]})
    worlds = [(a, b, c) for a in "01?" for b in "01?" for c in ("0", "1", None)]
    rest = [worlds[i] for i in rng.integers(len(worlds), size=5)]
    for missing in ("count", "none"):
        releases = [
            release_with(lambda _: 0, [*rest, one], model, dc.mechanisms.Laplace(1), missing=missing)
            for one in worlds
        ]
        values = [np.array(release.totals.values) for release in releases]
        moved = max(int(np.abs(x - y).sum()) for x in values for y in values)
        assert moved == releases[0].layout.l1_sensitivity == 4


# -- records ------------------------------------------------------------------------------------------


def test_a_mechanism_sees_every_record_clipped_and_imputed(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    draw = ToyMechanism.draw
    monkeypatch.setattr(ToyMechanism, "draw", lambda *given: seen.append(given[2]) or draw(*given))
    sampled(rng)
    sampled(rng, missing="none", impute=None)
    imputed, declared = seen
    assert imputed.codes.tolist() == [[0, 0], [1, 1], [1, 2], [1, 2], [0, 1], [0, 1], [1, 1]]
    assert imputed.values[:, 0].tolist() == [100.0, 120.0, 200.0, 60.0, 61.0, 120.0, 150.0]
    # the curator said that nothing is missing, and a row that disagrees counts all the same
    assert declared.codes.tolist() == [[0, 0], [1, 1], [1, 2], [0, 2], [0, 0], [0, 0], [0, 1]]
    assert declared.values[:, 0].tolist() == [100.0, 60.0, 200.0, 60.0, 61.0, 60.0, 150.0]


def test_secure_randomness_takes_no_seed() -> None:
    one, other = (dc.release(ROWS, TOY, mechanism=ToyMechanism(1), impute=IMPUTE) for _ in range(2))
    assert one.samples != other.samples
    assert one.guarantee == dc.PureDP(1)


def test_the_ledger_is_charged_before_anything_is_drawn(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = dc.Ledger(f"sqlite:///{tmp_path / 'ledger.db'}", budget=dc.PureDP(1))
    made = dc.release(
        ROWS, TOY, mechanism=ToyMechanism("1/2"), impute=IMPUTE, ledger=ledger, dataset="clinic"
    )
    assert made.ledger is not None

    def crash(*_: Any) -> None:
        raise RuntimeError("a value of the data")

    monkeypatch.setattr(ToyMechanism, "draw", crash)
    with pytest.raises(dc.errors.DataError, match="the samples could not be drawn") as caught:
        dc.release(ROWS, TOY, mechanism=ToyMechanism("1/2"), impute=IMPUTE, ledger=ledger, dataset="clinic")
    assert caught.value.__context__ is None
    # the crash cost the other half of the budget
    with pytest.raises(dc.errors.BudgetError):
        dc.release(ROWS, TOY, epsilon="1/100", ledger=ledger, dataset="clinic")


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"impute": None}, "samples need impute"),
        ({"impute": {"sex": "m"}}, "says nothing for column 'pressure'"),
        ({"impute": IMPUTE | {"age": 3}}, "no such column"),
        ({"impute": IMPUTE | {"sex": "d"}}, "no label of column 'sex'"),
        ({"impute": IMPUTE | {"pressure": 300}}, r"within the bounds \[60, 200\]"),
        ({"impute": "m"}, "dictionary by column name"),
        ({"impute": ["m", 120]}, "takes 3 value"),
        ({"missing": "none"}, "contradicts"),
        ({"missing": "count"}, "leaves records out"),
        ({"bounds": (0, 1)}, "declares its own columns"),
        ({"columns": ("sex",)}, "declares its own columns"),
        ({"neighbors": "add_remove"}, "private for neighbors='replace'"),
    ],
)
def test_declarations_are_refused_before_a_row_is_read(how: Any, said: str, rng: np.random.Generator) -> None:
    class Untouchable:
        pass

    with pytest.raises(UsageError, match=said):
        sample_with(
            RandomSource.seeded(rng), Untouchable(), TOY, ToyMechanism(1), **({"impute": IMPUTE} | how)
        )


def test_more_refusals(rng: np.random.Generator) -> None:
    with pytest.raises(UsageError, match="too few records"):
        sample_with(
            RandomSource.seeded(rng), {k: v[:2] for k, v in ROWS.items()}, TOY, ToyMechanism(1), impute=IMPUTE
        )
    with pytest.raises(UsageError, match="holds its own budget"):
        dc.release(ROWS, TOY, mechanism=ToyMechanism(1), epsilon=1, impute=IMPUTE)
    with pytest.raises(
        UsageError, match="reads records of a model of several columns, and bernoulli is none"
    ):
        dc.release([0, 1], dc.Bernoulli(), mechanism=ToyMechanism(1))
    with pytest.raises(UsageError, match="impute is for mechanisms that release samples"):
        dc.release(ROWS, TOY, epsilon=1, impute=IMPUTE)
    with pytest.raises(UsageError, match="samples a family"):
        dc.release(
            ROWS, TOY, mechanism=dc.mechanisms.PosteriorSampling("beta:1,1", epsilon=1, support=(0.1, 0.9))
        )
    with pytest.raises(UsageError, match="there is no column 'stage'"):
        dc.release({k: v for k, v in ROWS.items() if k != "stage"}, TOY, epsilon=1)
    with pytest.raises(UsageError, match="at most 1000000"):
        dc.release(ROWS, Toy({"a": 1500, "b": 1500}), epsilon=1)
    with pytest.raises(UsageError, match="a family of one column is needed"):
        _ = counted().family


# -- files --------------------------------------------------------------------------------------------


def test_files_round_trip(rng: np.random.Generator) -> None:
    gaussian = counted(mechanism=dc.mechanisms.Gaussian(epsilon=1, delta="1e-6"))
    for release in (counted(), counted(neighbors="add_remove", missing="none"), gaussian, sampled(rng)):
        text = release.to_json()
        assert dc.Release.from_json(text) == release
        assert dc.Release.from_json(text).to_json() == text
        jsonschema.validate(json.loads(text), SCHEMA)
        assert release.model == TOY


def test_words(rng: np.random.Generator) -> None:
    noisy, drawn = counted(), sampled(rng)
    promise = "pure differential privacy with epsilon = 1"
    assert repr(noisy) == f"<Release of sex, pressure, stage: toy, 12 statistics, {promise}, 7 records>"
    said = noisy.statement()
    assert "the declared labels of “stage” are 1, 2 and 3" in said
    assert "the declared bounds of “pressure” are [60, 200]" in said
    assert "missing and undeclared values were counted as a label of their own" in said
    said = drawn.statement()
    assert "It is the means of the columns, with noise (unit_scale 0.857143)." in said
    assert "missing and undeclared values were replaced by m, 120 and 2" in said
    posterior = dc.infer(drawn)
    assert posterior.draws["codes"].shape == (1, 2)
    assert "the means of the columns, with noise" in " ".join(posterior.diagnostics.warnings)


def test_show(rng: np.random.Generator, tmp_path: Any) -> None:
    for release in (counted(), sampled(rng)):
        release.save(tmp_path / "release.json")
        result = CliRunner().invoke(app, ["show", str(tmp_path / "release.json")])
        assert result.exit_code == 0, result.output
        assert "toy" in result.output


FORGERIES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "an unknown model": lambda b: b["model"].update(name="os.system"),
    "no constants": lambda b: b["model"].update(parameters={}),
    "constants that are no object": lambda b: b["model"].update(parameters=[]),
    "one constant more": lambda b: b["model"]["parameters"].update(more=1),
    "deep constants": lambda b: b["model"]["parameters"].update(columns=[[[[[[[[[]]]]]]]]]),
    "a repeated label": lambda b: b["model"]["parameters"]["columns"][0].update(labels=["f", "f"]),
    "other columns": lambda b: b.update(columns=["sex", "pressure", "age"]),
    "columns in another order": lambda b: b.update(columns=["pressure", "sex", "stage"]),
    "bounds": lambda b: b["domain"].update(bounds=[["0", "1"]]),
    "labels": lambda b: b["domain"].update(labels=["f", "m"]),
    "another promise": lambda b: b["guarantees"][0].update(epsilon="1/4"),
    "a promise of another kind": lambda b: b["guarantees"].__setitem__(
        0, {"kind": "approx", "epsilon": "1/2", "delta": "0", "for": b["guarantees"][0]["for"]}
    ),
}
NOISY: dict[str, Callable[[dict[str, Any]], Any]] = {
    "another label": lambda b: b["model"]["parameters"]["columns"][0].update(labels=["f", "m", "d"]),
    "less noise": lambda b: b["mechanism"].update(scale=["1"] * 12),
    "less sensitivity": lambda b: b["mechanism"].update(sensitivity="1"),
    "a cell less": lambda b: b["statistics"].update(values=b["statistics"]["values"][1:]),
    "cells of other names": lambda b: b["statistics"]["names"].reverse(),
    "imputed": lambda b: b["domain"].update(missing="impute", impute=["m", "120", "2"]),
    "nothing missing": lambda b: b["domain"].update(missing="none"),
}
DRAWN: dict[str, Callable[[dict[str, Any]], Any]] = {
    "less noise": lambda b: b["mechanism"]["parameters"].update(unit_scale="1/2"),
    "paths that are no object": lambda b: b["mechanism"].update(paths=[]),
    "a path that is no list": lambda b: b["mechanism"].update(paths={"path": "1"}),
    "a prior that is no text": lambda b: b["mechanism"].update(prior=3),
    "imputed outside": lambda b: b["domain"].update(impute=["m", "300", "2"]),
    "imputed by no label": lambda b: b["domain"].update(impute=["d", "120", "2"]),
    "imputed too little": lambda b: b["domain"].update(impute=["m", "120"]),
    "nothing imputed": lambda b: b["domain"].pop("impute"),
    "draws of another name": lambda b: b["samples"].update(draws={"codes": [[0.1, 0.2]], "p": [[1]]}),
    "a family's mechanism": lambda b: b["mechanism"].update(name="posterior_sample"),
}


@pytest.mark.parametrize("name", [*FORGERIES, *NOISY])
def test_forged_counts(name: str) -> None:
    refuse({**FORGERIES, **NOISY}[name], counted())


@pytest.mark.parametrize("name", [*FORGERIES, *DRAWN])
def test_forged_samples(name: str, rng: np.random.Generator) -> None:
    refuse({**FORGERIES, **DRAWN}[name], sampled(rng))


def refuse(forgery: Callable[[dict[str, Any]], Any], release: dc.Release) -> None:
    body = json.loads(release.to_json())
    forgery(body)
    body["sha256"] = checksum(body)
    with pytest.raises(ReleaseFileError) as caught:
        dc.Release.from_json(json.dumps(body))
    assert "\n" not in caught.value.message


def test_a_family_cannot_use_a_record_mechanism() -> None:
    mechanism = dc.mechanisms.PosteriorSampling("beta:1,1", epsilon=1, support=(0.1, 0.9))
    refuse(
        lambda b: b["mechanism"].update(name="toy_means"),
        dc.release([0, 1, 1], dc.Bernoulli(), mechanism=mechanism, missing="none"),
    )


def test_samples_may_be_matrices_for_each_component(rng: np.random.Generator) -> None:
    body = json.loads(sampled(rng).to_json())
    body["samples"]["draws"]["codes"] = [[[[0.1, 0.2], [0.3, 0.4]]] * 3]
    body["sha256"] = checksum(body)
    again = dc.Release.from_json(json.dumps(body)).samples
    assert again is not None
    assert again.arrays()["codes"].shape == (1, 3, 2, 2)
    body["samples"]["draws"]["codes"] = [[[[[0.1]]]]]
    body["sha256"] = checksum(body)
    with pytest.raises(ReleaseFileError, match="a draw is not a number"):
        dc.Release.from_json(json.dumps(body))
