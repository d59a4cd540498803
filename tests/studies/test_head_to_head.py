"""The comparison of mechanisms runs on a tiny grid, its privacy is equal, and each of its claims can fail."""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare, norm

import discreet as dc
from discreet.privacy import RenyiDP
from discreet.privacy.selection import ExponentialChoice

STUDIES = Path(__file__).parents[2] / "studies"
# the suite's rate of false alarms, for one assertion
ALARM = 1e-5


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script as a module; its parts are found next to it, as when it is run."""
    monkeypatch.syspath_prepend(str(STUDIES))
    return importlib.import_module("head_to_head")


@pytest.fixture
def part(study: Any) -> Callable[[str], Any]:
    return lambda name: importlib.import_module(f"rivals.{name}")


# -- the whole path ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_tiny_grid_gives_claims_a_table_and_a_picture(
    study: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny = study.Plan(trials=10, n_records=(10, 1000), epsilons=("1",), models=("Bernoulli", "Exponential"))
    monkeypatch.setattr(study, "QUICK", tiny)
    assert study.main(["--quick", "--workers", "1", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    text = (tmp_path / "head_to_head.txt").read_text(encoding="utf-8")
    assert printed.startswith(text.rstrip("\n"))
    numbers = json.loads((tmp_path / "head_to_head.json").read_text(encoding="utf-8"))
    assert [(c["model"], c["n_records"]) for c in numbers["cells"]] == [
        (model, n) for model in ("Bernoulli", "Exponential") for n in (10, 1000)
    ]
    for cell in numbers["cells"]:
        assert ("diffused 1" in cell["methods"]) == (cell["model"] == "Bernoulli")
        for name, found in cell["methods"].items():
            assert found["error"] > 0
            assert found["loss"] > 0
            # a single sample has no interval
            assert (found["covered"] is None) == name.endswith(" 1")
            assert name == "non-private" or 0.9999 < found["epsilon_spent"] <= 1
    assert numbers["claims"][0]["source"] == "equal privacy"
    assert numbers["claims"][0]["holds"]
    assert (tmp_path / "head_to_head.png").stat().st_size > 20_000


# -- the parts -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", ["0.1", "1"])
def test_renyi_budgets_use_up_epsilon_and_no_more(part: Callable[[str], Any], epsilon: str) -> None:
    budgets = part("budgets")
    target = Fraction(epsilon)
    for order in budgets.ORDERS[epsilon]:
        found = budgets.renyi_epsilon(epsilon, order)
        assert RenyiDP([order], [found]).to_approx(budgets.DELTA).epsilon <= target
        assert RenyiDP([order], [found + Fraction(1, 10**6)]).to_approx(budgets.DELTA).epsilon > target
    assert budgets.renyi_epsilon(epsilon, 10) is None


def test_the_direct_posterior_is_there_only_where_its_prior_is_strong(part: Callable[[str], Any]) -> None:
    best = part("budgets").best_budget
    assert best("Bernoulli", 100, "1", "direct", 1) is None
    found = best("Bernoulli, strong prior", 100, "1", "direct", 1)
    assert found.weight == 1
    assert best("Bernoulli, strong prior", 100, "0.1", "direct", 1) is None


def test_held_out_loss_is_a_mean_over_held_out_records(
    part: Callable[[str], Any], rng: np.random.Generator
) -> None:
    models = part("models").MODELS
    draws = rng.uniform(0.2, 0.5, size=50)
    p = 0.3
    held_out = -(
        p * math.log(draws.mean())
        + (1 - p) * math.log1p(-draws.mean())
        - p * math.log(p)
        - 0.7 * math.log(0.7)
    )
    assert models["Bernoulli"].loss(np.array([p]), draws) == pytest.approx(held_out, rel=1e-12)
    rate, rates = 0.8, rng.uniform(0.5, 1.5, size=50)
    x = rng.exponential(1 / rate, size=200_000)
    each = math.log(rate) - rate * x - np.log((rates * np.exp(-np.outer(x, rates))).mean(axis=1))
    found = models["Exponential"].loss(np.array([rate]), rates)
    error = each.std() / math.sqrt(x.size)
    assert abs(found - each.mean()) < norm.isf(ALARM / 2) * error


def test_the_quick_source_draws_from_the_distribution(
    part: Callable[[str], Any], rng: np.random.Generator
) -> None:
    distribution = ExponentialChoice((0, 3, 5, 1), 2.0)
    source = part("replicate").source_of(rng)
    counts = np.bincount([source.exponential(distribution) for _ in range(20_000)], minlength=4)
    assert chisquare(counts, 20_000 * distribution.mass()).pvalue > ALARM
    assert chisquare(counts, np.full(4, 5_000)).pvalue < ALARM


def test_quantiles_of_draws_cover_a_little_less_than_95_percent(
    part: Callable[[str], Any], rng: np.random.Generator
) -> None:
    cells, size = part("cells"), 40_000
    draws = rng.random((size, 21))
    low, high = np.quantile(draws[:, 1:], [0.025, 0.975], axis=1)
    covered = ((low <= draws[:, 0]) & (draws[:, 0] <= high)).mean()
    target = cells.nominal_coverage(20)
    assert abs(covered - target) < norm.isf(ALARM / 2) * math.sqrt(target * (1 - target) / size)
    assert target < 0.95


@pytest.mark.parametrize(
    ("mean", "error", "text"),
    [
        (0.01234, 0.00041, "0.0123(4)"),
        (187.3, 29.4, "187(29)"),
        (0.0123, 0.00096, "0.012(1)"),
        (1.0, 0.0, "1"),
    ],
)
def test_standard_errors_are_in_parentheses(
    part: Callable[[str], Any], mean: float, error: float, text: str
) -> None:
    assert part("table").with_error(mean, error) == text


# -- the claims ----------------------------------------------------------------------------------------------

SIZE = 400


@pytest.fixture
def ideal(study: Any, part: Callable[[str], Any]) -> list[Any]:
    """Cells in which every method does what it should, without a single release."""
    cells, budgets, claims = part("cells"), part("budgets"), part("claims")
    out = []
    rng = np.random.default_rng(0)
    for epsilon in ("0.1", "1"):
        for n in (100, 1000, 100_000):
            key = cells.Key("Bernoulli", n, epsilon)
            # r and m as the search finds them
            renyi = {
                f"{mode} {samples}": budgets.RenyiBudget(20, Fraction(1, 2), weight)
                for mode, weight in (("diffused", 0.1), ("concentrated", 0.07))
                for samples in (1, 100)
            }
            cell = cells.Cell(key, {}, renyi)
            own = rng.normal(size=SIZE)
            noise = rng.normal(size=SIZE) * key.noise_ratio
            known = {"non-private": own, "laplace exact": own + noise, "laplace naive": own + 1.1 * noise}
            known["gaussian exact"] = own + 3 * noise
            for method in part("replicate").METHODS:
                if method.startswith("direct"):
                    continue
                if method not in known:
                    distribution = claims.Tempering.of(cell, method)
                    apart = max(distribution.inefficiency - 1, 4 * key.noise_ratio**2)
                    known[method] = own + rng.normal(size=SIZE) * math.sqrt(apart)
                error = np.abs(known[method]) * 0.45 / math.sqrt(n)
                cell.series[method] = series_of(cells, method, error, key.noise_ratio, rng)
            out.append(cell)
    return out


def series_of(cells: Any, method: str, error: np.ndarray, ratio: float, rng: np.random.Generator) -> Any:
    coverage = {"laplace naive": 0.5 if ratio > 1 else 0.95, "concentrated 100": 0.05}.get(method, 0.949)
    columns = 0 if method.endswith(" 1") else 1
    width = {"ops 100": 30.0, "diffused 100": 6.0}.get(method, 1.0)
    return cells.Series(
        error,
        error**2,
        rng.random((SIZE, columns)) < coverage,
        np.full(SIZE, width) + 0.01 * rng.random(SIZE),
        math.nan if method == "non-private" else 1.0,
    )


def changed(cells: list[Any], method: str, change: Callable[[Any], Any]) -> list[Any]:
    return [
        replace(cell, series={k: change(v) if k == method else v for k, v in cell.series.items()})
        for cell in cells
    ]


def failures(part: Callable[[str], Any], cells: list[Any]) -> set[str]:
    # an ideal release spends its whole epsilon
    exact = [
        replace(
            cell,
            series={k: replace(v, spent=v.spent * float(cell.key.epsilon)) for k, v in cell.series.items()},
        )
        for cell in cells
    ]
    return {claim.source for claim in part("claims").check_claims(exact) if not claim.holds}


def test_ideal_methods_pass_every_claim(part: Callable[[str], Any], ideal: list[Any]) -> None:
    assert failures(part, ideal) == set()


@pytest.mark.parametrize(
    ("method", "change", "source"),
    [
        ("ops 1", {"spent": lambda s: 1.001}, "equal privacy"),
        (
            "gaussian exact",
            {"covered": lambda s: s.covered & (np.arange(SIZE) % 10 > 0)[:, None]},
            "coverage",
        ),
        ("laplace exact", {"covered": lambda s: np.ones_like(s.covered)}, "coverage"),
        ("laplace naive", {"covered": lambda s: np.ones_like(s.covered)}, "coverage"),
        ("laplace naive", {"error": lambda s: 0.7 * s.error}, "who is best"),
        ("gaussian exact", {"loss": lambda s: 0.3 * s.loss}, "who is best"),
        ("laplace exact", {"error": lambda s: 1.3 * s.error}, "price"),
        ("ops 1", {"error": lambda s: 1.3 * s.error}, "OPS"),
        ("ops 1", {"error": lambda s: 0.75 * s.error}, "OPS"),
        ("diffused 1", {"error": lambda s: 1.3 * s.error}, "diffused"),
        ("concentrated 1", {"error": lambda s: 1.3 * s.error}, "concentrated"),
        ("ops 100", {"width": lambda s: s.width / 5}, "intervals"),
        ("diffused 100", {"width": lambda s: s.width / 5}, "intervals"),
        ("concentrated 100", {"covered": lambda s: np.ones_like(s.covered)}, "intervals"),
    ],
)
def test_each_claim_can_fail(
    part: Callable[[str], Any],
    ideal: list[Any],
    method: str,
    change: dict[str, Callable[[Any], Any]],
    source: str,
) -> None:
    def apply(series: Any) -> Any:
        return replace(series, **{name: make(series) for name, make in change.items()})

    assert source in failures(part, changed(ideal, method, apply))


def test_the_public_release_is_the_one_that_is_compared(part: Callable[[str], Any]) -> None:
    """Simulated releases have the record and the guarantee of public ones."""
    replicate, budgets, models = part("replicate"), part("budgets"), part("models")
    model = models.MODELS["Bernoulli"]
    rows = np.array([0, 1, 1, 0, 1])
    renyi = budgets.best_budget("Bernoulli", 5, "1", "diffused", 1)
    for method in ("laplace exact", "gaussian exact", "ops 1", "diffused 1"):
        mechanism = budgets.mechanism_for("Bernoulli", "1", method, renyi)
        simulated = replicate.release_of(model, mechanism, rows, np.random.default_rng(0))
        public = dc.release(rows, model.family, mechanism=mechanism, missing="none")
        assert simulated.mechanism == public.mechanism
        assert simulated.guarantee == public.guarantee


def test_the_page_shows_what_the_study_found() -> None:
    """Each number of the prose that the study decides is in its report, in which every claim holds."""
    page = (STUDIES.parent / "docs" / "how-to" / "which-mechanism.md").read_text(encoding="utf-8")
    found = (STUDIES / "results" / "head_to_head.txt").read_text(encoding="utf-8")
    assert "FAIL" not in found
    for number in (
        "285 comparisons",
        "0.046",
        "0.036",
        "18%",
        "62%",
        "76",
        "0.0077",
        "0.0029",
        "0.00128",
        "0.00104",
        "24%",
        "28",
    ):
        assert number in page
        assert number in found
