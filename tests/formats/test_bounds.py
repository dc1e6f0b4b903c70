"""Limits at their edge: a value at the limit is accepted, one over it is not."""

from __future__ import annotations

from tests.cases import each_case
from toolhaft import Tool, ToolCall, ToolResult, Video
from toolhaft.formats import encode_calls, encode_results, export_tools
from toolhaft.formats.gemini_stream import PartialArguments
from toolhaft.formats.mcp_output import export_output_schema
from toolhaft.formats.model_limits import limits_of
from toolhaft.formats.payload_cursor import plain
from toolhaft.formats.subset.admitted_types import are_disjoint

TEXT = {"type": "string"}


def closed(properties):
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def tool_of(schema, **options):
    return Tool(name="try", description="Try.", input_schema=schema, **options)


def nested(levels):
    schema = TEXT
    for _ in range(levels):
        schema = closed({"a": schema})
    return schema


def many_values(count, length):
    return closed({"x": {"type": "string", "enum": [f"{number:0{length}}" for number in range(count)]}})


STRICT_LIMITS = {
    "levels of objects and arrays": (nested(10), nested(11)),
    "properties": (
        closed({f"p{number}": TEXT for number in range(5000)}),
        closed({f"p{number}": TEXT for number in range(5001)}),
    ),
    "enum values": (many_values(1000, 4), many_values(1001, 4)),
    "characters in one enum of over 250 values": (many_values(251, 59), many_values(251, 60)),
    "characters of names and enum values": (closed({"n" * 120_000: TEXT}), closed({"n" * 120_001: TEXT})),
}


@each_case(("words", "schemas"), STRICT_LIMITS.items())
def test_strict_limits_of_openai(words, schemas):
    inside, outside = (export_tools([tool_of(schema)], "openai_chat", strict=True) for schema in schemas)
    assert inside.refused == ()
    assert [refusal.reason.partition(", and")[0].partition(" ")[2] for refusal in outside.refused] == [
        f"has {outside.refused[0].reason.split()[2]} {words}"
    ]


def test_a_description_at_the_limit_is_not_reported():
    tools = [
        Tool(name=f"t{length}", description="d" * length, input_schema={"type": "object"})
        for length in (1024, 1025)
    ]
    losses = export_tools(tools, "openai_chat").losses
    assert [(loss.tool, loss.keyword) for loss in losses] == [("t1025", "description")]


def test_the_inside_of_a_parameter_is_described_only_if_it_is_short():
    short = {"type": "object", "properties": {"a": {"type": "string", "enum": ["v" * 3_000]}}}
    long = {"type": "object", "properties": {"a": {"type": "string", "enum": ["v" * 4_000]}}}
    export = export_tools([tool_of({"type": "object", "properties": {"x": short, "y": long}})], "ollama")
    assert [(loss.path, loss.done) for loss in export.losses if loss.keyword == "properties"] == [
        ("/properties/x", "moved to description"),
        ("/properties/y", "checked locally"),
    ]


def test_more_than_a_hundred_branches_are_not_compared():
    constants = [{"const": number} for number in range(101)]
    assert are_disjoint({}, constants[:100])
    assert not are_disjoint({}, constants)


def test_numbers_beyond_exact_doubles_stay_floats():
    arguments = PartialArguments({})
    for name, number in (("small", 3.0), ("exact", float(2**53 - 1)), ("large", float(2**53))):
        arguments.add({"jsonPath": f"$.{name}", "numberValue": number})
    assert [type(value) for value in arguments.value.values()] == [int, int, float]


def test_an_output_schema_behind_many_references_is_followed():
    def chained(length):
        names = {f"D{number}": {"$ref": f"#/$defs/D{number + 1}"} for number in range(length)}
        return {"$ref": "#/$defs/D0", "$defs": {**names, f"D{length}": {"type": "object"}}}

    for length in (1, 60):
        assert export_output_schema(chained(length), any_root=False).loss.done == "reshaped"


def test_sdk_objects_are_dumped_down_to_a_limited_depth():
    class Block:
        def model_dump(self, **_):
            return {"a": 1}

    def wrapped(value, depth):
        for _ in range(depth):
            value = [value]
        return value

    assert plain(wrapped(Block(), 21), "native") == wrapped({"a": 1}, 21)
    too_deep = wrapped(Block(), 22)
    assert plain(too_deep, "native") is too_deep


def test_arguments_nested_too_deep_are_written_as_null():
    deep: object = "x"
    for _ in range(5_000):
        deep = [deep]
    (message,) = encode_calls([ToolCall("call_1", "try", {"half": "\ud800", "deep": deep})], "native")
    assert message["tool_calls"][0]["arguments"] == "null"


def test_a_value_over_the_output_limit_is_not_sent():
    call = ToolCall("call_1", "try", {})
    for length, is_sent in ((99_000, True), (100_001, False)):
        (encoded,) = encode_results([(call, ToolResult(value="x" * length))], "native")
        assert ("value" in encoded) is is_sent


def test_one_tool_over_the_limit_of_a_request_is_refused():
    for format, most in (("gemini", 512), ("openai_chat", 128), ("openai_responses", 128)):
        tools = [tool_of({"type": "object"}).replace(name=f"t{number}") for number in range(most + 1)]
        refused = export_tools(tools, format).refused
        assert [(refusal.tool, str(most) in refusal.reason) for refusal in refused] == [(f"t{most}", True)]
    assert limits_of("anthropic", None).tools == 10_000


def test_a_url_that_is_too_long_for_bedrock_is_left_out():
    call = ToolCall("call_1", "try", {})
    for length, is_lost in ((1024, False), (1025, True)):
        video = Video(url="s3://bucket/".ljust(length - 4, "a") + ".mp4")
        encoded = encode_results([(call, ToolResult(content=(video,)))], "bedrock")
        assert bool(encoded.losses) is is_lost
