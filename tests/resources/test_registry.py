"""Resources by type: given, or created on first use and closed by the registry."""

import threading
from contextlib import contextmanager
from typing import Protocol

import pytest

import toolhaft.resources as package
from tests.resources.things import Cache, Database, Queue, Restored
from toolhaft.errors import ResourceError
from toolhaft.resources import Filesystem, ResourceRegistry


def test_given_instance_is_found_by_its_type():
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
    with pytest.raises(ResourceError, match="resources cannot be a list; pass a mapping"):
        ResourceRegistry.of([Database()])


def test_error_for_a_missing_resource_says_how_to_give_it():
    with pytest.raises(ResourceError) as error:
        ResourceRegistry().get(Database)
    assert str(error.value) == (
        "no resource Database was given (available: none). Fix: ToolExecutor(..., resources={Database: ...})"
    )
    registry = ResourceRegistry({Database: Database()})
    registry.provide(Cache, Cache)
    with pytest.raises(ResourceError) as error:
        registry.fork().get(Filesystem)
    assert str(error.value) == (
        "no resource Filesystem was given (available: Cache, Database). "
        'Fix: ToolExecutor(..., resources={Filesystem: HostFilesystem("some/folder")})'
    )


@pytest.mark.parametrize("wrong", ["db", Database()], ids=["text", "instance"])
def test_what_is_not_a_type_finds_no_resource(wrong):
    view = ResourceRegistry({Database: Database()}).fork()
    with pytest.raises(ResourceError) as error:
        view[wrong]
    assert str(error.value) == (
        "resources are found by their type, as in context.resources[Database]; "
        f"{repr(wrong)[:100]} is not a type"
    )


def open_cache():
    return Cache()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"fs": 1}, "a resource is registered by its type; 'fs' is not a type"),
        (
            {Database: Database},
            "Database was given the class Database; pass an instance, or provide() the class",
        ),
        ({Database: Queue}, "Database was given the class Queue"),
        ({Cache: Database()}, "Cache was given a Database, which is not one"),
        (
            {Cache: open_cache},
            "Cache was given a function, which is not one; give a function that creates one to Resource",
        ),
        (
            {Filesystem: "some/folder"},
            'Filesystem was given a str, which is not one; pass HostFilesystem("some/folder")',
        ),
    ],
)
def test_instance_of_the_wrong_type_is_refused_when_given(given, told):
    with pytest.raises(ResourceError) as error:
        ResourceRegistry(given)
    assert str(error.value).startswith(told)


def test_resource_can_be_registered_by_a_protocol():
    class Named(Protocol):
        def rename(self, name: str) -> None: ...

    class Person:
        def rename(self, name):
            pass

    assert Named in ResourceRegistry({Named: Person()})
    with pytest.raises(ResourceError):
        ResourceRegistry({Named: Database()})


def test_singleton_is_created_once_on_first_use():
    made = []
    registry = ResourceRegistry()
    registry.provide(Database, lambda: made.append(1) or Database())
    assert made == []
    first = registry.fork().get(Database)
    assert registry.fork().get(Database) is first is registry.get(Database)
    assert made == [1]


def test_factory_gets_other_resources_from_its_argument():
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
def test_error_for_a_resource_cycle_names_the_whole_cycle(scope):
    registry = ResourceRegistry()
    registry.provide(Database, lambda resources: resources.get(Cache), scope=scope)
    registry.provide(Cache, lambda resources: resources.get(Queue), scope=scope)
    registry.provide(Queue, lambda resources: resources.get(Database), scope=scope)
    for _ in range(2):
        with pytest.raises(ResourceError) as error:
            registry.fork().get(Database)
        assert str(error.value) == (
            "resources need each other in a cycle: Database -> Cache -> Queue -> Database; "
            "have one of them get the other later, when it is used"
        )


def test_singleton_cannot_get_a_resource_of_a_call():
    registry = ResourceRegistry()
    registry.provide(Database, Database, scope="call")
    registry.provide(Cache, lambda resources: resources.get(Database))
    for ask in (registry.get, lambda kind: registry.fork().get(Cache)):
        with pytest.raises(
            ResourceError, match="Database is created for each call, so nothing that lives longer"
        ):
            ask(Database)


@pytest.mark.parametrize(
    ("factory", "scope", "told"),
    [
        (Database, "forever", "no scope 'forever' for Database; use 'singleton', 'call' or 'use'"),
        (Database(), "call", "the provider of Database must be a plain function or class"),
        (lambda one, two: None, "call", "the provider of Database takes 2 arguments"),
    ],
)
def test_unusable_provider_is_refused_when_it_is_registered(factory, scope, told):
    with pytest.raises(ResourceError) as error:
        ResourceRegistry().provide(Database, factory, scope)
    assert str(error.value).startswith(told)


def test_coroutine_function_is_refused_as_provider():
    async def connect():
        return Database()

    with pytest.raises(ResourceError, match="must be a plain function"):
        ResourceRegistry().provide(Database, connect)


def test_type_can_be_registered_only_once():
    registry = ResourceRegistry({Database: Database()})
    registry.provide(Cache, Cache)
    for kind in (Database, Cache):
        with pytest.raises(ResourceError, match=f"{kind.__name__} is registered already"):
            registry.provide(kind, kind)
    with pytest.raises(ResourceError, match="registered by its type"):
        registry.provide("cache", Cache)


def test_provider_that_returns_none_raises():
    registry = ResourceRegistry()
    registry.provide(Database, lambda: None)
    with pytest.raises(ResourceError, match="the provider of Database returned None"):
        registry.get(Database)


def test_resource_without_close_is_not_closed():
    registry = ResourceRegistry()
    registry.provide(Restored, Restored)
    with registry:
        assert registry.get(Restored).items == ["first"]


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
    registry.get(Cache)
    registry.get(Queue)
    with pytest.raises(ExceptionGroup) as error:
        registry.close()
    assert log == ["close three", "close two", "close one"]
    assert [str(one) for one in error.value.exceptions] == ["three does not close", "one does not close"]
    registry.close()
    with pytest.raises(ResourceError, match="closed: no Cache can be created"):
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


def test_package_exports_its_public_names():
    for name in dir(package):
        assert getattr(package, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        package.Nonsense  # noqa: B018 -- the asking is the test
