"""A call while it is executed: what the steps know about it, and the call that it is nested in."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from math import inf
from time import monotonic
from types import MappingProxyType
from typing import Any, Final, NamedTuple, cast

from pydantic_core import to_jsonable_python

from toolhaft.core.call import ToolCall
from toolhaft.core.canonical_json import canonical_text
from toolhaft.core.context import ToolContext, Watcher
from toolhaft.core.conversion import AnyTool
from toolhaft.core.events import Beat, Chunk, Progress
from toolhaft.core.limits import Deadline
from toolhaft.core.masking import ArgumentMask, SecretTexts, mask_text
from toolhaft.core.principal import Principal
from toolhaft.errors import CallEndedError
from toolhaft.execute.approval import PendingApproval
from toolhaft.execute.attempts import Attempts, EarlierFailures
from toolhaft.execute.setup import Setup
from toolhaft.execute.stall_limit import StallLimit, start_limit_s
from toolhaft.execute.throttling import FairSemaphore, Ticket
from toolhaft.execute.waiting import Waiter
from toolhaft.resources import CallResources, ResourceRegistry
from toolhaft.schema.json_text import read_json, read_object
from toolhaft.schema.json_value import JSONObject
from toolhaft.schema.problems import UnreadArguments
from toolhaft.session import Session

_NO_CALLS_S: Final = 60.0
_LONGEST_RECORD: Final = 10_000
"""Characters of arguments or a result in an event or on a span."""
_BEAT_EVERY_S: Final = 0.1
"""A caller that streams a call gets no more beats than this, however often the handler beats."""


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class CommitScope:
    """Where calls commit: the state of the executor, or the forks of the call that they are nested in."""

    setup: Setup
    session: Session
    resources: ResourceRegistry | CallResources
    deadline: Deadline | None
    queue: FairSemaphore = field(default_factory=FairSemaphore)
    """The queue of the calls that run one at a time."""


class ParentCall(NamedTuple):
    """The call whose handler made this one, if any."""

    parent: ActiveCall | None = None
    depth: int = 0
    parent_ended: bool = False
    """True if the parent had ended before this call began."""


class Report(NamedTuple):
    """What events and spans report about a call, apart from its arguments and its result."""

    attempt: int = 1
    repeats: tuple[str, ...] = ()
    """The message of each failed try before an automatic retry."""
    is_replay: bool = False
    """True if a recorded result was returned."""
    event_id: str | None = None


class CallStream:
    """The receiver of the chunks, the progress and the beats of a streamed call."""

    __slots__ = ("_last_beat", "emit", "has_chunks")

    def __init__(self, emit: Callable[[Beat | Chunk | Progress], None]) -> None:
        self.emit = emit
        self.has_chunks = False
        self._last_beat = -inf

    def beat(self, active: ActiveCall) -> None:
        """Pass a beat on, unless another one was passed on just before."""
        now = active.beat_at
        if now - self._last_beat >= _BEAT_EVERY_S:
            self._last_beat = now
            self.emit(Beat(call_id=active.call.id, running_s=now - (active.began_at or now)))


class ActiveCall:
    """A call while it is executed; a step stores here what other steps need."""

    # the defaults are attributes of the class: a plain call sets only `call` and `params`
    params: Any = None
    """The checked parameters, once `parse` has run."""
    deadline: Deadline | None = None
    """When the call must end: what was set, what a budget leaves, the limit of the call it is nested in."""
    set_deadline: Deadline | None = None
    """The earliest deadline that was set: of the executor, of this call, or of one that it is nested in."""
    principal: Principal | None = None
    nesting: ParentCall = ParentCall()
    approved: PendingApproval | None = None
    """The approval that this call resumes."""
    stream: CallStream | None = None
    report: Report = Report()
    ticket: Ticket | None = None
    """Its place in the queue of its scope, if it joined before it began."""
    earlier: EarlierFailures | None = None
    """The failures of its tool when it began, None if there were none."""
    trial: float = 0.0
    """Not 0 for a trial call, which tests whether the circuit of its tool can be closed."""
    context: ToolContext | None = None
    inner_scope: CommitScope | None = None
    """Where calls that its handler makes commit."""
    took_s: float = 0.0
    """How long its handler took; 0 if it was not run."""
    began_at: float = 0.0
    """When its handler was started, if that can take long, by the monotonic clock."""
    beat_at: float = 0.0
    """When its handler last gave a sign of life, by the monotonic clock; 0 if never."""
    last_progress: Progress | None = None
    stall: StallLimit | None = None
    """The limit of a handler with `stall_s`, once it is started."""
    must_end_at: float = 0.0
    """By the monotonic clock, set by `nest`."""
    ended_at: float = 0.0
    """When the handler returned on another thread; the waiting caller may notice much later."""
    is_over: bool = False
    has_raised: bool = False
    """True if its handler raised an exception, or what it wrote could not be committed."""
    masked_trace: str = ""
    """The traceback of an unexpected exception, if the tool takes secrets."""
    irreversible_calls: Sequence[str] = ()
    """The tools that calls of its handler have run, and whose effects no rollback can undo."""
    extras: Mapping[str, object] = MappingProxyType({})
    """The `ToolResponse.extras` of the previous class tool, for this call."""
    next_extras: Mapping[str, object] = MappingProxyType({})
    """The `ToolResponse.extras` of this class tool, for the next call."""
    given: JSONObject | None = None
    """The JSON that the parameters were made from, if it is not that of `call.arguments`."""
    json_arguments: JSONObject | None = None
    """The cached value of `final_arguments`."""
    answer: Callable[[], Any] | None = None
    """Makes the answer of the handler, if it was started before the steps."""

    # set on the subclass for each executor and kind of caller, see `active_call_class`
    waiter: Waiter
    scope: CommitScope
    attempts: Attempts

    def __init__(self, call: ToolCall) -> None:
        self.call = call

    def fresh_copy(self) -> ActiveCall:
        """A copy for another try; a handler that still works on the last try cannot use it."""
        new = type(self)(self.call)
        vars(new).update(
            vars(self), is_over=False, has_raised=False, ended_at=0.0, context=None, inner_scope=None
        )
        vars(new).update(beat_at=0.0, last_progress=None, stall=None, took_s=0.0)
        return new

    def parents_irreversible_calls(self) -> Iterator[list[str]]:
        """Yield the `irreversible_calls` of each call that this one is nested in."""
        parent = self.nesting.parent
        while parent is not None:
            yield cast("list[str]", vars(parent).setdefault("irreversible_calls", []))
            parent = parent.nesting.parent

    def nested_scope(self) -> CommitScope:
        """Where calls that the handler makes commit: the handler's forks, or the scope of this call."""
        if self.inner_scope is None:
            deadline = self.deadline
            if self.must_end_at != inf:
                left_s = max(0.0, self.must_end_at - monotonic())
                deadline = Deadline.after(left_s) if deadline is None else deadline.within(left_s)
            self.inner_scope = replace(self.scope, deadline=deadline, queue=FairSemaphore())
        return self.inner_scope

    def left_s(self) -> float | None:
        """Seconds until the deadline, None if there is none."""
        return None if self.deadline is None else self.deadline.remaining()

    def queue_limit_s(self, tool: AnyTool) -> float:
        """How long a call of this tool may wait in a queue."""
        limit_s = start_limit_s(tool)
        return limit_s if self.deadline is None else min(limit_s, self.deadline.remaining())

    def raise_if_ended(self) -> None:
        """Tell the handler whether its call has ended.

        Raises:
            CallEndedError: if it has.
        """
        if self.stall is not None and self.stall.left_s() < 0:
            self.is_over = True  # it has stalled, and could not be stopped before
        if self.is_over:
            raise CallEndedError(f"the call of {self.call.name!r} has ended: further work has no effect")

    def give_sign(self) -> None:
        """The handler lives: it has beaten, reported progress or yielded a chunk.

        Raises:
            CallEndedError: if its call has ended.
        """
        self.raise_if_ended()
        now = monotonic()
        live: ActiveCall | None = self
        while live is not None:  # a handler that waits for a call that it made cannot beat itself
            live.beat_at = now
            if live.stall is not None and not live.is_over:
                live.stall.extend(now)
            live = live.nesting.parent

    def beat(self) -> None:
        """Heartbeat of the handler.

        Raises:
            CallEndedError: if its call has ended.
        """
        self.give_sign()
        if self.stream is not None:
            self.stream.beat(self)

    def emit_chunk(self, value: object) -> None:
        """Pass a part of the result to the caller that streams this call."""
        if self.stream is not None:
            self.stream.has_chunks = True
            self.stream.emit(Chunk(call_id=self.call.id, value=value))

    def progress(self, done: float | None, total: float | None, message: str) -> None:
        """Pass the handler's progress to the caller that streams this call."""
        self.give_sign()
        self.last_progress = Progress(call_id=self.call.id, done=done, total=total, message=message)
        if self.stream is not None:
            self.stream.emit(self.last_progress)


