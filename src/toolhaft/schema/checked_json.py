"""Adds the defaults of a typed tool to the JSON of its arguments, each computed once.

The JSON is never made from the checked Python values: a model may leave fields out when it is written, or
write them differently. Instead, the arguments are checked once more by a validator that notes each default.
"""

import threading
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cached_property, partial
from typing import Any, Final, NamedTuple, cast

from pydantic_core import SchemaValidator, ValidationError
from pydantic_core.core_schema import CoreSchema

from toolhaft.schema.contract import Validate
from toolhaft.schema.json_text import SHORT_TEXT, copy_json, object_to_text, read_object
from toolhaft.schema.json_value import JSONObject, JSONValue, ValuePath
from toolhaft.schema.plain_json import NoPlainJSONError, plain_json
from toolhaft.schema.problems import InvalidArguments, UnreadArguments, ValidArguments
from toolhaft.schema.records import RECORD_DEFAULTS, RecordDefaults
from toolhaft.schema.strict_core import STRICT, CoreNode
from toolhaft.schema.tighten import map_children
from toolhaft.schema.typed_problems import has_union

_FIXED: Final = frozenset((bool, bytes, dict, float, frozenset, int, list, set, str, tuple))
"""Factories that always make an equal value."""
_FUNCTIONS: Final = frozenset(("function-before", "function-wrap"))
_WRAPPERS: Final = frozenset(
    ("dataclass", "default", "function-after", "function-before", "function-wrap", "model", "nullable")
)
_FIELDS: Final = frozenset(("dataclass-args", "model-fields", "typed-dict"))
_MOST_TRIED: Final = 20
"""Defaults that are tried one by one, if one of them does not fit its own type."""
_Key = str | int | tuple[str | int, ...]


class FoundDefault(NamedTuple):
    """A default that was used: where it belongs, its JSON, and whether it differs at each use."""

    path: ValuePath
    key: _Key
    value: JSONValue
    varies: bool


class ArgumentDefaults:
    """The defaults in a core schema, compiled when first used."""

    def __init__(self, schema: CoreSchema) -> None:
        self._schema = cast("CoreNode", schema)

    @property
    def varies(self) -> bool:
        """True if the schema has a default that may differ at each use: an id, or the current time."""
        return self._has_varying

    @cached_property
    def _has_varying(self) -> bool:
        return any(_varies(factory) for factory in _factories(self._schema))

    @cached_property
    def _root(self) -> dict[str, JSONValue] | None:
        """The JSON of each default, if only the root has defaults and none of them varies."""
        record = _record_defaults(self._schema)
        fields: list[CoreNode] = [dict(field) for field in self._schema.get("fields", {}).values()]
        if record is None or self.varies or any(_has_default(field) for field in fields):
            return None
        defaults = {**record.defaults, **{name: make() for name, make in record.factories.items()}}
        found: dict[str, JSONValue] = {}
        for name, default in defaults.items():
            json = _json_or_none(default)
            if json is not None:
                found[self._schema["fields"][name].get("validation_alias", name)] = json[0]
        return found

    @cached_property
    def _has_any(self) -> bool:
        return _has_default(self._schema)

    @cached_property
    def _validator(self) -> SchemaValidator:
        listed: list[CoreNode] = self._schema.get("definitions", [])
        tracer = _Tracer({node["ref"]: node for node in listed})
        traced = cast("CoreSchema", tracer.trace(self._schema))
        return SchemaValidator(traced, STRICT, _use_prebuilt=False)

    def add(self, given: JSONObject) -> JSONObject:
        """Add the defaults to valid arguments; a default that JSON cannot hold is left out."""
        if not self._has_any:
            return given
        if self._root is not None:
            return copy_json({**self._root, **given})
        return _with_defaults(given, self.find(given))

    def read_once(self, raw: object, validate: Validate) -> ValidArguments | InvalidArguments:
        """Validate with each default computed once: one that varies is part of what is validated."""
        given = None if isinstance(raw, UnreadArguments) else read_object(raw)
        # a recursive union or a long text may be expensive: it must have passed the bounded check first
        is_recursive = self._schema["type"] == "definitions" and has_union(self._schema, ("union",))
        is_cheap = not is_recursive and len(raw if isinstance(raw, str) else repr(raw)) <= SHORT_TEXT
        if given is not None and is_cheap:
            valid = self._read_with(given, validate)
            if valid is not None:
                return valid
        verdict = validate(raw)
        if isinstance(verdict, InvalidArguments):
            return verdict
        sent = given if verdict.given is None else verdict.given
        again = None if sent is None else self._read_with(sent, validate)
        return verdict if again is None else ValidArguments(again.params, verdict.repairs, again.given)

    def _read_with(self, given: JSONObject, validate: Validate) -> ValidArguments | None:
        """Validate with the defaults that vary; None if none of them is used, or it is not valid."""
        found = [each for each in self.find(given) if each.varies]
        whole = _with_defaults(given, found)
        valid = _accepted(whole, validate) if found else None
        if found and valid is None:  # a default need not fit its own type: keep those that do
            whole = given
            for each in found[:_MOST_TRIED]:
                more = _with_defaults(whole, [each])
                tried = _accepted(more, validate)
                if tried is not None:
                    whole, valid = more, tried
        return None if valid is None else ValidArguments(valid.params, (), whole)

    def find(self, given: JSONObject) -> list[FoundDefault]:
        """Return the defaults that a check of the arguments uses; none if they are not valid."""
        try:
            return self._traced(given, strict=True)
        except ValidationError:  # some types are stricter with Python values than with JSON
            pass
        except Exception:  # noqa: BLE001 -- a user's validator or factory raised
            return []
        try:
            return self._traced(given, strict=False)
        except Exception:  # noqa: BLE001 -- not valid, or as above
            return []

    def _traced(self, given: JSONObject, *, strict: bool) -> list[FoundDefault]:
        copy = copy_json(given)  # a user's validator may change it
        outer, _ACTIVE.trace = _ACTIVE.trace, _Trace(copy)
        try:
            self._validator.validate_python(copy, strict=strict)
            return _ACTIVE.trace.found
        finally:
            _ACTIVE.trace = outer


