"""Resources by type: given, or made when first asked for, and ended by who made them.

Keeps the issue's "a registry with singleton, per-call and per-use scopes, lazy providers, cycle detection, closing in
reverse order" and DESIGN's `ResourceRegistry`.
"""

import threading
from contextlib import contextmanager
from typing import Protocol

import pytest

import toolhaft.resources as room
from toolhaft.errors import CallEndedError, FilesystemError, ReadOnlyError, ResourceError
from toolhaft.resources import Filesystem, HostFilesystem, MemoryFilesystem, ResourceRegistry


class Database:
    def __init__(self, log=None, name="database"):
        self.log = log if log is not None else []
        self.name = name

    def close(self):
        self.log.append(f"close {self.name}")


class Cache(Database):
    pass


class Queue(Database):
    pass


class Restored:
    """Put back by a snapshot."""

    def __init__(self):
        self.items = ["first"]

    def snapshot(self):
        return tuple(self.items)

    def restore(self, snapshot):
        self.items = list(snapshot)


class Forked:
    """Put back by dropping a fork; tells what happens to it."""

    def __init__(self, log, name, fail=()):
        self.log, self.name, self.fail = log, name, fail

    def fork(self, *, read_only=False):
        self.log.append(f"fork {self.name}{' read-only' if read_only else ''}")
        return type(self)(self.log, f"{self.name}'", self.fail)

    def tell(self, what):
        self.log.append(f"{what} {self.name}")
        if what in self.fail:
            raise RuntimeError(f"{what} {self.name} failed")

    def commit(self):
        self.tell("commit")

    def discard(self):
        self.tell("discard")


class OtherForked(Forked):
    pass


class ThirdForked(Forked):
    pass


# The registry


def test_a_given_instance_is_had_by_its_type():
    database = Database()
    registry = ResourceRegistry({Database: database})
    assert registry.get(Database) is database
    assert registry.fork().get(Database) is database
    assert Database in registry
    registry.close()
    assert database.log == [], "what was given is its owner's to close"


def test_an_executor_takes_a_mapping_or_a_registry():
    registry = ResourceRegistry()
    assert ResourceRegistry.of(registry) is registry
    assert Database in ResourceRegistry.of({Database: Database()})
    assert Database not in ResourceRegistry.of(None)
    with pytest.raises(ResourceError, match="resources cannot be a list; give a mapping"):
        ResourceRegistry.of([Database()])


def test_a_resource_that_was_not_given_says_how_to_give_one():
    with pytest.raises(ResourceError) as error:
        ResourceRegistry().get(Database)
    assert str(error.value) == (
        "no resource Database was given (there is: none). Fix: ToolExecutor(..., resources={Database: ...})"
    )
    registry = ResourceRegistry({Database: Database()})
    registry.provide(Cache, Cache)
    with pytest.raises(ResourceError) as error:
        registry.fork().get(Filesystem)
    assert str(error.value) == (
        "no resource Filesystem was given (there is: Cache, Database). "
        'Fix: ToolExecutor(..., resources={Filesystem: HostFilesystem("some/folder")})'
    )


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"fs": 1}, "a resource is asked for by its type; 'fs' is none"),
        ({Database: Database}, "Database was given the class Database; give an instance, or provide() the class"),
        ({Database: Queue}, "Database was given the class Queue"),
        ({Cache: Database()}, "Cache was given a Database, which is none"),
        ({Filesystem: "some/folder"}, 'Filesystem was given a str, which is none; give HostFilesystem("some/folder")'),
    ],
)
def test_what_does_not_fit_its_type_is_refused_when_given(given, told):
    with pytest.raises(ResourceError) as error:
        ResourceRegistry(given)
    assert str(error.value).startswith(told)


def test_a_protocol_is_a_type_to_ask_by():
    class Named(Protocol):
        def rename(self, name: str) -> None: ...

    class Person:
        def rename(self, name):
            pass

    assert Named in ResourceRegistry({Named: Person()})
    with pytest.raises(ResourceError):
        ResourceRegistry({Named: Database()})


def test_a_singleton_is_made_when_first_asked_for_and_once():
    made = []
    registry = ResourceRegistry()
    registry.provide(Database, lambda: made.append(1) or Database())
    assert made == []
    first = registry.fork().get(Database)
    assert registry.fork().get(Database) is first is registry.get(Database)
    assert made == [1]


