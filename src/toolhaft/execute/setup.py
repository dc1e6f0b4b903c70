"""The settings and state of an executor, grouped by the steps that use them."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import Final

from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.core.limits import BudgetTracker, Deadline, RetryPolicy
from toolhaft.core.masking import ArgumentMask, argument_mask, mask_all
from toolhaft.core.ports import ToolFinder
from toolhaft.core.principal import Principal
from toolhaft.execute.approval import CallPolicy
from toolhaft.execute.attempts import Circuits
from toolhaft.execute.failures import refused
from toolhaft.execute.found_tools import FoundTools
from toolhaft.execute.prompt_parts import PromptParts
from toolhaft.execute.result_memory import ResultMemory
from toolhaft.execute.throttling import FairSemaphore, TokenBucket
from toolhaft.execute.workers import Workers
from toolhaft.resources import ResourceRegistry
from toolhaft.schema.nearest import nearest
from toolhaft.session import Session

_MOST_NAMES: Final = 20
_LONGEST_NAME: Final = 128


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Permission:
    """Who may call what: for the steps `access` and `permit`."""

    principal: Principal | None
    allow: frozenset[str] | None
    policy: CallPolicy | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CallLimits:
    """For the steps that limit, retry and truncate."""

    deadline: Deadline | None
    budget: BudgetTracker | None
    retry: RetryPolicy | None
    circuits: Circuits
    max_repeats: int | None
    max_output_chars: int
    rates: dict[str, TokenBucket] = field(default_factory=dict[str, TokenBucket])
    """By tool name and rate."""
    parallel: dict[str, FairSemaphore] = field(default_factory=dict[str, FairSemaphore])
    """By tool name and number of calls at once."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HandlerInputs:
    """What handlers receive apart from arguments, session and resources."""

    runtime: Mapping[str, object]
    adapter: object
    finder: ToolFinder | None


class ToolSet:
    """The tools of an executor, and what its steps need to know about all of them."""

    def __init__(self, by_name: Mapping[str, AnyTool], found: FoundTools | None = None) -> None:
        self.by_name = by_name
        self.found = FoundTools() if found is None else found

    # not in the constructor: an executor may be made for a single call

    @cached_property
    def has_class_tools(self) -> bool:
        """True if one of them is a class tool, which takes the `extras` of others."""
        return any(tool.takes == "runtime" for tool in self.by_name.values())

    @cached_property
    def has_secrets(self) -> bool:
        """True if one of them takes secrets."""
        return any(argument_mask(tool) is not None for tool in self.by_name.values())

    def mask_for(self, tool: AnyTool | None) -> ArgumentMask | None:
        """The mask for a tool's arguments; for an unknown name, which may be misspelt, it masks all."""
        if tool is not None:
            return argument_mask(tool)
        return mask_all if self.has_secrets else None

    def advice(self, name: str, principal: Principal | None = None) -> str:
        """What to call instead of an unknown name: the nearest name, or all of them."""
        sees = None if principal is None else principal.sees
        names = [known for known in self.by_name if sees is None or known in sees]
        likely = nearest(name, names)
        if likely is not None and likely != name:
            return f"Did you mean {likely!r}?"
        return f"The tools are: {', '.join(sorted(names)[:_MOST_NAMES])}." if names else "There are no tools."

    def unknown(self, name: str, principal: Principal | None) -> AnyResult:
        """The result for a name that no tool has, or none that this principal can see."""
        is_seen = principal is None or principal.sees is None or name in principal.sees
        if name in self.found.closed and is_seen:
            message = f"the tool {name!r} was closed, because other tools were found and used since."
            return refused("unknown_tool", message, advice=f"Search for {name!r} again, then call it.")
        message = f"no tool is called {name[:_LONGEST_NAME]!r}."
        return refused("unknown_tool", message, advice=self.advice(name, principal))


class EventIds:
    """The ids of an executor, of the current run of the model, and of its events."""

    __slots__ = ("_numbers", "executor_id", "run_id")

    def __init__(self) -> None:
        self.executor_id = secrets.token_hex(8)
        self.run_id = secrets.token_hex(8)
        self._numbers = count()

    def new_run(self) -> None:
        """Begin a new run of the model."""
        self.run_id = secrets.token_hex(8)

    def new_event(self) -> str:
        """An id that no other event of any executor has."""
        return f"{self.executor_id}-{next(self._numbers)}"


@dataclass(slots=True, kw_only=True, eq=False)
class Setup:
    """What the steps of an executor share; replaced when prompt or tools change, not for running calls."""

    session: Session
    resources: ResourceRegistry
    permission: Permission
    limits: CallLimits
    prompt: PromptParts
    tools: ToolSet
    inputs: HandlerInputs
    workers: Workers
    memory: ResultMemory
    ids: EventIds
    has_bounded_calls: bool = False
    """True once a call has had its own principal or deadline."""

    @property
    def is_bounded(self) -> bool:
        """True if every call has a principal, a deadline or a budget."""
        bounds = (self.permission.principal, self.limits.deadline, self.limits.budget)
        return bounds != (None, None, None)
