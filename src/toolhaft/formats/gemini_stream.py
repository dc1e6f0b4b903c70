"""Assembles the responses of a Gemini stream into the parts that the whole response would have.

Calls arrive whole, except from Vertex when it streams arguments as values at JSON paths.
"""

from __future__ import annotations

import re
from base64 import b64encode
from itertools import pairwise
from typing import Final, cast

from toolhaft.core.call import ToolCall
from toolhaft.formats.blocks import BlockFormat, BlockStream, PartialBlock, truncated_call
from toolhaft.formats.message_parts import list_or_empty, object_or_empty
from toolhaft.formats.names import generated_id
from toolhaft.formats.provider_format import PartialCall, malformed_call
from toolhaft.schema.json_text import to_json_text
from toolhaft.schema.json_value import JSONObject, JSONValue

_WORD_START: Final = re.compile("_([a-z])")
_DATA_KEYS: Final = frozenset(("args", "response", "partMetadata"))
_MOST_KEYS: Final = 3
"""A part from the server has few keys; one dumped by the SDK has all of them."""


def to_camel_case(key: str) -> str:
    """A key in camel case."""
    return _WORD_START.sub(lambda found: found[1].upper(), key)


def normalize_parts(parts: list[JSONValue]) -> list[JSONValue]:
    """The parts in camel case, without nulls, as the server sends them; the same list if they already are."""
    for part in parts:
        if type(part) is dict and (len(part) > _MOST_KEYS or "function_call" in part):
            return [_normalize(part) for part in parts]
    return parts


def _normalize(value: JSONValue) -> JSONValue:
    if isinstance(value, dict):
        made: JSONObject = {}
        for written, member in value.items():
            key = to_camel_case(written)
            if member is not None:
                made[key] = member if key in _DATA_KEYS else _normalize(member)
        return made
    if isinstance(value, list):
        return [_normalize(member) for member in value]
    dumped = cast("object", value)  # a dumped object may contain bytes
    return b64encode(dumped).decode() if isinstance(dumped, bytes) else value


_STEP: Final = re.compile(
    r"""\.([^.\[\]'"]+) | \[(\d{1,6})\] | \['((?:[^'\\]|\\.)*)'\] | \["((?:[^"\\]|\\.)*)"\]""", re.VERBOSE
)
_ESCAPED: Final = re.compile(r"\\(.)")
_VALUES: Final = ("stringValue", "numberValue", "boolValue")
_DEEPEST: Final = 100
_EXACT: Final = 2**53
"""Below this a double represents every integer exactly."""


class PartialArguments:
    """Arguments assembled from values at JSON paths."""

    __slots__ = ("_continued_path", "is_misfit", "value")

    def __init__(self, value: JSONObject) -> None:
        self.value: JSONObject = value
        self.is_misfit = False
        """True once a piece did not fit."""
        self._continued_path: str | None = None

    def add(self, piece: JSONValue) -> None:
        """Add one piece; text is appended if the piece before it announced more."""
        path = piece.get("jsonPath") if isinstance(piece, dict) else None
        steps = _steps(path) if isinstance(path, str) else None
        if not isinstance(piece, dict) or not isinstance(path, str) or not steps:
            self.is_misfit = True
            return
        continues = piece.get("willContinue") is True
        is_found, value = _value(piece)
        if is_found:
            self.is_misfit |= not self._put(steps, value, is_more=path == self._continued_path)
        self._continued_path = path if continues else None

    def _put(self, steps: list[str | int], value: JSONValue, *, is_more: bool) -> bool:
        place: JSONValue = self.value
        for step, following in pairwise(steps):
            if not _can_hold(place, step):
                return False
            inner: JSONValue = [] if isinstance(following, int) else {}
            place = _member(place, step, inner)
        if not _can_hold(place, steps[-1]):
            return False
        known = _member(place, steps[-1], "")
        if is_more and isinstance(known, str) and isinstance(value, str):
            value = known + value
        cast("dict[str | int, JSONValue]", place)[steps[-1]] = value
        return True


def _steps(path: str) -> list[str | int] | None:
    """The names and indices of a JSON path; None if it is invalid."""
    steps: list[str | int] = []
    at = 1
    while at < len(path) and len(steps) < _DEEPEST:
        found = _STEP.match(path, at)
        if found is None:
            return None
        dotted, index, *quoted = found.groups()
        if index is not None:
            steps.append(int(index))
        else:
            steps.append(dotted or _ESCAPED.sub(r"\1", quoted[0] if quoted[0] is not None else quoted[1]))
        at = found.end()
    return steps if path.startswith("$") and at >= len(path) else None


def _value(piece: JSONObject) -> tuple[bool, JSONValue]:
    for key in _VALUES:
        value = piece.get(key)
        if value is not None:
            if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
                return True, int(value)
            return True, value
    return piece.get("nullValue") is not None, None


def _can_hold(place: JSONValue, step: str | int) -> bool:
    """True if the step leads to an existing member or to the next new one."""
    if isinstance(step, int):
        return isinstance(place, list) and step <= len(place)
    return isinstance(place, dict)


