"""What a wire format must say about itself, and the nouns that pass between it and the five verbs.

Does not know any one format, nor how tools are gathered or renamed.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final, Literal, NamedTuple, cast

from toolhaft.core.call import ToolCall
from toolhaft.core.content import Audio, Document, Image, Video
from toolhaft.core.conversion import AnyTool
from toolhaft.formats.choices import Choice, Form
from toolhaft.formats.names import WORD, NameRule, made_up_id, rule
from toolhaft.formats.shapes import Shape
from toolhaft.formats.subset.target import EVERYTHING, Subset
from toolhaft.formats.subset.told import SchemaLoss
from toolhaft.schema.json_text import NotJSONError, object_to_text
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.problems import UnreadArguments

Field = Literal[
    "title", "output_schema", "examples", "tags", "version", "metadata", "effect", "policy", "when_to_use"
]
Media = Image | Audio | Video | Document
PartKind = Literal["image", "audio", "video", "document"]


class Declared(NamedTuple):
    """One tool as a wire is to show it: its words joined, its name and schema as the wire can have them."""

    name: str
    description: str
    schema: JSONObject
    strict: bool
    dialect: str
    tool: AnyTool
    hints: JSONObject
    """Of `metadata["wire"]` what this wire has a place for."""
    examples: list[JSONObject]
    """Example arguments as the wire would send them; only where it has a place for examples."""


class Imported(NamedTuple):
    """One tool as a wire showed it."""

    name: str
    description: str | None
    schema: JSONObject
    at: str
    """Where in the payload it stood."""
    fields: Mapping[str, object]
    """More options of a Tool, read off the wire: title, output_schema, examples, effect, metadata ..."""
    hints: JSONObject
    """What goes to `metadata["wire"]`, so that it goes out again."""


class Setting(NamedTuple):
    """What a request says beside its tools."""

    choice: Choice | None = None
    parallel: bool | None = None
    dialect: str = ""
    free_form: frozenset[str] = frozenset()
    """The tools that went out as free-form ones, by their names on the wire."""
    strict: bool = False
    """Whether the tools are strict ones, for a wire that says so once for all of them."""


class WireCall(NamedTuple):
    """One call on its way out, with the wire's own name, id and shape of arguments."""

    id: str
    name: str
    arguments: str | JSONObject
    """As text where the call had text and nothing had to be changed, else an object."""
    extras: JSONObject
    """What this very format kept of the call when it came in."""
    is_free_form: bool = False
    hints: JSONObject = {}  # noqa: RUF012 -- read only
    """Those of its tool, as far as this wire has a place for them."""
    dialect: str = ""


class Answer(NamedTuple):
    """One result on its way out."""

    id: str
    name: str
    text: str
    """What the model reads, images and the like aside."""
    value: JSONValue
    """The value as JSON, where `has_value`."""
    has_value: bool
    is_error: bool
    kind: str
    """The failure's kind; '' for a success."""
    parts: tuple[Media, ...]
    """What is not text, as far as this wire carries it."""
    extras: JSONObject
    is_free_form: bool = False


