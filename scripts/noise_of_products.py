"""Standard deviations of the noise on the sums of products of small regressions, at epsilon = 1.

    python scripts/noise_of_products.py

Columns of numbers, mapped to [-1, 1], neighbors "replace", how many are usable being released too.
"""

from __future__ import annotations

import numpy as np

import discreet as dc

_KINDS = {
    "z": lambda t: t.is_number,
    "z²": lambda t: t.is_square,
    "z₁z₂": lambda t: not (t.is_number or t.is_square),
}


def main() -> None:
    """Print a table."""
    print("| features | sums | Laplace | k-norm |\n|---|---|---|---|")
    for d in (1, 2, 3):
        names = [f"x{j}" for j in range(d)]
        model = dc.models.LinearRegression("y", names, bounds=dict.fromkeys(["y", *names], (-1, 1)))
        rows = {name: [0.0] for name in ["y", *names]}
        found = {}
        for mechanism in ("laplace", "k-norm"):
            release = dc.release(rows, model, epsilon=1, mechanism=mechanism)
            sds = [one.sd * float(step) for one, step in zip(release.noise, release.totals.grid, strict=True)]
            found[mechanism] = sds[: len(model.design.products)]
        for kind, is_one in _KINDS.items():
            at = [place for place, term in enumerate(model.design.products) if is_one(term)]
            # alike but for what their simulation leaves
            shown = [f"{np.mean([found[name][j] for j in at]):.1f}" for name in found]
            print(f"| {d} | {kind} | {' | '.join(shown)} |")


if __name__ == "__main__":
    main()
