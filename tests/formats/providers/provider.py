"""What the tests of turns need of one provider: its client, its responses and its rules."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

from tests.formats.providers.server import Answer, Refused, Request

KEY = "not-a-key"
PLAN = "I will look both up."
FINAL_TEXT = "It is 21 degrees in Paris, and 3 bolts are left."


class ScriptedCall(NamedTuple):
    """One call that a scripted model asks for."""

    id: str
    name: str
    arguments: Mapping[str, object]

    @property
    def text(self) -> str:
        """The arguments as models write them, with spaces and all."""
        return json.dumps(self.arguments)


CLIENTS = ExitStack()
"""Closes the shared clients, at the end of the session."""
_open: dict[tuple[str, str], Any] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """One provider: the real client, the scripted answers, and what its server takes."""

    format: str
    connect: Callable[[str], AbstractContextManager[Any]]
    """The real client, pointed at an address; closed at the end."""
    ask: Callable[[Any, Sequence[Any], Mapping[str, Any]], Any]
    """One request through the client: the history and the exported fields in, the SDK's response out."""
    stream: Callable[[Any, Sequence[Any], Mapping[str, Any]], list[Any]]
    """The same as a stream: the SDK's events."""
    check: Callable[[Request], None]
    refuse: Callable[[str], Answer]
    question: tuple[Mapping[str, Any], ...]
    """How the history begins: what the user asked."""
    ids: tuple[str, ...]
    """Call ids as this provider makes them; '' where it makes none."""
    calling: Callable[[Sequence[ScriptedCall]], Any]
    """The whole response that asks for calls, as JSON, with a text and the provider's opaque state."""
    calling_events: Callable[[Sequence[ScriptedCall]], list[Any]]
    """The same as the events of a stream, cut into many deltas."""
    final: Any
    """The whole response that ends the turn."""
    final_events: list[Any]
    frame: Callable[[Sequence[Any]], Answer]
    """Events as this provider sends them."""
    replay: Callable[[Any], list[Any]]
    """What a user of the SDK appends to the history of a response."""
    dump: Callable[[Any], Any]
    """An SDK object as the dictionary that the SDK itself makes of it."""
    text: Callable[[Any], str]
    """The text of a response."""
    stream_text: Callable[[Sequence[Any]], str]
    """The text of a stream's events."""

    def client(self, url: str) -> AbstractContextManager[Any]:
        """The real client, made once per session: most of them load certificates each time."""
        key = (self.format, url)
        if key not in _open:
            _open[key] = CLIENTS.enter_context(self.connect(url))
        return nullcontext(_open[key])


def pieces(text: str, size: int = 5) -> list[str]:
    """A text as a stream brings it."""
    return [text[start : start + size] for start in range(0, len(text), size)]


def interleaved(columns: Sequence[Sequence[Any]]) -> list[Any]:
    """The events of several calls, in turns."""
    longest = max((len(column) for column in columns), default=0)
    return [column[row] for row in range(longest) for column in columns if row < len(column)]


def demand(held: object, problem: str) -> None:
    """Refuse the request unless this holds."""
    if not held:
        raise Refused(problem)


def known_keys(value: object, keys: Iterable[str], where: str) -> Mapping[str, Any]:
    """An object with no other keys than these."""
    demand(isinstance(value, dict), f"{where}: expected an object")
    extra = sorted(set(value) - set(keys))
    demand(not extra, f"{where}: extra inputs are not permitted: {extra}")
    return value


def needed_keys(value: object, keys: Iterable[str], where: str) -> Mapping[str, Any]:
    """An object with at least these keys."""
    demand(isinstance(value, dict), f"{where}: expected an object")
    missing = sorted(set(keys) - set(value))
    demand(not missing, f"{where}: field required: {missing}")
    return value


def names_are(names: Sequence[object], pattern: str, *, most: int = 10_000) -> None:
    """Tool names: each fits, none twice, not too many."""
    for name in names:
        demand(isinstance(name, str) and re.fullmatch(pattern, name), f"tool name {name!r} is not {pattern}")
    twice = [name for name, count in Counter(names).items() if count > 1]
    demand(not twice, f"tool names must be unique: {twice}")
    demand(len(names) <= most, f"{len(names)} tools, at most {most}")


def ids_are(ids: Iterable[object], pattern: str) -> None:
    """Call ids: each fits."""
    for call_id in ids:
        demand(
            isinstance(call_id, str) and re.fullmatch(pattern, call_id),
            f"call id {call_id!r} is not {pattern}",
        )


def answered(asked: Sequence[object], results: Sequence[object]) -> None:
    """Every call has exactly one result, and every result its call."""
    counts = Counter(results)
    for call_id in asked:
        demand(counts[call_id] == 1, f"call {call_id!r} has {counts[call_id]} results, not one")
    strays = sorted(set(map(str, results)) - set(map(str, asked)))
    demand(not strays, f"results without a call: {strays}")


def is_object_schema(schema: object, banned: Iterable[str] = ()) -> None:
    """The root of a tool's schema: an object, without the keywords that the provider bans there."""
    demand(isinstance(schema, dict) and schema.get("type") == "object", "the schema's root must be an object")
    found = sorted(set(banned) & set(schema))
    demand(not found, f"{found} may not stand at the schema's root")


def subschemas(schema: object) -> Iterable[dict[str, Any]]:
    """Every schema inside a schema, itself first."""
    if not isinstance(schema, dict):
        return
    yield schema
    for keyword in ("properties", "$defs", "patternProperties", "dependentSchemas"):
        for inner in schema.get(keyword, {}).values():
            yield from subschemas(inner)
    for keyword in ("items", "additionalProperties", "not", "if", "then", "else", "contains"):
        yield from subschemas(schema.get(keyword))
    for keyword in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for inner in schema.get(keyword, ()):
            yield from subschemas(inner)
