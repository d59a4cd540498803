"""A posterior that can be asked about rows: how likely they are, and what their class is."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import UsageError
from discreet.inference.posterior import Posterior
from discreet.models.base import Model
from discreet.models.columns import Labels
from discreet.models.hidden_markov import HiddenMarkov
from discreet.models.naive_bayes import NaiveBayes
from discreet.models.network import BayesianNetwork
from discreet.models.regression import LinearRegression, LogisticRegression
from discreet.models.rows import code_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# numbers held at a time while rows are weighed
_MOST = 1 << 24
# steps of a forecast; long before, the states have forgotten where they were
_MOST_STEPS = 1_000_000


@dataclass(frozen=True, eq=False, repr=False)
class ModelPosterior(Posterior):
    """Draws from the posterior of a model of several columns; see :class:`~discreet.inference.posterior.Posterior`.

    ``model`` is the model that was released.
    """

    model: Model = field(kw_only=True)

    @property
    def categories(self) -> dict[str, tuple[str, ...]]:
        """Names of the values of draws that are labels, coded 1, 2, ...; by name of the draws."""
        return self.model.draw_categories()

    def log_likelihood(self, rows: Any, *, ahead: int | None = None) -> np.ndarray:
        """Return the log of each row's predictive probability: the mean over the draws of p(row | draw).

        Parameters
        ----------
        rows
            Records that need no protection: a dictionary of columns, a table, or a list of rows. A missing or
            undeclared value says nothing, and so does a target that is left out: what it could have been is summed
            over. In a hidden Markov model that is the state: of another sequence as all sequences start and move, at a
            time that is not declared as at one of the declared times, each as likely as the others.
        ahead
            For forecasts from a hidden Markov model: how many steps after the last declared time the rows are whose
            time is not declared. Their states follow from the last ones by the transition probabilities.
        """
        codes, values = code_rows(self.model, rows, absent=self.model.optional_columns)
        if ahead is not None:
            whole = isinstance(ahead, int | np.integer) and not isinstance(ahead, bool)
            if not whole or not 1 <= ahead <= _MOST_STEPS:
                raise UsageError(
                    f"ahead must be a whole number from 1 to {_MOST_STEPS}, got ahead={ahead!r:.40}.",
                    hint="ahead=1 is the step after the last declared time",
                )
            codes = self.model.later(codes, int(ahead))
        return self._log_mean(codes, values)

    def predict_proba(self, rows: Any) -> np.ndarray:
        """Return each row's probability of every class, rows × classes, in the order of the target's labels.

        The joint probability of class and features is averaged over the draws, and then normalized. The target's column
        may be left out of the rows, and is ignored if it is there. A regression's probabilities are averaged instead.
        """
        if isinstance(self.model, LogisticRegression):
            second = self.model.predict_proba(self.draws["weights"], rows).mean(axis=0)
            return np.stack([1 - second, second], axis=1)
        model = self._classifier()
        codes, values = code_rows(model, rows, absent=model.optional_columns)
        distinct, where = _distinct(codes[:, 1:]) if not values.shape[1] else (codes[:, 1:], slice(None))
        out = np.empty((len(distinct), model.target.n_labels))
        step = max(_MOST // (self.n_draws * model.target.n_labels), 1)
        unknown = np.full((len(distinct), 1), model.target.n_labels, dtype=codes.dtype)
        full = np.hstack([unknown, distinct])
        for start in range(0, len(full), step):
            part = slice(start, start + step)
            joint = model.log_joint(self.draws, full[part], values[part])
            out[part] = np.logaddexp.reduce(joint, axis=0)
        out -= np.logaddexp.reduce(out, axis=1, keepdims=True)
        return np.exp(out)[where]

    def predict(self, rows: Any) -> np.ndarray:
        """Return each row's most probable class, of equally probable ones the first; or, for numbers, the mean."""
        if isinstance(self.model, LinearRegression):
            return self.model.predict(self.draws["weights"], rows).mean(axis=0)
        target = (
            self.model.target if isinstance(self.model, LogisticRegression) else self._classifier().target
        )
        assert isinstance(target, Labels)
        return np.array(target.labels)[self.predict_proba(rows).argmax(axis=1)]

    def plot(self, path: str | os.PathLike[str] | None = None, **options: Any) -> Figure:
        """Draw the posterior; also write it to ``path`` if one is given.

        A Bayesian network is drawn as a graph with its tables (:func:`discreet.reporting.plot_network`), a hidden
        Markov model as its states and what they look like (:func:`discreet.reporting.plot_hidden_markov`), unless
        ``parameters`` names some of them; other models as :class:`~discreet.inference.posterior.Posterior` does.
        """
        if isinstance(self.model, HiddenMarkov) and "parameters" not in options:
            from discreet.reporting import plot_hidden_markov

            return plot_hidden_markov(self, path, **options)
        if isinstance(self.model, BayesianNetwork) and "parameters" not in options:
            from discreet.reporting import plot_network

            return plot_network(self, path, **options)
        return super().plot(path, **options)

    def _classifier(self) -> NaiveBayes:
        if not isinstance(self.model, NaiveBayes):
            raise UsageError(f"{self.model.name} has no target to predict.")
        return self.model

    def _log_mean(self, codes: np.ndarray, values: np.ndarray) -> np.ndarray:
        distinct, where = _distinct(codes) if not values.shape[1] else (codes, slice(None))
        out = np.empty(len(distinct))
        step = max(_MOST // (8 * self.n_draws), 1)
        for start in range(0, len(distinct), step):
            part = slice(start, start + step)
            log_p = self.model.log_density(self.draws, distinct[part], values[part])
            out[part] = np.logaddexp.reduce(log_p, axis=0) - np.log(self.n_draws)
        return out[where]


def _distinct(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct rows, and which of them each row is."""
    if not len(codes):
        return codes, np.empty(0, dtype=np.int64)
    distinct, where = np.unique(codes, axis=0, return_inverse=True)
    return distinct, where.reshape(-1)
