"""How much disk the packages take that discreet needs, by who needs them.

    python scripts/weigh.py

Sizes are those of the installed files, compiled Python included. A package that several groups need is counted in the
first of them.
"""

from __future__ import annotations

import re
from importlib.metadata import Distribution, PackageNotFoundError, distribution

GROUPS = {
    "every call": ("numpy", "scipy"),
    "compiled engines": ("numba",),
    "plots, ArviZ, netCDF": ("matplotlib", "arviz-base", "xarray", "h5netcdf", "h5py"),
    "the command line": ("typer", "rich"),
    "curators": ("opendp", "duckdb", "pyarrow", "narwhals", "sqlalchemy"),
}


def requirements(found: Distribution) -> list[str]:
    """Return the names of what a distribution requires without extras."""
    return [
        re.split(r"[\s<>=!~;\[(]", text, maxsplit=1)[0]
        for text in found.requires or ()
        if "extra ==" not in text
    ]


def size(found: Distribution) -> int:
    """Return the bytes of a distribution's files, with those that Python compiled."""
    places = [found.locate_file(file) for file in found.files or ()]
    return sum(place.stat().st_size for place in places if place.exists())  # pyright: ignore[reportAttributeAccessIssue]


def main() -> None:
    counted: set[str] = set()
    total = 0
    for group, names in GROUPS.items():
        waiting, bytes_here = list(names), 0
        while waiting:
            name = waiting.pop().lower().replace("_", "-")
            try:
                found = None if name in counted else distribution(name)
            except PackageNotFoundError:
                continue
            if found is not None:
                counted.add(name)
                bytes_here += size(found)
                waiting += requirements(found)
        total += bytes_here
        print(f"{bytes_here / 1e6:6.0f} MB  {group}: {', '.join(names)}")
    print(f"{total / 1e6:6.0f} MB  together")


if __name__ == "__main__":
    main()
