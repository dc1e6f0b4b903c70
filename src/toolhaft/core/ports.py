"""Ports: the protocols that higher packages implement, so that core and execute need not import them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple, Protocol, Self, TypeAlias, TypeVar, runtime_checkable

from toolhaft.core.principal import Principal

ThingT = TypeVar("ThingT")

WriteMode = Literal["create", "overwrite", "append"]


class UnusedType(type):
    """Never used: `type[ThingT] | UnusedType` is `type[ThingT]`, and mypy accepts an abstract class for it.

    For `type[ThingT]` alone, mypy refuses abstract classes and protocols such as Filesystem (type-abstract).
    """


ResourceKind: TypeAlias = type[ThingT] | UnusedType


class FileRunner(Protocol[ThingT]):
    """Runs the tool of a YAML file as the catalog of its project does; the catalog implements it."""

    def run_file(self, tool: ThingT, /) -> ThingT:
        """The same tool, run in this process where its endpoint is on the project's own platform."""
        ...


class HasTool(Protocol):
    """An object that is not a Tool, but has one."""

    @property
    def tool(self) -> object:
        """The tool, compiled on first use."""
        ...


class OffersTools(Protocol):
    """An object with tools for a model: an executor, a catalog."""

    def offered_tools(self) -> Iterable[object]:
        """The tools to offer."""
        ...


@runtime_checkable
class Snapshotable(Protocol):
    """A resource whose changes are committed or discarded together.

    `fork` returns a view of the same type. Changes through the view are visible nowhere else until `commit`;
    `discard` undoes them. Both end the view: a later write through it raises CallEndedError, even on another
    thread. A fork can be forked again, and then commits to the first fork.
    """

    def fork(self, *, read_only: bool = False) -> Self:
        """A separate view; writing through a read-only one raises ReadOnlyError."""
        ...

    def commit(self) -> None:
        """Commit every change and end the view."""
        ...

    def discard(self) -> None:
        """Undo every change and end the view; can be called twice."""
        ...


@runtime_checkable
class Restorable(Protocol):
    """A resource with simpler rollback: a snapshot before the call, which is restored if the call fails."""

    def snapshot(self) -> object:
        """The current state, for `restore`."""
        ...

    def restore(self, snapshot: object, /) -> None:
        """Return to the state of a snapshot."""
        ...


class Clock(Protocol):
    """The source of time; tests replace it with one that they set."""

    def monotonic(self) -> float:
        """Seconds that never decrease."""
        ...

    def time(self) -> float:
        """Seconds since the epoch."""
        ...


class FileStat(NamedTuple):
    """Facts about one file or directory."""

    path: str
    kind: Literal["file", "directory"]
    size_bytes: int
    modified_at: float
    """Seconds since the epoch."""


class FileList(list[FileStat]):
    """A list of files and directories, perhaps incomplete because of a limit."""

    __slots__ = ("is_cut",)

    def __init__(self, entries: Iterable[FileStat] = (), *, is_cut: bool = False) -> None:
        super().__init__(entries)
        self.is_cut = is_cut
        """True if a limit left some out."""


class FileText(NamedTuple):
    """A page of a text file."""

    content: str
    size_bytes: int
    """The size of the whole file."""
    next_offset: int | None
    """The character at which the next page starts; None at the end of the file."""


class GrepHit(NamedTuple):
    """One matching line."""

    path: str
    line_number: int
    line: str


@runtime_checkable
class Filesystem(Snapshotable, Protocol):
    """Files below one root directory. Paths use '/', and are relative to the root or absolute inside it.

    Every failure is a FilesystemError whose message names the path as the caller wrote it.
    """

    read_only: bool

    def read(self, path: str, *, offset: int = 0, limit: int | None = None) -> FileText:
        """Read a UTF-8 text file from character `offset`; at most `limit` characters, or to the end."""
        ...

    def read_bytes(self, path: str, *, offset: int = 0, limit: int | None = None) -> bytes:
        """Read bytes of a file."""
        ...

    def write(self, path: str, content: str | bytes, *, mode: WriteMode = "overwrite") -> int:
        """Write a file and create its parent directories; returns the number of bytes written."""
        ...

    def list(self, path: str = ".", *, recursive: bool = False, limit: int | None = None) -> FileList:
        """The entries of a directory, sorted by path; the least nested ones if a `limit` is exceeded."""
        ...

    def glob(self, pattern: str, path: str = ".") -> list[FileStat]:
        """The paths that match a pattern such as 'src/**/*.py', sorted."""
        ...

    def grep(
        self, pattern: str, path: str = ".", *, glob: str | None = None, max_hits: int = 1000
    ) -> list[GrepHit]:
        """The lines of text files that match a regular expression."""
        ...

    def stat(self, path: str) -> FileStat:
        """Facts about a file or directory."""
        ...

    def exists(self, path: str) -> bool:
        """True if the path exists."""
        ...

    def delete(self, path: str, *, recursive: bool = False) -> None:
        """Remove a file or an empty directory; with `recursive`, a directory with its contents."""
        ...

    def mkdir(self, path: str) -> None:
        """Create a directory and its parents; an existing one is fine."""
        ...


