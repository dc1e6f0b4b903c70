"""Snapshots lose nothing silently, and restoring imports nothing."""

import datetime as dt
import decimal
import enum
import json
import os
import subprocess
import sys
import uuid
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import in_case
from toolhaft.errors import SessionError
from toolhaft.session import Session, append_all, keep_latest, replace_latest


class Status(enum.Enum):
    PENDING = "pending"
    DONE = "done"


@dataclass(frozen=True)
class Step:
    step_id: int
    title: str
    status: Status = Status.PENDING
    when: dt.datetime | None = None


@dataclass(frozen=True)
class Plan:
    objective: str
    steps: tuple[Step, ...] = ()
    price: decimal.Decimal = decimal.Decimal(0)
    took: dt.timedelta = dt.timedelta()
    key: uuid.UUID | None = None
    data: bytes = b""
    ratio: float = 0.0
    either: int | str = 0
    by_number: tuple[tuple[int, str], ...] = ()
    count: int = field(init=False, default=0)

    def __post_init__(self):
        object.__setattr__(self, "count", len(self.steps))


@dataclass(frozen=True)
class BigPlan(Plan):
    size: int = 1


class Point(NamedTuple):
    x: int
    label: str = ""


class Model(pydantic.BaseModel):
    number: int
    names: list[str] = []
    inner: Step | None = None


@dataclass
class Thawed:
    numbers: list[int]
    table: dict[str, Step]


@dataclass(frozen=True)
class Loose:
    anything: Any


class Plain:
    pass


