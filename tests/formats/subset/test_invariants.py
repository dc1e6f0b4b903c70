"""What the engine promises for every schema: every loss is reported, and the target's rules are kept."""

import json
import random

from hypothesis import example, given
from hypothesis import strategies as st

from tests.cases import each_case
from tests.formats.examples import examples
from tests.formats.subset.generated import Maker
from tests.formats.subset.judging import (
    REPORTED_WIDER,
    has_pairs,
    knows_arguments,
    own_judge,
    same,
    sent_judge,
    without_nulls,
)
from tests.formats.subset.keeping import broken_rules
from tests.formats.subset.targets import TARGETS
from toolhaft.errors import DefinitionError
from toolhaft.formats.subset.lower import RefusedSchema, lower
from toolhaft.schema.raw import compile_raw
from toolhaft.schema.raw_definition import compile_validator

SEEDS = st.integers(0, 1_000_000)
VALUES = 10


def made(seed):
    """A schema that a tool may have, and its maker, from a seed; None for one that no tool may have."""
    maker = Maker(random.Random(seed), closed=seed % 2 == 1)  # noqa: S311 -- schemas are no secrets
    try:
        schema = compile_raw(maker.tool()).json_schema  # with the names that it requires declared
    except DefinitionError:
        return None
    return schema, maker


def lowered(schema, target):
    try:
        return lower(schema, TARGETS[target])
    except RefusedSchema:
        return None


def turned(way, value):
    return value if way is None else way(value)


@examples(20)
@given(seed=SEEDS)
@each_case("target", TARGETS)
def test_a_lowered_schema_obeys_the_target_and_the_original_is_unchanged(target, seed):
    drawn = made(seed)
    if drawn is None:
        return
    before = json.dumps(drawn[0])
    low = lowered(drawn[0], target)
    assert json.dumps(drawn[0]) == before
    if low is not None:
        assert broken_rules(low.schema, TARGETS[target]) == []
        assert [loss.path for loss in low.losses] == sorted(loss.path for loss in low.losses)
        assert len(set(low.losses)) == len(low.losses)


@examples(20)
@given(seed=SEEDS)
@each_case("target", TARGETS)
def test_valid_arguments_can_be_sent_and_restored_or_a_loss_is_reported(target, seed):
    drawn = made(seed)
    low = None if drawn is None else lowered(drawn[0], target)
    if low is None or any(loss.done == "narrowed" for loss in low.losses):
        return
    schema, maker = drawn
    takes, wire = own_judge(schema), sent_judge(low.schema)
    for value in filter(takes, (maker.value(schema, schema) for _ in range(VALUES))):
        sent = turned(low.mapping and low.mapping.encode, value)
        back = turned(low.mapping and low.mapping.decode, sent)
        assert wire(sent), (value, sent, low.schema)
        assert same(back, value) or same(without_nulls(back), without_nulls(value)), (value, sent, back)


@examples(20)
@given(seed=SEEDS)
@each_case("target", TARGETS)
def test_widened_schemas_are_reported(target, seed):
    drawn = made(seed)
    low = None if drawn is None else lowered(drawn[0], target)
    if low is None or any(loss.done in REPORTED_WIDER for loss in low.losses):
        return
    schema, maker = drawn
    own, wire = compile_validator(schema, "own"), sent_judge(low.schema)
    for _ in range(VALUES):
        sent = maker.value(low.schema, low.schema)
        if knows_arguments(low.schema, sent) and wire(sent):
            back = turned(low.mapping and low.mapping.decode, sent)
            assert own.is_valid(back) or has_pairs(back), (sent, back, low.schema)


@examples(16)
@given(seed=SEEDS)
@each_case("target", TARGETS)
def test_mapping_invalid_arguments_never_raises(target, seed):
    drawn = made(seed)
    low = None if drawn is None else lowered(drawn[0], target)
    if low is None or low.mapping is None:
        return
    schema, maker = drawn
    for value in (
        maker.any_value(),
        maker.value(schema, schema),
        {"arguments": maker.any_value()},
        [],
        "{",
        None,
    ):
        for way in (low.mapping.decode, low.mapping.encode):
            json.dumps(way(value))


@examples(40)
@given(seed=SEEDS)
@example(seed=62798)  # a merge ends a recursion
def test_a_lowered_schema_is_lowered_to_itself(seed):
    drawn = made(seed)
    for target, subset in TARGETS.items():
        low = None if drawn is None or subset.nested == "describe" else lowered(drawn[0], target)
        if low is None or subset.null == "nullable":
            continue
        again = lower(low.schema, subset)
        assert (again.schema, again.mapping, again.losses) == (low.schema, None, ())
