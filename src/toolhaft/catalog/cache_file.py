"""Small JSON cache files; a file that is broken, not writable or owned by another user counts as empty."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import get_ident
from typing import Final, cast

VERSION: Final = "0.1.0"
"""Toolhaft's version: a cache that another version wrote is ignored."""
_FORMAT: Final = 2
"""The kind of content; change it when the same files would now be cached with other content."""
FRESH_NS: Final = 100_000_000
"""A file written this recently may change again without a new timestamp, so it is not cached yet."""
_MAX_BYTES: Final = 50_000_000
_MAX_FILES: Final = 32


def read_cache(file: Path) -> dict[str, object]:
    """The content of a cache file; empty if this user and version wrote none."""
    try:
        with file.open("rb") as stream:
            stat = os.fstat(stream.fileno())
            if stat.st_size > _MAX_BYTES or _is_foreign(stat):
                return {}
            content = json.load(stream)
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(content, dict):
        return {}
    known = cast("dict[str, object]", content)
    return known if (known.get("toolhaft"), known.get("format")) == (VERSION, _FORMAT) else {}


def write_cache(file: Path, content: Mapping[str, object]) -> None:
    """Replace a cache file atomically; a failure is ignored."""
    draft = file.with_name(f".{file.name}.{os.getpid()}-{get_ident()}.tmp")
    with suppress(OSError, ValueError):
        try:
            marked = {**content, "toolhaft": VERSION, "format": _FORMAT}
            draft.write_text(json.dumps(marked, separators=(",", ":")), encoding="utf-8")
            draft.replace(file)
        finally:
            draft.unlink(missing_ok=True)


def user_cache_folder() -> Path | None:
    """The user's cache folder for Toolhaft, created if needed; None if there is none."""
    configured = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    try:
        folder = Path(configured) if configured else Path.home() / ".cache"
        if not folder.is_absolute():
            return None
        folder /= "toolhaft"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # a user without a home
        return None
    return folder


def remove_oldest(folder: Path, pattern: str) -> None:
    """Delete the oldest files that match a pattern, so that at most 32 remain."""
    with suppress(OSError):
        files = sorted(folder.glob(pattern), key=lambda file: file.stat().st_mtime_ns, reverse=True)
        for file in files[_MAX_FILES:]:
            file.unlink(missing_ok=True)


def _is_foreign(stat: os.stat_result) -> bool:
    """True for a file of another user, who could name modules in it that this process would import."""
    user = getattr(os, "getuid", None)
    return user is not None and stat.st_uid != user()
