"""Rewrites the references of a schema with several identifiers to plain pointers into the whole schema."""

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import quote, urldefrag, urljoin

from toolhaft.schema.json_schema import placed_subschemas
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.older_drafts import ANCHOR, DRAFT_4, draft_of

_DYNAMIC: Final = frozenset(("$dynamicRef", "$recursiveRef"))
"""References whose meaning depends on the identifiers on the way to them."""
_SAFE: Final = "/~!$&'()*+,;=:@"
_STAYS: Final = re.compile(f"#(?:/.*|{ANCHOR.pattern})?", re.DOTALL)
"""References that mean the same in each draft: to the root, pointers, and anchors."""


def localize_references(root: JSONValue) -> None:
    """Make every reference start with `#`, and remove the identifiers inside the schema, in place.

    A `$id` inside a schema changes what the references below it mean, which no provider and few programs
    understand. References to the outside are left as they are, and so is a schema with dynamic references.
    """
    if not isinstance(root, dict):
        return
    keyword = "id" if draft_of(root) == DRAFT_4 else "$id"
    document = _Document(root, keyword)
    if not document.needs_change or any(_DYNAMIC & node.keys() for node, _ in document.bases):
        return
    for node, base in document.bases:
        reference = node.get("$ref")
        if isinstance(reference, str):
            node["$ref"] = document.pointer_to(reference, base)
        if node is not root and document.identifier(node) is not None:
            del node[keyword]


class _Document:
    """The identifiers and anchors of a schema, each with the pointer to its place."""

    def __init__(self, root: JSONObject, keyword: str) -> None:
        self.bases: list[tuple[JSONObject, str]] = []
        self.needs_change = False
        self._keyword = keyword
        self._places: dict[str, str] = {"": ""}
        for node, pointer, base in self._walk(root):
            self.bases.append((node, base))
            self._places.setdefault(base, pointer)
            for anchor in (node.get("$anchor"), node.get("$dynamicAnchor")):
                if isinstance(anchor, str):
                    self._places.setdefault(f"{base}#{anchor}", pointer)
            if node is not root and self.identifier(node) is not None:
                self.needs_change = True
            reference = node.get("$ref")
            if isinstance(reference, str) and not _STAYS.fullmatch(reference):
                self.needs_change = True

    def identifier(self, node: JSONObject) -> str | None:
        """The identifier of a schema; one that is only a fragment is an anchor of an older draft."""
        own = node.get(self._keyword)
        return own if isinstance(own, str) and not own.startswith("#") else None

    def _walk(self, root: JSONObject) -> Iterator[tuple[JSONObject, str, str]]:
        waiting: list[tuple[JSONObject, str, str]] = [(root, "", "")]
        while waiting:
            node, pointer, base = waiting.pop()
            own = self.identifier(node)
            if own is not None:
                base = urldefrag(urljoin(base, own)).url
            anchor = node.get(self._keyword)
            if own is None and isinstance(anchor, str):
                self._places.setdefault(f"{base}{anchor}", pointer)
            yield node, pointer, base
            waiting += [(child, f"{pointer}/{place}", base) for place, child in placed_subschemas(node)]

    def pointer_to(self, reference: str, base: str) -> str:
        """The reference from the root of the whole schema; unchanged if it leads elsewhere."""
        if reference.startswith("#"):
            target, fragment = base, reference[1:]
        else:
            target, fragment = urldefrag(urljoin(base, reference))
        if fragment and not fragment.startswith("/"):
            place = self._places.get(f"{target}#{fragment}")
            fragment = ""
        else:
            place = self._places.get(target)
        return reference if place is None else f"#{quote(place, safe=_SAFE)}{fragment}"
