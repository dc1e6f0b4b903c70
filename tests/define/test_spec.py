"""The fields of a ToolSpec, its strict check of inputs, and its JSON; invalid input first."""

import copy
import dataclasses
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import each_case
from tests.define.spec_examples import make_spec, make_tool, param
from toolhaft import ToolParam, ToolReturn, ToolSpec
from toolhaft.errors import DefinitionError, ToolValidationError
from toolhaft.schema import ValidArguments

TYPES = ("string", "integer", "number", "boolean", "array", "object")


def refusal(spec, raw):
    with pytest.raises(ToolValidationError) as caught:
        spec.check_inputs(raw)
    return str(caught.value)


@each_case(
    ("changes", "message"),
    [
        ({"name": ""}, "name: there is no name"),
        ({"name": None}, "name: there is no name"),
        ({"description": "  "}, "tool 'search', description: there is no description"),
        ({"when_to_use": ""}, "tool 'search', when_to_use: there is no when_to_use"),
        ({"inputs": []}, "tool 'search', inputs: there is no input"),
        ({"inputs": None}, "inputs: None is not a list"),
        ({"inputs": "query"}, "inputs: 'query' is not a list"),
        ({"inputs": [{"name": "query"}]}, "inputs[0]: {'name': 'query'} is not a ToolParam"),
        ({"inputs": [param(), param(" ")]}, "inputs[1].name: there is no name"),
        ({"inputs": [param(), param()]}, "inputs[1]: duplicate input 'query'"),
        ({"inputs": [param(), param(llm=False)]}, "duplicate input 'query'"),
        ({"inputs": [param(type="float")]}, "search.query has unsupported type 'float'"),
        ({"inputs": [param(type=["string"])]}, "search.query has unsupported type ['string']"),
        ({"inputs": [param(type=str)]}, "search.query has unsupported type <class 'str'>"),
        ({"inputs": [param(description=None)]}, "inputs[0].description: None is not a str"),
        ({"inputs": [param(required="no")]}, "inputs[0].required: 'no' is not a bool"),
        ({"inputs": [param(llm=0)]}, "inputs[0].llm: 0 is not a bool"),
        ({"returns": None}, "returns: None is not a ToolReturn"),
        ({"returns": ToolReturn(type="x", description="")}, "search.returns has unsupported type 'x'"),
        ({"returns": ToolReturn(type="array", description=3)}, "returns.description: 3 is not a str"),
    ],
)
def test_an_invalid_spec_is_refused_with_the_place(changes, message):
    with pytest.raises(DefinitionError, match=re.escape(message)) as caught:
        make_spec(**changes).validate()
    assert isinstance(caught.value, ValueError)
    assert caught.value.fix


@pytest.mark.parametrize("name", ["two words", ".hidden", "a" * 129, "naïve", "search\n"])
def test_a_spec_has_a_name_that_the_core_accepts(name):
    with pytest.raises(DefinitionError, match="is not a tool name"):
        make_spec(name=name).validate()


def test_a_well_formed_spec_validates_to_nothing():
    assert make_spec(*(param(kind, kind) for kind in TYPES)).validate() is None


def test_str_is_an_alias_of_string_everywhere():
    spec = make_spec(param(type="str"), returns=ToolReturn(type="str", description="A title"))
    spec.validate()
    assert spec == make_spec(returns=ToolReturn(type="string", description="A title"))
    assert spec.check_inputs({"query": "x"}) == {"query": "x"}
    assert "expected a string" in refusal(spec, {"query": 5})
    assert spec.to_json()["inputs"][0]["type"] == spec.to_json()["returns"]["type"] == "string"
    assert make_tool(spec).tool.input_schema["properties"]["query"]["type"] == "string"


@pytest.mark.parametrize("record", [make_spec(), param(), ToolReturn(type="array", description="")])
def test_the_records_of_a_spec_are_frozen_and_hashable(record):
    with pytest.raises(dataclasses.FrozenInstanceError):
        record.description = "other"
    assert hash(record) == hash(copy.copy(record))


