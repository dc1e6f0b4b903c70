"""The resources of a prompt: its own, its sections' and the bound ones, opened while they are needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from typing import Any, Final, TypeAlias, TypeVar

from toolhaft.core.ports import ResourceKind
from toolhaft.errors import ResourceError
from toolhaft.resources import ResourceRegistry

_ResourceT = TypeVar("_ResourceT")
ResourceSource: TypeAlias = "ResourceRegistry | Mapping[type[Any], object] | None"

_OPEN: Final[ContextVar[tuple[tuple[PromptResources, ResourceRegistry], ...]]] = ContextVar(
    "toolhaft_prompt_resources", default=()
)
"""The scopes that are open in this thread or task, the newest last."""


class PromptResources:
    """A prompt's resources: `with prompt.resources as resources:` opens a scope and closes it at the end.

    Each `with` opens a new scope, so threads and tasks may share one prompt.

    Args:
        sources: instances by type, or registries; for one type the last one wins.

    Raises:
        ResourceError: if a source is neither.
    """

    def __init__(self, sources: Iterable[ResourceSource]) -> None:
        self._sources = tuple(map(ResourceRegistry.of, sources))
        self._opened: list[ResourceRegistry] = []

    def open(self) -> ResourceRegistry:
        """A new scope, which the caller closes."""
        return ResourceRegistry.merged(self._sources)

    @property
    def scope(self) -> ResourceRegistry | None:
        """The scope that is open in this thread or task; None if none is."""
        here = (scope for owner, scope in reversed(_OPEN.get()) if owner is self)
        return next((scope for scope in here if scope in self._opened), None)

    def get(self, kind: ResourceKind[_ResourceT]) -> _ResourceT:
        """A resource of the open scope.

        Raises:
            ResourceError: if no scope is open, or it has no such resource.
        """
        if self.scope is None:
            raise ResourceError(
                "the prompt's resources are not open here. Fix: with prompt.resources as resources: ..."
            )
        return self.scope.get(kind)

    def __getitem__(self, kind: ResourceKind[_ResourceT]) -> _ResourceT:
        return self.get(kind)

    def __contains__(self, kind: type) -> bool:
        return self.scope is not None and kind in self.scope

    def for_executor(self, given: ResourceSource) -> ResourceRegistry:
        """The resources of an executor: its own `given` ones first, then the open scope or a new one.

        Closing the result closes the given registry and a new scope, but not a scope that was open before.
        """
        scope = self.scope
        if scope is None:
            new = self.open()
            if given is None:
                return new
            on_top = ResourceRegistry.of(given)
            stacked = ResourceRegistry.stacked((on_top, new), closing=(on_top, new))
            new.serve(stacked)  # providers of the new scope find the given resources too
            return stacked
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
        # an async test fixture may exit in another task than it entered: then close the newest scope
        scope = self.scope or (self._opened[-1] if self._opened else None)
        if scope is None:
            raise ResourceError(
                "the prompt's resources are not open. Fix: with prompt.resources as resources: ..."
            )
        self._opened.remove(scope)
        _OPEN.set(tuple(pair for pair in _OPEN.get() if pair[1] is not scope))
        scope.close()
