"""Reads a `.env` file: `KEY=value` a line, quotes, `export` and comments; nothing in it is expanded.

Knows lines; tells where one is wrong, and never what it says.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from stat import S_ISREG
from typing import Final

from toolhaft.errors import DefinitionError

ENV_FILE: Final = ".env"
_LARGEST: Final = 1_000_000
_LINE: Final = re.compile(r"(?:export[ \t]+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*(?P<rest>.*)")
_QUOTED: Final = re.compile(r"""(?:'(?P<single>[^']*)'|"(?P<double>(?:[^"\\]|\\.)*)")[ \t]*(?:\#.*)?""")
_COMMENT: Final = re.compile(r"(?:^|[ \t])\#.*")
_ESCAPE: Final = re.compile(r"\\(.)")
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r"}


def read_env_file(path: str | os.PathLike[str]) -> dict[str, str]:
    """The variables of a `.env` file; none where there is no such file.

    Raises:
        DefinitionError: with the line that cannot be read, but not its text.
    """
    file = Path(path)
    data = b""
    try:
        is_regular = S_ISREG(file.stat().st_mode)
        if is_regular:
            with file.open("rb") as stream:
                data = stream.read(_LARGEST + 1)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        what = f"the file cannot be read: {reason}"
        raise DefinitionError(what, place=file.name, fix="check its rights") from None
    if not is_regular:
        raise DefinitionError("this is not a regular file", place=file.name, fix="make it one")
    if len(data) > _LARGEST:
        raise DefinitionError("the file is larger than 1 MB", place=file.name, fix="keep variables only")
    try:
        return read_env(data.decode("utf-8-sig"), file.name)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        # not chained: the error of the decoder holds the data
        raise DefinitionError(
            "the text is not UTF-8", place=f"{file.name}:{line}", fix="save the file as UTF-8"
        ) from None


def read_env(text: str, name: str = ENV_FILE) -> dict[str, str]:
    """The variables of a text: `KEY=value`, quotes, `export`, comments; nothing in it is expanded.

    Raises:
        DefinitionError: with the line that cannot be read, but not its text.
    """
    found: dict[str, str] = {}
    for number, line in enumerate(re.split(r"\r\n|\n|\r", text), 1):
        said = line.strip()
        if not said or said.startswith("#"):
            continue
        match = _LINE.fullmatch(said)
        if match is None or "\0" in said:
            raise DefinitionError("this is no variable", place=f"{name}:{number}", fix="write NAME=value")
        value = _value(match["rest"])
        if value is None:
            fix = "close the quote, and write nothing but a comment after it"
            raise DefinitionError("a quote is not closed", place=f"{name}:{number}", fix=fix)
        found[match["name"]] = value
    return found


def _value(rest: str) -> str | None:
    if not rest.startswith(("'", '"')):
        return _COMMENT.sub("", rest).rstrip()
    quoted = _QUOTED.fullmatch(rest)
    if quoted is None:
        return None
    if quoted["single"] is not None:
        return quoted["single"]
    return _ESCAPE.sub(lambda escape: _ESCAPES.get(escape[1], escape[1]), quoted["double"])
