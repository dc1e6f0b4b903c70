"""A worker that somebody else controls runs nothing in the host: only data is received, by a closed list of operations."""

import importlib
from functools import partial

import pytest

from tests.backends import hostile_handlers as hostile
from tests.backends import process_handlers as handlers
from tests.backends.process_pools import open_pool, run
from tests.cases import in_case
from toolhaft.backends.process import ProcessJob
from toolhaft.backends.process_context import serve_context
from toolhaft.core.context import ToolContext
from toolhaft.core.limits import Budget, BudgetTracker
from toolhaft.errors import ToolExecutionError, ToolValidationError
from toolhaft.resources import Filesystem, MemoryFilesystem, ResourceRegistry
from toolhaft.session import Session

pytestmark = pytest.mark.external


@pytest.fixture(scope="module")
def pool():
    with open_pool(max_workers=1) as pool:
        yield pool


def context_of_call():
    resources = ResourceRegistry({Filesystem: MemoryFilesystem()})
    return ToolContext(
        session=Session(), resources=resources, budget_tracker=BudgetTracker(Budget(max_tokens=10))
    )


def run_with_context(pool, handler, *args):
    context = context_of_call()
    job = ProcessJob(
        handler=pool.check(handler),
        args=args,
        timeout_s=30,
        context_name="context",
        context={},
        serve=partial(serve_context, context),
    )
    return pool.run(job)


WAYS_OUT = (
    "plain",
    "nested",
    "key",
    "in a dataclass",
    "dataclass",
    "text",
    "dictionary",
    "raised",
    "raised with it",
    "validation",
    "attribute",
    "noted",
    "session",
    "file",
    "progress",
    "frame",
    "error frame",
    "last frame",
)


def test_nothing_that_a_worker_sends_is_unpickled(pool, tmp_path):
    mark = tmp_path / "mark"
    outcomes = {}
    for how in WAYS_OUT:
        with in_case(how):
            try:
                outcomes[how] = run_with_context(pool, hostile.give_mark, str(mark), how)
            except Exception as error:  # noqa: BLE001 -- which one is looked at below
                outcomes[how] = error
            assert not mark.exists()
    assert isinstance(outcomes["plain"], ToolExecutionError)
    assert "hostile_handlers.Mark is not data. Fix: return JSON-like data" in str(outcomes["plain"])
    assert outcomes["dataclass"] == hostile.Marked(str(mark))
    assert outcomes["text"] == str(mark)
    assert outcomes["dictionary"] == {"path": str(mark)}
    assert str(outcomes["raised"]) == "MarkError: marked"
    assert type(outcomes["validation"]) is ToolValidationError
    with pytest.raises(ToolExecutionError, match="Mark is not data"):
        run(pool, hostile.yield_mark, str(mark))
    assert not mark.exists()


BROKEN = {
    "no length": b"",
    "short": b"\0\0\0\0\0\0\0\xff{}",
    "not JSON": b"\0\0\0\0\0\0\0\x04oops",
    "not UTF-8": b"\0\0\0\0\0\0\0\x02\xff\xff",
}
TEXTS = {
    "unknown tag": '{"$": ["code", "import os"]}',
    "no tag": '{"$": 1}',
    "tag and more": '{"$": ["tuple", []], "x": 1}',
    "bytes that are missing": '{"$": ["bytes", 9]}',
    "bytes of no size": '{"$": ["bytes", true]}',
    "negative bytes": '{"$": ["bytes", -1]}',
    "endless depth": "[" * 200_000,
    "endless tags": '{"$":["tuple",[' * 50_000,
    "keys that cannot be hashed": '{"$": ["dict", [[[], 1]]]}',
    "pairs that are none": '{"$": ["dict", [[1, 2, 3]]]}',
    "equal hashes": f'{{"$":["set",{[n * (2**61 - 1) for n in range(5000)]}]}}',
    "a long number": '{"$": ["decimal", "x"]}',
    "a date that is none": '{"$": ["date", "today"]}',
    "an error that is none": '{"$": ["error", [1, 2]]}',
    "digits without end": "9" * 5000,
}
OBJECTS = {
    "a function": ("os:system", ["true"]),
    "a class that is no data": ("subprocess:Popen", [["true"]]),
    "a class of the standard library": ("pathlib:Path", ["x"]),
    "an unknown module": ("no.such.module:Thing", {}),
    "a dataclass of another module": ("toolhaft.core.limits:RetryPolicy", {}),
    "other fields": ("tests.backends.hostile_handlers:Marked", {"path": 1, "__class__": 2}),
    "too few fields": ("tests.backends.hostile_handlers:Marked", {}),
    "no fields": ("tests.backends.hostile_handlers:Marked", 5),
}


