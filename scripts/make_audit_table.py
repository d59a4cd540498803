"""Audit every mechanism of the package and write the table of the docs: `python scripts/make_audit_table.py`.

    python scripts/make_audit_table.py            every case, about ten minutes
    python scripts/make_audit_table.py NAME …     these alone; the others keep what was found before

What was found is kept in studies/results/audits.json; docs/explanation/audited-mechanisms.md is made of it.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import discreet as dc

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "studies" / "results" / "audits.json"
PAGE = ROOT / "docs" / "explanation" / "audited-mechanisms.md"
_START, _END = "<!-- table: begin -->\n", "<!-- table: end -->\n"

#: Whole releases of each case that are compared with the runs.
_END_TO_END = 200

Case = tuple[str, str, Callable[..., Any]]


def _model(model: Any, runs: int, **settings: Any) -> Callable[..., Any]:
    return lambda **how: dc.audit(model, runs=runs, **settings, **how)


def _mechanism(mechanism: Any, runs: int, **settings: Any) -> Callable[..., Any]:
    return lambda **how: dc.audit(mechanism, runs=runs, **settings, **how)


def _cases() -> dict[str, Case]:
    """Return, by name, which mechanism, on what, and the audit."""
    m, models = dc.mechanisms, dc.models
    wide: dict[str, Any] = {"bounds": (0, 100)}
    family = {"support": ("0.1", "0.9"), "cells": 64}
    mixture = models.Mixture(2, {"letter": ["a", "b"]})
    hidden = models.HiddenMarkov(2, time={"time": 2}, features={"letter": ["a", "b"]})
    declared = models.DeclaredLikelihood(
        {"letter": ["a", "b"]},
        {"p": [0.1, 0.5, 0.9]},
        lambda p, r: math.log(p["p"] if r["letter"] == "a" else 1 - p["p"]),
    )
    bayes = models.NaiveBayes({"c": ["no", "yes"]}, {"f": ["a", "b"]})
    logistic = models.LogisticRegression({"y": ["no", "yes"]}, {"x": (-1, 1)}, radius=1)
    line = models.LinearRegression("y", ["x"], bounds={"y": (0, 1), "x": (0, 1)})
    labels = models.LinearRegression("y", ["b"], bounds={"y": (0, 1), "b": ["no", "yes"]})
    ends = ({"y": ["no", "no"], "x": [0.0, -1.0]}, {"y": ["no", "yes"], "x": [0.0, -1.0]})
    missing = {"impute": {"y": "no", "x": 0}}
    low, high = {"x": [0.0] * 8}, {"x": [0.0] * 7 + [100.0]}
    rows = {"x": [0.0] * 9, "g": ["a"] * 9}
    moved = {**rows, "x": [0.0] * 8 + [100.0], "g": ["a"] * 8 + ["b"]}
    bought = m.PrivateQuantiles("0.25", "0.75", within=(0, 100), epsilon=1, cells=16)
    return {
        "laplace-bernoulli": ("`Laplace`", "`Bernoulli`", _model(dc.Bernoulli(), 100_000, epsilon=1)),
        "laplace-mean": ("`Laplace`", "`Mean`", _model(dc.Mean(), 20_000, epsilon=1, **wide)),
        "laplace-added": (
            "`Laplace`", "`Categorical`, records added or removed",
            _model(dc.Categorical(["a", "b", "c"]), 20_000, epsilon=1, neighbors="add_remove"),
        ),
        "laplace-people": (
            "`Laplace`", "`Mean` of people with several rows",
            _model(dc.Mean(), 10_000, epsilon=1, column="x", unit="id", per_unit="mean", **wide),
        ),
        "laplace-capped": (
            "`Laplace`", "`Mean`, two rows of each person",
            _model(dc.Mean(), 10_000, epsilon=1, column="x", unit="id", max_rows=2, **wide),
        ),
        "laplace-groups": (
            "`Laplace`", "`Mean` in two groups",
            _model(dc.Mean(), 10_000, epsilon=1, column="x", by="g", groups=["a", "b"], **wide),
        ),
        "laplace-bayes": ("`Laplace`", "`NaiveBayes`", _model(bayes, 10_000, epsilon=1)),
        "laplace-line": (
            "`Laplace`", "`LinearRegression`", _model(line, 10_000, epsilon=1, mechanism="laplace"),
        ),
        "k-norm-line": ("`KNorm`", "`LinearRegression`", _model(line, 20_000, epsilon=1)),
        "k-norm-labels": (
            "`KNorm`", "`LinearRegression` on labels, records added or removed",
            _model(labels, 4000, epsilon=1, neighbors="add_remove"),
        ),
        "laplace-several": (
            "`Laplace`", "`Bernoulli` and `Mean` together",
            _model({"a": dc.Bernoulli(), "b": dc.Mean()}, 10_000, epsilon=1, bounds={"b": (0, 1)}),
        ),
        "laplace-metric": (
            "`Laplace(metric=…)`", "`Mean`",
            _mechanism(
                m.Laplace(metric="absolute", epsilon_per_unit="0.01"), 10_000, model=dc.Mean(), **wide
            ),
        ),
        "gaussian-rho": ("`Gaussian`", "`Mean`", _model(dc.Mean(), 20_000, rho=0.5, mechanism="gaussian", **wide)),
        "gaussian-approx": (
            "`Gaussian`", "`Bernoulli`",
            _model(dc.Bernoulli(), 20_000, epsilon=1, delta="0.01", mechanism="gaussian", missing="none"),
        ),
        "fit-check": (
            "`Laplace`, fit check", "`Normal`",
            _model(dc.Normal(), 4000, epsilon=2, fit_check="0.5", column="x", pair=(low, high), **wide),
        ),
        "quantiles": (
            "`PrivateQuantiles`", "bounds of `Mean`",
            _model(dc.Mean(), 4000, epsilon=1, bounds=bought, column="x", pair=(low, high)),
        ),
        "private-groups": (
            "private labels of groups", "`Mean`",
            _model(
                dc.Mean(), 4000, epsilon=2, delta="0.1", column="x", by="g", groups="private",
                pair=(rows, moved), **wide,
            ),
        ),
        "posterior-sampling": (
            "`PosteriorSampling`", "`Bernoulli`",
            _mechanism(m.PosteriorSampling("beta:1,1", epsilon=1, **family), 10_000, impute=0),
        ),
        "renyi-posterior": (
            "`RenyiPosterior`, diffused", "`Bernoulli`",
            _mechanism(m.RenyiPosterior("beta:6,12", order=2, epsilon=1), 20_000, impute=0),
        ),
        "renyi-concentrated": (
            "`RenyiPosterior`, concentrated", "`Bernoulli`",
            _mechanism(m.RenyiPosterior("beta:6,12", order=2, epsilon=1, mode="concentrated"), 20_000, impute=0),
        ),
        "statistical-query": (
            "`StatisticalQuery`", "`Predicate`",
            _mechanism(
                m.StatisticalQuery("beta:1,1", order=2, epsilon=1), 20_000, model=dc.families.Predicate(), impute=0.5
            ),
        ),
        "table-posterior": (
            "`TablePosterior`", "`NaiveBayes`",
            _mechanism(
                m.TablePosterior(epsilon=4, support="0.1"), 4000, model=bayes, impute={"c": "no", "f": "a"}
            ),
        ),
        "private-gibbs": (
            "`PrivateGibbs`", "`Mixture`",
            _mechanism(m.PrivateGibbs(epsilon=4, steps=2, support="0.1"), 2000, model=mixture, impute={"letter": "a"}),
        ),
        "private-gibbs-paths": (
            "`PrivateGibbs`", "`HiddenMarkov`",
            _mechanism(
                m.PrivateGibbs(epsilon=4, steps=1, support="0.1"), 2000, model=hidden,
                pair=({"time": [0], "letter": ["a"]}, {"time": [0], "letter": ["b"]}),
                impute={"time": 0, "letter": "a"},
            ),
        ),
        "private-gibbs-declared": (
            "`PrivateGibbs`", "`DeclaredLikelihood`",
            _mechanism(m.PrivateGibbs(epsilon=4, steps=2), 4000, model=declared, impute={"letter": "a"}),
        ),
        "private-metropolis": (
            "`PrivateMetropolis`", "`Bernoulli`",
            _mechanism(m.PrivateMetropolis("beta:1,1", epsilon=4, steps=4, **family), 4000, impute=0),
        ),
        "private-annealing": (
            "`PrivateAnnealing`", "`Bernoulli`",
            _mechanism(m.PrivateAnnealing("beta:1,1", epsilon=4, levels=4, **family), 2000, impute=0),
        ),
        "noisy-sgd": (
            "`NoisySGD`", "`LogisticRegression`",
            _mechanism(m.NoisySGD(rho=0.5), 10_000, model=logistic, pair=ends, **missing),
        ),
        "langevin": (
            "`Langevin`", "`LogisticRegression`",
            _mechanism(
                m.Langevin(epsilon=4, delta="0.01", steps=20, samples=1, rate="1/2"), 2000, model=logistic,
                pair=ends, **missing,
            ),
        ),
    }  # fmt: skip


def record(name: str, case: Case) -> dict[str, Any]:
    """Audit one case, and return what the page needs."""
    mechanism, model, run = case
    found = run(rng=20, end_to_end=_END_TO_END)
    return {
        "mechanism": mechanism,
        "model": model,
        "claim": found.claim.words,
        "claimed": found.claim.rho or found.epsilon,
        "what": "rho" if found.claim.rho else "epsilon",
        "delta": found.claim.delta,
        "epsilon": found.epsilon,
        "epsilon_lower": found.epsilon_lower,
        "rho_lower": found.rho_lower,
        "ratio": found.ratio,
        "runs": found.runs,
        "pair": found.pair,
        "event": found.event,
        "failed": [check.name for check in found.failed],
        "passed": found.passed,
        "confidence": found.confidence,
        "seconds": round(found.seconds, 1),
    }


def row(found: dict[str, Any]) -> str:
    at = f" at δ = {found['delta']:g}" if found["delta"] else ""
    claimed, lower = f"ε = {found['epsilon']:.4g}{at}", f"{found['epsilon_lower']:.3f}"
    verdict = "passed" if found["passed"] else "**FAILED**"
    return (
        f"| {found['mechanism']} | {found['model']} | {found['claim']} | {claimed} | {lower} | "
        f"{found['ratio']:.2f} | {found['runs']:,} | {verdict} |"
    )


def table(kept: dict[str, Any]) -> str:
    """Return the table of the page."""
    head = [
        "| mechanism | of | claim | claimed | audited: at least | ratio | runs | |",
        "|---|---|---|---|---|---|---|---|",
    ]
    return "\n".join([*head, *(row(kept[name]) for name in _cases() if name in kept)]) + "\n"


def write_page(kept: dict[str, Any]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.split(_START)[0], text.split(_END)[1]
    PAGE.write_text(before + _START + table(kept) + _END + after, encoding="utf-8")


def main(names: list[str]) -> None:
    cases = _cases()
    for name in names or cases:
        found = record(name, cases[name])
        # read only now, so that several can be made side by side
        kept = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
        kept[name] = found
        print(name, row(kept[name]), kept[name]["seconds"], kept[name]["failed"], flush=True)
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        write_page(kept)


if __name__ == "__main__":
    main(sys.argv[1:])
