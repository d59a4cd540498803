"""``discreet forecast`` and ``discreet states``: what hidden Markov models expect, and how many states they need."""

from __future__ import annotations

from typing import Annotated

from discreet.cli.console import busy
from discreet.cli.options import AsJson, Chains, Draws, PriorText, ReleaseFile, Seed, option
from discreet.cli.output_checks import load_release
from discreet.cli.show_result import Picture, check_picture, show_result
from discreet.errors import UsageError


def forecast(
    file: ReleaseFile,
    ahead: Annotated[int, option("N", "How many time steps.")] = 1,
    entries: Annotated[
        int | None,
        option("N", "Forecast counts of labels for cells with so many entries.", show_default=False),
    ] = None,
    draws: Draws = 400,
    chains: Chains = 4,
    seed: Seed = None,
    output: Picture = None,
    json: AsJson = False,
) -> None:
    """Forecast the steps after the last declared time, from a release of a hidden Markov model. Free.

    States with their probabilities, and shares of labels (or counts) with 95% intervals.
    """
    from discreet.inference.analyst import infer
    from discreet.models.hidden_markov import HiddenMarkov

    check_picture(output)
    for name, value in (("ahead", ahead), ("entries", entries)):
        if value is not None and value < 1:
            raise UsageError(f"--{name} must be 1 or more, got --{name}={value}.")
    release = load_release(file)
    release.model.require(HiddenMarkov, "forecasts are made by hidden Markov models")
    with busy("Forecasting …"):
        found = infer(release, draws=draws, chains=chains, rng=seed).forecast(
            ahead, entries=entries, rng=seed
        )
    show_result("forecast", found, output, as_json=json)


def states(
    file: ReleaseFile,
    numbers: Annotated[str, option("K,K,…", "Numbers of states to compare.", "--try")] = "1,2,3,4",
    prior: PriorText = None,
    draws: Draws = 400,
    chains: Chains = 4,
    seed: Seed = None,
    output: Picture = None,
    json: AsJson = False,
) -> None:
    """Compare numbers of hidden states: each reads the release without some cells and predicts them. Free.

    Cells are those that the model holds out or, if it holds out none, a tenth of them at random.
    """
    from discreet.validation.number_of_states import compare_states

    check_picture(output)
    if not all(text.strip().isdecimal() for text in numbers.split(",")):
        raise UsageError(
            f"--try takes whole numbers with commas, got --try={numbers:.40}.", hint="--try 1,2,3"
        )
    release = load_release(file)
    with busy("Comparing …"):
        asked = [int(text) for text in numbers.split(",")]
        found = compare_states(release, asked, prior=prior, draws=draws, chains=chains, rng=seed)
    show_result("states", found, output, as_json=json)
