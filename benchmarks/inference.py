"""Effective samples per second of ``dc.infer`` next to NumPyro's NUTS on the same model, side by side.

    python benchmarks/inference.py [--check] [--json] [--rounds 5]

Every round makes a fresh private release and gives it to everybody in turn, so that a busy machine slows all alike.
Ours is one call of ``dc.infer(release, draws=4000)``, everything included, on a release object nobody has read
before. NUTS runs 4 chains of 1000 draws after 1000 of warm-up, in several parametrizations (see numpyro_models.py),
and the best of them whose chains agree (R-hat below 1.01) is the rival. All are judged by one estimator, the bulk
effective sample size of Vehtari et al. (2021), of the worst component of the parameter, and their means must agree.

Labels go through the exact engine. The truncated families go through ``gibbs``, whose model (a central limit for the
sums) NUTS can share.

NUTS is timed in three ways:

as waited for
    ``MCMC.run`` of NumPyro's public API, a second or later run of the same object, from the call to the draws. NumPyro
    compiles in every run, and its user waits for that. The target of ``Mean`` is for this way.
as called
    The same, without the time in which JAX reports that it traces, lowers or compiles (the ``/jax/core/compile/*``
    events), which the column "compiling" shows. The other targets are for this way. What remains is warm-up, sampling,
    and the Python around them: finding initial values, dispatch, and any tracing that JAX does not report.
hand-compiled
    The same sampler as one XLA program, compiled ahead of time and with no Python left in it. NumPyro does not offer
    this. It has no target; it shows the least that NUTS could take.

Then the time of ``dc.infer`` for a thousand and for a thousand million records.

``--check`` exits with 1 if a target or the limit of growth is missed, or if the posteriors differ. Needs the ``bench``
extra.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import discreet as dc
from discreet.artifact import Release
from discreet.curator.publish import privatize, release_with
from discreet.domain.declarations import Missing
from discreet.families import Bernoulli, Categorical, Exponential, Histogram, Mean, Normal
from discreet.inference.diagnostics import R_HAT_LIMIT, bulk_ess, r_hat
from discreet.inference.engines.registry import EngineName as Engine
from discreet.mechanisms.noise import Laplace
from discreet.priors.base import Prior

EPSILON = 0.1
DRAWS, CHAINS, WARMUP = 4000, 4, 1000
FEW, MANY = 1000, 1_000_000_000
MOST_TIMES_SLOWER = 2.0
# Two samplers of one posterior may differ by their Monte Carlo error and by the continuous count: in posterior
# standard deviations, five errors at an ESS of 600, the least seen, are 0.2.
FARTHEST_MEAN = 0.25


@dataclass(frozen=True)
class Case:
    """A model, its data, and how many times faster than NUTS its posterior must be."""

    name: str
    family: Any
    shares: tuple[float, ...]
    missing: Missing
    target: float | None
    prior: Prior | None = None
    engine: Engine = "auto"
    #: What the target is for.
    timed: str = "as called"

    def release(self, n_records: int, rng: np.random.Generator) -> Release:
        """Release counts of these shares; a tenth of the values is missing where that is counted."""
        n_usable = n_records if self.missing == "none" else n_records - n_records // 10
        counts = [round(share * n_usable) for share in self.shares]
        counts[-1] += n_usable - sum(counts)
        domain = self.family.read_domain(bounds=None, outside="redact", missing=self.missing)
        features = self.family.geometry.features_of_labels(counts)
        return privatize(
            lambda noise: int(noise.sample(1, rng)[0]),
            self.family.layout(domain, "replace").coordinates(n_usable, features),
            n_records,
            self.family,
            domain,
            Laplace(EPSILON),
            columns=("x",),
            neighbors="replace",
        )

    def parametrizations(self) -> dict[str, Callable[..., None]]:
        import numpyro_models as models

        b = 2 / EPSILON
        if isinstance(self.family, Categorical):
            return models.categorical(FEW, b, len(self.shares))
        return (models.bernoulli if self.missing == "none" else models.bernoulli_missing)(FEW, b)


@dataclass(frozen=True)
class Truncated(Case):
    """A family of numbers, redacted outside its bounds; ``shares`` are the parameters of the simulated records."""

    bounds: tuple[float, float] = (0.0, 1.0)

    def release(self, n_records: int, rng: np.random.Generator) -> Release:
        """Release records drawn from the family."""
        theta = dict(zip(self.family.draw_names, np.array(self.shares), strict=True))
        return release_with(
            lambda noise: int(noise.sample(1, rng)[0]),
            self.family.sample(theta, n_records, rng),
            self.family,
            Laplace(EPSILON),
            bounds=self.bounds,
            outside="redact",
            missing=self.missing,
        )

    def parametrizations(self) -> dict[str, Callable[..., None]]:
        import numpyro_models as models

        if isinstance(self.family, Exponential):
            return models.exponential(FEW, 2 / EPSILON, self.bounds)
        return models.normal(FEW, 2.25 / EPSILON, self.bounds)


@dataclass(frozen=True)
class Moments(Case):
    """``Mean``, of records with a beta distribution whose parameters are ``shares``; growth is timed on their sums."""

    def release(self, n_records: int, rng: np.random.Generator) -> Release:
        """Release the expected sums of so many records."""
        a, b = self.shares
        mean, square = a / (a + b), a * (a + 1) / ((a + b) * (a + b + 1))
        z, z2 = 2 * mean - 1, 4 * square - 4 * mean + 1
        domain = self.family.read_domain(bounds=(0, 1), outside="clip", missing=self.missing)
        layout = self.family.layout(domain, "replace")
        sums = layout.coordinates(float(n_records), [z * n_records, z2 * n_records])
        return privatize(
            lambda noise: int(noise.sample(1, rng)[0]),
            [round(total / float(grid)) for total, grid in zip(sums, layout.grid, strict=True)],
            n_records,
            self.family,
            domain,
            Laplace(EPSILON),
            columns=("x",),
            neighbors="replace",
        )

    def parametrizations(self) -> dict[str, Callable[..., None]]:
        import numpyro_models as models

        return models.mean(FEW, 2.25 / EPSILON)


@dataclass(frozen=True)
class Bins(Case):
    """``Histogram``: ``shares`` of records, repeated over all bins; it is timed alone, and has no rival here."""

    def release(self, n_records: int, rng: np.random.Generator) -> Release:
        """Release the expected counts of so many records."""
        model = self.family.require(Histogram, "bins are those of a histogram")
        weight = np.resize(self.shares, model.bins)
        counts = np.floor(n_records * weight / weight.sum()).astype(np.int64)
        counts[0] += n_records - counts.sum()
        domain = model.read_domain(bounds=(0, 1), outside="clip", missing=self.missing)
        groups = [np.add.reduceat(counts, starts) for starts in model.level_starts()]
        return privatize(
            lambda noise: int(noise.sample(1, rng)[0]),
            [*np.concatenate(groups).tolist(), n_records],
            n_records,
            model,
            domain,
            Laplace(1),
            columns=("x",),
            neighbors="replace",
        )


CASES: tuple[Case, ...] = (
    Moments("Mean", Mean(), (2.0, 5.0), "none", 1000, timed="as waited for"),
    Case("Bernoulli", Bernoulli(), (0.7, 0.3), "none", 1000),
    Case("Bernoulli, missing counted", Bernoulli(), (0.7, 0.3), "count", None),
    Case("Categorical(10)", Categorical(10), tuple(i / 55 for i in range(1, 11)), "none", 100),
    Truncated(
        "Exponential, gibbs",
        Exponential(),
        (1.0,),
        "none",
        20,
        dc.priors.Gamma(10, 10),
        "gibbs",
        (0.025, 4.46),
    ),
    Truncated(
        "Normal, gibbs",
        Normal(),
        (1.2, 1.5),
        "none",
        20,
        dc.priors.NormalInverseGamma(1, 2, 4, 4),
        "gibbs",
        (-2.0, 4.0),
    ),
)
# Growth is timed on released counts: rows would have to be simulated.
COUNTED = (
    *(case for case in CASES if not isinstance(case, Truncated)),
    Bins("Histogram(64), epsilon 1", Histogram(64), (1.0, 3.0, 9.0, 2.0, 0.0), "count", None),
)
# What a histogram may take, whatever the number of records.
MOST_MILLISECONDS = {"Histogram(64), epsilon 1": 500.0}


@dataclass
class Series:
    """What one sampler did, round by round."""

    seconds: list[float] = field(default_factory=list)
    compiling: list[float] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    apart: list[float] = field(default_factory=list)
    hats: list[float] = field(default_factory=list)

    def add(self, seconds: float, compiling: float, draws: np.ndarray, reference: np.ndarray) -> None:
        """Note a run; its draws and those it is compared with are (chains, draws, components)."""
        self.seconds.append(seconds)
        self.compiling.append(compiling)
        self.rates.append(float(bulk_ess(draws).min()) / seconds)
        self.hats.append(float(r_hat(draws).max()))
        gap = np.abs(draws.mean(axis=(0, 1)) - reference.mean(axis=(0, 1))) / reference.std(axis=(0, 1))
        self.apart.append(float(gap.max()))

    @property
    def rate(self) -> float:
        return statistics.median(self.rates)

    def faster_than(self, other: Series, *, compiling: bool = False) -> list[float]:
        """Return how many times as many effective draws a second there are, round by round."""
        ratios = [a / b for a, b in zip(self.rates, other.rates, strict=True)]
        if not compiling:
            return ratios
        spent = zip(ratios, other.seconds, other.compiling, strict=True)
        return [ratio * (seconds + more) / seconds for ratio, seconds, more in spent]


def time_ours(case: Case, release: Release, repeats: int, seed: int) -> tuple[float, np.ndarray]:
    """Return the median time of a call, and one call's draws as (chains, draws, components)."""
    from nuts import components

    times, draws = [], np.empty(0)
    for repeat in range(repeats):
        fresh = replace(release)  # what a release remembers after its first reading is not counted as known
        rng = np.random.default_rng([seed, repeat])
        start = time.perf_counter()
        posterior = dc.infer(fresh, prior=case.prior, engine=case.engine, draws=DRAWS, rng=rng)
        times.append(time.perf_counter() - start)
        draws = components(posterior.draws, 1)
    return statistics.median(times), draws.reshape(CHAINS, -1, draws.shape[-1])


