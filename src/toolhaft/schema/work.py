"""Bounds the work of checking a value against a schema, level by level of the value.

A step is one keyword that is applied to one value. A JSON Schema engine takes about 50 ns for it, and 20 µs
if it reports an error.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, islice
from typing import Final, cast

from toolhaft.schema.json_schema import COMBINATORS, CONDITIONALS, REFERENCES, all_schemas, resolve
from toolhaft.schema.json_text import LONGEST_TEXT, to_json_text
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.patterns import match_size, own_patterns

INLINE_STEPS: Final = 300_000
"""At most about 20 ms: on an event loop, a value that may take more steps is not checked."""
DIRECT_STEPS: Final = 5_000_000
"""At most about 0.3 s: a value that may take more steps is not checked on any thread of this process."""
_VALUE_STEPS: Final = 2
"""For each value, whatever its schema: it is parsed, counted and written."""
_EAGER_LEVELS: Final = 16
_MAX_VISITS: Final = 500_000
"""Schemas visited to compute the bound; beyond it, deeper values count as unbounded."""
_UNBOUNDED: Final = 10**15
_SHORTEST_VALUE: Final = 2
"""Characters of a value in a JSON text, with its comma or brackets."""
_COPIED_PER_STEP: Final = 20
"""Members of a value that an error copies, in the time of one step."""
CHARS_PER_MEMBER: Final = 200
"""Characters of a string that are copied in the time of one member."""
_SIZE_PER_STEP: Final = 4
_SIZE_PER_HALF_STEP: Final = 2
"""Of patterns: the time of one step for one character is enough for this many places of a pattern."""
_ENTRIES_PER_STEP: Final = 20
_FORMAT_STEPS: Final = 20
_INTEGER_STEPS: Final = 30
_DECIMAL_STEPS: Final = 250
_UNIQUE_STEPS: Final = 2
_PATTERN_STEPS: Final = 3
_ANNOTATIONS: Final = frozenset(
    (
        "$anchor",
        "$comment",
        "$defs",
        "$id",
        "$schema",
        "default",
        "definitions",
        "deprecated",
        "description",
        "discriminator",
        "examples",
        "readOnly",
        "title",
        "writeOnly",
    )
)
_SIZED: Final = frozenset(("dependencies", "dependentRequired", "dependentSchemas", "required"))
_UNEVALUATED: Final = ("unevaluatedItems", "unevaluatedProperties")
_NUMBER_RULES: Final = (
    "const",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "maximum",
    "minimum",
    "multipleOf",
)
_LONG_DIGITS: Final = 19
"""An integer of more than 64 bits has as many: engines compare and hash them slowly."""
_ONLY_DIGITS: Final = bytes(ord("0") if chr(code).isdecimal() else ord(" ") for code in range(256))
_FEW_LONG_NUMBERS: Final = 2_000
_FEW_LONG_DIGITS: Final = 64_000
"""A shorter text has too few of them to matter, in an array without repeated items or anywhere."""
_DIGITS_PER_STEP: Final = 20
_COMPARE_STEPS: Final = 8
_TEXT_RULES: Final = ("format", "pattern", "patternProperties", "propertyNames")
_IN_PLACE: Final = frozenset(
    ("$dynamicRef", "$recursiveRef", "$ref", "dependencies", "dependentSchemas", *COMBINATORS, *CONDITIONALS)
)
_OBJECT: Final = frozenset(
    ("additionalProperties", "patternProperties", "properties", "propertyNames", _UNEVALUATED[1])
)
_ARRAY: Final = frozenset(
    ("additionalItems", "contains", "items", "prefixItems", "uniqueItems", _UNEVALUATED[0])
)
_MEMBERS: Final = _OBJECT | _ARRAY
_NOT_PLAIN: Final = _IN_PLACE | {"patternProperties", "propertyNames", *_UNEVALUATED}
_Parts = list[tuple[JSONObject, int]]


def applied_in_place(root: JSONObject, node: JSONObject) -> list[JSONValue]:
    """Return the schemas that a schema applies to the same value; None for a reference that leads nowhere."""
    if node.keys().isdisjoint(_IN_PLACE):
        return []
    found: list[JSONValue] = []
    for key in REFERENCES:
        reference = node.get(key)
        if isinstance(reference, str):
            found.append(resolve(root, reference))
    for key in COMBINATORS:
        branches = node.get(key)
        found.extend(branches if isinstance(branches, list) else ())
    found.extend(node[key] for key in CONDITIONALS if key in node)
    for key in ("dependencies", "dependentSchemas"):
        dependent = node.get(key)
        found.extend(dependent.values() if isinstance(dependent, dict) else ())
    return found


class WorkBound:
    """How many steps a schema may cause for one value, by the depth of the value in the arguments.

    Alternatives and references multiply along the depth: each schema that applies to a value may apply its
    own schemas to the members of that value. A tagged union counts as one alternative if `tags` is True.
    """

    __slots__ = (
        "_levels",
        "_own_steps",
        "_parts",
        "_plain_properties",
        "_steps",
        "_tags",
        "_text",
        "_visits",
        "_without_numbers",
        "root",
        "schemas",
    )

    def __init__(
        self,
        root: JSONObject,
        *,
        tags: bool = False,
        counts_text: bool = False,
        levels: int = _EAGER_LEVELS,
    ) -> None:
        self.root = root
        self._tags = tags
        self._visits = 0
        self._parts: dict[int, _Parts] = {}
        self._steps: list[dict[int, int]] = []
        self._levels: list[int] = []
        nodes = list(all_schemas(root))
        self.schemas = len(nodes)
        """How many schemas there are in the whole schema."""
        self._own_steps = _text_size if counts_text else _own_steps
        self._text: WorkBound | None = None
        """Counts the sizes of the patterns and formats that apply to a text, instead of steps."""
        self._without_numbers = LONGEST_TEXT
        """The length up to which long numbers in a text do not matter."""
        if any("uniqueItems" in node for node in nodes):
            self._without_numbers = _FEW_LONG_NUMBERS
        elif any(key in node for node in nodes for key in _NUMBER_RULES):
            self._without_numbers = _FEW_LONG_DIGITS
        properties = root.get("properties")
        is_plain = isinstance(properties, dict) and root.keys().isdisjoint(_NOT_PLAIN)
        self._plain_properties = cast("JSONObject", properties) if is_plain else None
        self._extend(levels)
        if not counts_text and any(key in node for node in nodes for key in _TEXT_RULES):
            depth = self._levels.index(0) if 0 in self._levels else levels
            self._text = WorkBound(root, tags=tags, counts_text=True, levels=depth)

    def safe_chars(self, limit: int) -> int:
        """Return the length up to which no JSON text can cause more steps than the limit."""
        most = max(self._levels[1:]) + _VALUE_STEPS
        left = limit - self._levels[0]
        if self._levels[-1]:  # recursive: deeper values may cause more
            return 2 * _EAGER_LEVELS if most * _EAGER_LEVELS <= left else 0
        text = 0 if self._text is None else self._text.most
        chars = max(0, _SHORTEST_VALUE * left // (most + text // _SIZE_PER_HALF_STEP + 1))
        return min(chars, self._without_numbers)

    def may_exceed(self, text: str, limit: int) -> bool:
        """True if the values in a JSON text could cause more steps than the limit, at any depth."""
        if self._levels[-1] or (len(text) > self._without_numbers and _long_numbers(text)):
            return True
        values = text.count(",") + text.count("[") + text.count("{") + 1
        steps = self._levels[0] + values * (max(self._levels[1:]) + _VALUE_STEPS)
        if self._text is not None:
            steps += len(text) * self._text.most // _SIZE_PER_STEP
        return steps > limit

    def exceeds(self, value: JSONValue, text: str, limit: int) -> bool:
        """True if a value, whose JSON text this is, could cause more steps than the limit."""
        steps = self.steps_of(value) + self._text_steps(value, text)
        return steps + self._number_steps(text) > limit

    def steps_of(self, value: JSONValue) -> int:
        """Return how many steps a value can cause at most."""
        return min(
            _UNBOUNDED, sum(count * (steps + _VALUE_STEPS) for count, steps, _ in self._by_depth(value))
        )

    def error_steps_of(self, value: JSONValue, chars: int = 0) -> int:
        """Return as many steps as errors that a value can cause; each error copies the value it is about.

        `chars` is the length of its JSON text.
        """
        copied = chars // CHARS_PER_MEMBER
        total = sum(
            steps * (count + (below + copied) // _COPIED_PER_STEP)
            for count, steps, below in self._by_depth(value)
        )
        return min(_UNBOUNDED, total)

    def _by_depth(self, value: JSONValue) -> Iterator[tuple[int, int, int]]:
        """Yield for each depth: the number of values, steps per value, and values there and below.

        The arguments of a plain object are counted separately: only some of them may have complex schemas.
        """
        properties = self._plain_properties if isinstance(value, dict) else None
        if properties is None:
            yield from _with_below(count_by_depth(value), self.at_depth)
            return
        rest: JSONObject = {}
        total = 0
        for name, child in cast("JSONObject", value).items():
            schema = properties.get(name)
            if isinstance(schema, dict):
                counts = count_by_depth(child)
                total += sum(counts)
                yield from _with_below(counts, partial(self._steps_at, schema))
            else:
                rest[name] = child
        counts = count_by_depth(rest)
        below = _with_below(counts, self.at_depth)
        yield 1, self.at_depth(0), total + sum(counts)
        yield from islice(below, 1, None)

    def at_depth(self, depth: int) -> int:
        """Return how many steps one value at this depth can cause at most."""
        if depth >= len(self._levels):
            if not self._levels[-1]:
                return 0
            self._extend(depth + 1)
        return self._levels[depth]

    def _text_steps(self, value: JSONValue, text: str) -> int:
        """Return the steps of matching patterns, by the length of the arguments that have any."""
        if self._text is None:
            return 0
        properties = self._plain_properties
        if properties is None or not isinstance(value, dict):
            return len(text) * self._text.most // _SIZE_PER_STEP
        total = 0
        for name, child in value.items():
            schema = properties.get(name, self.root.get("additionalProperties"))
            size = self._text.most_of(schema) if isinstance(schema, dict) else 0
            if size:
                total += size * (len(child) if isinstance(child, str) else len(to_json_text(child)))
        return total // _SIZE_PER_STEP

    @property
    def most(self) -> int:
        """The most steps at one value of the first levels."""
        return max(self._levels)

    def most_of(self, schema: JSONObject) -> int:
        """Return the most steps at one value inside a value that this schema applies to."""
        return max(self._steps_at(schema, depth) for depth in range(_EAGER_LEVELS))

    def _number_steps(self, text: str) -> int:
        if len(text) <= self._without_numbers:
            return 0
        digits = _long_numbers(text)
        compared = _COMPARE_STEPS * len(digits) if self._without_numbers == _FEW_LONG_NUMBERS else 1
        return compared * len(digits) + max(self._levels) * sum((n // _DIGITS_PER_STEP) ** 2 for n in digits)

    def _extend(self, count: int) -> None:
        while len(self._levels) < count:
            # each schema causes at least one step, but may have no pattern
            is_last = self._own_steps is _own_steps and self._levels[-1:] == [0]
            if is_last or self._levels[-1:] == [_UNBOUNDED]:
                self._levels.append(self._levels[-1])
            else:
                self._levels.append(min(self._steps_at(self.root, len(self._levels)), _UNBOUNDED))

    def _steps_at(self, schema: JSONObject, depth: int) -> int:
        """Return the most steps at one value, this much deeper than the value that the schema applies to."""
        if self._visits > _MAX_VISITS:
            return _UNBOUNDED
        while len(self._steps) <= depth:
            self._steps.append({})
        known = self._steps[depth].get(id(schema))
        if known is None:
            parts = self._applied(schema)
            if depth == 0:
                known = sum(times * self._own_steps(part) for part, times in parts)
            else:
                known = self._in_members(parts, depth)
            self._steps[depth][id(schema)] = known
        return known

    def _in_members(self, parts: _Parts, depth: int) -> int:
        most = 0
        if any(not part.keys().isdisjoint(_OBJECT) for part, _ in parts):
            most = self._in_object(parts, depth)
        if any(not part.keys().isdisjoint(_ARRAY) for part, _ in parts):
            most = max(most, self._in_array(parts, depth))
        return most

    def _applied(self, schema: JSONObject) -> _Parts:
        """Return every schema that applies to the same value, and how often."""
        if schema.keys().isdisjoint(_IN_PLACE):
            return [(schema, 1)]
        parts = self._parts.get(id(schema))
        if parts is not None:
            return parts
        counts: dict[int, tuple[JSONObject, int]] = {id(schema): (schema, 1)}
        # `unevaluated...` evaluates the schemas next to it once more
        factor = 2 if any(key in schema for key in _UNEVALUATED) else 1
        for child in self._choices(schema):
            for part, times in self._applied(child):
                before = counts.get(id(part), (part, 0))[1]
                counts[id(part)] = part, before + factor * times
        self._visits += len(counts)
        parts = self._parts[id(schema)] = list(counts.values())
        return parts

    def _choices(self, schema: JSONObject) -> Iterable[JSONObject]:
        children = [child for child in applied_in_place(self.root, schema) if isinstance(child, dict)]
        if self._tags and "discriminator" in schema:
            return sorted(children, key=lambda child: -self._steps_at(child, 0))[:1]
        return children

    def _in_object(self, parts: _Parts, depth: int) -> int:
        always = 0
        other = 0
        named: dict[str, int] = {}
        for part, times in parts:
            always += times * self._for_every_key(part, depth)
            rest = times * self._member(part.get("additionalProperties"), depth)
            other += rest
            properties = part.get("properties")
            if isinstance(properties, dict):
                self._visits += len(properties)
                for name, child in properties.items():
                    named[name] = named.get(name, 0) + times * self._member(child, depth) - rest
        return always + other + max(0, max(named.values(), default=0))

    def _for_every_key(self, part: JSONObject, depth: int) -> int:
        steps = self._member(part.get("unevaluatedProperties"), depth)
        patterns = part.get("patternProperties")
        if isinstance(patterns, dict):
            self._visits += len(patterns)
            steps += sum(self._member(child, depth) for child in patterns.values())
            if depth == 1:
                steps += self._own_steps({"patternProperties": patterns})
        names = part.get("propertyNames")
        if depth == 1 and isinstance(names, dict):
            steps += self._steps_at(names, 0)
        return steps

    def _in_array(self, parts: _Parts, depth: int) -> int:
        always = 0
        other = 0
        listed: dict[int, int] = {}
        for part, times in parts:
            always += times * sum(self._member(part.get(key), depth) for key in ("contains", _UNEVALUATED[0]))
            always += times * _UNIQUE_STEPS if part.get("uniqueItems") is True else 0
            first = part.get("prefixItems", part.get("items"))
            rest = part.get("additionalItems") if isinstance(part.get("items"), list) else part.get("items")
            rest_steps = times * self._member(rest, depth)
            other += rest_steps
            if isinstance(first, list):
                self._visits += len(first)
                for index, child in enumerate(first):
                    listed[index] = listed.get(index, 0) + times * self._member(child, depth) - rest_steps
        return always + other + max(0, max(listed.values(), default=0))

    def _member(self, schema: JSONValue, depth: int) -> int:
        if not isinstance(schema, dict):
            return 0
        if schema.keys().isdisjoint(_IN_PLACE):  # most schemas: decided without being remembered
            if depth == 1:
                return self._own_steps(schema)
            if schema.keys().isdisjoint(_MEMBERS):
                return 0
        return self._steps_at(schema, depth - 1)


def count_by_depth(value: JSONValue) -> list[int]:
    """Return how many values there are at each depth of a value."""
    counts: list[int] = []
    level: list[JSONValue] = [value]
    while level:
        counts.append(len(level))
        dicts = [part.values() for part in level if isinstance(part, dict)]
        lists = [part for part in level if isinstance(part, list)]
        level = list(chain(chain.from_iterable(dicts), chain.from_iterable(lists)))
    return counts


def _long_numbers(text: str) -> list[int]:
    """Return how many digits each long number in a text has, much faster than a regular expression."""
    digits = text.encode("ascii", "replace").translate(_ONLY_DIGITS)
    if b"0" * _LONG_DIGITS not in digits:
        return []
    return [len(number) for number in digits.split() if len(number) >= _LONG_DIGITS]


def _with_below(counts: list[int], steps_at: Callable[[int], int]) -> Iterator[tuple[int, int, int]]:
    below = sum(counts)
    for depth, count in enumerate(counts):
        yield count, steps_at(depth), below
        below -= count


def _own_steps(schema: JSONObject) -> int:
    steps = 1
    for key, value in schema.items():
        if key in _ANNOTATIONS:
            continue
        steps += 1
        if key in _SIZED and isinstance(value, dict | list):
            steps += len(value)
        elif key in ("const", "enum"):
            steps += sum(count_by_depth(value)) // _ENTRIES_PER_STEP
        elif key == "format":
            steps += _FORMAT_STEPS
        elif key == "patternProperties" and isinstance(value, dict):
            steps += _PATTERN_STEPS * len(value)
        elif key == "multipleOf":
            steps += _INTEGER_STEPS if isinstance(value, int) else _DECIMAL_STEPS
    return steps


def _text_size(schema: JSONObject) -> int:
    return sum(map(match_size, own_patterns(schema))) + ("format" in schema)
