"""What a posterior's model says about rows that need no protection: how likely they are, and what comes next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arguments import probability
from discreet.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.inference.models.hidden_markov.forecast import Forecast
    from discreet.models.base import Model


class RowQuestions:
    """Questions about rows, for a posterior that knows its model."""

    draws: dict[str, np.ndarray]
    model: Model | None

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
        return model_of(self).log_likelihood(self.draws, rows, ahead=ahead)

    def predict_proba(self, rows: Any) -> np.ndarray:
        """Return each row's probability of every class, rows × classes, in the order of the target's labels."""
        return model_of(self).predict_proba(self.draws, rows)

    def predict(self, rows: Any, interval: float | None = None) -> Any:
        """Return each row's most probable class, of equally probable ones the first; or, for numbers, the mean.

        With ``interval=0.95``, for a linear regression: ``mean``, ``low`` and ``high``, where the target of a new row
        lies between the last two with this probability, its own deviation from the mean included.
        """
        if interval is None:
            return model_of(self).predict(self.draws, rows)
        return model_of(self).predict_interval(self.draws, rows, probability(interval, "interval"))

    def log_predictive(self, rows: Any) -> Mapping[tuple[str, str], float]:
        """Return the log-probability of all entries of each cell together, from a hidden Markov model.

        Entries of one sequence and time have one hidden state, so that their probability is no product over rows, as
        :meth:`log_likelihood` would have it: log of the mean over the draws of the sum over states k of P(k) times the
        product over entries of p(labels | k). Of a cell that was held out P(k) follows from the states before and after
        it; of others the state is the draw's, which has learned from the cell.

        Parameters
        ----------
        rows
            Entries that need no protection, with their sequence and time, both declared. A missing label says nothing.

        Returns
        -------
        By sequence and time, in the order in which they are declared; a single sequence is called "all".

        References
        ----------
        Foulds et al. (2016), section 5: held-out log-likelihood.
        """
        from discreet.inference.models.hidden_markov.held_out import log_predictive

        return log_predictive(model_of(self), self.draws, rows)

    def forecast(self, ahead: int = 1, *, entries: int | None = None, rng: Any = None) -> Forecast:
        """Return what is to be expected in the time steps after the last declared one, from a hidden Markov model.

        Parameters
        ----------
        ahead
            How many steps.
        entries
            How many entries each cell will have: then counts of labels are forecast as well, with the chance that is
            in so many entries. The model says nothing of how many there will be.
        rng
            A seed or a generator: paths of states, and counts, are drawn, one for each draw of the posterior.

        Returns
        -------
        Forecast
            States with their probabilities, shares of labels and counts with their intervals, and a picture.
        """
        from discreet.inference.models.hidden_markov.forecast import forecast

        return forecast(self, ahead, entries=entries, rng=rng)  # pyright: ignore[reportArgumentType]


def model_of(posterior: RowQuestions) -> Model:
    """Return the model behind a posterior; raise :class:`UsageError` if there is none."""
    if posterior.model is None:
        raise UsageError("these draws came without their model, so rows cannot be asked about.")
    return posterior.model
