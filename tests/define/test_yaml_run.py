"""The `run` block of a YAML file: problems with line and fix, replacing it, and previews."""

import json

import pytest

from tests.define.running.kit import META, http_tool, parameter, text_of, tool_of
from toolhaft import ToolConfig, create_tool
from toolhaft.define.yaml import (
    LintProblem,
    dump_tool,
    lint_file,
    lint_text,
    load_tool,
    parse_tool,
    tool_fields,
    write_tool,
)
from toolhaft.errors import DefinitionError, ToolValidationError

CITY = [parameter("city"), parameter("units", required=False)]
TEMPERATURE = [{"name": "temperature", "type": "number", "description": "It."}]
URL = "https://api.example.com/"


def lint(run, parameters=CITY, returns=TEMPERATURE, **fields):
    return lint_text(text_of(run, parameters, returns, **fields), "x.yaml")


def errors(run, **more):
    return [f"{remark.problem}. Fix: {remark.fix}" for remark in lint(run, **more) if remark.level == "error"]


def warnings(run, **more):
    return [
        f"{remark.problem}. Fix: {remark.fix}" for remark in lint(run, **more) if remark.level == "warning"
    ]


def http(**fields):
    return {"http": {"method": "GET", "url": URL, **fields}}


# --- lines ---


def test_every_problem_is_reported_at_its_line():
    text = META + (
        "parameters:\n  - {name: city, type: string, description: The city.}\n"
        "run:\n  http:\n    method: FETCH\n    url: https://x.example/${ciyt}\n    headers:\n"
        "      Accept: text/plain\n      X-Api-Key: abc\n    query:\n      a: ${nope}\n"
        "    body:\n      list:\n        - 1\n        - ${none}\n"
    )
    assert [(remark.line, remark.level) for remark in lint_text(text, "x.yaml")] == [
        (7, "warning"),
        (9, "error"),
        (10, "error"),
        (13, "error"),
        (15, "error"),
        (19, "error"),
    ]
    with pytest.raises(DefinitionError) as caught:
        parse_tool(text, "x.yaml")
    assert [problem.place for problem in caught.value.problems] == [
        f"x.yaml:{n}" for n in (9, 10, 13, 15, 19)
    ]
    assert str(caught.value).splitlines()[0].startswith("x.yaml:9: method 'FETCH'")


def test_an_invalid_parameter_is_still_known_to_run():
    text = META + (
        "parameters:\n  - {name: text, type: strnig, description: It.}\n  - {nmae: x}\n  - 5\n"
        "returns:\n  - {name: out, type: nubmer, description: It.}\n"
        "run: {http: {url: 'https://x.example/${text}', result: {out: /a}}}\n"
    )
    assert [
        (remark.line, remark.problem.split(": ")[0]) for remark in lint_text(text) if remark.level == "error"
    ] == [
        (6, "parameter 'text'"),
        (7, "parameter 2"),
        (7, "parameter 2"),
        (7, "parameter 2"),
        (7, "parameter 2"),
        (8, "parameter 3 is not a mapping"),
        (10, "return field 'out'"),
    ]


def test_a_single_problem_is_in_the_list_of_problems():
    with pytest.raises(DefinitionError) as caught:
        parse_tool(META + "run: 5\n", "x.yaml")
    assert caught.value.problems == (caught.value,)
    named = caught.value.of("sample")
    assert named.problems == (named,)


def test_a_text_that_cannot_be_read_is_reported():
    assert [str(remark) for remark in lint_text("", "x.yaml")] == [
        "x.yaml:1: the file is empty. Fix: write id: ..., name: ... and description: ..."
    ]
    assert "larger than 1 MB" in lint_text("#" * 1_000_001)[0].problem
    with pytest.raises(DefinitionError, match=r"^tool\.yaml:1: the text is larger than 1 MB"):
        parse_tool("#" * 1_000_001)


def test_a_file_is_linted_by_its_path(tmp_path):
    file = tmp_path / "x.yaml"
    file.write_text(META, encoding="utf-8")
    assert lint_file(file) == []
    file.write_bytes(b"\xff")
    assert [remark.problem for remark in lint_file(file)] == ["the text is not UTF-8"]


# --- warnings ---


def test_a_warning_does_not_prevent_loading():
    run = {"argv": ["convert", "${city}", "--", "${units}"]}
    text = text_of(run, [*CITY, parameter("size"), parameter("n", "integer")])
    first, second, third = lint_text(text, "x.yaml")
    assert second == LintProblem(
        place="x.yaml:10",
        line=10,
        problem="the parameter 'size' is used nowhere in run",
        fix="write ${size} where its value belongs, or take the parameter out",
        level="warning",
    )
    assert third.problem == "the parameter 'n' is used nowhere in run"
    assert str(first) == (
        "x.yaml:10: warning: the program may read ${city} as an option where it begins with '-'. "
        'Fix: put "--" before it, or write "--option=${city}"'
    )
    assert parse_tool(text).run.kind == "argv"


