"""Keeps what was expensive to find out in a small JSON file, for the next process.

Does not know what it keeps. A file that is broken, somebody else's or cannot be written counts as none.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from threading import get_ident
from typing import Final, cast

VERSION: Final = "0.1.0"
"""Of Toolhaft: another one may understand what it reads otherwise, so it takes nothing that this one kept."""
_LARGEST: Final = 50_000_000
_MOST_FILES: Final = 32


def read_kept(file: Path) -> dict[str, object]:
    """What a file holds; nothing where there is none that this user wrote."""
    try:
        with file.open("rb") as stream:
            facts = os.fstat(stream.fileno())
            if facts.st_size > _LARGEST or _is_foreign(facts):
                return {}
            kept = json.loads(stream.read(_LARGEST))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(kept, dict) or cast("dict[str, object]", kept).get("toolhaft") != VERSION:
        return {}
    return cast("dict[str, object]", kept)


def keep(file: Path, what: dict[str, object]) -> None:
    """Put that in a file, whole or not at all; where that cannot be done, nothing is."""
    draft = file.with_name(f".{file.name}.{os.getpid()}-{get_ident()}.tmp")
    with suppress(OSError, ValueError):
        try:
            draft.write_text(
                json.dumps({**what, "toolhaft": VERSION}, separators=(",", ":")), encoding="utf-8"
            )
            draft.replace(file)
        finally:
            draft.unlink(missing_ok=True)


def user_folder() -> Path | None:
    """Where this user's programs keep what they can make again; None where that cannot be had."""
    said = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    try:
        folder = Path(said) if said else Path.home() / ".cache"
        if not folder.is_absolute():
            return None
        folder /= "toolhaft"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # a user without a home
        return None
    return folder


def thin_out(folder: Path, pattern: str) -> None:
    """Drop the oldest files of a kind, where there are many."""
    with suppress(OSError):
        files = sorted(folder.glob(pattern), key=lambda file: file.stat().st_mtime_ns, reverse=True)
        for file in files[_MOST_FILES:]:
            file.unlink(missing_ok=True)


def _is_foreign(facts: os.stat_result) -> bool:
    """True for a file of somebody else's, who could name modules in it that would be loaded here."""
    user = getattr(os, "getuid", None)
    return user is not None and facts.st_uid != user()
