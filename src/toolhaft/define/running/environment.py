"""Environment variables that tools may use by name: of the process, then of a project's `.env` file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from stat import S_ISREG
from typing import Final

from toolhaft.core.context import ToolContext
from toolhaft.define.running.platform_settings import KEY_VARIABLE, URL_VARIABLE
from toolhaft.define.running.variable_bindings import (
    VariableBinding,
    binding_of,
    is_bound,
    parse_binding,
)
from toolhaft.errors import ConfigError, DefinitionError, ResourceMissingError, ToolExecutionError

ENV_FILE: Final = ".env"
_MAX_FILE_BYTES: Final = 1_000_000
_LINE: Final = re.compile(r"(?:export[ \t]+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*(?P<rest>.*)")
_QUOTED: Final = re.compile(r"""(?:'(?P<single>[^']*)'|"(?P<double>(?:[^"\\]|\\.)*)")[ \t]*(?:\#.*)?""")
_COMMENT: Final = re.compile(r"(?:^|[ \t])\#.*")
_ESCAPE: Final = re.compile(r"\\(.)")
_SET_ONCE: Final = (URL_VARIABLE, KEY_VARIABLE)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r"}


class Environment:
    """The source of `${env:NAME}`: given as a resource, or made for the tool's project.

    Args:
        values: used instead of the variables of this process.
        names: the only variables that may be used; None allows all, an empty list none.
        bindings: where variables may be sent, such as `"WEATHER_KEY=api.example.com"`; others are not sent.
            None lets every tool send the variables that it may use to the host that it names.
        file: a `.env` file for variables that `values` does not have; it need not exist.
    """

    __slots__ = ("_bindings", "_file", "_names", "_values")

    def __init__(
        self,
        values: Mapping[str, str] | None = None,
        *,
        names: Iterable[str] | None = None,
        bindings: Iterable[str | VariableBinding] | None = None,
        file: str | os.PathLike[str] | None = None,
    ) -> None:
        self._values = None if values is None else dict(values)
        self._names = None if names is None else frozenset(names)
        self._bindings = None if bindings is None else tuple(map(parse_binding, bindings))
        self._file = None if file is None else os.fspath(file)

    def get(self, name: str) -> str:
        """Return the value of a variable.

        Raises:
            ToolExecutionError: if it is not set, empty, or not allowed; the message contains no value.
        """
        value = self.find(name)
        if value:
            return value
        if not self.allows(name):
            raise ToolExecutionError(
                f"the variable {name} may not be used here; the operator can allow it by its name"
            )
        state = "not set" if value is None else "empty"
        what = f"the variable {name} is {state}"
        fix = f"set it in the environment, or write {name}=... into the project's {ENV_FILE} file"
        # the ConfigError tells the caller to fix the project, not the call
        raise ToolExecutionError(f"{what}. Fix: {fix}") from ConfigError(what, fix=fix)

    def check(self, name: str, receiver: str, owner: str = "") -> None:
        """Refuse a variable that is not bound to its receiver.

        Args:
            name: the variable.
            receiver: the origin of a URL, or `argv:PROGRAM`.
            owner: the owner of the published tool that sends it.

        Raises:
            ToolExecutionError: if it may not be sent there.
        """
        if self._bindings is not None and not is_bound(self._bindings, name, receiver, owner):
            raise ToolExecutionError(
                f"the variable {name} is not bound to {receiver}, so it is not sent: "
                f"{binding_of(name, receiver, owner)} is not allowed here"
            )

    def find(self, name: str) -> str | None:
        """Return the value of a variable; None if it is not set, or not allowed.

        Raises:
            ToolExecutionError: for a `.env` file that cannot be read.
        """
        if not self.allows(name):
            return None
        values: Mapping[str, str] = os.environ if self._values is None else self._values
        value = values.get(name)
        if value is not None or self._file is None:
            return value
        return self._read_file(self._file).get(name)

    @staticmethod
    def _read_file(file: str) -> dict[str, str]:
        try:
            return read_env_file(file)
        except DefinitionError as error:
            raise ToolExecutionError(str(error)) from error

    def sources(self, names: Iterable[str]) -> tuple[dict[str, str], dict[str, str]]:
        """Return those variables that are set in the environment, and those in the `.env` file.

        Raises:
            ToolExecutionError: for a `.env` file that cannot be read.
        """
        values: Mapping[str, str] = os.environ if self._values is None else self._values
        wanted = [name for name in names if self.allows(name)]
        in_file = {} if self._file is None else self._read_file(self._file)
        return (
            {name: values[name] for name in wanted if name in values},
            {name: in_file[name] for name in wanted if name in in_file},
        )

    def allows(self, name: str) -> bool:
        """True if the variable may be used."""
        return self._names is None or name in self._names

    def __repr__(self) -> str:
        return "<Environment>"


