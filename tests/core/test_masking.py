"""Secrets in arguments: what cannot be told apart from a secret is masked."""

from types import SimpleNamespace

from toolhaft.core.masking import MASK, argument_mask, mask_all, mask_text

SECRET = {"type": "string", "writeOnly": True}


def mask_for(schema):
    return argument_mask(SimpleNamespace(input_schema=schema))


def test_a_schema_without_secrets_needs_no_mask():
    assert mask_for({"properties": {"a": {"type": "string"}}}) is None


def test_arguments_too_deep_to_walk_through_are_masked_as_a_whole():
    mask = mask_for({"properties": {"next": {"$ref": "#"}, "token": SECRET}})
    deep = {"token": "abc"}
    for _ in range(20_000):
        deep = {"next": deep}
    assert mask({"next": {"token": "abc"}}) == {"next": {"token": MASK}}
    assert mask(deep) == MASK


def test_a_value_whose_schema_cannot_be_found_is_masked():
    properties = {
        "a": {"$ref": "#/$defs/missing"},
        "b": {"$ref": "#missing"},
        "c": {"$ref": "#/$defs/known"},
        "token": SECRET,
    }
    mask = mask_for({"properties": properties, "$defs": {"known": {"type": "string"}}})
    assert mask({"a": "x", "b": "y", "c": "z", "token": "t"}) == {
        "a": MASK,
        "b": MASK,
        "c": "z",
        "token": MASK,
    }


def test_a_misspelt_name_is_masked_unless_the_schema_allows_other_names():
    assert mask_for({"properties": {"token": SECRET}})({"tokn": "abc"}) == {"tokn": MASK}
    is_open = {"properties": {"token": SECRET}, "additionalProperties": True}
    assert mask_for(is_open)({"tokn": "abc"}) == {"tokn": "abc"}


def test_a_secret_is_masked_in_a_text_even_if_it_was_cut_short():
    mask = mask_for({"properties": {"token": SECRET}})
    text = mask_text("wrong: s3cret-and-lo", {"token": "s3cret-and-long"}, mask)
    assert text == f"wrong: {MASK}"


def test_mask_all_keeps_only_the_names():
    assert mask_all({"a": 1, "b": {"c": 2}}) == {"a": MASK, "b": MASK}
    assert mask_all("text") == MASK
