"""The interface of a provider format, and the types that pass between formats and operations."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Final, Generic, Literal, NamedTuple, TypeAlias, TypeVar, cast

from toolhaft.core.call import ToolCall
from toolhaft.core.content import Audio, Document, Image, Video
from toolhaft.core.conversion import AnyTool
from toolhaft.errors import WireError
from toolhaft.formats.choices import Choice, Form
from toolhaft.formats.losses import SchemaLoss
from toolhaft.formats.names import WORD, NameRule, generated_id, rule
from toolhaft.formats.payload_cursor import PayloadCursor
from toolhaft.formats.subset.target import EVERYTHING, Subset
from toolhaft.schema.json_text import NotJSONError, object_to_text
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.problems import UnreadArguments

ToolField = Literal[
    "title", "output_schema", "examples", "tags", "version", "metadata", "effect", "policy", "when_to_use"
]
Media = Image | Audio | Video | Document
PartKind = Literal["image", "audio", "video", "document"]


class ToolDeclaration(NamedTuple):
    """One tool to write: its full description, and its name and schema as the format accepts them."""

    name: str
    description: str
    schema: JSONObject
    strict: bool
    dialect: str
    tool: AnyTool
    hints: JSONObject
    """The entries of `metadata["wire"]` that this format supports."""
    examples: list[JSONObject]
    """Example arguments in the provider's shape; only where the format has a field for examples."""


class ImportedTool(NamedTuple):
    """One tool read from a provider's payload."""

    name: str
    description: str | None
    schema: JSONObject
    at: str
    """Its path in the payload."""
    fields: Mapping[str, object]
    """Other options of a Tool found in the payload: title, output_schema, examples, effect, metadata ..."""
    hints: JSONObject
    """Stored in `metadata["wire"]`, so that the next export sends them again."""
    more: JSONObject = {}  # noqa: RUF012 -- read only
    """Fields of the declaration that Toolhaft has no place for; the same format sends them again.

    See `kept_fields`.
    """


class ProviderTool(NamedTuple):
    """A tool that the provider itself defines, such as a web search, read from its payload."""

    name: str
    declaration: JSONObject
    at: str
    """Its path in the payload."""
    hints: JSONObject = {}  # noqa: RUF012 -- read only
    """Hints that the format sends next to the declaration."""


class UnreadTool(NamedTuple):
    """A member of a payload that cannot be read as a tool."""

    name: str
    error: WireError
    is_of_format: bool = False
    """True for a bad tool of this format, False for something else."""


ReadTool: TypeAlias = ImportedTool | ProviderTool | UnreadTool


class RequestSettings(NamedTuple):
    """The settings of a request besides its tools."""

    choice: Choice | None = None
    parallel: bool | None = None
    dialect: str = ""
    free_form: frozenset[str] = frozenset()
    """The names, as sent, of the tools that are free-form."""
    strict: bool = False
    """Whether the tools are strict, for a format that declares it once for all of them."""


class OutgoingCall(NamedTuple):
    """One call to write into a history, with the name, id and arguments that the provider knows."""

    id: str
    name: str
    arguments: str | JSONObject
    """Text where the call had text and nothing was changed, else an object."""
    extras: JSONObject
    """What this format stored with the call when it decoded it."""
    is_free_form: bool = False
    hints: JSONObject = {}  # noqa: RUF012 -- read only
    """Those hints of its tool that this format supports."""
    dialect: str = ""


class OutgoingResult(NamedTuple):
    """One result to write into a history."""

    id: str
    name: str
    text: str
    """The text for the model; images and other media are in `parts`."""
    value: JSONValue
    """The value as JSON, where `has_value`."""
    has_value: bool
    is_error: bool
    kind: str
    """The failure's kind; '' for a success."""
    parts: tuple[Media, ...]
    """The media that this format supports."""
    extras: JSONObject
    is_free_form: bool = False
    dialect: str = ""


