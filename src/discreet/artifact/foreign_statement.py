"""What is said of numbers that somebody else published: their noise, and that nobody here answers for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.artifact.records.foreign import ForeignRecord, PublishedNumber
from discreet.names import shown
from discreet.privacy.guarantees import Unstated
from discreet.rational import plain

if TYPE_CHECKING:
    from discreet.artifact.release import Release

_WORDS = {
    "laplace": "Laplace noise of scale",
    "gaussian": "Gaussian noise of standard deviation",
    "discrete_laplace": "discrete Laplace noise of scale",
    "discrete_gaussian": "discrete Gaussian noise of parameter sigma =",
    "geometric": "geometric (discrete Laplace) noise of scale",
}


def statement(release: Release, record: ForeignRecord) -> str:
    """Say where the numbers come from, what is said of their noise, and who answers for their privacy."""
    source = "somebody else" if record.source is None else f"“{shown(record.source)}”"
    about = ", ".join(f"“{shown(column)}”" for column in release.columns)
    dataset = "" if release.dataset is None else f" of the data set “{shown(release.dataset)}”"
    count = len(record.numbers)
    numbers = "one noisy number" if count == 1 else f"{count} noisy numbers"
    records = (
        "How many records are behind them is not known."
        if release.records is None
        else f"The number of records behind them is taken to be {release.records}."
    )
    return " ".join(
        [
            f"This file describes {about}{dataset} by {numbers} that {source} published.",
            f"As declared, {_noise(record)}.",
            records,
            _guarantee(release),
            "Discreet added no noise, saw no rows and cannot check any of this: whoever relies on it relies on whoever "
            "published the numbers.",
        ]
    )


def _noise(record: ForeignRecord) -> str:
    if record.covariance is not None:
        return "they carry Gaussian noise with a known covariance"
    words = list(dict.fromkeys(noise_in_words(number) for number in record.numbers))
    if len(words) == 1:
        return f"{'it carries' if len(record.numbers) == 1 else 'each carries'} {words[0]}"
    each = [f"“{shown(number.of)}” {noise_in_words(number)}" for number in record.numbers[:8]]
    more = [f"and {len(record.numbers) - 8} more"] if len(record.numbers) > 8 else []
    return f"they carry: {', '.join([*each, *more])}"


def noise_in_words(number: PublishedNumber) -> str:
    """Say which noise a number carries, and what was done to it afterwards."""
    said = f"{_WORDS[number.noise]} {plain(number.scale)}"
    if number.bound is not None:
        said += f", truncated to within {plain(number.bound)}"
    if number.rounded is not None:
        said += ", rounded" if number.rounded == 1 else f", rounded to steps of {plain(number.rounded)}"
    limits = {"below": number.lower, "above": number.upper}
    clipped = [f"{side} at {plain(limit)}" for side, limit in limits.items() if limit is not None]
    return f"{said}, clipped {' and '.join(clipped)}" if clipped else said


def published_in_words(release: Release) -> list[tuple[str, str, str]]:
    """Return the name, the number and the noise of everything that was published."""
    record = release.mechanism.require(ForeignRecord, "these are discreet's own totals.")
    return [(one.of, f"{float(one.value):,.10g}", noise_in_words(one)) for one in record.numbers]


def _guarantee(release: Release) -> str:
    promised = release.guarantee
    if isinstance(promised, Unstated):
        return "Nobody stated a privacy guarantee for them."
    return f"The guarantee claimed for them, by whoever published them, is {promised.describe()}."
