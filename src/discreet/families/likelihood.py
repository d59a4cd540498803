"""The protocol of a likelihood: the distribution of one record, seen from both sides of the wall.

What one record adds to the sums, which is all that the private side needs, is in
:mod:`discreet.families.record_sums`. The public side needs the rest: density, moments, samples, a prior and its update.
Parameters travel as a mapping from draw name to array, so that a thousand draws are as easy as one; statistics have
their components on the last axis. Almost every likelihood is a :class:`~discreet.families.base.Family`, in exponential
form with a conjugate prior; one that is not (:class:`~discreet.families.negative_binomial.NegativeBinomial`) draws its
parameters numerically.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

import numpy as np

from discreet.domain.declarations import Domain
from discreet.errors import UsageError
from discreet.families.record_sums import RecordSums, Support
from discreet.objects import as_array
from discreet.priors import parse
from discreet.priors.base import Prior

Theta = Mapping[str, np.ndarray]

# Parameters drawn from the prior, of which a few are taken that stand for all.
_POOL = 2048


class Updated(Protocol):
    """A prior after records were seen: values of the prior's variable can be drawn from it."""

    def sample(self, size: int, rng: np.random.Generator, /) -> Any:
        """Draw values, draws first; a tuple of arrays if the prior is on several parameters."""
        ...


class Likelihood(RecordSums):
    """A distribution of one record p(x | theta), and a prior on theta that can be updated by sums of a statistic.

    Subclasses are frozen dataclasses whose fields are the known constants; those fields, and :attr:`name`, are what a
    release file records.
    """

    engines = "family"
    #: Type of the prior.
    prior_type: ClassVar[type[Prior]]
    #: Whether the records have a likelihood; a query about them has none, and only released samples can be read.
    is_likelihood: ClassVar[bool] = True
    #: Whether sums of :meth:`sufficient` over all records are all that the parameters depend on.
    has_full_sums: ClassVar[bool] = False
    #: Whether the probability of values beyond the bounds is :meth:`cdf`, not an integral of the density.
    tails_by_cdf: ClassVar[bool] = False
    #: Seconds that one draw from an updated prior takes beyond those of a conjugate one.
    seconds_to_draw: ClassVar[float] = 0.0

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # a subclass may change the density, and never inherits a formula or a proof
        cls.engines = cls.__dict__.get("engines", "family")
        if cls.draw is not Likelihood.draw:
            # engines name values that they found themselves, and would pass such a method by
            raise UsageError(
                f"{cls.__name__} defines draw.", hint="define named, which says what values of the prior mean"
            )

    # -- the distribution of a record -----------------------------------------------------------------

    @property
    @abstractmethod
    def support(self) -> Support:
        """Where a column of a record can lie."""

    @abstractmethod
    def sufficient(self, x: np.ndarray) -> np.ndarray:
        """Return the statistic of each record whose sums :meth:`update` takes, components last."""

    @abstractmethod
    def log_densities(self, x: np.ndarray, theta: Theta) -> np.ndarray:
        """Return log p(x | theta), a row of points for each parameter; both have parameters first."""

    @abstractmethod
    def log_density(self, x: np.ndarray, theta: Theta) -> np.ndarray:
        """Return log p(x | theta) of each record, for one parameter value."""

    @abstractmethod
    def statistic_mean(self, theta: Theta) -> np.ndarray:
        """Return E[t(x) | theta], components last."""

    @abstractmethod
    def statistic_covariance(self, theta: Theta) -> np.ndarray:
        """Return Cov[t(x) | theta], with components on the last two axes."""

    @property
    def wider(self) -> str:
        """A family for columns that vary more than this one allows, as one writes it; empty if there is none."""
        return ""

    @property
    def can_sample(self) -> bool:
        """Whether records can be drawn: there is a :meth:`sample`."""
        return type(self).sample is not Likelihood.sample

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
        return type(self).cdf is not Likelihood.cdf

    def cdf(self, x: np.ndarray, theta: Theta) -> np.ndarray:
        """Return P(X <= x) of one column for each parameter value, with a list of ``x`` on a new last axis."""
        raise UsageError(f"{self.name} does not say its distribution function.", hint="define its method cdf")

    # -- the prior ------------------------------------------------------------------------------------

    def parse_prior(self, text: str) -> Prior:
        return parse(text)

    @abstractmethod
    def update(self, prior: Any, s: np.ndarray, n: np.ndarray | float) -> Updated:
        """Return the posterior after sums ``s`` of the statistic over ``n`` records."""

    @abstractmethod
    def project(self, s: np.ndarray, n: float) -> np.ndarray:
        """Turn noisy sums of the released statistic into the nearest that :meth:`update` can take, over ``n`` records.

        Without records (``n`` not positive) the sums are zero.
        """

    def learn(self, prior: Any, records: Any) -> Any:
        """Return the posterior after records that need no protection, to use as a prior for those that do.

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
        """Draw parameters from a prior, or from one that was updated, by draw name."""
        return self.named(prior.sample(size, rng))

    def named(self, values: Any) -> dict[str, np.ndarray]:
        """Return the parameters, by draw name, at values of the prior's variable: the same ones, unless overridden."""
        return dict(zip(self.draw_names, values if isinstance(values, tuple) else (values,), strict=True))

    @property
    def prior_on_parameter(self) -> bool:
        """Whether the prior is a distribution of the parameters as they are drawn: no :meth:`named` of its own."""
        return type(self).named is Likelihood.named

    def plausible(self, prior: Any, domain: Domain, size: int, rng: np.random.Generator) -> list[Theta]:
        pool = self.draw(prior, _POOL, rng)
        shift, half = self.affine_map(domain)
        if shift is not None and half is not None:
            # bounds were declared because records lie between them; what is measured comes first in a statistic
            mean = np.reshape(self.statistic_mean(pool), (_POOL, -1))[:, : len(shift)]
            inside = (np.abs(mean - np.array(shift, float)) <= np.array(half, float)).all(axis=-1)
            if inside.sum() > size:
                pool = {name: values[inside] for name, values in pool.items()}
        variance = np.ravel(np.trace(np.atleast_3d(self.statistic_covariance(pool)), axis1=-2, axis2=-1))
        order = np.argsort(variance)[((np.arange(size) + 0.5) / size * variance.size).astype(int)]
        return [{name: values[one] for name, values in pool.items()} for one in order]

    def simulate(self, theta: Theta, domain: Domain, size: int, rng: np.random.Generator) -> np.ndarray:
        if set(theta) != set(self.draw_names):
            raise UsageError(
                f"{self.name} expects {' and '.join(self.draw_names)}.",
                hint=f'for example public={{"{self.draw_names[0]}": …}}',
            )
        return self.sample({name: np.asarray(value, float) for name, value in theta.items()}, size, rng)

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
        """Raise unless ``prior`` is of the kind that this likelihood takes, and of the right dimension."""
        if not isinstance(prior, self.prior_type):
            raise UsageError(
                f"{self.name} takes a {self.prior_type.__name__} prior, got {type(prior).__name__}.",
                hint=f"use dc.priors.{self.prior_type.__name__}(...)",
            )
