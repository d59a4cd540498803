"""What a curator declares about a family: constants, labels, bounds, and their text on the command line."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet import families
from discreet.errors import UsageError
from discreet.families import (
    Bernoulli,
    Categorical,
    Exponential,
    Gamma,
    Geometric,
    Laplace,
    MultivariateNormal,
    Normal,
    Poisson,
)


@pytest.mark.parametrize(
    ("family", "bounds", "message"),
    [
        (Normal(), None, "needs bounds"),
        (MultivariateNormal(2), None, "needs bounds"),
        (Bernoulli(), (0, 1), "takes no bounds"),
        (Categorical(3), (0, 2), "takes no bounds"),
        (Normal(), (100, 0), "less than the upper"),
        (Normal(), (1, 1), "less than the upper"),
        (Normal(), (0, np.inf), "finite number"),
        (Normal(), (np.nan, 1), "finite number"),
        (Normal(), (0, "x"), "finite number"),
        (Normal(), (None, 1), "finite number"),
        (Normal(), (0, "1e200"), "at most 1e100"),
        (Normal(), ("1", "1.00000000000000000001"), "distinct"),
        (Normal(), (0, 1, 2), "pair"),
        (Normal(), 5, "pair"),
        (Normal(), (), "pair"),
        (Normal(), "05", "pair"),
        (Normal(), [(0, 1), (0, 1)], "1 pair"),
        (MultivariateNormal(2), (0, 1), "2 pair"),
        (MultivariateNormal(2), [(0, 1), (1, 0)], "less than the upper"),
        (Exponential(), (-1, 5), "lies in"),
        (Gamma(shape=2), (-1, 5), "lies in"),
        (Poisson(), (-1, 5), "lies in"),
        (Poisson(), (0, 5.5), "integers"),
        (Geometric(), ("1/2", 5), "integers"),
    ],
    ids=str,
)
def test_bounds_that_cannot_be_meant(family, bounds, message):
    with pytest.raises(UsageError, match=message) as caught:
        family.parse_bounds(bounds)
    assert "\n" not in caught.value.message


def test_bounds_are_read_exactly():
    tenth = ((Fraction(1, 10), Fraction(100)),)
    for bounds in ((0.1, 100), ("0.1", "100"), ["1/10", 1e2], [(0.1, 100)], np.array([0.1, 100.0])):
        assert Normal().parse_bounds(bounds) == tenth
    assert MultivariateNormal(2).parse_bounds([(0, 1), (-3, 100)]) == ((0, 1), (-3, 100))
    assert Bernoulli().parse_bounds(None) is None


@pytest.mark.parametrize(
    ("text", "family"),
    [
        ("bernoulli", Bernoulli()),
        ("normal", Normal()),
        ("normal:variance=4", Normal(variance=4)),
        ("Normal: mean = -0.5", Normal(mean="-1/2")),  # pyright: ignore[reportArgumentType]
        ("categorical:labels=a|b, c|d", Categorical(["a", "b, c", "d"])),
        ("categorical:k=4", Categorical(4)),
        ("gamma:shape=2", Gamma(shape=2)),
        ("laplace:location=1e-3", Laplace(location=0.001)),
        ("multivariate-normal:dim=2", MultivariateNormal(2)),
    ],
)
def test_command_line_text(text, family):
    assert families.parse(text) == family


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nrmal", "unknown family 'nrmal'"),
        ("", "unknown family"),
        ("gamma", "needs shape"),
        ("gamma:shape=-1", "positive"),
        ("gamma:shape=x", "finite number"),
        ("gamma:shape=1e999", "between 1e-300 and 1e300"),
        ("gamma:", "needs shape"),
        ("normal:sd=2", "does not take 'sd': it knows mean, variance"),
        ("poisson:rate=2", "has no constants"),
        ("normal:variance", "cannot read"),
        ("normal:variance=", "cannot read"),
        ("normal:variance=1,variance=2", "twice"),
        ("normal:mean=0,variance=2", "nothing to learn"),
        ("categorical", "labels or their number"),
        ("categorical:k=1", "from 2 to"),
        ("categorical:k=2.5", "from 2 to"),
        ("categorical:labels=a|a", "repeated"),
        ("categorical:labels=a|", "empty text"),
        ("categorical:labels=a", "at least two"),
        ("multivariate_normal:dim=1", "from 2 to"),
    ],
)
def test_command_line_text_that_cannot_be_meant(text, message):
    with pytest.raises(UsageError, match=message) as caught:
        families.parse(text)
    assert "\n" not in caught.value.message


def test_unknown_names_list_the_known_ones():
    with pytest.raises(UsageError) as caught:
        families.build("nrmal", {})
    assert all(name in (caught.value.hint or "") for name in families.names())


@pytest.mark.parametrize(
    "labels", [[], ["a"], ["a", "a"], ["a", ""], "ab", 1, 0, 2.5, True, [1.5, 2], [None, "a"], None]
)
def test_labels_that_cannot_be_meant(labels):
    with pytest.raises(UsageError):
        Categorical(labels)


def test_labels_by_name_or_number():
    assert Categorical(3).labels == Categorical(k=3).labels == Categorical(range(3)).labels == ("0", "1", "2")
    assert Categorical(["a", "b"]).vocabulary == (("a",), ("b",))
    np.testing.assert_array_equal(Categorical(3).sufficient(np.array([2, 0])), [[0, 0, 1], [1, 0, 0]])


def test_normal_is_one_public_class():
    assert all(isinstance(family, Normal) for family in (Normal(), Normal(variance=4), Normal(mean=0)))
    assert [family.constants() for family in (Normal(), Normal(variance=4), Normal(mean=0))] == [
        {},
        {"variance": 4.0},
        {"mean": 0.0},
    ]
    assert [repr(family) for family in (Normal(), Normal(variance=4))] == ["Normal()", "Normal(variance=4.0)"]
    for wrong in (
        {"variance": 0},
        {"variance": -1},
        {"variance": np.nan},
        {"mean": np.inf},
        {"mean": 0, "variance": 1},
    ):
        with pytest.raises(UsageError):
            Normal(**wrong)
