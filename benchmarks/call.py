"""Measures calls through the whole pipeline, with the default time limit and no subscriber.

Every ratio compares with the same work without a tool layer.
"""

import asyncio
import gc
import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from types import FrameType

from pydantic_core import to_json

from benchmarks import workloads
from benchmarks.define import bare_errors, bare_validator
from benchmarks.measure import Case, Figure, measure
from toolhaft import Session, ToolCall, ToolContext, ToolExecutor, tool
from toolhaft.errors import ToolExecutionError
from toolhaft.execute.attempts import CircuitBreaker
from toolhaft.session import upsert_by


def run() -> list[Figure]:
    """All figures of this group."""
    return [
        *measure([*_inline(), *_failing(), *_flat(), *_transactions()]),
        *_awaited(),
        _function_calls(),
        _on_a_thread(),
        _sync_sleeps(),
        *_async_sleeps(),
        _in_a_process(),
        _killed(),
    ]


_WORKLOADS = (
    ("tiny", workloads.add, workloads.TINY, 4.0),
    ("medium", workloads.search, workloads.MEDIUM, 1.7),
    ("large", workloads.ingest, workloads.LARGE, 1.12),
    ("large_with_default", workloads.ingest_stock, workloads.LARGE, 1.12),
    ("dataclass_result", workloads.find, workloads.FIND, 4.0),
    ("model_result", workloads.find_model, workloads.FIND, 4.0),
    ("models_result", workloads.find_models, workloads.FIND, 4.0),
)


def least_work(function: Callable[..., object], text: str) -> Callable[[], object]:
    """The least work that a call needs: one validation of the raw text, the function, one `to_json`."""
    validate = bare_validator(function).validate_json

    def limit() -> object:
        args, kwargs = validate(text)
        return to_json(function(*args, **kwargs))

    return limit


def _inline() -> list[Case]:
    cases: list[Case] = []
    for name, function, text, target in _WORKLOADS:
        executor = ToolExecutor([tool(function, isolation="inline")])
        call = ToolCall(id="1", name=function.__name__, arguments=text)
        limit = least_work(function, text)
        assert executor.execute(call).render() == limit().decode()
        cases.append(Case(f"inline_{name}", rendered(executor, call), limit, target))
    return cases


def rendered(executor: ToolExecutor, call: ToolCall) -> Callable[[], object]:
    """The call, with its result as text for the model."""
    return lambda: executor.execute(call).render()


def _failing() -> list[Case]:
    """Arguments that are not valid, compared with the errors that pydantic-core alone collects."""
    cases: list[Case] = []
    for name, function, text, target in (
        ("failed_tiny", workloads.add, workloads.TINY_WITH_PROBLEM, 9.0),
        ("failed_five_problems", workloads.search, workloads.MEDIUM_WITH_FIVE_PROBLEMS, 2.6),
    ):
        failing = tool(function, isolation="inline", max_attempts=10**9)
        executor = ToolExecutor([failing], breaker=CircuitBreaker(failures=10**9))
        call = ToolCall(id="1", name=function.__name__, arguments=text)
        assert not executor.execute(call).success
        cases.append(Case(name, rendered(executor, call), bare_errors(function, text), target))
    return cases


def _awaited() -> list[Figure]:
    """Async handlers under `aexecute`, inside one running loop, alternating with the limit."""
    return [_await_one(*workload) for workload in _WORKLOADS]


def _await_one(name: str, function: Callable[..., object], text: str, target: float) -> Figure:
    executor = ToolExecutor([tool(_wrapped(function, "async def"))])
    call = ToolCall(id="1", name=function.__name__, arguments=text)
    limit = least_work(_wrapped(function, "def"), text)
    loops = 40 if name.startswith("large") else 2000

    async def rounds() -> tuple[float, float]:
        best = [float("inf"), float("inf")]
        for _ in range(25):
            start = time.perf_counter()
            for _ in range(loops):
                (await executor.aexecute(call)).render()
            middle = time.perf_counter()
            for _ in range(loops):
                limit()
            end = time.perf_counter()
            best = [min(best[0], middle - start), min(best[1], end - middle)]
        return best[0] / loops, best[1] / loops

    gc.collect()
    gc.disable()
    try:
        subject_s, limit_s = asyncio.run(rounds())
    finally:
        gc.enable()
    return Figure(f"async_{name}", subject_s * 1e6, limit_s * 1e6, subject_s / limit_s, target)


