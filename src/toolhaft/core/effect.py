"""What a tool does to the world, declared once.

Does not know how retries, caches or parallel calls obey it.
"""

from enum import StrEnum


class Effect(StrEnum):
    """The four answers to: what has happened once this tool has run?"""

    READ = "read"
    """Nothing changed: may be cached, repeated, run beside others."""
    IDEMPOTENT = "idempotent"
    """A repeat with the same key changes nothing more."""
    REVERSIBLE = "reversible"
    """Only session and resources changed, and both can be rolled back."""
    IRREVERSIBLE = "irreversible"
    """The outside world changed: never repeated by itself. The default."""
