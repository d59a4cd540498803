"""Faults to plant in a copy of the package, each in one place of the way from rows to a release file.

``python -m tests.validation.planted NAME`` plants one and prints what an audit says; without a name it lists them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"

COIN = "dc.audit(dc.Bernoulli(), epsilon=1, runs=20_000, end_to_end=600, rng=1)"
MEAN = "dc.audit(dc.Mean(), bounds=(0, 100), epsilon=1, runs=20_000, end_to_end=600, rng=1)"
GAUSSIAN = (
    "dc.audit(dc.Mean(), bounds=(0, 100), rho=0.5, mechanism='gaussian', runs=20_000, end_to_end=600, rng=1)"
)
PEOPLE = (
    "dc.audit(dc.Mean(), bounds=(0, 100), epsilon=1, column='x', unit='id', per_unit='mean', runs=10_000, "
    "end_to_end=60, rng=1)"
)
CAPPED = (
    "dc.audit(dc.Mean(), bounds=(0, 100), epsilon=1, column='x', unit='id', max_rows=2, n=2, "
    "pair=({'id': ['a'] * 9, 'x': [0.0] * 9}, {'id': ['a'] * 9, 'x': [100.0] * 9}), runs=10_000, "
    "end_to_end=60, rng=1)"
)
GROUPS = (
    "dc.audit(dc.Mean(), bounds=(0, 100), epsilon=1, column='x', by='g', groups=['a', 'b'], runs=20_000, "
    "end_to_end=60, rng=1)"
)
SAMPLES = (
    "dc.audit(dc.mechanisms.RenyiPosterior('beta:6,12', order=2, epsilon=1), impute=0, runs=10_000, "
    "end_to_end=60, rng=1)"
)
# the fault is a tenth of epsilon, and the worst pair is a value that goes missing
MISSING = (
    "dc.audit(dc.Mean(), bounds=(0, 100), epsilon=2, column='x', runs=200_000, end_to_end=60, rng=1, "
    "pair=({'x': [0.0, 100.0]}, {'x': [0.0, None]}))"
)


@dataclass(frozen=True)
class Fault:
    """A text of one file, what stands there instead, and an audit that must notice."""

    path: str
    before: str
    after: str
    audit: str


_SCALE = "Fraction(float_up(width * unit / grid))"
_SEEDED = """
_RNG = np.random.default_rng(1)
SecureDraw.__call__ = lambda self, noise: int(noise.sample(1, _RNG)[0])
SecureDraw.many = lambda self, noise, n: [int(v) for v in noise.sample(n, _RNG)]
secure_draw = SecureDraw()
"""

FAULTS = {
    "noise 20% too small: sampler": Fault(
        "samplers/secure.py", "for_laplace, scale=scale)", "for_laplace, scale=0.8 * scale)", COIN
    ),
    "noise 20% too small: Gaussian sampler": Fault(
        "samplers/secure.py", "for_gaussian, scale=sigma)", "for_gaussian, scale=0.8 * sigma)", GAUSSIAN
    ),
    "noise 20% too small: scales": Fault("mechanisms/noise.py", _SCALE, f"{_SCALE} * 4 / 5", MEAN),
    "noise 20% too small: single draws": Fault(
        "samplers/secure.py", "return int(_adds(noise)(0))", "return round(0.8 * int(_adds(noise)(0)))", MEAN
    ),
    "float sum: blocks": Fault(
        "data/summaries/sums.py", "return np.floor(steps, out=steps)", "return steps", MEAN
    ),
    "float sum: groups": Fault(
        "data/summaries/sums.py",
        "totals[j] = np.bincount(group, weights, minlength=n_groups)",
        "totals[j] = np.bincount(group, weights + 0.4, minlength=n_groups)",
        GROUPS,
    ),
    "usable count forgotten: sensitivity": Fault(
        "models/shapes.py",
        'return max(between, from_nothing) if missing == "count" else between',
        "return between",
        MISSING,
    ),
    "usable count forgotten: noise": Fault(
        "mechanisms/noise.py",
        "noise += [drawn[at::run] for at in range(run)]",
        "noise += [drawn[at::run] if grid != 1 else [0] * times for at in range(run)]",
        MEAN,
    ),
    "usable count forgotten: file": Fault(
        "curator/draw.py",
        'records=reading.n_records if asked.neighbors == "replace" else None',
        'records=max(1, reading.data.values[-1]) if asked.neighbors == "replace" else None',
        MEAN,
    ),
    "seeded generator: one for all": Fault(
        "samplers/secure.py", "\nsecure_draw = SecureDraw()\n", _SEEDED, COIN
    ),
    "seeded generator: one for each": Fault(
        "samplers/secure.py",
        "return int(_adds(noise)(0))",
        "return int(noise.sample(1, np.random.default_rng(1))[0])",
        COIN,
    ),
    "seeded generator: floating point": Fault(
        "samplers/csprng.py",
        "return np.random.Generator(SystemBits())",
        "return np.random.default_rng(5)",
        SAMPLES,
    ),
    "unit counted as a row: source": Fault(
        "curator/draw.py", "    if asked.unit is None:\n        return rows\n", "    return rows\n", PEOPLE
    ),
    "unit counted as a row: all rows": Fault(
        "data/summaries/cluster_sums.py", 'f"place <= {clusters.max_rows}"', '"place > 0"', CAPPED
    ),
    "unit counted as a row: sensitivity": Fault(
        "families/cluster_mean.py",
        "l1, l2_squared = 3 * k / 2, 5 * k**2 / 4",
        "l1, l2_squared = Fraction(3, 2), Fraction(5, 4)",
        CAPPED,
    ),
    "bound read wrongly: upper one forgotten": Fault(
        "data/summaries/sums.py",
        "z = np.clip(x, m.low, m.high, out=out)",
        "z = np.clip(x, m.low, None, out=out)",
        MEAN,
    ),
    "bound read wrongly: half of the range": Fault(
        "models/layout.py",
        "clamp=not (identity and max(edges) <= 1)))",
        "clamp=False))\n            out[-1] = Map(*numbers[:3], 2 * numbers[3], clamp=False)",
        MEAN,
    ),
    "sensitivity half as large: shape": Fault(
        "models/shapes.py",
        'return Fraction(2) if neighbors == "replace" else Fraction(1)',
        'return Fraction(1) if neighbors == "replace" else Fraction(1)',
        COIN,
    ),
    "sensitivity half as large: layout": Fault(
        "models/shapes.py",
        "l1 = self.l1_sensitivity(neighbors, missing) + sum(",
        "l1 = self.l1_sensitivity(neighbors, missing) / 2 + sum(",
        MEAN,
    ),
    "sensitivity half as large: mechanism": Fault(
        "mechanisms/noise.py",
        'return layout.l1_sensitivity if self.norm == "l1" else layout.l2_sensitivity',
        'return layout.l1_sensitivity / 2 if self.norm == "l1" else layout.l2_sensitivity / 2',
        MEAN,
    ),
    "sensitivity half as large: groups": Fault("models/grouped.py", "l1 *= 2", "l1 *= 1", GROUPS),
}


def planted(fault: Fault, folder: Path) -> dict[str, object]:
    """Plant a fault in a copy of the package, audit it there, and return what was found."""
    copy = folder / "src"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    file = copy / "discreet" / fault.path
    text = file.read_text(encoding="utf-8")
    assert fault.before in text, f"{fault.path} no longer has this text"
    file.write_text(text.replace(fault.before, fault.after), encoding="utf-8")
    program = f"import json, discreet as dc\nprint(json.dumps({fault.audit}.to_dict()))"
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    for name in sys.argv[1:] or FAULTS:
        if not sys.argv[1:]:
            print(name)
            continue
        with tempfile.TemporaryDirectory() as place:
            found = planted(FAULTS[name], Path(place))
        wrong = [check["name"] for check in found["checks"] if check["passed"] is False]  # type: ignore[index,union-attr]
        print(
            f"{name}: ratio {found['ratio']}, {found['epsilon_lower']}, {wrong}, passed: {found['passed']}",
            flush=True,
        )
