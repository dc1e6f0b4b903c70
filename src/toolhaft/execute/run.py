"""What the steps know about one call on its way.

Knows the nouns; does not know what a step does.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from types import CoroutineType, MappingProxyType
from typing import Any, Final, TypeAlias

from toolhaft.core.call import ToolCall
from toolhaft.core.context import ToolContext, Watcher
from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.core.events import Chunk, Progress
from toolhaft.core.limits import Deadline
from toolhaft.core.principal import Principal
from toolhaft.errors import CallEndedError
from toolhaft.execute.gates import Gate, Ticket
from toolhaft.execute.ledger import Ledger
from toolhaft.execute.setup import Setup
from toolhaft.execute.waiting import Port
from toolhaft.resources import CallResources, ResourceRegistry
from toolhaft.session import Session

_A_WHILE_S: Final = 60.0


class Scope:
    """Where a call lands when it commits: the executor's own state, or the fork of the call around it."""

    __slots__ = ("deadline", "lane", "resources", "session", "setup")

    def __init__(
        self,
        *,
        setup: Setup,
        session: Session,
        resources: ResourceRegistry | CallResources,
        deadline: Deadline | None,
    ) -> None:
        self.setup = setup
        self.session = session
        self.resources = resources
        self.deadline = deadline
        self.lane = Gate()

    def with_resources(self, resources: ResourceRegistry | CallResources) -> Scope:
        """The same scope for an executor that shares the session, and perhaps not the resources."""
        other = Scope(setup=self.setup, session=self.session, resources=resources, deadline=self.deadline)
        other.lane = self.lane
        return other


class Run:
    """One call on its way; the steps write on it what they find out."""

    # defaults stand on the class: a plain call sets only what it has
    params: Any = None
    context: ToolContext | None = None
    deadline: Deadline | None = None
    principal: Principal | None = None
    ticket: Ticket | None = None
    emit: Callable[[Chunk | Progress], None] | None = None
    attempt: int = 1
    trial: float = 0.0
    """Not 0 for the call that tries whether a tool that was left alone works again."""
    repeats: tuple[str, ...] = ()
    changed: dict[str, tuple[object, object]] | None = None
    is_over: bool = False
    is_replay: bool = False
    approved_id: str = ""
    approved_digest: str | None = None
    event_id: str | None = None
    parent_id: str | None = None
    timeout_s: float = 0.0
    depth: int = 0
    around: Run | None = None
    orphan_of: str | None = None
    has_emitted: bool = False
    beats: int = 0
    cached_arguments: dict[str, object] | None = None
    extras: Mapping[str, object] = MappingProxyType({})
    left_extras: Mapping[str, object] = MappingProxyType({})
    began: float = 0.0
    ended: float = 0.0
    """When the handler came back on another thread; whoever waits may hear of it much later."""
    inner_scope: Scope | None = None

    port: Port
    scope: Scope
    ledger: Ledger

    def __init__(self, call: ToolCall) -> None:
        self.call = call

    def again(self) -> Run:
        """The same call for another try: whatever still works on the last one stays cut off."""
        new = type(self)(self.call)
        vars(new).update(vars(self), is_over=False, ended=0.0, context=None, inner_scope=None)
        return new

    def scope_inside(self) -> Scope:
        """Where calls land that the handler makes: on its forks, where it has any, else beside it."""
        if self.inner_scope is None:
            left_s = max(0.0, self.began + self.timeout_s - monotonic())
            deadline = Deadline.after(left_s) if self.deadline is None else self.deadline.within(left_s)
            around = self.scope
            self.inner_scope = Scope(
                setup=around.setup, session=around.session, resources=around.resources, deadline=deadline
            )
        return self.inner_scope

    def left_s(self) -> float | None:
        """Seconds until the deadline, None where there is none."""
        return None if self.deadline is None else self.deadline.remaining()

    def patience_s(self, tool: AnyTool) -> float:
        """How long a call of this tool may wait for its turn."""
        return tool.timeout_s if self.deadline is None else min(tool.timeout_s, self.deadline.remaining())

    def beat(self) -> None:
        """The handler is alive; raises where its call is over."""
        if self.is_over:
            raise CallEndedError(
                f"the call of {self.call.name!r} has ended: whatever is still done is in vain"
            )
        self.beats += 1

    def emit_chunk(self, value: object) -> None:
        """Hand a part of the result to whoever streams this call."""
        if self.emit is not None:
            self.has_emitted = True
            self.emit(Chunk(call_id=self.call.id, value=value))

    def progress(self, done: float | None, total: float | None, message: str) -> None:
        """The handler has come so far."""
        self.beat()
        if self.emit is not None:
            self.emit(Progress(call_id=self.call.id, done=done, total=total, message=message))


