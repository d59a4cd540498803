"""``discreet respond``: questions about a release, answered from its posterior."""

from __future__ import annotations

from typing import Annotated

from discreet.cli.console import busy, plain, print_json, print_wrapped, release_json, table
from discreet.cli.options import (
    AsJson,
    Chains,
    Draws,
    EngineOption,
    MissingShare,
    PriorText,
    Records,
    ReleaseFile,
    Seed,
    option,
    read_missing,
    read_records,
)
from discreet.cli.output_checks import load_release


def respond(
    file: ReleaseFile,
    question: Annotated[
        list[str],
        option(
            "QUESTION",
            "mean:rate, median:p, interval:rate:0.95 or 'event:p>0.5'; repeat it for more.",
            "--question",
            "-q",
        ),
    ],
    prior: PriorText = None,
    records: Records = None,
    missing: MissingShare = None,
    engine: EngineOption = "auto",
    draws: Draws = 4000,
    chains: Chains = 4,
    seed: Seed = None,
    json: AsJson = False,
) -> None:
    """Answer questions about a release, each by the response of highest expected utility. Free: no budget is spent.

    A mean is best by squared error, a median by absolute error, an interval by the interval score, and an event is
    answered yes or no, whichever is more probable.
    """
    from discreet.decisions.questions import parse_question
    from discreet.inference.analyst import infer

    counts, expected = read_records(records), read_missing(missing)
    asked = [parse_question(text) for text in question]
    release = load_release(file)
    with busy("Answering …"):
        posterior = infer(
            release,
            prior=prior,
            engine=engine,
            draws=draws,
            chains=chains,
            records=counts,
            missing=expected,
            rng=seed,
        )
        responses = [posterior.respond(utility, questions=len(asked)) for utility in asked]
        warnings = [*posterior.diagnostics.warnings, *posterior.diagnostics.mixing_warnings]
    how = posterior.diagnostics
    if json:
        content = {
            **release_json(release),
            "engine": how.engine,
            "approximation": how.approximation,
            "n_draws": posterior.n_draws,
            "answers": [
                {"asked": text, **made.to_dict()} for text, made in zip(question, responses, strict=True)
            ],
            "warnings": warnings,
        }
        print_json("respond", content)
        return
    if posterior.about is not None:
        print_wrapped(posterior.about)
    answers = table("question", "answer", "expected ± Monte Carlo error")
    for text, made in zip(question, responses, strict=True):
        answer, expected = made.in_words()
        answers.add_row(plain(text), plain(answer), plain(expected))
    print_wrapped(answers, f"{how.engine_in_words}, {how.draws_in_words}")
    for text, made in zip(question, responses, strict=True):
        if made.bound is not None:
            print_wrapped(f"{text}: {made.bound.describe()}")
    print_wrapped(*(f"warning: {text}" for text in warnings))
