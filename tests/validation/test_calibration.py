"""Calibration: honest engines pass, others do not, and the result is the same however it is computed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet as dc
from discreet.errors import EngineError, UsageError
from discreet.inference import Diagnostics, Posterior
from discreet.inference.missing_prior import missing_prior
from discreet.inference.record_prior import record_prior
from discreet.validation import Calibration, calibration, simulation
from discreet.validation.result import CalibrationSummary
from discreet.validation.simulation import CHAIN_DRAWS, Setting, draw_count, run_trial
from tests.validation.coins import RefusingCoin

#: False-alarm rate of each assertion below.
RARE = 1e-6
SETTINGS = {
    "model": "bernoulli",
    "records": None,
    "missing": "none",
    "n": 9,
    "prior": "beta:1,1",
    "guarantee": "epsilon = 1",
    "draws": 99,
}


@pytest.mark.parametrize(
    ("model", "options"),
    [
        # tests/statistical/test_calibration.py has each of the others' policies
        pytest.param(dc.Bernoulli(), {"n": 100, "epsilon": 0.1}, marks=pytest.mark.slow),
        (dc.Bernoulli(), {"n": 30, "epsilon": 0.3, "prior": "beta:2,8", "missing": "count"}),
        pytest.param(
            dc.Bernoulli(), {"n": 20, "epsilon": 0.5, "neighbors": "add_remove"}, marks=pytest.mark.slow
        ),
        pytest.param(
            dc.Categorical(["a", "b", "c"]),
            {"n": 40, "epsilon": 0.5, "missing": "count"},
            marks=pytest.mark.slow,
        ),
        (dc.Categorical(3), {"n": 40, "rho": 0.05, "mechanism": "gaussian", "neighbors": "add_remove"}),
    ],
    ids=["plain", "missing", "private count", "labels", "gaussian"],
)
def test_the_exact_engine_passes(model: dc.Bernoulli | dc.Categorical, options: dict[str, Any], rng) -> None:
    found = dc.calibrate(model, **options, trials=200, rng=rng, workers=1)
    assert found.passed(RARE)
    assert found.engines == {"exact": 200}
    assert found.trials == 200


@pytest.mark.parametrize("model", [dc.Bernoulli(), dc.Categorical(3)])
def test_the_naive_engine_is_rejected(model: dc.Bernoulli | dc.Categorical, rng: np.random.Generator) -> None:
    found = dc.calibrate(model, n=100, epsilon=0.1, engine="naive", trials=300, rng=rng, workers=1)
    assert not found.passed(RARE)
    assert "NOT calibrated" in found.summary().verdict
    # over-confident: intervals hold the truth too seldom, and even the upper limit says so
    for rows in found.coverage.values():
        assert all(row.high < row.prob for row in rows)
    assert not any(found.band(1 - RARE).holds(ranks) for ranks in found.ranks.values())


def test_a_family_with_bounds_and_a_prior(rng: np.random.Generator) -> None:
    """With next to no noise and no value out of range, the naive engine is right."""
    found = dc.calibrate(
        dc.Poisson(),
        n=50,
        epsilon=10_000,
        engine="naive",
        prior=dc.priors.Gamma(20, 10),
        bounds=(0, 30),
        trials=400,
        rng=rng,
        workers=1,
    )
    assert found.passed(RARE)
    assert found.settings["bounds"] == [["0", "30"]]
    assert found.settings["prior"] == "gamma:20,10"


def test_bounds_that_are_bought_are_simulated_too() -> None:
    bought = dc.mechanisms.PrivateQuantiles(0.1, 0.9, within=(0, 8), epsilon=0.25)
    found = [
        dc.calibrate(
            dc.Exponential(),
            n=50,
            epsilon=1,
            engine="naive",
            prior="gamma:10,10",
            bounds=bought,
            trials=5,
            rng=1,
        )
        for _ in range(2)
    ]
    assert (found[0].ranks["rate"] == found[1].ranks["rate"]).all()
    assert found[0].settings["guarantee"] == "pure differential privacy with epsilon = 1.25"
    assert found[0].settings["bounds"] == [
        {"quantiles": ["0.1", "0.9"], "within": ["0", "8"], "epsilon": "0.25"}
    ]


def test_every_scalar_of_theta_has_its_name(rng: np.random.Generator) -> None:
    found = dc.calibrate(dc.Categorical(["yes", "no"]), n=5, epsilon=1, trials=3, rng=rng)
    assert list(found.ranks) == ["p[yes]", "p[no]"]
    several = dc.calibrate(
        dc.MultivariateNormal(2),
        n=50,
        epsilon=10,
        engine="naive",
        bounds=[(-3, 3), (-3, 3)],
        prior=dc.priors.NormalInverseWishart([0, 0], 1, 4, np.eye(2)),
        missing="count",
        trials=3,
        rng=rng,
    )
    names = [
        "normal_mean[x1]",
        "normal_mean[x2]",
        "covariance[x1, x1]",
        "covariance[x1, x2]",
        "covariance[x2, x2]",
    ]
    assert list(several.ranks) == names
    assert all(((ranks > 0) & (ranks < 1)).all() for ranks in several.ranks.values())


def test_the_seed_decides_and_nothing_else(rng: np.random.Generator) -> None:
    same = [dc.calibrate(dc.Bernoulli(), n=10, epsilon=1, trials=5, rng=seed) for seed in (3, 3, 4)]
    assert (same[0].ranks["p"] == same[1].ranks["p"]).all()
    assert (same[0].ranks["p"] != same[2].ranks["p"]).all()
    # more trials begin with the same ones
    more = dc.calibrate(dc.Bernoulli(), n=10, epsilon=1, trials=9, rng=3)
    assert (more.ranks["p"][:5] == same[0].ranks["p"]).all()
    # a generator moves on
    drawn = [dc.calibrate(dc.Bernoulli(), n=10, epsilon=1, trials=5, rng=rng) for _ in range(2)]
    assert (drawn[0].ranks["p"] != drawn[1].ranks["p"]).all()


def test_counts_are_drawn_from_their_prior(rng: np.random.Generator) -> None:
    weights = [0.0, 0.0, 1.0, 3.0, 0.0, 6.0]
    seen = np.bincount([draw_count(record_prior(weights), rng) for _ in range(3000)], minlength=6)
    assert (seen[[0, 1, 4]] == 0).all()
    expected = 3000 * np.array([0.1, 0.3, 0.6])
    assert stats.chisquare(seen[[2, 3, 5]], expected).pvalue > RARE
    flat = np.bincount([draw_count(record_prior((2, 4)), rng) for _ in range(3000)], minlength=6)
    assert stats.chisquare(flat[2:5]).pvalue > RARE
    assert flat.sum() == flat[2:5].sum()


@pytest.mark.parametrize("records", [(5, 9), [0, 0, 0, 0, 0, 1, 1, 2]])
def test_a_prior_on_records_goes_to_both_sides(
    records: Any, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    infer, sample_with = simulation.infer, simulation.sample_with
    sizes, priors = [], []
    monkeypatch.setattr(simulation, "infer", lambda *a, **k: (priors.append(k["records"]), infer(*a, **k))[1])
    monkeypatch.setattr(
        simulation,
        "sample_with",
        lambda d, rows, *a, **k: (sizes.append(len(rows)), sample_with(d, rows, *a, **k))[1],
    )
    found = dc.calibrate(
        dc.Bernoulli(), n=7, epsilon=1, neighbors="add_remove", records=records, trials=30, rng=rng, workers=1
    )
    assert set(sizes) <= set(range(5, 10))
    assert len(set(sizes)) > 1
    assert all(prior is records for prior in priors)
    assert found.settings["records"] == ([5, 9] if isinstance(records, tuple) else [5, 7])


def test_missing_values_are_as_many_as_inference_expects(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample_with = simulation.sample_with
    usable = []

    def watch(draw: Any, rows: Any, *arguments: Any, **options: Any) -> Any:
        assert len(rows) == 4
        usable.append(int(np.ma.count(rows)))
        return sample_with(draw, rows, *arguments, **options)

    monkeypatch.setattr(simulation, "sample_with", watch)
    dc.calibrate(dc.Bernoulli(), n=4, epsilon=1, missing="count", trials=499, rng=rng, workers=1)
    expected = np.exp(missing_prior(None, 4).log_mass(np.arange(5)))
    assert stats.chisquare(np.bincount(usable, minlength=5), len(usable) * expected).pvalue > RARE


# -- engines that run chains --------------------------------------------------------------------------


def sticky(repeats: int) -> Callable[..., Posterior]:
    """Return an ``infer`` whose draws come from the right distribution, each ``repeats`` times in a row."""

    def infer(
        release: Any, *, draws: int, chains: int, rng: np.random.Generator, **options: Any
    ) -> Posterior:
        distinct = -(-draws // repeats)
        right = dc.infer(release, draws=distinct, chains=1, rng=rng, **options)
        values = {name: np.repeat(x, repeats, axis=0)[:draws] for name, x in right.draws.items()}
        return Posterior(values, Diagnostics("sticky", "none"), n_chains=chains)

    return infer


def test_chains_are_run_for_longer_and_thinned(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulation, "infer", sticky(20))
    found = dc.calibrate(dc.Bernoulli(), n=100, epsilon=0.1, trials=300, rng=rng, workers=1)
    assert found.engines == {"sticky": 300}
    assert found.passed(RARE)
    # what would have come out otherwise: five draws that pass for 99
    monkeypatch.setattr(simulation, "CHAIN_DRAWS", 99)
    monkeypatch.setattr(simulation, "_THINNING", 1)
    assert not dc.calibrate(dc.Bernoulli(), n=100, epsilon=0.1, trials=300, rng=rng, workers=1).passed(RARE)


def test_too_few_effective_draws_are_a_warning(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulation, "infer", sticky(CHAIN_DRAWS // 40))
    found = dc.calibrate(dc.Bernoulli(), n=20, epsilon=0.1, trials=20, rng=rng, workers=1)
    (warning,) = found.warnings
    assert "in 20 of 20 trials fewer than 99 draws were effective" in warning
    assert f"warning: {warning}" in str(found.summary())


def test_a_chain_where_there_was_none_before_is_noticed(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = Setting(dc.Bernoulli(), dc.priors.Beta(1, 1), dc.mechanisms.Laplace(1), 10)
    asked = []

    def infer(*arguments: Any, **options: Any) -> Posterior:
        asked.append((options["draws"], options["chains"]))
        return sticky(10)(*arguments, **options)

    monkeypatch.setattr(simulation, "infer", infer)
    assert not run_trial(setting, np.random.SeedSequence(1)).independent
    assert asked == [(99, 1), (CHAIN_DRAWS, 4)]
    run_trial(replace(setting, chained=True), np.random.SeedSequence(1))
    assert asked[2:] == [(CHAIN_DRAWS, 4)]


# -- failures -----------------------------------------------------------------------------------------


def test_a_trial_that_fails_is_an_error(rng: np.random.Generator) -> None:
    """One trial in ten: sixty pass together with probability 0.9^60 = 0.2%."""
    with pytest.raises(UsageError, match="cannot be tossed"):
        dc.calibrate(RefusingCoin(), n=5, epsilon=1, engine="naive", trials=200, rng=rng, workers=1)


def test_draws_that_are_no_numbers_are_an_error(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def infer(*_: Any, draws: int, **__: Any) -> Posterior:
        values = np.full(draws, 0.5)
        values[-1] = np.nan
        return Posterior({"p": values}, Diagnostics("broken", independent=True))

    monkeypatch.setattr(simulation, "infer", infer)
    with pytest.raises(EngineError, match="broken engine returned draws of p that are not finite"):
        dc.calibrate(dc.Bernoulli(), n=5, epsilon=1, trials=2, rng=rng)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n": 0}, "n=0"),
        ({"n": 5.0}, "n=5.0"),
        ({"trials": 0}, "trials=0"),
        ({"draws": True}, "draws=True"),
        ({"workers": 0}, "workers=0"),
        ({"epsilon": None}, "budget"),
        ({"epsilon": -1}, "epsilon"),
        ({"delta": 0.1}, "epsilon alone"),
        ({"engine": "magic"}, "engine"),
        ({"prior": "gamma:1,1"}, "Beta"),
        ({"prior": "beta"}, "beta"),
        ({"bounds": (0, 1)}, "bounds"),
        ({"outside": "drop"}, "outside"),
        ({"missing": "some"}, "missing"),
        ({"neighbors": "next door"}, "neighbors"),
        ({"records": (0, 5)}, "records"),
        ({"neighbors": "add_remove", "records": (5, 0)}, "records"),
        ({"rng": -1}, "rng"),
        ({"rng": "seed"}, "rng"),
        ({"model": "bernoulli"}, "model"),
        ({"model": dc.Poisson(), "prior": "gamma:1,1"}, "bounds"),
        ({"model": dc.Bernoulli, "prior": "beta:1,1"}, "model"),
    ],
)
def test_bad_input_is_one_clear_line(options: dict[str, Any], words: str) -> None:
    arguments: dict[str, Any] = {"model": dc.Bernoulli(), "n": 5, "epsilon": 1, "trials": 2, **options}
    with pytest.raises(UsageError, match=words):
        dc.calibrate(arguments.pop("model"), **arguments)


def test_the_default_prior_is_weak() -> None:
    found = dc.calibrate(dc.Exponential(), n=5, epsilon=1, bounds=(0, 5), engine="naive", trials=2)
    assert found.settings["prior"] == "gamma:1,2.5"


# -- the record ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def found() -> Calibration:
    return dc.calibrate(dc.Categorical(["a", "b"]), n=20, epsilon=1, trials=60, rng=1, workers=1)


def test_the_summary_is_a_table(found: Calibration) -> None:
    text = str(found.summary())
    assert text == repr(found)
    lines = text.splitlines()
    assert lines[0].startswith("categorical model of 20 simulated records, none missing, prior dirichlet")
    assert lines[1] == "60 trials, ranks among 99 draws, exact engine"
    assert sum(line.startswith("p[a] ") for line in lines) == 2
    assert lines[-1].startswith("calibrated: ")
    assert max(map(len, lines)) <= 125


def test_to_dict_is_plain_and_complete(found: Calibration) -> None:
    content = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert content["trials"] == 60
    assert (content["model"], content["constants"]) == ("categorical", {"labels": ["a", "b"]})
    assert content["passed"] is found.passed()
    assert [row["name"] for row in content["parameters"]] == ["p[a]", "p[b]"]
    first = content["parameters"][0]
    assert (first["ks"], first["p_value"]) == (found.uniformity["p[a]"].ks, found.uniformity["p[a]"].p_value)
    assert [row["prob"] for row in first["coverage"]] == [0.5, 0.8, 0.9, 0.95]
    assert content["seconds"] > 0


def test_it_cannot_be_changed(found: Calibration) -> None:
    with pytest.raises(ValueError, match="read-only"):
        found.ranks["p[a]"][0] = 0.5


def test_the_verdict_shares_the_false_alarm_rate() -> None:
    """Four tests, so a least p-value of 0.004 fails at 2% and passes at 1.5%."""
    even = (np.arange(400) + 0.5) / 400
    ranks = {"p[a]": even, "p[b]": even}
    record = Calibration(ranks, {}, {"exact": 400}, 1.0)
    worst = replace(record.uniformity["p[b]"], p_value=0.004)
    record.uniformity["p[b]"] = worst
    assert record.passed(0.015)
    assert not record.passed(0.02)
    with pytest.raises(UsageError, match="false_alarm=0"):
        record.passed(0)


def test_few_trials_do_not_pass_for_evidence() -> None:
    """Three trials notice next to nothing, and twenty only what nobody would overlook; the words say so."""

    def summary(n: int) -> CalibrationSummary:
        return Calibration({"p": (np.arange(n) + 0.5) / n}, SETTINGS, {"exact": n}, 1.0).summary()

    assert summary(1).power == "so few trials cannot notice anything, whatever the posterior"
    assert all(summary(n).verdict.startswith("too few trials to tell: ") for n in (1, 3, 20))
    assert "90% intervals that hold the truth at most 7% of the time" in summary(3).power
    assert summary(300).verdict.startswith("calibrated: ")
    assert "at most 83% of the time" in str(summary(300))


def test_the_picture_shows_the_verdict_and_what_contradicts_it() -> None:
    even = (np.arange(200) + 0.5) / 200
    notes = Calibration({"p": even}, SETTINGS, {"exact": 200}, 1.0).plot().texts
    assert any(text.get_text().startswith("calibrated: ") for text in notes)
    # truths at the very edge leave the band there, where neither test looks closely
    edge = np.concatenate([[1e-9] * 9, even[9:]])
    record = Calibration({"p": edge}, SETTINGS, {"exact": 200}, 1.0)
    assert record.passed()
    assert any("p leaves its band" in text.get_text() for text in record.plot().texts)


def test_uniform_ranks_fail_as_seldom_as_promised(rng: np.random.Generator) -> None:
    """Two tests on 500 sets of uniform ranks: the share condemned at 10% is at most 10%, up to chance."""
    records = (Calibration({"p": rng.random(200)}, {}, {}, 0.0) for _ in range(500))
    condemned = sum(not record.passed(0.1) for record in records)
    assert stats.binomtest(condemned, 500, 0.1, alternative="greater").pvalue > RARE
    assert condemned > 0


def test_a_progress_bar_if_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    dc.calibrate(dc.Bernoulli(), n=5, epsilon=1, trials=3, rng=0, progress=True)
    assert "3/3" in capsys.readouterr().err
    dc.calibrate(dc.Bernoulli(), n=5, epsilon=1, trials=3, rng=0)
    assert capsys.readouterr() == ("", "")


def test_time_decides_whether_to_start_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """By default nothing is started for a few quick trials."""

    def never(*_: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(calibration, "run_in_workers", never)
    dc.calibrate(dc.Bernoulli(), n=5, epsilon=1, trials=5, rng=0)
    monkeypatch.setattr(calibration, "_WORTH_WORKERS", 0.0)
    monkeypatch.setattr(calibration, "_TASTE", 0.0)
    monkeypatch.setattr(calibration, "available_cores", lambda: 2)
    with pytest.raises(AssertionError):
        dc.calibrate(dc.Bernoulli(), n=5, epsilon=1, trials=5, rng=0)
    dc.calibrate(dc.Bernoulli(), n=5, epsilon=1, trials=5, rng=0, workers=1)
