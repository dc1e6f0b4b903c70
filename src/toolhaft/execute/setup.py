"""What an executor was given: the state, the rules and the places that its steps use.

Knows the parts; does not know the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from threading import Lock
from typing import Any

from toolhaft.backends.threads import ThreadPool
from toolhaft.core.conversion import AnyResult
from toolhaft.core.feedback import FeedbackProvider
from toolhaft.core.limits import BudgetTracker, Deadline, RetryPolicy
from toolhaft.core.ports import PromptPort, ToolFinder
from toolhaft.core.principal import Principal
from toolhaft.execute.approval import Policy
from toolhaft.execute.gates import Gate
from toolhaft.execute.ledger import Circuits
from toolhaft.execute.masks import Mask, mask_all
from toolhaft.execute.memory import Memory
from toolhaft.execute.processes import Processes
from toolhaft.execute.stats import Stats
from toolhaft.resources import ResourceRegistry
from toolhaft.session import Session


@dataclass(slots=True, kw_only=True, eq=False)
class Setup:
    """The executor's own things, as the steps see them."""

    session: Session
    resources: ResourceRegistry
    principal: Principal | None
    allow: frozenset[str] | None
    policy: Policy | None
    runtime: Mapping[str, object]
    prompt: object
    rendered_prompt: object
    port: PromptPort | None
    """The prompt, where it is one that brings something."""
    feedback: tuple[FeedbackProvider, ...]
    """What is asked after each call of a model."""
    adapter: object
    deadline: Deadline | None
    budget: BudgetTracker | None
    retry: RetryPolicy | None
    threads: ThreadPool
    processes: Processes
    stats: Stats
    memory: Memory
    circuits: Circuits
    max_output_chars: int
    max_repeats: int | None
    id: str
    run_id: str = ""
    has_class_tools: bool = False
    has_secrets: bool = False
    gates: dict[str, Gate] = field(default_factory=dict[str, Gate])
    """The queues of idempotency keys that are in use now."""
    gates_lock: Lock = field(default_factory=Lock)
    buckets: dict[str, Any] = field(default_factory=dict[str, Any])
    """The rates of the tools that have one."""
    parallel: dict[str, Gate] = field(default_factory=dict[str, Gate])
    """The doors of the tools that may run only so many times at once."""
    ids: Iterator[int] = field(default_factory=count)
    held_up_s: float = 0.0
    """How long event loops were held up by calls that were answered at once, since one was waited for."""
    has_callers: bool = False
    """True once a call has brought a principal or a deadline of its own."""
    finder: ToolFinder | None = None
    """What finds more tools, where there is a catalog."""
    unknown: Callable[[str, Principal | None], AnyResult]
    """The answer to a name that no tool has, or that this principal may not see."""

    def mask_unknown(self) -> Mask | None:
        """What hides the arguments of a tool that does not exist: it may be the misspelt name of one."""
        return mask_all if self.has_secrets else None

    def new_id(self) -> str:
        """An id that no other event of any executor has."""
        return f"{self.id}-{next(self.ids)}"
