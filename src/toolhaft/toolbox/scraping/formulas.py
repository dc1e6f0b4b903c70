"""Puts the TeX of a formula in place of its MathML, so that it reads as it was typed.

Does not know where formulas stand.
"""

from __future__ import annotations

import re
from typing import Final

from toolhaft.toolbox.scraping.markup import Opener, element_end, opener_at

_MATH: Final = re.compile(r"<math(?=[\s/>])", re.IGNORECASE)
_ANNOTATION: Final = re.compile(r"<annotation\s([^<>]*+)>([^<]*+)</annotation", re.IGNORECASE)
_LONGEST: Final = 50_000
"""Characters of a formula's source."""
_MOST: Final = 20_000
"""Formulas; pages that people read have fewer."""
_MOST_ENDLESS: Final = 5
"""Formulas without an end that are put up with: each was looked for as far as a formula may go."""


def with_formulas(source: str) -> str:
    """A source with TeX in place of each formula that has any; others stay as they are."""
    pieces: list[str] = []
    at = kept = endless = 0
    for _ in range(_MOST):
        match = _MATH.search(source, at)
        if match is None or endless == _MOST_ENDLESS:
            break
        opener = opener_at(source, match.start())
        end = -1 if opener is None else element_end(source, opener, within=_LONGEST)
        if opener is None or end < 0:
            endless += 1
            at = match.end()
            continue
        tex = _tex_of(source, opener, end)
        if tex:
            pieces += (source[kept : opener.start], tex)
            kept = end
        at = end
    return "".join((*pieces, source[kept:]))


def _tex_of(source: str, opener: Opener, end: int) -> str:
    """The TeX of one formula, as source; empty where it has none."""
    for match in _ANNOTATION.finditer(source, opener.end, end):
        if "tex" in match[1].lower():
            return match[2].strip()
    return opener.attributes.get("alttext", "").strip().replace("<", "&lt;")
