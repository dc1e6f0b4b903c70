"""Texts with places for parameters: `${city}`, `${env:KEY}`, and `$${` for the two characters themselves.

Knows how such a text is read and filled; does not know where it stands.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias, cast

from toolhaft.schema.json_value import JSONValue

ENV: Final = "env:"
_MARK: Final = re.compile(r"\$\$\{|\$\{([^{}]*)\}|\$\{")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")


@dataclass(frozen=True, slots=True)
class Param:
    """The place of a parameter."""

    name: str


@dataclass(frozen=True, slots=True)
class Env:
    """The place of a variable of the environment."""

    name: str


Part: TypeAlias = str | Param | Env


class TemplateError(ValueError):
    """A text whose places cannot be read; says what, and `fix` says what to do."""

    def __init__(self, what: str, fix: str) -> None:
        self.fix = fix
        super().__init__(what)


@dataclass(frozen=True, slots=True)
class Template:
    """A text in its parts."""

    parts: tuple[Part, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters in it."""
        return tuple(part.name for part in self.parts if isinstance(part, Param))

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables of the environment in it."""
        return tuple(part.name for part in self.parts if isinstance(part, Env))

    @property
    def whole(self) -> str | None:
        """The parameter that is all of it, None where there is none."""
        only = self.parts[0] if len(self.parts) == 1 else None
        return only.name if isinstance(only, Param) else None

    @property
    def is_literal(self) -> bool:
        """True for a text without places."""
        return all(isinstance(part, str) for part in self.parts)

    @property
    def literal(self) -> str:
        """What stands between the places."""
        return "".join(part for part in self.parts if isinstance(part, str))

    def lacks(self, given: Mapping[str, object]) -> bool:
        """True if a parameter in it was not given."""
        return any(name not in given for name in self.names)

    def fill(
        self,
        given: Mapping[str, object],
        variable: Callable[[str], str],
        encode: Callable[[str], str] = str,
    ) -> str:
        """The text with its values; `encode` writes each parameter's."""
        return "".join(
            part
            if isinstance(part, str)
            else encode(as_text(given[part.name]))
            if isinstance(part, Param)
            else variable(part.name)
            for part in self.parts
        )


def read_template(text: str) -> Template:
    """A text in its parts.

    Raises:
        TemplateError: for a place that is not closed, or has no name.
    """
    return Template(tuple(_joined(_parts(text))))


def as_text(value: object) -> str:
    """A value as it stands in a text: a string as it is, anything else as compact JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def shown_variable(name: str) -> str:
    """A variable as a dry run shows it."""
    return f"${{{ENV}{name}}}"


def names_in(value: JSONValue) -> Iterator[str]:
    """The parameters in all texts of a value; those that cannot be read are passed over."""
    if isinstance(value, str):
        yield from (name for name in _MARK.findall(value) if name and not name.startswith(ENV))
    elif isinstance(value, list):
        for item in value:
            yield from names_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from names_in(item)


def _parts(text: str) -> Iterator[Part]:
    at = 0
    for found in _MARK.finditer(text):
        yield text[at : found.start()]
        at = found.end()
        yield _part(found)
    yield text[at:]


def _part(found: re.Match[str]) -> Part:
    if found[0] == "$${":
        return "${"
    name = cast("str | None", found[1])
    if name is None:
        raise TemplateError("a '${' is not closed", "write ${name}, or $${ for the characters themselves")
    if not name.startswith(ENV):
        if not name:
            raise TemplateError("'${}' names nothing", "name a parameter in it: ${name}")
        return Param(name)
    variable = name.removeprefix(ENV)
    if not _VARIABLE.fullmatch(variable):
        # not quoted: it may be the secret itself
        raise TemplateError("what follows 'env:' is no variable's name", "use letters, digits and '_'")
    return Env(variable)


def _joined(parts: Iterator[Part]) -> Iterator[Part]:
    """The parts with neighbouring texts made one; a text that is all empty is one empty part."""
    held = ""
    some = False
    for part in parts:
        if isinstance(part, str):
            held += part
            continue
        if held:
            yield held
        held, some = "", True
        yield part
    if held or not some:
        yield held
