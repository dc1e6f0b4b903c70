"""The catalog finds installed tools by id, and loads each on first use."""

import subprocess
import sys
from importlib.metadata import EntryPoint, entry_points

import pytest

from tests.cases import in_case
from tests.catalog.kit import BUILT_IN
from toolhaft import Catalog, ToolExecutor, tool
from toolhaft.catalog.catalog import GROUP
from toolhaft.errors import DefinitionError, UnknownToolError

HERE = "tests.catalog.test_catalog"


@tool
def offered() -> str:
    """Say which of two tools this is."""
    return "offered"


@tool(name="unsound", timeout_s=-1)
def unsound() -> str:
    """Have a time limit that makes no sense."""
    return ""


def entry(name, value):
    return EntryPoint(name=name, value=value, group=GROUP)


def test_built_in_tools_have_the_ids_of_the_seeds():
    catalog = Catalog()
    assert list(catalog) == BUILT_IN
    assert len(catalog) == len(BUILT_IN)
    assert "calculator" in catalog
    assert "abacus" not in catalog
    assert catalog.shadowed == ()
    assert repr(catalog) == "<Catalog of 10 tools>"


def test_built_in_tool_loads_under_its_own_name():
    for id in BUILT_IN:
        with in_case(id):
            catalog = Catalog()
            assert catalog.get_tool(id).name == id
            assert catalog.get_tool(id) is catalog.get_tool(id)


@pytest.mark.external
def test_listing_loads_no_tool():
    code = (
        "import sys; from toolhaft import Catalog; list(Catalog()); print('toolhaft.toolbox' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "False\n"


def test_executor_accepts_ids():
    with ToolExecutor(["calculator", offered], catalog=Catalog()) as executor:
        assert list(executor.tools) == ["calculator", "offered"]


def test_an_unknown_id_names_the_nearest():
    with pytest.raises(
        UnknownToolError, match=r"no tool 'calculater' is installed; did you mean 'calculator'\?"
    ):
        Catalog().get_tool("calculater")
    with pytest.raises(KeyError, match=r"no tool 'zzz' is installed$"):
        Catalog([]).get_tool("zzz")
    with pytest.raises(UnknownToolError, match=r"no tool \[\] is installed"):
        Catalog().get_tool([])
    assert [] not in Catalog()


def test_built_in_tool_keeps_its_id_and_the_other_is_reported():
    theirs = entry("calculator", f"{HERE}:offered")
    catalog = Catalog([theirs, *entry_points(group=GROUP)])
    assert catalog.get_tool("calculator").name == "calculator"
    assert catalog.shadowed == ("calculator (unknown)",)


def test_entry_point_found_twice_shadows_nothing():
    twice = [entry("offered", f"{HERE}:offered")] * 2
    assert Catalog(twice).shadowed == ()
    assert Catalog(twice).get_tool("offered").name == "offered"


def test_broken_entry_point_error_names_its_distribution():
    cases = [
        ("gone", "tests.catalog.nowhere:gone", r"'gone', entry point tests\.catalog\.nowhere:gone of unknown: it cannot be loaded"),
        ("leaves", "tests.catalog.exiting_module:leaves", "it cannot be loaded: SystemExit: 3"),
        ("gone", f"{HERE}:gone", "'gone', .*it cannot be loaded: .*has no attribute 'gone'"),
        ("other", f"{HERE}:offered", "its tool is called 'offered'"),
        ("entry", f"{HERE}:entry", r"is not a tool\. Fix: decorate it with @tool"),
        ("unsound", f"{HERE}:unsound", "tool 'unsound', timeout_s: -1 is not a positive number"),
    ]  # fmt: skip
    for name, value, problem in cases:
        with in_case(name, value, problem), pytest.raises(DefinitionError, match=problem):
            Catalog([entry(name, value)]).get_tool(name)
