"""Private walks: releases follow the exact distribution of the updates, and the budget pays for every one of them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet as dc
from discreet.errors import UsageError
from discreet.mechanisms.base import RandomSource, Totals
from discreet.mechanisms.grid_walking import walk_of
from discreet.privacy.costs.chain_updates import gibbs_distribution
from discreet.privacy.costs.scored_points import SCALE_BITS, SLACK
from discreet.samplers.secure import SECURE

DOMAIN = dc.Bernoulli().read_domain(None, "clip", "none")
ALARM = 1e-5


def totals(ones: int, n: int) -> Totals:
    return Totals(dc.Bernoulli(), DOMAIN, (2 * ones - n,), n)


def mechanism(**arguments: Any) -> dc.mechanisms.PrivateMetropolis:
    given = {"epsilon": 1, "steps": 20, "support": (0.05, 0.95), "cells": 32, **arguments}
    return dc.mechanisms.PrivateMetropolis("beta:1,1", **given)


def test_the_steps_use_the_whole_budget() -> None:
    record = mechanism().plan(dc.Bernoulli(), DOMAIN, 100)
    spent = 20 * (record.parameters["range"] / record.parameters["temperature"] + SLACK)
    assert 1 - 1e-9 < spent <= 1
    assert mechanism().guarantee("replace") == dc.PureDP(1)


def test_short_steps_are_cheaper() -> None:
    wide, short = (mechanism(width=width).plan(dc.Bernoulli(), DOMAIN, 100) for width in (8, 1))
    assert short.parameters["temperature"] < wide.parameters["temperature"] / 7


@pytest.mark.parametrize("source", ["seeded", "secure"])
def test_a_long_walk_has_the_tempered_posterior_as_its_distribution(
    source: str, rng: np.random.Generator
) -> None:
    """One state in twenty of a walk that crosses its grid in a few steps."""
    steps = 10_000 if source == "seeded" else 2_000
    walking = mechanism(steps=steps, epsilon=20_000, cells=8, width=4, temperature=3)
    record = walking.plan(dc.Bernoulli(), DOMAIN, 20)
    random = RandomSource.seeded(rng) if source == "seeded" else SECURE
    drawn = walking.draw(record, totals(7, 20), random).arrays()["p"][19::20]
    walk = walk_of(record, dc.Bernoulli(), DOMAIN)
    points = walk.grid.points["p"]
    scores = walk.grid.scores([Fraction(-6)], 20, Fraction(1, 3))
    distribution = gibbs_distribution(np.array(scores) / float(1 << SCALE_BITS))
    counts = np.bincount(np.searchsorted(points, drawn - 1e-12), minlength=8)
    assert stats.chisquare(counts, distribution * counts.sum()).pvalue > ALARM
    # control: the posterior at another temperature
    other = gibbs_distribution(
        np.array(walk.grid.scores([Fraction(-6)], 20, Fraction(1))) / float(1 << SCALE_BITS)
    )
    assert stats.chisquare(counts, other * counts.sum()).pvalue < ALARM or source == "secure"


def test_the_rule_of_metropolis_with_a_proven_bound(rng: np.random.Generator) -> None:
    bound = dc.mechanisms.WorstCaseRejection("0.01", "checked on the grid")
    walking = mechanism(epsilon="0.001", steps=10, width=1, cells=256, rejection=bound)
    record = walking.plan(dc.Bernoulli(), DOMAIN, 50)
    assert walking.guarantee("replace") == dc.ApproxDP("0.001", "0.1")
    draws = walking.draw(record, totals(10, 50), RandomSource.seeded(rng))
    assert draws.arithmetic == "floating"
    assert draws.count == 10


def test_a_bound_that_some_table_breaks_is_refused() -> None:
    observed = dc.mechanisms.WorstCaseRejection("0.01", "seen on the data")
    with pytest.raises(UsageError, match="some table of this size rejects with probability"):
        mechanism(rejection=observed).plan(dc.Bernoulli(), DOMAIN, 50)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"steps": None}, "needs steps"),
        ({"epsilon": None}, "needs epsilon"),
        ({"support": None}, "needs support"),
        ({"steps": 0}, "whole number"),
        ({"temperature": 0.5}, "at least 1"),
        ({"rejection": 0.01}, "every table and every state"),
        ({"steps": 200, "rejection": dc.mechanisms.WorstCaseRejection("0.01", "x")}, "delta adds up"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        mechanism(**arguments)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"temperature": 2}, "more than epsilon=1: it pays for"),
        ({"support": (0, 0.5)}, "without limit"),
        ({"support": (0.5, 1)}, "without limit"),
        ({"width": 32}, "width must be"),
        ({"epsilon": "1e-9"}, "too small"),
    ],
)
def test_what_is_refused_before_a_row_is_read(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        mechanism(**arguments).check(dc.Bernoulli(), DOMAIN)


def test_the_hint_of_a_refusal_works() -> None:
    with pytest.raises(UsageError) as caught:
        mechanism(temperature=2).check(dc.Bernoulli(), DOMAIN)
    assert caught.value.hint is not None
    enough = caught.value.hint.split()[3]
    mechanism(temperature=enough).check(dc.Bernoulli(), DOMAIN)
    paid = int(caught.value.message.split()[-1].rstrip("."))
    mechanism(temperature=2, steps=paid).check(dc.Bernoulli(), DOMAIN)
    with pytest.raises(UsageError):
        mechanism(temperature=2, steps=paid + 1).check(dc.Bernoulli(), DOMAIN)


def test_a_family_without_a_grid_is_refused() -> None:
    family = dc.MultivariateNormal(2)
    domain = family.read_domain([(-1, 1), (-1, 1)], "clip", "none")
    walking = dc.mechanisms.PrivateMetropolis(
        family.suggested_prior(domain), epsilon=1, steps=5, support=[(-1, 1), (1, 2)]
    )
    with pytest.raises(UsageError, match="no public grid"):
        walking.check(family, domain)
