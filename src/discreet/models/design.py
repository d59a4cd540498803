"""The design of a regression: its terms, and the products of two terms whose sums are released, each once.

A term is a product of indicators of labels and of powers of numbers, which are mapped from their bounds to z of
[-1, 1]. So is a product of terms, and many products are the same: an indicator is its own square, two labels of one
column exclude each other, z times 1 is z. What is released about a table is the sum of every *distinct* product.

A column of two labels may be a *sign* instead, -1 for the first and 1 for the second: its square is 1. A record moves
sums of products with signs no further than those with indicators, and they hold twice as much.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.domain.columns import Column, Labels
from discreet.errors import UsageError
from discreet.names import did_you_mean

# more than anybody regresses on; a file cannot ask for a million products
_MOST_TERMS = 300
_POWER = re.compile(r"\s*\*\*\s*")
_TIMES = re.compile(r"\s*(?<!\*)[*:](?!\*)\s*")


@dataclass(frozen=True)
class Term:
    """A product of indicators, as (column, position of the label), powers of numbers, as (column, power), and signs."""

    labels: tuple[tuple[str, int], ...] = ()
    powers: tuple[tuple[str, int], ...] = ()
    signs: tuple[str, ...] = ()

    def times(self, other: Term) -> Term | None:
        """Return the product; None if it is 0 for every record."""
        labels = dict(self.labels)
        for column, at in other.labels:
            if labels.setdefault(column, at) != at:
                return None
        powers = dict(self.powers)
        for column, power in other.powers:
            powers[column] = powers.get(column, 0) + power
        signs = set(self.signs) ^ set(other.signs)
        return Term(tuple(sorted(labels.items())), tuple(sorted(powers.items())), tuple(sorted(signs)))

    @property
    def is_square(self) -> bool:
        """Whether it is the square of one number."""
        return not self.labels and not self.signs and len(self.powers) == 1 and self.powers[0][1] == 2

    @property
    def is_number(self) -> bool:
        """Whether it is one number by itself."""
        return not self.labels and not self.signs and len(self.powers) == 1 and self.powers[0][1] == 1

    @property
    def is_sign(self) -> bool:
        """Whether it is one sign by itself."""
        return not self.labels and not self.powers and len(self.signs) == 1

    @property
    def least(self) -> int:
        """The least value that it can have, 0 or -1; the largest is 1."""
        return -1 if self.signs or any(power % 2 for _, power in self.powers) else 0

    @property
    def n_factors(self) -> int:
        """Of how many indicators, signs and numbers it is the product."""
        return len(self.labels) + len(self.signs) + sum(power for _, power in self.powers)

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns of numbers in it."""
        return tuple(column for column, _ in self.powers)

    def name(self, columns: Mapping[str, Column]) -> str:
        """Return it as people write it: ``age``, ``age ** 2``, ``age * smoker=yes``."""
        parts = [column if power == 1 else f"{column} ** {power}" for column, power in self.powers]
        for column, at in (*self.labels, *((column, 1) for column in self.signs)):
            declared = columns[column]
            parts.append(f"{column}={declared.labels[at]}" if isinstance(declared, Labels) else column)
        return " * ".join(parts)


ONE = Term()


