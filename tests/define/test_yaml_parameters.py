"""Parameters of YAML tools: which are optional, what `default: null` means, and limits that no value meets."""

import json
from typing import Annotated, TypedDict

import pytest

from tests.cases import in_case
from toolhaft import execute_tool, tool
from toolhaft.define.yaml import (
    dump_tool,
    lint_text,
    load_tool,
    parse_tool,
    quick_fields,
    tool_fields,
    write_tool,
)
from toolhaft.errors import DefinitionError
from toolhaft.schema import InvalidArguments, ValidArguments

HEAD = "id: a\nname: A\ndescription: Does it\n"


def text(*lines, more="", kind="parameters"):
    item = "".join(f"    {line}\n" for line in lines)
    return f"{HEAD}{kind}:\n  - name: x\n    description: An x\n{item}{more}"


def errors(document):
    return [str(problem) for problem in lint_text(document, "a.yaml") if problem.level == "error"]


def test_parameter_with_a_default_is_optional_unless_it_says_otherwise():
    cases = [
        (["type: string"], True),
        (["type: string", "default: hi"], False),
        (["type: string", "default: null"], False),
        (["type: string", "default:"], False),
        (["type: string", "default: hi", "required: false"], False),
        (["type: string", "default: hi", "required: true"], True),
        (["type: string", "default: null", "required: true"], True),
        (["type: object", "required: [k]"], True),
        (["type: object", "required: [k]", "default: {k: 1}"], False),
    ]
    for lines, is_required in cases:
        with in_case(lines):
            made = parse_tool(text(*lines))
            assert ("x" in made.input_schema.get("required", [])) is is_required
            assert isinstance(made.validate("{}"), InvalidArguments if is_required else ValidArguments)
            # written anew, from the fields alone, it means the same
            again = parse_tool(json.dumps(tool_fields(made)))
            assert again.input_schema == made.input_schema
            quick = quick_fields(text(*lines))
            assert quick is None or quick == tool_fields(made)


def test_default_null_is_kept_and_means_that_there_is_no_value():
    made = parse_tool(text("type: integer", "default: null  # none"))
    assert made.input_schema["properties"]["x"] == {"description": "An x", "type": "integer", "default": None}
    assert made.validate("{}") == ValidArguments({})
    assert "default: null  # none" in write_tool(made.replace(title="B"))


def test_function_gets_none_for_a_missing_argument_with_the_default_null():
    run = 'run: {python: "builtins:dict"}\n'
    for lines, value in (
        (["type: string", "default: null"], {"x": None}),
        (["type: string", "required: false"], {}),
    ):
        assert execute_tool(parse_tool(text(*lines, more=run)), {}).value == value
    given = parse_tool(text("type: string", "default: null", more=run))
    assert execute_tool(given, {"x": "here"}).value == {"x": "here"}


def test_request_and_program_leave_a_missing_argument_with_the_default_null_out():
    http = 'run: {http: {method: GET, url: "https://example.com/", query: {x: "${x}"}}}\neffect: read\n'
    assert parse_tool(text("type: string", "default: null", more=http)).preview({})["http"]["query"] == {}
    argv = 'run: {argv: ["echo", "${x}"]}\n'
    assert parse_tool(text("type: string", "default: null", more=argv)).preview({})["argv"] == ["echo"]
    in_path = 'run: {http: {method: GET, url: "https://example.com/${x}"}}\neffect: read\n'
    assert errors(text("type: string", "default: null", more=in_path)) == [
        "a.yaml:9: the optional parameter 'x' is used in the url. Fix: make it required, or give it a default"
    ]


