"""Writes calls and results as messages of a provider's history."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, Final, cast

from pydantic_core import PydanticSerializationError, to_jsonable_python

from toolhaft import schema
from toolhaft.core.call import ToolCall
from toolhaft.core.content import Text, name_parts, read_part
from toolhaft.core.conversion import AnyResult
from toolhaft.core.result import ToolResult
from toolhaft.errors import WireError
from toolhaft.formats.losses import Loss
from toolhaft.formats.message_parts import as_object, document_text
from toolhaft.formats.names import fit_id, fit_name
from toolhaft.formats.operations.exporting import Export, check_export
from toolhaft.formats.operations.tool_entries import ToolEntry
from toolhaft.formats.provider_format import OWN_ID, Media, OutgoingCall, OutgoingResult, ProviderFormat
from toolhaft.formats.registry import dialect_of, get_format
from toolhaft.schema.json_text import non_finite_paths, object_to_text
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.problems import UnreadArguments


class Encoded(list[Any]):
    """The messages, in order, to append to a history: dictionaries.

    Of type Any, so that a list of any SDK's message type can be extended with them.
    """

    def __init__(
        self,
        messages: Iterable[JSONObject] = (),
        *,
        losses: tuple[Loss, ...] = (),
        ids: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(messages)
        self.losses = losses
        self.ids: Mapping[str, str] = ids or {}
        """The original call id by each changed one."""


_DEEPEST: Final = 200


def listed_calls(calls: Iterable[ToolCall]) -> Sequence[ToolCall]:
    """The calls of one turn.

    Raises:
        WireError: if they are not calls.
    """
    if not isinstance(calls, Iterable | ToolCall):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
        raise WireError(f"{calls!r:.80} is not a list of calls", expected="a list of ToolCall")
    listed = [calls] if isinstance(calls, ToolCall) else list(calls)
    for call in listed:
        if not isinstance(call, ToolCall):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
            raise WireError(
                f"{call!r:.80} is not a call", expected="ToolCall(id='...', name='...', arguments=...)"
            )
    return listed


class TurnEncoder:
    """Encodes the calls and results of one turn: names and ids as the provider knows them, and losses."""

    def __init__(self, provider: ProviderFormat, export: Export | None, dialect: str | None = None) -> None:
        check_export(export, provider.name)
        self.dialect = dialect_of(
            provider, dialect if dialect is not None or export is None else export.dialect
        )
        self.provider = provider
        self.ids: dict[str, str] = {} if export is None else export.ids
        self.losses: list[Loss] = []
        self._entries: Mapping[str, ToolEntry] = {} if export is None else export.history
        self._taken = frozenset[str]() if export is None else frozenset(export.names)
        self._used: set[str] = set()

    def call(self, call: ToolCall) -> OutgoingCall:
        """One call, ready to be written."""
        entry = self._entries.get(call.name)
        extras = self.extras(call)
        return OutgoingCall(
            self.id(call, extras),
            self.name(call),
            self._arguments(call, entry),
            extras,
            entry is not None and entry.is_free_form,
            {} if entry is None else entry.hints,
            self.dialect,
        )

    def id(self, call: ToolCall, own: JSONObject) -> str:
        """An id that the format accepts and no other call of the turn has.

        An id that came from this format stays unchanged, because its server knows it.
        """
        is_own = OWN_ID in own and _is_encodable(call.id)
        made = call.id if is_own else self._fitting(call.id)
        if made in self._used and not self.provider.takes_any_id:
            made = self._fitting(f"{call.id}_{len(self._used)}")
        self._used.add(made)
        if made != call.id:
            self.ids[made] = call.id
        return made

    def _fitting(self, id: str) -> str:
        wanted = self.provider.call_ids
        if not id and not self.provider.takes_any_id:
            id = f"none_{len(self._used)}"
        encodable = _encodable(id)
        return encodable if wanted is None else fit_id(encodable, wanted)

    def name(self, call: ToolCall) -> str:
        """The tool's name as sent.

        A name that the model invented is made valid too: a server would refuse the whole history.
        """
        entry = self._entries.get(call.name)
        if entry is not None:
            return entry.sent_name
        wanted = self.provider.tool_names
        if wanted.admits(call.name):
            return call.name
        made = fit_name(call.name, wanted)
        if made in self._taken:  # used by another tool
            made = fit_name(call.name, wanted, is_taken=True)
        self.losses.append(Loss(call.name, "", "name", "renamed", made))
        return made

    def is_free_form(self, call: ToolCall) -> bool:
        """True if the tool was exported as a free-form tool."""
        entry = self._entries.get(call.name)
        return entry is not None and entry.is_free_form

    def client_checks_output(self, call: ToolCall) -> bool:
        """True if clients know the tool's output schema."""
        entry = self._entries.get(call.name)
        schema = None if entry is None else cast("JSONValue", entry.tool.output_schema)
        return schema is not None and self.provider.client_checks_output(schema)

    def extras(self, call: ToolCall) -> JSONObject:
        """The extras that this format stored with the call; those of others are reported as lost."""
        if not isinstance(call.extras, Mapping):
            return {}
        kept = cast("Mapping[str, JSONValue]", call.extras)
        if self.provider.keeps_extras:
            return deepcopy(dict(kept))
        foreign = [format for format in kept if format != self.provider.name]
        if foreign:
            detail = f"what {', '.join(foreign)} stored with the call"
            self.losses.append(Loss(call.name, "", "extras", "left out", detail))
        own = kept.get(self.provider.name)
        return deepcopy(own) if isinstance(own, dict) else {}  # callers may change the messages

    def encoded(self, messages: list[JSONObject]) -> Encoded:
        """The messages, with their losses."""
        return Encoded(messages, losses=tuple(self.losses), ids=dict(self.ids))

    def _arguments(self, call: ToolCall, entry: ToolEntry | None) -> str | JSONObject:
        arguments = call.arguments
        if isinstance(arguments, UnreadArguments):
            return _encodable(arguments.text)
        mapping = None if entry is None else entry.mapping
        if isinstance(arguments, str) and mapping is None:
            return _encodable(arguments)
        value = as_object(arguments)
        if value is None and isinstance(arguments, Mapping):
            value = as_object(_encodable_value(arguments, 0))
        if value is None:
            return _encodable(arguments) if isinstance(arguments, str) else "null"
        mapped = value if mapping is None else mapping.encode(value)
        return mapped if isinstance(mapped, dict) else value


