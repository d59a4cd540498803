"""What a type checker knows of ``infer``: these lines are for it, and running them shows that it is right."""

from __future__ import annotations

from typing import Any, assert_type

import discreet as dc
from discreet.inference.group_posteriors import GroupPosteriors
from discreet.inference.posteriors import Posteriors

TABLE = {"region": ["north", "south"] * 30, "y": ["yes", "no", "no"] * 20}


def test_what_infer_returns():
    made = dc.release(TABLE, dc.Bernoulli(), column="y", epsilon=1, by="region", groups=["north", "south"])
    plain, other = (dc.release(TABLE, dc.Bernoulli(), column="y", epsilon=1) for _ in range(2))

    pooled = dc.infer(made, pool=True, draws=40, rng=1)
    assert_type(pooled, GroupPosteriors)
    assert isinstance(pooled, GroupPosteriors)
    apart = dc.infer(made, pool=False, draws=40, rng=1)
    assert_type(apart, GroupPosteriors)
    assert isinstance(apart, GroupPosteriors)

    # which of both is known when it runs
    found = dc.infer(made, draws=40, rng=1)
    assert_type(found, dc.Posterior | Any)
    assert isinstance(found, GroupPosteriors)
    assert isinstance(dc.infer(plain, draws=40, rng=1), dc.Posterior)

    named = dc.infer({"one": plain}, draws=40, rng=1)
    assert_type(named, Posteriors)
    assert isinstance(named, Posteriors)
    together = dc.infer([plain, other], same_table=False, draws=40, rng=1)
    assert_type(together, dc.Posterior)
    assert isinstance(together, dc.Posterior)
    each = dc.infer([plain, other], same_table=False, pool=False, draws=40, rng=1)
    assert_type(each, GroupPosteriors)
    assert isinstance(each, GroupPosteriors)
