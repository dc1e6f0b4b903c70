"""`lk tool get`: bringing tools into a project."""

import json

import pytest

from tests.catalog.kit import BUILT_IN
from tests.cli.kit import ECHO, run_lk, write_yaml
from toolhaft import load_tool

pytestmark = pytest.mark.external

URL = "http://127.0.0.1:8420/v3/tool"


@pytest.mark.parametrize("id", BUILT_IN)
def test_every_built_in_tool_can_be_brought_and_published(tmp_path, id):
    file = tmp_path / "local-kit" / "tools" / f"{id}.yaml"
    done = run_lk("tool", "get", id, cwd=tmp_path)
    assert done.exit == 0
    assert done.out == f"local-kit/tools/{id}.yaml: written, active at {URL}/{id}\n"
    assert done.err.endswith(f"  next: lk call {id} --help\n")
    tool = load_tool(file)
    assert (tool.name, tool.is_active, tool.endpoint, tool.share) == (id, True, f"{URL}/{id}", "public")
    published = run_lk("tool", "set", id, "--json", cwd=tmp_path)
    assert published.exit == 0, published
    assert load_tool(file).updated_at == json.loads(published.out)["updated_at"]


def call(folder, id, arguments):
    done = run_lk("call", id, json.dumps(arguments), "--json", cwd=folder)
    assert done.exit == 0, done
    return done.out


@pytest.mark.parametrize(
    ("id", "arguments", "expected"),
    [
        ("calculator", {"expression": "6 * 7"}, "42"),
        ("file_info", {"path": "note.txt"}, "true"),
        ("file_reader", {"path": "note.txt"}, "remember"),
        ("list_directory", {"path": "."}, "note.txt"),
        ("read_file", {"path": "note.txt"}, "remember"),
        ("write_file", {"path": "new.txt", "content": "four"}, "4"),
        ("search_tools", {"query": "arithmetic expression"}, "calculator"),
    ],
)
def test_a_built_in_tool_is_called_through_its_file(tmp_path, id, arguments, expected):
    (tmp_path / "note.txt").write_text("remember", encoding="utf-8")
    run_lk("tool", "get", id, cwd=tmp_path)
    assert expected in call(tmp_path, id, arguments)


def test_a_built_in_tool_is_called_through_what_is_published(tmp_path):
    run_lk("tool", "get", "write_file", cwd=tmp_path)
    run_lk("tool", "set", "write_file", cwd=tmp_path)
    arguments = {"path": "new.txt", "content": "four"}
    assert "4" in call(tmp_path, "write_file", arguments)
    (tmp_path / "local-kit/tools/write_file.yaml").unlink()
    assert "4" in call(tmp_path, "write_file", arguments)
    assert (tmp_path / "new.txt").read_text(encoding="utf-8") == "four"


def test_what_was_brought_is_told_as_json(tmp_path):
    told = json.loads(run_lk("tool", "get", "file_reader", "mine", "--json", cwd=tmp_path).out)
    assert told == {
        "id": "mine",
        "file": "local-kit/tools/mine.yaml",
        "endpoint": f"{URL}/file_reader",
        "notes": [],
    }
    returns = load_tool(tmp_path / "local-kit/tools/mine.yaml").output_schema
    assert returns["required"] == ["content", "size"]
    assert "next_offset" in returns["properties"]


def test_a_file_that_is_there_is_left_alone(tmp_path):
    file = write_yaml(tmp_path, "calculator", "mine\n")
    done = run_lk("tool", "get", "calculator", cwd=tmp_path)
    assert done == (1, "", "error: exists: local-kit/tools/calculator.yaml\n  try: lk tool set calculator\n")
    assert file.read_text(encoding="utf-8") == "mine\n"
    forced = run_lk("tool", "get", "calculator", "--force", cwd=tmp_path)
    assert forced.exit == 0
    assert load_tool(file).is_active


def test_a_file_with_the_other_ending_is_left_alone_too(tmp_path):
    file = write_yaml(tmp_path, "calculator", "mine\n")
    file.rename(file.with_suffix(".yml"))
    assert run_lk("tool", "get", "calculator", cwd=tmp_path).err.startswith(
        "error: exists: local-kit/tools/calculator.yml"
    )


