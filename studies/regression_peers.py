"""Linear regression beside diffprivlib's and OpenDP's, under the same epsilon and the same bounds.

    python studies/regression_peers.py [--check] [--trials 20] [--json]

Three real tables are populations; samples of 2,000 records are released under epsilon = 1, and the error of predictions
is that over the whole population. diffprivlib's regression (of three features) needs an older scikit-learn and runs in
an environment of its own, made on the first run; OpenDP's (Theil and Sen's, of one feature) is installed with discreet.
Neither gives an interval; ours are counted. One fit of 100,000 records with ten columns is timed, in processor time.

``--check`` exits with 1 if our error is larger by more than chance explains, or a fit takes over three times as long.
Needs the ``studies`` extra.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from common.claim import Claim
from common.diffprivlib_environment import environment
from common.report import arguments_of, finished, report, to_dict, write
from regressions.populations import Table, tables

import discreet as dc
from discreet.sklearn import PrivateLinearRegression

EPSILON, N, D = 1.0, 2000, 3
TABLES = ("grades (gpa2)", "wages (card)", "visits (randhie)")
MOST_TIMES = 3.0
HERE = Path(__file__).parent


def peer(samples: list[Any], low: np.ndarray, high: np.ndarray) -> dict[str, Any]:
    """Return diffprivlib's coefficients, the intercept first, and the seconds of each fit."""
    asked = {"epsilon": EPSILON, "tables": samples, "low": low[1:].tolist(), "high": high[1:].tolist()}
    answer = subprocess.run(
        [environment(), "-W", "ignore", HERE / "regressions" / "peer_runs.py"],
        input=json.dumps({**asked, "ends": [low[0], high[0]]}),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(answer.stdout)


def theil_sen(sample: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return OpenDP's intercept and slope: two medians by the exponential mechanism, one of pairs each way."""
    from importlib import import_module

    dp: Any = import_module("opendp.prelude")
    dp.enable_features("idealized-numerics", "contrib", "honest-but-curious")

    def make(scale: float) -> Any:
        return dp.sklearn.linear_model.LinearRegression(
            dp.max_divergence(), [(low[1], high[1])], (low[0], high[0]), scale=scale
        )

    # neighbors that differ by one record replaced are at distance 2
    scale = dp.binary_search(lambda s: make(s).measurement.map(2) <= EPSILON, bounds=(1e-3, 1e3))
    with np.errstate(divide="ignore", invalid="ignore"):  # of two records with the same feature
        found = make(scale).fit(sample[:, 1:2], sample[:, 0])
    return np.array([float(found.intercept_), float(found.coef_[0])])


def ends_of(table: Table) -> tuple[np.ndarray, np.ndarray]:
    """Return the declared lower and upper bounds of the columns; labels are 0 and 1."""
    pairs = [one if isinstance(one, tuple) else (0.0, 1.0) for one in table.declared.values()]
    low, high = np.array(pairs, dtype=float).T
    return low, high


def error_of(weights: np.ndarray, rows: np.ndarray) -> float:
    """Return the root of the mean squared error of predictions."""
    return float(np.sqrt(np.mean((rows[:, 0] - weights[0] - rows[:, 1:] @ weights[1:]) ** 2)))


def ours(table: Table, sample: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return posterior means, the intercept first, and which slopes the 95% intervals hold."""
    low, high = ends_of(table)
    pairs = [(float(a), float(b)) for a, b in zip(low[1:], high[1:], strict=True)]
    fitted = PrivateLinearRegression(
        EPSILON, bounds=pairs, target_bounds=(float(low[0]), float(high[0])), random_state=seed
    ).fit(sample[:, 1:], sample[:, 0])
    truth = table.truth[1:-1]
    held = (fitted.coef_interval_[:, 0] <= truth) & (truth <= fitted.coef_interval_[:, 1])
    return np.array([fitted.intercept_, *fitted.coef_]), held


def compare(table: Table, trials: int, rng: np.random.Generator, d: int) -> dict[str, Any]:
    """Return errors of both on the same samples, and how often our intervals hold."""
    small = table.first(d)
    assert small is not None
    rows, (low, high) = small.clipped, ends_of(small)
    samples = [rows[rng.integers(len(rows), size=N)] for _ in range(trials)]
    mine = [ours(small, sample, seed) for seed, sample in enumerate(samples)]
    if d == 1:
        theirs = [theil_sen(sample, low, high) for sample in samples]
    else:
        theirs = map(np.array, peer([sample.tolist() for sample in samples], low, high)["found"])
    errors = {
        "discreet": [error_of(weights, rows) for weights, _ in mine],
        "peer": [error_of(weights, rows) for weights in theirs],
        "least_squares": error_of(small.truth[:-1], rows),
    }
    return {**errors, "covered": float(np.mean([held for _, held in mine]))}


def claim_of(name: str, who: str, found: dict[str, Any]) -> Claim:
    """Return the claim that our error is no larger, beyond what chance explains."""
    mine, theirs = np.array(found["discreet"]), np.array(found["peer"])
    more = mine - theirs
    holds = float(more.mean()) <= 2 * float(more.std(ddof=1)) / np.sqrt(len(more))
    measured = (
        f"{mine.mean():.4g} against {theirs.mean():.4g} (median {np.median(theirs):.4g}; without privacy "
        f"{found['least_squares']:.4g}); {100 * found['covered']:.0f}% of our slopes are inside their intervals"
    )
    return Claim(name, f"the error of predictions is no larger than {who}'s", holds, measured)


def timed(rng: np.random.Generator) -> Claim:
    """Return the claim about the time of one fit."""
    x = np.clip(rng.normal(0, 0.3, (100_000, 9)), -1, 1)
    y = np.clip(x @ rng.normal(0, 0.2, 9) + rng.normal(0, 0.2, len(x)), -1, 1)
    model = PrivateLinearRegression(EPSILON, bounds=(-1, 1), target_bounds=(-1, 1), random_state=0)
    model.fit(x[:1000], y[:1000])
    start = process_time()
    model.fit(x, y)
    mine = process_time() - start
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "rows.npy")
        np.save(path, np.column_stack([y, x]))
        theirs = min(peer([path, path, path], np.full(10, -1.0), np.full(10, 1.0))["seconds"])
    measured = f"{mine:.2f} s against {theirs:.2f} s: {mine / theirs:.1f} times"
    return Claim(
        "100,000 × 10", "a fit takes at most 3 times diffprivlib's", mine <= MOST_TIMES * theirs, measured
    )


def main() -> int:
    """Print the claims."""
    parser = arguments_of(__doc__)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    claims, numbers = [], {}
    for table in tables():
        if table.name in TABLES:
            for d, who in ((D, "diffprivlib"), (1, "OpenDP")):
                numbers[f"{table.name}, {who}"] = found = compare(table, options.trials, rng, d)
                claims.append(claim_of(table.name, who, found))
                print(f"{table.name}, {who}: {claims[-1].measured}", flush=True)
    claims.append(timed(rng))
    settings = {"trials": options.trials, "n": N, "epsilon": EPSILON, "discreet": dc.__version__}
    contents = write(
        options.out,
        "regression_peers",
        report(claims),
        {**to_dict("regression_peers", settings, [], claims), **numbers},
    )
    return finished(options, contents, claims)


if __name__ == "__main__":
    sys.exit(main())
