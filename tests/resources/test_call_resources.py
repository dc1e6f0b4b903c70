"""The resources of one call: forked on first use, committed or discarded with the call."""

import threading

import pytest

from tests.resources.things import Cache, Database, Forked, OtherForked, Queue, Restored, ThirdForked
from toolhaft.errors import CallEndedError, ReadOnlyError
from toolhaft.resources import Filesystem, HostFilesystem, MemoryFilesystem, ResourceRegistry


def test_a_forkable_resource_is_forked_once_a_call_and_committed():
    log = []
    registry = ResourceRegistry({Forked: Forked(log, "a"), OtherForked: OtherForked(log, "b")})
    view = registry.fork()
    assert log == []
    assert view.get(OtherForked) is view.get(OtherForked)
    assert view.get(Forked).name == "a'"
    view.commit()
    assert log == ["fork b", "fork a", "commit b'", "commit a'"]


def test_failed_call_discards_newest_resource_first_and_raises_all_errors():
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
    with pytest.raises(ExceptionGroup, match="could not be undone") as error:
        view.discard()
    assert len(error.value.exceptions) == 2


def test_failed_commit_discards_later_resources_and_raises():
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


def test_restorable_resource_is_restored_from_its_snapshot():
    shared = Restored()
    registry = ResourceRegistry({Restored: shared})
    for end, expected in (("commit", ["first", "one"]), ("discard", ["first", "one"])):
        view = registry.fork()
        assert view.get(Restored) is shared is view.get(Restored)
        shared.items.append("one" if end == "commit" else "two")
        getattr(view, end)()
        assert shared.items == expected


@pytest.mark.parametrize("end", ["commit", "discard"])
def test_resources_of_a_call_are_closed_at_its_end_newest_first(end):
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


def test_resource_created_for_a_call_is_rolled_back_with_it():
    log = []
    registry = ResourceRegistry()
    registry.provide(Forked, lambda: Forked(log, "made"), scope="call")
    view = registry.fork(read_only=True)
    view.get(Forked)
    view.discard()
    assert log == ["fork made read-only", "discard made'"]


def test_resource_registered_under_two_types_is_forked_once():
    fs, shared = MemoryFilesystem(), Restored()
    view = ResourceRegistry({Filesystem: fs, MemoryFilesystem: fs, Restored: shared, object: shared}).fork()
    assert view.get(Filesystem) is view.get(MemoryFilesystem)
    assert view.get(Restored) is view.get(object)
    view.commit()


def test_ended_call_gets_no_resources():
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


def test_files_of_a_failed_call_are_restored(quick_path):
    registry = ResourceRegistry({Filesystem: HostFilesystem(quick_path, durable=False)})
    view = registry.fork()
    fs = view.get(Filesystem)
    fs.write("a/b", "1")
    view.discard()
    assert list(quick_path.iterdir()) == []
    with pytest.raises(CallEndedError):
        fs.write("late", "1")


def test_read_only_call_gets_read_only_forks():
    view = ResourceRegistry({Filesystem: MemoryFilesystem()}).fork(read_only=True)
    for one in (view, view.fork()):
        with pytest.raises(ReadOnlyError):
            one.get(Filesystem).write("a", "1")


def test_nested_call_forks_the_forks_of_the_outer_call():
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


def test_nested_call_forks_resources_that_the_outer_call_did_not_use():
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


def test_view_allocates_nothing_before_its_first_use():
    view = ResourceRegistry({Database: Database()}).fork()
    assert view._acquired is None  # noqa: SLF001 -- nothing else shows it
    view.discard()
    assert view._acquired is None  # noqa: SLF001 -- nothing else shows it


def test_a_read_only_call_does_not_undo_what_others_do_meanwhile():
    restored = Restored()
    view = ResourceRegistry({Restored: restored}).fork(read_only=True)
    view.get(Restored)
    restored.items.append("of a parallel call")
    view.discard()
    assert restored.items == ["first", "of a parallel call"]


def test_a_call_can_ask_whether_there_is_a_resource():
    registry = ResourceRegistry({Database: Database()})
    registry.provide(Queue, Queue, scope="call")
    for view in (registry, registry.fork(), registry.fork().fork()):
        assert [kind in view for kind in (Database, Queue, Cache)] == [True, True, False]


def test_an_error_of_closing_does_not_undo_a_call_and_is_logged(caplog):
    class Broken:
        def close(self):
            raise OSError("the line is dead")

    registry = ResourceRegistry()
    registry.provide(Broken, Broken, scope="call")
    for end in ("commit", "discard", "close_unshared"):
        view = registry.fork()
        view.get(Broken)
        getattr(view, end)()
        (record,) = caplog.records
        assert record.message == "a resource of a call could not be closed"
        caplog.clear()


def test_what_was_closed_early_is_created_again():
    log = []
    registry = ResourceRegistry()
    registry.provide(Database, lambda: Database(log), scope="call")
    view = registry.fork()
    first = view.get(Database)
    view.close_unshared()
    view.close_unshared()
    assert log == ["close database"]
    assert view.get(Database) is not first
    view.commit()
    assert log == ["close database"] * 2
