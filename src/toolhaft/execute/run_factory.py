"""Begins the runs of an executor: binds each call to its caller, deadline, budget and parent call."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from toolhaft.core.call import ToolCall
from toolhaft.core.limits import Deadline, earlier
from toolhaft.core.principal import Principal
from toolhaft.execute.attempts import Attempts
from toolhaft.execute.inputs import check_options, read_calls
from toolhaft.execute.run import CURRENT, CallRun, CommitScope, nest_in, run_class
from toolhaft.execute.setup import Setup
from toolhaft.execute.steps.limit import takes_turns
from toolhaft.execute.waiting import BLOCKING_WAITER, LOOP_WAITER

_MOST_CALLERS: Final = 10_000


class RunFactory:
    """Begins runs; keeps the attempts of each caller.

    Args:
        setup: of the executor.
        on_callers: called when a call has its own principal or deadline for the first time: then the chains
            need steps that they did not need before.
    """

    __slots__ = ("_attempts", "_attempts_by_caller", "_on_callers", "_scope", "_setup", "blocking", "loop")

    def __init__(self, setup: Setup, on_callers: Callable[[], None]) -> None:
        self._setup = setup
        self._on_callers = on_callers
        self._scope = CommitScope(
            setup=setup, session=setup.session, resources=setup.resources, deadline=None
        )
        self._attempts = Attempts(setup.limits.circuits)
        self._attempts_by_caller: dict[str, Attempts] = {}
        self.blocking = run_class(BLOCKING_WAITER, self._scope, self._attempts)
        """The class of runs for sync callers."""
        self.loop = run_class(LOOP_WAITER, self._scope, self._attempts)
        """The class of runs for async callers."""

    def use(self, setup: Setup) -> None:
        """Begin runs with another setup from now on."""
        self._setup = self._scope.setup = setup

    def new_run(self) -> None:
        """Forget the attempts of every caller."""
        self._attempts.new_run()
        self._attempts_by_caller.clear()

    def begin(
        self, call: ToolCall, kind: type[CallRun], principal: Principal | None, deadline: Deadline | None
    ) -> CallRun:
        """Begin the run of one call."""
        run = kind(call)
        self.bind(run, CURRENT.get(), principal, deadline)
        return run

    def begin_all(
        self,
        calls: Iterable[ToolCall],
        kind: type[CallRun],
        principal: Principal | None,
        deadline: Deadline | None,
    ) -> list[CallRun]:
        """Begin the runs of one turn; those that run one at a time join the queue in the model's order."""
        runs = [self.begin(call, kind, principal, deadline) for call in read_calls(calls)]
        if len(runs) > 1:
            for run in runs:
                tool = self._setup.tools.by_name.get(run.call.name)
                if tool is not None and takes_turns(tool):
                    run.ticket = run.scope.queue.join()
        return runs

    def bind(
        self, run: CallRun, parent: CallRun | None, principal: Principal | None, deadline: Deadline | None
    ) -> None:
        """Set what bounds this call: its caller, its deadline, the budget, the call that it is nested in."""
        if principal is not None or deadline is not None:
            check_options({"principal": principal, "deadline": deadline})
        setup = self._setup
        if parent is not None:
            principal = nest_in(run, parent, setup, principal)
            deadline = earlier(deadline, parent.scope_inside().deadline)
        default = setup.permission.principal
        run.principal = default
        if principal is not None and principal != default:
            run.principal = principal
            run.attempts = self._attempts_of(principal)
        if not setup.has_callers and (run.principal is not default or deadline is not None):
            self._on_callers()
        limits = setup.limits
        run.deadline = earlier(limits.deadline, deadline)
        if limits.budget is not None and (left_s := limits.budget.remaining_s()) is not None:
            run.deadline = earlier(run.deadline, Deadline.after(left_s))

    def _attempts_of(self, principal: Principal) -> Attempts:
        if len(self._attempts_by_caller) > _MOST_CALLERS:
            self._attempts_by_caller.clear()
        return self._attempts_by_caller.setdefault(principal.id, Attempts(self._setup.limits.circuits))
