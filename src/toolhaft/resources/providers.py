"""Factories of resources: how a resource is created, how long it lives and how it is closed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Literal, cast

from toolhaft.core.ports import Resources
from toolhaft.errors import ResourceError

Closer = Callable[[], object]

ResourceScope = Literal["singleton", "call", "use"]
"""Created once per registry, once per call, or at each `get`."""
RollbackMethod = Literal["fork", "restore", "plain"]
"""How the changes of a call to a resource are undone: by its fork, by a snapshot, or not at all."""
Factory = Callable[[], object] | Callable[[Resources], object]


def enter_resource(made: object) -> tuple[object, Closer | None]:
    """The resource that a factory returned, ready for use, and how to close it.

    An object with a `close` method is used directly. Any other context manager is entered, and the value of
    the `with` block is used.
    """
    close = getattr(made, "close", None)
    if callable(close):
        return made, close
    if hasattr(type(made), "__enter__") and hasattr(type(made), "__exit__"):
        manager = cast("AbstractContextManager[object]", made)
        return manager.__enter__(), lambda: manager.__exit__(None, None, None)
    return made, None


def run_all(functions: Iterable[Closer]) -> list[Exception]:
    """Call all functions, also after one fails, and return the errors."""
    failures: list[Exception] = []
    for function in functions:
        try:
            function()
        except Exception as error:  # noqa: BLE001 -- the others must run too; the caller raises it
            failures.append(error)
    return failures


def raise_all(what: str, failures: list[Exception]) -> None:
    """Raise a single error unchanged, several as an ExceptionGroup."""
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise ExceptionGroup(what, failures)


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A factory, and the lifetime of what it creates."""

    kind: type
    scope: ResourceScope
    factory: Factory
    takes_resources: bool

    def make(self, resources: Resources) -> tuple[object, Closer | None]:
        """Create a resource; returns it and how to close it."""
        if self.takes_resources:
            made = cast("Callable[[Resources], object]", self.factory)(resources)
        else:
            made = cast("Callable[[], object]", self.factory)()
        if made is None:
            raise ResourceError(f"the provider of {type_name(self.kind)} returned None; return the resource")
        return enter_resource(made)


def provider_of(kind: type, factory: Factory, scope: ResourceScope) -> Provider:
    """Check a factory.

    Raises:
        ResourceError: if it cannot be used.
    """
    if scope not in ("singleton", "call", "use"):
        raise ResourceError(f"no scope {scope!r} for {type_name(kind)}; use 'singleton', 'call' or 'use'")
    if not callable(factory) or inspect.iscoroutinefunction(factory):
        raise ResourceError(
            f"the provider of {type_name(kind)} must be a plain function or class that creates one; "
            f"pass an existing instance as ResourceRegistry({{{kind.__name__}: it}})"
        )
    needed = _needed(factory)
    if needed > 1:
        raise ResourceError(
            f"the provider of {type_name(kind)} takes {needed} arguments; it gets one, the resources, or none"
        )
    return Provider(kind=kind, scope=scope, factory=factory, takes_resources=needed == 1)


def _needed(factory: Factory) -> int:
    """The number of required arguments of a factory."""
    try:
        parameters = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):  # written in C, without a signature
        return 0
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(one.kind in kinds and one.default is one.empty for one in parameters)


def rollback_method(thing: object) -> RollbackMethod:
    """How changes are undone, by the methods of the type."""
    kind = type(thing)
    if all(callable(getattr(kind, name, None)) for name in ("fork", "commit", "discard")):
        return "fork"
    if all(callable(getattr(kind, name, None)) for name in ("snapshot", "restore")):
        return "restore"
    return "plain"


def type_name(kind: object) -> str:
    """The name of a resource type for messages."""
    return kind.__name__ if isinstance(kind, type) else repr(kind)


class CycleGuard:
    """Detects resources whose factories need each other."""

    __slots__ = ("_kinds",)

    def __init__(self) -> None:
        self._kinds: list[type] = []

    @contextmanager
    def creating(self, kind: type) -> Generator[None]:
        """A block that creates a resource.

        Raises:
            ResourceError: if one of this type is being created already; the message names the whole cycle.
        """
        if kind in self._kinds:
            cycle = [*self._kinds[self._kinds.index(kind) :], kind]
            raise ResourceError(
                f"resources need each other in a cycle: {' -> '.join(map(type_name, cycle))}; "
                "have one of them get the other later, when it is used"
            )
        self._kinds.append(kind)
        try:
            yield
        finally:
            self._kinds.pop()
