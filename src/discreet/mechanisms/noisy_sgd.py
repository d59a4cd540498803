"""Noisy projected gradient descent, of which only the last iterate is released."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import ROUND_FLOOR, Context
from fractions import Fraction
from math import sqrt
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from discreet.arguments import one_of, whole
from discreet.artifact import Samples
from discreet.artifact.records.noisy_sgd import NoisySGDRecord
from discreet.domain.declarations import Domain, Neighbors
from discreet.errors import UsageError
from discreet.mechanisms.base import Mechanism, RandomSource
from discreet.models import Model
from discreet.models.layout import Layout
from discreet.models.loss_model import LossModel, read_size
from discreet.privacy import Guarantee, RenyiDP, ZeroConcentratedDP
from discreet.privacy.amplification.noisy_sgd import SECRET_ORDERS, SGDCost, rho_at_orders, secret_orders
from discreet.privacy.gaussian import rho_for_approx
from discreet.privacy.guarantees import failure_probability, positive_budget
from discreet.privacy.renyi import check_orders
from discreet.rational import Number, float_down, plain
from discreet.samplers.descent import clipped, descend, descend_linear, only_noise

if TYPE_CHECKING:
    from discreet.data.summaries.records import Records

Order = Literal["public", "secret"]

# Beyond, the places of a secret order are too many to be added up.
_MOST_SECRET = 10**7
# As many steps as anybody waits for.
_MOST_EXTRA = 10**8
_EXAMPLE = "for example dc.mechanisms.NoisySGD(rho=0.5)"


@dataclass(frozen=True)
class NoisySGD(Mechanism):
    """Fit a regression, or any loss with known constants, by one pass of noisy gradient steps over the records.

    x_i = projection of x_{i-1} - step_size (gradient of record i's loss at x_{i-1} + N(0, sigma^2 I)) onto the ball of
    the model's radius, from x_0 = 0; then some steps that read no record; the last x is released, as one draw of
    ``weights``. Sigma is the least for the budget.

    Parameters
    ----------
    rho, epsilon, delta
        The budget: ``rho`` of zero-concentrated privacy, or ``epsilon`` with ``delta``, which is turned into it; for a
        secret order into the largest ``rho`` whose curve, known at ``orders`` only, implies both.
    step_size
        At most 2 / (smoothness + strong_convexity) of the model's loss. By default from the public number of records,
        the dimension and the noise: half of what the theory of convex descent suggests.
    order
        ``"public"``: the records are taken in the order of the table, and anybody may know it. ``"secret"``: in a
        random order that is drawn from the operating system, used once and never written anywhere.
    orders
        For a secret order: the Rényi orders a of the guarantee, a divergence of at most a rho at each. By default 2,
        4, ..., 32, and further if ``epsilon`` and ``delta`` need it.
    public
        A table of records that need no protection, with the same columns. The steps after the pass are taken on them.
    extra_steps
        How many steps after the pass. With ``public`` by default one for each of its records, over and over if more
        are asked for. Without, they only add noise and project, by default as many as there are records: most of the
        noise is then added where it does not disturb the descent. 0 is the algorithm as printed, in which the last
        record has all its protection from the noise of its own step, and the other steps have as much for nothing.

    Privacy
    -------
    Neighbors: ``replace``. Sensitivity: the gradients of two records at one point are at most 2 C apart, in closed form
    for the regressions (:mod:`discreet.models.losses`), and by the curator's word for declared losses. Theorem: a
    record at place i of n is hidden by the noise of its own step and of all later ones, and the steps in between
    contract what is left of its difference (Geumlek 2020, theorem 22, with the best split of the distance instead of
    the printed one, and with the noise of step i itself). With L = 1 - step_size strong_convexity and r = n - i,

        rho_i = (2 C^2 / sigma^2) / (sum_{j=0}^{r} L^(-2j) + L^(-2r) E),

    where E is the number of extra steps, or sum_k L^(-2k) over those on public records. Everybody is promised the
    largest of these, the last record's; :meth:`guarantee_at` tells the others. The theorem is about one index and must
    not be averaged over a random order: in a secret one the promise is log(mean e^((a - 1) a rho_i)) / (a - 1) at each
    order a, which bounds the mixture over places.

    Contraction needs the step size to be at most 2 / (smoothness + strong_convexity), which is checked. Without extra
    steps and in a public order nothing depends on it. Every record must count once: values are clipped and missing ones
    imputed. Steps are computed in floating point, with noise from the operating system; the theorem is about the
    distributions that this approximates, and the release says so.

    References
    ----------
    Geumlek (2020), section 6.4.1, algorithm 5 and theorem 22. Feldman, Mironov, Talwar and Thakurta (2018), Privacy
    amplification by iteration.
    """

    name = "noisy_sgd"
    reads = "records"
    rho: Fraction
    step_size: Fraction | None
    order: Order
    orders: tuple[Fraction, ...]
    extra_steps: int | None
    public: Any = field(compare=False, repr=False)

    def __init__(
        self,
        *,
        rho: Number | None = None,
        epsilon: Number | None = None,
        delta: Number | None = None,
        step_size: Number | None = None,
        order: Order = "public",
        orders: tuple[Number, ...] | None = None,
        public: Any = None,
        extra_steps: int | None = None,
    ) -> None:
        order = one_of(order, "order", Order)
        budget, known = _budget(rho, epsilon, delta, order, orders)
        if extra_steps is not None:
            extra_steps = whole(extra_steps, "extra_steps", least=0, most=_MOST_EXTRA)
        self._set(
            rho=budget,
            step_size=None if step_size is None else read_size(step_size, "step_size"),
            order=order,
            orders=known,
            public=public,
            extra_steps=extra_steps,
        )
        if public is not None and self.extra_steps == 0:
            raise UsageError(
                "public records are for extra steps, and there are none.", hint="leave out one of them"
            )

    def guarantee(self, neighbors: Neighbors) -> Guarantee:
        if self.order == "secret":
            return RenyiDP(self.orders, [a * self.rho for a in self.orders], neighbors=neighbors)
        return ZeroConcentratedDP(self.rho, neighbors=neighbors)

    def guarantee_at(self, index: int, model: Model, n_records: int) -> ZeroConcentratedDP:
        """Return what holds for the record at place ``index``, from 1 to ``n_records``, in a public order."""
        if self.order == "secret":
            raise UsageError("in a secret order every record has the same guarantee.", hint="use guarantee()")
        return self.descent(model, n_records).guarantee_at(index)

    def check(self, model: Model, domain: Domain, layout: Layout | None = None) -> None:
        constants = _loss_of(model).loss_constants
        if self.step_size is not None and float(self.step_size) > constants.largest_step:
            raise UsageError(
                f"step_size must be at most 2 / (smoothness + strong_convexity) = {constants.largest_step:.6g}, "
                f"or a step may stretch what it should contract, got step_size={plain(self.step_size)}.",
                hint="leave out step_size, and one that fits is chosen",
            )
        _loss_of(model).check_gradient()

    def descent(self, model: Model, n_records: int, n_public: int | None = None) -> SGDCost:
        """Return the descent that would be run: its step size, and the least noise for the budget.

        ``n_public`` is the number of public records, by default counted.
        """
        fitted = _loss_of(model)
        self.check(fitted, Domain(None, None, "clip", "none"))
        if self.order == "secret" and n_records > _MOST_SECRET:
            raise UsageError(f"a secret order is for at most {_MOST_SECRET} records, got {n_records}.")
        constants = fitted.loss_constants
        steps = self.extra_steps
        if self.public is None:
            each, steps = 1.0, n_records if steps is None else steps
        else:
            found = self._count_public(fitted) if n_public is None else n_public
            each, steps = None, min(found, _MOST_EXTRA) if steps is None else steps
        given = SGDCost(
            n_records,
            constants.gradient_bound,
            constants.smoothness,
            constants.strong_convexity,
            constants.largest_step if self.step_size is None else float_down(self.step_size),
            constants.gradient_bound,
            steps,
            each,
        )
        secret = [float(a) for a in self.orders] if self.order == "secret" else None
        rho = float_down(self.rho)
        if self.step_size is None:
            # the steps that are taken matter little for the noise; a second look is enough
            for _ in range(2):
                sigma = given.with_least_noise(rho, secret).sigma
                given = replace(given, step_size=_suggested(fitted, n_records, steps, sigma))
        return given.with_least_noise(rho, secret)

    def plan(
        self, model: Model, domain: Domain, n_records: int | None, layout: Layout | None = None
    ) -> NoisySGDRecord:
        assert n_records is not None
        found = self.descent(model, n_records)
        return NoisySGDRecord(
            None,
            None,
            {
                "sigma": Fraction(found.sigma),
                "step_size": Fraction(found.step_size),
                "gradient_bound": Fraction(found.gradient_bound),
                "smoothness": Fraction(found.smoothness),
                "strong_convexity": Fraction(found.strong_convexity),
                "public_steps": Fraction(found.extra_steps if self.public is not None else 0),
                "noise_steps": Fraction(found.extra_steps if self.public is None else 0),
                "secret_order": Fraction(self.order == "secret"),
            },
        )

    def draw(self, record: NoisySGDRecord, records: Records, source: RandomSource) -> Samples:
        numbers = record.parameters
        public = None if self.public is None else self._read_public(_loss_of(records.model), records.domain)
        places = (
            np.resize(np.arange(public.n_records), int(numbers["public_steps"])) if public else np.arange(0)
        )
        known = {"step_size": float(numbers["step_size"]), "sigma": float(numbers["sigma"])}

        def sampler(rng: np.random.Generator) -> np.ndarray:
            n = records.n_records
            order = rng.permutation(n) if self.order == "secret" else np.arange(n)
            states = _pass(records, order, np.zeros((1, _loss_of(records.model).dimension)), known, rng)
            if public is not None:
                return _pass(public, places, states, known, rng)
            radius = float(_loss_of(records.model).radius)
            return only_noise(states, int(numbers["noise_steps"]), radius=radius, rng=rng, **known)

        return Samples.of({"weights": source.floating(sampler)}, "floating")

    def _count_public(self, model: LossModel) -> int:
        found = self._read_public(model, Domain(None, None, "clip", "none")).n_records
        if found == 0:
            raise UsageError("the public table has no records.", hint="leave out public")
        return found

    def _read_public(self, model: LossModel, domain: Domain) -> Records:
        from discreet.data.summaries.records import read_records

        if domain.impute is None:
            domain = replace(domain, missing="impute", impute=model.stand_ins(domain))
        return read_records(self.public, model, domain)


def _pass(
    records: Records, order: np.ndarray, states: np.ndarray, known: dict[str, float], rng: np.random.Generator
) -> np.ndarray:
    """Take one noisy step on each of these records, in this order."""
    model = _loss_of(records.model)
    radius = float(model.radius)
    linear = model.linear_form(records.codes, records.values)
    if linear is not None:
        return descend_linear(
            linear.loss,
            linear.features[order],
            linear.aims[order],
            states,
            ridge=linear.ridge,
            radius=radius,
            rng=rng,
            **known,
        )
    own, rows = model.gradient_at, records.rows()

    def gradient(place: int, states: np.ndarray) -> np.ndarray:
        return np.stack([own(state, rows[place]) for state in states])

    bounded = clipped(gradient, model.loss_constants.gradient_bound)
    return descend(bounded, order, states, radius=radius, rng=rng, **known)


def _suggested(model: LossModel, n_records: int, extra: int, sigma: float) -> float:
    """Return half of radius / sqrt(n E|noisy gradient|^2), counting the noise of extra steps; see Bubeck (2015)."""
    constants, radius = model.loss_constants, float(model.radius)
    noise = model.dimension * sigma**2 * (1 + extra / n_records)
    return min(radius / (2 * sqrt(n_records * (constants.gradient_bound**2 + noise))), constants.largest_step)


def _loss_of(model: Model) -> LossModel:
    return model.require(
        LossModel, "noisy descent fits a model with a loss", hint="for example dc.models.LogisticRegression"
    )


def _budget(
    rho: Number | None,
    epsilon: Number | None,
    delta: Number | None,
    order: Order,
    orders: tuple[Number, ...] | None,
) -> tuple[Fraction, tuple[Fraction, ...]]:
    """Return rho, and the orders at which it would hold in a secret order."""
    known = check_orders(SECRET_ORDERS if orders is None else orders)
    if rho is not None and epsilon is None and delta is None:
        return positive_budget(rho, "rho"), known
    if rho is None and epsilon is not None and delta is not None:
        pair = positive_budget(epsilon, "epsilon"), failure_probability(delta)
        if order == "public":
            # six digits, rounded down: a shorter number to read, and a stronger promise
            rho_float = rho_for_approx(*map(float_down, pair))
            short = Context(prec=6, rounding=ROUND_FLOOR).create_decimal_from_float(rho_float)
            return Fraction(short), known
        known = check_orders(secret_orders(*pair)) if orders is None else known
        return rho_at_orders(*pair, known), known
    raise UsageError("noisy descent takes either rho, or epsilon with delta.", hint=_EXAMPLE)
