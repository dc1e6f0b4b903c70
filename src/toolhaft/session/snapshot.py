"""Writes the items of slices as JSON and reads them back; a snapshot cannot make the reader import a type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias, cast

from pydantic import ConfigDict, TypeAdapter
from pydantic_core import from_json, to_json

from toolhaft.errors import SessionError
from toolhaft.schema.json_value import JSONObject, JSONValue

SliceItems: TypeAlias = Mapping[type, tuple[object, ...]]

_FORMAT: Final = "toolhaft_session"
_VERSION: Final = 1
# what a user's type, or pydantic on its behalf, may raise; anything else is a bug of this module
_FAULTS: Final = (ValueError, TypeError, RuntimeError, NameError, AttributeError, AssertionError)
_CONFIG: Final = ConfigDict(
    ser_json_bytes="base64", val_json_bytes="base64", ser_json_inf_nan="constants"
)  # applies to plain dataclasses; models have their own configuration


def encode(slices: SliceItems) -> JSONObject:
    """Slices as JSON, which `decode` reads back without loss.

    Raises:
        SessionError: for an item that cannot be written as JSON without loss.
    """
    encoded: list[JSONValue] = [_encoded(kind, items) for kind, items in slices.items() if items]
    return {_FORMAT: _VERSION, "slices": encoded}


def decode(snapshot: object, types: Iterable[type]) -> SliceItems:
    """The slices in a snapshot, which is text or an object.

    Raises:
        SessionError: if it is not a snapshot, names a type that is not in `types`, or does not fit its types.
    """
    by_name: dict[str, list[type]] = {}
    for kind in dict.fromkeys(types):
        by_name.setdefault(name_of(kind), []).append(kind)
    slices: dict[type, tuple[object, ...]] = {}
    for encoded in _slices_in(snapshot):
        kind = _known(by_name, encoded.get("type"))
        if kind in slices:
            raise SessionError(f"snapshot: it has slice {name_of(kind)} twice. Fix: keep one of them")
        slices[kind] = _decoded(kind, encoded, by_name)
    return slices


def name_of(kind: type) -> str:
    """The name of a type in a snapshot: its place in the code, or its `__snapshot_name__` if it was moved."""
    moved: str | None = vars(kind).get("__snapshot_name__")
    return moved or f"{kind.__module__}:{kind.__qualname__}"


def _encoded(kind: type, items: tuple[object, ...]) -> JSONObject:
    values: list[JSONValue] = [None] * len(items)
    for item_type, places in _by_type(map(type, items)).items():
        of_type = [items[place] for place in places]
        try:
            adapter = _adapter(item_type)
            found = cast("list[JSONValue]", adapter.dump_python(of_type, mode="json", warnings="error"))
            back = _read(adapter, found)
        except _FAULTS as error:
            raise SessionError(
                f"snapshot: an item of type {name_of(item_type)} cannot be written as JSON: {error}. "
                "Fix: make it a dataclass or Pydantic model that holds what its annotations say, or make its "
                "slice a log"
            ) from error
        for place, item, value, copy in zip(places, of_type, found, back, strict=True):
            _refuse_loss(item, copy, place)
            values[place] = value
    encoded: JSONObject = {"type": name_of(kind), "items": values}
    if any(type(item) is not kind for item in items):
        encoded["item_types"] = [name_of(type(item)) for item in items]
    return encoded


def _refuse_loss(item: object, back: object, place: int) -> None:
    # compares the repr too, since not-a-number is not equal to itself
    is_comparable = type(item).__eq__ is not object.__eq__
    if type(item) is not type(back) or (is_comparable and item != back and repr(item) != repr(back)):
        raise SessionError(
            f"snapshot: item {place} of type {name_of(type(item))} does not come back from JSON as it was. "
            "Fix: annotate each field with the exact type that it holds"
        )


def _slices_in(snapshot: object) -> list[Mapping[str, object]]:
    if isinstance(snapshot, str | bytes | bytearray):
        try:
            snapshot = from_json(snapshot)
        except (ValueError, TypeError) as error:
            raise SessionError(f"snapshot: the text is not JSON: {error}. Fix: pass it unchanged") from error
    empty: Mapping[str, object] = {}
    document = cast("Mapping[str, object]", snapshot) if isinstance(snapshot, Mapping) else empty
    slices = document.get("slices")
    if document.get(_FORMAT) != _VERSION or not isinstance(slices, list):
        raise SessionError(
            f"snapshot: this is not a session's snapshot (an object with {_FORMAT!r}: {_VERSION}). "
            "Fix: pass what session.snapshot() returned"
        )
    found = cast("list[object]", slices)
    if not all(isinstance(part, Mapping) for part in found):
        raise SessionError("snapshot: a slice in it is not an object. Fix: pass it unchanged")
    return cast("list[Mapping[str, object]]", found)


def _decoded(
    kind: type, encoded: Mapping[str, object], by_name: Mapping[str, list[type]]
) -> tuple[object, ...]:
    values = encoded.get("items")
    names = encoded.get("item_types")
    if not isinstance(values, list) or not (names is None or isinstance(names, list)):
        raise SessionError(f"snapshot: slice {name_of(kind)} has no list of items. Fix: pass it unchanged")
    encoded_items = cast("list[JSONValue]", values)
    types = (
        [kind] * len(encoded_items)
        if names is None
        else [_known(by_name, name) for name in cast("list[object]", names)]
    )
    if len(types) != len(encoded_items) or not all(issubclass(item_type, kind) for item_type in types):
        raise SessionError(
            f"snapshot: the item_types of slice {name_of(kind)} are not those of its items. "
            "Fix: pass it unchanged"
        )
    items: list[object] = [None] * len(encoded_items)
    for item_type, places in _by_type(types).items():
        try:
            found = _read(_adapter(item_type), [encoded_items[place] for place in places])
        except _FAULTS as error:
            raise SessionError(
                f"snapshot: slice {name_of(kind)}: its items are not of type {name_of(item_type)}: {error}. "
                "Fix: pass a snapshot that was made with the same types"
            ) from error
        for place, item in zip(places, found, strict=True):
            items[place] = item
    return tuple(items)


def _known(by_name: Mapping[str, list[type]], name: object) -> type:
    known = by_name.get(name, []) if isinstance(name, str) else []
    if len(known) == 1:
        return known[0]
    problem = "more than one type has" if known else "this session has no type with"
    raise SessionError(
        f"snapshot: {problem} the name {name!r:.200}. Fix: register the slice first, or name the type: "
        "session.restore(snapshot, types=[Plan]); two types need two names"
    )


def _by_type(types: Iterable[type]) -> dict[type, list[int]]:
    places: dict[type, list[int]] = {}
    for place, kind in enumerate(types):
        places.setdefault(kind, []).append(place)
    return places


def _adapter(kind: type) -> TypeAdapter[list[object]]:
    return TypeAdapter(list[kind], config=_CONFIG)  # pyright: ignore[reportInvalidTypeForm] -- a type known only now


def _read(adapter: TypeAdapter[list[object]], values: list[JSONValue]) -> list[object]:
    return adapter.validate_json(to_json(values, inf_nan_mode="constants"))
