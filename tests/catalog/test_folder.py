"""The project's own tools are listed file by file: bad ones are told, the others are there, nothing is read twice."""

import json
import os

import pytest

from tests.catalog.kit import age, make_project, yaml_text
from toolhaft.catalog import folder as folder_module
from toolhaft.catalog.folder import load_file, read_folder
from toolhaft.errors import DefinitionError

GOOD = yaml_text("good")


def ids(project):
    return [one.id for one in read_folder(project).listings]


@pytest.fixture
def looked_at(monkeypatch):
    """The files that were read."""
    names = []
    look = folder_module._look_at  # noqa: SLF001 -- what a cache saves is this

    def spy(project, name):
        names.append(name)
        return look(project, name)

    monkeypatch.setattr(folder_module, "_look_at", spy)
    return names


def test_a_project_without_a_folder_has_no_tools_and_gets_no_folder(tmp_path):
    project = make_project(tmp_path)
    project.tools_folder.rmdir()
    assert read_folder(project).listings == []
    assert not project.state_folder.exists()


def test_bad_files_are_told_by_line_and_the_others_are_listed(tmp_path):
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


def test_an_id_that_two_files_claim_is_had_by_neither(tmp_path):
    project = make_project(tmp_path, {"a.yaml": GOOD, "b.yaml": GOOD, "c.yaml": yaml_text("other")})
    found = read_folder(project)
    assert [one.id for one in found.listings] == ["other"]
    assert str(found.problems[0]) == (
        "local-kit/tools/b.yaml: the id 'good' is taken by local-kit/tools/a.yaml. "
        "Fix: give each file an id of its own"
    )
    assert found.broken["good"] is found.problems[0]


def test_files_that_did_not_change_are_not_read_again(tmp_path, looked_at):
    project = make_project(
        tmp_path, {"good.yaml": GOOD, "bad.yaml": "id: Bad\nnmae: X\ndescription: Y\nname: Z"}
    )
    for file in project.tools_folder.iterdir():
        age(file)
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


def test_a_file_that_was_just_written_is_read_again(tmp_path, looked_at):
    project = make_project(tmp_path, {"good.yaml": GOOD})
    read_folder(project)
    read_folder(project)
    assert looked_at == ["good.yaml"] * 2


def test_a_file_that_was_replaced_within_a_tick_is_read_again(tmp_path):
    project = make_project(tmp_path, {"good.yaml": GOOD})
    file = project.tools_folder / "good.yaml"
    age(file)
    read_folder(project)
    facts = file.stat()
    other = project.tools_folder / "draft"
    other.write_text(yaml_text("goop"))
    os.utime(other, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    other.replace(file)
    assert file.stat().st_mtime_ns == facts.st_mtime_ns
    assert ids(project) == ["goop"]


def test_a_file_that_went_away_is_forgotten(tmp_path):
    project = make_project(tmp_path, {"good.yaml": GOOD, "more.yaml": yaml_text("more")})
    for file in project.tools_folder.iterdir():
        age(file)
    assert ids(project) == ["good", "more"]
    (project.tools_folder / "more.yaml").unlink()
    assert ids(project) == ["good"]
    assert list(json.loads((project.state_folder / "listing.json").read_text())["files"]) == ["good.yaml"]


@pytest.mark.parametrize(
    "kept",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b'{"format": 0, "files": {}}',
        b'{"format": 1}',
        b'{"format": 1, "files": []}',
        b'{"format": 1, "files": {"good.yaml": 5}}',
        b"[" * 100_000,
    ],
)
def test_a_broken_cache_counts_as_none(tmp_path, kept):
    project = make_project(tmp_path, {"good.yaml": GOOD})
    (project.make_state_folder() / "listing.json").write_bytes(kept)
    assert ids(project) == ["good"]


@pytest.mark.parametrize(
    "part",
    [
        {},
        {"listing": 5},
        {"listing": {"id": "x"}},
        {"problem": {}},
        {"problem": 5},
        {"problem": {"problem": 5, "tool": "", "place": "", "fix": "", "problems": []}},
    ],
)
def test_a_row_of_a_cache_that_makes_no_sense_counts_as_none(tmp_path, part):
    project = make_project(tmp_path, {"good.yaml": GOOD})
    file = project.tools_folder / "good.yaml"
    age(file)
    facts = file.stat()
    row = {"stamp": [facts.st_size, facts.st_mtime_ns, facts.st_ino], **part}
    kept = {"format": 1, "files": {"good.yaml": row}}
    (project.make_state_folder() / "listing.json").write_text(json.dumps(kept))
    assert ids(project) == ["good"]


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path):
    project = make_project(tmp_path, {"good.yaml": GOOD})
    age(project.tools_folder / "good.yaml")
    project.state_folder.write_text("in the way")
    assert ids(project) == ["good"]
    project.state_folder.unlink()
    (project.state_folder / "listing.json").mkdir(parents=True)
    assert ids(project) == ["good"]
    assert sorted(file.name for file in project.state_folder.iterdir()) == ["listing.json"]


def test_one_file_is_loaded_by_its_place(tmp_path):
    project = make_project(tmp_path, {"good.yaml": GOOD, "bad.yaml": "id: ["})
    assert load_file(project, "local-kit/tools/good.yaml").name == "good"
    with pytest.raises(DefinitionError, match=r"^local-kit/tools/bad\.yaml:"):
        load_file(project, "local-kit/tools/bad.yaml")
