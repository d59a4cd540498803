"""Logistic regressions from a noisy Newton step: a weighted regression, then what is left of the likelihood's curve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.artifact import Release
from discreet.inference.engine import Answer, Engine, Question, reads_all
from discreet.inference.engines.naive import warning
from discreet.inference.models.logistic_regression import in_units
from discreet.inference.regression import Readings, draw_moments, usable_counts
from discreet.inference.regression.logistic_maps import newton_step
from discreet.inference.regression.noise_share import noise_headline
from discreet.models.logistic_regression import LogisticRegression
from discreet.models.score_layout import feature_design

_HOW = "one Newton step, and a central limit for the table's moments"
# the sd that the working target gets on the scale of the moments' prior, and how well its square is known
_TARGET_SD, _SQUARE = 0.3, 0.2
# the least share of the records' weight that is believed
_LEAST = 0.02
# a change of log-odds, in the middle of the records, that is far
_FAR = 1.0
_AGAIN = (
    "log-odds moved by about {moved:.2g} from the start: release again from model.refined(posterior) to be sure that "
    "they stay"
)


@dataclass(frozen=True)
class Step:
    """What a release says: weighted moments with the working target last, their total weight, and the target's scale.

    The working target is (y - m) / (m (1 - m)), divided by ``scale``.
    """

    readings: Readings
    weight: float
    weights: np.ndarray
    scale: float
    start: np.ndarray

    @classmethod
    def of(cls, question: Question) -> Step:
        """Read a release of a step."""
        release = question.release
        model = release.model.require(LogisticRegression, "this engine reads logistic regressions")
        inner = feature_design(model.design)
        values, scales = _placed(release)
        n = float(np.median(usable_counts(question, question.size)))
        curved = 1 + len(inner.products)
        laplace = release.noise[0].kind == "laplace"
        features = Readings.placed(inner, values[1:curved], scales[1:curved], laplace)
        weight = float(np.clip(values[0], _LEAST * n, n))
        scale = 2 / _TARGET_SD * np.sqrt(n / weight)
        score, errors = 4 * values[curved:] / scale, 4 * scales[curved:] / scale
        readings = features.with_target(
            score[: 1 + len(inner.terms)],
            errors[: 1 + len(inner.terms)],
            weight * _TARGET_SD**2 + score[0] ** 2 / weight,
            weight * _TARGET_SD**2 * _SQUARE,
        )
        noise = release.noise[0].sample(question.size, question.rng) * float(release.totals.grid[0])
        weights = np.clip(values[0] - noise, _LEAST * n, n)
        return cls(readings, weight, weights, float(scale), _mapped_start(model))

    def slopes(self, mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
        """Return E[x u] of x = (1, features), from moments with the working target last."""
        d = mean.shape[1] - 1
        rest = covariance[:, :d, d] + mean[:, :d] * mean[:, d:]
        return self.scale * np.column_stack([mean[:, d], rest])


def draw(question: Question) -> Answer:
    """Draw intercept and coefficients in the units of the data."""
    step = Step.of(question)
    table = draw_moments(step.readings, step.weights, question.size, question.chains, question.rng)
    d = table.mean.shape[1] - 1
    found, moved = newton_step(
        step.start,
        table.mean[:, :d],
        table.covariance[:, :d, :d],
        step.slopes(table.mean, table.covariance),
        table.records,
        question.rng,
    )
    said = noise_headline(question, step.readings, step.weights)
    far = (_AGAIN.format(moved=moved),) if moved > _FAR and not said else ()
    return Answer(in_units(question, found), _HOW, far, independent=False, headline=said)


def draw_naive(question: Question) -> Answer:
    """Take the noisy step for the true one."""
    step = Step.of(question)
    mean, covariance = step.readings.possible(step.weight)
    size, d = question.size, len(mean) - 1
    every = np.broadcast_to(mean, (size, d + 1)), np.broadcast_to(covariance, (size, d + 1, d + 1))
    found, _ = newton_step(
        step.start,
        every[0][:, :d],
        every[1][:, :d, :d],
        step.slopes(*every),
        np.full(size, step.weight),
        question.rng,
    )
    return Answer(in_units(question, found), "noise ignored", (warning(question.release),))


def _placed(release: Release) -> tuple[np.ndarray, np.ndarray]:
    """Return the noisy sums and the scales of their noise."""
    step = np.array(release.totals.grid, dtype=float)
    values = np.array(release.totals.values, dtype=float) * step
    return values, np.array([one.width for one in release.noise]) * step


def _mapped_start(model: LogisticRegression) -> np.ndarray:
    """Return the start as weights of mapped terms."""
    found = np.array([float(one) for one in model.start or ()])
    matrix = model.unit_matrix()
    slopes = np.linalg.solve(matrix[1:], found[1:])
    return np.append(found[0] - matrix[0] @ slopes, slopes)


GIBBS = Engine("gibbs", reads_all, draw)
NAIVE = Engine("naive", reads_all, draw_naive, automatic=False)
