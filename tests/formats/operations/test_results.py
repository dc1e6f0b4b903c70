"""Encoding results, in all formats: ids, failures, values and media."""

from dataclasses import dataclass

import pytest

from tests.cases import each_case
from tests.formats.operations.test_exports import add
from toolhaft import Audio, Document, Image, Tool, ToolCall, ToolExecutor, ToolResult, Video, tool
from toolhaft.errors import WireError
from toolhaft.formats import FORMATS, Loss, encode_results, export_tools

ADD = ToolCall("call_1", "add", '{"a": 1, "b": 2}')
PNG = b"\x89PNG"


def test_a_result_of_an_executor_knows_its_call():
    with ToolExecutor([add]) as executor:
        results = executor.execute_all(
            [ADD, ToolCall("call_2", "add", "{}"), ToolCall("call_3", "nope", "{}")]
        )
    first, second, third = encode_results(results, "openai_chat")
    assert first == {"role": "tool", "tool_call_id": "call_1", "content": "3"}
    assert second["tool_call_id"] == "call_2"
    assert second["content"].startswith('{"error":{"type":"invalid_arguments","message":"')
    assert third["content"].startswith('{"error":{"type":"unknown_tool","message":"')


def test_results_without_a_call_need_pairs_or_calls():
    wanted = [{"role": "tool", "tool_call_id": "call_1", "content": "OK\n\n5"}]
    result = ToolResult.ok(5)
    assert encode_results([(ADD, result)], "openai_chat") == wanted
    assert encode_results([result], "openai_chat", calls=[ADD]) == wanted
    assert encode_results(result, "openai_chat", calls=ADD) == wanted
    with pytest.raises(
        WireError, match=r"it is not known which call .* answers; expected a result from an executor"
    ):
        encode_results([result], "openai_chat")
    with pytest.raises(WireError, match="1 results for 2 calls"):
        encode_results([result], "openai_chat", calls=[ADD, ADD])
    with pytest.raises(WireError, match="5 is not a result"):
        encode_results([5], "openai_chat")


@each_case("format", FORMATS)
def test_every_format_answers_every_call_once(format):
    calls = [ToolCall(f"call{number:05d}", "add", "{}") for number in range(3)]
    pairs = list(
        zip(calls, [ToolResult.ok({"n": 1}), ToolResult.error("broke"), ToolResult.ok("text")], strict=True)
    )
    encoded = encode_results(pairs, format)
    text = str(list(encoded))
    assert encoded.losses == ()
    assert "broke" in text
    if format not in ("ollama", "mcp"):
        assert all(call.id in text for call in calls) or format == "mistral"
    assert encode_results([], format) == []


def test_errors_are_flagged_where_a_format_has_a_flag():
    pair = [(ADD, ToolResult.error("broke"))]
    assert encode_results(pair, "anthropic")[0]["content"][0]["is_error"] is True
    assert encode_results(pair, "bedrock")[0]["content"][0]["toolResult"]["status"] == "error"
    assert encode_results(pair, "mcp")[0]["isError"] is True
    assert encode_results(pair, "gemini")[0]["parts"][0]["functionResponse"]["response"] == {"error": "broke"}
    for format in ("openai_chat", "mistral", "cohere", "ollama", "openai_responses"):
        assert '{\\"error\\":{\\"type\\":\\"failed\\",\\"message\\":\\"broke\\"}}' in __import__(
            "json"
        ).dumps(list(encode_results(pair, format)))


@dataclass
class Weather:
    celsius: float


def test_values_are_sent_as_json_where_the_format_supports_it():
    pair = [(ADD, ToolResult.ok(Weather(21.5), message=""))]
    assert encode_results(pair, "bedrock")[0]["content"][0]["toolResult"]["content"] == [
        {"json": {"celsius": 21.5}}
    ]
    assert encode_results(pair, "mcp")[0]["structuredContent"] == {"celsius": 21.5}
    assert encode_results(pair, "gemini")[0]["parts"][0]["functionResponse"]["response"] == {
        "output": {"celsius": 21.5}
    }
    assert encode_results(pair, "openai_chat")[0]["content"] == '{"celsius":21.5}'


def test_an_excluded_value_is_sent_in_no_format():
    secret = ToolResult(message="saved", value={"token": "hunter2"}, exclude_value_from_context=True)
    for format in FORMATS:
        assert "hunter2" not in str(list(encode_results([(ADD, secret)], format)))


