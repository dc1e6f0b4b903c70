"""`lk tool check`: every problem of every file."""

import json
import os

import pytest

from tests.cases import in_case
from tests.cli.kit import ECHO, run_lk, write_yaml
from toolhaft.catalog import installed

WRONG = ECHO.replace('"said"\n    type: "string"', '"said"\n    type: "strnig"')


def test_valid_files_have_no_problems(tmp_path):
    write_yaml(tmp_path, "echo", ECHO)
    assert run_lk("tool", "check", cwd=tmp_path) == (0, "", "1 file, 0 errors, 0 warnings\n")
    assert run_lk("tool", "check", "--json", cwd=tmp_path) == (0, "[]\n", "")


def test_every_problem_is_reported_with_line_and_fix(tmp_path):
    write_yaml(tmp_path, "echo", WRONG.replace('name: "Echo"', "name: 5"))
    write_yaml(tmp_path, "bad", "id: bad\nname: [\n")
    done = run_lk("tool", "check", cwd=tmp_path)
    assert done.exit == 1
    lines = done.out.splitlines()
    assert [line.split(" ")[0] for line in lines][-2:] == [
        f"local-kit/tools/echo.yaml:{number}:" for number in (2, 10)
    ]
    assert lines[0].startswith("local-kit/tools/bad.yaml:")
    assert all(": error: " in line and ". Fix: " in line for line in lines)
    assert done.err == f"2 files, {len(lines)} errors, 0 warnings\n"


def test_problems_are_printed_as_json(tmp_path):
    write_yaml(tmp_path, "echo", WRONG)
    done = run_lk("tool", "check", "--json", cwd=tmp_path)
    [told] = json.loads(done.out)
    assert (done.exit, done.err) == (1, "")
    assert (told["place"], told["line"], told["level"]) == ("local-kit/tools/echo.yaml:10", 10, "error")
    assert told["fix"]


def test_literal_secret_is_an_error_that_does_not_quote_it(tmp_path):
    secret = "sk-" + "a1b2c3d4" * 5
    run = f'run: {{http: {{method: "GET", url: "https://example.com/", headers: {{Authorization: "Bearer {secret}"}}}}}}\n'
    write_yaml(tmp_path, "echo", ECHO.partition("run:")[0] + run)
    done = run_lk("tool", "check", cwd=tmp_path)
    assert done.exit == 1
    assert "${env:" in done.out
    assert secret not in done.out + done.err


def test_several_problems_of_a_run_block_are_reported(tmp_path):
    cases = [
        (
            '{argv: "ls", cwd: "../x", env: {A: 1}, stdin: "${zz}", max_output_bytes: 0}',
            [
                "argv is not a list",
                "cwd is not",
                "env is not",
                "no parameter 'zz'",
                "max_output_bytes is not",
            ],
        ),
        (
            '{http: {method: "POST", url: "https://${text}.example.com/${zz}"}}',
            ["in the host", "no parameter 'zz'"],
        ),
        (
            '{http: {method: "POST", url: "https://u:p@example.com/${zz}"}}',
            ["a user or a password", "no parameter 'zz'"],
        ),
        (
            '{http: {method: "POST", url: "example.com/${zz}"}}',
            ["does not begin with http", "no parameter 'zz'"],
        ),
        (
            '{http: {method: "POST", url: "https://exa mple.com/${zz}"}}',
            ["an invalid character", "no parameter 'zz'"],
        ),
    ]
    for number, (run, problems) in enumerate(cases):
        with in_case(run, problems):
            here = tmp_path / str(number)
            here.mkdir()
            write_yaml(here, "echo", ECHO.partition("run:")[0] + f"run: {run}\n")
            lines = run_lk("tool", "check", cwd=here).out.splitlines()
            errors = [line for line in lines if ": error: " in line]
            assert len(errors) == len(problems)
            assert all(any(problem in line for line in errors) for problem in problems)


