"""What registries of private releases ask for, from a release file and from what its curator declared.

The sections and names are those of the OpenDP deployments registry, whose entries this fills in; ``evaluation`` has
what NIST SP 800-226 asks beyond them. What neither the file nor a declaration says is listed as not known, never
guessed.

References
----------
.. OpenDP deployments registry, github.com/opendp/deployments-registry-data, template of 2026.
.. Near, Darais, Lefkovitz and Howarth (2025), Guidelines for evaluating differential privacy guarantees, NIST SP
   800-226.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discreet.artifact.release import Release
from discreet.artifact.statement import (
    assumed_in_words,
    charge_in_words,
    origin_in_words,
    parts_in_words,
    protected_in_words,
    whom_of,
)
from discreet.names import shown, shown_label
from discreet.rational import plain

_VARIANTS = {
    "pure": "Pure DP",
    "approx": "Approximate DP",
    "zero_concentrated": "Zero-concentrated DP",
    "renyi": "Rényi DP",
    "metric": "Metric DP",
    "composed": "Several variants, composed",
}
_RELATIONS = {
    "replace": "bounded: two tables of the same size that differ in the content of one",
    "add_remove": "unbounded: two tables of which one has one more",
}
# Labels and scales that are named; a longer list is cut.
_MOST = 12


@dataclass(frozen=True)
class RegistryFields:
    """Fields by section, None where not known; ``declarations`` names what the curator could declare for each."""

    sections: Mapping[str, Mapping[str, Any]]
    declarations: Mapping[str, str]

    @property
    def unknown(self) -> dict[str, str | None]:
        """The fields that nobody said anything about, as section.field, and the field of ``about`` that would."""
        return {
            f"{section}.{field}": self.declarations.get(f"{section}.{field}")
            for section, fields in self.sections.items()
            for field, value in fields.items()
            if value is None
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and words: the entry of a registry, what NIST asks beyond it, and what is not known."""
        entry = {name: dict(fields) for name, fields in self.sections.items() if name != "evaluation"}
        return {
            "deployment": {
                section: {name: value for name, value in fields.items() if value is not None}
                for section, fields in entry.items()
            },
            "evaluation": dict(self.sections["evaluation"]),
            "unknown": list(self.unknown),
        }


def registry_fields(release: Release) -> RegistryFields:
    """Return what registries of private releases ask for about a release."""
    asked: dict[str, str] = {}
    said = release.about or {}

    def declared(path: str, field: str) -> Any:
        asked[path] = field
        value = said.get(field)
        return list(value) if isinstance(value, tuple) else value

    def joined(path: str, field: str, *known: str) -> str:
        """Return what the file knows and, after it, what was declared."""
        more = declared(path, field)
        return " ".join([*known, *([] if more is None else [str(more)])])

    sections = {
        "basic": {
            "name": declared("basic.name", "name") or release.title,
            "data_curators": declared("basic.data_curators", "curators"),
            "description": declared("basic.description", "description") or f"{release.question}.",
            "intended_use": declared("basic.intended_use", "intended_use"),
            "data_product_type": "Summary statistics" if release.samples is None else "Posterior samples",
            "data_product_region": declared("basic.data_product_region", "region"),
            "data_product_sector": declared("basic.data_product_sector", "sector"),
            "publication_date": declared("basic.publication_date", "publication_date"),
        },
        "dp_variant": {
            "variant_name": _VARIANTS[release.guarantee.kind],
            "data_domain": joined("dp_variant.data_domain", "data_domain", _domain(release)),
            "unprotected_quantities": joined(
                "dp_variant.unprotected_quantities", "unprotected_quantities", _unprotected(release)
            ),
        },
        "privacy_loss": {
            "privacy_unit": declared("privacy_loss.privacy_unit", "privacy_unit") or _unit(release),
            "privacy_unit_details": protected_in_words(release),
            "number_of_privacy_units": 1,
            "privacy_parameters": {name: float(value) for name, value in release.guarantee.budgets().items()},
            "privacy_parameters_details": f"{_capital(release.guarantee.describe())}.",
        },
        "deployment_model": {
            "model_name": "Central",
            "trust_assumptions": declared("deployment_model.trust_assumptions", "trust_assumptions"),
            "actors": declared("deployment_model.actors", "actors"),
            "release_type": _capital(declared("deployment_model.release_type", "release_type")),
            "release_type_details": declared("deployment_model.release_type_details", "release_details"),
            "data_source_type": _capital(declared("deployment_model.data_source_type", "data_source_type")),
            "access_type": "Non-interactive",
            "access_type_details": declared("deployment_model.access_type_details", "access"),
        },
        "implementation": {
            "preprocessing_and_hyperparameter_tuning": joined(
                "implementation.preprocessing_and_hyperparameter_tuning",
                "preprocessing",
                assumed_in_words(release),
            ),
            "mechanisms": _mechanism(release),
            "composition": joined("implementation.composition", "composition", *_composition(release)),
            "post_processing": joined(
                "implementation.post_processing", "post_processing", *_post_processing(release)
            ),
            "justification": declared("implementation.justification", "justification"),
            "utility": declared("implementation.utility", "utility"),
        },
        "administrative": {"evidence_sources": declared("administrative.evidence_sources", "sources")},
        "evaluation": {
            "neighbors": f"{_RELATIONS[release.neighbors]} {whom_of(release)}",
            "sensitivity": _sensitivity(release),
            "randomness": "the operating system's cryptographic generator, without a seed",
            "arithmetic": "floating point: the promise is for the distribution that it approximates"
            if release.in_floating_point
            else "integers and fractions, exact",
            "contact": declared("evaluation.contact", "contact"),
            "other_releases": declared("evaluation.other_releases", "composition"),
            "data_collection": declared("evaluation.data_collection", "preprocessing"),
            "software": ", ".join(f"{name} {version}" for name, version in release.software.items()),
            "release": release.id,
        },
    }
    return RegistryFields(sections, asked)


