"""Keeps secrets out of records, messages, logs and responses.

Secrets are arguments that a tool's schema marks as `writeOnly`, environment variables, and keys of services.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final, TypeAlias, cast
from urllib.parse import quote, unquote

from pydantic_core import from_json, to_jsonable_python

from toolhaft.core.canonical_json import canonical_text
from toolhaft.core.conversion import AnyTool
from toolhaft.schema.json_schema import all_objects, holds_secret, is_secret, map_subschemas
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.problems import Problem, Repair

MASK: Final = "***"
_LOG: Final = logging.getLogger("toolhaft")
_SHORTEST_ARGUMENT: Final = 3
_PREFIX: Final = 8
"""How many characters of a secret that was cut short are enough to recognise it."""
_SAME_VALUE: Final = ("allOf", "anyOf", "oneOf")
_CONDITIONS: Final = ("if", "then", "else", "not")
_ITEMS: Final = ("items", "contains", "unevaluatedItems", "additionalItems")
_OTHER_PROPERTIES: Final = ("additionalProperties", "unevaluatedProperties")
_KINDS: Final[Mapping[type, tuple[str, ...]]] = {
    bool: ("boolean",),
    dict: ("object",),
    float: ("number", "integer"),
    int: ("number", "integer"),
    list: ("array",),
    str: ("string",),
}
"""The types of a value in JSON Schema."""
_SECRET: Final[JSONObject] = {"writeOnly": True}
_SHORTEST_VARIABLE: Final = 4
_MAX_DEPTH: Final = 300
_OPENING: Final = ("{", "[")
"""How the JSON text of an object or an array begins."""
_SHORTEST_NUMBER: Final = 8
"""Shorter numbers are likely to be years and counts."""
_WIDE: Final = ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")

ArgumentMask: TypeAlias = Callable[[Any], Any]
"""Returns a copy of a tool's arguments with the secret values replaced."""


def argument_mask(tool: AnyTool) -> ArgumentMask | None:
    """The function that masks the secret arguments of a tool; None if it takes no secrets."""
    root = cast("JSONObject", tool.input_schema)
    if not holds_secret(root):
        return None
    masker = _Masker(root)

    def mask(value: JSONValue) -> JSONValue:
        try:
            return masker.mask([root], value)
        except RecursionError:
            return MASK

    return mask


def hide_secret_defaults(schema: JSONObject) -> JSONObject:
    """The schema without the defaults and examples of secrets: providers, catalogs and errors show it."""
    if not holds_secret(schema):
        return schema
    masker = _Masker(schema)
    inside = masker.inside_secrets()

    def is_open(node: JSONObject, value: JSONValue) -> bool:
        return value is None or (id(node) not in inside and masker.mask([node], value) == value)

    def hide(node: JSONObject) -> JSONObject:
        new = map_subschemas(node, hide)
        for keyword in ("default", "example"):
            if keyword in node and not is_open(node, node[keyword]):
                del new[keyword]
        examples = node.get("examples")
        if isinstance(examples, list) and not all(is_open(node, value) for value in examples):
            del new["examples"]
        return new

    try:
        return hide(schema)
    except RecursionError:
        return schema


def mask_example(schema: JSONObject, example: object) -> object:
    """The input of an example, with secrets masked: error messages show it."""
    if example is None:
        return None
    try:
        value: JSONValue = to_jsonable_python(example)
        return _Masker(schema).mask([schema], value)
    except (ValueError, RecursionError):
        return None


def mask_all(value: object) -> object:
    """Mask every value of an object; keep the names."""
    return dict.fromkeys(cast("dict[str, object]", value), MASK) if isinstance(value, dict) else MASK


def _is_named(node: JSONObject, name: str) -> bool:
    return name in (node.get("$anchor"), node.get("$dynamicAnchor"))