def test_messages_of_a_hostile_worker_are_refused_with_an_error(pool):
    for name, sent in BROKEN.items():
        with in_case(name), pytest.raises(ToolExecutionError, match="message that is not valid"):
            run(pool, hostile.send_raw, hostile.RESULT, sent)
    for name, text in TEXTS.items():
        with in_case(name), pytest.raises(ToolExecutionError, match="cannot be received"):
            run(pool, hostile.send_text, text)
    for name, (kind, state) in OBJECTS.items():
        with in_case(name), pytest.raises(ToolExecutionError, match="cannot be received"):
            run(pool, hostile.send_object, kind, state)
    assert run(pool, handlers.add, 1, 2) == 3


def test_a_second_outcome_does_not_answer_the_next_call(pool):
    for more in (["6", "7"], ["6", "7", "8"]):
        assert run(pool, hostile.answer_twice, more) == 6
        assert run(pool, handlers.add, 1, 2) == 3


def test_naming_a_type_does_not_make_it_known_to_the_session(pool):
    """Otherwise a worker could send objects of any dataclass or model that the host has loaded."""
    kind = "tests.backends.test_process_data:Gadget"
    importlib.import_module("tests.backends.test_process_data")
    for operation, rest in (("seed", [[]]), ("seed", [()]), ("seed", [""]), ("clear", []), ("clear", [[1]])):
        context = context_of_call()
        with in_case(operation, rest):
            serve_context(context, f"session.slice.{operation}", (kind, *rest), {})
            assert [known.__name__ for known in context.session.known_types()] == []
    context = context_of_call()
    context.session[int].append(5)
    serve_context(context, "session.slice.seed", ("builtins:int", 0), {})
    assert context.session[int].all() == (0,)
    serve_context(context, "session.slice.seed", ("builtins:int", []), {})
    assert context.session[int].all() == ()


def test_a_claimed_length_costs_the_host_nothing(pool):
    for length in (2**40, 2**63, 2**64 - 1):
        with pytest.raises(ToolExecutionError, match="the process died"):
            run(pool, hostile.send_length, length)


REFUSED_PATHS = (
    "session.__class__.__init__.__globals__.clear",
    "session._state",
    "session.fork",
    "session.slice.__class__",
    "session.slice._state",
    "session.dispatcher.subscribe",
    "filesystem.fork",
    "filesystem.__class__",
    "filesystem.commit",
    "filesystem._root",
    "resources.close",
    "resources.get.__globals__",
    "adapter",
    "prompt.render",
    "budget_tracker.budget.__class__",
    "budget_tracker._lock.acquire",
    "principal",
    "__class__",
    "find_tools",
    "",
    "chunk",
    "filesystem.read.__func__",
    "deadline.__init__",
)
REFUSED_ARGUMENTS = (
    ("filesystem.read", [5], {}),
    ("filesystem.read", ["a"], {"encoding": "x"}),
    ("filesystem.read", ["a", 0, 1, 2], {}),
    ("filesystem.read", ["a"], {"path": "b"}),
    ("filesystem.write", ["a", {"b": 1}], {}),
    ("budget_tracker.add", [], {"tokens": -5}),
    ("budget_tracker.add", [True], {}),
    ("resources.get", ["os:environ"], {}),
    ("resources.get", ["os:system"], {}),
    ("resources.get", ["no.such:Thing"], {}),
    ("session.slice.all", ["subprocess:run"], {}),
    ("session.slice.append", [5, 5], {}),
    ("beat", [1], {}),
    ("progress", ["half"], {}),
)


def test_a_worker_can_ask_only_for_listed_operations_with_checked_arguments(pool):
    cases = [(path, [], {}) for path in REFUSED_PATHS] + list(REFUSED_ARGUMENTS)
    for path, args, kwargs in cases:
        with in_case(path, args, kwargs), pytest.raises(ToolExecutionError):
            run_with_context(pool, hostile.ask, path, args, kwargs)
    assert run_with_context(pool, hostile.ask, "budget_tracker.tokens", [], {}) == "0"
