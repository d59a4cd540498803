"""A claim, and what an audit found: lower bounds on the privacy loss, checks of the release path, a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import Any

from discreet.errors import UsageError
from discreet.privacy import ApproxDP, Guarantee, PureDP, RenyiDP, ZeroConcentratedDP
from discreet.privacy.guarantees import failure_probability

#: Orders at which concentrated privacy is tested.
ORDERS = (1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0)
#: The delta at which promises without one of their own are turned into an epsilon.
_DELTA = 1e-3


@dataclass(frozen=True)
class Claim:
    """An epsilon at a delta, and bounds on Rényi divergences by order; None and empty where nothing is claimed."""

    words: str
    epsilon: float | None = None
    delta: float = 0.0
    rho: float | None = None
    renyi: Mapping[float, float] = field(default_factory=dict)

    @property
    def parts(self) -> int:
        """How many tests there are to divide the error rate among."""
        return 1 + bool(self.renyi)

    @classmethod
    def of(cls, guarantee: Guarantee) -> Claim:
        """Return what a guarantee says about neighboring tables."""
        words, promised = guarantee.describe(), guarantee.to_neighbors()
        budgets = {name: float(value) for name, value in promised.budgets().items()}
        if set(budgets) <= {"epsilon", "delta"} and promised.kind in ("pure", "approx"):
            return cls(words, budgets["epsilon"], budgets.get("delta", 0.0))
        rho, curve = None, {}
        if isinstance(promised, ZeroConcentratedDP):
            rho = budgets["rho"]
            curve = {order: order * rho for order in ORDERS}
        elif isinstance(promised, RenyiDP):
            curve = dict(zip(map(float, promised.orders), map(float, promised.epsilons), strict=True))
        return cls(words, float(promised.to_approx(_DELTA).epsilon), _DELTA, rho, curve)

    @classmethod
    def read(cls, epsilon: Any, delta: Any, rho: Any) -> Claim:
        """Read what the caller claims of a function; nothing at all if there is nothing to prove wrong."""
        if rho is not None:
            if epsilon is not None or delta is not None:
                raise UsageError("claim either rho, or epsilon, or epsilon with delta.")
            return cls.of(ZeroConcentratedDP(rho))
        if epsilon is None:
            return cls(
                "nothing is claimed", None, 0.0 if delta is None else float(failure_probability(delta))
            )
        return cls.of(PureDP(epsilon) if delta is None else ApproxDP(epsilon, delta))


@dataclass(frozen=True)
class StructureCheck:
    """A check that needs no probability: ``passed`` is None where something is reported and nothing judged."""

    name: str
    passed: bool | None
    words: str


@dataclass(frozen=True)
class Audit:
    """Evidence about a privacy claim: :meth:`summary` in words, :attr:`passed` the verdict.

    Attributes
    ----------
    epsilon_lower
        The privacy loss is at least this, at the claimed delta; infinite if outputs are not random at all.
    delta_lower
        Delta is at least this at the claimed epsilon; None where no epsilon is claimed.
    renyi_lower
        The Rényi divergence of each tested order is at least this.
    confidence
        Probability with which the verdict about these bounds is no false alarm.
    runs
        Runs under each of the two tables; half of them chose the event, the other half were counted.
    hits
        How many of the counted runs were in the event, under the table that makes it likelier and under the other.
    """

    subject: str
    claim: Claim
    epsilon_lower: float
    delta_lower: float | None
    renyi_lower: Mapping[float, float]
    confidence: float
    runs: int
    event: str
    hits: tuple[int, int]
    pair: str
    #: The two neighboring tables themselves.
    tables: tuple[Any, Any] = field(repr=False)
    checks: tuple[StructureCheck, ...] = ()
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def epsilon(self) -> float | None:
        """The claimed epsilon, at the claimed delta; None if nothing is claimed."""
        return self.claim.epsilon

    @property
    def rho_lower(self) -> float | None:
        """Concentrated privacy with a smaller rho is ruled out; None where no divergence was tested."""
        return max((bound / a for a, bound in self.renyi_lower.items()), default=None)

    @property
    def ratio(self) -> float | None:
        """The largest lower bound as a share of what is claimed: above 1 the claim is wrong."""
        shares = [
            self.renyi_lower[a] / bound for a, bound in self.claim.renyi.items() if a in self.renyi_lower
        ]
        if self.claim.epsilon is not None:
            shares.append(self.epsilon_lower / self.claim.epsilon)
        return max(shares, default=None)

    @property
    def violated(self) -> bool:
        """Whether the claim is wrong, at :attr:`confidence`; without a claim, whether no epsilon can be right."""
        return self.epsilon_lower == inf if self.ratio is None else self.ratio > 1

    @property
    def failed(self) -> tuple[StructureCheck, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if check.passed is False)

    @property
    def passed(self) -> bool:
        """Whether nothing speaks against the claim. That is evidence, never proof."""
        return not self.violated and not self.failed

    def summary(self) -> str:
        """Return what was found, in words."""
        sure = f"{100 * self.confidence:.4g}%"
        at = f" at delta = {self.claim.delta:g}" if self.claim.delta else ""
        low = "infinite" if self.epsilon_lower == inf else f"at least {self.epsilon_lower:.4g}"
        claimed = "" if self.epsilon is None else f" (claimed: {self.epsilon:.4g})"
        lines = [
            f"{self.subject}: {self.claim.words}",
            f"{self.runs:,} runs under each of two neighboring tables: {self.pair}",
            f"epsilon{at} is {low}{claimed}, with confidence {sure}",
        ]
        if self.rho_lower is not None:
            named = "" if self.claim.rho is None else f" (claimed: {self.claim.rho:.4g})"
            lines.append(f"rho is at least {self.rho_lower:.4g}{named}")
        if self.delta_lower:
            lines.append(f"delta at epsilon = {self.epsilon:.4g} is at least {self.delta_lower:.3g}")
        lines.append(
            f"event: {self.event}, {self.hits[0]:,} of {self.runs - self.runs // 2:,} runs under one table and "
            f"{self.hits[1]:,} under the other"
        )
        marks = {True: "ok", False: "FAILED", None: "note"}
        lines += [f"  {marks[check.passed]:6}  {check.name}: {check.words}" for check in self.checks]
        lines += [f"warning: {words}" for words in self.warnings]
        return "\n".join([*lines, self.verdict()])

    def verdict(self) -> str:
        """Return the verdict in one line."""
        if self.passed:
            what = "the claim" if self.ratio is not None else "it"
            return f"passed: nothing speaks against {what}, which is evidence and no proof"
        found = [check.name for check in self.failed]
        if self.violated:
            found.insert(0, "the claim is wrong" if self.ratio is not None else "outputs are not random")
        return f"FAILED: {'; '.join(found)}"

    def __str__(self) -> str:
        return self.summary()

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and words; an infinite epsilon is None, and ``infinite`` says so."""
        return {
            "subject": self.subject,
            "claim": self.claim.words,
            "epsilon": self.epsilon,
            "delta": self.claim.delta,
            "rho": self.claim.rho,
            "epsilon_lower": self.epsilon_lower if isfinite(self.epsilon_lower) else None,
            "infinite": not isfinite(self.epsilon_lower),
            "delta_lower": self.delta_lower,
            "rho_lower": self.rho_lower,
            "renyi_lower": {f"{a:g}": bound for a, bound in self.renyi_lower.items()},
            "ratio": self.ratio if self.ratio is not None and isfinite(self.ratio) else None,
            "confidence": self.confidence,
            "runs": self.runs,
            "pair": self.pair,
            "event": {"how": self.event, "hits": list(self.hits)},
            "checks": [
                {"name": check.name, "passed": check.passed, "words": check.words} for check in self.checks
            ],
            "warnings": list(self.warnings),
            "violated": self.violated,
            "passed": self.passed,
        }
