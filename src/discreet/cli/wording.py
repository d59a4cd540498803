"""The library's errors speak Python; here they learn to speak the command line."""

from __future__ import annotations

import re
from collections.abc import Callable

_OPTIONS = (
    "epsilon|delta|rho|mechanism|outside|missing|neighbors|engine|draws|chains|prior|prob|bounds|records|n|trials"
    "|workers|dataset|analyst|ledger|samples|impute|steps|distance"
)
_PAIR = re.compile(r"\(([^(),]+), ([^(),]+)\)")


def _pairs(found: re.Match[str]) -> str:
    """Write ``bounds=[(0, 1), (0, 9)]`` as ``--bounds=0,1 --bounds=0,9``."""
    return " ".join(f"--{found[1]}={low},{high}" for low, high in _PAIR.findall(found[2]))


def _option(found: re.Match[str]) -> str:
    """Write ``engine='naive'`` as ``--engine naive``, and ``epsilon=-1`` as ``--epsilon=-1``."""
    name, value = found[1], found[2].strip("'")
    return f"--{name}{'=' if value.startswith('-') else ' '}{value}"


def _prior(found: re.Match[str]) -> str:
    """Write ``dc.priors.NormalInverseGamma(...)`` as ``--prior normal_inverse_gamma:…``."""
    return f"--prior {re.sub('(?<!^)(?=[A-Z])', '_', found[1]).lower()}:…"


#: What the library says, and what the command line says instead; in this order.
_TABLE: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (
        r"dc\.mechanisms\.PrivateQuantiles\(.*?epsilon=0\.1\)",
        "--bounds quantiles:0.025,0.975 --within=0,1000 --bounds-epsilon 0.1",
    ),
    (r"(?<!-)\b(bounds|within|records|support)=(\[\(.*?\)\]|\(.*?\))", _pairs),
    (rf"(?<!-)\b({_OPTIONS})=('[^']*'|-?[\w.]+(?:[-+]\d+)?(?<!\.))", _option),
    (r"create one with a budget: .*", "discreet ledger init makes one."),
    (r"open it first: .*", "discreet ledger init URL --dataset NAME --epsilon NUMBER opens one."),
    (r"(?<!-)\bimpute=…", "--impute VALUE"),
    (r"(?<!-)\bsupport=([\w.]+)", r"--support=\1"),
    (r"give (--dataset) …", r"give \1 NAME"),
    (r"\b([a-z_]+)='([^']*)'", r"\1=\2"),
    (r"for example (--bounds=\S+ --bounds.*)", r"repeat --bounds, once for each column: \1"),
    (r'dc\.Categorical\(\["a", "b"\]\)', 'write -m "categorical:labels=a|b|c"'),
    (r"dc\.Normal\(\)", "-m normal"),
    (r"dc\.priors\.(\w+)\(\.\.\.\)", _prior),
    (r"^SmoothCategorical takes", "--mechanism smooth_categorical takes"),
    (r"(--engine \w+), (--prior )", r"\1 \2"),
    (r"^leave out records", "leave out --records"),
)


def as_options(text: str) -> str:
    """Say ``--engine naive`` where the library says ``engine='naive'``, and so on."""
    for pattern, replacement in _TABLE:
        text = re.sub(pattern, replacement, text)
    return text