def _accepted(given: JSONObject, validate: Validate) -> ValidArguments | None:
    verdict = validate(object_to_text(given))
    return verdict if isinstance(verdict, ValidArguments) and not verdict.repairs else None


def _with_defaults(given: JSONObject, found: list[FoundDefault]) -> JSONObject:
    if not found:
        return given
    whole = copy_json(given)
    for each in found:
        target: Any = whole
        for part in each.path:
            target = target[part]
        value = deepcopy(each.value) if isinstance(each.value, dict | list) else each.value
        _put(target, each.key if isinstance(each.key, tuple) else (each.key,), value)
    return whole


def _put(target: Any, key: tuple[str | int, ...], value: JSONValue) -> None:  # noqa: ANN401 -- a dict or a list
    """Set the value at a key, or at the path of an alias, unless something is there."""
    for part in key[:-1]:
        if not isinstance(target, dict) or not isinstance(part, str):
            return
        target = cast("JSONObject", target).setdefault(part, {})
    if isinstance(target, list) and key[-1] == len(cast("list[JSONValue]", target)):
        cast("list[JSONValue]", target).append(value)
    elif isinstance(target, dict) and isinstance(key[-1], str):
        cast("JSONObject", target).setdefault(key[-1], value)


def _json_or_none(default: object) -> tuple[JSONValue] | None:
    try:
        return (plain_json(default),)
    except NoPlainJSONError:
        return None


class _Trace:
    """One check of arguments: where each of their objects and arrays is, and the defaults found so far."""

    __slots__ = ("branches", "found", "frames", "origins", "places")

    def __init__(self, root: JSONObject) -> None:
        # with the part itself: an id stays unique only while its object exists
        self.places: dict[int, tuple[ValuePath, object]] = {}
        self.frames: list[list[tuple[_Key, JSONValue, bool]]] = []
        self.origins: list[ValuePath | None] = [None]
        self.branches: list[list[tuple[object, list[FoundDefault]]]] = []
        self.found: list[FoundDefault] = []
        self._note(root, ())

    def _note(self, part: JSONValue, path: ValuePath) -> None:
        if isinstance(part, dict | list):
            self.places[id(part)] = (path, part)
            for key, child in part.items() if isinstance(part, dict) else enumerate(part):
                self._note(child, (*path, key))

    def path_of(self, part: object) -> ValuePath | None:
        """Where an object or array is in the arguments; None for one that a validator made."""
        place = self.places.get(id(part))
        return None if place is None else place[0]


