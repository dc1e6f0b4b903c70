"""Arguments that fit no branch of a union: the branch that was meant is explained, by both engines alike."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal, TypedDict

from pydantic import BaseModel, Field, field_validator

from tests.cases import each_case
from toolhaft import InvalidArguments, Tool, ToolConfig, ValidArguments, create_tool, tool


class Cat(BaseModel):
    kind: Literal["cat"]
    name: str
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str
    breed: str


@dataclass
class Point:
    x: int
    y: int


@dataclass
class Label:
    x: str
    text: str


class Move(TypedDict):
    dx: int
    dy: int


class Turn(TypedDict):
    angle: float


class Leaf(BaseModel):
    kind: Literal["leaf"]
    value: int


class Branch(BaseModel):
    kind: Literal["branch"]
    children: list[Branch | Leaf]


class Hello(BaseModel):
    role: Literal["hello"]
    text: str


class Goodbye(BaseModel):
    role: Literal["goodbye"]
    text: str


class Unit(Enum):
    CELSIUS = "C"
    FAHRENHEIT = "F"


class TextPart(BaseModel):
    type: Literal["text"]
    text: str


class ImagePart(BaseModel):
    type: Literal["image_url"]
    image_url: dict[str, str]


Pet = Annotated[Cat | Dog, Field(discriminator="kind")]
ContentPart = Annotated[TextPart | ImagePart, Field(discriminator="type")]


def defined(annotation: object) -> Tool[Any, Any]:
    def take(it: object) -> None:
        """Take it."""

    take.__annotations__["it"] = annotation
    return tool(take)


def raw(schema: object) -> Tool[Any, Any]:
    return create_tool(
        ToolConfig(name="take", description="Take it.", input_schema=json.loads(json.dumps(schema)))
    )


def problems(made: Tool[Any, Any], arguments: object) -> list[str]:
    verdict = made.validate(json.dumps(arguments))
    assert isinstance(verdict, InvalidArguments), verdict
    return [str(problem) for problem in verdict.problems]


DOG_WITH_LIVES = {"kind": "dog", "name": "Rex", "lives": 9}


@each_case("annotation", [Cat | Dog, Cat | Dog | None, Pet, Cat | Dog | str | list[int]])
def test_a_tag_names_the_branch_whose_problems_are_listed(annotation):
    made = defined(annotation)
    assert problems(made, {"it": DOG_WITH_LIVES}) == [
        "it.breed: missing; expected a string",
        "it.lives: unknown key; expected only kind, name, breed",
    ]
    # nested objects of raw schemas are open
    assert problems(raw(made.input_schema), {"it": DOG_WITH_LIVES}) == [
        "it.breed: missing; expected a string"
    ]


@each_case(
    ("annotation", "value", "expected"),
    [
        (Cat | Dog, {"kind": "cat", "name": "a", "lives": "x"}, ['it.lives: got "x"; expected an integer']),
        (Cat | Dog, {"kind": "cow", "name": "a"}, ['it.kind: got "cow"; expected "cat" or "dog"']),
        (Cat | Dog, {"name": "a", "lives": 9}, ['it.kind: missing; expected "cat"']),
        (
            Cat | Dog,
            {},
            [
                "it: got {}; expected an object with kind, name, lives or an object with kind, name, breed",
            ],
        ),
        (Leaf | Cat | Dog, {"kind": 5}, ['it.kind: got 5; expected "leaf" or "cat" or "dog"']),
        (Hello | Goodbye, {"text": "a"}, ['it.role: missing; expected "hello" or "goodbye"']),
        (Cat | Dog, {"kind": "cat", "lives": 1}, ["it.name: missing; expected a string"]),
        (
            list[Cat | Dog] | str,
            [{"kind": "dog", "name": "a"}, {"kind": "cat", "name": 5, "lives": 3}],
            ["it[0].breed: missing; expected a string", "it[1].name: got 5; expected a string"],
        ),
        (
            dict[str, Cat | Dog],
            {"q": {"kind": "dog", "name": "a"}},
            ["it.q.breed: missing; expected a string"],
        ),
        (Point | Label, {"x": 1, "text": "a"}, ["it.x: got 1; expected a string"]),
        (Point | Label, {"x": 1}, ["it.y: missing; expected an integer"]),
        (Move | Turn, {"angle": "left"}, ['it.angle: got "left"; expected a number']),
        (Move | Turn, {"dx": 1}, ["it.dy: missing; expected an integer"]),
        ((Cat | Dog) | (Point | Label), {"x": 1, "text": "a"}, ["it.x: got 1; expected a string"]),
        (Point | None, {"x": "a", "y": 1}, ['it.x: got "a"; expected an integer']),
        (
            Branch | Leaf,
            {
                "kind": "branch",
                "children": [
                    {"kind": "leaf", "value": "x"},
                    {"kind": "branch", "children": [{"kind": "leaf"}]},
                ],
            },
            [
                'it.children[0].value: got "x"; expected an integer',
                "it.children[1].children[0].value: missing; expected an integer",
            ],
        ),
        (Unit | int, "K", ['it: got "K"; expected one of "C", "F" or an integer']),
        (list[int] | list[str], [1, "a", 2], ['it[1]: got "a"; expected an integer']),
        (dict[str, int] | dict[str, str], {"a": 1, "b": "c", "d": 3}, ['it.b: got "c"; expected an integer']),
        (
            Annotated[str, Field(min_length=3)] | Point,
            "ab",
            ['it: "ab" is too short; expected a string of at least 3 characters'],
        ),
        (ContentPart, {"type": "text", "text": 5}, ["it.text: got 5; expected a string"]),
        (Pet, {"name": "a", "lives": 9}, ['it.kind: missing; expected "cat" or "dog"']),
        (ContentPart, {"type": "text"}, ["it.text: missing; expected a string"]),
        (
            list[ContentPart],
            [{"type": "image_url", "image_url": {"url": 5}}, {"type": "zip"}],
            [
                "it[0].image_url.url: got 5; expected a string",
                'it[1].type: got "zip"; expected "text" or "image_url"',
            ],
        ),
    ],
)
def test_both_engines_explain_the_branch_that_was_meant(annotation, value, expected):
    made = defined(annotation)
    assert problems(made, {"it": value}) == expected
    assert problems(raw(made.input_schema), {"it": value}) == expected


def test_an_unknown_key_is_never_said_to_mean_itself():
    for annotation in (Cat | Dog, Pet, list[Cat | Dog], list[Pet], dict[str, Pet]):
        for item in (DOG_WITH_LIVES, {"kind": "cat", "breed": "x"}, {"lives": 1, "breed": "x"}):
            wrapped = {list[Cat | Dog]: [item], list[Pet]: [item], dict[str, Pet]: {"a": item}}
            value = wrapped.get(annotation, item)
            for line in problems(defined(annotation), {"it": value}):
                assert "did you mean" not in line


def test_closed_branches_of_a_raw_schema_list_their_own_keys_only():
    closed = {
        "type": "object",
        "properties": {"it": {"oneOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}]}},
        "$defs": {
            name: {
                "type": "object",
                "properties": {"kind": {"const": name.lower()}, own: {"type": "string"}},
                "required": ["kind", own],
                "additionalProperties": False,
            }
            for name, own in (("Cat", "lives"), ("Dog", "breed"))
        },
    }
    assert problems(raw(closed), {"it": {"kind": "dog", "lives": "9"}}) == [
        "it.breed: missing; expected a string",
        "it.lives: unknown key; expected only kind, breed",
    ]


@each_case("mapping", [{"cat": "#/$defs/Cat", "dog": "#/$defs/Dog"}, None])
def test_a_declared_discriminator_names_the_branch_without_constants(mapping):
    discriminator: dict[str, Any] = {"propertyName": "species"}
    if mapping is not None:
        discriminator["mapping"] = mapping
    schema = {
        "type": "object",
        "properties": {
            "it": {
                "oneOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}],
                "discriminator": discriminator,
            }
        },
        "$defs": {
            name: {
                "type": "object",
                "properties": {"species": {"type": "string"}, own: {"type": "integer"}},
                "required": ["species", own],
            }
            for name, own in (("Cat", "lives"), ("Dog", "age"))
        },
    }
    species = "dog" if mapping else "Dog"
    # by the number of problems alone it would be a cat
    given = {"it": {"species": species, "lives": "many"}}
    assert problems(raw(schema), given) == ["it.age: missing; expected an integer"]


def test_the_properties_beside_a_union_are_known_in_its_branches():
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "string"}},
        "anyOf": [{"required": ["a"]}, {"required": ["b"], "properties": {"c": {"type": "integer"}}}],
    }
    assert problems(raw(schema), {"c": 1}) == ["b: missing; expected a string"]


def test_a_check_of_the_author_is_reported_in_the_branch_that_was_meant():
    class Even(BaseModel):
        kind: Literal["even"]
        number: int

        @field_validator("number")
        @classmethod
        def check(cls, value: int) -> int:
            if value % 2:
                raise ValueError("odd numbers are not even")
            return value

    made = defined(Even | Cat)
    assert problems(made, {"it": {"kind": "even", "number": 3}}) == ["it.number: odd numbers are not even"]


def test_what_a_repair_fixes_is_not_a_problem_when_something_else_is():
    def take(it: Cat | Dog | None, number: Annotated[int, Field(ge=0)], at: Point, limit: int = 3) -> None:
        """Take it."""

    made = tool(take)
    cat = {"kind": "cat", "name": "a", "lives": "9"}
    cases: list[tuple[dict[str, object], list[str]]] = [
        ({"number": "5", "at": {"x": 1, "y": 2}}, ["it: missing; expected {pet}"]),
        ({"number": "5", "at": '{"x": 1, "y": "2"}', "limit": None}, ["it: missing; expected {pet}"]),
        ({"it": cat, "number": 5.0}, ["at: missing; expected an object with x, y"]),
        ({"it": cat, "number": "-5", "at": {"x": 1, "y": 2}}, ["number: -5 is too small; expected {number}"]),
        ({"it": None, "number": "1", "at": '{"x": 1, "y": "q"}'}, ['at.y: got "q"; expected an integer']),
    ]
    pet = "an object with kind, name, lives or an object with kind, name, breed or null"
    texts = {"{pet}": pet, "{number}": "an integer of at least 0"}
    for engine in (made, raw(made.input_schema)):
        for arguments, expected in cases:
            for mark, text in texts.items():
                expected = [line.replace(mark, text) for line in expected]  # noqa: PLW2901 -- filled in
            assert problems(engine, arguments) == expected
    valid = made.validate(json.dumps({"it": cat, "number": "5", "at": '{"x": 1, "y": 2}'}))
    assert isinstance(valid, ValidArguments)
    assert len(valid.repairs) == 3


def test_the_problems_of_a_union_in_many_items_are_all_of_the_branch_that_was_meant():
    branches = [
        {
            "type": "object",
            "properties": {"kind": {"const": f"k{number}"}, **{f"p{number}_{i}": {} for i in range(20)}},
            "required": ["kind", *(f"p{number}_{i}" for i in range(20))],
        }
        for number in range(12)
    ]
    schema = {"type": "object", "properties": {"it": {"type": "array", "items": {"anyOf": branches}}}}
    found = problems(raw(schema), {"it": [{"kind": "k3"}] * 3})
    assert len(found) == 60
    assert all(".p3_" in line for line in found)


def test_keys_that_are_empty_or_numbers_are_found_in_unions_too():
    numbers = {"type": "array", "items": {"type": "integer"}}
    schema = {"type": "object", "additionalProperties": {"anyOf": [numbers, {"type": "null"}]}}
    made = Tool(
        name="find", description="Find.", input_schema={"type": "object", "properties": {"it": schema}}
    )
    both = {"": {"a": ["c"]}, "a": [1]}
    deep = {"type": "object", "properties": {"": schema}, "additionalProperties": numbers}
    nested = Tool(
        name="find", description="Find.", input_schema={"type": "object", "properties": {"it": deep}}
    )
    assert problems(nested, {"it": both}) == ['it..a[0]: got "c"; expected an integer']
    lines = {"": "it.[0]", "0": "it.0[0]", "a": "it.a[0]"}
    for key, path in lines.items():
        assert problems(made, {"it": {key: ["c"]}}) == [f'{path}: got "c"; expected an integer']
    assert problems(made, {"it": {"": "c"}}) == [
        'it.: got "c"; expected an array, each an integer or null',
    ]
