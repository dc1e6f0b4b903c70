"""Gemini's generateContent: the real client, scripted responses, and the server's rules."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, closing
from typing import Any

from google.genai import Client, types

from tests.formats.providers.gemini_rules import MODEL, check, refuse
from tests.formats.providers.provider import FINAL_TEXT, KEY, PLAN, Provider, ScriptedCall, pieces
from tests.formats.providers.server import sse

SIGNATURE = "CpwBAVSoXO5mKQ=="
_THOUGHT = {"text": "Two lookups, side by side.", "thought": True}
_USAGE = {
    "promptTokenCount": 82,
    "candidatesTokenCount": 41,
    "thoughtsTokenCount": 16,
    "totalTokenCount": 139,
}


# --- the client ---------------------------------------------------------------------------------------


def connect(url: str) -> AbstractContextManager[Client]:
    """The client of the developer API."""
    options = types.HttpOptions(
        base_url=url, timeout=10_000, retry_options=types.HttpRetryOptions(attempts=1)
    )
    return closing(Client(api_key=KEY, vertexai=False, http_options=options))


def _config(fields: Mapping[str, Any]) -> types.GenerateContentConfig:
    by_hand = types.AutomaticFunctionCallingConfig(disable=True)
    return types.GenerateContentConfig(automatic_function_calling=by_hand, **fields)


def ask(client: Any, history: Sequence[Any], fields: Mapping[str, Any]) -> Any:
    """One request; calls are not for the SDK to run."""
    return client.models.generate_content(model=MODEL, contents=list(history), config=_config(fields))


def stream(client: Any, history: Sequence[Any], fields: Mapping[str, Any]) -> list[Any]:
    """One request and all parts of its answer."""
    chunks = client.models.generate_content_stream(
        model=MODEL, contents=list(history), config=_config(fields)
    )
    return list(chunks)


def _said(response: Any) -> str:
    parts = response.candidates[0].content.parts or ()
    return "".join(part.text for part in parts if part.text and not part.thought)


# --- its answers --------------------------------------------------------------------------------------


def _response(parts: Sequence[Any], reason: str | None) -> dict[str, Any]:
    candidate = {"content": {"parts": list(parts), "role": "model"}, "index": 0}
    return {
        "candidates": [{**candidate, "finishReason": reason} if reason else candidate],
        "usageMetadata": _USAGE,
        "modelVersion": MODEL,
        "responseId": "c0sHaa2pNv6",
    }


def _call_parts(calls: Sequence[ScriptedCall]) -> list[dict[str, Any]]:
    """Of parallel calls the first alone is signed."""
    parts: list[dict[str, Any]] = [
        {"functionCall": {"id": call.id, "name": call.name, "args": dict(call.arguments)}} for call in calls
    ]
    parts[0]["thoughtSignature"] = SIGNATURE
    return parts


def calling(calls: Sequence[ScriptedCall]) -> dict[str, Any]:
    """A thought, a text and calls, the first signed."""
    return _response([_THOUGHT, {"text": PLAN}, *_call_parts(calls)], "STOP")


def _events(said: str, parts: Sequence[Any]) -> list[Any]:
    """Text comes in pieces, each call whole; a last chunk may hold an empty text."""
    texts = [_response([{"text": piece}], None) for piece in pieces(said)]
    calls = [_response([part], None) for part in parts]
    return [_response([_THOUGHT], None), *texts, *calls, _response([{"text": ""}], "STOP")]


def calling_events(calls: Sequence[ScriptedCall]) -> list[Any]:
    """The same parts over several chunks."""
    return _events(PLAN, _call_parts(calls))


PROVIDER = Provider(
    format="gemini",
    connect=connect,
    ask=ask,
    stream=stream,
    check=check,
    refuse=refuse,
    question=(
        {"role": "user", "parts": [{"text": "How warm is it in Paris, and how many bolts are left?"}]},
    ),
    ids=("8f2a1c04", "8f2a1c05", "9d00", "9d01", "9d02"),
    calling=calling,
    calling_events=calling_events,
    final=_response([{"text": FINAL_TEXT}], "STOP"),
    final_events=_events(FINAL_TEXT, []),
    frame=sse,
    replay=lambda response: [response.candidates[0].content],
    dump=lambda made: made.model_dump(),
    text=_said,
    stream_text=lambda chunks: "".join(map(_said, chunks)),
)
