"""One interface for every mechanism: a value that is fitted to a graph, and what comes out of it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from discreet.arguments import Constructed, FilePath, fill, one_of
from discreet.errors import UsageError
from discreet.objects import forgiving, plain_value
from discreet.profiles.exact import WHOLE, Outputs, checked, growth_of, hides_observations, read_epsilon
from discreet.profiles.given import listed
from discreet.profiles.graph import Name, ProfileGraph
from discreet.rational import Number, plain

if TYPE_CHECKING:
    from discreet.profiles.auditing import Audit
    from discreet.profiles.composition import ProfileGuarantee


class ProfileMechanism(metaclass=Constructed):
    """A way to perturb observations; :meth:`fit` makes it ready for one graph and one budget."""

    #: What files and the command line call it.
    name: ClassVar[str]

    def fit(self, graph: ProfileGraph, epsilon: Number) -> FittedMechanism:
        """Return the mechanism for a graph and a budget, checked in exact arithmetic.

        No observation is needed, so nothing is spent.

        Parameters
        ----------
        graph
            The profiles and which of them must stay confusable.
        epsilon
            Privacy loss of one report, 0 or more. 0 makes reports of connected profiles alike.
        """
        if not isinstance(graph, ProfileGraph):
            raise UsageError("fit needs a ProfileGraph.", hint="ProfileGraph(profiles, edges) makes one")
        budget = read_epsilon(epsilon)
        self.check(graph)
        table = self.table(graph, growth_of(budget))
        return FittedMechanism(graph, budget, self.name, table, self.settings())

    def check(self, graph: ProfileGraph) -> None:
        """Raise if the mechanism is not for such graphs."""

    def settings(self) -> dict[str, Any]:
        """Return what was chosen besides the budget, for files."""
        return {}

    @abstractmethod
    def table(self, graph: ProfileGraph, growth: Fraction) -> np.ndarray:
        """Return integer matrices, one for each profile, that honor ``growth`` = e^epsilon on every edge."""


def check_one_bit(graph: ProfileGraph, name: str) -> None:
    """Raise unless the graph has two categories."""
    if graph.n_categories != 2:
        raise UsageError(
            f"{name} is for two categories, the graph has {graph.n_categories}.",
            hint="SmoothCategorical takes any",
        )


def flip_matrices(flips: np.ndarray, whole: int = WHOLE) -> np.ndarray:
    """Return the matrices of flipping probabilities, one for each profile, in units of 1 / ``whole``."""
    kept = whole - flips
    return np.stack([np.stack([kept, flips], axis=-1), np.stack([flips, kept], axis=-1)], axis=-2)


@dataclass(frozen=True, eq=False, repr=False)
class FittedMechanism:
    """A mechanism that is ready to perturb observations: on this machine, or on a device that carries its file.

    Parameters
    ----------
    graph
        The profiles and edges it is for.
    epsilon
        What it promises on every edge.
    method
        Which mechanism it is.
    table
        Integers by profile, observed and reported category; each row sums to 2^62.
    settings
        What was chosen besides.

    Privacy
    -------
    For every edge between profiles i and j and every report y,

        P(report y | profile i) <= e^epsilon P(report y | profile j),

    over both what i and j observe and what the mechanism draws (definition 25). Someone who knows all distributions,
    but nothing else about the observation, learns hardly anything from *one* report about which end of an edge it comes
    from. Observations themselves are not hidden, nor are profiles that no edge joins, and the promise is only as good
    as the distributions: if people do not behave like their profiles, it says nothing. Several reports add up, and not
    always: see :mod:`discreet.profiles.composition`.

    The bound is checked in integers for every edge and output, against a rational that is at most e^epsilon, whenever
    such an object is made: by ``fit``, from a file, by hand, or as a copy. Beyond epsilon = 64 it is the stronger one
    of 64.
    """

    graph: ProfileGraph
    epsilon: Fraction
    method: str
    table: np.ndarray
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        epsilon = read_epsilon(self.epsilon)
        # whichever way a table was made, this is the proof that it honors the edges
        fill(self, epsilon=epsilon, table=checked(self.graph, self.table, epsilon))
        # the name of randomized response promises more: that the observation is hidden too
        if self.method in ("randomized_response", "k_randomized_response") and not self.hides_observations:
            raise UsageError("the matrices are not those of randomized response.")

    def __reduce__(self) -> tuple[Any, ...]:
        # copies and pickles go through the check as well
        return type(self), (self.graph, self.epsilon, self.method, self.table, dict(self.settings))

    # -- private: what a person observed goes in ------------------------------------------------------

    def privatize(self, value: Any, profile: Any) -> Name:
        """Return a report in place of one observation.

        It is drawn anew in every call: do it once, because two reports of one observation promise nothing together.

        Parameters
        ----------
        value
            What was observed, a category.
        profile
            The person's profile.
        """
        return self.privatize_many([value], [profile])[0]

    def privatize_many(
        self, values: Any, profiles: Any, *, unknown: Literal["refuse", "impute"] = "refuse"
    ) -> Any:
        """Return a report for each of many observations, independently, in the same order.

        Parameters
        ----------
        values
            Observed categories: a list, an array or a column.
        profiles
            The profile behind each of them, or one for all.
        unknown
            What becomes of a value that is none of the categories, or a profile that is none of the graph's. Where one
            device reports, ``"refuse"``. Where one file holds many people, ``"impute"``, so that no record decides
            whether others are reported: an unknown value is drawn from its profile's distribution, and if the profile
            is unknown, that is drawn first, each as likely as the others.

        Privacy
        -------
        The report of an imputed value has exactly the distribution of its profile's reports, so the bound on every edge
        holds whoever's values are unknown. That of an unknown profile depends on nothing in the record.
        """
        from discreet.profiles.perturbation import draw, impute

        refuse = one_of(unknown, "unknown", ("refuse", "impute")) == "refuse"
        x = self._positions(
            values, self._values, "an observation is none of the categories" if refuse else None
        )
        if isinstance(profiles, str | int | np.integer):
            i = np.full(len(x), self.graph.position(profiles))
        else:
            i = self._positions(
                profiles, self.graph._positions, "a profile is none of the graph's" if refuse else None
            )
        if len(i) != len(x):
            raise UsageError(f"there are {len(x)} values but {len(i)} profiles.")
        return self._labels[draw(self.table, *impute(self.graph.weights, i, x))]

    @cached_property
    def _values(self) -> dict[Any, int]:
        return {label: x for x, label in enumerate(self.graph.categories)}

    @cached_property
    def _labels(self) -> np.ndarray:
        mixed = len({type(label) for label in self.graph.categories}) > 1
        return np.array(self.graph.categories, dtype=object if mixed else None)

    @staticmethod
    def _positions(given: Any, known: dict[Any, int], problem: str | None) -> np.ndarray:
        """Look names up; the error repeats none, because they are somebody's. Without a problem, unknown is -1."""
        names = _listed(given)
        found = None if names is None else [known.get(plain_value(name), -1) for name in names]
        if found is None or (problem is not None and -1 in found):
            raise UsageError(f"{problem or 'there must be a list of names'}.", hint=listed(list(known)))
        return np.array(found, dtype=np.int64)

    # -- public: what everybody may know --------------------------------------------------------------

    @property
    def matrices(self) -> np.ndarray:
        """The matrices as floats, by profile, observed and reported category."""
        return self.table / WHOLE

    @property
    def outputs(self) -> np.ndarray:
        """The distribution of each profile's reports, as floats, one row for each profile."""
        return self._outputs

    @cached_property
    def _outputs(self) -> np.ndarray:
        exact = Outputs.of(self.graph, self.table)
        return np.array(
            [[n / whole for n in row] for row, whole in zip(exact.numerators, exact.wholes, strict=True)]
        )

    def matrix(self, profile: Any) -> np.ndarray:
        """Return the probability of each report (column) for each observation (row) of a profile."""
        return self.matrices[self.graph.position(profile)].copy()

    def output(self, profile: Any) -> np.ndarray:
        """Return the probability of each report of a profile."""
        return self.outputs[self.graph.position(profile)].copy()

    @property
    def flips(self) -> np.ndarray:
        """For two categories: the larger probability of reporting the other one, for each profile."""
        check_one_bit(self.graph, "a flipping probability")
        return np.maximum(self.matrices[:, 0, 1], self.matrices[:, 1, 0])

    @property
    def largest_corruption(self) -> float:
        """The largest probability of any wrong report, over profiles, observations and reports."""
        return float((self.matrices * (1 - np.eye(self.graph.n_categories))).max())

    @property
    def corruption(self) -> np.ndarray:
        """For each profile, the probability that a report is not what was observed."""
        # a sum over wrong reports, not 1 minus that over right ones, so that none is exactly 0
        wrong = self.matrices * (1 - np.eye(self.graph.n_categories))
        return np.einsum("ix,ixy->i", self.graph.probabilities, wrong)

    @property
    def costs(self) -> np.ndarray:
        """For each category, how far reports move its probability, in the worst profile (equation 7.9)."""
        return np.abs(self.graph.probabilities - self.outputs).max(axis=0)

    @property
    def information(self) -> np.ndarray:
        """For each profile, what a report says about the observation: their mutual information, in nats."""
        joint = self.graph.probabilities[:, :, None] * self.matrices
        apart = self.graph.probabilities[:, :, None] * self.outputs[:, None, :]
        ratio = np.divide(joint, apart, out=np.ones_like(joint), where=joint > 0)
        return np.maximum((joint * np.log(ratio)).sum(axis=(1, 2)), 0.0)

    @cached_property
    def achieved(self) -> float:
        """The smallest epsilon that the graph's worst edge honors, rounded up; at most ``epsilon``."""
        return min(self.audit().epsilon, float(self.epsilon))

    def audit(self, graph: ProfileGraph | None = None) -> Audit:
        """Measure every edge of the mechanism's graph, or of another one with the same profiles."""
        from discreet.profiles.auditing import audit

        return audit(self, graph)

    @property
    def hides_observations(self) -> bool:
        """Whether reports hide the observation itself: local differential privacy with the same epsilon, exactly."""
        return hides_observations(self.table, growth_of(self.epsilon))

    @property
    def guarantee(self) -> ProfileGuarantee:
        """What one report promises."""
        from discreet.profiles.composition import ProfileGuarantee

        return ProfileGuarantee.of(self.graph, self.epsilon)

    def statement(self) -> str:
        """Return the promise in plain words."""
        from discreet.profiles.statement import statement

        return statement(self)

    def save(self, path: FilePath) -> None:
        """Write the mechanism to a JSON file, whole or not at all."""
        from discreet.profiles.codec import mechanism_to_json
        from discreet.profiles.graph_file import save_json

        save_json(mechanism_to_json(self), path)

    @classmethod
    def load(cls, path: FilePath) -> FittedMechanism:
        """Read a mechanism from a JSON file, and check its guarantee again in exact arithmetic."""
        from discreet.profiles.codec import load_mechanism

        return load_mechanism(path)

    def __repr__(self) -> str:
        g = self.graph
        return (
            f"<{self.method} for {g.n_profiles} profiles over {g.n_categories} categories, "
            f"epsilon = {plain(self.epsilon)}>"
        )


@forgiving
def _listed(given: Any) -> list[Any] | None:
    """Return the entries of a list, an array or a column; ``None`` for one name alone, or what cannot be listed."""
    found = list(given) if isinstance(given, list | tuple) else np.asarray(given).tolist()
    return found if isinstance(found, list) else None
