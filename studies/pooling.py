"""Partial pooling of small groups: ranks, populations it does not know, and real tables, beside no and full pooling.

    python studies/pooling.py [--check] [--trials 300] [--groups 20] [--seed 0] [--out FOLDER]
    python studies/pooling.py --part ranks --only bernoulli     # or shapes, or real; --only a name's beginning

All tables are released by groups (Laplace, epsilon 1, ``add_remove``) and read with ``pool=True``; *no pooling* reads
each group for itself, *complete pooling* takes all groups to share one parameter.

* ``ranks``: hyperparameters are drawn from their prior, groups from their population, 10 to 40 records of each. The
  parameter of one group picked at random and the population's mean are ranked among their draws. Pooled ranks are to be
  uniform; those of complete pooling must be far from it.
* ``shapes``: shares of 20 groups with 3 to 80 records from populations that the model does not know (heavy tails, two
  clusters, an outlier, small groups that differ), a quarter as many trials.
* ``real``: records of real tables are drawn again, 25 a group on average, a fifth as many trials; the values of groups
  are those of the whole table.

Intervals are to cover at least 93% over groups (of ranks: over those whose value lies within the bounds; the model's
own heavy tails also draw rates of thousands, of which records clipped at 12 say nothing), no group less than half the
time, and the mean squared error of pooled estimates (means of draws) is to be below no pooling, and below complete
pooling where groups differ.

Poisson groups are read with a central limit (``engine="gibbs"``), which the exact engine would take seven times as long
to do without. Records of ``Mean`` are beta variables whose relative variance is that of the trial.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from areas.simulated import CASES, SHAPES, Case, shaped
from areas.tables import Grouped, tables
from common.claim import Claim
from common.report import arguments_of, finished, report, to_dict, write
from scipy.stats import kstest

import discreet as dc
from discreet.curator.publish import release_with
from discreet.inference.pooling.one_parameter import draw_common
from discreet.inference.pooling.pooled_groups import curves_of
from discreet.models.grouped import read_groups
from discreet.validation.ranks import rank

ALARM = 1e-3
DRAWS = 1000
PARTS = ("ranks", "shapes", "real")
READINGS = ("pooled", "apart", "common")
LEAST, LEAST_OF_A_GROUP = 0.93, 0.5


@dataclass
class Found:
    """What one trial gives: which groups are covered, and squared errors, readings × groups; the pooled posterior."""

    covered: np.ndarray
    errors: np.ndarray
    posterior: Any
    draws: dict[str, np.ndarray]


def read(
    case: Case, groups: Any, values: np.ndarray, names: list[str], truth: np.ndarray, rng: np.random.Generator
) -> Found:
    """Release a table by groups, and read it in three ways."""
    release = release_with(
        lambda noise: int(noise.sample(1, rng)[0]),
        {"g": list(groups), "v": values.tolist()},
        read_groups(case.model, "g", names),
        dc.mechanisms.Laplace(1),
        columns=("v",),
        bounds=case.bounds,
        neighbors="add_remove",
        outside="clip" if case.bounds else "redact",
    )
    pooled: Any = dc.infer(release, pool=True, draws=DRAWS, rng=rng, **case.options)
    population, curves = curves_of(release.by_group(), pooled.apart)
    common = population.value(draw_common(curves, population, DRAWS, rng))
    draws = {
        "pooled": pooled.stacked(case.parameter),
        "apart": pooled.apart.stacked(case.parameter),
        "common": np.broadcast_to(common, (len(names), DRAWS)),
    }
    ends = [np.quantile(draws[how], [0.025, 0.975], axis=1) for how in READINGS]
    covered = np.array([(low <= truth) & (truth <= high) for low, high in ends])
    errors = np.array([(draws[how].mean(axis=1) - truth) ** 2 for how in READINGS])
    return Found(covered, errors, pooled, draws)


def claims_about(source: str, found: list[Found], *, fixed: bool, alike: bool = False) -> list[Claim]:
    """Return what is claimed of intervals and errors; ``fixed`` groups are the same in every trial."""
    covered = np.array([one.covered[:2].mean(axis=1) for one in found])
    share, alone = covered.mean(axis=0)
    # groups of one trial have their hyperparameters in common: what varies is the trial
    reach = 3.1 * covered[:, 0].std() / np.sqrt(len(found))
    errors = np.mean([one.errors.mean(axis=1) for one in found], axis=0)
    claims = [
        Claim(
            source,
            "95% intervals cover at least 93% over groups",
            share + reach >= LEAST,
            f"{share:.3f} (no pooling {alone:.3f}), {len(found)} trials",
        ),
        Claim(
            source,
            f"mean squared error below no pooling{'' if alike else ' and complete pooling'}",
            errors[0] < (errors[1] if alike else errors[1:].min()),
            ", ".join(f"{how} {error:.4g}" for how, error in zip(READINGS, errors, strict=True)),
        ),
    ]
    if fixed:
        of_group = np.mean([one.covered[0] for one in found], axis=0)
        claims.append(
            Claim(
                source,
                "no group is covered less than half the time",
                of_group.min() >= LEAST_OF_A_GROUP,
                f"least {of_group.min():.2f}, {np.sum(of_group < 0.8)} of {of_group.size} below 0.8",
            )
        )
    return claims


def ranked(name: str, trials: int, n_groups: int, seed: int) -> list[Claim]:
    """Return what ranks of a model say."""
    case = CASES[name]
    rng = np.random.default_rng([seed, list(CASES).index(name), n_groups])
    names = [f"{i:04d}" for i in range(n_groups)]
    found, ranks = [], []
    for _ in range(trials):
        sizes, spread = rng.integers(10, 41, n_groups), rng.uniform(0.05, 0.5)
        center, truth = case.groups(rng, sizes)
        values = np.concatenate([case.records(rng, truth[g], n, spread) for g, n in enumerate(sizes)])
        one = read(case, np.repeat(names, sizes), values, names, truth, rng)
        picked = int(rng.integers(n_groups))
        drawn = [
            one.draws["pooled"][picked],
            one.posterior.population.draws["mean"],
            one.draws["common"][picked],
        ]
        ranks.append(
            [rank(v, x, rng) for v, x in zip((truth[picked], center, truth[picked]), drawn, strict=True)]
        )
        inside = (
            np.ones(n_groups, bool)
            if case.bounds is None
            else (truth >= case.bounds[0]) & (truth <= case.bounds[1])
        )
        if inside.any():
            found.append(replace(one, covered=one.covered[:, inside], errors=one.errors[:, inside]))
    group, population, common = (kstest(column, "uniform") for column in np.array(ranks).T)
    claims = [
        Claim(
            name,
            text,
            (test.pvalue < ALARM) if control else (test.pvalue > ALARM / (2 * len(CASES))),
            f"KS {test.statistic:.3f}, p = {test.pvalue:.2g}, {trials} trials",
        )
        for text, test, control in (
            ("ranks of a group are uniform", group, False),
            ("ranks of the population's mean are uniform", population, False),
            ("control: complete pooling's are not", common, True),
        )
    ]
    return claims + claims_about(name, found, fixed=False)


def of_shape(name: str, trials: int, n_groups: int, seed: int) -> list[Claim]:
    """Return what shares from another population say."""
    rng = np.random.default_rng([seed, 7, list(SHAPES).index(name)])
    names = [f"{i:04d}" for i in range(n_groups)]
    found = []
    for _ in range(trials):
        sizes = np.exp(rng.uniform(np.log(3), np.log(80), n_groups)).astype(int)
        truth = shaped(name, rng, sizes)
        values = np.concatenate([rng.binomial(1, p, n) for p, n in zip(truth, sizes, strict=True)])
        found.append(read(CASES["bernoulli"], np.repeat(names, sizes), values, names, truth, rng))
    return claims_about(name, found, fixed=False, alike=name == "alike")


def of_table(table: Grouped, trials: int, seed: int) -> list[Claim]:
    """Return what a real table says."""
    rng = np.random.default_rng([seed, *table.name.encode()])
    case = CASES[table.model]
    case = Case(**{**vars(case), "bounds": table.bounds})
    found = []
    for _ in range(trials):
        rows = rng.choice(table.groups.size, 25 * len(table.names), replace=True)
        found.append(read(case, table.groups[rows], table.values[rows], table.names, table.truth, rng))
    return claims_about(f"{table.name} ({len(table.names)})", found, fixed=True)


def main() -> int:
    """Print the claims."""
    parser = arguments_of(__doc__)
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--groups", type=int, default=20)
    parser.add_argument("--part", choices=PARTS, action="append")
    parser.add_argument("--only", default="", help="what begins so")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    trials, n_groups, seed = asked.trials, asked.groups, asked.seed
    runs: list[tuple[str, Any]] = []
    parts = asked.part or PARTS
    if "ranks" in parts:
        runs += [(name, lambda name=name: ranked(name, trials, n_groups, seed)) for name in CASES]
    if "shapes" in parts:
        runs += [(name, lambda name=name: of_shape(name, trials // 4, n_groups, seed)) for name in SHAPES]
    if "real" in parts:
        runs += [(one.name, lambda one=one: of_table(one, trials // 5, seed)) for one in tables()]
    claims = []
    for name, run in runs:
        if name.startswith(asked.only):
            start = time.process_time()
            claims += run()
            print(
                f"{name}: "
                + "; ".join(one.measured for one in claims if one.source.startswith(name))
                + f"; {time.process_time() - start:.0f} s",
                file=sys.stderr,
                flush=True,
            )
    settings = {"trials": trials, "groups": n_groups, "seed": seed}
    numbers = to_dict("pooling", settings, [], claims)
    return finished(asked, write(asked.out, "pooling", report(claims), numbers), claims)


if __name__ == "__main__":
    sys.exit(main())
