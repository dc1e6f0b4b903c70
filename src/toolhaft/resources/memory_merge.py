"""Joins what a fork changed with what was changed outside it meanwhile.

Knows trees only, not who changed them.
"""

from __future__ import annotations

from collections.abc import Mapping

from toolhaft.resources import refusals
from toolhaft.resources.memory_tree import Directory, find, put, remove
from toolhaft.resources.paths import Parts


def merge(base: Directory, ours: Directory, theirs: Directory, touched: Mapping[Parts, str]) -> Directory:
    """Their tree, with what we touched as we have it.

    Args:
        base: what both began with.
        ours: the fork's tree.
        theirs: the tree that it goes back to.
        touched: the places that the fork changed, and their paths as the caller wrote them.

    Raises:
        FileBusyError: where both changed the same path, or one removed what the other changed something in.
    """
    for parts, path in touched.items():
        if not (_is_free(parts, base, ours, theirs) and _has_way(parts, base, theirs)):
            raise refusals.busy(path)
    merged = theirs
    for parts in sorted(touched, key=len):  # a directory before what is in it
        node, there = find(ours, parts), find(merged, parts)
        if node is None:
            merged = remove(merged, parts, ours.modified_at)
        elif not (isinstance(node, Directory) and isinstance(there, Directory) and find(base, parts) is None):
            merged = put(merged, parts, node, ours.modified_at)
    return merged


def _is_free(parts: Parts, base: Directory, ours: Directory, theirs: Directory) -> bool:
    """True where a place is with them as it was, or is a directory that both made."""
    before, there = find(base, parts), find(theirs, parts)
    if there is before:
        return True
    return before is None and isinstance(there, Directory) and isinstance(find(ours, parts), Directory)


def _has_way(parts: Parts, base: Directory, theirs: Directory) -> bool:
    """True where every directory above a place is still there, and no file came to stand in its stead."""
    for end in range(1, len(parts)):
        there = find(theirs, parts[:end])
        if not isinstance(there, Directory) and (there is not None or find(base, parts[:end]) is not None):
            return False
    return True
