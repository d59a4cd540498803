"""The protocol of a model: what is learned, seen from both sides of the wall.

A *family* (:mod:`discreet.families`) is a model of one record without structure; naive Bayes, networks, chains and
regressions (:class:`~discreet.models.column_model.ColumnModel`) declare several columns. The verbs ask a model and
never what class it is:

* the curator's side asks for the declarations (:meth:`Model.read_domain`), the released vector (:meth:`Model.layout`)
  and which summary of the rows makes it (:attr:`Model.summary`);
* a release file asks for its constants, and whether the declarations are ones it takes (:meth:`Model.check_domain`);
* the analyst's side asks for the prior (:meth:`Model.read_prior`), the engines (:attr:`Model.engines`), the labels
  along the axes of the draws, the picture to draw.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Self, TypeVar

import numpy as np

from discreet.arguments import Constructed, instance
from discreet.domain.columns import Column
from discreet.domain.declarations import Domain, Missing, Neighbors, Outside
from discreet.domain.unit import Rule
from discreet.errors import UsageError
from discreet.models.layout import Layout
from discreet.models.published_layout import PublishedLayout
from discreet.names import shown_label
from discreet.priors import Prior
from discreet.rational import plain, sqrt_up

_Kind = TypeVar("_Kind", bound="Model")
_Form = TypeVar("_Form")

# Models that bear a person's name.
_NAMESAKES = ("bernoulli", "laplace", "poisson", "bayes", "bayesian", "markov")

#: Draws of parameters by name: one array each, along its first axes the draws.
Draws = Mapping[str, np.ndarray]
#: The labels along each axis of each draw.
AxisLabels = dict[str, tuple[tuple[str, ...], ...]]


class Model(metaclass=Constructed):
    """What is learned: columns, the vector that is released about them, the likelihood, and the prior it takes.

    Subclasses are frozen dataclasses. :attr:`name` and :meth:`constants` are what a release file records.
    """

    #: Name in release files and on the command line.
    name: ClassVar[str]
    #: Which exact summary of the rows is released: a name in :mod:`discreet.data.summaries.registry`.
    summary: ClassVar[str]
    #: Which one is released of its groups, where it takes any.
    group_summary: ClassVar[str] = "groups"
    #: Which engines read it: a name in :mod:`discreet.inference.engines.registry`.
    engines: ClassVar[str]
    #: Which picture shows its posterior: a name in :mod:`discreet.reporting.pictures`.
    picture: ClassVar[str] = "densities"
    #: The draws that groups are compared by where none are named; the first ones if this is empty.
    main_draws: ClassVar[str] = ""
    #: Names of the values 1, 2, ... of draws that are labels, not numbers.
    draw_categories: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    #: What becomes of values outside the bounds, if the model can read only one answer; None if either.
    only_outside: ClassVar[Outside | None] = None
    #: The groups of a table that it is released for, by name; empty if it is for the whole table.
    groups: tuple[str, ...] = ()
    #: What is asked of the columns, as a title begins; empty for a model that is called by its name.
    question: ClassVar[str] = ""
    #: Says that posteriors of noisy releases take long, if they do.
    slow_in_words: ClassVar[str] = ""
    #: At most how many rows of one person count; None where a person's rows become one record.
    max_rows: int | None = None
    #: In at most how many groups a person has a record; None where it is one, or where there are none.
    max_groups: int | None = None
    #: Why rows of one person cannot become one record, where :attr:`unit_rules` are none.
    no_unit: ClassVar[str] = "its record is more than one row"
    #: How many columns make one record, where the curator names them.
    n_columns: int = 1
    #: Whether its widths depend on the norm that noise is scaled to, so that :meth:`suited` has to choose them.
    by_norm: bool = False
    #: The column that the others explain, for models that have one.
    explained: str = ""
    #: The labels a curator declared, for families that have them.
    labels: tuple[str, ...] | None = None

    @property
    @abstractmethod
    def draw_names(self) -> tuple[str, ...]:
        """Names of the draws."""

    def title(self, columns: Sequence[str]) -> str:
        """Return which model of which columns this is, in a few words."""
        return f"{self.name} model of {', '.join(columns)}"

    def describe(self) -> str:
        """Return the name, with the known constants of a family, for reports."""
        return self.name

    def noise(self, neighbors: Neighbors) -> str:
        """Return the noise that it is released with where nobody names another: ``"laplace"`` or ``"k-norm"``."""
        return "laplace"

    def require(self, kind: type[_Kind], purpose: str, *, hint: str | None = None) -> _Kind:
        """Return this model if it is of ``kind``; otherwise say that ``purpose`` needs one that is."""
        if not isinstance(self, kind):
            raise UsageError(f"{purpose}, and {self.name} is none.", hint=hint)
        return self

    def closed_form(self, table: Mapping[type[Any], _Form]) -> _Form | None:
        """Return what a table of closed forms holds for this model, or None.

        It must be this very class: a subclass may change the density, and never inherits a formula or a proof.
        """
        return table.get(type(self))

    # -- what a file records --------------------------------------------------------------------------

    @abstractmethod
    def constants(self) -> dict[str, Any]:
        """Return what rebuilds this model, as plain JSON: texts, numbers, lists and dictionaries."""

    @classmethod
    @abstractmethod
    def from_constants(cls, constants: Mapping[str, Any]) -> Self:
        """Build the model from a file's constants, which may be anything that JSON can say; check everything.

        Raises ValueError or :class:`~discreet.errors.UsageError`.
        """

    # -- declarations ---------------------------------------------------------------------------------

    @property
    @abstractmethod
    def has_numbers(self) -> bool:
        """Whether a column holds numbers between bounds, so that ``outside`` has a meaning."""

    @abstractmethod
    def read_columns(self, columns: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Return the columns to read: those the curator named, or the model's own."""

    @abstractmethod
    def read_domain(self, bounds: Any, outside: Outside, missing: Missing, impute: Any = None) -> Domain:
        """Check the curator's declarations and return them; ``impute`` is read if ``missing`` is ``"impute"``."""

    def capped(self, max_rows: int) -> Model:
        """Return the model of rows of which at most so many of each person count; raise if there is none."""
        raise UsageError(
            f"{self.name} takes no max_rows: its totals do not say how alike rows of one person are, so no interval "
            "would be right.",
            hint="dc.Mean() takes it, also of a column of 0 and 1; or use per_unit",
        )

    def weighted(self, weights: Any, weight_bounds: Any) -> Model:
        """Return the model of rows with survey weights; raise if there is none."""
        raise UsageError(
            f"{self.name} takes no weights: its likelihood is of records that count once each, and a sum of weights "
            "says nothing of it.",
            hint="dc.Mean() takes weights; of a column of 0 and 1, with bounds=(0, 1), its mean is the weighted share",
        )

    @property
    def numbers_per_draw(self) -> int:
        """About how many numbers a draw of its posterior holds."""
        return len(self.labels or ()) or len(self.draw_names)

    @property
    def takes_groups(self) -> bool:
        """Whether it can be released for every group of a table at once."""
        return False

    @property
    def takes_where(self) -> bool:
        """Whether rows may be filtered: a filtered-out row adds nothing, as one without a value does."""
        return False

    @property
    def unit_rules(self) -> tuple[tuple[Rule, ...], ...]:
        """By which rules rows of one person may become one record, for each column; empty if by none."""
        return ()

    def record_bounds(self, domain: Domain) -> tuple[tuple[Fraction, Fraction] | None, ...]:
        """Return the bounds of each column of a record, None for columns of labels."""
        return ()

    def record_columns(self, columns: Sequence[str], domain: Domain) -> tuple[Column, ...]:
        """Return what each column of a row may hold, as labels or bounds, so that rows can be invented."""
        raise UsageError(f"rows of {self.name} cannot be invented.", hint="give pair=(table, table)")

    @abstractmethod
    def check_domain(self, domain: Domain, columns: Sequence[str]) -> None:
        """Raise ValueError or :class:`UsageError` unless a file's declarations are ones that this model takes."""

    @abstractmethod
    def decode_impute(self, values: Sequence[str]) -> tuple[Fraction | str, ...]:
        """Read the values to impute from a file's texts; raise ValueError if they are none."""

    @abstractmethod
    def stand_ins(self, domain: Domain) -> tuple[Fraction | str, ...]:
        """Return what stands for a missing value although the curator declared that there is none.

        Nothing may be raised about the rows, and where every record must count none may count for nothing.
        """

    def suited(self, norm: Literal["l1", "l2"]) -> Self:
        """Return the model as it is released with noise that is scaled to this norm: its widths may depend on it."""
        return self

    @abstractmethod
    def layout(self, domain: Domain, neighbors: Neighbors) -> Layout:
        """Return the released vector with its joint sensitivity; raise if this model takes no noise."""

    @abstractmethod
    def coordinate_ranges(self, domain: Domain, neighbors: Neighbors) -> Sequence[tuple[Fraction, Fraction]]:
        """Return what one record can add to each coordinate of the layout, and 0, which is what no record adds."""

    def replaced_l2(self, domain: Domain) -> Fraction:
        """Return how far, in L2, the vector that has a usable count moves if a record is replaced, group by group.

        Two records f and f' of norm s at most are apart by 2 s at most, and by sqrt(2) s where no coordinate is
        negative, as then ``|f - f'|^2 <= |f|^2 + |f'|^2``.
        """
        ranges = self.coordinate_ranges(domain, "add_remove")
        most = self.layout(domain, "add_remove").l2_sensitivity
        return most * (sqrt_up(Fraction(2)) if all(low >= 0 for low, _ in ranges) else 2)

    #: Whether it is read from counts whose Gaussian noise hangs together.
    reads_correlated: ClassVar[bool] = False

    def published_by_name(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return numbers that others published, or what is said of them, by the names that the layout has."""
        given = instance(values, "values", Mapping, 'a dictionary such as {"yes": 123.4}')
        return {str(name): value for name, value in given.items()}

    def published_names(self) -> tuple[str, ...]:
        """Return the names of numbers that others publish, where they may be given as a list in their order."""
        return ()

    def published_layout(
        self, domain: Domain, records: int | None, names: Collection[str]
    ) -> PublishedLayout:
        """Return how numbers with these names, published by somebody else, read the totals that engines lay out.

        ``records`` is the public number of records, None if it is not known.
        """
        raise UsageError(
            f"{self.name} is not read from numbers that others published.",
            hint="dc.Bernoulli(), dc.Categorical(), dc.Histogram() and dc.Mean() are",
        )

    # -- the analyst's side ---------------------------------------------------------------------------

    def read_prior(self, prior: Any, domain: Any) -> Any:
        """Return the prior to use: the analyst's, checked, or a weak one."""
        raise UsageError(f"{self.name} takes no prior.")

    @property
    def can_sample(self) -> bool:
        """Whether records can be simulated from one value of the parameters."""
        return False

    @property
    def in_words(self) -> str:
        """The name as it stands in a sentence."""
        return " ".join(word.capitalize() if word in _NAMESAKES else word for word in self.name.split("_"))

    @property
    def assumption(self) -> str:
        """What a posterior takes for granted, for a line that begins with "exact, given that"; empty if nothing."""
        return f"the {self.in_words} model holds"

    @property
    def default_prior(self) -> Prior | None:
        """The neutral prior, where there is one to name."""
        return None

    def suggested_prior(self, domain: Domain) -> Prior | None:
        """Return a weak prior scaled to the declared bounds, which is taken where the analyst gives none."""
        return self.default_prior

    def weak_prior_in_words(self, domain: Domain) -> str:
        """Say which prior is taken where the analyst gives none."""
        return "every Dirichlet parameter is 1"

    def parse_prior(self, text: str) -> Any:
        """Read a prior as the command line writes it; models of several columns read their texts themselves."""
        return text

    def later(self, codes: np.ndarray, ahead: int) -> np.ndarray:
        """Return codes of rows that lie so many time steps after the last declared one."""
        raise UsageError(f"{self.name} has no time, so no row lies ahead of it.")

    def check_prior(self, prior: Any) -> None:
        """Raise unless ``prior`` is one that this model takes."""
        self.read_prior(prior, None)

    def axis_labels(self, columns: Sequence[str]) -> dict[str, Any]:
        """Return the labels along each axis of each draw, for tables and plots, where there are any."""
        return {}

    def assumptions(self, domain: Domain) -> list[str]:
        """Return what was declared beyond the domain, for the privacy statement."""
        return []

    def imputed_in_words(self, domain: Domain) -> list[str]:
        """Say what stands for missing values, as the columns have it."""
        return [shown_label(v) if isinstance(v, str) else plain(v) for v in domain.impute or ()]

    def missing_in_words(self, neighbors: Neighbors) -> str:
        """Say what became of missing values that are counted, for the privacy statement."""
        protected = ", and how many there were is itself protected" if neighbors == "replace" else ""
        return f"missing values were left out{protected}"

    @property
    def totals_in_words(self) -> str:
        """Say what noisy totals are sums of, if their names do not."""
        return ""

    @property
    def released_draws_in_words(self) -> str:
        """Say what draws that are released are of, if their names do not."""
        return ""

    @property
    def allowance_in_words(self) -> str:
        """Say what intervals allow for however many records there are, and what else to do; empty if nothing."""
        return ""

    # -- rows that need no protection -----------------------------------------------------------------

    def log_likelihood(self, draws: Draws, rows: Any, *, ahead: int | None = None) -> np.ndarray:
        """Return the log of each row's predictive probability, the mean over the draws of p(row | draw).

        ``ahead`` is how many steps after the last declared time rows lie, for models with a time.
        """
        raise UsageError(f"{self.name} does not say how likely a row is.")

    def predict_proba(self, draws: Draws, rows: Any) -> np.ndarray:
        """Return each row's probability of every class, rows × classes, averaged over the draws."""
        raise UsageError(f"{self.name} has no classes to predict.")

    def predict(self, draws: Draws, rows: Any) -> np.ndarray:
        """Return each row's most probable class or, for a target of numbers, its mean."""
        raise UsageError(f"{self.name} has no target to predict.")

    def predict_interval(self, draws: Draws, rows: Any, prob: float) -> Any:
        """Return each row's mean, and an interval that holds its target with this probability."""
        raise UsageError(f"{self.name} predicts no intervals.", hint="leave out interval")
