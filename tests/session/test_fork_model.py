"""Random histories of forks, nested and side by side, against a model that is plain lists.

Keeps the issue's *Bad input and faults*: a state machine finds no difference after any history.
"""

import copy
import os
from dataclasses import dataclass, replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from toolhaft.errors import CallEndedError, SessionError
from toolhaft.session import Session, keep_latest, reducer, upsert_by


@dataclass(frozen=True)
class Item:
    id: int
    text: str


@dataclass
class Note:
    text: str


@dataclass(frozen=True)
class Audit:
    text: str


@dataclass(frozen=True)
class AddStep:
    title: str


@dataclass(frozen=True)
class Plan:
    steps: tuple[str, ...] = ()

    @reducer(on=AddStep)
    def add_step(self, event):
        return replace(self, steps=(*self.steps, event.title))


KINDS = (Item, Note, Audit, Plan)


class Refusal(Exception):  # noqa: N818 -- a move of the model, not a fault
    pass


class Model:
    """What a session is: lists by type, and for a fork also what was done to it."""

    def __init__(self, lists=None, parent=None):
        self.lists = copy.deepcopy(lists) if lists else {kind: [] for kind in KINDS}
        self.parent = parent
        self.done = []
        self.is_over = False

    def fork(self):
        return Model(self.lists, self)

    def do(self, *writes):
        if self.is_over:
            raise Refusal
        lists = copy.deepcopy(self.lists)
        for write in writes:
            change(lists, *copy.deepcopy(write))
        self.lists = lists
        self.done.extend(writes)

    def commit(self):
        if self.is_over:
            raise Refusal
        self.parent.do(*self.done) if self.done else None
        self.is_over = True

    def discard(self):
        logs = [write for write in self.done if write[1] is Audit]
        if not self.is_over and not self.parent.is_over and logs:
            self.parent.do(*logs)
        self.is_over = True


def change(lists, verb, kind, payload):
    items = lists[kind]
    if verb == "seed":
        items[:] = payload
    elif verb == "clear":
        items[:] = [item for item in items if not payload(item)]
    elif verb == "add_step":
        if not items:
            raise Refusal
        items[-1] = replace(items[-1], steps=(*items[-1].steps, payload))
    elif kind is Item:
        places = [place for place, item in enumerate(items) if item.id == payload.id]
        if places:
            items[places[-1]] = payload
        else:
            items.append(payload)
    else:
        items.append(payload)
        if kind is Audit:
            del items[:-5]


texts = st.sampled_from("abcd")
ids = st.integers(0, 6)


class Histories(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        session = Session()
        session[Item].register(upsert_by("id"))
        session[Audit].register(keep_latest(5), log=True)
        session[Plan].register()
        self.root = (session, Model())
        self.pairs = [self.root]

    def both(self, pair, act, expect):
        session, model = pair
        try:
            expect(model)
        except Refusal:
            with pytest.raises((CallEndedError, SessionError)):
                act(session)
        else:
            act(session)

    def write(self, pair, act, *write):
        self.both(pair, act, lambda model: model.do(write))

    def pick(self, number):
        return self.pairs[number % len(self.pairs)]

    @rule(number=st.integers(0, 50))
    def fork(self, number):
        session, model = self.pick(number)
        fork = session.fork(), model.fork()
        fork[1].is_over = model.is_over
        self.pairs.append(fork)

    @rule(number=st.integers(0, 50), id=ids, text=texts)
    def upsert(self, number, id, text):
        item = Item(id, text)
        self.write(self.pick(number), lambda session: session[Item].append(item), "append", Item, item)

    @rule(number=st.integers(0, 50), text=texts)
    def append(self, number, text):
        note = Note(text)
        self.write(self.pick(number), lambda session: session[Note].append(note), "append", Note, Note(text))
        note.text = "changed afterwards"

    @rule(number=st.integers(0, 50), text=texts)
    def log(self, number, text):
        self.write(
            self.pick(number), lambda session: session.dispatch(Audit(text)), "append", Audit, Audit(text)
        )

    @rule(number=st.integers(0, 50), text=texts)
    def add_step(self, number, text):
        self.write(self.pick(number), lambda session: session.dispatch(AddStep(text)), "add_step", Plan, text)

    @rule(number=st.integers(0, 50), kind=st.sampled_from([Item, Note, Plan]), size=st.integers(0, 3))
    def seed(self, number, kind, size):
        made = {
            Item: lambda place: Item(place, "seed"),
            Note: lambda place: Note("seed"),
            Plan: lambda place: Plan(),
        }
        items = [made[kind](place) for place in range(size)]
        self.write(self.pick(number), lambda session: session[kind].seed(items), "seed", kind, items)

    @rule(number=st.integers(0, 50), text=texts)
    def clear(self, number, text):
        def has_text(item):
            return item.text == text

        self.write(self.pick(number), lambda session: session[Item].clear(has_text), "clear", Item, has_text)

    @rule(number=st.integers(0, 50))
    def spoil_what_was_read(self, number):
        session, _ = self.pick(number)
        for note in session[Note]:
            note.text = "spoilt"

    @rule(number=st.integers(1, 50))
    def commit(self, number):
        pair = self.pick(number)
        if pair is not self.root:
            self.both(pair, lambda session: session.commit(), lambda model: model.commit())

    @rule(number=st.integers(1, 50))
    def discard(self, number):
        session, model = self.pick(number)
        if session is not self.root[0]:
            model.discard()
            session.discard()

    @invariant()
    def every_view_shows_what_the_model_says(self):
        for session, model in self.pairs:
            assert {kind: list(session[kind]) for kind in KINDS} == model.lists


Histories.TestCase.settings = settings(
    max_examples=2_000 if os.environ.get("TOOLHAFT_LONG") else 20, stateful_step_count=40, deadline=None
)
test_histories = Histories.TestCase
