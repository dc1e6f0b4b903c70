"""Parses and fills texts with placeholders: `${city}`, `${env:KEY}`, and `$${` for a literal `${`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias, cast

from toolhaft.schema.json_value import JSONValue

ENV: Final = "env:"
_MARK: Final = re.compile(r"\$\$\{|\$\{([^{}]*)\}|\$\{")
VARIABLE_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")


@dataclass(frozen=True, slots=True)
class Param:
    """A placeholder for a parameter."""

    name: str


@dataclass(frozen=True, slots=True)
class Env:
    """A placeholder for an environment variable."""

    name: str


TemplatePart: TypeAlias = str | Param | Env


class TemplateError(ValueError):
    """A text with a placeholder that cannot be parsed; `fix` says what to do."""

    def __init__(self, what: str, fix: str) -> None:
        self.fix = fix
        super().__init__(what)


@dataclass(frozen=True, slots=True)
class StringTemplate:
    """A parsed text: literal parts and placeholders."""

    parts: tuple[TemplatePart, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its parameters."""
        return tuple(part.name for part in self.parts if isinstance(part, Param))

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of its environment variables."""
        return tuple(part.name for part in self.parts if isinstance(part, Env))

    @property
    def whole(self) -> str | None:
        """The parameter that makes up the whole text; None if there is other text."""
        only = self.parts[0] if len(self.parts) == 1 else None
        return only.name if isinstance(only, Param) else None

    @property
    def is_literal(self) -> bool:
        """True for a text without placeholders."""
        return all(isinstance(part, str) for part in self.parts)

    @property
    def literal(self) -> str:
        """The text without its placeholders."""
        return "".join(part for part in self.parts if isinstance(part, str))

    def lacks(self, given: Mapping[str, object]) -> bool:
        """True if a parameter has no value."""
        return any(name not in given for name in self.names)

    def fill(
        self,
        given: Mapping[str, object],
        variable: Callable[[str], str],
        encode: Callable[[str], str] = str,
    ) -> str:
        """Fill the placeholders; `encode` is applied to each parameter's value."""
        return "".join(
            part
            if isinstance(part, str)
            else encode(as_text(given[part.name]))
            if isinstance(part, Param)
            else variable(part.name)
            for part in self.parts
        )


def read_template(text: str) -> StringTemplate:
    """Parse a text.

    Raises:
        TemplateError: for a placeholder that is not closed, or has no name.
    """
    return StringTemplate(tuple(_join_texts(_parts(text))))


def as_text(value: object) -> str:
    """Return a string unchanged, any other value as compact JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def variable_reference(name: str) -> str:
    """Return `${env:NAME}`, which is shown instead of the value."""
    return f"${{{ENV}{name}}}"


def names_in(value: JSONValue) -> Iterator[str]:
    """Yield the parameters in all texts of a value; placeholders that cannot be parsed are skipped."""
    if isinstance(value, str):
        yield from (name for name in _MARK.findall(value) if name and not name.startswith(ENV))
    elif isinstance(value, list):
        for item in value:
            yield from names_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from names_in(item)


def _parts(text: str) -> Iterator[TemplatePart]:
    at = 0
    for found in _MARK.finditer(text):
        yield text[at : found.start()]
        at = found.end()
        yield _part(found)
    yield text[at:]


def _part(found: re.Match[str]) -> TemplatePart:
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
    if not VARIABLE_NAME.fullmatch(variable):
        # not quoted: it may be the secret
        raise TemplateError("the text after 'env:' is not a variable name", "use letters, digits and '_'")
    return Env(variable)


def _join_texts(parts: Iterator[TemplatePart]) -> Iterator[TemplatePart]:
    """Join neighbouring literal parts; an empty text becomes one empty part."""
    text = ""
    has_placeholder = False
    for part in parts:
        if isinstance(part, str):
            text += part
            continue
        if text:
            yield text
        text, has_placeholder = "", True
        yield part
    if text or not has_placeholder:
        yield text
