"""The work that a schema can cause is computed from it, as a product along its depth, before a value is checked."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, make_dataclass
from decimal import Decimal
from ipaddress import IPv6Network
from typing import Annotated, Any
from uuid import UUID

import pytest
from pydantic import AfterValidator, Field, create_model

from tests.cases import each_case, in_case
from toolhaft import InvalidArguments, Tool, ToolConfig, ValidArguments, create_tool, tool
from toolhaft.schema import explainer, work, wrong_parts
from toolhaft.schema import raw as raw_module
from toolhaft.schema.problems import UncheckedOutput
from toolhaft.schema.unbounded import check_arguments, check_value, verdict_of
from toolhaft.schema.work import DIRECT_STEPS, INLINE_STEPS, WorkBound


def raw(schema: dict[str, Any], output: Any = None, **more: Any):
    root = {"type": "object", "properties": {"value": schema}, **more}
    return create_tool(
        ToolConfig(name="raw", description="Raw.", input_schema=root, output_schema=output or {})
    )


def nested(depth: int, branches: int, keyword: str = "anyOf") -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {keyword: [{"properties": {"a": schema}} for _ in range(branches)]}
    return json.loads(json.dumps(schema))


def ladder(depth: int) -> dict[str, Any]:
    """Definitions of which each applies the next one twice to a member."""
    step = {"properties": {"a": {}}}
    defs: dict[str, Any] = {
        f"d{level}": {
            "anyOf": [{**step, "properties": {"a": {"$ref": f"#/$defs/d{level + 1}"}}} for _ in range(2)]
        }
        for level in range(depth)
    }
    return {**defs, f"d{depth}": {"type": "string"}}


def deep(depth: int, value: Any = 3) -> Any:
    for _ in range(depth):
        value = {"a": value}
    return value


NODE = {"anyOf": [{"properties": {"a": {"$ref": "#/$defs/n"}}}, {"properties": {"a": {"$ref": "#/$defs/n"}}}]}
NAMES = [f"name_{number}" for number in range(2_000)]
UNEVALUATED: dict[str, Any] = {"type": "integer"}
for _ in range(8):
    UNEVALUATED = {
        "anyOf": [{"properties": {"a": UNEVALUATED}}, {"properties": {"a": UNEVALUATED}}],
        "unevaluatedProperties": False,
    }
HOSTILE: list[tuple[str, dict[str, Any], dict[str, Any], Any]] = [
    ("nested anyOf", {"items": nested(4, 8)}, {}, [deep(4)] * 100),
    ("nested oneOf in items", {"items": nested(3, 8, "oneOf")}, {}, [deep(3)] * 500),
    ("a ladder of references", {"$ref": "#/$defs/d0"}, {"$defs": ladder(18)}, deep(18)),
    ("a recursive union", {"$ref": "#/$defs/n"}, {"$defs": {"n": NODE}}, deep(20)),
    ("wide and recursive", {"items": {"$ref": "#/$defs/n"}}, {"$defs": {"n": NODE}}, [deep(8)] * 200),
    ("unevaluated", UNEVALUATED, {}, deep(8)),
    ("required", {"items": {"required": NAMES}}, {}, [{}] * 1_000),
    ("enum", {"items": {"enum": [{"a": {"b": name}} for name in NAMES]}}, {}, [{}] * 2_000),
    ("const", {"items": {"const": NAMES}}, {}, [NAMES] * 120),
    ("property names", {"propertyNames": {"enum": [[name] for name in NAMES]}}, {}, dict.fromkeys(NAMES, 1)),
    (
        "pattern properties",
        {"patternProperties": {f"^{name}$": {} for name in NAMES}},
        {},
        dict.fromkeys(NAMES),
    ),
    ("dependent required", {"items": {"dependentRequired": {n: ["a"] for n in NAMES}}}, {}, [{}] * 500),
    ("contains", {"contains": nested(2, 30)}, {}, [deep(2)] * 300),
    ("unique long numbers", {"uniqueItems": True}, {}, [2**64 + number for number in range(300)]),
    ("multiples of long numbers", {"items": {"multipleOf": 0.01}}, {}, [10**4_000] * 100),
    ("multiples", {"items": {"multipleOf": 1e-300}}, {}, [1.5] * 2_000),
    (
        "if in if",
        {"items": {"allOf": [{"if": {"const": n}, "then": {"const": n}} for n in NAMES]}},
        {},
        [1] * 100,
    ),
    ("very many values", {"items": {"type": "integer"}}, {}, [1] * 200_000),
]


def test_a_call_with_hostile_arguments_is_not_checked_on_the_event_loop():
    for name, schema, more, value in HOSTILE:
        with in_case(name):
            made = raw(schema, **more)
            for arguments in (json.dumps({"value": value}), {"value": value}):
                verdict = made.read_input(arguments)
                assert isinstance(verdict, InvalidArguments)
                assert verdict.unchecked is not None
                assert "could take too long to check" in verdict.message


def test_the_problems_of_a_long_text_are_not_looked_for_on_the_event_loop(monkeypatch):
    made = raw({"type": "string"})
    text = json.dumps({"value": "x" * 70_000, **dict.fromkeys(NAMES, 1)})
    assert made.validate(text).problems[0].what.startswith("unknown")
    monkeypatch.setattr(raw_module, "has_repeated_key", None)
    assert made.read_input(text).unchecked == made.input_schema


def test_an_output_with_a_hostile_schema_is_not_checked_on_the_event_loop():
    for name, schema, more, value in HOSTILE:
        with in_case(name):
            made = raw({}, {**schema, **more})
            assert made.write_output(value) is None
            assert isinstance(made.check_output(value, on_loop=True), UncheckedOutput)


def test_the_bound_is_a_product_along_the_depth():
    for branches in (2, 3, 7):
        bound = WorkBound({"type": "object", "properties": {"value": nested(4, branches)}})
        with in_case(branches):
            assert [bound.at_depth(depth) // bound.at_depth(depth - 1) for depth in (2, 3, 4)] == [
                branches
            ] * 3
    recursive = WorkBound({"$defs": {"n": NODE}, "$ref": "#/$defs/n"})
    assert recursive.at_depth(30) >= 2**30
    assert recursive.at_depth(100) == recursive.at_depth(101)  # counts as unbounded


@dataclass
class Both:
    left: "Both | Either | int"
    right: "Both | Either | int" = 0


@dataclass
class Either:
    left: "Both | Either | int"


def test_a_typed_union_is_bounded_by_the_values_and_not_only_by_their_depth():
    @tool
    def take(value: Both | Either | int) -> None:
        """Take."""

    def tree(depth: int) -> Any:
        return {"left": tree(depth - 1), "right": tree(depth - 1)} if depth else 1

    assert isinstance(take.validate({"value": tree(4)}), ValidArguments)
    for value in (tree(10), tree(9), deep_left(40)):
        assert "could take too long to check" in take.validate({"value": value}).message


def deep_left(depth: int, value: Any = 1) -> Any:
    for _ in range(depth):
        value = {"left": value}
    return value


REAL: list[tuple[dict[str, Any], Any]] = [
    ({"type": "string"}, "x" * 500_000),
    ({"type": "array", "items": {"type": "string", "maxLength": 100}}, ["word"] * 10_000),
    (
        {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {name: {"type": ["string", "null"]} for name in NAMES[:20]},
                "required": NAMES[:5],
            },
        },
        [dict.fromkeys(NAMES[:10], "text")] * 300,
    ),
    (nested(2, 10), deep(2, "x")),
    (
        {"oneOf": [{"properties": {"kind": {"const": name}, name: {}}} for name in NAMES[:50]]},
        {"kind": "name_1"},
    ),
]


@each_case("schema, value", REAL)
def test_ordinary_arguments_are_checked_at_once(schema, value):
    verdict = raw(schema).read_input(json.dumps({"value": value}))
    assert getattr(verdict, "unchecked", None) is None


def test_the_limits_leave_room_for_a_tenth_of_a_second():
    assert INLINE_STEPS * 50e-9 < 0.05
    assert DIRECT_STEPS * 50e-9 < 0.5
    assert wrong_parts.EXPLAIN_STEPS * 20e-6 < 0.05


def test_the_engine_is_not_asked_for_all_errors_of_a_value_that_may_have_many(monkeypatch):
    asked: list[Any] = []

    class Counting:
        def __init__(self, validator: Any) -> None:
            self.is_valid = validator.is_valid
            self.validator = validator

        def iter_errors(self, value: Any) -> Any:
            asked.append(value)
            return self.validator.iter_errors(value)

    made = wrong_parts.compile_validator
    monkeypatch.setattr(wrong_parts, "compile_validator", lambda schema, place: Counting(made(schema, place)))
    cases = [
        ({"items": {"type": "integer"}}, [1] * 4_999 + ["x"], "value[4999]"),
        ({"items": {"required": NAMES[:50]}}, [{"a": 1}] * 100, "value"),
        (
            {"items": {"properties": {"b": {"items": {"type": "integer"}}}}},
            [{"a": 1}] * 3_000 + [{"b": [1] * 99 + ["x"]}],
            "value[3000].b[99]",
        ),
        (
            {"properties": {"k1": {"type": "string"}}},
            {f"k{number}": 1 for number in range(3_000)},
            "value.k1",
        ),
    ]
    for schema, value, path in cases:
        with in_case(path):
            asked.clear()
            verdict = raw(schema).validate(json.dumps({"value": value}))
            assert path in {problem.path for problem in verdict.problems}
            assert all(len(json.dumps(part)) < 2_000 for part in asked)


def test_at_most_about_a_hundred_problems_are_collected_and_that_is_said():
    names = {name: {"type": "integer"} for name in NAMES[:150]}
    made = create_tool(
        ToolConfig(name="t", description="T.", input_schema={"type": "object", "properties": names})
    )
    verdict = made.validate(dict.fromkeys(names, "x"))
    assert len(verdict.problems) == 100
    assert "100 or more problems" in verdict.message


def test_a_part_is_not_called_wrong_because_another_part_is_missing():
    item = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {}}, "required": ["a", "b"]}
    schema = {"type": "array", "items": item, "uniqueItems": True, "contains": {"required": ["b"]}}
    value = [{"a": number, "b": 1} for number in range(2_000)]
    value[7] = {"a": "x", "b": 1}
    problems = raw(schema).validate(json.dumps({"value": value})).problems
    assert [problem.path for problem in problems] == ["value[7].a"]


def test_a_worker_gives_the_verdict_that_a_check_without_bound_gives():
    schema = json.dumps({"type": "object", "properties": {"n": {"type": "integer", "default": 1}, "m": {}}})
    cases = [("{}", ValidArguments({"n": 1})), ('{"m": 2, "n": 3}', ValidArguments({"m": 2, "n": 3}))]
    for text, wanted in cases:
        assert verdict_of(check_arguments(schema, text), None) == wanted
    repaired = verdict_of(check_arguments(schema, '{"n": "5"}'), None)
    assert [str(repair) for repair in repaired.repairs] == ['n: read "5" as 5']
    invalid = verdict_of(check_arguments(schema, '{"n": "x"}'), '{"n":1}')
    assert 'n: got "x"; expected an integer' in invalid.message
    assert invalid.example == '{"n":1}'
    assert check_value('{"type": "integer"}', "1") is None
    assert check_value('{"type": "integer"}', '"x"') == 'value: got "x"; expected an integer'


@pytest.mark.parametrize("depth", [5, 12])
def test_an_example_or_description_is_not_made_from_a_schema_that_multiplies(depth):
    names = [f"a{number}" for number in range(10)]
    defs: dict[str, Any] = {
        f"d{level}": {
            "type": "object",
            "properties": {name: {"$ref": f"#/$defs/d{level + 1}"} for name in names},
            "required": names,
        }
        for level in range(depth)
    }
    made = raw(
        {"$ref": "#/$defs/d0"}, required=["value"], **{"$defs": {**defs, f"d{depth}": {"type": "null"}}}
    )
    verdict = made.validate("{}")
    assert verdict.example is None
    assert len(verdict.message) <= 2_000


def test_long_numbers_are_found_in_any_text():
    for text in (
        "9" * 19,
        "9" * 18,
        f"[{10**30}, -{2**64}, 1.{'5' * 25}]",
        "é" * 40,
        "\ud800" + "1" * 30,
        "x" * 40,
        "",
    ):
        with in_case(text):
            expected = [len(digits) for digits in re.findall("[0-9]{19,}", text)]
            assert work._long_numbers(text) == expected  # noqa: SLF001 -- the speed of a check depends on it


SAME_HASH = [(2**61 - 1) * number for number in range(1, 2_000)]


def test_values_whose_hashes_are_equal_are_not_put_into_a_set_or_dict():
    cases: list[tuple[Any, Callable[[int], Any]]] = [
        (set[int], int),
        (frozenset[Decimal], str),
        (set[UUID], lambda number: str(UUID(int=number))),
        (set[tuple[int, ...]], lambda number: [number, 1]),
        (set[tuple[str, Decimal]], lambda number: ["x", number]),
        (dict[UUID, int], lambda number: str(UUID(int=number))),
        (Mapping[Decimal, Any], str),
        (dict[Annotated[Decimal, Field(ge=0)], int], str),
        (dict[Annotated[UUID, AfterValidator(lambda key: key)], int], lambda number: str(UUID(int=number))),
        (dict[IPv6Network, int], lambda number: str(IPv6Network((number, 128)))),
        (create_model("Sets", sets=(dict[UUID, int], ...)), lambda number: str(UUID(int=number))),
    ]
    for annotation, write in cases:
        with in_case(str(annotation)):
            made = Tool[make_dataclass("Params", [("value", annotation)]), None](name="t", description="T.")
            for count, is_valid in ((2_000, False), (90, True)):
                written = [write(number) for number in SAME_HASH[:count]]
                is_set = "set[" in str(annotation)
                value: Any = written if is_set else dict.fromkeys(written, 1)
                verdict = made.validate({"value": {"sets": value} if "Sets" in str(annotation) else value})
                assert isinstance(verdict, ValidArguments) is is_valid
                if not is_valid:
                    assert "has too many values with the same hash" in verdict.message
            others = [write(number) for number in range(20_000)]
            value = others if is_set else dict.fromkeys(others, 1)
            verdict = made.validate({"value": {"sets": value} if "Sets" in str(annotation) else value})
            assert isinstance(verdict, ValidArguments)


def choices(depth: int) -> dict[str, Any]:
    """Definitions of which each admits the next one in two ways, only in objects."""
    defs: dict[str, Any] = {
        f"d{level}": {
            "anyOf": [
                {"type": "object", "title": title, "properties": {"a": {"$ref": f"#/$defs/d{level + 1}"}}}
                for title in ("one", "two")
            ]
        }
        for level in range(depth)
    }
    return {**defs, f"d{depth}": {"type": "string"}}


def test_an_example_of_valid_arguments_is_checked_within_the_bound():
    for depth, is_shown in ((3, True), (20, False)):
        first = {"$ref": "#/$defs/d0", "examples": [deep(depth, "x")]}
        needed = raw(first, required=["value"], **{"$defs": choices(depth)})
        for read in (needed.validate, needed.read_input):
            assert ("Valid arguments look like" in read("{}").message) is is_shown


def test_a_repaired_value_is_checked_within_the_bound():
    multiplying = raw({"$ref": "#/$defs/d0"}, **{"$defs": choices(20)})
    integers = raw({"type": "array", "items": {"type": "integer"}})
    record = {"type": "object", "properties": {name: {"type": "integer"} for name in NAMES}}
    for case, hostile, value in (
        ("JSON in a string", multiplying, json.dumps(deep(20, "x"))),
        ("much JSON in a string", integers, json.dumps([1] * 5_000)),
        ("many floats", integers, [5.0] * 5_000),
        ("many texts", integers, ["5"] * 5_000),
        ("many nulls", raw(record), dict.fromkeys(NAMES)),
    ):
        text = json.dumps({"value": value})
        with in_case(case):
            assert hostile.read_input(text).unchecked == hostile.input_schema
            worker = check_arguments(json.dumps(hostile.input_schema), text)
            assert isinstance(verdict_of(worker, None), ValidArguments)


def test_unknown_names_are_compared_and_reported_a_bounded_number_of_times(monkeypatch):
    compared: list[int] = []
    monkeypatch.setattr(explainer, "nearest", lambda _, names: compared.append(len(names)))
    for known in (400, 2_000):
        item = {"properties": {name: {} for name in NAMES[:known]}, "additionalProperties": False}
        unknown = raw({"items": item}).validate({"value": [{f"other_{n}": 1 for n in range(50)}] * 30})
        assert len(unknown.problems) <= 110
    assert sum(compared) <= 110 * 500


@dataclass
class Left:
    left: "Left | Right | int"


@dataclass
class Right:
    left: "Left | Right | str"


def test_a_typed_union_with_a_wrong_value_causes_few_errors():
    @tool
    def take(value: Left | Right | int) -> None:
        """Take."""

    for depth in range(6, 14):
        verdict = take.validate({"value": deep_left(depth, [])})
        count = re.match(r"(\d+) problems, too many", verdict.problems[0].what)
        assert count is None or int(count[1]) <= 5_000
        assert isinstance(take.validate({"value": deep_left(depth)}), ValidArguments)


def test_default_whose_pattern_could_take_too_long_is_not_checked_or_used():
    """Checking it would stop every thread of a process, once per parameter, when a tool is defined."""
    large = "(a?){500}" * 8 + "a{5000}"
    for pattern, chars, is_used in [("^a*$", 10, True), (large, 6_000, False), ("^a*$", 6_000, True)]:
        with in_case(pattern, chars):
            text = {"type": "string", "pattern": pattern, "default": "a" * chars}
            properties = {"text": text, "count": {"type": "integer", "default": 1}}
            result = raw_module.compile_raw({"type": "object", "properties": properties}).validate({})
            assert ("text" in result.params, result.params["count"]) == (is_used, 1)
