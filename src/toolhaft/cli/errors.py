"""Says of every error what a person at the command line reads, what to type next, and the exit code.

Does not print, and does not know the verbs.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Final

from click import ClickException, UsageError

from toolhaft.cli.exits import Exit
from toolhaft.errors import (
    ConfigError,
    ConflictError,
    DefinitionError,
    FileDeniedError,
    ForbiddenError,
    HttpError,
    HttpRefusedError,
    PlatformError,
    StorageAddressError,
    StorageUnreachableError,
    ToolAuthorizationError,
    ToolhaftError,
    UnknownToolError,
)

_FORBIDDEN: Final = (ForbiddenError, ToolAuthorizationError, FileDeniedError, HttpRefusedError)
_OUT_OF_REACH: Final = (PlatformError, HttpError, StorageUnreachableError)
_PLACE: Final = re.compile(r"(?P<file>.+\.ya?ml)(:[0-9]+)?")
_INSTALL: Final = re.compile("pip install '[^']+'")

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
    if error.fix:
        # the message is its parts joined, the fix last; whoever reads JSON gets that on its own
        text = str(error).removesuffix(f". Fix: {error.fix}")
        return Told(error=text, exit=Exit.CONFIGURATION, fix=error.fix)
    fix = "doctor" if isinstance(error, ConfigError) else _check_of(error)
    return Told(error=str(error), exit=Exit.CONFIGURATION, fix=fix, is_command=True)


def _check_of(error: DefinitionError) -> str:
    """The command that tells every problem of the file, where it is one that can be named from here."""
    found = _PLACE.fullmatch(error.problems[0].place)
    if found is None or not os.path.exists(found["file"]):  # noqa: PTH110 -- pathlib costs a tenth of the start
        return "tool check"
    import shlex  # noqa: PLC0415 -- only where something is wrong

    return f"tool check {shlex.quote(found['file'])}"


def _told_by_kind(error: ToolhaftError) -> Told:
    fix = "doctor"
    if isinstance(error, (UnknownToolError, ConflictError)):
        fix = "tool ls"
    elif isinstance(error, ForbiddenError):
        fix = "key new --help"
    return Told(error=str(error), exit=_exit_of(error), fix=fix, is_command=True)


def _exit_of(error: ToolhaftError) -> Exit:
    if isinstance(error, _FORBIDDEN):
        return Exit.PERMISSION
    if isinstance(error, _OUT_OF_REACH):
        return Exit.NETWORK
    return Exit.CONFIGURATION if isinstance(error, StorageAddressError) else Exit.FAILED


def _told_by_click(error: ClickException) -> Told:
    context = error.ctx if isinstance(error, UsageError) else None
    words = [*context.command_path.split()[1:], "--help"] if context else ["--help"]
    return Told(error=error.format_message(), exit=Exit.USAGE, fix=" ".join(words), is_command=True)


def _told_missing(error: ImportError) -> Told | None:
    """A package that is not installed; our own rooms name the command in their message."""
    command = _INSTALL.search(str(error))
    if command is not None:
        return Told(error=str(error), exit=Exit.CONFIGURATION, fix=command[0])
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
    return Told(error=f"{place}{reason}", exit=code, fix="doctor", is_command=True)
