"""Where a project's platform is named, and the one that its `toolhaft.toml` names: its key is for that one.

Knows that one setting; the file as a whole is checked where projects are found.
"""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Final

from toolhaft.errors import ToolExecutionError

DEFAULT_URL: Final = "http://127.0.0.1:8420"
"""Where a project's own platform stands by default, and what `toolhaft serve` binds."""
SETTINGS_FILE: Final = "toolhaft.toml"
URL_VARIABLE: Final = "TOOLHAFT_PLATFORM_URL"
KEY_VARIABLE: Final = "TOOLHAFT_API_KEY"
_LARGEST: Final = 100_000


def platform_in_settings(project: str) -> str | None:
    """The address that a project's settings name; None where there are none, or they name none.

    Raises:
        ToolExecutionError: where they cannot be read: whose key it is would not be known.
    """
    file = f"{project}/{SETTINGS_FILE}"
    try:
        facts = os.stat(file)  # noqa: PTH116 -- a text, on the path of every call
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise _unreadable() from error
    return _read(file, (facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns))


@lru_cache(maxsize=32)
def _read(file: str, stamp: tuple[int, ...]) -> str | None:  # noqa: ARG001 -- another stamp is another text
    import tomllib  # noqa: PLC0415 -- most projects have no such file

    try:
        with open(file, "rb") as stream:  # noqa: PTH123 -- text for text
            url = tomllib.loads(stream.read(_LARGEST).decode()).get("platform_url")
    except (OSError, ValueError, RecursionError) as error:
        raise _unreadable() from error
    if url is not None and not isinstance(url, str):
        raise _unreadable()
    return url or None


def _unreadable() -> ToolExecutionError:
    return ToolExecutionError(
        f"{SETTINGS_FILE} of the project cannot be read, so its platform is not known. "
        "Fix: `lk doctor` says what is wrong with it"
    )
