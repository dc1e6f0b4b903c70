"""Responses: functions, free-form tools and namespaces; other items are replayed with the calls."""

import pytest
from pydantic import TypeAdapter

from tests.cases import each_case
from tests.formats.chat_tools import EVERY_PART, FAILED, PARIS, SCHEMA, clock, cut, script, twin, weather
from tests.formats.sdk_objects import sdk_class, validated
from toolhaft import Tool, ToolCall, ToolResult
from toolhaft.errors import WireError
from toolhaft.formats import (
    Loss,
    StreamDecoder,
    decode_calls,
    encode_calls,
    encode_results,
    export_tools,
    import_tools,
)

FORMAT = "openai_responses"
GRAMMAR = {"syntax": "regex", "definition": "a+"}
WEATHER = {
    "type": "function",
    "name": "weather",
    "description": "Weather.",
    "parameters": SCHEMA,
    "strict": False,
}
CLOCK = {
    "type": "function",
    "name": "clock",
    "description": "Time.",
    "parameters": {"type": "object", "properties": {}},
    "strict": False,
}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}


def called(id="call_1", name="weather", arguments='{"city": "Paris"}', **more):
    own = {"id": f"fc_{id}", "status": "completed", **more}
    return {"type": "function_call", "call_id": id, "name": name, "arguments": arguments, **own}


def freely(id="call_2", text="print(1)"):
    return {"type": "custom_tool_call", "id": f"ct_{id}", "call_id": id, "name": "script", "input": text}


def said(text="I look."):
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}


def response(*items, status="completed"):
    return {"id": "resp_1", "object": "response", "status": status, "output": [*items]}


def kept(**state):
    return {FORMAT: state}


def own(id, **more):
    return {"id": f"fc_{id}", "status": "completed", **more}


# --- tools ----------------------------------------------------------------------------------------


def test_strict_is_always_written_and_the_output_schema_too():
    assert export_tools([weather()], FORMAT).payload == {"tools": [WEATHER]}
    strict = export_tools([weather(output_schema={"type": "number"})], FORMAT, strict=True)
    assert strict.losses == ()
    assert strict.payload == {
        "tools": [
            {
                **WEATHER,
                "parameters": {**SCHEMA, "additionalProperties": False},
                "strict": True,
                "output_schema": {"type": "number"},
            }
        ]
    }


def test_hints_are_written_into_their_fields():
    hints = {"defer_loading": True, "allowed_callers": ["direct", "programmatic"], "async": True}
    export = export_tools([weather(metadata={"wire": hints})], FORMAT)
    assert (export.tools, export.losses) == ([{**WEATHER, **hints}], ())
    (back,) = import_tools(export.payload, FORMAT)
    assert back.metadata == {"wire": hints}
    foreign = weather(
        metadata={"wire": {"allowed_callers": ["direct", "code_execution_20260120"], "other": 1}}
    )
    export = export_tools([foreign], FORMAT)
    assert export.tools == [{**WEATHER, "allowed_callers": ["direct"]}]
    assert [(loss.keyword, loss.done) for loss in export.losses] == [
        ("metadata.wire.other", "left out"),
        ("metadata.wire.allowed_callers", "left out"),
    ]


def test_free_form_tools_are_flat():
    export = export_tools([script(GRAMMAR, defer_loading=True), script().replace(name="plain")], FORMAT)
    assert export.tools == [
        {
            "type": "custom",
            "name": "script",
            "description": "Run.",
            "format": {"type": "grammar", **GRAMMAR},
            "defer_loading": True,
        },
        {"type": "custom", "name": "plain", "description": "Run."},
    ]
    first, second = import_tools(export.payload, FORMAT)
    assert first.metadata == {"wire": {"free_form": GRAMMAR, "defer_loading": True}}
    assert second.metadata == {"wire": {"free_form": True}}
    giving = Tool(
        name="script",
        description="Run.",
        input_schema=script().input_schema,
        output_schema={"type": "string"},
        metadata={"wire": {"free_form": True}},
    )
    silent = export_tools([giving], FORMAT)
    assert Loss("script", "", "output_schema", "left out", "a free-form tool has none") in silent.losses


