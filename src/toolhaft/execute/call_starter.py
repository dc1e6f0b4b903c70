"""Creates the active calls of an executor, each with its caller, deadline, budget and parent call."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from toolhaft.core.call import ToolCall
from toolhaft.core.limits import Deadline, earlier
from toolhaft.core.principal import Principal
from toolhaft.execute.active_call import (
    CURRENT,
    IN_POOL,
    ActiveCall,
    CommitScope,
    active_call_class,
    nest_in,
)
from toolhaft.execute.attempts import Attempts
from toolhaft.execute.inputs import check_options, read_calls
from toolhaft.execute.setup import Setup
from toolhaft.execute.steps.limit import takes_turns
from toolhaft.execute.waiting import BLOCKING_WAITER, LOOP_WAITER

_MOST_CALLERS: Final = 10_000
_ENDED_PARENT_S: Final = 60.0


class CallStarter:
    """Creates active calls, and keeps the attempts of each caller.

    Args:
        setup: the settings and state of the executor.
        on_bounded_call: called when a call first has its own principal or deadline: then the chains need
            more steps.
    """

    __slots__ = (
        "_attempts",
        "_attempts_by_caller",
        "_on_bounded_call",
        "_scope",
        "_setup",
        "blocking",
        "loop",
    )

    def __init__(self, setup: Setup, on_bounded_call: Callable[[], None]) -> None:
        self._setup = setup
        self._on_bounded_call = on_bounded_call
        self._scope = CommitScope(
            setup=setup, session=setup.session, resources=setup.resources, deadline=None
        )
        self._attempts = Attempts(setup.limits.circuits)
        self._attempts_by_caller: dict[str, Attempts] = {}
        self.blocking: type[ActiveCall]
        """The class of calls by sync callers."""
        self.loop: type[ActiveCall]
        """The class of calls by async callers."""

    def __getattr__(self, name: str) -> type[ActiveCall]:
        """Make the class for a kind of caller when it is first needed: few executors need both."""
        waiters = {"blocking": BLOCKING_WAITER, "loop": LOOP_WAITER}
        if name not in waiters:
            raise AttributeError(name)
        made = active_call_class(waiters[name], self._scope, self._attempts)
        setattr(self, name, made)
        return made

    def use(self, setup: Setup) -> None:
        """Use another setup for new calls."""
        self._setup = self._scope.setup = setup

    def new_run(self) -> None:
        """Forget the attempts of every caller."""
        self._attempts.new_run()
        self._attempts_by_caller.clear()

    def begin(
        self, call: ToolCall, kind: type[ActiveCall], principal: Principal | None, deadline: Deadline | None
    ) -> ActiveCall:
        """Create one active call."""
        active = kind(call)
        self.bind(active, CURRENT.get(), principal, deadline)
        return active

    def begin_all(
        self,
        calls: Iterable[ToolCall],
        kind: type[ActiveCall],
        principal: Principal | None,
        deadline: Deadline | None,
    ) -> list[ActiveCall]:
        """Create the active calls of one turn, which are one attempt of the model.

        Those that run one at a time join the queue in their order.
        """
        active_calls = [self.begin(call, kind, principal, deadline) for call in read_calls(calls)]
        if len(active_calls) > 1:
            for active in active_calls:
                active.earlier = active.attempts.earlier_failures(active.call.name)
                tool = self._setup.tools.by_name.get(active.call.name)
                if tool is not None and takes_turns(tool):
                    active.ticket = active.scope.queue.join()
        return active_calls

    def bind(
        self,
        active: ActiveCall,
        parent: ActiveCall | None,
        principal: Principal | None,
        deadline: Deadline | None,
    ) -> None:
        """Set the caller, the deadline and the parent of a call."""
        if principal is not None or deadline is not None:
            check_options({"principal": principal, "deadline": deadline})
        setup = self._setup
        active.set_deadline = deadline
        if parent is not None and (not IN_POOL.get() or parent.scope.setup.ids is setup.ids):
            principal = nest_in(active, parent, setup, principal)
            active.set_deadline = earlier(parent.set_deadline, deadline)
            deadline = earlier(deadline, parent.nested_scope().deadline)
            if deadline is None and parent.is_over:  # a deadline makes the step `limit` check the parent
                deadline = Deadline.after(_ENDED_PARENT_S)
        default = setup.permission.principal
        active.principal = default
        if principal is not None and principal != default:
            active.principal = principal
            active.attempts = self._attempts_of(principal)
        if not setup.has_bounded_calls and (active.principal is not default or deadline is not None):
            self._on_bounded_call()
        limits = setup.limits
        active.set_deadline = earlier(limits.deadline, active.set_deadline)
        active.deadline = earlier(limits.deadline, deadline)
        if limits.budget is not None and (left_s := limits.budget.remaining_s()) is not None:
            active.deadline = earlier(active.deadline, Deadline.after(left_s))

    def _attempts_of(self, principal: Principal) -> Attempts:
        if len(self._attempts_by_caller) > _MOST_CALLERS:
            self._attempts_by_caller.clear()
        return self._attempts_by_caller.setdefault(principal.id, Attempts(self._setup.limits.circuits))
