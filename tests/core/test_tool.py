"""The Tool: frozen, checked when it is made, the same options however it is defined."""

import copy
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Literal, TypedDict

import pytest
from pydantic import BaseModel

from tests.cases import each_case
from toolhaft import (
    Effect,
    Tool,
    ToolConfig,
    ToolContext,
    ToolExample,
    ToolResult,
    ValidArguments,
    create_tool,
    tool,
)
from toolhaft.core.tool import OPTION_NAMES
from toolhaft.errors import DefinitionError

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


@dataclass
class Params:
    query: str = field(metadata={"description": "What to look for", "min_length": 1})
    limit: int = 10


class Row(BaseModel):
    title: str


class Keys(TypedDict):
    key: str


def handle(params: Params, *, context: ToolContext) -> ToolResult[list[Row]]:
    """Look things up."""
    return ToolResult.ok([Row(title=params.query)])


def typed(**options: Any) -> Tool[Any, Any]:
    return Tool[Params, list[Row]](
        **{"name": "lookup", "description": "Look up.", "handler": handle, **options}
    )


def test_a_tool_refuses_assignment_and_deletion():
    made = typed()
    with pytest.raises(AttributeError, match=r"a Tool is frozen: use tool\.replace"):
        made.name = "other"
    with pytest.raises(AttributeError, match="frozen"):
        del made.name


@each_case("name", ["", "has space", ".dot", "a" * 129, "naïve", "a/b", None, 5])
def test_an_invalid_name_is_refused(name):
    with pytest.raises(DefinitionError, match="is not a tool name"):
        Tool(name=name, description="Does.")


@each_case("name", ["a", "A.b-c_9", "-x", "_", "a" * 128])
def test_the_core_takes_wider_names_than_a_typed_tool(name):
    assert Tool(name=name, description="Does.").name == name
    if len(name) > 64 or name != name.lower() or "." in name:
        with pytest.raises(DefinitionError, match="is not a typed tool's name"):
            typed(name=name)


@each_case("description", ["", "   ", None, 7])
def test_a_tool_needs_a_description(description):
    with pytest.raises(DefinitionError, match="there is no description"):
        Tool(name="x", description=description)


OPTIONS: dict[str, Any] = {
    "effect": Effect.READ,
    "timeout_s": 2.5,
    "stall_s": 1.5,
    "retryable": False,
    "max_attempts": 5,
    "isolation": "process",
    "requires": ("notes:read",),
    "idempotency": ("city",),
    "rate": "100/min",
    "max_parallel": 4,
    "cache_s": 60.0,
    "title": "The title",
    "when_to_use": "When needed",
    "examples": (ToolExample(input={"city": "Oslo"}),),
    "metadata": {"author": "us"},
    "tags": ("a", "b"),
    "version": "1.2.0",
    "accepts_overrides": False,
}


@dataclass
class City:
    city: str


def by_function(**options: Any) -> Tool[Any, Any]:
    def weather(city: str) -> str:
        """Get weather."""
        return city

    return tool(**options)(weather)


def by_config(**options: Any) -> Tool[Any, Any]:
    return create_tool(ToolConfig(name="weather", description="Get weather.", input_schema=SCHEMA, **options))


def by_types(**options: Any) -> Tool[Any, Any]:
    return Tool[City, str](name="weather", description="Get weather.", **options)


DEFINED_TOOLS = [by_function, by_config, by_types]


def test_the_table_of_options_is_complete():
    assert set(OPTIONS) == set(OPTION_NAMES)


@each_case("define", DEFINED_TOOLS)
def test_every_option_is_accepted_in_every_way_to_define_a_tool(define):
    made = define(**OPTIONS)
    assert {name: getattr(made, name) for name in OPTION_NAMES} == OPTIONS


@each_case("define", DEFINED_TOOLS)
def test_options_have_the_defaults_of_the_design(define):
    made = define()
    assert (made.effect, made.timeout_s, made.retryable, made.max_attempts) == (
        Effect.IRREVERSIBLE,
        10.0,
        True,
        3,
    )
    assert (made.isolation, made.requires, made.rate, made.max_parallel, made.cache_s) == (
        None,
        (),
        None,
        None,
        None,
    )


