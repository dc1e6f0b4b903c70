"""Turns a call that came off a wire back to what the tool calls things: its name, arguments and id.

Knows exports; does not know wires.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from toolhaft.core.call import ToolCall
from toolhaft.formats.verbs.exports import Export
from toolhaft.formats.wire import broken_call
from toolhaft.schema.json_text import has_repeated_key, read_json
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.nearest import nearest
from toolhaft.schema.problems import UnreadArguments


def all_returned(calls: list[ToolCall], export: Export) -> list[ToolCall]:
    """The calls of one turn as the executor is to see them."""
    unchanged = export.unchanged if not export.ids else ()
    for index, call in enumerate(calls):
        if call.name not in unchanged:
            calls[index] = returned(call, export)
    return calls


def returned(call: ToolCall, export: Export) -> ToolCall:
    """The call as the executor is to see it."""
    entry = export.by_name.get(call.name)
    ids = export.ids
    id = ids.get(call.id, call.id) if ids else call.id
    if entry is None:
        # by its own name too: that is how answers to earlier calls named the tool
        entry = export.by_own_name.get(call.name)
        if entry is None:
            return _never_offered(call, id, export)
    if entry.turn is None or isinstance(call.arguments, UnreadArguments):
        if id is call.id and entry.name == call.name:
            return call
        return ToolCall(id, entry.name, call.arguments, extras=call.extras)
    return ToolCall(id, entry.name, _turned(call.arguments, entry.turn.back), extras=call.extras)


def _turned(arguments: object, back: Callable[[JSONValue], JSONValue]) -> str | JSONObject:
    value: object = arguments
    if isinstance(arguments, str):
        try:
            value = read_json(arguments)
        except ValueError:
            return arguments  # the executor says what is wrong with it
        if has_repeated_key(arguments, value):
            return arguments  # the same: of two values none is taken in silence
    try:
        turned = back(cast("JSONValue", value))
    except RecursionError:  # deeper than any tool takes: the executor says so
        return cast("str | JSONObject", arguments)
    return turned if isinstance(turned, dict) else cast("str | JSONObject", arguments)


def _never_offered(call: ToolCall, id: str, export: Export) -> ToolCall:
    if isinstance(call.arguments, UnreadArguments):
        return ToolCall(id, call.name, call.arguments, extras=call.extras)
    close = nearest(call.name, list(export.names))
    hint = f"; did you mean {close!r}?" if close else ""
    return broken_call(
        id, call.name, call.arguments, f"no tool {call.name!r:.80} was offered{hint}", call.extras
    )