@dataclass(frozen=True)
class Design:
    """The declared columns, target first, and the terms of the regression: of the features, and the target last."""

    columns: tuple[Column, ...]
    terms: tuple[Term, ...]

    @classmethod
    def of(
        cls, target: Column, features: Sequence[Column], expressions: Sequence[str], *, signs: bool = False
    ) -> Design:
        """Return the design of these columns, with products and squares of features as they are written.

        With ``signs`` features of two labels are signs.
        """
        known = {column.name: column for column in features}
        terms = [term for column in features for term in _main(column, signs=signs)]
        for expression in expressions:
            for term in _read(expression, known, signs=signs):
                if term in terms:
                    raise UsageError(f"the term {expression!r:.60} stands twice.")
                terms.append(term)
        if len(terms) >= _MOST_TERMS:
            raise UsageError(f"a regression takes fewer than {_MOST_TERMS} terms, got {len(terms)}.")
        aim = _main(target)[-1]
        return cls((target, *features), (*terms, aim))

    @staticmethod
    def columns_of(expression: str) -> tuple[str, ...]:
        """Return the columns that a product or a square names."""
        return tuple(part.partition("**")[0].strip() for part in _TIMES.split(expression))

    @cached_property
    def by_name(self) -> dict[str, Column]:
        """The declared columns by name."""
        return {column.name: column for column in self.columns}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the terms."""
        return tuple(term.name(self.by_name) for term in self.terms)

    @cached_property
    def lows(self) -> np.ndarray:
        """The least value of each term; the largest is 1."""
        return np.array([term.least for term in self.terms], dtype=float)

    @cached_property
    def _found(self) -> tuple[tuple[Term, ...], np.ndarray, tuple[tuple[int, int], ...]]:
        every = (ONE, *self.terms)
        places: dict[Term, int] = {}
        pairs: list[tuple[int, int]] = []
        index = np.full((len(every), len(every)), -1)
        for i, one in enumerate(every):
            for j in range(i, len(every)):
                product = one.times(every[j])
                if product is None or product == ONE:
                    continue
                if product not in places:
                    places[product] = len(places)
                    pairs.append((i, j))
                index[i, j] = index[j, i] = places[product]
        return tuple(places), index, tuple(pairs)

    @property
    def products(self) -> tuple[Term, ...]:
        """The distinct products of two of the terms and 1, in the order in which they are released."""
        return self._found[0]

    @property
    def index(self) -> np.ndarray:
        """Which product each pair of (1, terms) is; -1 for 1, the square of a sign too, and for what is always 0."""
        return self._found[1]

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The first pair of (1, terms) that is each product."""
        return self._found[2]

    @property
    def interacting(self) -> tuple[str, ...]:
        """Columns of numbers that are in a term together with anything else, or squared."""
        found = {c for t in self.terms if t.n_factors > 1 for c in t.numbers}
        return tuple(sorted(found))

    def evaluate(
        self, term: Term, codes: Mapping[str, np.ndarray], z: Mapping[str, np.ndarray]
    ) -> np.ndarray:
        """Return the term for each record, given positions of labels and mapped numbers by column."""
        n = len(next(iter((codes or z).values())))
        value = np.ones(n)
        for column, power in term.powers:
            for _ in range(power):
                value = value * z[column]
        for column, at in term.labels:
            value = value * (codes[column] == at)
        for column in term.signs:
            value = value * (2 * (codes[column] == 1) - 1)
        return value


def _main(column: Column, *, signs: bool = False) -> list[Term]:
    """Return the terms of a column on its own: the number, the sign, or indicators of all labels but the first."""
    if isinstance(column, Labels):
        if signs and column.n_labels == 2:
            return [Term(signs=(column.name,))]
        return [Term(labels=((column.name, at),)) for at in range(1, column.n_labels)]
    return [Term(powers=((column.name, 1),))]


def _read(expression: str, known: Mapping[str, Column], *, signs: bool = False) -> list[Term]:
    """Read ``"age ** 2"`` or ``"age * smoker"`` as the terms that it adds to those of its columns."""
    hint = 'for example "age ** 2" or "age * smoker", of columns that are features themselves'
    if not isinstance(expression, str):
        raise UsageError(f"a term is a text, got {type(expression).__name__}.", hint=hint)
    parts = [part.strip() for part in _TIMES.split(expression)]
    if len(parts) == 1:
        base, _, power = (part.strip() for part in expression.partition("**"))
        if power != "2":
            raise UsageError(
                f"the term {expression!r:.60} is no product of two features, nor a square.", hint=hint
            )
        parts = [base, base]
    if len(parts) != 2:
        raise UsageError(f"the term {expression!r:.60} has more than two factors.", hint=hint)
    for part in parts:
        if part not in known:
            raise UsageError(
                f"the term {expression!r:.60} names {part!r:.60}, which is no feature.",
                hint=f"{did_you_mean(part, known)}{hint}",
            )
    if parts[0] == parts[1] and isinstance(known[parts[0]], Labels):
        raise UsageError(f"the term {expression!r:.60} squares labels, which changes nothing.", hint=hint)
    left, right = (_main(known[part], signs=signs) for part in parts)
    products = (one.times(other) for one in left for other in right)
    return [product for product in products if product is not None]


def is_expression(text: str) -> bool:
    """Tell whether a feature is written as a product or a square of others."""
    return isinstance(text, str) and bool(_POWER.search(text) or _TIMES.search(text))
