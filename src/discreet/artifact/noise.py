"""What a file of noisy statistics must satisfy."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING

from discreet.artifact.choice import check_choices
from discreet.artifact.totals import check_totals
from discreet.privacy import ApproxDP, PureDP, RenyiDP, ZeroConcentratedDP

if TYPE_CHECKING:
    from discreet.artifact.release import Release


def check_noise(release: Release) -> None:
    """Raise unless the statistics fit the model, and the noise is at least what was promised."""
    layout, s, m = release.layout, release.totals, release.noise_record
    if release.domain.missing == "impute":
        raise ValueError("missing values are imputed in releases of samples only")
    same = (s.names, s.grid, s.width, s.shift, s.half) == (
        layout.names,
        layout.grid,
        layout.width,
        layout.shift,
        layout.half,
    )
    if not same or len(s.values) != len(s.names) or len(m.scale) != len(s.names):
        raise ValueError("its statistics do not fit its model")
    # neighbors in the lists are mostly alike
    scales = [pair for pair, _ in groupby(zip(m.scale, s.width, strict=True))]
    if any(scale <= 0 for scale, _ in scales):
        raise ValueError("a noise scale is not positive")
    check_totals(release)
    unit_scale = min(scale / width for scale, width in scales)
    promised = release.guarantees["statistics"]
    if isinstance(promised, PureDP):
        law, needed = "discrete_laplace", layout.l1_sensitivity
        enough = unit_scale * promised.epsilon >= m.sensitivity
    elif isinstance(promised, ZeroConcentratedDP):
        law, needed = "discrete_gaussian", layout.l2_sensitivity
        enough = 2 * promised.rho * unit_scale**2 >= m.sensitivity**2
    elif isinstance(promised, RenyiDP):
        law, needed = "discrete_gaussian", layout.l2_sensitivity
        curve = zip(promised.orders, promised.epsilons, strict=True)
        enough = all(2 * epsilon * unit_scale**2 >= order * m.sensitivity**2 for order, epsilon in curve)
    elif not isinstance(promised, ApproxDP):
        raise ValueError("no noise of this version is for its kind of guarantee")
    else:
        law, needed = "discrete_gaussian", layout.l2_sensitivity
        enough = _approx_delta(release, unit_scale, promised) <= float(promised.delta)
    enough = enough and m.name == law and m.sensitivity >= needed
    if not enough:
        raise ValueError("its noise is less than its guarantee needs")
    check_choices(release)


def _approx_delta(release: Release, unit_scale: Fraction, promised: ApproxDP) -> float:
    from discreet.privacy.gaussian import discrete_gaussian_delta, zcdp_delta

    layout, epsilon = release.layout, float(promised.epsilon)
    if len(layout.names) == 1:
        step = layout.grid[0] / layout.width[0]
        return discrete_gaussian_delta(
            float(unit_scale / step), math.floor(layout.l2_sensitivity / step), epsilon
        )
    return zcdp_delta(float(layout.l2_sensitivity**2 / (2 * unit_scale**2)), epsilon)
