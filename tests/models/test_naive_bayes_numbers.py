"""Naive Bayes with numbers: sensitivity by brute force, exact sums, files, posteriors, predictions; what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import norm

import discreet as dc
from discreet.artifact.codec import checksum
from discreet.curator.publish import release_with
from discreet.data import count_tables, summarize
from discreet.domain.declarations import Domain
from discreet.errors import EngineError, ReleaseFileError, UsageError
from discreet.models import NaiveBayes

MODEL = NaiveBayes({"smoker": ["no", "yes"]}, {"sex": ["f", "m"], "age": (-3, 100)}, split={"age": 2})
PRIOR: dict[str, Any] = {"age": dc.priors.NormalInverseGamma(50, 0.25, 2, 600)}
THETA = {
    "smoker": np.array([0.7, 0.3]),
    "sex": np.array([[0.6, 0.4], [0.2, 0.8]]),
    "age.mean": np.array([40.0, 62.0]),
    "age.sd": np.array([10.0, 15.0]),
}


def released(rng: np.random.Generator, rows: Any, model: NaiveBayes = MODEL, **how: Any) -> dc.Release:
    mechanism = how.pop("mechanism", dc.mechanisms.Laplace(1))
    return release_with(lambda noise: int(noise.sample(1, rng)[0]), rows, model, mechanism, **how)


# -- sensitivity --------------------------------------------------------------------------------------


def changes(added: np.ndarray, neighbors: str) -> np.ndarray:
    """All changes that one record can make: what it adds, or the difference of what two add."""
    if neighbors == "add_remove":
        return added
    return (added[:, None] - added[None]).reshape(-1, added.shape[1])


@pytest.mark.parametrize(
    ("neighbors", "missing", "outside"),
    [
        ("replace", "count", "redact"),
        ("add_remove", "count", "clip"),
        ("replace", "none", "clip"),
        ("add_remove", "none", "redact"),
    ],
)
def test_sensitivity_by_brute_force(
    neighbors: Any, missing: Any, outside: Any, rng: np.random.Generator
) -> None:
    """Every pair of some 250 records, on the integers: never above what is claimed, and not much below."""
    domain = Domain(None, None, outside, missing)
    layout = MODEL.layout(domain, neighbors)
    ends = [-3, 100, 48.5, np.nextafter(100, 0), np.nextafter(-3, -4), 1e300, -np.inf, np.nan, 48.5 + 1e-6]
    values = [*ends, *rng.uniform(-3, 100, 20)]
    records = list(product(["no", "yes", "?"], ["f", "m", "?"], values))
    added = np.array(
        [count_tables({"smoker": [c], "sex": [s], "age": [x]}, MODEL, domain).values for c, s, x in records],
        dtype=np.int64,
    )
    # in units of 2^-24 widths, which are whole
    unit = np.array([int(g / w * 2**24) for g, w in zip(layout.grid, layout.width, strict=True)])
    seen = np.abs(changes(np.unique(added, axis=0) * unit, neighbors))
    worst, squared = int(seen.sum(axis=1).max()), int((seen**2).sum(axis=1).max())
    assert worst <= layout.l1_sensitivity * 2**24
    assert squared <= (layout.l2_sensitivity * 2**24) ** 2
    touched = 2 if neighbors == "replace" else 1
    # sex has width 1 and age width 1/2; rounding can carry a pair beyond that, so the grid steps are needed
    assert touched * 3 * 2**24 <= worst
    assert squared >= touched * 5 * 2**48
    assert layout.l1_sensitivity == touched * 3 + 6 * Fraction(1, 2**24)
    assert worst > touched * 3 * 2**24
    # the control: the label alone, or one class alone, would be too little
    assert worst > layout.l1_sensitivity * 2**24 * Fraction(2, 3)


# -- sums ---------------------------------------------------------------------------------------------

WILD: dict[str, list[Any]] = {
    "smoker": ["no", "yes", "no", "yes", "no", "yes", "no", None, "yes", "no", "?", "yes"],
    "sex": ["f", "m", "?", "f", None, "m", "f", "m", "f", "m", "f", "m"],
    "age": [12.3, 0.1, 1e300, -3, float("nan"), float("inf"), 100, 33.3, float("-inf"), -7, 71.25, None],
}


@pytest.mark.parametrize("outside", ["redact", "clip"])
def test_the_same_integers_from_every_source(outside: Any, tmp_path: Path) -> None:
    domain = Domain(None, None, outside, "count")
    truth = count_tables(WILD, MODEL, domain).values
    frame = pd.DataFrame(WILD)
    frame.to_csv(tmp_path / "wild.csv", index=False)
    text = (tmp_path / "wild.csv").read_text().splitlines()
    # what cannot be read is missing as well
    text[5] += "word"
    assert text[5] == "no,,word"
    (tmp_path / "words.csv").write_text("\n".join(text) + "\n")
    columns = {name: values[::-1] for name, values in WILD.items()}
    table = pa.table({k: pa.array(v) for k, v in WILD.items()})
    sources: list[Any] = [
        frame,
        frame.astype(object),
        frame.sample(frac=1, random_state=1),
        pl.DataFrame(WILD, strict=False),
        table,
        pa.concat_tables([table.slice(0, 5), table.slice(5)]),
        columns,
        [list(row) for row in zip(*WILD.values(), strict=True)],
        tmp_path / "wild.csv",
        tmp_path / "words.csv",
    ]
    for source in sources:
        assert count_tables(source, MODEL, domain).values == truth
    # and what a normal of its own would sum, class by class
    family = Domain(((Fraction(-3), Fraction(100)),), None, outside, "count")
    layout = dc.Normal().layout(family, "add_remove")
    for c, label in enumerate(["no", "yes"]):
        mine = [x for x, s in zip(WILD["age"], WILD["smoker"], strict=True) if s == label]
        block = truth[9 + 4 * c : 13 + 4 * c]
        assert block[:3] == summarize(mine, dc.Normal(), family, layout).values
        assert block[3] == sum(x is None or x != x for x in mine)


def test_no_value_raises(rng: np.random.Generator) -> None:
    wild = {**WILD, "age": ["w", b"x", 1e400, -1e300, True, "1_0", "", " 5 ", "0x1", [], {}, "NaN"]}
    for missing, outside in product(["count", "none"], ["redact", "clip"]):
        release = released(rng, wild, missing=missing, outside=outside)
        for engine, prior in (("auto", None), ("gibbs", PRIOR)):
            posterior = dc.infer(release, prior=prior, engine=engine, rng=rng, draws=20, chains=1)  # pyright: ignore[reportArgumentType, reportCallIssue]
            assert all(np.isfinite(x).all() for x in posterior.draws.values())


# -- posteriors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"missing": "none", "outside": "redact", "mechanism": dc.mechanisms.Gaussian(rho=0.2)},
        {"neighbors": "add_remove"},
    ],
    ids=str,
)
def test_from_rows_to_means_and_deviations(how: Any, rng: np.random.Generator) -> None:
    rows = MODEL.sample_rows(THETA, 4000, rng)
    release = dc.Release.from_json(released(rng, rows, **{"outside": "clip", **how}).to_json())
    engine, prior = ("gibbs", PRIOR) if release.domain.outside == "redact" else ("grid", None)
    posterior = dc.infer(release, prior=prior, rng=rng, draws=800, chains=2)
    assert posterior.diagnostics.engine == engine
    assert ("central limit" in posterior.diagnostics.approximation) == (engine == "gibbs")
    assert posterior.diagnostics.independent == (engine == "grid")
    for name, truth in THETA.items():
        assert posterior.draws[name].shape == (800, *truth.shape)
        # four posterior standard deviations, by the middle half of the draws, which a far mode does not widen
        low, middle, high = (posterior.quantile(q)[name] for q in (0.25, 0.5, 0.75))
        assert (np.abs(middle - truth) < 4 * (high - low) / 1.35).all()
    spread = posterior.quantile(0.75)["age.mean"] - posterior.quantile(0.25)["age.mean"]
    assert (spread < 2).all()
    assert posterior.summary()["age.mean[yes]"].mean == pytest.approx(posterior.mean()["age.mean"][1])
    assert list(posterior.to_arviz().posterior["age.mean_dim_0"].values) == ["no", "yes"]
    naive = dc.infer(release, rng=rng, draws=800, engine="naive")
    assert naive.draws["age.sd"].shape == (800, 2)
    assert "noise and truncation are ignored" in naive.diagnostics.warnings[0]
    # noise that is ignored widens nothing
    wider = posterior.quantile(0.75)["age.sd"] - posterior.quantile(0.25)["age.sd"]
    assert (naive.sd()["age.sd"] < wider / 1.35).all()


def test_prediction_is_bayes_rule_averaged_over_draws(rng: np.random.Generator) -> None:
    release = released(rng, MODEL.sample_rows(THETA, 1000, rng))
    posterior = dc.infer(release, rng=rng, draws=30, chains=1)
    rows = {"age": [30, 62.5, None, 1e300, "word"], "sex": ["f", "m", "f", None, "x"]}
    joint = np.zeros((5, 2))
    for i in range(30):
        p = {name: x[i] for name, x in posterior.draws.items()}
        age = norm(p["age.mean"], p["age.sd"])
        joint[0] += p["smoker"] * p["sex"][:, 0] * age.pdf(30)  # pyright: ignore[reportAttributeAccessIssue]
        joint[1] += p["smoker"] * p["sex"][:, 1] * age.pdf(62.5)  # pyright: ignore[reportAttributeAccessIssue]
        joint[2] += p["smoker"] * p["sex"][:, 0]
        joint[3:] += p["smoker"]
    expected = joint / joint.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(posterior.predict_proba(rows), expected, rtol=1e-10)
    np.testing.assert_allclose(
        posterior.log_likelihood(rows), np.log(joint.sum(axis=1) / 30), rtol=1e-9, atol=1e-12
    )
    full = {"smoker": ["yes", "no", "yes", "no", "yes"], **rows}
    np.testing.assert_allclose(
        posterior.log_likelihood(pd.DataFrame(full)), np.log(joint[range(5), [1, 0, 1, 0, 1]] / 30), rtol=1e-9
    )
    assert posterior.predict(rows).tolist() == np.array(["no", "yes"])[expected.argmax(axis=1)].tolist()
    assert posterior.predict({"age": [], "sex": []}).shape == (0,)


def test_small_classes_are_doubted(rng: np.random.Generator) -> None:
    theta = {**THETA, "smoker": np.array([0.95, 0.05])}
    release = released(rng, MODEL.sample_rows(theta, 2000, rng))
    posterior = dc.infer(release, prior=PRIOR, engine="gibbs", rng=rng, draws=40, chains=1)
    (doubt,) = posterior.diagnostics.warnings
    assert "values of 'age' with smoker=yes; it has been shown calibrated from 200 on" in doubt


def test_numbers_alone_and_the_command_line_prior(rng: np.random.Generator) -> None:
    model = NaiveBayes({"c": 3}, {"x": (0, 1), "y": (-5, Fraction(5, 2))})
    rows = {"c": rng.integers(3, size=900), "x": rng.uniform(0, 1, 900), "y": rng.normal(0, 1, 900)}
    release = released(rng, rows, model)
    text = "x=normal_inverse_gamma:0.5,1,2,0.1; y=normal_inverse_gamma:0,1,2,1; c=2"
    posterior = dc.infer(release, prior=text, engine="gibbs", rng=rng, draws=40, chains=1)
    assert posterior.draws["y.mean"].shape == (40, 3)
    assert list(posterior.draws) == list(model.draw_names)


# -- refusals -----------------------------------------------------------------------------------------


def test_priors_are_weak_or_given(rng: np.random.Generator) -> None:
    release = released(rng, MODEL.sample_rows(THETA, 300, rng), outside="redact")
    assert "age=normal_inverse_gamma:48.5,0.25,2,663" in dc.infer(release, rng=rng).diagnostics.prior


def test_priors_that_do_not_fit(rng: np.random.Generator) -> None:
    release = released(rng, MODEL.sample_rows(THETA, 300, rng), outside="clip")
    with pytest.raises(UsageError, match="'age' needs no prior") as needless:
        dc.infer(release, prior=PRIOR)
    assert "engine='gibbs'" in str(needless.value.hint)
    with pytest.raises(UsageError, match="'age' takes a normal_inverse_gamma prior, or none") as caught:
        dc.infer(release, prior={"age": 1})  # pyright: ignore[reportArgumentType]
    assert caught.value.hint is not None
    assert "{'age': 'normal_inverse_gamma:48.5,0.25,2,663'}" in caught.value.hint
    for wrong in ({"age": "beta:1,1"}, {"age": dc.priors.Beta(1, 1)}, {**PRIOR, "stage": 1}):
        with pytest.raises(UsageError):
            dc.infer(release, prior=wrong, engine="gibbs")  # pyright: ignore[reportArgumentType]
    with pytest.raises(EngineError, match="'age' is a number"):
        dc.infer(release, prior=PRIOR, engine="exact")
    with pytest.raises(UsageError, match="'age' is declared as numbers"):
        dc.release(
            {"smoker": ["no"], "sex": ["f"], "age": [1]},
            MODEL,
            mechanism=dc.mechanisms.TablePosterior(epsilon=1, support=0.01),
            missing="none",
        )


@pytest.mark.parametrize(
    "forgery",
    [
        lambda b: b["statistics"].update(shift=None),
        lambda b: b["statistics"].update(shift=["0"]),
        lambda b: b["statistics"].update(half=["1"]),
        lambda b: b["statistics"].update(half=["103/2", "1"]),
        lambda b: b["statistics"]["grid"].__setitem__(9, "1"),
        lambda b: b["statistics"]["width"].__setitem__(9, "1"),
        lambda b: b["statistics"]["names"].__setitem__(9, "smoker=no|age=high"),
        lambda b: b["mechanism"]["scale"].__setitem__(9, "1"),
        lambda b: b["mechanism"].update(sensitivity="6"),
        lambda b: b["guarantees"][0].update(epsilon="1/2"),
        lambda b: b["model"]["parameters"]["features"][1].update(bounds=["-3", "101"]),
        lambda b: b["model"]["parameters"]["features"][1].update(bounds=["100", "-3"]),
        lambda b: b["model"]["parameters"].update(split=["1", "3"]),
        lambda b: b["domain"].update(bounds=[["-3", "100"]]),
    ],
)
def test_forged_files(forgery: Any, rng: np.random.Generator) -> None:
    body = json.loads(released(rng, WILD).to_json())
    forgery(body)
    body["sha256"] = checksum(body)
    with pytest.raises(ReleaseFileError) as caught:
        dc.Release.from_json(json.dumps(body))
    assert "\n" not in caught.value.message


def test_uneven_noise_is_refused_by_the_engine(rng: np.random.Generator) -> None:
    """A file may have more noise than it promises; in one cell of three, nobody makes it and no engine reads it."""
    body = json.loads(released(rng, WILD).to_json())
    body["mechanism"]["scale"][9] = "100"
    body["sha256"] = checksum(body)
    with pytest.raises(EngineError, match="different scales"):
        dc.infer(dc.Release.from_json(json.dumps(body)), prior=PRIOR, engine="gibbs")


@pytest.mark.parametrize("value", ["10000000000000", "-10000000000000", "900000000000000000"])
def test_absurd_sums_are_refused_at_once(value: str, rng: np.random.Generator) -> None:
    """What no noise explains would keep the sampler busy for long; a forger could wish for that."""
    body = json.loads(released(rng, WILD).to_json())
    body["statistics"]["values"][9] = value
    body["sha256"] = checksum(body)
    with pytest.raises(ReleaseFileError, match="further from every possible total"):
        dc.Release.from_json(json.dumps(body))
    # and by the engine, should such a release ever come from elsewhere
    made = released(rng, WILD)
    values = (*made.totals.values[:9], int(value), *made.totals.values[10:])
    with pytest.raises(EngineError, match="contradict"):
        dc.infer(replace(made, statistics=replace(made.totals, values=values)), prior=PRIOR, engine="gibbs")


def test_the_statement_names_the_bounds(rng: np.random.Generator) -> None:
    said = released(rng, WILD, outside="clip").statement()
    assert "the declared bounds of “age” are [-3, 100]" in said
    assert "moved to the nearest bound" in said
