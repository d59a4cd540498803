"""The analyst's side: who reports, and what they observe, from reports and the public mechanism.

A report is drawn from a mixture of known distributions. Over *profiles* the components are what each profile's reports
look like; over *observations* they are the rows of one matrix. Both have the same likelihood, of the counts of reports
alone, and a Dirichlet prior, so one sampler serves both; its cost does not grow with the number of reports.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol

import numpy as np

from discreet.arguments import MOST_DRAWS, Rng, generator, listed, numbers, one_of, whole
from discreet.errors import UsageError
from discreet.inference.diagnostics import Diagnostics
from discreet.inference.posterior import Posterior
from discreet.priors import Dirichlet, parse
from discreet.profiles.graph import ProfileGraph

Engine = Literal["slice", "naive"]
_WARMUP = 200
_NAIVE = "the perturbation of the reports is ignored: for comparison only."


class Known(Protocol):
    """What an analyst has to know about a mechanism; a fitted mechanism is that."""

    @property
    def graph(self) -> ProfileGraph:
        """Profiles and edges."""
        ...

    @property
    def matrices(self) -> np.ndarray:
        """Matrix by profile, observed and reported category."""
        ...

    @property
    def outputs(self) -> np.ndarray:
        """Distribution of reports by profile."""
        ...


def infer_mix(
    reports: Iterable[Any] | Mapping[Any, int],
    mechanism: Known,
    *,
    prior: Dirichlet | Sequence[float] | str | None = None,
    engine: Engine = "slice",
    draws: int = 4000,
    chains: int = 4,
    rng: Rng = None,
) -> Posterior:
    """Return the posterior of the mix of profiles behind reports, and of what these people observe.

    Each report is of a person whose profile is drawn from an unknown mix, and whose observation is drawn from the
    profile.

    Parameters
    ----------
    reports
        The reports, or how many there are of each category.
    mechanism
        The mechanism that made them.
    prior
        Dirichlet prior on the mix, one number for each profile; flat by default.
    engine
        ``"slice"`` knows what the mechanism does. ``"naive"`` takes reports for observations, to compare against.
    draws, chains
        Total number of draws, and how many chains they come from.
    rng
        A seed or a generator.

    Returns
    -------
    Posterior
        With draws of ``mix``, the share of each profile; of ``frequency``, the share of each category among
        observations of such a mix; and of ``observed``, the share among the observations behind these very reports.

    Notes
    -----
    Profiles that an edge joins are hard to tell apart by design: their shares stay near the prior until there are many
    more than 1/epsilon^2 reports. That many do tell the mix, which no edge hides: an edge is about one person's report.
    Frequencies are often sharper than the mix.
    """
    graph = _known(mechanism).graph
    counts = _counts(reports, graph)
    alpha = _prior(prior, graph.n_profiles, "profile")
    components = mechanism.outputs if _checked(engine) == "slice" else graph.probabilities
    source = generator(rng)
    mix = _sample(counts, components, alpha, draws, chains, source)
    matrices = mechanism.matrices
    if engine == "naive":
        matrices = np.broadcast_to(np.eye(graph.n_categories), matrices.shape)
    found = {
        "mix": mix,
        "frequency": mix @ graph.probabilities,
        "observed": _observed(counts, mix, graph.probabilities, matrices, source),
    }
    labels = {"mix": graph.profiles, "frequency": graph.categories, "observed": graph.categories}
    return _posterior(found, labels, engine, chains, f"mix of profiles behind {int(counts.sum()):,} reports")


def infer_frequencies(
    reports: Iterable[Any] | Mapping[Any, int],
    mechanism: Known,
    *,
    profile: Any = None,
    prior: Dirichlet | Sequence[float] | str | None = None,
    engine: Engine = "slice",
    draws: int = 4000,
    chains: int = 4,
    rng: Rng = None,
) -> Posterior:
    """Return the posterior of the shares of the categories among observations, whatever the profiles say.

    Only the matrix is used, not the distributions: for reports of people who may not behave like any profile. All
    reports must have gone through the same matrix: that of a known ``profile``, or of a mechanism that has one for all.

    Parameters
    ----------
    reports, mechanism, engine, draws, chains, rng
        As for :func:`infer_mix`.
    profile
        Whose matrix the reports went through; not needed if all matrices are alike, as in randomized response.
    prior
        Dirichlet prior on the shares, one number for each category; flat by default.

    Returns
    -------
    Posterior
        With draws of ``frequency``.
    """
    graph = _known(mechanism).graph
    counts = _counts(reports, graph)
    alpha = _prior(prior, graph.n_categories, "category")
    if profile is not None:
        matrix = mechanism.matrices[graph.position(profile)]
    elif np.array_equal(mechanism.matrices.min(axis=0), mechanism.matrices.max(axis=0)):
        matrix = mechanism.matrices[0]
    else:
        raise UsageError(
            "the mechanism has different matrices: name the profile behind the reports.",
            hint="if it is not known, infer_mix finds the mix of profiles",
        )
    components = matrix if _checked(engine) == "slice" else np.eye(graph.n_categories)
    found = _sample(counts, components, alpha, draws, chains, generator(rng))
    about = f"observations behind {int(counts.sum()):,} reports"
    return _posterior({"frequency": found}, {"frequency": graph.categories}, engine, chains, about)


def _checked(engine: str) -> str:
    return one_of(engine, "engine", ("slice", "naive"))


def _posterior(
    draws: dict[str, np.ndarray], labels: Mapping[str, Sequence[Any]], engine: str, chains: int, about: str
) -> Posterior:
    how = Diagnostics(
        engine,
        approximation="none" if engine == "slice" else "reports taken for observations",
        reason="Dirichlet prior, counts of reports",
        warnings=() if engine == "slice" else (_NAIVE,),
    )
    words = {name: tuple(map(str, names)) for name, names in labels.items()}
    return Posterior(draws, how, n_chains=chains, labels=words, about=about)


def _known(mechanism: Any) -> Any:
    if not isinstance(getattr(mechanism, "graph", None), ProfileGraph):
        raise UsageError(
            f"mechanism must be a fitted mechanism or its public part, got {type(mechanism).__name__:.40}."
        )
    return mechanism


def _counts(reports: Any, graph: ProfileGraph) -> np.ndarray:
    """Count reports of each category."""
    try:
        if isinstance(reports, Mapping):
            seen = dict(reports)
        else:
            items = reports.tolist() if isinstance(reports, np.ndarray) else reports
            seen = Counter(listed(items, "reports", "a list of reports, or their counts"))
        if not set(seen) <= set(graph.categories):
            raise UsageError("a report is none of the mechanism's categories.")
    except TypeError:  # what cannot be a key is no category
        raise UsageError("a report is none of the mechanism's categories.") from None
    counts = numbers([seen.get(label, 0) for label in graph.categories], "counts of reports", finite=False)
    if counts.ndim != 1 or not ((counts >= 0) & (counts == np.floor(counts)) & np.isfinite(counts)).all():
        raise UsageError("counts of reports must be whole numbers from 0 on.")
    return counts


def _prior(prior: Any, size: int, what: str) -> np.ndarray:
    if prior is None:
        return np.ones(size)
    read: Any = parse(prior) if isinstance(prior, str) else prior
    if not isinstance(read, Dirichlet):
        if isinstance(read, str | bytes) or not isinstance(read, Iterable):
            raise UsageError("prior must be a Dirichlet prior.", hint="dc.priors.Dirichlet([1, 1, 1])")
        read = Dirichlet(read)
    if len(read.alpha) != size:
        raise UsageError(f"the prior has {len(read.alpha)} numbers; it needs one for each {what}, {size}.")
    return np.array(read.alpha)


def _sample(
    counts: np.ndarray,
    components: np.ndarray,
    alpha: np.ndarray,
    draws: int,
    chains: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Draw mixture weights, chain after chain."""
    whole(draws, "draws", most=MOST_DRAWS)
    whole(chains, "chains")
    if draws < chains or draws % chains:
        raise UsageError(f"draws must be a multiple of chains, got draws={draws}, chains={chains}.")
    if len(alpha) == 1:
        return np.ones((draws, 1))
    # half a second to import
    from discreet.profiles.slices import run

    if not components[:, counts > 0].any(axis=0).all():
        raise UsageError("no profile can have given one of the reports.", hint="is this the right mechanism?")
    components = np.ascontiguousarray(components)
    axes = _axes(counts, components, alpha)
    out = []
    for _ in range(chains):
        start = rng.dirichlet(alpha)
        # inside, also where the prior has points that round to the border
        start = 0.999 * start + 0.001 / len(alpha)
        out.append(
            run(start, components, axes, axes @ components, alpha - 1, counts, _WARMUP, draws // chains, rng)
        )
    found = np.concatenate(out)
    return found / found.sum(axis=1, keepdims=True)


def _axes(counts: np.ndarray, components: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Return directions on the simplex along which the information in the counts is uncorrelated.

    The Fisher information of the weights is n Q diag(1/s) Q^T at the mixture s. Its eigenvectors within the plane of
    directions that sum to 0 are used, at the s that the counts suggest; any s would do, and cost only efficiency.
    """
    s = (counts + alpha @ components / alpha.sum()) / (counts.sum() + 1)
    scaled = components / np.sqrt(np.maximum(s, 1e-12))
    k = len(components)
    plane = np.linalg.svd(np.eye(k) - 1 / k)[0][:, : k - 1].T
    _, _, rotation = np.linalg.svd(plane @ scaled @ scaled.T @ plane.T)
    directions = rotation @ plane
    # sums of exactly 0, as far as floats go
    return np.ascontiguousarray(directions - directions.mean(axis=1, keepdims=True))


def _observed(
    counts: np.ndarray,
    mix: np.ndarray,
    probabilities: np.ndarray,
    matrices: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """Draw the shares of categories among the observations behind the reports."""
    n, d = counts.sum(), len(counts)
    if not n:
        return mix @ probabilities
    found = np.zeros((len(mix), d))
    joint = probabilities[:, :, None] * matrices
    for y in np.flatnonzero(counts):
        weight = mix @ joint[:, :, y]
        found += rng.multinomial(int(counts[y]), weight / weight.sum(axis=1, keepdims=True))
    return found / n