def compare(case: Case, rounds: int, say: Callable[[str], None]) -> dict[str, Any]:
    """Run one case and return its figures."""
    from nuts import AsCalled, HandCompiled

    rng = np.random.default_rng(20)
    first = case.release(FEW, rng)
    samplers: dict[tuple[str, str], AsCalled | HandCompiled] = {}
    for name, model in case.parametrizations().items():
        for way in (AsCalled, HandCompiled):
            say(f"compiling {case.name}, {name}, {way.name} …")
            samplers[way.name, name] = way(model, _data(first), warmup=WARMUP, draws=DRAWS, chains=CHAINS)
    ours, theirs = Series(), {key: Series() for key in samplers}
    time_ours(case, first, 2, 0)
    for number in range(1, rounds + 1):
        release = case.release(FEW, rng)
        seconds, reference = time_ours(case, release, 11, number)
        ours.add(seconds, 0.0, reference, reference)
        for key, sampler in samplers.items():
            say(f"round {number} of {rounds}: {case.name}, {key[1]}, {key[0]} …")
            run = sampler(number, _data(release))
            theirs[key].add(run.seconds, run.compiling, run.draws, reference)
    same = max(max(series.apart) for series in theirs.values()) <= FARTHEST_MEAN
    against = []
    for timed, way in (
        ("as waited for", AsCalled.name),
        (AsCalled.name, AsCalled.name),
        (HandCompiled.name,) * 2,
    ):
        target = case.target if timed == case.timed else None
        # the fastest whose chains agree; if none has converged, there is no rival to compare with
        agree = [key for key in theirs if key[0] == way and max(theirs[key].hats) < R_HAT_LIMIT]
        if not agree:
            same = False
            continue
        best = max(agree, key=lambda key: theirs[key].rate)
        ratios = ours.faster_than(theirs[best], compiling=timed == "as waited for")
        ratio = statistics.median(ratios)
        against.append(
            {
                "timed": timed,
                "parametrization": best[1],
                "ratio": ratio,
                "ratio_range": [min(ratios), max(ratios)],
                "target": target,
                "target_met": None if target is None else ratio >= target,
            }
        )
    return {
        "case": case.name,
        "n_records": FEW,
        "epsilon": EPSILON,
        "samplers": [_row("dc.infer", None, ours)] + [_row(key[1], key[0], s) for key, s in theirs.items()],
        "against": against,
        "same_posterior": same,
        "passed": same and all(row["target_met"] is not False for row in against),
    }