class _Masker:
    """Walks through a value and every part of the schema that applies to it.

    All nodes that apply to a value are collected before its members are visited, each node once: the same
    definition may apply through many references and branches, and their number doubles with each level.
    """

    def __init__(self, root: JSONObject) -> None:
        self.root = root
        self._resolved: dict[str, JSONValue] = {}

    def mask(self, nodes: Iterable[JSONValue], value: JSONValue) -> JSONValue:
        """The value without what one of these nodes marks as secret."""
        if value is None:
            return None
        applied = self._applied(nodes)
        if any(map(is_secret, applied)):
            return MASK
        if isinstance(value, str):
            return MASK if self._is_hidden_in(applied, value) else value
        # an object or array in a wrong place may contain the secret of another one
        is_whole = isinstance(value, dict | list)
        if _is_misplaced(applied, value) and (is_whole or self._has_secret(applied)):
            return MASK
        if isinstance(value, dict):
            return {name: self._mask_member(applied, name, member) for name, member in value.items()}
        if isinstance(value, list):
            return [self.mask(_item_schemas(applied, place), item) for place, item in enumerate(value)]
        return value

    def inside_secrets(self) -> set[int]:
        """The ids of all nodes inside a secret object or array, also through references."""
        everything = self._applied([self.root], with_parts=True)
        secret = [node for node in everything if any(map(is_secret, self._applied([node])))]
        return set(map(id, self._applied(secret, with_parts=True)))

    def _applied(self, nodes: Iterable[JSONValue], *, with_parts: bool = False) -> list[JSONObject]:
        """These nodes and all others that apply to the same value, or to its parts too; each once."""
        found: dict[int, JSONObject] = {}
        waiting = list(nodes)
        for node in waiting:
            if isinstance(node, dict) and id(node) not in found:
                found[id(node)] = node
                waiting += self._same_value(node)
                waiting += _parts(node) if with_parts else ()
        return list(found.values())

    def _has_secret(self, nodes: Iterable[JSONValue]) -> bool:
        """True if a value of these nodes, or any part of it, is secret."""
        return any(map(is_secret, self._applied(nodes, with_parts=True)))

    def _is_hidden_in(self, applied: list[JSONObject], text: str) -> bool:
        """True for a text in the place of an object or array with a secret, unless it is JSON without one."""
        parts = _read_container(text)
        if parts is not None and (_is_misplaced(applied, text) or self._has_secret(applied)):
            return self.mask(applied, parts) != parts
        is_container = text.lstrip()[:1] in _OPENING
        return (is_container or _is_misplaced(applied, text)) and self._has_secret(applied)

    def _same_value(self, node: JSONObject) -> Iterator[JSONValue]:
        """The other nodes that apply to the same value."""
        for keyword in _SAME_VALUE:
            yield from cast("list[JSONValue]", node.get(keyword) or [])
        for keyword in _CONDITIONS:
            yield node.get(keyword)
        yield from cast("JSONObject", node.get("dependentSchemas") or {}).values()
        for keyword in ("$ref", "$dynamicRef"):
            ref = node.get(keyword)
            if isinstance(ref, str):
                if ref not in self._resolved:
                    self._resolved[ref] = self._resolve(ref)
                yield self._resolved[ref]

    def _resolve(self, ref: str) -> JSONValue:
        """The node of a reference; a node that masks everything if it cannot be found."""
        fragment = unquote(ref.rpartition("#")[2])
        if fragment and not fragment.startswith("/"):
            return next((node for node in all_objects(self.root) if _is_named(node, fragment)), _SECRET)
        found: JSONValue = self.root
        for step in fragment.split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            if isinstance(found, list):
                listed = cast("list[JSONValue]", found)
                found = listed[int(key)] if key.isdecimal() and int(key) < len(listed) else None
            else:
                found = found.get(key) if isinstance(found, dict) else None
        return _SECRET if found is None else found

    def _mask_member(self, applied: list[JSONObject], name: str, member: JSONValue) -> JSONValue:
        schemas: list[JSONValue] = []
        for node in applied:
            found = _member_schemas(node, name)
            if found is None:
                return MASK  # it may be the misspelt name of a secret
            schemas += found
        return self.mask(schemas, member)


def _parts(node: JSONObject) -> list[JSONObject]:
    """The schemas directly inside a schema."""
    parts: list[JSONObject] = []
    map_subschemas(node, lambda part: parts.append(part) or part)
    return parts


def _is_misplaced(applied: list[JSONObject], value: JSONValue) -> bool:
    """True for a value of another type than the schema declares."""
    declared = [node["type"] for node in applied if "type" in node]
    names = [name for one in declared for name in (one if isinstance(one, list) else [one])]
    types = {name for name in names if isinstance(name, str)}
    return bool(types) and types.isdisjoint(_KINDS.get(type(value), ()))


def _member_schemas(node: JSONObject, name: str) -> list[JSONValue] | None:
    """The schemas of a member; None for a name that an object of closed properties does not have."""
    named = cast("JSONObject", node.get("properties") or {})
    patterns = [*cast("JSONObject", node.get("patternProperties") or {}).values()]
    if name in named:
        return [named[name], *patterns]
    others = [*patterns, *(node.get(keyword) for keyword in _OTHER_PROPERTIES)]
    schemas = [child for child in others if isinstance(child, dict)]
    is_closed = not any(keyword in node for keyword in (*_SAME_VALUE, "$ref", *_OTHER_PROPERTIES))
    return None if named and not schemas and is_closed else cast("list[JSONValue]", schemas)


