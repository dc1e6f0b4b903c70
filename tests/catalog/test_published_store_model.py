"""The published store against a dictionary as model: any history of publishing and removing gives the same.

`TOOLHAFT_LONG=1` runs more histories.
"""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.catalog.kit import LONG
from tests.storage.child import PLATFORM, document
from toolhaft.catalog.published import PlatformUser
from toolhaft.catalog.published_store import PublishedStore
from toolhaft.errors import ConflictError, ForbiddenError, UnknownToolError
from toolhaft.storage import open_database

USERS = {
    "ann": PlatformUser(owner="ann", org="acme"),
    "bob": PlatformUser(owner="bob", org="acme"),
    "eve": PlatformUser(owner="eve", org="other"),
    "op": PlatformUser(owner="op", is_operator=True),
    "nobody": PlatformUser(),
}
NAMES = st.sampled_from(sorted(USERS))
IDS = st.sampled_from(["one", "two"])


class StoreMachine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.database = open_database("sqlite://")
        self.store = PublishedStore(self.database, url=PLATFORM)
        self.model = {}
        self.last = {}
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
        user, before, last = USERS[who], self.model.get(id), self.last.get(id)
        text = document(id, more=f"share: {share}\n")
        got = self.outcome(lambda: self.store.put(text, user, base=self.base(id, kind)))
        if who == "nobody" or (last and who not in (last.owner, "op")):
            assert got is ForbiddenError
        elif before and kind in ("new", "wrong"):
            assert got is ConflictError
        else:
            assert got.owner == (last.owner if last else who)
            assert got.share == share
            assert last is None or got.updated_at > last.updated_at
            self.model[id] = self.last[id] = got
            self.changes += 1

    @rule(id=IDS, who=NAMES, kind=st.sampled_from(["any", "right", "wrong"]))
    def remove(self, id, who, kind):
        user, before = USERS[who], self.model.get(id)
        got = self.outcome(lambda: self.store.remove(id, user, base=self.base(id, kind)))
        if before is None or not user.may_see(before.owner, before.org, before.share):
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
        assert self.store.revision() == self.changes
        for user in USERS.values():
            seen = [
                self.model[id]
                for id in sorted(self.model)
                if user.may_see(self.model[id].owner, self.model[id].org, self.model[id].share)
            ]
            assert self.store.list(user) == seen


TestPublishedStore = StoreMachine.TestCase
TestPublishedStore.settings = settings(
    max_examples=200 if LONG else 10, stateful_step_count=15, deadline=None
)
