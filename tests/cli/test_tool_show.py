"""`lk tool show`: for people, for scripts, and in providers' formats."""

import json

import pytest

from tests.cases import in_case
from tests.cli.kit import ECHO, run_lk, write_yaml
from toolhaft import load_tool
from toolhaft.cli.main import run
from toolhaft.cli.tool_show import result_lines
from toolhaft.define.yaml import parse_tool
from toolhaft.formats import FORMATS

FULL = (
    ECHO
    + """\
owner: "ann"
share: "org"
tags: ["speech"]
when_to_use: "To hear it again"
effect: "read"
timeout_s: 2.5
retryable: false
"""
)


def test_show_prints_parameters_and_result(tmp_path):
    text = FULL.replace(
        "returns:",
        """  - {name: "times", type: "integer", required: false, default: 2, description: "How often"}
  - {name: "voice", type: "string", required: false, enum: ["high", "low"], description: "Which voice"}
returns:""",
    ).replace('"${text}"]', '"${text}", "${times}", "${voice}"]')
    write_yaml(tmp_path, "echo", text)
    done = run_lk("tool", "show", "echo", cwd=tmp_path)
    assert done.err == "  next: lk call echo --help\n"
    assert done.out.splitlines() == [
        "echo: Echo",
        "  Says what it is told",
        "  when to use: To hear it again",
        "  project (local-kit/tools/echo.yaml), org, active",
        "  effect read, at most 2.5 s, not retryable",
        "  tags: speech",
        '  runs: argv ["printf", "--", "%s", "${text}", "${times}", "${voice}"]',
        "parameters:",
        "  text (string): What to say",
        "  times (integer, optional, default 2): How often",
        "  voice (one of high, low, optional): Which voice",
        "result:",
        "  said (string): The same",
    ]


def test_show_prints_that_a_tool_has_no_time_limit(tmp_path):
    write_yaml(tmp_path, "echo", FULL.replace("timeout_s: 2.5", "timeout_s: null\nstall_s: 30"))
    done = run_lk("tool", "show", "echo", cwd=tmp_path)
    line = "  effect read, no time limit, at most 30 s without a sign of life, not retryable"
    assert line in done.out.splitlines()


@pytest.mark.parametrize(
    ("run", "line"),
    [
        (
            '{http: {method: "POST", url: "https://example.com/${text}"}}',
            "http POST https://example.com/${text}",
        ),
        ('{python: "my_module:work"}', "python my_module:work"),
    ],
)
def test_show_prints_what_the_tool_runs(tmp_path, run, line):
    write_yaml(tmp_path, "echo", ECHO.partition("run:")[0] + f"run: {run}\n")
    assert f"\n  runs: {line}\n" in run_lk("tool", "show", "echo", cwd=tmp_path).out


def test_show_prints_the_endpoint(tmp_path):
    write_yaml(tmp_path, "echo", ECHO.partition("run:")[0] + "endpoint: https://example.com/echo\n")
    assert "\n  answered by: https://example.com/echo\n" in run_lk("tool", "show", "echo", cwd=tmp_path).out


def test_defaults_are_shown_as_json(tmp_path):
    text = ECHO.replace(
        "returns:",
        """  - {name: "loud", type: "boolean", required: false, default: false, description: "How"}
  - {name: "end", type: "string", default: "", description: "After it"}
  - {name: "to", type: "array", required: false, default: ["a"], items: {type: string}, description: "To"}
returns:""",
    ).replace('"${text}"]', '"${text}", "${loud}", "${to}", "${end}"]')
    write_yaml(tmp_path, "echo", text)
    shown = run_lk("tool", "show", "echo", cwd=tmp_path).out
    assert "loud (boolean, optional, default false): How" in shown
    assert 'end (string, optional, default ""): After it' in shown
    assert 'to (array, optional, default ["a"]): To' in shown


def test_a_tool_is_shown_as_json(tmp_path):
    write_yaml(tmp_path, "echo", FULL)
    told = json.loads(run_lk("tool", "show", "echo", "--json", cwd=tmp_path).out)
    assert (told["id"], told["name"], told["store"], told["owner"]) == ("echo", "Echo", "project", "ann")
    assert (told["timeout_s"], told["retryable"], told["run"].keys()) == (2.5, False, {"argv"})
    assert told["input_schema"]["required"] == ["text"]


