"""What a family costs on real columns: how often 95% intervals hold the mean of the population.

    python -m studies.wrong_model [--trials 100] [--json]

Each column of scikit-learn's tables is a population that is resampled, n = 1000, epsilon = 1, bounds as somebody would
declare them who knows what is measured. ``Mean`` assumes nothing but the bounds; ``Normal`` takes the column to be
normal, with its weak default prior, once with values outside the bounds clipped and once redacted (none are outside
here, but a posterior may think so); ``naive`` ignores noise.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import numpy as np

import discreet as dc

N, EPSILON = 1000, 1
#: How a column is read: model, policy for values outside, engine.
WAYS: dict[str, tuple[Any, str, Any]] = {
    "Mean": (dc.Mean(), "clip", "auto"),
    "Normal, clipped": (dc.Normal(), "clip", "gibbs"),
    "Normal, redacted": (dc.Normal(), "redact", "gibbs"),
    "naive": (dc.Normal(), "clip", "naive"),
}


def columns() -> dict[str, tuple[np.ndarray, tuple[float, float]]]:
    """Return real columns with their public bounds; no value lies outside."""
    from sklearn.datasets import load_breast_cancer, load_diabetes, load_linnerud, load_wine

    cancer, wine, diabetes = load_breast_cancer(), load_wine(), load_diabetes(scaled=False)
    return {
        "cancer: mean area": (cancer.data[:, 3], (0, 3000)),
        "cancer: concavity": (cancer.data[:, 6], (0, 1)),
        "wine: proline": (wine.data[:, 12], (0, 2000)),
        "wine: malic acid": (wine.data[:, 1], (0, 10)),
        "diabetes: progression": (diabetes.target, (0, 400)),
        "diabetes: age": (diabetes.data[:, 0], (18, 100)),
        "exercise: jumps": (load_linnerud().data[:, 2], (0, 300)),
    }


def covered(
    population: np.ndarray, bounds: tuple[float, float], way: str, trials: int
) -> tuple[float, float]:
    """Return the share of intervals that hold the mean, and the share of misses that came with a warning."""
    model, outside, engine = WAYS[way]
    rng = np.random.default_rng([trials, list(WAYS).index(way)])
    held, warned = [], []
    for _ in range(trials):
        rows = rng.choice(population, N)
        release = dc.release(rows, model, bounds=bounds, epsilon=EPSILON, outside=outside)  # pyright: ignore[reportArgumentType]
        posterior = dc.infer(release, draws=1000, rng=rng, engine=engine)
        low, high = posterior.interval()["mean"]
        held.append(low <= population.mean() <= high)
        warned.append(bool(posterior.diagnostics.warnings))
    missed = [w for h, w in zip(held, warned, strict=True) if not h]
    return float(np.mean(held)), float(np.mean(missed)) if missed else 1.0


def main() -> int:
    """Print a line for each column."""
    parser = argparse.ArgumentParser(description="Coverage of the mean on real columns, by model.")
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--json", action="store_true", help="print JSON")
    asked = parser.parse_args()
    found = {}
    for name, (population, bounds) in columns().items():
        found[name] = {way: covered(population, bounds, way, asked.trials) for way in WAYS}
        if not asked.json:
            line = ", ".join(
                f"{way} {share:.2f} (misses warned {said:.2f})" for way, (share, said) in found[name].items()
            )
            print(f"{name:22} {line}", flush=True)
    if asked.json:
        print(
            json.dumps(
                {"schema": "discreet/study-wrong-model/1", "trials": asked.trials, "columns": found}, indent=2
            )
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
