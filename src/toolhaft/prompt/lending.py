"""The resources that a prompt brings, its own, its sections' and those that are bound, opened while needed.

Knows scopes; does not know who uses what.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from typing import Final, TypeAlias, TypeVar

from toolhaft.errors import ResourceError
from toolhaft.resources import ResourceRegistry

ThingT = TypeVar("ThingT")
Source: TypeAlias = "ResourceRegistry | Mapping[type, object] | None"

_OPEN: Final[ContextVar[tuple[tuple[PromptResources, ResourceRegistry], ...]]] = ContextVar(
    "toolhaft_prompt_resources", default=()
)
"""What is open in this thread or task, the newest last."""


class PromptResources:
    """A prompt's resources: `with prompt.resources as resources:` opens them, then closes what was made.

    Each opening is a scope of its own, so that one prompt serves any number of threads and tasks.

    Args:
        sources: instances by type, or registries; for one type the last one wins.

    Raises:
        ResourceError: where one is neither.
    """

    def __init__(self, sources: Iterable[Source]) -> None:
        self._sources = tuple(map(ResourceRegistry.of, sources))
        self._opened: list[ResourceRegistry] = []

    def open(self) -> ResourceRegistry:
        """A scope of its own, which whoever asked for it closes."""
        return ResourceRegistry.merged(self._sources)

    @property
    def scope(self) -> ResourceRegistry | None:
        """The scope that is open here; None where none is."""
        here = (scope for owner, scope in reversed(_OPEN.get()) if owner is self)
        return next((scope for scope in here if scope in self._opened), None)

    def get(self, kind: type[ThingT]) -> ThingT:
        """A resource of the scope that is open here.

        Raises:
            ResourceError: where none is open, or it has no such resource.
        """
        if self.scope is None:
            raise ResourceError(
                "the prompt's resources are not open here. Fix: with prompt.resources as resources: ..."
            )
        return self.scope.get(kind)

    def lend(self, given: Source) -> ResourceRegistry:
        """What an executor uses: what it was given, then the scope that is open here, or one of its own.

        Closing it closes what was made for it and a registry that was given, not a scope that is open here.
        """
        scope = self.scope
        if scope is None:
            own = self.open()
            if given is None:
                return own
            on_top = ResourceRegistry.of(given)
            lent = ResourceRegistry.stacked((on_top, own), closing=(on_top, own))
            own.serve(lent)  # what is made for the executor is made with what it was given
            return lent
        if given is None:
            return ResourceRegistry.stacked((scope,))
        on_top = ResourceRegistry.of(given)
        return ResourceRegistry.stacked((on_top, scope), closing=(on_top,))

    def __enter__(self) -> ResourceRegistry:
        scope = self.open()
        self._opened.append(scope)
        _OPEN.set((*_OPEN.get(), (self, scope)))
        return scope

    def __exit__(self, *_: object) -> None:
        # left elsewhere than entered, as by a fixture of an event loop, the newest scope is the one to close
        scope = self.scope or (self._opened[-1] if self._opened else None)
        if scope is None:
            raise ResourceError(
                "the prompt's resources are not open. Fix: with prompt.resources as resources: ..."
            )
        self._opened.remove(scope)
        _OPEN.set(tuple(pair for pair in _OPEN.get() if pair[1] is not scope))
        scope.close()
