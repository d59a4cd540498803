"""Questions to a release of samples: which posterior the answers, and the bound on their loss, speak of."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, stats

import discreet as dc
from discreet.artifact import SamplingRecord
from discreet.cli import run
from discreet.curator.publish import sample_with
from discreet.mechanisms.base import RandomSource

YES, N_RECORDS, N_SAMPLES, SUPPORT = 230, 500, 150, (0.1, 0.9)
RECORDS = {"x": [1] * YES + [0] * (N_RECORDS - YES)}
FALSE_ALARM = 1e-3 / 10


def released(rng: np.random.Generator) -> dc.Release:
    mechanism = dc.mechanisms.PosteriorSampling("beta:1,1", epsilon=30, samples=N_SAMPLES, support=SUPPORT)
    source = RandomSource.seeded(rng)
    return sample_with(source, RECORDS, dc.Bernoulli(), mechanism, columns=("x",), impute=0)


def chance_above(half: float, temperature: float) -> float:
    """Return the probability of p > half under the tempered posterior on the support, by quadrature."""
    a, b = 1 + YES / temperature, 1 + (N_RECORDS - YES) / temperature
    parts = [
        integrate.quad(stats.beta(a, b).pdf, low, high)[0]  # pyright: ignore[reportAttributeAccessIssue]
        for low, high in ((SUPPORT[0], half), (half, SUPPORT[1]))
    ]
    return parts[1] / sum(parts)


def test_answers_speak_of_the_tempered_posterior(rng: np.random.Generator) -> None:
    trials, confidence = 40, 0.8
    shares, losses = np.empty(trials), np.empty(trials)
    for trial in range(trials):
        release = released(rng)
        assert isinstance(release.mechanism, SamplingRecord)
        temperature = float(release.mechanism.parameters["temperature"])
        truth = chance_above(0.5, temperature)
        response = dc.infer(release, engine="naive").respond(
            dc.decisions.ZeroOne("p > 0.5"), confidence=confidence
        )
        shares[trial] = response.utilities[0]
        losses[trial] = max(truth, 1 - truth) - (truth if response.candidate else 1 - truth)
    # the samples lie on a grid, however spaced: a cell there moves a probability by its width times the density, 4
    cell = 3 * (SUPPORT[1] - SUPPORT[0]) / 4096
    error = np.sqrt(truth * (1 - truth) / (trials * N_SAMPLES))
    reach = stats.norm.isf(FALSE_ALARM / 2) * error + 4 * cell
    assert shares.mean() == pytest.approx(truth, abs=reach)
    # negative control: the posterior without privacy is another one
    assert abs(shares.mean() - chance_above(0.5, 1.0)) > 5 * reach
    bound = response.bound
    assert bound is not None
    assert not bound.is_vacuous
    assert (bound.n_draws, bound.n_candidates) == (N_SAMPLES, 2)
    assert "the posterior that the draws come from (samples engine, tempered posterior)" in bound.describe()
    assert (losses > bound.loss).sum() <= stats.binom.isf(FALSE_ALARM, trials, 1 - confidence)
    assert (np.abs(shares - truth) > bound.half_width).sum() <= stats.binom.isf(
        FALSE_ALARM, trials, 1 - confidence
    )


def test_the_command_line_answers_from_samples(
    rng: np.random.Generator, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    release = released(rng)
    release.save(tmp_path / "samples.json")
    command = [
        "respond",
        str(tmp_path / "samples.json"),
        "-q",
        "mean:p",
        "-q",
        "event:p>0.5",
        "--engine",
        "naive",
    ]
    assert run([*command, "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["n_draws"] == N_SAMPLES
    assert release.samples is not None
    draws = release.samples.arrays()["p"]
    assert content["answers"][0]["answer"] == pytest.approx(draws.mean(), rel=1e-12)
    assert content["answers"][1]["expected_utility"] == pytest.approx(
        max((draws > 0.5).mean(), (draws <= 0.5).mean()), rel=1e-12
    )
    assert "tempered posterior" in content["answers"][1]["bound"]["posterior"]
    # the same file, asked again, gives the same answers: nothing new is drawn
    assert run([*command, "--seed", "7", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["answers"] == content["answers"]
    assert run([*command, "--prior", "beta:2,2"]) == 2
    assert "prior is fixed" in capsys.readouterr().err
