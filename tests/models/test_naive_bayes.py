"""Naive Bayes through the public verbs: release, file, infer, predict; and what is refused."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.artifact.codec import checksum
from discreet.curator.publish import release_with, sample_with
from discreet.errors import EngineError, ReleaseFileError, UsageError
from discreet.mechanisms.base import RandomSource
from discreet.models import Labels, NaiveBayes
from discreet.models.public_rows import code_rows
from tests.models.toy import TOY

MODEL = NaiveBayes({"smoker": ["no", "yes"]}, {"sex": ["f", "m"], "stage": ["1", "2", "3"]})
THETA = {
    "smoker": np.array([0.7, 0.3]),
    "sex": np.array([[0.6, 0.4], [0.2, 0.8]]),
    "stage": np.array([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]]),
}


def released(rng: np.random.Generator, n: int = 4000, epsilon: float = 2, **how: Any) -> dc.Release:
    rows = MODEL.sample_rows(THETA, n, rng)
    return release_with(
        lambda noise: int(noise.sample(1, rng)[0]),
        rows,
        MODEL,
        dc.mechanisms.Laplace(epsilon),
        **how,
    )


@pytest.mark.parametrize("how", [{}, {"missing": "none"}, {"neighbors": "add_remove"}], ids=str)
def test_from_rows_to_probabilities(how: Any, rng: np.random.Generator) -> None:
    release = dc.Release.from_json(released(rng, **how).to_json())
    posterior = dc.infer(release, rng=rng, draws=1000, chains=1)
    assert posterior.diagnostics.engine == "exact"
    assert posterior.diagnostics.independent
    # four posterior standard deviations of a proportion of the smallest class, and the noise: 1200 records, scale 4
    for name, truth in THETA.items():
        np.testing.assert_allclose(posterior.mean()[name], truth, atol=0.07)
        assert posterior.draws[name].shape == (1000, *truth.shape)
        np.testing.assert_allclose(posterior.draws[name].sum(axis=-1), 1, atol=1e-12)
    assert posterior.summary()["stage[yes, 3]"].mean == pytest.approx(posterior.mean()["stage"][1, 2])
    assert "naive_bayes model of smoker, sex, stage" in str(posterior.about)
    tree = posterior.to_arviz()
    assert list(tree.posterior["stage_dim_1"].values) == ["1", "2", "3"]


def test_the_sensitivity_is_joint_or_split(rng: np.random.Generator) -> None:
    both = released(rng, epsilon=1)
    assert both.noise_record.sensitivity == 4
    assert set(both.noise_record.scale) == {4}
    model = NaiveBayes(MODEL.target, MODEL.features, split={"stage": 3})
    rows = model.sample_rows(THETA, 10, rng)
    made = release_with(lambda _: 0, rows, model, dc.mechanisms.Laplace(1), missing="none")
    # a quarter of epsilon for sex, three quarters for stage: 2 / (1/4) and 2 / (3/4)
    assert [float(scale) for scale in made.noise_record.scale] == pytest.approx([8] * 4 + [8 / 3] * 6)
    assert dc.Release.from_json(made.to_json()).model == model
    assert made.totals.names[:2] == ("smoker=no|sex=f", "smoker=no|sex=m")


def test_prediction_is_bayes_rule_averaged_over_draws(rng: np.random.Generator) -> None:
    posterior = dc.infer(released(rng), rng=rng, draws=40, chains=1)
    rows = {"sex": ["f", "m", None, "x"], "stage": [3, "1", "2", 9]}
    joint = np.zeros((4, 2))
    for i in range(40):
        p = {name: x[i] for name, x in posterior.draws.items()}
        joint[0] += p["smoker"] * p["sex"][:, 0] * p["stage"][:, 2]
        joint[1] += p["smoker"] * p["sex"][:, 1] * p["stage"][:, 0]
        joint[2] += p["smoker"] * p["stage"][:, 1]
        joint[3] += p["smoker"]
    expected = joint / joint.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(posterior.predict_proba(rows), expected, rtol=1e-12)
    assert posterior.predict(rows).tolist() == np.array(["no", "yes"])[expected.argmax(axis=1)].tolist()
    np.testing.assert_allclose(
        posterior.log_likelihood(rows), np.log(joint.sum(axis=1) / 40), rtol=1e-12, atol=1e-14
    )
    full = {"smoker": ["yes", "no", "yes", "no"], **rows}
    np.testing.assert_allclose(
        posterior.log_likelihood(full), np.log(joint[range(4), [1, 0, 1, 0]] / 40), rtol=1e-12
    )
    frame = pd.DataFrame(full)
    np.testing.assert_allclose(posterior.predict_proba(frame), expected, rtol=1e-12)
    listed = [["f", 3], ["m", 1], [None, 2], ["x", 9]]
    assert posterior.predict(listed).tolist() == posterior.predict(rows).tolist()
    assert posterior.predict({"sex": [], "stage": []}).shape == (0,)
    for wrong in ([["f"]], [["f", 1], ["m"]], object(), {"sex": ["f"], "stage": []}):
        with pytest.raises(UsageError):
            posterior.predict(wrong)
    with pytest.raises(UsageError, match="no column 'stage'"):
        posterior.predict({"sex": ["f"]})
    with pytest.raises(UsageError, match="no column 'smoker'"):
        code_rows(MODEL, rows)


def test_noise_aware_beats_naive_where_noise_matters(rng: np.random.Generator) -> None:
    """Held-out log-likelihood over 20 tables of 200 records at epsilon 0.2; the gain is several errors above 0."""
    held = MODEL.sample_rows(THETA, 2000, rng)
    gains = []
    for _ in range(20):
        release = released(rng, 200, 0.2)
        both = [dc.infer(release, engine=e, rng=rng, draws=200, chains=1) for e in ("exact", "naive")]
        exact, naive = (posterior.log_likelihood(held).mean() for posterior in both)
        gains.append(exact - naive)
    assert np.mean(gains) > 3.3 * np.std(gains, ddof=1) / np.sqrt(len(gains))


def test_priors(rng: np.random.Generator) -> None:
    release = released(rng, 50, 0.01)
    loose, tight = (
        dc.infer(release, prior=prior, rng=rng, draws=400, chains=1)
        for prior in (None, {"stage": [1, 1, 1e5], "sex": 50})
    )
    assert loose.sd()["stage"].min() > 0.1
    np.testing.assert_allclose(tight.mean()["stage"][:, 2], 1, atol=1e-3)
    assert dc.infer(release, prior="0.5", rng=rng).n_draws == 4000
    for wrong in (
        0,
        -1,
        "beta:1,1",
        {"age": 1},
        {"stage": [1, 1]},
        {"sex": [1, 0]},
        dc.priors.Beta(1, 1),
        1e13,
    ):
        with pytest.raises(UsageError):
            dc.infer(release, prior=wrong)  # pyright: ignore[reportArgumentType]
    with pytest.raises(EngineError, match="naive_bayes has exact, naive"):
        dc.infer(release, engine="gibbs")
    with pytest.raises(UsageError, match="takes no prior"):
        dc.infer(release, records=(1, 2))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: NaiveBayes({"a": 2}, {"a": 3}), "is the target and cannot be a feature"),
        (lambda: NaiveBayes({"a": 2, "b": 2}, {"c": 3}), "one target, got 2"),
        (lambda: NaiveBayes("a", {"c": 3}), "declared with its labels"),  # pyright: ignore[reportArgumentType]
        (lambda: NaiveBayes({"a": 2}, {}), "at least one column"),
        (lambda: NaiveBayes({"a": (0, 1)}, {"c": 3}), "declared as numbers"),
        (lambda: NaiveBayes({"a": 2}, {"c": (10, 0)}), "c"),
        (lambda: NaiveBayes({"a": 2}, {"c": (0, float("inf"))}), "'c'"),
        (lambda: NaiveBayes({"a": 2}, {"c": (0, 10), "c.mean": 2}), "draws of the same name"),
        (lambda: NaiveBayes({"a": 2}, {"c": ["x", "x"]}), "'x' is repeated"),
        (lambda: NaiveBayes({"a": 2}, {"c": 2}, split={"d": 1}), "no feature of that name"),
        (lambda: NaiveBayes({"a": 2}, {"c": 2}, split={"c": 0}), "must be positive"),
    ],
)
def test_bad_declarations(make: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        make()
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    "constants",
    [
        {},
        {"target": {}, "features": []},
        {"target": {"name": "a", "labels": ["x", "y"]}, "features": []},
        {"target": {"name": "a", "labels": ["x", "y"]}, "features": [{"name": "b", "bounds": ["1", "0"]}]},
        {"target": {"name": "a", "labels": ["x", "y"]}, "features": [{"name": "a", "labels": ["x", "y"]}]},
        {"target": {"name": "a", "bounds": ["0", "1"]}, "features": [{"name": "b", "labels": ["x", "y"]}]},
        *(
            {
                "target": {"name": "a", "labels": ["x", "y"]},
                "features": [{"name": "b", "labels": ["x", "y"]}],
                "split": split,
            }
            for split in (None, [], ["0"], ["-1"], [1], ["1", "1"], ["1e999999999"], "1")
        ),
    ],
)
def test_hostile_constants(constants: Any) -> None:
    with pytest.raises(ValueError):
        NaiveBayes.from_constants(constants)


# -- samples ------------------------------------------------------------------------------------------


def sampled(rng: np.random.Generator, n: int = 500, **how: Any) -> dc.Release:
    mechanism = dc.mechanisms.TablePosterior(**({"epsilon": 5, "samples": 3, "support": "0.02"} | how))
    rows = MODEL.sample_rows(THETA, n, rng)
    return sample_with(RandomSource.seeded(rng), rows, MODEL, mechanism, missing="none")


def test_samples_round_trip_and_predict(rng: np.random.Generator) -> None:
    release = dc.Release.from_json(sampled(rng).to_json())
    assert release.samples is not None
    assert release.samples.arrays()["stage"].shape == (3, 2, 3)
    posterior = dc.infer(release)
    assert posterior.predict_proba({"sex": ["f"], "stage": ["3"]}).shape == (1, 2)
    said = release.statement()
    assert "for a naive Bayes model" in said
    assert "tempered posterior with prior symmetric_dirichlet:1" in said
    exact = 2 * (np.log(0.98 / 0.02) * 2 + np.log(0.96 / 0.02))
    assert float(release.sampling_record.parameters["range"]) == pytest.approx(exact, rel=1e-9)
    assert float(release.sampling_record.parameters["temperature"]) == pytest.approx(3 * exact / 5, rel=1e-9)


@pytest.mark.parametrize(
    "forgery",
    [
        lambda b: b["mechanism"]["parameters"].update(temperature="2"),
        lambda b: b["mechanism"]["parameters"].update(range="8"),
        lambda b: b["mechanism"]["parameters"].update(order="2"),
        lambda b: b["mechanism"].update(support=[["1/1000", "1"]]),
        lambda b: b["mechanism"].update(support=[["1/10", "1"]]),
        lambda b: b["mechanism"].update(support=None),
        lambda b: b["mechanism"].update(prior="symmetric_dirichlet:0"),
        lambda b: b["mechanism"].update(prior="dirichlet:1"),
        lambda b: b["mechanism"].update(prior=None),
        lambda b: b["guarantees"][0].update(epsilon="4"),
        lambda b: b["samples"].update(arithmetic="exact"),
        lambda b: b["samples"]["draws"].update(smoker=[[0.5, 0.6]] * 3),
        lambda b: b["samples"]["draws"].update(smoker=[[0.999, 0.001]] * 3),
        lambda b: b["samples"]["draws"].update(smoker=[[0.3, 0.3, 0.4]] * 3),
        lambda b: b["samples"]["draws"].update(sex=[[0.3, 0.7]] * 3),
    ],
)
def test_forged_samples(forgery: Any, rng: np.random.Generator) -> None:
    body = json.loads(sampled(rng).to_json())
    forgery(body)
    body["sha256"] = checksum(body)
    with pytest.raises(ReleaseFileError) as caught:
        dc.Release.from_json(json.dumps(body))
    assert "\n" not in caught.value.message


def test_refusals_of_samples(rng: np.random.Generator) -> None:
    for how, said in (
        ({"support": "0.4"}, "leaves no room"),
        ({"support": 0}, "least probability"),
        ({"support": None}, "needs a support"),
        ({"epsilon": None}, "needs epsilon"),
        ({"prior": "1/2"}, "too long"),
        ({"prior": 0}, "positive"),
        ({"samples": 0}, "samples must be"),
    ):
        with pytest.raises(UsageError, match=said):
            sampled(rng, **how)  # pyright: ignore[reportArgumentType]
    mechanism = dc.mechanisms.TablePosterior(epsilon=1, support=0.01)
    with pytest.raises(UsageError, match="samples models of labels"):
        dc.release([], TOY, mechanism=mechanism, missing="none")


def test_labels_are_declared_columns() -> None:
    assert MODEL.columns[0] == Labels("smoker", ("no", "yes"))
    assert NaiveBayes.from_constants(json.loads(json.dumps(MODEL.constants()))) == MODEL
    assert hash(MODEL) == hash(NaiveBayes(MODEL.target, MODEL.features))
