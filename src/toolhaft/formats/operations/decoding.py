"""Reads a model's response, whole or streamed, as ToolCalls with the tools' own names and arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, cast

from toolhaft.core.call import ToolCall
from toolhaft.errors import WireError
from toolhaft.formats.names import generated_id
from toolhaft.formats.operations.event_text import DONE, STARTS, EventText, Raw, first_object
from toolhaft.formats.operations.exporting import Export, check_export
from toolhaft.formats.payload_cursor import PayloadCursor, parse, plain
from toolhaft.formats.provider_format import TRUNCATED, ProviderFormat, malformed_call
from toolhaft.formats.registry import get_format
from toolhaft.formats.subset.argument_maps import ArgumentMap
from toolhaft.schema.json_text import has_repeated_key, read_json, to_json_text
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.nearest import nearest
from toolhaft.schema.problems import UnreadArguments


def restore_calls(calls: list[ToolCall], export: Export) -> list[ToolCall]:
    """The calls of one turn with the tools' own names, ids and arguments."""
    unchanged = export.unchanged if not export.ids else ()
    for call in calls:
        if call.name not in unchanged:
            return [restore_call(call, export) for call in calls]
    return calls


def restore_call(call: ToolCall, export: Export) -> ToolCall:
    """The call with the tool's own name, id and arguments."""
    entry = export.by_name.get(call.name)
    ids = export.ids
    id = ids.get(call.id, call.id) if ids else call.id
    if entry is None:
        # models also use the tool's own name, which they read in earlier results
        entry = export.by_own_name.get(call.name)
        if entry is None:
            return _unknown_call(call, id, export)
    if entry.mapping is None or isinstance(call.arguments, UnreadArguments):
        if id is call.id and entry.name == call.name:
            return call
        return ToolCall(id, entry.name, call.arguments, extras=call.extras)
    return ToolCall(id, entry.name, _restored(call.arguments, entry.mapping), extras=call.extras)


def _restored(arguments: object, mapping: ArgumentMap) -> str | JSONObject:
    value: object = arguments
    if isinstance(arguments, str):
        try:
            value = read_json(arguments)
        except ValueError:
            return arguments  # the executor reports the problem
        if has_repeated_key(arguments, value):
            return arguments  # the executor reports this too: neither of the two values is dropped silently
    try:
        restored = mapping.decode(cast("JSONValue", value))
    except RecursionError:  # nested too deep: the executor reports it
        return cast("str | JSONObject", arguments)
    return restored if isinstance(restored, dict) else cast("str | JSONObject", arguments)


def _unknown_call(call: ToolCall, id: str, export: Export) -> ToolCall:
    if isinstance(call.arguments, UnreadArguments):
        return ToolCall(id, call.name, call.arguments, extras=call.extras)
    close = nearest(call.name, list(export.names))
    hint = f"; did you mean {close!r}?" if close else ""
    return malformed_call(
        id, call.name, call.arguments, f"no tool {call.name!r:.80} was offered{hint}", call.extras
    )


class StreamDecoder:
    """Decodes one stream: call `feed` with each event or piece of raw text, and `close` at the end."""

    def __init__(self, format: str, *, export: Export | None = None) -> None:
        self._provider = get_format(format)
        check_export(export, format)
        self._stream = self._provider.stream_type(self._provider)
        self._export = export
        self._text = EventText(format)
        self._has_begun = False

    def feed(self, event: object) -> list[ToolCall]:
        """Read one event (the SDK's object, JSON, or raw text or bytes); return the calls that it completes.

        Raises:
            WireError: if it is not an event, or reports that the server failed; events of unknown kinds are
                ignored, because providers add new ones.
        """
        if isinstance(event, Raw):
            return [call for one in self._text.add(event) for call in self._read(one)]
        return self._take(event)

    def close(self) -> list[ToolCall]:
        """The calls that the stream left incomplete, marked malformed.

        Raises:
            WireError: if nothing in the stream was an event of the format.
        """
        left = [call for one in self._text.rest() for call in self._read_rest(one)]
        return left + [self._restored(call) for call in self._stream.close()]

    def _read(self, event: JSONValue) -> list[ToolCall]:
        """Read an event from the text: JSON, or a text that is not JSON."""
        if event == DONE:
            return [self._restored(call) for call in self._stream.finished()]
        return self._take(plain(event, self._provider.name) if isinstance(event, str) else event)

    def _read_rest(self, event: JSONValue) -> list[ToolCall]:
        try:
            return self._read(event)
        except WireError:
            text = event if isinstance(event, str) else ""
            is_start = text.startswith(("{", "[")) or any(start.startswith(text) for start in STARTS)
            if not self._has_begun and not is_start:
                raise
        if self._stream.open or not self._provider.call_start.search(text.replace("\n", " ")):
            return []  # an open call will report the truncation
        return [
            self._restored(malformed_call(generated_id(self._stream.count, "", text), "", text, TRUNCATED))
        ]

    def _take(self, event: object) -> list[ToolCall]:
        value = plain(event, self._provider.name)
        if not isinstance(value, dict):
            raise WireError(
                f"got {type(value).__name__}", format=self._provider.name, expected="an event of a stream"
            )
        if _is_error(value) and not self._stream.open:
            raise WireError(f"the server failed: {to_json_text(value):.300}", format=self._provider.name)
        if not self._has_begun and not self._provider.is_event(value):
            found = self._whole_message(value)
        else:
            found = self._stream.feed(value)
        self._has_begun = True
        return [self._restored(call) for call in found]

    def _whole_message(self, value: JSONObject) -> list[ToolCall]:
        """The calls of a message that a server sent instead of a stream; empty if it is an unknown event."""
        try:
            return self._provider.read_calls(PayloadCursor(value, self._provider.name))
        except WireError:
            return self._stream.feed(value)

    def _restored(self, call: ToolCall) -> ToolCall:
        return call if self._export is None else restore_call(call, self._export)