def test_inputs_of_any_iterable_compare_equal():
    given_inputs = [param("a"), param("b")]
    spec = make_spec(inputs=given_inputs)
    given_inputs.clear()
    assert spec == make_spec(inputs=iter((param("a"), param("b"))))
    assert list(spec.inputs) == [param("a"), param("b")]


VALUES = ("", "5", 0, 5, -1, 2.5, 5.0, True, False, None, [], ["a"], (), {}, {"a": 1}, b"", float("nan"))
SEED_PREDICATES = {
    "string": lambda v: isinstance(v, str),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "boolean": lambda v: isinstance(v, bool),
    "array": lambda v: isinstance(v, list),
    "object": lambda v: isinstance(v, dict),
}


@each_case("kind", TYPES)
@each_case("value", VALUES, ids=repr)
def test_check_inputs_keeps_the_strict_predicates_of_seed_000(kind, value):
    spec = make_spec(param(type=kind))
    raw = {"query": value}
    if SEED_PREDICATES[kind](value):
        assert spec.check_inputs(raw) is raw
    else:
        assert "query: got " in refusal(spec, raw)


def test_all_problems_with_inputs_are_reported_at_once():
    spec = make_spec(param("query"), param("limit", "integer"), param("exact", "boolean", required=False))
    assert refusal(spec, {"limit": True, "exact": "yes", "qery": "x", "zzz": 1}) == (
        "tool 'search': The arguments are not valid, 5 problems:\n"
        "- arguments: missing required 'query'; expected a string\n"
        "- limit: got true; expected an integer\n"
        '- exact: got "yes"; expected true or false\n'
        "- arguments: unexpected \"qery\"; did you mean 'query'?\n"
        '- arguments: unexpected "zzz"; expected only query, limit, exact'
    )


@pytest.mark.parametrize("raw", [None, [], "{}", [("query", "x")], 5])
def test_inputs_that_are_not_a_dict_are_refused(raw):
    assert "expected a dict of inputs by name" in refusal(make_spec(), raw)


def test_a_key_that_is_not_text_is_unexpected():
    assert "unexpected 5; expected only query" in refusal(make_spec(), {"query": "x", 5: "y"})


def test_a_key_cannot_add_lines_to_the_message():
    message = refusal(make_spec(), {"query": "x", "a\n- query: fine": 1})
    assert len(message.splitlines()) == 2


def test_null_is_not_the_same_as_a_missing_input():
    assert "query: got null" in refusal(make_spec(param(required=False)), {"query": None})


def test_inputs_that_are_not_required_may_be_left_out():
    assert make_spec(param(required=False)).check_inputs({}) == {}


def test_a_hidden_input_is_refused_from_the_model():
    spec = make_spec(param(), param("db", "object", llm=False))
    assert spec.check_inputs({"query": "x"}) == {"query": "x"}
    assert 'unexpected "db", which is filled at run time' in refusal(spec, {"query": "x", "db": {}})
    assert "did you mean" not in refusal(spec, {"query": "x", "dbs": {}})


def test_a_tool_with_hidden_inputs_only_takes_none_from_the_model():
    spec = make_spec(param("db", "object", llm=False))
    assert spec.check_inputs({}) == {}
    assert "expected no inputs" in refusal(spec, {"zzz": 1})


def test_inputs_cannot_be_checked_against_a_type_that_is_not_supported():
    with pytest.raises(DefinitionError, match=r"search\.query has unsupported type 'float'"):
        make_spec(param(type="float")).check_inputs({"query": 2.5})


WRITTEN = {
    "name": "search",
    "description": "Searches the shelves",
    "when_to_use": "Use to find a book",
    "inputs": [{"name": "query", "type": "string", "description": "The query", "required": True}],
    "returns": {"type": "array", "description": "Titles"},
}


def without(name):
    return {key: value for key, value in WRITTEN.items() if key != name}


def with_param(**fields):
    return {**WRITTEN, "inputs": [{**WRITTEN["inputs"][0], **fields}]}


