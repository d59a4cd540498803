"""What ``discreet show --registry`` prints: the fields that registries of private releases ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.cli.console import console, paragraph, print_json, table

if TYPE_CHECKING:
    from discreet.artifact import Release

_TITLES = {
    "basic": "What it is",
    "dp_variant": "Variant of differential privacy",
    "privacy_loss": "Privacy loss",
    "deployment_model": "Deployment model",
    "implementation": "Implementation",
    "administrative": "Sources",
    "evaluation": "For an evaluation (NIST SP 800-226)",
}


def show_registry(release: Release, *, as_json: bool) -> None:
    """Print the fields by section, then those that are not known and how they could be declared."""
    from discreet.artifact.registry_fields import registry_fields

    found = registry_fields(release)
    if as_json:
        print_json("registry", found.to_dict())
        return
    out = console()
    for section, fields in found.sections.items():
        known = {name: value for name, value in fields.items() if value is not None}
        if not known:
            continue
        made = table("", "", title=_TITLES[section])
        made.show_header = False
        made.columns[0].no_wrap = True
        made.columns[1].justify = "left"
        for name, value in known.items():
            made.add_row(_SHORT.get(name, name).replace("_", " "), paragraph(_shown(value)))
        out.print(made)
    if found.unknown:
        out.print("Not known, because nobody declared it (about= in Python, --about FILE when releasing):")
        for name, field in found.unknown.items():
            out.print(f"  {name}" + ("" if field is None else f"  ({field} = …)"))


# names that would leave no room for what they name
_SHORT = {
    "preprocessing_and_hyperparameter_tuning": "preprocessing",
    "privacy_parameters_details": "in words",
}


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} = {number:.6g}" for name, number in value.items())
    return "\n".join(value) if isinstance(value, list) else str(value)
