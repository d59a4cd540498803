"""A release as the sampler reads it: cells, labels of all features side by side, and the distribution of the noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import gammaln

from discreet.artifact import Release
from discreet.inference.models.hidden_markov.noisy_cells import Noisy, SequenceCells
from discreet.inference.models.hidden_markov.start import read_totals
from discreet.inference.record_prior import RecordPrior, capped
from discreet.models.hidden_markov import HiddenMarkov

# A private number of entries is looked for within so many standard deviations of what the cells say.
_FAR = 12.0


def read_cells(release: Release, model: HiddenMarkov) -> SequenceCells:
    """Return the noisy counts, cells with a place first.

    Where missing values are counted, entries without a sequence or a time are in cells of their own, after the others,
    and every feature has one more label. Cells that the model holds out are not observed.
    """
    values = np.array(release.totals.values, dtype=float)
    parts, begin = [], 0
    for table in model.tables():
        shape = table.shape(release.domain.missing)
        size = int(np.prod(shape))
        # a single sequence has no column of its own
        parts.append(values[begin : begin + size].reshape(-1, *shape[-2:]))
        begin += size
    n_chains, n_times = model.n_sequences, model.time.n_labels
    placed = np.zeros(parts[0].shape[:2], dtype=bool)
    placed[:n_chains, :n_times] = True
    flat = np.concatenate([np.concatenate([part[placed], part[~placed]]) for part in parts], axis=1)
    observed = np.ones((n_chains, n_times), dtype=bool)
    for cell in model.held_out:
        observed[cell] = False
    return SequenceCells(flat, tuple(part.shape[2] for part in parts), n_chains, n_times, observed=observed)


def read_noise(release: Release, cells: SequenceCells, records: RecordPrior) -> Noisy:
    """Return the distribution of the noise on each label, and what is known of the number of entries."""
    widths = [release.noise[begin * len(cells.values)].width for begin in cells.starts[:-1]]
    noisy = Noisy(np.repeat(widths, cells.sizes), release.noise[0].kind == "gaussian")
    if release.records is None:
        return with_private_total(noisy, cells, records)
    n_hidden = int((~cells.observed).sum())
    if n_hidden:
        return with_hidden_cells(noisy, cells, release.records, n_hidden)
    return replace(noisy, n_entries=release.records)


def with_hidden_cells(noisy: Noisy, cells: SequenceCells, n_entries: int, n_hidden: int) -> Noisy:
    """Return the same noise where some of a public number of entries are in cells that are not read.

    All ways to share entries out over all cells are equally likely, so m entries in the observed ones weigh as many
    ways as the others have for the rest, C(n - m + hidden - 1, hidden - 1).
    """
    low, high = _within_reach(cells, noisy)
    low, high = min(low, n_entries), min(high, n_entries)
    rest = n_entries - np.arange(low, high + 1)
    ways = gammaln(rest + n_hidden) - gammaln(rest + 1.0) - gammaln(n_hidden)
    return replace(noisy, log_prior=ways, low=low)


def with_private_total(noisy: Noisy, cells: SequenceCells, records: RecordPrior) -> Noisy:
    """Return the same noise with a prior on the number of all entries: the analyst's, cut to what the cells allow.

    Given their number, all ways to share entries out over the cells are equally likely, so a number n weighs its prior
    over the number of ways, C(n + cells - 1, cells - 1).
    """
    low, high = _within_reach(cells, noisy)
    low = max(records.low, low)
    high = capped(records, max(high, low))
    if high < low:  # the prior contradicts the cells: it is used as given
        low = records.low
    n = np.arange(low, high + 1)
    n_cells = int(cells.observed.sum())
    ways = gammaln(n + n_cells) - gammaln(n + 1.0) - gammaln(n_cells)
    return replace(noisy, log_prior=records.log_mass(n) - ways, low=low)


def _within_reach(cells: SequenceCells, noisy: Noisy) -> tuple[int, int]:
    """Return between which numbers of entries the observed cells can have, by what they say."""
    read, sd = read_totals(cells, noisy)
    # cells below zero count as they are: the sum of all readings is unbiased, that of the positive ones is not
    middle, reach = max(float(read.sum()), 0.0), _FAR * sd * np.sqrt(len(read)) + 10
    return max(int(middle - reach), 0), int(middle + reach)
