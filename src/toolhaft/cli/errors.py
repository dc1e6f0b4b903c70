"""Says of every error what a person at the command line reads, what to type next, and the exit code.

Does not print, and does not know the verbs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from click import ClickException, UsageError

from toolhaft.cli.exits import Exit
from toolhaft.errors import (
    ConfigError,
    DefinitionError,
    FileDeniedError,
    ForbiddenError,
    HttpError,
    HttpRefusedError,
    PlatformError,
    ToolAuthorizationError,
    ToolhaftError,
    UnknownToolError,
)

_FORBIDDEN: Final = (ForbiddenError, ToolAuthorizationError, FileDeniedError, HttpRefusedError)

_EXTRAS: Final = {
    "click": "cli",
    "httptools": "serve",
    "psycopg": "postgres",
    "rich": "cli",
    "ruamel": "yaml",
    "starlette": "serve",
    "uvicorn": "serve",
}
"""The extra that brings each package that a verb may miss."""


class CommandError(ToolhaftError):
    """A command that cannot be done as it was typed.

    Args:
        message: what is wrong.
        next: what to type next, without the program's name: "tool ls"; empty where nothing helps.
        exit: the code that the program ends with.
    """

    def __init__(self, message: str, *, next: str = "", exit: Exit = Exit.USAGE) -> None:  # noqa: A002 -- reads as what it is where it is raised
        self.next = next
        self.exit = exit
        super().__init__(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """An error as the program tells it."""

    error: str
    exit: Exit
    fix: str = ""
    """What to do next, in words or as a command."""
    is_command: bool = False
    """True if `fix` is a command to type, without the program's name."""


def tell(error: BaseException) -> Told | None:
    """What to say of an error, or None for one that is a fault of the program itself."""
    match error:
        case CommandError():
            return Told(error=str(error), exit=error.exit, fix=error.next, is_command=True)
        case ClickException():
            return _told_by_click(error)
        case DefinitionError() | ConfigError():
            return _told_with_place(error)
        case ImportError():
            return _told_missing(error)
        case ToolhaftError():
            return _told_by_kind(error)
        case OSError():
            return _told_by_system(error)
        case _:
            return None


def _told_with_place(error: DefinitionError | ConfigError) -> Told:
    # the message is its parts joined, the fix last; whoever reads JSON gets that on its own
    return Told(error=str(error).removesuffix(f". Fix: {error.fix}"), exit=Exit.CONFIGURATION, fix=error.fix)


def _told_by_kind(error: ToolhaftError) -> Told:
    if isinstance(error, UnknownToolError):
        return Told(error=str(error), exit=Exit.FAILED, fix="tool ls", is_command=True)
    if isinstance(error, _FORBIDDEN):
        return Told(error=str(error), exit=Exit.PERMISSION)
    if isinstance(error, (PlatformError, HttpError)):
        return Told(error=str(error), exit=Exit.NETWORK, fix="doctor", is_command=True)
    return Told(error=str(error), exit=Exit.FAILED)


def _told_by_click(error: ClickException) -> Told:
    context = error.ctx if isinstance(error, UsageError) else None
    words = [*context.command_path.split()[1:], "--help"] if context else ["--help"]
    return Told(error=error.format_message(), exit=Exit.USAGE, fix=" ".join(words), is_command=True)


def _told_missing(error: ImportError) -> Told | None:
    """A package that is not installed; our own rooms name the command in their message."""
    if "pip install" in str(error):
        return Told(error=str(error), exit=Exit.CONFIGURATION)
    extra = _EXTRAS.get((error.name or "").partition(".")[0])
    if extra is None:
        return None
    return Told(
        error=f"{error.name} is not installed",
        exit=Exit.CONFIGURATION,
        fix=f"pip install 'toolhaft[{extra}]'",
    )


def _told_by_system(error: OSError) -> Told:
    place = f"{error.filename}: " if error.filename else ""
    reason = error.strerror or str(error) or type(error).__name__
    code = Exit.PERMISSION if isinstance(error, PermissionError) else Exit.FAILED
    return Told(error=f"{place}{reason}", exit=code)
