"""Calls in and out: what a model asked for as ToolCalls, and the same calls as a wire's history.

Knows exports, and what they renamed; each wire knows where its calls stand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, cast

from toolhaft.core.call import ToolCall
from toolhaft.errors import WireError
from toolhaft.formats.encoded import Encoded
from toolhaft.formats.entries import Entry
from toolhaft.formats.exports import Export
from toolhaft.formats.losses import Loss
from toolhaft.formats.names import fit, fit_id
from toolhaft.formats.registry import wire_of
from toolhaft.formats.returning import returned
from toolhaft.formats.shapes import Shape, plain
from toolhaft.formats.streams import StreamDecoder, events_of, read_raw
from toolhaft.formats.wire import Wire, WireCall
from toolhaft.formats.writing import as_object
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
    given = message_or_stream
    if type(given) in _RAW:
        given = read_raw(cast("str | bytes | bytearray", given), wire)
    if type(given) is dict:
        found = wire.read_calls(Shape(cast("JSONObject", given), format))
    else:
        events = events_of(given, wire)
        if events is not None:
            decoder = StreamDecoder(format, export=export)
            return [call for event in events for call in decoder.feed(event)] + decoder.close()
        found = [call for part in _messages(plain(given, format), wire) for call in wire.read_calls(part)]
    return found if export is None else [returned(call, export) for call in found]


def _messages(value: JSONValue, wire: Wire) -> Iterable[Shape]:
    """The one message, or the several of a history."""
    whole = Shape(value, wire.name)
    if wire.has_messages and isinstance(value, list) and all(_is_message(member) for member in value):
        return whole.items()
    return (whole,)


def _is_message(value: JSONValue) -> bool:
    return isinstance(value, dict) and not _MESSAGE_KEYS.isdisjoint(value)


def encode_calls(calls: Iterable[ToolCall], format: str, *, export: Export | None = None) -> Encoded:
    """The calls of one turn as the messages of a provider's history, to replay them.

    What the provider itself said with a call comes back from `extras`; another provider's is left out, and
    told. Ids that the wire does not take are changed, always in the same way, and noted in `ids`.
    """
    wire = wire_of(format)
    outgoing = Outgoing(wire, export)
    written = [outgoing.call(call) for call in _listed(calls)]
    return outgoing.encoded(wire.write_calls(written) if written else [])


def _listed(calls: Iterable[ToolCall]) -> Sequence[ToolCall]:
    listed = [calls] if isinstance(calls, ToolCall) else list(calls)
    for call in listed:
        if not isinstance(call, ToolCall):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
            raise WireError(
                f"{call!r:.80} is not a call", expected="ToolCall(id='...', name='...', arguments=...)"
            )
    return listed


class Outgoing:
    """Calls of one turn on their way out: the wire's names and ids for them, and what was lost."""

    def __init__(self, wire: Wire, export: Export | None) -> None:
        self.wire = wire
        self.ids: dict[str, str] = {} if export is None else export.ids
        self.losses: list[Loss] = []
        self._count = 0
        self._entries: dict[str, Entry] = (
            {} if export is None else {entry.name: entry for entry in export.by_name.values()}
        )

    def call(self, call: ToolCall) -> WireCall:
        """One call as the wire has it."""
        entry = self._entries.get(call.name)
        extras = self.extras(call)
        return WireCall(
            self.id(call),
            self.name(call),
            self._arguments(call, entry),
            extras,
            entry is not None and entry.is_free_form,
        )

    def id(self, call: ToolCall) -> str:
        """The call's id as the wire takes it."""
        wanted = self.wire.call_ids
        is_said = bool(call.id) or self.wire.has_empty_ids
        if is_said and (wanted is None or wanted.admits(call.id)):
            return call.id
        own = call.id or f"none_{self._count}"
        made = own if wanted is None else fit_id(own, wanted)
        self._count += 1
        self.ids[made] = call.id
        return made

    def name(self, call: ToolCall) -> str:
        """The tool's name on the wire.

        One that a model made up must fit too: a server refuses the whole history for it.
        """
        entry = self._entries.get(call.name)
        if entry is not None:
            return entry.wire_name
        wanted = self.wire.tool_names
        if wanted.admits(call.name):
            return call.name
        made = fit(call.name, wanted)
        self.losses.append(Loss(call.name, "", "name", "renamed", made))
        return made

    def is_free_form(self, call: ToolCall) -> bool:
        """True if the tool went out as one that takes plain text."""
        entry = self._entries.get(call.name)
        return entry is not None and entry.is_free_form

    def promises(self, call: ToolCall) -> bool:
        """True if the wire said what the tool gives back."""
        entry = self._entries.get(call.name)
        schema = None if entry is None else cast("JSONValue", entry.tool.output_schema)
        return schema is not None and self.wire.promises(schema)

    def extras(self, call: ToolCall) -> JSONObject:
        """What this format kept of the call; what others kept is told as lost."""
        if not isinstance(call.extras, Mapping):
            return {}
        kept = cast("Mapping[str, JSONValue]", call.extras)
        if self.wire.keeps_extras:
            return dict(kept)
        foreign = [format for format in kept if format != self.wire.name]
        if foreign:
            told = f"what {', '.join(foreign)} kept of the call"
            self.losses.append(Loss(call.name, "", "extras", "left out", told))
        own = kept.get(self.wire.name)
        return own if isinstance(own, dict) else {}

    def encoded(self, messages: list[JSONObject]) -> Encoded:
        """The messages with what was lost on the way."""
        return Encoded(messages, losses=tuple(self.losses), ids=dict(self.ids))

    def _arguments(self, call: ToolCall, entry: Entry | None) -> str | JSONObject:
        given = call.arguments
        if isinstance(given, UnreadArguments):
            return given.text
        turn = None if entry is None else entry.turn
        if isinstance(given, str) and turn is None:
            return given
        value = as_object(given)
        if value is None:
            return given if isinstance(given, str) else "null"
        turned = value if turn is None else turn.forth(value)
        return turned if isinstance(turned, dict) else value
