"""Accuracy of diffprivlib's GaussianNB on given splits, in its own environment; called by models_naive_bayes.py."""

from __future__ import annotations

import json
import statistics
import sys

import numpy as np
from diffprivlib.models import GaussianNB  # pyright: ignore[reportMissingImports]

asked = json.load(sys.stdin)
found: dict[str, dict[str, float]] = {}
for name, case in asked["cases"].items():
    found[name] = {}
    for epsilon in asked["epsilons"]:
        scores = []
        for seed, (train, test, known, truth) in enumerate(case["splits"]):
            model = GaussianNB(
                epsilon=epsilon, bounds=tuple(map(np.array, case["bounds"])), random_state=seed
            )
            model.fit(np.array(train), np.array(known))
            scores.append(float(np.mean(model.predict(np.array(test)) == np.array(truth))))
        found[name][f"{epsilon:g}"] = statistics.mean(scores)
print(json.dumps(found))