def test_limits_that_no_value_meets_are_errors_with_line_and_fix():
    fix = ", so no value fits. Fix: swap the two, or correct one of them"
    cases = [
        (["type: integer", "minimum: 5", "maximum: 3"], 9, "minimum 5 is above maximum 3"),
        (["type: number", "maximum: 0.5", "minimum: 1"], 8, "minimum 1 is above maximum 0.5"),
        (
            ["type: number", "minimum: 3", "exclusiveMaximum: 3"],
            9,
            "minimum 3 is not below exclusiveMaximum 3",
        ),
        (
            ["type: number", "exclusiveMinimum: 3", "maximum: 3"],
            9,
            "exclusiveMinimum 3 is not below maximum 3",
        ),
        (
            ["type: number", "exclusiveMinimum: 4", "exclusiveMaximum: 3"],
            9,
            "exclusiveMinimum 4 is above exclusiveMaximum 3",
        ),
        (["type: string", "minLength: 2", "maxLength: 1"], 9, "minLength 2 is above maxLength 1"),
        (["type: array", "minItems: 2", "maxItems: 1"], 9, "minItems 2 is above maxItems 1"),
        (
            ["type: object", "minProperties: 2", "maxProperties: 1"],
            9,
            "minProperties 2 is above maxProperties 1",
        ),
        (
            ["type: array", "items: {type: string, minLength: 2, maxLength: 1}"],
            8,
            "in items, minLength 2 is above maxLength 1",
        ),
    ]
    for lines, line, problem in cases:
        for kind, label in (("parameters", "parameter"), ("returns", "return field")):
            with in_case(lines, kind):
                assert errors(text(*lines, kind=kind)) == [f"a.yaml:{line}: {label} 'x': {problem}{fix}"]
                assert quick_fields(text(*lines, kind=kind)) is None


def test_limits_that_some_value_meets_are_valid():
    for lines in (
        ["type: integer", "minimum: 3", "maximum: 3"],
        ["type: integer", "exclusiveMinimum: 3", "exclusiveMaximum: 4.5"],
        ["type: string", "minLength: 0", "maxLength: 0"],
        ["type: integer", "not: {minimum: 5, maximum: 3}"],
        ["type: object", "default: {minimum: 5, maximum: 3}"],
    ):
        with in_case(lines):
            assert errors(text(*lines)) == []


def test_is_active_is_taken_out_and_all_else_stays():
    run = "run: {argv: [date]}\n"
    cases = [
        (f"{HEAD}is_active: false\n{run}", f"{HEAD}{run}"),
        (f"{HEAD}is_active: false  # until May\n{run}", f"{HEAD}# until May\n{run}"),
        (f"{HEAD}{run}is_active: false", f"{HEAD}{run}"),
        (f"# top\nis_active: false\n{HEAD}\n# mid\n{run}", f"# top\n{HEAD}\n# mid\n{run}"),
        (f'{HEAD}"is_active":   false  \n\n{run}', f"{HEAD}\n{run}"),
        (f"{HEAD}is_active: false\n{run}".replace("\n", "\r\n"), f"{HEAD}{run}".replace("\n", "\r\n")),
        (
            "{id: a, name: A, is_active: false, description: b, run: {argv: [date]}}\n",
            "{id: a, name: A, description: b, run: {argv: [date]}}\n",
        ),
        (
            "{id: a, name: A, description: b, run: {argv: [date]}, is_active: false}\n",
            "{id: a, name: A, description: b, run: {argv: [date]}}\n",
        ),
    ]
    for before, after in cases:
        with in_case(before):
            off = parse_tool(before)
            on = off.replace(is_active=None)
            assert (off.is_active, on.is_active, on.is_active_in_file) == (False, True, None)
            assert write_tool(on) == after


def test_the_description_of_the_result_as_a_whole_is_kept_in_the_description(tmp_path):
    class Forecast(TypedDict):
        high: Annotated[int, "In degrees"]

    @tool
    def weather(city: Annotated[str, "Where"]) -> Forecast:
        """Tells the weather.

        Returns:
            What to expect tomorrow.
        """
        return Forecast(high=len(city))

    path = tmp_path / "weather.yaml"
    dump_tool(weather, path)
    assert load_tool(path).description == "Tells the weather.\n\nReturns: What to expect tomorrow."
    with pytest.raises(DefinitionError, match="1025 characters"):
        dump_tool(weather.replace(description="x" * 990), path)
