"""A process handler's context works: what it writes is written in the host."""

from functools import partial

import pytest

from tests.backends import process_context_handlers as handlers
from tests.backends import process_handlers
from tests.backends.process_context_handlers import Connection, Note, Settings, Store
from tests.backends.process_pools import open_pool, run
from toolhaft.backends.process import ProcessJob
from toolhaft.backends.process_context import copied_attributes, serve_context
from toolhaft.core.call import ToolCall
from toolhaft.core.context import ToolContext
from toolhaft.core.limits import Budget, BudgetTracker, Deadline
from toolhaft.core.ports import Filesystem, FileText
from toolhaft.core.principal import Principal
from toolhaft.errors import BudgetExceededError, FileMissingError, ResourceError, ToolExecutionError

pytestmark = pytest.mark.external


class FakeSlice:
    def __init__(self, items):
        self.items = items

    def latest(self):
        return self.items[-1] if self.items else None

    def all(self):
        return tuple(self.items)

    def append(self, item):
        self.items.append(item)

    def seed(self, items):
        self.items[:] = items

    def clear(self, predicate=None):
        self.items[:] = [] if predicate is None else [item for item in self.items if not predicate(item)]

    def __len__(self):
        return len(self.items)


class FakeSession:
    def __init__(self, *notes):
        self.slices = {Note: list(notes)}
        self.dispatcher = self

    def __getitem__(self, kind):
        return FakeSlice(self.slices[kind])

    def dispatch(self, event):
        self.slices[type(event)].append(event)


class FakeFiles:
    read_only = False

    def __init__(self):
        self.texts = {}

    def read(self, path):
        if path not in self.texts:
            raise FileMissingError(f"{path}: no such file")
        return FileText(self.texts[path], len(self.texts[path]), None)

    def write(self, path, content, *, mode="overwrite"):
        self.texts[path] = content
        return len(content)

    def exists(self, path):
        return path in self.texts

    def fork(self):
        return Connection()


class FakeResources:
    def __init__(self, **things):
        self.things = {
            Filesystem: FakeFiles(),
            Settings: Settings(limit=7),
            Connection: Connection(),
            Store: Store(),
        }

    def get(self, kind):
        return self.things[kind]


class Watcher:
    def __init__(self):
        self.heard = []

    def beat(self):
        self.heard.append("beat")

    def progress(self, done, total, message):
        self.heard.append((done, total, message))


@pytest.fixture(scope="module")
def pool():
    with open_pool(max_workers=2, is_measured=True) as pool:
        yield pool


def run_with(pool, context, handler, **kwargs):
    job = ProcessJob(
        handler=pool.check(handler),
        kwargs=kwargs,
        timeout_s=30,
        context_name="context",
        context=copied_attributes(context),
        serve=partial(serve_context, context),
    )
    return pool.run(job)


def test_the_session_is_the_one_of_the_host(pool):
    session = FakeSession(Note("a"))
    seen, late, kept, latest, count, empty = run_with(
        pool, ToolContext(session=session), handlers.use_session
    )
    assert seen == ["a", "b", "c", "d"]
    assert late == (Note("c"), Note("d"))
    assert kept == (Note("a"), Note("b"), Note("d"))
    assert (latest, count, empty) == (Note("y"), 2, None)
    assert session.slices == {Note: []}


def test_the_files_are_those_of_the_host_and_their_errors_too(pool):
    resources = FakeResources()
    found = run_with(pool, ToolContext(resources=resources), handlers.use_files)
    assert found == ("hello", False, False, "missing.txt: no such file", "<filesystem of the host>")
    assert resources.get(Filesystem).texts == {"notes/a.txt": "hello"}


def test_a_plain_resource_is_sent_as_a_copy(pool):
    context = ToolContext(resources=FakeResources())
    assert run_with(pool, context, handlers.use_resource, kind=Settings) == Settings(limit=7)


