"""Results back: what the tools gave, as the messages that a provider wants after its calls.

Knows results and content parts; each wire knows where they stand.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final, cast

from pydantic_core import PydanticSerializationError, to_jsonable_python

from toolhaft import schema
from toolhaft.core.call import ToolCall
from toolhaft.core.content import Text, read_part
from toolhaft.core.conversion import AnyResult
from toolhaft.core.result import ToolResult
from toolhaft.errors import WireError
from toolhaft.formats.losses import Loss
from toolhaft.formats.registry import wire_of
from toolhaft.formats.verbs.encoded import Encoded
from toolhaft.formats.verbs.exports import Export
from toolhaft.formats.verbs.outgoing import Outgoing, listed_calls
from toolhaft.formats.wire import Answer, Media
from toolhaft.formats.writing import document_text
from toolhaft.schema.json_text import endless, object_to_text
from toolhaft.schema.json_value import JSONValue

_CHECKED: Final = "clients check results for the value that the output schema promises"


def encode_results(
    results: Iterable[object],
    format: str,
    *,
    calls: Iterable[ToolCall] | None = None,
    export: Export | None = None,
    dialect: str | None = None,
) -> Encoded:
    """The results of one turn as the messages that answer its calls, in their order.

    A result that an executor gave knows its call; others come as pairs `(call, result)`, or with `calls`.
    What is not text goes where the wire carries it; where it does not, the loss is told and the model reads
    that something was left out. Failures are flagged, or written as `{"error": {...}}` where no flag exists.

    Raises:
        WireError: where a result's call is not known, or the number of calls is another.
    """
    wire = wire_of(format)
    outgoing = Outgoing(wire, export, dialect)
    answers = [_answer(call, result, outgoing) for call, result in _pairs(results, calls)]
    return outgoing.encoded(wire.write_results(answers, outgoing.dialect) if answers else [])


def _pairs(
    results: Iterable[object], calls: Iterable[ToolCall] | None
) -> Sequence[tuple[ToolCall, AnyResult]]:
    if not isinstance(results, Iterable | ToolResult):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
        raise WireError(f"{results!r:.80} is no list of results", expected="a list of ToolResult")
    listed = [results] if isinstance(results, ToolResult) else list(results)
    if calls is not None:
        asked = listed_calls(calls)
        if len(asked) != len(listed):
            raise WireError(
                f"{len(listed)} results for {len(asked)} calls", expected="one result for each call"
            )
        return [(call, _result(result)) for call, result in zip(asked, listed, strict=True)]
    return [_pair(thing) for thing in listed]


def _pair(thing: object) -> tuple[ToolCall, AnyResult]:
    if isinstance(thing, tuple) and len(cast("tuple[object, ...]", thing)) == 2:  # noqa: PLR2004 -- call and result
        call, result = cast("tuple[object, object]", thing)
        if isinstance(call, ToolCall):
            return call, _result(result)
    result = _result(cast("object", thing))
    if result.call is None:
        raise WireError(
            f"it is not known which call {result!r:.80} answers",
            expected="a result from an executor, a pair (call, result), or calls=calls",
        )
    return result.call, result


def _result(thing: object) -> AnyResult:
    if isinstance(thing, ToolResult):
        return cast("AnyResult", thing)
    raise WireError(f"{thing!r:.80} is not a result", expected="a ToolResult")


def _answer(call: ToolCall, result: AnyResult, outgoing: Outgoing) -> Answer:
    texts, parts = _parts(call, result, outgoing)
    text = _sayable("\n\n".join(part for part in (result.render(), *texts) if part))
    has_value, value = _shown_value(call, result, outgoing)
    failure = result.failure
    extras = outgoing.extras(call)
    return Answer(
        outgoing.id(call, extras),
        outgoing.name(call),
        text,
        value,
        has_value,
        not result.success,
        "" if result.success else failure.kind if failure is not None else "failed",
        parts,
        extras,
        outgoing.is_free_form(call),
    )


def _parts(call: ToolCall, result: AnyResult, outgoing: Outgoing) -> tuple[list[str], tuple[Media, ...]]:
    """The parts of a result as words, and as what the wire carries."""
    texts: list[str] = []
    kept: list[Media] = []
    for index, given in enumerate(result.content):
        part = read_part(given)
        if isinstance(part, Text):
            texts.append(part.text)
            continue
        part = _sayable_part(part)
        words = document_text(part)
        if outgoing.wire.carries(part):
            kept.append(part)
        elif words is not None:
            texts.append(words)
            told = Loss(call.name, f"/content/{index}", part.kind, "reshaped", "its text joins the result's")
            outgoing.losses.append(told)
        else:
            texts.append(f"[{part.kind} left out: {part.media_type}]")
            outgoing.losses.append(Loss(call.name, f"/content/{index}", part.kind, "left out"))
    return texts, tuple(kept)


def _shown_value(call: ToolCall, result: AnyResult, outgoing: Outgoing) -> tuple[bool, JSONValue]:
    """The value as JSON, where the model may see it and it is not too large to be shown whole.

    Where the wire told the tool's output schema, its client checks for a value: then it always goes out.
    """
    rest = result._rest  # noqa: SLF001 -- its limit is not public # pyright: ignore[reportPrivateUsage] -- the same
    is_promised = result.success and outgoing.promises(call)
    is_hidden = cast("object", result.value) is None or rest.exclude_value_from_context
    if is_hidden and not is_promised:
        return False, None
    written = _written(result.value)
    if written is None:
        if is_promised:
            outgoing.losses.append(Loss(call.name, "", "value", "left out", f"it is no JSON; {_CHECKED}"))
        return False, None
    value, size = written
    if is_promised and rest.exclude_value_from_context:
        outgoing.losses.append(Loss(call.name, "", "exclude_value_from_context", "kept", _CHECKED))
    return (True, value) if is_promised or size <= rest.longest else (False, None)


def _written(value: object) -> tuple[JSONValue, int] | None:
    """A value as JSON and how long its text is; None where it has no JSON form, as NaN has none."""
    if not schema.is_writable(value):
        return None
    try:
        written = cast("JSONValue", to_jsonable_python(value, by_alias=True, inf_nan_mode="constants"))
        text = object_to_text(written)
    except (PydanticSerializationError, ValueError, RecursionError):
        return None
    is_odd = "NaN" in text or "Infinity" in text
    return None if is_odd and endless(written) else (written, len(text))


def _sayable(text: str) -> str:
    """The text with halves of surrogate pairs written out: a client fails on them, and sends no answer."""
    return text if text.isascii() else text.encode(errors="backslashreplace").decode()


def _sayable_part(part: Media) -> Media:
    texts = {"media_type": part.media_type, "url": part.url, "name": getattr(part, "name", None)}
    made = {key: _sayable(text) for key, text in texts.items() if isinstance(text, str)}
    return part if all(texts[key] == text for key, text in made.items()) else replace(part, **made)