def test_folder_named_like_a_file_is_reported(tmp_path):
    (tmp_path / "local-kit/tools/x.yaml").mkdir(parents=True)
    assert "load_tools" not in run_lk("tool", "check", cwd=tmp_path).out


def test_warnings_exit_with_0(tmp_path):
    run = 'run: {http: {method: "GET", url: "https://example.com/", query: {q: "${text}"}}}\n'
    write_yaml(tmp_path, "echo", ECHO.partition("run:")[0] + run)
    done = run_lk("tool", "check", cwd=tmp_path)
    assert done.exit == 0
    assert ": warning: " in done.out
    assert done.err == "1 file, 0 errors, 1 warning\n"


def test_file_name_that_differs_from_the_id_is_a_warning(tmp_path):
    write_yaml(tmp_path, "other", ECHO)
    done = run_lk("tool", "check", cwd=tmp_path)
    assert done.exit == 0
    assert done.out == (
        "local-kit/tools/other.yaml:1: warning: the file is named other.yaml, but its tool 'echo'. Fix: name it echo.yaml\n"
    )


def test_two_files_with_one_id_are_an_error(tmp_path):
    write_yaml(tmp_path, "echo", ECHO)
    write_yaml(tmp_path, "other", ECHO)
    done = run_lk("tool", "check", cwd=tmp_path)
    assert done.exit == 1
    assert "other.yaml:1: error: the id 'echo' is taken by local-kit/tools/echo.yaml. Fix: " in done.out


def test_paths_may_be_files_and_folders_anywhere(tmp_path):
    drafts = tmp_path / "drafts"
    (drafts / "inner").mkdir(parents=True)
    (drafts / "a.yaml").write_text("id: 5\n", encoding="utf-8")
    (drafts / "b.yml").write_text("id: 6\n", encoding="utf-8")
    (drafts / ".hidden.yaml").write_text("id: 7\n", encoding="utf-8")
    (drafts / "note.txt").write_text("no tool", encoding="utf-8")
    write_yaml(tmp_path, "echo", "id: 8\n")
    done = run_lk("tool", "check", "drafts", cwd=tmp_path)
    assert {line.split(":")[0] for line in done.out.splitlines()} == {"drafts/a.yaml", "drafts/b.yml"}
    done = run_lk("tool", "check", "drafts/b.yml", "drafts/note.txt", cwd=tmp_path)
    assert {line.split(":")[0] for line in done.out.splitlines()} == {"drafts/b.yml", "drafts/note.txt"}


@pytest.mark.parametrize("path", [".", "local-kit", "local-kit/tools", "../{name}"])
def test_folder_of_a_project_means_its_tools(tmp_path, path):
    write_yaml(tmp_path, "echo", ECHO.replace("Echo", "", 1))
    (tmp_path / "mkdocs.yml").write_text("site: x\n", encoding="utf-8")
    done = run_lk("tool", "check", path.format(name=tmp_path.name), cwd=tmp_path)
    assert (done.exit, done.err) == (1, "1 file, 1 error, 0 warnings\n")
    assert "echo.yaml:2: error: " in done.out


@pytest.mark.parametrize("path", [".", "empty", "local-kit"])
def test_folder_without_files_is_a_usage_error(tmp_path, path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "local-kit" / "tools").mkdir(parents=True)
    done = run_lk("tool", "check", path, cwd=tmp_path)
    assert (done.exit, done.out) == (2, "")
    assert done.err.startswith("error: there is no YAML file in ")
    assert done.err.endswith("  try: lk tool new my-tool\n")


def test_missing_path_is_a_usage_error(tmp_path):
    done = run_lk("tool", "check", "nowhere", cwd=tmp_path)
    assert done == (2, "", "error: there is no file or folder nowhere\n  try: lk tool check\n")


def test_project_without_tools_has_nothing_to_check(tmp_path):
    assert run_lk("tool", "check", cwd=tmp_path) == (
        0,
        "",
        "0 files, 0 errors, 0 warnings\n  next: lk tool new my-tool\n",
    )


