"""Logistic and Poisson regressions from a noisy Newton step: a weighted regression, then the rest of the way."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from discreet.artifact import Release
from discreet.inference.engine import Answer, Engine, Question, reads_all
from discreet.inference.engines.naive import warning
from discreet.inference.models.logistic_regression import doubts, in_units
from discreet.inference.regression import Readings, draw_moments, logistic_maps, poisson_maps, usable_counts
from discreet.inference.regression.newton import Response, Stepped, newton_step
from discreet.inference.regression.noise_share import noise_headline
from discreet.models.poisson_regression import PoissonRegression
from discreet.models.score_layout import feature_design
from discreet.models.step_regression import StepRegression

_HOW = "one Newton step, and a central limit for the table's moments"
# the sd that the working target gets on the scale of the moments' prior, and how well its square is known
_TARGET_SD, _SQUARE = 0.3, 0.2
# the least share of the records' weight that is believed
_LEAST = 0.02
# a change of the predictor, in the middle of the records, that is far
_FAR = 0.5
_AGAIN = (
    "{link} moved by about {moved:.2g} from the start: release again, from model.refined(posterior) or discreet "
    "refine, to be sure that they stay"
)
_LONG = (
    "much of the width of {{whose}} is that the start was far for how much is known: {link} moved by about "
    "{moved:.2g}; another release, from model.refined(posterior) or discreet refine, starts nearer"
)
# a share of the weight beyond the limit that hides how steep the slopes are
_MUCH_LOST = 0.25
# the most that errors are widened for
_MOST_LOST = 0.8
_BEYOND = (
    "at least {lost:.0%} of the means at the start are beyond model.limit, so that how steep the slopes are is mostly "
    "a guess and intervals may not hold: release again with a larger limit"
)


@dataclass(frozen=True)
class Link:
    """What differs between the regressions.

    Released residuals times ``factor`` are weight times working residual, whose variance times the weight is
    ``variance``, a number or draws, of which ``robust`` is the part of a model that does not hold. ``off`` is what a
    step may be off by in each direction: parts of its length and of its square. ``lost`` returns the share of the
    weight that records would have beyond a limit, of their mean weight and residual.
    """

    factor: float
    variance: np.ndarray
    robust: float
    response: Response
    words: str
    draws: dict[str, np.ndarray]
    off: tuple[float, float]
    lost: Callable[[float, float], float] = lambda weight, residual: 0.0


def logistic_link(question: Question) -> Link:
    """Return the link of a logistic regression: the variance of y is m (1 - m), a quarter of the weight."""
    variance = np.full(question.size, 4.0)
    robust, off = logistic_maps.ROBUST, logistic_maps.STEP_OFF
    return Link(4.0, variance, robust, logistic_maps.response, "log-odds", {}, off)


def poisson_link(question: Question) -> Link:
    """Return the link of a Poisson regression, with draws of the dispersion."""
    model = question.release.model.require(PoissonRegression, "this link is of Poisson regressions")
    dispersion = poisson_maps.spread_dispersion(float(model.dispersion or 1), question.size, question.rng)
    respond = partial(poisson_maps.response, most=model.most, heaviest=model.heaviest)
    return Link(
        model.most / model.heaviest,
        dispersion / model.heaviest,
        poisson_maps.ROBUST,
        respond,
        "logs of means",
        {"dispersion": dispersion},
        # a limit at the target's bound is none
        poisson_maps.step_off(
            math.inf if model.heaviest >= model.most else model.heaviest / float(model.mean or 1)
        ),
        partial(_beyond, model),
    )


def _beyond(model: PoissonRegression, weight: float, residual: float) -> float:
    """Return the share of the means at the start that is beyond the limit: means are counts less residuals."""
    means = float(model.mean or 1) - model.most * residual
    return 1 - min(weight * model.heaviest / max(means, 1e-300), 1.0)


@dataclass(frozen=True)
class Step:
    """What a release says: weighted moments with the working residual last, their total weight, and its scale.

    ``usable`` are draws of the number of usable records, ``lows`` the least values of the features, ``lost`` is the
    share of weight that seems to be beyond the limit of a record's, ``surely_lost`` the least that is likely to be.
    """

    usable: np.ndarray
    readings: Readings
    weight: float
    weights: np.ndarray
    scale: float
    start: np.ndarray
    lows: np.ndarray
    lost: float
    surely_lost: float

    @classmethod
    def of(cls, question: Question, link: Link) -> Step:
        """Read a release of a step."""
        release = question.release
        model = release.model.require(StepRegression, "this engine reads a step of a regression")
        inner = feature_design(model.design)
        values, scales = _placed(release)
        counts = usable_counts(question, question.size)
        n = float(np.median(counts))
        curved = 1 + len(inner.products)
        laplace = release.noise[0].kind == "laplace"
        features = Readings.placed(inner, values[1:curved], scales[1:curved], laplace)
        weight = float(np.clip(values[0], _LEAST * n, n))
        scale = np.sqrt(np.median(link.variance) * n / weight) / _TARGET_SD
        score, errors = (link.factor * one[curved:] / scale for one in (values, scales))
        readings = features.with_target(
            score[: 1 + len(inner.terms)],
            errors[: 1 + len(inner.terms)],
            weight * _TARGET_SD**2 + score[0] ** 2 / weight,
            weight * _TARGET_SD**2 * _SQUARE,
        )
        noise = release.noise[0].sample(question.size, question.rng) * float(release.totals.grid[0])
        weights = np.clip(values[0] - noise, _LEAST * n, n)
        usable = np.broadcast_to(counts, question.size)
        sds = [release.noise[at].sd * float(release.totals.grid[at]) for at in (0, curved)]
        lost, surely = (
            link.lost((values[0] + times * sds[0]) / n, (values[curved] + times * sds[1]) / n)
            for times in (0, 2)
        )
        start, lows = model.mapped_start(), inner.lows
        return cls(usable, readings, weight, weights, float(scale), start, lows, lost, surely)

    def slopes(self, mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
        """Return E[x u] of x = (1, features), from moments with the working residual last."""
        d = mean.shape[1] - 1
        rest = covariance[:, :d, d] + mean[:, :d] * mean[:, d:]
        return self.scale * np.column_stack([mean[:, d], rest])


def draw(question: Question, link_of: Callable[[Question], Link]) -> Answer:
    """Draw intercept and coefficients in the units of the data."""
    link = link_of(question)
    step = Step.of(question, link)
    table = draw_moments(step.readings, step.weights, question.size, question.chains, question.rng)
    d = table.mean.shape[1] - 1
    found = newton_step(
        step.start,
        table.mean[:, :d],
        table.covariance[:, :d, :d],
        step.slopes(table.mean, table.covariance),
        # what is beyond the limit varies too
        link.robust * link.variance / (table.records * (1 - min(max(step.lost, 0.0), _MOST_LOST))),
        link.response,
        question.rng,
        link.off,
        step.lows,
    )
    said = noise_headline(question, step.readings.of_features, step.weights, step.usable)
    warnings = () if said else _warnings(question, link, step, found)
    return Answer(
        in_units(question, found.draws) | link.draws,
        _HOW,
        warnings,
        independent=False,
        table={"usable": step.usable},
        headline=said,
    )


def _warnings(question: Question, link: Link, step: Step, found: Stepped) -> tuple[str, ...]:
    """Return what is to be said of a step: that it was long, for how much is known, or lacks the heaviest records."""
    words = (_AGAIN if found.moved > _FAR else _LONG).format(link=link.words, moved=found.moved)
    far = (words,) if found.moved > _FAR else doubts(question, found.share, words)
    return far if step.surely_lost < _MUCH_LOST else (*far, _BEYOND.format(lost=step.surely_lost))


def draw_naive(question: Question, link_of: Callable[[Question], Link]) -> Answer:
    """Take the noisy step for the true one."""
    link = link_of(question)
    step = Step.of(question, link)
    mean, covariance = step.readings.possible(step.weight)
    size, d = question.size, len(mean) - 1
    every = np.broadcast_to(mean, (size, d + 1)), np.broadcast_to(covariance, (size, d + 1, d + 1))
    found = newton_step(
        step.start,
        every[0][:, :d],
        every[1][:, :d, :d],
        step.slopes(*every),
        link.robust * link.variance / step.weight,
        link.response,
        question.rng,
        (0.0, 0.0),
        step.lows,
    )
    return Answer(
        in_units(question, found.draws) | link.draws,
        "noise ignored",
        (warning(question.release),),
        table={"usable": np.full(size, np.median(step.usable))},
    )


def _placed(release: Release) -> tuple[np.ndarray, np.ndarray]:
    """Return the noisy sums and the scales of their noise."""
    step = np.array(release.totals.grid, dtype=float)
    values = np.array(release.totals.values, dtype=float) * step
    return values, np.array([one.width for one in release.noise]) * step


def _engines(link_of: Callable[[Question], Link]) -> tuple[Engine, Engine]:
    return (
        Engine("gibbs", reads_all, partial(draw, link_of=link_of)),
        Engine("naive", reads_all, partial(draw_naive, link_of=link_of), automatic=False),
    )


LOGISTIC, LOGISTIC_NAIVE = _engines(logistic_link)
POISSON, POISSON_NAIVE = _engines(poisson_link)
