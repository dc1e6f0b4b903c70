"""A catalog of all sources: project files, built-in tools, installed tools, the platform; the first wins."""

import json
import subprocess
import sys
import threading
from importlib.metadata import EntryPoint

import pytest

from tests.catalog.kit import age, make_project, yaml_text
from toolhaft import Catalog, ToolExecutor, execute_tool, tool
from toolhaft.catalog.catalog import GROUP
from toolhaft.catalog.embedded import EmbeddedPlatform
from toolhaft.catalog.listing import Listing
from toolhaft.catalog.platform import platform_of
from toolhaft.catalog.project import Project
from toolhaft.catalog.remote import RemotePlatform
from toolhaft.errors import ConfigError, DefinitionError, StorageError, UnknownToolError

ECHO = "{argv: [echo, '${input}']}"


@tool(title="Weather", tags=["sky"])
def weather(city: str) -> str:
    """Say how the weather will be."""
    return city


@tool
def calculator(expression: str) -> str:
    """Another one."""
    return expression


def test_project_files_win_and_report_what_they_shadow(tmp_path):
    project = make_project(tmp_path, {"calculator.yaml": yaml_text("calculator", run=ECHO)})
    catalog = Catalog(project=project)
    assert catalog.get_tool("calculator").title == "My Tool"
    listing = catalog.listing("calculator")
    assert (listing.store, listing.place) == ("project", "local-kit/tools/calculator.yaml")
    assert listing.shadows == ("built-in (toolhaft)",)
    assert catalog.shadowed == ("calculator (toolhaft)",)
    assert catalog.listing("read_file").store == "built-in"
    assert catalog.project == project


def test_catalog_accepts_a_folder_of_the_project(tmp_path, monkeypatch):
    make_project(tmp_path, {"mine.yaml": yaml_text("mine", run=ECHO)})
    assert "mine" in Catalog(project=tmp_path / "local-kit")
    monkeypatch.chdir(tmp_path)
    assert "mine" in Catalog()
    assert "mine" not in Catalog(project=None)
    assert Catalog(project=None).project is None


def test_published_tools_come_last(tmp_path):
    project = make_project(tmp_path)
    platform = EmbeddedPlatform(project)
    for id in ("calculator", "forecast"):
        platform.put(yaml_text(id, run=ECHO))
    catalog = Catalog(project=project)
    assert catalog.listing("calculator").store == "built-in"
    assert catalog.listing("calculator").shadows == ("platform (http://127.0.0.1:8420)",)
    assert catalog.listing("forecast").store == "platform"
    assert execute_tool(catalog.get_tool("forecast"), {"input": "x"}).value == "x"
    assert catalog.platform.is_embedded
    catalog.platform.close()
    platform.close()


def test_published_unchanged_file_shadows_nothing(tmp_path):
    project = make_project(tmp_path, {"mine.yaml": yaml_text("mine", run=ECHO)})
    platform = EmbeddedPlatform(project)
    published = platform.put(yaml_text("mine", run=ECHO))
    catalog = Catalog(project=project, platform=platform)
    assert catalog.listing("mine").shadows == ("platform (http://127.0.0.1:8420)",)
    (project.tools_folder / "mine.yaml").write_text(published.text)
    catalog.refresh()
    assert catalog.listing("mine").shadows == ()
    assert catalog.shadowed == ()
    platform.put(published.text)
    catalog.refresh()
    assert catalog.listing("mine").shadows != ()
    platform.close()


def test_given_tools_replace_all_sources(tmp_path, monkeypatch):
    make_project(tmp_path, {"mine.yaml": yaml_text("mine")})
    monkeypatch.chdir(tmp_path)
    catalog = Catalog([weather, [calculator]])
    assert list(catalog) == ["calculator", "weather"]
    assert catalog.get_tool("weather") is weather
    assert catalog.listing("weather").store == "given"
    assert catalog.search("how will the weather be")[0].id == "weather"
    assert [one.id for one in catalog.entries(tag="sky")] == ["weather"]
    assert catalog.platform is None
    assert list(Catalog(weather)) == ["weather"]
    assert list(Catalog(iter([weather]))) == ["weather"]
    assert list(Catalog([weather], project=tmp_path, platform=None)) == ["mine", "weather"]
    with pytest.raises(DefinitionError, match="5 is not a tool"):
        Catalog([weather, 5])