@each_case(
    ("option", "value"),
    [
        ("effect", "harmless"),
        ("effect", None),
        ("timeout_s", 0),
        ("timeout_s", -1),
        ("timeout_s", float("inf")),
        ("timeout_s", True),
        ("timeout_s", "10"),
        ("retryable", "yes"),
        ("max_attempts", 0),
        ("max_attempts", 1.5),
        ("isolation", "container"),
        ("requires", "notes:read"),
        ("requires", [1]),
        ("idempotency", ["nothing"]),
        ("rate", "fast"),
        ("rate", "0/s"),
        ("max_parallel", 0),
        ("cache_s", 5),  # needs effect read
        ("examples", {"input": {}}),
        ("examples", [{"output": 1}]),
        ("examples", [{"input": {"city": "x"}, "outptu": 1}]),
        ("examples", 5),
        ("metadata", ["author"]),
        ("tags", "a"),
        ("title", 5),
        ("accepts_overrides", 1),
        ("timeout", 5),
    ],
)
@each_case("define", [by_function, by_types])
def test_an_invalid_option_is_refused_by_name(define, option, value):
    with pytest.raises(DefinitionError, match=r"tool 'weather'") as caught:
        _ = define(**{option: value}).validate
    assert option in str(caught.value) or "example" in str(caught.value)


def test_an_effect_may_be_given_as_text():
    assert by_function(effect="read").effect is Effect.READ
    assert by_function(effect="read").effect == "read"


def test_a_tool_copies_the_values_that_it_was_made_from():
    schema: dict[str, Any] = copy.deepcopy(SCHEMA)
    metadata = {"tags": ["a"]}
    example = {"input": {"city": "Oslo"}}
    made = create_tool(
        ToolConfig(name="w", description="W.", input_schema=schema, metadata=metadata, examples=[example])
    )
    schema["properties"]["city"]["type"] = "integer"
    metadata["tags"].append("b")
    example["input"]["city"] = 5
    assert made.input_schema == SCHEMA
    assert made.metadata == {"tags": ["a"]}
    assert made.examples == (ToolExample(input={"city": "Oslo"}),)


def test_replace_gives_a_changed_copy_of_the_same_kind():
    made = by_function(tags=["a"])
    other = made.replace(name="forecast", timeout_s=3, description="Get forecast.")
    assert (other.name, other.timeout_s, other.description, other.tags) == (
        "forecast",
        3.0,
        "Get forecast.",
        ("a",),
    )
    assert made.name == "weather"
    assert other("Oslo") == "Oslo"
    assert typed().replace(name="other").validate({"query": "x"}).params == Params("x")
    with pytest.raises(DefinitionError, match="'input_schema' cannot be replaced"):
        made.replace(input_schema={})
    with pytest.raises(DefinitionError, match="is not a tool name"):
        made.replace(name="no name")


def test_a_typed_tool_has_schemas_and_checks_from_its_types():
    made = typed()
    assert made.input_schema == {
        "type": "object",
        "properties": {
            "query": {"type": "string", "minLength": 1, "description": "What to look for"},
            "limit": {"type": "integer", "default": 10},
        },
        "required": ["query"],
    }
    assert made.output_schema == {
        "type": "array",
        "items": {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]},
    }
    assert made.validate('{"query": "x"}') == ValidArguments(Params("x", 10), ())
    assert made.check_output([Row(title="a")]) is None
    assert made.check_output([{"title": 1}]) == "[0].title: got 1; expected a string"
    assert made.check_output("no") == 'value: got "no"; expected an array, each an object with title'
    assert (made.params_type, made.result_type) == (Params, list[Row])


@each_case(
    ("params", "text", "wanted"),
    [
        (None, "{}", None),
        (Params, '{"query": "x", "limit": 2}', Params("x", 2)),
        (Row, '{"title": "x"}', Row(title="x")),
        (Keys, '{"key": "x"}', {"key": "x"}),
    ],
)
def test_params_may_be_of_any_of_the_four_kinds(params, text, wanted):
    made = Tool[params, None](name="take", description="Take.")
    assert made.validate(text) == ValidArguments(wanted, ())
    assert made.output_schema is None


@each_case("params", [int, str, list[int], dict, Literal["a"], int | None], ids=str)
def test_params_that_are_not_a_record_are_refused(params):
    with pytest.raises(DefinitionError, match=r"tool 'take', Params: .* cannot be a tool's parameters"):
        Tool[params, None](name="take", description="Take.")


