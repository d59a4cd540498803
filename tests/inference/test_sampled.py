"""Released samples that are handed on as they are: with engine="naive", or because no engine reads them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.curator.publish import sample_with
from discreet.mechanisms.base import RandomSource


@pytest.fixture
def release(rng: np.random.Generator) -> dc.Release:
    mechanism = dc.mechanisms.PosteriorSampling("beta:1,1", epsilon=1, samples=3, support=(0.05, 0.95))
    return sample_with(RandomSource.seeded(rng), [1, 0] * 40, dc.Bernoulli(), mechanism, impute=0)


def test_the_samples_are_handed_on(release: dc.Release, tmp_path: Path) -> None:
    release.save(tmp_path / "r.json")
    posterior = dc.infer(tmp_path / "r.json", engine="naive")
    assert release.samples is not None
    assert tuple(posterior.draws["p"]) == release.samples.draws["p"]
    how = posterior.diagnostics
    assert (how.engine, how.approximation, how.independent) == ("samples", "tempered posterior", True)
    assert posterior.n_draws == 3
    (said,) = how.warnings
    assert "3 draws in all" in said
    assert "temperature 17.67" in said
    assert "not noise-aware" in said
    assert "tempered" in str(posterior.summary())


def test_one_draw_is_enough(rng: np.random.Generator) -> None:
    mechanism = dc.mechanisms.PosteriorSampling("dirichlet:1,1,1", epsilon=1, support=0.05)
    family = dc.Categorical(["a", "b", "c"])
    posterior = dc.infer(
        sample_with(RandomSource.seeded(rng), ["a", "b", "c"], family, mechanism, impute="a"), engine="naive"
    )
    assert posterior.draws["p"].shape == (1, 3)
    assert posterior.labels == {"p": ("a", "b", "c")}
    assert "drawn in floating point" in " ".join(posterior.diagnostics.warnings)
    assert np.isnan(posterior.sd()["p"]).all()


def test_nothing_else_can_be_asked(release: dc.Release) -> None:
    for engine in ("gibbs", "augment"):
        with pytest.raises(dc.errors.EngineError, match="does not apply"):
            dc.infer(release, engine=engine)
    with pytest.raises(dc.errors.UsageError, match="part of their guarantee"):
        dc.infer(release, prior="beta:1,1", engine="naive")
    with pytest.raises(dc.errors.UsageError, match="noisy totals"):
        dc.infer(release, records=(0, 10), engine="naive")
    with pytest.raises(dc.errors.UsageError, match="noisy totals"):
        dc.infer(release, missing=0.1)


def test_samples_that_no_engine_reads_are_handed_on(rng: np.random.Generator) -> None:
    mechanism = dc.mechanisms.PrivateMetropolis("beta:1,1", epsilon=1, steps=4, support=(0.1, 0.9))
    release = sample_with(RandomSource.seeded(rng), [1, 0] * 20, dc.Bernoulli(), mechanism, impute=0)
    posterior = dc.infer(release)
    assert (posterior.diagnostics.engine, posterior.n_draws) == ("samples", 4)
    with pytest.raises(dc.errors.EngineError, match="holds samples"):
        dc.infer(release, engine="exact")


def test_read_samples_take_any_prior_and_any_number_of_draws(release: dc.Release) -> None:
    one, other = (dc.infer(release, prior=prior, draws=800, rng=1) for prior in ("beta:1,1", "beta:50,1"))
    assert (one.diagnostics.engine, one.n_draws) == ("exact", 800)
    assert other.mean()["p"] > one.mean()["p"] + 0.1
    assert "imputed values" in str(one.summary())
    assert one.table is not None or one.sd()["p"] > 0.05


def test_engines_of_noisy_totals_say_so_if_they_are_misused(release: dc.Release) -> None:
    with pytest.raises(dc.errors.UsageError, match="not noisy totals"):
        _ = release.totals
    with pytest.raises(dc.errors.UsageError, match="no noise was added"):
        _ = release.noise
    noisy = dc.release([1, 0], dc.Bernoulli(), epsilon=1)
    with pytest.raises(dc.errors.UsageError, match="not samples"):
        _ = noisy.sampling_record
