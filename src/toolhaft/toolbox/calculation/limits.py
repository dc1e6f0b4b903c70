"""How much one calculation may ask for; with these, every answer and every refusal takes well under a second.

Knows numbers of things, not what is done with them.
"""

from typing import Final

LONGEST_TEXT: Final = 10_000
"""Characters of an expression."""
MOST_PIECES: Final = 5_000
"""Numbers, names, operators, parentheses and commas."""
DEEPEST: Final = 100
"""Parentheses inside each other."""
MOST_BITS: Final = 10_000
"""Of a whole number, and of the numerator of a fraction."""
MOST_DIGITS: Final = 3_010
"""What those bits can say; Python writes up to 4,300 digits, and so does everything downstream."""
MOST_DENOMINATOR_BITS: Final = 4_000
"""Of the denominator of a fraction; one that needs more goes on as a float."""
MOST_DECIMALS: Final = 1_200
"""Digits after the point, which that denominator can say."""
MOST_ROUND_DIGITS: Final = 1_000
"""To either side of the point, for `round`."""
MOST_ROOT_BITS: Final = 2_048
"""Of a number whose exact root is looked for; square roots are quick at any size."""
LARGEST_ANGLE: Final = 10**15
"""In radians; beyond it the rounding of a float is a good part of a full turn."""
MOST_STEPS: Final = 1_000_000_000
"""Bits that all `comb` and `perm` of an expression together may go through."""