class _Active(threading.local):
    trace: _Trace | None = None


_ACTIVE: Final = _Active()


def _current() -> _Trace:
    return cast("_Trace", _ACTIVE.trace)


class _Tracer:
    """Rewrites a core schema so that a check of Python values notes each default that it uses."""

    def __init__(self, definitions: dict[str, CoreNode]) -> None:
        self.definitions = definitions
        self.by_name = False

    def trace(self, node: CoreNode) -> CoreNode:
        """Return the schema that notes its defaults."""
        if not _has_default(node):
            return node
        kind: str = node["type"]
        was_by_name = self.by_name
        if "config" in node:
            config: dict[str, Any] = node["config"] or {}
            self.by_name = config.get("validate_by_alias") is False
        new = map_children(node, self.trace)
        self.by_name = was_by_name
        new.pop("custom_init", None)  # a model's own `__init__` would use its own validator
        if kind in _FIELDS:
            return _wrap(self._record(new), _note_record)
        if kind == "tuple" and any(item["type"] == "default" for item in node["items_schema"]):
            items = [_noting(item, place) for place, item in enumerate(new["items_schema"])]
            return _wrap({**new, "items_schema": items}, _note_record)
        if kind == "union":
            return _wrap(map_children(new, lambda choice: _wrap(choice, _note_branch)), _note_union)
        return _wrap(new, _note_origin) if kind in _FUNCTIONS and self._is_record(node["schema"]) else new

    def _record(self, node: CoreNode) -> CoreNode:
        own = _record_defaults(node)
        fields: Any = node["fields"]
        if isinstance(fields, list):
            listed = [self._field(field, field["name"]) for field in cast("list[CoreNode]", fields)]
            return {**node, "fields": listed}
        named: dict[str, CoreNode] = {}
        for name, field in cast("dict[str, CoreNode]", fields).items():
            default: CoreNode = {}
            if own is not None and name in own.defaults:
                default = {"default": own.defaults[name]}
            elif own is not None and name in own.factories:
                default = {"default_factory": own.factories[name]}
            schema = {"type": "default", "schema": field["schema"], **default} if default else field["schema"]
            named[name] = self._field({**field, "schema": schema}, name)
        return {**node, "fields": named}

    def _is_record(self, node: CoreNode) -> bool:
        """True if the node accepts exactly one object: the fields of a record, behind any validators."""
        while node["type"] in _WRAPPERS or node["type"] == "definition-ref":
            node = node["schema"] if node["type"] in _WRAPPERS else self.definitions[node["schema_ref"]]
        return node["type"] in _FIELDS

    def _field(self, field: CoreNode, name: str) -> CoreNode:
        if field["schema"]["type"] != "default" or field.get("init") is False:
            return field
        alias: Any = None if self.by_name else field.get("validation_alias")
        return {**field, "schema": _noting(field["schema"], _key_of(alias, name))}


def _key_of(alias: Any, name: str) -> _Key:  # noqa: ANN401 -- None, a text, a path, or a list of paths
    """The key that a field is read from; of several, the first plain one."""
    if alias is None or isinstance(alias, str):
        return alias or name
    paths: list[list[str | int]] = alias if isinstance(alias[0], list) else [alias]
    return tuple(next((path for path in paths if len(path) == 1), paths[0]))


def _noting(node: CoreNode, key: _Key) -> CoreNode:
    """Return a `default` node whose factory notes what it makes."""
    if node["type"] != "default":
        return node
    new = {name: value for name, value in node.items() if name not in ("default", "copy_default")}
    make: Any = node.get("default_factory")
    if make is None:
        make = partial(deepcopy, node["default"]) if node.get("copy_default") else lambda: node["default"]
        varies = False
    else:
        varies = _varies(make)
    new["default_factory"] = _NotingFactory(make, key, varies=varies)
    return new


