"""diffprivlib's linear regression on given tables, in its own environment; `regression_peers.py` calls it."""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from diffprivlib.models import LinearRegression  # pyright: ignore[reportMissingImports]

asked = json.load(sys.stdin)
low, high, ends = np.array(asked["low"]), np.array(asked["high"]), tuple(asked["ends"])
found, seconds = [], []
for seed, rows in enumerate(asked["tables"]):
    table = np.array(rows) if isinstance(rows, list) else np.load(rows)
    model = LinearRegression(epsilon=asked["epsilon"], bounds_X=(low, high), bounds_y=ends, random_state=seed)
    start = time.process_time()
    model.fit(table[:, 1:], table[:, 0])
    seconds.append(time.process_time() - start)
    found.append([float(model.intercept_), *map(float, model.coef_)])
print(json.dumps({"found": found, "seconds": seconds}))
