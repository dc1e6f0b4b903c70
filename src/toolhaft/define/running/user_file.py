"""JSON files in the user's own configuration folder: no project can change them, no other user read them."""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from stat import S_IMODE
from typing import Final, cast

from toolhaft.errors import ConfigError

_MAX_BYTES: Final = 10_000_000


class UserFile:
    """A JSON object in a file; the file and its folder are created by the first change.

    Args:
        name: the name of the file in the folder.
    """

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def path(self) -> Path:
        """The file: in `$XDG_CONFIG_HOME/toolhaft`, by default `~/.config/toolhaft`.

        Raises:
            ConfigError: if the user has no home folder.
        """
        configured = os.environ.get("XDG_CONFIG_HOME") or os.environ.get("APPDATA")
        try:
            folder = Path(configured) if configured else Path.home() / ".config"
        except RuntimeError as error:
            raise ConfigError(
                "this user has no home folder", fix="set XDG_CONFIG_HOME to a folder"
            ) from error
        if not folder.is_absolute():
            raise ConfigError(
                "it is not an absolute path", place="XDG_CONFIG_HOME", fix="write the whole path"
            )
        return folder / "toolhaft" / self._name

    def read(self) -> dict[str, object]:
        """The content; empty if there is no file.

        Raises:
            ConfigError: if it is not a JSON object, or other users can read or change it.
        """
        file = self.path
        try:
            with file.open("rb") as stream:
                _check_private(file, os.fstat(stream.fileno()))
                data = stream.read(_MAX_BYTES)
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except OSError as error:
            raise _unusable(file, str(error.strerror), "check its permissions") from error
        try:
            content: object = json.loads(data)
        except (ValueError, RecursionError):
            raise _unusable(file, "it is not JSON", "remove it") from None  # its text may be a key
        if not isinstance(content, dict):
            raise _unusable(file, "it is not a JSON object", "remove it")
        return cast("dict[str, object]", content)

    @contextmanager
    def change(self) -> Generator[dict[str, object]]:
        """Give the content to the block, and write it after the block; processes take turns.

        Raises:
            ConfigError: if the file cannot be read or written.
        """
        file = self.path
        try:
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _locked(file.with_name(f".{file.name}.lock")):
                content = self.read()
                yield content
                _replace(file, json.dumps(content, indent=1, ensure_ascii=False))
        except OSError as error:
            raise _unusable(file, str(error.strerror), "check its folder") from error


def _check_private(file: Path, facts: os.stat_result) -> None:
    if os.name != "posix":
        return
    if facts.st_uid not in (os.getuid(), 0):
        raise _unusable(file, "it belongs to another user", "remove it")
    if S_IMODE(facts.st_mode) & 0o077:
        raise _unusable(file, "other users can read or change it", f"chmod 600 {file}")


@contextmanager
def _locked(file: Path) -> Generator[None]:
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            import fcntl  # noqa: PLC0415 -- not on Windows
        except ImportError:  # pragma: no cover -- Windows
            pass
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _replace(file: Path, text: str) -> None:
    draft = file.with_name(f".{file.name}.{os.getpid()}.new")
    draft.unlink(missing_ok=True)
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)


def _unusable(file: Path, problem: str, fix: str) -> ConfigError:
    return ConfigError(f"the file cannot be used: {problem}", place=str(file), fix=fix)
