"""Moves what a target has no keyword for into the description, and tells it.

Does not know the words themselves.
"""

from __future__ import annotations

from toolhaft.formats.subset.notes import asks_nothing, phrase
from toolhaft.formats.subset.walk import Walk
from toolhaft.schema.json_value import JSONObject, JSONValue


def move(walk: Walk, node: JSONObject, keyword: str, notes: list[str], value: JSONValue = None) -> None:
    """Says a keyword in words, if it asks for anything and the words are few; else it is checked locally."""
    asked = node[keyword] if value is None else value
    if asks_nothing(keyword, asked):
        return
    words = phrase(keyword, asked) if walk.rules.takes("description") else ""
    if words:
        notes.append(words)
        walk.tell(node, keyword, "moved to description", words)
    else:
        walk.tell(node, keyword, "checked locally")
