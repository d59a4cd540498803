"""What is known after reading a release: draws, their summaries, and how they were got."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arguments import numbers, shown
from discreet.domain.dates import shown_day
from discreet.errors import UsageError
from discreet.inference.diagnostics import Diagnostics, plain
from discreet.inference.row_questions import RowQuestions
from discreet.inference.summary import (
    LabelRow,
    Summary,
    SummaryRow,
    axes_of,
    decimals_for,
    is_symmetric,
    sd_name,
    tails,
)
from discreet.inference.units import UNNAMED, Units

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame
    from xarray import DataTree

    from discreet.artifact import Release
    from discreet.decisions.base import Utility
    from discreet.decisions.response import Response
    from discreet.inference.histogram import Band, Distribution, QuantileInterval, Shares
    from discreet.models.base import Model

# Fewer draws than this say nothing about how chains agree.
_FEW = 4
# Counts of a table that a summary shows.
_FEW_COUNTS = 12
# Levels of the quantiles of a column that a summary shows.
_QUARTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, eq=False, repr=False)
class Posterior(RowQuestions):
    """Draws from a posterior.

    Parameters
    ----------
    draws
        Arrays by parameter name, draws first. All have the same number of draws, chain after chain.
    how
        How the draws were made, or a function that says so: it is asked when :attr:`diagnostics` is first read.
    n_chains
        How many chains of equal length the draws are.
    labels
        Names of the components of a vector, or of the rows and columns of a square matrix, by parameter name; or one
        list of names for each axis.
    about
        One line that says which model of which data under which guarantee this is; the subtitle of plots.
    model
        The model that was released, which rows that need no protection can be asked about.
    table
        What is known of the very table that was released, where the engine knows it: its own totals, about which
        noise is the only uncertainty. The other draws are of the population that the table is a sample of.
    distribution
        Of a histogram: what :meth:`cdf`, :meth:`quantiles` and :meth:`band` read.
    question
        What was asked, such as "Mean of age"; the title of plots.
    units
        The unit of the column, or whether it holds dates: then draws of places are days since 1970-01-01.
    release, prior
        What was read, and under which prior, where the posterior is of one release; for :meth:`to_arviz`.
    log_prior
        Where an engine says so, the log density of each draw under the prior it was made with; for pooling.

    Examples
    --------
    >>> posterior = Posterior({"p": np.linspace(0.2, 0.4, 101)}, Diagnostics("exact", independent=True))
    >>> low, high = posterior.interval(0.9)["p"]
    >>> round(low, 3), round(high, 3)
    (0.21, 0.39)
    """

    draws: dict[str, np.ndarray]
    how: Diagnostics | Callable[[], Diagnostics]
    _: KW_ONLY
    n_chains: int = 1
    labels: Mapping[str, Sequence[Any]] | None = None
    about: str | None = None
    model: Model | None = None
    table: Posterior | None = None
    distribution: Distribution | None = None
    question: str | None = None
    units: Units = UNNAMED
    release: Release | None = None
    prior: Any = None
    log_prior: np.ndarray | None = None

    def __post_init__(self) -> None:
        draws = {name: _read_only(values) for name, values in self.draws.items()}
        lengths = {len(values) for values in draws.values()}
        if len(lengths) != 1 or 0 in lengths:
            raise UsageError("a posterior needs at least one draw, and equally many of every parameter.")
        (n_draws,) = lengths
        if self.n_chains < 1 or n_draws % self.n_chains:
            raise UsageError(f"{n_draws} draws do not divide into n_chains={self.n_chains} chains.")
        object.__setattr__(self, "draws", draws)
        object.__setattr__(self, "labels", _read_labels(self.labels, draws) if self.labels else {})

    @cached_property
    def diagnostics(self) -> Diagnostics:
        """How the draws were made, what a careful reader should know about them, and how well chains mixed."""
        how = self.how if isinstance(self.how, Diagnostics) else self.how()
        chains = {name: x.reshape(self.n_chains, -1, *x.shape[1:]) for name, x in self.draws.items()}
        return replace(how, chains=chains, categorical=frozenset(self.categories))

    def __getstate__(self) -> dict[str, Any]:
        # functions are not copied to other processes: what they say is
        return {**self.__dict__, "how": self.diagnostics}

    @property
    def n_draws(self) -> int:
        """Number of draws over all chains."""
        return len(next(iter(self.draws.values())))

    @property
    def categories(self) -> Mapping[str, tuple[str, ...]]:
        """Names of the values of draws that are labels, coded 1, 2, ...; by name of the draws."""
        return {} if self.model is None else self.model.draw_categories

    # -- numbers --------------------------------------------------------------------------------------

    def mean(self) -> dict[str, Any]:
        """Return the posterior mean of each parameter: a float, or an array for a vector."""
        return {name: plain(x.mean(axis=0)) for name, x in self.draws.items()}

    def sd(self) -> dict[str, Any]:
        """Return the posterior standard deviation of each parameter; ``nan`` from a single draw."""
        if self.n_draws == 1:
            return {name: plain(np.full(x.shape[1:], np.nan)) for name, x in self.draws.items()}
        return {name: plain(x.std(axis=0, ddof=1)) for name, x in self.draws.items()}

    def median(self) -> dict[str, Any]:
        """Return the posterior median of each parameter: a float, or an array for a vector."""
        return self.quantile(0.5)

    def quantile(self, q: float | Sequence[float] | np.ndarray) -> dict[str, Any]:
        """Return the quantile of each parameter at ``q`` in [0, 1]; for several ``q``, they come first."""
        levels = numbers(q, "q", finite=False)
        if levels.ndim > 1 or not ((levels >= 0) & (levels <= 1)).all():
            raise UsageError(f"q must lie in [0, 1], got q={shown(q)}.", hint="the median is quantile(0.5)")
        return {name: plain(np.quantile(x, levels, axis=0)) for name, x in self.draws.items()}

    def interval(self, prob: float = 0.95) -> dict[str, tuple[Any, Any]]:
        """Return the central interval of each parameter: (low, high), with equal tails outside.

        ``interval(0.95)["p"]`` holds the parameter with posterior probability 0.95.
        """
        if self.n_draws == 1:
            raise UsageError("one draw has no interval.", hint="draws has the draw itself")
        ends = self.quantile(tails(prob))
        return {name: (plain(low), plain(high)) for name, (low, high) in ends.items()}

    def scalars(self) -> dict[str, np.ndarray]:
        """Return the draws of every scalar by its full name, such as ``p[b]`` or ``covariance[x, y]``.

        A symmetric matrix gives each of its entries once.
        """
        return {full: self.draws[name][(..., *index)] for full, name, index in self._components()}

    def summary(self, prob: float = 0.95) -> Summary:
        """Return a table with a row for each scalar: mean, sd, central interval, ESS and R-hat.

        Of draws that are labels it has the most probable one and its probability. A variance is followed by its root.
        """
        low_high = self.quantile(tails(prob))
        mean, sd = self.mean(), self.sd()
        ess, r_hat = self.diagnostics.ess, self.diagnostics.r_hat
        rows, labels = [], []
        for full, name, index in self._components():
            if name in self.categories:
                words = self.categories[name]
                shares = np.bincount(self.draws[name][(..., *index)] - 1, minlength=len(words)) / self.n_draws
                labels.append(LabelRow(full, words[shares.argmax()], float(shares.max())))
                continue
            low, high = (float(np.asarray(bound)[index]) for bound in low_high[name])
            if self.n_draws == 1:
                low = high = math.nan
            at = [float(np.asarray(table[name])[index]) for table in (mean, sd, ess, r_hat)]
            r_hats = at[3] if self.n_draws >= _FEW else math.nan
            rows.append(SummaryRow(full, at[0], at[1], low, high, ess=at[2], r_hat=r_hats))
            if name.rpartition(".")[2] == "variance":
                root = np.sqrt(self.draws[name][(..., *index)])
                spread = float(root.std(ddof=1)) if self.n_draws > 1 else math.nan
                at_root = float(root.mean()), spread, math.sqrt(low), math.sqrt(high)
                # ranks, and so ESS and R-hat, do not change under a root
                rows.append(SummaryRow(sd_name(full), *at_root, ess=at[2], r_hat=r_hats))
        found = () if self.distribution is None else self.distribution.quantiles(_QUARTILES, prob)
        own = self._table_rows(prob)
        return Summary(tuple(rows), prob, self.diagnostics, tuple(labels), own, tuple(found), self.units)

    def _table_rows(self, prob: float) -> tuple[SummaryRow, ...]:
        """Return rows for the numbers of the table itself; a count for each of many bins or labels is in its draws."""
        if self.table is None:
            return ()
        few = {name: x for name, x in self.table.draws.items() if x[0].size <= _FEW_COUNTS}
        labels = {name: words for name, words in (self.table.labels or {}).items() if name in few}
        return replace(self.table, draws=few, labels=labels).summary(prob).rows

    def _components(self) -> list[tuple[str, str, tuple[int, ...]]]:
        """List (full name, parameter name, index) of every scalar."""
        out = []
        for name, x in self.draws.items():
            words = (self.labels or {}).get(name)
            symmetric = is_symmetric(x)
            for index in product(*map(range, x.shape[1:])):
                if symmetric and index[0] > index[1]:
                    continue
                axes = axes_of(words, len(index)) if words else None
                parts = ", ".join(axes[a][i] if axes else str(i) for a, i in enumerate(index))
                out.append((f"{name}[{parts}]" if index else name, name, index))
        return out

    # -- the distribution of a column -----------------------------------------------------------------

    def cdf(self, x: Any, prob: float = 0.95) -> Shares:
        """Return intervals for the share of the population at or below each ``x``, from a histogram.

        At the edges of bins they are posterior intervals; between two edges they hold whatever lies within the bin.
        """
        return self._distribution().cdf(x, prob)

    def quantiles(self, levels: Any, prob: float = 0.95) -> list[QuantileInterval]:
        """Return an interval for the population's quantile at each level, from a histogram.

        Intervals are rounded outward to the edges of bins: where in its bin a quantile lies was not released.
        """
        return self._distribution().quantiles(levels, prob)

    def band(self, prob: float = 0.95) -> Band:
        """Return a band that holds the population's whole distribution function with this probability."""
        return self._distribution().band(prob)

    def _distribution(self) -> Distribution:
        if self.distribution is None:
            raise UsageError(
                "only the posterior of a histogram knows the distribution of its column.",
                hint="release dc.Histogram(bins=64); quantile(q) has quantiles of the parameters",
            )
        return self.distribution

    # -- answers --------------------------------------------------------------------------------------

    def respond(
        self,
        utility: Utility | Callable[[Mapping[str, np.ndarray], Any], Any],
        candidates: Iterable[Any] | None = None,
        *,
        bounds: tuple[float, float] | None = None,
        confidence: float = 0.95,
        questions: int = 1,
    ) -> Response:
        """Answer a question with the candidate of highest expected utility over the draws.

        The draws are all that is read, so any number of questions, each chosen in the light of the answers before it,
        costs no budget beyond what the release has spent.

        Parameters
        ----------
        utility
            One of ``dc.decisions``, or a function ``f(draws, candidate)`` that gives a number for each draw; ``draws``
            are arrays by parameter name, draws first.
        candidates
            Possible responses; of equally good ones the first is taken. May be left out for the ready utilities: an
            event and a decision table know their responses, and an estimate is then the best of all numbers.
        bounds
            A range that the utility never leaves, whatever the parameters, if the utility does not know one itself.
        confidence
            Probability with which the bound on the loss is to hold.
        questions
            For how many questions at once the bounds are to hold.

        Returns
        -------
        Response
            With the expected utility of every candidate, its Monte Carlo standard error, and for independent draws and
            bounded utilities a bound on what is lost against the best candidate.

        References
        ----------
        Dimitrakakis et al. (2017), Algorithm 2 and Lemma 11.
        """
        from discreet.decisions import respond

        return respond(self, utility, candidates, bounds=bounds, confidence=confidence, questions=questions)

    # -- elsewhere ------------------------------------------------------------------------------------

    def to_pandas(self) -> DataFrame:
        """Return the draws as a tidy pandas data frame: one row for each scalar of each draw.

        Columns are ``parameter`` (its full name, such as ``p[b]``), ``chain`` and ``draw`` (from 0 on), and ``value``.
        Draws that are labels keep their codes, 1, 2, ...
        """
        from discreet.inference.exports import tidy_frame

        return tidy_frame(self)

    def _repr_html_(self) -> str:
        """Return the summary as a table, for notebooks."""
        return self.summary().to_html(self.about)

    def to_arviz(self) -> DataTree | Any:
        """Return the draws as ArviZ holds them, with the labels as coordinates: a ``DataTree``.

        Beside the posterior it has the released numbers (``observed_data``) and, for families, draws from the prior
        (``prior``) and the log of the joint density at each draw where that is quick (``lp`` of ``sample_stats``).
        If an ArviZ before 1.0 is installed, which knows no trees, it is an ``InferenceData``.
        """
        from discreet.inference.exports import for_arviz

        return for_arviz(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the draws to a netCDF file that ArviZ and xarray read; whole or not at all."""
        from discreet.artifact.files import replacing
        from discreet.inference.exports import data_tree

        tree = data_tree(self)
        with replacing(path) as draft:
            tree.to_netcdf(draft, engine="h5netcdf")

    def plot(self, path: str | os.PathLike[str] | None = None, **options: Any) -> Figure:
        """Draw the posterior as suits its model; also write it to ``path`` if one is given.

        A Bayesian network is drawn as a graph with its tables, a hidden Markov model as its states and what they look
        like, unless ``parameters`` names some of them; other models by the density of every parameter. ``options`` go
        to :func:`discreet.reporting.plot_posterior`, or to the function that draws the model's own picture.
        """
        from discreet.reporting.pictures import picture_of

        return picture_of(self, options)(self, path=path, **options)

    def __repr__(self) -> str:
        parts = []
        for name, x in self.draws.items():
            if x.ndim > 1:
                parts.append(f"{name}[{', '.join(map(str, x.shape[1:]))}]")
                continue
            low, middle, high = np.quantile(x, [0.025, 0.5, 0.975])
            if self.units.is_date(name):
                low, middle, high = map(shown_day, (low, middle, high))
                parts.append(f"{name} {middle} ({low} to {high})")
                continue
            d = decimals_for(high - low)
            parts.append(f"{name} {middle:.{d}f} ({low:.{d}f} to {high:.{d}f})")
        how = self.diagnostics
        return f"<Posterior of {', '.join(parts)}; {how.engine}, {how.draws_in_words}>"


def _read_labels(
    labels: Mapping[str, Sequence[Any]], draws: Mapping[str, np.ndarray]
) -> dict[str, tuple[Any, ...]]:
    """Read the labels of parameters, one list for all axes of one or one for each, and raise if they do not fit."""
    read = {}
    for name, words in labels.items():
        shape = draws[name].shape[1:] if name in draws else ()
        nested = words and not isinstance(words[0], str) and isinstance(words[0], Sequence)
        read[name] = tuple(tuple(map(str, axis)) for axis in words) if nested else tuple(map(str, words))
        axes = read[name] if nested else [read[name]] * len(shape)
        if not axes or tuple(map(len, axes)) != shape:
            raise UsageError(f"{len(words)} labels do not fit the draws of {name}.")
    return read


def _read_only(values: np.ndarray) -> np.ndarray:
    view = np.asarray(values).view()
    view.flags.writeable = False
    return view
