"""Reducers of one's own, by `@reducer(on=Event)`, and what is refused as one."""

import pickle
from dataclasses import dataclass, replace
from typing import NamedTuple

import pytest

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


def test_marked_methods_of_a_slice_are_installed_at_once():
    session = planned()
    session.dispatch(AddStep("one"))
    session.dispatch(Rename("draw"))
    assert session[Plan].all() == (Plan("draw", ("one",)),)


def test_a_method_needs_an_item_and_says_so():
    session = Session()
    session[Plan].register()
    with pytest.raises(
        SessionError, match=r"Plan.add_step changes the latest Plan, and there is none\. Fix: "
    ):
        session.dispatch(AddStep("one"))
    assert session[Plan].all() == ()


def test_a_static_method_is_handed_the_view_and_can_start_a_slice():
    session = Session()
    session[Plan].register()
    session.dispatch(Start("win"))
    session.dispatch(Start("draw"))
    assert session[Plan].all() == (Plan("draw"),)
    session.dispatch(Stop())
    assert session[Plan].all() == ()


def test_a_derived_slice_type_has_the_methods_that_it_does_not_override():
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


def test_a_function_is_handed_a_view_and_its_item_takes_the_place_of_the_latest():
    session = Session()
    session[Count].register(count_steps)
    session.dispatch(AddStep("one"))
    session.dispatch(AddStep("two"))
    assert session[Count].all() == (Count(2),)


def test_several_slices_reduce_one_event():
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


def test_the_long_form_of_register_is_the_same():
    session = Session()
    session.register(Plan)
    session.register(Count, AddStep, count_steps)
    session.register(AddStep, log=True)
    session[Plan].seed(Plan("win"))
    session.dispatch(AddStep("one"))
    assert (session[Plan].latest(), session[Count].latest()) == (Plan("win", ("one",)), Count(1))
    assert session[AddStep].is_log


def test_several_marked_functions_are_registered_at_once_and_one_can_have_several_marks():
    @reducer(on=Start)
    @reducer(on=Rename)
    def reset(view, event):
        return Count(0)

    session = Session()
    session[Count].register(count_steps, reset)
    for event in (AddStep("one"), AddStep("two"), Rename("x"), AddStep("three"), Start("y")):
        session.dispatch(event)
    assert session[Count].all() == (Count(0),)


def test_registering_a_reducer_again_does_not_make_it_run_twice():
    session = planned()
    session[Plan].register()
    session[Count].register(count_steps)
    session[Count].register(AddStep, count_steps)
    session.dispatch(AddStep("one"))
    assert (session[Plan].latest(), session[Count].latest()) == (Plan("win", ("one",)), Count(1))


def test_the_last_way_to_keep_items_counts_and_other_reducers_run_after_it():
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


@pytest.mark.parametrize(("answer", "after"), ANSWERS)
def test_an_answer_of_a_reducer_is_the_change_that_it_says(answer, after):
    session = Session()
    session[int].seed([1, 2])
    session[int].register(str, lambda view, event: answer)
    session.dispatch("go")
    assert session[int].all() == tuple(after)


def test_an_item_that_is_a_tuple_is_an_item():
    session = Session()
    session[Pair].register(str, lambda view, event: Pair(1, 2))
    session.dispatch("go")
    assert session[Pair].all() == (Pair(1, 2),)


@pytest.mark.parametrize("answer", ["text", 2.5, [Append(1), 2], {"a": 1}])
def test_an_answer_that_says_no_change_is_refused_with_the_name_of_the_reducer(answer):
    session = Session()
    session[int].register(AddStep, lambda view, event: answer)
    with pytest.raises(
        SessionError, match=r"slice int: reducer .*<lambda> returned .*Fix: return an operation"
    ):
        session.dispatch(AddStep("one"))
    assert session[int].all() == ()


@pytest.mark.parametrize(
    "answer", [Append("text"), Extend([1, "text"]), Replace(["text"]), ReplaceLatest(None)]
)
def test_an_operation_with_an_item_of_another_type_is_refused(answer):
    session = Session()
    session[int].register(AddStep, lambda view, event: answer)
    with pytest.raises(SessionError, match="slice int: holds items of type int"):
        session.dispatch(AddStep("one"))
    assert session[int].all() == ()


