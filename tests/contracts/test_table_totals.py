"""``posterior.table``: what is known of the very table, where noise is the only uncertainty."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

import discreet as dc
from discreet.curator.publish import release_with

ROWS = ["yes"] * 120 + ["no"] * 170 + [None] * 10


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_counts_of_the_table_are_covered(neighbors: str, rng: np.random.Generator):
    """The table stays as it is, and only the noise is drawn anew."""
    held = []
    for _ in range(150):
        release = release_with(
            lambda noise: int(noise.sample(1, rng)[0]),
            ROWS,
            dc.Bernoulli(),
            dc.mechanisms.Laplace(0.5),
            neighbors=neighbors,  # pyright: ignore[reportArgumentType]
        )
        table = dc.infer(release, draws=400, chains=1, rng=rng).table
        assert table is not None
        held += [low <= 120 <= high for low, high in [table.interval()["yes"]]]
    assert binomtest(sum(held), len(held), 0.93, alternative="less").pvalue > 1e-4


def test_labels_have_counts_and_many_of_them_none(rng: np.random.Generator):
    labels = dc.Categorical(["a", "b", "c"])
    posterior = dc.infer(dc.release(["a"] * 50 + ["b"] * 9, labels, epsilon=100, missing="none"), rng=rng)
    assert posterior.table is not None
    assert posterior.table.median()["count"].tolist() == [50, 9, 0]
    assert "count[a]" in str(posterior.summary())
    assert "Of this table itself" in str(posterior.summary())
    many = dc.infer(dc.release(["1"], dc.Categorical(30), epsilon=1), draws=8, rng=rng)
    assert many.table is not None
    assert many.table.draws["count"].shape == (8, 30)
    assert "count[" not in str(many.summary())
    assert dc.infer(dc.release(["1"], dc.Categorical(1001), epsilon=1), draws=8, rng=rng).table is None
