"""Registries made of others: merged into one, or stacked on one another."""

import pytest

from toolhaft.errors import ResourceError
from toolhaft.resources import ResourceRegistry


class Thing:
    def __init__(self, name="made"):
        self.name = name
        self.is_closed = False

    def close(self):
        self.is_closed = True


class Other(Thing):
    pass


def making(kind, name="made", scope="singleton"):
    registry = ResourceRegistry()
    registry.provide(kind, lambda: kind(name), scope)
    return registry


def test_last_merged_registry_wins():
    first, second = Thing("first"), Thing("second")
    assert ResourceRegistry.merged([{Thing: first}, {Thing: second}]).get(Thing) is second
    assert ResourceRegistry.merged([making(Thing), {Thing: first}]).get(Thing) is first
    assert ResourceRegistry.merged([{Thing: first}, making(Thing)]).get(Thing).name == "made"
    assert ResourceRegistry.merged([{Thing: first}, None, {Other: Other()}]).get(Thing) is first


def test_merged_registry_creates_its_own_instances():
    source = making(Thing)
    merged = ResourceRegistry.merged([source])
    assert merged.get(Thing) is not source.get(Thing)
    held = merged.get(Thing)
    merged.close()
    assert (held.is_closed, source.get(Thing).is_closed) == (True, False)


def test_a_factory_sees_what_was_merged_over_it():
    source = ResourceRegistry({Thing: Thing("first")})
    source.provide(Other, lambda resources: Other(resources.get(Thing).name))
    assert ResourceRegistry.merged([source, {Thing: Thing("second")}]).get(Other).name == "second"


def test_stacked_registries_can_be_merged():
    stacked = ResourceRegistry.stacked(
        [ResourceRegistry({Thing: Thing("top")}), making(Thing), making(Other)]
    )
    merged = ResourceRegistry.merged([stacked])
    assert (merged.get(Thing).name, merged.get(Other).name) == ("top", "made")


def test_first_layer_with_a_type_provides_it():
    top, bottom = ResourceRegistry({Thing: Thing("top")}), ResourceRegistry({Thing: Thing("bottom")})
    bottom.provide(Other, lambda: Other("bottom"))
    stacked = ResourceRegistry.stacked([top, bottom])
    assert stacked.get(Thing).name == "top"
    assert stacked.get(Other) is bottom.get(Other)
    assert (Thing in stacked, Other in stacked, int in stacked) == (True, True, False)


def test_layer_may_create_a_resource_per_call():
    stacked = ResourceRegistry.stacked([making(Thing, scope="call")])
    with pytest.raises(ResourceError, match="created for each call"):
        stacked.get(Thing)
    one, other = stacked.fork(), stacked.fork()
    assert one.get(Thing) is one.get(Thing)
    assert one.get(Thing) is not other.get(Thing)


def test_error_for_a_resource_in_no_layer_lists_those_available():
    stacked = ResourceRegistry.stacked([making(Thing), ResourceRegistry({Other: Other()})])
    with pytest.raises(ResourceError, match=r"no resource int was given \(available: Other, Thing\)"):
        stacked.get(int)


def test_something_can_be_provided_on_top():
    stacked = ResourceRegistry.stacked([making(Thing, "below")])
    stacked.provide(Thing, lambda: Thing("above"))
    assert stacked.get(Thing).name == "above"


def test_closing_a_stack_closes_only_the_given_layers():
    kept, closed = making(Thing), making(Other)
    stacked = ResourceRegistry.stacked([kept, closed], closing=[closed])
    thing, other = stacked.get(Thing), stacked.get(Other)
    stacked.close()
    stacked.close()
    assert (thing.is_closed, other.is_closed) == (False, True)


def test_stacks_of_stacks_can_be_merged():
    inner = ResourceRegistry.stacked([ResourceRegistry({Thing: Thing("in")})])
    outer = ResourceRegistry.stacked(
        [inner, ResourceRegistry({Thing: Thing("below"), Other: Other("below")})]
    )
    merged = ResourceRegistry.merged([outer])
    assert (merged.get(Thing).name, merged.get(Other).name) == ("in", "below")


def test_factory_in_a_merged_registry_gets_resources_of_all_sources():
    making_other = ResourceRegistry()
    making_other.provide(Other, lambda resources: Other(resources.get(Thing).name))
    for sources in ([making_other, Own()], [Own(), making_other]):
        merged = ResourceRegistry.merged(sources)
        made = merged.get(Other)
        assert made.name == "own"
        merged.close()
        assert made.is_closed


def test_resource_missing_in_a_subclass_of_registry_is_named():
    class Lacking(ResourceRegistry):
        def get(self, kind):
            return Thing(super().get(int)) if kind is Thing else super().get(kind)

    with pytest.raises(ResourceError, match="no resource int was given"):
        ResourceRegistry.merged([Lacking()]).get(Thing)


class Own(ResourceRegistry):
    def get(self, kind):
        return Thing("own") if kind is Thing else super().get(kind)


def test_subclass_of_registry_is_asked_instead_of_copied():
    merged = ResourceRegistry.merged([{Thing: Thing("first")}, Own({Other: Other("own")}), {int: 5}])
    assert merged.get(Other).name == "own"
    assert merged.get(int) == 5
    assert ResourceRegistry.merged([Own()]).get(Thing).name == "own"
    with pytest.raises(ResourceError, match="no resource float was given"):
        merged.get(float)
