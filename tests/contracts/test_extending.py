"""A mechanism, a model and an engine are added by their files and one line of a registry each.

Each is taken from rows to a file to a posterior by the public verbs; and without its line, it is refused.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.artifact.records.registry import RECORDS
from discreet.inference.engines.registry import ENGINES
from discreet.models.registry import MODELS
from tests.contracts.extensions import Shares
from tests.models.toy import TOY, ToyMechanism, ToyRecord

ROWS = {
    "sex": ["f", "m", "m", "f"] * 10,
    "pressure": [100.0, 120.0, 140.0, 160.0] * 10,
    "stage": ["1", "2", "3", "3"] * 10,
}
SHARES = Shares({"sex": ["f", "m"], "stage": ["1", "2", "3"]})
HERE = "tests.contracts.extensions"


def released(tmp_path: Path, model: Shares = SHARES) -> Path:
    """Release the counts with so little noise that they can be told, into a file."""
    dc.release(ROWS, model, epsilon=100, missing="none").save(tmp_path / "release.json")
    return tmp_path / "release.json"


def test_a_mechanism(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MODELS, "toy", "tests.models.toy:Toy")
    path = tmp_path / "release.json"
    with monkeypatch.context() as line:
        line.setitem(RECORDS, ToyRecord.name, ToyRecord)
        impute = {"sex": "m", "pressure": 120, "stage": "2"}
        dc.release(ROWS, TOY, mechanism=ToyMechanism(10_000), impute=impute).save(path)
        posterior = dc.infer(path)
        assert posterior.diagnostics.engine == "samples"
        assert posterior.draws["codes"] == pytest.approx(np.array([[0.5, 1.25]]), abs=0.01)
        assert posterior.draws["values"] == pytest.approx(np.array([[130.0]]), abs=1)
    with pytest.raises(dc.errors.ReleaseFileError, match="unknown value"):
        dc.infer(path)


def test_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENGINES, "toy_shares", (f"{HERE}:SHARES",))
    with monkeypatch.context() as line:
        line.setitem(MODELS, "toy_shares", f"{HERE}:Shares")
        path = released(tmp_path)
        assert dc.Release.load(path).model == SHARES
        posterior = dc.infer(path, draws=4000, rng=0)
        counts = np.array([10, 0, 10, 0, 10, 10])
        assert posterior.draws["share"].shape == (4000, 6)
        assert posterior.draws["share"].mean(axis=0) == pytest.approx((counts + 1) / 46, abs=0.02)
        assert posterior.model == SHARES
    with pytest.raises(dc.errors.ReleaseFileError, match="toy_shares"):
        dc.infer(path)


def test_an_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "release.json"
    dc.release(ROWS, dc.Categorical(["f", "m"]), column="sex", epsilon=1).save(path)
    with monkeypatch.context() as line:
        line.setitem(ENGINES, "categorical", (f"{HERE}:PRIOR_ONLY", *ENGINES["categorical"]))
        posterior = dc.infer(path, prior="dirichlet:8,2", draws=4000, rng=0)
        assert posterior.diagnostics.engine == "prior_only"
        assert posterior.draws["p"].mean(axis=0) == pytest.approx([0.8, 0.2], abs=0.02)
        # it refuses what it cannot read, and the next one takes over
        private = dc.release(ROWS, dc.Bernoulli(), column="sex", epsilon=1, neighbors="add_remove")
        assert dc.infer(private, rng=0).diagnostics.engine == "exact"
    assert dc.infer(path, prior="dirichlet:8,2", rng=0).diagnostics.engine == "exact"
