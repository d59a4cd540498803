"""Draw the pictures of adversaries in the documentation.

python scripts/make_adversary_pictures.py
"""

from __future__ import annotations

from pathlib import Path

import discreet as dc

FOLDER = Path(__file__).parents[1] / "docs" / "_static"


def main(folder: Path = FOLDER) -> None:
    smoker, others = [1], [1] * 10 + [0] * 29
    mechanism = dc.mechanisms.PosteriorSampling("beta:1,1", epsilon=1, support=(0.01, 0.99))
    told = dc.validation.distinguish(
        [*others, *smoker], [*others, 0], dc.Bernoulli(), mechanism=mechanism, trials=1000, rng=0
    )
    told.plot(folder / "distinguish.png", title="Is the fortieth record a yes?")
    posterior = dc.mechanisms.PosteriorSampling("beta:1,1", epsilon=10, support=("0.1", "0.9"))
    dc.validation.adversary(dc.Bernoulli(), mechanism=posterior).plot(folder / "adversary.png")


if __name__ == "__main__":
    main()
