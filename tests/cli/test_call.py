"""`call`: JSON, flags, standard input, dry runs, output and exit codes."""

import json
import subprocess
from typing import Annotated

import pytest
from pydantic import BaseModel, Field, PlainSerializer, SecretStr

from tests.cases import in_case
from tests.cli.kit import BIN, ECHO, clean_environment, run_lk, write_yaml
from toolhaft import tool as define_tool
from toolhaft.cli.call_run import dry_run

pytestmark = pytest.mark.external

WORK = '''
"""Functions that tools of the tests run."""
from toolhaft import Image, ToolResult
from toolhaft.errors import ToolAuthorizationError, ToolExecutionError


def count(city, limit=3, tags=(), deep=False):
    print("printed by the tool")
    return {"said": f"{city} {limit} {list(tags)} {deep}"}


def fail(how="plain"):
    if how == "denied":
        raise ToolAuthorizationError("not for you")
    raise ToolExecutionError("it broke")


def nothing():
    return None


def text():
    return "line 1\\n\\x1b[31mred"


def answer(how):
    if how == "message":
        return ToolResult(message="only words")
    if how == "both":
        return ToolResult(message="and words", value={"a": 1})
    if how == "picture":
        return ["look", Image(data=b"\\x89PNG")]
    return ToolResult.error("no luck", {"tried": 3})


def write(context):
    context.filesystem.write("made.txt", "half")
    raise ToolExecutionError("after writing")
'''
COUNT = """\
id: count
name: Count
description: Counts cities
effect: read
parameters:
  - {name: city, type: string, description: Where}
  - {name: limit, type: integer, required: false, default: 3, minimum: 1, description: How many}
  - {name: tags, type: array, items: {type: string}, required: false, description: Marks}
  - {name: deep, type: boolean, required: false, default: false, description: All of it}
returns:
  - {name: said, type: string, description: What it got}
run: {python: "work:count"}
"""


def tool(id: str, run: str, parameters: str = "[]", more: str = "") -> str:
    return f"id: {id}\nname: {id}\ndescription: A tool\nparameters: {parameters}\nrun: {run}\n{more}"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    (folder / "work.py").write_text(WORK, encoding="utf-8")
    write_yaml(folder, "echo", ECHO)
    write_yaml(folder, "count", COUNT)
    how = "[{name: how, type: string, required: false, default: plain, description: How}]"
    write_yaml(folder, "fail", tool("fail", '{python: "work:fail"}', how))
    write_yaml(folder, "answer", tool("answer", '{python: "work:answer"}', how.replace("plain", "both")))
    write_yaml(folder, "nothing", tool("nothing", '{python: "work:nothing"}'))
    write_yaml(folder, "text", tool("text", '{python: "work:text"}'))
    write_yaml(folder, "writes", tool("writes", '{python: "work:write"}'))
    write_yaml(folder, "idle", "id: idle\nname: Idle\ndescription: Has nothing to run\n")
    hidden = "[{name: token, type: string, writeOnly: true, description: Key}]"
    write_yaml(folder, "secret", tool("secret", '{argv: [printf, "%s", "${token}"]}', hidden))
    segment = "[{name: city, type: string, description: Where}]"
    url = '{http: {method: GET, url: "https://api.example.com/${city}", headers: {X-Key: "${env:KEY}"}}}'
    write_yaml(folder, "web", tool("web", url, segment, "effect: read\n"))
    return folder


def test_arguments_are_json_or_flags_or_both(project):
    cases = [
        (['{"city": "Rome"}'], "Rome 3 [] False"),
        (["--city", "Rome"], "Rome 3 [] False"),
        (
            ["--city", "Rome", "--limit", "5", "--tags", "a", "--tags", "b", "--deep"],
            "Rome 5 ['a', 'b'] True",
        ),
        (['{"city": "Rome"}', "--limit", "5"], "Rome 5 [] False"),
        (["--city", "Rome", "--no-deep", "--arg-json", 'tags=["x"]'], "Rome 3 ['x'] False"),
        (["--city", "-"], "- 3 [] False"),
        (["--city", "ä\n$(x) 'y'"], "ä\n$(x) 'y' 3 [] False"),
    ]
    for typed, said in cases:
        with in_case(typed, said):
            done = run_lk("call", "count", *typed, cwd=project)
            assert (done.exit, json.loads(done.out)) == (0, {"said": said}), done.err
            assert "printed by the tool" in done.err  # standard output is for the result alone