def test_a_factory_gets_others_from_the_resources_that_it_is_handed():
    registry = ResourceRegistry({Database: Database(name="given")})
    registry.provide(Cache, lambda resources: Cache(name=f"cache of {resources.get(Database).name}"))
    registry.provide(Queue, lambda resources: Queue(name=resources.get(Cache).name), scope="call")
    assert registry.fork().get(Queue).name == "cache of given"


def test_singletons_are_made_once_by_however_many_threads():
    made, started, go_on = [], threading.Event(), threading.Event()

    def slow():
        made.append(Database())
        started.set()
        assert go_on.wait(20)
        return made[-1]

    registry = ResourceRegistry()
    registry.provide(Database, slow)
    got = []
    threads = [threading.Thread(target=lambda: got.append(registry.fork().get(Database))) for _ in range(5)]
    for thread in threads:
        thread.start()
    assert started.wait(20)
    go_on.set()
    for thread in threads:
        thread.join(20)
    assert len(made) == 1
    assert {id(one) for one in got} == {id(made[0])}


@pytest.mark.parametrize("scope", ["singleton", "call", "use"])
def test_resources_that_need_each_other_in_a_circle_are_told_whole(scope):
    registry = ResourceRegistry()
    registry.provide(Database, lambda resources: resources.get(Cache), scope=scope)
    registry.provide(Cache, lambda resources: resources.get(Queue), scope=scope)
    registry.provide(Queue, lambda resources: resources.get(Database), scope=scope)
    for _ in range(2):
        with pytest.raises(ResourceError) as error:
            registry.fork().get(Database)
        assert str(error.value) == (
            "resources need each other in a circle: Database -> Cache -> Queue -> Database; "
            "have one of them get the other later, when it is used"
        )


def test_what_lives_long_cannot_hold_what_is_made_for_a_call():
    registry = ResourceRegistry()
    registry.provide(Database, Database, scope="call")
    registry.provide(Cache, lambda resources: resources.get(Database))
    for ask in (registry.get, lambda kind: registry.fork().get(Cache)):
        with pytest.raises(ResourceError, match="Database is made anew for each call, so nothing that lives longer"):
            ask(Database)


@pytest.mark.parametrize(
    ("factory", "scope", "told"),
    [
        (Database, "forever", "no scope 'forever' for Database; use 'singleton', 'call' or 'use'"),
        (Database(), "call", "the provider of Database must be a plain function or class"),
        (lambda one, two: None, "call", "the provider of Database takes 2 arguments"),
    ],
)
def test_a_provider_that_cannot_work_is_refused_when_given(factory, scope, told):
    with pytest.raises(ResourceError) as error:
        ResourceRegistry().provide(Database, factory, scope)
    assert str(error.value).startswith(told)


def test_a_coroutine_is_no_provider():
    async def connect():
        return Database()

    with pytest.raises(ResourceError, match="must be a plain function"):
        ResourceRegistry().provide(Database, connect)


def test_a_type_is_given_or_provided_once():
    registry = ResourceRegistry({Database: Database()})
    registry.provide(Cache, Cache)
    for kind in (Database, Cache):
        with pytest.raises(ResourceError, match=f"{kind.__name__} is there already"):
            registry.provide(kind, kind)
    with pytest.raises(ResourceError, match="asked for by its type"):
        registry.provide("cache", Cache)


def test_a_provider_that_makes_nothing_is_told():
    registry = ResourceRegistry()
    registry.provide(Database, lambda: None)
    with pytest.raises(ResourceError, match="the provider of Database returned None"):
        registry.get(Database)


def test_factories_written_in_c_take_nothing():
    registry = ResourceRegistry()
    registry.provide(dict, dict, scope="use")
    assert registry.fork().get(dict) == {}


def test_singletons_are_closed_the_newest_first_and_all_of_them():
    log = []

    class Bad(Database):
        def close(self):
            super().close()
            raise OSError(f"{self.name} does not close")

    registry = ResourceRegistry()
    registry.provide(Database, lambda: Bad(log, "one"))
    registry.provide(Cache, lambda resources: resources.get(Database) and Cache(log, "two"))
    registry.provide(Queue, lambda: Bad(log, "three"))
    with pytest.raises(ExceptionGroup) as error, registry:
        registry.get(Cache)
        registry.get(Queue)
    assert log == ["close three", "close two", "close one"]
    assert [str(one) for one in error.value.exceptions] == ["three does not close", "one does not close"]
    registry.close()
    with pytest.raises(ResourceError, match="closed: no Cache is made"):
        registry.get(Cache)