CURRENT: ContextVar[ActiveCall | None] = ContextVar("toolhaft_active_call", default=None)
"""The call whose handler runs here; calls that the handler makes are nested in it."""


IN_POOL: ContextVar[bool] = ContextVar("toolhaft_in_pool", default=False)
"""True in a task that a handler gave to a thread pool, where only calls of the same executor are nested."""


class CurrentExecutor(NamedTuple):
    """The executor whose handler runs here, for a handler that makes its own executor."""

    id: str
    options: dict[str, Any]
    """Options with which a ToolExecutor shares its session, its resources and its catalog."""


def current_executor() -> CurrentExecutor | None:
    """The executor whose handler runs here, None outside of a handler."""
    active = CURRENT.get()
    if active is None:
        return None
    setup = active.nested_scope().setup
    shared = {"session": setup.session, "resources": setup.resources, "catalog": setup.inputs.finder}
    return CurrentExecutor(setup.ids.executor_id, shared)


def active_call_class(waiter: Waiter, scope: CommitScope, attempts: Attempts) -> type[ActiveCall]:
    """A subclass for one executor and kind of caller; what all its calls share is set on the class."""
    return type("ActiveCall", (ActiveCall,), {"waiter": waiter, "scope": scope, "attempts": attempts})


def context_of(
    tool: AnyTool,
    setup: Setup,
    active: ActiveCall,
    session: Session,
    resources: CallResources,
    *,
    watcher: Watcher | None = None,
) -> ToolContext:
    """The context of a call with these forks."""
    limit_s, deadline = tool.timeout_s, active.deadline
    if limit_s is not None:
        deadline = Deadline.after(limit_s) if deadline is None else deadline.within(limit_s)
    return ToolContext(
        prompt=setup.prompt.prompt,
        rendered_prompt=setup.prompt.rendered,
        adapter=setup.inputs.adapter,
        session=session,
        deadline=active.set_deadline,
        time_limit=deadline,
        budget_tracker=setup.limits.budget,
        resources=resources,
        principal=active.principal,
        call=active.call,
        watcher=watcher,
        finder=setup.inputs.finder,
    )


