"""Reducers with `@reducer(on=Event)`, and invalid ones."""

import pickle
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import pytest

from tests.cases import in_case
from toolhaft.errors import SessionError
from toolhaft.session import (
    Append,
    Clear,
    Extend,
    KeepLatest,
    Operation,
    Replace,
    ReplaceLatest,
    Session,
    Upsert,
    append_all,
    keep_latest,
    reducer,
    replace_latest,
    upsert_by,
)


@dataclass(frozen=True)
class AddStep:
    title: str


@dataclass(frozen=True)
class AddUrgentStep(AddStep):
    pass


@dataclass(frozen=True)
class Rename:
    objective: str


@dataclass(frozen=True)
class Start:
    objective: str


@dataclass(frozen=True)
class Stop:
    pass


@dataclass(frozen=True)
class Plan:
    objective: str
    steps: tuple[str, ...] = ()

    @reducer(on=AddStep)
    def add_step(self, event):
        return replace(self, steps=(*self.steps, event.title))

    @reducer(on=Rename)
    def rename(self, event):
        return replace(self, objective=event.objective)

    @staticmethod
    @reducer(on=Start)
    def start(view, event):
        return Replace([Plan(event.objective)])

    @reducer(on=Stop)
    @staticmethod
    def stop(view, event):
        return Clear()


@dataclass(frozen=True)
class Count:
    number: int


@reducer(on=AddStep)
def count_steps(view, event):
    return Count((view.latest() or Count(0)).number + 1)


def planned():
    session = Session()
    session[Plan].register()
    session[Plan].seed(Plan("win"))
    return session


def test_register_installs_all_marked_methods():
    session = planned()
    session.dispatch(AddStep("one"))
    session.dispatch(Rename("draw"))
    assert session[Plan].all() == (Plan("draw", ("one",)),)


def test_method_reducer_without_an_item_is_an_error():
    session = Session()
    session[Plan].register()
    with pytest.raises(
        SessionError, match=r"Plan.add_step changes the latest Plan, and there is none\. Fix: "
    ):
        session.dispatch(AddStep("one"))
    assert session[Plan].all() == ()


def test_static_method_receives_the_view_and_can_start_a_slice():
    session = Session()
    session[Plan].register()
    session.dispatch(Start("win"))
    session.dispatch(Start("draw"))
    assert session[Plan].all() == (Plan("draw"),)
    session.dispatch(Stop())
    assert session[Plan].all() == ()


def test_derived_slice_type_inherits_marked_methods():
    @dataclass(frozen=True)
    class Quiet(Plan):
        def rename(self, event):
            return None

    session = Session()
    session[Quiet].register()
    session[Quiet].seed(Quiet("win"))
    session.dispatch(AddStep("one"))
    session.dispatch(Rename("draw"))
    assert session[Quiet].latest() == Quiet("win", ("one",))


def test_function_reducer_receives_a_view_and_replaces_the_latest():
    session = Session()
    session[Count].register(count_steps)
    session.dispatch(AddStep("one"))
    session.dispatch(AddStep("two"))
    assert session[Count].all() == (Count(2),)


def test_one_event_may_change_several_slices():
    session = planned()
    session[Count].register(count_steps)
    session.dispatch(AddStep("one"))
    assert (session[Plan].latest(), session[Count].latest()) == (Plan("win", ("one",)), Count(1))
    assert session[AddStep].all() == (), "an event that somebody reduces is not appended to its own slice"


def test_an_event_of_a_derived_type_is_reduced_by_the_nearest_base():
    session = planned()
    session[Plan].register(AddUrgentStep, lambda view, event: replace(view.latest(), objective="hurry"))
    session[Count].register(count_steps)
    session.dispatch(AddUrgentStep("now"))
    assert (session[Plan].latest(), session[Count].latest()) == (Plan("hurry"), Count(1))


def test_an_item_of_a_derived_type_goes_to_the_registered_slice_of_its_base():
    session = Session()
    session[AddStep].register(append_all)
    session.dispatch(AddUrgentStep("now"))
    assert session[AddStep].all() == (AddUrgentStep("now"),)
    assert session[AddUrgentStep].all() == ()


def test_session_register_equals_slice_register():
    session = Session()
    session.register(Plan)
    session.register(Count, AddStep, count_steps)
    session.register(AddStep, log=True)
    session[Plan].seed(Plan("win"))
    session.dispatch(AddStep("one"))
    assert (session[Plan].latest(), session[Count].latest()) == (Plan("win", ("one",)), Count(1))
    assert session[AddStep].is_log