def test_given_tools_and_entry_points_can_be_mixed():
    here = EntryPoint(name="calculator", value="toolhaft.toolbox:calculator", group=GROUP)
    catalog = Catalog([here, weather, [here]])
    assert list(catalog) == ["calculator", "weather"]
    assert list(Catalog(here)) == ["calculator"]
    both = Catalog([here, calculator])
    assert both.get_tool("calculator") is calculator
    assert both.shadowed == ("calculator (unknown)",)


def test_tools_are_found_by_tag_owner_share_and_text(tmp_path):
    project = make_project(
        tmp_path,
        {
            "a.yaml": yaml_text(
                "a", more="owner: me\nshare: org\ntags: [sky, sea]\n", description="Rain tomorrow"
            ),
            "b.yaml": yaml_text("b", more="owner: you\ntags: [sky]\n", description="Waves and rain"),
        },
    )
    catalog = Catalog(project=project, platform=None)

    def ids(**filters):
        return [one.id for one in catalog.entries(**filters)]

    assert ids(tag="sky") == ["a", "b"]
    assert ids(owner="me") == ["a"]
    assert ids(tag="sky", share="org") == ["a"]
    assert ids(text="waves") == ["b"]
    assert ids(text="rain", owner="you") == ["b"]
    assert [one.id for one in catalog.search("rain", tag="sea")] == ["a"]
    assert len(catalog.search("a", limit=1)) == 1
    assert ids(owner="toolhaft") == [one for one in catalog if one not in ("a", "b")]


def test_invalid_file_is_reported_and_others_are_found(tmp_path):
    project = make_project(
        tmp_path,
        {
            "good.yaml": yaml_text("good", run=ECHO),
            "bad.yaml": "id: bad\n",
            "calculator.yaml": "id: calculator\n",
        },
    )
    catalog = Catalog(project=project, platform=None)
    assert "good" in catalog
    assert len(catalog.problems) == 2
    with pytest.raises(DefinitionError, match=r"local-kit/tools/bad\.yaml"):
        catalog.get_tool("bad")
    with pytest.raises(DefinitionError, match=r"local-kit/tools/calculator\.yaml"):
        catalog.get_tool("calculator")  # never another tool than the one that the file is about


def test_listings_stay_until_refresh(tmp_path):
    project = make_project(tmp_path, {"a.yaml": yaml_text("a", run=ECHO)})
    catalog = Catalog(project=project)
    before = catalog.get_tool("a")
    (project.tools_folder / "b.yaml").write_text(yaml_text("b"))
    assert "b" not in catalog
    catalog.refresh()
    assert "b" in catalog
    assert catalog.get_tool("a") is not before


def test_file_that_now_defines_another_tool_is_reported(tmp_path):
    project = make_project(tmp_path, {"a.yaml": yaml_text("a", run=ECHO)})
    catalog = Catalog(project=project)
    assert "a" in catalog
    (project.tools_folder / "a.yaml").write_text(yaml_text("z"))
    with pytest.raises(DefinitionError, match=r"the file now defines 'z'.*catalog\.refresh\(\)"):
        catalog.get_tool("a")


def test_file_with_an_endpoint_on_the_embedded_platform_runs_in_process(tmp_path):
    end = "is_active: true\nendpoint: http://127.0.0.1:8420/v3/tool/{}\n"
    sums = (
        "id: {0}\nname: Sums\ndescription: Sums\n" + end.format("calculator") + "parameters:\n"
        "  - {{name: expression, type: string, description: what}}\n"
    )
    project = make_project(
        tmp_path,
        {
            "calculator.yaml": sums.format("calculator"),
            "my-sums.yaml": sums.format("my-sums"),
            "stored.yaml": yaml_text("stored", more=end.format("stored")),
            "nowhere.yaml": yaml_text("nowhere", more=end.format("nowhere")),
            "off.yaml": yaml_text("off", more=end.format("calculator").replace("true", "false")),
            "else.yaml": yaml_text("else", more="endpoint: https://tools.example/run\n"),
        },
    )
    platform = EmbeddedPlatform(project)
    platform.put(yaml_text("stored", run=ECHO))
    catalog = Catalog(project=project)
    for id in ("calculator", "my-sums"):
        assert execute_tool(catalog.get_tool(id), {"expression": "6*7"}).value == {"result": 42}
    assert execute_tool(catalog.get_tool("stored"), {"input": "x"}).value == "x"
    assert catalog.get_tool("nowhere").handler is None
    assert catalog.get_tool("off").handler is None
    assert catalog.get_tool("else").handler is not None
    catalog.platform.close()
    platform.close()


