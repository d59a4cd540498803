"""The verb report: one self-contained page that says what a release tells, how sure it is, and what it promises."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import asdict
from html import escape
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from discreet.arguments import FilePath, generator, instance, probability, text
from discreet.arguments import path as read_path
from discreet.artifact import Release
from discreet.artifact.files import replacing
from discreet.domain.dates import shown_day
from discreet.errors import DiscreetError, UsageError
from discreet.inference.analyst import infer
from discreet.inference.posterior import Posterior
from discreet.inference.posteriors import Posteriors
from discreet.inference.summary import decimals_for
from discreet.reporting.density import interval_of
from discreet.reporting.inline_svg import Axis, density_svg, forest_svg
from discreet.reporting.web_page import Page
from discreet.version import __version__

# Parameters with a picture of their own, rows of a table, and quantiles in the page.
_MOST_PICTURES, _MOST_ROWS, _QUANTILES = 6, 200, 401
_REFERENCES = (
    "Bernstein and Sheldon (2018), Differentially private Bayesian inference for exponential families.",
    "Foulds, Geumlek, Welling and Chaudhuri (2016), On the theory and practice of privacy-preserving Bayesian data "
    "analysis.",
    "Dwork, McSherry, Nissim and Smith (2006), Calibrating noise to sensitivity in private data analysis.",
    "Canonne, Kamath and Steinke (2020), The discrete Gaussian for differential privacy.",
)


def report(
    release: Any,
    path: FilePath = "report.html",
    *,
    posterior: Any = None,
    prior: Any = None,
    prob: float = 0.95,
    title: str | None = None,
    rng: Any = 0,
) -> Path:
    """Write one self-contained page about a release, or several: no network, no rows, no further cost.

    It opens with the answer in a sentence, warnings first; then pictures beside the naive reading, the privacy
    statement, what was assumed, how much the prior matters, how the draws were made, and code that repeats it.

    Parameters
    ----------
    release
        A :class:`Release`, the path of a release file, or several in a list or by name.
    path
        Where to write the page.
    posterior
        What :func:`infer` made of the release, if it was read already; with several releases, by the same names.
    prior
        As in :func:`infer`; with several releases, by name.
    prob
        The probability of the intervals that the page opens with; its reader can change it.
    title
        The page's heading.
    rng
        Seed of the draws, so that the code on the page gives the same numbers.

    Returns
    -------
    pathlib.Path
        The page.
    """
    target = read_path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"a report is a web page: cannot write {target.name}.", hint="end the name in .html")
    page = Page(probability(prob, "prob"))
    releases = _named(release)
    generator(rng)
    seed = rng if isinstance(rng, int) else 0
    heading = (None if title is None else text(title, "title")) or (
        f"{len(releases)} private releases"
        if len(releases) > 1
        else next(iter(releases.values()))[0].question
    )
    page.add(f"<h1>{escape(heading)}</h1>")
    page.add(
        '<p class="quiet">Made from published release files alone. Intervals account for sampling and for the noise '
        "that protects people.</p>",
        '<div class="choose"><label for="probability">Probability of the intervals</label>'
        f'<input id="probability" type="range" min="50" max="99" value="{100 * page.prob:.0f}">'
        f'<output id="probability-shown" for="probability">{100 * page.prob:.0f}%</output></div>',
    )
    for name, (one, file) in releases.items():
        made = posterior.get(name) if isinstance(posterior, Mapping) and len(releases) > 1 else posterior
        chosen = prior.get(name) if isinstance(prior, Mapping) else prior
        _section(page, one, made, chosen, seed, file, alone=len(releases) == 1)
    page.add("<h2>Methods</h2><ul>", *(f"<li>{escape(each)}</li>" for each in _REFERENCES), "</ul>")
    page.add(f"<footer>discreet {escape(__version__)}</footer>")
    with replacing(target) as draft:
        Path(draft).write_text(page.html(heading), encoding="utf-8")
    return target


def _named(release: Any) -> dict[str, tuple[Release, str]]:
    """Return the releases by name, each with the name of its file for the code on the page."""
    if isinstance(release, Mapping):
        given = dict(release)
    elif isinstance(release, list | tuple):
        given = {f"release {k + 1}": one for k, one in enumerate(release)}
    else:
        given = {"release": release}
    if not given:
        raise UsageError("there is no release to report.")
    found = {}
    for name, one in given.items():
        if isinstance(one, Release):
            found[str(name)] = one, f"{name}.json"
        elif isinstance(one, str | os.PathLike):
            found[str(name)] = Release.load(Path(one)), Path(one).name
        else:
            raise UsageError(
                f"a report is about releases, got {type(one).__name__}.",
                hint="give a release or its file; what infer made of it goes to posterior=",
            )
    return found


def _section(
    page: Page, release: Release, posterior: Any, prior: Any, seed: int, file: str, *, alone: bool
) -> None:
    """Write everything about one release."""
    made = infer(release, prior=prior, rng=seed) if posterior is None else posterior
    made = instance(made, "posterior", (Posterior, Posteriors), "what infer made of the release")
    if not alone:
        page.add(f"<h2>{escape(release.question)}</h2>")
    together = made if isinstance(made, Posterior) else made.together()
    how = together.diagnostics
    warnings = (*how.warnings, *how.mixing_warnings)
    if warnings:
        page.add('<div class="warnings"><strong>Before you use this</strong><ul>')
        page.add(*(f"<li>{escape(one)}</li>" for one in warnings), "</ul></div>")
    if isinstance(made, Mapping):
        _groups(page, made, release)
    else:
        _answers(page, made, naive_reading(release, prior, seed), release)
    page.add("<h3>Privacy</h3>", *(f"<p>{escape(p)}</p>" for p in release.statement().split("\n\n")))
    if release.about is not None:
        page.add("<h3>What its curator says of it</h3>")
        page.listed(
            [
                (name.replace("_", " "), said if isinstance(said, str) else "; ".join(said))
                for name, said in release.about.items()
            ]
        )
    page.add("<h3>What was assumed</h3>")
    assumed = "; ".join(release.model.assumptions(release.domain))
    page.listed(
        [
            ("model", release.model.describe()),
            ("assumes", how.given or "nothing but the declarations"),
            ("declared", assumed),
            (
                "values outside",
                "moved to the nearest bound" if release.domain.outside == "clip" else "redacted",
            )
            if release.model.has_numbers
            else ("", ""),
            ("missing values", how.missing),
            ("prior", f"{how.prior} (weak, the default)" if how.prior else str(prior or "")),
            ("fit check", "" if how.fit_check is None else str(how.fit_check)),
        ]
    )
    if isinstance(made, Posterior):
        _sensitivity(page, made, release, prior)
    page.add("<h3>How the draws were made</h3>")
    least = min((float(np.min(size)) for size in how.ess.values()), default=float("nan"))
    stamp = release.ledger
    page.listed(
        [
            ("engine", f"{how.engine_in_words}; {how.reason}"),
            ("draws", f"{how.draws_in_words}, at least {least:,.0f} effective"),
            ("ledger", "" if stamp is None else f"entry {stamp.sequence} of ledger {stamp.id}"),
            ("release", release.id),
        ]
    )
    asked = "" if prior is None else f", prior={str(prior)!r}"
    code = f"import discreet as dc\n\nposterior = dc.infer({file!r}{asked}, rng={seed})\nprint(posterior.summary())"
    page.add(f'<h3>To repeat it</h3><pre tabindex="0"><code>{escape(code)}</code></pre>')


def naive_reading(release: Release, prior: Any, seed: int) -> Posterior | None:
    """Return the reading that ignores the noise, where there is one."""
    try:
        found = infer(release, engine="naive", prior=prior, rng=seed)
    except DiscreetError:
        return None
    return found if isinstance(found, Posterior) else None


def _answers(page: Page, posterior: Posterior, naive: Posterior | None, release: Release) -> None:
    """Write the answer in a sentence, a picture for each parameter, and the table."""
    numbers = numbers_of(posterior)
    beside = {} if naive is None else numbers_of(naive)
    if not numbers:
        page.add(_picture(posterior, release))
        return
    # of a regression people ask for the coefficients, and not where the line begins
    of_terms = [name for name in numbers if name.startswith("coefficients[")]
    first = next(iter(of_terms or numbers))
    middle, low, high = ends(posterior, first, numbers[first], page.prob)
    unit = posterior.units.of(first)
    after = f" {escape(unit)}" if unit else ""
    # a model that is called by its name does not say which of its numbers comes first
    called = "" if release.model.question and len(posterior.draws) < 3 else f"{escape(first)} "
    if of_terms:
        called = f"coefficient of {escape(first[len('coefficients[') : -1])} "
    page.add(
        f'<p class="answer">{escape(release.question)}: {called}about <strong>{middle}</strong>{after}; '
        f"<span data-prob>{100 * page.prob:.0f}%</span> interval "
        f'<strong data-interval="{page.identity}">{low} to {high}</strong>{after}.</p>'
    )
    own = release.model.picture != "densities"
    if own:
        page.add(_picture(posterior, release))
    rows = []
    for k, (name, draws) in enumerate(islice(numbers.items(), _MOST_ROWS)):
        picture, axis = None, None
        if k < _MOST_PICTURES and not own:
            picture, axis = _density(page, posterior, name, draws, beside.get(name)) or (None, None)
        if picture is not None:
            page.add(f"<figure>{picture}<figcaption>{escape(name)}</figcaption></figure>")
        rows.append(_row(page, posterior, name, draws, axis))
    page.table(rows)
    if len(numbers) > _MOST_ROWS:
        page.add(f'<p class="quiet">… and {len(numbers) - _MOST_ROWS:,} more, which dc.infer gives.</p>')
    if posterior.table is not None:
        page.add("<h3>Of this very table, where noise is the only uncertainty</h3>")
        page.table([_row(page, posterior.table, *each) for each in numbers_of(posterior.table).items()])


def _groups(page: Page, groups: Mapping[str, Posterior], release: Release) -> None:
    """Write a forest plot and a table of the first parameter of every group."""
    parameter = next(iter(next(iter(groups.values())).draws))
    rows: list[tuple[str, float, float, float, str]] = []
    listed = []
    units = next(iter(groups.values())).units
    for name, one in groups.items():
        draws = one.draws[parameter]
        if draws.ndim > 1:
            page.add(_picture(one, release))
            return
        low, middle, high = interval_of(draws, page.prob).tolist()
        _, first, last = ends(one, parameter, draws, page.prob)
        rows.append((name, middle, low, high, f"{first} to {last}"))
        if len(listed) < _MOST_ROWS:
            listed.append((name, *_row(page, one, parameter, draws)[1:]))
    ordered = sorted(rows, key=lambda row: row[1])
    page.add(
        f'<p class="answer">{escape(release.question)}: {escape(parameter)} lowest in '
        f"<strong>{escape(ordered[0][0])}</strong> ({ordered[0][4]}), highest in "
        f"<strong>{escape(ordered[-1][0])}</strong> ({ordered[-1][4]}).</p>"
    )
    shown = shown_day if units.is_date(parameter) else "{:.4g}".format
    words = f"{parameter} of {len(rows)} groups with {100 * page.prob:.0f}% intervals"
    page.add(
        f"<figure>{forest_svg(rows[:_MOST_ROWS], shown, words)}"
        f"<figcaption>{escape(words)}</figcaption></figure>"
    )
    page.table(listed)


def _sensitivity(page: Page, posterior: Posterior, release: Release, prior: Any) -> None:
    """Say how the answer moves if the prior counts twice, or not at all, by weighting the draws.

    The draws under a prior are weighted by its density, or the inverse of it. Weights that leave few effective draws
    say so themselves: then the prior decides, and no number is given.
    """
    try:
        chosen = release.model.read_prior(prior, release.domain)
        values = tuple(posterior.draws[name] for name in release.model.draw_names)
        log_prior = np.asarray(chosen.log_density(values[0] if len(values) == 1 else values), dtype=float)
    except (AttributeError, DiscreetError, KeyError, TypeError, ValueError, IndexError):
        return
    if log_prior.shape != (posterior.n_draws,) or not np.isfinite(log_prior).all():
        return
    name, draws = next(iter(numbers_of(posterior).items()))
    rows = []
    for words, power in (("as given", 0.0), ("counted twice", 1.0), ("not at all", -1.0)):
        weights = np.exp(power * log_prior - np.max(power * log_prior))
        weights /= weights.sum()
        if 1 / float((weights**2).sum()) < 0.05 * posterior.n_draws:
            rows.append((words, "decides the answer", ""))
            continue
        order = np.argsort(draws)
        cumulative = np.cumsum(weights[order])
        low, middle, high = (
            float(draws[order][np.searchsorted(cumulative, q)])
            for q in ((1 - page.prob) / 2, 0.5, (1 + page.prob) / 2)
        )
        shown, first, last = _printed(posterior, name, low, middle, high)
        rows.append((words, shown, f"{first} to {last}"))
    page.add("<h3>How much the prior matters</h3>")
    page.table(rows, ("prior", name, f"{100 * page.prob:.0f}% interval"))


def numbers_of(posterior: Posterior) -> dict[str, np.ndarray]:
    """Return the draws of every number of a posterior by its full name; labels are none."""
    labels = posterior.diagnostics.categorical
    return {name: x for name, x in posterior.scalars().items() if name.partition("[")[0] not in labels}


def ends(posterior: Posterior, name: str, draws: np.ndarray, prob: float) -> tuple[str, str, str]:
    """Return the median and the ends of the interval, printed alike."""
    return _printed(posterior, name, *interval_of(draws, prob).tolist())


def _printed(posterior: Posterior, name: str, low: float, middle: float, high: float) -> tuple[str, str, str]:
    decimals = decimals_for(high - low)

    def shown(value: float) -> str:
        dates = posterior.units.is_date(name)
        return shown_day(value) if dates else f"{round(value, decimals) + 0.0:.{decimals}f}"

    return shown(middle), shown(low), shown(high)


def tick_words(posterior: Posterior, name: str) -> Callable[[float], str]:
    """Return how values of a parameter are written below an axis."""
    return shown_day if posterior.units.is_date(name) else "{:g}".format


def _density(
    page: Page, posterior: Posterior, name: str, draws: np.ndarray, naive: np.ndarray | None
) -> tuple[str, Axis] | None:
    low, _, high = interval_of(draws, page.prob).tolist()
    readings = {"aware": draws} if naive is None else {"aware": draws, "naive": naive}
    middle, first, last = ends(posterior, name, draws, page.prob)
    words = f"Density of {name}: median {middle}, {100 * page.prob:.0f}% interval {first} to {last}"
    return density_svg(name, readings, (low, high), page.identity, tick_words(posterior, name), words)


def _row(
    page: Page, posterior: Posterior, name: str, draws: np.ndarray, axis: Axis | None = None
) -> tuple[str, str, str]:
    """Return a row of a table whose interval follows the reader's probability: the script gets its quantiles."""
    middle, low, high = ends(posterior, name, draws, page.prob)
    row = name, middle, f'<span data-interval="{page.identity}">{low} to {high}</span>'
    values = np.quantile(draws, np.linspace(0, 1, _QUANTILES))
    first, last = np.quantile(draws, [0.025, 0.975])
    page.quantiles.append(
        {
            "id": page.identity,
            "dates": posterior.units.is_date(name),
            "decimals": decimals_for(float(last - first)),
            "values": [float(f"{value:.6g}") for value in values],
            **({} if axis is None else asdict(axis)),
        }
    )
    return row


def _picture(posterior: Posterior, release: Release) -> str:
    """Return the picture of the model's own kind, as an image inside the page."""
    drawn = BytesIO()
    posterior.plot().savefig(drawn, format="png", dpi=110)
    data = b64encode(drawn.getvalue()).decode("ascii")
    words = escape(f"Picture of the posterior: {release.question}")
    return f'<figure><img alt="{words}" src="data:image/png;base64,{data}"></figure>'
