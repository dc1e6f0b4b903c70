"""A tool defined in any way, with other texts: called, checked, run and exported like the one that it was."""

import json
from dataclasses import dataclass, field

import pytest

from toolhaft import (
    BaseTool,
    Tool,
    ToolCall,
    ToolConfig,
    ToolContext,
    ToolExecutor,
    ToolParam,
    ToolResponse,
    ToolResult,
    ToolReturn,
    ToolSpec,
    create_tool,
    load_tool,
    tool,
)
from toolhaft.core.conversion import to_tool
from toolhaft.core.tool import OPTION_NAMES
from toolhaft.errors import DefinitionError
from toolhaft.formats import FORMATS, export_tools

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "Old city"},
        "days": {"type": "integer", "description": "Old days", "default": 1},
    },
    "required": ["city"],
}


@dataclass
class Params:
    city: str = field(metadata={"description": "Old city"})
    days: int = field(default=1, metadata={"description": "Old days"})


def by_function(folder):
    @tool(effect="read", tags=["a"])
    def weather(city: str, days: int = 1) -> str:
        """Old words.

        Args:
            city: Old city
            days: Old days
        """
        return f"{city} {days}"

    return weather


def by_types(folder):
    def handle(params: Params, *, context: ToolContext) -> ToolResult[str]:
        return ToolResult.ok(f"{params.city} {params.days}", "done")

    return Tool[Params, str](name="weather", description="Old words.", handler=handle, tags=["a"])


def by_config(folder):
    return create_tool(
        ToolConfig(
            name="weather",
            description="Old words.",
            input_schema=SCHEMA,
            output_schema={"type": "string"},
            execute=lambda input: f"{input['city']} {input['days']}",
            tags=["a"],
        )
    )


class Weather(BaseTool):
    spec = ToolSpec(
        name="weather",
        description="Old words.",
        when_to_use="Always.",
        inputs=[
            ToolParam(name="city", type="string", description="Old city", required=True),
            ToolParam(name="days", type="integer", description="Old days", required=False),
        ],
        returns=ToolReturn(type="string", description="The weather"),
    )
    tags = ("a",)

    def __call__(self, city, days=1, **runtime):
        return ToolResponse(observation=f"{city} {days}")


def by_class(folder):
    return Weather()


YAML = """
id: weather
name: Weather
description: Old words.
tags: [a]
parameters:
  - {name: city, type: string, description: Old city}
  - {name: days, type: integer, description: Old days, required: false, default: 1}
"""


def by_yaml(folder):
    (folder / "weather.yaml").write_text(YAML)
    return load_tool(folder / "weather.yaml").replace(
        handler=lambda input: f"{input['city']} {input['days']}"
    )


@pytest.fixture(
    params=[by_function, by_types, by_config, by_class, by_yaml], ids=lambda define: define.__name__
)
def old(request, tmp_path):
    return to_tool(request.param(tmp_path))


WORDS = {
    "description": "New words.",
    "parameters": {"city": "New city"},
    "examples": [{"description": "New example", "input": {"city": "Oslo"}}],
}


def words_in(made, format):
    export = export_tools([made], format, examples=True)
    assert not export.refused
    return json.dumps(export.payload, ensure_ascii=False)


def test_new_descriptions_replace_old_ones_and_the_others_stay(old):
    new = old.with_words(**WORDS)
    assert type(new) is type(old)
    assert (new.name, new.description) == ("weather", "New words.")
    properties = new.input_schema["properties"]
    assert [properties[name]["description"] for name in ("city", "days")] == ["New city", "Old days"]
    assert [example.input for example in new.examples] == [{"city": "Oslo"}]
    kept = [name for name in OPTION_NAMES if name != "examples"]
    assert [getattr(new, name) for name in kept] == [getattr(old, name) for name in kept]
    assert (new.source, new.takes, new.output_schema) == (old.source, old.takes, old.output_schema)


def test_the_old_tool_stays_as_it_was(old):
    before = (old.description, json.dumps(old.input_schema), old.examples)
    old.with_words(**WORDS)
    assert (old.description, json.dumps(old.input_schema), old.examples) == before


def test_names_and_types_are_the_same_but_for_descriptions(old):
    new = json.loads(json.dumps(old.with_words(**WORDS).input_schema))
    new["properties"]["city"]["description"] = "Old city"
    assert new == old.input_schema


