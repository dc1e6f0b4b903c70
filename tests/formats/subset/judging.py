"""Checks values against a tool's schema and against a lowered one, with the JSON Schema engine."""

from toolhaft.schema.expected import known_names
from toolhaft.schema.json_schema import map_subschemas
from toolhaft.schema.raw_definition import compile_validator, is_open

REPORTED_WIDER = {"widened", "moved to description", "checked locally"}


def own_judge(schema):
    """Whether a tool with this schema takes a value: its root is closed unless it opens itself."""
    validator = compile_validator(schema, "own")
    known = None if is_open(schema) else set(known_names(schema, schema))

    def takes(value):
        return (
            isinstance(value, dict) and validator.is_valid(value) and (known is None or value.keys() <= known)
        )

    return takes


def sent_judge(schema):
    """Whether a lowered schema takes a value; `nullable` admits null."""
    return compile_validator(spelled_out(schema), "wire").is_valid


def knows_arguments(schema, value):
    """Whether all arguments are ones that the schema knows: others are refused at the root of every tool."""
    return isinstance(value, dict) and (is_open(schema) or value.keys() <= set(known_names(schema, schema)))


def spelled_out(schema):
    new = map_subschemas(schema, spelled_out)
    if new.pop("nullable", False) is True:
        definitions = {"$defs": new.pop("$defs")} if "$defs" in new else {}
        return {"anyOf": [new, {"type": "null"}], **definitions}
    return new


def without_nulls(value):
    """A value whose null members are left out: where null is the default, they say nothing."""
    if isinstance(value, dict):
        return {key: without_nulls(member) for key, member in value.items() if member is not None}
    return [without_nulls(member) for member in value] if isinstance(value, list) else value


def same(one, other):
    """Equal as JSON: true is not 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


def has_pairs(value):
    """Whether a value still has a list of pairs: one with a repeated key is unchanged."""
    if isinstance(value, dict):
        return any(map(has_pairs, value.values()))
    if not isinstance(value, list):
        return False
    return any(
        (isinstance(member, dict) and member.keys() >= {"key", "value"}) or has_pairs(member)
        for member in value
    )
