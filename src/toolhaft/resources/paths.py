"""Paths as a caller writes them, made into names below a root.

Looks at no disk: links are never followed, so '..' can be worked out from the text alone.
"""

from __future__ import annotations

from typing import Final

from toolhaft.resources import refusals

Parts = tuple[str, ...]
"""The names from the root down; empty for the root itself."""

LONGEST_NAME: Final = 255
LONGEST_PATH: Final = 4096
"""Bytes, as most systems have it; held to in memory too, so that what works there works on a disk."""
RESERVED: Final = ".toolhaft"
"""What the names of our own files at the root begin with; tools neither see nor touch them."""


def locate(path: str, homes: tuple[Parts, ...]) -> Parts:
    """The names that lead from the root to a path.

    Args:
        path: relative to the root, or absolute inside one of `homes`.
        homes: the absolute paths that the root is known by.

    Raises:
        FileDeniedError: for a path outside the root, and for our own files.
        FilesystemError: for a path that no file can have.
    """
    if not isinstance(path, str):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
        raise refusals.invalid(str(path), "it is no text")
    if not path:
        raise refusals.invalid(path, "it is empty; the root is '.'")
    if "\0" in path:
        raise refusals.invalid(path, "it holds a NUL character")
    parts = _normal(path)
    if path[0] == "/":
        parts = _below(parts, homes, path)
    if parts and parts[0].casefold().startswith(RESERVED):
        raise refusals.denied(path)
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
                raise refusals.denied(path)
            found.pop()
        elif part not in ("", "."):
            found.append(part)
    return tuple(found)


def _below(parts: Parts, homes: tuple[Parts, ...], path: str) -> Parts:
    for home in homes:
        if parts[: len(home)] == home:
            return parts[len(home) :]
    raise refusals.denied(path)


def _check_lengths(path: str, parts: Parts) -> None:
    if len(path) <= LONGEST_NAME and path.isascii():
        return
    try:
        lengths = [len(part.encode()) for part in parts]
    except UnicodeEncodeError:
        raise refusals.invalid(path, "it is not valid text") from None
    if sum(lengths) + len(lengths) > LONGEST_PATH:
        raise refusals.invalid(path, f"it is longer than {LONGEST_PATH} bytes")
    if max(lengths, default=0) > LONGEST_NAME:
        raise refusals.invalid(path, f"a name in it is longer than {LONGEST_NAME} bytes")