def _data(release: Release) -> Any:
    import jax.numpy as jnp

    steps = zip(release.totals.values, release.totals.grid, strict=True)
    return jnp.asarray([float(value * grid) for value, grid in steps])


def _row(name: str, timed: str | None, series: Series) -> dict[str, Any]:
    return {
        "name": name,
        "timed": timed,
        "milliseconds": 1000 * statistics.median(series.seconds),
        "compiling_milliseconds": 1000 * statistics.median(series.compiling),
        "effective_per_second": series.rate,
        "largest_difference_of_means_in_sd": max(series.apart),
        "largest_r_hat": max(series.hats),
    }


def growth(case: Case, rounds: int) -> dict[str, Any]:
    """Time both sizes in turn and return their ratio."""
    rng = np.random.default_rng(21)
    times: dict[int, list[float]] = {FEW: [], MANY: []}
    for number in range(-2, 4 * rounds):  # the first two warm up
        for n_records, seen in times.items():
            seconds, _ = time_ours(case, case.release(n_records, rng), 1, number + 2)
            if number >= 0:
                seen.append(seconds)
    small, large = (1000 * statistics.median(seen) for seen in times.values())
    return {
        "case": case.name,
        "n_records": [FEW, MANY],
        "milliseconds": [small, large],
        "ratio": large / small,
        "limit": MOST_TIMES_SLOWER,
        "passed": large / small <= MOST_TIMES_SLOWER
        and max(small, large) <= MOST_MILLISECONDS.get(case.name, float("inf")),
    }


