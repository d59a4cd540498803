r"""The greedy adversary: who chooses the records so that one more of them shows as much as possible.

A guarantee is about the worst pair of neighboring tables. For a table at hand the log-ratio of the two posteriors is
often much smaller, and one might hope that more records make it smaller still. They need not: the adversary of Foulds
et al. adds records one by one, each so that the next one can be seen best, and brings the *data-set-specific* epsilon
to the worst case, however many records there are.

With one statistic z in [-1, 1] the posterior is proportional to base(theta) exp((slope(theta) F + n level(theta)) / T)
with F the sum of z. Replacing a record z by z' changes the log-density at theta by an integral, over sums from F + z to
F + z', of slope(theta) minus the posterior mean of the slope. At the largest slope the integrand is never negative, at
the smallest never positive: so the log-ratio is largest for z and z' at the two ends, and at the largest or the
smallest slope. The mean of the slope grows with F: so the best record to add is one of the two ends as well. Nothing
has to be searched.

References
----------
Foulds, Geumlek, Welling and Chaudhuri (2016), On the theory and practice of privacy-preserving Bayesian data analysis,
supplement A and figure 1. Wang, Fienberg and Smola (2015), Privacy for free.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arguments import FilePath, whole
from discreet.errors import UsageError
from discreet.families import Family
from discreet.inference.summary import aligned
from discreet.mechanisms import PosteriorSampling
from discreet.validation.draw_counts import up_to
from discreet.validation.sampled_distribution import PosteriorDistribution

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_RECORDS = 1_000_000
# Epsilons that are closer than this are equal but for rounding.
_TIE = 1e-9


@dataclass(frozen=True, eq=False)
class NextRecord:
    """What one more record can show about itself, after those that are there already."""

    distribution: PosteriorDistribution

    def epsilon(self, total: float, n_records: int) -> float:
        """Return the largest log-ratio between posteriors that differ in one record besides ``n_records`` others.

        ``total`` is the sum of their mapped statistics z. This is no guarantee: it depends on the other records, and is
        as private as they are.
        """
        (slopes, level), base = self.distribution.grid.tables, self.distribution.grid.log_base
        slope, t = slopes[:, 0], float(self.distribution.temperature)
        log_f = base + (slope * total + (n_records + 1) * level) / t
        low, high = (np.logaddexp.reduce(log_f + z * slope / t) for z in (-1.0, 1.0))
        # log-density with z' = 1 minus that with z = -1, at the ends
        shift = high - low
        return float(max(2 * slope.max() / t - shift, shift - 2 * slope.min() / t))


@dataclass(frozen=True, eq=False, repr=False)
class GreedyPath:
    """How the data-set-specific epsilon of one draw grows as an adversary adds records.

    Parameters
    ----------
    n_records
        Sizes of the tables: the records so far, and the one that is replaced.
    epsilon
        The largest log-ratio between the two posteriors, for each size.
    worst
        The worst case over all tables: the range of the log-likelihood over the temperature.
    claim
        What the mechanism promises for one draw.
    added
        The statistic of each record that the adversary added.
    replaced
        The two statistics between which the last record is replaced.
    about
        What is drawn.
    """

    n_records: np.ndarray
    epsilon: np.ndarray
    worst: float
    claim: float
    added: np.ndarray
    replaced: tuple[float, float]
    about: str

    @property
    def share(self) -> float:
        """How much of the worst case the adversary reached."""
        return float(self.epsilon.max()) / self.worst

    @property
    def verdict(self) -> str:
        """What happened, in a sentence."""
        values, counts = np.unique(self.added, return_counts=True)
        kinds = [f"{n:,} with statistic {value:g}" for value, n in zip(values, counts, strict=True)]
        chosen = f"; the others: {' and '.join(kinds)}" if kinds else ""
        reached = f"epsilon {self.epsilon[-1]:.4g} of at most {self.worst:.4g}"
        return f"{reached} when one of {self.n_records[-1]:,} records is replaced{chosen}."

    def summary(self) -> str:
        """Return a table with a few of the sizes, and the verdict below."""
        shown = up_to(int(self.n_records[-1]))
        cells = [["records", "epsilon", "worst case"]]
        cells += [[f"{n:,}", f"{self.epsilon[n - 1]:.4f}", f"{self.worst:.4f}"] for n in shown]
        return "\n".join([self.about, "", *aligned(cells), "", self.verdict])

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and strings."""
        return {
            "about": self.about,
            "n_records": self.n_records.tolist(),
            "epsilon": self.epsilon.tolist(),
            "worst": self.worst,
            "claim": self.claim,
            "added": self.added.tolist(),
            "replaced": list(self.replaced),
        }

    def plot(self, path: FilePath | None = None, **options: Any) -> Figure:
        """Draw epsilon over the number of records, below the worst case; also to ``path`` if one is given.

        ``options`` go to :func:`discreet.reporting.plot_adversary`.
        """
        from discreet.reporting import plot_adversary

        notes = options.pop("notes", [self.about, self.verdict])
        return plot_adversary(self.n_records, self.epsilon, self.worst, path=path, notes=notes, **options)

    def __repr__(self) -> str:
        return self.summary()


def adversary(
    model: Family,
    *,
    mechanism: PosteriorSampling,
    bounds: Any = None,
    records: int = 200,
) -> GreedyPath:
    """Let an adversary choose the records, one by one, so that a posterior draw gives one of them away.

    At each size the data-set-specific epsilon of one draw is computed: the largest log-ratio, over all parameters and
    all pairs x, x', between the posteriors of the records so far with x and with x'. Then the record is added that
    makes the next one largest. The path ends close to the worst case that the guarantee is about, if the bounds allow
    tables whose posterior is pressed against an end of the support.

    Parameters
    ----------
    model
        A family with one parameter, such as ``dc.Bernoulli()``.
    mechanism
        A :class:`PosteriorSampling`: prior, support and budget. With an epsilon as large as the range or
        larger, draws come from the posterior itself, as in the paper.
    bounds
        As in :func:`release`.
    records
        The largest table.

    Returns
    -------
    GreedyPath
        Whose ``summary()`` is a table and ``plot()`` the picture.

    Privacy
    -------
    No data are read. The epsilon of a single table is *not* a guarantee and cannot be published in place of one: it
    depends on the records that it is to protect. What a release promises is the worst case.

    References
    ----------
    Foulds et al. (2016), supplement A.
    """
    distribution = PosteriorDistribution.of(model, mechanism, bounds)
    if distribution.grid.tables[0].shape[1] != 1:
        raise UsageError(f"the adversary is for one parameter, and {model.name} has two.")
    records = whole(records, "records", most=_MOST_RECORDS)
    shift, half = model.affine_map(distribution.grid.domain)
    assert shift is not None
    assert half is not None
    ends = tuple(float(shift[0] + z * half[0]) for z in (-1, 1))
    cost = NextRecord(distribution)
    total, epsilons, added = 0, [cost.epsilon(0, 0)], []
    for n in range(1, records):
        options = {z: cost.epsilon(total + z, n) for z in (-1, 1)}
        # of two that are equal but for rounding, the larger statistic
        z = -1 if options[-1] > options[1] + _TIE else 1
        total += z
        epsilons.append(options[z])
        added.append(ends[0] if z < 0 else ends[1])
    return GreedyPath(
        np.arange(1, records + 1),
        np.array(epsilons),
        distribution.span,
        float(mechanism.epsilon / mechanism.samples),
        np.array(added),
        (ends[0], ends[1]),
        distribution.describe(),
    )
