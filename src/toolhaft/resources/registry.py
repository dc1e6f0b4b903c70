"""What the tools of an executor may touch, by type: given ready, or made when first needed.

Does not know calls; each gets a view of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from threading import RLock
from typing import Any, Self, TypeVar, cast

from toolhaft.core.ports import Filesystem
from toolhaft.errors import ResourceError, ResourceMissingError
from toolhaft.resources.call_resources import CallResources
from toolhaft.resources.closing import Closer, failures_of
from toolhaft.resources.providers import Factory, Making, Provider, Scope, name_of, provider_of

ThingT = TypeVar("ThingT")


class ResourceRegistry:
    """Resources by type; `resources=` of an executor.

    Args:
        given: ready instances by their type, which stay their owner's to close.

    Raises:
        ResourceError: where a key is no type, or a value is not of it.
    """

    __slots__ = (
        "_around",
        "_closers",
        "_given",
        "_is_closed",
        "_layers",
        "_lock",
        "_made",
        "_making",
        "_providers",
        "_served",
    )

    def __init__(self, given: Mapping[type, object] | None = None) -> None:
        self._given: dict[type, object] = {}
        self._providers: dict[type, Provider] = {}
        self._made: dict[type, object] = {}
        self._closers: list[Closer] = []
        self._layers: tuple[ResourceRegistry, ...] = ()
        self._around: ResourceRegistry = self
        self._served: tuple[ResourceRegistry, ...] = ()
        self._lock = RLock()
        self._making = Making()
        self._is_closed = False
        for kind, thing in (given or {}).items():
            _check_given(kind, thing)
            self._given[kind] = thing

    @classmethod
    def of(cls, given: ResourceRegistry | Mapping[type, object] | None) -> ResourceRegistry:
        """A registry as it is, or one of the instances in a mapping.

        Raises:
            ResourceError: for anything else.
        """
        if isinstance(given, ResourceRegistry):
            return given
        if given is None or isinstance(given, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] -- it is a user's
            return cls(given)
        raise ResourceError(
            f"resources cannot be a {type(given).__name__}; "
            "give a mapping from types to instances, or a ResourceRegistry"
        )

    @classmethod
    def merged(cls, sources: Iterable[ResourceRegistry | Mapping[type, object] | None]) -> ResourceRegistry:
        """A registry with the instances and the factories of all of them; for one type the last one wins.

        What the factories make in it is its own: none of the sources sees or closes it. A source of a class
        of somebody's own is asked as it is, for it may give another instance to each caller.

        Raises:
            ResourceError: where one is no registry and no mapping from types to instances.
        """
        layers: list[ResourceRegistry] = []
        own: list[ResourceRegistry] = []
        for source in (part for given in sources for part in cls.of(given)._parts()):  # noqa: SLF001 -- its own class
            if type(source) is not ResourceRegistry:
                layers.append(source)
                continue
            if not layers or layers[-1] not in own:
                own.append(cls())
                layers.append(own[-1])
            layers[-1]._take(source)  # noqa: SLF001 -- its own class
        if own and layers == own:
            return own[0]
        merged = cls.stacked(reversed(layers), closing=own)
        merged.serve(merged)
        for part in own:  # two that make things for each other must not wait for each other
            part._lock = merged._lock  # noqa: SLF001 -- its own class
        return merged

    @classmethod
    def stacked(
        cls, layers: Iterable[ResourceRegistry], *, closing: Iterable[ResourceRegistry] = ()
    ) -> ResourceRegistry:
        """A registry with nothing of its own: each type is had from the first of the layers that has it.

        It shares what they have made. Closing it closes those in `closing`.
        """
        made = cls()
        made._layers = tuple(layers)
        made._served = tuple(closing)
        made._closers = [one.close for one in made._served]
        return made

    def serve(self, around: ResourceRegistry) -> None:
        """Have its factories get what they need from the stack that it is a layer of."""
        self._around = around
        for part in self._served:
            part.serve(around)

    def provide(self, kind: type, factory: Factory, scope: Scope = "singleton") -> None:
        """Have a resource made when it is first asked for.

        Args:
            kind: the type that it is asked for by.
            factory: makes one, from nothing or from the resources, of which it may `get` others.
            scope: `singleton` makes one for all, `call` one a call, `use` one at each `get`. What a factory
                made is closed: at the end of the call, or of the registry.

        Raises:
            ResourceError: where the kind is taken, or the factory cannot work.
        """
        _check_kind(kind)
        with self._lock:
            if self._has(kind):
                raise ResourceError(f"{name_of(kind)} is there already; give or provide each type once")
            self._providers[kind] = provider_of(kind, factory, scope)

    def get(self, kind: type[ThingT]) -> ThingT:
        """The shared instance of a resource, past any call; changes to it are nobody's to put back.

        Raises:
            ResourceError: where there is none, or there is one a call.
        """
        if self._layers and not self._has(kind):
            return self._from_layers(kind)
        found = self._found(kind)
        return cast("ThingT", self._make(kind) if found is None else found)

    def ready(self, kind: type[ThingT]) -> ThingT | None:
        """The shared instance, if it is there already."""
        if type(self) is not ResourceRegistry:  # one of somebody's own may give another to each caller
            return None
        layer = self._layer(kind)
        return cast("ThingT | None", self._found(kind)) if layer is None else layer.ready(kind)

    def provider_for(self, kind: type) -> Provider | None:
        """How a resource is made anew for each call or use; None for one that is shared."""
        layer = self._layer(kind)
        if layer is not None:
            return layer.provider_for(kind)
        provider = self._providers.get(kind)
        return None if provider is None or provider.scope == "singleton" else provider

    def fork(self, *, read_only: bool = False) -> CallResources:
        """The resources as one call sees them."""
        return CallResources(self, read_only=read_only)

    def close(self) -> None:
        """Close what factories made, the newest first; safe to repeat.

        Raises:
            ExceptionGroup: with everything that went wrong, when all were tried.
        """
        with self._lock:
            self._is_closed = True
            self._made = {}
            closers, self._closers = self._closers, []
            failures = failures_of(reversed(closers))
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
        """The registries that it is made of, the first to be asked last."""
        for layer in reversed(self._layers):
            yield from layer._parts()  # noqa: SLF001 -- its own class
        yield self

    def _take(self, source: ResourceRegistry) -> None:
        """Have what another one has, in place of what is here."""
        for kind in (*source._given, *source._providers):
            self._given.pop(kind, None)
            self._providers.pop(kind, None)
        self._given.update(source._given)
        self._providers.update(source._providers)

    def _from_layers(self, kind: type[ThingT]) -> ThingT:
        layer = self._layer(kind)
        if layer is not None:
            return layer.get(kind)
        for other in self._layers:
            if type(other) is ResourceRegistry:
                continue
            try:
                return other.get(kind)  # what it can give it need not say
            except ResourceMissingError as error:
                if error.kind is not kind:  # something that it is made of
                    raise
        raise self._unknown(kind)

    def _layer(self, kind: type) -> ResourceRegistry | None:
        """The layer that a resource is had from, where it is not had from here."""
        if not self._layers or self._has(kind):
            return None
        return next((layer for layer in self._layers if kind in layer), None)

    def _found(self, kind: type) -> object:
        found = self._given.get(kind)
        return self._made.get(kind) if found is None else found

    def _make(self, kind: type) -> object:
        with self._lock:
            if kind in self._made:  # by another thread, while this one waited
                return self._made[kind]
            provider = self._providers.get(kind)
            if provider is None:
                raise self._unknown(kind)
            if provider.scope != "singleton":
                raise ResourceError(
                    f"{name_of(kind)} is made anew for each {provider.scope}, so nothing that lives longer "
                    "can have one; get it from context.resources, or make its user per call too"
                )
            if self._is_closed:
                raise ResourceError(f"the resources are closed: no {name_of(kind)} is made any more")
            with self._making.of(kind):
                made, closer = provider.make(self._around)
            if closer is not None:
                self._closers.append(closer)
            self._made[kind] = made
            return made

    def _names(self) -> set[str]:
        own = {name_of(kind) for kind in (*self._given, *self._providers)}
        return own.union(*(layer._names() for layer in self._layers))  # noqa: SLF001 -- its own class

    def _unknown(self, kind: type) -> ResourceMissingError:
        there = ", ".join(sorted(self._names())) or "none"
        instance = 'HostFilesystem("some/folder")' if kind is Filesystem else "..."
        return ResourceMissingError(
            f"no resource {name_of(kind)} was given (there is: {there}). "
            f"Fix: ToolExecutor(..., resources={{{name_of(kind)}: {instance}}})",
            kind=kind,
        )


def _check_kind(kind: object) -> None:
    if not isinstance(kind, type):
        raise ResourceError(f"a resource is asked for by its type; {kind!r:.100} is none")


def _check_given(kind: type, thing: object) -> None:
    """Refuse what a handler would only stumble over in the middle of a call."""
    _check_kind(kind)
    if isinstance(thing, type):
        raise ResourceError(
            f"{name_of(kind)} was given the class {thing.__name__}; give an instance, or provide() the class"
        )
    if getattr(kind, "_is_protocol", False):
        missing = [name for name in vars(kind) if not name.startswith("_") and not hasattr(thing, name)]
        fits = not missing
    else:
        fits = isinstance(thing, cast("type[Any]", kind))
    if not fits:
        hint = '; give HostFilesystem("some/folder")' if kind is Filesystem else ""
        raise ResourceError(f"{name_of(kind)} was given a {type(thing).__name__}, which is none{hint}")
