"""A predicate counts like a Bernoulli, and is no likelihood."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet import priors
from discreet.errors import UsageError

PREDICATE = dc.families.Predicate()


def test_bounds_are_those_of_a_share() -> None:
    unit = ((Fraction(0), Fraction(1)),)
    assert PREDICATE.parse_bounds(None) == PREDICATE.parse_bounds((0, 1)) == unit


@pytest.mark.parametrize("bounds", [(0, 2), (0.1, 1), (-1, 1)])
def test_other_bounds_are_refused(bounds: Any) -> None:
    with pytest.raises(UsageError, match="between 0 and 1"):
        PREDICATE.parse_bounds(bounds)


def test_shares_of_a_yes_add_up() -> None:
    after = PREDICATE.learn(priors.Beta(1, 2), [0.25, 0.5, 1.0])
    assert after == priors.Beta(2.75, 3.25)
    bits = dc.Bernoulli().learn(priors.Beta(1, 2), [0, 1, 1])
    assert PREDICATE.learn(priors.Beta(1, 2), [0, 1, 1]) == bits
    with pytest.raises(UsageError, match="outside the support"):
        PREDICATE.learn(priors.Beta(1, 2), [0.5, 1.5])


def test_natural_parameters_both_ways() -> None:
    theta = {"mean": np.array([0.1, 0.8])}
    np.testing.assert_allclose(PREDICATE.from_natural(PREDICATE.natural(theta))["mean"], theta["mean"])


def test_it_has_no_density() -> None:
    with pytest.raises(UsageError, match="not a likelihood"):
        PREDICATE.log_density(np.array([0.5]), {"mean": np.array(0.5)})


def test_files_and_the_command_line_know_it() -> None:
    assert dc.families.build("predicate", {}) == dc.families.parse("predicate") == PREDICATE