def project_of(folder: str | None) -> str:
    """Return the project of a folder of tools: the parent of `local-kit/tools`, else the folder itself."""
    if folder is None:
        return os.getcwd()  # noqa: PTH109 -- returns a string
    place = Path(folder).absolute()
    if place.name == "tools" and place.parent.name == "local-kit":
        return str(place.parent.parent)
    return str(place)


def environment_of(context: ToolContext | None, folder: str | None) -> Environment:
    """Return the environment of a call: the resource if there is one, else that of the tool's project.

    Raises:
        ResourceError: if the resource could not be made; no other environment replaces it.
    """
    if context is not None:
        try:
            return context.resources.get(Environment)
        except ResourceMissingError as error:
            if error.kind not in (None, Environment):
                raise
    return Environment(file=Path(project_of(folder), ENV_FILE))


def read_env_file(path: str | os.PathLike[str]) -> dict[str, str]:
    """Read the variables of a `.env` file; none if there is no such file.

    Raises:
        DefinitionError: with the number of a line that cannot be read, but not its text.
    """
    file = Path(path)
    data = b""
    try:
        is_regular = S_ISREG(file.stat().st_mode)
        if is_regular:
            with file.open("rb") as stream:
                data = stream.read(_MAX_FILE_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        what = f"the file cannot be read: {reason}"
        raise DefinitionError(what, place=file.name, fix="check its permissions") from None
    if not is_regular:
        raise DefinitionError("this is not a regular file", place=file.name, fix="make it one")
    if len(data) > _MAX_FILE_BYTES:
        raise DefinitionError(
            "the file is larger than 1 MB", place=file.name, fix="keep only variables in it"
        )
    try:
        return read_env(data.decode("utf-8-sig"), file.name)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        # not chained: the decoder's error contains the data
        raise DefinitionError(
            "the text is not UTF-8", place=f"{file.name}:{line}", fix="save the file as UTF-8"
        ) from None


def read_env(text: str, name: str = ENV_FILE) -> dict[str, str]:
    """Read the variables of a text: `KEY=value`, quotes, `export`, comments; nothing is expanded.

    Raises:
        DefinitionError: with the number of a line that cannot be read, but not its text.
    """
    found: dict[str, str] = {}
    for number, line in enumerate(re.split(r"\r\n|\n|\r", text), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        match = _LINE.fullmatch(stripped)
        if match is None or "\0" in stripped:
            raise DefinitionError(
                "this line sets no variable", place=f"{name}:{number}", fix="write NAME=value"
            )
        value = _unquote(match["rest"])
        if value is None:
            fix = "close the quote, and write nothing but a comment after it"
            raise DefinitionError("a quote is not closed", place=f"{name}:{number}", fix=fix)
        if match["name"] in found and match["name"] in _SET_ONCE:
            # a line that somebody adds at the end must not send the key to another address
            what, fix = f"{match['name']} is set a second time", "keep one of the two lines"
            raise DefinitionError(what, place=f"{name}:{number}", fix=fix)
        found[match["name"]] = value
    return found


def _unquote(rest: str) -> str | None:
    if not rest.startswith(("'", '"')):
        return _COMMENT.sub("", rest).rstrip()
    quoted = _QUOTED.fullmatch(rest)
    if quoted is None:
        return None
    if quoted["single"] is not None:
        return quoted["single"]
    return _ESCAPE.sub(lambda escape: _ESCAPES.get(escape[1], escape[1]), quoted["double"])
