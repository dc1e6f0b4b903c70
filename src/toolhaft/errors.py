"""Every error that Toolhaft raises, in one tree.

    ToolhaftError
    ├── DefinitionError (ValueError)          a tool definition that is not valid
    ├── ConfigError (ValueError)              a project setting that is not valid
    ├── UnknownToolError (KeyError)           a name that no tool has
    │   └── UnknownVersionError               a version that the platform does not keep
    ├── ToolError                             what a handler may raise
    │   ├── ToolExecutionError (RuntimeError)
    │   ├── ToolTimeoutError (TimeoutError)
    │   ├── ToolValidationError (ValueError)
    │   └── ToolAuthorizationError (PermissionError)
    ├── DeadlineExceededError (TimeoutError)
    ├── BudgetExceededError (RuntimeError)
    ├── AttemptsExceededError (RuntimeError)  a tool that failed too often is not run again
    ├── RateExceededError (RuntimeError)      too many calls of one tool
    ├── CircuitOpenError (RuntimeError)       a tool that keeps failing is not run for a while
    ├── ApprovalRequiredError (PermissionError) a call that waits for an approval
    ├── PromptError
    │   ├── PromptValidationError (ValueError)
    │   ├── PromptEvaluationError (RuntimeError)
    │   └── VisibilityExpansionRequired
    ├── ResourceError (LookupError)           a resource that is missing or cannot be made
    │   └── ResourceMissingError              no resource of this type was given
    ├── CallEndedError (RuntimeError)         a write through a view whose call is over
    ├── ReadOnlyError (PermissionError)       a write where only reading is allowed
    ├── SessionError (ValueError)             a reducer, slice or snapshot that is not valid
    ├── FilesystemError (OSError)
    │   ├── FileMissingError (FileNotFoundError)
    │   ├── FileDeniedError (PermissionError)
    │   ├── FileTakenError (FileExistsError)
    │   ├── FileKindError                     a directory where a file is expected, or the reverse
    │   ├── FileTooLargeError
    │   └── FileBusyError (BlockingIOError)   another call is changing it
    ├── HttpError (OSError)                   a request without a complete response
    │   ├── HttpRefusedError (PermissionError) an address, host or redirect that is not allowed
    │   ├── HttpTimeoutError (TimeoutError)
    │   └── HttpTooLargeError
    ├── StorageError (OSError)                a failed database operation
    │   ├── StorageAddressError (ValueError)  a database URL that is not valid
    │   ├── StorageBusyError (BlockingIOError) another process holds the lock
    │   ├── StorageFullError                  no space left
    │   └── StorageUnreachableError (ConnectionError) a server that does not respond
    ├── ConflictError (RuntimeError)          another writer changed it first
    ├── ForbiddenError (PermissionError)      it belongs to another owner, or needs another key
    ├── PlatformError (OSError)               a platform that did not respond, or not as expected
    └── WireError (ValueError)                a provider's message of the wrong form

The class in parentheses is the built-in exception that the error also inherits from. Two errors are equal if
they have the same class, arguments and attributes.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing `typing` would take longer than this whole module
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class ToolhaftError(Exception):
    """The root of the tree."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._content() == other._content()

    def __hash__(self) -> int:
        try:
            return hash((type(self), self.args))
        except TypeError:  # an argument that cannot be hashed
            return hash(type(self))

    def _content(self) -> tuple[object, ...]:
        """What is compared: the arguments, with the file names of an OSError, and the attributes."""
        attributes = {name: value for name, value in vars(self).items() if name != "__notes__"}
        return self.__reduce__()[1], attributes


class DefinitionError(ToolhaftError, ValueError):
    """A tool definition that is not valid: which tool, where in it, and how to fix it."""

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
        """One error per problem; this error itself if it has only one."""
        return self._problems or (self,)

    def of(self, tool: str) -> DefinitionError:
        """Return this error with the tool's name, if it has none yet."""
        if self.tool:
            return self
        return DefinitionError(
            self.problem, tool=tool, place=self.place, fix=self.fix, problems=self._problems
        )


class ConfigError(ToolhaftError, ValueError):
    """A project setting that is not valid: which one, in which file and line, and how to fix it."""

    def __init__(self, problem: str, *, place: str = "", fix: str = "") -> None:
        self.problem = problem
        self.place = place
        self.fix = fix
        text = f"{place}: {problem}" if place else problem
        super().__init__(f"{text}. Fix: {fix}" if fix else text)


class UnknownToolError(ToolhaftError, KeyError):
    """No tool has this name; the message suggests the nearest one."""

    def __str__(self) -> str:
        return str(self.args[0])  # a KeyError shows its message in quotes


class UnknownVersionError(UnknownToolError):
    """The platform has no such version of a tool; the message names those that it has."""


class ToolError(ToolhaftError):
    """Raised by a handler to report a failure of a certain kind."""

    untrusted: bool = False
    """True if the message contains untrusted text, such as the response of a service."""
    nothing_happened: bool = False
    """True if the tool has not done anything yet; the message for the model says so, whatever the effect."""


class ToolExecutionError(ToolError, RuntimeError):
    """The tool failed."""


class ToolTimeoutError(ToolError, TimeoutError):
    """The tool exceeded its time."""


class ToolValidationError(ToolError, ValueError):
    """The tool's input or result is not valid."""


class ToolAuthorizationError(ToolError, PermissionError):
    """The tool is not authorized for this caller."""


