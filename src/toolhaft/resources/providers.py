"""How each kind of resource is had: given ready, or made by a factory when first asked for.

Knows no calls: who asks, and for how long it lives, is settled by those that hold it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, cast

from toolhaft.core.ports import Resources
from toolhaft.errors import ResourceError
from toolhaft.resources.closing import Closer, opened

Scope = Literal["singleton", "call", "use"]
"""Made once for the registry, once a call, or at each `get`."""

Manner = Literal["fork", "restore", "plain"]
"""How a resource is put back: by dropping a fork, by a snapshot, or not at all."""

Factory = Callable[[], object] | Callable[[Resources], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A factory and how long what it makes lives."""

    kind: type
    scope: Scope
    factory: Factory
    takes_resources: bool

    def make(self, resources: Resources) -> tuple[object, Closer | None]:
        """A new one, and how to end it."""
        if self.takes_resources:
            made = cast("Callable[[Resources], object]", self.factory)(resources)
        else:
            made = cast("Callable[[], object]", self.factory)()
        if made is None:
            raise ResourceError(f"the provider of {name_of(self.kind)} returned None; return what it made")
        return opened(made)


def provider_of(kind: type, factory: Factory, scope: Scope) -> Provider:
    """A provider, its factory looked at once.

    Raises:
        ResourceError: where it cannot work.
    """
    if scope not in ("singleton", "call", "use"):
        raise ResourceError(f"no scope {scope!r} for {name_of(kind)}; use 'singleton', 'call' or 'use'")
    if not callable(factory) or inspect.iscoroutinefunction(factory):
        raise ResourceError(
            f"the provider of {name_of(kind)} must be a plain function or class that makes one; "
            f"an instance that is there already goes into ResourceRegistry({{{kind.__name__}: it}})"
        )
    needed = _needed(factory)
    if needed > 1:
        raise ResourceError(
            f"the provider of {name_of(kind)} takes {needed} arguments; it gets one, the resources, or none"
        )
    return Provider(kind=kind, scope=scope, factory=factory, takes_resources=needed == 1)


def _needed(factory: Factory) -> int:
    """How many arguments a factory cannot do without."""
    try:
        parameters = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):  # written in C, with no word about itself
        return 0
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(one.kind in kinds and one.default is one.empty for one in parameters)


def manner_of(thing: object) -> Manner:
    """How something is put back, by the methods that its type has."""
    kind = type(thing)
    if all(callable(getattr(kind, name, None)) for name in ("fork", "commit", "discard")):
        return "fork"
    if all(callable(getattr(kind, name, None)) for name in ("snapshot", "restore")):
        return "restore"
    return "plain"


def name_of(kind: object) -> str:
    """A kind of resource, as messages call it."""
    return kind.__name__ if isinstance(kind, type) else repr(kind)


class Making:
    """What is being made now, each for the sake of the one before it."""

    __slots__ = ("_kinds",)

    def __init__(self) -> None:
        self._kinds: list[type] = []

    @contextmanager
    def of(self, kind: type) -> Generator[None]:
        """A block that makes a kind of resource.

        Raises:
            ResourceError: where that kind is being made already, naming the whole circle.
        """
        if kind in self._kinds:
            circle = [*self._kinds[self._kinds.index(kind) :], kind]
            raise ResourceError(
                f"resources need each other in a circle: {' -> '.join(map(name_of, circle))}; "
                "have one of them get the other later, when it is used"
            )
        self._kinds.append(kind)
        try:
            yield
        finally:
            self._kinds.pop()
