"""The default address of the platform, and the one that a project's `toolhaft.toml` names."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Final

from toolhaft.errors import ToolExecutionError

DEFAULT_URL: Final = "http://127.0.0.1:8420"
"""The platform's default address, which `toolhaft serve` binds."""
RUN_PATH: Final = "/v3/tool/"
"""The path between a platform's address and the id of a tool that runs there."""
SETTINGS_FILE: Final = "toolhaft.toml"
URL_VARIABLE: Final = "TOOLHAFT_PLATFORM_URL"
KEY_VARIABLE: Final = "TOOLHAFT_API_KEY"
_MAX_BYTES: Final = 100_000


def platform_in_settings(project: str) -> str | None:
    """Return the address in a project's settings; None if there is no file, or no address in it.

    Raises:
        ToolExecutionError: if the file cannot be read: the key must not be sent to another platform.
    """
    file = f"{project}/{SETTINGS_FILE}"
    try:
        facts = os.stat(file)  # noqa: PTH116 -- faster than a Path, on every call
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise _unreadable() from error
    return _read(file, (facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns))


@lru_cache(maxsize=32)
def _read(file: str, stamp: tuple[int, ...]) -> str | None:  # noqa: ARG001 -- the stamp is part of the cache key
    import tomllib  # noqa: PLC0415 -- most projects have no such file

    try:
        with open(file, "rb") as stream:  # noqa: PTH123 -- the path is a string
            data = stream.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:  # its first part alone could lack the address
            raise _unreadable()
        url = tomllib.loads(data.decode()).get("platform_url")
    except (OSError, ValueError, RecursionError) as error:
        raise _unreadable() from error
    if url is not None and not isinstance(url, str):
        raise _unreadable()
    return url or None


def _unreadable() -> ToolExecutionError:
    return ToolExecutionError(
        f"{SETTINGS_FILE} of the project cannot be read, so its platform is not known. "
        "Fix: run `lk doctor`, which shows what is wrong"
    )
