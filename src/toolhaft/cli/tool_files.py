"""The project's YAML files: where a tool's file is, and how one is written.

Does not know what the files say.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from toolhaft.cli.errors import CommandError
from toolhaft.cli.exits import Exit
from toolhaft.cli.shell import Shell

_ID: Final = re.compile(r"[a-z][a-z0-9_-]{0,49}")
ENDINGS: Final = (".yaml", ".yml")


def check_id(id: str) -> None:
    """Refuse what no file may be named for.

    Raises:
        CommandError: where it is no id of a YAML tool.
    """
    if not _ID.fullmatch(id):
        said = re.sub("[^a-z0-9_-]+", "_", id.lower()).strip("_-")[:50]
        close = said if _ID.fullmatch(said) else "my-tool"
        raise CommandError(
            f"{id!r:.100} is not a tool id: use 1 to 50 of a-z, 0-9, '_' and '-', a letter first",
            next=f"tool new {close}",
        )


def file_of(shell: Shell, id: str) -> Path:
    """The project's file for a tool, there or not.

    A file may be named otherwise than its tool: then what the file says counts.
    """
    folder = shell.project.tools_folder
    named = [folder / f"{id}{ending}" for ending in ENDINGS]
    for file in named:
        if file.exists():
            return file
    from toolhaft.catalog.folder import read_folder  # noqa: PLC0415 -- mostly the name has told

    listed = read_folder(shell.project).listings
    return next((shell.project.root / one.place for one in listed if one.id == id), named[0])


def seen_from_here(file: Path) -> str:
    """A path as a person in the current folder would type it."""
    try:
        return os.path.relpath(file) if file.is_relative_to(Path.cwd()) else str(file)
    except OSError:  # the current folder is gone
        return str(file)


def taken(file: Path, id: str) -> CommandError:
    """The error for a file that is there already."""
    return CommandError(f"exists: {seen_from_here(file)}", next=f"tool set {id}", exit=Exit.FAILED)


def write_whole(file: Path, text: str) -> None:
    """Write a tool's file, whole or not at all; its folder is made where there is none.

    Raises:
        OSError: where that cannot be done.
    """
    from toolhaft.define.yaml.text import write_file  # noqa: PLC0415 -- only verbs that write need the YAML door

    with _known_by(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_file(str(file), text)


def write_new(file: Path, text: str, id: str) -> None:
    """Write a tool's file where there is none, whole or not at all.

    Raises:
        CommandError: where there is one, also where it came this moment.
        OSError: where that cannot be done.
    """
    from toolhaft.define.yaml.text import write_file  # noqa: PLC0415 -- only verbs that write need the YAML door

    draft = file.with_name(f".{file.name}.{os.getpid()}.new")
    with _known_by(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_file(str(draft), text)
        try:
            _name_also(draft, file)
        except FileExistsError:
            raise taken(file, id) from None
        finally:
            draft.unlink(missing_ok=True)


def _name_also(draft: Path, file: Path) -> None:
    """Give a finished draft the file's name unless it is taken: of two at one instant one is refused."""
    try:
        os.link(draft, file)
    except FileExistsError:
        raise
    except OSError:  # a file system that knows no second names
        with file.open("xb") as stream:
            stream.write(draft.read_bytes())


@contextmanager
def _known_by(file: Path) -> Generator[None]:
    """A draft with an odd name is written first: the person knows the file only."""
    try:
        yield
    except OSError as error:
        raise type(error)(error.errno, error.strerror, seen_from_here(file)) from error