def print_tables(figures: dict[str, Any]) -> None:
    print(
        f"infer(draws={DRAWS}) against NumPyro NUTS ({CHAINS} chains, {WARMUP} warm-up), epsilon {EPSILON}\n"
    )
    for case in figures["speed"]:
        print(f"{case['case']}, n = {case['n_records']}")
        print(
            f"  {'':<34}{'ms':>10}{'compiling':>12}{'ESS / s':>14}{'ours is':>12}{'means apart':>14}{'R-hat':>8}"
        )
        ours, *theirs = case["samplers"]
        for row in (ours, *sorted(theirs, key=lambda row: row["timed"])):
            name = row["name"] if row is ours else f"NUTS {row['timed']}, {row['name']}"
            line = f"  {name:<34}{row['milliseconds']:>10.2f}"
            line += f"{row['compiling_milliseconds']:>+12.0f}" if row["compiling_milliseconds"] else " " * 12
            line += f"{row['effective_per_second']:>14,.0f}"
            if row is not ours:
                times = ours["effective_per_second"] / row["effective_per_second"]
                line += f"{times:>10,.0f} x{row['largest_difference_of_means_in_sd']:>11.2f} sd"
                line += f"{row['largest_r_hat']:>8.3f}"
            print(line)
        for row in case["against"]:
            low, high = row["ratio_range"]
            goal, met = row["target"], row["target_met"]
            verdict = "no target" if goal is None else f"target {goal:,.0f} x: {_word(met)}"
            print(
                f"  against NUTS {row['timed']}, {row['parametrization']}: {row['ratio']:,.0f} x "
                f"(rounds {low:,.0f} to {high:,.0f}), {verdict}"
            )
        print(
            ""
            if case["same_posterior"]
            else f"  the means differ by more than {FARTHEST_MEAN} sd, or no chains agree: MISSED\n"
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
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", help="run only the cases whose name contains this text")
    options = parser.parse_args()
    try:
        import nuts  # noqa: F401
    except ImportError as problem:
        print(f"{problem}. Hint: pip install -e '.[bench]'", file=sys.stderr)
        return 2

    def say(text: str) -> None:
        if sys.stderr.isatty():
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

    def wanted(case: Case) -> bool:
        return options.only is None or options.only.lower() in case.name.lower()

    figures = {
        "schema": "discreet/benchmark-inference/3",
        "growth": [growth(case, options.rounds) for case in COUNTED if wanted(case)],
        "speed": [compare(case, options.rounds, say) for case in CASES if wanted(case)],
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
