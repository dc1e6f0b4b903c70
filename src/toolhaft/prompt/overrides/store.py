"""A folder of overrides: one file a prompt and tag, read when it has changed, seeded when there is none.

Knows files; what is in them is read elsewhere. Nothing outside the folder is read or written.
"""

from __future__ import annotations

import os
import re
import secrets
import time
from pathlib import Path
from stat import S_ISREG
from typing import Final, NamedTuple, Protocol

from toolhaft.errors import PromptValidationError
from toolhaft.prompt.overrides.documents import (
    ENDINGS,
    LARGEST_FILE,
    Format,
    read_document,
    write_document,
)
from toolhaft.prompt.overrides.findings import refuse
from toolhaft.prompt.overrides.override import Overrides
from toolhaft.prompt.overrides.reading import read_overrides
from toolhaft.prompt.overrides.seeding import overridable
from toolhaft.prompt.tree import Node

_NAME: Final = re.compile(r"[A-Za-z0-9_-](?:[A-Za-z0-9_.-]{0,126}[A-Za-z0-9_-])?")
_FLAGS: Final = (
    os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
)
_SETTLED_NS: Final = 1_000_000_000
"""A file younger than this may change again within one tick of its clock, and look the same."""


class Seedable(Protocol):
    """What a file is seeded from: a Prompt."""

    @property
    def name(self) -> str:
        """What the prompt is called."""
        ...

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Its sections as written, without overrides."""
        ...


class _Read(NamedTuple):
    stamp: tuple[object, ...]
    data: bytes
    overrides: Overrides
    is_settled: bool


class OverrideStore:
    """Overrides in `<folder>/<name of the prompt>/<tag>.json`, or `.yaml`, or `.yml`.

    Args:
        folder: where the files are; it need not be there yet.
        tag: which of several files of a prompt is used, such as `stable` or `draft`.

    Raises:
        PromptValidationError: for a tag that cannot be the name of a file.
    """

    def __init__(self, folder: str | os.PathLike[str], *, tag: str = "stable") -> None:
        self.folder = os.fspath(folder)
        self.tag = _checked("tag", tag)
        self._read: dict[str, _Read] = {}

    def load(self, prompt_name: str) -> Overrides | None:
        """What the file of a prompt says; the same object until the file changes, None where there is none.

        Raises:
            PromptValidationError: with every problem of the file, or where there are several.
        """
        found = self._find(_checked("name of a prompt", prompt_name))
        if found is None:
            return None
        file, stamp = found
        known = self._read.get(prompt_name)
        if known is not None and known.is_settled and known.stamp == stamp:
            return known.overrides
        data, facts = self._bytes_of(file)
        if known is not None and known.overrides.file == file and known.data == data:
            overrides = known.overrides
        else:
            overrides = read_overrides(read_document(data, file), file=file, prompt=prompt_name)
        is_settled = time.time_ns() - max(facts.st_mtime_ns, facts.st_ctime_ns) > _SETTLED_NS
        self._read[prompt_name] = _Read(_stamp(file, facts), data, overrides, is_settled)
        return overrides

    def seed(self, prompt: Seedable, *, format: Format = "json") -> Path:
        """Write a file with every text of a prompt that may be overridden, to be edited; say where it is.

        A file that is there stays as it is. Keep the entries that you change and remove the others: each is
        refused when the code that it was written for changes.

        Raises:
            PromptValidationError: where the prompt has a file already, or it cannot be written.
        """
        name = _checked("name of a prompt", prompt.name)
        if format not in ("json", "yaml"):
            raise PromptValidationError(
                f"{format!r:.40} is no format for overrides. Fix: use 'json' or 'yaml'"
            )
        file = self._file(name, f".{format}")
        for ending in ENDINGS:
            if os.path.lexists(self._file(name, ending)):
                raise _taken(self._file(name, ending))
        data = _seeded(prompt, file)
        folder = os.path.dirname(file)  # noqa: PTH120 -- as the caller wrote it
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as error:
            raise _unwritable(file, error) from error
        self._check_inside(folder, file)
        try:
            _write_new(Path(file), data)
        except FileExistsError as error:
            raise _taken(file) from error
        except OSError as error:
            raise _unwritable(file, error) from error
        return Path(file)

    def _file(self, name: str, ending: str) -> str:
        # a Path would drop the './' that the caller wrote
        return os.path.join(self.folder, name, f"{self.tag}{ending}")  # noqa: PTH118 -- see above

    def _find(self, name: str) -> tuple[str, tuple[object, ...]] | None:
        """The one file of a prompt, and what tells whether it has changed."""
        found: list[tuple[str, tuple[object, ...]]] = []
        for ending in ENDINGS:
            file = self._file(name, ending)
            try:
                found.append((file, _stamp(file, os.stat(file))))  # noqa: PTH116 -- as the caller wrote it
            except FileNotFoundError:
                continue
            except (OSError, ValueError) as error:
                raise _unreadable(file, error) from error
        if len(found) > 1:
            others = ", ".join(file for file, _ in found[1:])
            raise refuse(found[0][0], f"the prompt has another file: {others}", "keep one of them")
        return found[0] if found else None

    def _bytes_of(self, file: str) -> tuple[bytes, os.stat_result]:
        try:
            real = self._check_inside(file, file)
            descriptor = os.open(real, _FLAGS)
            facts = os.fstat(descriptor)
            if not S_ISREG(facts.st_mode):
                os.close(descriptor)
                raise refuse(file, "this is not a regular file", "put a file there, or nothing")
            with open(descriptor, "rb") as stream:  # noqa: PTH123 -- of a descriptor
                return stream.read(LARGEST_FILE + 1), facts
        except OSError as error:
            raise _unreadable(file, error) from error

    def _check_inside(self, place: str, file: str) -> str:
        """Where a place really is.

        Raises:
            PromptValidationError: where a link leads out of the folder.
        """
        real = os.path.realpath(place)
        if not Path(real).is_relative_to(os.path.realpath(self.folder)):
            raise refuse(file, "a link leads out of the folder of overrides", "put the file itself there")
        return real

    def __repr__(self) -> str:
        return f"OverrideStore({self.folder!r}, tag={self.tag!r})"


def _checked(what: str, name: object) -> str:
    if isinstance(name, str) and _NAME.fullmatch(name):
        return name
    raise PromptValidationError(
        f"{name!r:.140} cannot be the {what} in a store of overrides: it is part of a file's path. "
        "Fix: use 1 to 128 letters, digits, '_', '-' or '.', the marks '.' only inside"
    )


def _stamp(file: str, facts: os.stat_result) -> tuple[object, ...]:
    return file, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_size, facts.st_ino, facts.st_dev


def _seeded(prompt: Seedable, file: str) -> bytes:
    """The bytes of a new file, which read back: nothing else is ever written."""
    text = write_document(overridable(prompt.name, prompt.nodes), file)
    data = text.encode(errors="surrogatepass")  # half a character is told when it is read
    try:
        read_overrides(read_document(data, file), file=file, prompt=prompt.name)
    except PromptValidationError as error:
        problem = f"no such file can say what the prompt says: {error!s:.400}"
        raise refuse(file, problem, "seed it as JSON, or shorten and mend its texts") from error
    return data


def _write_new(target: Path, data: bytes) -> None:
    """Put a new file in place whole or not at all; one that is there is never replaced."""
    draft = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
    try:
        with draft.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.link(draft, target)  # unlike a rename, it fails where there is a file
    finally:
        draft.unlink(missing_ok=True)


def _taken(file: str) -> PromptValidationError:
    return refuse(
        file, "the file is there already, and stays as it is", "edit it, or move it away and seed anew"
    )


def _unreadable(file: str, error: OSError | ValueError) -> PromptValidationError:
    return refuse(file, f"the file cannot be read: {_reason(error)}", "check the path and its rights")


def _unwritable(file: str, error: OSError | ValueError) -> PromptValidationError:
    return refuse(file, f"the file cannot be written: {_reason(error)}", "check the folder and its rights")


def _reason(error: OSError | ValueError) -> str:
    # without the path, which the message names as the caller wrote it
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
