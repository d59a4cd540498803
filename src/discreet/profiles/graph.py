"""Profiles, and which of them must not be told apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import lcm
from typing import Any

import numpy as np

from discreet.arguments import FilePath, fill
from discreet.arguments import listed as read_list
from discreet.errors import UsageError
from discreet.extras import needed_for
from discreet.objects import plain_value
from discreet.profiles.given import (
    Distribution,
    Edges,
    Name,
    listed,
    ordered,
    read_categories,
    read_distribution,
    read_edges,
    read_names,
    smoothed,
)
from discreet.rational import Number


@dataclass(frozen=True, init=False, repr=False)
class ProfileGraph:
    """Known distributions over the same categories, and edges between those that must stay confusable.

    A person has one profile, and what they observe is drawn from its distribution. Both are their own; the
    distributions, the names and the edges are public. An edge promises that a report hardly helps to tell its two
    ends apart; profiles that no edge joins may become known.

    Parameters
    ----------
    profiles
        Distribution by name: probabilities in the order of the categories, a mapping from category to probability,
        or one number p for a Bernoulli distribution, P(1) = p. Probabilities are made exact, see
        :func:`~discreet.profiles.given.read_distribution`.
    edges
        Pairs of names; or ``"complete"``: every pair; or ``"chain"``: each profile with the next.
    categories
        Names of the categories; by default those of the mappings, (0, 1) for Bernoulli distributions, and otherwise
        0, 1, 2, ...

    Examples
    --------
    >>> graph = ProfileGraph({"ana": 0.2, "ben": 0.3, "eva": 0.8}, [("ana", "ben")])
    >>> graph
    <ProfileGraph of 3 profiles over 2 categories, 1 edge>
    >>> graph.components
    ((0, 1), (2,))

    References
    ----------
    Geumlek (2020), definition 25: a graph of data generating profiles and sensitive pairs of them.
    """

    profiles: tuple[Name, ...]
    categories: tuple[Name, ...]
    #: One row of exact probabilities for each profile.
    distributions: tuple[tuple[Fraction, ...], ...]
    #: Pairs of positions in ``profiles``, each once, the smaller first.
    edges: tuple[tuple[int, int], ...] = ()

    def __init__(
        self,
        profiles: Mapping[Any, Distribution],
        edges: Edges = (),
        *,
        categories: Iterable[Any] | None = None,
    ) -> None:
        if not isinstance(profiles, Mapping):
            raise UsageError(
                "profiles must map names to distributions.", hint="ProfileGraph.from_frame reads a data frame"
            )
        if not profiles:
            raise UsageError("a graph needs at least one profile.")
        names = read_names(profiles, "profile")
        labels = read_categories(
            profiles, None if categories is None else tuple(read_list(categories, "categories", "a list"))
        )
        rows = tuple(
            read_distribution(ordered(given, labels, name), f"profile {name!r}")
            for name, given in zip(names, profiles.values(), strict=True)
        )
        fill(self, profiles=names, categories=labels, distributions=rows, edges=read_edges(names, edges))

    # -- other ways to make one -----------------------------------------------------------------------

    @classmethod
    def complete(cls, profiles: Mapping[Any, Distribution], **options: Any) -> ProfileGraph:
        """Return the graph in which no two profiles may be told apart."""
        return cls(profiles, "complete", **options)

    @classmethod
    def chain(cls, profiles: Mapping[Any, Distribution], **options: Any) -> ProfileGraph:
        """Return the graph that joins each profile with the next."""
        return cls(profiles, "chain", **options)

    @classmethod
    def clusters(
        cls, profiles: Mapping[Any, Distribution], groups: Mapping[Any, Any], **options: Any
    ) -> ProfileGraph:
        """Return the graph that joins all profiles of one group: who it is stays hidden, the group does not.

        Parameters
        ----------
        profiles, options
            As for the graph itself.
        groups
            Group by name of the profile, such as the role of each user.
        """
        if set(groups) != set(profiles):
            raise UsageError("groups must name every profile once, and nothing else.")
        return cls(
            profiles, [(a, b) for a, b in combinations(profiles, 2) if groups[a] == groups[b]], **options
        )

    @classmethod
    def from_frame(cls, frame: Any, edges: Edges = (), *, profile: str = "profile") -> ProfileGraph:
        """Read a data frame (pandas, Polars, PyArrow …) with one row for each profile and one column for each category.

        Parameters
        ----------
        frame
            The table; its column ``profile`` holds the names, all others probabilities.
        edges
            As for :class:`~discreet.profiles.ProfileGraph`.
        profile
            Name of the column with the names.
        """
        columns = _columns(frame)
        names = _column(columns, profile)
        labels = [label for label in columns if label != profile]
        rows = zip(*(columns[label] for label in labels), strict=True)
        table = dict(zip(names, (list(row) for row in rows), strict=False))
        if len(table) != len(names):
            raise UsageError("two rows of the frame have the same profile.")
        return cls(table, edges, categories=labels)

    @classmethod
    def from_networkx(cls, graph: Any, attribute: str = "distribution") -> ProfileGraph:
        """Read a networkx graph whose nodes have a distribution each, in ``attribute``."""
        try:
            nodes = {name: facts[attribute] for name, facts in graph.nodes(data=True)}
            joined = [(a, b) for a, b, *_ in graph.edges]
        except KeyError:
            raise UsageError(
                f"every node needs an attribute {attribute!r}.", hint="graph.add_node(name, distribution=[…])"
            ) from None
        except (AttributeError, TypeError, ValueError):
            raise UsageError("this is not a networkx graph.") from None
        return cls(nodes, joined)

    @classmethod
    def estimate(
        cls,
        observations: Any,
        edges: Edges = (),
        *,
        categories: Iterable[Any] | None = None,
        smoothing: Number = 1,
        profile: str = "profile",
        value: str = "value",
    ) -> ProfileGraph:
        """Estimate profiles from public observations, with ``smoothing`` added to every count.

        The profiles are published and nothing hides what they were estimated from: the observations must be public, or
        those of people who agreed. What the graph protects later are other observations.

        Parameters
        ----------
        observations
            A mapping from profile to its observed values, or a data frame with one row for each observation.
        edges
            As for :class:`~discreet.profiles.ProfileGraph`.
        categories
            All values that can occur; by default those that did, sorted.
        smoothing
            Added to the count of every category: 1 is the mean under a flat prior, 0 the plain share, which calls
            impossible what was not seen.
        profile, value
            Names of the frame's columns.
        """
        if isinstance(observations, Mapping):
            seen = {name: Counter(map(plain_value, values)) for name, values in observations.items()}
        else:
            columns = _columns(observations)
            seen = {}
            for name, one in zip(_column(columns, profile), _column(columns, value), strict=True):
                seen.setdefault(name, Counter())[plain_value(one)] += 1
        known = sorted({label for counts in seen.values() for label in counts}, key=str)
        labels = known if categories is None else list(map(plain_value, categories))
        if not set(known) <= set(labels):
            raise UsageError("an observation is none of the categories.")
        table = {
            name: smoothed([counts[label] for label in labels], smoothing) for name, counts in seen.items()
        }
        return cls(table, edges, categories=labels)

    @classmethod
    def load(cls, path: FilePath) -> ProfileGraph:
        """Read a graph from a JSON file."""
        from discreet.profiles.graph_file import graph_from_json, load_json

        return graph_from_json(load_json(path))

    def save(self, path: FilePath) -> None:
        """Write the graph to a JSON file, whole or not at all."""
        from discreet.profiles.graph_file import graph_to_json, save_json

        save_json(graph_to_json(self), path)

    # -- what others need to know ---------------------------------------------------------------------

    @property
    def n_profiles(self) -> int:
        """Number of profiles."""
        return len(self.profiles)

    @property
    def n_categories(self) -> int:
        """Number of categories."""
        return len(self.categories)

    @cached_property
    def probabilities(self) -> np.ndarray:
        """The distributions as floats, one row for each profile."""
        return np.array([[float(p) for p in row] for row in self.distributions])

    @cached_property
    def weights(self) -> tuple[tuple[np.ndarray, int], ...]:
        """Each distribution as integers (of any size) and the integer that they sum to."""
        out = []
        for row in self.distributions:
            common = lcm(*(p.denominator for p in row))
            out.append((np.array([int(p * common) for p in row], dtype=object), common))
        return tuple(out)

    @cached_property
    def components(self) -> tuple[tuple[int, ...], ...]:
        """Positions of the profiles that edges connect, directly or through others; singles too."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        ends = np.array(self.edges, dtype=int).reshape(-1, 2).T
        joined = csr_array((np.ones(len(self.edges)), tuple(ends)), shape=(self.n_profiles, self.n_profiles))
        n, group = connected_components(joined, directed=False)
        return tuple(tuple(np.flatnonzero(group == at).tolist()) for at in range(n))

    def subgraph(self, positions: Sequence[int]) -> ProfileGraph:
        """Return some of the profiles, and the edges between them."""
        kept = set(positions)
        return ProfileGraph(
            {self.profiles[i]: self.distributions[i] for i in positions},
            [(self.profiles[i], self.profiles[j]) for i, j in self.edges if i in kept and j in kept],
            categories=self.categories,
        )

    def position(self, profile: Any) -> int:
        """Return the position of a profile; the error does not repeat the name, which may be a secret."""
        found = self._positions.get(plain_value(profile))
        if found is None:
            raise UsageError(
                f"the profile is none of the graph's {self.n_profiles}.", hint=listed(self.profiles)
            )
        return found

    @cached_property
    def _positions(self) -> dict[Any, int]:
        return {name: i for i, name in enumerate(self.profiles)}

    def __repr__(self) -> str:
        n = len(self.edges)
        return (
            f"<ProfileGraph of {self.n_profiles} profile{'s' if self.n_profiles > 1 else ''} over "
            f"{self.n_categories} categories, {n} edge{'' if n == 1 else 's'}>"
        )


def _columns(frame: Any) -> dict[str, list[Any]]:
    """Return the columns of any data frame."""
    with needed_for("reading a data frame"):
        import narwhals as nw

    try:
        read = nw.from_native(frame, eager_only=True)
    except TypeError:
        raise UsageError("this is neither a mapping nor a data frame.") from None
    return {name: read[name].to_list() for name in read.columns}


def _column(columns: dict[str, list[Any]], name: str) -> list[Any]:
    if name not in columns:
        raise UsageError(f"the frame has no column {name!r}.")
    return columns[name]