def test_a_context_manager_is_entered_and_left():
    log = []

    @contextmanager
    def connect():
        log.append("enter")
        yield Database(log, "entered")
        log.append("leave")

    registry = ResourceRegistry()
    registry.provide(Database, connect)
    with registry:
        assert registry.get(Database).name == "entered"
    assert log == ["enter", "leave"]


# A call's view


def test_a_forkable_resource_is_forked_once_a_call_and_committed():
    log = []
    registry = ResourceRegistry({Forked: Forked(log, "a"), OtherForked: OtherForked(log, "b")})
    view = registry.fork()
    assert log == []
    assert view.get(OtherForked) is view.get(OtherForked)
    assert view.get(Forked).name == "a'"
    view.commit()
    assert log == ["fork b", "fork a", "commit b'", "commit a'"]


def test_a_failed_call_drops_the_newest_first_and_tells_what_went_wrong():
    log = []
    bad = OtherForked(log, "b", fail=("discard",))
    registry = ResourceRegistry({Forked: Forked(log, "a"), OtherForked: bad})
    view = registry.fork()
    view.get(Forked)
    view.get(OtherForked)
    with pytest.raises(RuntimeError, match="discard b' failed"):
        view.discard()
    assert log == ["fork a", "fork b", "discard b'", "discard a'"]
    view.discard()


def test_several_failures_are_raised_together():
    log = []
    given = {kind: kind(log, kind.__name__, fail=("discard",)) for kind in (Forked, OtherForked)}
    view = ResourceRegistry(given).fork()
    for kind in given:
        view.get(kind)
    with pytest.raises(ExceptionGroup, match="could not be taken back") as error:
        view.discard()
    assert len(error.value.exceptions) == 2


def test_a_commit_that_fails_drops_those_after_it_and_is_loud():
    log = []
    restored = Restored()
    registry = ResourceRegistry(
        {
            Forked: Forked(log, "a"),
            OtherForked: OtherForked(log, "b", fail=("commit",)),
            ThirdForked: ThirdForked(log, "c"),
            Restored: restored,
        }
    )
    registry.provide(Database, lambda: Database(log), scope="call")
    view = registry.fork()
    for kind in (Forked, OtherForked, ThirdForked, Restored, Database):
        view.get(kind)
    restored.items.append("second")
    log.clear()
    with pytest.raises(RuntimeError, match="commit b' failed"):
        view.commit()
    assert log == ["commit a'", "commit b'", "discard c'", "discard b'", "close database"]
    assert restored.items == ["first"]


def test_a_restorable_resource_is_put_back_by_its_snapshot():
    shared = Restored()
    registry = ResourceRegistry({Restored: shared})
    for end, expected in (("commit", ["first", "one"]), ("discard", ["first", "one"])):
        view = registry.fork()
        assert view.get(Restored) is shared is view.get(Restored)
        shared.items.append("one" if end == "commit" else "two")
        getattr(view, end)()
        assert shared.items == expected


@pytest.mark.parametrize("end", ["commit", "discard"])
def test_what_is_made_for_a_call_is_closed_at_its_end_the_newest_first(end):
    log, numbers = [], iter(range(10))
    registry = ResourceRegistry()
    registry.provide(Database, lambda: Database(log, f"call {next(numbers)}"), scope="call")
    registry.provide(Cache, lambda: Cache(log, f"use {next(numbers)}"), scope="use")
    view = registry.fork()
    assert view.get(Database) is view.get(Database)
    assert view.get(Cache) is not view.get(Cache)
    other = registry.fork()
    assert other.get(Database) is not view.get(Database)
    getattr(view, end)()
    assert log == ["close use 2", "close use 1", "close call 0"]


def test_what_is_made_for_a_call_is_put_back_with_it_too():
    log = []
    registry = ResourceRegistry()
    registry.provide(Forked, lambda: Forked(log, "made"), scope="call")
    view = registry.fork(read_only=True)
    view.get(Forked)
    view.discard()
    assert log == ["fork made read-only", "discard made'"]


def test_one_resource_of_two_names_is_forked_once():
    fs, shared = MemoryFilesystem(), Restored()
    view = ResourceRegistry({Filesystem: fs, MemoryFilesystem: fs, Restored: shared, object: shared}).fork()
    assert view.get(Filesystem) is view.get(MemoryFilesystem)
    assert view.get(Restored) is view.get(object)
    view.commit()


