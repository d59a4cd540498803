"""The protocol of a family: a likelihood in exponential form, seen from both sides of the wall.

The private side needs only :meth:`Family.measure`, :meth:`Family.measure_range` and :attr:`Family.shape`: what one record
adds to the sums. The public side needs the rest: density, moments, conjugacy. Parameters travel as a mapping from
draw name to array, so that a thousand draws are as easy as one; statistics and natural parameters have their
components on the last axis.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from discreet.errors import UsageError
from discreet.families.layout import Domain
from discreet.families.shapes import Interval, RecordShape
from discreet.priors.base import Prior

Theta = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Support:
    """Where one column of a record can lie: an interval, of integers if ``discrete``."""

    low: float
    high: float
    discrete: bool = False


class Family(ABC):
    r"""A likelihood p(x | theta) = h(x) exp(eta . t(x) - A(eta)) with its conjugate prior.

    Subclasses are frozen dataclasses whose fields are the family's known constants; those fields, and
    :attr:`name`, are what a release file records.
    """

    #: Name in release files and on the command line.
    name: ClassVar[str]
    #: Type of the conjugate prior.
    prior_type: ClassVar[type[Prior]]
    #: Names of the draws.
    draw_names: ClassVar[tuple[str, ...]]
    #: True if :meth:`measure` only understands NumPy arrays; the private side then feeds it Arrow batches.
    measure_needs_arrays: ClassVar[bool] = False

    # -- what one record adds to the sums (used by the private side) ----------------------------------

    @property
    def shape(self) -> RecordShape:
        """Geometry of one record; one statistic in [-1, 1] unless a family says otherwise."""
        return Interval()

    @property
    def n_columns(self) -> int:
        """How many columns make one record."""
        return 1

    @property
    def vocabulary(self) -> tuple[tuple[str, ...], ...] | None:
        """For families of labels, the accepted spellings of each; ``None`` for numeric families."""
        return None

    def measure(self, x: Any) -> Any:
        """Return the scalar whose sum is the statistic, from a column clipped to its bounds.

        Written with arithmetic that arrays and narwhals expressions share.
        """
        return x

    def measure_range(self, low: Fraction, high: Fraction) -> tuple[Fraction, Fraction]:
        """Return exact bounds of :meth:`measure` over [low, high].

        This is the family's certificate of sensitivity. The private side clamps to it, so a wrong certificate
        costs accuracy, never privacy.
        """
        return low, high

    def affine_map(
        self, domain: Domain
    ) -> tuple[tuple[Fraction, ...] | None, tuple[Fraction, ...] | None]:
        """Return (shift, half) per column: the map z = (measure(x) - shift) / half onto [-1, 1]."""
        if domain.bounds is None:
            return None, None
        ranges = [self.measure_range(low, high) for low, high in domain.bounds]
        shift = tuple((low + high) / 2 for low, high in ranges)
        half = tuple((high - low) / 2 for low, high in ranges)
        return shift, half

    # -- the likelihood -------------------------------------------------------------------------------

    @property
    @abstractmethod
    def support(self) -> Support:
        """Where a column of a record can lie."""

    @abstractmethod
    def sufficient(self, x: np.ndarray) -> np.ndarray:
        """Return t(x) of each record, components last."""

    @abstractmethod
    def log_base_measure(self, x: np.ndarray) -> np.ndarray:
        """Return log h(x) of each record, ``-inf`` outside the support."""

    @abstractmethod
    def natural(self, theta: Theta) -> np.ndarray:
        """Return eta(theta), components last."""

    @abstractmethod
    def from_natural(self, eta: np.ndarray) -> dict[str, np.ndarray]:
        """Return theta(eta)."""

    @abstractmethod
    def log_partition(self, eta: np.ndarray) -> np.ndarray:
        """Return A(eta)."""

    @abstractmethod
    def statistic_mean(self, theta: Theta) -> np.ndarray:
        """Return E[t(x) | theta], the gradient of A."""

    @abstractmethod
    def statistic_covariance(self, theta: Theta) -> np.ndarray:
        """Return Cov[t(x) | theta], the Hessian of A; components on the last two axes."""

    @abstractmethod
    def sample(self, theta: Theta, size: int, rng: np.random.Generator) -> np.ndarray:
        """Draw ``size`` records given one parameter value; columns last if there are several."""

    def log_density(self, x: np.ndarray, theta: Theta) -> np.ndarray:
        """Return log p(x | theta) of each record, for one parameter value."""
        eta = np.asarray(self.natural(theta))
        return self.log_base_measure(x) + self.sufficient(x) @ eta - self.log_partition(eta)

    # -- conjugacy ------------------------------------------------------------------------------------

    @property
    def default_prior(self) -> Prior | None:
        """The neutral prior, where there is one."""
        return None

    @abstractmethod
    def suggested_prior(self, domain: Domain) -> Prior:
        """Return a weak prior scaled to the declared bounds, to show in an error message."""

    @abstractmethod
    def update(self, prior: Any, s: np.ndarray, n: np.ndarray | float) -> Prior:
        """Return the conjugate posterior after sums ``s`` of the statistic over ``n`` records."""

    @abstractmethod
    def draw(self, prior: Any, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Draw parameters from a prior (or conjugate posterior), by draw name."""

    @abstractmethod
    def project(self, s: np.ndarray, n: float) -> np.ndarray:
        """Move noisy sums to the nearest ones that ``n`` records could have produced (Foulds 2016, eq. 16)."""

    def check_prior(self, prior: Prior) -> None:
        """Raise unless ``prior`` is this family's conjugate prior, of the right dimension."""
        if not isinstance(prior, self.prior_type):
            raise UsageError(
                f"{self.name} takes a {self.prior_type.__name__} prior, got {type(prior).__name__}.",
                hint=f"use dc.priors.{self.prior_type.__name__}(...)",
            )

    # -- identity -------------------------------------------------------------------------------------

    def constants(self) -> dict[str, Any]:
        """Return the known constants that rebuild this family: ``type(self)(**self.constants())``."""
        return {
            field.name: getattr(self, field.name)
            for field in fields(self)  # pyright: ignore[reportArgumentType]
            if getattr(self, field.name) is not None
        }
