"""What can somebody who sees posterior draws tell about the table behind them? The best test against the limit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from discreet.arguments import Rng, generator, listed, real, whole
from discreet.errors import UsageError
from discreet.families import RecordSums
from discreet.mechanisms import Mechanism
from discreet.privacy import Guarantee
from discreet.privacy.metric.error_limit import ErrorLimit, check_error, least_number
from discreet.validation.draw_counts import MOST_DRAWS, Distinguishability, DrawCount, Played, up_to
from discreet.validation.likelihood_ratio import RatioTest
from discreet.validation.noisy_distribution import NoisyTotals
from discreet.validation.sampled_distribution import distribution_of_draw

if TYPE_CHECKING:
    from discreet.mechanisms import FinitePosterior, PosteriorSampling
    from discreet.mechanisms.noise import Laplace as LaplaceNoise


@overload
def distinguish(
    first: Guarantee,
    *,
    distance: Any = 1,
    draws: Sequence[int] | None = None,
    delta: float = 0.05,
) -> Distinguishability: ...


@overload
def distinguish(
    first: Any,
    second: Any,
    model: RecordSums,
    *,
    mechanism: PosteriorSampling | FinitePosterior | LaplaceNoise,
    bounds: Any = None,
    draws: Sequence[int] | None = None,
    delta: float = 0.05,
    trials: int = 0,
    rng: Rng = None,
) -> Distinguishability: ...


def distinguish(
    first: Any,
    second: Any = None,
    model: RecordSums | None = None,
    *,
    mechanism: PosteriorSampling | FinitePosterior | LaplaceNoise | None = None,
    bounds: Any = None,
    distance: Any = 1,
    draws: Sequence[int] | None = None,
    delta: float = 0.05,
    trials: int = 0,
    rng: Rng = None,
) -> Distinguishability:
    """Compute how many posterior draws somebody needs to tell which of two tables they come from.

    The tables are made up: they stand for what an adversary has to choose between, such as a table with and without
    somebody's true answer. The distribution of a draw is known for each of them, so the best test that there is (the
    likelihood ratio, by Neyman and Pearson) has errors that can be computed, and they are set against the limit that
    the guarantee puts on every test. With a guarantee in place of the tables there is only the limit.

    Parameters
    ----------
    first, second
        Two tables with equally many records, as lists or arrays; or ``first`` is a guarantee, and ``second`` is left
        out.
    model
        The family, such as ``dc.Bernoulli()``.
    mechanism
        A :class:`PosteriorSampling` or :class:`FinitePosterior` of any family that has one, or Laplace noise on any
        family's totals: then a draw is a whole release. Draws of labels by ``PosteriorSampling`` are not from a grid,
        and their distribution is integrated numerically. The temperature of samples is that of a release; how many
        draws somebody sees is ``draws``, also if it is more than one release holds.
    bounds
        As in :func:`release`.
    distance
        For a guarantee: how far apart the tables are, in records, or in the metric of a :class:`MetricDP`.
    draws
        Numbers of draws to consider; by default 1, 2, 5, 10, ... until the best test is done.
    delta
        How small both errors are to be: to say the second when it is the first, and the reverse.
    trials
        How often to play the best test in simulation, for each table and each number of draws.
    rng
        A seed or a generator, for the simulation.

    Returns
    -------
    Distinguishability
        Whose ``summary()`` is the table, ``plot()`` the picture, ``draws`` the number that the best test needs and
        ``least_draws`` the number below which there is no test.

    Privacy
    -------
    What comes out depends on the tables that went in, and is about nobody if they are made up. With real records it
    must not be published. The limit is rigorous (Bretagnolle and Huber, Pinsker, randomized response; see
    :mod:`discreet.privacy.metric.error_limit`) where the printed theorem is not.

    References
    ----------
    Dimitrakakis et al. (2017), section 4.3. Wasserman and Zhou (2010), A statistical framework for differential
    privacy. Kairouz, Oh and Viswanath (2015).
    """
    check_error(delta)
    asked = _read_draws(draws)
    real(distance, "distance")
    if isinstance(first, Guarantee):
        if second is not None or model is not None or mechanism is not None or trials:
            raise UsageError("a guarantee is all there is to know: leave out tables, model and trials.")
        limit = ErrorLimit.of_guarantee(first, distance)
        apart = "neighboring tables" if distance == 1 else f"tables at distance {float(distance):g}"
        needed = limit.least_draws(delta)
        by_draws = tuple(_draw_count(limit, n) for n in asked or up_to(min(needed or MOST_DRAWS, 10**9)))
        return Distinguishability(by_draws, delta, needed, limit, (f"{apart}, {first.describe()}",))
    if distance != 1:
        raise UsageError("the distance between two tables is counted: leave out distance.")
    trials = whole(trials, "trials", least=0)
    if second is None or model is None:
        raise UsageError(
            "distinguish takes two tables and a model, or a guarantee.",
            hint="for example dc.validation.distinguish([0, 1, 1], [0, 0, 1], dc.Bernoulli(), mechanism=…)",
        )
    adds_noise = isinstance(mechanism, Mechanism) and not mechanism.every_record
    known = NoisyTotals.of if adds_noise else distribution_of_draw
    distribution = known(model, mechanism, bounds)  # pyright: ignore[reportArgumentType]
    pair, n_records = distribution.compared(first, second)
    # as multisets, and before clipping, which can only bring them closer
    apart = n_records - (Counter(_values(first)) & Counter(_values(second))).total()
    limit = distribution.limit(apart)
    best = cache(pair.best_test)
    source = generator(rng)
    by_draws = []
    for n in asked or up_to(least_number(lambda n: best(n).error <= delta, MOST_DRAWS) or MOST_DRAWS):
        wrong = pair.simulate(best(n), n, int(trials), source) if trials else ()
        by_draws.append(_draw_count(limit, n, best(n), *(Played(each, int(trials)) for each in wrong)))
    about = (
        f"two tables of {n_records:,} records that differ in {apart:,}",
        distribution.describe(),
        f"one draw: log-ratio within {apart * distribution.loss:.4g}, divergence {pair.divergence():.4g}",
    )
    return Distinguishability(tuple(by_draws), delta, limit.least_draws(delta), limit, about, pair)


def _values(table: Any) -> list[Any]:
    try:
        values = np.asarray(table)
    except ValueError:
        raise UsageError("a table is a list of records, one value each.") from None
    if values.ndim != 1:
        raise UsageError(f"a table is a list of records, one value each, got {values.ndim} dimensions.")
    return values.tolist()


def _draw_count(limit: ErrorLimit, n: int, best: RatioTest | None = None, *played: Played) -> DrawCount:
    return DrawCount(n, limit.error(n), limit.advantage(n), best, *played)


def _read_draws(draws: Any) -> list[int] | None:
    if draws is None:
        return None
    numbers = listed(draws, "draws", "whole numbers") if isinstance(draws, Iterable) else [draws]
    if not numbers:
        raise UsageError("draws must be whole numbers, and there is none.")
    return sorted({whole(n, "draws", most=MOST_DRAWS) for n in numbers})
