"""Tools of installed distributions: found by entry points, loaded once for their listings, then cached."""

import importlib
import json
import os
import sys

import pytest

from tests.catalog.kit import make_distribution
from toolhaft import Catalog
from toolhaft.catalog import cache_file
from toolhaft.catalog.installed import InstalledTools, ToolEntryPoint, load_entry_point
from toolhaft.errors import DefinitionError

GOOD = '''
from toolhaft import tool
print("loaded", __name__)

@tool(tags=["sky"])
def weather(city: str) -> str:
    """{words}"""
    return city
'''
BROKEN = "raise RuntimeError('no licence')\n"


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder of distributions on the path, and a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    sys.modules.pop("sky", None)
    yield folder
    sys.modules.pop("sky", None)


def sky(folder, name="sky-tools", module="sky", words="Say how it will be."):
    make_distribution(folder, name, {"weather": f"{module}:weather"}, {module: GOOD.format(words=words)})


@pytest.fixture
def list_again(site, capsys):
    """Lists the tool as a new process would, with nothing of it imported; returns what its module printed, and its description."""

    def run():
        sys.modules.pop("sky", None)
        importlib.invalidate_caches()
        description = Catalog(project=None).listing("weather").description
        return [*capsys.readouterr().out.splitlines(), description]

    return run


def test_tools_of_an_installed_distribution_are_found(site):
    sky(site)
    catalog = Catalog(project=None)
    assert "weather" in catalog
    assert "sky" not in sys.modules
    listing = catalog.listing("weather")
    assert (listing.store, listing.place, listing.owner, listing.tags) == (
        "installed",
        "sky-tools",
        "sky-tools",
        ("sky",),
    )
    assert catalog.get_tool("weather").name == "weather"


def test_listings_of_installed_tools_are_cached(site, list_again):
    sky(site)
    assert list_again() == ["loaded sky", "Say how it will be."]
    assert list_again() == ["Say how it will be."]
    os.utime(site)  # a file in it changed, but no distribution
    assert list_again() == ["Say how it will be."]


def test_changed_module_is_loaded_again(site, list_again):
    sky(site)
    list_again()
    (site / "sky.py").write_text(GOOD.format(words="Say something else altogether."))
    assert list_again() == ["loaded sky", "Say something else altogether."]


def test_installed_and_removed_distributions_are_noticed(site):
    sky(site)
    assert "weather" in Catalog(project=None)
    make_distribution(site, "sea-tools", {"waves": "sea:waves"}, {"sea": GOOD.replace("weather", "waves")})
    assert "waves" in Catalog(project=None)
    for file in (site / "sea-tools-1.0.dist-info").iterdir():
        file.unlink()
    (site / "sea-tools-1.0.dist-info").rmdir()
    assert "waves" not in Catalog(project=None)


def test_first_distribution_by_name_wins(site):
    sky(site, "b-tools", "sky_b", "From b.")
    sky(site, "a-tools", "sky_a", "From a.")
    catalog = Catalog(project=None)
    assert catalog.listing("weather").description == "From a."
    assert catalog.listing("weather").shadows == ("installed (b-tools)",)
    assert catalog.shadowed == ("weather (b-tools)",)


def test_built_in_tool_cannot_be_replaced_by_a_distribution(site):
    make_distribution(site, "aaa", {"calculator": "sky:weather"}, {})
    catalog = Catalog(project=None)
    assert catalog.listing("calculator").store == "built-in"
    assert catalog.listing("calculator").shadows == ("installed (aaa)",)


def test_broken_installed_tool_is_listed_inactive_and_reported(site):
    make_distribution(site, "bad-tools", {"licensed": "bad_tools_module:x"}, {"bad_tools_module": BROKEN})
    catalog = Catalog(project=None)
    listing = catalog.listing("licensed")
    assert (listing.is_active, listing.description, listing.place) == (False, "", "bad-tools")
    assert "it cannot be loaded: RuntimeError: no licence" in str(catalog.problems[0])
    with pytest.raises(DefinitionError, match="install what bad-tools needs"):
        catalog.get_tool("licensed")
    assert [str(error) for error in Catalog(project=None).problems] == [
        str(error) for error in catalog.problems
    ]


@pytest.mark.parametrize("value", ["no module", "", "a:b:c", "os:path.nowhere"])
def test_malformed_entry_point_is_reported(value):
    with pytest.raises(DefinitionError, match="it cannot be loaded"):
        load_entry_point(ToolEntryPoint(id="x", value=value, owner="somebody"))


def test_entry_point_values_with_extras_and_dotted_attributes_are_resolved():
    offer = ToolEntryPoint(id="calculator", value="toolhaft : toolbox.calculator [web]", owner="x")
    import toolhaft.toolbox  # noqa: F401, PLC0415 -- an attribute only once it is loaded

    assert load_entry_point(offer).name == "calculator"


def kept_file():
    (file,) = cache_file.user_cache_folder().glob("installed-*.json")
    return file


def test_invalid_cache_is_ignored(site):
    sky(site)
    before = Catalog(project=None).entries()
    file = kept_file()
    good = json.loads(file.read_text())
    keys = good["listings"]
    cases = [
        "{",
        {"toolhaft": "0.0.9"},
        {"entry_points": 5},
        {"entry_points": [["a"]]},
        {"entry_points": [[1, 2, 3]]},
        {"folders": []},
        {"folders": dict.fromkeys(good["folders"], 5)},
        {"listings": 5},
        {"listings": {key: {} for key in keys}},
        {"listings": {key: {"files": [[]], "listing": {}} for key in keys}},
        {"listings": {key: {"files": [], "listing": {}} for key in keys}},
    ]
    for wrong in cases:
        file.write_text(wrong if isinstance(wrong, str) else json.dumps({**good, **wrong}))
        assert Catalog(project=None).entries() == before, wrong


def test_cache_of_another_user_is_ignored(site, monkeypatch):
    sky(site)
    Catalog(project=None).entries()
    kept = cache_file.read_cache(kept_file())
    assert kept
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert cache_file.read_cache(kept_file()) == {}


@pytest.mark.parametrize("folder", ["relative", "/proc/nowhere", ""])
def test_tools_are_found_without_a_cache_folder(site, monkeypatch, folder, tmp_path):
    sky(site)
    monkeypatch.setenv("XDG_CACHE_HOME", folder)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert Catalog(project=None).listing("weather").description == "Say how it will be."


def test_user_without_a_home_has_no_cache(monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr("pathlib.Path.home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
    assert cache_file.user_cache_folder() is None
    assert InstalledTools().entry_points


def test_relative_cache_folder_is_ignored(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    assert cache_file.user_cache_folder() is None
    assert not list(tmp_path.iterdir())


def test_oldest_cache_files_are_removed(site, monkeypatch):
    folder = cache_file.user_cache_folder()
    for number in range(40):
        (folder / f"installed-{number:02}.json").write_text("{}")
    sky(site)
    Catalog(project=None).entries()
    assert len(list(folder.glob("installed-*.json"))) == 32
    assert kept_of(folder)


def kept_of(folder):
    return [file for file in folder.glob("installed-*.json") if file.stat().st_size > 10]


def test_too_large_cache_is_ignored(tmp_path, monkeypatch):
    monkeypatch.setattr(cache_file, "_MAX_BYTES", 10)
    file = tmp_path / "x.json"
    cache_file.write_cache(file, {"a": 1})
    assert file.exists()
    assert cache_file.read_cache(file) == {}