def test_files_that_are_not_yaml_text_are_reported(tmp_path):
    cases = [
        (b"id: 'x'\nname: '\xff'\n", ":2: error: the text is not UTF-8"),
        (b"#" * 1_100_000, ":1: error: the file is larger than 1 MB"),
        (b"", ": error: "),
        (b"a: &a [*a, *a]\n", ": error: "),
        (b"\0\0\0", ": error: "),
    ]
    for number, (data, said) in enumerate(cases):
        with in_case(data, said):
            here = tmp_path / str(number)
            here.mkdir()
            (here / "x.yaml").write_bytes(data)
            done = run_lk("tool", "check", "x.yaml", cwd=here)
            assert done.exit == 1
            assert done.out.startswith("x.yaml")
            assert said in done.out


def test_pipes_are_reported_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "x.yaml")
    done = run_lk("tool", "check", "x.yaml", cwd=tmp_path)
    assert done.exit == 1
    assert "this is not a regular file" in done.out


PYTHON = '''
from toolhaft import tool


@tool
def add(a: int, b: int) -> int:
    """Add\\u200b two numbers.

    Args:
        a: the first\\U000e0041.
    """
    return a + b


tools = [add]
'''


def test_invisible_texts_of_python_tools_are_reported_but_not_refused(tmp_path):
    (tmp_path / "sums_of_the_check.py").write_text(PYTHON, encoding="utf-8")
    for name in ("add", "tools"):
        with in_case(name):
            place = f"sums_of_the_check:{name}"
            done = run_lk("tool", "check", place, cwd=tmp_path)
            assert done.exit == 0
            assert done.out == (
                f"{place}: warning: tool 'add': description has an invisible character: U+200B ZERO WIDTH SPACE. "
                "Fix: take it out: people do not see it\n"
                f"{place}: warning: tool 'add': input_schema.properties.a.description has an invisible character: "
                "U+E0041 TAG LATIN CAPITAL LETTER A. Fix: take it out: people do not see it\n"
            )
    assert run_lk("tool", "check", "sums_of_the_check:zzz", cwd=tmp_path).exit != 0


def test_texts_of_installed_tools_are_reported(tmp_path, monkeypatch):
    (tmp_path / "installed_sums.py").write_text(PYTHON, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    entry = installed.ToolEntryPoint(id="add", value="installed_sums:add", owner="sums-package")
    broken = installed.ToolEntryPoint(id="gone", value="installed_sums:gone", owner="sums-package")
    monkeypatch.setattr(installed, "_find_entry_points", lambda: [entry, broken])
    monkeypatch.setattr(installed, "user_cache_folder", lambda: None)
    done = run_lk("tool", "check", cwd=tmp_path)
    assert done.exit == 0
    assert "add of sums-package: warning: tool 'add': description has an invisible character" in done.out
    assert "gone of sums-package: warning: it cannot be loaded" in done.out


def test_file_that_replaces_a_built_in_tool_is_reported(tmp_path):
    write_yaml(tmp_path, "calculator", ECHO.replace('"echo"', '"calculator"'))
    done = run_lk("tool", "check", cwd=tmp_path)
    assert done.exit == 0
    assert "warning: it replaces the tool 'calculator' of toolhaft, which has the same id" in done.out


def test_invisible_characters_of_a_file_are_errors_with_line_and_column(tmp_path):
    write_yaml(tmp_path, "echo", ECHO.replace("What to say", "What to\u202e say"))
    done = run_lk("tool", "check", cwd=tmp_path)
    assert done.exit == 1
    assert done.out == (
        "local-kit/tools/echo.yaml:7: error: parameters[0].description has an invisible character at column 26: "
        "U+202E RIGHT-TO-LEFT OVERRIDE. Fix: take it out: people do not see it\n"
    )
