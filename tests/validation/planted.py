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


def _audit(what: str, *, runs: int = 2000, end_to_end: int = 60) -> str:
    """Return the call of an audit; faults in sums and sensitivities show without many runs."""
    return f"dc.audit({what}, runs={runs}, end_to_end={end_to_end}, rng=1)"


_MEAN = "dc.Mean(), bounds=(0, 100), epsilon=1"
_PEOPLE = f"{_MEAN}, column='x', unit='id'"
COIN, MEAN = _audit("dc.Bernoulli(), epsilon=1"), _audit(_MEAN)
# noise that is too small, and nothing but noise to show it
NOISE = _audit("dc.Bernoulli(), epsilon=1", runs=20_000, end_to_end=600)
MEAN_NOISE = _audit(_MEAN, runs=10_000, end_to_end=600)
GAUSSIAN = _audit("dc.Mean(), bounds=(0, 100), rho=0.5, mechanism='gaussian'")
GAUSSIAN_NOISE = _audit("dc.Mean(), bounds=(0, 100), rho=0.5, mechanism='gaussian'", runs=20_000)
PEOPLE, CAPPED = _audit(f"{_PEOPLE}, per_unit='mean', n=2"), _audit(f"{_PEOPLE}, max_rows=2, n=2")
MEMBERS = _audit(f"{_PEOPLE}, per_unit='mean', by='g', groups=['a', 'b', 'c'], max_groups=2, n=2", runs=400)
GROUPS = _audit(f"{_MEAN}, column='x', by='g', groups=['a', 'b']")
_LINE = "dc.models.LinearRegression('y', ['x'], bounds={'y': (0, 1), 'x': (0, 1)}), epsilon=1"
LINE = _audit(_LINE)
BAYES = _audit("dc.models.NaiveBayes({'c': ['no', 'yes']}, {'f': (0, 1)}), epsilon=1")
SAMPLES = _audit("dc.mechanisms.RenyiPosterior('beta:6,12', order=2, epsilon=1), impute=0")


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
        "samplers/secure.py", "for_laplace, scale=scale)", "for_laplace, scale=0.8 * scale)", NOISE
    ),
    "noise 20% too small: Gaussian sampler": Fault(
        "samplers/secure.py", "for_gaussian, scale=sigma)", "for_gaussian, scale=0.8 * sigma)", GAUSSIAN_NOISE
    ),
    "noise 20% too small: scales": Fault("mechanisms/noise.py", _SCALE, f"{_SCALE} * 4 / 5", MEAN),
    "noise 20% too small: single draws": Fault(
        "samplers/secure.py",
        "return int(_adds(noise)(0))",
        "return round(0.8 * int(_adds(noise)(0)))",
        MEAN_NOISE,
    ),
    "float sum: blocks": Fault(
        "data/summaries/sums.py", "return np.floor(steps, out=steps)", "return steps", MEAN
    ),
    "float sum: groups": Fault(
        "data/summaries/sums.py",
        "self._steps(j, features, out[at])",
        "out[at] = sum(features[k] * c for k, c in self._terms[j]) + self._constants[j]",
        GROUPS,
    ),
    "float sum: engine": Fault("data/summaries/engine_sums.py", ".floor().cast(nw.Int64)", "", MEAN),
    "float sum: products": Fault("data/summaries/product_sums.py", "np.floor(z, out=z)", "z -= 0.5", LINE),
    "float sum: moments": Fault(
        "data/summaries/moment_sums.py",
        "np.floor(t * float(1 / grid) + 0.5), group",
        "t * float(1 / grid), group",
        BAYES,
    ),
    "usable count forgotten: sensitivity": Fault(
        "models/shapes.py",
        'return max(between, from_nothing) if missing == "count" else between',
        "return between",
        MEAN,
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
        COIN,
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
    "unit counted as a row: groups": Fault(
        "models/grouped.py", "several = Fraction(self.max_groups or 1)", "several = Fraction(1)", MEMBERS
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
    "bound read wrongly: engine": Fault(
        "data/summaries/engine_sums.py", ".clip(m.low, m.high) if clip", ".clip(m.low, None) if clip", MEAN
    ),
    "bound read wrongly: products": Fault(
        "data/summaries/product_sums.py",
        "        np.clip(z, -1.0, 1.0, out=z)\n",
        "        z = (x - self._shift) * self._slope\n",
        LINE,
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
        "if isinstance(self.budget, PerUnit) else layout.l1_sensitivity",
        "if isinstance(self.budget, PerUnit) else layout.l1_sensitivity / 2",
        MEAN,
    ),
    "sensitivity half as large: Laplace scale": Fault(
        "mechanisms/noise.py",
        "return self.sensitivity(layout) / self.epsilon",
        "return self.sensitivity(layout) / self.epsilon / 2",
        MEAN,
    ),
    "sensitivity half as large: Gaussian scale": Fault(
        "mechanisms/noise.py",
        "return sqrt_up(layout.l2_sensitivity**2 / (2 * rho))",
        "return sqrt_up(layout.l2_sensitivity**2 / (8 * rho))",
        GAUSSIAN,
    ),
    "sensitivity half as large: norm": Fault(
        "models/product_norm.py",
        'return high - low if neighbors == "replace" else max(high, -low)',
        'return (high - low) / 2 if neighbors == "replace" else max(high, -low)',
        LINE,
    ),
    "coin of another probability: thinned noise": Fault(
        "samplers/thinned.py",
        "while source.coin(exponent / tosses):",
        "while source.coin(exponent / tosses / 3):",
        _audit(_LINE, runs=10_000),
    ),
    "sensitivity half as large: groups": Fault("models/grouped.py", "l1 *= 2", "l1 *= 1", GROUPS),
}


def planted(fault: Fault, folder: Path) -> dict[str, object]:
    """Plant a fault in a copy of the package, audit it there, and return what was found."""
    copy = folder / "src"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("*.egg-info"))
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
