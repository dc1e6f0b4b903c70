"""The commands that the tool verbs suggest exist and help."""

import json

import pytest

from tests.cli.kit import ECHO, run_lk, write_yaml
from tests.cli.test_exits import platform_that_answers
from toolhaft import load_tool
from toolhaft.cli import output

pytestmark = pytest.mark.external

WRONG = ECHO.replace('"string"', '"strnig"').replace('name: "Echo"', "name: 5")
FILE = "local-kit/tools/echo.yaml"
NO_RUN = ECHO.partition("run:")[0]


@pytest.mark.parametrize("words", [["tool", "set", "echo"], ["tool", "show", "echo"], ["call", "echo"]])
def test_several_problems_suggest_tool_check(tmp_path, words):
    write_yaml(tmp_path, "echo", WRONG)
    done = run_lk(*words, cwd=tmp_path)
    assert (done.exit, done.out) == (3, "")
    assert done.err.endswith(f"  try: lk tool check {FILE}\n")
    told = json.loads(run_lk(*words, "--json", cwd=tmp_path).err)
    assert told["fix"] == f"lk tool check {FILE}"
    assert len(told["error"].splitlines()) > 1


def test_command_suggested_after_a_conflict_shows_what_differs(tmp_path):
    file = write_yaml(tmp_path, "a1", ECHO.replace('"echo"', '"a1"'))
    run_lk("tool", "set", "a1", cwd=tmp_path)
    mine = file.read_text(encoding="utf-8").replace("Says what", "Mine says what")
    (tmp_path / "theirs.yaml").write_text(
        file.read_text(encoding="utf-8").replace("Says what", "Theirs says what"), encoding="utf-8"
    )
    assert run_lk("tool", "set", "a1", "--file", "theirs.yaml", cwd=tmp_path).exit == 0
    file.write_text(mine, encoding="utf-8")
    done = run_lk("tool", "set", "a1", cwd=tmp_path)
    assert done.err.endswith("  try: lk tool diff a1\n")
    compared = run_lk("tool", "diff", "a1", cwd=tmp_path)
    assert compared.exit == 1
    assert '-description: "Theirs says what it is told"\n+description: "Mine says' in compared.out
    # with another file, the suggestion names it
    (tmp_path / "other.yaml").write_text(mine, encoding="utf-8")
    done = run_lk("tool", "set", "a1", "--file", "other.yaml", cwd=tmp_path)
    assert done.err.endswith("  try: lk tool diff a1 --file other.yaml\n")
    compared = run_lk("tool", "diff", "a1", "--file", "other.yaml", cwd=tmp_path)
    assert compared.err.endswith("then overwrite it: lk tool set a1 --file other.yaml --force\n")


def test_copy_under_another_id_is_of_the_published_tool(tmp_path):
    file = write_yaml(tmp_path, "a1", ECHO.replace('"echo"', '"a1"'))
    run_lk("tool", "set", "a1", cwd=tmp_path)
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("Says what", "Mine says what"), encoding="utf-8")
    brought = run_lk("tool", "get", "a1", "a2", cwd=tmp_path)
    assert brought.exit == 0
    assert f"note: it is a copy of the published tool, not of {FILE.replace('echo', 'a1')}\n" in brought.err
    copy = (tmp_path / "local-kit/tools/a2.yaml").read_text(encoding="utf-8")
    assert 'description: "Says what' in copy
    assert "null" not in copy  # what a platform sets is taken out


@pytest.mark.parametrize("words", [["get", "calculator"], ["set", "echo"]])
@pytest.mark.parametrize(
    ("status", "hint"),
    [(401, "try: lk login {url}"), (403, "fix: ask the operator of the platform for a key that may do this")],
)
def test_insufficient_key_suggests_what_its_holder_can_do(tmp_path, words, status, hint):
    write_yaml(tmp_path, "echo", ECHO)
    with platform_that_answers(status) as url:
        done = run_lk("tool", *words, cwd=tmp_path, env={"TOOLHAFT_PLATFORM_URL": url})
    assert (done.exit, done.out) == (5, "")
    assert done.err.endswith(f"  {hint.format(url=url)}\n")


def test_reserved_id_suggests_a_copy(tmp_path):
    write_yaml(tmp_path, "calculator", ECHO.replace('"echo"', '"calculator"'))
    with platform_that_answers(403) as url:
        done = run_lk("tool", "set", "calculator", cwd=tmp_path, env={"TOOLHAFT_PLATFORM_URL": url})
    assert (done.exit, done.out) == (5, "")
    assert done.err.endswith("  try: lk tool get calculator my-calculator\n")


def test_database_error_suggests_doctor(tmp_path):
    write_yaml(tmp_path, "echo", ECHO)
    (tmp_path / ".toolhaft").mkdir()
    (tmp_path / ".toolhaft" / "platform.db").write_bytes(b"not a database at all" * 100)
    for words in (["set", "echo"], ["get", "calculator"], ["rm", "echo", "--yes", "--published"]):
        done = run_lk("tool", *words, cwd=tmp_path)
        assert (done.exit, done.out) == (1, "")
        assert done.err.endswith("  try: lk doctor\n")


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (["get", "../x"], "tool search x"),
        (["get", "calculator", "BAD ID"], "tool get calculator bad_id"),
        (["get", "calculator", "../"], "tool get calculator my-calculator"),
        (["new", "BAD ID"], "tool new bad_id"),
        (["set", "BAD ID"], "tool new bad_id"),
    ],
)
def test_invalid_id_suggests_a_valid_one_for_the_verb(tmp_path, words, advice):
    done = run_lk("tool", *words, cwd=tmp_path)
    assert (done.exit, done.out) == (2, "")
    assert done.err.endswith(f"  try: lk {advice}\n")