class _NotingFactory:
    __slots__ = ("json", "key", "make", "varies")

    def __init__(self, make: Callable[..., object], key: _Key, *, varies: bool) -> None:
        self.make = make
        self.key = key
        self.varies = varies
        self.json = None if varies else _json_or_none(make())

    def __call__(self, *data: object) -> object:
        made = self.make(*data)
        json = _json_or_none(made) if self.varies else self.json
        frames = _current().frames
        if json is not None and frames:
            frames[-1].append((self.key, json[0], self.varies))
        return made


def _wrap(node: CoreNode, function: Callable[[Any, Callable[[Any], object]], object]) -> CoreNode:
    new = {key: value for key, value in node.items() if key != "ref"}
    wrapped: CoreNode = {
        "type": "function-wrap",
        "function": {"type": "no-info", "function": function},
        "schema": new,
    }
    return {**wrapped, "ref": node["ref"]} if "ref" in node else wrapped


def _note_record(value: Any, check: Callable[[Any], object]) -> object:  # noqa: ANN401 -- any value
    """Check a record, and keep the defaults of its fields if it is valid."""
    trace = _current()
    path = trace.path_of(value)
    if path is None:
        path = trace.origins[-1]
    start, frame = len(trace.found), list[tuple[_Key, JSONValue, bool]]()
    trace.frames.append(frame)
    trace.origins.append(None)
    try:
        made = check(value)
    except BaseException:
        del trace.found[start:]
        raise
    finally:
        trace.frames.pop()
        trace.origins.pop()
    if path is not None:
        trace.found.extend(FoundDefault(path, *noted) for noted in frame)
    return made


def _note_origin(value: Any, check: Callable[[Any], object]) -> object:  # noqa: ANN401 -- any value
    """Note where a record is whose object a user's validator replaces by another one."""
    trace = _current()
    path = trace.path_of(value)
    trace.origins.append(trace.origins[-1] if path is None else path)
    try:
        return check(value)
    finally:
        trace.origins.pop()


def _note_branch(value: Any, check: Callable[[Any], object]) -> object:  # noqa: ANN401 -- any value
    """Check a branch of a union, and set its defaults aside: another branch may fit better."""
    trace = _current()
    start = len(trace.found)
    made = check(value)
    trace.branches[-1].append((made, trace.found[start:]))
    del trace.found[start:]
    return made


def _note_union(value: Any, check: Callable[[Any], object]) -> object:  # noqa: ANN401 -- any value
    """Check a union, and keep the defaults of the branch whose value was chosen."""
    trace = _current()
    trace.branches.append([])
    try:
        made = check(value)
        nothing: list[FoundDefault] = []
        chosen = next((found for value, found in trace.branches[-1] if value is made), nothing)
    finally:
        trace.branches.pop()
    trace.found.extend(chosen)
    return made


def _varies(factory: object) -> bool:
    is_copy = isinstance(factory, partial) and factory.func is deepcopy
    return not is_copy and not (isinstance(factory, type) and factory in _FIXED)


def _nodes(node: CoreNode) -> Iterator[CoreNode]:
    """The node and everything inside it; a reference is not followed."""
    waiting = [node]
    for each in waiting:
        yield each
        map_children(each, lambda child: waiting.append(child) or child)


def _has_default(node: CoreNode) -> bool:
    """True if the node, or anything that it may refer to, has a default."""
    return any(
        each["type"] in ("default", "definition-ref") or _record_defaults(each) is not None
        for each in _nodes(node)
    )


def _record_defaults(node: CoreNode) -> RecordDefaults | None:
    metadata: dict[str, Any] = node.get("metadata") or {}
    return metadata.get(RECORD_DEFAULTS)


def _factories(node: CoreNode) -> Iterator[object]:
    """The factories of all defaults."""
    for each in _nodes(node):
        if "default_factory" in each:
            yield each["default_factory"]
        record = _record_defaults(each)
        if record is not None:
            yield from record.factories.values()
