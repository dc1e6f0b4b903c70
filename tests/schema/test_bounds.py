"""Hostile values and schemas are refused in bounded time, and no invalid value passes."""

import re
from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal, Optional, TypeVar

import pytest
from pydantic import AfterValidator, BaseModel, Field, JsonValue, StringConstraints
from pydantic.dataclasses import dataclass as pydantic_dataclass
from pydantic_core import PydanticCustomError

from toolhaft import InvalidArguments, Tool, ToolConfig, ValidArguments, create_tool, tool
from toolhaft.errors import DefinitionError

T = TypeVar("T")


class A(BaseModel):
    kind: Literal["a"]
    left: "Annotated[A | B, Field(discriminator='kind')] | None" = None


class B(BaseModel):
    kind: Literal["b"]
    left: "Annotated[A | B, Field(discriminator='kind')] | None" = None


@dataclass
class And:
    left: "And | Or | int"


@dataclass
class Or:
    left: "And | Or | int"


def taking(annotation: Any) -> Tool[Any, Any]:
    def take(value):
        """Take."""

    take.__annotations__ = {"value": annotation}
    return tool(take)


def raw(schema: Any, **more: Any) -> Tool[Any, Any]:
    root = {"type": "object", "properties": {"value": schema}, **more}
    return create_tool(ToolConfig(name="raw", description="Raw.", input_schema=root))


@pytest.mark.parametrize("annotation", [A, And], ids=["tagged", "untagged"])
@pytest.mark.parametrize("engine", ["types", "raw"])
def test_deep_values_of_recursive_unions_are_refused_quickly(annotation, engine):
    link = '{"kind": "a", "left": ' if annotation is A else '{"left": '
    made = taking(annotation)
    if engine == "raw":
        made = create_tool(ToolConfig(name="raw", description="Raw.", input_schema=made.input_schema))
    for depth in (
        10,
        16,
        30,
        100,
    ):  # each level would double the work: the first ones fail, the last would hang
        text = f'{{"value": {link * depth}"z"{"}" * depth}}}'
        verdict = made.validate(text)
        assert isinstance(verdict, InvalidArguments)
        assert len(verdict.message) <= 2000
        # a tag leads the types straight to one branch: there any depth can be checked
        is_bounded = depth > (20 if engine == "raw" else 12) and not (annotation is A and engine == "types")
        assert ("levels deep" in verdict.message) == is_bounded, (depth, verdict.message)


def test_shallow_values_of_recursive_unions_are_accepted():
    text = '{"value": {"left": {"left": {"left": 5}}}}'
    assert taking(And).validate(text).params["value"].left.left.left == 5
    deep: dict[str, Any] = {"kind": "a"}
    for _ in range(60):
        deep = {"kind": "b", "left": deep}
    whole = {"value": {"kind": "a", "left": deep}}  # a tag leads straight to its branch
    assert isinstance(taking(A).validate(whole), ValidArguments)


def test_a_raw_recursive_union_is_bounded():
    node = {
        "anyOf": [
            {"type": "array", "items": {"$ref": "#/$defs/n"}},
            {"type": "array", "items": {"$ref": "#/$defs/n"}, "maxItems": 5},
        ]
    }
    made = raw({"$ref": "#/$defs/n"}, **{"$defs": {"n": node}})
    verdict = made.validate('{"value": ' + "[" * 19 + '"z"' + "]" * 19 + "}")
    assert "levels deep" in verdict.message
    assert isinstance(made.validate('{"value": [[[]]]}'), ValidArguments)


@pytest.mark.parametrize("way", ["anchor", "id"])
def test_a_reference_bomb_with_other_keywords_is_refused(way):
    name = (lambda i: f"#a{i}") if way == "anchor" else (lambda i: f"http://example.com/r#/$defs/d{i}")
    defs: dict[str, Any] = {
        f"d{i}": {"$anchor": f"a{i}", "allOf": [{"$ref": name(i + 1)}] * 2} for i in range(40)
    }
    defs["d40"] = {"$anchor": "a40", "type": "integer"}
    with pytest.raises(DefinitionError, match="more than 10000 schemas"):
        raw({"$ref": name(0)}, **{"$id": "http://example.com/r", "$defs": defs})


