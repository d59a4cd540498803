"""``discreet distinguish``: a guarantee in, what nobody can tell from releases out."""

from __future__ import annotations

from typing import Annotated

from discreet.cli.options import AsJson, Delta, Epsilon, Rho, option, read_budget
from discreet.cli.show_result import Picture, check_picture, show_result
from discreet.errors import UsageError


def distinguish(
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    error: Annotated[float, option("P", "How small both errors of the adversary are to be.")] = 0.05,
    distance: Annotated[int, option("N", "In how many records the two tables differ.")] = 1,
    output: Picture = None,
    json: AsJson = False,
) -> None:
    """Compute how many releases it takes, at least, to tell two tables apart. No data is read, no budget spent.

    Somebody sees releases with this guarantee and has to say which of two tables is behind them. No test, however
    clever, has both errors below the least error. The Python function of this name also computes the best test.
    """
    from discreet.validation import distinguish as compute

    check_picture(output)
    if not 0 < error < 0.5:
        raise UsageError(f"the error must be above 0 and below 0.5, that of guessing, got --error={error:g}.")
    guarantee = read_budget(epsilon, delta, rho)
    if guarantee is None:
        raise UsageError("give the guarantee of one release: --epsilon, --epsilon with --delta, or --rho.")
    show_result("distinguish", compute(guarantee, distance=distance, delta=error), output, as_json=json)
