"""Private naive Bayes beside scikit-learn's, for speed, and beside diffprivlib's, for accuracy; a part of models.py.

Speed: ``PrivateNaiveBayes.fit``, release and exact inference, on a million rows of 20 columns with 8 labels and 3
classes, against ``CategoricalNB.fit`` on the same array. The two take turns, and medians of elapsed time are compared
(processor time would count threads of linear algebra that wait for work); the limit is 3 times scikit-learn's.

Accuracy: held-out rows of three public data sets classified right, at equal epsilon, the mean over random splits, one
in four rows held out. The rival is diffprivlib's ``GaussianNB``, which needs an older scikit-learn and runs in an
environment of its own, made on the first run. Both are told the same bounds of the features, their range in the data,
as if it were public; ours cuts them into 4 bins. Always guessing the most frequent class is the line to beat. Accuracy
is shown, not checked.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import CategoricalNB

from discreet.sklearn import PrivateNaiveBayes

ROWS, COLUMNS, LABELS, CLASSES = 1_000_000, 20, 8, 3
MOST_TIMES_SLOWER = 3.0
EPSILONS = (0.5, 1.0, 2.0, 5.0, 10.0)
BINS = 4
ROUNDS, SPLITS = 5, 20
HOME = Path(__file__).parent
PEER = HOME / "data" / "diffprivlib"
PACKAGES = ("diffprivlib==0.6.6", "scikit-learn==1.5.2", "numpy==2.4.6", "scipy==1.17.1")


def seconds_of(action: Callable[[], Any]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def speed(rounds: int) -> dict[str, float]:
    """Measure how long fitting takes, side by side."""
    rng = np.random.default_rng(0)
    y, X = rng.integers(0, CLASSES, ROWS), rng.integers(0, LABELS, (ROWS, COLUMNS))
    ours = PrivateNaiveBayes(1, classes=range(CLASSES), categories=LABELS, random_state=0)
    theirs = CategoricalNB(min_categories=LABELS)
    seconds: dict[str, list[float]] = {"sklearn": [], "discreet": []}
    for turn in range(rounds + 1):
        pair = seconds_of(lambda: theirs.fit(X, y)), seconds_of(lambda: ours.fit(X, y))
        if turn:  # the first turn warms up
            seconds["sklearn"].append(pair[0])
            seconds["discreet"].append(pair[1])
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    ratios = [b / a for a, b in zip(seconds["sklearn"], seconds["discreet"], strict=True)]
    return {
        **medians,
        "ratio": medians["discreet"] / medians["sklearn"],
        "least": min(ratios),
        "most": max(ratios),
    }


def tables() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the public data sets."""
    loaders = {
        "iris": datasets.load_iris,
        "wine": datasets.load_wine,
        "breast cancer": datasets.load_breast_cancer,
    }
    return {name: load(return_X_y=True) for name, load in loaders.items()}


def split(X: np.ndarray, y: np.ndarray, seed: int) -> tuple[np.ndarray, ...]:
    return tuple(train_test_split(X, y, test_size=0.25, random_state=seed, stratify=y))


def ours(splits: int) -> dict[str, dict[str, float]]:
    """Return the accuracy of ours, by data set and epsilon."""
    out: dict[str, dict[str, float]] = {}
    for name, (X, y) in tables().items():
        bounds = list(zip(X.min(axis=0).tolist(), X.max(axis=0).tolist(), strict=True))
        out[name] = {"guess": float(np.bincount(y).max() / len(y))}
        for epsilon in EPSILONS:
            scores = []
            for seed in range(splits):
                train, test, known, truth = split(X, y, seed)
                model = PrivateNaiveBayes(
                    epsilon, classes=np.unique(y).tolist(), bounds=bounds, bins=BINS, random_state=seed
                )
                scores.append(float(np.mean(model.fit(train, known).predict(test) == truth)))
            out[name][f"{epsilon:g}"] = statistics.mean(scores)
    return out


def peer(splits: int) -> dict[str, dict[str, float]]:
    """Return the accuracy of diffprivlib's, from its own environment."""
    python = PEER / "bin" / "python"
    if not python.exists():
        print("making an environment for diffprivlib …", file=sys.stderr)
        venv.create(PEER, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    cases = {}
    for name, (X, y) in tables().items():
        parts = [[part.tolist() for part in split(X, y, seed)] for seed in range(splits)]
        cases[name] = {
            "bounds": [X.min(axis=0).tolist(), X.max(axis=0).tolist()],
            "classes": np.unique(y).tolist(),
            "splits": parts,
        }
    answer = subprocess.run(
        [python, "-W", "ignore", HOME / "diffprivlib_peer.py"],
        input=json.dumps({"epsilons": EPSILONS, "cases": cases}),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(answer.stdout)


def run() -> dict[str, Any]:
    """Measure both, and tell whether fitting is fast enough."""
    measured = speed(ROUNDS)
    accuracy = {"discreet": ours(SPLITS), "diffprivlib": peer(SPLITS)}
    return {"speed": measured, "accuracy": accuracy, "passed": measured["ratio"] <= MOST_TIMES_SLOWER}


def describe(found: dict[str, Any]) -> str:
    """Say it in a table."""
    s = found["speed"]
    lines = [
        f"fit, {ROWS:,} rows x {COLUMNS} columns: {s['ratio']:.2f} times scikit-learn's CategoricalNB "
        f"({s['least']:.2f} to {s['most']:.2f}; limit {MOST_TIMES_SLOWER:g}), "
        f"{s['discreet']:.2f} s and {s['sklearn']:.2f} s",
        "",
        "accuracy on held-out rows".ljust(34) + "".join(f"{e:>9g}" for e in EPSILONS) + "    guess",
    ]
    for name, mine in found["accuracy"]["discreet"].items():
        for who, scores in (("discreet", mine), ("diffprivlib", found["accuracy"]["diffprivlib"][name])):
            row = "".join(f"{scores[f'{e:g}']:>9.3f}" for e in EPSILONS)
            lines.append(
                f"{name:<16}{who:<18}{row}" + (f"{mine['guess']:>9.3f}" if who == "discreet" else "")
            )
    return "\n".join(lines)
