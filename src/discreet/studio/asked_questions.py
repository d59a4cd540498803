"""Questions in plain words, and what each means to the verbs: a model, and arguments of ``release`` and ``plan``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from discreet.errors import UsageError
from discreet.families import Bernoulli, Categorical, Histogram, Mean
from discreet.mechanisms.quantile import PrivateQuantiles
from discreet.models.base import Model
from discreet.models.linear_regression import LinearRegression
from discreet.models.logistic_regression import LogisticRegression
from discreet.names import untaken
from discreet.rational import exact, plain

#: What can be asked, in the order of the page.
KINDS = ("share", "average", "distribution", "categories", "predicts")
#: Which noise is added; Gaussian noise takes a delta.
NOISES = ("laplace", "gaussian")
#: Kinds that are about numbers with bounds, and those that can be asked for every group.
WITH_BOUNDS = ("average", "distribution")
#: How the rows of one person become one record, by kind.
RULES = {
    "share": ("any", "all"),
    "average": ("mean", "sum", "max", "min"),
    "distribution": ("mean", "sum", "max", "min"),
    "categories": ("max", "min"),
    "predicts": (),
}
#: Quantiles that are bought as bounds, and the share of a question's budget that pays for them.
_QUANTILES, _BOUNDS_SHARE = ("0.025", "0.975"), Fraction(1, 5)
_BINS = 32
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


@dataclass(frozen=True)
class Question:
    """One question about a table, as its form was filled in: texts, and nothing from a row."""

    name: str
    kind: str
    column: str
    low: str = ""
    high: str = ""
    bought: bool = False
    labels: tuple[str, ...] = ()
    by: str = ""
    groups: tuple[str, ...] = ()
    private: bool = False
    where: str = ""
    noise: str = "laplace"
    features: tuple[str, ...] = ()
    rule: str = ""
    unit_label: str = ""
    weight: int = 2

    @property
    def takes_delta(self) -> bool:
        """Whether its promise has an exception of small probability."""
        return self.private or self.noise == "gaussian"

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return asdict(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Question:
        """Read it back."""
        said: dict[str, Any] = dict(content)
        for name in ("labels", "groups", "features"):
            said[name] = tuple(said[name])
        return cls(**said)

    def model(self) -> Model:
        """Return the model that answers the question, or say what is missing."""
        if self.kind == "share":
            if not self.labels:
                return Bernoulli()
            if len(self.labels) != 2:
                raise UsageError("a share takes two words: the one for yes, then the one for no.")
            return Bernoulli(yes=self.labels[0], no=self.labels[1])
        if self.kind == "average":
            return Mean()
        if self.kind == "distribution":
            return Histogram(bins=_BINS)
        if self.kind == "categories":
            return Categorical(list(self.labels))
        features = self.declared_features()
        if not features:
            raise UsageError("say what may predict it, a line for each column.", hint="age: 18 to 100")
        kind = LogisticRegression if self.labels else LinearRegression
        return kind(self.target(), features)

    def target(self) -> dict[str, Any]:
        """Return what is predicted, as a regression declares it."""
        if not self.labels and not (self.low and self.high):
            raise UsageError("say what is predicted: two words, or the bounds of a number.")
        return {self.column: list(self.labels) if self.labels else (_number(self.low), _number(self.high))}

    def declared_features(self) -> dict[str, Any]:
        """Return the columns that may predict, with their labels or bounds."""
        return dict(_feature(line) for line in self.features)

    def arguments(self, epsilon: Fraction, delta: Fraction, unit: str) -> dict[str, Any]:
        """Return the arguments of ``release`` beside data and model; amounts are exact decimals as texts."""
        said: dict[str, Any] = {}
        if self.kind != "predicts":
            said["column"] = self.column
        spent = epsilon
        if self.kind in WITH_BOUNDS:
            if self.bought:
                paid = rounded(epsilon * _BOUNDS_SHARE)
                spent = epsilon - paid
                said["bounds"] = PrivateQuantiles(
                    *_QUANTILES, within=[(self.low, self.high)], epsilon=plain(paid)
                )
            else:
                said["bounds"] = [(self.low, self.high)]
        said["epsilon"] = plain(spent)
        if self.takes_delta:
            said["delta"] = plain(delta)
        if self.noise != "laplace":
            said["mechanism"] = self.noise
        if self.where:
            said["where"] = self.where
        if self.private:
            said |= {"by": self.by, "groups": "private"}
        elif self.by:
            said |= {"by": [self.by], "groups": {self.by: list(self.groups)}}
        if unit:
            if self.kind == "predicts":
                raise UsageError("regressions are about rows: choose rows as what is protected.")
            said |= {"unit": unit, "per_unit": self.rule or RULES[self.kind][0]}
            if self.by:
                said["max_groups"] = 1
        if self.unit_label and self.kind in WITH_BOUNDS:
            said["unit_label"] = self.unit_label
        return said

    def planned(self, delta: Fraction) -> dict[str, Any]:
        """Return the arguments of ``plan`` beside model, size, epsilon and neighbors."""
        if self.private:
            raise UsageError("how many groups will be published is not known, so it cannot be planned.")
        said: dict[str, Any] = {}
        if self.noise != "laplace":
            said |= {"mechanism": self.noise, "delta": plain(delta)}
        if self.kind in WITH_BOUNDS:
            said["bounds"] = [(self.low, self.high)]
        if len(self.groups) > 1:
            said["groups"] = len(self.groups)
        return said


def read_question(form: Mapping[str, str], columns: Sequence[str], taken: Sequence[str]) -> Question:
    """Read the form of a question, or say what is missing; the model itself checks the rest."""

    def said(name: str, allowed: Sequence[str] | None = None) -> str:
        """Return a field's text; nothing if it is none of those that are allowed."""
        text = form.get(name, "")
        return text if allowed is None or text in allowed else ""

    kind, column = said("kind"), said("column")
    if kind not in KINDS:
        raise UsageError("choose a question.")
    for name in (column, said("by")):
        if name and name not in columns:
            raise UsageError("choose a column of the table.")
    if not column:
        raise UsageError("choose a column.")
    low, high = said("low").strip(), said("high").strip()
    if kind in WITH_BOUNDS and not (low and high):
        raise UsageError(
            "give the smallest and the largest value that is possible, from public knowledge.",
            hint="age: 0 and 120; never look at the rows for it",
        )
    by = said("by") if kind != "predicts" else ""
    private = bool(said("private") and by)
    made = Question(
        name=_free(f"{column}-{kind}" + (f"-by-{by}" if by else ""), taken),
        kind=kind,
        column=column,
        low=low,
        high=high,
        bought=bool(said("bought")) and kind in WITH_BOUNDS,
        labels=_lines(said("labels")) if kind in ("share", "categories", "predicts") else (),
        by=by,
        groups=_lines(said("groups")) if by and not private else (),
        private=private,
        where=said("where").strip(),
        noise=said("noise", NOISES) or "laplace",
        features=_lines(said("features"), commas=False) if kind == "predicts" else (),
        rule=said("rule", RULES[kind]),
        unit_label=said("unit_label").strip(),
    )
    if by and not private and len(made.groups) < 2:
        raise UsageError("name the groups, a line for each: labels that everybody may know.")
    made.model()
    return made


