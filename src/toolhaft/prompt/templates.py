"""Texts with `$names` in them, and the values that take their place.

Knows types of params; does not know sections.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import InitVar
from enum import Enum
from functools import cached_property, lru_cache
from typing import Any, Final, cast

from toolhaft.prompt.troubles import Path, invalid, unevaluated
from toolhaft.schema.nearest import nearest

_MARK: Final = re.compile(r"\$(?:(\$)|([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\}|)")
_MOST_NAMES: Final = 10


class Template:
    """A text, taken apart at its names."""

    __slots__ = ("_pieces", "_text", "names")

    def __init__(self, pieces: tuple[str, ...], names: tuple[str, ...]) -> None:
        self._pieces = pieces
        """What stands around the names: one more than there are names."""
        self.names = names
        self._text = pieces[0] if not names else None

    def fill(self, params: object, path: Path) -> str:
        """The text with the values of these params.

        Raises:
            PromptEvaluationError: where a value cannot be had.
        """
        if self._text is not None:
            return self._text
        written: list[str] = []
        for piece, name in zip(self._pieces, self.names, strict=False):
            try:
                written += (piece, write(getattr(params, name)))
            except Exception as error:
                problem = f"${name} could not be told: {type(error).__name__}: {error}"
                raise unevaluated(problem, path=path) from error
        return "".join((*written, self._pieces[-1]))


def read_template(text: str, params_type: type | None, path: Path, what: str = "template") -> Template:
    """The template that a text is.

    Raises:
        PromptValidationError: for a `$` that begins no name, or a name that the params do not have.
    """
    pieces, names, piece = list[str](), list[str](), list[str]()
    end = 0
    for mark in _MARK.finditer(text):
        piece.append(text[end : mark.start()])
        end = mark.end()
        name = cast("str | None", mark[2] or mark[3])
        if mark[1]:
            piece.append("$")
        elif name is None:
            raise _no_name(text, mark.start(), path, what)
        else:
            names.append(name)
            pieces.append("".join(piece))
            piece.clear()
    pieces.append("".join((*piece, text[end:])))
    for name in names:
        if params_type is None:
            fix = f"write MarkdownSection[Params](...) with a field {name!r}, or $${name} for the text itself"
            raise invalid(f"its {what} names ${name}, and the section has no params", path=path, fix=fix)
        if name not in known_names(params_type):
            raise _unknown(name, params_type, path, what)
    return Template(tuple(pieces), tuple(names))


def _no_name(text: str, place: int, path: Path, what: str) -> Exception:
    line = text.count("\n", 0, place) + 1
    column = place - text.rfind("\n", 0, place)
    shown = text[place : place + 12].split("\n", maxsplit=1)[0]
    problem = f"{shown!r} begins no name, in line {line}, column {column} of its {what}"
    return invalid(problem, path=path, fix="write $$ for a dollar sign")


def _unknown(name: str, params_type: type, path: Path, what: str) -> Exception:
    known = sorted(known_names(params_type))
    meant = nearest(name, known)
    if meant is not None:
        hint = f"did you mean ${meant}?"
    else:
        hint = f"it has {', '.join(known[:_MOST_NAMES])}" if known else "it has no fields"
    problem = f"its {what} names ${name}, which {params_type.__name__} does not have; {hint}"
    return invalid(problem, path=path)


@lru_cache(maxsize=1024)
def known_names(params_type: type) -> frozenset[str]:
    """The names that a template may use: fields and properties."""
    names: set[str] = set()
    for base in params_type.__mro__:
        with suppress(NameError):  # from Python 3.14 on, annotations are made when they are asked for
            names.update(cast("Mapping[str, object]", getattr(base, "__annotations__", {})))
        names.update(cast("tuple[str, ...]", getattr(base, "_fields", ())))
        names.update(
            name for name, member in vars(base).items() if isinstance(member, property | cached_property)
        )
    fields = cast("Mapping[str, Any]", getattr(params_type, "__dataclass_fields__", {}))
    # what is only handed to __post_init__ is no field, and has a value only where there is a default
    passing = {name for name, one in fields.items() if isinstance(one.type, InitVar) or _says_so(one.type)}
    return frozenset(name for name in names if not name.startswith("_") and name not in passing)


def _says_so(annotation: object) -> bool:
    return isinstance(annotation, str) and annotation.removeprefix("dataclasses.").startswith("InitVar")


def write(value: object) -> str:
    """A value as it stands in a text."""
    if isinstance(value, str) and not isinstance(value, Enum):
        return value
    if value is None:
        return ""
    return str(cast("object", value.value) if isinstance(value, Enum) else value)