@each_case(
    ("data", "message"),
    [
        (None, "spec: null is not an object"),
        ([], "spec: [] is not an object"),
        ("[]", "spec: [] is not an object"),
        ("{", "spec: not JSON"),
        ('{"name": NaN}', "spec: not JSON"),
        ('{"name": "a", "name": "b"}', "spec: a key is given twice"),
        (without("returns"), "tool 'search', spec: there is no 'returns'"),
        (without("inputs"), "tool 'search', spec: there is no 'inputs'"),
        (without("name"), "spec: there is no 'name'"),
        ({**WRITTEN, "name": 5}, "name: 5 is not text"),
        ({**WRITTEN, "descripton": "x"}, "unknown field \"descripton\". Fix: did you mean 'description'?"),
        ({**WRITTEN, 5: "x"}, "unknown field 5. Fix: use name, description, when_to_use, inputs, returns"),
        ({**WRITTEN, "inputs": {}}, "tool 'search', inputs: {} is not a list"),
        ({**WRITTEN, "inputs": ["query"]}, "tool 'search', inputs[0]: \"query\" is not an object"),
        ({**WRITTEN, "inputs": [{"name": "query"}]}, "tool 'search', inputs[0]: there is no 'type'"),
        (with_param(required="yes"), "tool 'search', inputs[0].required: \"yes\" is not true or false"),
        (with_param(llm=None), "tool 'search', inputs[0].llm: null is not true or false"),
        (with_param(type="float"), "search.query has unsupported type 'float'"),
        (with_param(default=5), "tool 'search', inputs[0]: unknown field \"default\""),
        ({**WRITTEN, "returns": "array"}, "tool 'search', returns: \"array\" is not an object"),
        ({**WRITTEN, "returns": {"type": 5}}, "tool 'search', returns.type: 5 is not text"),
        ({**WRITTEN, "when_to_use": ""}, "there is no when_to_use"),
    ],
)
def test_malformed_json_is_refused_with_the_place(data, message):
    with pytest.raises(DefinitionError, match=re.escape(message)):
        ToolSpec.from_json(data)


def test_a_spec_is_written_with_the_fields_of_seed_000():
    assert make_spec().to_json() == WRITTEN


def test_only_a_hidden_input_is_written_as_such():
    spec = make_spec(param("db", "object", required=False, llm=False))
    assert spec.to_json()["inputs"] == [
        {"name": "db", "type": "object", "description": "The db", "required": False, "llm": False}
    ]


def test_flags_that_json_leaves_out_have_their_defaults():
    data = {**WRITTEN, "inputs": [{"name": "query", "type": "str", "description": "The query"}]}
    assert ToolSpec.from_json(data) == make_spec()


words = st.text(min_size=1).filter(str.strip)
params = st.builds(
    ToolParam,
    name=words,
    type=st.sampled_from((*TYPES, "str")),
    description=st.text(),
    required=st.booleans(),
    llm=st.booleans(),
)
specs = st.builds(
    ToolSpec,
    name=st.from_regex(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,127}", fullmatch=True),
    description=words,
    when_to_use=words,
    inputs=st.lists(params, min_size=1, max_size=5, unique_by=lambda one: one.name),
    returns=st.builds(ToolReturn, type=st.sampled_from(TYPES), description=st.text()),
)


@settings(max_examples=40)
@given(spec=specs)
def test_every_spec_comes_back_from_its_json(spec):
    assert ToolSpec.from_json(spec.to_json()) == spec
    assert ToolSpec.from_json(json.dumps(spec.to_json())) == spec


@settings(max_examples=40)
@given(spec=specs, data=st.data())
def test_the_tool_accepts_what_check_inputs_accepts(spec, data):
    values = {
        "string": st.text(),
        "integer": st.integers(-(2**53), 2**53),
        "number": st.floats(allow_nan=False, allow_infinity=False),
        "boolean": st.booleans(),
        "array": st.lists(st.integers(0, 9)),
        "object": st.dictionaries(st.text(), st.none()),
    }
    visible = [one for one in spec.inputs if one.llm]
    raw = {
        one.name: data.draw(values[one.type]) for one in visible if one.required or data.draw(st.booleans())
    }
    assert spec.check_inputs(raw) is raw
    assert make_tool(spec).tool.validate(raw) == ValidArguments(raw)