class Wire(ABC):
    """One format; each has a file with one class, and one object of it."""

    name: ClassVar[str]
    dialects: ClassVar[tuple[str, ...]] = ("",)
    """The first is the default."""
    beginning: ClassVar[re.Pattern[str]]
    """What the text of an event has in it that begins a call, however soon it ends."""
    tool_names: ClassVar[NameRule] = rule(WORD, 64)
    call_ids: ClassVar[NameRule | None] = None
    """What it takes as an id; None is anything."""
    needs_ids: ClassVar[bool] = True
    """Whether a call without an id is a broken one."""
    takes_any_id: ClassVar[bool] = False
    """Whether any text is an id, also an empty one, and one that another call has."""
    has_strict: ClassVar[bool] = False
    fields: ClassVar[frozenset[Field]] = frozenset()
    """What it has a place for, besides name, description and input schema."""
    hints: ClassVar[frozenset[str]] = frozenset()
    """The keys of `metadata["wire"]` that it has a place for."""
    choices: ClassVar[frozenset[Form]] = frozenset()
    has_parallel: ClassVar[bool] = False
    """Whether it can be told to call one tool at a time."""
    parts: ClassVar[frozenset[PartKind]] = frozenset()
    """What its results carry besides text."""
    keeps_extras: ClassVar[bool] = False
    """Whether a call carries what other formats kept of it."""
    has_whole_events: ClassVar[bool] = False
    """Whether an event is a message by itself, so that one alone is read as either."""
    has_messages: ClassVar[bool] = True
    """Whether a history is a list of messages that hold calls, not a list of the calls themselves."""
    needs_properties: ClassVar[bool] = False
    """Whether an object without properties must say that it has none."""
    arranges: ClassVar[bool] = False
    """Whether hints decide what the list of tools looks like."""
    sends_empty: ClassVar[bool] = False
    """Whether a payload without tools still says so."""

    _id_pattern: ClassVar[re.Pattern[str] | None] = None

    def __init_subclass__(cls) -> None:
        if cls.call_ids is not None:  # asked of every call
            cls._id_pattern = cls.call_ids.pattern

    def subset(self, dialect: str, *, strict: bool) -> Subset:  # noqa: ARG002 -- the wires that differ ask
        """What it takes of JSON Schema."""
        return EVERYTHING

    @abstractmethod
    def write_tool(self, tool: Declared) -> JSONObject:
        """One tool of the payload."""

    def told(self, tool: Declared) -> Sequence[SchemaLoss]:  # noqa: ARG002 -- the wires that lose more say so
        """What else of this one tool it cannot show as it is."""
        return ()

    def arrange(self, tools: Sequence[tuple[JSONObject, bytes]]) -> list[bytes]:
        """The members of the payload's list of tools, from each tool's hints and bytes.

        Asked only where `arranges`, for most wires list the tools one by one.
        """
        raise NotImplementedError

    def told_together(self, hints: Sequence[JSONObject]) -> Mapping[int, SchemaLoss]:  # noqa: ARG002 -- the wires that do ask
        """What `arrange` changes of tools because of the others, by their place."""
        return {}

    def can_be_single(self, hints: Sequence[JSONObject]) -> str | None:  # noqa: ARG002 -- the wires that do ask
        """Why tools with these hints cannot be called one at a time; None where they can.

        Asked only where `has_parallel`.
        """
        return None

    @abstractmethod
    def request(self, tools: list[JSONValue], setting: Setting) -> JSONObject:
        """The fields of a request; its choice is one that the wire has a form for, with the wire's names."""

    @abstractmethod
    def read_tools(self, payload: Shape) -> Iterator[Imported]:
        """The tools of a payload, of a bare list of them, or of one alone."""

    @abstractmethod
    def read_calls(self, message: Shape) -> list[ToolCall]:
        """The calls of a whole response, of its message, or of its list of parts."""

    @abstractmethod
    def is_event(self, value: JSONObject) -> bool:
        """True for an event of a stream, False for a member of a message."""

    @abstractmethod
    def stream(self) -> Stream:
        """A reader of one stream."""

    @abstractmethod
    def write_calls(self, calls: Sequence[WireCall]) -> list[JSONObject]:
        """The calls of one turn, as history has them."""

    def promises(self, output_schema: JSONValue) -> bool:  # noqa: ARG002 -- the wires that tell it ask
        """True if a client of this wire knows the tool's output schema, and checks results for a value."""
        return False

    def carries(self, part: Media) -> bool:
        """True if a result can hold this part; the loss of another one is told."""
        return part.kind in self.parts

    @abstractmethod
    def write_results(self, answers: Sequence[Answer], dialect: str) -> list[JSONObject]:
        """The results of one turn."""

    def call(
        self, number: int, id: object, name: object, arguments: object, extras: object = None
    ) -> ToolCall:
        """A call as it came, marked malformed where a part of it is broken."""
        if type(id) is str and id and type(name) is str and name:
            pattern = self._id_pattern
            if pattern is not None and pattern.fullmatch(id) is None:
                extras = self._with_own_id(extras)
            if type(arguments) is dict or (type(arguments) is str and arguments):
                return ToolCall(id, name, cast("str | JSONObject", arguments), extras=extras)
            if arguments is None or arguments == "":  # how several servers write no arguments
                return ToolCall(id, name, "{}", extras=extras)
        return self._odd_call(number, id, name, arguments, extras)

    def _with_own_id(self, extras: object) -> JSONObject:
        """A server that sends ids unlike its kind's wants them back as they are."""
        kept = cast("JSONObject", extras) if isinstance(extras, dict) else {}
        own = kept.get(self.name)
        return {**kept, self.name: {**(own if isinstance(own, dict) else {}), OWN_ID: True}}

    def _odd_call(self, number: int, id: object, name: object, arguments: object, extras: object) -> ToolCall:
        trouble: list[str] = []
        if not isinstance(name, str) or not name:
            trouble.append("the call names no tool")
            name = ""
        if not isinstance(id, str) or not id:
            if self.needs_ids or (id is not None and id != ""):
                trouble.append("the call has no valid id")
            id = made_up_id(number, name, arguments)
        if arguments is None or arguments == "":
            arguments = "{}"
        if not isinstance(arguments, str | dict):
            trouble.append("the arguments are not an object")
        if trouble:
            return broken_call(id, name, cast("object", arguments), "; ".join(trouble), extras)
        return ToolCall(id, name, cast("str | JSONObject", arguments), extras=extras)


