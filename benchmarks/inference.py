"""Effective samples per second of ``dc.infer`` next to NumPyro's NUTS on the same model, side by side.

    python benchmarks/inference.py [--check] [--json] [--rounds 5] [--as-called]

Every round makes a fresh private release and gives it to everybody in turn, so that a busy machine slows all alike.
Ours is one call of ``dc.infer(release, draws=4000)``, everything included, on a release object nobody has read
before. NUTS runs 4 chains of 1000 draws after 1000 of warm-up: warm-up is counted, compilation is not (the whole run
is compiled ahead of time). Each model is tried in several parametrizations (see numpyro_models.py) and the best one is
the rival. Both are judged by one estimator, the bulk effective sample size of Vehtari et al. (2021), of the worst
component of p, and their means must agree.

``--as-called`` also times a plain second ``MCMC.run`` of the same object, which is what a user waits for: JAX compiles
again, so it takes many times longer. It does not enter the ratios.

Then the time of ``dc.infer`` for a thousand and for a thousand million records.

``--check`` exits with 1 if a ratio misses its target. Needs the ``bench`` extra.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import discreet as dc
from discreet.artifact import NoiseRecord, Release, Statistics
from discreet.families import Bernoulli, Categorical
from discreet.families.base import Family
from discreet.families.layout import Domain, layout_for
from discreet.families.shapes import Cells
from discreet.inference.diagnostics import bulk_ess
from discreet.mechanisms.laplace import LaplaceMechanism

EPSILON = 0.1
DRAWS, CHAINS, WARMUP = 4000, 4, 1000
MANY = 1_000_000_000
MOST_TIMES_SLOWER = 2.0
# Two samplers of one posterior may differ by their Monte Carlo error and by the continuous count: in posterior
# standard deviations, five errors at an ESS of 600, the least seen, are 0.2.
FARTHEST_MEAN = 0.25


@dataclass(frozen=True)
class Case:
    """A model, its data, and how many times faster than NUTS its posterior must be."""

    name: str
    family: Family
    shares: tuple[float, ...]
    missing: str
    target: float | None

    def release(self, n_records: int, rng: np.random.Generator) -> Release:
        """Release counts of these shares; a tenth of the values is missing where that is counted."""
        n_usable = n_records if self.missing == "none" else n_records - n_records // 10
        counts = [round(share * n_usable) for share in self.shares]
        counts[-1] += n_usable - sum(counts)
        cells = isinstance(self.family.geometry, Cells)
        values = counts if cells else [counts[1] - counts[0]]
        if self.missing == "count":
            values = [*values, n_usable]
        labels = self.family.geometry.labels if isinstance(self.family.geometry, Cells) else None
        domain = Domain(None, labels, "redact", self.missing)  # pyright: ignore[reportArgumentType]
        layout = layout_for(self.family, domain, "replace")
        mechanism = LaplaceMechanism(EPSILON)
        scales = mechanism.scales(layout)
        noise = [int(mechanism.law(float(scale)).sample(1, rng)[0]) for scale in scales]
        return Release(
            id="benchmark",
            dataset=None,
            family=self.family,
            columns=("x",),
            domain=domain,
            neighbors="replace",
            unit=None,
            max_rows=1,
            records=n_records,
            statistics=Statistics(
                names=layout.names,
                values=tuple(v + k for v, k in zip(values, noise, strict=True)),
                grid=layout.grid,
                width=layout.width,
                shift=layout.shift,
                half=layout.half,
            ),
            mechanism=NoiseRecord(mechanism.name, scales, mechanism.sensitivity(layout)),
            guarantees={"statistics": mechanism.guarantee("replace")},
            software={},
        )


TENTHS = tuple(float(i) / 55 for i in range(1, 11))
CASES = (
    Case("Bernoulli", Bernoulli(), (0.7, 0.3), "none", 1000),
    Case("Bernoulli, missing counted", Bernoulli(), (0.7, 0.3), "count", None),
    Case("Categorical(10)", Categorical(10), TENTHS, "none", 100),
)


def rivals(case: Case, n_records: int) -> dict[str, Callable[..., None]]:
    """Return the parametrizations of the case's model."""
    import numpyro_models as models

    b = 2 / EPSILON
    if isinstance(case.family, Categorical):
        return models.categorical(n_records, b, len(case.shares))
    return (models.bernoulli if case.missing == "none" else models.bernoulli_missing)(n_records, b)