def _member(place: JSONValue, step: str | int, start: JSONValue) -> JSONValue:
    if isinstance(step, int):
        members = cast("list[JSONValue]", place)
        if step == len(members):
            members.append(start)
        return members[step]
    return cast("JSONObject", place).setdefault(step, start)


TEXT_KEYS: Final = frozenset(("text", "thought"))
_PIECES: Final = frozenset(("willContinue", "partialArgs"))
_OPEN: Final = "in pieces"
"""The key of the one call that can be incomplete."""
_MISFIT: Final = "the pieces of the arguments do not fit together"


def is_partial(part: JSONValue) -> bool:
    """True for a part with an incomplete call."""
    call = part.get("functionCall") if type(part) is dict else None
    return (
        type(call) is dict
        and not _PIECES.isdisjoint(call)
        and (_continues(call) or bool(list_or_empty(call.get("partialArgs"))))
    )


def unreadable_call(provider: BlockFormat, candidate: JSONObject) -> list[ToolCall]:
    """A malformed call if the server reports that it could not read the model's call; else empty."""
    reason = candidate.get("finishReason") or candidate.get("finish_reason")
    if not isinstance(reason, str) or not provider.is_truncated(reason):
        return []
    message = candidate.get("finishMessage") or candidate.get("finish_message")
    text = message if isinstance(message, str) else ""
    problem = f"the server could not read the call: {reason}"
    return [malformed_call(generated_id(0, "", text), "", text, problem)]


def _continues(call: JSONObject) -> bool:
    return call.get("willContinue") is True


class GeminiStream(BlockStream):
    """Joins consecutive texts and returns each call as soon as it is complete."""

    def __init__(self, provider: BlockFormat) -> None:
        super().__init__(provider)
        self._arguments = PartialArguments({})

    def feed(self, event: JSONObject) -> list[ToolCall]:
        """Read one response."""
        candidates = event.get("candidates")
        for candidate in candidates if isinstance(candidates, list) else ():
            if isinstance(candidate, dict) and not candidate.get("index"):
                parts = list_or_empty(object_or_empty(candidate.get("content")).get("parts"))
                reason = candidate.get("finishReason") or candidate.get("finish_reason")
                done = self.read_parts(parts, reason)
                return done or ([] if self.count else unreadable_call(self.provider, candidate))
        return []

    def read_parts(self, parts: list[JSONValue], reason: JSONValue) -> list[ToolCall]:
        """Read some parts, and the finish reason if there is one."""
        done: list[ToolCall] = []
        for part in normalize_parts(parts):
            if isinstance(part, dict):
                done += self._part(part)
        if self.provider.is_truncated(reason) and done:
            done[-1] = truncated_call(done[-1])
        if reason:
            self.finish()
        return done

    def _part(self, part: JSONObject) -> list[ToolCall]:
        block_call = self.provider.block_call(part)
        if block_call is None:
            return self._other_part(part)
        self.partial_blocks.clear()
        call = part["functionCall"]
        if not isinstance(call, dict):
            return self.whole_call(block_call)
        done: list[ToolCall] = []
        if _OPEN not in self.open or call.get("name"):
            done = self.abandon(_OPEN)
            self._arguments = PartialArguments({**object_or_empty(call.get("args"))})
            if not is_partial(part):
                return done + self.whole_call(block_call)
            done += self.begin_call(_OPEN, block_call)
        for piece in list_or_empty(call.get("partialArgs")):
            self._arguments.add(piece)
        return done if _continues(call) else done + self.complete(_OPEN, self._arguments.value)

    def _other_part(self, part: JSONObject) -> list[ToolCall]:
        last = self.partial_blocks.get(None)
        if last is not None and _can_join(last.block, part):
            last.add("text", part["text"])
            return []
        return self.begin_other(None, dict(part))

    def assembled_call(self, piece: PartialCall) -> ToolCall:
        """The call; malformed if its pieces did not fit."""
        call = super().assembled_call(piece)
        if self._arguments.is_misfit:
            self._arguments = PartialArguments({})
            return malformed_call(call.id, call.name, call.arguments, _MISFIT, call.extras)
        return call

    def close(self) -> list[ToolCall]:
        """The call that the stream left incomplete, marked malformed."""
        for piece in self.open.values():
            piece.arguments = [to_json_text(self._arguments.value)]
        return super().close()

    def assemble(self, partial: PartialBlock) -> None:
        """Joins the text of a part."""
        if partial.pieces:
            partial.block["text"] = partial.text("text")


def _can_join(last: JSONObject, part: JSONObject) -> bool:
    """True for two texts of the same kind without signatures."""
    return (
        isinstance(part.get("text"), str)
        and isinstance(last.get("text"), str)
        and part.keys() <= TEXT_KEYS
        and last.keys() <= TEXT_KEYS
        and bool(part.get("thought")) == bool(last.get("thought"))
    )