def test_an_operation_of_ones_own_is_as_good():
    class Double(Operation):
        def apply(self, items, keeping):
            return items.append(keeping.take(items.latest() * 2))

    session = Session()
    session[int].seed(4)
    session[int].register(AddStep, lambda view, event: Double())
    session.dispatch(AddStep("one"))
    assert session[int].all() == (4, 8)


def test_a_built_in_way_can_be_part_of_ones_own():
    session = Session()
    session[int].register(int, lambda view, event: [*keep_latest(2)(view, event), Append(0)])
    for number in (1, 2, 3):
        session[int].append(number)
    assert session[int].all() == (0, 3, 0)
    for policy in (append_all, replace_latest, upsert_by("real")):
        assert all(isinstance(operation, Operation) for operation in policy(session[int], 1))


def test_a_reducer_that_raises_changes_no_slice():
    def fail(view, event):
        raise ZeroDivisionError

    session = planned()
    session[Count].register(AddStep, fail)
    with pytest.raises(ZeroDivisionError):
        session.dispatch(AddStep("one"))
    assert (session[Plan].latest(), session[Count].all()) == (Plan("win"), ())


@pytest.mark.parametrize("write", ["dispatch", "append", "commit", "register", "discard"])
def test_a_reducer_that_writes_is_refused_whatever_view_it_writes_through(write):
    session = Session()
    fork = session.fork()
    writes = {
        "dispatch": lambda: session.dispatch(1),
        "append": lambda: fork[str].append("x"),
        "commit": fork.commit,
        "discard": fork.discard,
        "register": lambda: session[str].register(append_all),
    }
    session[Count].register(AddStep, lambda view, event: writes[write]())
    with pytest.raises(SessionError, match="a reducer wrote to a session; nothing was changed"):
        session.dispatch(AddStep("one"))
    assert (session[int].all(), fork[str].all()) == ((), ())
    fork[str].append("afterwards")


def test_a_key_function_that_writes_is_refused_too():
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
    ((AddStep, replace_latest), r"replace_latest keeps the event itself, and AddStep is no Count\. Fix: "),
]


@pytest.mark.parametrize(("parts", "message"), BAD)
def test_a_bad_registration_says_what_where_and_what_next(parts, message):
    session = Session()
    with pytest.raises(SessionError, match=rf"slice Count: .*{message}"):
        session[Count].register(*parts)
    assert not session.hears(AddStep)


def test_a_method_of_the_wrong_shape_is_refused():
    class Odd:
        @reducer(on=AddStep)
        def add(self):
            return self

    with pytest.raises(
        SessionError, match=r"slice .*Odd: reducer .*add cannot be called with self and the event"
    ):
        Session()[Odd].register()


def test_a_class_method_is_refused():
    class Odd:
        @classmethod
        @reducer(on=AddStep)
        def add(cls, event):
            return cls()

    with pytest.raises(SessionError, match=r"Odd.add cannot reduce an event\. Fix: give a function of self"):
        Session()[Odd].register()


def test_a_builtin_that_tells_no_signature_is_taken_at_its_word():
    session = Session()
    session[int].register(AddStep, max)
    with pytest.raises(TypeError):
        session.dispatch(AddStep("one"))


@pytest.mark.parametrize("on", ["AddStep", None, AddStep("one")])
def test_a_mark_names_a_class(on):
    with pytest.raises(SessionError, match=r"is no event type\. Fix: name the class"):
        reducer(on=on)


@pytest.mark.parametrize("key", [3, None, int])
def test_a_key_is_a_name_or_a_function(key):
    with pytest.raises(SessionError, match=r"upsert_by: .* is no key\. Fix: "):
        upsert_by(key)


@pytest.mark.parametrize("count", [0, -1, True, 2.0, "3"])
def test_a_log_keeps_one_item_at_least(count):
    with pytest.raises(SessionError, match=r"keep_latest: .* is no number of items\. Fix: "):
        keep_latest(count)


def test_the_built_in_ways_say_who_they_are_and_can_be_sent():
    ways = [append_all, replace_latest, upsert_by("id"), keep_latest(3)]
    assert [repr(way) for way in ways] == [
        "append_all",
        "replace_latest",
        "upsert_by('id')",
        "keep_latest(3)",
    ]
    assert pickle.loads(pickle.dumps(append_all)) is append_all  # noqa: S301 -- our own bytes
    assert [repr(way) for way in pickle.loads(pickle.dumps(ways))] == [repr(way) for way in ways]  # noqa: S301 -- our own bytes