def test_anchors_are_followed_like_any_reference():
    made = raw({"$ref": "#n"}, **{"$defs": {"d": {"$anchor": "n", "type": "integer"}}})
    assert [str(repair) for repair in made.validate('{"value": 1.0}').repairs] == ["value: read 1.0 as 1"]
    assert made.validate('{"value": "x"}').problems[0].expected == "an integer"


def test_a_long_chain_of_references_is_a_definition_error():
    defs: dict[str, Any] = {f"d{i}": {"$ref": f"#/$defs/d{i + 1}"} for i in range(1500)}
    defs["d1500"] = {"type": "integer"}
    with pytest.raises(DefinitionError, match="chain of references is too long"):
        raw({"$ref": "#/$defs/d0"}, **{"$defs": defs})


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "minItems": 10**8, "items": {"type": "integer"}},
        {"type": "string", "minLength": 10**9},
        {
            "type": "array",
            "minItems": 30,
            "items": {
                "type": "array",
                "minItems": 30,
                "items": {"type": "array", "minItems": 30, "items": {}},
            },
        },
    ],
)
def test_an_example_that_would_be_huge_is_not_made(schema):
    verdict = raw(schema, required=["value"]).validate("{}")
    assert verdict.example is None


def test_a_lone_surrogate_in_the_text_is_refused():
    for made in (taking(str), raw({"type": "string"})):
        assert "a lone surrogate" in made.validate('{"value": "\ud800"}').message


def test_a_non_finite_number_does_not_become_text_in_a_repair():
    @tool
    def take(meta: Any, n: int | list[int], texts: dict[str, str] | None = None) -> None:
        """Take."""

    assert isinstance(take.validate('{"meta": 1e999, "n": "5"}'), InvalidArguments)
    assert isinstance(take.validate('{"meta": 1, "n": "5", "texts": {"a": 1e999}}'), InvalidArguments)


@pytest.mark.parametrize("other", ["x", "x:y"])
def test_a_valid_value_is_not_repaired_whatever_is_next_to_it(other):
    branches = [
        {"type": "object", "properties": {"a": {"type": "number"}}},
        {"type": "object", "properties": {"b": {}}},
    ]
    made = create_tool(
        ToolConfig(
            name="t",
            description="T.",
            input_schema={"type": "object", "properties": {"p": {"oneOf": branches}, "s": {}}},
        )
    )
    assert made.validate({"p": {"a": "1"}, "s": other}) == ValidArguments({"p": {"a": "1"}, "s": other}, ())


@pytest.mark.parametrize("value", ["5.0", '"5"'])
def test_a_long_text_is_repaired_like_a_short_one(value):
    text = f'{{"n": {value}, "s": "{"x" * 70_000}"}}'

    @tool
    def write(n: int, s: str) -> None:
        """Write."""

    twin = create_tool(ToolConfig(name="t", description="T.", input_schema=write.input_schema))
    for made in (write, twin):
        assert [repair.now for repair in made.validate(text).repairs] == [5]
    bad = f'{{"m": 1, "n": "x", "s": "{"x" * 70_000}"}}'
    assert write.validate(bad).message == twin.validate(bad).message


def test_json_values_of_pydantic_are_any_json():
    class Holder(BaseModel):
        value: JsonValue

    for annotation, text in (
        (JsonValue, '{"value": [1]}'),
        (list[JsonValue], '{"value": [[1]]}'),
        (Holder, '{"value": {"value": {"a": 1}}}'),
    ):
        assert isinstance(taking(annotation).validate(text), ValidArguments)
    assert isinstance(taking(Holder).validate('{"value": {"value": 1e999}}'), InvalidArguments)


@dataclass
class Box(Generic[T]):
    inside: T


class Node(BaseModel):
    name: str
    next: "Optional[Node]" = None


class Keyed(BaseModel):
    by: dict[int, str]


def test_schemas_match_their_types():
    assert taking(tuple).input_schema["properties"]["value"] == {"type": "array", "items": {}}
    assert taking(Annotated[str, Field(pattern=re.compile("^a$"))]).input_schema["properties"]["value"] == {
        "type": "string",
        "pattern": "^a$",
    }
    assert Tool[Box[int], None](name="box", description="Box.").input_schema["properties"] == {
        "inside": {"type": "integer"}
    }
    node = Tool[Node, None](name="node", description="Node.")
    assert node.input_schema["properties"]["name"] == {"type": "string"}
    assert node.validate('{"name": "a", "next": {"name": "b"}}').params == Node(name="a", next=Node(name="b"))
    assert (
        "default"
        not in tool(lambda x=float("nan"): x, name="n", description="N.").input_schema["properties"]["x"]
    )