def _is_encodable(text: str) -> bool:
    """False for text with a lone surrogate, which no client can send."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _encodable(text: str) -> str:
    return text if _is_encodable(text) else text.encode("utf-8", "replace").decode()


def _encodable_value(value: object, depth: int) -> object:
    """The value with every lone surrogate replaced."""
    if isinstance(value, str):
        return _encodable(value)
    if depth > _DEEPEST:
        return None
    if isinstance(value, Mapping):
        members = cast("Mapping[str, object]", value)
        return {_encodable(str(key)): _encodable_value(member, depth + 1) for key, member in members.items()}
    if isinstance(value, list):
        return [_encodable_value(member, depth + 1) for member in cast("list[object]", value)]
    return value


_CHECKED: Final = "clients check results for the value that the output schema requires"


def encode_calls(
    calls: Iterable[ToolCall], format: str, *, export: Export | None = None, dialect: str | None = None
) -> Encoded:
    """The calls of one turn as the messages of a provider's history, to replay them.

    What this provider sent with a call is restored from `extras`; what another one sent is left out and
    reported. Ids that the format does not accept are changed, always in the same way, and listed in `ids`.
    """
    provider = get_format(format)
    encoder = TurnEncoder(provider, export, dialect)
    written = [encoder.call(call) for call in listed_calls(calls)]
    return encoder.encoded(provider.write_calls(written) if written else [])


def encode_results(
    results: Iterable[AnyResult | tuple[ToolCall, AnyResult]] | AnyResult,
    format: str,
    *,
    calls: Iterable[ToolCall] | None = None,
    export: Export | None = None,
    dialect: str | None = None,
) -> Encoded:
    """The results of one turn as the messages that answer its calls, in their order.

    A result from an executor knows its call; pass others as pairs `(call, result)`, or with `calls`. Media
    that the format does not support are reported as losses, and the model reads that they were left out.
    Failures are flagged, or written as `{"error": {...}}` if the format has no flag.

    Raises:
        WireError: if the call of a result is unknown, or the numbers of calls and results differ.
    """
    provider = get_format(format)
    encoder = TurnEncoder(provider, export, dialect)
    outgoing = [_outgoing_result(call, result, encoder) for call, result in _pairs(results, calls)]
    return encoder.encoded(provider.write_results(outgoing) if outgoing else [])


def _pairs(
    results: Iterable[object] | AnyResult, calls: Iterable[ToolCall] | None
) -> Sequence[tuple[ToolCall, AnyResult]]:
    if not isinstance(results, Iterable | ToolResult):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
        raise WireError(f"{results!r:.80} is not a list of results", expected="a list of ToolResult")
    listed = [results] if isinstance(results, ToolResult) else list(results)
    if calls is not None:
        turn = listed_calls(calls)
        if len(turn) != len(listed):
            raise WireError(
                f"{len(listed)} results for {len(turn)} calls", expected="one result for each call"
            )
        return [(call, _result(result)) for call, result in zip(turn, listed, strict=True)]
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


def _outgoing_result(call: ToolCall, result: AnyResult, encoder: TurnEncoder) -> OutgoingResult:
    texts, parts = _parts(call, result, encoder)
    rendered = result.render()
    if result.content and rendered == name_parts(result.content):  # the parts themselves are sent
        rendered = ""
    text = _escaped("\n\n".join(part for part in (rendered, *texts) if part))
    has_value, value = _value_to_send(call, result, encoder)
    failure = result.failure
    extras = encoder.extras(call)
    return OutgoingResult(
        encoder.id(call, extras),
        encoder.name(call),
        text,
        value,
        has_value,
        not result.success,
        "" if result.success else failure.kind if failure is not None else "failed",
        parts,
        extras,
        encoder.is_free_form(call),
        encoder.dialect,
    )


def _parts(call: ToolCall, result: AnyResult, encoder: TurnEncoder) -> tuple[list[str], tuple[Media, ...]]:
    """The parts of a result as text, and those that the format supports."""
    texts: list[str] = []
    kept: list[Media] = []
    for index, item in enumerate(result.content):
        part = read_part(item)
        if isinstance(part, Text):
            texts.append(part.text)
            continue
        part = _escaped_part(part)
        document = document_text(part)
        if encoder.provider.supports_part(part):
            kept.append(part)
        elif document is not None:
            texts.append(document)
            loss = Loss(
                call.name, f"/content/{index}", part.kind, "reshaped", "its text is appended to the result"
            )
            encoder.losses.append(loss)
        else:
            texts.append(f"[{part.kind} left out: {part.media_type}]")
            encoder.losses.append(Loss(call.name, f"/content/{index}", part.kind, "left out"))
    return texts, tuple(kept)


def _value_to_send(call: ToolCall, result: AnyResult, encoder: TurnEncoder) -> tuple[bool, JSONValue]:
    """The value as JSON, if the model may see it and it is not too large.

    It is always sent if the client knows the output schema and checks results against it.
    """
    is_required = result.success and encoder.client_checks_output(call)
    is_hidden = cast("object", result.value) is None or result.exclude_value_from_context
    if is_hidden and not is_required:
        return False, None
    written = _as_json(result.value)
    if written is None:
        if is_required:
            encoder.losses.append(Loss(call.name, "", "value", "left out", f"it is not JSON; {_CHECKED}"))
        return False, None
    value, size = written
    if is_required and result.exclude_value_from_context:
        encoder.losses.append(Loss(call.name, "", "exclude_value_from_context", "kept", _CHECKED))
    return (True, value) if is_required or size <= result.max_output_chars else (False, None)


def _as_json(value: object) -> tuple[JSONValue, int] | None:
    """A value as JSON and the length of its text; None if it is not JSON, such as NaN."""
    if not schema.is_writable(value):
        return None
    try:
        written = cast("JSONValue", to_jsonable_python(value, by_alias=True, inf_nan_mode="constants"))
        text = object_to_text(written)
    except (PydanticSerializationError, ValueError, RecursionError):
        return None
    may_be_infinite = "NaN" in text or "Infinity" in text
    return None if may_be_infinite and non_finite_paths(written) else (written, len(text))


def _escaped(text: str) -> str:
    """The text with lone surrogates escaped: clients cannot send them."""
    return text if text.isascii() else text.encode(errors="backslashreplace").decode()


def _escaped_part(part: Media) -> Media:
    texts = {"media_type": part.media_type, "url": part.url, "name": getattr(part, "name", None)}
    made = {key: _escaped(text) for key, text in texts.items() if isinstance(text, str)}
    return part if all(texts[key] == text for key, text in made.items()) else replace(part, **made)
