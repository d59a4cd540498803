"""Plans: widths that come true, budgets that reach a wanted width, divisions that are the best, and refusals."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.errors import UsageError
from discreet.planning.division import _shares
from discreet.planning.plan import Plan
from discreet.planning.risk import DEPLOYMENTS, posterior_odds, risk_in_words

MEAN = {"model": dc.Mean(), "n": 500, "bounds": (0, 100), "public": {"mean": 30, "sd": 12}}


def planned(**arguments: Any) -> Plan:
    found = dc.plan(arguments.pop("model"), **arguments)
    assert isinstance(found, Plan)
    return found


def achieved(plan: Plan, rows: Any, releases: int, rng: np.random.Generator, **declared: Any) -> np.ndarray:
    """Return the widths that real releases under a plan have."""
    widths = []
    for _ in range(releases):
        release = dc.release(rows(rng), epsilon=plan.epsilon, **declared)
        low, high = dc.infer(release, draws=2000, rng=rng).interval(plan.prob)[plan.parameter]
        widths.append(high - low)
    return np.array(widths)


def test_a_share_gets_the_width_that_was_planned(rng: np.random.Generator) -> None:
    plan = planned(model=dc.Bernoulli(), n=700, width=0.12, public={"p": 0.3})
    assert plan.width == pytest.approx(0.12, rel=0.01)
    widths = achieved(plan, lambda source: source.random(700) < 0.3, 40, rng, model=dc.Bernoulli())
    error = widths.std() / np.sqrt(widths.size)
    assert abs(widths.mean() - 0.12) < 0.05 * 0.12 + 3.3 * error
    # the control: half the budget does not reach it
    less = plan.epsilon / 2 if plan.epsilon is not None else 0.0
    half = [
        np.subtract(
            *dc.infer(dc.release(rng.random(700) < 0.3, dc.Bernoulli(), epsilon=less)).interval()["p"]
        )
        for _ in range(20)
    ]
    assert np.mean(np.abs(half)) > 0.12 * 1.2


def test_a_mean_gets_the_width_that_was_planned(rng: np.random.Generator) -> None:
    plan = planned(**MEAN, epsilon=0.3)
    rows = lambda source: source.beta(3.8, 8.9, 500) * 100  # noqa: E731  (mean 29.9, sd 12.4)
    widths = achieved(plan, rows, 40, rng, model=dc.Mean(), bounds=(0, 100))
    error = widths.std() / np.sqrt(widths.size)
    assert abs(widths.mean() - plan.width) < 0.05 * plan.width + 3.3 * error
    assert plan.floor < plan.width < plan.ceiling


def test_a_plan_is_the_same_every_time() -> None:
    share = {"model": dc.Bernoulli(), "n": 90, "epsilon": 1}
    assert planned(**share) == planned(**share)


@pytest.mark.slow
def test_more_budget_and_more_records_make_narrower_intervals() -> None:
    widths = [planned(**MEAN, epsilon=e).width for e in (0.1, 1, 10)]
    assert widths == sorted(widths, reverse=True)
    assert planned(**{**MEAN, "n": 5000}, epsilon=1).width < widths[1]


def test_records_that_are_public_stand_for_those_to_come() -> None:
    known = planned(model=dc.Bernoulli(), n=1000, epsilon=1, public={"p": 0.05})
    like = planned(model=dc.Bernoulli(), n=1000, epsilon=1, public=np.arange(4000) % 20 == 0)
    assert like.width == pytest.approx(known.width, rel=0.05)


@pytest.mark.slow
def test_groups_are_planned_for_one_group() -> None:
    alone = planned(model=dc.Bernoulli(), n=250, epsilon=1, public={"p": 0.3})
    grouped = planned(model=dc.Bernoulli(), n=1000, groups=4, epsilon=1, public={"p": 0.3})
    # a record may change groups, so each has twice the noise
    assert alone.width < grouped.width < 2 * alone.width


def test_gaussian_noise_is_planned_in_rho_or_with_delta() -> None:
    rho = planned(model=dc.Bernoulli(), n=1000, width=0.1, mechanism="gaussian", public={"p": 0.3})
    assert rho.epsilon is None
    assert rho.rho is not None
    assert rho.width == pytest.approx(0.1, rel=0.01)
    both = planned(
        model=dc.Bernoulli(), n=1000, epsilon=1, delta=1e-6, mechanism="gaussian", public={"p": 0.3}
    )
    assert both.delta == 1e-6


@pytest.mark.slow
def test_other_declarations_are_compared() -> None:
    others = planned(**MEAN, epsilon=0.5).compare()
    assert list(others.values()) == sorted(others.values(), key=lambda one: one.width)
    assert others["bounds twice as wide"].width > others["as planned"].width


def test_a_division_is_the_best_on_its_grid(rng: np.random.Generator) -> None:
    parts = 240
    at = np.arange(1, parts + 1) / parts
    losses = [np.minimum(1.0, scale / at) for scale in (0.01, 0.05, 0.2)]
    shares = _shares(losses)
    assert sum(shares) == pytest.approx(1)
    found = sum(loss[round(share * parts) - 1] for loss, share in zip(losses, shares, strict=True))
    best = min(
        losses[0][i - 1] + losses[1][j - 1] + losses[2][parts - i - j - 1]
        for i, j in itertools.product(range(1, parts), repeat=2)
        if i + j < parts
    )
    assert found == pytest.approx(best)


@pytest.mark.slow
def test_a_budget_is_divided_better_than_equally() -> None:
    models = {"common": dc.Bernoulli(), "rare": dc.Bernoulli(), "age": dc.Mean()}
    public = {"common": {"p": 0.5}, "rare": {"p": 0.01}, "age": {"mean": 40, "sd": 10}}
    division = dc.plan(models, n=400, epsilon=0.3, bounds={"age": (0, 100)}, public=public)
    assert not isinstance(division, Plan)
    assert division.total == pytest.approx(0.3)
    equal = [
        dc.plan(model, n=400, epsilon=0.1, bounds=(0, 100) if name == "age" else None, public=public[name])
        for name, model in models.items()
    ]
    assert division.loss < sum(one.width / one.ceiling for one in equal if isinstance(one, Plan))
    assert set(division.split) == set(models)
    made = dc.release(
        {"common": [0, 1], "rare": [0, 0], "age": [3, 4]}, models, epsilon=0.3, split=division.split,
        bounds={"age": (0, 100)},
    )  # fmt: skip
    assert float(made["age"].guarantee.budgets()["epsilon"]) == pytest.approx(
        division.plans["age"].spent, rel=1e-4
    )


def test_wanted_widths_add_up_to_a_total() -> None:
    division = dc.plan(
        {"a": dc.Bernoulli(), "b": dc.Bernoulli()},
        n=1000,
        width={"a": 0.1, "b": 0.2},
        public={"a": {"p": 0.3}, "b": {"p": 0.3}},
    )
    assert not isinstance(division, Plan)
    assert division.split["a"] > division.split["b"]
    assert [one.width for one in division.plans.values()] == pytest.approx([0.1, 0.2], rel=0.01)


def test_the_risk_is_that_of_the_definition() -> None:
    assert posterior_odds(0.0, 0.01) == pytest.approx(0.01)
    assert posterior_odds(np.log(3), 0.5) == pytest.approx(0.75)
    assert "73.1%" in risk_in_words(dc.PureDP(1))[0]
    assert "exception" in risk_in_words(dc.ZeroConcentratedDP(0.01))[0]


def test_published_uses_are_compared_by_epsilon_and_have_sources() -> None:
    assert [one.epsilon for one in DEPLOYMENTS] == sorted(one.epsilon for one in DEPLOYMENTS)
    assert all(one.source and one.unit for one in DEPLOYMENTS)
    table = dc.planning.deployments().splitlines()
    assert len(table) == len(DEPLOYMENTS) + 1
    said = risk_in_words(dc.PureDP(1))
    assert "2 of 7" in said[2]
    assert "Wikimedia" in said[2]


def test_how_many_releases_a_guess_needs() -> None:
    # k releases of epsilon leave an error of at least 1 / (1 + exp(k epsilon))
    assert "at least 3 releases" in risk_in_words(dc.PureDP(1))[1]
    assert 1 / (1 + np.exp(3)) < 0.05 < 1 / (1 + np.exp(2))
    assert "this release alone" in risk_in_words(dc.PureDP(3))[1]


def test_how_many_draws_answers_need() -> None:
    draws = dc.planning.draws_for_answers(
        0.1, candidates=20, questions=3, confidence=0.9, utility_range=(-1, 1)
    )
    half = lambda n: 2 * np.sqrt(np.log(2 * 20 * 3 / 0.1) / (2 * n))  # noqa: E731  (Lemma 11, width 2)
    assert 2 * half(draws) <= 0.1 < 2 * half(draws - 1)
    wrong: dict[str, Any]
    for wrong in ({"loss": 0}, {"loss": 0.1, "candidates": 0}, {"loss": 0.1, "utility_range": (1, 0)}):
        with pytest.raises(UsageError):
            dc.planning.draws_for_answers(**wrong)


def test_answers_lose_what_the_draws_and_the_private_prior_cost() -> None:
    asked: dict[str, Any] = {"candidates": 5, "questions": 2, "utility_range": (0, 10), "left_out": 0.02}
    draws = dc.planning.draws_for_answers(1.0, **asked)
    assert (
        dc.planning.loss_of_answers(draws, **asked) <= 1.0 < dc.planning.loss_of_answers(draws - 1, **asked)
    )
    # a restricted prior costs twice what it leaves out, of the whole range, however many draws there are
    free = {**asked, "left_out": 0.0}
    more = dc.planning.loss_of_answers(draws, **asked) - dc.planning.loss_of_answers(draws, **free)
    assert more == pytest.approx(2 * 0.02 * 10)
    with pytest.raises(UsageError, match="no number of draws"):
        dc.planning.draws_for_answers(0.3, **asked)
    with pytest.raises(UsageError, match="left_out must be"):
        dc.planning.loss_of_answers(10, left_out=1)


def test_the_bound_on_regret_holds_for_every_pair_of_posteriors(rng: np.random.Generator) -> None:
    """Lemma 14: whoever takes the best answer under one belief loses at most its distance under another."""
    for _ in range(200):
        one, other = rng.dirichlet(np.full(6, 0.5), size=2)
        utility = rng.random((6, 9))
        regret = (other @ utility).max() - (other @ utility)[np.argmax(one @ utility)]
        assert regret <= np.abs(one - other).sum() + 1e-12


# -- people --------------------------------------------------------------------------------------------


def test_a_person_of_one_record_is_planned_like_a_record() -> None:
    share = {"model": dc.Bernoulli(), "n": 90, "epsilon": 1}
    one, other = planned(**share), planned(**share, unit="id", per_unit="any")
    assert (one.width, one.unit) == (other.width, None)
    assert other.unit == "id"
    assert "90 people" in other.summary()
    assert other.guarantee().unit == "id"


@pytest.mark.slow
@pytest.mark.parametrize("table", [True, False])
def test_people_with_several_rows_get_the_width_that_was_planned(
    table: bool, rng: np.random.Generator
) -> None:
    def people(n: int) -> dict[str, np.ndarray]:
        # beta values of mean 30 and sd 12, of which a row repeats its person's or has its own: correlation 1/2
        values = rng.beta(4.075, 9.508, (4, n, 3)) * 100
        own = np.where(rng.random((n, 3)) < np.sqrt(0.5), values[0][:, :1], values[1])
        return {"id": np.repeat(np.arange(n), 3), "value": own.ravel()}

    public = people(2000) if table else {"mean": 30, "sd": 12}
    plan = planned(model=dc.Mean(), n=400, bounds=(0, 100), epsilon=1, unit="id", max_rows=3, public=public)
    assert plan.width > planned(**MEAN | {"n": 400}, epsilon=1).width
    declared = {"model": dc.Mean(), "bounds": (0, 100), "column": "value", "unit": "id", "max_rows": 3}
    widths = achieved(plan, lambda _: people(400), 24, rng, **declared)
    error = widths.std(ddof=1) / np.sqrt(widths.size)
    assert abs(widths.mean() - plan.width) < 0.05 * plan.width + 3.3 * error


@pytest.mark.slow
def test_the_number_of_records_is_solved_for() -> None:
    enough = planned(model=dc.Bernoulli(), epsilon=0.5, width=0.05, public={"p": 0.3})
    assert enough.width == pytest.approx(0.05, rel=0.02)
    again = planned(model=dc.Bernoulli(), n=enough.n, epsilon=0.5, public={"p": 0.3})
    assert again.width == pytest.approx(0.05, rel=0.03)


@pytest.mark.slow
def test_a_regression_is_planned_from_public_records(rng: np.random.Generator) -> None:
    model, public = regression(rng, 2000)
    plan = planned(model=model, n=1500, epsilon=2, public=public)
    assert plan.parameter == "coefficients"
    widths = []
    for seed in range(12):
        made = dc.release(regression(rng, 1500)[1], model, epsilon=2)
        low, high = dc.infer(made, rng=seed).interval()["coefficients"]
        widths.append(float(np.mean(high - low)))
    error = np.std(widths, ddof=1) / np.sqrt(len(widths))
    assert abs(np.mean(widths) - plan.width) < 0.05 * plan.width + 3.3 * error


def regression(rng: np.random.Generator, n: int) -> tuple[Any, dict[str, np.ndarray]]:
    bounds = {"pressure": (60, 220), "age": (18, 100)}
    age = rng.uniform(18, 90, n)
    table = {"pressure": 90 + 0.6 * age + rng.normal(0, 12, n), "age": age}
    return dc.models.LinearRegression(target="pressure", features=["age"], bounds=bounds), table


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"model": dc.Bernoulli(), "epsilon": 1}, "how many records"),
        ({"model": {"a": dc.Bernoulli()}, "epsilon": 1, "width": {"a": 0.1}}, "how many records"),
        ({"model": regression(np.random.default_rng(0), 2)[0], "n": 9, "epsilon": 1}, "needs public records"),
        (
            {
                "model": regression(np.random.default_rng(0), 2)[0],
                "n": 9,
                "epsilon": 1,
                "public": {"age": [1, 2]},
            },
            "needs public records",
        ),
        ({"model": dc.Bernoulli(), "n": 700, "width": 0.01, "public": {"p": 0.3}}, "cannot be reached"),
        ({"model": dc.Bernoulli(), "n": 700, "width": 0.99}, "needs no data"),
        ({"model": dc.Bernoulli(), "n": 0, "width": 0.1}, "n must be"),
        ({"model": dc.Mean(), "n": 10, "epsilon": 1, "bounds": (100, 0)}, "bounds"),
        ({"model": dc.Mean(), "n": 10, "epsilon": 1}, "needs bounds"),
        ({"model": dc.Mean(), "n": 10, "bounds": (0, 1)}, "either a budget or a wanted width"),
        ({"model": dc.Mean(), "n": 10, "epsilon": 1, "width": 1, "bounds": (0, 1)}, "either a budget"),
        ({"model": dc.Bernoulli(), "n": 10, "epsilon": -1}, "positive"),
        ({"model": dc.Bernoulli(), "n": 10, "epsilon": 1, "public": {"q": 1}}, "expects p"),
        ({"model": dc.Bernoulli(), "n": 10, "epsilon": 1, "parameter": "mean"}, "no parameter"),
        ({**MEAN, "epsilon": 1, "public": {"mean": 30, "sd": 90}}, "no column within the bounds"),
        ({"model": "bernoulli", "n": 10, "epsilon": 1}, "model must be a family"),
        ({"model": {}, "n": 10, "epsilon": 1}, "no model"),
        ({"model": dc.Bernoulli(), "n": 10, "epsilon": 1, "unit": "id"}, "unit needs per_unit"),
        ({"model": dc.Bernoulli(), "n": 10, "epsilon": 1, "per_unit": "any"}, "need unit"),
        ({**MEAN, "epsilon": 1, "unit": "id", "max_rows": 2, "groups": 3}, "takes per_unit"),
        (
            {**MEAN, "epsilon": 1, "unit": "id", "max_rows": 2, "public": {"id": [1, 2]}},
            "table of two columns",
        ),
        ({"model": {"a": dc.Bernoulli()}, "n": 10, "epsilon": 1, "width": {"a": 1}}, "either a budget"),
    ],
)
def test_what_cannot_be_planned_is_one_line(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        planned(**arguments)
    assert "\n" not in caught.value.message