def test_a_dash_reads_the_json_from_standard_input(project):
    done = run_lk("call", "count", "-", cwd=project, stdin='{"city": "Ωσλο"}')
    assert json.loads(done.out) == {"said": "Ωσλο 3 [] False"}


def test_arguments_are_read_from_a_file(project):
    (project / "arguments.json").write_text('{"city": "Rome"}', encoding="utf-8")
    for typed in ("@arguments.json", "@-"):
        done = run_lk("call", "count", typed, "--limit", "5", cwd=project, stdin='{"city": "Rome"}')
        assert json.loads(done.out) == {"said": "Rome 5 [] False"}
    missing = run_lk("call", "count", "@none.json", cwd=project)
    assert (missing.exit, missing.out) == (2, "")
    assert "the arguments: @none.json: No such file or directory" in missing.err


def test_options_of_call_may_come_before_the_id(project):
    done = run_lk("call", "--json", "count", "--city", "Rome", cwd=project)
    assert json.loads(done.out)["success"] is True


def test_unreadable_arguments_exit_with_2(project):
    cases = [
        (["{", "--limit", "5"], "the JSON is not valid JSON"),
        (["[]", "--limit", "5"], "not an object"),
        (['{"city": "a", "city": "b"}', "--limit", "5"], "the same key twice"),
        (['{"limit": 4}', "--limit", "5"], "limit: given twice"),
        (["--arg-json", "limit"], "write NAME=JSON"),
        (["--arg-json", "limit=x"], "--arg-json limit is not valid JSON"),
        (["--arg-json", "limit=4", "--limit", "5"], "limit: given twice"),
        (["--citty", "Rome"], "Did you mean '--city'?"),
        (["--city", "a", "--city", "b"], "--city was given 2 times"),
        (["-"], "standard input is empty"),
        (["--timeout", "0", "--city", "a"], "--timeout"),
    ]
    for typed, told in cases:
        with in_case(typed, told):
            done = run_lk("call", "count", *typed, cwd=project)
            assert (done.exit, done.out) == (2, "")
            assert told in done.err


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b'{"city": "\xff"}', "not UTF-8, starting at byte 10"),
        (b" " * 4_000_001, "longer than 4,000,000 characters"),
    ],
)
def test_unreadable_standard_input_is_reported(project, data, told):
    done = run_lk("call", "count", "-", cwd=project, stdin=data)
    assert (done.exit, done.out) == (2, "")
    assert told in done.err


def test_byte_order_mark_is_ignored(project):
    assert run_lk("call", "count", "-", cwd=project, stdin='\ufeff{"city": "Rome"}').exit == 0


def test_undecodable_arguments_fail_validation(project):
    done = run_lk("call", "count", "--city", "\udcff", cwd=project)
    assert (done.exit, done.out) == (2, "")
    assert "Traceback" not in done.err


def test_all_argument_problems_are_reported_together(project):
    done = run_lk("call", "count", "--limit", "0", "--tags", "x", '{"deeep": true}', cwd=project)
    assert (done.exit, done.out) == (2, "")
    assert all(word in done.err for word in ("city", "limit", "deeep", "'deep'", "lk call count --help"))


def test_failed_call_as_json_has_every_field(project):
    done = run_lk("call", "count", "--json", "--limit", "five", cwd=project)
    told = json.loads(done.out)
    assert done.exit == 2
    assert list(told) == ["success", "message", "value", "failure", "untrusted", "repairs", "duration_s"]
    assert (told["success"], told["failure"]["kind"], len(told["failure"]["problems"])) == (
        False,
        "invalid_arguments",
        2,
    )


