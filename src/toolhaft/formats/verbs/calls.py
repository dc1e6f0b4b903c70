"""Calls in and out: what a model asked for as ToolCalls, and the same calls as a wire's history.

Knows exports, and what they renamed; each wire knows where its calls stand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, cast

from toolhaft.core.call import ToolCall
from toolhaft.errors import WireError
from toolhaft.formats.registry import wire_of
from toolhaft.formats.shapes import Shape, plain
from toolhaft.formats.verbs.encoded import Encoded
from toolhaft.formats.verbs.exports import Export, check_export
from toolhaft.formats.verbs.outgoing import Outgoing, listed_calls
from toolhaft.formats.verbs.returning import all_returned
from toolhaft.formats.verbs.streams import StreamDecoder, events_of, read_raw
from toolhaft.formats.wire import Wire
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.problems import UnreadArguments

_RAW: Final = frozenset((str, bytes, bytearray))
_MESSAGE_KEYS: Final = frozenset(("method", "role", "tool_calls"))


def decode_calls(message_or_stream: object, format: str, *, export: Export | None = None) -> list[ToolCall]:
    """The calls that a model made, in their order: of a whole response or message, or of a stream of events.

    Names, arguments and ids are turned back to what they were before the export. A call that is broken comes
    too, marked malformed: the executor answers it, so that no turn is left without its answers.

    Args:
        message_or_stream: the SDK's own object, the JSON as objects or as text, or the events of a stream.
        format: one of `toolhaft.formats.FORMATS`.
        export: what the tools went out with; without it nothing is turned back.

    Raises:
        WireError: where the message does not have the format's shape.
    """
    wire = wire_of(format)
    if export is not None and getattr(export, "format", None) != format:
        check_export(export, format)
    given = message_or_stream
    try:
        if type(given) in _RAW:
            given = read_raw(cast("str | bytes | bytearray", given), wire)
        if type(given) is dict:
            found = _read_object(cast("JSONObject", given), wire)
        else:
            events = events_of(given, wire)
            if events is not None:
                decoder = StreamDecoder(format, export=export)
                return [call for event in events for call in decoder.feed(event)] + decoder.close()
            messages = _messages(plain(given, format), wire)
            found = [call for message in messages for call in wire.read_calls(message)]
        return found if export is None else all_returned(found, export)
    except RecursionError:
        raise WireError("nested too deep", format=format, expected="at most 200 levels") from None


# a Shape without its defaults: one is made of every message
_new = cast("Callable[[type[Shape], tuple[object, ...]], Shape]", tuple.__new__)


def _read_object(message: JSONObject, wire: Wire) -> list[ToolCall]:
    """The calls of a message; SDK objects inside it are looked for only where it does not read well."""
    try:
        found = wire.read_calls(_new(Shape, (message, wire.name, "")))
    except WireError:
        written = plain(message, wire.name)
        if written is message:
            raise
        return wire.read_calls(Shape(written, wire.name))
    for call in found:
        if type(call.arguments) is UnreadArguments:
            return wire.read_calls(Shape(plain(message, wire.name), wire.name))
    return found


def _messages(value: JSONValue, wire: Wire) -> Iterable[Shape]:
    """The one message, or the several of a history."""
    whole = Shape(value, wire.name)
    if wire.has_messages and isinstance(value, list) and all(_is_message(member) for member in value):
        return whole.items()
    return (whole,)


def _is_message(value: JSONValue) -> bool:
    return isinstance(value, dict) and not _MESSAGE_KEYS.isdisjoint(value)


def encode_calls(
    calls: Iterable[ToolCall], format: str, *, export: Export | None = None, dialect: str | None = None
) -> Encoded:
    """The calls of one turn as the messages of a provider's history, to replay them.

    What the provider itself said with a call comes back from `extras`; another provider's is left out, and
    told. Ids that the wire does not take are changed, always in the same way, and noted in `ids`.
    """
    wire = wire_of(format)
    outgoing = Outgoing(wire, export, dialect)
    written = [outgoing.call(call) for call in listed_calls(calls)]
    return outgoing.encoded(wire.write_calls(written) if written else [])
