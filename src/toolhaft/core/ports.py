"""What the core's nouns need from rooms upstairs, as protocols.

Knows no room that implements them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple, Protocol, Self, TypeVar, runtime_checkable

from toolhaft.core.principal import Principal

ThingT = TypeVar("ThingT")

WriteMode = Literal["create", "overwrite", "append"]


class Door(Protocol):
    """An object that is no Tool itself, but stands for one."""

    @property
    def tool(self) -> object:
        """The tool, made when it is asked for."""
        ...


@runtime_checkable
class Snapshotable(Protocol):
    """Something whose changes can be kept or dropped as one.

    `fork` gives a view of the same kind; what is changed through it shows nowhere else until `commit`, or is
    put back by `discard`. Either ends the view: from then on a write through it raises CallEndedError, also
    one that another thread has under way. A fork can be forked; its commits go to the fork.
    """

    def fork(self, *, read_only: bool = False) -> Self:
        """A view of its own; writing through a read-only one raises ReadOnlyError."""
        ...

    def commit(self) -> None:
        """Keep every change and end the view."""
        ...

    def discard(self) -> None:
        """Drop every change and end the view; safe to repeat."""
        ...


@runtime_checkable
class Restorable(Protocol):
    """The simpler way to be put back: a snapshot before the call, restored where the call fails."""

    def snapshot(self) -> object:
        """What `restore` needs to bring this state back."""
        ...

    def restore(self, snapshot: object, /) -> None:
        """Bring back the state of a snapshot."""
        ...


class Clock(Protocol):
    """Where time comes from; tests turn it by hand."""

    def monotonic(self) -> float:
        """Seconds that only grow."""
        ...

    def time(self) -> float:
        """Seconds since the epoch."""
        ...


class FileStat(NamedTuple):
    """What is known about one file or directory."""

    path: str
    kind: Literal["file", "directory"]
    size_bytes: int
    modified_at: float
    """Seconds since the epoch."""


class FileList(list[FileStat]):
    """Files and directories, and whether there were more of them."""

    __slots__ = ("is_cut",)

    def __init__(self, entries: Iterable[FileStat] = (), *, is_cut: bool = False) -> None:
        super().__init__(entries)
        self.is_cut = is_cut
        """True where a limit left some out."""


class FileText(NamedTuple):
    """A page of a text file."""

    content: str
    size_bytes: int
    """Of the whole file."""
    next_offset: int | None
    """Where the next page starts, in characters; None at the end."""


class GrepHit(NamedTuple):
    """One line that matches."""

    path: str
    line_number: int
    line: str


@runtime_checkable
class Filesystem(Protocol):
    """Files under one root, whatever holds them. Paths use '/', relative to the root or absolute inside it.

    Every refusal is a FilesystemError whose message names the path as the caller wrote it.
    """

    read_only: bool

    def read(self, path: str, *, offset: int = 0, limit: int | None = None) -> FileText:
        """A UTF-8 text file from a character on; `limit` characters at most, else to the end."""
        ...

    def read_bytes(self, path: str, *, offset: int = 0, limit: int | None = None) -> bytes:
        """A file's bytes."""
        ...

    def write(self, path: str, content: str | bytes, *, mode: WriteMode = "overwrite") -> int:
        """Write a file, its parent directories too; says how many bytes were written."""
        ...

    def list(self, path: str = ".", *, recursive: bool = False, limit: int | None = None) -> FileList:
        """What is in a directory, sorted by path; of more than `limit` some, those nearest to it first."""
        ...

    def glob(self, pattern: str, path: str = ".") -> list[FileStat]:
        """What matches a pattern such as 'src/**/*.py', sorted by path."""
        ...

    def grep(
        self, pattern: str, path: str = ".", *, glob: str | None = None, max_hits: int = 1000
    ) -> list[GrepHit]:
        """The lines of text files that a regular expression finds."""
        ...

    def stat(self, path: str) -> FileStat:
        """What is known about a file or directory."""
        ...

    def exists(self, path: str) -> bool:
        """True if there is something at this path."""
        ...

    def delete(self, path: str, *, recursive: bool = False) -> None:
        """Remove a file or an empty directory, or all that is in it."""
        ...

    def mkdir(self, path: str) -> None:
        """Make a directory, its parents too; one that is there is fine."""
        ...

    def fork(self, *, read_only: bool = False) -> Filesystem:
        """A view whose writes are kept or dropped as one."""
        ...

    def commit(self) -> None:
        """Keep every write of this view and end it."""
        ...

    def discard(self) -> None:
        """Put back what this view changed and end it."""
        ...