def test_a_file_of_another_name_that_has_the_id_is_left_alone_too(tmp_path):
    write_yaml(tmp_path, "odd", ECHO.replace('"echo"', '"calculator"'))
    assert run_lk("tool", "get", "calculator", cwd=tmp_path).err.startswith(
        "error: exists: local-kit/tools/odd.yaml"
    )


def test_an_unknown_id_is_told_the_nearest(tmp_path):
    done = run_lk("tool", "get", "calculatr", cwd=tmp_path)
    assert (done.exit, done.out) == (1, "")
    assert "did you mean 'calculator'?" in done.err
    assert done.err.endswith("  try: lk tool ls\n")
    assert not (tmp_path / "local-kit").exists()


@pytest.mark.parametrize("id", ["Calculator", "../x", "a b", "", "5x", "x" * 51, "über"])
def test_an_id_that_no_file_may_have_is_a_usage_error(tmp_path, id):
    for words in (["tool", "get", "calculator", id] if id else ["tool", "get", id], ["tool", "new", id]):
        done = run_lk(*words, cwd=tmp_path)
        assert (done.exit, done.out) == (2, ""), words
        assert "is not a tool id" in done.err
        assert "  try: lk tool " in done.err
    assert not (tmp_path / "local-kit").exists()


def test_a_tool_of_the_project_alone_cannot_be_brought(tmp_path):
    write_yaml(tmp_path, "echo", ECHO)
    done = run_lk("tool", "get", "echo", "--force", cwd=tmp_path)
    assert done == (
        1,
        "",
        "error: echo is already in this project, and it is neither published nor installed\n  try: lk tool set echo\n",
    )


def test_a_copy_is_private_nobodys_and_runs_the_original(tmp_path):
    done = run_lk("tool", "get", "calculator", "sums", cwd=tmp_path)
    assert done.exit == 0
    tool = load_tool(tmp_path / "local-kit/tools/sums.yaml")
    assert (tool.name, tool.owner, tool.created_at, tool.share) == ("sums", None, None, "private")
    assert (tool.is_active, tool.endpoint) == (True, f"{URL}/calculator")
    assert "42" in call(tmp_path, "sums", {"expression": "6 * 7"})
    published = run_lk("tool", "set", "sums", cwd=tmp_path)
    assert published.exit == 0
    assert load_tool(tmp_path / "local-kit/tools/sums.yaml").endpoint == f"{URL}/sums"
    assert "42" in call(tmp_path, "sums", {"expression": "6 * 7"})


def test_a_copy_of_a_file_keeps_its_comments_and_what_it_runs(tmp_path):
    text = "# for the choir\n" + ECHO + 'owner: "ann"\nshare: "public"\ncreated_at: "2024-01-01T00:00:00Z"\n'
    write_yaml(tmp_path, "echo", text)
    assert run_lk("tool", "get", "echo", "parrot", cwd=tmp_path).exit == 0
    file = tmp_path / "local-kit/tools/parrot.yaml"
    assert file.read_text(encoding="utf-8").startswith('# for the choir\nid: "parrot"')
    tool = load_tool(file)
    assert (tool.owner, tool.share, tool.created_at, tool.run.kind) == (None, "private", None, "argv")
    assert "hello" in call(tmp_path, "parrot", {"text": "hello"})


def test_what_is_published_comes_before_what_is_installed(tmp_path):
    run_lk("tool", "get", "calculator", cwd=tmp_path)
    file = tmp_path / "local-kit/tools/calculator.yaml"
    file.write_text("# mine\n" + file.read_text(encoding="utf-8"), encoding="utf-8")
    assert run_lk("tool", "set", "calculator", cwd=tmp_path).exit == 0
    file.unlink()
    assert run_lk("tool", "get", "calculator", cwd=tmp_path).exit == 0
    assert file.read_text(encoding="utf-8").startswith("# mine\n")


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "local-kit").write_text("in the way", encoding="utf-8")
    done = run_lk("tool", "get", "calculator", cwd=tmp_path)
    assert (done.exit, done.out) == (1, "")
    assert done.err.startswith("error: local-kit/tools/calculator.yaml: Not a directory\n")


def test_a_platform_elsewhere_gives_its_own_address(tmp_path):
    (tmp_path / ".env").write_text("TOOLHAFT_PLATFORM_URL=ftp://nowhere\n", encoding="utf-8")
    done = run_lk("tool", "get", "calculator", cwd=tmp_path)
    assert done.exit == 3
    assert "TOOLHAFT_PLATFORM_URL" in done.err
