"""Rewrites older drafts as 2020-12 and copies schemas so that no part is shared."""

from __future__ import annotations

from collections.abc import Mapping
from operator import is_
from typing import Final, cast

from toolhaft.formats.losses import RefusedSchema
from toolhaft.formats.subset.argument_maps import value_key
from toolhaft.formats.subset.keywords import HOLDERS, VALIDATION
from toolhaft.formats.subset.target import MOST_NODES
from toolhaft.schema.json_schema import all_schemas, map_subschemas
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.older_drafts import (
    DRAFT_4,
    NEWEST,
    draft_of,
    moved_pointer,
    rewrite_anchors,
    rewrite_arrays,
    rewrite_bounds,
)

_CONDITIONS: Final = ("if", "then", "else")
_SINCE: Final[Mapping[str, int]] = {
    **dict.fromkeys(("const", "contains", "propertyNames"), 6),
    **dict.fromkeys(_CONDITIONS, 7),
    **dict.fromkeys(("dependentRequired", "dependentSchemas", "minContains", "maxContains"), NEWEST - 1),
    **dict.fromkeys(("unevaluatedItems", "unevaluatedProperties", "$anchor", "$recursiveRef"), NEWEST - 1),
    **dict.fromkeys(("prefixItems", "$dynamicRef", "$dynamicAnchor"), NEWEST),
}
"""The draft that added a keyword; schemas of earlier drafts ignore it."""
_ANNOTATIONS: Final = {
    **dict.fromkeys(("deprecated", "readOnly", "writeOnly"), bool),
    "examples": list,
    "$comment": str,
}
"""The types that annotations have in the newest draft; earlier drafts accept anything."""
_REF_ALONE: Final = 7
"""The last draft that ignores the siblings of a reference."""
_MOVED: Final = {
    "definitions": frozenset(("$defs",)),
    "dependencies": frozenset(("dependentRequired", "dependentSchemas")),
}
"""Keywords with a new name, unless the schema has the new one too; the last has the schemas."""


def upgrade_draft(root: JSONObject, *, with_definitions: bool = True) -> JSONObject:
    """The schema in draft 2020-12, without repeated enum values; the same object if it already is so.

    Keywords that have another name or form in 2020-12 are rewritten, those that the schema's own draft
    ignores are left out. A schema without `$schema` counts as 2020-12, in which validators still accept
    `definitions` and `dependencies`.

    Args:
        root: the whole schema.
        with_definitions: whether `definitions` is renamed too, so that pointers into it change.
    """
    draft = draft_of(root)
    new = _Upgrade(root, draft, with_definitions=with_definitions).schema(root)
    return new if new is root or draft == NEWEST else {key: new[key] for key in new if key != "$schema"}


class _Upgrade:
    """Rewrites one schema of an older draft."""

    __slots__ = ("_done", "_draft", "_moved", "_root", "_schemas")

    def __init__(self, root: JSONObject, draft: int, *, with_definitions: bool) -> None:
        self._root = root
        self._draft = draft
        self._moved = _MOVED if with_definitions else {"dependencies": _MOVED["dependencies"]}
        self._done: dict[int, JSONObject] = {}
        """By identity: a schema may be shared by many others."""
        self._schemas = frozenset(map(id, all_schemas(root)))

    def schema(self, node: JSONObject) -> JSONObject:
        """A schema with everything inside it; the same object if nothing in it is rewritten."""
        done = self._done.get(id(node))
        if done is None:
            new = self._rewritten(node)
            done = self._done[id(node)] = node if _is_same(new, node) else new
        return done

    def _rewritten(self, node: JSONObject) -> JSONObject:
        new = map_subschemas(node, self.schema)
        for key, value in node.items():
            if new[key] is value and isinstance(value, dict):  # a reference may lead into any other object
                new[key] = self._holder(value)
        if self._draft < NEWEST:
            self._to_newest(new)
        if "definitions" in self._moved and isinstance(new.get("definitions"), dict) and "$defs" not in new:
            new["$defs"] = new.pop("definitions")
        _dependencies(new)
        reference = new.get("$ref")
        address, mark, pointer = reference.partition("#/") if isinstance(reference, str) else ("", "", "")
        if mark and address in ("", self._root.get("$id"), self._root.get("id")):
            new["$ref"] = f"{address}#{moved_pointer(self._root, f'/{pointer}', self._moved)}"
        values = new.get("enum")
        if isinstance(values, list) and has_repeated(values):
            first: dict[str, JSONValue] = {}
            for value in values:
                first.setdefault(value_key(value), value)
            new["enum"] = [*first.values()]
        return new

    def _holder(self, value: JSONObject) -> JSONObject:
        """An object that is no schema, with the schemas inside it; the same object if none is rewritten."""
        if id(value) in self._schemas:
            return self.schema(value)
        made: JSONObject = {
            key: self._holder(inside) if isinstance(inside, dict) else inside for key, inside in value.items()
        }
        return value if all(made[key] is value[key] for key in value) else made

    def _to_newest(self, new: JSONObject) -> None:
        for key, value in [*new.items()]:
            if _SINCE.get(key, 0) > self._draft or not isinstance(value, _ANNOTATIONS.get(key, object)):
                del new[key]
        if "$ref" in new and self._draft <= _REF_ALONE:
            for key in [key for key in new if key in VALIDATION and key != "$ref"]:
                del new[key]
        rewrite_anchors(new, "id" if self._draft == DRAFT_4 else "$id")
        rewrite_arrays(new)
        rewrite_bounds(new)
        if new.pop("$recursiveRef", None) is not None:  # the schema is one document: it leads to its root
            new |= {"allOf": [*cast("list[JSONValue]", new.get("allOf", [])), {"$ref": "#"}]}
        new.pop("$recursiveAnchor", None)


