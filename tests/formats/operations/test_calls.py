"""Calls in and out, whichever the wire: what is turned back, what is marked malformed, what history needs."""

import json

import pytest

from tests.formats.each_case import each
from tests.formats.operations.test_exports import add, declared, greet
from tests.formats.sdk_objects import sdk_class, validated
from toolhaft import Tool, ToolCall, ToolExecutor, ToolResult
from toolhaft.errors import WireError
from toolhaft.formats import FORMATS, Loss, decode_calls, encode_calls, encode_results, export_tools

ADD = ToolCall("call_1", "add", '{"a": 1, "b": 2}')


def message(*calls: dict) -> dict:
    return {
        "choices": [
            {
                "index": 0,
                "finish_reason": "tool_calls",
                "message": {"role": "assistant", "content": None, "tool_calls": list(calls)},
            }
        ]
    }


def wire_call(id: object = "call_1", name: object = "add", arguments: object = '{"a": 1, "b": 2}') -> dict:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


@pytest.mark.external
def test_a_call_is_read_from_objects_text_bytes_and_sdk_objects():
    body = {"id": "x", "created": 1, "model": "m", "object": "chat.completion", **message(wire_call())}
    completion = validated("openai.types.chat:ChatCompletion", body)
    text = json.dumps(body)
    for given in (body, text, text.encode(), completion, completion.choices[0].message, body["choices"][0]):
        assert decode_calls(given, "openai_chat") == [ADD], given


def test_a_message_without_calls_has_none():
    for body in (
        {"role": "assistant", "content": "hi"},
        message(),
        {"choices": [{"message": {"tool_calls": None}}]},
    ):
        assert decode_calls(body, "openai_chat") == []


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("not json", "not JSON"),
        (5, "got int"),
        ({"choices": []}, "at choices: got .*; expected one choice"),
        ({"choices": 5}, "at choices: got 5; expected "),
        ({"choices": [5]}, r"at choices.*; expected "),
        ({"choices": [{"message": []}]}, r"at choices\[0\].message"),
        ({"tool_calls": {}}, "at tool_calls"),
        ([1, 2], "got .*; expected"),
    ],
)
def test_a_message_of_the_wrong_shape_says_where_and_what_was_expected(given, problem):
    if given == {"tool_calls": {}}:
        given = {"tool_calls": {"a": 1}}
    with pytest.raises(WireError, match=problem):
        decode_calls(given, "openai_chat")


def test_an_unknown_format_lists_the_known_ones():
    with pytest.raises(WireError, match="expected one of anthropic"):
        decode_calls({}, "openai")
    with pytest.raises(WireError, match="expected one of anthropic"):
        encode_calls([], "openai")


@each(
    ("call", "problem"),
    [
        (wire_call(id=None), "the call has no valid id"),
        (wire_call(id=""), "the call has no valid id"),
        (wire_call(id=7), "the call has no valid id"),
        (wire_call(name=None), "the call names no tool"),
        (wire_call(name=""), "the call names no tool"),
        (wire_call(name="sub"), "no tool 'sub' was offered"),
        (wire_call(name="addd"), "did you mean 'add'"),
        (wire_call(arguments=[1]), "the arguments are not an object"),
        (wire_call(arguments='{"a": 1'), "JSON"),
        (wire_call(arguments="[]"), "object"),
        (5, "names no tool"),
        ({}, "names no tool"),
    ],
)
def test_a_broken_call_comes_marked_and_the_executor_answers_it(call, problem):
    export = export_tools([add], "openai_chat")
    broken, good = decode_calls(message(call, wire_call("call_9")), "openai_chat", export=export)
    assert problem in broken.malformed
    assert good.malformed is None
    with ToolExecutor([add]) as executor:
        failed, done = executor.execute_all([broken, good])
    assert (done.success, done.value) == (True, 3)
    assert not failed.success
    assert failed.failure.kind in ("invalid_arguments", "unknown_tool")
    assert broken.id, "so that it can be answered"