@pytest.mark.parametrize(
    ("handler", "given", "text"),
    [
        (
            handlers.use_resource,
            {"kind": Connection},
            "the resource Connection cannot be sent to a process: TypeError",
        ),
        (
            handlers.use_resource,
            {"kind": Store},
            "the resource Store cannot be sent .* would be lost. Fix: use",
        ),
        (handlers.fork_files, {}, "filesystem.fork cannot be used from a process. Fix: use"),
        (
            handlers.subscribe,
            {},
            "arguments of session.dispatcher.subscribe cannot be sent out of the process: .*Fix: ",
        ),
    ],
)
def test_the_error_names_what_cannot_be_pickled(pool, handler, given, text):
    context = ToolContext(session=FakeSession(), resources=FakeResources())
    with pytest.raises(ToolExecutionError, match=text):
        run_with(pool, context, handler, **given)


def test_a_missing_filesystem_is_reported_immediately(pool):
    with pytest.raises(ResourceError, match="no resources were given; give them as"):
        run_with(pool, ToolContext(), handlers.use_files)


def test_attributes_are_copied_and_none_if_they_cannot_be_pickled(pool):
    call = ToolCall("1", "search", '{"a": 1}')
    context = ToolContext(
        prompt={"name": "p"},
        rendered_prompt="text",
        adapter=Connection(),
        deadline=Deadline.after(100),
        principal=Principal(id="me"),
        call=call,
    )
    prompt, rendered, adapter, principal, copy, left = run_with(pool, context, handlers.use_copies)
    assert (prompt, rendered, adapter) == ({"name": "p"}, "text", None)
    assert (principal, copy) == ("me", call.arguments)
    assert 0 < left < 100


def test_the_budget_is_the_one_of_the_host(pool):
    tracker = BudgetTracker(Budget(max_tokens=8))
    context = ToolContext(budget_tracker=tracker)
    assert run_with(pool, context, handlers.use_budget) == (5, 8)
    with pytest.raises(BudgetExceededError, match="the budget of tokens is used up: 10 of 8"):
        run_with(pool, context, handlers.use_budget)
    assert tracker.tokens == 10
    assert run_with(pool, ToolContext(), handlers.use_budget) is None


def test_heartbeats_and_progress_arrive_in_order_even_if_the_watcher_raises(pool):
    watcher = Watcher()
    assert run_with(pool, ToolContext(watcher=watcher), handlers.beat_and_report) == "done"
    assert watcher.heard == ["beat", (1, 2, "half"), (2, 2, "")]

    class Deaf:
        beat = progress = None

    assert run_with(pool, ToolContext(watcher=Deaf()), handlers.beat_and_report) == "done"


def test_threads_of_a_handler_share_its_connection(pool):
    session = FakeSession()
    assert run_with(pool, ToolContext(session=session), handlers.speak_from_threads) == 8
    assert {note.text for note in session.slices[Note]} == set("01234567")


def test_a_context_is_closed_after_its_call(pool):
    """After the call ends, writing through it raises."""
    session = FakeSession()
    run_with(pool, ToolContext(session=session), handlers.keep)
    assert run(pool, handlers.use_kept) == "session.slice.append: the call has ended; nothing was changed"
    assert session.slices == {Note: []}


def test_a_context_has_only_the_methods_that_a_session_could_have(pool):
    assert run_with(pool, ToolContext(session=FakeSession()), handlers.peek) == (False, False)


def test_a_job_without_a_server_refuses_what_its_context_asks(pool):
    job = ProcessJob(handler=pool.check(handlers.use_session), context_name="context", timeout_s=30)
    with pytest.raises(ToolExecutionError, match=r"session.slice.append: this call has no context"):
        pool.run(job)
    job = ProcessJob(handler=pool.check(handlers.beat_and_report), context_name="context", timeout_s=30)
    assert pool.run(job) == "done"


def test_large_values_are_sent_through_the_context(pool):
    session = FakeSession(Note("x" * 5_000_000))
    assert run_with(pool, ToolContext(session=session), process_handlers.take_latest, kind=Note) == 5_000_000