def _wrapped(function: Callable[..., object], how: str) -> Callable[..., object]:
    """The same function with the same signature, as a coroutine function, or a plain one for the limit."""
    names = list(function.__annotations__)[:-1]
    code = f"{how} {function.__name__}({', '.join(names)}): return function({', '.join(names)})"
    scope: dict[str, object] = {"function": function}
    exec(code, scope)  # noqa: S102 -- the line above
    made = scope[function.__name__]
    made.__annotations__ = function.__annotations__
    made.__doc__ = function.__doc__
    made.__defaults__ = function.__defaults__
    return made


def _flat() -> list[Case]:
    """A thousand registered tools compared with three."""
    call = ToolCall(id="1", name="add", arguments=workloads.TINY)

    def executor_of(count: int) -> ToolExecutor:
        others = [
            tool(workloads.add, name=f"add_{number}", isolation="inline") for number in range(count - 1)
        ]
        return ToolExecutor([*others, tool(workloads.add, isolation="inline")])

    many, few = executor_of(1000), executor_of(3)
    return [Case("thousand_tools", rendered(many, call), rendered(few, call), 1.05)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One item of the session."""

    key: int
    text: str


@tool(effect="reversible", isolation="inline")
def work(key: int, fail: bool, context: ToolContext) -> int:  # noqa: FBT001 -- a tool's parameter
    """Read the latest item, append one and replace one."""
    entries = context.session[Entry]
    latest = entries.latest()
    context.session[Note].append(Note(text="appended"))
    entries.append(Entry(key=key, text="replaced"))
    if fail:
        raise ToolExecutionError(str(latest))  # no record with a traceback is logged for it
    return key


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Another item of the session."""

    text: str


def _transactions() -> list[Case]:
    def executor_of(count: int) -> ToolExecutor:
        session = Session()
        session[Entry].register(upsert_by("key"))
        session[Entry].seed([Entry(key=number, text="seeded") for number in range(count)])
        session[Note].seed([Note(text="seeded") for _ in range(count)])
        return ToolExecutor([work], session=session, breaker=CircuitBreaker(failures=10**9))

    many, few = executor_of(100_000), executor_of(10)
    keep = ToolCall(id="1", name="work", arguments='{"key": 5, "fail": false}')
    drop = ToolCall(id="1", name="work", arguments='{"key": 5, "fail": true}')

    def roll_back(executor: ToolExecutor) -> Callable[[], object]:
        def call() -> object:
            executor.new_run()
            return executor.execute(drop)

        return call

    return [
        Case("transaction_100k_items", lambda: many.execute(keep), lambda: few.execute(keep), 1.3),
        Case("rollback_100k_items", roll_back(many), roll_back(few), 1.3),
    ]


def _function_calls() -> Figure:
    """Function calls of a tiny dispatch, built-in ones too: the same on any machine."""
    executor = ToolExecutor([tool(workloads.add, isolation="inline")])
    call = ToolCall(id="1", name="add", arguments=workloads.TINY)
    executor.execute(call)
    count = 0

    def profile(_frame: FrameType, event: str, _arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        executor.execute(call)
    finally:
        sys.setprofile(None)
    count -= 1  # the call that ends the profile
    return Figure("function_calls_tiny", count, 25.0, count / 25.0, 1.0)


@contextmanager
def _one_core() -> Iterator[None]:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _on_a_thread() -> Figure:
    """A sync handler from an async caller, compared with `asyncio.timeout(10)` around `asyncio.to_thread`."""
    executor = ToolExecutor([tool(workloads.add)])
    call = ToolCall(id="1", name="add", arguments=workloads.TINY)
    loops, rounds = 300, 15

    async def subject() -> None:
        for _ in range(loops):
            await executor.aexecute(call)

    async def limit() -> None:
        for _ in range(loops):
            async with asyncio.timeout(10):
                await asyncio.to_thread(workloads.add, 1, 2)

    async def race() -> tuple[float, float]:
        best = [float("inf"), float("inf")]
        await subject()
        await limit()
        for _ in range(rounds):
            for side, body in enumerate((subject, limit)):
                start = time.perf_counter()
                await body()
                best[side] = min(best[side], time.perf_counter() - start)
        return best[0] / loops, best[1] / loops

    with _one_core():
        subject_s, limit_s = asyncio.run(race())
    return Figure("thread_vs_to_thread", subject_s * 1e6, limit_s * 1e6, subject_s / limit_s, 0.8)


def nap(seconds: float) -> str:
    """Sleep."""
    time.sleep(seconds)
    return "slept"


def _sync_sleeps() -> Figure:
    """2,000 sync calls of 10 ms, compared with a pool of 256 threads."""
    executor = ToolExecutor([tool(nap, effect="read")])
    calls = [ToolCall(id=str(number), name="nap", arguments='{"seconds": 0.01}') for number in range(2000)]

    def limit() -> None:
        with ThreadPoolExecutor(256) as pool:
            list(pool.map(nap, [0.01] * 2000))

    def subject() -> None:
        assert all(result.success for result in executor.execute_all(calls))

    subject_s, limit_s = _alternate(subject, limit, 5)
    return Figure("sync_sleeps_2000", subject_s * 1e6, limit_s * 1e6, subject_s / limit_s, 1.3)


async def doze(seconds: float) -> str:
    """Sleep."""
    await asyncio.sleep(seconds)
    return "slept"


def _async_sleeps() -> list[Figure]:
    """10,000 async calls of 10 ms with 1,000 in flight, compared with bare asyncio: median and worst run."""
    executor = ToolExecutor([tool(doze, effect="read")])
    call = ToolCall(id="1", name="doze", arguments='{"seconds": 0.01}')
    runs: list[Figure] = []
    for _ in range(10):
        limit_s = _timed(lambda: asyncio.run(_in_flight(lambda: doze(0.01))))
        subject_s = _timed(lambda: asyncio.run(_in_flight(lambda: executor.aexecute(call))))
        runs.append(Figure("async_sleeps_10000", subject_s * 1e6, limit_s * 1e6, subject_s / limit_s, 1.2))
    runs.sort(key=lambda run: run.ratio)
    return [runs[len(runs) // 2], runs[-1]._replace(case="async_sleeps_10000_worst", target=1.4)]


def _timed(body: Callable[[], object]) -> float:
    gc.collect()  # else one side in ten pays for what the benchmarks before it have left
    start = time.perf_counter()
    body()
    return time.perf_counter() - start


async def _in_flight(start: Callable[[], object], count: int = 10_000, at_once: int = 1_000) -> None:
    async def worker() -> None:
        for _ in range(count // at_once):
            await start()

    await asyncio.gather(*(worker() for _ in range(at_once)))


def _alternate(
    subject: Callable[[], object], limit: Callable[[], object], rounds: int
) -> tuple[float, float]:
    best = [float("inf"), float("inf")]
    for _ in range(rounds):
        for side, body in enumerate((subject, limit)):
            start = time.perf_counter()
            body()
            best[side] = min(best[side], time.perf_counter() - start)
    return best[0], best[1]


def _in_a_process() -> Figure:
    """The extra microseconds of a warm process over a thread, compared with one millisecond."""
    with ToolExecutor(
        [tool(workloads.add, isolation="process"), tool(workloads.add, name="on_thread")]
    ) as executor:
        in_process = ToolCall(id="1", name="add", arguments=workloads.TINY)
        on_thread = ToolCall(id="1", name="on_thread", arguments=workloads.TINY)

        def us(call: ToolCall) -> float:
            start = time.perf_counter()
            for _ in range(100):
                assert executor.execute(call).success
            return (time.perf_counter() - start) * 1e4

        us(in_process)
        over = median([us(in_process) - us(on_thread) for _ in range(9)])
    return Figure("warm_process_over_thread_us", over, 1000.0, over / 1000.0, 1.0)


def spin() -> None:
    """Compute forever."""
    while True:
        pass


def _killed() -> Figure:
    """The time between the limit of a handler that never ends and the result, compared with 100 ms."""
    limit_s = 0.2
    call = ToolCall(id="1", name="spin", arguments="{}")
    runaway = tool(spin, isolation="process", timeout_s=limit_s, effect="read", max_attempts=99)
    with ToolExecutor([runaway], breaker=CircuitBreaker(failures=10**9)) as executor:

        def late_s() -> float:
            start = time.perf_counter()
            failure = executor.execute(call).failure
            assert failure is not None
            assert failure.kind == "timeout"
            return time.perf_counter() - start - limit_s

        late_s()
        late = median([late_s() for _ in range(5)])
    return Figure("result_after_kill", late * 1e6, 100_000.0, late * 10, 1.0)
