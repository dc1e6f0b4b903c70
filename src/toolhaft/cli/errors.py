"""The exit codes of the program, and what it prints for each kind of error."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from click import ClickException, UsageError

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


class Exit(IntEnum):
    """The exit code of a command, which scripts rely on."""

    OK = 0
    FAILED = 1
    """The command ran and did not succeed."""
    USAGE = 2
    """The command line is wrong: an unknown verb, option or argument."""
    CONFIGURATION = 3
    """A file, a setting or a package that the command needs is missing or broken."""
    NETWORK = 4
    """A platform or an endpoint could not be reached, or did not send a complete response."""
    PERMISSION = 5
    """The platform, the tool's policy or the operating system does not allow it."""
    INTERRUPTED = 130
    """Ctrl-C."""


_FORBIDDEN: Final = (ForbiddenError, ToolAuthorizationError, FileDeniedError, HttpRefusedError)
_UNREACHABLE: Final = (PlatformError, HttpError, StorageUnreachableError)
_YAML_PLACE: Final = re.compile(r"(?P<file>.+\.ya?ml)(:[0-9]+)?")
_LOGIN: Final = re.compile(r"(?<=: lk )login \S+$")
_INSTALL_COMMAND: Final = re.compile("pip install '[^']+'")

_EXTRAS: Final = {
    "click": "cli",
    "httptools": "serve",
    "psycopg": "postgres",
    "rich": "cli",
    "ruamel": "yaml",
    "starlette": "serve",
    "uvicorn": "serve",
}
"""The extra that installs each optional package."""


class CommandError(ToolhaftError):
    """A command that cannot be run as typed.

    Args:
        message: what is wrong.
        next: the command to type next, without the program's name, such as "tool ls"; empty for none.
        exit: the exit code of the program.
    """

    def __init__(self, message: str, *, next: str = "", exit: Exit = Exit.USAGE) -> None:  # noqa: A002 -- reads best where it is raised
        self.next = next
        self.exit = exit
        super().__init__(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorReport:
    """An error as the program prints it."""

    error: str
    exit: Exit
    fix: str = ""
    """What to do next, as a sentence or a command."""
    is_command: bool = False
    """True if `fix` is a command of this program, without the program's name."""


def describe_error(error: BaseException) -> ErrorReport | None:
    """What to print for an error; None for one that is a bug of the program."""
    match error:
        case CommandError():
            return ErrorReport(error=str(error), exit=error.exit, fix=error.next, is_command=True)
        case ClickException():
            return _report_click(error)
        case DefinitionError() | ConfigError():
            return _report_definition(error)
        case ImportError():
            return _report_missing_package(error)
        case ToolhaftError():
            return _report_by_kind(error)
        case OSError():
            return _report_os_error(error)
        case _:
            return None


def _report_definition(error: DefinitionError | ConfigError) -> ErrorReport:
    if error.fix:
        # the message ends with the fix, which is printed separately
        text = str(error).removesuffix(f". Fix: {error.fix}")
        return ErrorReport(error=text, exit=Exit.CONFIGURATION, fix=error.fix)
    fix = "doctor" if isinstance(error, ConfigError) else _check_command(error)
    return ErrorReport(error=str(error), exit=Exit.CONFIGURATION, fix=fix, is_command=True)


def _check_command(error: DefinitionError) -> str:
    """The command that lists every problem of the file, if the file exists."""
    found = _YAML_PLACE.fullmatch(error.problems[0].place)
    if found is None or not os.path.exists(found["file"]):  # noqa: PTH110 -- importing pathlib takes a tenth of the start-up time
        return "tool check"
    import shlex

    return f"tool check {shlex.quote(found['file'])}"


def _report_by_kind(error: ToolhaftError) -> ErrorReport:
    fix, is_command = "doctor", True
    if isinstance(error, (UnknownToolError, ConflictError)):
        fix = "tool ls"
    elif isinstance(error, ForbiddenError):
        login = _LOGIN.search(str(error))
        fix, is_command = (
            (login[0], True)
            if login
            else ("ask the operator of the platform for a key that may do this", False)
        )
    return ErrorReport(error=str(error), exit=_exit_code(error), fix=fix, is_command=is_command)


def _exit_code(error: ToolhaftError) -> Exit:
    if isinstance(error, _FORBIDDEN):
        return Exit.PERMISSION
    if isinstance(error, _UNREACHABLE):
        return Exit.NETWORK
    return Exit.CONFIGURATION if isinstance(error, StorageAddressError) else Exit.FAILED


def _report_click(error: ClickException) -> ErrorReport:
    context = error.ctx if isinstance(error, UsageError) else None
    words = [*context.command_path.split()[1:], "--help"] if context else ["--help"]
    return ErrorReport(error=error.format_message(), exit=Exit.USAGE, fix=" ".join(words), is_command=True)


def _report_missing_package(error: ImportError) -> ErrorReport | None:
    """A package that is not installed; our own messages name the command that installs it."""
    command = _INSTALL_COMMAND.search(str(error))
    if command is not None:
        return ErrorReport(error=str(error), exit=Exit.CONFIGURATION, fix=command[0])
    extra = _EXTRAS.get((error.name or "").partition(".")[0])
    if extra is None:
        return None
    return ErrorReport(
        error=f"{error.name} is not installed",
        exit=Exit.CONFIGURATION,
        fix=f"pip install 'toolhaft[{extra}]'",
    )


def _report_os_error(error: OSError) -> ErrorReport:
    place = f"{error.filename}: " if error.filename else ""
    reason = error.strerror or str(error) or type(error).__name__
    code = Exit.PERMISSION if isinstance(error, PermissionError) else Exit.FAILED
    return ErrorReport(error=f"{place}{reason}", exit=code, fix="doctor", is_command=True)
