"""What an analyst has open: release files, the prior that each is read under, and the pictures of what they tell."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from io import BytesIO
from itertools import islice
from typing import Any

import numpy as np

from discreet.artifact import Release
from discreet.errors import DiscreetError, UsageError
from discreet.inference.analyst import infer, predicted_seconds
from discreet.inference.posterior import Posterior
from discreet.names import untaken
from discreet.reporting.density import interval_of
from discreet.reporting.inline_svg import density_svg, forest_svg
from discreet.reporting.report import ends, naive_reading, numbers_of, tick_words

#: Files that a session holds, draws of one reading, and pictures on one page.
MOST_FILES, DRAWS, _MOST_PICTURES, _MOST_ROWS = 20, 4000, 4, 60
#: Seconds up to which a slider is followed at once; what takes longer waits for a button.
LIVE = 1.5
#: Numbers of a prior that get a slider each; more of them share one.
_MOST_SLIDERS = 6
PROB = 0.95


@dataclass(frozen=True)
class Slider:
    """One number of a prior; positive ones move on a logarithmic scale."""

    name: str
    value: float
    low: float
    high: float
    log: bool

    @property
    def place(self) -> int:
        """Where it stands, of 0 to 100."""
        if self.log:
            low, high, at = math.log(self.low), math.log(self.high), math.log(self.value)
        else:
            low, high, at = self.low, self.high, self.value
        return round(100 * (min(max(at, low), high) - low) / (high - low))

    def at(self, place: float) -> float:
        """Return the value at a place of 0 to 100."""
        share = min(max(place, 0.0), 100.0) / 100
        if self.log:
            return float(f"{self.low * (self.high / self.low) ** share:.3g}")
        return float(f"{self.low + (self.high - self.low) * share:.4g}")


@dataclass
class Reading:
    """One release file and how it is read."""

    name: str
    file: str
    release: Release
    prior: str | None = None
    made: dict[str | None, Any] = field(default_factory=dict)

    def posterior(self) -> Any:
        """Return what the release tells under the chosen prior; remembered for the last few priors."""
        if self.prior not in self.made:
            found = infer(self.release, prior=self.prior, draws=DRAWS, rng=0)
            while len(self.made) > 3:
                self.made.pop(next(key for key in self.made if key is not None))
            self.made[self.prior] = found
        return self.made[self.prior]

    @property
    def together(self) -> Posterior:
        """All draws as one posterior, of groups too."""
        found = self.posterior()
        return found if isinstance(found, Posterior) else found.together()

    def default_prior(self) -> Any:
        """Return the weak prior that is taken unless another is chosen; None if the model has none to choose."""
        one = next(iter(self.release.by_group().values()), self.release)
        if one.samples is not None:
            return None
        try:
            found = one.model.read_prior(None, one.domain)
            return found if found is not None and found.numbers() else None
        except (DiscreetError, AttributeError, NotImplementedError):
            return None

    def sliders(self) -> list[Slider]:
        """Return a slider for each number of the prior; one for all of them if there are many."""
        weak = self.default_prior()
        if weak is None:
            return []
        start = [float(number) for number in weak.numbers()]
        now = start if self.prior is None else [float(x) for x in self.prior.partition(":")[2].split(",")]
        if len(set(start)) == 1 and len(start) > _MOST_SLIDERS:
            return [Slider("all", now[0], start[0] / 50, start[0] * 50, log=True)]
        if len(start) > _MOST_SLIDERS:
            return []
        names = [one.name for one in fields(weak)] if len(fields(weak)) == len(start) else []
        labels = list(self.release.model.labels or ()) if len(start) > 2 else []
        called = names or (labels if len(labels) == len(start) else [f"{k + 1}" for k in range(len(start))])
        found = []
        for name, first, value in zip(called, start, now, strict=True):
            positive = first > 0 and name != "mean"
            low, high = (first / 50, first * 50) if positive else _around(first, self.release)
            found.append(Slider(name, value, low, high, positive))
        return found

    def choose(self, places: Mapping[str, str]) -> None:
        """Read the sliders' places as a prior; places that are where they were change nothing."""
        weak, sliders = self.default_prior(), self.sliders()
        if weak is None or not sliders:
            raise UsageError("this release takes no prior here.")
        try:
            at = [
                one.at(float(places[f"prior-{k}"])) if f"prior-{k}" in places else one.value
                for k, one in enumerate(sliders)
            ]
        except ValueError:
            raise UsageError("a slider stands between 0 and 100.") from None
        at = [
            one.value if places.get(f"prior-{k}") == str(one.place) else value
            for k, (one, value) in enumerate(zip(sliders, at, strict=True))
        ]
        if not all(map(math.isfinite, at)):
            raise UsageError("a slider stands between 0 and 100.")
        numbers = at * len(weak.numbers()) if sliders[0].name == "all" else at
        self.prior = f"{weak.name}:{','.join(f'{number:g}' for number in numbers)}"

    @property
    def is_live(self) -> bool:
        """Whether a slider can be followed at once."""
        try:
            parts = self.release.by_group() or {"": self.release}
            return sum(predicted_seconds(one, DRAWS) for one in parts.values()) < LIVE
        except DiscreetError:
            return False