def seconds_of(action: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = action()
    return time.perf_counter() - start, result


def time_ours(release: Release, repeats: int, seed: int) -> tuple[float, np.ndarray]:
    """Return the median time of a call, and one call's draws as (chains, draws, ...)."""
    times = []
    draws = np.empty(0)
    for repeat in range(repeats):
        fresh = replace(release)  # what a release remembers after its first reading is not counted as known
        rng = np.random.default_rng([seed, repeat])
        seconds, posterior = seconds_of(lambda fresh=fresh, rng=rng: dc.infer(fresh, draws=DRAWS, rng=rng))
        times.append(seconds)
        draws = posterior.draws["p"]
    return statistics.median(times), draws.reshape(CHAINS, -1, *draws.shape[1:])


def compare(
    case: Case, n_records: int, rounds: int, as_called: bool, say: Callable[[str], None]
) -> dict[str, Any]:
    """Run one case and return its figures."""
    import jax.numpy as jnp
    from numpyro_models import Sampler, seconds_of_second_run

    rng = np.random.default_rng(20)
    first = jnp.asarray(case.release(n_records, rng).statistics.values, dtype=float)
    samplers, again = {}, {}
    size = {"warmup": WARMUP, "draws": DRAWS, "chains": CHAINS}
    for name, model in rivals(case, n_records).items():
        say(f"compiling {case.name}, {name} …")
        samplers[name] = Sampler.compile(model, first, **size)
        samplers[name](0, first)
        if as_called:
            again[name] = seconds_of_second_run(model, first, **size)
    rates: dict[str, list[float]] = {name: [] for name in ("ours", *samplers)}
    times: dict[str, list[float]] = {name: [] for name in rates}
    apart: dict[str, float] = dict.fromkeys(samplers, 0.0)
    time_ours(case.release(n_records, rng), 2, 0)
    for number in range(1, rounds + 1):
        release = case.release(n_records, rng)
        y = jnp.asarray(release.statistics.values, dtype=float)
        seconds, ours = time_ours(release, 11, number)
        rates["ours"].append(float(bulk_ess(ours).min()) / seconds)
        times["ours"].append(seconds)
        for name, sampler in samplers.items():
            say(f"round {number} of {rounds}: {case.name}, {name} …")
            seconds, p = seconds_of(lambda sampler=sampler, y=y, key=number: sampler(key, y))
            theirs = np.asarray(p, dtype=float)
            rates[name].append(float(bulk_ess(theirs).min()) / seconds)
            times[name].append(seconds)
            gap = np.abs(theirs.mean(axis=(0, 1)) - ours.mean(axis=(0, 1))) / ours.std(axis=(0, 1))
            apart[name] = max(apart[name], float(gap.max()))
    middle = {name: statistics.median(values) for name, values in rates.items()}
    best = max(samplers, key=lambda name: middle[name])
    ratios = [a / b for a, b in zip(rates["ours"], rates[best], strict=True)]
    return {
        "case": case.name,
        "n_records": n_records,
        "epsilon": EPSILON,
        "samplers": [
            {
                "name": name,
                "milliseconds": 1000 * statistics.median(times[name]),
                "effective_per_second": middle[name],
                "ours_is_faster_by": middle["ours"] / middle[name],
                "largest_difference_of_means_in_sd": apart.get(name, 0.0),
                "second_run_and_its_compiling_seconds": again.get(name),
            }
            for name in rates
        ],
        "rival": best,
        "ratio": statistics.median(ratios),
        "ratio_range": [min(ratios), max(ratios)],
        "target": case.target,
        "same_posterior": max(apart.values()) <= FARTHEST_MEAN,
        "passed": (case.target is None or statistics.median(ratios) >= case.target)
        and max(apart.values()) <= FARTHEST_MEAN,
    }


def growth(case: Case, few: int, rounds: int) -> dict[str, Any]:
    """Time both sizes in turn and return their ratio."""
    rng = np.random.default_rng(21)
    times: dict[int, list[float]] = {few: [], MANY: []}
    for number in range(-2, 4 * rounds):  # the first two warm up
        for n_records, seen in times.items():
            seconds, _ = time_ours(case.release(n_records, rng), 1, number + 2)
            if number >= 0:
                seen.append(seconds)
    small, large = (1000 * statistics.median(seen) for seen in times.values())
    return {
        "case": case.name,
        "n_records": [few, MANY],
        "milliseconds": [small, large],
        "ratio": large / small,
        "limit": MOST_TIMES_SLOWER,
        "passed": large / small <= MOST_TIMES_SLOWER,
    }


def print_tables(figures: dict[str, Any]) -> None:
    print(
        f"infer(draws={DRAWS}) against NumPyro NUTS ({CHAINS} chains, {WARMUP} warm-up), epsilon {EPSILON}\n"
    )
    for case in figures["speed"]:
        print(f"{case['case']}, n = {case['n_records']}")
        print(f"  {'':<22}{'ms':>10}{'ESS / s':>14}{'ours is':>12}{'means apart':>14}")
        for row in case["samplers"]:
            ours = row["name"] == "ours"
            name = "dc.infer" if ours else f"NUTS, {row['name']}"
            faster = "" if ours else f"{row['ours_is_faster_by']:,.0f} x"
            apart = "" if ours else f"{row['largest_difference_of_means_in_sd']:.2f} sd"
            line = f"  {name:<22}{row['milliseconds']:>10.2f}{row['effective_per_second']:>14,.0f}"
            line += f"{faster:>12}{apart:>14}"
            again = row["second_run_and_its_compiling_seconds"]
            print(
                line
                if again is None
                else f"{line}   as called {again[0]:.1f} s, {again[1]:.1f} s of it compiling"
            )
        low, high = case["ratio_range"]
        verdict = (
            "" if case["target"] is None else f", target {case['target']:,.0f} x: {_word(case['passed'])}"
        )
        print(
            f"  against {case['rival']}: {case['ratio']:,.0f} x (rounds {low:,.0f} to {high:,.0f}){verdict}\n"
        )
    print(f"time of infer as n grows\n  {'':<28}{'n = 10^3':>12}{'n = 10^9':>12}{'ratio':>8}")
    for case in figures["growth"]:
        small, large = case["milliseconds"]
        print(
            f"  {case['case']:<28}{small:>9.2f} ms{large:>9.2f} ms{case['ratio']:>8.2f}"
            f"   limit {case['limit']:g}: {_word(case['passed'])}"
        )


def _word(passed: bool) -> str:
    return "met" if passed else "MISSED"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target is missed")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument(
        "--as-called", action="store_true", help="also time a second MCMC.run as a user calls it"
    )
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    try:
        import numpyro_models  # noqa: F401
    except ImportError as problem:
        print(f"{problem}. Hint: pip install -e '.[bench]'", file=sys.stderr)
        return 2

    def say(text: str) -> None:
        if sys.stderr.isatty():
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

    n_records = 1000
    figures = {
        "schema": "discreet/benchmark-inference/1",
        "growth": [growth(case, n_records, options.rounds) for case in CASES],
        "speed": [compare(case, n_records, options.rounds, options.as_called, say) for case in CASES],
    }
    say("")
    if options.json:
        print(json.dumps(figures, indent=2))
    else:
        print_tables(figures)
    passed = all(case["passed"] for case in (*figures["speed"], *figures["growth"]))
    return int(options.check and not passed)


if __name__ == "__main__":
    sys.exit(main())
