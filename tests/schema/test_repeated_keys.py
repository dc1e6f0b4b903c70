"""No text with a repeated key is accepted: at any depth, of any length, with any escape, alias or type."""

import dataclasses
import json
from dataclasses import dataclass, field
from random import Random
from typing import Annotated, Any, Generic, Literal, NamedTuple, NotRequired, TypeVar, Union

import pytest
from pydantic import (
    AfterValidator,
    AliasChoices,
    AliasPath,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    RootModel,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic.dataclasses import dataclass as pydantic_dataclass
from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from benchmarks.shapes import shapes
from tests.cases import in_case
from toolhaft import Tool, ToolConfig, ValidArguments, create_tool, tool
from toolhaft.schema import typed
from toolhaft.schema.contract import Contract
from toolhaft.schema.json_text import SHORT_TEXT, has_repeated_key, keys_in_text, most_keys, read_json
from toolhaft.schema.typed import compile_type

JSON = dict[str, Any]


class Sub(BaseModel):
    a: int = 1
    b: str = "b"


class Pair2(BaseModel):
    x: int
    y: int


class Pathed(BaseModel):
    first: int = Field(validation_alias=AliasPath("x", 0))
    second: int = Field(validation_alias=AliasPath("x", 1))
    third: int = Field(0, validation_alias=AliasPath("x", 2))


class PathedByKey(BaseModel):
    first: int = Field(validation_alias=AliasPath("x", "p"))
    second: int = Field(validation_alias=AliasPath("x", "p"))
    third: int = Field(validation_alias=AliasPath("x", "p"))
    other: int = Field(0, validation_alias=AliasChoices("o", AliasPath("x", "q")))


class SameAlias(BaseModel):
    one: int = Field(alias="x")
    two: int = Field(alias="x")


class SharedChoices(BaseModel):
    one: int = Field(validation_alias=AliasChoices("x", "y"))
    two: int = Field(validation_alias=AliasChoices("x", "z"))


class ByName(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    x: int = 0
    y: int = Field(0, alias="x")
    z: Sub = Field(Sub(a=1, b="c"), alias="w")


class Generated(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    first_name: str
    sub_model: Sub | None = None


class OpenAliased(BaseModel):
    model_config = ConfigDict(extra="allow")

    sub: Sub = Field(Sub(a=1, b="c"), alias="s")
    name: str = ""


class Adding(BaseModel):
    """Its validator adds keys that were not sent."""

    a: int
    b: int = 0

    @model_validator(mode="before")
    @classmethod
    def add(cls, given: Any) -> Any:
        return {"a": 1, "b": 2, **given}


class Mutating(BaseModel):
    """Its validators set fields that were not sent, in this model and in the models inside."""

    sub: Sub
    c: int = 0

    @model_validator(mode="after")
    def change(self) -> "Mutating":
        self.sub.a = self.sub.b = self.c = 5  # type: ignore[assignment] -- not validated
        return self


class MutatingOthers(BaseModel):
    sub: Sub
    c: int

    @field_validator("c")
    @classmethod
    def change(cls, value: int, info: ValidationInfo) -> int:
        info.data["sub"].a = info.data["sub"].b = value
        return value


class Replacing(BaseModel):
    sub: Pair2 | None
    c: int

    @field_validator("c")
    @classmethod
    def change(cls, value: int, info: ValidationInfo) -> int:
        info.data["sub"] = Pair2(x=1, y=2)
        return value


class AfterInit(BaseModel):
    sub: Sub
    c: int = 0

    def model_post_init(self, context: object) -> None:
        self.c = self.sub.a = 3


class OwnInit(BaseModel):
    a: int
    b: int

    def __init__(self, **given: Any) -> None:
        super().__init__(**{"b": 7, **given})


class Filled(TypedDict):
    a: int
    b: NotRequired[Annotated[int, Field(default=3)]]


class Holder(BaseModel):
    filled: Filled
    deeper: dict[str, list[Filled]] = {}


@dataclass
class Plain:
    name: str
    count: int = 1
    sub: Sub = field(default_factory=Sub)


@dataclass
class Changing:
    """It changes what it was given, and itself."""

    sub: Sub
    parts: list[Plain] = field(default_factory=list)
    by_name: dict[str, Plain] | None = None

    def __post_init__(self) -> None:
        self.sub.a = self.sub.b = 5  # type: ignore[assignment] -- not validated
        self.parts = self.parts * 3


@pydantic_dataclass
class Checked:
    name: str
    count: int = 1
    sub: Sub | None = None
    code: Annotated[str, AfterValidator(str.strip)] = Field(" x ", validate_default=True)


@pydantic_dataclass
class CheckedChanging:
    first: str = " one "
    second: int = 1
    third: str = "three"

    @field_validator("third")
    @classmethod
    def change(cls, value: str, info: ValidationInfo) -> str:
        info.data["first"] = info.data["second"] = 5
        return value


@pydantic_dataclass(config=ConfigDict(validate_default=True, str_strip_whitespace=True))
class CheckedDefaults:
    first: str = " one "
    second: list[int] = Field(default_factory=list)


class Pair(NamedTuple):
    left: Sub
    right: Sub


class Circle(BaseModel):
    kind: Literal["circle"]
    radius: float = 1.0
    sub: Sub | None = None


class Square(BaseModel):
    kind: Literal["square"]
    side: float = 1.0


class Tree(BaseModel):
    title: str = ""
    children: list["Tree"] = []
    named: dict[str, "Tree"] | None = None


class Roots(RootModel[list[Sub]]):
    pass


T = TypeVar("T")


class Page(BaseModel, Generic[T]):
    items: list[T]
    next: T | None = None


class Grown(Sub):
    c: list[Sub] = []


def _grown(value: object) -> object:
    return Sub(a=1, b="c")


Shape = Annotated[Circle | Square, Field(discriminator="kind")]
SUB = {"a": 1, "b": "x"}
TYPES: list[tuple[Any, list[Any]]] = [
    (Sub, [SUB, {"a": 2}, {}]),
    (Sub | None, [SUB, None]),
    (Grown, [{"a": 1, "c": [SUB, {}, {"b": ":"}]}]),
    (list[Sub], [[SUB, {"a": 1}], [SUB] * 12]),
    (list[Sub | None], [[SUB, None, {"a": 1}], [SUB, None] * 12]),
    (dict[str, tuple[Sub | None, int, dict[str, int]]], [{"k": [SUB, 1, {"x": 1}], ":": [None, 2, {}]}]),
    (dict[str, Sub], [{"k": SUB, ":": {}}, {str(number): {"a": 1} for number in range(12)}]),
    (list[Grown], [[{"b": "x", "c": [SUB]}] * 10]),
    (list[list[Grown]], [[[{"c": [SUB]}] * 5] * 3]),
    (dict[str, dict[str, int]], [{"k": {"a": 1, "b": 2}, "l": {}}]),
    (tuple[Sub, int, Sub], [[SUB, 1, {}]]),
    (tuple[Sub, ...], [[SUB, {}, {"a": 1}]]),
    (Pair, [[SUB, {"a": 1}]]),
    (Pathed, [{"x": [1, 2]}, {"x": [1, 2, 3]}]),
    (list[Pathed], [[{"x": [1, 2]}] * 9]),
    (PathedByKey, [{"x": {"p": 1}}, {"x": {"p": 1, "q": 2}}, {"o": 3, "x": {"p": 1}}]),
    (SameAlias, [{"x": 1}]),
    (SharedChoices, [{"x": 1}, {"y": 1, "z": 2}]),
    (ByName, [{"x": 1}, {"w": SUB, "x": 2}, {}]),
    (Generated, [{"firstName": "x", "subModel": SUB}, {"first_name": ":", "sub_model": {"a": 1}}]),
    (OpenAliased, [{"name": "x", "more": {"deep": [SUB]}}, {"sub": 5}, {"s": SUB, "sub": {"q": 1}}]),
    (list[OpenAliased], [[{"sub": 5}] * 9]),
    (Adding, [{"a": 1}, {}, {"b": 2}]),
    (Mutating, [{"sub": {}}, {"sub": {"a": 1}}]),
    (MutatingOthers, [{"sub": {}, "c": 1}]),
    (Replacing, [{"sub": None, "c": 1}]),
    (AfterInit, [{"sub": {}}, {"sub": {"a": 1}, "c": 2}]),
    (OwnInit, [{"a": 1}, {"a": 1, "b": 2}]),
    (Holder, [{"filled": {"a": 1}}, {"filled": {"a": 1, "b": 2}, "deeper": {"k": [{"a": 1}]}}]),
    (Filled, [{"a": 1}, {"a": 1, "b": 2}]),
    (Plain, [{"name": "x"}, {"name": ":", "count": 2, "sub": {"a": 1}}]),
    (list[Plain], [[{"name": "x"}, {"name": "y", "sub": SUB}]]),
    (Plain | int, [{"name": "x", "count": 2}, 5]),
    (Changing, [{"sub": {}}, {"sub": SUB, "parts": [{"name": "x"}], "by_name": {"k": {"name": "y"}}}]),
    (Checked, [{"name": "x"}, {"name": "x", "count": 2, "sub": {"a": 1}}]),
    (list[Checked], [[{"name": ":", "count": 2, "sub": SUB}, {"name": "x"}, {"name": "y", "count": 1}]]),
    (CheckedChanging, [{}, {"third": "x"}, {"first": "x", "second": 2}]),
    (CheckedDefaults, [{}, {"first": "x"}, {"second": [1]}]),
    (Shape, [{"kind": "circle", "sub": SUB}, {"kind": "square"}]),
    (list[Shape], [[{"kind": "circle", "sub": {}}, {"kind": "square", "side": 2.0}] * 6]),
    (Union[Sub, list[Sub], str, int], [SUB, [SUB, {}], ":", 5]),
    (Union[Circle, dict[str, int]], [{"kind": "circle"}, {"x": 1, "y": 2}]),
    (Sub | Annotated[str, AfterValidator(_grown)], [SUB, ":"]),
    (Sub | Annotated[int, BeforeValidator(lambda given: 5)], [SUB, {"z": {"y": 1}}]),
    (Annotated[Sub, AfterValidator(_grown)], [{"a": 1}, {}]),
    (Tree, [{"title": ":", "children": [{"children": [{}, {"title": "x"}], "named": {"k": {}}}]}]),
    (Roots, [[SUB, {}]]),
    (Page[Sub], [{"items": [SUB, {"a": 1}], "next": {}}]),
    (Any, [{"k": [{"z": 1, "y": {}}], "l": None}]),
    (dict[str, JsonValue], [{"k": [{"z": 1, "y": {}}], "l": None}]),
    (dict, [{"k": [{"z": 1, "y": {}}], "l": None}]),
    (list, [[{"z": 1, "y": {}}, [{"x": ":"}]]]),
]  # fmt: skip


def _typed(annotation: Any) -> Tool[Any, Any]:
    def take(value, note="", other=None):
        """Take a value."""

    take.__annotations__ = {"value": annotation, "note": str, "other": annotation | None if isinstance(annotation, type) else Any}  # fmt: skip
    return tool(take)


def _aliased() -> Tool[Any, Any]:
    """Two parameters with the same alias."""

    def take(one, two):
        """Take a value."""

    take.__annotations__ = {"one": Annotated[int, Field(alias="value")], "two": Annotated[int, Field(alias="value")]}  # fmt: skip
    return tool(take)


def _raw(schema: JSON) -> Tool[Any, Any]:
    return create_tool(ToolConfig(name="take", description="Take.", input_schema=schema))


def _reference(text: str) -> bool:
    """True if an object has a key twice, by the parser of the standard library."""
    found = False

    def see(pairs: list[tuple[str, object]]) -> None:
        nonlocal found
        found = found or len({key for key, _ in pairs}) < len(pairs)

    json.loads(text, object_pairs_hook=see)
    return found


def _keys_of(pairs: list[tuple[str, Any]]) -> int:
    """The keys of an object whose members are other objects, in lists or not, that were counted already."""
    members = [member for _, part in pairs for member in (part if isinstance(part, list) else [part])]
    return len(pairs) + sum(member for member in members if isinstance(member, int))


class Writer:
    """Writes a value as JSON text in a random way, with random escapes, spaces and repeated keys."""

    def __init__(self, random: Random, repeats: float) -> None:
        self.random = random
        self.repeats = repeats

    def write(self, value: Any) -> str:
        if isinstance(value, dict):
            members = [(key, item) for key, item in value.items() for _ in range(self._times())]
            self.random.shuffle(members) if self.random.random() < 0.3 else None
            listed = [
                f"{self._string(key)}{self._space()}:{self._space()}{self.write(item)}"
                for key, item in members
            ]
            return "{" + f",{self._space()}".join(listed) + "}"
        if isinstance(value, list):
            return "[" + f",{self._space()}".join(map(self.write, value)) + "]"
        return self._string(value) if isinstance(value, str) else json.dumps(value)

    def _times(self) -> int:
        return self.random.choice((2, 2, 3)) if self.random.random() < self.repeats else 1

    def _space(self) -> str:
        return self.random.choice(("", "", "", " ", "\n", "\t", "\r\n "))

    def _string(self, text: str) -> str:
        return '"' + "".join(map(self._letter, text)) + '"'

    def _letter(self, letter: str) -> str:
        if self.random.random() < 0.1:
            return f"\\u{ord(letter):04{self.random.choice('xX')}}"
        return json.dumps(letter)[1:-1]


NOTES = ("", "plain", ":", '":', '\\":', "a: b", '{"a":1,"a":1}', "\\u003a", "é\n", "\\", '"')


def _texts(arguments: JSON, seed: int) -> list[str]:
    random = Random(seed)  # noqa: S311 -- test data
    made: list[str] = []
    for repeats in (0.0, 0.15, 0.6):
        given = {**arguments, "note": random.choice(NOTES)} if "note" in arguments else arguments
        made.append(Writer(random, repeats).write(given))
    return made


def _check(made: Tool[Any, Any] | Contract, text: str) -> bool:
    """Check one text; returns whether it has a repeated key."""
    is_repeated = _reference(text)
    accepted = isinstance(made.validate(text), ValidArguments)
    assert not (accepted and is_repeated), f"accepted: {text[:2000]}"
    assert accepted or is_repeated, f"refused: {text[:2000]} {made.validate(text)}"
    return is_repeated


def test_no_repeated_key_is_accepted_in_any_type():
    for annotation, values in TYPES:
        made = _typed(annotation)
        for value in values:
            with in_case(f"{annotation} {value}"):
                arguments = {"value": value, "note": ""}
                found = [_check(made, text) for seed in range(12) for text in _texts(arguments, seed)]
                assert set(found) == {True, False}


def test_no_repeated_key_is_accepted_in_long_texts():
    for number, (annotation, values) in enumerate(TYPES):
        made = _typed(annotation)
        with in_case(str(annotation)):
            for seed, filler in enumerate(("\\u003a", ("x", ":", '\\":', "\\u003A\\n")[number % 4])):
                note = filler * (SHORT_TEXT // len(filler) + 1)
                for text in _texts({"value": values[seed % len(values)]}, 100 * number + seed):
                    _check(made, f'{{"note": "{note}", {text[1:]}')


RAW: list[tuple[JSON, JSON]] = [
    ({"properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}, {"a": 1, "b": ":"}),
    ({"properties": {"o": {"type": "object"}, "l": {"type": "array"}}}, {"o": {"x": {"y": 1}}, "l": [{"z": 1}]}),
    ({"properties": {"o": {"type": "object", "additionalProperties": {"type": "string"}}}}, {"o": {"x": ":", "y": ""}}),
    ({"properties": {"o": {"type": "object", "additionalProperties": {"type": "integer"}}}}, {"o": {"x": 1, "y": 2}}),
    ({"properties": {"o": {"type": "object", "additionalProperties": {"type": "object", "properties": {"a": {}}}}}}, {"o": {"x": {"a": {"b": 1}}, "y": {}}}),
    ({"properties": {"o": {"anyOf": [{"type": "object"}, {"type": "null"}]}, "n": {}}}, {"o": {"x": 1}, "n": None}),
    ({"properties": {"o": {"oneOf": [{"type": "object", "properties": {"x": {"type": "integer"}}}, {"type": "array"}]}}}, {"o": {"x": 1}}),
    ({"properties": {"l": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "integer"}}}}}}, {"l": [{"a": 1}, {"a": 2, "more": {"x": 1}}]}),
    ({"properties": {"l": {"type": "array", "prefixItems": [{"type": "object"}, {"type": "integer"}]}}}, {"l": [{"a": 1}, 2]}),
    ({"properties": {"a": {}}, "patternProperties": {"^x": {"type": "object"}}, "additionalProperties": False}, {"a": 1, "xy": {"z": 1}}),
    ({"properties": {"a": {"$ref": "#/$defs/t"}}, "$defs": {"t": {"type": "object", "properties": {"t": {"$ref": "#/$defs/t"}}}}}, {"a": {"t": {"t": {}}}}),
]  # fmt: skip


def test_no_repeated_key_is_accepted_by_a_raw_schema():
    for schema, value in RAW:
        made = _raw({"type": "object", **schema})
        with in_case(schema):
            for text in [text for seed in range(20) for text in _texts(value, seed)]:
                _check(made, text)
                if "a" in value:
                    continue
                note = "\\u003a" * (SHORT_TEXT // 6)
                _check(_raw({"type": "object", "properties": {**schema["properties"], "note": {}}}), f'{{"note": "{note}", {text[1:]}')  # fmt: skip


def test_no_repeated_key_is_accepted_at_the_root_of_a_type():
    for annotation, values in TYPES:
        is_record = isinstance(annotation, type) and issubclass(annotation, BaseModel | RootModel)
        is_record = is_record or dataclasses.is_dataclass(annotation) or annotation is Filled
        if not is_record or annotation is Roots:
            continue
        made = compile_type(annotation)
        with in_case(str(annotation)):
            for value in values:
                for text in [text for seed in range(12) for text in _texts(value, seed)]:
                    _check(made, text)


def test_parameters_that_share_an_alias_need_no_repeated_key():
    made = _aliased()
    assert isinstance(made.validate('{"value": 1}'), ValidArguments)
    assert not isinstance(made.validate('{"value": 1, "value": 1}'), ValidArguments)


def test_keys_in_any_text_are_counted_as_the_standard_library_does():
    random = Random(5)  # noqa: S311 -- test data
    for _ in range(300):
        value = {random.choice(NOTES): random.choice(NOTES) for _ in range(4)}
        text = Writer(random, 0.2).write({"k": value, "l": [value, {":": value}]})
        assert most_keys(text) >= keys_in_text(text)
        assert keys_in_text(text) == json.loads(f"[{text}]", object_pairs_hook=_keys_of)[0]
        assert has_repeated_key(text, read_json(text)) == _reference(text)


def test_no_common_signature_is_parsed_twice(monkeypatch: pytest.MonkeyPatch):
    """Its value shows how many keys were given, and so its text is not read again."""
    monkeypatch.setattr(typed, "read_json", lambda _: pytest.fail("it was parsed again"))
    listed = shapes()
    assert len(listed) >= 30
    for name, function, text in listed:
        with in_case(name):
            for spelled in (
                text,
                json.dumps(json.loads(text), indent=1),
                json.dumps(json.loads(text), separators=(",", " : ")),
            ):
                assert isinstance(tool(function).validate(spelled), ValidArguments)
