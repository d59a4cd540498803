"""Packages that only some calls need, and the one line that says what to install.

NumPy and SciPy are needed by everything. ``pip install discreet`` brings all others but the extras, so this matters to
those who install it without dependencies: an analyst who only reads files, a server that has to be small.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec

from discreet.errors import MissingPackageError

#: What pip is asked for, by the name that is imported.
REQUIREMENTS = {
    "arviz_base": "arviz-base",
    "cryptography": "discreet[sign]",
    "dp_accounting": "discreet[accounting]",
    "duckdb": "duckdb",
    "formulaic": "discreet[formulas]",
    "h5netcdf": "h5netcdf",
    "jinja2": "discreet[studio]",
    "jax": "jax",
    "matplotlib": "matplotlib",
    "narwhals": "narwhals",
    "numba": "numba",
    "numpyro": "numpyro",
    "opendp": "opendp",
    "openpyxl": "openpyxl",
    "pandas": "pandas",
    "polars": "polars",
    "psycopg": "discreet[postgres]",
    "pyarrow": "pyarrow",
    "pymc": "pymc",
    "pyreadstat": "pyreadstat",
    "pytensor": "pymc",
    "python_multipart": "discreet[studio]",
    "rich": "rich",
    "sklearn": "discreet[sklearn]",
    "sqlalchemy": "sqlalchemy",
    "starlette": "discreet[studio]",
    "typer": "typer",
    "uvicorn": "discreet[studio]",
    "xarray": "xarray",
}
#: What is needed together: a call that misses one of a group names all that are missing of it.
GROUPS = (
    ("opendp", "duckdb", "narwhals", "pyarrow"),
    ("typer", "rich"),
    ("arviz_base", "xarray"),
)


def is_installed(name: str) -> bool:
    """Tell whether a package can be imported, without importing it."""
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def require(name: str, purpose: str) -> None:
    """Import a package, or say in one line that ``purpose`` needs it and how to install it."""
    with needed_for(purpose):
        import_module(name)


@contextmanager
def needed_for(purpose: str) -> Iterator[None]:
    """Turn the failed import of a known package inside the block into one line; other errors pass."""
    try:
        yield
    except ModuleNotFoundError as error:
        root = (error.name or "").partition(".")[0]
        if root not in REQUIREMENTS:
            raise
        raise missing(root, purpose) from None


def missing(name: str, purpose: str) -> MissingPackageError:
    """Return the error that says that ``purpose`` needs a package, and what to install."""
    group = next((group for group in GROUPS if name in group), (name,))
    wanted = [name, *(other for other in group if other != name and not is_installed(other))]
    asked = " ".join(f"'{r}'" if "[" in r else r for r in (REQUIREMENTS[each] for each in wanted))
    return MissingPackageError(f"{purpose} needs {name}, which is not installed: pip install {asked}")
