"""The names and types of everything optional about a tool, for signatures.

Knows no values: `policy.py` checks them and holds the defaults.
"""

from collections.abc import Iterable, Mapping
from typing import Literal, TypedDict

from toolhaft.core.effect import Effect
from toolhaft.core.example import ToolExample

Isolation = Literal["inline", "thread", "process"]
Takes = Literal["input", "keywords", "params", "runtime"]
"""How a handler wants its arguments: one dict; one a keyword; one typed object and the context; one a keyword
beside the executor's run-time values."""


class Policy(TypedDict, total=False):
    """How calls of a tool are run; every door takes these."""

    effect: Effect | Literal["read", "idempotent", "reversible", "irreversible"]
    timeout_s: float | None
    retryable: bool
    max_attempts: int
    isolation: Isolation | None
    requires: Iterable[str]
    idempotency: Iterable[str]
    rate: str | None
    max_parallel: int | None
    cache_s: float | None


class Options(Policy, total=False):
    """Everything optional about a tool that is not its name, description, schemas or handler."""

    title: str | None
    when_to_use: str | None
    examples: Iterable[ToolExample[object, object] | Mapping[str, object]]
    metadata: Mapping[str, object]
    tags: Iterable[str]
    version: str | None
    accepts_overrides: bool