def test_exit_code_follows_the_kind_of_failure(project):
    cases = [
        (["fail"], 1, "it broke"),
        (["fail", "--how", "denied"], 5, "not for you"),
        (["idle"], 1, "not active"),
        (["nope"], 1, "lk tool ls"),
        (["coun"], 1, "'count'"),
        ([], 2, "needs the id"),
        (["count", "--city", "x", "--timeout", "nan"], 2, "nan"),
    ]
    for typed, code, told in cases:
        with in_case(typed, code, told):
            done = run_lk("call", *typed, cwd=project)
            assert (done.exit, done.out) == (code, "")
            assert told in done.err
            assert "Traceback" not in done.err


def test_text_is_printed_raw_and_none_not_at_all(project):
    assert run_lk("call", "text", cwd=project).out == "line 1\n\x1b[31mred\n"  # for a program that reads it
    assert run_lk("call", "nothing", cwd=project).out == ""
    assert json.loads(run_lk("call", "nothing", "--json", cwd=project).out)["value"] is None


@pytest.mark.parametrize(
    ("how", "code", "out", "err"),
    [
        ("message", 0, "only words\n", ""),
        ("both", 0, '{\n  "a": 1\n}\n', "and words\n"),
        ("error", 1, "", "error: answer: no luck\n"),
    ],
)
def test_message_is_a_note_beside_the_value_or_the_output(project, how, code, out, err):
    done = run_lk("call", "answer", "--how", how, cwd=project)
    assert (done.exit, done.out, done.err.startswith(err)) == (code, out, True), done.err
    assert "attempt" not in done.err  # that is for models
    assert ('"tried": 3' in done.err, "check before you repeat" in done.err) == (how == "error",) * 2


def test_images_are_named_and_written_as_json(project):
    done = run_lk("call", "answer", "--how", "picture", cwd=project)
    assert (done.exit, done.out) == (0, "look\n\n[image: image/png]\n"), done.err
    assert "with --json, the bytes are written as Base64" in done.err
    whole = json.loads(run_lk("call", "answer", "--how", "picture", "--json", cwd=project).out)
    assert (whole["message"], whole["value"]) == ("look", None)
    assert whole["content"] == [{"type": "image", "data": "iVBORw==", "mimeType": "image/png"}]


def test_repaired_arguments_are_noted(project):
    done = run_lk("call", "count", '{"city": "Rome", "limit": "5"}', cwd=project)
    assert (done.exit, "note: limit: read" in done.err) == (0, True), done.err
    dry = run_lk("call", "count", '{"city": "Rome", "limit": "5"}', "--dry-run", cwd=project)
    assert (dry.exit, dry.err.startswith("note: limit: read")) == (0, True), dry.err


def test_failed_call_rolls_files_back(project):
    assert run_lk("call", "writes", cwd=project).exit == 1
    assert not (project / "made.txt").exists()


def test_project_is_found_from_a_subfolder_and_by_option(project, tmp_path):
    below = project / "a" / "b"
    below.mkdir(parents=True, exist_ok=True)
    assert run_lk("call", "echo", "--text", "hi", cwd=below).exit == 0
    assert run_lk("-C", str(project), "call", "echo", "--text", "hi", cwd=tmp_path).exit == 0


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (["count", "--city", "Rome"], {"python": "work:count"}),
        (["secret", "--token", "a b"], {"argv": ["printf", "%s", "***"]}),
        (["calculator", "--expression", "1+1"], {"tool": "calculator", "arguments": {"expression": "1+1"}}),
    ],
)
def test_dry_run_shows_what_would_run(project, typed, told):
    done = run_lk("call", *typed, "--dry-run", cwd=project)
    assert done.exit == 0, done.err
    assert json.loads(done.out).items() >= told.items()
    assert "printed by the tool" not in done.err


def test_dry_run_of_a_request_shows_no_key(project):
    done = run_lk("call", "web", "--city", "a/b", "--dry-run", cwd=project, env={"KEY": "s3cret-value"})
    told = json.loads(done.out)["http"]
    assert told["url"].startswith("https://api.example.com/a%2Fb")
    assert told["headers"]["X-Key"] == "${env:KEY}"
    assert "s3cret-value" not in done.out + done.err