def test_a_call_is_checked_and_run_as_before(old):
    new = old.with_words(**WORDS)
    assert new.validate({"city": "Oslo"}) == old.validate({"city": "Oslo"})
    assert new.read_input('{"city": "Oslo"}') == old.read_input('{"city": "Oslo"}')
    calls = [
        ToolCall(id=str(n), name="weather", arguments=a)
        for n, a in enumerate([{"city": "Oslo"}, {}, {"city": 5}])
    ]
    results = [ToolExecutor([made]).execute(call) for made in (old, new) for call in calls]
    assert results[3].success
    assert results[3].value == results[0].value == "Oslo 1"
    assert [result.failure.kind for result in results[4:]] == ["invalid_arguments"] * 2


def test_the_new_example_is_shown_where_arguments_are_wrong(old):
    assert '{"city":"Oslo"}' in old.with_words(**WORDS).validate({}).message
    taken = old.with_words(**WORDS).with_words(examples=())
    assert taken.validate({}).message == old.validate({}).message


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_exports_the_new_descriptions(old, format):
    before = words_in(old, format)
    new = old.with_words(**WORDS)
    said = words_in(new, format)
    assert all(word in said for word in ("New words.", "New city", "Old days", "Oslo"))
    assert "Old words." not in said
    assert "Old city" not in said
    assert words_in(old, format) == before


def test_copies_share_no_exports(old):
    words_in(old, "native")
    new = old.with_words(description="New words.")
    assert new.export_cache == {}
    words_in(new, "native")
    assert new.export_cache is not old.export_cache


def test_without_arguments_with_words_returns_an_equal_tool(old):
    new = old.with_words()
    assert (new.description, new.input_schema, new.examples) == (
        old.description,
        old.input_schema,
        old.examples,
    )


def test_with_words_and_replace_can_be_combined(old):
    new = old.with_words(parameters={"city": "New city"}).with_words(parameters={"days": "New days"})
    again = new.replace(title="Other")
    properties = again.input_schema["properties"]
    assert [properties[name]["description"] for name in ("city", "days")] == ["New city", "New days"]
    assert again.title == "Other"


def test_the_error_for_an_unknown_parameter_names_the_tool(old):
    with pytest.raises(DefinitionError, match=r"^tool 'weather', parameter 'citi': .* did you mean 'city'\?"):
        old.with_words(parameters={"citi": "x"})


@pytest.mark.parametrize(
    ("words", "place"),
    [
        ({"description": " "}, "description"),
        ({"examples": [{"input": {"city": 5}}]}, "example 1"),
        ({"examples": [{"input": {"city": "a"}, "output": 5}]}, "example 1"),
        ({"examples": "none"}, "examples"),
    ],
)
def test_invalid_descriptions_are_refused(old, words, place):
    if "output" in str(words) and old.output_schema is None:
        words = {"examples": [{"input": {}}]}
    with pytest.raises(DefinitionError) as caught:
        old.with_words(**words)
    assert (caught.value.tool, caught.value.place) == ("weather", place)


def test_a_typed_tool_keeps_its_limits(tmp_path):
    assert len(by_function(tmp_path).with_words(description="x" * 201).description) == 201
    with pytest.raises(DefinitionError, match="the description has 201 characters"):
        by_types(tmp_path).with_words(description="x" * 201)


def test_a_function_can_still_be_called(tmp_path):
    new = by_function(tmp_path).with_words(**WORDS)
    assert new("Oslo", days=2) == "Oslo 2"


def test_a_bound_method_keeps_its_object():
    class Station:
        def __init__(self, name):
            self.name = name

        @tool
        def read(self, unit: str = "C") -> str:
            """Old words."""
            return f"{self.name} {unit}"

    one, other = Station("one"), Station("other")
    new = one.read.with_words(description="New words.", parameters={"unit": "C or F"})
    call = ToolCall(id="1", name="read", arguments={})
    assert ToolExecutor([new]).execute(call).value == "one C"
    assert ToolExecutor([other.read]).execute(call).value == "other C"
    assert other.read.description == "Old words."
    assert "description" not in other.read.input_schema["properties"]["unit"]


def test_examples_that_are_replaced_by_none_are_not_shown_any_more(tmp_path):
    made = by_config(tmp_path).replace(examples=[{"input": {"city": "Bergen"}}])
    assert "Bergen" in made.validate({}).message
    assert "Bergen" not in made.replace(examples=()).validate({}).message
