"""`export`: the payload on standard output or in a file, and its losses."""

import json
import os
import threading

import pytest

from tests.cases import in_case
from tests.cli.kit import ECHO, run_lk, write_yaml
from toolhaft.define.yaml import load_tool
from toolhaft.formats import FORMATS, export_tools

RICH = """\
id: rich
name: Rich
description: Has what few formats can carry
parameters:
  - {name: pick, type: string, pattern: "^[a-z]+$", description: A word}
  - name: either
    type: object
    properties: {a: {type: string}}
    patternProperties: {"^x": {type: integer}}
    description: Any
"""


@pytest.fixture
def project(tmp_path):
    write_yaml(tmp_path, "echo", ECHO)
    write_yaml(tmp_path, "rich", RICH)
    return tmp_path


def test_payload_equals_export_tools(project):
    for format in FORMATS:
        with in_case(format):
            files = [project / "local-kit" / "tools" / name for name in ("echo.yaml", "rich.yaml")]
            made = export_tools([load_tool(file) for file in files], format)
            done = run_lk("export", "--format", format, cwd=project)
            assert json.loads(done.out) == made.payload
            assert done.exit == (1 if made.refused else 0)
            assert done.err.count("loss: ") == len(made.losses)
            assert done.err.count("refused: ") == len(made.refused)


def test_ids_select_from_every_source(project):
    done = run_lk("export", "calculator", "echo", "calculator", "-f", "openai_chat", cwd=project)
    names = [tool["function"]["name"] for tool in json.loads(done.out)["tools"]]
    assert (done.exit, names) == (0, ["calculator", "echo"])


def test_all_exports_every_tool(project):
    done = run_lk("export", "--all", "-f", "native", "--json", cwd=project)
    assert {"calculator", "echo", "rich"} <= set(json.loads(done.out)["names"])


def test_json_includes_losses(project):
    told = json.loads(run_lk("export", "rich", "--format", "gemini", "--json", cwd=project).out)
    assert list(told) == ["format", "payload", "losses", "policy_fields", "refused", "names"]
    assert told["losses"]
    assert {"tool", "path", "keyword", "done", "detail"} == set(told["losses"][0])


def test_refused_tool_is_reported_and_others_are_exported(project):
    any_value = "parameters:\n  - {name: a, type: object, properties: {x: {}}, description: Any}\n"
    write_yaml(project, "any", f"id: any\nname: Any\ndescription: Takes anything\n{any_value}")
    done = run_lk("export", "any", "echo", "--format", "openai_chat", "--strict", cwd=project)
    names = [tool["function"]["name"] for tool in json.loads(done.out)["tools"]]
    assert (done.exit, names) == (1, ["echo"])
    assert "refused: any: a value of any type cannot be sent" in done.err
    assert "  try: lk tool show ID, or another --format\n" in done.err


def test_out_file_is_written_and_losses_are_reported(project):
    done = run_lk("export", "rich", "--format", "gemini", "--out", "tools.json", cwd=project)
    assert (done.exit, done.out) == (0, "")
    assert "loss: rich" in done.err
    assert json.loads((project / "tools.json").read_text(encoding="utf-8"))
    assert list(project.glob("*.tmp")) + list(project.glob(".*.tmp")) == []


def test_device_is_written_and_not_replaced(project):
    assert run_lk("export", "echo", "--format", "mcp", "--out", "/dev/stdout", cwd=project).exit == 0


def test_invalid_export_options_are_refused(project):
    cases = [
        (["echo"], 2, "--format"),
        (["echo", "--format", "openai_caht"], 2, "'openai_chat'"),
        (["echo", "--format", "mcp", "--dialect", "x"], 2, "no dialect"),
        (["echo", "--all", "--format", "mcp"], 2, "--all"),
        (["ecko", "--format", "mcp"], 1, "'echo'"),
        (["echo", "--format", "mcp", "--out", "nowhere/x.json"], 1, "--out nowhere/x.json: cannot be"),
    ]
    for typed, code, told in cases:
        with in_case(typed, code, told):
            done = run_lk("export", *typed, cwd=project)
            assert (done.exit, done.out) == (code, "")
            assert told in done.err
            assert "  try: lk " in done.err
            assert not any(word in done.err for word in ("Traceback", ".tmp"))


def test_project_without_tools_is_an_error(tmp_path):
    done = run_lk("export", "--format", "mcp", cwd=tmp_path)
    assert (done.exit, "lk tool ls" in done.err) == (2, True)


def test_invalid_file_is_reported_with_its_line(project):
    write_yaml(project, "broken", "id: broken\nname: [\n")
    done = run_lk("export", "broken", "--format", "mcp", cwd=project)
    assert done.exit == 3
    assert "broken.yaml:" in done.err


def test_pipe_is_written_and_not_replaced(tmp_path):
    write_yaml(tmp_path, "echo", ECHO)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got = []
    thread = threading.Thread(target=lambda: got.append(pipe.read_text(encoding="utf-8")))
    thread.start()
    done = run_lk("export", "echo", "--format", "mcp", "--out", "pipe", cwd=tmp_path)
    assert (done.exit, pipe.is_fifo()) == (0, True)
    thread.join(60)
    assert json.loads(got[0])["tools"][0]["name"] == "echo"


def test_tools_that_strict_mode_cannot_take_are_exported_without_it_on_request(tmp_path):
    write_yaml(tmp_path, "echo", ECHO)
    write_yaml(
        tmp_path,
        "loose",
        "id: loose\nname: Loose\ndescription: D\nparameters:\n"
        "  - {name: any, type: object, additionalProperties: true, description: Anything}\n",
    )
    for flag, code, names in (
        ("--strict", 1, ["echo"]),
        ("--strict-where-possible", 0, ["echo", "loose"]),
    ):
        done = run_lk("export", "-f", "openai_chat", flag, cwd=tmp_path)
        assert [tool["function"]["name"] for tool in json.loads(done.out)["tools"]] == names
        assert done.exit == code
        assert ("loose: strict checked locally" in done.err) == (code == 0)
