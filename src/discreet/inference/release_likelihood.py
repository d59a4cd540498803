"""The likelihood of a release with the records summed out: the data of a model of your own.

Counts whose noise has less than e^-24 of its peak are left out; otherwise shares of labels are exact, and so are
families of one parameter, up to what joins the points at which the exact engine was asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln

from discreet import priors
from discreet.arguments import flag, generator
from discreet.artifact import Release
from discreet.errors import OutOfReachError, UsageError
from discreet.extras import needed_for
from discreet.families.bernoulli import Bernoulli
from discreet.families.categorical import Categorical
from discreet.inference.engine import Question
from discreet.inference.likelihood_forms import (
    NUMPY,
    Arrays,
    CellsForm,
    CurveForm,
    Form,
    PairsForm,
    TotalsForm,
)
from discreet.inference.missing_prior import expected_missing
from discreet.inference.record_prior import CountPrior, log_mass_of, record_prior
from discreet.models.base import Model
from discreet.privacy import Noise

# Log of what is neglected of the noise on a count.
_DEPTH = 24.0
# Terms of a sum that is evaluated again and again; and those that are written into a program.
_MOST_TERMS, _MOST_WRITTEN = 1_500_000, 50_000
# Numbers that NumPy holds at once.
_AT_ONCE = 2_000_000


@dataclass(frozen=True)
class ReleaseLikelihood:
    """log p(y | theta) of one release, up to a constant: in NumPy, and as part of models of other libraries.

    ``approximation`` says what is approximate about it.
    """

    form: Form
    approximation: str = "none"

    @property
    def parameter(self) -> str:
        """The name of the parameter."""
        return self.form.parameter

    def log_prob(self, **theta: Any) -> Any:
        """Return the log likelihood at parameter values by name, such as ``p=0.3``, with NumPy; vectorised."""
        value = np.asarray(self._named(theta), dtype=float)
        if value.ndim < self.form.axes:
            raise UsageError(f"{self.parameter} is a vector, got one number.")
        lead = value.shape[: value.ndim - self.form.axes]
        flat = value.reshape(-1, *value.shape[value.ndim - self.form.axes :])
        step = max(1, _AT_ONCE // self.form.terms)
        parts = [self.form.log_prob(flat[at : at + step], NUMPY) for at in range(0, len(flat), step)]
        found = np.concatenate(parts).reshape(lead)
        return float(found) if found.ndim == 0 else found

    def jax(self, **theta: Any) -> Any:
        """Return the same as a JAX expression, which can be differentiated."""
        with needed_for("a likelihood in JAX"):
            import jax.numpy as jnp  # pyright: ignore[reportMissingImports]
            from jax.scipy.special import logsumexp  # pyright: ignore[reportMissingImports]
        arrays = Arrays(jnp, lambda x: logsumexp(x, axis=-1), jnp.asarray)
        return self.form.log_prob(jnp.asarray(self._named(theta)), arrays)

    def numpyro(self, name: str, **theta: Any) -> None:
        """Add it to a NumPyro model, as a factor with this name."""
        with needed_for("a likelihood in NumPyro"):
            import numpyro  # pyright: ignore[reportMissingImports]
        numpyro.factor(name, self.jax(**theta))

    def pymc(self, name: str, **theta: Any) -> Any:
        """Add it to the PyMC model of the context, as a potential with this name, and return it."""
        with needed_for("a likelihood in PyMC"):
            import pymc  # pyright: ignore[reportMissingImports]
            import pytensor.tensor as pt  # pyright: ignore[reportMissingImports]
        arrays = Arrays(pt, lambda x: pt.logsumexp(x, axis=-1), pt.as_tensor_variable)
        found = self.form.log_prob(pt.as_tensor_variable(self._named(theta)), arrays)
        return pymc.Potential(name, found)

    def to_stan(self) -> str:
        """Return a Stan program with the likelihood as a function, and a flat prior: to be changed, or copied from."""
        if self.form.terms > _MOST_WRITTEN:
            raise UsageError(f"the program would hold over {_MOST_WRITTEN:,} numbers, for noise this wide.")
        argument, declared = self.form.stan_type
        return (
            "functions {\n"
            f"real private_log_prob({argument} theta) {{\n{self.form.stan_function()}}}\n}}\n"
            f"parameters {{\n  {declared} {self.parameter};\n}}\n"
            f"model {{\n  target += private_log_prob({self.parameter});\n}}\n"
        )

    def _named(self, theta: dict[str, Any]) -> Any:
        if set(theta) != {self.parameter}:
            given = ", ".join(theta) or "nothing"
            raise UsageError(
                f"the likelihood is one of {self.parameter}, got {given:.60}.",
                hint=f"log_prob({self.parameter}=…)",
            )
        return theta[self.parameter]


def likelihood(
    release: Release, *, records: Any = None, missing: Any = None, latent: bool | None = None
) -> ReleaseLikelihood:
    """Return the likelihood of a release; ``records`` and ``missing`` are priors on counts, as in :func:`infer`.

    ``latent`` asks for that of the totals behind the noise; by default that is so for models of several columns.
    """
    if release.samples is not None:
        raise UsageError(
            "a likelihood is of noisy totals, and this release holds samples.", hint="dc.infer reads samples"
        )
    if release.model.groups:
        raise UsageError(
            "a release of groups has a likelihood for each.",
            hint="[one.likelihood() for one in release.by_group().values()]",
        )
    if latent is None:
        latent = release.model.read_columns(None) is not None
    if flag(latent, "latent"):
        if records is not None or missing is not None:
            raise UsageError("the totals are latent: records and missing are part of your own model.")
        return ReleaseLikelihood(_totals(release))
    made = release.model.closed_form(_FORMS)
    expected = None if missing is None else expected_missing(missing, release)
    prior = release.model.suggested_prior(release.domain)
    question = Question(release, prior, record_prior(records), 1, 1, generator(0), expected)
    if made is not None:
        return ReleaseLikelihood(made(question))
    return ReleaseLikelihood(_curve(question), "a cubic curve through exact values")


def _totals(release: Release) -> TotalsForm:
    """Return the likelihood of the totals, in the units that they are released in."""
    kinds, grid = [noise.kind for noise in release.noise], release.totals.steps
    if "other" in kinds:
        what = "the totals behind such published numbers have" if release.foreign else "noise by a norm has"
        raise UsageError(f"{what} no closed form.", hint="dc.infer reads the release")
    width = np.array([noise.width for noise in release.noise]) * grid
    return TotalsForm(
        np.array(release.totals.values, dtype=float) * grid, width, np.array(kinds) == "laplace"
    )


def _pairs(question: Question) -> PairsForm:
    """Return the sum over counts of no and yes."""
    release, values, noise = question.release, question.release.totals.values, question.release.noise
    if release.records is None:
        no, yes = _crossed(*(_window(values[k], noise[k]) for k in (0, 1)))
        readings = [(no, 0), (yes, 1)] + ([(no + yes, 2)] if len(values) > 2 else [])
    else:
        # z = yes - no, of a number of usable records that is known, or read too
        known = np.array([release.records]) if len(values) == 1 else _window(values[1], noise[1])
        z = _window(values[0], noise[0], least=-release.records)
        usable, z = _crossed(_within(known, question.usable), z)
        possible = ((usable + z) % 2 == 0) & (np.abs(z) <= usable)
        if not possible.any():
            # a reading beyond all counts: the nearest ones are all there is to tell apart
            usable = np.full(release.records + 1, release.records)
            z = 2 * np.arange(release.records + 1) - release.records
            possible = np.ones(z.shape, dtype=bool)
        yes = (usable + z)[possible] // 2
        no = usable[possible] - yes
        readings = [(yes - no, 0)] + ([(no + yes, 1)] if len(values) > 1 else [])
    log_weight = sum(noise[k].log_mass(values[k] - total) for total, k in readings)
    log_weight = log_weight + log_mass_of(question.usable, no + yes)
    kept = log_weight >= np.max(log_weight) - _DEPTH
    no, yes, log_weight = no[kept], yes[kept], log_weight[kept]
    _check_size(no.size)
    ways = gammaln(no + yes + 1.0) - gammaln(no + 1.0) - gammaln(yes + 1.0)
    return PairsForm(no, yes, log_weight + ways)


def _cells(question: Question) -> CellsForm:
    """Return the convolution over counts of labels."""
    release, values, noise = question.release, question.release.totals.values, question.release.noise
    model = release.model.require(Categorical, "cells are counts of labels")
    k = len(model.labels)
    windows = [_window(values[j], noise[j]) for j in range(k)]
    if release.records is not None:
        windows = [window[window <= release.records] for window in windows]
        windows = [window if window.size else np.arange(1) for window in windows]
    weights = tuple(
        noise[j].log_mass(values[j] - window) - gammaln(window + 1.0) for j, window in enumerate(windows)
    )
    low, high = sum(int(window[0]) for window in windows), sum(int(window[-1]) for window in windows)
    totals = np.arange(low, high + 1)
    log_total = gammaln(totals + 1.0) + log_mass_of(question.usable, totals)
    if len(values) > k:
        log_total = log_total + noise[k].log_mass(values[k] - totals)
    possible = np.flatnonzero(np.isfinite(log_total))
    if not possible.size:
        raise OutOfReachError("no number of records is possible for these counts.")
    kept = slice(possible[0], possible[-1] + 1)
    steps = sum(int(window.size) for window in windows) * max(window.size for window in windows)
    _check_size(steps)
    log_total = np.where(np.isfinite(log_total), log_total, -1e30)[kept]
    return CellsForm(tuple(int(window[0]) for window in windows), weights, int(totals[kept][0]), log_total)


def _window(value: int, noise: Noise, least: int = 0) -> np.ndarray:
    """Return the totals, from ``least`` on, that a reading leaves plausible."""
    reach = noise.reach(_DEPTH)
    first, last = max(int(np.floor(value - reach)), least), max(int(np.ceil(value + reach)), least)
    _check_size(last - first)
    return np.arange(first, last + 1)


def _crossed(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return all pairs of two lists of totals; most of them have no weight, so there may be more than terms."""
    _check_size(first.size * second.size // 20)
    one, other = np.meshgrid(first, second, indexing="ij")
    return one.ravel(), other.ravel()


def _within(counts: np.ndarray, prior: CountPrior) -> np.ndarray:
    top = np.inf if prior.high is None else prior.high
    inside = counts[(counts >= prior.low) & (counts <= top)]
    return inside if inside.size else np.array([prior.low])


def _check_size(terms: int) -> None:
    if terms > _MOST_TERMS:
        raise OutOfReachError(
            f"the likelihood is a sum of over {_MOST_TERMS:,} terms for noise this wide.",
            hint="dc.infer reads the release",
        )


def _curve(question: Question) -> CurveForm:
    """Return the exact likelihood of a family of one parameter as a curve."""
    from discreet.inference.engines.scalar import line, line_draws

    release = question.release
    prior = question.prior
    if not isinstance(prior, priors.Gamma | priors.Beta | priors.Normal) or release.foreign:
        raise _refused(release.model)
    family = release.family
    if line_draws.refusal(release) is not None or not family.prior_on_parameter:
        raise _refused(release.model)
    axis, density = line_draws.density(question)
    height = density.log_density - axis.log_prior(density.points)
    spline = line.curve(density.points, height - height.max())
    kinds = {priors.Gamma: "log", priors.Beta: "logit", priors.Normal: "identity"}
    return CurveForm(family.draw_names[0], kinds[type(prior)], spline.x, np.ascontiguousarray(spline.c.T))  # pyright: ignore[reportArgumentType]


def _refused(model: Model) -> UsageError:
    return UsageError(
        f"{model.name} has no likelihood that other models can take.",
        hint="latent=True gives that of the totals behind the noise; dc.infer reads the release",
    )


_FORMS = {Bernoulli: _pairs, Categorical: _cells}
