"""The effect of a tool: what it changes; retries, caching and parallel calls depend on it."""

from enum import StrEnum


class Effect(StrEnum):
    """What has changed after a tool has run."""

    READ = "read"
    """Nothing changed: calls may be cached, repeated, and run in parallel."""
    IDEMPOTENT = "idempotent"
    """A repeat with the same key changes nothing further."""
    REVERSIBLE = "reversible"
    """Only session and resources changed, and both can be rolled back."""
    IRREVERSIBLE = "irreversible"
    """The outside world changed: never repeated automatically. The default."""
