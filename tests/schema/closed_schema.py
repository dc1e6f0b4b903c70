"""Closes the objects of a raw schema, so that it accepts the same values as a type."""

from typing import Any


def closed(schema: Any) -> Any:
    """A schema whose objects refuse unknown keys, as typed records do without saying so."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    new = {key: value if key == "default" else closed(value) for key, value in schema.items()}
    if "properties" in new and isinstance(schema.get("type"), str):
        new.setdefault("additionalProperties", False)
    return new
