"""Class means of numbers in naive Bayes, on real tables: how often 95% intervals hold the population's.

    python studies/class_means.py [--trials 300] [--check] [--json]

Each of scikit-learn's tables is a population that is resampled; a release has its class and two of its numbers, with
bounds as somebody would declare them who knows what is measured, but not the table. ``--check`` exits with 1 if the
coverage of any class mean is below 92% by a one-sided binomial test, at a false-alarm rate of 1e-3 for all of them.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

import discreet as dc
from discreet.curator.publish import release_with

LEAST, FALSE_ALARM = 0.92, 1e-3
SETTINGS = [(n, epsilon) for n in (500, 2000) for epsilon in (1, 3)]


@dataclass(frozen=True)
class Population:
    """A table: its class, and numbers with their public bounds."""

    name: str
    target: np.ndarray
    numbers: dict[str, np.ndarray]
    bounds: dict[str, tuple[float, float]]

    @property
    def model(self) -> dc.models.NaiveBayes:
        """The model that a curator would declare."""
        return dc.models.NaiveBayes({"class": sorted(set(self.target.tolist()))}, self.bounds)

    def mean(self, column: str, label: str) -> float:
        """Mean of a column in a class, as clipped."""
        return float(np.clip(self.numbers[column][self.target == label], *self.bounds[column]).mean())


def populations() -> list[Population]:
    """Return six numbers of three tables."""
    from sklearn.datasets import load_breast_cancer, load_iris, load_wine

    chosen = [
        ("breast cancer", load_breast_cancer(), {"mean radius": (0, 40), "mean concavity": (0, 1)}),
        ("wine", load_wine(), {"alcohol": (10, 16), "proline": (0, 2000)}),
        ("iris", load_iris(), {"sepal length (cm)": (0, 10), "petal width (cm)": (0, 5)}),
    ]
    out = []
    for name, data, bounds in chosen:
        at = {column: list(data.feature_names).index(column) for column in bounds}
        numbers = {column: data.data[:, place] for column, place in at.items()}
        out.append(Population(name, data.target_names[data.target].astype(str), numbers, bounds))
    return out


def covered(population: Population, n: int, epsilon: float, trials: int, seed: int) -> dict[str, float]:
    """Return the share of releases whose interval holds the mean, by column and class."""
    rng = np.random.default_rng([seed, n, round(10 * epsilon)])
    model, found = population.model, {}
    for _ in range(trials):
        at = rng.integers(population.target.size, size=n)
        rows = {"class": population.target[at], **{k: v[at] for k, v in population.numbers.items()}}
        release = release_with(
            lambda noise: int(noise.sample(1, rng)[0]),
            rows,
            model,
            dc.mechanisms.Laplace(epsilon),
            outside="clip",
        )
        posterior = dc.infer(release, draws=1000, chains=1, rng=rng)
        for column in population.numbers:
            ends = np.quantile(posterior.draws[f"{column}.mean"], [0.025, 0.975], axis=0)
            for c, label in enumerate(model.target.labels):
                truth = population.mean(column, label)
                found.setdefault(f"{column}, {label}", []).append(ends[0, c] <= truth <= ends[1, c])
    return {name: float(np.mean(held)) for name, held in found.items()}


def main() -> int:
    """Print the coverage of each table and setting."""
    parser = argparse.ArgumentParser(description="Coverage of class means on real tables.")
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--check", action="store_true", help="exit with 1 if a class mean is not covered")
    parser.add_argument("--json", action="store_true", help="print JSON")
    asked = parser.parse_args()
    cells = []
    for population in populations():
        for n, epsilon in SETTINGS:
            for name, share in covered(population, n, epsilon, asked.trials, asked.seed).items():
                cells.append(
                    {"table": population.name, "mean": name, "n": n, "epsilon": epsilon, "share": share}
                )
            if not asked.json:
                mine = [
                    cell
                    for cell in cells
                    if (cell["table"], cell["n"], cell["epsilon"]) == (population.name, n, epsilon)
                ]
                worst = min(mine, key=lambda cell: cell["share"])
                average = np.mean([cell["share"] for cell in mine])
                print(
                    f"{population.name:14} n={n:<5} epsilon={epsilon}: average {average:.3f}, "
                    f"least {worst['share']:.3f} ({worst['mean']})",
                    flush=True,
                )
    # how rarely a cell that covers 92% would be as bad
    p = [binom.cdf(round(cell["share"] * asked.trials), asked.trials, LEAST) for cell in cells]
    bad = [cell for cell, value in zip(cells, p, strict=True) if value < FALSE_ALARM / len(cells)]
    least, average = min(cell["share"] for cell in cells), float(np.mean([cell["share"] for cell in cells]))
    if asked.json:
        print(
            json.dumps(
                {"schema": "discreet/study-class-means/1", "trials": asked.trials, "cells": cells}, indent=2
            )
        )
    else:
        print(
            f"{len(cells)} class means: average {average:.3f}, least {least:.3f}, below {LEAST:.0%}: {len(bad)}"
        )
    return int(asked.check and bool(bad))


if __name__ == "__main__":
    sys.exit(main())
