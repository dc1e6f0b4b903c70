"""Finds and writes the YAML files of the project's tools."""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from toolhaft.cli.errors import CommandError, Exit
from toolhaft.cli.shell import Shell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.catalog.published import AnyYamlTool

_ID: Final = re.compile(r"[a-z][a-z0-9_-]{0,49}")
ENDINGS: Final = (".yaml", ".yml")


def check_id(id: str, *, verb: str = "new") -> None:
    """Check that an id is valid for a YAML tool.

    Raises:
        CommandError: if it is not; for the name of a file, it suggests the verb with the file's id.
    """
    if not _ID.fullmatch(id):
        name, ending = os.path.splitext(os.path.basename(id))  # noqa: PTH119, PTH122 -- not a path of this machine
        is_file = ending in ENDINGS
        cleaned = re.sub("[^a-z0-9_-]+", "_", (name if is_file else id).lower()).strip("_-")[:50]
        close = cleaned if _ID.fullmatch(cleaned) else "my-tool"
        raise CommandError(
            f"{id!r:.100} is not a tool id: use 1 to 50 of a-z, 0-9, '_' and '-', a letter first",
            next=f"tool {verb if is_file else 'new'} {close}",
        )


def file_of(shell: Shell, id: str) -> Path:
    """The project's file for a tool, whether it exists or not.

    If no file has the tool's name, it is the file whose `id` field is the tool's.
    """
    folder = shell.project.tools_folder
    named = [folder / f"{id}{ending}" for ending in ENDINGS]
    for file in named:
        if file.exists():
            return file
    place = _own_files(shell).get(id)
    return named[0] if place is None else shell.project.root / place


def _own_files(shell: Shell) -> dict[str, str]:
    """The files of the project by the ids of their tools."""
    from toolhaft.catalog.folder import read_folder

    return {one.id: one.place for one in reversed(read_folder(shell.project).listings)}


def display_path(file: Path) -> str:
    """A path relative to the current folder, if it is inside."""
    try:
        return os.path.relpath(file) if file.is_relative_to(Path.cwd()) else str(file)
    except OSError:  # the current folder was removed
        return str(file)


def load_file(shell: Shell, id: str, file: Path, *, verb: str, to: str) -> AnyYamlTool:
    """The tool of a file of the project, for a verb that uses it `to` do something.

    Raises:
        DefinitionError: with the problems of the file.
        CommandError: if there is no such file, or it defines another tool.
    """
    if not file.exists():
        check_id(id, verb=verb)
        from toolhaft.schema.nearest import nearest

        message = f"there is no {display_path(file)} to {to}"
        is_known = id in shell.catalog
        close = None if is_known else nearest(id, _own_files(shell))
        if close is not None:
            message, following = f"{message}; did you mean {close!r}?", f"{verb} {close}"
        else:
            following = f"{'get' if is_known else 'new'} {id}"
        raise CommandError(message, next=f"tool {following}", exit=Exit.FAILED)
    if file.is_dir():
        raise CommandError(f"{display_path(file)} is a folder", next=f"tool {verb} --help")
    from toolhaft.define.yaml import load_definition

    tool = load_definition(display_path(file))
    if tool.name != id:
        raise CommandError(
            f"{display_path(file)} defines {tool.name!r}, not {id!r}",
            next=f"tool {verb} {tool.name} --file {display_path(file)}",
            exit=Exit.CONFIGURATION,
        )
    return tool


def is_platforms_endpoint(shell: Shell, id: str, endpoint: str | None) -> bool:
    """True for the address of a tool that a platform wrote into its file: the file's author did not.

    That is its address on the project's platform or the embedded one, or the one of the last `get` or `set`.
    """
    from toolhaft.catalog.addresses import tool_id_at
    from toolhaft.catalog.cache_file import read_cache
    from toolhaft.define.running.platform_settings import DEFAULT_URL

    if any(tool_id_at(url, endpoint) == id for url in (shell.platform.url, DEFAULT_URL)):
        return True
    return endpoint is not None and read_cache(_endpoints_file(shell)).get(id) == endpoint


def remember_endpoint(shell: Shell, id: str, endpoint: str | None) -> None:
    """Remember the address that a platform returned for a tool, which may change with the platform's."""
    from toolhaft.catalog.addresses import tool_id_at
    from toolhaft.catalog.cache_file import read_cache, write_cache
    from toolhaft.define.running.platform_settings import DEFAULT_URL

    known = read_cache(_endpoints_file(shell))
    is_known = tool_id_at(DEFAULT_URL, endpoint) == id or known.get(id) == endpoint
    if endpoint is None or is_known:
        return
    with suppress(OSError):
        shell.project.make_state_folder()
        write_cache(_endpoints_file(shell), {**known, id: endpoint})


def _endpoints_file(shell: Shell) -> Path:
    return shell.project.state_folder / "endpoints.json"


def already_exists(file: Path, id: str) -> CommandError:
    """The error for a file that exists."""
    return CommandError(f"exists: {display_path(file)}", next=f"tool show {id}", exit=Exit.FAILED)


def replace_file(file: Path, text: str) -> None:
    """Write a tool's file atomically, creating its folder if needed.

    Raises:
        OSError: if that fails.
    """
    from toolhaft.define.yaml.emitter import write_file

    with _errors_naming(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_file(str(file), text)


def create_file(file: Path, text: str, id: str) -> None:
    """Write a tool's file atomically, if it does not exist.

    Raises:
        CommandError: if it exists, also if another process just created it.
        OSError: if that fails.
    """
    from toolhaft.define.yaml.emitter import write_file

    draft = file.with_name(f".{file.name}.{os.getpid()}.new")
    with _errors_naming(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_file(str(draft), text)
        try:
            _link(draft, file)
        except FileExistsError:
            raise already_exists(file, id) from None
        finally:
            draft.unlink(missing_ok=True)


def _link(draft: Path, file: Path) -> None:
    """Give the draft the file's name unless it exists; of two processes at the same time, one fails."""
    try:
        os.link(draft, file)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        with file.open("xb") as stream:
            stream.write(draft.read_bytes())


@contextmanager
def _errors_naming(file: Path) -> Generator[None]:
    """Make errors name the file instead of the temporary draft."""
    try:
        yield
    except OSError as error:
        raise type(error)(error.errno, error.strerror, display_path(file)) from error
