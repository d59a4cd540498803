"""What the table says, as tests that can fail.

A claim about several cells is judged as a whole: if it is true, it fails by chance once in a thousand studies. Which
cells it is about follows from public numbers (records, prior, noise, temperature) and not from what was measured.
Methods see the same truths and the same data, so they are compared replicate by replicate.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from common.claim import Claim
from scipy.stats import binomtest, norm

from .budgets import temperature
from .cells import Cell, mean_and_error, nominal_coverage
from .models import MODELS
from .replicate import METHODS

FALSE_ALARM = 1e-3
#: From this ratio of noise to the posterior's own spread on, noise dominates; below the other, it is negligible.
DOMINATES, NEGLIGIBLE = 2.0, 0.15
#: Where the prior has no more than this share of the weight, and moves samples by no more than this many of their
#: standard deviations, their temperature decides the error.
SHARE, PULL = 0.05, 0.25
#: A prior worth no more records than this is weak.
WEAK = 10
#: Releases that noise alone made private, read with the noise in the model; and the floor.
CALIBRATED = ("laplace exact", "gaussian exact", "non-private")
_BEST = "laplace exact"
# The pull makes errors larger by sqrt(1 + PULL^2), the share makes them smaller by as much as itself.
_ROOM = max(math.sqrt(1 + PULL**2) - 1, SHARE)


def check_claims(cells: Sequence[Cell]) -> list[Claim]:
    """Check every claim that these cells can decide."""
    checks = (
        _equal_privacy,
        _calibrated,
        _overconfident,
        _least,
        _price,
        _samples,
        _intervals,
    )
    return [claim for check in checks for claim in check(cells)]


def _equal_privacy(cells: Sequence[Cell]) -> Iterator[Claim]:
    shares = [
        (series.spent / float(cell.key.epsilon), cell, name)
        for cell in cells
        for name, series in cell.series.items()
        if name != "non-private"
    ]
    least, most = min(share for share, *_ in shares), max(share for share, *_ in shares)
    yield Claim(
        "equal privacy",
        "every release's guarantee converts to at most ε at the common δ, and wastes less than 0.01% of it",
        most <= 1 and least > 0.9999,
        f"{len(shares)} releases: {100 * least:.4f}% to {100 * most:.4f}% of ε",
    )


def _calibrated(cells: Sequence[Cell]) -> Iterator[Claim]:
    target = nominal_coverage()
    for method in CALIBRATED:
        looks = []
        for cell in cells:
            covered = cell.series[method].covered[:, 0]
            p_value = binomtest(int(covered.sum()), len(covered), target).pvalue
            looks.append((p_value, covered.mean(), cell.key))
        p_value, share, key = min(looks, key=lambda look: look[0])
        whole = np.mean([share for _, share, _ in looks])
        yield Claim(
            "coverage",
            f"{METHODS[method]}: its 95% intervals hold the truth 95% of the time, in every cell",
            p_value >= FALSE_ALARM / len(looks),
            f"{100 * whole:.1f}% over all {len(looks)} cells; least likely {100 * share:.1f}% ({key}), "
            f"p = {p_value:.2g}, limit {FALSE_ALARM / len(looks):.2g}",
        )


def _overconfident(cells: Sequence[Cell]) -> Iterator[Claim]:
    noisy = [cell for cell in cells if cell.key.noise_ratio >= DOMINATES]
    if noisy:
        found = [(cell.series["laplace naive"].summary("covered")[0], cell.key) for cell in noisy]
        most, key = max(found, key=lambda pair: pair[0])
        least, where = min(found, key=lambda pair: pair[0])
        yield Claim(
            "coverage",
            f"Laplace, naive: where noise is at least {DOMINATES:g} times the posterior's spread, less than 90%",
            most < 0.9,
            f"{len(noisy)} cells: from {100 * least:.0f}% ({where}) to {100 * most:.0f}% ({key})",
        )


def _least(cells: Sequence[Cell]) -> Iterator[Claim]:
    for what, words in (("error", "L1 error"), ("loss", "held-out loss")):
        looks = []
        for cell in cells:
            best = getattr(cell.series[_BEST], what)
            for name, series in cell.series.items():
                if name not in (_BEST, "non-private"):
                    gap, error = mean_and_error(getattr(series, what) - best)
                    looks.append((gap / error, cell.key, name, getattr(series, what).mean() / best.mean()))
        limit = float(norm.isf(FALSE_ALARM / len(looks)))
        z, key, name, ratio = min(looks, key=lambda look: look[0])
        yield Claim(
            "who is best",
            f"no private method has a smaller {words} than Laplace, exact, in any cell",
            z >= -limit,
            f"{len(looks)} comparisons; nearest to an exception: {METHODS[name]} at {ratio:.3g} times its {words} "
            f"({key}), {z:+.1f} standard errors, limit {-limit:.1f}",
        )


def _price(cells: Sequence[Cell]) -> Iterator[Claim]:
    quiet = [cell for cell in cells if cell.key.noise_ratio <= NEGLIGIBLE]
    if quiet:
        limit = float(norm.isf(FALSE_ALARM / len(quiet)))
        found = []
        for cell in quiet:
            ratio, error = ratio_and_error(cell.series[_BEST].error, cell.series["non-private"].error)
            # independent noise of relative size q makes a normal error larger by sqrt(1 + q^2)
            expected = math.sqrt(1 + cell.key.noise_ratio**2)
            found.append((ratio - expected - limit * error, ratio, error, cell.key))
        over, ratio, error, key = max(found, key=lambda look: look[0])
        yield Claim(
            "price",
            f"Laplace, exact: where noise is below {NEGLIGIBLE:g} of the posterior's spread, privacy costs about 1% of "
            "L1 error or nothing",
            over <= 0,
            f"{len(quiet)} cells; largest {100 * (ratio - 1):+.1f}% (standard error {100 * error:.1f}%; {key})",
        )


@dataclass(frozen=True)
class Tempering:
    """What a sampling method draws from: a likelihood to the power 1/T, a prior worth some records, N draws."""

    temperature: float
    prior_records: float
    samples: int

    @classmethod
    def of(cls, cell: Cell, method: str) -> Tempering:
        """Read it off the mechanism's public numbers."""
        name, samples = method.split()
        weight = MODELS[cell.key.model].prior_records
        if name == "ops":
            return cls(temperature(cell.key.model, cell.key.epsilon, int(samples)), weight, int(samples))
        found = cell.renyi[method].weight
        if name == "diffused":
            return cls(1 / found, weight, int(samples))
        return cls(1.0, weight / found, int(samples))

    @property
    def inefficiency(self) -> float:
        """Variance of the samples' mean over that of the posterior mean without privacy, with many records."""
        return 1 + self.temperature / self.samples

    def has_data(self, cell: Cell) -> bool:
        """Tell whether data decide, and not the prior: by its share, and by how far it moves the samples' mean."""
        model, n = MODELS[cell.key.model], cell.key.n_records
        share = self.prior_records / (n / self.temperature + self.prior_records)
        pull = share * model.prior_sd / (model.record_sd * math.sqrt(self.inefficiency / n))
        return share <= SHARE and pull <= PULL


