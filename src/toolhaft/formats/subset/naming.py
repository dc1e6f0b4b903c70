"""Names on the wire that a target takes, for those that it does not.

Does not know schemas.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256
from typing import Final

from toolhaft.formats.subset.walk import Low, Walk
from toolhaft.schema.json_value import JSONObject

_LONGEST: Final = 64
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_]")


def rename(walk: Walk, node: JSONObject, lows: dict[str, Low]) -> dict[str, str]:
    """By each new name on the wire, the tool's own, for the names that the target does not take."""
    if walk.subset.root_keys is None:
        return {}
    admits = re.compile(walk.subset.root_keys).fullmatch
    bad = [name for name in lows if not admits(name)]
    taken = {name for name in lows if admits(name)}
    found: dict[str, str] = {}
    for name in bad:
        new = fit_name(name, taken)
        if not admits(new):
            raise walk.refusal(node, f"no name can stand for {name!r} there", "properties", name)
        taken.add(new)
        found[new] = name
        walk.tell(node, "properties", "renamed", new, "properties", name)
    return found


def fit_name(name: str, taken: Iterable[str]) -> str:
    """A name of safe characters, at most 64 of them, that is not taken."""
    safe = _UNSAFE.sub("_", name).strip("_") or "property"
    if not safe[0].isalpha():
        safe = f"p_{safe}"
    short = safe[:_LONGEST]
    if short not in taken:
        return short
    mark = sha256(name.encode(errors="surrogatepass")).hexdigest()[:8]
    return f"{short[: _LONGEST - 9]}_{mark}"