class ProviderFormat(ABC):
    """One provider format; each is one module with one subclass and one instance, `FORMAT`."""

    name: ClassVar[str]
    dialects: ClassVar[tuple[str, ...]] = ("",)
    """The first is the default."""
    call_start: ClassVar[re.Pattern[str]]
    """Matches the text of an event that starts a call, even if the text is cut off later."""
    tool_names: ClassVar[NameRule] = rule(WORD, 64)
    call_ids: ClassVar[NameRule | None] = None
    """Which call ids it accepts; None for any."""
    needs_ids: ClassVar[bool] = True
    """Whether a call without an id is malformed."""
    takes_any_id: ClassVar[bool] = False
    """Whether any text is a valid id, even an empty or a repeated one."""
    loose_subset: ClassVar[Subset] = EVERYTHING
    """The subset of JSON Schema that it accepts."""
    strict_subset: ClassVar[Subset | None] = None
    """The subset that its strict mode accepts; None if it has no strict mode."""
    has_strict: ClassVar[bool] = False
    """Whether it has a strict mode; derived from `strict_subset`."""
    has_strict_tools: ClassVar[bool] = True
    """Whether each tool declares that it is strict, and not the request for all of them."""
    fields: ClassVar[frozenset[ToolField]] = frozenset()
    """The fields of a tool that it can express besides name, description and input schema."""
    examples_field: ClassVar[str] = ""
    """The field of a tool for example arguments."""
    hints: ClassVar[frozenset[str]] = frozenset()
    """The keys of `metadata["wire"]` that it supports."""
    choices: ClassVar[frozenset[Form]] = frozenset()
    has_parallel: ClassVar[bool] = False
    """Whether a request can ask for one call at a time."""
    parts: ClassVar[frozenset[PartKind]] = frozenset()
    """The kinds of media that its results support."""
    keeps_extras: ClassVar[bool] = False
    """Whether a call is written with the extras of other formats."""
    has_whole_events: ClassVar[bool] = False
    """Whether an event of a stream looks like a whole message."""
    has_messages: ClassVar[bool] = True
    """Whether a history is a list of messages that contain calls, not a list of calls."""
    needs_properties: ClassVar[bool] = False
    """Whether an object without properties must have an empty `properties`."""
    arranges: ClassVar[bool] = False
    """Whether the list of tools depends on their hints; see `arrange`."""
    wraps_functions: ClassVar[Mapping[str, str]] = {}
    """By dialect, the key of the list of functions inside a tool; empty if each function is a tool itself."""
    sends_empty: ClassVar[bool] = False
    """Whether a payload without tools has an empty list of tools."""

    _id_pattern: ClassVar[re.Pattern[str] | None] = None

    stream_type: ClassVar[type[Stream[ProviderFormat]]]
    """The reader of one stream."""

    def __init_subclass__(cls) -> None:
        cls.has_strict = cls.strict_subset is not None
        if cls.call_ids is not None:  # stored: it is read for every call
            cls._id_pattern = cls.call_ids.pattern

    def subset(self, dialect: str, *, strict: bool) -> Subset:  # noqa: ARG002 -- for overrides
        """The subset of JSON Schema for a dialect."""
        return self.strict_subset if strict and self.strict_subset is not None else self.loose_subset

    @abstractmethod
    def write_tool(self, tool: ToolDeclaration) -> JSONObject:
        """One tool as the payload has it."""

    def declares_output(self, tool: AnyTool, hints: JSONObject, dialect: str) -> bool:  # noqa: ARG002 -- for overrides
        """True if the declaration of a tool has its output schema; else its text joins the description."""
        return "output_schema" in self.fields

    def tool_losses(self, tool: ToolDeclaration) -> Sequence[SchemaLoss]:  # noqa: ARG002 -- for overrides
        """Losses of this tool beyond those of its schema and fields."""
        return ()

    def arrange(self, tools: Sequence[tuple[JSONObject, bytes]]) -> list[bytes]:
        """The payload's list of tools, from each tool's hints and JSON; called only where `arranges`."""
        raise NotImplementedError

    def joint_losses(self, hints: Sequence[JSONObject]) -> Mapping[int, SchemaLoss]:  # noqa: ARG002 -- for overrides
        """What `arrange` leaves out of a tool because of the other tools, by the tool's index."""
        return {}

    def parallel_only_reason(self, hints: Sequence[JSONObject]) -> str | None:  # noqa: ARG002 -- for overrides
        """Why tools with these hints cannot be called one at a time; None if they can.

        Called only where `has_parallel`.
        """
        return None

    @abstractmethod
    def request(self, tools: list[JSONValue], settings: RequestSettings) -> JSONObject:
        """The fields of a request; the choice is one that the format can express, with names as sent."""

    @abstractmethod
    def read_tools(self, payload: PayloadCursor) -> Iterator[ReadTool]:
        """The tools of a payload, of a list of tools, or a single tool; see `read_each`.

        Raises:
            WireError: if the payload has no list of tools where it belongs.
        """

    def restore_fields(self, written: JSONObject, more: JSONObject, tool: ToolDeclaration) -> None:  # noqa: ARG002 -- for overrides
        """Put the fields that an import from this format kept back into the written tool."""
        put_back(written, more)

    @abstractmethod
    def read_calls(self, message: PayloadCursor) -> list[ToolCall]:
        """The calls of a whole response, of its message, or of its list of parts."""

    @abstractmethod
    def is_event(self, value: JSONObject) -> bool:
        """True for an event of a stream, False for a member of a message."""

    @abstractmethod
    def write_calls(self, calls: Sequence[OutgoingCall]) -> list[JSONObject]:
        """The calls of one turn as messages of the history."""

    def client_checks_output(self, output_schema: JSONValue) -> bool:  # noqa: ARG002 -- for overrides
        """True if clients receive the tool's output schema and check that each result has a value."""
        return False

    def supports_part(self, part: Media) -> bool:
        """True if a result can contain this part; otherwise a loss is reported."""
        return part.kind in self.parts

    @abstractmethod
    def write_results(self, results: Sequence[OutgoingResult]) -> list[JSONObject]:
        """The results of one turn."""

    def call(
        self, number: int, id: object, name: object, arguments: object, extras: object = None
    ) -> ToolCall:
        """A ToolCall from the parts of a provider's call; malformed where a part is invalid."""
        if type(id) is str and id and type(name) is str and name:
            pattern = self._id_pattern
            if pattern is not None and pattern.fullmatch(id) is None:
                extras = self._with_own_id(extras)
            if type(arguments) is dict or (type(arguments) is str and arguments):
                return ToolCall(id, name, cast("str | JSONObject", arguments), extras=extras)
            if arguments is None or arguments == "":  # how several servers send a call without arguments
                return ToolCall(id, name, "{}", extras=extras)
        return self._irregular_call(number, id, name, arguments, extras)

    def _with_own_id(self, extras: object) -> JSONObject:
        """The extras with the id marked: a server that sends unusual ids expects them back unchanged."""
        kept = cast("JSONObject", extras) if isinstance(extras, dict) else {}
        own = kept.get(self.name)
        return {**kept, self.name: {**(own if isinstance(own, dict) else {}), OWN_ID: True}}

    def _irregular_call(
        self, number: int, id: object, name: object, arguments: object, extras: object
    ) -> ToolCall:
        problems: list[str] = []
        if not isinstance(name, str) or not name:
            problems.append("the call names no tool")
            name = ""
        if not isinstance(id, str) or not id:
            if self.needs_ids or (id is not None and id != ""):
                problems.append("the call has no valid id")
            id = generated_id(number, name, arguments)
        if arguments is None or arguments == "":
            arguments = "{}"
        if not isinstance(arguments, str | dict):
            problems.append("the arguments are not an object")
        if problems:
            return malformed_call(id, name, cast("object", arguments), "; ".join(problems), extras)
        return ToolCall(id, name, cast("str | JSONObject", arguments), extras=extras)