def nest_in(
    active: ActiveCall, parent: ActiveCall, setup: Setup, principal: Principal | None
) -> Principal | None:
    """Make a call commit to its parent, if they share a session; returns the principal of the call."""
    inside = parent.nested_scope()
    active.nesting = ParentCall(parent, parent.nesting.depth + 1, parent.is_over)
    if inside.setup.ids is setup.ids:  # the same executor; the prompt, and so the setup, may have changed
        active.scope = inside
        return principal or parent.principal
    if inside.setup.session is setup.session:
        shares = inside.setup.resources is setup.resources
        active.scope = inside if shares else replace(inside, resources=setup.resources)
    return principal


def is_nested(active: ActiveCall, setup: Setup) -> bool:
    """True if a handler of this executor, or of one that shares its session, made this call.

    A call in another session is not nested: for example, one by a second model that the handler runs.
    """
    parent = active.nesting.parent
    while parent is not None:
        other = parent.scope.setup
        if other.ids is setup.ids or other.session is setup.session:
            return True
        parent = parent.nesting.parent
    return False


@contextmanager
def no_calls(active: ActiveCall) -> Generator[None]:
    """Refuse calls that are made in this block: policies and feedback providers must not call tools."""
    ended = active.fresh_copy()
    ended.is_over = True
    ended.must_end_at = monotonic() + _NO_CALLS_S  # a deadline makes the step `limit` check the parent
    token = CURRENT.set(ended)
    try:
        yield
    finally:
        CURRENT.reset(token)


