"""The mixture as a model: declarations, likelihood, noisy counts and what is read from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.curator.publish import release_with
from discreet.errors import EngineError, UsageError
from discreet.mechanisms.noise import Laplace
from discreet.models import Mixture

MODEL = Mixture(2, {"smoker": ["no", "yes"], "stage": ["1", "2", "3"]})
DRAWS = {
    "weights": np.array([[0.25, 0.75], [0.5, 0.5]]),
    "smoker": np.array([[[0.9, 0.1], [0.2, 0.8]]] * 2),
    "stage": np.array([[[0.6, 0.3, 0.1], [0.1, 0.1, 0.8]]] * 2),
}


def table(rng: np.random.Generator, n: int) -> pa.Table:
    second = rng.random(n) < 0.75
    smoker = np.where(rng.random(n) < np.where(second, 0.8, 0.1), "yes", "no")
    cut = np.where(second[:, None], [0.1, 0.2], [0.6, 0.9])
    stage = 1 + (rng.random(n)[:, None] > cut).sum(axis=1)
    return pa.table({"smoker": smoker, "stage": stage.astype(str)})


def test_the_likelihood_is_a_sum_over_components() -> None:
    codes = np.array([[1, 2], [0, 0], [2, 1], [1, 3]])
    found = np.exp(MODEL.row_log_density(DRAWS, codes))
    assert found.shape == (2, 4)
    assert found[0, 0] == pytest.approx(0.25 * 0.1 * 0.1 + 0.75 * 0.8 * 0.8)
    assert found[1, 1] == pytest.approx(0.5 * 0.9 * 0.6 + 0.5 * 0.2 * 0.1)
    # a code beyond the labels is missing and says nothing
    assert found[0, 2] == pytest.approx(0.25 * 0.3 + 0.75 * 0.1)
    assert found[0, 3] == pytest.approx(0.25 * 0.1 + 0.75 * 0.8)
    every = np.array(list(np.ndindex(2, 3)))
    assert np.exp(MODEL.row_log_density(DRAWS, every)).sum(axis=1) == pytest.approx(1)


def test_constants_rebuild_the_model() -> None:
    assert Mixture.from_constants(MODEL.constants()) == MODEL
    assert MODEL.draw_names == ("weights", "smoker", "stage")
    assert MODEL.axis_labels()["stage"] == (("1", "2"), ("1", "2", "3"))


@pytest.mark.parametrize(
    ("components", "columns", "words"),
    [
        (0, {"a": 2}, "components"),
        (True, {"a": 2}, "components"),
        (2.0, {"a": 2}, "components"),
        (2, {}, "at least one column"),
        (2, {"weights": 2}, "cannot be called"),
        (2, {"a": (0, 1)}, "labels"),
    ],
)
def test_bad_declarations(components: Any, columns: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Mixture(components, columns)


@pytest.mark.parametrize("prior", [0, -1, {"nobody": 1}, {"smoker": 0}, 1e13])
def test_bad_priors(prior: Any) -> None:
    with pytest.raises(UsageError, match="prior"):
        MODEL.concentrations(prior)


def test_one_record_is_in_one_cell(rng: np.random.Generator) -> None:
    release = dc.release(table(rng, 40), MODEL, epsilon=1)
    assert len(release.totals.values) == 3 * 4
    assert release.layout.l1_sensitivity == 2
    assert dc.Release.from_json(release.to_json()) == release


class TestInference:
    def test_much_data_and_little_noise_find_the_components(self, rng: np.random.Generator) -> None:
        release = release_with(
            lambda noise: int(noise.sample(1, rng)[0]),
            table(rng, 4000),
            MODEL,
            Laplace(2),
            missing="none",
        )
        posterior = dc.infer(release, draws=400, chains=2, rng=rng)
        assert posterior.diagnostics.engine == "gibbs"
        assert not posterior.diagnostics.independent
        assert posterior.draws["stage"].shape == (400, 2, 3)
        # the first component is the larger one; five standard deviations of the posterior, and then some
        smokers = posterior.draws["smoker"][:, 0, 1]
        assert abs(smokers.mean() - 0.8) < 0.1
        rows = {"smoker": ["yes", "no"], "stage": ["3", "1"]}
        log = posterior.log_likelihood(rows)  # pyright: ignore[reportAttributeAccessIssue]
        truth = np.log([0.25 * 0.1 * 0.1 + 0.75 * 0.8 * 0.8, 0.25 * 0.9 * 0.6 + 0.75 * 0.2 * 0.1])
        assert log == pytest.approx(truth, abs=0.15)
        assert "numbered by weight" in str(posterior.diagnostics)

    def test_missing_labels_are_read(self, rng: np.random.Generator) -> None:
        data = table(rng, 300).to_pydict()
        data["smoker"][:100] = [None] * 100
        release = dc.release(pa.table(data), MODEL, epsilon=5)
        posterior = dc.infer(release, draws=100, chains=2, rng=rng)
        assert np.isfinite(posterior.draws["weights"]).all()

    def test_a_private_number_of_records_needs_the_naive_engine(self, rng: np.random.Generator) -> None:
        release = dc.release(table(rng, 60), MODEL, epsilon=1, neighbors="add_remove")
        with pytest.raises(EngineError, match="number of records is private"):
            dc.infer(release)
        naive = dc.infer(release, engine="naive", draws=40, chains=2, rng=rng)
        assert "ignored" in naive.diagnostics.approximation
