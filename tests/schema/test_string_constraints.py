"""Rules of pydantic that change a text are applied as pydantic applies them, in every kind of type."""

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, NamedTuple, NotRequired

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    constr,
    with_config,
)
from typing_extensions import TypedDict

from tests.cases import each_case
from toolhaft import Tool, ValidArguments, tool
from toolhaft.formats import export_tools

Stripped = Annotated[str, StringConstraints(strip_whitespace=True)]
Lower = Annotated[str, StringConstraints(to_lower=True)]
Code = Annotated[
    str,
    StringConstraints(strip_whitespace=True, to_lower=True, min_length=2, max_length=3, pattern="^[A-Z]+$"),
]


class Configured(BaseModel):
    model_config = ConfigDict(str_strip_whitespace=True, str_to_lower=True)
    a: str


@with_config(ConfigDict(str_strip_whitespace=True))
class ConfiguredDict(TypedDict):
    a: str


@dataclass
class ConfiguredData:
    __pydantic_config__ = ConfigDict(str_to_upper=True)
    a: str


@dataclass
class Data:
    a: Stripped
    b: Lower = "X"


class Dict(TypedDict):
    a: Stripped
    b: NotRequired[Lower]


class Pair(NamedTuple):
    a: Stripped
    b: Lower = "x"


TEXTS = [" Ab ", "ab", "ABCD", " A ", "AB  ", "", " ABC "]
OBJECTS = [{"a": " Ab "}, {"a": "B"}]
LISTS = [[" A "], [" Ab ", "c"]]


@each_case(
    "annotation, values",
    [
        (Stripped, TEXTS),
        (Lower, TEXTS),
        (Code, TEXTS),
        (constr(strip_whitespace=True, to_upper=True, min_length=1), TEXTS),
        (Annotated[Stripped, Field(min_length=2)], TEXTS),
        (Annotated[str, Field(min_length=2), StringConstraints(strip_whitespace=True)], TEXTS),
        (Annotated[str, "A text.", StringConstraints(to_lower=True)], TEXTS),
        (Annotated[str, StringConstraints(strict=False, to_lower=True)], TEXTS),
        (Annotated[str, StringConstraints(strip_whitespace=False, to_upper=None)], TEXTS),
        (Annotated[str | None, StringConstraints(strip_whitespace=True)], [*TEXTS, None]),
        (Stripped | None, [*TEXTS, None]),
        (Lower | int, [*TEXTS, 5]),
        (list[Stripped], LISTS),
        (tuple[Lower, ...], LISTS),
        (set[Lower], LISTS),
        (Annotated[list[Code], Field(max_length=1)], LISTS),
        (dict[str, Code], OBJECTS),
        (dict[Lower, int], [{"A": 1}]),
        (Configured, OBJECTS),
        (ConfiguredDict, OBJECTS),
        (ConfiguredData, OBJECTS),
        (Data, [*OBJECTS, {"a": " A ", "b": "Y"}]),
        (Dict, [*OBJECTS, {"a": " A ", "b": "Y"}]),
        (Pair, [[" A "], [" A ", "B"]]),
        (Annotated[Decimal, Field(max_digits=3)], [1, 1234, "1.25", "12.34"]),
        (Annotated[Decimal, Field(decimal_places=1)], [1, 1.5, 1.25, "1.25"]),
    ],
)
def test_rules_that_change_a_text_are_applied_as_pydantic_does(annotation, values):
    def take(value: Any) -> None:
        """Take."""

    take.__annotations__["value"] = annotation
    made = tool(take)
    for value in values:
        text = json.dumps(value)
        try:
            wanted = TypeAdapter(annotation).validate_json(text, strict=True)
        except ValidationError:
            assert not isinstance(made.validate(f'{{"value": {text}}}'), ValidArguments), text
        else:
            assert made.validate({"value": value}).params == {"value": wanted}


@each_case("params", [Configured, ConfiguredDict, ConfiguredData, Data, Dict])
def test_rules_that_change_a_text_hold_for_the_parameters_of_typed_tools(params):
    made: Tool[Any, Any] = Tool[params, None](name="typed", description="Typed.")
    assert made.validate({"a": " Ab "}).params == TypeAdapter(params).validate_python({"a": " Ab "})


def test_rules_of_a_field_default_join_those_of_the_type():
    @tool
    def take(value: Stripped = Field("x", min_length=2)) -> None:  # noqa: B008 -- pydantic's way to declare it
        """Take."""

    assert take.validate({"value": " ab "}).params == {"value": "ab"}
    assert not isinstance(take.validate({"value": " a "}), ValidArguments)


def test_schema_and_example_of_changed_texts_are_those_of_the_sent_text():
    @tool
    def take(value: Code) -> None:
        """Take."""

    assert take.input_schema["properties"]["value"] == {
        "type": "string",
        "minLength": 2,
        "maxLength": 3,
        "pattern": "^[A-Z]+$",
    }
    assert isinstance(take.validate(take.validate({}).example), ValidArguments)
    assert [loss.keyword for loss in export_tools([take], "openai_chat").losses] == ["output_schema"]
