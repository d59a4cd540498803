"""Sampled Markov chains: what one entry can change, over all neighboring tables of a small chain."""

from __future__ import annotations

from itertools import combinations_with_replacement, permutations, product

import numpy as np
import pytest
from scipy.special import betainc, betaln

import discreet as dc
from discreet.artifact import Release
from discreet.domain.declarations import Domain
from discreet.errors import UsageError
from discreet.models import MarkovChain
from discreet.privacy.costs.likelihood_range import simplex_range
from discreet.rational import exact

LEAST = 0.1
CHAIN = MarkovChain({"ward": ["w"]}, {"month": ["1", "2", "3"]}, {"status": ["free", "ill"]})
ENTRIES = list(product((0,), (0, 1, 2), (0, 1)))


def rows(data: list[tuple[int, ...]]) -> np.ndarray:
    """Counts of every distribution, first states first: three rows of two."""
    counts = CHAIN.counts(np.array(data, dtype=np.int64))
    return np.vstack([table.reshape(-1, 2) for table in counts.values()]).astype(float)


def extremes(change: np.ndarray) -> tuple[float, float]:
    """The largest and smallest value of sum over rows of change . log(p, 1 - p), p in [LEAST, 1 - LEAST]."""
    high = low = 0.0
    for a, b in change:
        at = [LEAST, 1 - LEAST]
        if a * b > 0:
            at.append(float(np.clip(a / (a + b), LEAST, 1 - LEAST)))
        values = [a * np.log(p) + b * np.log(1 - p) for p in at]
        high, low = high + max(values), low + min(values)
    return high, low


def log_mass(a: float, b: float) -> float:
    return float(betaln(a, b) + np.log(betainc(a, b, 1 - LEAST) - betainc(a, b, LEAST)))


def neighbors(n: int) -> list[tuple[np.ndarray, np.ndarray]]:
    found = {}
    for rest in combinations_with_replacement(ENTRIES, n - 1):
        tables = [rows([*rest, one]) for one in ENTRIES]
        for one, two in permutations(tables, 2):
            found[one.tobytes(), two.tobytes()] = (one, two)
    return list(found.values())


def test_the_range_of_one_entry_is_attained_and_never_exceeded() -> None:
    needed = float(CHAIN.record_range(exact("0.1", "support"), simplex_range))
    spans = [high - low for high, low in (extremes(one - two) for one, two in neighbors(3))]
    assert max(spans) <= needed + 1e-9
    # with three records, three counts change at most
    assert max(spans) >= 0.74 * needed
    # four records in one chain of four times: two steps that stay in one state against two in another
    longer = MarkovChain({"w": ["w"]}, {"t": range(4)}, {"s": ["f", "i"]})
    stays = longer.counts(np.array([(0, 1, 0), (0, 2, 0), (0, 3, 0)]))
    moved = longer.counts(np.array([(0, 1, 0), (0, 3, 0), (0, 2, 1)]))
    assert stays["transition"].tolist() == [[2, 0], [0, 0]]
    assert moved["transition"].tolist() == [[0, 1], [1, 0]]
    high, low = extremes((stays["transition"] - moved["transition"]).astype(float))
    assert high - low == pytest.approx(needed, rel=1e-8)
    # a control: the range of one label is too generous
    assert max(spans) > 1.4 * float(simplex_range(2, exact("0.1", "support")))


def test_no_pair_of_neighbors_loses_more_than_epsilon() -> None:
    mechanism = dc.mechanisms.TablePosterior(epsilon=1, support=LEAST)
    temperature = float(
        mechanism.plan(CHAIN, Domain(None, None, "clip", "none"), 3).parameters["temperature"]
    )
    worst = 0.0
    for one, two in neighbors(3):
        p, q = 1 + one / temperature, 1 + two / temperature
        loss = extremes(p - q)[0]
        loss += sum(log_mass(*row) for row in q) - sum(log_mass(*row) for row in p)
        worst = max(worst, loss)
    assert 0.3 < worst <= 1


def test_release_and_file(rng: np.random.Generator) -> None:
    n_wards, n_months = 30, 12
    status = rng.choice(["free", "ill"], (n_wards, n_months), p=[0.8, 0.2])
    data = {
        "ward": np.repeat([str(i) for i in range(n_wards)], n_months),
        "month": np.tile([str(i) for i in range(n_months)], n_wards),
        "status": status.ravel(),
    }
    model = MarkovChain({"ward": range(n_wards)}, {"month": range(n_months)}, {"status": ["free", "ill"]})
    mechanism = dc.mechanisms.TablePosterior(epsilon=50, support="0.02", samples=2)
    release = dc.release(data, model, mechanism=mechanism, missing="none")
    again = Release.from_json(release.to_json())
    draws = dc.infer(again).draws
    assert draws["initial"].shape == (2, 2)
    assert draws["transition"].shape == (2, 2, 2)
    assert np.allclose(draws["transition"].sum(axis=-1), 1)
    assert (np.abs(draws["transition"][:, :, 0] - 0.8) < 0.3).all()
    assert "temper" in release.statement()
    with pytest.raises(UsageError, match="lower bounds"):
        dc.release(
            data, model, mechanism=dc.mechanisms.TablePosterior(epsilon=1, support=0.5), missing="none"
        )
    with pytest.raises(UsageError, match="several columns"):
        dc.release([1, 2], dc.Poisson(), mechanism=mechanism, bounds=(0, 9))
