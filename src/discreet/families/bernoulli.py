"""Yes or no."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, logit

from discreet.arguments import fill
from discreet.domain.declarations import Domain
from discreet.domain.labels import read_labels
from discreet.domain.unit import FOR_FLAGS, Rule
from discreet.errors import UsageError
from discreet.families.base import Family, Support, Theta
from discreet.models.layout import UNIT
from discreet.models.published_layout import FreeLayout, Place, PublishedLayout, check_published
from discreet.models.shapes import Interval
from discreet.names import shown_label
from discreet.priors.beta import Beta


def _words(words: str | int | Iterable[str | int], owner: str) -> tuple[str, ...]:
    # a number is a label here, never how many of them there are
    single = isinstance(words, str | int | float | np.number)
    return read_labels([words] if single else words, owner, least=1)


def _spellings(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(form for w in words for form in (w, w.capitalize(), w.upper())))


class ShareFamily(Family):
    """A family of one parameter that is a probability, with a beta prior on it, and a statistic in [0, 1]."""

    prior_type = Beta
    statistic_range = (0.0, 1.0)

    def natural(self, theta: Theta) -> np.ndarray:
        return logit(theta[self.draw_names[0]])[..., None]

    def from_natural(self, eta: np.ndarray) -> dict[str, np.ndarray]:
        return {self.draw_names[0]: expit(eta[..., 0])}

    def log_partition(self, eta: np.ndarray) -> np.ndarray:
        return np.logaddexp(0.0, eta[..., 0])

    def update(self, prior: Beta, s: np.ndarray, n: np.ndarray | float) -> Beta:
        yes = float(np.asarray(s)[..., 0])
        return Beta(prior.a + yes, prior.b + float(n) - yes)


_NO = _spellings(("0", "false", "no", "f", "n"))
_YES = _spellings(("1", "true", "yes", "t", "y"))


@dataclass(frozen=True)
class Bernoulli(ShareFamily):
    """Yes with probability p.

    ===========  =========================================================
    statistic    x in {0, 1}; mapped z = 2x - 1
    prior        ``Beta(a, b)``, default ``Beta(1, 1)``
    draws        ``p``
    sensitivity  replace: 2 in z, so noise of scale 1/epsilon on the count
                 of yes; add_remove: 1 on the cells (no, yes)
    ===========  =========================================================

    Numbers 0 and 1, booleans, and the words 0/1, no/yes, n/y, false/true, f/t (lower case, capitalised or upper case)
    are read; anything else is missing.

    Parameters
    ----------
    yes, no
        The words of this column instead, one or a list for each: ``Bernoulli(yes="malignant", no="benign")``. Whole
        numbers may be words too: ``Bernoulli(yes=1, no=2)``.
    """

    question = "Share"
    name = "bernoulli"
    support = Support(0, 1, discrete=True)  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]
    engines = "bernoulli"
    draw_names = ("p",)
    geometry = Interval(grid=UNIT, cells=("no", "yes"))
    default_prior: ClassVar[Beta] = Beta(1, 1)  # pyright: ignore[reportIncompatibleMethodOverride, reportIncompatibleVariableOverride]

    unit_rules: ClassVar[tuple[tuple[Rule, ...], ...]] = (FOR_FLAGS,)  # pyright: ignore[reportIncompatibleMethodOverride, reportIncompatibleVariableOverride]

    yes: tuple[str, ...] | None = None
    no: tuple[str, ...] | None = None

    def __init__(
        self,
        yes: str | int | Iterable[str | int] | None = None,
        no: str | int | Iterable[str | int] | None = None,
    ) -> None:
        if (yes is None) != (no is None):
            raise UsageError(
                "bernoulli takes words for both answers, or for none.",
                hint='dc.Bernoulli(yes="malignant", no="benign")',
            )
        both = [None if words is None else _words(words, self.name) for words in (yes, no)]
        fill(self, yes=both[0], no=both[1])
        read_labels([word for words in both for word in words or ()] or 2, self.name)  # distinct in all

    @property
    def vocabulary(self) -> tuple[tuple[str, ...], ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.no or _NO, self.yes or _YES

    def __repr__(self) -> str:
        words = "" if self.yes is None or self.no is None else f"yes={list(self.yes)!r}, no={list(self.no)!r}"
        return f"{type(self).__name__}({words})"

    def describe(self) -> str:
        return f"{self.name} ({self._in_words()})" if self.yes else self.name

    def assumptions(self, domain: Domain) -> list[str]:
        return [self._in_words()] if self.yes else []

    def _in_words(self) -> str:
        yes, no = (" or ".join(map(shown_label, words or ())) for words in (self.yes, self.no))
        return f"yes is {yes}, no is {no}"

    def constants(self) -> dict[str, Any]:
        return {} if self.yes is None or self.no is None else {"yes": list(self.yes), "no": list(self.no)}

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> Bernoulli:
        return cls(**{name: words.split("|") for name, words in options.items()})

    def affine_map(self, domain: Domain) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
        return (Fraction(1, 2),), (Fraction(1, 2),)

    def published_layout(
        self, domain: Domain, records: int | None, names: Collection[str]
    ) -> PublishedLayout:
        half = Fraction(1, 2)
        if records is not None:
            # z = yes - no, and yes + no is known
            places = {"yes": Place(0, half, half * records), "no": Place(0, -half, half * records)}
            return PublishedLayout(self.layout(domain, "replace"), check_published(names, places, self.name))
        places = {"no": Place(0), "yes": Place(1), "count": Place(2)}
        layout = self.layout(domain, "add_remove")
        if "count" in names:
            layout = FreeLayout.of(("no", "yes", "count"), (*layout.rows, (UNIT, Fraction(0))), UNIT)
        return PublishedLayout(layout, check_published(names, places, self.name))

    def sufficient(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(x, dtype=float)[..., None]

    def log_base_measure(self, x: np.ndarray) -> np.ndarray:
        return np.where((x == 0) | (x == 1), 0.0, -np.inf)

    def statistic_mean(self, theta: Theta) -> np.ndarray:
        return np.asarray(theta["p"])[..., None]

    def statistic_covariance(self, theta: Theta) -> np.ndarray:
        p = np.asarray(theta["p"])
        return (p * (1 - p))[..., None, None]

    def sample(self, theta: Theta, size: int, rng: np.random.Generator) -> np.ndarray:
        return rng.binomial(1, theta["p"], size)