def test_broken_package_suggests_doctor(tmp_path):
    facts = tmp_path / "site" / "odd-1.0.dist-info"
    facts.mkdir(parents=True)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: odd\nVersion: 1.0\n", encoding="utf-8")
    (facts / "entry_points.txt").write_text("[toolhaft.tools]\nodd = nowhere:tool\n", encoding="utf-8")
    env = {"PYTHONPATH": str(tmp_path / "site")}
    done = run_lk("tool", "ls", cwd=tmp_path, env=env)
    assert "warning: " in done.err
    assert done.err.endswith("  next: lk doctor\n")
    write_yaml(tmp_path, "bad", "id: [\n")
    done = run_lk("tool", "ls", cwd=tmp_path, env=env)
    assert done.err.endswith("  next: lk tool check\n  next: lk doctor\n")


def test_table_width_is_computed_in_linear_time(capsys):
    class Row(list):
        """A row that counts how often it is read."""

        reads = 0

        def __iter__(self):
            Row.reads += 1
            return super().__iter__()

    rows = [Row([f"tool-{number}", "project", "private", "", "Says what"]) for number in range(1_000)]
    output.print_table(["ID", "STORE", "SHARE", "TAGS", "DESCRIPTION"], rows)
    assert len(capsys.readouterr().out.splitlines()) == 1_001
    assert Row.reads <= 3 * len(rows)


def test_check_and_set_warn_about_an_inactive_tool(tmp_path):
    write_yaml(tmp_path, "echo", NO_RUN)
    done = run_lk("tool", "check", cwd=tmp_path)
    assert done.exit == 0
    assert done.out == (
        f"{FILE}:1: warning: nothing runs it. Fix: add a run: block, "
        "or publish it with: lk tool set echo --endpoint URL\n"
    )
    done = run_lk("tool", "set", "echo", cwd=tmp_path)
    assert (done.exit, done.out.splitlines()[0]) == (
        0,
        "echo: published, not active",
    )
    assert "warning: nothing runs it: add a run: block to the file, or give --endpoint URL\n" in done.err
    assert done.err.endswith("  next: lk tool set echo --endpoint URL\n")
    assert load_tool(tmp_path / FILE).endpoint is None
    assert ": warning: nothing runs it. Fix: " in run_lk("tool", "check", cwd=tmp_path).out
    told = json.loads(run_lk("tool", "set", "echo", "--json", cwd=tmp_path).out)
    assert [warning for warning in told["warnings"] if "nothing runs it" in warning]


def test_active_tool_has_no_warning(tmp_path):
    run_lk("tool", "get", "calculator", cwd=tmp_path)
    run_lk("tool", "get", "calculator", "sums", cwd=tmp_path)
    write_yaml(tmp_path, "far", NO_RUN.replace('"echo"', '"far"') + "endpoint: https://example.com/far\n")
    write_yaml(tmp_path, "off", NO_RUN.replace('"echo"', '"off"') + "is_active: false\n")
    assert run_lk("tool", "check", cwd=tmp_path) == (0, "", "4 files, 0 errors, 0 warnings\n")
    for id in ("calculator", "sums", "far"):
        assert "nothing runs" not in run_lk("tool", "set", id, cwd=tmp_path).err
    assert run_lk("tool", "check", cwd=tmp_path) == (0, "", "4 files, 0 errors, 0 warnings\n")
    done = run_lk("tool", "set", "far", cwd=tmp_path)  # what is upstream stays
    assert "nothing runs" not in done.err


def test_tool_that_is_switched_off_is_published_switched_off(tmp_path):
    file = write_yaml(tmp_path, "echo", ECHO + "is_active: false\n")
    done = run_lk("tool", "set", "echo", cwd=tmp_path)
    assert done.exit == 0
    assert done.err == (
        "note: it is published switched off, since the file says is_active: false\n  next: lk tool get echo\n"
    )
    assert load_tool(file).is_active_in_file is False
    file.unlink()
    assert (
        "not active: its file says is_active: false"
        in run_lk("call", "echo", "--text", "x", cwd=tmp_path).err
    )
    run_lk("tool", "get", "echo", cwd=tmp_path)
    done = run_lk("tool", "get", "echo", cwd=tmp_path)
    assert done.err == "  next: lk tool set echo\n"
    told = json.loads(run_lk("tool", "set", "echo", "--json", cwd=tmp_path).out)
    assert (told["is_active"], told["warnings"]) == (True, [])
    file.unlink()
    assert run_lk("call", "echo", "--text", "hello", cwd=tmp_path).exit == 0


def test_endpoint_for_a_tool_with_a_run_block_is_a_usage_error(tmp_path):
    file = write_yaml(tmp_path, "echo", ECHO)
    done = run_lk("tool", "set", "echo", "--endpoint", "https://example.com/echo", cwd=tmp_path)
    assert done == (
        2,
        "",
        (
            f"error: {FILE} has a run block, which overrides --endpoint: remove the run block to "
            "use the endpoint, or omit --endpoint\n  try: lk tool set echo\n"
        ),
    )
    assert file.read_text(encoding="utf-8") == ECHO