class Resources(Protocol):
    """What a call may touch, by type."""

    def get(self, kind: type[ThingT]) -> ThingT:
        """The call's own view of a resource.

        Raises:
            ResourceError: where none of this kind was given.
        """
        ...


class ToolFinder(Protocol):
    """Finds tools that an executor was not given, and opens them to its calls."""

    def find_tools(self, text: str, *, limit: int, principal: Principal | None) -> tuple[object, ...]:
        """The tools that fit a text best, the best first, and that this caller may use.

        Raises:
            ResourceMissingError: where there is no catalog to search.
        """
        ...


class Ready(Protocol):
    """What is there of the resources already."""

    def ready(self, kind: type[ThingT]) -> ThingT | None:
        """A resource as it stands, to be read only; None where one would have to be made or forked first."""
        ...


class Slice(Protocol[ThingT]):
    """All items of one type in a session, oldest first."""

    def latest(self) -> ThingT | None:
        """The newest item, None where there is none."""
        ...

    def all(self) -> tuple[ThingT, ...]:
        """Every item."""
        ...

    def where(self, predicate: Callable[[ThingT], bool]) -> tuple[ThingT, ...]:
        """The items that the predicate is true for."""
        ...

    def append(self, item: ThingT) -> None:
        """Add one item, by the reducer that is registered for its type."""
        ...

    def seed(self, items: object) -> None:
        """Set the slice to one item or several, past any reducer."""
        ...

    def clear(self, predicate: Callable[[ThingT], bool] | None = None) -> None:
        """Remove every item, or those that the predicate is true for."""
        ...

    def __iter__(self) -> Iterator[ThingT]: ...

    def __len__(self) -> int: ...


class Dispatcher(Protocol):
    """Tells subscribers what happened."""

    def subscribe(
        self, event_type: type[ThingT], subscriber: Callable[[ThingT], object]
    ) -> Callable[[], None]:
        """Have every event of a type, or one derived from it, handed to a function; the answer undoes it."""
        ...

    def dispatch(self, event: object) -> None:
        """Hand an event to the session's reducers and to everybody who subscribed."""
        ...


class Session(Protocol):
    """Typed state, as a handler sees it."""

    @property
    def dispatcher(self) -> Dispatcher:
        """Where events are published."""
        ...

    def __getitem__(self, kind: type[ThingT]) -> Slice[ThingT]: ...

    def dispatch(self, event: object) -> None:
        """Hand an event to its reducers, or append it to its own slice."""
        ...


@runtime_checkable
class RenderedPort(Protocol):
    """What came of rendering a prompt, as far as an executor needs it."""

    @property
    def tools(self) -> tuple[object, ...]:
        """Objects from any door, in the order of the text."""
        ...


@runtime_checkable
class PromptPort(Protocol):
    """A prompt that brings tools, resources, policies and feedback to an executor."""

    @property
    def name(self) -> str:
        """What it is known by."""
        ...

    @property
    def session(self) -> object:
        """The session that its tools are tied to; None where they work on any."""
        ...

    @property
    def feedback(self) -> tuple[object, ...]:
        """What is asked after each call, each a FeedbackProvider."""
        ...

    def render(self, *, session: object = None) -> RenderedPort:
        """The text and the tools, as they are for this session."""
        ...

    def policies_for(self, name: str, rendered: object, /) -> tuple[object, ...]:
        """What is asked before a tool of a rendering is run, each a ToolPolicy, in order."""
        ...

    def brings(self, tool: object, /) -> bool:
        """True for a tool that its renderings bring themselves, each one of its own."""
        ...

    def lend(self, given: object, /) -> object:
        """The registry of resources that an executor uses: what it was `given` itself goes first.

        The executor closes it at its own end; what is not the executor's to close stays open all the same.
        """
        ...

    def prepare(self, session: object, /) -> None:
        """Have a session keep what the prompt's own tools need there; safe to repeat."""
        ...
