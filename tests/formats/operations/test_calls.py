"""Decoding and encoding calls, in all formats: restored names and arguments, malformed calls, histories."""

import json

import pytest

from tests.cases import each_case
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


def provider_call(
    id: object = "call_1", name: object = "add", arguments: object = '{"a": 1, "b": 2}'
) -> dict:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


@pytest.mark.external
def test_a_call_is_read_from_objects_text_bytes_and_sdk_objects():
    body = {"id": "x", "created": 1, "model": "m", "object": "chat.completion", **message(provider_call())}
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


@each_case(
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
def test_a_message_of_the_wrong_shape_is_an_error_with_path_and_expectation(given, problem):
    if given == {"tool_calls": {}}:
        given = {"tool_calls": {"a": 1}}
    with pytest.raises(WireError, match=problem):
        decode_calls(given, "openai_chat")


def test_an_unknown_format_lists_the_known_ones():
    with pytest.raises(WireError, match="expected one of anthropic"):
        decode_calls({}, "openai")
    with pytest.raises(WireError, match="expected one of anthropic"):
        encode_calls([], "openai")


@each_case(
    ("call", "problem"),
    [
        (provider_call(id=7), "the call has no valid id"),
        (provider_call(id=[]), "the call has no valid id"),
        (provider_call(name=None), "the call names no tool"),
        (provider_call(name=""), "the call names no tool"),
        (provider_call(name="sub"), "no tool 'sub' was offered"),
        (provider_call(name="addd"), "did you mean 'add'"),
        (provider_call(arguments=[1]), "the arguments are not an object"),
        (provider_call(arguments='{"a": 1'), "JSON"),
        (provider_call(arguments="[]"), "object"),
        (5, "names no tool"),
        ({}, "names no tool"),
    ],
)
def test_an_invalid_call_is_decoded_as_malformed_and_the_executor_answers_it(call, problem):
    export = export_tools([add], "openai_chat")
    broken, good = decode_calls(message(call, provider_call("call_9")), "openai_chat", export=export)
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
        (call,) = decode_calls(message(provider_call(arguments=nothing)), "openai_chat")
        assert call == ToolCall("call_1", "add", "{}")


def test_decoding_restores_names_properties_and_nulls():
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
    (call,) = decode_calls(
        message(provider_call(name=wire_name, arguments=sent)), "openai_chat", export=export
    )
    assert call == ToolCall("call_1", "crm.find", {"name": "Ada", "tags": {"x": 1}})
    encoded = encode_calls([call], "openai_chat", export=export)
    assert encoded[0]["tool_calls"][0]["function"]["name"] == wire_name
    assert decode_calls(encoded[0], "openai_chat", export=export) == [call]


@each_case("format", FORMATS)
def test_encoded_calls_decode_to_themselves(format):
    export = export_tools([add, greet], format)
    calls = [ADD, ToolCall("a" * 70 + "/é", "greet", {"name": "Ada"}), ToolCall("call_3", "add", "{}")]
    assert decode_calls(encode_calls(calls, format, export=export), format, export=export) == calls
    assert encode_calls([], format) == []


def test_ids_that_a_format_refuses_are_changed_always_in_the_same_way_and_listed():
    encoded = encode_calls([ADD], "mistral")
    (id,) = encoded.ids
    assert encoded.ids == {id: "call_1"}
    assert len(id) == 9
    assert encode_calls([ADD], "mistral").ids == encoded.ids


def test_a_malformed_call_can_be_replayed_too():
    (broken,) = decode_calls(message(provider_call(arguments='{"a": 1')), "openai_chat")
    (text,) = encode_calls([broken], "openai_chat")
    assert text["tool_calls"][0]["function"]["arguments"] == '{"a": 1'
    (block,) = encode_calls([broken], "anthropic")
    assert block["content"][-1]["input"] == {"INVALID_JSON": '{"a": 1'}


def test_the_extras_of_another_provider_are_reported_as_lost():
    foreign = ToolCall("call_1", "add", "{}", extras={"gemini": {"thoughtSignature": "x"}})
    encoded = encode_calls([foreign], "openai_chat")
    assert encoded.losses == (Loss("add", "", "extras", "left out", "what gemini stored with the call"),)


def test_encoding_something_that_is_not_a_call_is_an_error():
    with pytest.raises(WireError, match="'x' is not a call"):
        encode_calls(["x"], "openai_chat")


def test_mapping_the_arguments_of_a_reshaped_tool_survives_nonsense():
    export = export_tools([declared("t", properties={"n": {"type": "integer"}})], "openai_chat", strict=True)
    for nonsense in ("[]", "5", '{"n": {"x": []}}', '{"other": null}'):
        (call,) = decode_calls(
            message(provider_call(name="t", arguments=nonsense)), "openai_chat", export=export
        )
        assert call.name == "t"


def test_a_call_by_the_tools_own_name_finds_the_tool():
    dotted = add.replace(name="math.add")
    export = export_tools([dotted], "openai_chat")
    (call,) = decode_calls(message(provider_call(name="math.add")), "openai_chat", export=export)
    assert (call.name, call.malformed) == ("math.add", None)
    (near,) = decode_calls(message(provider_call(name="math-add")), "openai_chat", export=export)
    assert near.malformed == "no tool 'math-add' was offered; did you mean 'math_add'?"


def test_two_calls_with_the_same_id_get_different_ids_in_the_history():
    twins = decode_calls(message(provider_call("a"), provider_call("a")), "openai_chat")
    assert twins[0].malformed is None
    assert twins[1].malformed is not None
    (encoded,) = encode_calls(twins, "openai_chat")
    first, second = (call["id"] for call in encoded["tool_calls"])
    assert first == "a" != second
    answers = encode_results([(call, ToolResult.ok(1)) for call in twins], "openai_chat")
    assert [answer["tool_call_id"] for answer in answers] == [first, second]


def test_an_id_that_a_server_sent_is_sent_back_unchanged():
    id = "chatcmpl-tool-" + "0" * 32
    (call,) = decode_calls(message(provider_call(id)), "openai_chat")
    assert encode_calls([call], "openai_chat")[0]["tool_calls"][0]["id"] == id
    assert encode_results([(call, ToolResult.ok(1))], "openai_chat")[0]["tool_call_id"] == id
    assert encode_results([(call, ToolResult.ok(1))], "mistral")[0]["tool_call_id"] != id


def test_a_history_uses_the_exported_names_of_tools_that_are_no_longer_offered():
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


def test_a_repeated_key_in_the_arguments_is_left_for_the_executor_to_refuse():
    export = export_tools([declared("t", properties={"x": {"type": "string"}})], "openai_chat", strict=True)
    twice = '{"x": "1", "x": "2"}'
    (call,) = decode_calls(message(provider_call(name="t", arguments=twice)), "openai_chat", export=export)
    assert call.arguments == twice
    with ToolExecutor([declared("t", properties={"x": {"type": "string"}})]) as executor:
        result = executor.execute(call)
    assert "given twice" in result.message


def test_arguments_nested_too_deep_are_a_wire_error_or_a_malformed_call():
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
def test_sdk_objects_are_read_anywhere_in_a_message():
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


def test_a_single_call_outside_a_message_is_decoded():
    assert decode_calls(provider_call(), "openai_chat") == [ADD]


def test_a_message_of_another_format_is_a_wire_error():
    for format in FORMATS:
        with pytest.raises(WireError, match=f"^{format}"):
            decode_calls({"x": 1}, format)


def test_a_lone_surrogate_is_replaced_and_the_rest_is_kept():
    half = ToolCall("call_1", "add", {"a": 1, "b": "x\ud800"})
    for format in FORMATS:
        (encoded,) = encode_calls([half], format)
        json.dumps(encoded, ensure_ascii=False).encode()
        assert "x?" in json.dumps(encoded)