def broken_call(id: str, name: str, arguments: object, problem: str, extras: object = None) -> ToolCall:
    """A call that must not run, with what is wrong with it."""
    return ToolCall(id, name, UnreadArguments(_text(arguments), problem), extras=extras)


def _text(arguments: object) -> str:
    """Arguments as they can be told and replayed: their text, or JSON where they are JSON."""
    if isinstance(arguments, str | UnreadArguments):
        return arguments if isinstance(arguments, str) else arguments.text
    try:
        return object_to_text(arguments)
    except NotJSONError:
        return f"[{type(arguments).__name__} that is not JSON]"


OWN_ID: Final = "own_id"
"""The mark, in a call's extras, that its id came from this very wire, though others of its kind refuse it."""
CUT: Final = "the message ended before the call was complete"


class Piece:
    """A call of which parts have come."""

    __slots__ = ("arguments", "extras", "id", "name", "number")

    def __init__(self, number: int, id: object, name: object, extras: JSONObject | None) -> None:
        self.number = number
        self.id = id
        self.name = name
        self.arguments: list[str] = []
        self.extras = extras


class Stream(ABC):
    """Puts the calls of one stream together; each wire says what its events mean in `feed`."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.open: dict[object, Piece] = {}
        self.count = 0

    @abstractmethod
    def feed(self, event: JSONObject) -> list[ToolCall]:
        """Take one event; give the calls that it completes."""

    def finished(self) -> list[ToolCall]:
        """The calls that are complete because the server said that the stream is."""
        return []

    def close(self) -> list[ToolCall]:
        """The calls that the stream left half-said, marked malformed."""
        left = [self._cut(piece) for piece in self.open.values()]
        self.open.clear()
        return left

    def begin(self, key: object, id: object, name: object, extras: JSONObject | None = None) -> Piece:
        """A new call."""
        piece = Piece(self.count, id, name, extras)
        self.count += 1
        self.open[key] = piece
        return piece

    def add(self, key: object, text: object) -> None:
        """More of the arguments' text of a call."""
        piece = self.open.get(key)
        if piece is not None and isinstance(text, str):
            piece.arguments.append(text)

    def end(self, key: object) -> list[ToolCall]:
        """The call, now complete; nothing where it never began."""
        piece = self.open.pop(key, None)
        return [] if piece is None else [self.made(piece)]

    def end_all(self) -> list[ToolCall]:
        """Every call that is open, all complete."""
        return [call for key in list(self.open) for call in self.end(key)]

    def made(self, piece: Piece) -> ToolCall:
        """The call that the pieces make."""
        return self.wire.call(piece.number, piece.id, piece.name, "".join(piece.arguments), piece.extras)

    def _cut(self, piece: Piece) -> ToolCall:
        call = self.wire.call(piece.number, piece.id, piece.name, "{}", piece.extras)
        return broken_call(call.id, call.name, "".join(piece.arguments), CUT, piece.extras)