def _domain(release: Release) -> str:
    columns = ", ".join(f"“{shown(column)}”" for column in release.columns)
    source = "" if release.dataset is None else f" of the data set “{shown(release.dataset)}”"
    said = [f"Columns {columns}{source}"]
    if release.domain.bounds is not None:
        bounds = ", ".join(f"[{float(low):g}, {float(high):g}]" for low, high in release.domain.bounds)
        said.append(f"within {bounds}")
    if release.domain.labels is not None:
        labels = release.domain.labels
        more = f" and {len(labels) - _MOST} more" if len(labels) > _MOST else ""
        said.append(f"labels {', '.join(map(shown_label, labels[:_MOST]))}{more}")
    return f"{'; '.join(said)}."


def _unprotected(release: Release) -> str:
    if release.neighbors == "add_remove":
        return "Nothing in this file: the number of records is protected too."
    whose = "records" if release.unit is None else "people"
    return f"The number of {whose}, {release.records:,}, is public."


def _unit(release: Release) -> str:
    if release.unit is None:
        return "Record: one row of the table"
    return f"Person: all rows with the same “{shown(release.unit.column)}”"


def _mechanism(release: Release) -> str:
    name = (
        _capital(release.mechanism.name.replace("_", " "))
        .replace("laplace", "Laplace")
        .replace("gauss", "Gauss")
    )
    if release.samples is None:
        record = release.noise_record
        scales = list(dict.fromkeys(f"{spread:.6g}" for spread in record.spreads(release)))
        more = f" and {len(scales) - _MOST} more" if len(scales) > _MOST else ""
        kind = record.spread.removeprefix("noise ")
        return (
            f"{name} noise of {kind} {', '.join(scales[:_MOST])}{more} on {len(release.totals.names)} totals, "
            "integers, drawn by OpenDP."
        )
    record = release.sampling_record
    numbers = [f"{name} {float(value):.6g}" for name, value in record.parameters.items()]
    return f"{name}: {record.kind} ({', '.join(numbers)})." if numbers else f"{name}: {record.kind}."


def _sensitivity(release: Release) -> str | None:
    if release.samples is not None:
        return "in the mechanism's own numbers"
    found = release.noise_record.sensitivity
    return (
        f"{plain(found)} widths of the totals, jointly over everything that one {whom_of(release)} can change"
    )


def _composition(release: Release) -> list[str]:
    return [
        *parts_in_words(release),
        "The parameters are for this file alone: other releases about the same people add to them.",
        *charge_in_words(release),
    ]


def _post_processing(release: Release) -> list[str]:
    return origin_in_words(release) or ["None: what is in the file is what was drawn."]


def _capital(text: str | None) -> Any:
    return text if not text else text[0].upper() + text[1:]
