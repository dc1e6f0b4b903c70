"""The resources of an executor by type: instances, and factories that create them on first use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from threading import RLock
from types import FunctionType
from typing import Any, Self, TypeVar, cast

from toolhaft.core.ports import Filesystem, ResourceKind
from toolhaft.errors import ResourceError, ResourceMissingError
from toolhaft.resources.call_resources import CallResources
from toolhaft.resources.providers import (
    Closer,
    CycleGuard,
    Factory,
    Provider,
    ResourceScope,
    provider_of,
    run_all,
    type_name,
)

ResourceT = TypeVar("ResourceT")


class ResourceRegistry:
    """Resources by type; `resources=` of an executor.

    Args:
        given: instances by type; the registry does not close them.

    Raises:
        ResourceError: if a key is not a type, or a value is not an instance of it.
    """

    __slots__ = (
        "_closers",
        "_cycles",
        "_given",
        "_is_closed",
        "_layers",
        "_lock",
        "_made",
        "_own_layers",
        "_providers",
        "_stack",
    )

    def __init__(self, given: Mapping[type[Any], object] | None = None) -> None:
        self._given: dict[type, object] = {}
        self._providers: dict[type, Provider] = {}
        self._made: dict[type, object] = {}
        self._closers: list[Closer] = []
        self._layers: tuple[ResourceRegistry, ...] = ()
        self._stack: ResourceRegistry = self
        self._own_layers: tuple[ResourceRegistry, ...] = ()
        self._lock = RLock()
        self._cycles = CycleGuard()
        self._is_closed = False
        for kind, resource in (given or {}).items():
            _check_given(kind, resource)
            self._given[kind] = resource

    @classmethod
    def of(cls, given: ResourceRegistry | Mapping[type[Any], object] | None) -> ResourceRegistry:
        """The registry itself, or a new one with the instances of a mapping.

        Raises:
            ResourceError: for anything else.
        """
        if isinstance(given, ResourceRegistry):
            return given
        if given is None or isinstance(given, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
            return cls(given)
        raise ResourceError(
            f"resources cannot be a {type(given).__name__}; "
            "pass a mapping from types to instances, or a ResourceRegistry"
        )

    @classmethod
    def merged(
        cls, sources: Iterable[ResourceRegistry | Mapping[type[Any], object] | None]
    ) -> ResourceRegistry:
        """A registry with the instances and factories of all sources; for one type the last source wins.

        It creates and closes its own instances, separate from those of the sources. A source whose
        type is a subclass is asked at each `get`, not copied: it may return another resource to each caller.

        Raises:
            ResourceError: if a source is neither a registry nor a mapping from types to instances.
        """
        layers: list[ResourceRegistry] = []
        own: list[ResourceRegistry] = []
        for source in (part for given in sources for part in cls.of(given)._parts()):  # noqa: SLF001 -- the same class
            if type(source) is not ResourceRegistry:
                layers.append(source)
                continue
            if not layers or layers[-1] not in own:
                own.append(cls())
                layers.append(own[-1])
            layers[-1]._take(source)  # noqa: SLF001 -- the same class
        if own and layers == own:
            return own[0]
        merged = cls.stacked(reversed(layers), closing=own)
        merged.serve(merged)
        for part in own:  # one lock: two whose factories need each other must not deadlock
            part._lock = merged._lock  # noqa: SLF001 -- the same class
        return merged

    @classmethod
    def stacked(
        cls, layers: Iterable[ResourceRegistry], *, closing: Iterable[ResourceRegistry] = ()
    ) -> ResourceRegistry:
        """A registry that gets each type from the first layer that has it, and shares its instances.

        Closing it closes only the layers in `closing`.
        """
        made = cls()
        made._layers = tuple(layers)
        made._own_layers = tuple(closing)
        made._closers = [one.close for one in made._own_layers]
        return made

    def serve(self, stack: ResourceRegistry) -> None:
        """Let factories get the resources they need from the whole stack that this registry is a layer of."""
        self._stack = stack
        for part in self._own_layers:
            part.serve(stack)

    def provide(self, kind: type, factory: Factory, scope: ResourceScope = "singleton") -> None:
        """Register a factory that creates a resource on first use.

        Args:
            kind: the type to get it by.
            factory: takes nothing, or the resources, from which it may `get` others.
            scope: `singleton` creates one, `call` one per call, `use` one per `get`. What a factory created
                is closed at the end of the call, or with the registry.

        Raises:
            ResourceError: if the type is registered already, or the factory cannot be used.
        """
        _check_kind(kind)
        with self._lock:
            if self._has(kind):
                raise ResourceError(
                    f"{type_name(kind)} is registered already; give or provide each type once"
                )
            self._providers[kind] = provider_of(kind, factory, scope)

    def get(self, kind: ResourceKind[ResourceT]) -> ResourceT:
        """The shared instance of a resource, outside of any call; changes to it are not undone.

        Raises:
            ResourceError: if there is none, or it is created per call.
        """
        if self._layers and not self._has(kind):
            return self._from_layers(kind)
        found = self._given.get(kind)
        if found is None:
            found = self._made.get(kind)
        return cast("ResourceT", self._create(kind) if found is None else found)

    def __getitem__(self, kind: ResourceKind[ResourceT]) -> ResourceT:
        return self.get(kind)

    def provider_for(self, kind: type) -> Provider | None:
        """The provider of a resource that is created per call or use; None for a shared one."""
        layer = self._layer(kind)
        if layer is not None:
            return layer.provider_for(kind)
        provider = self._providers.get(kind)
        return None if provider is None or provider.scope == "singleton" else provider

    def fork(self, *, read_only: bool = False) -> CallResources:
        """The resources as one call sees them."""
        return CallResources(self, read_only=read_only)

    def close(self) -> None:
        """Close what factories created, the newest first; safe to repeat.

        Raises:
            ExceptionGroup: with all errors, after everything was tried.
        """
        with self._lock:
            self._is_closed = True
            self._made = {}
            closers, self._closers = self._closers, []
            failures = run_all(reversed(closers))
        if failures:
            raise ExceptionGroup("resources could not be closed", failures)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __contains__(self, kind: type) -> bool:
        return self._has(kind) or self._layer(kind) is not None

    def _has(self, kind: type) -> bool:
        return kind in self._given or kind in self._providers

    def _parts(self) -> Iterator[ResourceRegistry]:
        """The registries that it consists of, in increasing priority."""
        for layer in reversed(self._layers):
            yield from layer._parts()  # noqa: SLF001 -- the same class
        yield self

    def _take(self, source: ResourceRegistry) -> None:
        """Copy the entries of another registry, replacing those of the same type."""
        for kind in (*source._given, *source._providers):
            self._given.pop(kind, None)
            self._providers.pop(kind, None)
        self._given.update(source._given)
        self._providers.update(source._providers)

    def _from_layers(self, kind: ResourceKind[ResourceT]) -> ResourceT:
        layer = self._layer(kind)
        if layer is not None:
            return layer.get(kind)
        for other in self._layers:
            if type(other) is ResourceRegistry:
                continue
            try:
                return other.get(kind)  # a subclass may provide more than it lists
            except ResourceMissingError as error:
                if error.kind is not kind:  # a resource that its factory needs is missing
                    raise
        raise self._unknown(kind)

    def _layer(self, kind: type) -> ResourceRegistry | None:
        """The layer that provides a resource; None if this registry itself does."""
        if not self._layers or self._has(kind):
            return None
        return next((layer for layer in self._layers if kind in layer), None)

    def _create(self, kind: type) -> object:
        with self._lock:
            if kind in self._made:  # by another thread meanwhile
                return self._made[kind]
            provider = self._providers.get(kind)
            if provider is None:
                raise self._unknown(kind)
            if provider.scope != "singleton":
                raise ResourceError(
                    f"{type_name(kind)} is created for each {provider.scope}, so nothing that lives longer "
                    "can have one; get it from context.resources, or create its user per call too"
                )
            if self._is_closed:
                raise ResourceError(f"the resources are closed: no {type_name(kind)} can be created")
            with self._cycles.creating(kind):
                made, closer = provider.make(self._stack)
            if closer is not None:
                self._closers.append(closer)
            self._made[kind] = made
            return made

    def _names(self) -> set[str]:
        own = {type_name(kind) for kind in (*self._given, *self._providers)}
        return own.union(*(layer._names() for layer in self._layers))  # noqa: SLF001 -- the same class

    def _unknown(self, kind: type) -> ResourceMissingError:
        if not isinstance(kind, type):  # pyright: ignore[reportUnnecessaryIsInstance] -- handlers may not be typed
            return ResourceMissingError(
                f"resources are found by their type, as in context.resources[Database]; "
                f"{kind!r:.100} is not a type",
                kind=kind,
            )
        there = ", ".join(sorted(self._names())) or "none"
        instance = 'HostFilesystem("some/folder")' if kind is Filesystem else "..."
        return ResourceMissingError(
            f"no resource {type_name(kind)} was given (available: {there}). "
            f"Fix: ToolExecutor(..., resources={{{type_name(kind)}: {instance}}})",
            kind=kind,
        )


def _check_kind(kind: object) -> None:
    if not isinstance(kind, type):
        raise ResourceError(f"a resource is registered by its type; {kind!r:.100} is not a type")


def _check_given(kind: type, resource: object) -> None:
    """Refuse an instance of the wrong type now, not in the middle of a call."""
    _check_kind(kind)
    if isinstance(resource, type):
        raise ResourceError(
            f"{type_name(kind)} was given the class {resource.__name__}; "
            "pass an instance, or provide() the class"
        )
    if getattr(kind, "_is_protocol", False):
        missing = [name for name in vars(kind) if not name.startswith("_") and not hasattr(resource, name)]
        fits = not missing
    else:
        fits = isinstance(resource, cast("type[Any]", kind))
    if not fits:
        hint = '; pass HostFilesystem("some/folder")' if kind is Filesystem else ""
        if isinstance(resource, FunctionType):
            hint = f"; give a function that creates one to ResourceRegistry().provide({type_name(kind)}, ...)"
        raise ResourceError(
            f"{type_name(kind)} was given a {type(resource).__name__}, which is not one{hint}"
        )