def _is_same(new: JSONObject, old: JSONObject) -> bool:
    """Whether two schemas have the same values and the same schemas inside."""
    return new.keys() == old.keys() and all(_is_same_value(new[key], value) for key, value in old.items())


def _is_same_value(new: JSONValue, old: JSONValue) -> bool:
    if new is old:
        return True
    if isinstance(new, dict) and isinstance(old, dict):
        return new.keys() == old.keys() and all(new[key] is value for key, value in old.items())
    if isinstance(new, list) and isinstance(old, list):
        return len(new) == len(old) and all(map(is_, new, old))
    return isinstance(new, str) and new == old


def has_repeated(values: list[JSONValue]) -> bool:
    """Whether two of the values are equal as JSON."""
    try:
        if len(set(cast("list[str]", values))) == len(values):
            return False
    except TypeError:  # objects or lists among them
        pass
    return len({value_key(value) for value in values}) < len(values)


def _dependencies(new: JSONObject) -> None:
    dependencies = new.get("dependencies")
    if not isinstance(dependencies, dict) or not _MOVED["dependencies"].isdisjoint(new):
        return
    del new["dependencies"]
    names: JSONObject = {key: value for key, value in dependencies.items() if isinstance(value, list)}
    schemas: JSONObject = {key: value for key, value in dependencies.items() if not isinstance(value, list)}
    if names:
        new["dependentRequired"] = names
    if schemas:
        new["dependentSchemas"] = schemas


_LISTS: Final = frozenset(("anyOf", "oneOf", "allOf", "prefixItems", "items"))
_MOST_PARTS: Final = 50 * MOST_NODES


def unshared_copy(schema: JSONObject) -> JSONObject:
    """A copy in which no part occurs twice; the same object if it already is so.

    Raises:
        RefusedSchema: if the copy would be too large.
    """
    seen: set[int] = set()
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        size = len(seen)
        seen.add(id(node))
        if len(seen) == size:
            return cast("JSONObject", _Copier().copy(schema))
        for key, child in node.items():
            kind = child.__class__
            if kind is str:
                continue
            if kind is dict:
                waiting.append(child)  # pyright: ignore[reportArgumentType] -- a cast would double the time
            elif kind is list and key in _LISTS:
                waiting += [each for each in cast("list[JSONValue]", child) if isinstance(each, dict)]
    return schema


class _Copier:
    """Copies a schema up to a limit of parts."""

    __slots__ = ("_parts",)

    def __init__(self) -> None:
        self._parts = 0

    def copy(self, value: JSONValue) -> JSONValue:
        if value.__class__ not in HOLDERS:
            return value
        self._parts += 1
        if self._parts > _MOST_PARTS:
            raise RefusedSchema("", f"too large: it has more than {_MOST_PARTS} parts")
        if isinstance(value, dict):
            return {key: self.copy(child) for key, child in value.items()}
        return [self.copy(child) for child in cast("list[JSONValue]", value)]