def _item_schemas(applied: list[JSONObject], place: int) -> list[JSONValue]:
    schemas: list[JSONValue] = []
    for node in applied:
        by_place = (node.get("prefixItems"), node.get("items"))  # `items` may be a list in older drafts
        schemas += [
            part for listed in by_place if isinstance(listed, list) for part in listed[place : place + 1]
        ]
        schemas += [node.get(keyword) for keyword in _ITEMS]
    return schemas


def mask_text(text: str, arguments: object, mask: ArgumentMask) -> str:
    """The text with every secret of the arguments masked, even one that was cut short."""
    return SecretTexts(mask, [arguments]).text(text)


class SecretTexts:
    """The secrets of one call: those of its arguments as they were sent, and as they were repaired."""

    __slots__ = ("_texts",)

    def __init__(self, mask: ArgumentMask, arguments: Iterable[object]) -> None:
        found = {text for given in arguments for text in _secret_texts(given, mask(given))}
        self._texts = sorted(found, key=len, reverse=True)

    def text(self, text: str) -> str:
        """The text with every secret masked, even one that was cut short."""
        for secret in self._texts:
            if len(secret) >= _SHORTEST_ARGUMENT:
                text = _replace(text, secret)
        return text

    def value(self, value: object) -> object:
        """The value, or its JSON with the secrets masked if it contains any; None if it cannot be written."""
        try:
            whole: JSONValue = to_jsonable_python(value, fallback=str, inf_nan_mode="strings")
            masked = self._masked(to_jsonable_python(value, fallback=self._shown, inf_nan_mode="strings"))
            is_hidden = self._is_in(repr(value))  # by what JSON leaves out
        except Exception:  # noqa: BLE001 -- a value's own methods may raise anything
            return None
        return value if masked == whole and not is_hidden else masked

    def _is_in(self, text: str) -> bool:
        return self.text(text) != text

    def _shown(self, thing: object) -> str:
        """A text for an object that JSON cannot hold; masked if the object contains a secret."""
        render = getattr(type(thing), "render", None)
        parts = [
            str(thing),
            repr(getattr(thing, "__dict__", None)),
            str(render(thing)) if callable(render) else "",
        ]
        return MASK if any(map(self._is_in, parts)) else parts[0]

    def _masked(self, value: JSONValue) -> JSONValue:
        if isinstance(value, dict):
            return {self.text(key): self._masked(child) for key, child in value.items()}
        if isinstance(value, list):
            return [self._masked(item) for item in value]
        if value is None or isinstance(value, bool):
            return value
        plain = value if isinstance(value, str) else canonical_text(value)
        return MASK if plain in self._texts else self.text(value) if isinstance(value, str) else value

    def problem(self, problem: object) -> object:
        """A problem of the arguments with the secrets masked; one of another kind becomes a text."""
        if not isinstance(problem, Problem):
            return self.text(str(problem))
        return Problem(self.text(problem.path), self.text(problem.what), self.text(problem.expected))

    def repair(self, repair: Repair) -> Repair:
        """A repair with the secrets masked."""
        return Repair(path=repair.path, was=self.value(repair.was), now=self.value(repair.now))


def _replace(text: str, secret: str) -> str:
    prefix = secret[:_PREFIX]
    parts: list[str] = []
    while (found := text.find(prefix)) >= 0:
        end = found + len(prefix)
        while end < len(text) and end - found < len(secret) and text[end] == secret[end - found]:
            end += 1
        parts += [text[:found], MASK]
        text = text[end:]
    return "".join((*parts, text))


def _secret_texts(whole: object, masked: object) -> set[str]:
    """The secret values, each in every form in which a text may quote it."""
    if isinstance(whole, dict) and isinstance(masked, dict):
        shown = cast("dict[str, object]", masked)
        members = cast("dict[str, object]", whole).items()
        return {text for name, child in members for text in _secret_texts(child, shown.get(name))}
    if isinstance(whole, list) and isinstance(masked, list):
        pairs = zip(cast("list[object]", whole), cast("list[object]", masked), strict=True)
        return {text for child, mask in pairs for text in _secret_texts(child, mask)}
    return set() if whole == masked else _texts(cast("object", whole))


def _texts(secret: object) -> set[str]:
    if isinstance(secret, dict):
        return {text for child in cast("dict[str, object]", secret).values() for text in _texts(child)}
    if isinstance(secret, list):
        return {text for child in cast("list[object]", secret) for text in _texts(child)}
    plain = secret if isinstance(secret, str) else canonical_text(secret)
    found = {
        form
        # a type or a handler may strip it or change its case
        for text in (plain, plain.strip(), plain.strip().lower(), plain.strip().upper())
        for form in (text, json.dumps(text)[1:-1], canonical_text(text)[1:-1], repr(text)[1:-1])
        if form
    }
    parts = _read_container(plain) if isinstance(secret, str) else None
    return found if parts is None else found | _texts(parts)