def test_dry_run_masks_secret_parameters(project):
    done = run_lk("call", "secret", "--token", "hush-hush", "--dry-run", cwd=project)
    assert (done.exit, "hush-hush" in done.out + done.err) == (0, False)


def test_secret_that_rejects_the_mask_is_still_masked(project):
    long = "[{name: token, type: string, writeOnly: true, minLength: 8, description: Key}]"
    write_yaml(project, "strict", tool("strict", '{argv: [printf, "%s", "${token}"]}', long))
    done = run_lk("call", "strict", "--token", "hush-hush", "--dry-run", cwd=project)
    assert (done.exit, json.loads(done.out)) == (0, {"tool": "strict", "arguments": {"token": "***"}})


def test_search_tools_uses_the_catalog_of_the_project(project):
    done = run_lk("call", "search_tools", "--query", "counts cities", cwd=project)
    assert "count" in [one["name"] for one in json.loads(done.out)["tools"]]


def test_tool_of_the_embedded_platform_runs_in_process(project):
    assert run_lk("tool", "get", "calculator", cwd=project).exit == 0
    done = run_lk("call", "calculator", "--expression", "6*7", cwd=project)
    assert (done.exit, json.loads(done.out)) == (0, {"result": 42})
    (project / "local-kit" / "tools" / "calculator.yaml").unlink()


def test_closed_streams_do_not_crash_the_program(project):
    done = subprocess.run(
        ["sh", "-c", f"exec {BIN / 'lk'} call count --city Rome <&- 2>&- >&-"],
        cwd=project,
        env=clean_environment(),
        check=False,
    )
    assert done.returncode == 0
    done = subprocess.run(
        ["sh", "-c", f"exec {BIN / 'lk'} call count - <&-"],
        cwd=project,
        env=clean_environment(),
        capture_output=True,
        check=False,
    )
    assert (done.returncode, b"Traceback" in done.stderr) == (2, False), done.stderr


def test_dry_run_shows_the_checked_json_and_not_the_parameters_written_again(capsys):
    class Order(BaseModel):
        role: str = Field("user", exclude=True)
        amount: Annotated[int, PlainSerializer(lambda _: 0)] = 1
        token: SecretStr = SecretStr("none")

    @define_tool
    def buy(order: Order, count: int = 1) -> str:
        """Buy it."""
        raise AssertionError

    arguments = {"order": {"role": "admin", "token": "hush-hush"}, "count": "2"}
    assert dry_run(None, buy, arguments, as_json=False) == 0
    shown = json.loads(capsys.readouterr().out)["arguments"]
    assert shown == {"order": {"role": "admin", "amount": 1, "token": "***"}, "count": 2}


def test_dry_run_validates_like_a_call(project):
    done = run_lk("call", "count", "--limit", "0", "--dry-run", cwd=project)
    assert (done.exit, done.out) == (2, "")
    assert "limit" in done.err
    odd = run_lk("call", "web", "--city", "..", "--dry-run", cwd=project)
    assert (odd.exit, odd.out) == (2, ""), odd.err


def test_help_lists_at_most_40_tools_and_no_empty_parameters(tmp_path):
    for number in range(45):
        write_yaml(tmp_path, f"tool{number}", tool(f"tool{number}", "{argv: [date]}"))
    listed = run_lk("call", "--help", cwd=tmp_path)
    assert (listed.exit, len(listed.out.splitlines()) < 75) == (0, True), listed.err
    assert "and 15 more" in listed.out
    assert "Parameters:" not in run_lk("call", "tool1", "--help", cwd=tmp_path).out


def test_call_help_lists_tools_and_tool_help_lists_parameters(project):
    listed = run_lk("call", "--help", cwd=project)
    assert (listed.exit, "count" in listed.out, "Counts cities" in listed.out) == (0, True, True)
    shown = run_lk("call", "count", "--help", cwd=project).out
    assert all(word in shown for word in ("Counts cities", "--city TEXT", "required", "--deep / --no-deep"))