def _samples(cells: Sequence[Cell]) -> Iterator[Claim]:
    for source, text, methods in (
        ("OPS", "L1 error √(1 + T/N) times that without privacy, T = N range/ε", ("ops 1", "ops 100")),
        ("diffused", "L1 error √(1 + 1/(rN)) times that without privacy", ("diffused 1", "diffused 100")),
        (
            "concentrated",
            "one sample: L1 error √2 times that without privacy",
            ("direct 1", "concentrated 1"),
        ),
    ):
        looks = []
        for cell in cells:
            for method in methods:
                if method not in cell.series or MODELS[cell.key.model].bounds is not None:
                    continue
                distribution = Tempering.of(cell, method)
                if distribution.has_data(cell):
                    found = ratio_and_error(cell.series[method].error, cell.series["non-private"].error)
                    looks.append((*found, math.sqrt(distribution.inefficiency), cell.key, method))
        if not looks:
            continue
        limit = float(norm.isf(FALSE_ALARM / 2 / len(looks)))
        ratio, error, expected, key, method = max(looks, key=lambda look: abs(look[0] - look[2]) / look[1])
        yield Claim(
            source,
            f"where the prior hardly pulls, {text}, however many records there are",
            all(abs(r - x) <= limit * e + _ROOM * x for r, e, x, *_ in looks),
            f"{len(looks)} cells; furthest {ratio:.2f} ± {error:.2f}, expected {expected:.2f} "
            f"({METHODS[method]}; {key})",
        )


def _intervals(cells: Sequence[Cell]) -> Iterator[Claim]:
    most = max(cell.key.n_records for cell in cells)
    weak = [cell for cell in cells if MODELS[cell.key.model].prior_records <= WEAK and cell.renyi]
    last = [cell for cell in weak if cell.key.n_records == most]
    for method, least in (("ops 100", 10.0), ("diffused 100", 4.0)):
        ratios = [
            (ratio_and_error(cell.series[method].width, cell.series[_BEST].width)[0], cell.key)
            for cell in last
        ]
        if ratios:
            ratio, key = min(ratios, key=lambda pair: pair[0])
            covered = min(cell.series[method].summary("covered")[0] for cell in last)
            yield Claim(
                "intervals",
                f"{METHODS[method]}: at n = {most:,}, more than {least:g} times as wide as Laplace, exact",
                ratio > least,
                f"{len(ratios)} cells; at least {ratio:.1f} times ({key}), coverage at least {100 * covered:.0f}%",
            )
    if weak:
        shares = [(cell.series["concentrated 100"].summary("covered")[0], cell.key) for cell in weak]
        share, key = max(shares, key=lambda pair: pair[0])
        yield Claim(
            "intervals",
            "concentrated, 100 samples: of a weak prior, they hold the truth less than half the time",
            share < 0.5,
            f"{len(shares)} cells; at most {100 * share:.0f}% ({key})",
        )


def ratio_and_error(above: np.ndarray, below: np.ndarray) -> tuple[float, float]:
    """Return the ratio of two means over the same replicates, and its standard error (delta method)."""
    ratio = float(above.mean() / below.mean())
    _, error = mean_and_error(above - ratio * below)
    return ratio, error / float(below.mean())