def put_back(written: JSONObject, more: JSONObject) -> None:
    """Add the kept fields; a field that is already written stays, unless it was null or blank."""
    for key, value in more.items():
        held = written.get(key)
        if key == ABSENT:
            for name in cast("list[str]", value):
                written.pop(name, None)
        elif isinstance(value, dict) and isinstance(held, dict):
            put_back(held, value)
        elif value is None or (isinstance(value, str) and not value.strip()):
            written[key] = value
        else:
            written.setdefault(key, value)


def kept_fields(declared: JSONObject, read: Container[str], *always: str) -> JSONObject:
    """The fields of a declaration that were not read, and those that a new export would write differently.

    Args:
        declared: the declaration, or an object inside it.
        read: the fields that were read.
        always: those of them that `write_tool` always writes; kept here if they are absent, null or blank.
    """
    more = {key: value for key, value in declared.items() if key not in read}
    absent: list[JSONValue] = [key for key in always if key not in declared]
    for key in always:
        value = declared.get(key)
        if key in declared and (value is None or (isinstance(value, str) and not value.strip())):
            more[key] = value
    return {**more, ABSENT: absent} if absent else more


def without_field(more: JSONObject, name: str) -> JSONObject:
    """The kept fields without one that is different by now, also where it is kept as absent."""
    rest: JSONObject = {}
    for key, value in more.items():
        if key == ABSENT and isinstance(value, list):
            rest[key] = [absent for absent in value if absent != name]
        elif key != name:
            rest[key] = without_field(value, name) if isinstance(value, dict) and key in WRAPPERS else value
    return rest


def read_each(
    members: Iterable[PayloadCursor], read: Callable[[PayloadCursor], ReadTool]
) -> Iterator[ReadTool]:
    """The members, each read separately, so that a bad one does not affect the others."""
    for member in members:
        try:
            yield read(member)
        except WireError as error:
            yield UnreadTool(_name_in(member), error, _is_of_format(member))


def _name_in(member: PayloadCursor) -> str:
    """The name of an unread tool, wherever a format has it; else its path."""
    body = member.value if isinstance(member.value, dict) else {}
    inside = (body, *(body.get(key) for key in WRAPPERS))
    names = (part.get("name") for part in inside if isinstance(part, dict))
    return next((name for name in names if isinstance(name, str) and name), member.path or "payload")


