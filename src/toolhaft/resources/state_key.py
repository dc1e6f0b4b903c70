"""What the user's state folder knows of journals: the secret key of their codes, and which are open.

The key proves that this user wrote a journal on this machine. A journal is open from its first change until
its call has ended, so that a copy of it, put back later, undoes nothing.
"""

from __future__ import annotations

import errno
import logging
import os
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from stat import S_ISREG
from typing import Final

KEY_BYTES: Final = 32
_NAME: Final = "journal.key"
_OPEN: Final = "open-journals"
_NO_LINKS: Final = (errno.EPERM, errno.EMLINK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)
_LOG: Final = logging.getLogger("toolhaft")


def journal_key() -> bytes:
    """The key in the state folder, created on first use; one for this process only if none can be stored."""
    return _key_in(_folder())


def mark_open(journal: str, *, durable: bool) -> None:
    """Remember that a call has begun to make changes; does nothing if the state folder cannot be used."""
    folder = f"{_folder()}/{_OPEN}"
    with suppress(OSError):
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        os.close(os.open(f"{folder}/{journal}", flags, 0o600))
        if durable:
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)


def mark_ended(journal: str) -> None:
    """Forget a journal whose call was committed or undone."""
    with suppress(OSError):
        os.unlink(f"{_folder()}/{_OPEN}/{journal}")  # noqa: PTH108 -- runs for every call, and Path is slow


def is_open(journal: str) -> bool:
    """True for a journal of a call that was neither committed nor undone."""
    return os.path.lexists(f"{_folder()}/{_OPEN}/{journal}")


def _folder() -> str:
    return _absolute(os.environ.get("TOOLHAFT_STATE") or _default_folder())


@cache  # the same folder after the process has changed its directory
def _absolute(folder: str) -> str:
    return os.path.abspath(folder)  # noqa: PTH100 -- a text


def _default_folder() -> str:
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Application Support/toolhaft")  # noqa: PTH111 -- a text
    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")  # noqa: PTH111 -- a text
    return os.path.join(state, "toolhaft")  # noqa: PTH118 -- a text


@cache
def _key_in(folder: str) -> bytes:
    path = Path(folder) / _NAME
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.with_name(_OPEN).mkdir(mode=0o700, exist_ok=True)
        with suppress(FileNotFoundError):
            return _read(path)
        _create(path)
        return _read(path)
    except OSError as error:
        _LOG.warning(
            "the key of file journals cannot be kept in %s (%s): if this process is killed during a call, "
            "the next start does not restore its files. Fix: set TOOLHAFT_STATE to a folder of your own",
            folder,
            error.strerror or error,
        )
        return os.urandom(KEY_BYTES)


def _read(path: Path) -> bytes:
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        info = os.fstat(handle)
        if not S_ISREG(info.st_mode) or info.st_uid != os.geteuid() or info.st_mode & 0o077:
            raise OSError(errno.EPERM, f"{_NAME} must be a file of this user that nobody else can read")
        key = os.read(handle, KEY_BYTES + 1)
    finally:
        os.close(handle)
    if len(key) != KEY_BYTES:
        raise OSError(errno.EINVAL, f"{_NAME} is damaged; remove it")
    return key


def _create(path: Path) -> None:
    """Create the key in one step, so that no process reads a part of it, and all read the same."""
    draft = path.with_name(f"{_NAME}.{os.urandom(8).hex()}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        os.write(handle, os.urandom(KEY_BYTES))
        os.fsync(handle)
        try:
            os.link(draft, path)
        except FileExistsError:
            pass  # another process was first: its key counts
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            draft.rename(path)
    finally:
        os.close(handle)
        draft.unlink(missing_ok=True)
