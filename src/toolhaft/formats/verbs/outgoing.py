"""Calls on their way out: a wire's own names, ids and arguments for them, and what is lost on the way.

Knows exports, and what they renamed; does not know what a message looks like.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Final, cast

from toolhaft.core.call import ToolCall
from toolhaft.errors import WireError
from toolhaft.formats.losses import Loss
from toolhaft.formats.names import fit, fit_id
from toolhaft.formats.registry import dialect_of
from toolhaft.formats.verbs.encoded import Encoded
from toolhaft.formats.verbs.entries import Entry
from toolhaft.formats.verbs.exports import Export, check_export
from toolhaft.formats.wire import OWN_ID, Wire, WireCall
from toolhaft.formats.writing import as_object
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.problems import UnreadArguments

_DEEPEST: Final = 200


def listed_calls(calls: Iterable[ToolCall]) -> Sequence[ToolCall]:
    """The calls of one turn.

    Raises:
        WireError: where they are no calls.
    """
    if not isinstance(calls, Iterable | ToolCall):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
        raise WireError(f"{calls!r:.80} is no list of calls", expected="a list of ToolCall")
    listed = [calls] if isinstance(calls, ToolCall) else list(calls)
    for call in listed:
        if not isinstance(call, ToolCall):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
            raise WireError(
                f"{call!r:.80} is not a call", expected="ToolCall(id='...', name='...', arguments=...)"
            )
    return listed


class Outgoing:
    """Calls of one turn on their way out: the wire's names and ids for them, and what was lost."""

    def __init__(self, wire: Wire, export: Export | None, dialect: str | None = None) -> None:
        check_export(export, wire.name)
        self.dialect = dialect_of(wire, dialect if dialect is not None or export is None else export.dialect)
        self.wire = wire
        self.ids: dict[str, str] = {} if export is None else export.ids
        self.losses: list[Loss] = []
        self._entries: Mapping[str, Entry] = {} if export is None else export.history
        self._taken = frozenset[str]() if export is None else frozenset(export.names)
        self._used: set[str] = set()

    def call(self, call: ToolCall) -> WireCall:
        """One call as the wire has it."""
        entry = self._entries.get(call.name)
        extras = self.extras(call)
        return WireCall(
            self.id(call, extras),
            self.name(call),
            self._arguments(call, entry),
            extras,
            entry is not None and entry.is_free_form,
            {} if entry is None else entry.hints,
            self.dialect,
        )

    def id(self, call: ToolCall, own: JSONObject) -> str:
        """The call's id as the wire takes it, and no other of the turn has it.

        One that the wire sent itself stays as it was, for its server knows it.
        """
        is_own = OWN_ID in own and _is_sound(call.id)
        made = call.id if is_own else self._fitting(call.id)
        if made in self._used and not self.wire.takes_any_id:
            made = self._fitting(f"{call.id}_{len(self._used)}")
        self._used.add(made)
        if made != call.id:
            self.ids[made] = call.id
        return made

    def _fitting(self, id: str) -> str:
        wanted = self.wire.call_ids
        if not id and not self.wire.takes_any_id:
            id = f"none_{len(self._used)}"
        sound = _sound(id)
        return sound if wanted is None else fit_id(sound, wanted)

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
        if made in self._taken:  # another tool's
            made = fit(call.name, wanted, is_taken=True)
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
            return deepcopy(dict(kept))
        foreign = [format for format in kept if format != self.wire.name]
        if foreign:
            told = f"what {', '.join(foreign)} kept of the call"
            self.losses.append(Loss(call.name, "", "extras", "left out", told))
        own = kept.get(self.wire.name)
        return deepcopy(own) if isinstance(own, dict) else {}  # messages are their owner's to change

    def encoded(self, messages: list[JSONObject]) -> Encoded:
        """The messages with what was lost on the way."""
        return Encoded(messages, losses=tuple(self.losses), ids=dict(self.ids))

    def _arguments(self, call: ToolCall, entry: Entry | None) -> str | JSONObject:
        given = call.arguments
        if isinstance(given, UnreadArguments):
            return _sound(given.text)
        turn = None if entry is None else entry.turn
        if isinstance(given, str) and turn is None:
            return _sound(given)
        value = as_object(given)
        if value is None and isinstance(given, Mapping):
            value = as_object(_sound_value(given, 0))
        if value is None:
            return _sound(given) if isinstance(given, str) else "null"
        turned = value if turn is None else turn.forth(value)
        return turned if isinstance(turned, dict) else value


def _is_sound(text: str) -> bool:
    """False for a text with half a character in it, which no client can send."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _sound(text: str) -> str:
    return text if _is_sound(text) else text.encode("utf-8", "replace").decode()


def _sound_value(value: object, depth: int) -> object:
    """A value that clients can send, whatever halves of characters stand in it."""
    if isinstance(value, str):
        return _sound(value)
    if depth > _DEEPEST:
        return None
    if isinstance(value, Mapping):
        members = cast("Mapping[str, object]", value)
        return {_sound(str(key)): _sound_value(member, depth + 1) for key, member in members.items()}
    if isinstance(value, list):
        return [_sound_value(member, depth + 1) for member in cast("list[object]", value)]
    return value