def final_arguments(tool: AnyTool, active: ActiveCall) -> JSONObject:
    """The checked JSON of a call, with repairs and defaults: for policies, approvals, keys and records.

    Never made from the parameters: what a model hides when it is written must not be hidden here.
    """
    if active.json_arguments is None:
        active.json_arguments = tool.input_contract.defaults.add(given_arguments(active))
    return active.json_arguments


def given_arguments(active: ActiveCall) -> JSONObject:
    """The JSON that the parameters of a checked call were made from: repaired, without fixed defaults."""
    if active.given is None:
        active.given = read_object(active.call.arguments) or {}
    return active.given


def recorded_arguments(tool: AnyTool | None, active: ActiveCall) -> object:
    """The arguments for a record: the checked JSON, or what was sent if it is not valid."""
    if tool is not None and (active.params is not None or active.json_arguments is not None):
        return final_arguments(tool, active)
    return raw_arguments(active)


def secrets_of(tool: AnyTool | None, active: ActiveCall, mask: ArgumentMask) -> SecretTexts | None:
    """The secrets of a call, as sent and as repaired; None if it is not known which part is secret."""
    given = [raw_arguments(active), recorded_arguments(tool, active)]
    known = [cast("object", arguments) for arguments in given if isinstance(arguments, dict)]
    return SecretTexts(mask, known) if known else None


def arguments_text(given: object, mask: ArgumentMask | None) -> str:
    """Arguments as text for a record, cut if it is long and with secrets masked."""
    if mask is None:
        return cut_record(given if isinstance(given, str) else canonical_text(given))
    if not isinstance(given, dict):
        return "not shown: not a JSON object, and it may contain secrets"
    arguments = cast("object", given)
    text = canonical_text(mask(arguments))[: 2 * _LONGEST_RECORD]  # masking all of a long text is slow
    # by value: a secret may also be in an argument that is not marked as one
    return cut_record(mask_text(text, arguments, mask))


def cut_record(text: str) -> str:
    """The text, cut at the limit for records."""
    return text if len(text) <= _LONGEST_RECORD else f"{text[:_LONGEST_RECORD]} [cut]"


def raw_arguments(active: ActiveCall) -> Any:  # noqa: ANN401 -- JSON, or text that is not JSON
    """The arguments as the model wrote them, parsed if they are JSON: for records and messages."""
    return read_arguments(active.call.arguments)


def read_arguments(given: object) -> Any:  # noqa: ANN401 -- JSON, or text that is not JSON
    """The arguments of a call, parsed if they are JSON."""
    raw = given.text if isinstance(given, UnreadArguments) else given
    try:
        if isinstance(raw, str):
            return read_json(raw)
        return to_jsonable_python(raw, inf_nan_mode="strings", serialize_unknown=True)
    except (ValueError, RecursionError):
        return raw if isinstance(raw, str) else "not JSON"
