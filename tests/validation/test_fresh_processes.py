"""How often two interpreters are compared: outputs with few values agree by chance."""

from __future__ import annotations

import numpy as np

from discreet.validation.outputs import Outputs
from discreet.validation.structure import _BY_CHANCE, _fresh_runs


def outputs(values: np.ndarray) -> Outputs:
    return Outputs(("p",), values[:, None], values[:, None], (False,))


def test_few_values_take_more_runs(rng: np.random.Generator) -> None:
    """A sample from three values agrees with another in a third of all runs: three runs would cry wolf too often."""
    few = _fresh_runs(outputs(rng.integers(0, 3, 2000).astype(float)))
    assert (1 / 3) ** few < 2 * _BY_CHANCE < (1 / 3) ** 3
    assert _fresh_runs(outputs(rng.random(2000))) == 3
    assert _fresh_runs(outputs(np.zeros(2000))) == 60
