"""What an audit found: lower bounds on the privacy loss, checks of the release path, a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import Any

from discreet.validation.claims import Claim


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
