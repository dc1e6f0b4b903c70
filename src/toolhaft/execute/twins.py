"""Tells whether two tools are one and the same, perhaps in other words.

Knows handlers and options; does not know where the tools come from.
"""

from __future__ import annotations

from types import BuiltinMethodType, MethodType
from typing import Final

from toolhaft.core.conversion import AnyTool
from toolhaft.core.tool import OPTION_NAMES

_RULES: Final = tuple(name for name in OPTION_NAMES if name != "examples")
"""All but what a store of overrides may change."""


def is_same_handler(one: object, other: object) -> bool:
    """True for the same function, or the same method of the same object."""
    # only methods are compared: what else can be called may have equality of its own
    return one is other or (
        isinstance(one, MethodType | BuiltinMethodType) and type(one) is type(other) and one == other
    )


def is_same_tool(one: AnyTool, other: AnyTool) -> bool:
    """True where both do the same under the same rules, whatever words describe them."""
    if one is other:
        return True
    if one.name != other.name or any(getattr(one, rule) != getattr(other, rule) for rule in _RULES):
        return False
    if one.handler is None or other.handler is None:  # nothing but its words to tell it by
        return one.handler is other.handler and one.source == other.source
    return is_same_handler(one.handler, other.handler)
