"""Constructors say in one line what they need, whatever they are given."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import pytest

import discreet as dc
from discreet.errors import UsageError


@pytest.mark.parametrize(
    ("kind", "given", "options", "words"),
    [
        (dc.Gamma, (), {}, "Gamma needs shape: write Gamma(shape=…)."),
        (dc.Laplace, (), {}, "Laplace needs location: write Laplace(location=…)."),
        (dc.MultivariateNormal, (), {}, "MultivariateNormal needs dim: write MultivariateNormal(dim=…)."),
        (dc.Gamma, (), {"scale": 2}, "Gamma does not take 'scale'; it takes shape."),
        (dc.Normal, (), {"sd": 2}, "Normal does not take 'sd'; it takes mean, variance."),
        (
            dc.Normal,
            (2,),
            {},
            "Normal was given arguments that it does not take so; it takes mean, variance, by name.",
        ),
        (dc.Bernoulli, (), {"p": 0.5}, "Bernoulli does not take 'p'; it takes yes, no."),
        (dc.Gamma, ([1, 2],), {}, "shape must be a finite number, got shape=[1, 2]."),
        (dc.Laplace, (None,), {}, "location must be a finite number, got location=None."),
        (dc.priors.Beta, (1,), {}, "Beta needs a and b: write Beta(a=…, b=…)."),
        (
            dc.mechanisms.Laplace,
            (),
            {},
            "laplace noise takes either epsilon, or metric with epsilon_per_unit.",
        ),
        (dc.families.Family, (), {}, "Family is abstract: use one of its kinds."),
    ],
)
def test_what_is_needed_is_said(
    kind: Any, given: tuple[Any, ...], options: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError) as refused:
        kind(*given, **options)
    assert refused.value.message == words


def test_a_type_error_from_inside_is_not_hidden() -> None:
    class Broken(dc.Poisson):
        def __init__(self) -> None:
            raise TypeError("from inside")

    with pytest.raises(TypeError, match="from inside"):
        Broken()


def test_signatures_and_pickles_are_as_before() -> None:
    assert list(inspect.signature(dc.Gamma).parameters) == ["shape"]
    assert list(inspect.signature(dc.Normal).parameters) == ["mean", "variance"]
    assert list(inspect.signature(dc.PureDP).parameters) == ["epsilon", "neighbors", "unit"]
    assert list(inspect.signature(dc.Bernoulli).parameters) == ["yes", "no"]
    assert pickle.loads(pickle.dumps(dc.Gamma(2))) == dc.Gamma(2)