def test_no_arguments_are_an_empty_object():
    for nothing in ("", None):
        (call,) = decode_calls(message(wire_call(arguments=nothing)), "openai_chat")
        assert call == ToolCall("call_1", "add", "{}")


def test_names_properties_and_nulls_are_turned_back():
    dotted = Tool(
        name="crm.find",
        description="d",
        input_schema={
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "age": {"type": "integer"},
                "tags": {"type": "object", "additionalProperties": {"type": "integer"}},
            },
            "required": ["name"],
        },
    )
    export = export_tools([dotted], "openai_chat", strict=True)
    (wire_name,) = export.names
    sent = '{"name": "Ada", "age": null, "tags": [{"key": "x", "value": 1}]}'
    (call,) = decode_calls(message(wire_call(name=wire_name, arguments=sent)), "openai_chat", export=export)
    assert call == ToolCall("call_1", "crm.find", {"name": "Ada", "tags": {"x": 1}})
    encoded = encode_calls([call], "openai_chat", export=export)
    assert encoded[0]["tool_calls"][0]["function"]["name"] == wire_name
    assert decode_calls(encoded[0], "openai_chat", export=export) == [call]


@pytest.mark.parametrize("format", FORMATS)
def test_encoded_calls_decode_to_themselves(format):
    export = export_tools([add, greet], format)
    calls = [ADD, ToolCall("a" * 70 + "/é", "greet", {"name": "Ada"}), ToolCall("call_3", "add", "{}")]
    assert decode_calls(encode_calls(calls, format, export=export), format, export=export) == calls
    assert encode_calls([], format) == []


def test_ids_that_a_wire_does_not_take_are_changed_always_alike_and_noted():
    encoded = encode_calls([ADD], "mistral")
    (id,) = encoded.ids
    assert encoded.ids == {id: "call_1"}
    assert len(id) == 9
    assert encode_calls([ADD], "mistral").ids == encoded.ids


def test_a_malformed_call_can_be_replayed_too():
    (broken,) = decode_calls(message(wire_call(arguments='{"a": 1')), "openai_chat")
    (text,) = encode_calls([broken], "openai_chat")
    assert text["tool_calls"][0]["function"]["arguments"] == '{"a": 1'
    (block,) = encode_calls([broken], "anthropic")
    assert block["content"][-1]["input"] == {"INVALID_JSON": '{"a": 1'}


def test_what_another_provider_kept_of_a_call_is_told_as_lost():
    foreign = ToolCall("call_1", "add", "{}", extras={"gemini": {"thoughtSignature": "x"}})
    encoded = encode_calls([foreign], "openai_chat")
    assert encoded.losses == (Loss("add", "", "extras", "left out", "what gemini stored with the call"),)


def test_what_is_no_call_says_so():
    with pytest.raises(WireError, match="'x' is not a call"):
        encode_calls(["x"], "openai_chat")


def test_a_tool_whose_schema_needs_turning_survives_nonsense():
    export = export_tools([declared("t", properties={"n": {"type": "integer"}})], "openai_chat", strict=True)
    for nonsense in ("[]", "5", '{"n": {"x": []}}', '{"other": null}'):
        (call,) = decode_calls(message(wire_call(name="t", arguments=nonsense)), "openai_chat", export=export)
        assert call.name == "t"


def test_a_tool_called_by_its_own_name_is_found():
    dotted = add.replace(name="math.add")
    export = export_tools([dotted], "openai_chat")
    (call,) = decode_calls(message(wire_call(name="math.add")), "openai_chat", export=export)
    assert (call.name, call.malformed) == ("math.add", None)
    (near,) = decode_calls(message(wire_call(name="math-add")), "openai_chat", export=export)
    assert near.malformed == "no tool 'math-add' was offered; did you mean 'math_add'?"


