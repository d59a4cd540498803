"""Numbers that somebody else published: which noise they say they added, and how the numbers read the totals.

Nothing is promised here. A file can say what others claim of their numbers, and no check can tell whether it holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, get_args

import numpy as np

from discreet.artifact.readers import EXACT, NAME, TEXT, Field, described, one_of
from discreet.artifact.records.base import Record
from discreet.errors import UsageError
from discreet.models import Model
from discreet.models.layout import Layout
from discreet.models.published_layout import FreeLayout, Place, PublishedLayout
from discreet.privacy import Noise
from discreet.privacy.laws import GaussianLaw, LawName, law_of
from discreet.privacy.published import Correlated, JointNoise, Published, Unread

if TYPE_CHECKING:
    from discreet.artifact.release import Release
    from discreet.domain.declarations import Domain

#: Sizes that a published number and the scale of its noise may have: beyond these nothing was counted.
LARGEST_NUMBER, SMALLEST_SCALE = 10**15, Fraction(1, 10**9)
# Integers up to here are floats, and a step of a free grid is at most this fine.
_LONGEST, _FINEST = 2**53, 2**20
# Readings whose noise hangs together are laid out in steps of this share of its standard deviation.
_WHITE_STEP = Fraction(1, 2**24)
# Standard deviations that totals of one table are never apart: beyond e^-40 even for Laplace noise.
_FAR_APART = 30.0


@dataclass(frozen=True)
class PublishedNumber:
    """One number, its noise, and what was done to it after the noise.

    ``rounded`` is the step that it was rounded to; ``lower`` and ``upper`` are limits that it was clipped to, and
    ``bound`` is one that the noise itself was truncated to, on both sides of 0.
    """

    of: str
    value: Fraction
    noise: LawName
    scale: Fraction
    rounded: Fraction | None = None
    lower: Fraction | None = None
    upper: Fraction | None = None
    bound: Fraction | None = None

    @property
    def clipped(self) -> int:
        """Whether the number is the lower limit that it was clipped to (-1), the upper one (1), or neither (0)."""
        if self.lower is not None and self.value <= self.lower:
            return -1
        return int(self.upper is not None and self.value >= self.upper)

    def read(self, place: Place, grid: Fraction) -> tuple[int, Noise]:
        """Return the reading of a coordinate in steps of its grid, and the likelihood around it."""
        step = place.unit * grid
        reading = round((self.value - place.start) / step)
        away = self.value - place.start - step * reading
        bound = None if self.bound is None else float(self.bound)
        law = law_of(self.noise, float(self.scale), bound)
        return reading, Published(law, float(away), float(step), float(self.rounded or 0), self.clipped)

    def check(self) -> None:
        """Raise unless these are numbers that somebody can have published."""
        if abs(self.value) > LARGEST_NUMBER:
            raise UsageError(f"the number of {self.of!r:.60} must be at most 1e15 in size.")
        if not self.scale > 0:
            raise UsageError(
                f"a noise scale must be positive, got scale={float(self.scale):g} for {self.of!r:.60}."
            )
        if not SMALLEST_SCALE <= self.scale <= LARGEST_NUMBER:
            raise UsageError(f"a noise scale must be between 1e-9 and 1e15, got {float(self.scale):g}.")
        for name in ("rounded", "bound"):
            step = getattr(self, name)
            if step is not None and not SMALLEST_SCALE <= step <= LARGEST_NUMBER:
                raise UsageError(
                    f"{'truncated' if name == 'bound' else name} must be positive, for {self.of!r:.60}."
                )
        if self.bound is not None and self.bound < self.scale / 1000:
            raise UsageError(
                f"noise on {self.of!r:.60} cannot be truncated to less than a thousandth of its scale."
            )
        limits = (self.lower, self.upper)
        if self.lower is not None and self.upper is not None and not self.lower < self.upper:
            raise UsageError(f"the limits that {self.of!r:.60} was clipped to are reversed.")
        if any(limit is not None and abs(limit) > LARGEST_NUMBER for limit in limits):
            raise UsageError(f"the limits that {self.of!r:.60} was clipped to must be at most 1e15 in size.")


_NUMBER = described(
    PublishedNumber,
    "a number",
    {
        "of": TEXT,
        "value": EXACT,
        "noise": one_of(*get_args(LawName)),
        "scale": EXACT,
        **dict.fromkeys(("rounded", "lower", "upper", "bound"), EXACT.nullable),
    },
)


@dataclass(frozen=True)
class Laid:
    """Published numbers on the coordinates that engines read."""

    layout: Layout
    values: tuple[int, ...]
    noise: tuple[Noise, ...]


@dataclass(frozen=True)
class ForeignRecord(Record):
    """What somebody else says of the noise on numbers they published.

    ``covariance`` is that of Gaussian noise on the numbers, in their order, where it is not independent; ``source``
    names who published them, or with what.
    """

    name = "foreign"
    held = "statistics"
    foreign = True
    no_noise = "its noise was added by somebody else, and discreet cannot add to it or answer for it."

    numbers: tuple[PublishedNumber, ...]
    covariance: tuple[tuple[Fraction, ...], ...] | None = None
    source: str | None = None

    def laid(self, model: Model, domain: Domain, records: int | None) -> Laid:
        """Lay the numbers out on the model's coordinates; raise :class:`UsageError` if they do not fit it."""
        by_name = {number.of: number for number in self.numbers}
        if len(by_name) != len(self.numbers):
            raise UsageError("a published number is given twice.")
        for number in self.numbers:
            number.check()
        found = model.published_layout(domain, records, by_name)
        _check_wholes(found, by_name, records)
        if self.covariance is not None:
            matrix = self._covariance_matrix()
            if found.free:
                return _whitened(found, self.numbers, matrix)
            return _correlated(model, found, self.numbers, matrix, records)
        return _free(found, by_name) if found.free else _cells(found, by_name, records)

    def _covariance_matrix(self) -> np.ndarray:
        matrix = np.array([[float(v) for v in row] for row in self.covariance or ()])
        size = len(self.numbers)
        if matrix.shape != (size, size) or not np.allclose(matrix, matrix.T, rtol=1e-9, atol=0):
            raise UsageError(
                f"covariance must be a symmetric matrix with a row for each of the {size} numbers."
            )
        if any(
            number.noise != "gaussian" or number.clipped or number.rounded or number.bound
            for number in self.numbers
        ):
            raise UsageError(
                "a covariance is known of Gaussian noise alone, that was not rounded, clipped or truncated."
            )
        # a matrix that is not positive has no such root
        if np.linalg.eigvalsh(matrix)[0] <= 1e-12 * np.abs(matrix).max():
            raise UsageError("covariance must be positive definite.")
        return matrix

    def layout(self, release: Release) -> Layout:
        return self.laid(release.model, release.domain, release.records).layout

    def noise(self, release: Release) -> tuple[Noise, ...]:
        return self.laid(release.model, release.domain, release.records).noise

    def statement(self, release: Release) -> str:
        from discreet.artifact.foreign_statement import statement

        return statement(release, self)

    @classmethod
    def fields(cls) -> Mapping[str, Field]:
        return {
            "numbers": _NUMBER.listed,
            "covariance": EXACT.listed.listed.nullable,
            "source": NAME.nullable,
        }

    def check(self, release: Release) -> None:
        """Raise unless the statistics are what the published numbers make them."""
        laid, s = self.laid(release.model, release.domain, release.records), release.totals
        if s != s.of(laid.layout, laid.values):
            raise ValueError("its statistics are not its published numbers")
        if release.domain.missing != "none" or set(release.guarantees) != {"statistics"}:
            raise ValueError("of numbers that others published nothing else is known")
        if any(
            (release.fit_check, release.bounds_choice, release.unit, release.ledger, release.group_selection)
        ):
            raise ValueError("of numbers that others published nothing else is known")