@each_case(
    "value",
    [float("nan"), {"a": [1, float("inf")]}, {"a\ud800": 1}, ["\udcff"], {"a": object()}],
    ids=["nan", "infinity", "key with half a pair", "text with half a pair", "object"],
)
def test_a_value_that_is_not_json_is_sent_as_text_only(value):
    result = ToolResult.ok(value, message="Here")
    for format in FORMATS:
        encoded = encode_results([(ADD, result)], format)
        assert encoded == encode_results([(ADD, ToolResult(message=result.render()))], format)
        assert encoded.losses == ()


def test_a_value_with_the_text_nan_is_json():
    result = ToolResult.ok({"NaN": "Infinity"}, message="")
    assert encode_results([(ADD, result)], "mcp")[0]["structuredContent"] == {"NaN": "Infinity"}


CHECKED = "clients check results for the value that the output schema requires"
PROMISING = Tool(
    name="add",
    description="Add.",
    input_schema={"type": "object", "properties": {}},
    output_schema={"type": "object"},
)


def test_an_excluded_value_that_the_output_schema_requires_is_sent_and_reported():
    export = export_tools([PROMISING], "mcp")
    secret = ToolResult(message="saved", value={"id": 5}, exclude_value_from_context=True)
    encoded = encode_results([(ADD, secret)], "mcp", export=export)
    assert encoded == [
        {
            "resultType": "complete",
            "content": [{"type": "text", "text": "saved"}],
            "structuredContent": {"id": 5},
        }
    ]
    assert encoded.losses == (Loss("add", "", "exclude_value_from_context", "kept", CHECKED),)
    failed = ToolResult(message="no", value={"id": 5}, success=False, exclude_value_from_context=True)
    assert encode_results([(ADD, failed)], "mcp", export=export).losses == ()


def test_a_required_value_that_is_not_json_is_reported():
    export = export_tools([PROMISING], "mcp")
    encoded = encode_results([(ADD, ToolResult.ok({"a": float("nan")}, message=""))], "mcp", export=export)
    assert encoded == [{"resultType": "complete", "content": [{"type": "text", "text": '{"a":"NaN"}'}]}]
    assert encoded.losses == (Loss("add", "", "value", "left out", f"it is not JSON; {CHECKED}"),)


def test_a_value_over_the_output_limit_is_truncated_in_every_format():
    @tool
    def long() -> dict[str, str]:
        """Give back a great deal."""
        return {"text": "x" * 5000}

    with ToolExecutor([long], max_output_chars=100) as executor:
        result = executor.execute(ToolCall("call_1", "long", "{}"))
    for format in FORMATS:
        text = str(list(encode_results([result], format)))
        assert len(text) < 1500, format
        assert "cut: 100 of" in text, format


@each_case("format", FORMATS)
def test_media_are_sent_or_reported_as_lost(format):
    from toolhaft.formats.registry import get_format  # noqa: PLC0415 -- asks the format what it supports

    content = (
        Image(data=PNG),
        Audio(data=b"RIFF"),
        Video(data=b"mp4"),
        Document(data=b"%PDF", name="report.pdf"),
        {"type": "text", "text": "and this"},
    )
    encoded = encode_results([(ADD, ToolResult(message="seen", value=None, content=content))], format)
    text = str(list(encoded))
    assert "seen" in text
    assert "and this" in text
    carried = get_format(format).parts
    assert encoded.losses == tuple(
        Loss("add", f"/content/{index}", kind, "left out")
        for index, kind in enumerate(("image", "audio", "video", "document"))
        if kind not in carried or (format, kind) == ("cohere", "document")  # it takes documents of text alone
    )
    for kind in ("image", "audio", "video", "document"):
        assert (f"[{kind} left out" in text) == (
            kind not in carried or (format, kind) == ("cohere", "document")
        )


def test_results_use_the_exported_names_and_ids():
    dotted = add.replace(name="math.add")
    export = export_tools([dotted], "gemini")
    call = ToolCall("call_1", "math.add", {"a": 1, "b": 2})
    with ToolExecutor([dotted]) as executor:
        result = executor.execute(call)
    (content,) = encode_results([result], "gemini", export=export)
    assert content["parts"][0]["functionResponse"]["name"] == next(iter(export.names))
    (answer,) = encode_results([result], "mistral")
    assert len(answer["tool_call_id"]) == 9