def shares(total: str, questions: Sequence[Question]) -> dict[str, Fraction]:
    """Divide the budget by weight; each share is a short decimal, rounded down, so that they never exceed the whole."""
    whole = exact(total, "epsilon")
    if not 0 < whole <= 100:
        raise UsageError("epsilon must lie between 0 and 100.")
    weights = sum(one.weight for one in questions)
    return {one.name: rounded(whole * one.weight / weights) for one in questions}


def delta_shares(total: str, questions: Sequence[Question]) -> dict[str, Fraction]:
    """Divide delta by weight among the questions that take one, as decimals that are rounded down; others get zero."""
    whole = exact(total, "delta")
    if not 0 < whole < Fraction(1, 100):
        raise UsageError(
            "delta must be above 0 and well below one divided by the number of people.", hint="1e-6"
        )
    weights = sum(one.weight for one in questions if one.takes_delta)
    unit = 10**15
    return {
        one.name: Fraction(int(whole * one.weight / weights * unit), unit) if one.takes_delta else Fraction(0)
        for one in questions
    }


def rounded(value: Fraction) -> Fraction:
    """Return the largest short decimal that is not above a value."""
    found = Fraction(int(value * 10**6), 10**6)
    if found <= 0:
        raise UsageError("this epsilon is too small to be divided.")
    return found


def _feature(line: str) -> tuple[str, Any]:
    """Read ``age: 18 to 100`` as a column of numbers, ``sex: f, m`` as one of labels."""
    name, colon, said = line.partition(":")
    if not colon or not name.strip() or not said.strip():
        raise UsageError(
            "write each predictor as a column, a colon, and its bounds or labels.", hint="age: 18 to 100"
        )
    ends = re.fullmatch(r"\s*(-?[\d.]+)\s*(?:to|bis|\.\.|–)\s*(-?[\d.]+)\s*", said)
    if ends:
        # texts would be labels to a regression
        return name.strip(), (_number(ends[1]), _number(ends[2]))
    return name.strip(), [one.strip() for one in said.split(",") if one.strip()]


def _number(text: str) -> int | float:
    try:
        return int(text) if re.fullmatch(r"-?\d+", text) else float(text)
    except ValueError:
        raise UsageError("bounds are numbers, with a point before decimals.") from None


def _lines(text: str, *, commas: bool = True) -> tuple[str, ...]:
    parts = re.split(r"[\n,]" if commas else r"\n", text)
    return tuple(dict.fromkeys(part.strip() for part in parts if part.strip()))


def _free(wanted: str, taken: Sequence[str]) -> str:
    stem = re.sub(r"[^a-z0-9]+", "-", wanted.lower()).strip("-")[:34].strip("-") or "question"
    name = untaken(stem, taken)
    if not _NAME.fullmatch(name):
        raise UsageError("the question has no name.")
    return name
