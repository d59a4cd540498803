"""Figures 1 and 2, lemma 1, and theorems 4 and 5: how close private posteriors come to the true one."""

from __future__ import annotations

import numpy as np
from common.claim import Claim, Panel
from scipy import stats
from scipy.special import betaln, digamma

import discreet as dc

from .distributions import COIN, FLAT, OneSample, library_laplace, noisy_release, printed_laplace

#: False alarm of each claim that compares random numbers.
FALSE_ALARM = 1e-4
SIGMAS = float(stats.norm.isf(FALSE_ALARM / 2))


def posteriors(rng: np.random.Generator) -> Panel:
    """Figure 1: 20 tosses of a coin with p = 0.3, epsilon = 1, truncated at 0.2; 30 Laplace posteriors."""
    n, epsilon = 20, 1.0
    ops = OneSample(0.2, epsilon)
    yes = round(0.3 * n)
    p = np.linspace(0.002, 0.998, 499)
    read = library_laplace(epsilon, np.full(30, yes), n, rng)
    step = np.gradient(ops.grid.points["p"])
    means = read[0] / read.sum(axis=0)
    sd_true = float(stats.beta(1 + yes, 1 + n - yes).std())
    widths = stats.beta.std(*read)
    far = [OneSample(0.2, epsilon).release(np.arange(size) % 2, rng).mechanism for size in (20, 20_000)]
    words = [f"{float(record.parameters['temperature']):.4f}" for record in far]
    mass, grid = ops.mass(yes, n), ops.grid.points["p"]
    mean = float(mass @ grid)
    spread = float(np.sqrt(mass @ (grid - mean) ** 2))
    return Panel(
        "posteriors",
        {
            "p": p,
            "true": stats.beta.pdf(p, 1 + yes, 1 + n - yes),
            "laplace": np.array([stats.beta.pdf(p, a, b) for a, b in read.T]),
            "ops_p": ops.grid.points["p"][::16],
            "ops": (ops.mass(yes, n) / step)[::16],
            "temperature": ops.temperature,
        },
        [
            Claim(
                "figure 1",
                "the temperature is 2 log 4 / epsilon (2.7 in print), whatever the number of records (section 3.2)",
                abs(ops.temperature - 2 * np.log(4)) < 1e-9 and words[0] == words[1],
                f"T = {words[0]} for 20 records, {words[1]} for 20,000",
            ),
            Claim(
                "figure 1",
                "OPS flattens the posterior and stays in place; the Laplace mechanism keeps its width and moves it",
                spread > 1.2 * max(sd_true, widths.mean()) and means.std() > 0.3 * sd_true,
                f"standard deviation {sd_true:.3f} without privacy, {spread:.3f} with OPS, {widths.mean():.3f} on "
                f"average with Laplace noise, whose 30 means have one of {means.std():.3f}",
            ),
        ],
    )


