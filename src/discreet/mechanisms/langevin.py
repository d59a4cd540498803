"""Stochastic-gradient Langevin dynamics, whose own noise pays for its privacy."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.arguments import whole
from discreet.artifact import Samples
from discreet.artifact.records.langevin import LangevinRecord
from discreet.domain.declarations import Domain, Neighbors
from discreet.errors import UsageError
from discreet.mechanisms.base import Mechanism, RandomSource, read_samples
from discreet.models import Model
from discreet.models.layout import Layout
from discreet.models.loss_model import read_size
from discreet.models.regression import Regression
from discreet.privacy import RenyiDP
from discreet.privacy.costs.sampled_gaussian import (
    SampledGaussian,
    langevin_steps,
    least_multiplier,
    read_rate,
)
from discreet.privacy.guarantees import check_neighbors, failure_probability, positive_budget
from discreet.rational import Number, float_down, plain
from discreet.samplers.descent import langevin

if TYPE_CHECKING:
    from discreet.data.summaries.records import Records

_MOST_STEPS = 10**7
# What a step size is rounded down by, which dwarfs the rounding of the noise that is computed from it.
_DOWN = 1 - 1e-9


@dataclass(frozen=True)
class Langevin(Mechanism):
    """Walk through the weights of a regression by noisy gradient steps on random samples of the records.

    x <- x - step_size / 2 (precision x + (1 / rate) sum over the sample of clipped gradients)
           + N(0, step_size temperature I),    x_0 = 0,

    projected onto the ball of the model's radius. With ever smaller steps the states would come from the posterior
    under the prior N(0, I / precision) on the ball, its density raised to the power 1 / temperature. At a finite
    step they do not: samples of the records, clipping and the step itself distort it, and successive states are
    alike. They are released as they are, and say so.

    Parameters
    ----------
    epsilon, delta
        The budget, for all steps together.
    steps
        How many. If the step size is given and they cost more than the budget, the release is refused.
    rate
        Which share of the records a step reads, by default all. Smaller is faster, and less accurate: the noise of the
        sample joins that of the step, and with ``replace`` sampling is accounted for less tightly.
    step_size
        By default the largest for the budget, and not above what keeps the steepest direction from overshooting where
        the number of records is public.
    temperature, precision
        Of the posterior, and of its prior on the weights of the scaled features.
    clip
        The largest length of a record's gradient; longer ones are shortened. By default 1 for logistic regression,
        where none is longer, and two residual standard deviations for linear regression.
    samples
        How many states are released, evenly spaced over the second half of the walk.

    Privacy
    -------
    Each step is a sampled Gaussian mechanism: in units of the sum its noise has the standard deviation 2 rate
    sqrt(temperature / step_size), and one record moves the sum by at most ``clip`` if it comes or goes, and by at
    most twice that if it is replaced. Neighbors: with ``add_remove`` every record joins a sample with probability
    ``rate``, independently; with ``replace`` samples have the fixed size floor(rate n), without replacement; nothing
    else is amplified by sampling. Theorem: Mironov, Talwar and Zhang (2019), and Wang, Balle and Kasiviswanathan
    (2019), accounted for in :mod:`discreet.privacy.costs.sampled_gaussian`, added up over all steps and
    stated as a Rényi curve that implies the budget. All states may be published, so the released ones cost nothing
    more. Samples are drawn from the operating system and never written anywhere.

    Every record must count: values are clipped and missing ones imputed. Steps are computed in floating point; the
    theorem is about the distributions that this approximates.

    References
    ----------
    Wang, Fienberg and Smola (2015), Privacy for free: posterior sampling and stochastic gradient Monte Carlo, section
    4, whose step sizes make the noise of the dynamics enough for privacy. Welling and Teh (2011).
    """

    name = "langevin"
    what = "Langevin dynamics need"
    example = "for example dc.mechanisms.Langevin(epsilon=1, delta=1e-6, steps=1000)"
    reads = "records"
    relations = ("replace", "add_remove")
    epsilon: Fraction
    delta: Fraction
    steps: int
    rate: Fraction
    step_size: Fraction | None
    temperature: Fraction
    precision: Fraction
    clip: Fraction | None
    samples: int

    def __init__(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        steps: int | None = None,
        rate: Number = 1,
        step_size: Number | None = None,
        temperature: Number = 1,
        precision: Number = 1,
        clip: Number | None = None,
        samples: int = 100,
    ) -> None:
        if step_size is not None and clip is None:
            raise UsageError(
                "a step size needs clip, the largest length of a record's gradient.", hint="clip=1"
            )
        self._set(
            epsilon=positive_budget(self._needed(epsilon, "epsilon"), "epsilon"),
            delta=failure_probability(self._needed(delta, "delta")),
            steps=whole(self._needed(steps, "steps"), "steps", most=_MOST_STEPS),
            rate=read_rate(rate),
            step_size=None if step_size is None else read_size(step_size, "step_size"),
            temperature=read_size(temperature, "temperature"),
            precision=read_size(precision, "precision", zero=True),
            clip=None if clip is None else read_size(clip, "clip"),
            samples=read_samples(samples),
        )
        if self.samples > (self.steps + 1) // 2:
            raise UsageError(
                f"samples are states of the second half of the walk: {self.samples} need at least "
                f"{2 * self.samples - 1} steps, got steps={self.steps}."
            )

    def guarantee(self, neighbors: Neighbors) -> RenyiDP:
        return self.accounted(neighbors).guarantee()

    def accounted(self, neighbors: Neighbors) -> SampledGaussian:
        """Return the steps as sampled Gaussian mechanisms, or refuse more of them than the budget pays for."""
        check_neighbors(neighbors)
        budget = float_down(self.epsilon), float_down(self.delta)
        if self.step_size is None:
            sampling = "poisson" if neighbors == "add_remove" else "fixed_size"
            return least_multiplier(*budget, rate=self.rate, steps=self.steps, sampling=sampling)
        assert self.clip is not None
        found = langevin_steps(
            self.step_size,
            self.temperature,
            self.clip,
            rate=self.rate,
            steps=self.steps,
            neighbors=neighbors,
        )
        cost = found.epsilon(budget[1])
        if cost > budget[0]:
            most = found.most_steps(*budget)
            paid = f"the budget pays for {most} of them" if most else "the budget pays for none of them"
            raise UsageError(
                f"{self.steps} steps of size {plain(self.step_size)} cost epsilon = {cost:.4g} at delta = "
                f"{plain(self.delta)}: {paid}.",
                hint="take fewer or smaller steps, or leave out step_size",
            )
        return found

    def check(self, model: Model, domain: Domain, layout: Layout | None = None) -> None:
        _regression(model).check_gradient()
        self._clip(_regression(model))

    def plan(
        self, model: Model, domain: Domain, n_records: int | None, layout: Layout | None = None
    ) -> LangevinRecord:
        fitted = _regression(model)
        neighbors: Neighbors = "add_remove" if n_records is None else "replace"
        clip, found = self._clip(fitted), self.accounted(neighbors)
        step_size = self.step_size
        if step_size is None:
            sum_sd = found.multiplier * float(clip) * (1 if n_records is None else 2)
            largest = 4 * float(self.rate) ** 2 * float(self.temperature) / sum_sd**2 * _DOWN
            if n_records is not None:
                # beyond, a step from the steepest direction's side ends on the other
                steepest = (
                    float(self.precision) + fitted.log_likelihood_scale * fitted.loss.curvature * n_records
                )
                largest = min(largest, 2 / steepest)
            step_size = Fraction(largest)
        if n_records is not None and int(self.rate * n_records) < 1:
            raise UsageError(
                f"with rate={plain(self.rate)} a sample of {n_records} records holds none.",
                hint=f"use a rate of at least 1/{n_records}",
            )
        return LangevinRecord(
            None,
            None,
            {
                "steps": Fraction(self.steps),
                "rate": self.rate,
                "step_size": step_size,
                "temperature": self.temperature,
                "precision": self.precision,
                "clip": clip,
                "poisson": Fraction(n_records is None),
            },
        )

    def draw(self, record: LangevinRecord, records: Records, source: RandomSource) -> Samples:
        model, numbers = _regression(records.model), record.parameters
        features = model.encode(records.codes, records.values)
        aims = model.aims(records.codes, records.values)
        n, rate, poisson = records.n_records, numbers["rate"], numbers["poisson"] == 1

        def sample(rng: np.random.Generator) -> np.ndarray:
            # a sample of random size is Poisson sampling, drawn in two steps
            size = rng.binomial(n, float(rate)) if poisson else int(rate * n)
            return rng.choice(n, size=size, replace=False, shuffle=False) if size < n else np.arange(n)

        def sampler(rng: np.random.Generator) -> np.ndarray:
            with np.errstate(all="ignore"):
                return langevin(
                    model.loss,
                    features,
                    aims,
                    np.zeros((1, model.dimension)),
                    sample,
                    steps=self.steps,
                    kept=kept_steps(self.steps, self.samples),
                    step_size=float(numbers["step_size"]),
                    temperature=float(numbers["temperature"]),
                    precision=float(numbers["precision"]),
                    scale=model.log_likelihood_scale,
                    weight=1 / float(rate),
                    clip=float(numbers["clip"]),
                    radius=float(model.radius),
                    rng=rng,
                )[:, 0]

        return Samples.of({"weights": source.floating(sampler)}, "floating")

    def _clip(self, model: Regression) -> Fraction:
        return model.gradient_clip if self.clip is None else self.clip


def kept_steps(steps: int, samples: int) -> np.ndarray:
    """Return the numbers of the steps after which the state is released: evenly spaced, in the second half."""
    spacing = max(1, steps // 2 // samples)
    return steps - spacing * np.arange(samples - 1, -1, -1)


def _regression(model: Model) -> Regression:
    return model.require(
        Regression,
        "Langevin dynamics walk through the weights of a regression",
        hint="for example dc.models.LogisticRegression",
    )
