"""One of several labels."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax

from discreet.domain.declarations import Domain
from discreet.domain.labels import read_labels
from discreet.errors import UsageError
from discreet.families.base import Family, Support, Theta, known
from discreet.models.published_layout import PublishedLayout, published_cells
from discreet.models.shapes import Cells
from discreet.priors.base import Prior
from discreet.priors.dirichlet import Dirichlet

# Labels up to which the parameters of a prior are written out.
_FEW_LABELS = 10


@dataclass(frozen=True)
class Categorical(Family):
    """Label k with probability p_k.

    ===========  =====================================================================
    statistic    one indicator per label; counts need no map
    prior        ``Dirichlet(alpha)``, default all ones
    draws        ``p``, labels on the last axis
    sensitivity  replace: 2, counting missing or not; add_remove: 1
    ===========  =====================================================================

    ``Categorical(["a", "b"])`` names the labels; ``Categorical(4)`` means "0", "1", "2", "3". A record is a label;
    anything else is missing. Labels are a declaration: they must not be collected from the data.
    """

    question = "Shares"
    name = "categorical"
    engines = "categorical"
    prior_type = Dirichlet
    draw_names = ("p",)
    reads_correlated = True
    draw_axes: ClassVar[Mapping[str, int]] = {"p": 1}
    labels: tuple[str, ...]  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(self, labels: int | Iterable[str | int] | None = None, *, k: int | None = None) -> None:
        if (labels is None) == (k is None):
            raise UsageError("categorical takes labels or their number k.", hint='dc.Categorical(["a", "b"])')
        object.__setattr__(self, "labels", read_labels(labels if k is None else k))

    @property
    def geometry(self) -> Cells:  # pyright: ignore[reportIncompatibleVariableOverride]
        return Cells(self.labels)

    @property
    def n_probabilities(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return len(self.labels)

    @property
    def vocabulary(self) -> tuple[tuple[str, ...], ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return tuple(zip(self.labels))

    def published_names(self) -> tuple[str, ...]:
        return self.labels

    def published_layout(
        self, domain: Domain, records: int | None, names: Collection[str]
    ) -> PublishedLayout:
        return published_cells(self.geometry, self.labels, records, names, self.name)

    @property
    def support(self) -> Support:
        """Positions of the labels: 0, ..., K - 1."""
        return Support(0, len(self.labels) - 1, discrete=True)

    def sufficient(self, x: np.ndarray) -> np.ndarray:
        return (np.asarray(x).astype(str)[..., None] == np.array(self.labels)).astype(float)

    def log_base_measure(self, x: np.ndarray) -> np.ndarray:
        return np.where(self.sufficient(x).any(axis=-1), 0.0, -np.inf)

    def natural(self, theta: Theta) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(theta["p"])

    def from_natural(self, eta: np.ndarray) -> dict[str, np.ndarray]:
        return {"p": softmax(eta, axis=-1)}

    def log_partition(self, eta: np.ndarray) -> np.ndarray:
        return np.logaddexp.reduce(eta, axis=-1)

    def statistic_mean(self, theta: Theta) -> np.ndarray:
        return np.asarray(theta["p"], dtype=float)

    def statistic_covariance(self, theta: Theta) -> np.ndarray:
        p = np.asarray(theta["p"], dtype=float)
        return p[..., None] * np.eye(p.shape[-1]) - p[..., :, None] * p[..., None, :]

    def sample(self, theta: Theta, size: int, rng: np.random.Generator) -> np.ndarray:
        return rng.choice(np.array(self.labels), size, p=theta["p"])

    @property
    def default_prior(self) -> Dirichlet:
        return Dirichlet(np.ones(len(self.labels)))

    def weak_prior_in_words(self, domain: Domain) -> str:
        if len(self.labels) <= _FEW_LABELS:
            return super().weak_prior_in_words(domain)
        return "every Dirichlet parameter is 1"

    def update(self, prior: Dirichlet, s: np.ndarray, n: np.ndarray | float) -> Dirichlet:
        return Dirichlet(prior.natural() + s)

    def project(self, s: np.ndarray, n: float) -> np.ndarray:
        """Return the nearest counts that are not negative and sum to ``n`` (Duchi et al. 2008, figure 1)."""
        s = np.asarray(s, dtype=float)
        if not n > 0:
            return np.zeros_like(s)
        ordered = np.sort(s, axis=-1)[..., ::-1]
        excess = (np.cumsum(ordered, axis=-1) - n) / np.arange(1, s.shape[-1] + 1)
        last = (ordered > excess).sum(axis=-1, keepdims=True) - 1
        return np.maximum(s - np.take_along_axis(excess, last, axis=-1), 0.0)

    def check_prior(self, prior: Prior) -> None:
        super().check_prior(prior)
        if isinstance(prior, Dirichlet) and len(prior.alpha) != len(self.labels):
            raise UsageError(
                f"the prior has {len(prior.alpha)} entries for {len(self.labels)} labels.",
                hint=f"use dc.priors.Dirichlet([1] * {len(self.labels)})",
            )

    def constants(self) -> dict[str, Any]:
        return {"labels": list(self.labels)}

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> Categorical:
        # values are trimmed before they are compared, so a label with blanks around it would match nothing
        read = {
            "labels": lambda text: [label.strip() for label in text.split("|")],
            "k": lambda text: known(text, "k"),
        }
        if "|" not in options.get("labels", "|"):
            raise UsageError(
                "categorical needs at least two labels, got 1.",
                hint='labels are separated by |, as in "categorical:labels=a|b|c"',
            )
        return cls(**{name: read[name](value) for name, value in options.items()})
