"""Every error that Toolhaft raises, in one tree.

    ToolhaftError
    ├── DefinitionError (ValueError)          a tool that cannot be made as written
    ├── ConfigError (ValueError)              a project's settings that make no sense
    ├── UnknownToolError (KeyError)           a name that no tool has
    ├── ToolError                             what a handler may raise
    │   ├── ToolExecutionError (RuntimeError)
    │   ├── ToolTimeoutError (TimeoutError)
    │   ├── ToolValidationError (ValueError)
    │   └── ToolAuthorizationError (PermissionError)
    ├── DeadlineExceededError (TimeoutError)
    ├── BudgetExceededError (RuntimeError)
    ├── PromptError
    │   ├── PromptValidationError (ValueError)
    │   ├── PromptEvaluationError (RuntimeError)
    │   └── VisibilityExpansionRequired
    ├── ResourceError (LookupError)           a resource that cannot be had
    │   └── ResourceMissingError              none of its kind was given
    ├── CallEndedError (RuntimeError)         a write through a view whose call is over
    ├── ReadOnlyError (PermissionError)       a write where only reading is allowed
    ├── SessionError (ValueError)             a reducer, slice or snapshot that makes no sense
    ├── FilesystemError (OSError)
    │   ├── FileMissingError (FileNotFoundError)
    │   ├── FileDeniedError (PermissionError)
    │   ├── FileTakenError (FileExistsError)
    │   ├── FileKindError                     a directory where a file is wanted, or the reverse
    │   ├── FileTooLargeError
    │   └── FileBusyError (BlockingIOError)   another call is changing it
    ├── HttpError (OSError)                   a request that brought no whole answer
    │   ├── HttpRefusedError (PermissionError) an address, host or redirect that the guard bars
    │   ├── HttpTimeoutError (TimeoutError)
    │   └── HttpTooLargeError
    ├── StorageError (OSError)                a database that cannot do what it was asked
    │   ├── StorageAddressError (ValueError)  a URL that no database has
    │   ├── StorageBusyError (BlockingIOError) somebody else holds it
    │   ├── StorageFullError                  no room for more
    │   └── StorageUnreachableError (ConnectionError) a server that does not answer
    ├── ConflictError (RuntimeError)          somebody else changed it first
    ├── ForbiddenError (PermissionError)      it belongs to somebody else, or needs another key
    ├── PlatformError (OSError)               a platform that gave no answer, or an odd one
    └── WireError (ValueError)                a provider's message of the wrong shape

It knows nothing of who raises them.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` would cost more than all that this file does
if TYPE_CHECKING:
    from collections.abc import Mapping


class ToolhaftError(Exception):
    """The root of the tree."""


class DefinitionError(ToolhaftError, ValueError):
    """A tool that cannot be made as written: says which tool, which place in it, and what to do."""

    def __init__(
        self,
        problem: str,
        *,
        tool: str = "",
        place: str = "",
        fix: str = "",
        problems: tuple[DefinitionError, ...] = (),
    ) -> None:
        self._problems = problems
        self.problem = problem
        self.tool = tool
        self.place = place
        self.fix = fix
        where = ", ".join(part for part in (f"tool {tool!r}" if tool else "", place) if part)
        text = f"{where}: {problem}" if where else problem
        super().__init__(f"{text}. Fix: {fix}" if fix else text)

    @property
    def problems(self) -> tuple[DefinitionError, ...]:
        """Each problem as an error of its own, where this one tells several; else this one."""
        return self._problems or (self,)

    def of(self, tool: str) -> DefinitionError:
        """The same error, with the tool named where it was not yet."""
        if self.tool:
            return self
        return DefinitionError(
            self.problem, tool=tool, place=self.place, fix=self.fix, problems=self._problems
        )


class ConfigError(ToolhaftError, ValueError):
    """A setting of the project that makes no sense: says which, in which file and line, and what to do."""

    def __init__(self, problem: str, *, place: str = "", fix: str = "") -> None:
        self.problem = problem
        self.place = place
        self.fix = fix
        text = f"{place}: {problem}" if place else problem
        super().__init__(f"{text}. Fix: {fix}" if fix else text)


class UnknownToolError(ToolhaftError, KeyError):
    """No tool has this name; says which one was most likely meant."""

    def __str__(self) -> str:
        return str(self.args[0])  # a KeyError would show its message in quotes


class ToolError(ToolhaftError):
    """What a handler raises to say which kind of failure it met."""

    untrusted: bool = False
    """True if the message quotes text from outside, such as a service's own words."""
    nothing_happened: bool = False
    """True if it is raised before the tool has done anything: the model is told that, whatever the effect."""


class ToolExecutionError(ToolError, RuntimeError):
    """The tool's own work failed."""


class ToolTimeoutError(ToolError, TimeoutError):
    """The tool exceeded its time."""


class ToolValidationError(ToolError, ValueError):
    """The tool found its input, or its result, not valid."""


class ToolAuthorizationError(ToolError, PermissionError):
    """The tool is not authorized for this caller."""


class DeadlineExceededError(ToolhaftError, TimeoutError):
    """The overall deadline has passed."""