def test_two_calls_with_one_id_get_one_each_in_history():
    twins = decode_calls(message(wire_call("a"), wire_call("a")), "openai_chat")
    assert twins[0].malformed is None
    assert twins[1].malformed is not None
    (encoded,) = encode_calls(twins, "openai_chat")
    first, second = (call["id"] for call in encoded["tool_calls"])
    assert first == "a" != second
    answers = encode_results([(call, ToolResult.ok(1)) for call in twins], "openai_chat")
    assert [answer["tool_call_id"] for answer in answers] == [first, second]


def test_an_id_that_a_server_sent_goes_back_to_it_as_it_was():
    id = "chatcmpl-tool-" + "0" * 32
    (call,) = decode_calls(message(wire_call(id)), "openai_chat")
    assert encode_calls([call], "openai_chat")[0]["tool_calls"][0]["id"] == id
    assert encode_results([(call, ToolResult.ok(1))], "openai_chat")[0]["tool_call_id"] == id
    assert encode_results([(call, ToolResult.ok(1))], "mistral")[0]["tool_call_id"] != id


def test_a_history_is_told_by_the_names_of_the_tools_that_were_called():
    dotted, plain = add.replace(name="math.add"), add.replace(name="math_add")
    narrow = export_tools([dotted, plain], "anthropic", choice=["math_add"])
    assert list(narrow.names) == ["math_add"]
    (history,) = encode_calls([ToolCall("toolu_1", "math.add", {"a": 1, "b": 2})], "anthropic", export=narrow)
    (wide,) = encode_calls(
        [ToolCall("toolu_1", "math.add", {"a": 1, "b": 2})],
        "anthropic",
        export=export_tools([dotted, plain], "anthropic"),
    )
    assert history == wide
    assert history["content"][0]["name"] != "math_add"


def test_a_key_that_is_given_twice_is_not_settled_in_silence():
    export = export_tools([declared("t", properties={"x": {"type": "string"}})], "openai_chat", strict=True)
    twice = '{"x": "1", "x": "2"}'
    (call,) = decode_calls(message(wire_call(name="t", arguments=twice)), "openai_chat", export=export)
    assert call.arguments == twice
    with ToolExecutor([declared("t", properties={"x": {"type": "string"}})]) as executor:
        result = executor.execute(call)
    assert "given twice" in result.message


def test_arguments_nested_without_end_are_a_wire_error_or_a_malformed_call():
    deep: list = []
    for _ in range(10_000):
        deep = [deep]
    for format in FORMATS:
        for body in (
            {"message": {"tool_calls": [{"function": {"name": "t", "arguments": {"x": deep}}}]}},
            {"choices": deep},
            {"parts": [{"function_call": {"name": "t"}, "x": deep}]},
            {"content": deep},
        ):
            try:
                calls = decode_calls(body, format)
            except WireError:
                continue
            assert len(calls) <= 1


@pytest.mark.external
def test_objects_of_an_sdk_are_read_wherever_they_stand():
    block = sdk_class("anthropic.types:ToolUseBlock")(
        id="toolu_1", type="tool_use", name="add", input={"a": 1, "b": 2}
    )
    wanted = [ToolCall("toolu_1", "add", {"a": 1, "b": 2})]
    for given in (
        [block],
        {"role": "assistant", "content": [block]},
        [{"role": "assistant", "content": [block]}],
    ):
        assert decode_calls(given, "anthropic") == wanted


def test_one_call_alone_is_read_too():
    assert decode_calls(wire_call(), "openai_chat") == [ADD]


def test_what_is_no_message_of_the_format_is_a_wire_error():
    for format in FORMATS:
        with pytest.raises(WireError, match=f"^{format}"):
            decode_calls({"x": 1}, format)


def test_half_a_character_costs_no_more_than_itself():
    half = ToolCall("call_1", "add", {"a": 1, "b": "x\ud800"})
    for format in FORMATS:
        (encoded,) = encode_calls([half], format)
        json.dumps(encoded, ensure_ascii=False).encode()
        assert "x?" in json.dumps(encoded)
