"""Tools that were not defined in YAML as YAML documents, and what these leave out."""

from dataclasses import dataclass, make_dataclass
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from toolhaft import Tool, tool
from toolhaft.catalog.yaml_export import activated_yaml, installed_yaml, tool_yaml
from toolhaft.core.conversion import to_tool
from toolhaft.define.yaml import parse_tool
from toolhaft.errors import DefinitionError

URL = "https://tools.example.com"


class Place(BaseModel):
    """Where something is."""

    city: str
    zip: str


def brought(made):
    text = activated_yaml(to_tool(made), id=to_tool(made).name, url=URL)
    return parse_tool(text.text), text.notes


def test_texts_options_and_plain_parameters_are_written():
    @tool(effect="read", timeout_s=4, tags=["geo"])
    def find_city(
        name: Annotated[str, Field(description="Its name", max_length=80)], limit: int = 5
    ) -> dict[str, int]:
        """Find a city."""
        return {name: limit}

    made, notes = brought(find_city)
    assert (made.name, made.title, made.description) == ("find_city", "Find city", "Find a city.")
    assert (str(made.effect), made.timeout_s, made.tags) == ("read", 4, ("geo",))
    assert (made.is_active, made.endpoint) == (True, f"{URL}/v3/tool/find_city")
    name, limit = made.input_schema["properties"].values()
    assert (name["description"], name["maxLength"], limit["default"]) == ("Its name", 80, 5)
    assert made.input_schema["required"] == ["name"]
    assert notes == ()


def test_nullable_parameter_is_written_without_null():
    @tool
    def greet(name: str | None = None, mood: Literal["good", "bad"] | None = None) -> str:
        """Say hello."""
        return f"{name} {mood}"

    made, _ = brought(greet)
    name, mood = made.input_schema["properties"].values()
    assert (name["type"], name["default"], mood["enum"]) == ("string", None, ["good", "bad"])
    assert made.input_schema.get("required", []) == []


def test_nested_model_parameter_is_written_as_an_object():
    @tool
    def send(to: Place, via: Place | None = None, by: list[Place] | None = None) -> str:
        """Send it."""
        return f"{to} {via} {by}"

    made, notes = brought(send)
    to, via, by = made.input_schema["properties"].values()
    assert (to["type"], to["required"]) == ("object", ["city", "zip"])
    assert (via["type"], by["type"]) == ("object", "array")
    assert (via["required"], via["default"]) == (["city", "zip"], None)
    assert by["items"]["required"] == ["city", "zip"]
    assert made.input_schema["required"] == ["to"]
    assert notes == ()


def test_references_are_resolved_one_level():
    place = {"type": "object", "description": "Where", "properties": {"city": {"type": "string"}}}
    made = Tool(
        name="send",
        description="Send it",
        input_schema={
            "type": "object",
            "properties": {
                "to": {"$ref": "#/$defs/Place"},
                "via": {"anyOf": [{"$ref": "#/$defs/Place"}, {"type": "null"}], "description": "Past it"},
                "all": {"type": "array", "items": {"$ref": "#/$defs/Place"}},
            },
            "$defs": {"Place": place},
        },
    )
    file, notes = brought(made)
    to, via, all_ = file.input_schema["properties"].values()
    assert to == place
    assert via == {**place, "description": "Past it"}
    assert all_ == {"type": "array", "description": "all"}
    assert notes == (
        "via: the file does not allow null",
        "all: its inner schema is left out",
    )


def test_type_list_with_one_type_besides_null_is_written():
    made = Tool(
        name="odd",
        description="Odd",
        input_schema={
            "type": "object",
            "properties": {"a": {"type": ["integer", "null"]}, "b": {"type": "string"}},
        },
        output_schema={"type": "object", "properties": {"c": {"type": "string"}}, "required": ["c"]},
    )
    file, notes = brought(made)
    assert file.input_schema["properties"]["a"] == {"type": "integer", "description": "a"}
    assert file.output_schema["properties"]["c"]["description"] == "c"
    assert notes == ("a: the file does not allow null",)


def test_optional_return_fields_are_written_as_optional():
    @dataclass
    class Found:
        where: str
        size_bytes: int = 0

    @tool
    def find(name: str) -> Found:
        """Find it."""
        return Found(name)

    made, notes = brought(find)
    assert [*made.output_schema["properties"]] == ["where", "size_bytes"]
    assert made.output_schema["required"] == ["where"]
    assert notes == ()


@pytest.mark.parametrize("kind", [int | None, int | str])
def test_returns_without_a_single_type_are_left_out(kind):
    def find(name: str):
        """Find it."""
        return Found(name, None)

    Found = make_dataclass("Found", [("where", str), ("size_bytes", kind)])  # noqa: N806 -- a class
    find.__annotations__["return"] = Found
    made, notes = brought(tool(find))
    assert made.output_schema is None
    assert notes == ("its result is not described: no single type for size_bytes",)


def test_meaningful_null_is_noted():
    @tool
    def greet(name: str | None, mood: str | None = "good") -> str:
        """Say hello."""
        return f"{name} {mood}"

    made, notes = brought(greet)
    assert made.input_schema["required"] == ["name"]
    assert notes == (
        "name: the file does not allow null",
        "mood: the file does not allow null",
    )


def test_output_that_is_not_an_object_is_left_out():
    @tool
    def count(name: str) -> int:
        """Count it."""
        return len(name)

    assert brought(count)[0].output_schema is None


@pytest.mark.parametrize(
    "own", [{"type": ["integer", "string"]}, {"anyOf": [{"type": "string"}, {"type": "array"}]}, True]
)
def test_parameter_without_a_single_type_is_refused_by_name(own):
    made = Tool(name="odd", description="Odd", input_schema={"type": "object", "properties": {"a": own}})
    with pytest.raises(DefinitionError, match="'a' does not have one simple type"):
        tool_yaml(made)


def test_installed_yaml_has_no_owner_and_the_platform_endpoint():
    @tool(title="Book")
    def book(place: Annotated[str, "Where"]) -> str:
        """Book a room."""
        return place

    own = parse_tool(tool_yaml(to_tool(book))).replace(owner="ann", updated_at="2026-01-01T00:00:00Z")
    for source in (to_tool(book), own):
        made = parse_tool(installed_yaml(source, endpoint=f"{URL}/v3/tool/book", share="public"))
        assert (made.owner, made.updated_at, made.share, made.is_active) == (None, None, "public", True)
        assert (made.endpoint, list(made.input_schema["properties"])) == (f"{URL}/v3/tool/book", ["place"])


def test_inexpressible_parameters_are_left_out_of_installed_yaml():
    odd = Tool(
        name="odd",
        description="Takes one or the other.",
        input_schema={
            "type": "object",
            "properties": {"either": {"anyOf": [{"type": "string"}, {"type": "number"}]}},
        },
    )
    with pytest.raises(DefinitionError):
        tool_yaml(odd)
    made = parse_tool(installed_yaml(odd, endpoint=f"{URL}/v3/tool/odd", share="private"))
    assert (made.name, made.title, made.input_schema["properties"]) == ("odd", "odd", {})


def test_the_description_of_the_result_joins_that_of_the_tool_or_is_noted():
    output = {"type": "array", "description": "All lines."}
    made = Tool(name="lines", description="Reads.", input_schema={"type": "object"}, output_schema=output)
    written, notes = brought(made)
    assert (written.description, notes) == ("Reads.\n\nReturns: All lines.", ())
    written, notes = brought(made.replace(description="x" * 995))
    assert written.description == "x" * 995
    assert notes == ("its result is not described: the description may have 1,000 characters",)