_FORMATS_BY_KEY: Final[Mapping[str, tuple[str, ...]]] = {
    "custom": ("openai_chat",),
    "function": ("openai_chat", "mistral", "ollama", "cohere"),
    "inputSchema": ("mcp",),
    "input_schema": ("anthropic", "native"),
    "parameters": ("openai_responses", "gemini"),
    "parametersJsonSchema": ("gemini",),
    "parameters_json_schema": ("gemini",),
    "toolSpec": ("bedrock",),
}
"""The keys by which the tools of one format differ from those of another."""


def _is_of_format(member: PayloadCursor) -> bool:
    """True for an object with a key that tools of this format have, and those of others have not."""
    body = member.value if isinstance(member.value, dict) else {}
    return any(member.format in _FORMATS_BY_KEY.get(key, ()) for key in body)


def malformed_call(id: str, name: str, arguments: object, problem: str, extras: object = None) -> ToolCall:
    """A call that must not run, with the problem that the executor will report."""
    return ToolCall(id, name, UnreadArguments(_text(arguments), problem), extras=extras)


def _text(arguments: object) -> str:
    """Arguments as text that can be reported and replayed."""
    if isinstance(arguments, str | UnreadArguments):
        return arguments if isinstance(arguments, str) else arguments.text
    try:
        return object_to_text(arguments)
    except NotJSONError:
        return f"[{type(arguments).__name__} that is not JSON]"


WRAPPERS: Final = ("function", "custom", "toolSpec")
"""The keys of the object with a tool's name and description, in formats where it is inside another."""
ABSENT: Final = "(absent)"
"""The key, among kept fields, of a list of fields that a declaration lacks and a new export would write."""
OWN_FIELDS: Final = "fields"
"""The key, in `metadata["wire"]`, of the fields that an import kept, by format; see `ImportedTool.more`."""
PROVIDER_TOOL: Final = "provider_tool"
"""The key, in `metadata["wire"]`, of the declaration of a tool that a provider defines, by format."""
OWN_ID: Final = "own_id"
"""The key, in a call's extras, that marks an id from this provider that the format's own rule refuses."""
TRUNCATED: Final = "the message ended before the call was complete"


class PartialCall:
    """A call of a stream that is not complete yet."""

    __slots__ = ("arguments", "extras", "id", "name", "number", "value")

    def __init__(self, number: int, id: object, name: object, extras: JSONObject | None) -> None:
        self.number = number
        self.id = id
        self.name = name
        self.arguments: list[str] = []
        """The pieces of the arguments as text."""
        self.value: object = None
        """The arguments, if they did not arrive as text."""
        self.extras = extras


FormatT_co = TypeVar("FormatT_co", bound=ProviderFormat, covariant=True)


class Stream(ABC, Generic[FormatT_co]):
    """Assembles the calls of one stream; each format interprets its events in `feed`."""

    def __init__(self, provider: FormatT_co) -> None:
        self.provider = provider
        self.ids: set[str] = set()
        """The ids of the calls so far."""
        self.open: dict[object, PartialCall] = {}
        self.count = 0

    @abstractmethod
    def feed(self, event: JSONObject) -> list[ToolCall]:
        """Read one event; return the calls that it completes."""

    def finished(self) -> list[ToolCall]:
        """The calls that are complete because the server ended the stream."""
        return []

    def close(self) -> list[ToolCall]:
        """The calls that the stream left incomplete, marked malformed."""
        left = [self._truncated(piece) for piece in self.open.values()]
        self.open.clear()
        return left

    def begin(self, key: object, id: object, name: object, extras: JSONObject | None = None) -> PartialCall:
        """A new call."""
        piece = PartialCall(self.count, id, name, extras)
        self.count += 1
        self.open[key] = piece
        return piece

    def add(self, key: object, text: object) -> None:
        """Append to the text of a call's arguments."""
        piece = self.open.get(key)
        if piece is not None and isinstance(text, str):
            piece.arguments.append(text)

    def end(self, key: object) -> list[ToolCall]:
        """The call, now complete; empty if it never began."""
        piece = self.open.pop(key, None)
        return [] if piece is None else [self.assembled_call(piece)]

    def end_all(self) -> list[ToolCall]:
        """Every open call, now complete."""
        return [call for key in list(self.open) for call in self.end(key)]

    def assembled_call(self, piece: PartialCall) -> ToolCall:
        """The call that was assembled."""
        return self.provider.call(piece.number, piece.id, piece.name, "".join(piece.arguments), piece.extras)

    def _truncated(self, piece: PartialCall) -> ToolCall:
        call = self.provider.call(piece.number, piece.id, piece.name, "{}", piece.extras)
        return malformed_call(call.id, call.name, "".join(piece.arguments), TRUNCATED, piece.extras)