def _check_wholes(
    found: PublishedLayout, numbers: Mapping[str, PublishedNumber], records: int | None
) -> None:
    """Raise if numbers that all add up to the number of records are farther apart than their noise can be."""
    seen = [] if records is None else [("records", Fraction(records), 0.0)]
    for names in found.wholes:
        some = [numbers[name] for name in names]
        if any(number.clipped for number in some):
            continue
        # the standard deviation of Laplace noise is the larger one
        variance = sum(2 * float(number.scale) ** 2 + float(number.rounded or 0) ** 2 for number in some)
        name = names[0].replace("=", " = ") if len(names) == 1 else f"the margin with {names[0]!r:.40}"
        seen.append((name, sum((number.value for number in some), Fraction(0)), variance))
    for name, total, variance in seen[1:]:
        first, other, its = seen[0]
        if abs(total - other) > 1 + _FAR_APART * (variance + its) ** 0.5:
            raise UsageError(
                f"these are no margins of one table: {first} adds up to {float(other):,.6g} and {name} to "
                f"{float(total):,.6g}, too far apart for their noise."
            )


def _free(found: PublishedLayout, numbers: Mapping[str, PublishedNumber]) -> Laid:
    """Lay sums of real numbers out, each on a grid on which its own number lies."""
    values, grids, noise = [], [], []
    for name, place in found.places.items():
        number = numbers[name]
        if number.clipped:
            raise UsageError(
                f"the {name} is the limit that it was clipped to, and says too little of a mean.",
                hint="ask whoever published it for the number before it was clipped",
            )
        steps = number.value.denominator * _FINEST
        while abs(number.value) * steps > _LONGEST and steps > 1:
            steps //= 2
        grids.append(1 / (abs(place.unit) * steps))
        value, law = number.read(place, grids[-1])
        values.append(value)
        noise.append(law)
    if "sum_of_squares" in numbers and noise[-1].kind == "other":
        raise UsageError(
            "a sum of squares is read under Laplace or Gaussian noise that was not rounded or truncated."
        )
    return Laid(_with_grid(found.layout, grids), tuple(values), tuple(noise))


