r"""Families of one's own with any vector of bounded statistics: beta, gamma with unknown shape, von Mises, ...

A record adds one row of a public table of statistics (:mod:`discreet.models.statistic_shape`), so that the joint
sensitivity is exact whatever functions the statistics are.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from discreet.domain.bounds import Bounds
from discreet.domain.declarations import Domain
from discreet.errors import UsageError
from discreet.families.base import Family
from discreet.families.likelihood import Likelihood, Theta
from discreet.families.numerical_update import SumsSeen
from discreet.models.statistic_shape import MOST_POINTS, MOST_STATISTICS, STEP, StatisticTable
from discreet.priors.base import Prior
from discreet.priors.parameters import ByDensity, ParameterPrior, Product
from discreet.rational import exact


class VectorFamily(Family):
    r"""A likelihood h(x) exp(eta . t(x) - A(eta)) of one column, with any vector t of bounded statistics.

    Subclasses are frozen dataclasses with two fields, ``low`` and ``high``: the public bounds of the column, which are
    part of the family, because what a record may add depends on them. They define ``name``, ``draw_names``,
    ``support``, :meth:`statistics`, ``natural``, ``log_partition`` and ``log_base_measure``; ``sample`` for the
    augment engine and for calibration; ``cdf`` where the density is infinite at an end of the support.

    The prior is ``dc.priors.Product`` of one prior for each parameter, or ``dc.priors.ByDensity``.

    Privacy
    -------
    A record adds one row of a public table, t at the nearest of at most 4,097 points, mapped to [-1, 1] and rounded to
    2^-20. The L1 and L2 sensitivities are the largest distances between two rows (under ``replace``), and of a row and
    the usable flag from nothing (under ``add_remove``, and where missing values are counted): exact, for any function.
    Values outside the bounds are clipped.
    """

    prior_type: ClassVar[type[Prior]] = ParameterPrior
    only_outside = "clip"
    buys_bounds: ClassVar[bool] = False
    measure_needs_arrays: ClassVar[bool] = True
    seconds_to_draw: ClassVar[float] = 1.5e-3

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.tails_by_cdf = cls.cdf is not Likelihood.cdf

    def __post_init__(self) -> None:
        given = [field.name for field in fields(self)] if is_dataclass(self) else []
        if not {"low", "high"} <= set(given):
            raise UsageError(f"{self.name} needs two fields, low and high: the bounds of its column.")
        for end in ("low", "high"):
            object.__setattr__(self, end, float(exact(getattr(self, end), end)))
        self.check_bounds(self.own_bounds)

    @abstractmethod
    def statistics(self, x: np.ndarray) -> Sequence[np.ndarray]:
        """Return the statistics t_1(x), ..., t_m(x), one array each, finite within the bounds."""

    @property
    def geometry(self) -> StatisticTable:  # pyright: ignore[reportIncompatibleVariableOverride]
        return _table(self)

    @property
    def own_bounds(self) -> Bounds:  # pyright: ignore[reportIncompatibleVariableOverride]
        return ((exact(self.low, "low"), exact(self.high, "high")),)  # pyright: ignore[reportAttributeAccessIssue]

    # -- declarations ---------------------------------------------------------------------------------

    def check_bounds(self, bounds: Bounds | None) -> None:
        own = self.own_bounds
        if bounds is None or tuple(bounds) != own:
            low, high = (float(end) for end in own[0])
            raise UsageError(
                f"the bounds of {self.name} are its own, {low:g} to {high:g}.",
                hint=f"leave out bounds, or write {type(self).__name__}(low=…, high=…)",
            )
        self.check_pair(own[0])

    # -- the distribution of a record -----------------------------------------------------------------

    def sufficient(self, x: np.ndarray) -> np.ndarray:
        return np.stack(
            [np.asarray(t, dtype=float) for t in self.statistics(np.asarray(x, dtype=float))], axis=-1
        )

    def from_natural(self, eta: np.ndarray) -> dict[str, np.ndarray]:
        raise UsageError(f"{self.name} does not say its parameters as a function of the natural ones.")

    # -- the prior ------------------------------------------------------------------------------------

    def check_prior(self, prior: Any) -> None:
        one = "dc.priors.Gamma(2, 1)"
        example = f"dc.priors.Product({', '.join([one] * len(self.draw_names))})"
        if not isinstance(prior, Product | ByDensity):
            raise UsageError(
                f"{self.name} takes a Product of priors or a prior ByDensity, got {type(prior).__name__}.",
                hint=f"for example prior={example}",
            )
        if prior.dim != len(self.draw_names):
            raise UsageError(
                f"{self.name} has the parameters {', '.join(self.draw_names)}, and the prior is on {prior.dim}.",
                hint=f"for example prior={example}",
            )

    def suggested_prior(self, domain: Domain) -> Prior | None:
        return None

    def update(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, prior: Any, s: np.ndarray, n: np.ndarray | float
    ) -> SumsSeen:
        sums = np.asarray(s, dtype=float)

        def log_likelihood(values: tuple[np.ndarray, ...]) -> np.ndarray:
            theta: Theta = dict(zip(self.draw_names, values, strict=True))
            eta = np.asarray(self.natural(theta), dtype=float)
            return eta @ sums - float(n) * np.asarray(self.log_partition(eta), dtype=float)

        return SumsSeen(prior, log_likelihood, float(n))

    def project(self, s: np.ndarray, n: float) -> np.ndarray:
        s = np.asarray(s, dtype=float)
        table = self.geometry
        if not n > 0:
            return np.zeros_like(s)
        # well inside the box: sums at its ends have no finite parameter
        inside = 0.999
        return np.clip(s, n * (table.center - inside * table.half), n * (table.center + inside * table.half))


@lru_cache(maxsize=32)
def _table(family: VectorFamily) -> StatisticTable:
    """Return what the records of a family can add: its statistics at the points that are told apart."""
    low, high = family.own_bounds[0]
    if family.support.discrete:
        n_points = int(high - low) + 1
        if n_points > MOST_POINTS:
            raise UsageError(
                f"{family.name} has {n_points:,} whole numbers within its bounds, at most {MOST_POINTS:,} can be."
            )
    else:
        n_points = MOST_POINTS
    x = np.array([float(low + (high - low) * Fraction(i, n_points - 1)) for i in range(n_points)])
    with np.errstate(all="ignore"):
        try:
            t = np.stack(
                [np.broadcast_to(np.asarray(one, float), x.shape) for one in family.statistics(x)], axis=1
            )
        except Exception:  # whatever a user's function raises
            raise UsageError(
                f"the statistics of {family.name} must be a list of arrays like their argument."
            ) from None
    if t.shape[1] > MOST_STATISTICS:
        raise UsageError(
            f"{family.name} has {t.shape[1]} statistics, at most {MOST_STATISTICS} can be released."
        )
    if not np.isfinite(t).all():
        raise UsageError(
            f"a statistic of {family.name} is not finite within the bounds.", hint="narrow low and high"
        )
    center, half = (t.max(axis=0) + t.min(axis=0)) / 2, (t.max(axis=0) - t.min(axis=0)) / 2
    if not (half > 0).all():
        raise UsageError(f"a statistic of {family.name} is the same everywhere within the bounds.")
    per_one = int(1 / STEP)
    steps = np.floor(np.clip((t - center) / half, -1, 1) * per_one + 0.5).astype(np.int64)
    names = tuple(f"t{i + 1}" for i in range(t.shape[1]))
    return StatisticTable(names, steps, center, half)
