"""Helpers to lower one parameter."""

from tests.formats.subset.targets import TARGETS
from toolhaft.formats.subset.lower import lower


def tool(schema, *, required=True, **others):
    """A tool's schema with one parameter, x."""
    return {
        "type": "object",
        "properties": {"x": schema},
        **({"required": ["x"]} if required else {}),
        **others,
    }


def lower_x(schema, target, **others):
    """One required parameter, lowered: its schema and its losses."""
    low = lower(tool(schema, **others), TARGETS[target])
    return low.schema["properties"]["x"], reported(low)


def reported(low):
    """The losses, with the tool's own start of each path cut off."""
    return [(path.removeprefix("/properties/x"), *rest) for path, *rest in low.losses]


def there_and_back(low, value):
    """What is sent for a value, after a look that it comes back equal."""
    if low.mapping is None:
        return value
    sent = low.mapping.encode(value)
    assert low.mapping.decode(sent) == value
    return sent