def _with_grid(layout: Layout, grids: Sequence[Fraction]) -> Layout:
    shape = (layout.width, layout.shift, layout.half)
    return FreeLayout(layout.names, layout.rows, tuple(grids), *shape, Fraction(0), Fraction(0))


def _whitened(found: PublishedLayout, numbers: Sequence[PublishedNumber], covariance: np.ndarray) -> Laid:
    """Lay sums out in combinations whose Gaussian noise is independent, with standard deviation 1."""
    root = np.linalg.inv(np.linalg.cholesky(covariance))
    places = [found.places[number.of] for number in numbers]
    rows = np.array([[float(v * place.unit) for v in found.layout.rows[place.at]] for place in places])
    y = root @ np.array([float(number.value) for number in numbers])
    readings = tuple(round(v / _WHITE_STEP) for v in y.tolist())
    step = float(_WHITE_STEP)
    noise = tuple(
        Published(GaussianLaw(1.0), v - step * reading, step) for v, reading in zip(y, readings, strict=True)
    )
    mixed = [tuple(Fraction(v) for v in row) for row in (root @ rows).tolist()]
    names = tuple(f"combination {i + 1}" for i in range(len(numbers)))
    many = len(names)
    layout = FreeLayout.of(names, mixed, _WHITE_STEP, found.layout.shift, found.layout.half)
    return Laid(layout, readings[:many], noise)


def _correlated(
    model: Model,
    found: PublishedLayout,
    numbers: Sequence[PublishedNumber],
    covariance: np.ndarray,
    records: int | None,
) -> Laid:
    """Lay counts out, each read once, with noise that only all of them together have a density of."""
    if not model.reads_correlated:
        raise UsageError(
            f"{model.name} needs independent noise; a covariance is read for counts of labels and for means.",
            hint='dc.Categorical(["no", "yes"]) takes it',
        )
    rows = tuple(tuple(row) for row in covariance.tolist())
    read: list[list[tuple[int, Noise]]] = [[] for _ in found.layout.names]
    for at, number in enumerate(numbers):
        reading = round(number.value)
        read[found.places[number.of].at].append(
            (reading, Correlated(at, rows, float(number.value - reading)))
        )
    unread = [at for at, some in enumerate(read) if not some]
    if unread:
        _guess_unread(found.layout.names, read, unread, records)
    return Laid(found.layout, tuple(some[0][0] for some in read), tuple(some[0][1] for some in read))


def _cells(found: PublishedLayout, numbers: Mapping[str, PublishedNumber], records: int | None) -> Laid:
    """Lay counts out on integers; several numbers may read one count, and none may."""
    layout = found.layout
    read: list[list[tuple[int, Noise]]] = [[] for _ in layout.names]
    for name, number in numbers.items():
        place = found.places[name]
        read[place.at].append(number.read(place, layout.grid[place.at]))
    unread = [at for at, some in enumerate(read) if not some]
    if unread:
        _guess_unread(layout.names, read, unread, records)
    values, noise = [], []
    for some in read:
        first, law = some[0]
        values.append(first)
        parts, shifts = tuple(one for _, one in some), tuple(value - first for value, _ in some)
        noise.append(law if len(some) == 1 else JointNoise(parts, shifts))
    return Laid(layout, tuple(values), tuple(noise))


def _guess_unread(
    names: Sequence[str], read: list[list[tuple[int, Noise]]], unread: Sequence[int], records: int | None
) -> None:
    """Put readings that say nothing where nothing was published: as far as the number of records lets counts go."""
    counted = records is None and names[-1] in ("count", "usable") and read[-1]
    if records is None and not counted:
        raise UsageError(
            f"nothing was published of {names[unread[0]]!r:.60}, and the number of records is not known.",
            hint='give records=..., or a noisy "count" among the values',
        )
    total, room = (records, 0.0) if not counted else (read[-1][0][0], read[-1][0][1].reach(60.0))
    cells = read[:-1] if counted else read
    left = max((total or 0) - sum(max(some[0][0], 0) for some in cells if some), 0)
    for at in unread:
        read[at].append((left // len(unread), Unread(float((total or 0) + room + 1))))
