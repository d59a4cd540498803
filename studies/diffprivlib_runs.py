"""Outputs of diffprivlib's mechanisms, in its own environment; called by audit_others.py."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
from diffprivlib import tools  # pyright: ignore[reportMissingImports]
from diffprivlib.mechanisms import Laplace, LaplaceTruncated  # pyright: ignore[reportMissingImports]
from diffprivlib.models import LinearRegression  # pyright: ignore[reportMissingImports]


def regression(table: Any) -> list[float]:
    """Return the coefficient of a line through the origin."""
    x, y = (np.array(column) for column in zip(*table, strict=True))
    model = LinearRegression(epsilon=1, bounds_X=(0, 1), bounds_y=(0, 1), fit_intercept=False)
    return model.fit(x[:, None], y).coef_.tolist()


RUNS = {
    "laplace": lambda table: Laplace(epsilon=1, sensitivity=1).randomise(float(np.sum(table))),
    "truncated": lambda table: LaplaceTruncated(epsilon=1, sensitivity=1, lower=0, upper=2).randomise(
        float(np.sum(table))
    ),
    "mean": lambda table: float(tools.mean(table, epsilon=1, bounds=(0, 1))),
    "regression": regression,
}

asked = json.load(sys.stdin)
print(json.dumps([RUNS[asked["what"]](asked["table"]) for _ in range(asked["times"])]))