def test_local_endpoint_is_called_over_http_if_a_platform_is_configured(tmp_path, monkeypatch):
    monkeypatch.setenv("TOOLHAFT_PLATFORM_URL", "http://127.0.0.1:8420")
    text = yaml_text("calculator", more="endpoint: http://127.0.0.1:8420/v3/tool/calculator\n")
    catalog = Catalog(project=make_project(tmp_path, {"calculator.yaml": text}))
    assert isinstance(catalog.platform, RemotePlatform)
    made = catalog.get_tool("calculator")
    assert type(made.handler).__name__ == "EndpointHandler"


def test_project_uses_its_configured_platform(tmp_path, monkeypatch):
    project = make_project(tmp_path)
    assert isinstance(platform_of(project), EmbeddedPlatform)
    monkeypatch.setenv("TOOLHAFT_PLATFORM_URL", "https://tools.example/")
    assert platform_of(project).url == "https://tools.example"
    monkeypatch.setenv("TOOLHAFT_PLATFORM_URL", "tools.example")
    with pytest.raises(ConfigError, match="TOOLHAFT_PLATFORM_URL: the platform's address"):
        platform_of(project)


def test_catalog_creates_no_database_and_no_folder(tmp_path):
    project = Project.at(tmp_path)
    catalog = Catalog(project=project)
    assert len(catalog.entries()) == len(catalog)
    with pytest.raises(UnknownToolError, match="is published"):
        catalog.platform.get("x")
    with pytest.raises(UnknownToolError):
        catalog.platform.remove("x")
    assert list(tmp_path.iterdir()) == []


def test_damaged_database_does_not_affect_other_sources(tmp_path):
    project = make_project(tmp_path, {"mine.yaml": yaml_text("mine", run=ECHO)})
    project.make_state_folder()
    project.database_file.write_bytes(b"this is no database" * 100)
    catalog = Catalog(project=project)
    assert "mine" in [one.id for one in catalog.entries()]
    assert [isinstance(error, StorageError) for error in catalog.problems] == [True]
    with pytest.raises(StorageError):
        catalog.get_tool("elsewhere")
    assert catalog.get_tool("mine").name == "mine"


def test_state_folder_that_cannot_be_created_is_reported(tmp_path):
    project = make_project(tmp_path)
    project.state_folder.write_text("in the way")
    with pytest.raises(StorageError, match=r"the folder \.toolhaft of the project cannot be made"):
        EmbeddedPlatform(project).put(yaml_text())


def test_embedded_platform_listings_follow_every_change(tmp_path):
    project = make_project(tmp_path)
    platform = EmbeddedPlatform(project)
    other = EmbeddedPlatform(project)

    def names():
        return [(one.id, one.title) for one in other.listings()]

    assert names() == []
    platform.put(yaml_text("a"))
    assert names() == [("a", "My Tool")]
    platform.put(yaml_text("a", name="Other"))
    platform.put(yaml_text("b"))
    assert names() == [("a", "Other"), ("b", "My Tool")]
    assert names() == names()
    platform.remove("a")
    assert names() == [("b", "My Tool")]
    assert EmbeddedPlatform(project).listings() == other.listings()
    platform.close()
    other.close()
    for file in project.state_folder.glob("platform.db*"):
        age(file)
    assert names() == [("b", "My Tool")]
    assert names() == [("b", "My Tool")]
    place = project.state_folder / "platform.json"
    place.write_text(json.dumps({**json.loads(place.read_text()), "tools": {"b": 5}}))
    assert names() == [("b", "My Tool")]
    other.close()


def test_database_url_setting_selects_the_embedded_database(tmp_path, monkeypatch):
    project = make_project(tmp_path / "project")
    monkeypatch.setenv("TOOLHAFT_DATABASE_URL", f"sqlite:///{tmp_path}/secret-name.db")
    platform = EmbeddedPlatform(project)
    assert platform.listings() == []
    platform.put(yaml_text("a"))
    project.make_state_folder()
    assert [one.id for one in platform.listings()] == ["a"]
    assert [one.id for one in EmbeddedPlatform(project).listings()] == ["a"]
    assert not project.database_file.exists()
    # the address of a server may hold a password
    assert "secret-name" not in (project.state_folder / "platform.json").read_text()
    platform.close()