def test_tools_of_one_namespace_are_grouped():
    crm = {"namespace": "crm", "namespace_description": "Customers."}
    tools = [
        weather(metadata={"wire": crm}),
        clock(),
        script(namespace="crm"),
        weather(metadata={"wire": {"namespace": "ops"}}).replace(name="storm"),
    ]
    export = export_tools(tools, FORMAT, choice="script")
    assert export.payload == {
        "tools": [
            {
                "type": "namespace",
                "name": "crm",
                "description": "Customers.",
                "tools": [WEATHER, {"type": "custom", "name": "script", "description": "Run."}],
            },
            CLOCK,
            {
                "type": "namespace",
                "name": "ops",
                "description": "ops",
                "tools": [{**WEATHER, "name": "storm"}],
            },
        ],
        "tool_choice": {"type": "custom", "name": "script"},
    }
    found = import_tools(export.payload, FORMAT)
    assert [(tool.name, tool.metadata.get("wire")) for tool in found] == [
        ("weather", crm),
        ("script", {**crm, "free_form": True}),
        ("clock", None),
        ("storm", {"namespace": "ops"}),
    ]
    assert [tool.name for tool in import_tools(export.payload["tools"][0], FORMAT)] == ["weather", "script"]


@each_case(
    ("choice", "written"),
    [
        ("auto", "auto"),
        ("none", "none"),
        ("required", "required"),
        ("weather", {"type": "function", "name": "weather"}),
        (
            ["weather", "script"],
            {
                "type": "allowed_tools",
                "mode": "auto",
                "tools": [{"type": "function", "name": "weather"}, {"type": "custom", "name": "script"}],
            },
        ),
    ],
)
def test_every_choice_can_be_expressed(choice, written):
    export = export_tools([weather(), script(), clock()], FORMAT, choice=choice, parallel=True)
    assert {**export.payload, "tools": None} == {
        "tools": None,
        "tool_choice": written,
        "parallel_tool_calls": True,
    }


@each_case(
    ("payload", "problem"),
    [
        ([{"type": "tool", "function": {}}], "got .tool.; expected 'function' or 'custom'"),
        ({"tools": [{"type": "namespace", "name": "a"}]}, r"at tools\[0\]: 'tools' is missing"),
        (
            {"type": "namespace", "name": "a", "tools": [{"type": "namespace", "name": "b", "tools": []}]},
            r"at tools\[0\].type: got .namespace.",
        ),
        ([{"type": "function"}], r"at \[0\]: 'name' is missing"),
        ([{"name": "a"}], r"at \[0\]: 'type' is missing"),
        (5, "got int"),
    ],
)
def test_a_payload_of_the_wrong_shape_is_an_error_with_path_and_expectation(payload, problem):
    with pytest.raises(WireError, match=problem):
        import_tools(payload, FORMAT)


def test_a_bad_function_is_refused_with_its_path():
    (refused,) = import_tools([{"type": "function", "name": "a", "parameters": []}], FORMAT).refused
    assert "at [0].parameters" in refused.reason


# --- calls ----------------------------------------------------------------------------------------

PROGRAM = {"type": "program", "id": "pr_1", "call_id": "p", "code": "f()", "fingerprint": "xyz"}
CALLER = {"type": "program", "caller_id": "p"}
OUTPUT = [
    THOUGHT,
    said(),
    called(namespace="crm"),
    PROGRAM,
    called("call_3", "clock", "{}", caller=CALLER),
    freely(),
    said("Done."),
]
CALLS = [
    ToolCall(
        "call_1",
        "weather",
        '{"city": "Paris"}',
        extras=kept(before=[THOUGHT, said()], item=own("call_1", namespace="crm")),
    ),
    ToolCall("call_3", "clock", "{}", extras=kept(before=[PROGRAM], item=own("call_3", caller=CALLER))),
    ToolCall(
        "call_2",
        "script",
        {"input": "print(1)"},
        extras=kept(item={"type": "custom_tool_call", "id": "ct_call_2"}, after=[said("Done.")]),
    ),
]


def test_a_response_is_replayed_item_by_item():
    assert decode_calls(response(*OUTPUT), FORMAT) == CALLS
    assert encode_calls(CALLS, FORMAT) == OUTPUT
    for given in (OUTPUT, encode_calls(CALLS, FORMAT)):
        assert decode_calls(given, FORMAT) == CALLS
    assert decode_calls(called(), FORMAT) == [
        ToolCall("call_1", "weather", PARIS.arguments, extras=kept(item=own("call_1")))
    ]
    assert encode_calls([PARIS], FORMAT) == [
        {"type": "function_call", "call_id": "call_1", "name": "weather", "arguments": PARIS.arguments}
    ]
    bare = {"type": "function_call", "call_id": "call_1", "name": "weather", "arguments": PARIS.arguments}
    assert decode_calls([bare], FORMAT) == [PARIS]
    assert decode_calls([bare, said()], FORMAT)[0].extras == kept(after=[said()])
    assert decode_calls(response(THOUGHT, said()), FORMAT) == []


