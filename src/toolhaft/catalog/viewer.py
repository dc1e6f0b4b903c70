"""Who looks at published tools, and which of them they may see.

Knows owners, organisations and share levels; not where tools are kept, nor how a viewer was recognised.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer:
    """Somebody who asks for tools; without anything said, a stranger who sees what is public."""

    owner: str = ""
    org: str = ""
    scopes: frozenset[str] = frozenset()
    is_operator: bool = False

    def may_see(self, owner: str, org: str, share: str) -> bool:
        """True for what is public, one's own, or shared with one's organisation; an operator sees all."""
        if self.is_operator or share == "public":
            return True
        if self.owner and self.owner == owner:
            return True
        return share == "org" and bool(self.org) and self.org == org

    def may_change(self, owner: str) -> bool:
        """True for one's own; an operator may change all."""
        return self.is_operator or (bool(self.owner) and self.owner == owner)
