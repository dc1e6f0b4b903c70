"""Runs calls of any mix of tools: every one checked, bounded, undone when it fails, and recorded.

Knows the order of the steps; each step knows its own business.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import aclosing
from dataclasses import replace
from threading import Lock
from types import CoroutineType, MappingProxyType
from typing import Any, Final, Self

from toolhaft.backends.threads import ThreadPool, shared_pool
from toolhaft.core.call import ToolCall
from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.core.events import Chunk, Progress
from toolhaft.core.limits import Budget, BudgetTracker, Deadline, RetryPolicy, earlier
from toolhaft.core.principal import Principal
from toolhaft.core.result import LONGEST_OUTPUT
from toolhaft.execute.answers import answer_of, settle_answers
from toolhaft.execute.approval import ApprovalAnswer, PendingApproval, Policy, read_answer
from toolhaft.execute.chains import Chains, arrive_at, leave_queue
from toolhaft.execute.finding import Finder
from toolhaft.execute.gathering import check_options, gather_tools, not_a_call, read_allowed, read_calls
from toolhaft.execute.ledger import CircuitBreaker, Circuits, Ledger
from toolhaft.execute.memory import Memory
from toolhaft.execute.processes import Processes
from toolhaft.execute.prompting import Prompting, needed_port, read_prompt
from toolhaft.execute.run import CURRENT, Answer, Compose, Run, Scope, Step, arrive, kind_of_run, nest_in
from toolhaft.execute.setup import Setup
from toolhaft.execute.stats import Stats
from toolhaft.execute.steps import (
    access,
    advise,
    at_once,
    conceal,
    hand_on,
    heed,
    invoke,
    limit,
    nest,
    once,
    parse,
    permit,
    rate,
    record,
    remember,
    retry,
    shorten,
    trace,
    transact,
    turn,
    verify,
)
from toolhaft.execute.streaming import stream
from toolhaft.execute.waiting import BLOCKING, LOOP, finish, finish_one
from toolhaft.resources import ResourceRegistry
from toolhaft.session import Session

STEPS: Final[tuple[Compose, ...]] = (
    trace.compose,
    record.compose,
    advise.compose,
    shorten.compose,
    conceal.compose,
    access.compose,
    limit.compose,
    parse.compose,
    once.compose,
    permit.compose,
    turn.compose,
    heed.compose_replays,
    remember.compose,
    rate.compose,
    heed.compose,
    hand_on.compose,
    retry.compose,
    at_once.compose,
    nest.compose,
    transact.compose,
    verify.compose,
    invoke.compose,
)
"""The road of a call, from the outside in."""
_MOST_CALLERS: Final = 10_000


class ToolExecutor:
    """Runs what a model asks for: each call gives exactly one ToolResult, whatever happens beside it.

    Args:
        tools: objects from any door, nested as they come, and ids where a catalog is given.
        session: where successful calls commit to; a new one by default.
        resources: what handlers may touch through their context, by type.
        principal: who calls, unless a call says otherwise.
        allow: names or tools that may be used: None is all of them, [] none.
        policy: sees each call's final arguments and answers 'allow', 'deny' or 'ask'.
        runtime: values that class tools are called with beside their inputs.
        prompt: brings tools, resources, policies, feedback, perhaps the session; anything but a Prompt is
            handed to handlers as it is.
        rendered_prompt: its rendering, by default made here.
        adapter: handed to handlers as it is.
        catalog: anything with `get_tool(id)`; with `search`, more tools can be found while it runs.
        deadline: when the whole run must be over.
        budget: how many calls, tokens and seconds the run may take.
        retry: when a failed call is repeated by itself, where its effect allows.
        breaker: when a tool that keeps failing is left alone.
        max_repeats: how often the same call may be made in a row; None does not count.
        max_output_chars: how much of a result the model is shown; the value stays whole.
        max_threads: a pool of its own for sync handlers; by default one of 256 is shared.
        max_processes, process_memory_bytes: for tools with `isolation="process"`.

    Raises:
        DefinitionError: where a tool cannot be made as written, or two have one name.
        TypeError, ValueError: for an option that makes no sense.
    """

    def __init__(
        self,
        tools: object = (),
        *,
        session: Session | None = None,
        resources: Mapping[type, object] | ResourceRegistry | None = None,
        principal: Principal | None = None,
        allow: Iterable[object] | None = None,
        policy: Policy | None = None,
        runtime: Mapping[str, object] | None = None,
        prompt: object = None,
        rendered_prompt: object = None,
        adapter: object = None,
        catalog: Any = None,  # noqa: ANN401 -- anything with `get_tool(id)`
        deadline: Deadline | None = None,
        budget: Budget | BudgetTracker | None = None,
        retry: RetryPolicy | None = None,
        breaker: CircuitBreaker | None = None,
        max_repeats: int | None = None,
        max_output_chars: int = LONGEST_OUTPUT,
        max_threads: int | None = None,
        max_processes: int | None = None,
        process_memory_bytes: int | None = 2 * 1024**3,
    ) -> None:
        check_options(locals())
        told = read_prompt(prompt, rendered_prompt, session)
        self._told, self._given_tools = told, gather_tools(tools, catalog)
        self._tools = told.tools_with(self._given_tools)
        self._finder = Finder(catalog, lambda: self._setup, self._open_tools)
        pool = shared_pool() if max_threads is None else ThreadPool(max_threads)
        self._owns_threads = max_threads is not None
        self._processes = Processes(max_processes, process_memory_bytes)
        self._setup = Setup(
            session=told.session,
            resources=told.resources_with(resources),
            principal=principal,
            allow=None if allow is None else read_allowed(allow),
            policy=policy,
            runtime=dict(runtime or {}),
            adapter=adapter,
            deadline=deadline,
            budget=BudgetTracker(budget) if isinstance(budget, Budget) else budget,
            retry=retry,
            threads=pool,
            processes=self._processes,
            stats=Stats(pool),
            memory=Memory(),
            circuits=Circuits(breaker or CircuitBreaker()),
            max_output_chars=max_output_chars,
            max_repeats=max_repeats,
            id=secrets.token_hex(8),
            run_id=secrets.token_hex(8),
            finder=self._finder,
            **told.taken(self._tools),
        )
        self._wire(keeps_log=told.is_given)

    def _wire(self, *, keeps_log: bool) -> None:
        """What calls need that nobody gives: the scope they land in, their counts, their chains."""
        setup = self._setup
        self._changing = Lock()
        self._root = Scope(setup=setup, session=setup.session, resources=setup.resources, deadline=None)
        self._ledgers: dict[str, Ledger] = {}
        self._ledger = Ledger(setup.circuits)
        self._blocking_run = kind_of_run(BLOCKING, self._root, self._ledger)
        self._loop_run = kind_of_run(LOOP, self._root, self._ledger)
        self._chains = Chains(self._tools, setup, STEPS)
        self._plain_chains = self._chains.plain
        self._is_bounded = (setup.principal, setup.deadline, setup.budget) != (None, None, None)
        self._processes.prepare(self._tools)
        if keeps_log:
            record.keep_log(setup.session)
        setup.session.dispatcher.on_change(self._recompose)

    @property
    def tools(self) -> Mapping[str, AnyTool]:
        """Every tool by name."""
        return MappingProxyType(self._tools)

    @property
    def session(self) -> Session:
        """The session that successful calls commit to."""
        return self._setup.session

    @property
    def resources(self) -> ResourceRegistry:
        """What calls may touch."""
        return self._setup.resources

    @property
    def prompt(self) -> Any:  # noqa: ANN401 -- a Prompt mostly, whose room is above this one; else whatever was given
        """The prompt that calls are made under, as it was given."""
        return self._setup.prompt

    @property
    def rendered_prompt(self) -> Any:  # noqa: ANN401 -- its rendering, for the same reason
        """What the model is shown of it."""
        return self._setup.rendered_prompt

    @property
    def budget_tracker(self) -> BudgetTracker | None:
        """What has been used of the budget."""
        return self._setup.budget

    @property
    def stats(self) -> Stats:
        """What was abandoned, killed or overran, counted in the open."""
        return self._setup.stats

    def execute(
        self,
        call: ToolCall,
        *,
        principal: Principal | None = None,
        deadline: Deadline | None = None,
        idempotency_key: str | None = None,
    ) -> AnyResult:
        """Run one call and wait for its result; works with or without a running event loop.

        `idempotency_key` stands for the call's own: a key that was seen before gets the recorded result.

        Raises:
            PromptEvaluationError, VisibilityExpansionRequired: where a handler raised them (seed 003).
        """
        if idempotency_key is not None:
            call = call.with_key(idempotency_key)
        answer = self._start(call, self._blocking_run, principal, deadline)
        result = finish_one(answer) if type(answer) is CoroutineType else answer
        result.call = call
        return result

    async def aexecute(
        self,
        call: ToolCall,
        *,
        principal: Principal | None = None,
        deadline: Deadline | None = None,
        idempotency_key: str | None = None,
    ) -> AnyResult:
        """The same for async callers."""
        if idempotency_key is not None:
            call = call.with_key(idempotency_key)
        answer = self._start(call, self._loop_run, principal, deadline)
        result = await answer if type(answer) is CoroutineType else answer
        result.call = call
        return result

    def execute_all(
        self,
        calls: Iterable[ToolCall],
        *,
        principal: Principal | None = None,
        deadline: Deadline | None = None,
    ) -> list[AnyResult]:
        """Run the calls of one model turn: side by side or one at a time, as their effects say.

        Raises:
            PromptEvaluationError, VisibilityExpansionRequired: as `execute`, once every sibling has finished;
                the exception carries all `.results`, and asks for every section that a call asked for.
        """
        runs = self._begin_all(calls, self._blocking_run, principal, deadline)
        try:
            return settle_answers(finish([arrive_at(self._chains, run) for run in runs]), runs)
        finally:
            leave_queue(runs)

    async def aexecute_all(
        self,
        calls: Iterable[ToolCall],
        *,
        principal: Principal | None = None,
        deadline: Deadline | None = None,
    ) -> list[AnyResult]:
        """The same for async callers."""
        runs = self._begin_all(calls, self._loop_run, principal, deadline)
        tasks = [asyncio.ensure_future(arrive_at(self._chains, run)) for run in runs]
        try:
            await asyncio.wait(tasks) if tasks else None
        except asyncio.CancelledError:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            raise
        finally:
            leave_queue(runs)
        return settle_answers([answer_of(task) for task in tasks], runs)

    async def astream(
        self, call: ToolCall, *, principal: Principal | None = None, deadline: Deadline | None = None
    ) -> AsyncIterator[Chunk | Progress | AnyResult]:
        """Every chunk and every report of progress as it comes, then the result."""
        run = self._begin_all([call], self._loop_run, principal, deadline)[0]
        async with aclosing(stream(run, self._chains.find(call))) as items:
            async for item in items:
                yield item

    def resume(
        self,
        pending: PendingApproval | str | Mapping[str, object],
        approval: ApprovalAnswer,
        *,
        principal: Principal | None = None,
    ) -> AnyResult:
        """Run a call that waited for approval, exactly as it was approved, or refuse it.

        Raises:
            ValueError: where `pending` is not a stored approval.
        """
        run, chain = self._begin_approved(pending, approval, self._blocking_run, principal)
        return settle_answers(finish([arrive(chain(run))]), [run])[0]

    async def aresume(
        self,
        pending: PendingApproval | str | Mapping[str, object],
        approval: ApprovalAnswer,
        *,
        principal: Principal | None = None,
    ) -> AnyResult:
        """The same for async callers."""
        run, chain = self._begin_approved(pending, approval, self._loop_run, principal)
        result = await arrive(chain(run))
        result.call = run.call
        return result

    def change_prompt(self, prompt: object) -> None:
        """Take tools, policies and feedback from another prompt, rendered anew, from now on.

        All else stays: session, resources, the tools given as `tools`, whatever was counted or remembered.
        After a VisibilityExpansionRequired:
        `executor.change_prompt(executor.prompt.with_visibility(error.requested_overrides))`.

        Raises:
            TypeError: for what is no prompt.
            PromptValidationError, PromptEvaluationError: where it cannot be rendered; nothing is changed.
            DefinitionError: where two tools have one name, or a handler cannot travel to its process.
        """
        told = read_prompt(needed_port(prompt), None, self._setup.session)
        with self._changing:
            self._have(told.tools_with(self._given_tools), told)

    def find_tools(
        self, text: str, *, limit: int = 5, principal: Principal | None = None
    ) -> tuple[AnyTool, ...]:
        """The tools of the catalog that fit a text best, of those that this caller may use; then it has them.

        A tool that it has under the same name already stays as it is.

        Raises:
            ResourceMissingError: where there is no catalog that can be searched.
        """
        check_options({"principal": principal})
        return self._finder.find_tools(text, limit=limit, principal=principal or self._setup.principal)

    def _open_tools(self, found: Iterable[AnyTool]) -> Mapping[str, AnyTool]:
        with self._changing:
            fresh = {tool.name: tool for tool in found if tool.name not in self._tools}
            if fresh:
                self._given_tools = {**self._given_tools, **fresh}
                self._have({**self._tools, **fresh}, self._told)
            return self._tools

    def _have(self, tools: dict[str, AnyTool], told: Prompting) -> None:
        """Run these tools from now on; calls under way end as they began."""
        self._processes.prepare(tools)
        self._told = told
        setup = self._root.setup = self._setup = replace(self._setup, **told.taken(tools))
        self._tools, self._chains = tools, Chains(tools, setup, STEPS)
        self._plain_chains = self._chains.plain

    def new_run(self) -> None:
        """Begin a new run of the model: every tool has all of its attempts again."""
        with self._changing:
            self._setup.run_id = secrets.token_hex(8)
        self._ledger.new_run()
        self._ledgers.clear()
        self._chains.clear()  # a tracer may have been set since

    def close(self) -> None:
        """End its processes, its own threads and the resources that it made."""
        self.end_workers()
        self._setup.resources.close()

    def end_workers(self) -> None:
        """End the processes and the threads of its own; the next call starts others."""
        self._processes.close()
        if self._owns_threads:
            self._setup.threads.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<ToolExecutor of {len(self._tools)} tools>"

    def _start(
        self, call: ToolCall, kind: type[Run], principal: Principal | None, deadline: Deadline | None
    ) -> Answer:
        """Send a call on its way; as little as can be for one that nothing bounds but its tool."""
        run = kind(call)
        around = CURRENT.get()
        if around is not None or self._is_bounded or principal is not None or deadline is not None:
            self._bound(run, around, principal, deadline)
        try:
            chain = self._plain_chains.get(call.name)
        except AttributeError:
            raise not_a_call(call) from None
        if chain is None or call.idempotency_key is not None:
            chain = self._chains.find(call)
        return chain(run)

    def _begin(
        self, call: ToolCall, kind: type[Run], principal: Principal | None, deadline: Deadline | None
    ) -> Run:
        run = kind(call)
        self._bound(run, CURRENT.get(), principal, deadline)
        return run

    def _bound(
        self, run: Run, around: Run | None, principal: Principal | None, deadline: Deadline | None
    ) -> None:
        """What bounds this call more than another: a caller, a deadline, a budget, a call around it."""
        if principal is not None or deadline is not None:
            check_options({"principal": principal, "deadline": deadline})
        setup = self._setup
        if around is not None:
            principal = nest_in(run, around, setup, principal)
            deadline = earlier(deadline, around.scope_inside().deadline)
        run.principal = setup.principal
        if principal is not None and principal != setup.principal:
            run.principal = principal
            if len(self._ledgers) > _MOST_CALLERS:
                self._ledgers.clear()
            run.ledger = self._ledgers.setdefault(principal.id, Ledger(setup.circuits))
        if not setup.has_callers and (run.principal is not setup.principal or deadline is not None):
            with self._changing:  # of the chains that are there now
                self._setup.has_callers = True
                self._chains.clear()
        run.deadline = earlier(setup.deadline, deadline)
        if setup.budget is not None and (left_s := setup.budget.remaining_s()) is not None:
            run.deadline = earlier(run.deadline, Deadline.after(left_s))

    def _begin_all(
        self,
        calls: Iterable[ToolCall],
        kind: type[Run],
        principal: Principal | None,
        deadline: Deadline | None,
    ) -> list[Run]:
        """The runs of one turn, with places in the queue for those that take turns, in the model's order."""
        runs = [self._begin(call, kind, principal, deadline) for call in read_calls(calls)]
        if len(runs) > 1:
            for run in runs:
                tool = self._tools.get(run.call.name)
                if tool is not None and turn.takes_turns(tool):
                    run.ticket = run.scope.lane.ask()
        return runs

    def _recompose(self) -> None:
        self._chains.clear()

    def _begin_approved(
        self,
        pending: PendingApproval | str | Mapping[str, object],
        approval: ApprovalAnswer,
        kind: type[Run],
        principal: Principal | None,
    ) -> tuple[Run, Step]:
        held = pending if isinstance(pending, PendingApproval) else PendingApproval.from_json(pending)
        answer = read_answer(approval)
        run = self._begin(held.to_call(), kind, principal, None)
        run.approved_id, run.approved_digest = held.id, held.digest
        tool = self._tools.get(held.tool)
        refusal = permit.refusal_of(held, answer, tool, self._setup, run.principal)
        if refusal is None:
            return run, self._chains.find(run.call)
        return run, self._chains.watched(tool, lambda _: refusal)
