"""Conjugate priors, one file each."""

from __future__ import annotations

import re

from discreet.arguments import instance
from discreet.errors import UsageError
from discreet.names import did_you_mean
from discreet.priors.base import Prior
from discreet.priors.beta import Beta
from discreet.priors.dirichlet import Dirichlet
from discreet.priors.gamma import Gamma
from discreet.priors.mean_dispersion import MeanDispersion
from discreet.priors.normal import Normal
from discreet.priors.normal_inverse_gamma import NormalInverseGamma
from discreet.priors.normal_inverse_wishart import NormalInverseWishart
from discreet.priors.parameters import ByDensity, Product

__all__ = [
    "Beta",
    "ByDensity",
    "Dirichlet",
    "Gamma",
    "MeanDispersion",
    "Normal",
    "NormalInverseGamma",
    "NormalInverseWishart",
    "Prior",
    "Product",
    "parse",
]

_KNOWN: dict[str, type[Prior]] = {
    kind.name: kind
    for kind in (Beta, Dirichlet, Gamma, MeanDispersion, Normal, NormalInverseGamma, NormalInverseWishart)
}


def parse(text: str) -> Prior:
    """Read a prior as the command line writes it, such as ``"beta:1,1"``; ``str(prior)`` writes it back.

    Of several parameters, each on its own: ``"gamma:2,1*gamma:2,1"``.
    """
    if "*" in instance(text, "prior", str, "a text"):
        return Product(*(parse(part) for part in text.split("*")))
    name, _, rest = text.partition(":")
    spelled = name.strip().lower().replace("-", "_")
    kind = _KNOWN.get(spelled)
    if kind is None:
        other = re.search(r"(\w+)\s*[ (=](.*)", text)
        if other and other[1].lower() in _KNOWN:
            numbers = re.findall(r"[-+]?[\d.]+(?:e[-+]?\d+)?", other[2])
            raise UsageError(
                f"cannot read prior {text!r}.", hint=f"write {other[1].lower()}:{','.join(numbers) or '…'}"
            )
        hint = f"{did_you_mean(spelled, _KNOWN)}known priors: {', '.join(_KNOWN)}"
        raise UsageError(f"unknown prior {name.strip()!r}.", hint=hint)
    try:
        numbers = [float(part) for part in rest.split(",")] if rest.strip() else []
    except ValueError:
        raise UsageError(
            f"cannot read the numbers of prior {text!r}.", hint="write them as in beta:1,1"
        ) from None
    return kind.from_numbers(numbers)
