"""A contract with other descriptions, or another example, checks the same."""

import pytest

from tests.cases import each_case
from toolhaft.errors import DefinitionError
from toolhaft.schema import compile_raw, compile_type
from toolhaft.schema.problems import InvalidArguments, ValidArguments

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"description": "Old", "type": "string"},
        "days": {"type": "integer", "default": 3},
        "more": {"$ref": "#/$defs/More"},
        "any": True,
    },
    "required": ["city"],
    "$defs": {"More": {"type": "string"}},
}


def test_descriptions_are_put_in_a_copy():
    contract = compile_raw(SCHEMA)
    before = repr(contract.json_schema)
    other = contract.with_descriptions({"city": "Which", "days": "How many", "more": "More"})
    assert other.json_schema == {
        **SCHEMA,
        "properties": {
            "city": {"description": "Which", "type": "string"},
            "days": {"type": "integer", "default": 3, "description": "How many"},
            "more": {"$ref": "#/$defs/More", "description": "More"},
            "any": True,
        },
    }
    assert list(other.json_schema["properties"]) == list(SCHEMA["properties"])
    assert repr(contract.json_schema) == before


@each_case(
    "given", ['{"city": "Oslo"}', {"city": "Oslo", "days": "4"}, "{}", {"city": 5, "x": 1}, "nonsense", "[]"]
)
def test_a_reworded_contract_gives_the_same_verdicts(given):
    contract = compile_raw(SCHEMA)
    other = contract.with_descriptions({"city": "Which"})
    assert other.validate(given) == contract.validate(given)
    assert other.read(given) == contract.read(given)


def message(contract):
    verdict = contract.validate({})
    assert isinstance(verdict, InvalidArguments)
    return verdict.message


def test_example_and_descriptions_are_kept_by_each_other():
    contract = compile_raw(SCHEMA)
    one = contract.with_example({"city": "Bergen"}).with_descriptions({"city": "Which"})
    other = contract.with_descriptions({"city": "Which"}).with_example({"city": "Bergen"})
    assert message(one) == message(other) != message(contract)
    assert "Bergen" in message(one)
    assert one.json_schema == other.json_schema
    assert one.json_schema["properties"]["city"]["description"] == "Which"


def test_an_example_can_be_replaced_and_removed():
    contract = compile_raw(SCHEMA).with_example({"city": "Bergen"})
    assert "Oslo" in message(contract.with_example({"city": "Oslo"}))
    assert message(contract.with_example(None)) == message(compile_raw(SCHEMA))


def test_descriptions_of_types_can_be_replaced_too():
    contract = compile_type(None)
    assert isinstance(contract.with_descriptions({}).validate({}), ValidArguments)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"citi": "x"}, "parameter 'citi': there is no such parameter. Fix: did you mean 'city'?"),
        (
            {"zzz": "x"},
            "parameter 'zzz': there is no such parameter. Fix: the parameters are: city, days, more, any",
        ),
        ({"city": " "}, "parameter 'city': the description is not text. Fix: write at least a word"),
        ({"city": None}, "parameter 'city': the description is not text"),
        ({"any": "x"}, "parameter 'any': its schema is a boolean, which has no place for a description"),
    ],
)
def test_an_invalid_description_is_reported(words, told):
    with pytest.raises(DefinitionError) as caught:
        compile_raw(SCHEMA).with_descriptions(words)
    assert str(caught.value).startswith(told)


def test_without_parameters_no_description_is_accepted():
    with pytest.raises(DefinitionError, match="the parameters are: none"):
        compile_raw({"type": "object"}).with_descriptions({"a": "x"})