def test_a_call_that_ended_gets_nothing_more():
    for used in (False, True):
        for end in ("commit", "discard"):
            view = ResourceRegistry({Filesystem: MemoryFilesystem()}).fork()
            if used:
                view.get(Filesystem)
            getattr(view, end)()
            with pytest.raises(CallEndedError, match="has ended"):
                view.get(Filesystem)
            with pytest.raises(CallEndedError):
                view.commit()
            view.discard()


def test_files_of_a_failed_call_are_put_back(quick_path):
    registry = ResourceRegistry({Filesystem: HostFilesystem(quick_path, durable=False)})
    view = registry.fork()
    fs = view.get(Filesystem)
    fs.write("a/b", "1")
    view.discard()
    assert list(quick_path.iterdir()) == []
    with pytest.raises(CallEndedError):
        fs.write("late", "1")


def test_a_call_that_may_only_read_gets_what_only_reads():
    view = ResourceRegistry({Filesystem: MemoryFilesystem()}).fork(read_only=True)
    for one in (view, view.fork()):
        with pytest.raises(ReadOnlyError):
            one.get(Filesystem).write("a", "1")


def test_a_call_within_a_call_works_on_forks_of_its_forks():
    fs = MemoryFilesystem()
    view = ResourceRegistry({Filesystem: fs}).fork()
    view.get(Filesystem).write("outer", "1")
    inner = view.fork()
    inner.get(Filesystem).write("inner", "1")
    assert not view.get(Filesystem).exists("inner")
    inner.commit()
    lost = view.fork()
    lost.get(Filesystem).write("lost", "1")
    lost.discard()
    assert [entry.path for entry in view.get(Filesystem).list()] == ["inner", "outer"]
    assert fs.list() == []
    view.commit()
    assert [entry.path for entry in fs.list()] == ["inner", "outer"]


def test_a_call_within_a_call_forks_through_one_that_asked_for_nothing():
    fs, shared = MemoryFilesystem(), Restored()
    registry = ResourceRegistry({Filesystem: fs, Restored: shared})
    registry.provide(Database, Database, scope="call")
    view = registry.fork()
    inner = view.fork().fork()
    inner.get(Filesystem).write("a", "1")
    inner.get(Restored).items.append("x")
    assert inner.get(Database) is not view.get(Database)
    inner.discard()
    assert shared.items == ["first"]
    view.commit()
    with pytest.raises(CallEndedError):
        view.fork().get(Filesystem)


def test_many_threads_of_a_call_get_the_same_fork():
    log = []
    view = ResourceRegistry({Forked: Forked(log, "a")}).fork()
    start, got = threading.Barrier(8), []

    def work():
        start.wait()
        got.append(view.get(Forked))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(one) for one in got}) == 1
    assert log == ["fork a"]


def test_a_call_can_end_while_a_factory_hangs_and_what_that_makes_is_closed():
    """A connection that takes for ever must not hold up the answer to the model."""
    log, started, go_on, outcomes = [], threading.Event(), threading.Event(), []

    def connect():
        started.set()
        assert go_on.wait(20)
        return Database(log, "late")

    registry = ResourceRegistry()
    registry.provide(Database, connect, scope="call")
    view = registry.fork()

    def ask():
        try:
            view.get(Database)
        except CallEndedError:
            outcomes.append("ended")

    thread = threading.Thread(target=ask)
    thread.start()
    assert started.wait(20)
    view.discard()
    go_on.set()
    thread.join(20)
    assert (outcomes, log) == (["ended"], ["close late"])


def test_a_call_can_end_while_a_resource_is_forked():
    log, view = [], None

    class Slow(Forked):
        def fork(self, *, read_only=False):
            if view is not None and self.name == "a":
                view.discard()
            return super().fork(read_only=read_only)

    class SlowRestored(Restored):
        def snapshot(self):
            view.discard()
            return super().snapshot()

    registry = ResourceRegistry({Slow: Slow(log, "a"), SlowRestored: SlowRestored()})
    for kind in (Slow, SlowRestored):
        view = registry.fork()
        with pytest.raises(CallEndedError):
            view.get(kind)
    assert log == ["fork a", "discard a'"]


def test_a_view_is_light_before_its_first_use():
    view = ResourceRegistry({Database: Database()}).fork()
    assert view._held is None
    view.discard()
    assert view._held is None


def test_the_room_names_what_it_gives():
    for name in dir(room):
        assert getattr(room, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        room.Nonsense  # noqa: B018 -- the asking is the test
    assert issubclass(FilesystemError, OSError)
