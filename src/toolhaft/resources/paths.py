"""Converts the paths that callers write to names below the root, without looking at the disk."""

from __future__ import annotations

from typing import Final

from toolhaft.resources import file_errors

Parts = tuple[str, ...]
"""The names from the root down; empty for the root."""

MAX_NAME_BYTES: Final = 255
MAX_PATH_BYTES: Final = 4096
"""The limits of most systems; files in memory have them too, so that their paths also work on a disk."""
RESERVED: Final = ".toolhaft"
"""Prefix of the names of journal files at the root, which tools cannot see or change."""


def locate(path: str, homes: tuple[Parts, ...]) -> Parts:
    """The names from the root to a path.

    Args:
        path: relative to the root, or absolute inside one of `homes`.
        homes: the absolute paths of the root.

    Raises:
        FileDeniedError: for a path outside the root, and for reserved names.
        FilesystemError: for a path that is not valid.
    """
    if not isinstance(path, str):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
        raise file_errors.invalid(str(path), "it is not text")
    if not path:
        raise file_errors.invalid(path, "it is empty; the root is '.'")
    if "\0" in path:
        raise file_errors.invalid(path, "it holds a NUL character")
    parts = _normal(path)
    if path[0] == "/":
        parts = below_root(parts, homes, path)
    if parts and parts[0].casefold().startswith(RESERVED):
        raise file_errors.denied(path)
    _check_lengths(path, parts)
    return parts


def join(parts: Parts) -> str:
    """The path of a file, relative to the root."""
    return "/".join(parts) or "."


def absolute_parts(path: str) -> Parts:
    """The names of an absolute path."""
    return tuple(part for part in path.split("/") if part)


def _normal(path: str) -> Parts:
    if "/" not in path and path not in (".", ".."):
        return (path,)
    found: list[str] = []
    for part in path.split("/"):
        if part == "..":
            if not found:
                raise file_errors.denied(path)
            found.pop()
        elif part not in ("", "."):
            found.append(part)
    return tuple(found)


def below_root(parts: Parts, homes: tuple[Parts, ...], path: str) -> Parts:
    """The names below the root of an absolute path.

    Raises:
        FileDeniedError: if it is outside the root.
    """
    for home in homes:
        if parts[: len(home)] == home:
            return parts[len(home) :]
    raise file_errors.denied(path)


def _check_lengths(path: str, parts: Parts) -> None:
    if len(path) <= MAX_NAME_BYTES and path.isascii():
        return
    try:
        lengths = [len(part.encode()) for part in parts]
    except UnicodeEncodeError:
        raise file_errors.invalid(path, "it is not valid text") from None
    if sum(lengths) + len(lengths) > MAX_PATH_BYTES:
        raise file_errors.invalid(path, f"it is longer than {MAX_PATH_BYTES} bytes")
    if max(lengths, default=0) > MAX_NAME_BYTES:
        raise file_errors.invalid(path, f"a name in it is longer than {MAX_NAME_BYTES} bytes")
