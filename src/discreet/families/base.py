"""The protocol of a family: a likelihood in exponential form, seen from both sides of the wall.

What one record adds to the sums, which is all that the private side needs, is in
:mod:`discreet.families.record_sums`. The public side needs the rest: density, moments, conjugacy. Parameters travel as
a mapping from draw name to array, so that a thousand draws are as easy as one; statistics and natural parameters have
their components on the last axis.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from discreet.domain.declarations import Domain
from discreet.errors import UsageError
from discreet.families.derivatives import gradient, hessian
from discreet.families.record_sums import RecordSums, Support, absolute, known
from discreet.objects import as_array
from discreet.priors import parse
from discreet.priors.base import Prior

__all__ = ["Family", "Support", "Theta", "absolute", "known"]

Theta = Mapping[str, np.ndarray]


class Family(RecordSums):
    r"""A likelihood p(x | theta) = h(x) exp(eta . t(x) - A(eta)) with its conjugate prior.

    Subclasses are frozen dataclasses whose fields are the family's known constants; those fields, and
    :attr:`name`, are what a release file records. Abstract are only the parts that nobody can guess; what has a
    default here is overridden for speed or accuracy.
    """

    engines: ClassVar[str] = "family"
    #: Type of the conjugate prior.
    prior_type: ClassVar[type[Prior]]
    #: Whether the records have a likelihood; a query about them has none, and only released samples can be read.
    is_likelihood: ClassVar[bool] = True
    #: Where each component of the statistic can lie; :meth:`project` clips to it.
    statistic_range: ClassVar[tuple[float, float]] = (-np.inf, np.inf)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.draw is not Family.draw:
            # engines name values that they found themselves, and would pass such a method by
            raise UsageError(
                f"{cls.__name__} defines draw.", hint="define named, which says what values of the prior mean"
            )

    # -- the likelihood -------------------------------------------------------------------------------

    @property
    @abstractmethod
    def support(self) -> Support:
        """Where a column of a record can lie."""

    def sufficient(self, x: np.ndarray) -> np.ndarray:
        """Return t(x) of each record, components last."""
        x = np.asarray(x, dtype=float)
        columns = [x] if self.n_columns == 1 else [x[..., i] for i in range(self.n_columns)]
        return np.stack(self.geometry.features([self.measure(column) for column in columns]), axis=-1)

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

    def statistic_mean(self, theta: Theta) -> np.ndarray:
        """Return E[t(x) | theta], the gradient of A; by finite differences unless a family knows better."""
        return gradient(self.log_partition, self.natural(theta))[0]

    def statistic_covariance(self, theta: Theta) -> np.ndarray:
        """Return Cov[t(x) | theta], the Hessian of A, with components on the last two axes; likewise."""
        return hessian(self.log_partition, self.natural(theta))[0]

    @property
    def can_sample(self) -> bool:
        """Whether records can be drawn: there is a :meth:`sample`."""
        return type(self).sample is not Family.sample

    @property
    def kinks(self) -> tuple[float, ...]:
        """Where the density of one column has a kink, which a rule for smooth functions must not cross."""
        return ()

    def sample(self, theta: Theta, size: int, rng: np.random.Generator) -> np.ndarray:
        """Draw ``size`` records given one parameter value; columns last if there are several."""
        raise UsageError(f"{self.name} does not say how to draw records.", hint="define its method sample")

    @property
    def has_cdf(self) -> bool:
        """Whether the distribution function is known: there is a :meth:`cdf`."""
        return type(self).cdf is not Family.cdf

    def cdf(self, x: np.ndarray, theta: Theta) -> np.ndarray:
        """Return P(X <= x) of one column for each parameter value, with a list of ``x`` on a new last axis."""
        raise UsageError(f"{self.name} does not say its distribution function.", hint="define its method cdf")

    def log_density(self, x: np.ndarray, theta: Theta) -> np.ndarray:
        """Return log p(x | theta) of each record, for one parameter value."""
        eta, t = np.asarray(self.natural(theta)), self.sufficient(x)
        # an impossible label has eta = -inf; records without it (t = 0) are not affected
        terms = np.multiply(t, eta, out=np.zeros_like(t), where=t != 0)
        return self.log_base_measure(x) + terms.sum(axis=-1) - self.log_partition(eta)

    # -- conjugacy ------------------------------------------------------------------------------------

    def parse_prior(self, text: str) -> Prior:
        return parse(text)

    @abstractmethod
    def update(self, prior: Any, s: np.ndarray, n: np.ndarray | float) -> Prior:
        """Return the conjugate posterior after sums ``s`` of the statistic over ``n`` records."""

    def learn(self, prior: Any, records: Any) -> Prior:
        """Return the conjugate posterior after records that need no protection, to use as a prior for those that do.

        They need the same care as any declaration: public records are ones that anybody may see.
        """
        self.check_prior(prior)
        x = as_array(records, labels=self.labels is not None)
        if x is None:
            raise UsageError("the records cannot be read: give a list or an array of numbers, or of labels.")
        if x.size == 0 or x.ndim != (1 if self.n_columns == 1 else 2):
            raise UsageError(
                f"records must be a list with {self.n_columns} value(s) each, got shape {x.shape}."
            )
        try:
            inside = self.sufficient(x).any(axis=-1) if self.labels is not None else self.support.contains(x)
        except Exception:  # of a user's family; the message repeats no record
            raise UsageError(f"records must be a list with {self.n_columns} value(s) each.") from None
        if not inside.all():
            raise UsageError(f"some of the records are outside the support of {self.name}.")
        return self.update(prior, self.sufficient(x).sum(axis=0), float(len(x)))

    def draw(self, prior: Any, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Draw parameters from a prior (or conjugate posterior), by draw name."""
        return self.named(prior.sample(size, rng))

    def named(self, values: Any) -> dict[str, np.ndarray]:
        """Return the parameters, by draw name, at values of the prior's variable: the same ones, unless overridden."""
        return dict(zip(self.draw_names, values if isinstance(values, tuple) else (values,), strict=True))

    @property
    def prior_on_parameter(self) -> bool:
        """Whether the prior is a distribution of the parameters as they are drawn: no :meth:`named` of its own."""
        return type(self).named is Family.named

    def project(self, s: np.ndarray, n: float) -> np.ndarray:
        """Move noisy sums to the nearest ones that ``n`` records could have produced (Foulds 2016, eq. 16).

        Without records (``n`` not positive) the sums are zero.
        """
        s = np.asarray(s, dtype=float)
        if not n > 0:
            return np.zeros_like(s)
        low, high = self.statistic_range
        return np.clip(s, n * low, n * high)

    def read_prior(self, prior: Any, domain: Domain) -> Prior:
        """Return the analyst's prior, given as an object or as text, or a weak one on the scale of the bounds."""
        if prior is None:
            prior = self.suggested_prior(domain) if self.default_prior is None else self.default_prior
            if prior is None:
                raise UsageError(
                    f"{self.name} suggests no weak prior: give one.",
                    hint=f"use dc.priors.{self.prior_type.__name__}(...)",
                )
        prior = parse(prior) if isinstance(prior, str) else prior
        self.check_prior(prior)
        return prior

    @property
    def assumption(self) -> str:
        if not self.has_numbers:
            return "the records are independent"
        return f"the column{'s are' if self.n_columns > 1 else ' is'} {self.in_words}"

    def weak_prior_in_words(self, domain: Domain) -> str:
        return str(self.read_prior(None, domain))

    def check_prior(self, prior: Any) -> None:
        """Raise unless ``prior`` is this family's conjugate prior, of the right dimension."""
        if not isinstance(prior, self.prior_type):
            raise UsageError(
                f"{self.name} takes a {self.prior_type.__name__} prior, got {type(prior).__name__}.",
                hint=f"use dc.priors.{self.prior_type.__name__}(...)",
            )

    # -- identity -------------------------------------------------------------------------------------