class Same:
    """Equal to nothing, and JSON for pydantic all the same."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source, handler):
        schema = handler(int)
        return {
            "type": "function-plain",
            "function": {"type": "no-info", "function": lambda value: cls()},
            "serialization": {"type": "function-plain", "function": lambda value: 1},
            "metadata": {"schema": schema["type"]},
        }


def filled(session=None):
    session = session or Session()
    step = Step(1, "one", Status.DONE, dt.datetime(2026, 1, 2, 3, 4, 5, 6, dt.UTC))
    session[Plan].append(Plan("win", (step,), data=b"\xff\x00", ratio=float("inf"), either="1"))
    session[Plan].append(BigPlan("more", size=3))
    session[Point].append(Point(1, "a"))
    session[Model].append(Model(number=1, names=["a"], inner=step))
    session[Thawed].append(Thawed([1], {"a": step}))
    session[str].append("text")
    session[dict].append({"a": [1, None, 2.5]})
    session[Status].append(Status.DONE)
    session[int].register(keep_latest(5), log=True)
    session[int].append(7)
    return session


def state(session, *kinds):
    return {
        kind: session[kind].all() for kind in kinds or (Plan, Point, Model, Thawed, str, dict, Status, int)
    }


def test_a_snapshot_is_plain_json_with_named_types():
    session = Session()
    session[Point].append(Point(1, "a"))
    session[Plan].append(Plan("win"))
    session[Plan].append(BigPlan("more"))
    name = __name__
    written = {"objective": "win", "steps": [], "price": "0", "took": "PT0S", "key": None, "data": ""}
    plan = {**written, "ratio": 0.0, "either": 0, "by_number": [], "count": 0}
    assert session.snapshot() == {
        "toolhaft_session": 1,
        "slices": [
            {"type": f"{name}:Point", "items": [[1, "a"]]},
            {
                "type": f"{name}:Plan",
                "items": [plan, {**plan, "objective": "more", "size": 1}],
                "item_types": [f"{name}:Plan", f"{name}:BigPlan"],
            },
        ],
    }


@pytest.mark.parametrize(
    "form", [lambda snapshot: snapshot, json.dumps, lambda snapshot: json.dumps(snapshot).encode()]
)
def test_snapshot_restores_from_an_object_or_text(form):
    session = filled()
    before = state(session)
    snapshot = form(session.snapshot())
    session[Plan].clear()
    session[Point].append(Point(9))
    session[Step].append(Step(9, "gone"))
    session.restore(snapshot)
    assert state(session) == before
    assert [type(plan) for plan in session[Plan]] == [Plan, BigPlan]
    assert session[Step].all() == (), "a slice that is not in the snapshot was empty then"


def test_restore_keeps_logs_unless_the_snapshot_has_them():
    session = filled()
    without, with_logs = session.snapshot(), session.snapshot(include_logs=True)
    session[int].append(8)
    session.restore(without)
    assert session[int].all() == (7, 8)
    session.restore(with_logs)
    assert session[int].all() == (7,)


def test_restore_into_a_new_session_needs_types():
    snapshot = filled().snapshot()
    fresh = Session()
    with pytest.raises(
        SessionError, match=r"this session has no type with the name '.*:Plan'\. Fix: .*types=\[Plan\]"
    ):
        fresh.restore(snapshot)
    assert state(fresh, Plan, str) == {Plan: (), str: ()}
    fresh.restore(snapshot, types=[Plan, BigPlan, Point, Model, Thawed, str, dict, Status])
    assert state(fresh) == {**state(filled()), int: ()}


def test_restore_finds_types_of_registered_slices():
    session, fresh = Session(), Session()
    session[Point].append(Point(1))
    fresh[Point].register(replace_latest)
    fresh.restore(session.snapshot())
    assert fresh[Point].all() == (Point(1),)


def test_restore_never_imports_a_name():
    cases = ["os:system", "subprocess:Popen", "antigravity:fly", "test:<locals>.x", "", None, 3]
    for name in cases:
        with in_case(name):
            session = filled()
            before, modules = state(session), set(sys.modules)
            with pytest.raises(SessionError, match="no type with the name"):
                session.restore({"toolhaft_session": 1, "slices": [{"type": name, "items": [1]}]})
            assert set(sys.modules) == modules
            assert state(session) == before


POINT = f"{__name__}:Point"
BAD = [
    ("{", r"the text is not JSON"),
    ("\ud800", r"the text is not JSON"),
    ("[" * 100_000, r"the text is not JSON"),
    (None, "this is not a session's snapshot"),
    ([], "this is not a session's snapshot"),
    ({}, "this is not a session's snapshot"),
    ({"toolhaft_session": 2, "slices": []}, "this is not a session's snapshot"),
    ({"toolhaft_session": 1, "slices": {}}, "this is not a session's snapshot"),
    ({"toolhaft_session": 1, "slices": [3]}, "a slice in it is not an object"),
    ({"toolhaft_session": 1, "slices": [{"type": POINT}]}, "has no list of items"),
    (
        {"toolhaft_session": 1, "slices": [{"type": POINT, "items": [], "item_types": 3}]},
        "has no list of items",
    ),
    (
        {"toolhaft_session": 1, "slices": [{"type": POINT, "items": [["x"]]}]},
        r"its items are not of type .*:Point",
    ),
    ({"toolhaft_session": 1, "slices": [{"type": POINT, "items": []}] * 2}, "it has slice .* twice"),
    ({"toolhaft_session": 1, "slices": [{"type": POINT, "items": [1], "item_types": []}]}, "item_types"),
    (
        {"toolhaft_session": 1, "slices": [{"type": POINT, "items": ["a"], "item_types": ["builtins:str"]}]},
        "item_types",
    ),
]


def test_invalid_snapshot_is_refused_and_changes_nothing():
    for snapshot, message in BAD:
        with in_case(snapshot, message):
            session = filled()
            before = state(session)
            with pytest.raises(SessionError, match=f"(?s)snapshot: .*{message}.*Fix: "):
                session.restore(snapshot)
            assert state(session) == before


def test_two_types_with_one_name_are_refused():
    def make():
        @dataclass(frozen=True)
        class Local:
            number: int

        return Local

    one, two = make(), make()
    session = Session()
    session[one].append(one(1))
    snapshot = session.snapshot()
    session.restore(snapshot)
    assert session[one].all() == (one(1),)
    with pytest.raises(SessionError, match="more than one type has the name"):
        session.restore(snapshot, types=[two])


def test_snapshot_refuses_items_that_json_would_change():
    cases = [
        (Plain(), r":Plain cannot be written as JSON"),
        (Plan("win", [Step(1, "a")]), r":Plan cannot be written as JSON: .*tuple"),
        (Model.model_construct(number="x"), r":Model cannot be written as JSON"),
        (Loose(Step(1, "a")), r"item 0 of type .*:Loose does not come back from JSON as it was"),
        (Loose(BigPlan("a")), r"does not come back from JSON as it was"),
    ]
    for item, message in cases:
        with in_case(item, message):
            session = Session()
            session[type(item)].append(item)
            with pytest.raises(SessionError, match=f"(?s)snapshot: .*{message}.*Fix: "):
                session.snapshot()
            session[type(item)].register(append_all, log=True)
            assert session.snapshot() == {"toolhaft_session": 1, "slices": []}


def test_items_without_equality_are_not_compared():
    session = Session()
    session[Same].append(Same())
    session[float].append(float("nan"))
    snapshot = session.snapshot()
    session[float].clear()
    session.restore(json.dumps(snapshot))
    assert isinstance(session[Same].latest(), Same)
    assert repr(session[float].all()) == "(nan,)"


def test_restore_ignores_removed_fields_and_uses_defaults_for_new_ones():
    session = Session()
    session[Step].append(Step(1, "a"))
    snapshot = session.snapshot()
    (said,) = snapshot["slices"]
    said["items"] = [{"step_id": 1, "title": "a", "colour": "red"}]
    session.restore(snapshot)
    assert session[Step].all() == (Step(1, "a"),)


def test_restore_in_a_fork_is_committed_or_dropped_with_it():
    session = filled()
    before = state(session)
    snapshot = Session().snapshot()
    dropped, kept = session.fork(), session.fork()
    dropped.restore(snapshot)
    assert dropped[Plan].all() == ()
    dropped.discard()
    assert state(session) == before
    kept.restore(snapshot)
    session[Plan].append(Plan("meanwhile"))
    kept.commit()
    assert session[Plan].all() == ()


texts = st.text(st.characters(codec="utf-8"), max_size=8)
steps = st.builds(
    Step,
    step_id=st.integers(),
    title=texts,
    status=st.sampled_from(Status),
    when=st.none() | st.datetimes(timezones=st.none() | st.just(dt.UTC)),
)
plans = st.builds(
    Plan,
    objective=texts,
    steps=st.lists(steps, max_size=3).map(tuple),
    price=st.decimals(allow_nan=False, allow_infinity=False),
    took=st.timedeltas(),
    key=st.none() | st.uuids(),
    data=st.binary(max_size=5),
    ratio=st.floats(allow_nan=False),
    either=st.integers() | texts,
    by_number=st.lists(st.tuples(st.integers(), texts), max_size=2).map(tuple),
)
models = st.builds(Model, number=st.integers(), names=st.lists(texts, max_size=2), inner=st.none() | steps)
thawed = st.builds(Thawed, numbers=st.lists(st.integers()), table=st.dictionaries(texts, steps, max_size=2))
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


@settings(deadline=None, max_examples=1_000 if os.environ.get("TOOLHAFT_LONG") else 15)
@given(
    st.lists(plans, max_size=3),
    st.lists(models, max_size=2),
    st.lists(thawed, max_size=2),
    st.lists(st.builds(Point, st.integers(), texts), max_size=2),
    st.lists(st.dictionaries(texts, plain, max_size=2), max_size=2),
)
def test_generated_states_survive_a_round_trip(some_plans, some_models, some_thawed, points, dicts):
    slices = {Plan: some_plans, Model: some_models, Thawed: some_thawed, Point: points, dict: dicts}
    session, fresh = Session(), Session()
    for kind, items in slices.items():
        session[kind].seed(items if kind is not dict else iter(items))
    fresh.restore(json.dumps(session.snapshot()), types=slices)
    assert state(fresh, *slices) == state(session, *slices)
    assert fresh.snapshot() == session.snapshot()


@pytest.mark.external
def test_session_imports_pydantic_only_for_snapshots():
    """Nothing is loaded before it is needed."""
    code = (
        "import sys; from toolhaft.session import Session; s = Session(); s[int].append(1); s.fork().commit();"
        "assert 'pydantic' not in sys.modules and 'pydantic_core' not in sys.modules; s.snapshot();"
        "assert 'pydantic' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_snapshot_name_keeps_a_moved_type_readable():
    @dataclass(frozen=True)
    class Moved:
        __snapshot_name__ = "old.place:Moved"

        text: str

    session = Session()
    session[Moved].append(Moved("kept"))
    snapshot = session.snapshot()
    assert "old.place:Moved" in json.dumps(snapshot)
    again = Session()
    again.restore(snapshot, types=[Moved])
    assert again[Moved].all() == (Moved("kept"),)
