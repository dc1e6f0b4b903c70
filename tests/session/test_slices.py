"""The methods of a slice: latest, all, where, append, seed, clear, register."""

from dataclasses import dataclass

import pytest

from toolhaft.core import ports
from toolhaft.errors import SessionError
from toolhaft.session import Session, SliceView, append_all, keep_latest, replace_latest, upsert_by


@dataclass(frozen=True)
class Note:
    text: str
    id: int = 0


@dataclass(frozen=True)
class Loud(Note):
    volume: int = 11


def test_a_new_slice_is_empty():
    notes = Session()[Note]
    assert (notes.latest(), notes.all(), len(notes), list(notes)) == (None, (), 0, [])
    assert not notes


def test_items_are_read_oldest_first():
    session = Session()
    for text in "abc":
        session[Note].append(Note(text))
    assert session[Note].latest() == Note("c")
    assert session[Note].all() == (Note("a"), Note("b"), Note("c"))
    assert session[Note].where(lambda note: note.text > "a") == (Note("b"), Note("c"))
    assert list(session[Note]) == list(session[Note].all())


def test_a_slice_reads_the_newest_state_each_time():
    session = Session()
    notes = session[Note]
    session[Note].append(Note("a"))
    assert notes.latest() == Note("a")


def test_slices_of_different_types_are_separate():
    session = Session()
    session[Note].append(Note("a"))
    session[int].append(1)
    session[Loud].append(Loud("b"))
    assert (session[Note].all(), session[int].all(), session[Loud].all()) == (
        (Note("a"),),
        (1,),
        (Loud("b"),),
    )


def test_an_item_of_a_derived_type_can_be_appended():
    session = Session()
    session[Note].append(Loud("a"))
    assert session[Note].all() == (Loud("a"),)


@pytest.mark.parametrize("write", ["append", "seed"])
def test_item_of_another_type_error_names_the_type(write):
    session = Session()
    with pytest.raises(
        SessionError, match=r"slice Note: holds items of type Note, not int\. Fix: session\[int\]"
    ):
        getattr(session[Note], write)(3)
    assert session[Note].all() == ()


@pytest.mark.parametrize("given", [Note("a"), [Note("a")], (Note("a"),), iter([Note("a")])])
def test_seed_does_not_call_reducers(given):
    session = Session()
    session[Note].register(keep_latest(1))
    session[Note].seed([Note("x"), Note("y")])
    assert session[Note].all() == (Note("x"), Note("y"))
    session[Note].seed(given)
    assert session[Note].all() == (Note("a"),)


def test_seeding_a_string_slice_with_a_string_adds_one_item():
    session = Session()
    session[str].seed("abc")
    assert session[str].all() == ("abc",)


def test_clear_removes_all_or_matching_items():
    session = Session()
    session[Note].seed(Note(text) for text in "abcd")
    session[Note].clear(lambda note: note.text in "bc")
    assert session[Note].all() == (Note("a"), Note("d"))
    session[Note].clear()
    assert session[Note].all() == ()


def test_append_all_keeps_every_item():
    session = Session()
    session[Note].register(append_all)
    session[Note].append(Note("a"))
    session[Note].append(Note("a"))
    assert session[Note].all() == (Note("a"), Note("a"))


def test_replace_latest_keeps_one_item():
    session = Session()
    session[Note].register(replace_latest)
    session[Note].append(Note("a"))
    session[Note].append(Note("b"))
    assert session[Note].all() == (Note("b"),)


@pytest.mark.parametrize("key", ["id", lambda note: note.id])
def test_upsert_by_keeps_one_item_per_key_in_place(key):
    session = Session()
    session[Note].register(upsert_by(key))
    for note in (Note("a", 1), Note("b", 2), Note("c", 1)):
        session[Note].append(note)
    assert session[Note].all() == (Note("c", 1), Note("b", 2))


def test_upsert_with_an_unhashable_key_changes_nothing():
    session = Session()
    session[Note].register(upsert_by("text"))
    with pytest.raises(SessionError, match="Note has no key by 'text'"):
        session[Note].append(Note(["no", "text"]))
    assert session[Note].all() == ()


def test_keep_latest_bounds_a_slice():
    session = Session()
    session[Note].register(keep_latest(2))
    for text in "abcd":
        session[Note].append(Note(text))
    assert session[Note].all() == (Note("c"), Note("d"))


@pytest.mark.parametrize("name", ["Note", Note("a"), list[int], None])
def test_slice_key_must_be_a_class(name):
    with pytest.raises(SessionError, match=r"named by a class\. Fix: session\[Plan\]"):
        Session()[name]


def test_session_has_an_id_and_a_repr():
    session = Session(id="s1")
    session[Note].append(Note("a"))
    assert session.id == session.fork().id == "s1"
    assert Session().id != Session().id
    assert repr(session) == "<Session s1 (Note: 1)>"
    assert repr(session.fork()) == "<Fork of session s1 (Note: 1)>"
    assert repr(session[Note]) == "<Slice of 1 items>"


def test_session_satisfies_the_core_protocol():
    session = Session()
    assert isinstance(session, ports.Snapshotable)
    assert isinstance(session, ports.Restorable)


def test_clone_copies_state_and_reducers_and_is_independent():
    session = Session()
    heard = []
    session.dispatcher.subscribe(Note, heard.append)
    session[Note].register(replace_latest, log=True)
    session[Note].append(Note("a"))
    clone = session.clone()
    clone.dispatch(Note("b"))
    assert (session[Note].all(), clone[Note].all()) == ((Note("a"),), (Note("b"),))
    assert clone[Note].is_log
    assert clone.id != session.id
    assert heard == []


def test_clone_of_a_fork_is_not_a_fork():
    session = Session()
    fork = session.fork()
    fork[Note].append(Note("a"))
    clone = fork.clone()
    fork.discard()
    clone[Note].append(Note("b"))
    assert clone[Note].all() == (Note("a"), Note("b"))
    assert session[Note].all() == ()


def test_the_view_of_a_reducer_reads_like_a_slice():
    views = []
    session = Session()
    session[Note].seed([Note("a"), Note("b")])
    session[Note].register(int, lambda view, event: views.append(view))
    session.dispatch(1)
    session[Note].clear()
    (view,) = views
    assert isinstance(view, SliceView)
    assert (view.latest(), view.all(), len(view)) == (Note("b"), (Note("a"), Note("b")), 2)
    assert view.where(lambda note: note.text == "a") == (Note("a"),)
    assert not hasattr(view, "append")
