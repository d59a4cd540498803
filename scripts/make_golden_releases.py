"""Write the golden release files of the current format: `python scripts/make_golden_releases.py`.

They are written once per format version and never again; loading them is a promise to everyone who holds such a file.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np

import discreet as dc
from discreet.artifact.codec import VERSION
from discreet.mechanisms.curator import release_with

FOLDER = Path(__file__).parent.parent / "src" / "discreet" / "artifact" / "golden"


def main() -> None:
    rng = np.random.default_rng(20)
    laplace, approx, zcdp = (
        dc.LaplaceMechanism("0.5"),
        dc.GaussianMechanism(epsilon=1, delta="1e-6"),
        dc.GaussianMechanism(rho="0.1"),
    )
    normal = rng.normal(40, 12, (500, 2))
    letters, ab = rng.choice(["a", "b", "ü"], 300).tolist(), rng.choice(["a", "b"], 300).tolist()
    wide = {"bounds": ("-3", "100")}
    cases = {
        "bernoulli": (rng.integers(0, 2, 300), dc.Bernoulli(), laplace, {}),
        "bernoulli-approx": (rng.integers(0, 2, 300), dc.Bernoulli(), approx, {"missing": "none"}),
        "categorical": (letters, dc.Categorical(["a", "b", "ü"]), laplace, {"dataset": "letters"}),
        "categorical-private-count": (ab, dc.Categorical(["a", "b"]), zcdp, {"neighbors": "add_remove"}),
        "poisson": (rng.poisson(3, 300), dc.Poisson(), laplace, {"bounds": (0, 20), "outside": "clip"}),
        "laplace": (rng.laplace(1, 2, 300), dc.Laplace(location=1.5), laplace, wide),
        "normal": (normal[:, 0], dc.Normal(), laplace, wide),
        "normal-private-count": (normal[:, 0], dc.Normal(), laplace, {**wide, "neighbors": "add_remove"}),
        "normal-variance": (normal[:, 0], dc.Normal(variance=144), zcdp, {"bounds": (0, 100)}),
        "multivariate-normal": (normal, dc.MultivariateNormal(2), approx, {"bounds": [(0, 100), (-3, 100)]}),
    }  # fmt: skip
    FOLDER.mkdir(exist_ok=True)
    for number, (name, (data, family, mechanism, how)) in enumerate(cases.items()):
        release = release_with(lambda law: int(law.sample(1, rng)[0]), data, family, mechanism, **how)
        release = dataclasses.replace(release, id=f"00000000-0000-4000-8000-{number:012d}")
        release.save(FOLDER / f"v{VERSION}-{name}.json")


if __name__ == "__main__":
    main()
