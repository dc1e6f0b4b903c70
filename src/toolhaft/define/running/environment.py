"""The variables that tools may ask for by name: of the process, then of a `.env` file.

Knows names and texts; shows no value to anybody but who asks for it by name.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from toolhaft.core.context import ToolContext
from toolhaft.define.running.env_file import ENV_FILE, read_env_file
from toolhaft.errors import ConfigError, DefinitionError, ResourceMissingError, ToolExecutionError


class Environment:
    """Where the values of `${env:NAME}` come from; a resource, or made for each tool's own project.

    Args:
        values: in place of the variables of this process.
        names: the only ones that may be asked for; None allows every name, an empty one none.
        file: a `.env` file, asked where `values` has nothing; it need not exist.
    """

    __slots__ = ("_file", "_names", "_values")

    def __init__(
        self,
        values: Mapping[str, str] | None = None,
        *,
        names: Iterable[str] | None = None,
        file: str | os.PathLike[str] | None = None,
    ) -> None:
        self._values = None if values is None else dict(values)
        self._names = None if names is None else frozenset(names)
        self._file = None if file is None else os.fspath(file)

    def get(self, name: str) -> str:
        """The value of a variable.

        Raises:
            ToolExecutionError: where it is not set, empty, or not allowed; it says what to do, and no value.
        """
        value = self.find(name)
        if value:
            return value
        if not self.allows(name):
            raise ToolExecutionError(
                f"the variable {name} may not be used here; whoever runs this can allow it by its name"
            )
        state = "not set" if value is None else "empty"
        what = f"the variable {name} is {state}"
        fix = f"set it in the environment, or write {name}=... into the project's {ENV_FILE} file"
        # its cause says that the project is to be mended, and not the call
        raise ToolExecutionError(f"{what}. Fix: {fix}") from ConfigError(what, fix=fix)

    def find(self, name: str) -> str | None:
        """The value of a variable; None where it is not set, or not allowed.

        Raises:
            ToolExecutionError: for a `.env` file that cannot be read.
        """
        if not self.allows(name):
            return None
        values: Mapping[str, str] = os.environ if self._values is None else self._values
        value = values.get(name)
        if value is not None or self._file is None:
            return value
        try:
            return read_env_file(self._file).get(name)
        except DefinitionError as error:
            raise ToolExecutionError(str(error)) from error

    def allows(self, name: str) -> bool:
        """True if the variable may be asked for."""
        return self._names is None or name in self._names

    def __repr__(self) -> str:
        return "<Environment>"


def project_of(folder: str | None) -> str:
    """The project that a folder of tools belongs to: what holds `local-kit/tools`, else the folder itself."""
    if folder is None:
        return os.getcwd()  # noqa: PTH109 -- text for text
    place = Path(folder).absolute()
    if place.name == "tools" and place.parent.name == "local-kit":
        return str(place.parent.parent)
    return str(place)


def environment_of(context: ToolContext | None, folder: str | None) -> Environment:
    """The environment of a call: the resource where one was given, else that of the tool's project.

    Raises:
        ResourceError: where one was to be given and could not be made: no other may stand in for it.
    """
    if context is not None:
        try:
            return context.resources.get(Environment)
        except ResourceMissingError as error:
            if error.kind not in (None, Environment):
                raise
    return Environment(file=Path(project_of(folder), ENV_FILE))