def test_several_marked_functions_and_several_marks_are_registered():
    @reducer(on=Start)
    @reducer(on=Rename)
    def reset(view, event):
        return Count(0)

    session = Session()
    session[Count].register(count_steps, reset)
    for event in (AddStep("one"), AddStep("two"), Rename("x"), AddStep("three"), Start("y")):
        session.dispatch(event)
    assert session[Count].all() == (Count(0),)


def test_reducer_registered_twice_runs_once():
    session = planned()
    session[Plan].register()
    session[Count].register(count_steps)
    session[Count].register(AddStep, count_steps)
    session.dispatch(AddStep("one"))
    assert (session[Plan].latest(), session[Count].latest()) == (Plan("win", ("one",)), Count(1))


def test_last_built_in_reducer_wins_and_other_reducers_run_after_it():
    session = Session()
    session[Count].register(append_all)
    session[Count].register(Count, lambda view, event: KeepLatest(2))
    session[Count].register(upsert_by("number"))
    for number in (1, 2, 1, 3):
        session[Count].append(Count(number))
    assert session[Count].all() == (Count(2), Count(3))


class Pair(NamedTuple):
    left: int
    right: int


ANSWERS = [
    (None, [1, 2]),
    (3, [1, 3]),
    (Append(3), [1, 2, 3]),
    (Extend([3, 4]), [1, 2, 3, 4]),
    (ReplaceLatest(3), [1, 3]),
    (Replace([3]), [3]),
    (Upsert(12, lambda number: number % 10), [1, 12]),
    (KeepLatest(1), [2]),
    (Clear(), []),
    (Clear(lambda number: number == 1), [2]),
    ([Clear(), Append(5)], [5]),
    ((), [1, 2]),
]


def test_each_return_value_of_a_reducer_is_applied():
    for answer, after in ANSWERS:
        with in_case(answer, after):
            session = Session()
            session[int].seed([1, 2])
            session[int].register(str, lambda view, event, answer=answer: answer)
            session.dispatch("go")
            assert session[int].all() == tuple(after)


def test_tuple_item_is_not_read_as_a_list_of_operations():
    session = Session()
    session[Pair].register(str, lambda view, event: Pair(1, 2))
    session.dispatch("go")
    assert session[Pair].all() == (Pair(1, 2),)


def test_invalid_return_value_error_names_the_reducer():
    for answer in ["text", 2.5, [Append(1), 2], {"a": 1}]:
        with in_case(answer):
            session = Session()
            session[int].register(AddStep, lambda view, event, answer=answer: answer)
            with pytest.raises(
                SessionError, match=r"slice int: reducer .*<lambda> returned .*Fix: return an operation"
            ):
                session.dispatch(AddStep("one"))
            assert session[int].all() == ()


def test_operation_with_a_wrong_item_type_is_refused():
    cases = [Append("text"), Extend([1, "text"]), Replace(["text"]), ReplaceLatest(None)]
    for answer in cases:
        with in_case(answer):
            session = Session()
            session[int].register(AddStep, lambda view, event, answer=answer: answer)
            with pytest.raises(SessionError, match="slice int: holds items of type int"):
                session.dispatch(AddStep("one"))
            assert session[int].all() == ()


def test_custom_operation_is_applied():
    class Double(Operation):
        def apply(self, items, keeping):
            return items.append(keeping.take(items.latest() * 2))

    session = Session()
    session[int].seed(4)
    session[int].register(AddStep, lambda view, event: Double())
    session.dispatch(AddStep("one"))
    assert session[int].all() == (4, 8)


def test_custom_reducer_may_reuse_a_built_in_one():
    session = Session()
    session[int].register(int, lambda view, event: [*keep_latest(2)(view, event), Append(0)])
    for number in (1, 2, 3):
        session[int].append(number)
    assert session[int].all() == (0, 3, 0)
    for policy in (append_all, replace_latest, upsert_by("real")):
        assert all(isinstance(operation, Operation) for operation in policy(session[int], 1))


def test_failing_reducer_changes_no_slice():
    def fail(view, event):
        raise ZeroDivisionError

    session = planned()
    session[Count].register(AddStep, fail)
    with pytest.raises(ZeroDivisionError):
        session.dispatch(AddStep("one"))
    assert (session[Plan].latest(), session[Count].all()) == (Plan("win"), ())