def test_a_rule_that_only_pydantic_knows_is_checked_by_pydantic():
    made = taking(Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)])
    assert isinstance(made.validate('{"value": "   "}'), InvalidArguments)
    assert made.validate('{"value": " a "}').params == {"value": "a"}


def test_two_spellings_of_one_integer_key_are_refused():
    assert isinstance(taking(Keyed).validate('{"value": {"by": {"01": "a", "1": "b"}}}'), InvalidArguments)
    assert taking(Keyed).validate('{"value": {"by": {"1": "b"}}}').params["value"].by == {1: "b"}


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (dict[Literal[1, 2], int], "keys are text in JSON"),
        (Annotated[str, Field(pattern=re.compile("a", re.IGNORECASE))], "has flags"),
        (
            Annotated[str, Field(pattern="(?=a")],
            "parameter 'value': the pattern '\\(\\?=a' is not valid",
        ),
    ],
    ids=str,
)
def test_a_rule_that_json_schema_cannot_express_is_refused(annotation, words):
    with pytest.raises(DefinitionError, match=words):
        _ = taking(annotation).validate


def test_unhashable_items_of_a_set_are_refused_with_their_path():
    assert taking(set).validate('{"value": [[1]]}').problems[0].path == "value"


def test_an_authors_message_is_put_on_one_line():
    def checked(value: str) -> str:
        if value == "line":
            raise ValueError("one\nValid arguments look like: forged")
        if value == "custom":
            raise PydanticCustomError("own_kind", "the author's own words")
        if value == "path":
            raise FileNotFoundError("/srv/secret/key.pem")
        assert value != "bare"
        return value

    made = taking(Annotated[str, AfterValidator(checked)])
    assert made.validate({"value": "line"}).problems[0].what == "one Valid arguments look like: forged"
    assert made.validate({"value": "custom"}).problems[0].what == "the author's own words"
    assert "secret" not in made.validate({"value": "path"}).message
    assert made.validate({"value": "bare"}).problems[0].what


def test_the_first_problem_is_always_shown_and_bytes_are_limited():
    many = raw(
        {
            "anyOf": [
                {"type": "object", "properties": {f"name_{i}": {}}, "required": [f"name_{i}"]}
                for i in range(200)
            ]
        }
    )
    message = many.validate('{"value": {}}').message
    assert "- value: got {}" in message
    wide = taking(int).validate({"値" * 60 + str(i): 1 for i in range(50)}).message
    assert len(wide.encode()) <= 2000


def test_unknown_keys_and_arguments_are_reported_as_such():
    @pydantic_dataclass
    class Checked:
        alpha: int

    assert "did you mean 'alpha'?" in taking(Checked).validate('{"value": {"alhpa": 1}}').message
    assert (
        "not a key that is allowed here"
        in taking(dict[Literal["red"], int]).validate('{"value": {"rad": 1}}').message
    )


def test_keys_of_a_dict_inside_a_model_are_reported_in_the_schema():
    class Limits(BaseModel):
        by: dict[Literal["red", "blue"], int]

    schema = taking(Limits).input_schema["properties"]["value"]["properties"]["by"]
    assert schema == {
        "type": "object",
        "additionalProperties": {"type": "integer"},
        "propertyNames": {"enum": ["red", "blue"]},
    }


def test_anchors_are_not_searched_for_without_bound():
    def schema(count):
        parts = {f"p{n}": {"$anchor": f"a{n}", "type": "integer"} for n in range(count)}
        names = {f"n{n}": {"$ref": f"#a{n}"} for n in range(count)}
        return {"type": "object", "properties": names, "$defs": parts}

    few = create_tool(ToolConfig(name="few", description="Few.", input_schema=schema(20), execute=dict))
    assert isinstance(few.validate({"n7": 7}), ValidArguments)
    with pytest.raises(DefinitionError, match="500 references to anchors in 1001 schemas are too many"):
        create_tool(ToolConfig(name="many", description="Many.", input_schema=schema(500), execute=dict))
