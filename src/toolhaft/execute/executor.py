"""The executor: runs calls of tools through the steps of the call pipeline."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import aclosing
from dataclasses import replace
from threading import Lock
from types import CoroutineType, MappingProxyType
from typing import Any, Final, Self

from toolhaft.core.call import ToolCall
from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.core.events import Beat, Chunk, Progress
from toolhaft.core.limits import Budget, BudgetTracker, Deadline, RetryPolicy
from toolhaft.core.options import refuse_unknown_keywords
from toolhaft.core.principal import Principal
from toolhaft.core.result import LONGEST_OUTPUT
from toolhaft.errors import UnknownToolError
from toolhaft.execute.active_call import CURRENT, ActiveCall
from toolhaft.execute.approval import ApprovalAnswer, CallPolicy, PendingApproval, read_approval
from toolhaft.execute.attempts import CircuitBreaker, Circuits
from toolhaft.execute.call_starter import CallStarter
from toolhaft.execute.direct import direct_call
from toolhaft.execute.found_tools import DEFAULT_FOUND, FoundTools
from toolhaft.execute.inputs import CatalogSearch, check_options, gather_tools, not_a_call, read_allowed
from toolhaft.execute.model_turn import collect_results, leave_queue, outcome_of, run_call, stream
from toolhaft.execute.pipeline import Chains, Observer, Step, StepAnswer, ToolStep, resolve
from toolhaft.execute.prompt_parts import PromptParts, read_prompt, required_port
from toolhaft.execute.result_memory import ResultMemory
from toolhaft.execute.running_calls import RunningCall
from toolhaft.execute.setup import CallLimits, EventIds, HandlerInputs, Permission, Setup, ToolSet
from toolhaft.execute.steps import (
    invoke,
    limit,
    permit,
    present,
    prompt_policies,
    remember,
    retry,
    transact,
    validate,
    watch,
)
from toolhaft.execute.waiting import run_all, run_one
from toolhaft.execute.workers import Stats, Workers
from toolhaft.resources import ResourceRegistry
from toolhaft.session import Session

PIPELINE: Final[tuple[Observer | ToolStep, ...]] = (
    Observer("trace", watch.trace),
    Observer("record", watch.record),
    Observer("feedback", present.feedback),
    ToolStep("truncate", present.truncate),
    ToolStep("mask", present.mask),
    ToolStep("access", permit.access),
    ToolStep("limit", limit.limit),
    ToolStep("parse", validate.parse, compose_keyed=validate.parse_keyed),
    ToolStep("no_repeat", limit.no_repeat),
    ToolStep("permit", permit.permit),
    ToolStep("take_turns", limit.take_turns),
    ToolStep("policy_replays", prompt_policies.policy_replays),
    ToolStep("remember", remember.remember, compose_keyed=remember.remember_keyed),
    ToolStep("max_repeats", limit.max_repeats),
    ToolStep("rate", limit.rate),
    ToolStep("max_parallel", limit.max_parallel),
    ToolStep("prompt_policies", prompt_policies.prompt_policies),
    ToolStep("extras", invoke.extras),
    ToolStep("retry", retry.retry),
    ToolStep("nest", transact.nest),
    ToolStep("transact", transact.transact),
    ToolStep("verify", validate.verify),
    ToolStep("invoke", invoke.invoke),
)
"""The steps of a call, from the outside in. The chain of a tool has only those that it needs."""


@refuse_unknown_keywords
class ToolExecutor:
    """Runs the calls of a model: each call gets exactly one ToolResult, whatever happens to other calls.

    Args:
        tools: tools defined in any way, in lists of any nesting, and ids if there is a catalog.
        session: where successful calls commit to; by default a new one.
        resources: what handlers can use through their context, by type.
        principal: the caller of each call for which no other one is given.
        allow: names or tools that may be used: None allows all of them, [] none.
        policy: decides about each call by its final arguments: 'allow', 'deny' or 'ask'.
        runtime: values that class tools receive together with their inputs.
        prompt: a Prompt gives tools, resources, policies, feedback providers and perhaps the session; any
            other object is only passed on to handlers.
        rendered_prompt: the rendered prompt, by default rendered here.
        adapter: passed on to handlers.
        catalog: any object with `get_tool(id)`; if it also has `search`, `find_tools` can add more tools.
        deadline: the end of the whole run.
        budget: how many calls, tokens and seconds the run may use.
        retry: when a failed call is retried automatically, if its effect allows it.
        breaker: when a tool that keeps failing is refused for a while.
        max_repeats: how often the same call may be made in a row; None sets no limit.
        max_output_chars: how much of a result the model is shown; the value stays whole.
        max_found_tools: how many tools that `find_tools` added stay open; of more, the least recently used
            are closed. None sets no limit; with 0, tools are found but not added.
        max_threads: the size of its own pool for sync handlers; by default a pool of 256 is shared.
        max_processes, process_memory_bytes: for tools with `isolation="process"`.

    Raises:
        DefinitionError: if a tool's definition is not valid, or two tools have the same name.
        TypeError, ValueError: for an option that is not valid.
    """

    def __init__(
        self,
        tools: object = (),
        *,
        session: Session | None = None,
        resources: Mapping[type[Any], object] | ResourceRegistry | None = None,
        principal: Principal | None = None,
        allow: Iterable[object] | None = None,
        policy: CallPolicy | None = None,
        runtime: Mapping[str, object] | None = None,
        prompt: object = None,
        rendered_prompt: object = None,
        adapter: object = None,
        catalog: Any = None,  # noqa: ANN401 -- any object with `get_tool(id)`
        deadline: Deadline | None = None,
        budget: Budget | BudgetTracker | None = None,
        retry: RetryPolicy | None = None,
        breaker: CircuitBreaker | None = None,
        max_repeats: int | None = None,
        max_output_chars: int = LONGEST_OUTPUT,
        max_found_tools: int | None = DEFAULT_FOUND,
        max_threads: int | None = None,
        max_processes: int | None = None,
        process_memory_bytes: int | None = 2 * 1024**3,
    ) -> None:
        check_options(locals())
        parts = read_prompt(prompt, rendered_prompt, session)
        self._given_tools = gather_tools(tools, catalog)
        self._tools = parts.tools_with(self._given_tools)
        self._search = CatalogSearch(catalog, self._access_refusal, self._add_tools, max_found_tools)
        self._setup: Setup = Setup(
            session=parts.session,
            resources=parts.resources_with(resources),
            permission=Permission(
                principal=principal, allow=None if allow is None else read_allowed(allow), policy=policy
            ),
            limits=CallLimits(
                deadline=deadline,
                budget=BudgetTracker(budget) if isinstance(budget, Budget) else budget,
                retry=retry,
                circuits=Circuits(breaker or CircuitBreaker()),
                max_repeats=max_repeats,
                max_output_chars=max_output_chars,
            ),
            prompt=parts,
            tools=ToolSet(self._tools, FoundTools(max_found_tools)),
            inputs=HandlerInputs(runtime=dict(runtime or {}), adapter=adapter, finder=self._search),
            workers=Workers.create(
                max_threads=max_threads,
                max_processes=max_processes,
                process_memory_bytes=process_memory_bytes,
            ),
            memory=ResultMemory(),
            ids=EventIds(),
        )
        self._prepare()

    def _prepare(self) -> None:
        """Create what depends on the setup: the call starter, the chains, the worker processes."""
        setup = self._setup
        self._changing = Lock()
        self._starter = CallStarter(setup, self._compose_for_bounded_calls)
        self._is_bounded = setup.is_bounded
        self._use_chains(Chains(setup, PIPELINE, direct_call))
        setup.workers.processes.prepare(self._tools)
        if not setup.prompt.has_own_session:
            watch.keep_log(setup.session)
        setup.session.dispatcher.on_change(self._compose_again)

    @property
    def tools(self) -> Mapping[str, AnyTool]:
        """Every tool by name."""
        return MappingProxyType(self._tools)

    def offered_tools(self) -> list[AnyTool]:
        """The tools for `export_tools(executor, ...)`: all that it allows, and its own principal may use."""
        return permit.offered_tools(self._setup)

    @property
    def session(self) -> Session:
        """The session that successful calls commit to."""
        return self._setup.session

    @property
    def resources(self) -> ResourceRegistry:
        """The resources of calls."""
        return self._setup.resources

    @property
    def prompt(self) -> Any:  # noqa: ANN401 -- a Prompt, whose package is above this one, or the user's object
        """The prompt."""
        return self._setup.prompt.prompt

    @property
    def rendered_prompt(self) -> Any:  # noqa: ANN401 -- a RenderedPrompt, for the same reason
        """The prompt as it was rendered for the model."""
        return self._setup.prompt.rendered

    @property
    def budget_tracker(self) -> BudgetTracker | None:
        """What has been used of the budget."""
        return self._setup.limits.budget

    @property
    def stats(self) -> Stats:
        """Counts and durations per tool, and how many handlers were abandoned, were killed or overran."""
        return self._setup.workers.stats

    @property
    def running(self) -> tuple[RunningCall, ...]:
        """The calls whose handlers run now, oldest first: since when, and when each last beat."""
        return self._setup.workers.running.list()

    def pipeline(self, name: str) -> tuple[str, ...]:
        """The names of the steps that calls of a tool pass through, from the outside in.

        For calls without an idempotency key; a key adds `remember`.

        Raises:
            UnknownToolError: (a KeyError) if there is no such tool; names the nearest one.
        """
        tool = self._tools.get(name)
        if tool is None:
            raise UnknownToolError(f"no tool is called {name!r:.140}. {self._setup.tools.advice(str(name))}")
        return self._chains.names(tool)

    def execute(
        self,
        call: ToolCall,
        *,
        principal: Principal | None = None,
        deadline: Deadline | None = None,
        idempotency_key: str | None = None,
    ) -> AnyResult:
        """Run one call and wait for its result; works with or without a running event loop.

        `idempotency_key` replaces the call's own; a key that was used before returns the recorded result.

        Raises:
            PromptEvaluationError, VisibilityExpansionRequired, KeyboardInterrupt: if a handler raised them.
        """
        if idempotency_key is not None:
            call = call.with_key(idempotency_key)
        answer = self._start(call, self._starter.blocking, principal, deadline)
        result = run_one(answer) if type(answer) is CoroutineType else answer
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
        """Like `execute`, for async callers."""
        if idempotency_key is not None:
            call = call.with_key(idempotency_key)
        answer = self._start(call, self._starter.loop, principal, deadline)
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
        """Run the calls of one model turn, in parallel or one at a time, depending on their effects.

        Raises:
            PromptEvaluationError, VisibilityExpansionRequired, KeyboardInterrupt: like `execute`, after all
                calls have ended; the exception has the `.results` of all calls, and requests all sections
                that they request.
        """
        active_calls = self._starter.begin_all(calls, self._starter.blocking, principal, deadline)
        try:
            return collect_results(
                *run_all([run_call(self._chains, active) for active in active_calls]), active_calls
            )
        finally:
            leave_queue(active_calls)

    async def aexecute_all(
        self,
        calls: Iterable[ToolCall],
        *,
        principal: Principal | None = None,
        deadline: Deadline | None = None,
    ) -> list[AnyResult]:
        """Like `execute_all`, for async callers."""
        active_calls = self._starter.begin_all(calls, self._starter.loop, principal, deadline)
        tasks = [asyncio.ensure_future(run_call(self._chains, active)) for active in active_calls]
        try:
            await asyncio.wait(tasks) if tasks else None
        except asyncio.CancelledError as error:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            outcomes = [error if task.cancelled() else outcome_of(task) for task in tasks]
            return collect_results(outcomes, error, active_calls)
        finally:
            leave_queue(active_calls)
        return collect_results([outcome_of(task) for task in tasks], None, active_calls)

    async def astream(
        self, call: ToolCall, *, principal: Principal | None = None, deadline: Deadline | None = None
    ) -> AsyncIterator[Beat | Chunk | Progress | AnyResult]:
        """Every chunk, progress report and beat of a call while it runs, then its result."""
        active = self._starter.begin_all([call], self._starter.loop, principal, deadline)[0]
        async with aclosing(stream(active, self._chains.find(call))) as items:
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
            ValueError: if `pending` is not a stored approval.
        """
        active, chain = self._begin_approved(pending, approval, self._starter.blocking, principal)
        return collect_results(*run_all([resolve(chain(active))]), [active])[0]

    async def aresume(
        self,
        pending: PendingApproval | str | Mapping[str, object],
        approval: ApprovalAnswer,
        *,
        principal: Principal | None = None,
    ) -> AnyResult:
        """Like `resume`, for async callers."""
        active, chain = self._begin_approved(pending, approval, self._starter.loop, principal)
        result = await resolve(chain(active))
        result.call = active.call
        return result

    def change_prompt(self, prompt: object) -> None:
        """Use the tools, policies and feedback providers of another prompt from now on, and render it.

        Everything else stays: session, resources, the tools given as `tools`, counts and recorded results.
        After a VisibilityExpansionRequired:
        `executor.change_prompt(executor.prompt.with_visibility(error.requested_overrides))`.

        Raises:
            TypeError: if it is not a prompt.
            PromptValidationError, PromptEvaluationError: if it cannot be rendered; nothing is changed.
            DefinitionError: if two tools have the same name, or a handler cannot be sent to its process.
        """
        parts = read_prompt(required_port(prompt), None, self._setup.session)
        with self._changing:
            self._use(*self._setup.tools.found.beside(parts.tools_with(self._given_tools)), parts)

    def find_tools(
        self, text: str, *, limit: int = 5, principal: Principal | None = None
    ) -> tuple[AnyTool, ...]:
        """Find the tools of the catalog that match a text best and that this caller may use, and add them.

        A tool that the executor already has under the same name is not replaced.

        Raises:
            ResourceMissingError: if there is no catalog that can be searched.
        """
        check_options({"principal": principal})
        caller = principal or self._setup.permission.principal
        return self._search.find_tools(text, limit=limit, principal=caller)

    def _access_refusal(self, tool: AnyTool, principal: Principal | None) -> AnyResult | None:
        return permit.access_refusal(tool, self._setup, principal)

    def _add_tools(self, found: Iterable[AnyTool]) -> Mapping[str, AnyTool]:
        with self._changing:
            changed = self._setup.tools.found.add(found, self._tools)
            if changed is not None:
                self._use(*changed, self._setup.prompt)
            return self._tools

    def _use(self, tools: dict[str, AnyTool], found: FoundTools, parts: PromptParts) -> None:
        """Use these tools and this prompt for new calls; running calls keep theirs."""
        self._setup.workers.processes.prepare(tools)
        self._setup = replace(self._setup, prompt=parts, tools=ToolSet(tools, found))
        self._starter.use(self._setup)
        self._tools = tools
        self._use_chains(Chains(self._setup, PIPELINE, direct_call))

    def _use_chains(self, chains: Chains) -> None:
        self._chains, self._direct_calls = chains, {} if self._is_bounded else chains.direct

    def new_run(self) -> None:
        """Begin a new run of the model: every tool has all of its attempts again."""
        with self._changing:
            self._setup.ids.new_run()
        self._starter.new_run()
        self._chains.clear()  # a tracer may have been set since

    def close(self) -> None:
        """End its processes and its own threads, and close the resources that it created."""
        self.end_workers()
        self._setup.resources.close()

    def forget_results(self) -> None:
        """Free the memory of recorded results; idempotency keys that must not be used again stay."""
        self._setup.memory.forget_results()

    def end_workers(self) -> None:
        """End its processes and its own threads; the next call starts new ones."""
        self._setup.workers.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<ToolExecutor of {len(self._tools)} tools>"

    def _start(
        self, call: ToolCall, kind: type[ActiveCall], principal: Principal | None, deadline: Deadline | None
    ) -> StepAnswer:
        """Start a call; does little for a plain one, for speed."""
        parent = CURRENT.get()
        is_alone = parent is None and principal is None and deadline is None
        try:
            direct = self._direct_calls.get(call.name) if call.idempotency_key is None else None
        except AttributeError:
            raise not_a_call(call) from None
        if direct is not None and is_alone:
            return direct(call, kind)
        active = kind(call)
        if self._is_bounded or not is_alone:
            self._starter.bind(active, parent, principal, deadline)
        return self._chains.find(call)(active)

    def _begin_approved(
        self,
        stored: PendingApproval | str | Mapping[str, object],
        answer: ApprovalAnswer,
        kind: type[ActiveCall],
        principal: Principal | None,
    ) -> tuple[ActiveCall, Step]:
        pending = stored if isinstance(stored, PendingApproval) else PendingApproval.from_json(stored)
        approval = read_approval(answer)
        active = self._starter.begin(pending.to_call(), kind, principal, None)
        active.approved = pending
        tool = self._tools.get(pending.tool)
        refusal = permit.approval_refusal(pending, approval, tool, self._setup, active.principal)
        if refusal is None:
            return active, self._chains.find(active.call)
        return active, self._chains.observed(tool, lambda _: refusal)

    def _compose_again(self) -> None:
        self._chains.clear()

    def _compose_for_bounded_calls(self) -> None:
        """Compose the chains again, with the steps for calls that have their own principal or deadline."""
        with self._changing:
            self._setup.has_bounded_calls = True
            self._chains.clear()
