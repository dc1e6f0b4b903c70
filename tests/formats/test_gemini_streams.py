"""Gemini's streams: joined texts, whole calls, and partial arguments from Vertex."""

import json

from tests.cases import each_case
from tests.formats.test_gemini import CUT, PLAN, THOUGHT, call_part, response
from toolhaft import ToolCall
from toolhaft.formats import StreamDecoder, decode_calls


def test_a_stream_gives_the_calls_of_the_whole_response():
    signed = call_part("x", {"query": "tea"}, "a", thoughtSignature="c2ln")
    chunks = [
        response({"text": "Whe", "thought": True}, reason=None),
        response({"text": "re?", "thought": True}, {"text": "Let "}, reason=None),
        response({"text": "me see."}, signed, reason=None),
        response(call_part("x", {}), reason=None),
        response({"text": ""}),
    ]
    decoder = StreamDecoder("gemini")
    assert [[call.name for call in decoder.feed(chunk)] for chunk in chunks] == [[], [], ["x"], ["x"], []]
    whole = response(THOUGHT, PLAN, signed, call_part("x", {}))
    assert decode_calls(chunks, "gemini") == decode_calls(whole, "gemini")


def test_a_stream_as_one_list_of_responses_is_decoded():
    chunks = [
        response(PLAN, reason=None),
        response(call_part("x", {}, "a"), reason=None),
        response({"text": ""}),
    ]
    text = json.dumps(chunks, indent=1)  # as the server sends it where no events are asked for
    assert decode_calls(text, "gemini") == decode_calls(response(PLAN, call_part("x", {}, "a")), "gemini")


def piece(path, *, more=False, **value):
    return {"jsonPath": path, **value, **({"willContinue": True} if more else {})}


def in_pieces(*pieces):
    return {"functionCall": {"partialArgs": list(pieces), "willContinue": True}}


PIECES = [
    {"functionCall": {"id": "a", "name": "x", "willContinue": True}, "thoughtSignature": "c2ln"},
    in_pieces(piece("$.query", stringValue="te", more=True)),
    in_pieces(piece("$.query", stringValue="a", more=True)),
    in_pieces(piece("$.query", stringValue=""), piece("$.limit", numberValue=5.0)),
    in_pieces(piece("$.tags[0]", stringValue="hot"), piece("$.tags[1]", stringValue="green")),
    in_pieces(piece("$.rows[0].price", numberValue=1.5), piece("$['odd \\'key'][\"b\"]", boolValue=False)),
    in_pieces(piece("$.none", nullValue="NULL_VALUE")),
    {"functionCall": {}},
]
JOINED = {
    "query": "tea",
    "limit": 5,
    "tags": ["hot", "green"],
    "rows": [{"price": 1.5}],
    "odd 'key": {"b": False},
    "none": None,
}


def test_partial_arguments_from_vertex_are_joined():
    chunks = [response(part, reason=None) for part in PIECES]
    chunks += [response(call_part("x", {}, "b"))]
    whole = response(call_part("x", JOINED, "a", thoughtSignature="c2ln"), call_part("x", {}, "b"))
    assert decode_calls(chunks, "gemini") == decode_calls(whole, "gemini")
    assert decode_calls(response(*PIECES, call_part("x", {}, "b")), "gemini") == decode_calls(whole, "gemini")


@each_case("end", range(1, len(PIECES)))
def test_a_stream_that_ends_within_a_call_makes_it_malformed(end):
    (call,) = decode_calls([response(part, reason=None) for part in PIECES[:end]], "gemini")
    assert (call.id, call.name, call.malformed) == ("a", "x", CUT)


def test_a_partial_call_followed_by_another_is_malformed():
    first, second = decode_calls([*PIECES[:3], call_part("x", {}, "b")], "gemini")
    assert (first.id, first.malformed) == ("a", CUT)
    assert second == ToolCall("b", "x", {})


@each_case(
    "bad",
    [
        piece("$.tags[7]", stringValue="far"),
        piece("$.query.inner", stringValue="below a text"),
        piece("query", stringValue="no root"),
        piece("$..query", stringValue="a search"),
        piece("$", stringValue="the root"),
        piece("$" + ".a" * 300, stringValue="deep"),
        {"stringValue": "nowhere"},
        3,
    ],
)
def test_pieces_that_do_not_fit_make_the_call_malformed(bad):
    parts = [PIECES[0], in_pieces(piece("$.query", stringValue="tea")), in_pieces(bad), PIECES[-1]]
    call, other = decode_calls([*parts, call_part("x", {}, "b")], "gemini")
    assert call.malformed == "the pieces of the arguments do not fit together"
    assert other.malformed is None


@each_case(
    "event",
    [
        {"candidates": 3},
        {"candidates": [3, {"index": 1, "content": {"parts": [call_part("x", {}, "b")]}}]},
        {"candidates": [{"content": {"parts": [3, None]}}]},
        {"candidates": [{"content": 3, "finishReason": {}}]},
        {"usageMetadata": {}},
        {},
    ],
)
def test_invalid_chunks_and_other_candidates_are_ignored(event):
    decoder = StreamDecoder("gemini")
    assert decoder.feed(event) == []
    assert decoder.close() == []


def test_a_call_that_the_server_could_not_read_is_malformed():
    candidate = {
        "finishReason": "MALFORMED_FUNCTION_CALL",
        "finishMessage": "Malformed function call: f(",
        "index": 0,
    }
    for given in (
        {"candidates": [candidate]},
        iter([{"candidates": [candidate]}]),
        {"candidates": [{**candidate, "content": {"role": "model"}}]},
    ):
        (call,) = decode_calls(given, "gemini")
        assert call.malformed == "the server could not read the call: MALFORMED_FUNCTION_CALL"
    assert (
        decode_calls({"candidates": [{"finishReason": "STOP", "content": {"role": "model"}}]}, "gemini") == []
    )