@each_case(
    ("example", "words"),
    [
        (ToolExample(input=Row(title="x")), "the input is a Row, not a Params"),
        (ToolExample(input={"query": ""}), 'query: "" is too short'),
        (ToolExample(input={"query": "x", "nope": 1}), "nope: unknown argument"),
        (ToolExample(input=Params("x"), output=[{"title": 5}]), "the output is not valid"),
        (ToolExample(description="d" * 201, input=Params("x")), "longer than 200"),
    ],
)
def test_an_example_that_does_not_fit_is_refused_when_the_tool_is_made(example, words):
    with pytest.raises(DefinitionError, match="example 1") as caught:
        typed(examples=[example])
    assert words in str(caught.value)


def test_the_message_shows_the_example_of_the_tool():
    made = typed(examples=[ToolExample(input=Params("haft", 3), output=[Row(title="x")])])
    assert made.validate("{}").message.endswith('Valid arguments look like: {"query":"haft","limit":3}')


def test_typed_tools_of_the_same_types_share_their_class():
    assert Tool[Params, Row] is Tool[Params, Row]
    assert isinstance(typed(), Tool)
    with pytest.raises(TypeError, match="Tool takes two types"):
        Tool[Params]
    with pytest.raises(DefinitionError, match="takes its schemas from its types"):
        Tool[Params, Row](name="x", description="X.", input_schema=SCHEMA)


def test_a_dataclass_that_refuses_its_own_fields_is_a_problem_not_a_crash():
    @dataclass
    class Even:
        number: int

        def __post_init__(self) -> None:
            if self.number == 0:
                raise KeyError("zero")
            if self.number % 2:
                raise ValueError("the number must be even")

    made = Tool[Even, None](name="even", description="Even.")
    assert made.validate('{"number": 3}').problems[0].what == "the number must be even"
    assert made.validate('{"number": 0}').problems[0].what == "could not be checked: KeyError"

    @tool
    def nested(value: Even, many: list[Even]) -> None:
        """Nest."""

    assert (
        nested.validate('{"value": {"number": 2}, "many": [{"number": 1}]}').problems[0].what
        == "the number must be even"
    )


def test_a_repair_that_the_authors_own_check_refuses_does_not_escape():
    @dataclass
    class Small:
        number: int

        def __post_init__(self) -> None:
            if self.number > 3:
                raise KeyError("too much")

    made = Tool[Small, None](name="small", description="Small.")
    assert made.validate('{"number": "2"}').repairs
    assert [problem.path for problem in made.validate('{"number": "9"}').problems] == ["number"]


@each_case(
    ("option", "value", "words"),
    [
        ("metadata", {"a": object()}, "is not a mapping that JSON can hold"),
        ("timeout_s", 10**400, "is not a positive number of seconds"),
        ("examples", [{"input": {"city": "Oslo", "n": "1"}}], "does not match the schema exactly: n: read"),
    ],
)
def test_metadata_or_examples_that_do_not_fit_are_refused(option, value, words):
    def weather(city: str, n: int = 1) -> str:
        """Get weather."""
        return city

    with pytest.raises(DefinitionError, match=words):
        _ = tool(weather, **{option: value}).validate


def test_a_replaced_typed_tool_keeps_its_checks():
    with pytest.raises(DefinitionError, match="is not a typed tool's name"):
        typed().replace(name="UPPER")


def test_a_tool_says_where_its_handler_is():
    assert typed().source == f"Tool 'lookup' of {__name__}.handle"


exports_of = attrgetter("export_cache")


def test_a_changed_copy_has_an_empty_export_cache():
    made = typed()
    exports_of(made)["openai_chat"] = "bytes"
    assert exports_of(made) == {"openai_chat": "bytes"}
    assert exports_of(made.replace(description="Other.")) == {}
    assert exports_of(typed()) == {}


def test_reading_the_export_cache_compiles_the_tool():
    @tool
    def add(a: int) -> int:
        """Add."""
        return a

    assert exports_of(add) == {}
    assert exports_of(add) is exports_of(add)
    with pytest.raises(DefinitionError, match="is not a tool name"):
        exports_of(tool(lambda: None))