def test_show_prints_version_rate_limit_examples_and_what_is_returned(tmp_path):
    write_yaml(
        tmp_path,
        "echo",
        FULL
        + 'version: "2.1"\nrate: "5/min"\nexamples: [{input: {text: a}, output: {said: a}}, {input: {text: b}}]\n',
    )
    done = run_lk("tool", "show", "echo", cwd=tmp_path).out
    assert "  rate limit: 5/min\n  version: 2.1\n  tags: speech\n" in done
    assert done.endswith('examples:\n  {"text": "a"} gives {"said": "a"}\n  {"text": "b"}\n')
    told = json.loads(run_lk("tool", "show", "echo", "--json", cwd=tmp_path).out)
    assert (told["rate"], told["examples"][1], told["metadata"]) == ("5/min", {"input": {"text": "b"}}, {})


def test_a_result_is_shown_by_its_description_with_or_without_members():
    members = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    assert list(result_lines({"type": "string", "description": "The\ntext"})) == ["result: The text (string)"]
    assert list(result_lines({**members, "description": "All"})) == ["result: All", "  a (string)"]
    assert list(result_lines(members)) == ["result:", "  a (string)"]
    assert list(result_lines({"type": "string"})) == []


def test_show_reports_shadowed_and_inactive_tools(tmp_path):
    text = ECHO.replace('"echo"', '"calculator"').partition("run:")[0]
    write_yaml(tmp_path, "calculator", text)
    done = run_lk("tool", "show", "calculator", cwd=tmp_path)
    assert "  hides: built-in (toolhaft)" in done.out
    assert "private, not active: it has neither run nor endpoint\n" in done.out
    assert done.err == "  next: lk tool get calculator\n"


def test_every_format_prints_only_json_to_standard_output(tmp_path, monkeypatch, capsys):
    for format in FORMATS:
        with in_case(format):
            monkeypatch.chdir(tmp_path)
            assert run(["tool", "show", "calculator", "--format", format]) == 0
            told = capsys.readouterr()
            assert "calculator" in json.dumps(json.loads(told.out))
            assert all(line.startswith("note: ") for line in told.err.splitlines())


def test_yaml_format_works_for_every_kind_of_tool(tmp_path):
    write_yaml(tmp_path, "echo", "# for the choir\n" + ECHO)
    assert run_lk("tool", "show", "echo", "--format", "yaml", cwd=tmp_path).out == "# for the choir\n" + ECHO
    told = run_lk("tool", "show", "calculator", "--format", "yaml", cwd=tmp_path)
    assert parse_tool(told.out).name == "calculator"


def test_unknown_format_error_lists_the_formats(tmp_path):
    done = run_lk("tool", "show", "calculator", "--format", "openai_chta", cwd=tmp_path)
    assert (done.exit, done.out) == (2, "")
    assert "anthropic, " in done.err
    assert done.err.endswith("  try: lk tool show calculator --format openai_chat\n")


def test_unknown_tool_error_names_the_nearest(tmp_path):
    done = run_lk("tool", "show", "calculatr", cwd=tmp_path)
    assert (done.exit, done.out) == (1, "")
    assert "did you mean 'calculator'?" in done.err
    told = json.loads(run_lk("tool", "show", "calculatr", "--json", cwd=tmp_path).err)
    assert (told["fix"], told["exit"]) == ("lk tool ls", 1)


def test_broken_file_is_reported_with_its_line(tmp_path):
    write_yaml(tmp_path, "echo", ECHO.replace('"string"', '"strnig"', 1))
    done = run_lk("tool", "show", "echo", cwd=tmp_path)
    assert (done.exit, done.out) == (3, "")
    assert "echo.yaml:6: " in done.err


def test_control_characters_of_a_tool_are_refused_and_not_printed(tmp_path):
    write_yaml(tmp_path, "echo", ECHO.replace("Says what", "\\e]0;gotcha\\aSays what"))
    done = run_lk("tool", "show", "echo", cwd=tmp_path)
    assert (done.exit, done.out) == (3, "")
    assert "U+001B ESCAPE" in done.err
    assert "\x1b" not in done.err


def test_published_tool_is_shown_from_the_platform(tmp_path):
    file = write_yaml(tmp_path, "echo", ECHO)
    run_lk("tool", "set", "echo", cwd=tmp_path)
    assert load_tool(file).updated_at
    file.unlink()
    done = run_lk("tool", "show", "echo", cwd=tmp_path)
    assert done.exit == 0
    assert "  platform (http://127.0.0.1:8420), private" in done.out