@pytest.mark.parametrize(
    "element",
    ["--city=${city}", "x${city}", "${closed}", "${n}"],
)
def test_an_argument_that_cannot_be_an_option_is_no_warning(element):
    parameters = [parameter("city"), parameter("closed", enum=["a", "b"]), parameter("n", "integer")]
    found = warnings({"argv": ["x", element]}, parameters=parameters)
    assert [warning for warning in found if "option" in warning] == []


def test_a_get_without_an_effect_is_a_warning():
    (found,) = warnings(http(query={"a": "${city}", "b": "${units}"}), effect=...)
    assert found == (
        "a GET usually changes nothing, but without an effect it counts as irreversible. "
        "Fix: add effect: read, so that it may be retried and cached"
    )
    assert warnings(http(query={"a": "${city}", "b": "${units}"})) == []
    assert warnings(http(method="POST", query={"a": "${city}", "b": "${units}"}), effect=...) == []


@pytest.mark.parametrize(
    ("url", "is_doubtful"),
    [
        ("http://api.example.com/", True),
        ("http://localhost:80/", False),
        ("http://127.0.0.1:9000/", False),
        ("http://[::1]:9000/", False),
        ("https://api.example.com/", False),
    ],
)
def test_unencrypted_http_is_a_warning_except_on_loopback(url, is_doubtful):
    found = warnings(http(url=url, query={"a": "${city}", "b": "${units}"}))
    assert [warning.split(" sends")[0] for warning in found] == (["http://"] if is_doubtful else [])


def test_python_uses_every_parameter():
    assert warnings({"python": "a:b"}) == []


# --- what is kept ---

WEATHER = """# The weather.
id: weather
name: Weather
description: Tells the weather.   # really
effect: read
parameters:
  - {name: city, type: string, description: The city.}
returns:
  - {name: temperature, type: number, description: In degrees.}
run:  # how it is asked
  http:
    method: GET
    url: "https://api.example.com/v1/${city}/now"
    headers: {Authorization: "Bearer ${env:WEATHER_KEY}"}
    result: {temperature: /main/temp}
"""


def test_a_tool_that_is_written_keeps_its_run_and_its_comments(tmp_path):
    made = parse_tool(WEATHER, "weather.yaml")
    assert write_tool(made) == WEATHER
    changed = made.replace(owner="me", is_active=True, updated_at="2026-01-01T00:00:00Z")
    assert changed.run is made.run
    assert write_tool(changed) == WEATHER.replace(
        "description: Tells the weather.   # really\n",
        'description: Tells the weather.   # really\nowner: "me"\nupdated_at: "2026-01-01T00:00:00Z"\nis_active: true\n',
    )
    dump_tool(changed, tmp_path / "w.yaml")
    assert load_tool(tmp_path / "w.yaml").run == made.run


def test_the_fields_of_a_tool_are_json_in_the_files_order():
    made = parse_tool(WEATHER)
    fields = tool_fields(made)
    assert list(fields) == ["id", "name", "description", "effect", "parameters", "returns", "run"]
    assert fields["run"] == made.run.fields
    assert fields["run"]["http"]["headers"] == {"Authorization": "Bearer ${env:WEATHER_KEY}"}
    again = parse_tool(json.dumps(fields))
    assert tool_fields(again) == fields
    assert tool_fields(made.replace(is_active=False))["is_active"] is False
    assert "is_active" not in fields


def test_a_tool_defined_in_another_way_has_no_run_field():
    made = create_tool(ToolConfig(name="raw", description="Raw.", input_schema={"type": "object"}))
    assert tool_fields(made) == {"id": "raw", "name": "raw", "description": "Raw."}
    assert parse_tool(write_tool(made)).run is None


def test_a_returned_field_may_be_optional():
    output = {
        "type": "object",
        "properties": {name: {"type": "string", "description": "It."} for name in ("a", "b")},
        "required": ["a"],
    }
    made = create_tool(
        ToolConfig(name="raw", description="Raw.", input_schema={"type": "object"}, output_schema=output)
    )
    again = parse_tool(write_tool(made))
    assert again.output_schema == output
    assert tool_fields(again)["returns"][1] == {
        "name": "b",
        "type": "string",
        "required": False,
        "description": "It.",
    }


