r"""What smooth posteriors imply: robustness, what an adversary can tell, and what privacy costs in utility.

None of these numbers is a guarantee. Divergences are in nats, utilities are in [0, 1], and total variation is half of
the L1 distance.

References
----------
Dimitrakakis et al. (2017), theorems 7, 8, 13 and 17, corollary 10, lemmas 11 to 18, with corrections that each function
names. Kairouz, Oh and Viswanath (2015), The composition theorem for differential privacy: randomized response is the
worst mechanism. Bretagnolle and Huber (1979), Estimation des densités: risque minimax. Weissman, Ordentlich, Seroussi,
Verdu and Weinberger (2003), Inequalities for the L1 deviation of the empirical distribution. Yu (1997), Assouad, Fano,
and Le Cam.
"""

from __future__ import annotations

import math

from scipy.special import betainc, betaincinv, expit, logit

from discreet.arguments import fraction, not_negative, positive, real, shown, whole
from discreet.checked import checked
from discreet.errors import UsageError
from discreet.privacy.metric.constants import StochasticLipschitz


@checked
def kl_bound(constant: float, distance: float) -> float:
    """Return a bound on the divergence of the posteriors of two tables, if l(theta) <= ``constant`` (theorem 7.1).

    The printed 2 L rho is valid. The log-ratio of the posteriors is at most 2 L rho in size, and two distributions of
    which that is true have divergence at most 2 L rho tanh(L rho): a square for near tables.
    """
    reach = not_negative(constant, "constant") * not_negative(distance, "distance")
    return 2 * reach * math.tanh(reach)


@checked
def stochastic_kl_bound(
    constants: StochasticLipschitz, distance: float, *, steps: int | None = None
) -> float:
    r"""Return a bound on the divergence of the posteriors of two tables under assumption 2 (theorem 7.2, corrected).

    Parameters
    ----------
    constants
        c, L0 and C.
    distance
        rho of the two tables.
    steps
        In how many equal steps one can go from one table to the other, all of them tables: the number of differing
        records for Hamming's distance. None: in as many as one likes, as for numbers on a line.

    Returns
    -------
    float
        ``inf`` if a step is c or longer.

    Notes
    -----
    The divergence is at most C (L0 + 1/c) rho plus the log-ratio of the marginal likelihoods. In print that log-ratio
    is at most C (1 + L0) rho, because its exponential is at most C e^((1 + L0) rho): but log C does not vanish, and the
    rescue by a scaled distance scales c and L0 too. What holds, for each step r < c, is

        log-ratio <= log(1 + C (e^(L0 r) c / (c - r) - 1)),

    which is at most the printed C (1 + L0) r if r <= c - 1; and C (L0 + 1/c) rho along a path. Under Hamming's distance
    the printed form therefore needs c >= 2.
    """
    rho = not_negative(distance, "distance")
    first = constants.ratio * constants.mean * rho
    if steps is None:
        return 2 * first
    if steps < 1:
        raise UsageError(f"steps must be at least 1, got steps={steps}.")
    growth = constants.growth(rho / steps)
    return first + steps * math.log1p(constants.ratio * (growth - 1))


@checked
def total_variation_bound(
    constants: StochasticLipschitz, distance: float, *, steps: int | None = None, samples: int = 1
) -> float:
    """Return a bound on the total variation of the posteriors of two tables under assumption 2, clipped at 1.

    Theorem 8.2 and corollary 10.2, by Pinsker's inequality. It is no guarantee: with C >= 1 the printed delta is at
    least sqrt(rho / 2), and above 1 in every worked example. Exact numbers for conjugate posteriors are in
    :mod:`discreet.privacy.metric.posterior_distances`. For several ``samples`` divergences add up, so that the bound
    grows with the root of their number and not with the number itself, as in print.
    """
    return min(1.0, math.sqrt(_draws(samples) * stochastic_kl_bound(constants, distance, steps=steps) / 2))


@checked
def advantage_bound(constant: float, distance: float, draws: int = 1) -> float:
    """Return the largest total variation of ``draws`` posterior draws for two tables, if l(theta) <= ``constant``.

    One minus this is the least sum of the two error probabilities of any adversary. Each draw is 2 L rho-private, and
    whatever is comes from a randomized response of that epsilon by further processing; so no adversary does better than
    one who sees that many randomized responses and goes by the majority. An even number is worth as much as one less.
    """
    half = (_draws(draws) + 1) // 2
    reach = not_negative(constant, "constant") * not_negative(distance, "distance")
    return max(0.0, 1 - 2 * float(betainc(half, half, expit(-2 * reach))))


@checked
def distinguishing_distance(constant: float, draws: int, error: float) -> float:
    """Return the least distance of two tables that any adversary can tell apart with so small an error.

    "Tell apart" means: from ``draws`` draws of the posterior, with at most this probability of error under either
    table. Tables that are nearer cannot be told apart by anybody; tables that are farther need not be distinguishable
    at all.

    Theorem 13 says that the adversary can distinguish *if* rho >= 3 log(1/error) / (4 L n). Its proof gives
    *only if*, and for one estimator instead of all adversaries; and a mechanism with log-ratio 2 L rho = 10 is told
    apart with error 4.5e-5 at L rho = 5, where the printed form asks for 7.5. Here :func:`advantage_bound` is inverted;
    a simpler consequence is rho >= log(1/(4 error)) / (2 n L), by Bretagnolle and Huber.
    """
    half = (_draws(draws) + 1) // 2
    _divergence_needed(error)
    positive(constant, "constant")
    return -float(logit(betaincinv(half, half, error))) / (2 * constant)


