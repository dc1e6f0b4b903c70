"""The marks that stand in flat text where a page has tags.

Does not know which tag becomes which mark.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

# What tags become in flat text. A page that has such characters of its own gets stand-ins for them.
# All letters of an alphabet share their upper byte, and who seeks a mark of that number looks at each:
# so none is 4, as Cyrillic has it, and those that other large alphabets have are sought least.
LINE: Final = "\x01"
PARAGRAPH: Final = "\x02"
"""After LINE: a blank line goes before what follows."""
ROW: Final = "\x17"
"""After LINE: not even cells join across it."""
CELL: Final = "\x08"
LINK: Final = "\x11"
LINK_END: Final = "\x16"
BREAK: Final = LINE + LINK_END
"""A line that ends for itself, not for a block."""
HEADING: Final = "\x07"
DROP: Final = "\x10"
DROP_END: Final = "\x0f"
EDGE: Final = "\x12"
EDGE_END: Final = "\x13"
"""Around what may be the rim of a page: its head, a form."""
HEAD: Final = EDGE + PARAGRAPH
TERM: Final = "\x0e"
"""Before a term, whose button is a question."""
BUTTON: Final = DROP + TERM
QUESTION: Final = BUTTON + TERM
NOTE: Final = DROP + PARAGRAPH
FOOT: Final = DROP + ROW
"""What is dropped in most places: a button, one that opens an answer, what stands aside, a foot."""
QUOTE: Final = "\x18"
QUOTE_END: Final = "\x19"
MATH: Final = "\x1a"
OWN: Final = "\x1b"
OWN_END: Final = "\x7f"
"""Around an element of a site's own making."""
KEEP: Final = "\x14"
KEEP_END: Final = "\x15"
"""Around text whose white space counts."""
KEPT_WHITE: Final = {"\n": "\x03", " ": "\x05", "\t": "\x06"}
LAYOUT: Final = f"{LINE}{PARAGRAPH}{ROW}{CELL}{HEADING}{KEEP}{KEEP_END}"
AROUND: Final = f"{DROP}{DROP_END}{EDGE}{EDGE_END}{BUTTON}{QUOTE}{QUOTE_END}{MATH}{OWN}{OWN_END}"
MARKS: Final = f"{LAYOUT}{LINK}{LINK_END}{AROUND}"
RESERVED: Final = MARKS + "".join(KEPT_WHITE.values())
STAND_IN: Final = "\ud800"
"""Half a surrogate pair, which no decoded text has; with a letter, it stands for a mark of the page's own."""
STAND_INS: Final = {mark: f"{STAND_IN}{chr(ord('a') + ord(mark))}" for mark in RESERVED}


def without(text: str, marks: Iterable[str]) -> str:
    """Text without some marks."""
    for mark in marks:
        if mark in text:  # which is found out twenty times as quickly as it is replaced
            text = text.replace(mark, "")
    return text