class BudgetExceededError(ToolhaftError, RuntimeError):
    """A budget of tokens, calls or time is used up."""


class PromptError(ToolhaftError):
    """Something went wrong around a prompt; `section_path` says in which section, where it is in one.

    Raised by a handler among several calls, it carries the `results` of them all, in their order.
    """

    results: tuple[object, ...] = ()

    def __init__(self, message: str = "", *, section_path: tuple[str, ...] = ()) -> None:
        self.section_path = section_path
        super().__init__(message)


class PromptValidationError(PromptError, ValueError):
    """A prompt, or a section of it, is not well formed."""


class PromptEvaluationError(PromptError, RuntimeError):
    """A prompt could not be evaluated to its end."""


class VisibilityExpansionRequired(PromptError):  # noqa: N818 -- the seed's own name; it is a signal, not a fault
    """A summarised section must be shown in full before the run can go on.

    Go on with `prompt.with_visibility(error.requested_overrides)`.

    Args:
        message: what the model asked for.
        requested_overrides: the visibility that each of these sections should have, by their paths.
        reason: why the model wants to see them.
        section_keys: the sections as the model named them.
        section_path: the first of them.
    """

    def __init__(
        self,
        message: str = "",
        *,
        requested_overrides: Mapping[tuple[str, ...], str] | None = None,
        reason: str = "",
        section_keys: tuple[str, ...] = (),
        section_path: tuple[str, ...] = (),
    ) -> None:
        self.requested_overrides = dict(requested_overrides or {})
        self.reason = reason
        self.section_keys = section_keys
        super().__init__(message, section_path=section_path)


class ResourceError(ToolhaftError, LookupError):
    """A resource that nobody gave, or that cannot be made."""


class ResourceMissingError(ResourceError):
    """Nobody gave a resource of this kind; `kind` is None where no resources were given at all."""

    def __init__(self, message: str, *, kind: type | None = None) -> None:
        self.kind = kind
        super().__init__(message)


class CallEndedError(ToolhaftError, RuntimeError):
    """A write through a view of a call that is over: nothing was changed."""


class ReadOnlyError(ToolhaftError, PermissionError):
    """A write where only reading is allowed: nothing was changed."""


class SessionError(ToolhaftError, ValueError):
    """A reducer, a slice or a snapshot that makes no sense."""


class FilesystemError(ToolhaftError, OSError):
    """A file operation that could not be done; paths in it are as the caller wrote them."""


class FileMissingError(FilesystemError, FileNotFoundError):
    """There is no such file or directory."""


class FileDeniedError(FilesystemError, PermissionError):
    """The path is outside the root, or not to be touched."""


class FileTakenError(FilesystemError, FileExistsError):
    """The file is there already."""


class FileKindError(FilesystemError):
    """A directory where a file is wanted, a file where a directory is, or neither of them."""


class FileTooLargeError(FilesystemError):
    """More bytes than the limit allows."""


class FileBusyError(FilesystemError, BlockingIOError):
    """Another call that has not ended is changing the file."""


class HttpError(ToolhaftError, OSError):
    """A request that brought no whole answer; no key, query or address of the host stands in its message."""


class HttpRefusedError(HttpError, PermissionError):
    """The guard did not let the request through: nothing was sent to where it refused to go."""


class HttpTimeoutError(HttpError, TimeoutError):
    """The answer was not there in time."""


class HttpTooLargeError(HttpError):
    """The answer has more bytes than the limit allows."""


class StorageError(ToolhaftError, OSError):
    """A database that cannot do what it was asked: nothing was changed, unless `is_outcome_unknown`.

    The message is for whoever runs the database: it names the file or the host, never a password.
    """

    is_outcome_unknown: bool = False
    """True where the line was lost while committing: the change is there whole, or not at all."""


class StorageAddressError(StorageError, ValueError):
    """The URL of a database makes no sense; it is not repeated, since a password may stand in it."""


class StorageBusyError(StorageError, BlockingIOError):
    """Somebody else held the database for longer than there was time to wait."""


class StorageFullError(StorageError):
    """The disk, or the room that the database may take on it, is full."""


class StorageUnreachableError(StorageError, ConnectionError):
    """The server of the database does not answer, or no longer."""


class ConflictError(ToolhaftError, RuntimeError):
    """Somebody else changed it first; `current` is the `updated_at` that it has now."""

    def __init__(self, message: str, *, current: str | None = None) -> None:
        self.current = current
        super().__init__(message)


class ForbiddenError(ToolhaftError, PermissionError):
    """It belongs to somebody else, or the key does not allow it: nothing was changed."""


class PlatformError(ToolhaftError, OSError):
    """The platform could not be reached, or its answer was not one of a platform; no key stands in it."""


class WireError(ToolhaftError, ValueError):
    """A payload does not have the shape that its format promises: says where, and what was expected."""

    def __init__(self, problem: str, *, format: str = "", path: str = "", expected: str = "") -> None:
        self.problem = problem
        self.format = format
        self.path = path
        self.expected = expected
        where = " ".join(part for part in (format, f"at {path}" if path else "") if part)
        text = f"{where}: {problem}" if where else problem
        super().__init__(f"{text}; expected {expected}" if expected else text)