@pytest.mark.external
def test_nulls_that_the_sdk_adds_are_not_replayed():
    body = {
        **response(*OUTPUT),
        "created_at": 1,
        "model": "m",
        "parallel_tool_calls": True,
        "tool_choice": "auto",
    }
    made = validated("openai.types.responses:Response", {**body, "tools": []})
    for given in (made, made.model_dump(), made.model_dump(mode="json"), made.to_dict()):
        assert decode_calls(given, FORMAT) == CALLS
    (call,) = decode_calls([{**called(), "async_": True, "namespace": None}], FORMAT)
    assert call.extras == kept(item=own("call_1", **{"async": True}))


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"output": 5}, "at output: got 5; expected a list of items"),
        ({"output": [5]}, r"at output\[0\]: got 5; expected an item"),
        ({"error": "x"}, "expected a response with 'output'"),
        ([[]], r"at \[0\]: got \[\]; expected an item"),
    ],
)
def test_a_response_of_the_wrong_shape_is_an_error_with_path_and_expectation(given, problem):
    with pytest.raises(WireError, match=problem):
        decode_calls(given, FORMAT)


def test_nonsense_inside_a_call_makes_it_malformed():
    odd = {"type": "function_call", "call_id": 5, "name": None, "arguments": [1]}
    (call,) = decode_calls([odd, {"type": ["function_call"]}, {}], FORMAT)
    assert (
        call.malformed == "the call names no tool; the call has no valid id; the arguments are not an object"
    )


def test_only_complete_calls_of_a_truncated_response_are_valid():
    state = {"extras": kept(item=own("call_1"))}
    whole = ToolCall("call_1", "weather", PARIS.arguments, **state)
    assert decode_calls(response(called(), status="incomplete"), FORMAT) == [whole]
    for text in ("", '{"city": "Pa'):
        half = response(called(arguments=text), status="incomplete")
        assert decode_calls(half, FORMAT) == [cut(ToolCall("call_1", "weather", **state), text)]
    free = ToolCall("call_2", "script", extras=kept(item={"type": "custom_tool_call", "id": "ct_call_2"}))
    assert decode_calls(response(freely(), status="incomplete"), FORMAT) == [cut(free, "print(1)")]
    (followed,) = decode_calls(response(freely(), said(), status="incomplete"), FORMAT)
    assert followed.malformed is None


def test_a_repeated_id_makes_the_second_call_malformed():
    first, second = decode_calls(response(called(), called(arguments="{}")), FORMAT)
    assert first.malformed is None
    assert second == twin(ToolCall("call_1", "weather", "{}", extras=kept(item=own("call_1"))))


# --- streams --------------------------------------------------------------------------------------


def added(index, item):
    empty = {"input": ""} if "input" in item else {"arguments": ""} if "arguments" in item else {}
    return {"type": "response.output_item.added", "output_index": index, "item": {**item, **empty}}


def done(index, item):
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def delta(index, text, kind="function_call_arguments"):
    return {"type": f"response.{kind}.delta", "output_index": index, "item_id": "x", "delta": text}


def ended(*items, status="completed"):
    return {"type": f"response.{status}", "response": response(*items, status=status)}


def interleaved():
    begun = [event for at in (0, 1) for event in (added(at, OUTPUT[at]), done(at, OUTPUT[at]))]
    return [
        {"type": "response.created", "response": response(status="in_progress")},
        *begun,
        added(2, OUTPUT[2]),
        added(3, OUTPUT[3]),
        done(3, OUTPUT[3]),
        added(4, OUTPUT[4]),
        delta(2, '{"city": '),
        delta(4, "{}"),
        {"type": "response.function_call_arguments.done", "output_index": 4, "arguments": "{}"},
        done(4, OUTPUT[4]),
        delta(2, '"Paris"}'),
        done(2, OUTPUT[2]),
        added(5, OUTPUT[5]),
        delta(5, "print(1)", "custom_tool_call_input"),
        done(5, OUTPUT[5]),
        added(6, OUTPUT[6]),
        done(6, OUTPUT[6]),
        ended(*OUTPUT),
    ]