def test_database_without_tables_has_no_tools(tmp_path):
    project = make_project(tmp_path)
    project.make_state_folder()
    project.database_file.touch()
    platform = EmbeddedPlatform(project)
    assert platform.listings() == []
    assert platform.list() == []
    platform.close()
    platform.close()


def test_embedded_platform_caches_a_bounded_number_of_runnable_tools(tmp_path, monkeypatch):
    monkeypatch.setattr("toolhaft.catalog.embedded._MAX_RUNNABLE", 2)
    platform = EmbeddedPlatform(make_project(tmp_path))
    for id in ("a", "b", "c"):
        platform.put(yaml_text(id, run=ECHO))
        assert platform.runnable(id).name == id
    assert len(platform._runnable) == 1  # noqa: SLF001 -- what is bounded
    assert platform.runnable("c") is platform.runnable("c")
    platform.close()


def test_unreadable_row_is_listed_with_its_columns(tmp_path):
    project = make_project(tmp_path)
    platform = EmbeddedPlatform(project)
    platform.put(yaml_text("a"))
    with platform._open(create=True).transaction() as change:  # noqa: SLF001 -- as a newer version would leave it
        change.execute("UPDATE toolhaft_tools SET text = 'id: a' WHERE id = ?", ["a"])
        change.advance()
    (listing,) = platform.listings()
    assert (listing.id, listing.title, listing.is_active) == ("a", "a", False)
    platform.close()


def test_executor_accepts_ids_of_every_source(tmp_path):
    project = make_project(tmp_path, {"mine.yaml": yaml_text("mine", run=ECHO)})
    with ToolExecutor(["mine", "calculator", weather], catalog=Catalog(project=project)) as executor:
        assert list(executor.tools) == ["mine", "calculator", "weather"]


def test_custom_platform_object_is_used(tmp_path):
    class Fixed:
        url = "https://own.example"
        is_embedded = False

        def listings(self):
            return [Listing(id="far", title="Far", store="platform", place=self.url)]

        def runnable(self, id):
            if id != "far":
                raise UnknownToolError(id)
            return weather.replace(name="far")

    catalog = Catalog([], project=None, platform=Fixed())
    assert list(catalog) == ["far"]
    assert catalog.get_tool("far").name == "far"
    with pytest.raises(UnknownToolError, match="did you mean 'far'"):
        catalog.listing("fra")
    with pytest.raises(UnknownToolError):
        catalog.listing(None)


def test_threads_share_one_catalog(tmp_path):
    files = {f"t{n}.yaml": yaml_text(f"t{n}", run=ECHO) for n in range(20)}
    catalog = Catalog(project=make_project(tmp_path, files), platform=None)
    seen, tools, gate = [], [], threading.Barrier(8)

    def look():
        gate.wait()
        seen.append([one.id for one in catalog.search("something useful", limit=50)])
        tools.append(catalog.get_tool("t7"))

    threads = [threading.Thread(target=look) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 8
    assert all(one == seen[0] and len(one) >= 20 for one in seen)
    assert len({id(one) for one in tools}) == 1


HEAVY = (
    "pydantic",
    "pydantic_core",
    "ruamel",
    "importlib.metadata",
    "rich",
    "sqlite3",
    "asyncio",
    "jsonschema_rs",
)
WARM = f"""
import sys
from toolhaft.catalog.catalog import Catalog
catalog = Catalog()
found = [one.id for one in catalog.entries(tag=None)]
hits = catalog.search("something useful")
print(len(found), hits[0].id, [name for name in {HEAVY!r} if name in sys.modules], len(catalog.problems))
"""


@pytest.mark.external
def test_list_and_search_from_a_warm_cache_import_nothing_heavy(tmp_path):
    project = make_project(
        tmp_path,
        {"mine.yaml": yaml_text("mine", run=ECHO), "bad.yaml": "id: ["},
        config='http_allow = ["intranet.example"]',
        env="TOOLHAFT_API_KEY=x\n",
    )
    platform = EmbeddedPlatform(project)
    platform.put(yaml_text("far"))
    platform.close()
    for file in (*project.tools_folder.iterdir(), *project.state_folder.iterdir()):
        age(file)

    def run():
        done = subprocess.run(
            [sys.executable, "-c", WARM], capture_output=True, text=True, check=True, cwd=tmp_path, timeout=60
        )
        return done.stdout

    cold, warm = run(), run()
    assert warm == "12 far [] 1\n"
    assert cold.startswith("12 far ['pydantic'")