class DeadlineExceededError(ToolhaftError, TimeoutError):
    """The overall deadline has passed."""


class BudgetExceededError(ToolhaftError, RuntimeError):
    """A budget of tokens, calls or time is used up."""


class AttemptsExceededError(ToolhaftError, RuntimeError):
    """The tool failed too often in a row, or with the same arguments; it was not run again."""


class RateExceededError(ToolhaftError, RuntimeError):
    """The tool may not be called so often, or by so many calls at once; it was not run."""


class CircuitOpenError(ToolhaftError, RuntimeError):
    """The tool keeps failing, or the same call is repeated; it was not run."""


class ApprovalRequiredError(ToolhaftError, PermissionError):
    """The call waits for an approval; `pending` can be stored, and given to `executor.resume`."""

    pending: object = None


class PromptError(ToolhaftError):
    """A prompt failed; `section_path` is the section in which it did, if any.

    If a handler raises it during several calls, `results` has the results of all of them, in order.
    """

    results: tuple[Any, ...] = ()

    def __init__(self, message: str = "", *, section_path: tuple[str, ...] = ()) -> None:
        self.section_path = section_path
        super().__init__(message)


class PromptValidationError(PromptError, ValueError):
    """A prompt, or a section of it, is not well formed."""


class PromptEvaluationError(PromptError, RuntimeError):
    """A prompt could not be evaluated."""


class VisibilityExpansionRequired(PromptError):  # noqa: N818 -- a public name; it is a signal, not a failure
    """A summarised section must be expanded before the run can continue.

    Continue with `prompt.with_visibility(error.requested_overrides)`.

    Args:
        message: what the model asked for.
        requested_overrides: the wanted visibility of sections, by their paths.
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
    """A resource is missing or cannot be made."""


class ResourceMissingError(ResourceError):
    """No resource of this type was given; `kind` is None if no resources were given at all."""

    def __init__(self, message: str, *, kind: type | None = None) -> None:
        self.kind = kind
        super().__init__(message)


class CallEndedError(ToolhaftError, RuntimeError):
    """A write through a view of a call that is over: nothing was changed."""


class ReadOnlyError(ToolhaftError, PermissionError):
    """A write where only reading is allowed: nothing was changed."""


class SessionError(ToolhaftError, ValueError):
    """A reducer, a slice or a snapshot is not valid."""


class FilesystemError(ToolhaftError, OSError):
    """A file operation failed; its message has the path as the caller wrote it."""


class FileMissingError(FilesystemError, FileNotFoundError):
    """There is no such file or directory."""


class FileDeniedError(FilesystemError, PermissionError):
    """The path is outside the root, or may not be accessed."""


class FileTakenError(FilesystemError, FileExistsError):
    """The file already exists."""


class FileKindError(FilesystemError):
    """A directory where a file is expected, the reverse, or neither of them."""


class FileTooLargeError(FilesystemError):
    """More bytes than the limit allows."""


class FileBusyError(FilesystemError, BlockingIOError):
    """Another running call is changing the file."""


class HttpError(ToolhaftError, OSError):
    """A request without a complete response; the message contains no key, query or address of the host."""


class HttpRefusedError(HttpError, PermissionError):
    """The address, host or redirect is not allowed; nothing was sent to it.

    Args:
        problem: what is refused, and why.
        advice: how the program can allow it, for a host that it may well want to reach; else empty.
    """

    def __init__(self, problem: str, *, advice: str = "") -> None:
        self.problem = problem
        self.advice = advice
        super().__init__(f"{problem}; {advice}" if advice else problem)


class HttpTimeoutError(HttpError, TimeoutError):
    """The response did not arrive in time."""


class HttpTooLargeError(HttpError):
    """The response has more bytes than the limit allows."""


class StorageError(ToolhaftError, OSError):
    """A database operation failed; nothing was changed, unless `is_outcome_unknown`.

    The message is for the operator: it names the file or the host, never a password.
    """

    is_outcome_unknown: bool = False
    """True if the connection was lost during a commit: the change was made completely, or not at all."""


class StorageAddressError(StorageError, ValueError):
    """The URL of a database is not valid; the message does not repeat it, since it may have a password."""


class StorageBusyError(StorageError, BlockingIOError):
    """Another process held the lock of the database for too long."""


class StorageFullError(StorageError):
    """The disk is full, or the database has reached its size limit."""


class StorageUnreachableError(StorageError, ConnectionError):
    """The database server does not respond."""


class ConflictError(ToolhaftError, RuntimeError):
    """Another writer changed it first; `current` is its present `updated_at`."""

    def __init__(self, message: str, *, current: str | None = None) -> None:
        self.current = current
        super().__init__(message)


class ForbiddenError(ToolhaftError, PermissionError):
    """It belongs to another owner, or the key does not allow it; nothing was changed."""


class PlatformError(ToolhaftError, OSError):
    """The platform could not be reached, or its response was not valid; the message contains no key."""


class WireError(ToolhaftError, ValueError):
    """A provider's payload does not have the expected form: where, and what was expected."""

    def __init__(self, problem: str, *, format: str = "", path: str = "", expected: str = "") -> None:
        self.problem = problem
        self.format = format
        self.path = path
        self.expected = expected
        where = " ".join(part for part in (format, f"at {path}" if path else "") if part)
        text = f"{where}: {problem}" if where else problem
        super().__init__(f"{text}; expected {expected}" if expected else text)
