"""An integer that is written with a fraction or an exponent is read exactly, by both engines."""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from tests.cases import each_case, in_case
from toolhaft import InvalidArguments, Tool, ToolConfig, ValidArguments, create_tool, tool
from toolhaft.define.yaml import parse_tool


class Level(IntEnum):
    LOW = 1
    HIGH = 100


class Model(BaseModel):
    number: int = 0


@dataclass
class Params:
    number: int = 0
    numbers: list[int] = field(default_factory=list)


@tool
def take(  # noqa: PLR0917 -- one parameter for each kind of type
    number: int = 0,
    numbers: list[int] = [],  # noqa: B006 -- copied for each call
    model: Model | None = None,
    level: Level = Level.LOW,
    choice: Literal[1, 100] = 1,
    bounded: Annotated[int, Field(ge=0, le=10**40)] = 0,
    either: int | str = 0,
) -> None:
    """Take numbers."""


RAW = create_tool(ToolConfig(name="raw", description="Raw.", input_schema=take.input_schema))
TYPED: Tool[Any, Any] = Tool[Params, None](name="typed", description="Typed.")
YAML = parse_tool(
    "id: a\nname: A\ndescription: D.\nparameters:\n"
    "  - {name: number, type: integer, description: N., required: false}\n"
)
WRITTEN = [
    ("1e30", 10**30),
    ("1E+2", 100),
    ("1.0", 1),
    ("-0.0", 0),
    ("-1e25", -(10**25)),
    ("9007199254740993.0", 9007199254740993),
    ("1.2345678901234567890123e22", 12345678901234567890123),
    ("100e-2", 1),
    ("0e999999999", 0),
    ("1e308", 10**308),
    ("1." + "0" * 300, 1),
]


def get(valid, name="number"):
    assert isinstance(valid, ValidArguments), valid
    params = valid.params
    return params[name] if isinstance(params, dict) else getattr(params, name)


@each_case("text, exact", WRITTEN)
def test_integers_written_with_an_exponent_or_a_fraction_are_exact_in_every_definition(text, exact):
    for made in (take, RAW, TYPED, YAML):
        with in_case(made.name):
            valid = made.validate(f'{{"number": {text}}}')
            assert (get(valid), type(get(valid))) == (exact, int)
            (repair,) = valid.repairs
            assert (repair.path, repair.now) == ("number", exact)
            assert get(made.validate(f'{{"number": "{text}"}}')) == exact  # a string that is JSON


@each_case("text, exact", WRITTEN)
def test_exact_integers_at_every_depth(text, exact):
    inside = f'{{"numbers": [1, {text}], "model": {{"number": {text}}}, "either": {text}}}'
    for made in (take, RAW):
        with in_case(made.name):
            valid = made.validate(inside)
            assert get(valid, "numbers") == [1, exact]
            model = get(valid, "model")
            assert (model["number"] if isinstance(model, dict) else model.number) == exact
            again = made.validate(f'{{"numbers": "[1, {text}]", "model": "{{\\"number\\": {text}}}"}}')
            assert get(again, "numbers") == [1, exact]


@each_case(
    "text", ["1.5", "1e-5", "0.99999999999999999999", "1e-999999999", "1." + "0" * 50 + "1", "1." + "0" * 500]
)
def test_what_is_not_an_integer_stays_refused(text):
    for made in (take, RAW, TYPED, YAML):
        with in_case(made.name):
            assert isinstance(made.validate(f'{{"number": {text}}}'), InvalidArguments)
            assert isinstance(made.validate(f'{{"number": "{text}"}}'), InvalidArguments)


@each_case("text", ["1e309", "1e999999999", "-1e999999999", "1" * 5000 + "e5"])
def test_numbers_beyond_all_floats_are_refused(text):
    for made in (take, RAW, TYPED, YAML):
        with in_case(made.name):
            assert isinstance(made.validate(f'{{"number": {text}}}'), InvalidArguments)


def test_choices_and_bounds_hold_for_exact_integers():
    for made in (take, RAW):
        with in_case(made.name):
            assert get(made.validate('{"level": 1e2}'), "level") == Level.HIGH
            assert get(made.validate('{"choice": 1e2}'), "choice") == 100
            assert get(made.validate('{"bounded": 1e40}'), "bounded") == 10**40
            assert isinstance(made.validate('{"bounded": 1.1e40}'), InvalidArguments)
            assert isinstance(made.validate('{"number": true}'), InvalidArguments)


def test_numbers_stay_as_they_are_where_a_number_is_wanted():
    @tool
    def weigh(weight: float, anything: Any = None) -> None:
        """Weigh."""

    raw = create_tool(ToolConfig(name="raw", description="Raw.", input_schema=weigh.input_schema))
    for made in (weigh, raw):
        valid = made.validate('{"weight": 1e30, "anything": 1e30}')
        assert (get(valid, "weight"), get(valid, "anything"), valid.repairs) == (1e30, 1e30, ())