def _around(first: float, release: Release) -> tuple[float, float]:
    bounds = release.domain.bounds
    if bounds:
        return float(bounds[0][0]), float(bounds[0][1])
    reach = max(abs(first), 1.0) * 10
    return first - reach, first + reach


def add(readings: dict[str, Any], file: str, content: bytes) -> Reading:
    """Open a release file that was dropped; the same release again is the same reading."""
    if len(readings) >= MOST_FILES:
        raise UsageError(f"{MOST_FILES} release files are open: close one first.")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError("this is no release file: it is not text.") from None
    release = Release.from_json(text)
    for one in readings.values():
        if one.release.id == release.id:
            return one
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", file.rpartition("/")[2].removesuffix(".json")).strip("-")[:40]
    stem = stem or "release"
    name = untaken(stem, readings)
    readings[name] = Reading(name, f"{name}.json", release)
    return readings[name]


def pictures(reading: Reading) -> list[tuple[str, str]]:
    """Return pictures as SVG, each with its caption; none of a model that has a picture of its own kind."""
    found = reading.posterior()
    if not isinstance(found, Posterior):
        drawn = _forest(found)
        return [] if drawn is None else [drawn]
    if reading.release.model.picture != "densities":
        return []
    beside = naive_reading(reading.release, reading.prior, 0)
    naive = {} if beside is None else numbers_of(beside)
    made = []
    for k, (name, draws) in enumerate(islice(numbers_of(found).items(), _MOST_PICTURES)):
        low, _, high = interval_of(draws, PROB).tolist()
        lines = {"aware": draws, **({"naive": naive[name]} if name in naive else {})}
        words = f"{name}: {100 * PROB:.0f}% {_interval(found, name, draws)}"
        drawn = density_svg(name, lines, (low, high), f"q{k}", tick_words(found, name), words)
        if drawn is not None:
            made.append((drawn[0], f"{name} {found.units.of(name)}".strip()))
    return made


def own_picture(reading: Reading) -> bytes:
    """Return the picture of the model's own kind, as PNG."""
    drawn = BytesIO()
    reading.posterior().plot().savefig(drawn, format="png", dpi=120)
    return drawn.getvalue()


def answer(reading: Reading) -> list[tuple[str, str, str]]:
    """Return a row for each number: its name, its median, and its interval."""
    found = reading.together
    return [
        (name, ends(found, name, draws, PROB)[0], _interval(found, name, draws))
        for name, draws in islice(numbers_of(found).items(), _MOST_ROWS)
    ]


def compared(reading: Reading, one: str, other: str) -> list[str]:
    """Return the difference between two groups in words, a line for each number."""
    found = reading.posterior()
    if isinstance(found, Posterior):
        raise UsageError("there are no groups to compare.")
    if one == other:
        raise UsageError("choose two different groups.")
    return str(found.compare(one, other)).splitlines()


def warnings(reading: Reading) -> tuple[str, ...]:
    """Return what a careful reader should know first."""
    how = reading.together.diagnostics
    return (*how.warnings, *how.mixing_warnings)


def sensitivity(reading: Reading) -> list[tuple[str, str]]:
    """Return the first number's interval under the weak prior and under the chosen one, if they differ."""
    if reading.prior is None or reading.default_prior() is None:
        return []
    name = next(iter(numbers_of(reading.together)))
    rows = []
    for prior in (None, reading.prior):
        if prior not in reading.made:
            reading.made[prior] = infer(reading.release, prior=prior, draws=DRAWS, rng=0)
        made = reading.made[prior]
        whole = made if isinstance(made, Posterior) else made.together()
        rows.append((str(prior or reading.default_prior()), _interval(whole, name, numbers_of(whole)[name])))
    return rows


def _forest(groups: Mapping[str, Posterior]) -> tuple[str, str] | None:
    first = next(iter(groups.values()))
    parameter = next(iter(first.draws))
    rows = []
    for name, one in list(groups.items())[:_MOST_ROWS]:
        draws = one.draws[parameter]
        if draws.ndim > 1:
            return None
        low, middle, high = interval_of(draws, PROB).tolist()
        rows.append((name, middle, low, high, _interval(one, parameter, draws)))
    words = f"{parameter}, {100 * PROB:.0f}%"
    return forest_svg(rows, tick_words(first, parameter), words), words


def _interval(posterior: Posterior, name: str, draws: np.ndarray) -> str:
    _, low, high = ends(posterior, name, draws, PROB)
    return f"{low} – {high}"
