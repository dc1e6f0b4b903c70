"""A call's arguments as plain JSON: for keys, digests, policies and records. Secrets can be masked.

Knows JSON Schema's `writeOnly`; does not know who reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any, Final, cast

from pydantic_core import to_json, to_jsonable_python

from toolhaft.execute.aliases import AnyTool
from toolhaft.execute.run import Run
from toolhaft.schema.json_text import read_json

MASK: Final = "***"
_DEEPEST: Final = 12
_SHORTEST_SECRET: Final = 3

Mask = Callable[[Any], object]


def final_arguments(run: Run) -> dict[str, object]:
    """The checked arguments, defaults and repairs in, as JSON has them."""
    if run.cached_arguments is None:
        plain = to_jsonable_python(run.params, fallback=str, inf_nan_mode="strings", by_alias=True)
        run.cached_arguments = cast("dict[str, object]", plain) if isinstance(plain, dict) else {}
    return run.cached_arguments


def raw_arguments(run: Run) -> Any:  # noqa: ANN401 -- JSON, or text that is none
    """The arguments as they came, read where they are JSON."""
    raw = run.call.arguments
    if not isinstance(raw, str):
        return to_jsonable_python(raw, fallback=str, inf_nan_mode="strings", serialize_unknown=True)
    try:
        return read_json(raw)
    except ValueError:
        return raw


def canonical_text(value: object) -> str:
    """One text for one value, whatever the order of its keys."""
    return to_json(_sorted(value), fallback=str, inf_nan_mode="strings").decode()


def digest(value: object) -> str:
    """A short name for a value that no other value has."""
    return sha256(canonical_text(value).encode()).hexdigest()


def _sorted(value: object) -> object:
    if isinstance(value, dict):
        members = cast("dict[str, object]", value)
        return {key: _sorted(members[key]) for key in sorted(members)}
    if isinstance(value, list):
        return [_sorted(part) for part in cast("list[object]", value)]
    return value


def mask_of(tool: AnyTool) -> Mask | None:
    """What hides a tool's secrets in its arguments; None where it takes none."""
    return _mask(tool.input_schema, tool.input_schema, 0)


def _mask(schema: object, root: dict[str, object], depth: int) -> Mask | None:
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return None
    node = cast("dict[str, object]", schema)
    if node.get("writeOnly") is True or node.get("format") == "password":
        return lambda _: MASK
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
    return lambda value: _apply(value, named, rest, items, inner)


def _alternatives(node: dict[str, object], root: dict[str, object]) -> Iterator[object]:
    for word in ("anyOf", "oneOf", "allOf", "prefixItems"):
        yield from cast("list[object]", node.get(word) or [])
    ref = node.get("$ref")
    if isinstance(ref, str) and ref.startswith("#/$defs/"):
        yield cast("dict[str, object]", root.get("$defs") or {}).get(ref.removeprefix("#/$defs/"))


def _apply(
    value: object, named: dict[str, Mask], rest: Mask | None, items: Mask | None, inner: list[Mask]
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
