"""Hides secrets in arguments and in what is said about them.

Knows JSON Schema's `writeOnly`; does not know who reads the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, cast

from toolhaft.execute.aliases import AnyTool
from toolhaft.execute.canonical import canonical_text

MASK: Final = "***"
_DEEPEST: Final = 12
_SHORTEST_SECRET: Final = 3

Mask = Callable[[Any], object]


def mask_of(tool: AnyTool) -> Mask | None:
    """What hides a tool's secrets in its arguments; None where it takes none."""
    return _mask(tool.input_schema, tool.input_schema, 0)


def _mask(schema: object, root: dict[str, object], depth: int) -> Mask | None:
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return None
    node = cast("dict[str, object]", schema)
    if node.get("writeOnly") is True or node.get("format") == "password":
        return _hidden
    named = {
        name: made
        for name, child in cast("dict[str, object]", node.get("properties") or {}).items()
        if (made := _mask(child, root, depth + 1)) is not None
    }
    rest = _mask(node.get("additionalProperties"), root, depth + 1)
    items = _mask(node.get("items"), root, depth + 1)
    inner = [made for child in _alternatives(node, root) if (made := _mask(child, root, depth + 1))]
    if not named and rest is None and items is None and not inner:
        return None
    known = frozenset(cast("dict[str, object]", node.get("properties") or {}))
    if not inner and rest is None and node.get("type") == "object":
        rest = _hidden  # a misspelt name may hold the secret
    return lambda value: _apply(value, {**dict.fromkeys(known), **named}, rest, items, inner)


def _hidden(_: object) -> str:
    return MASK


def _alternatives(node: dict[str, object], root: dict[str, object]) -> Iterator[object]:
    for word in ("anyOf", "oneOf", "allOf", "prefixItems"):
        yield from cast("list[object]", node.get(word) or [])
    ref = node.get("$ref")
    if isinstance(ref, str) and ref.startswith("#/$defs/"):
        yield cast("dict[str, object]", root.get("$defs") or {}).get(ref.removeprefix("#/$defs/"))


def _apply(
    value: object, named: Mapping[str, Mask | None], rest: Mask | None, items: Mask | None, inner: list[Mask]
) -> object:
    for made in inner:
        value = made(value) if value is not None else None
    if isinstance(value, dict):
        members = cast("dict[str, object]", value)
        return {
            name: made(child) if (made := named.get(name, rest)) is not None and child is not None else child
            for name, child in members.items()
        }
    if isinstance(value, list) and items is not None:
        return [items(child) for child in cast("list[object]", value)]
    return cast("object", value)


def hide(text: str, arguments: Any, mask: Mask) -> str:  # noqa: ANN401 -- JSON
    """The text with every secret of the arguments masked in it."""
    for secret in sorted(_differences(arguments, mask(arguments)), key=len, reverse=True):
        text = text.replace(secret, MASK)
    return text


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
    forms = {plain, canonical_text(plain)[1:-1], repr(plain)[1:-1]}
    return {form for form in forms if len(form) >= _SHORTEST_SECRET}


def mask_all(value: object) -> object:
    """Names without their values."""
    return dict.fromkeys(cast("dict[str, object]", value), MASK) if isinstance(value, dict) else MASK
