"""Equation 48, as printed and corrected, against writing down all paths; and what the noise of supplement E.1 is."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
from common.claim import Claim, Panel

import discreet as dc
from discreet.curator.publish import release_with

from .generate import Theatre
from .prepare import model_of

_STATES, _STEPS, _ALPHA = 2, 4, 1.0


def updates(theatre: Theatre, rng: np.random.Generator) -> Panel:
    """Check the collapsed update and the scale of the noise."""
    log_emission = rng.normal(0, 1, (_STEPS, _STATES))
    right, wrong = _worst(collapsed_distribution, log_emission), _worst(_printed, log_emission)
    model = model_of(theatre, 2)
    columns = {
        name: [column.labels[0]] for name, column in zip(model.column_names, model.columns, strict=True)
    }
    release = release_with(lambda distribution: 0, columns, model, dc.mechanisms.Laplace(5))  # pyright: ignore
    scale, n_features = float(release.noise_record.scale[0]), len(model.features)
    return Panel(
        "updates",
        {"corrected": right, "printed": wrong, "scale": scale},
        [
            Claim(
                "equation 48",
                "the collapsed update is the conditional distribution, with the count of the new state in its second "
                "denominator (and of the state before, as printed, it is not)",
                right < 1e-10 and wrong > 0.05,
                f"largest error over all paths of 4 steps: {right:.0e} corrected, {wrong:.2f} as printed",
            ),
            Claim(
                "supplement E.1",
                "noise of scale 2/epsilon_d on each feature's counts, wherever a changed record moves to",
                abs(scale - 2 / (5 / n_features)) < 1e-12 and release.layout.l1_sensitivity == 2 * n_features,
                f"scale {scale:g} at epsilon = 5, that is 1 for each of {n_features} features; "
                f"joint sensitivity {release.layout.l1_sensitivity}",
            ),
        ],
    )


def collapsed_distribution(
    n: np.ndarray, alpha: float, before: int, after: int, log_emission: np.ndarray, out: np.ndarray
) -> None:
    r"""Fill ``out`` with the distribution of one state given all others, transition probabilities integrated out.

    With n the transition counts without the two at this place, j the state before and l the one after,

        P(z = k)  ~  (n[j, k] + alpha) (n[k, l] + 1[j = k = l] + alpha) / (n[k, .] + 1[j = k] + K alpha)  p(x | k);

    ``after`` is -1 at the end of a sequence, which drops the second factor. Equation 48 of Foulds et al. (2016) prints
    the count of the state *before* in the second denominator, and without the indicator: a wrong distribution.
    """
    n_states = out.size
    top = -np.inf
    for k in range(n_states):
        weight = math.log(n[before, k] + alpha) + log_emission[k]
        if after >= 0:
            total = n_states * alpha
            for other in range(n_states):
                total += n[k, other]
            same = 1.0 if before == k else 0.0
            both = same if k == after else 0.0
            weight += math.log((n[k, after] + both + alpha) / (total + same))
        out[k] = weight
        top = max(top, weight)
    whole = 0.0
    for k in range(n_states):
        out[k] = math.exp(out[k] - top)
        whole += out[k]
    for k in range(n_states):
        out[k] /= whole


def _worst(distribution: object, log_emission: np.ndarray) -> float:
    """Return the largest error of a conditional distribution over all paths and places."""
    joint = {path: _log_path(path, log_emission) for path in product(range(_STATES), repeat=_STEPS)}
    worst = 0.0
    for path in joint:
        for place in range(_STEPS):
            others = [joint[(*path[:place], k, *path[place + 1 :])] for k in range(_STATES)]
            exact = np.exp(np.array(others) - max(others))
            counts = np.zeros((_STATES + 1, _STATES))
            for t, state in enumerate(path):
                if t not in (place, place + 1):
                    counts[path[t - 1] if t else _STATES, state] += 1
            before = path[place - 1] if place else _STATES
            after = path[place + 1] if place + 1 < _STEPS else -1
            found = np.empty(_STATES)
            distribution(counts, _ALPHA, before, after, log_emission[place], found)  # pyright: ignore
            worst = max(worst, float(np.abs(found - exact / exact.sum()).max()))
    return worst


def _log_path(path: tuple[int, ...], log_emission: np.ndarray) -> float:
    """Return the log-probability of path and entries, transition probabilities integrated out."""
    counts = np.zeros((_STATES + 1, _STATES))
    total = 0.0
    for t, state in enumerate(path):
        counts[path[t - 1] if t else _STATES, state] += 1
        total += float(log_emission[t, state])
    for row in counts:
        total += sum(math.lgamma(c + _ALPHA) for c in row) - math.lgamma(row.sum() + _STATES * _ALPHA)
    return total


def _printed(
    n: np.ndarray, alpha: float, before: int, after: int, log_emission: np.ndarray, out: np.ndarray
) -> None:
    size = len(out)
    for k in range(size):
        out[k] = (n[before, k] + alpha) * math.exp(log_emission[k])
        if after >= 0:
            out[k] *= (n[k, after] + (before == k == after) + alpha) / (n[before].sum() + size * alpha)
    out /= out.sum()
