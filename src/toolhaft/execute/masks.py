"""Hides secrets in arguments and in what is said about them.

Knows JSON Schema's `writeOnly`; does not know who reads the rest.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Final, cast
from urllib.parse import unquote

from toolhaft.core.conversion import AnyTool
from toolhaft.execute.canonical import canonical_text
from toolhaft.schema.json_value import JSONObject, JSONValue

MASK: Final = "***"
_SHORTEST_SECRET: Final = 3
_BEGINNING: Final = 8
_BESIDE: Final = ("allOf", "anyOf", "oneOf")
_WITHIN: Final = ("if", "then", "else", "not")
_ITEMS: Final = ("items", "contains", "unevaluatedItems", "additionalItems")
_REST: Final = ("additionalProperties", "unevaluatedProperties")

_SECRET: Final[JSONObject] = {"writeOnly": True}

Mask = Callable[[Any], Any]


def mask_of(tool: AnyTool) -> Mask | None:
    """What hides a tool's secrets in its arguments; None where it takes none."""
    root = cast("JSONObject", tool.input_schema)
    if not _holds_secret(root):
        return None
    masker = _Masker(root)

    def mask(value: JSONValue) -> JSONValue:
        try:
            return masker.mask(root, value, frozenset())
        except RecursionError:
            return MASK

    return mask


def mask_all(value: object) -> object:
    """Names without their values."""
    return dict.fromkeys(cast("dict[str, object]", value), MASK) if isinstance(value, dict) else MASK


def _is_secret(node: JSONObject) -> bool:
    return node.get("writeOnly") is True or node.get("format") == "password"


def _holds_secret(schema: JSONValue) -> bool:
    return any(_is_secret(node) for node in _nodes(schema))


def _nodes(schema: JSONValue) -> Iterator[JSONObject]:
    """Every object anywhere in a schema."""
    waiting: list[JSONValue] = [schema]
    for node in waiting:
        if isinstance(node, dict):
            yield node
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)


def _is_named(node: JSONObject, name: str) -> bool:
    return name in (node.get("$anchor"), node.get("$dynamicAnchor"))


class _Masker:
    """Walks a value along every part of a schema that could speak of it."""

    def __init__(self, root: JSONObject) -> None:
        self.root = root

    def mask(self, node: JSONValue, value: JSONValue, seen: frozenset[int]) -> JSONValue:
        """The value with what this node calls secret hidden; `seen` are the nodes met at this very place."""
        if not isinstance(node, dict) or value is None or id(node) in seen:
            return value
        if _is_secret(node):
            return MASK
        seen |= {id(node)}
        for child in self._beside(node):
            value = self.mask(child, value, seen)
        if isinstance(value, dict):
            return {name: self._mask_member(node, name, member) for name, member in value.items()}
        if isinstance(value, list):
            return [self._mask_item(node, place, item) for place, item in enumerate(value)]
        return value

    def _beside(self, node: JSONObject) -> Iterator[JSONValue]:
        """The other nodes that speak of the same value."""
        for word in _BESIDE:
            yield from cast("list[JSONValue]", node.get(word) or [])
        for word in _WITHIN:
            yield node.get(word)
        yield from cast("JSONObject", node.get("dependentSchemas") or {}).values()
        for word in ("$ref", "$dynamicRef"):
            if isinstance(node.get(word), str):
                yield self._find(cast("str", node[word]))

    def _find(self, ref: str) -> JSONValue:
        """The node that is meant; one that hides everything where it cannot be told."""
        fragment = unquote(ref.rpartition("#")[2])
        if fragment and not fragment.startswith("/"):
            return next((node for node in _nodes(self.root) if _is_named(node, fragment)), _SECRET)
        found: JSONValue = self.root
        for step in fragment.split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            if isinstance(found, list):
                listed = cast("list[JSONValue]", found)
                found = listed[int(key)] if key.isdecimal() and int(key) < len(listed) else None
            else:
                found = found.get(key) if isinstance(found, dict) else None
        return _SECRET if found is None else found

    def _mask_member(self, node: JSONObject, name: str, member: JSONValue) -> JSONValue:
        named = cast("JSONObject", node.get("properties") or {})
        patterns = cast("JSONObject", node.get("patternProperties") or {}).values()
        if name in named:
            for child in (named[name], *patterns):
                member = self.mask(child, member, frozenset())
            return member
        rest = [*patterns, *(node.get(word) for word in _REST)]
        said = [child for child in rest if isinstance(child, dict)]
        if named and not said and not any(word in node for word in (*_BESIDE, "$ref", *_REST)):
            return MASK  # the misspelt name may be the secret's
        for child in said:
            member = self.mask(child, member, frozenset())
        return member

    def _mask_item(self, node: JSONObject, place: int, item: JSONValue) -> JSONValue:
        first = node.get("prefixItems")
        items = node.get("items")
        for listed in (first, items):  # `items` may be a list in older drafts
            if isinstance(listed, list) and place < len(listed):
                item = self.mask(listed[place], item, frozenset())
        for word in _ITEMS:
            item = self.mask(node.get(word), item, frozenset())
        return item


def hide(text: str, arguments: Any, mask: Mask) -> str:  # noqa: ANN401 -- JSON
    """The text with every secret of the arguments masked in it, also where it was cut short."""
    for secret in sorted(_differences(arguments, mask(arguments)), key=len, reverse=True):
        text = _replace(text, secret)
    return text


def _replace(text: str, secret: str) -> str:
    beginning = secret[:_BEGINNING]
    parts: list[str] = []
    while (found := text.find(beginning)) >= 0:
        end = found + len(beginning)
        while end < len(text) and end - found < len(secret) and text[end] == secret[end - found]:
            end += 1
        parts += [text[:found], MASK]
        text = text[end:]
    return "".join((*parts, text))


def _differences(whole: object, masked: object) -> set[str]:
    """The secret values themselves, each as texts that could give it away."""
    if isinstance(whole, dict) and isinstance(masked, dict):
        shown = cast("dict[str, object]", masked)
        members = cast("dict[str, object]", whole).items()
        return {text for name, child in members for text in _differences(child, shown.get(name))}
    if isinstance(whole, list) and isinstance(masked, list):
        pairs = zip(cast("list[object]", whole), cast("list[object]", masked), strict=True)
        return {text for child, mask in pairs for text in _differences(child, mask)}
    return set() if whole == masked else _texts(cast("object", whole))


def _texts(secret: object) -> set[str]:
    if isinstance(secret, dict):
        return {text for child in cast("dict[str, object]", secret).values() for text in _texts(child)}
    if isinstance(secret, list):
        return {text for child in cast("list[object]", secret) for text in _texts(child)}
    plain = secret if isinstance(secret, str) else canonical_text(secret)
    forms = {plain, json.dumps(plain)[1:-1], canonical_text(plain)[1:-1], repr(plain)[1:-1]}
    return {form for form in forms if len(form) >= _SHORTEST_SECRET}