def errors(rng: np.random.Generator, repeats: int) -> Panel:
    """Figure 2: mean absolute error of one draw, p = 0.1, truncated at 0.05, epsilon = 0.1."""
    p, epsilon, sizes = 0.1, 0.1, np.array([3, 10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000])
    ops = OneSample(0.05, epsilon)
    found: dict[str, list[np.ndarray]] = {"true": [], "ops": [], "printed": [], "library": []}
    for n in sizes:
        yes = rng.binomial(n, p, repeats)
        found["true"].append(np.abs(rng.beta(1 + yes, 1 + n - yes) - p))
        found["ops"].append(np.abs(ops.draw(yes, int(n), rng) - p))
        found["printed"].append(np.abs(rng.beta(*printed_laplace(epsilon, yes, int(n), rng)) - p))
        found["library"].append(np.abs(rng.beta(*library_laplace(epsilon, yes, int(n), rng)) - p))
    table = {name: np.array(values) for name, values in found.items()}
    mean = {name: values.mean(axis=1) for name, values in table.items()}
    se = {name: values.std(axis=1) / np.sqrt(repeats) for name, values in table.items()}
    gap = (mean["printed"] - mean["ops"]) / np.hypot(se["printed"], se["ops"])
    last = {name: f"{values[-1]:.4f}" for name, values in mean.items()}
    # a draw of variance v is off by sqrt(2 v / pi) on average
    limit = np.sqrt((1 + ops.temperature) / 2)
    ratio = mean["ops"][-1] / mean["true"][-1]
    error = SIGMAS * ratio * np.hypot(se["ops"][-1] / mean["ops"][-1], se["true"][-1] / mean["true"][-1])
    # the true posterior of how many records is as far off as OPS with the most there are
    fewer = float(np.interp(-np.log(mean["ops"][-1]), -np.log(mean["true"]), np.log(sizes)))
    # what Laplace noise of scale b on both counts adds to the variance 2 p q / n of a draw, by the delta method
    added = (2 / epsilon) ** 2 * (p**2 + (1 - p) ** 2) / (p * (1 - p) * sizes)
    close = mean["printed"][-1] / mean["true"][-1] / np.sqrt(1 + added[-1])
    off = SIGMAS * np.hypot(se["printed"][-1] / mean["printed"][-1], se["true"][-1] / mean["true"][-1])
    return Panel(
        "errors",
        {"n": sizes, "temperature": ops.temperature, **mean, **{f"{k}_se": v for k, v in se.items()}},
        [
            Claim(
                "figure 2",
                "beyond very little data (about 10 records in print) OPS is worse than Laplace, and stays so",
                bool(np.all(gap[3:] < -SIGMAS)),
                "mean error at n = 3, 10, 30, 100: "
                + f"OPS {', '.join(f'{v:.3f}' for v in mean['ops'][:4])}; "
                + f"Laplace as printed {', '.join(f'{v:.3f}' for v in mean['printed'][:4])}",
            ),
            Claim(
                "figure 2",
                "draws from the Laplace mechanism's posterior become as exact as draws from the true one",
                abs(close - 1) < off and added[-1] < 0.05 and mean["printed"][3] > 1.5 * mean["true"][3],
                f"at n = 100: {mean['true'][3]:.4f} true, {mean['printed'][3]:.4f} Laplace; "
                f"at n = 100,000: {last['true']} and {last['printed']}",
            ),
            Claim(
                "figure 2",
                "OPS behaves like a posterior of fewer records: its error stays sqrt((1 + T)/2) times larger",
                abs(ratio - limit) < error and fewer < np.log(sizes[-1] / 10),
                f"at n = 100,000: {ratio:.2f} times, sqrt((1 + {ops.temperature:.1f})/2) = {limit:.2f}; "
                f"as exact as the true posterior of {np.exp(fewer):,.0f} records",
            ),
            Claim(
                "equation 17",
                "L1 sensitivity 2 noises both counts; with n public one count is enough, with half the noise",
                bool(np.all(mean["library"][2:6] < mean["printed"][2:6])),
                "mean error at n = 30 ... 1000: "
                + f"both counts {', '.join(f'{v:.3f}' for v in mean['printed'][2:6])}; "
                + f"this library {', '.join(f'{v:.3f}' for v in mean['library'][2:6])}",
            ),
        ],
    )


def divergences(rng: np.random.Generator, repeats: int) -> Panel:
    """Lemma 1: the expected divergence of the noisy posterior from the true one, p = 0.3."""
    p, sizes, budgets = 0.3, np.array([100, 1000, 10_000, 100_000, 1_000_000]), (1.0, 0.1)
    series: dict[str, object] = {"n": sizes}
    scaled = {}
    for epsilon in budgets:
        means = []
        for n in sizes:
            yes = rng.binomial(n, p, repeats)
            noisy = printed_laplace(epsilon, yes, int(n), rng)
            means.append(float(beta_divergence(noisy, np.stack([1 + yes, 1 + n - yes])).mean()))
        series[f"epsilon {epsilon:g}"] = means
        # two Laplace variables of scale 2/epsilon move the posterior's mean
        scaled[epsilon] = means[-1] / ((2 / epsilon) ** 2 * (p**2 + (1 - p) ** 2) / (sizes[-1] * p * (1 - p)))
    temperature = OneSample(0.2, 1.0).temperature
    n = 1_000_000
    a, b = 1 + p * n, 1 + (1 - p) * n
    flat = np.array([[1 + p * n / temperature], [1 + (1 - p) * n / temperature]])
    ops = float(beta_divergence(flat, np.array([[a], [b]]))[0])
    floor = 0.5 * (temperature - 1 - np.log(temperature))
    return Panel(
        "divergences",
        {**series, "ops": ops},
        [
            Claim(
                "lemma 1",
                "the expected divergence of the Laplace mechanism's posterior from the true one goes to 0, like 1/n",
                all(np.all(np.diff(series[f"epsilon {e:g}"]) < 0) for e in budgets)
                and all(abs(v - 1) < 0.1 for v in scaled.values()),
                "at a million records it is "
                + " and ".join(
                    f"{scaled[e]:.2f} times b^2 (p^2 + q^2) / (n p q) at epsilon = {e:g}" for e in budgets
                ),
            ),
            Claim(
                "section 3.2",
                "OPS stays a factor T flatter: its divergence tends to (T - 1 - log T)/2 and not to 0",
                abs(ops / floor - 1) < 0.01,
                f"{ops:.3f} at a million records, (T - 1 - log T)/2 = {floor:.3f} at T = {temperature:.2f}",
            ),
        ],
    )


