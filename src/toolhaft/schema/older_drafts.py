"""Rewrites the forms of older drafts of JSON Schema that later ones refuse."""

import re
from collections.abc import Mapping
from typing import Final, cast
from urllib.parse import unquote

from toolhaft.schema.json_schema import NAMED, all_schemas, member_at
from toolhaft.schema.json_value import JSONObject, JSONValue

NEWEST: Final = 9
"""The number of draft 2020-12, in the order of drafts."""
_LAST_WITH_FRAGMENTS: Final = 7
"""The last draft in which an `$id` may have a fragment."""
ANCHOR: Final = re.compile("[A-Za-z_][A-Za-z0-9_.-]*")
"""What 2020-12 accepts as an anchor; earlier drafts accept any fragment."""
DRAFT_4: Final = 4
"""The last draft in which exclusive bounds are booleans, and identifiers are in `id`."""
_DRAFT: Final = re.compile(r"json-schema\.org/(?:draft-0([467])|draft/2019-09)/")
_KNOWN: Final = re.compile("(schema|draft-0[467]/schema|draft/2019-09/schema|draft/2020-12/schema)#?")
"""The drafts that the engine knows."""
_BOUNDS: Final = (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum"))


def draft_of(root: JSONObject) -> int:
    """The draft that a schema declares: 4 to 7, 8 for 2019-09, else the newest."""
    found = _DRAFT.search(str(root.get("$schema", "")))
    return NEWEST if found is None else int(found[1] or NEWEST - 1)


def read_old_forms(root: JSONValue) -> None:
    """Rewrite what the draft of a schema refuses and an older draft defines, in place.

    A list in `items` is a tuple, a boolean next to a bound makes it exclusive, a boolean `required` is about
    the property that has it, and the fragment of an `$id` is an anchor. In a schema without `$schema`, `id`
    is the target of references that nothing else can be the target of. All other keywords keep the meaning
    that they have in the schema's own draft.
    """
    if not isinstance(root, dict):
        return
    _, is_official, name = str(root.get("$schema", "")).partition("://json-schema.org/")
    if is_official and not _KNOWN.fullmatch(name):  # draft 3 or 5, a hyper-schema: read as the newest
        del root["$schema"]
    draft = draft_of(root)
    nodes = list(all_schemas(root))
    has_ids = "$schema" not in root and _refers_to_ids(nodes)
    if not has_ids and not any(map(_has_old_form, nodes)):
        return
    if draft == NEWEST:
        _rewrite_tuples(root, nodes)
    _rewrite_required(root, nodes)
    for node in nodes if draft > DRAFT_4 else ():
        rewrite_bounds(node)
    for node in nodes if draft > _LAST_WITH_FRAGMENTS else ():
        if has_ids or _has_fragment(node):
            rewrite_anchors(node, "id" if has_ids else "$id")


def _rewrite_tuples(root: JSONObject, nodes: list[JSONObject]) -> None:
    moved = {
        id(node): moved_pointer(root, reference[1:], {})
        for node in nodes
        if isinstance(reference := node.get("$ref"), str) and reference.startswith("#/")
    }
    for node in nodes:
        if id(node) in moved:
            node["$ref"] = f"#{moved[id(node)]}"
        rewrite_arrays(node)


def _has_old_form(node: JSONObject) -> bool:
    return (
        isinstance(node.get("items"), list)
        or isinstance(node.get("required"), bool)
        or _has_fragment(node)
        or any(isinstance(node.get(exclusive), bool) for _, exclusive in _BOUNDS)
    )


def _has_fragment(node: JSONObject) -> bool:
    own = node.get("$id")
    return isinstance(own, str) and "#" in own[:-1]


def _refers_to_ids(nodes: list[JSONObject]) -> bool:
    """True if there are references that are no pointers, and `id` is all that they can lead to."""
    if any("$id" in node or "$anchor" in node for node in nodes):
        return False
    references = (node.get("$ref") for node in nodes)
    is_used = any(isinstance(each, str) and each != "#" and not each.startswith("#/") for each in references)
    return is_used and any(isinstance(node.get("id"), str) for node in nodes)


def _rewrite_required(root: JSONObject, nodes: list[JSONObject]) -> None:
    """List the names of properties with `required: true` in the object that has them."""
    flags = {id(node): node.pop("required") for node in nodes if isinstance(node.get("required"), bool)}
    flags.pop(id(root), None)  # arguments are always given
    listed: set[int] = set()
    for node in nodes:
        properties = node.get("properties")
        named = properties.items() if isinstance(properties, dict) else ()
        flagged = [(name, id(child)) for name, child in named if flags.get(id(child)) is True]
        known = node.get("required", [])
        if flagged and isinstance(known, list):
            node["required"] = [*known, *(name for name, _ in flagged if name not in known)]
            listed.update(child for _, child in flagged)
    for node in nodes:
        if flags.get(id(node)) is True and id(node) not in listed:
            node.setdefault("required", True)  # it belongs to no property: the schema is refused


def moved_pointer(root: JSONObject, pointer: str, moved: Mapping[str, frozenset[str]]) -> str:
    """A JSON pointer into a schema, as it is after the keywords on its way were renamed."""
    parts = pointer.split("/")
    held: JSONValue = root
    is_schema = True
    for index, part in enumerate(parts[1:], 1):
        key = unquote(part)
        node, held = held, member_at(held, key)
        if not is_schema or not isinstance(node, dict):
            is_schema = True
            continue
        is_schema = isinstance(held, dict) and key not in NAMED
        if key in moved and moved[key].isdisjoint(node):
            parts[index] = max(moved[key])
        elif key == "items" and isinstance(held, list):
            parts[index] = "prefixItems"
        elif key == "additionalItems" and isinstance(node.get("items"), list):
            parts[index] = "items"
    return "/".join(parts)


def rewrite_anchors(new: JSONObject, key: str) -> None:
    """Before 2019-09 an id could be an anchor, or end in one; in draft 4 its keyword is `id`."""
    own = new.get(key)
    if not isinstance(own, str):
        return
    address, _, anchor = own.partition("#")
    del new[key]
    if address:
        new["$id"] = address
    if ANCHOR.fullmatch(anchor):  # references to others are pointers: see `localize_references`
        new["$anchor"] = anchor


def rewrite_arrays(new: JSONObject) -> None:
    """Before 2020-12 a tuple is a list in `items`."""
    if isinstance(new.get("items"), list):
        members = new.pop("items")
        if members:  # the newest draft refuses a tuple without members
            new["prefixItems"] = members
        if "additionalItems" in new:
            new["items"] = new["additionalItems"]
    new.pop("additionalItems", None)


def rewrite_bounds(new: JSONObject) -> None:
    """In Draft 4 an exclusive bound is a boolean next to the bound."""
    for bound, exclusive in _BOUNDS:
        mark: JSONValue = new.get(exclusive)
        if isinstance(mark, bool):
            del new[exclusive]
            if mark and bound in new:
                new[exclusive] = cast("float", new.pop(bound))