def test_reducer_may_not_write_to_a_session():
    writes = {
        "dispatch": lambda session, fork: session.dispatch(1),
        "append": lambda session, fork: fork[str].append("x"),
        "commit": lambda session, fork: fork.commit(),
        "discard": lambda session, fork: fork.discard(),
        "register": lambda session, fork: session[str].register(append_all),
    }
    for name, write in writes.items():
        with in_case(name):
            session = Session()
            fork = session.fork()
            do = partial(write, session, fork)
            session[Count].register(AddStep, lambda view, event, do=do: do())
            with pytest.raises(SessionError, match="a reducer wrote to a session; nothing was changed"):
                session.dispatch(AddStep("one"))
            assert (session[int].all(), fork[str].all()) == ((), ())
            fork[str].append("afterwards")


def test_key_function_may_not_write_to_a_session():
    session = Session()
    session[int].register(upsert_by(lambda number: session.dispatch("x") or number))
    with pytest.raises(SessionError, match="a reducer wrote to a session"):
        session[int].append(1)
    assert (session[int].all(), session[str].all()) == ((), ())


async def wait(view, event):
    return None


BAD = [
    ((), r"no method of Count is marked with @reducer\. Fix: mark one"),
    (
        (lambda view, event: None,),
        r"does not say which event it reduces\. Fix: mark it with @reducer\(on=Event\)",
    ),
    ((upsert_by,), "does not say which event"),
    ((3,), "3 does not say which event"),
    ((AddStep,), "AddStep does not say which event"),
    ((AddStep, 3), "3 cannot reduce an event. Fix: give a function of the view and the event"),
    ((AddStep, Plan), "Plan cannot reduce an event"),
    ((AddStep, lambda event: None), r"cannot be called with the view and the event: .*Fix: write `def"),
    ((AddStep, wait), "reducer wait is async"),
    (
        (AddStep, replace_latest),
        r"replace_latest stores the event itself, and AddStep is not a Count\. Fix: ",
    ),
]


def test_invalid_registration_is_refused_with_a_fix():
    for parts, message in BAD:
        with in_case(parts, message):
            session = Session()
            with pytest.raises(SessionError, match=rf"slice Count: .*{message}"):
                session[Count].register(*parts)
            assert not session.has_listener(AddStep)


def test_method_with_a_wrong_signature_is_refused():
    class Odd:
        @reducer(on=AddStep)
        def add(self):
            return self

    with pytest.raises(
        SessionError, match=r"slice .*Odd: reducer .*add cannot be called with self and the event"
    ):
        Session()[Odd].register()


def test_class_method_is_refused():
    class Odd:
        @classmethod
        @reducer(on=AddStep)
        def add(cls, event):
            return cls()

    with pytest.raises(SessionError, match=r"Odd.add cannot reduce an event\. Fix: give a function of self"):
        Session()[Odd].register()


def test_builtin_without_a_signature_is_accepted():
    session = Session()
    session[int].register(AddStep, max)
    with pytest.raises(TypeError):
        session.dispatch(AddStep("one"))


@pytest.mark.parametrize("on", ["AddStep", None, AddStep("one")])
def test_reducer_mark_needs_a_class(on):
    with pytest.raises(SessionError, match=r"is not an event type\. Fix: name the class"):
        reducer(on=on)


@pytest.mark.parametrize("key", [3, None, int])
def test_upsert_key_must_be_a_name_or_a_function(key):
    with pytest.raises(SessionError, match=r"upsert_by: .* is not a key\. Fix: "):
        upsert_by(key)


def test_keep_latest_needs_a_positive_count():
    for count in [0, -1, True, 2.0, "3"]:
        with (
            in_case(count),
            pytest.raises(SessionError, match=r"keep_latest: .* is not a number of items\. Fix: "),
        ):
            keep_latest(count)


def test_built_in_reducers_have_a_repr_and_can_be_pickled():
    ways = [append_all, replace_latest, upsert_by("id"), keep_latest(3)]
    assert [repr(way) for way in ways] == [
        "append_all",
        "replace_latest",
        "upsert_by('id')",
        "keep_latest(3)",
    ]
    assert pickle.loads(pickle.dumps(append_all)) is append_all  # noqa: S301 -- our own bytes
    assert [repr(way) for way in pickle.loads(pickle.dumps(ways))] == [repr(way) for way in ways]  # noqa: S301 -- our own bytes