def efficiency(rng: np.random.Generator, repeats: int) -> Panel:
    """Theorems 4 and 5 and remark 1 at n = 10,000: n times the variance of an estimate, over p (1 - p)."""
    p, n, least = 0.3, 10_000, 0.1
    information = p * (1 - p) / n
    yes = rng.binomial(n, p, repeats)
    span = 2 * np.log((1 - least) / least)

    def ratio(estimates: np.ndarray) -> tuple[float, float]:
        value = float(np.mean((estimates - p) ** 2)) / information
        return value, SIGMAS * value * np.sqrt(2 / repeats)

    noisy = library_laplace(1.0, yes, n, rng)
    true = ratio(rng.beta(1 + yes, 1 + n - yes))
    sample, mean = ratio(rng.beta(*noisy)), ratio(noisy[0] / noisy.sum(axis=0))
    temperatures = np.array([0.5, 1, 2, 4, 8])
    ops = {t: OneSample(least, float(span / t)) for t in temperatures[1:]}
    found = {t: ratio(one.draw(yes, n, rng)) for t, one in ops.items()}
    found[0.5] = ratio(ops[1].draw(yes, n, rng, temperature=0.5))
    posterior = dc.infer(noisy_release(1.0, n, 3000), prior=FLAT, engine="naive", draws=4000, rng=rng)
    exact = ops[4].mass(3000, n)
    grid = ops[4].grid.points["p"]
    width = float(exact @ (grid - exact @ grid) ** 2) / information
    agree = stats.kstest(
        [
            ops[4].release(np.arange(n) < 3000, rng).samples.draws["p"][0]
            for _ in range(max(repeats // 100, 50))
        ],
        lambda x: np.interp(x, grid, np.cumsum(exact)),
    ).pvalue
    return Panel(
        "efficiency",
        {
            "temperature": temperatures,
            "ops": [found[t][0] for t in temperatures],
            "ops_error": [found[t][1] for t in temperatures],
            "laplace": sample,
            "mean": mean,
            "true": true,
        },
        [
            Claim(
                "theorem 4",
                "a draw from the Laplace mechanism's posterior has relative efficiency 2, like one from the true one",
                abs(sample[0] - 2) < sample[1] and abs(true[0] - 2) < true[1],
                f"Laplace {sample[0]:.3f}, true {true[0]:.3f}, both within {sample[1]:.2f}",
            ),
            Claim(
                "remark 1",
                "the mean of the Laplace mechanism's posterior has relative efficiency 1",
                abs(mean[0] - 1) < mean[1] and abs(float(np.mean(posterior.draws["p"])) - 0.3) < 0.02,
                f"{mean[0]:.3f}, within {mean[1]:.2f}",
            ),
            Claim(
                "theorem 5",
                "one OPS draw at temperature T has relative efficiency 1 + T; it holds for T < 1 as well",
                all(abs(value - 1 - t) < error for t, (value, error) in found.items()),
                "; ".join(f"T = {t:g}: {found[t][0]:.3f} (within {found[t][1]:.2f})" for t in temperatures),
            ),
            Claim(
                "theorem 5",
                "(1 + T) is the variance of one draw around the truth; the posterior's own is T, not 1 + T",
                abs(width - 4) < 0.05,
                f"at T = 4, n = 10,000 the variance of the tempered posterior is {width:.3f} times the optimum",
            ),
            Claim(
                "section 3.3",
                "the ratio of one OPS draw's variance to a true draw's tends to (1 + T)/2",
                all(
                    abs(found[t][0] / true[0] - (1 + t) / 2) < SIGMAS * (1 + t) / 2 * np.sqrt(4 / repeats)
                    for t in temperatures
                ),
                f"at T = 8: {found[8.0][0] / true[0]:.3f} against 4.5",
            ),
            Claim(
                "mechanism",
                "releases of rows follow the distribution that the study draws from (Kolmogorov-Smirnov)",
                agree > FALSE_ALARM,
                f"p-value {agree:.2f} over {max(repeats // 100, 50)} releases of 10,000 rows by {COIN.name} OPS",
            ),
        ],
    )


def beta_divergence(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the Kullback-Leibler divergence of Beta(one) from Beta(other)."""
    (a, b), (c, d) = one, other
    # at many records the terms are large and cancel; what is left is exact to about 1e-9
    return (
        betaln(c, d)
        - betaln(a, b)
        + (a - c) * digamma(a)
        + (b - d) * digamma(b)
        + (c - a + d - b) * digamma(a + b)
    )