def test_interleaved_items_are_returned_in_order_like_those_of_the_whole_response():
    decoder = StreamDecoder(FORMAT)
    given = [decoder.feed(event) for event in interleaved()]
    assert [call for calls in given for call in calls] == CALLS
    assert [len(calls) for calls in given if calls] == [2, 1]
    assert decoder.close() == []
    assert decode_calls(interleaved(), FORMAT) == CALLS
    assert decode_calls([ended(*OUTPUT)], FORMAT) == CALLS, "the last event alone has them all"


@pytest.mark.external
def test_events_of_the_sdk_are_decoded():
    adapter = TypeAdapter(sdk_class("openai.types.responses:ResponseStreamEvent"))
    rest = {"created_at": 1, "model": "m", "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    events = []
    for number, event in enumerate(interleaved()):
        more = {"sequence_number": number}
        if event["type"].endswith("call_arguments.done"):
            more["item_id"] = "x"
        if "response" in event:
            more["response"] = {**event["response"], **rest}
        events.append(adapter.validate_python({**event, **more}))
    assert decode_calls(events, FORMAT) == CALLS
    assert decode_calls([event.model_dump() for event in events], FORMAT) == CALLS


def test_a_truncated_stream_leaves_malformed_calls():
    decoder = StreamDecoder(FORMAT)
    events = [added(0, called()), delta(0, '{"ci'), added(1, called("call_9")), done(1, called("call_9"))]
    assert [call for event in events for call in decoder.feed(event)] == []
    assert decoder.close() == [
        cut(ToolCall("call_1", "weather", extras=kept(item=own("call_1"))), '{"ci'),
        ToolCall("call_9", "weather", PARIS.arguments, extras=kept(item=own("call_9"))),
    ]
    assert decoder.close() == []


@pytest.mark.parametrize(
    "item", [called(arguments='{"ci'), called(), freely()], ids=["half", "whole", "free"]
)
def test_a_limit_has_the_same_effect_in_a_stream_as_in_the_whole_response(item):
    events = [added(0, item), done(0, item), ended(item, status="incomplete")]
    assert decode_calls(events, FORMAT) == decode_calls(response(item, status="incomplete"), FORMAT)


def test_nonsense_in_a_stream_is_ignored():
    decoder = StreamDecoder(FORMAT)
    for event in (
        {},
        {"type": ["x"]},
        {"type": "response.output_item.done", "output_index": "a", "item": called()},
        {"type": "response.output_item.done", "output_index": 0, "item": 5},
        {"type": "response.output_item.added", "output_index": -1, "item": called()},
        {"type": "response.function_call_arguments.delta", "output_index": 7, "delta": 5},
        {"type": "response.completed", "response": 5},
        {"type": "response.completed", "response": {"output": [5]}},
    ):
        assert decoder.feed(event) == []
    assert decoder.close() == []


# --- results --------------------------------------------------------------------------------------


def test_results_are_items_that_name_their_caller():
    first, second, third = CALLS
    answers = [(first, ToolResult.ok({"c": 5}, "Done")), (second, FAILED), (third, ToolResult.ok("x", "ran"))]
    assert encode_results(answers, FORMAT) == [
        {"type": "function_call_output", "call_id": "call_1", "output": 'Done\n\n{"c":5}'},
        {
            "type": "function_call_output",
            "call_id": "call_3",
            "output": '{"error":{"type":"failed","message":"no such city"}}',
            "caller": CALLER,
        },
        {"type": "custom_tool_call_output", "call_id": "call_2", "output": 'ran\n\n"x"'},
    ]


def test_images_and_documents_are_sent():
    encoded = encode_results([(PARIS, ToolResult(message="seen", value=None, content=EVERY_PART))], FORMAT)
    left = ((2, "image"), (3, "audio"), (4, "audio"), (5, "video"))
    assert encoded.losses == tuple(Loss("weather", f"/content/{at}", kind, "left out") for at, kind in left)
    text, *parts = encoded[0].pop("output")
    assert text["text"].startswith("seen\n\n[image left out")
    assert parts == [
        {"type": "input_image", "image_url": "data:image/png;base64,iVBORw==", "detail": "auto"},
        {"type": "input_image", "image_url": "https://example.org/a.png", "detail": "auto"},
        {"type": "input_file", "filename": "report.pdf", "file_data": "data:application/pdf;base64,JVBERg=="},
        {"type": "input_file", "file_url": "https://example.org/a.pdf"},
        {"type": "input_text", "text": "table.csv:\na,b"},
    ]
    assert encoded == [{"type": "function_call_output", "call_id": "call_1"}]
