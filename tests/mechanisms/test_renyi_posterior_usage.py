"""Rebalanced posterior samples from the outside: the release, its file, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet import priors
from discreet.artifact.codec import checksum
from discreet.errors import ReleaseFileError, UsageError

YES_NO = [0, 1, 1, 0] * 25


def made(**changes: Any) -> dc.Release:
    asked: dict[str, Any] = {"prior": priors.Beta(6, 12), "order": 2, "epsilon": 0.1} | changes
    return dc.release(
        YES_NO, dc.Bernoulli(), mechanism=dc.mechanisms.RenyiPosterior(asked.pop("prior"), **asked), impute=0
    )


@pytest.mark.parametrize("mode", ["direct", "diffused", "concentrated"])
def test_a_release_of_samples(mode: Any) -> None:
    release = made(mode=mode, epsilon=1, samples=5)
    assert release.guarantee == dc.RenyiDP([2], [1])
    assert release.statistics is None
    assert release.samples is not None
    assert release.samples.count == 5
    assert release.samples.arithmetic == "floating"
    assert dc.Release.from_json(release.to_json()) == release
    assert mode in release.statement()
    assert dc.infer(release, rng=0).diagnostics.engine == "exact"
    posterior = dc.infer(release, engine="naive")
    assert posterior.draws["p"].shape == (5,)
    assert any(mode in str(line) for line in (posterior.diagnostics, *posterior.diagnostics.warnings))


def test_the_three_modes_agree_where_the_posterior_is_private_enough() -> None:
    weights = {
        mode: {name: made(mode=mode, epsilon=1).mechanism.parameters[name] for name in "rm"}  # pyright: ignore
        for mode in ("direct", "diffused", "concentrated")
    }
    assert list(weights.values()) == [{"r": 1, "m": 1}] * 3


def test_several_samples_share_the_budget() -> None:
    """Divergences of independent draws add up: four samples at 0.4 are as diffused as one at 0.1."""
    one, four = made(), made(epsilon=0.4, samples=4)
    assert one.mechanism.parameters["r"] == four.mechanism.parameters["r"]  # pyright: ignore
    assert four.guarantee == dc.RenyiDP([2], [0.4])


def test_public_records_go_into_the_prior() -> None:
    """They make direct sampling possible where it was not, and the order it has a guarantee for larger."""
    prior = dc.Bernoulli().learn(priors.Beta(6, 12), [1] * 20 + [0] * 20)
    assert prior == priors.Beta(26, 32)
    with pytest.raises(UsageError, match="orders below 7 only"):
        made(mode="direct", order=8, epsilon=1)
    assert made(prior=prior, mode="direct", order=8, epsilon=1).guarantee == dc.RenyiDP([8], [1])
    assert dc.Categorical(["a", "b"]).learn(priors.Dirichlet([1, 1]), ["b", "b"]) == priors.Dirichlet([1, 3])
    for bad in ([0, 2], [], [[1]]):
        with pytest.raises(UsageError):
            dc.Bernoulli().learn(priors.Beta(1, 1), bad)


def test_a_prior_may_be_text() -> None:
    assert made(prior="beta:6,12").mechanism.prior == priors.Beta(6, 12)  # pyright: ignore


# -- refused ------------------------------------------------------------------------------------------------


def refused(match: str, **changes: Any) -> None:
    with pytest.raises(UsageError, match=match) as caught:
        made(**changes)
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("order", [1, 0.5, 0, -3])
def test_orders_up_to_one(order: float) -> None:
    refused("order must be above 1", order=order)


@pytest.mark.parametrize("epsilon", [0, -1])
def test_budgets_that_are_not_positive(epsilon: float) -> None:
    refused("epsilon must be positive", epsilon=epsilon)


@pytest.mark.parametrize("mode", ["diffused", "concentrated"])
def test_budgets_so_small_that_nothing_is_left(mode: str) -> None:
    refused("too small", epsilon=1e-60, mode=mode)
    refused("too small", epsilon="1e-290", mode=mode, samples=1000)


def test_direct_sampling_that_costs_more() -> None:
    refused("a sample of .* an epsilon of 0.1913 at order 2", epsilon=0.1, mode="direct")
    refused("10 samples of .* an epsilon of 1.913 at order 2", epsilon=0.1, mode="direct", samples=10)
    assert made(epsilon="0.1913", mode="direct").guarantee == dc.RenyiDP([2], ["0.1913"])


def test_modes_that_do_not_exist() -> None:
    refused("mode must be one of 'direct', 'diffused', 'concentrated'", mode="tempered")


@pytest.mark.parametrize("samples", [0, -1, 1.5, True, 10**6])
def test_numbers_of_samples(samples: Any) -> None:
    refused("samples must be a whole number", samples=samples)


def test_improper_priors() -> None:
    for numbers in ((0, 0), (-1, 2), (np.inf, 1)):
        with pytest.raises(UsageError, match="must be positive and finite"):
            priors.Beta(*numbers)
    with pytest.raises(UsageError, match="positive and finite"):
        dc.mechanisms.RenyiPosterior("beta:0,0", order=2, epsilon=1)
    refused("takes a Beta prior", prior=priors.Gamma(1, 1))
    refused("needs a prior", prior=3)


def asked(model: Any = None, **options: Any) -> None:
    mechanism = dc.mechanisms.RenyiPosterior(options.pop("prior", priors.Beta(6, 12)), order=2, epsilon=0.1)
    dc.release(YES_NO, model or dc.Bernoulli(), mechanism=mechanism, **options)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"impute": 0, "outside": "redact"}, "redact"),
        ({"impute": 0, "missing": "count"}, "missing"),
        ({}, "impute"),
        ({"impute": 0, "neighbors": "add_remove"}, "replace"),
        ({"impute": 0, "epsilon": 1}, "own budget"),
        ({"impute": 7}, "impute"),
    ],
)
def test_declarations_that_the_theorem_does_not_cover(options: dict[str, Any], match: str) -> None:
    with pytest.raises(UsageError, match=match) as caught:
        asked(**options)
    assert "\n" not in caught.value.message


def test_families_without_a_proof() -> None:
    with pytest.raises(UsageError, match="proven for normal with unknown mean and variance"):
        asked(dc.Normal(), prior=priors.NormalInverseGamma(0, 1, 2, 1), bounds=(0, 1), impute=0)
    with pytest.raises(UsageError, match="statistical query is the mechanism"):
        asked(dc.families.Predicate(), impute=0)


def test_bounds_that_leave_floating_point() -> None:
    with pytest.raises(UsageError) as caught:
        dc.release(
            [1.0] * 5,
            dc.Exponential(),
            mechanism=dc.mechanisms.RenyiPosterior(priors.Gamma(2, 1e100), order=1.001, epsilon=1),
            bounds=(0, 1e100),
            impute=1,
        )
    assert "floating-point" in caught.value.message


# -- altered files ------------------------------------------------------------------------------------------


def altered(release: dc.Release, change: Any) -> str:
    body = json.loads(release.to_json())
    change(body)
    body["sha256"] = checksum(body)
    return json.dumps(body)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda b: b["mechanism"]["parameters"].update(r="3/4"), "less private"),
        (lambda b: b["mechanism"]["parameters"].update(r="2"), "weight"),
        (lambda b: b["mechanism"]["parameters"].update(r="1/3"), "floating-point"),
        (lambda b: b["mechanism"]["parameters"].update(m="1/2"), "diffused"),
        (lambda b: b["mechanism"]["parameters"].pop("m"), "missing or unknown parameters"),
        (lambda b: b["mechanism"].update(name="direct_posterior"), "direct"),
        (lambda b: b["mechanism"].update(name="diffused_query"), "not for its model"),
        (lambda b: b["mechanism"].update(prior="beta:1,1"), "less private"),
        (lambda b: b["samples"].update(arithmetic="exact"), "another arithmetic"),
        (lambda b: b["guarantees"][0].update(orders=["3"]), "order"),
    ],
)
def test_files_that_promise_too_much_are_refused(change: Any, match: str) -> None:
    release = made()
    with pytest.raises(ReleaseFileError, match=match):
        dc.Release.from_json(altered(release, change))


def test_a_reader_whose_logarithms_differ_in_the_last_digits_can_read_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The weight is the largest that fits, so a reader without any room would depend on its machine."""
    from discreet.privacy.costs.posterior_neighbors import NeighboringPosteriors

    content = made().to_json()
    here = NeighboringPosteriors.worst_divergence
    for factor, readable in ((1 + 1e-12, True), (1 + 1e-8, False)):
        monkeypatch.setattr(
            NeighboringPosteriors,
            "worst_divergence",
            lambda *given, factor=factor, **named: factor * here(*given, **named),
        )
        if readable:
            assert dc.Release.from_json(content).guarantee == dc.RenyiDP([2], ["0.1"])
        else:
            with pytest.raises(ReleaseFileError, match="less private"):
                dc.Release.from_json(content)
