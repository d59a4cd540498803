"""Figures 3 to 5 and 7: states and profiles from one release with epsilon = 5, on the way that users go."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from common.claim import Claim, Panel

import discreet as dc
from discreet.artifact import Release
from discreet.curator.publish import release_with

from .generate import CASUALTIES, CATEGORIES, TYPES, Theatre
from .methods import Counts, Effort, ops
from .prepare import model_of, prepare

EPSILON = 5
#: Total variation allowed between a state's profile and the truth.
CLOSE = 0.05


@dataclass(frozen=True, eq=False)
class Found:
    """A posterior, the most frequent states under the names of the truth, and the distance of the profiles."""

    theatre: Theatre
    posterior: Any
    states: np.ndarray
    order: tuple[int, ...]
    distances: np.ndarray

    def profile(self, truth: int, feature: str) -> np.ndarray:
        """Return the mean probabilities of the state that stands for a true one."""
        return self.posterior.mean()[feature][self.order.index(truth)]


def released(theatre: Theatre, rng: np.random.Generator) -> Release:
    """Simulate entries, prepare them, and release tables with noise from a seeded source."""
    columns = prepare(theatre.entries(rng))
    return release_with(
        lambda noise: int(noise.sample(1, rng)[0]),
        columns,
        model_of(theatre, len(theatre.profiles)),
        dc.mechanisms.Laplace(EPSILON),
    )


def read(theatre: Theatre, rng: np.random.Generator, draws: int) -> Found:
    """Infer, and match states with the true ones by how many cells agree."""
    posterior = dc.infer(released(theatre, rng), draws=draws, chains=4, rng=rng)
    n_states = len(theatre.profiles)
    shares = np.stack([(posterior.draws["states"] == k + 1).mean(axis=0) for k in range(n_states)])
    likely = shares.argmax(axis=0)
    order = max(permutations(range(n_states)), key=lambda o: (np.array(o)[likely] == theatre.states).mean())
    mean = posterior.mean()
    features = ("type", "category", *CASUALTIES)
    distances = np.array(
        [
            [
                0.5 * np.abs(mean[name][k] - theatre.profiles[order[k]][d]).sum()
                for d, name in enumerate(features)
            ]
            for k in range(n_states)
        ]
    )
    return Found(theatre, posterior, np.array(order)[likely], order, distances)


def iraq_panel(found: Found) -> Panel:
    """Figures 3 to 5: two states, one change in each region."""
    theatre = found.theatre
    off = []
    for region in range(len(theatre.regions)):
        changes = np.flatnonzero(np.diff(found.states[region]))
        true = np.flatnonzero(np.diff(theatre.states[region]))
        off.append(abs(int(changes[0]) - int(true[0])) if changes.size == 1 else len(theatre.months))
    tops = [
        (
            TYPES[int(found.profile(k, "type").argmax())],
            CATEGORIES[int(found.profile(k, "category").argmax())],
        )
        for k in (0, 1)
    ]
    hurt = [CASUALTIES[int(np.argmax([found.profile(k, name)[1] for name in CASUALTIES]))] for k in (0, 1)]
    return Panel(
        "iraq",
        {"states": found.states, "truth": theatre.states, "months off": off, "distances": found.distances},
        [
            Claim(
                "figure 3",
                "the change of regime after autumn 2007 is found in every region, within a month",
                max(off) <= 1,
                f"months off by region: {', '.join(map(str, off))}",
            ),
            Claim(
                "figures 4, 5",
                f"both states' profiles are within {CLOSE} of the truth in total variation, every feature",
                float(found.distances.max()) <= CLOSE,
                f"largest distance {found.distances.max():.3f}",
            ),
            Claim(
                "figures 4, 5",
                "state by state the most frequent labels are those in print",
                tops == [("friendly action", "cache found/cleared"), ("explosive hazard", "ied explosion")]
                and hurt == ["enemy_casualties", "civilian_casualties"],
                f"after: {', '.join(tops[0])}, {hurt[0]}; before: {', '.join(tops[1])}, {hurt[1]}",
            ),
        ],
    )


def afghanistan_panel(found: Found, rng: np.random.Generator, effort: Effort) -> Panel:
    """Figure 7 and the text on Afghanistan: three states, and one posterior sample beside a hundred."""
    theatre = found.theatre
    rates = np.array([[found.profile(k, name)[1] for name in CASUALTIES] for k in range(3)])
    agree = float((found.states == theatre.states).mean())
    counts = Counts.of(theatre.tables(rng))
    drawn = ops(counts, 3, 100, EPSILON, effort, rng)
    one = float(np.mean([_agreement(states, theatre) for states in drawn.states[0]]))
    all_of_them = np.stack([(drawn.states[0] == k).mean(axis=0) for k in range(3)]).argmax(axis=0)
    many = _agreement(all_of_them, theatre)
    return Panel(
        "afghanistan",
        {
            "states": found.states,
            "truth": theatre.states,
            "rates": rates,
            "agreement": agree,
            "ops one": one,
            "ops many": many,
            "ops last": drawn.states[0, -1].reshape(theatre.states.shape),
            "ops most frequent": all_of_them.reshape(theatre.states.shape),
        },
        [
            Claim(
                "section 5",
                "enemy casualties are rarer than friendly or host ones in all states, and than civilian ones in two",
                bool((rates[:, 2] < rates[:, 0]).all()) and int((rates[:, 2] < rates[:, 1]).sum()) == 2,
                "enemy, friendly or host, civilian: "
                + "; ".join(f"{e:.3f}, {f:.3f}, {c:.3f}" for f, c, e in rates),
            ),
            Claim(
                "section 5",
                "the noisy release finds the three states of Afghanistan",
                agree > 0.95,
                f"{100 * agree:.1f}% of region-months in their true state",
            ),
            Claim(
                "figure 7",
                "the one sample that OPS releases has noisier states than an estimate from many, which it may not "
                "release",
                one < many,
                f"{100 * one:.2f}% of region-months right in one sample, {100 * many:.2f}% in the most frequent states "
                f"of {effort.draws}",
            ),
        ],
    )


def _agreement(states: np.ndarray, theatre: Theatre) -> float:
    flat = theatre.states.ravel()
    return max(
        float((np.array(o)[states] == flat).mean()) for o in permutations(range(len(theatre.profiles)))
    )
