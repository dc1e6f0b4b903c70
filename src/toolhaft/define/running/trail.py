"""The trail of a call that goes from tool to tool: who has run it already, so that a ring is seen.

Knows opaque tokens; does not know the platforms and tools that they stand for.
"""

from __future__ import annotations

import re
from contextvars import ContextVar
from hashlib import blake2b
from typing import Final

HEADER: Final = "Toolhaft-Trail"
LONGEST: Final = 8
"""Hops that an endpoint may be away from where a call began."""
TRAIL: ContextVar[tuple[str, ...]] = ContextVar("toolhaft_trail", default=())
"""The tokens of the platforms' tools that the running call has come through."""

_TOKEN: Final = re.compile(r"[0-9a-f]{16}")
_MOST_READ: Final = 64


def token_of(instance_id: str, tool_id: str) -> str:
    """What one platform's tool is called in a trail; nobody else can tell what it stands for."""
    return blake2b(f"{instance_id}\0{tool_id}".encode(errors="replace"), digest_size=8).hexdigest()


def read_trail(header: str | None) -> tuple[str, ...]:
    """The tokens in a header that came from anybody; what is no token is passed over."""
    if not header:
        return ()
    found = (part.strip() for part in header.split(",", _MOST_READ)[:_MOST_READ])
    return tuple(part for part in found if _TOKEN.fullmatch(part))


def write_trail() -> str:
    """The header of a request that the running call makes; empty where there is nothing to say."""
    return ",".join(TRAIL.get())
