"""Templates: texts with `$names` that are replaced by the fields of params."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import InitVar
from enum import Enum
from functools import cached_property, lru_cache
from typing import Any, Final, cast

from toolhaft.prompt.problems import SectionPath, evaluation_failed, invalid
from toolhaft.schema.nearest import nearest

_MARK: Final = re.compile(r"\$(?:(\$)|([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\}|)")
_MAX_NAMES: Final = 10


class PromptTemplate:
    """A text, split at its names."""

    __slots__ = ("_pieces", "_text", "names")

    def __init__(self, pieces: tuple[str, ...], names: tuple[str, ...]) -> None:
        self._pieces = pieces
        """The texts around the names: one more than there are names."""
        self.names = names
        self._text = pieces[0] if not names else None

    def fill(self, params: object, path: SectionPath) -> str:
        """The text with the values of these params.

        Raises:
            PromptEvaluationError: if a value cannot be read.
        """
        if self._text is not None:
            return self._text
        written: list[str] = []
        for piece, name in zip(self._pieces, self.names, strict=False):
            try:
                written += (piece, _to_text(getattr(params, name)))
            except Exception as error:
                problem = f"${name} could not be evaluated: {type(error).__name__}: {error}"
                raise evaluation_failed(problem, path=path) from error
        return "".join((*written, self._pieces[-1]))


def parse_template(
    text: str, params_type: type | None, path: SectionPath, what: str = "template"
) -> PromptTemplate:
    """The template of a text.

    Raises:
        PromptValidationError: for a `$` without a name, or a name that the params do not have.
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
            raise _lone_dollar(text, mark.start(), path, what)
        else:
            names.append(name)
            pieces.append("".join(piece))
            piece.clear()
    pieces.append("".join((*piece, text[end:])))
    for name in names:
        if params_type is None:
            fix = f"write MarkdownSection[Params](...) with a field {name!r}, or $${name} for the text itself"
            raise invalid(f"its {what} names ${name}, and the section has no params", path=path, fix=fix)
        if name not in _usable_names(params_type):
            raise _unknown_name(name, params_type, path, what)
    return PromptTemplate(tuple(pieces), tuple(names))


def _lone_dollar(text: str, position: int, path: SectionPath, what: str) -> Exception:
    line = text.count("\n", 0, position) + 1
    column = position - text.rfind("\n", 0, position)
    shown = text[position : position + 12].split("\n", maxsplit=1)[0]
    problem = f"{shown!r} is not a $name, in line {line}, column {column} of its {what}"
    return invalid(problem, path=path, fix="write $$ for a dollar sign")


def _unknown_name(name: str, params_type: type, path: SectionPath, what: str) -> Exception:
    known = sorted(_usable_names(params_type))
    close = nearest(name, known)
    if close is not None:
        hint = f"did you mean ${close}?"
    else:
        hint = f"it has {', '.join(known[:_MAX_NAMES])}" if known else "it has no fields"
    problem = f"its {what} names ${name}, which {params_type.__name__} does not have; {hint}"
    return invalid(problem, path=path)


@lru_cache(maxsize=1024)
def _usable_names(params_type: type) -> frozenset[str]:
    """The names that a template may use: fields and properties."""
    names: set[str] = set()
    for base in params_type.__mro__:
        with suppress(NameError):  # Python 3.14 evaluates annotations on access
            names.update(cast("Mapping[str, object]", getattr(base, "__annotations__", {})))
        names.update(cast("tuple[str, ...]", getattr(base, "_fields", ())))
        names.update(
            name for name, member in vars(base).items() if isinstance(member, property | cached_property)
        )
    fields = cast("Mapping[str, Any]", getattr(params_type, "__dataclass_fields__", {}))
    # an InitVar is an argument of __post_init__, not a field
    init_only = {name for name, one in fields.items() if _is_init_var(one.type)}
    return frozenset(name for name in names if not name.startswith("_") and name not in init_only)


def _is_init_var(annotation: object) -> bool:
    if isinstance(annotation, str):
        return annotation.removeprefix("dataclasses.").startswith("InitVar")
    return isinstance(annotation, InitVar)


def _to_text(value: object) -> str:
    if isinstance(value, str) and not isinstance(value, Enum):
        return value
    if value is None:
        return ""
    return str(cast("object", value.value) if isinstance(value, Enum) else value)