class Resources(Protocol):
    """The resources of a call, by type: `resources[Database]` and `resources.get(Database)` are the same."""

    def get(self, kind: ResourceKind[ThingT]) -> ThingT:
        """The call's view of a resource.

        Raises:
            ResourceError: if there is none of this type.
        """
        ...

    def __getitem__(self, kind: ResourceKind[ThingT]) -> ThingT: ...

    def __contains__(self, kind: type) -> bool: ...


class ToolFinder(Protocol):
    """Finds tools in a catalog."""

    @property
    def adds_tools(self) -> bool:
        """True if what is found is added to an executor, from which the host sends it to the model."""
        ...

    def find_tools(self, text: str, *, limit: int, principal: Principal | None) -> tuple[object, ...]:
        """The tools that match a text best and that this caller may use, best first.

        Raises:
            ResourceMissingError: if there is no catalog to search.
        """
        ...


class SlicePort(Protocol[ThingT]):
    """All items of one type in a session, oldest first."""

    def latest(self) -> ThingT | None:
        """The newest item, None if there is none."""
        ...

    def all(self) -> tuple[ThingT, ...]:
        """Every item."""
        ...

    def where(self, predicate: Callable[[ThingT], bool]) -> tuple[ThingT, ...]:
        """The items for which the predicate is true."""
        ...

    def append(self, item: ThingT) -> None:
        """Add one item through the reducer that is registered for its type."""
        ...

    def seed(self, items: object) -> None:
        """Set the slice to one item or several, without a reducer."""
        ...

    def clear(self, predicate: Callable[[ThingT], bool] | None = None) -> None:
        """Remove every item, or those for which the predicate is true."""
        ...

    def __iter__(self) -> Iterator[ThingT]: ...

    def __len__(self) -> int: ...


class DispatcherPort(Protocol):
    """Passes events to subscribers."""

    def subscribe(
        self, event_type: type[ThingT], subscriber: Callable[[ThingT], object]
    ) -> Callable[[], None]:
        """Call a function with each event of a type or a subclass; the returned function unsubscribes."""
        ...

    def dispatch(self, event: object) -> None:
        """Pass an event to the session's reducers and to all subscribers."""
        ...


class SessionPort(Protocol):
    """Typed state, as a handler sees it."""

    @property
    def dispatcher(self) -> DispatcherPort:
        """The dispatcher of events."""
        ...

    def __getitem__(self, kind: type[ThingT]) -> SlicePort[ThingT]: ...

    def dispatch(self, event: object) -> None:
        """Pass an event to its reducers, or append it to the slice of its type."""
        ...


@runtime_checkable
class RenderedPort(Protocol):
    """A rendered prompt, as far as an executor needs it."""

    @property
    def tools(self) -> tuple[object, ...]:
        """Tools, defined in any way, in the order of the text."""
        ...


@runtime_checkable
class PromptPort(Protocol):
    """A prompt that gives an executor tools, resources, policies and feedback providers."""

    @property
    def name(self) -> str:
        """The name of the prompt."""
        ...

    @property
    def session(self) -> object:
        """The session that its tools need; None if they work with any."""
        ...

    @property
    def feedback(self) -> tuple[object, ...]:
        """The feedback providers that are called after each call, in order."""
        ...

    def render(self, *, session: object = None) -> RenderedPort:
        """Render the text and the tools for this session."""
        ...

    def policies_for(self, name: str, rendered: object, /) -> tuple[object, ...]:
        """The tool policies that apply to a tool of a rendered prompt, in order."""
        ...

    def creates_tool(self, tool: object, /) -> bool:
        """True for a tool that this prompt creates anew at each rendering."""
        ...

    def resources_for(self, given: object, /) -> object:
        """The resource registry for an executor: what was `given` to it takes precedence over the prompt's.

        The executor closes this registry; resources that belong to somebody else stay open.
        """
        ...

    def prepare(self, session: object, /) -> None:
        """Register the reducers that the prompt's tools need in a session; can be called twice."""
        ...