def context_of(
    tool: AnyTool,
    setup: Setup,
    run: Run,
    session: Session,
    resources: CallResources,
    *,
    watcher: Watcher | None = None,
) -> ToolContext:
    """The surroundings of one call, on these forks; its deadline includes the tool's own limit."""
    limit_s, deadline = tool.timeout_s, run.deadline
    return ToolContext(
        prompt=setup.prompt,
        rendered_prompt=setup.rendered_prompt,
        adapter=setup.adapter,
        session=session,
        deadline=Deadline.after(limit_s) if deadline is None else deadline.within(limit_s),
        budget_tracker=setup.budget,
        resources=resources,
        principal=run.principal,
        call=run.call,
        watcher=watcher,
        finder=setup.finder,
    )


CURRENT: ContextVar[Run | None] = ContextVar("toolhaft_run", default=None)
"""The call whose handler runs here; a call made from within it is nested in it."""


def kind_of_run(port: Port, scope: Scope, ledger: Ledger) -> type[Run]:
    """The runs of one executor for one kind of caller: what they share stands on their class."""
    return type("Run", (Run,), {"port": port, "scope": scope, "ledger": ledger})


def nest_in(run: Run, around: Run, setup: Setup, principal: Principal | None) -> Principal | None:
    """Have a call land in the one around it, where they share a session; gives back whose call it is."""
    inside = around.scope_inside()
    run.around = around
    run.depth = around.depth + 1
    run.parent_id = around.event_id
    run.orphan_of = around.call.name if around.is_over else None
    if inside.setup.id == setup.id:  # the setup itself is another one where the prompt was changed meanwhile
        run.scope = inside
        return principal or around.principal
    if inside.setup.session is setup.session:
        shares = inside.setup.resources is setup.resources
        run.scope = inside.with_resources(inside.resources if shares else setup.resources)
    return principal


def is_nested(run: Run, setup: Setup) -> bool:
    """True where a handler makes this call, through the executor that runs it or one that shares its session.

    A call of another session is none of these: whoever works there, such as a model with tools of its own,
    has nothing to do with the call around.
    """
    around = run.around
    while around is not None:
        other = around.scope.setup
        if other.id == setup.id or other.session is setup.session:
            return True
        around = around.around
    return False


@contextmanager
def no_calls(run: Run) -> Generator[None]:
    """Have calls refused that are made in here: neither policies nor feedback are part of a handler."""
    over = run.again()
    over.is_over = True
    over.began, over.timeout_s = monotonic(), _A_WHILE_S  # only a call that is bounded is looked at
    token = CURRENT.set(over)
    try:
        yield
    finally:
        CURRENT.reset(token)


Answer: TypeAlias = "AnyResult | CoroutineType[Any, Any, AnyResult]"
Step: TypeAlias = "Callable[[Run], Answer]"
"""Answers at once where nothing has to be waited for, else with something to await."""
Compose: TypeAlias = "Callable[[AnyTool, Setup, Step], Step]"
"""Wraps a step around the inner ones for one tool; gives back the inner ones where it has nothing to do."""


def then(inner: Step, finish: Callable[[Run, AnyResult], AnyResult]) -> Step:
    """The inner steps, with something done to what they give back, now or later."""

    async def later(run: Run, answer: CoroutineType[Any, Any, AnyResult]) -> AnyResult:
        return finish(run, await answer)

    def step(run: Run) -> Answer:
        answer = inner(run)
        return later(run, answer) if type(answer) is CoroutineType else finish(run, answer)

    return step


async def arrive(answer: Answer) -> AnyResult:
    """The result, waited for where it is not there yet."""
    return await answer if type(answer) is CoroutineType else answer
