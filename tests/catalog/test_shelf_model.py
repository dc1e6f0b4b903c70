"""The shelf against a model of it in a dictionary: any history of publishing and removing gives the same."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.storage.child import PLATFORM, document
from toolhaft.catalog.shelf import Shelf
from toolhaft.catalog.viewer import Viewer
from toolhaft.errors import ConflictError, ForbiddenError, UnknownToolError
from toolhaft.storage import open_database

VIEWERS = {
    "ann": Viewer(owner="ann", org="acme"),
    "bob": Viewer(owner="bob", org="acme"),
    "eve": Viewer(owner="eve", org="other"),
    "op": Viewer(owner="op", is_operator=True),
    "nobody": Viewer(),
}
NAMES = st.sampled_from(sorted(VIEWERS))
IDS = st.sampled_from(["one", "two"])


class ShelfMachine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.database = open_database("sqlite://")
        self.shelf = Shelf(self.database, url=PLATFORM)
        self.model = {}
        self.changes = 0

    def teardown(self):
        self.database.close()

    def outcome(self, ask):
        try:
            return ask()
        except (ConflictError, ForbiddenError, UnknownToolError) as error:
            return type(error)

    def base(self, id, kind):
        known = self.model[id].updated_at if id in self.model else "2024-01-01T00:00:00Z"
        return {"any": ..., "new": None, "right": known, "wrong": "2024-01-01T00:00:00Z"}[kind]

    @rule(
        id=IDS,
        who=NAMES,
        share=st.sampled_from(["private", "org", "public"]),
        kind=st.sampled_from(["any", "new", "right", "wrong"]),
    )
    def publish(self, id, who, share, kind):
        viewer, before = VIEWERS[who], self.model.get(id)
        text = document(id, more=f"share: {share}\n")
        got = self.outcome(lambda: self.shelf.put(text, viewer, base=self.base(id, kind)))
        if who == "nobody" or (before and who not in (before.owner, "op")):
            assert got is ForbiddenError
        elif before and kind in ("new", "wrong"):
            assert got is ConflictError
        else:
            assert got.owner == (before.owner if before else who)
            assert got.share == share
            assert before is None or got.updated_at > before.updated_at
            self.model[id] = got
            self.changes += 1

    @rule(id=IDS, who=NAMES, kind=st.sampled_from(["any", "right", "wrong"]))
    def remove(self, id, who, kind):
        viewer, before = VIEWERS[who], self.model.get(id)
        got = self.outcome(lambda: self.shelf.remove(id, viewer, base=self.base(id, kind)))
        if before is None or not viewer.may_see(before.owner, before.org, before.share):
            assert got is UnknownToolError
        elif who not in (before.owner, "op"):
            assert got is ForbiddenError
        elif kind == "wrong":
            assert got is ConflictError
        else:
            assert got is None
            del self.model[id]
            self.changes += 1

    @invariant()
    def everybody_sees_what_they_may(self):
        assert self.shelf.revision() == self.changes
        for viewer in VIEWERS.values():
            seen = [
                self.model[id]
                for id in sorted(self.model)
                if viewer.may_see(self.model[id].owner, self.model[id].org, self.model[id].share)
            ]
            assert self.shelf.list(viewer) == seen


TestShelf = ShelfMachine.TestCase
TestShelf.settings = settings(max_examples=25, stateful_step_count=15, deadline=None)
