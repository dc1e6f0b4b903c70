"""The tools in a project's folder: invalid files are reported, and unchanged files are not read again."""

import json
import os
import time
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.cases import in_case
from tests.catalog.kit import age, make_project, yaml_text
from toolhaft.catalog import folder as folder_module
from toolhaft.catalog.cache_file import VERSION
from toolhaft.catalog.folder import load_file, read_folder
from toolhaft.errors import DefinitionError

GOOD = yaml_text("good")


def ids(project):
    return [one.id for one in read_folder(project).listings]


@pytest.fixture
def later(monkeypatch):
    """The clock is a second ahead, so that every file counts as written long ago."""
    clock = SimpleNamespace(time_ns=lambda: time.time_ns() + 10**9)
    monkeypatch.setattr(folder_module, "time", clock)


@pytest.fixture
def looked_at(monkeypatch):
    """The files that were read."""
    names = []
    look = folder_module._read_file  # noqa: SLF001 -- what a cache saves is this

    def spy(project, name):
        names.append(name)
        return look(project, name)

    monkeypatch.setattr(folder_module, "_read_file", spy)
    return names


def test_project_without_a_folder_has_no_tools_and_creates_none(tmp_path):
    project = make_project(tmp_path)
    project.tools_folder.rmdir()
    assert read_folder(project).listings == []
    assert not project.state_folder.exists()


