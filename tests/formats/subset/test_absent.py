"""Optional properties that must be required, and keys with two names."""

import jsonschema_rs
import pytest

from toolhaft.formats.anthropic import FORMAT as ANTHROPIC
from toolhaft.formats.openai_shared import STRICT
from toolhaft.formats.subset.lower import lower


@pytest.mark.parametrize(
    ("schema", "wanted"),
    [
        ({"enum": ["a", "b"]}, {"type": ["string", "null"], "enum": ["a", "b", None]}),
        ({"const": "a"}, {"anyOf": [{"type": ["string", "null"], "const": "a"}, {"type": "null"}]}),
    ],
)
def test_null_is_added_to_an_enum_whose_type_already_admits_it(schema, wanted):
    lowered = lower({"type": "object", "properties": {"x": {"type": ["string", "null"], **schema}}}, STRICT)
    assert lowered.schema["properties"] == {"x": wanted}
    assert lowered.losses == (), "the tool itself takes no null there"
    sent = lowered.mapping.encode({})
    assert sent == {"x": None}
    assert jsonschema_rs.is_valid(lowered.schema, sent)
    assert lowered.mapping.decode(sent) == {}


def test_an_object_with_both_names_of_a_renamed_key_is_unchanged():
    lowered = lower(
        {"type": "object", "properties": {"user name": {"type": "string"}}},
        ANTHROPIC.subset("", strict=False),
    )
    assert lowered.mapping.renames == {"user_name": "user name"}
    both = {"user_name": "abc", "user name": "xyz"}
    assert lowered.mapping.decode(both) == both
    assert lowered.mapping.encode(both) == both
    assert lowered.mapping.decode({"user_name": "abc"}) == {"user name": "abc"}
