"""Noise on the sums of products of a regression whose density falls with a norm of all of them together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.artifact.possible_totals import check_totals
from discreet.artifact.readers import EXACT, Field
from discreet.artifact.records.noise import NoiseRecord
from discreet.models.product_norm import Form, ProductNorm, check_forms, product_norm
from discreet.models.regression import Regression
from discreet.privacy import DiscreteLaplace, Noise, PureDP
from discreet.privacy.thinned import ThinnedLaplace, ThinnedMarginal

if TYPE_CHECKING:
    from discreet.artifact.release import Release
    from discreet.models.design import Design

_REFUSAL = "noise by a norm is for sums of products of a regression"


def _read_forms(value: Any) -> tuple[Form, ...]:
    if not isinstance(value, list) or not all(isinstance(form, list) for form in value):
        raise ValueError("its norm is a list of linear forms")
    return tuple(tuple(form) for form in value)


@dataclass(frozen=True)
class KNormRecord(NoiseRecord):
    """The larger of an L1 norm and of linear forms, the scale of it, and that of the usable count.

    ``scale`` holds the L1 norm: its scale of each sum in mapped units, and of a usable count its own Laplace noise.
    ``forms`` are the linear forms, ``norm_scale`` is one over what epsilon is left for the sums.
    """

    name = "k_norm"
    distribution = DiscreteLaplace
    spread = "noise sd"

    norm_scale: Fraction
    forms: tuple[Form, ...]

    @classmethod
    def fields(cls) -> Mapping[str, Field]:
        forms = Field(lambda forms: [list(form) for form in forms], _read_forms)
        return {**super().fields(), "norm_scale": EXACT, "forms": forms}

    def design(self, release: Release) -> Design:
        """Return the design of the regression that the sums are of."""
        design = self._model(release).released_products
        if design is None:
            raise ValueError(_REFUSAL)
        return design

    @staticmethod
    def _model(release: Release) -> Regression:
        return release.model.require(Regression, _REFUSAL)

    def norm(self, release: Release) -> ProductNorm:
        """Return the forms of all coordinates, and the supremum of each."""
        return product_norm(self.design(release), release.neighbors, self.forms)

    def joint(self, release: Release) -> ThinnedLaplace:
        """Return the distribution of the noise on the sums, in mapped units."""
        size = len(self.design(release).products)
        return ThinnedLaplace(
            tuple(float(one) for one in self.scale[:size]),
            tuple(map(tuple, self.norm(release).scaled / float(self.norm_scale))),
        )

    def spreads(self, release: Release) -> list[float]:
        pairs = zip(release.noise, release.totals.grid, strict=True)
        return [noise.sd * float(grid) for noise, grid in pairs]

    def noise(self, release: Release) -> tuple[Noise, ...]:
        grid, joint = release.totals.grid, self.joint(release)
        found: list[Noise] = [ThinnedMarginal(joint, at, float(grid[at])) for at in range(len(joint.scales))]
        counts = zip(self.scale[len(found) :], grid[len(found) :], strict=True)
        return (*found, *(DiscreteLaplace(float(scale / step)) for scale, step in counts))

    def draws(self, release: Release, size: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
        sums = self.joint(release).sample(size, rng)
        for at, one in enumerate(release.noise):
            is_sum = isinstance(one, ThinnedMarginal)
            yield np.rint(sums[:, at] / one.step) if is_sum else one.sample(size, rng)

    def check(self, release: Release) -> None:
        """Raise unless the statistics fit the model, and the norm and its scale keep the promise."""
        design = self.design(release)
        check_forms(design, release.neighbors, self.forms)
        promised, layout = release.guarantees["statistics"], self.check_shape(release)
        more = (release.bounds_choice, release.fit_check, release.group_selection, release.coarsened)
        if not isinstance(promised, PureDP) or len(release.guarantees) > 1 or any(more):
            raise ValueError("noise by a norm is for epsilon alone, and pays for nothing else")
        if self.norm_scale <= 0:
            raise ValueError("the scale of its norm is not positive")
        check_totals(release)
        size = len(design.products)
        needed = self._model(release).l1_reach(release.neighbors)
        if self.sensitivity < needed:
            raise ValueError("its noise is less than its guarantee needs")
        l1 = [width * needed * self.norm_scale for width in layout.width[:size]]
        spent = 1 / self.norm_scale + sum(1 / scale for scale in self.scale[size:])
        if spent > promised.epsilon or any(a < b for a, b in zip(self.scale, l1, strict=False)):
            raise ValueError("its noise is less than its guarantee needs")