def _read_container(text: str) -> JSONValue:
    """The object or array that a text contains, as far as it can be read; None for any other text."""
    if text.lstrip()[:1] not in _OPENING:
        return None
    with suppress(ValueError, TypeError):
        parts: JSONValue = from_json(text, allow_partial="trailing-strings")
        return parts
    return None


class VariableMask:
    """Replaces the values of secret environment variables by `${env:NAME}`."""

    __slots__ = ("_any_case", "_exact", "_names", "_values")

    def __init__(self, names: Mapping[str, str], values: frozenset[str]) -> None:
        self._names = names
        self._values = values
        # the longest first: one secret may begin another
        each = "|".join(re.escape(form) for form in sorted(names, key=len, reverse=True))
        self._exact = re.compile(each)
        self._any_case = re.compile(each, re.IGNORECASE)

    def text(self, text: str) -> str:
        """A text without the secrets."""
        # first one by one: much faster than the pattern, and usually nothing is found
        if not any(form in text for form in self._names):
            return text
        return self._exact.sub(lambda found: self._names[found[0]], text)

    def words(self, text: str) -> str:
        """Like `text`, but ignores case, because hosts and media types are in lower case; for short texts."""
        lower = {form.lower(): shown for form, shown in self._names.items()}
        return self._any_case.sub(lambda found: lower.get(found[0].lower(), "..."), text)

    def value(self, value: JSONValue, depth: int = 0) -> JSONValue:
        """A JSON value without the secrets, in keys too.

        Raises:
            RecursionError: for more than 300 levels, on every version of Python.
        """
        if depth > _MAX_DEPTH:
            raise RecursionError("the value is nested too deep")
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(item, depth + 1) for item in value]
        if isinstance(value, dict):
            return {self.text(key): self.value(item, depth + 1) for key, item in value.items()}
        if type(value) is int and str(value) in self._values:
            return self._names[str(value)]
        return value

    def raw(self, data: bytes) -> bytes:
        """The bytes of a text without the secrets."""
        for form in sorted(self._names, key=len, reverse=True):
            for encoding in ("utf-8", *_WIDE):
                data = data.replace(
                    form.encode(encoding, "replace"), self._names[form].encode(encoding, "replace")
                )
        return data


def variable_mask(secrets: Mapping[str, str]) -> VariableMask | None:
    """The mask for variables and their values; None if there is nothing to mask."""
    names = _masked_forms((value, f"${{env:{name}}}") for name, value in secrets.items())
    if not names:
        return None
    numbers = frozenset(value for value in secrets.values() if len(value) >= _SHORTEST_NUMBER)
    return VariableMask(names, numbers)


def mask_secrets(text: str, secrets: Iterable[str]) -> str:
    """A short text with each secret of 4 characters or more replaced by [hidden], whatever its case."""
    names = _masked_forms((secret, "[hidden]") for secret in secrets)
    return VariableMask(names, frozenset()).words(text) if names else text


def _masked_forms(secrets: Iterable[tuple[str, str]]) -> dict[str, str]:
    """What to show instead of each form of each secret."""
    names: dict[str, str] = {}
    for value, shown in secrets:
        for form in _forms(value):
            if len(form) >= _SHORTEST_VARIABLE:
                names.setdefault(form, shown)
    return names


def _forms(value: str) -> Iterator[str]:
    """A secret as it is, and as it is written in JSON and in URLs."""
    yield value
    for is_ascii in (True, False):
        escaped = json.dumps(value, ensure_ascii=is_ascii)[1:-1]
        yield escaped
        yield escaped.replace("/", "\\/")
    yield quote(value, errors="replace")
    yield quote(value, safe="", errors="replace")


def log_failure(error: Exception, message: str, *args: object, is_secret: bool) -> None:
    """Log a message with the exception; only with its type if the call takes secrets."""
    if is_secret:  # the text of an exception may quote an argument
        _LOG.error(f"{message} (%s)", *args, type(error).__name__)
    else:
        _LOG.error(message, *args, exc_info=error)


def short_repr(thing: object, longest: int, *, is_secret: bool) -> str:
    """The beginning of an object's repr; only its type if the call takes secrets."""
    if not is_secret:
        with suppress(Exception):  # its own repr may fail
            return repr(thing)[:longest]
    return f"a {type(thing).__name__}"
