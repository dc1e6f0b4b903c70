"""A public name is a promise: adding or removing one changes `public_names.txt`."""

import importlib
from pathlib import Path

import pytest

import toolhaft

NAMES = Path(__file__).with_name("public_names.txt")


def test_the_public_names_are_the_ones_written_down():
    assert sorted(toolhaft.__all__) == NAMES.read_text(encoding="utf-8").splitlines()


def test_every_public_name_loads():
    missing = [name for name in toolhaft.__all__ if not hasattr(toolhaft, name)]
    assert missing == []


PACKAGES = ("catalog", "core", "formats", "prompt", "resources", "session", "toolbox", "toolbox.planning")


@pytest.mark.parametrize("package", PACKAGES)
def test_every_name_of_a_package_loads(package):
    module = importlib.import_module(f"toolhaft.{package}")
    assert [name for name in dir(module) if not name.startswith("_") and not hasattr(module, name)] == []
    assert dir(module)
