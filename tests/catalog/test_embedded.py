"""The embedded platform continues if its database file is removed or replaced."""

import shutil
import threading

import pytest

from tests.catalog.kit import make_project, yaml_text
from toolhaft import ToolCall, ToolExecutor
from toolhaft.catalog import embedded
from toolhaft.catalog.embedded import EmbeddedPlatform, ListingsCache
from toolhaft.catalog.published import PlatformUser
from toolhaft.catalog.published_store import PublishedStore
from toolhaft.errors import StorageError, UnknownToolError
from toolhaft.storage import open_database

ECHO = "{argv: [echo, one]}"


@pytest.fixture
def platform(tmp_path):
    made = EmbeddedPlatform(make_project(tmp_path / "project"))
    yield made
    made.close()


def remove(project):
    for file in project.state_folder.glob("platform.db*"):
        file.unlink(missing_ok=True)  # SQLite may have removed it


def test_removed_database_is_created_again(platform, tmp_path):
    project = make_project(tmp_path / "project")
    platform.put(yaml_text("a", run=ECHO))
    remove(project)
    assert platform.list() == []
    assert platform.listings() == []
    with pytest.raises(UnknownToolError):
        platform.get("a")
    with pytest.raises(UnknownToolError):
        platform.remove("a")
    assert not project.database_file.exists()
    platform.put(yaml_text("b", run=ECHO), base=None)
    assert [one.id for one in platform.list()] == ["b"]
    remove(project)
    platform.put(yaml_text("c", run=ECHO))
    assert [one.id for one in platform.listings()] == ["c"]


def test_removed_folder_is_created_again(platform, tmp_path):
    project = make_project(tmp_path / "project")
    platform.put(yaml_text("a", run=ECHO))
    shutil.rmtree(project.state_folder)
    platform.put(yaml_text("b", run=ECHO))
    assert [one.id for one in platform.list()] == ["b"]
    assert (project.state_folder / ".gitignore").exists()


def test_replaced_database_is_opened_again(platform, tmp_path):
    other = EmbeddedPlatform(make_project(tmp_path / "other"))
    first = other.put(yaml_text("mine", run="{argv: [echo, other]}"))
    other.close()
    platform.put(yaml_text("mine", run=ECHO))
    assert "one" in str(platform.runnable("mine").run.fields)
    remove(make_project(tmp_path / "project"))
    shutil.copy(
        make_project(tmp_path / "other").database_file, make_project(tmp_path / "project").database_file
    )
    assert platform.get("mine").updated_at == first.updated_at
    assert "other" in str(platform.runnable("mine").run.fields)
    assert [one.updated_at for one in platform.listings()] == [first.updated_at]


def test_database_removed_while_opening_is_created_again(platform, tmp_path, monkeypatch):
    project = make_project(tmp_path / "project")
    monkeypatch.setattr(EmbeddedPlatform, "_current_file", lambda _: None)  # gone whenever it is looked at
    platform.put(yaml_text("a", run=ECHO))
    monkeypatch.undo()
    remove(project)
    platform.put(yaml_text("b", run=ECHO))
    assert [one.id for one in platform.list()] == ["b"]


def test_publishing_while_the_file_is_removed_succeeds_or_raises(platform, tmp_path):
    project = make_project(tmp_path / "project")
    platform.put(yaml_text("a", run=ECHO))
    odd = []

    def publish(number):
        for turn in range(5):
            try:
                platform.put(yaml_text(f"t{number}-{turn}", run=ECHO))
            except StorageError:
                pass
            except BaseException as error:  # noqa: BLE001 -- what must not happen
                odd.append(error)

    threads = [threading.Thread(target=publish, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(5):
        remove(project)
    for thread in threads:
        thread.join()
    assert odd == []
    platform.put(yaml_text("last", run=ECHO))
    assert platform.get("last").id == "last"


@pytest.mark.parametrize(
    "run",
    [ECHO, "{python: 'os:getcwd'}", "{http: {url: 'http://127.0.0.1:9/', headers: {X-Key: '${env:HOME}'}}}"],
    ids=["argv", "python", "http"],
)
def test_tools_published_by_others_are_refused_until_read(platform, tmp_path, run):
    """Publishing must not mean running code."""
    project = make_project(tmp_path / "project")
    with open_database(project.database_url) as database:
        PublishedStore(database, url=platform.url).put(
            yaml_text("a", run=run), PlatformUser(owner="eve"), base=None
        )

    result = ToolExecutor([platform.runnable("a")]).execute(ToolCall(name="a", arguments={"input": "x"}))

    assert result.failure.kind == "not_allowed"
    assert "a is not run here: eve published it; read what it would run: lk tool get a" in result.message


def test_tools_published_by_the_operator_run(platform):
    platform.put(yaml_text("a", run=ECHO))
    assert (
        ToolExecutor([platform.runnable("a")]).execute(ToolCall(name="a", arguments={"input": "x"})).value
        == "one"
    )


def test_newest_published_version_runs(platform):
    platform.put(yaml_text("a", run=ECHO))
    first = platform.runnable("a")
    assert platform.runnable("a") is first
    platform.put(yaml_text("a", run=ECHO, description="Does something else"))
    assert platform.runnable("a").description == "Does something else"


def test_listings_follow_the_database_without_parsing_documents(platform, monkeypatch):
    platform.put(yaml_text("a"))
    platform.put(yaml_text("b"))
    platform.listings()
    platform.put(yaml_text("b", name="Other"))
    for name in ("parse_tool", "quick_fields", "read_document"):
        monkeypatch.setattr(f"toolhaft.catalog.published.{name}", None)
    assert [one.title for one in platform.listings()] == ["My Tool", "Other"]


def test_recently_written_database_is_not_cached_by_its_stamp(platform, tmp_path, monkeypatch):
    project = make_project(tmp_path / "project")
    platform.put(yaml_text("a"))
    monkeypatch.setattr(embedded, "FRESH_NS", 10**15)
    found = platform.listings()
    assert ListingsCache(project, platform.url).if_files_unchanged() is None
    monkeypatch.setattr(embedded, "FRESH_NS", 0)
    assert ListingsCache(project, platform.url).if_files_unchanged() is None
    assert platform.listings() == found
    assert ListingsCache(project, platform.url).if_files_unchanged() == found