def test_invalid_files_are_reported_by_line_and_others_are_listed(tmp_path):
    project = make_project(
        tmp_path,
        {
            "good.yaml": GOOD,
            "also.yml": yaml_text("also"),
            "broken.yaml": "id: broken\nname: [",
            "flawed.yaml": "id: Flawed\nname: X\ndescription: Y\nowners: me\n",
            "bomb.yaml": "a: &a [1]\nb: &b [*a,*a]\n" + "c: !!python/object:os.system {}\n",
            "empty.yaml": "",
            ".hidden.yaml": "nothing",
            "notes.txt": "nothing",
        },
    )
    (project.tools_folder / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    (project.tools_folder / "folder.yaml").mkdir()
    (project.tools_folder / "gone.yaml").symlink_to("nowhere")
    os.mkfifo(project.tools_folder / "pipe.yaml")
    found = read_folder(project)
    assert [one.id for one in found.listings] == ["also", "good"]
    assert found.listings[1].place == "local-kit/tools/good.yaml"
    told = {error.place.partition(":")[0] or str(error).partition(":")[0] for error in found.problems}
    bad = ("bomb", "broken", "bytes", "empty", "flawed", "folder", "gone", "pipe")
    assert told == {f"local-kit/tools/{name}.yaml" for name in bad}
    assert sorted(found.broken) == list(bad)
    assert str(tmp_path) not in "".join(map(str, found.problems))
    assert "local-kit/tools/flawed.yaml:1" in str(found.broken["flawed"])
    assert "local-kit/tools/flawed.yaml:4" in str(found.broken["flawed"])


def test_id_used_by_two_files_is_reported_and_has_no_tool(tmp_path):
    project = make_project(tmp_path, {"a.yaml": GOOD, "b.yaml": GOOD, "c.yaml": yaml_text("other")})
    found = read_folder(project)
    assert [one.id for one in found.listings] == ["other"]
    assert str(found.problems[0]) == (
        "local-kit/tools/b.yaml: the id 'good' is taken by local-kit/tools/a.yaml. "
        "Fix: give each file a different id"
    )
    assert found.broken["good"] is found.problems[0]


def test_unchanged_files_are_not_read_again(tmp_path, later, looked_at):
    project = make_project(
        tmp_path, {"good.yaml": GOOD, "bad.yaml": "id: Bad\nnmae: X\ndescription: Y\nname: Z"}
    )
    first = read_folder(project)
    assert looked_at == ["bad.yaml", "good.yaml"]
    again = read_folder(project)
    assert looked_at == ["bad.yaml", "good.yaml"]
    assert again.listings == first.listings
    assert [str(one) for one in again.problems] == [str(one) for one in first.problems]
    assert [one.place for one in again.problems[0].problems] == [
        "local-kit/tools/bad.yaml:1",
        "local-kit/tools/bad.yaml:2",
    ]
    (project.tools_folder / "good.yaml").write_text(yaml_text("better"))
    assert ids(project) == ["better"]
    assert looked_at == ["bad.yaml", "good.yaml", "good.yaml"]


def test_recently_written_file_is_read_again(tmp_path, looked_at):
    project = make_project(tmp_path, {"good.yaml": GOOD})
    read_folder(project)
    read_folder(project)
    assert looked_at == ["good.yaml"] * 2


def test_file_replaced_within_the_time_resolution_is_read_again(tmp_path, later):
    project = make_project(tmp_path, {"good.yaml": GOOD})
    file = project.tools_folder / "good.yaml"
    read_folder(project)
    facts = file.stat()
    other = project.tools_folder / "draft"
    other.write_text(yaml_text("goop"))
    os.utime(other, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    other.replace(file)
    assert file.stat().st_mtime_ns == facts.st_mtime_ns
    assert ids(project) == ["goop"]


def test_file_with_a_restored_modification_time_is_read_again(tmp_path):
    project = make_project(tmp_path, {"good.yaml": GOOD})
    file = project.tools_folder / "good.yaml"
    os.utime(file, (1000, 1000))
    age(file)
    assert ids(project) == ["good"]
    file.write_text(yaml_text("goop"))
    os.utime(file, (1000, 1000))
    assert ids(project) == ["goop"]
    file.write_text(GOOD)  # within a tick, perhaps: what was just touched is not kept
    os.utime(file, (1000, 1000))
    assert ids(project) == ["good"]


def test_file_with_fixed_permissions_is_read(tmp_path, later, monkeypatch):
    project = make_project(tmp_path, {"good.yaml": GOOD, "bad.yaml": "id: ["})
    opened = Path.open

    def refuse(self, *args, **kwargs):
        if self.name == "good.yaml":
            raise PermissionError(13, "Permission denied")
        return opened(self, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", refuse)
        found = read_folder(project)
    assert "the file cannot be read: Permission denied" in str(found.broken["good"])
    # nothing of the file has changed, and yet it can be read now
    found = read_folder(project)
    assert [one.id for one in found.listings] == ["good"]
    assert list(found.broken) == ["bad"]


def test_cache_of_another_version_is_ignored(tmp_path, later, looked_at):
    project = make_project(tmp_path, {"good.yaml": GOOD})
    place = project.make_state_folder() / "listing.json"
    read_folder(project)
    kept = json.loads(place.read_text())
    assert kept["toolhaft"] == VERSION == version("toolhaft")
    told = {"problem": "unknown key 'run'", "tool": "", "place": "", "fix": "", "problems": []}
    kept["files"]["good.yaml"] = {"stamp": kept["files"]["good.yaml"]["stamp"], "problem": told}
    place.write_text(json.dumps(kept))
    assert read_folder(project).problems  # of this version, it counts
    for other in ({"toolhaft": "0.0.9"}, {"format": 1}):
        place.write_text(json.dumps({**kept, **other}))
        assert ids(project) == ["good"]
    assert looked_at == ["good.yaml"] * 3


def test_removed_file_is_dropped_from_the_cache(tmp_path, later):
    project = make_project(tmp_path, {"good.yaml": GOOD, "more.yaml": yaml_text("more")})
    assert ids(project) == ["good", "more"]
    (project.tools_folder / "more.yaml").unlink()
    assert ids(project) == ["good"]
    assert list(json.loads((project.state_folder / "listing.json").read_text())["files"]) == ["good.yaml"]


def test_broken_cache_is_ignored(tmp_path):
    cases = [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b'{"files": {}}',
        b'{"toolhaft": 5, "files": {}}',
        b'{"toolhaft": "%s"}' % VERSION.encode(),
        b'{"toolhaft": "%s", "files": []}' % VERSION.encode(),
        b'{"toolhaft": "%s", "files": {"good.yaml": 5}}' % VERSION.encode(),
        b"[" * 100_000,
    ]
    for kept in cases:
        with in_case(kept):
            project = make_project(tmp_path, {"good.yaml": GOOD})
            (project.make_state_folder() / "listing.json").write_bytes(kept)
            assert ids(project) == ["good"]


def test_invalid_cache_row_is_ignored(tmp_path, later):
    cases = [
        {},
        {"listing": 5},
        {"listing": {"id": "x"}},
        {"problem": {}},
        {"problem": 5},
        {"problem": {"problem": 5, "tool": "", "place": "", "fix": "", "problems": []}},
    ]
    project = make_project(tmp_path, {"good.yaml": GOOD})
    assert ids(project) == ["good"]
    place = project.state_folder / "listing.json"
    written = json.loads(place.read_text())
    for row in cases:
        files = {"good.yaml": {"stamp": written["files"]["good.yaml"]["stamp"], **row}}
        place.write_text(json.dumps({**written, "files": files}))
        assert ids(project) == ["good"], row


def test_unwritable_cache_is_ignored(tmp_path, later):
    project = make_project(tmp_path, {"good.yaml": GOOD})
    project.state_folder.write_text("in the way")
    assert ids(project) == ["good"]
    project.state_folder.unlink()
    (project.state_folder / "listing.json").mkdir(parents=True)
    assert ids(project) == ["good"]
    assert sorted(file.name for file in project.state_folder.iterdir()) == ["listing.json"]


def test_load_file_loads_by_the_place_of_its_listing(tmp_path):
    project = make_project(tmp_path, {"good.yaml": GOOD, "bad.yaml": "id: ["})
    assert load_file(project, "local-kit/tools/good.yaml").name == "good"
    with pytest.raises(DefinitionError, match=r"^local-kit/tools/bad\.yaml:"):
        load_file(project, "local-kit/tools/bad.yaml")