def test_an_inactive_file_stays_inactive():
    off = parse_tool(WEATHER.replace("effect: read", "is_active: false"))
    assert (off.is_active, off.is_active_in_file, off.handler) == (False, False, None)
    unsaid = parse_tool(WEATHER)
    assert (unsaid.is_active, unsaid.is_active_in_file, unsaid.handler is None) == (True, None, False)
    assert "is_active: false" in write_tool(unsaid.replace(is_active=False))
    assert parse_tool(write_tool(off.replace(is_active=True))).handler is not None


def test_run_can_be_replaced():
    made = parse_tool(WEATHER)
    other = made.replace(run={"python": "weather:tell"})
    assert (other.run.kind, other.run.fields) == ("python", {"python": "weather:tell"})
    assert other.handler is not made.handler
    assert 'python: "weather:tell"' in write_tool(other)
    bare = made.replace(run=None)
    assert (bare.run, bare.handler) == (None, None)
    assert parse_tool(write_tool(bare)).run is None
    assert bare.replace(run=made.run).run is made.run
    with pytest.raises(DefinitionError, match=r"tool 'weather', run: run has none of"):
        made.replace(run={})


def test_a_handler_of_the_caller_is_kept():
    def own(input):
        return {"temperature": 1}

    made = parse_tool(WEATHER).replace(handler=own)
    assert made.replace(endpoint="https://x.example/", is_active=True).handler is own
    assert made.replace(title="Other").handler is own


def test_an_unrelated_change_keeps_the_handler():
    made = parse_tool(WEATHER)
    assert made.replace(owner="me").handler is made.handler
    assert made.with_words(description="Other.").handler is made.handler


def test_the_folder_of_a_file_is_remembered(tmp_path, monkeypatch):
    (tmp_path / "w.yaml").write_text(WEATHER, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert load_tool("w.yaml").folder == str(tmp_path)
    assert parse_tool(WEATHER).folder is None
    assert parse_tool(WEATHER, folder=tmp_path).handler.folder == str(tmp_path)


def test_an_endpoint_with_a_password_is_reported_without_it():
    with pytest.raises(DefinitionError, match="endpoint has a user or a password in it") as caught:
        parse_tool(META + "endpoint: https://me:s3cret@x.example/\n")
    assert "s3cret" not in str(caught.value)


def test_an_endpoint_with_a_token_is_reported_without_it():
    with pytest.raises(DefinitionError, match="endpoint has a literal secret in it") as caught:
        parse_tool(META + "endpoint: https://x.example/?k=ghp_abcdefghijklmnopqrstuvwxyz\n")
    assert "ghp_" not in str(caught.value)


# --- dry runs ---


def test_a_dry_run_shows_the_request_without_secrets(monkeypatch):
    monkeypatch.setenv("WEATHER_KEY", "s3cret")
    made = http_tool(
        "https://api.example.com/v1/${city}",
        [parameter("city"), parameter("tags", "array"), parameter("units", required=False)],
        method="POST",
        headers={"Authorization": "Bearer ${env:WEATHER_KEY}"},
        query={"tags": "${tags}", "units": "${units}", "one": 1},
        body={"city": "${city}"},
    )
    assert made.preview({"city": "a/b", "tags": ["x", "y", 3]}) == {
        "http": {
            "method": "POST",
            "url": "https://api.example.com/v1/a%2Fb?tags=x&tags=y&tags=3&one=1",
            "headers": {"Authorization": "Bearer ${env:WEATHER_KEY}"},
            "query": {"tags": ["x", "y", "3"], "one": "1"},
            "body": {"city": "a/b"},
        }
    }
    assert made.hosts == ("api.example.com:443",)


def test_a_dry_run_shows_the_program():
    run = {"argv": ["convert", "--in=${path}", "${size}"], "cwd": "data", "env": ["HOME"], "stdin": "${path}"}
    made = tool_of(run, [parameter("path"), parameter("size", required=False)])
    assert made.preview('{"path": "a b"}') == {
        "argv": ["convert", "--in=a b"],
        "cwd": "data",
        "env": ["HOME"],
        "stdin": "a b",
    }
    assert made.hosts == ()


def test_a_dry_run_refuses_what_a_call_would_refuse():
    made = tool_of({"argv": ["echo", "${city}"]}, [parameter("city")])
    with pytest.raises(ToolValidationError, match="city"):
        made.preview({})
    with pytest.raises(ToolValidationError, match="NUL"):
        made.preview({"city": "a\0"})


def test_an_escaped_placeholder_is_literal_text():
    made = tool_of({"argv": ["echo", "$${city} ${city} $$ $"]}, [parameter("city")])
    assert made.preview({"city": "Rome"})["argv"] == ["echo", "${city} Rome $$ $"]
