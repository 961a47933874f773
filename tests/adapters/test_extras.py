"""How to add an extra: words for each way in which the product may have been installed, and never
its own name."""

import sys
from importlib import metadata
from pathlib import Path

import pytest

from mockserver.adapters import extras
from mockserver.adapters.extras import how_to_add

ROOT = Path(extras.__file__).parents[2]
WHEEL = [
    "click>=8",
    "mcp<3,>=2.3; extra == 'mcp'",
    'api>=1; python_version > "3" and extra == "otel"',
    "sdk; extra == 'otel'",
]


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The wheel, in an environment that has pip, whether or not the one of this run has it."""
    monkeypatch.setattr(extras, "requires", lambda name: WHEEL)
    monkeypatch.setattr(extras, "find_spec", lambda name: "pip")
    monkeypatch.setattr(sys, "executable", "/opt/my shop/bin/python")


@pytest.mark.parametrize(
    ("extra", "packages"), [("mcp", "'mcp<3,>=2.3'"), ("otel", "'api>=1' sdk")]
)
def test_what_is_installed_gets_the_packages_of_the_extra(extra: str, packages: str) -> None:
    assert how_to_add(extra) == f"'/opt/my shop/bin/python' -m pip install {packages}"


def test_an_environment_without_pip_is_one_of_uv(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    assert how_to_add("mcp") == "uv pip install --python '/opt/my shop/bin/python' 'mcp<3,>=2.3'"


def test_a_checkout_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(name: str) -> list[str]:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(extras, "requires", unknown)
    assert how_to_add("mcp").endswith(f" -m pip install '{ROOT}[mcp]'")


@pytest.mark.parametrize("extra", ["mcp", "otel"])
def test_the_extras_of_this_package_are_found(extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "requires", metadata.requires)
    assert " -m pip install " in how_to_add(extra)
    assert not how_to_add(extra).endswith("install ")
    assert "payfurl" not in how_to_add(extra)
