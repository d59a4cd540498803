from __future__ import annotations

import inspect

import pytest

import discreet as dc


@pytest.mark.parametrize("name", dc.__all__)
def test_every_public_name_loads_and_is_documented(name: str) -> None:
    value = getattr(dc, name)
    assert inspect.getdoc(value)
    assert name in dir(dc)


def test_all_lists_what_can_be_loaded_and_nothing_else() -> None:
    assert sorted(dc.__all__) == sorted(["__version__", *dc._MODULES, *dc._HOME_OF])


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'frobnicate'"):
        _ = dc.frobnicate  # pyright: ignore[reportAttributeAccessIssue]


def test_the_version_is_the_installed_one() -> None:
    from importlib.metadata import version

    assert dc.__version__ == version("discreet")