def _is_error(event: JSONObject) -> bool:
    """True for an event that reports a failure of the server."""
    delta = event.get("delta")
    is_inside = isinstance(delta, dict) and bool(delta.get("error"))
    if is_inside or event.get("error") or "error" in (event.get("type"), event.get("object")):
        return True
    return len(event) == 1 and next(iter(event)).endswith("Exception")


def events_of(source: object, provider: ProviderFormat) -> Iterable[object] | None:
    """The events of a stream, or its raw text in pieces; None for a message."""
    if isinstance(source, list | tuple):
        first = cast("object", source[0]) if source else None
        is_many = isinstance(first, Raw) or (first is not None and _is_event(first, provider))
        return cast("Iterable[object]", source) if is_many else None
    if isinstance(source, Mapping) or hasattr(source, "model_dump") or not isinstance(source, Iterable):
        return None
    return cast("Iterable[object]", source)


def read_raw(text: Raw, provider: ProviderFormat) -> object:
    """The message in a text; for the text of a stream, a list with the text."""
    try:
        value = parse(text)
    except ValueError:
        content = text if isinstance(text, str) else bytes(text).decode("utf-8-sig", "replace")
        content = content.lstrip("\ufeff\r\n\t ")
        if content.startswith(STARTS) or _is_event(first_object(content), provider):
            return [text]
        return plain(content, provider.name)
    if provider.has_whole_events or type(value) is not dict:
        return value
    return [value] if provider.is_event(value) else value


def _is_event(source: object, provider: ProviderFormat) -> bool:
    try:
        value = plain(source, provider.name)
    except WireError:
        return False
    return isinstance(value, dict) and provider.is_event(value)


_RAW: Final = frozenset((str, bytes, bytearray))
_new_cursor: Final = cast("Callable[[type, tuple[JSONValue, str, str]], PayloadCursor]", tuple.__new__)
_MESSAGE_KEYS: Final = frozenset(("method", "role", "tool_calls"))


def decode_calls(message_or_stream: object, format: str, *, export: Export | None = None) -> list[ToolCall]:
    """The calls that a model made, in order, from a whole response, a message, or a stream of events.

    Names, arguments and ids are restored to the tools' own. An invalid call is returned too, marked
    malformed: the executor answers it, so that every call of a turn gets a result.

    Args:
        message_or_stream: the SDK's object, JSON as objects or text, or the events of a stream.
        format: one of `toolhaft.formats.FORMATS`.
        export: the export that offered the tools; without it nothing is restored.

    Raises:
        WireError: if the message is not of this format.
    """
    provider = get_format(format)
    if export is not None and (type(export) is not Export or export.format != format):
        check_export(export, format)
    source = message_or_stream
    try:
        if type(source) in _RAW:
            source = read_raw(cast("str | bytes | bytearray", source), provider)
        if type(source) is dict:
            found = _read_object(cast("JSONObject", source), provider)
        else:
            events = events_of(source, provider)
            if events is not None:
                decoder = StreamDecoder(format, export=export)
                return [call for event in events for call in decoder.feed(event)] + decoder.close()
            messages = _messages(plain(source, format), provider)
            found = [call for message in messages for call in provider.read_calls(message)]
        return found if export is None else restore_calls(found, export)
    except RecursionError:
        raise WireError("nested too deep", format=format, expected="at most 200 levels") from None


def _read_object(message: JSONObject, provider: ProviderFormat) -> list[ToolCall]:
    """The calls of a message; SDK objects inside it are dumped only if it cannot be read as it is."""
    try:
        # not the generated constructor, which takes twice as long
        found = provider.read_calls(_new_cursor(PayloadCursor, (message, provider.name, "")))
    except WireError:
        written = plain(message, provider.name)
        if written is message:
            raise
        return provider.read_calls(PayloadCursor(written, provider.name))
    for call in found:
        if type(call.arguments) is UnreadArguments:
            return provider.read_calls(PayloadCursor(plain(message, provider.name), provider.name))
    return found


def _messages(value: JSONValue, provider: ProviderFormat) -> Iterable[PayloadCursor]:
    """The single message, or the messages of a history."""
    whole = PayloadCursor(value, provider.name)
    if provider.has_messages and isinstance(value, list) and all(_is_message(member) for member in value):
        return whole.items()
    return (whole,)


def _is_message(value: JSONValue) -> bool:
    return isinstance(value, dict) and not _MESSAGE_KEYS.isdisjoint(value)