@checked
def draws_to_distinguish(divergence: float, error: float) -> int:
    """Return the least number of draws from which any adversary can tell two tables apart with so small an error.

    ``divergence`` bounds that of one draw's distributions: :func:`kl_bound`, or :func:`stochastic_kl_bound` where only
    assumption 2 holds. The second display of theorem 13 is about the latter; its C + 2 L0 / c is a misprint for
    C (1 + 2 L0 + 1/c), and like the first it is for one estimator.
    """
    positive(divergence, "divergence")
    return max(1, math.ceil(_divergence_needed(error) / divergence * (1 - 1e-12)))


def _divergence_needed(error: float) -> float:
    """Return how far two distributions must diverge for both errors of a test to be small (Bretagnolle and Huber)."""
    if not 0 < error < 0.5:
        raise UsageError(f"error must be between 0 and 1/2, got error={error}.")
    return -math.log(4 * error * (1 - error))


@checked
def estimation_error(constant: float, distance: float, draws: int = 1) -> float:
    """Return the least expected distance between the true table and any adversary's guess, at worst (lemma 18).

    If there are two tables this far apart: Le Cam's method, with the overlap of the two distributions of the draws
    bounded by :func:`advantage_bound`.
    """
    return le_cam_error(distance, 1 - advantage_bound(constant, distance, draws))


@checked
def le_cam_error(separation: float, overlap: float) -> float:
    """Return Le Cam's lower bound on the expected distance of any guess from the truth (lemma 18, as printed).

    ``separation`` is the distance between two sets of tables, and ``overlap`` one minus the total variation of two
    mixtures of what is seen, one over each set.
    """
    return not_negative(separation, "separation") / 2 * fraction(overlap, "overlap")


@checked
def empirical_distance(draws: int, cells: int, failure: float) -> float:
    """Return how far, in L1, the empirical distribution of ``draws`` draws can be from the true one on ``cells`` cells.

    With probability at least 1 - ``failure``. Lemma 12 is sqrt(3 log(1/failure) / draws), for at most
    log2(sqrt(1/failure)) cells; this is Weissman's inequality, which it follows from, for any number of cells.
    """
    if cells < 2:
        return 0.0
    log_events = cells * math.log(2) + math.log1p(-(2.0 ** (1 - cells)))
    return min(2.0, math.sqrt(2 / _draws(draws) * (log_events - math.log(_probability("failure", failure)))))


@checked
def sampling_half_width(draws: int, failure: float, *, responses: int = 1, questions: int = 1) -> float:
    """Return how far average utilities over draws can be from expected ones, for all responses and questions at once.

    With probability at least 1 - ``failure``. Lemma 11 has log(2/failure) under the root "for all r, q", but
    Hoeffding's inequality is for one: a union over Q questions with R responses each makes it log(2 Q R/failure). The
    response that looks best is worth at most twice this less than the best one.
    """
    events = 2.0 * whole(responses, "responses") * whole(questions, "questions")
    return math.sqrt(math.log(events / _probability("failure", failure)) / (2 * _draws(draws)))


@checked
def draws_for_loss(loss: float, failure: float, *, responses: int = 1, questions: int = 1) -> int:
    """Return how many draws make the loss from sampling (lemma 11) at most ``loss``."""
    positive(loss, "loss")
    width = sampling_half_width(1, failure, responses=responses, questions=questions)
    return max(1, math.ceil((2 * width / loss) ** 2))


@checked
def regret_bound(total_variation: float) -> float:
    """Return the regret of whoever acts on a posterior at this total variation from the one they believe in.

    Lemma 14 is twice the L1 distance; the L1 distance, twice the total variation, is enough: utilities in [0, 1] differ
    by at most the total variation in expectation.
    """
    return min(1.0, 2 * fraction(total_variation, "total_variation"))


@checked
def prior_change_bound(log_ratio: float) -> float:
    """Return the expected divergence between the posteriors of two priors whose log-ratio is at most this in size.

    Lemma 15 is 2 eta, which is valid. By the chain rule the expectation, over data from the first prior's marginal, is
    the divergence of the priors minus that of their marginals, so that eta tanh(eta / 2) will do.
    """
    eta = not_negative(log_ratio, "log_ratio")
    return eta * math.tanh(eta / 2)


@checked
def restriction_loss(
    posterior_tail: float, draws: int, failure: float, *, responses: int = 1, questions: int = 1
) -> float:
    """Return what is lost by using ``draws`` draws under a prior that was restricted to Theta_L (theorem 17 b).

    ``posterior_tail`` is the unrestricted *posterior's* mass outside of Theta_L, for the table at hand. In print it
    is the prior's mass, which is right on average over tables from the prior only: for a single table the
    posterior may sit outside of Theta_L altogether.
    """
    half = sampling_half_width(draws, failure, responses=responses, questions=questions)
    return min(1.0, regret_bound(posterior_tail) + 2 * half)


def _probability(name: str, value: float) -> float:
    if not 0 < (number := real(value, name)) <= 1:
        raise UsageError(f"{name} must be above 0 and at most 1, got {name}={shown(value)}.")
    return number


def _draws(n: int) -> int:
    return whole(n, "the number of draws")
