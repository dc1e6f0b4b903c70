"""The versions of published tools on both databases: what is kept, who sees it, and how one is restored."""

import pytest

from tests.cases import in_case
from tests.postgres import KINDS, new_url
from tests.storage.child import document
from toolhaft.catalog import published_store
from toolhaft.catalog.published import MIGRATIONS, PlatformUser
from toolhaft.catalog.published_store import PublishedStore
from toolhaft.catalog.tool_versions import BEFORE_VERSIONS, MAX_VERSIONS, ToolVersion, describe_change
from toolhaft.errors import (
    ConflictError,
    DefinitionError,
    ForbiddenError,
    UnknownToolError,
    UnknownVersionError,
)
from toolhaft.resources.clock import FakeClock
from toolhaft.storage import open_database

URL = "https://tools.example"
ANN = PlatformUser(owner="ann", org="acme")
BOB = PlatformUser(owner="bob", org="acme")
OPERATOR = PlatformUser(is_operator=True)


@pytest.fixture(
    params=[pytest.param(kind, marks=[pytest.mark.external] * (kind != "sqlite")) for kind in KINDS]
)
def database(request, tmp_path):
    with open_database(new_url(request.param, tmp_path)) as database:
        yield database


@pytest.fixture
def store(database):
    return PublishedStore(database, url=URL, clock=FakeClock(epoch_s=1_800_000_000.0))


def put(store, description, user=ANN, more=""):
    return store.put(document("words", description, more=more), user, base=...)


def numbers(store, user=ANN):
    return [one.number for one in store.versions("words", user)]


def test_versions_say_when_who_and_what(store):
    first = put(store, "Counts", more='version: "1.0"\n')
    second = put(store, "Counts well", OPERATOR, more="share: public\n")
    assert store.versions("words", ANN) == [
        ToolVersion(
            number=2,
            updated_at=second.updated_at,
            published_by="operator",
            change="description, version (1.0 to none), share (private to public)",
            is_current=True,
        ),
        ToolVersion(
            number=1,
            updated_at=first.updated_at,
            published_by="ann",
            version="1.0",
            change="created",
        ),
    ]


def test_the_last_twenty_versions_are_kept(store):
    for number in range(MAX_VERSIONS + 3):
        put(store, f"Counts {number}")
    assert numbers(store) == list(range(MAX_VERSIONS + 3, 3, -1))
    with pytest.raises(UnknownVersionError, match=r"no version 3; the platform keeps: 4, 5, 6"):
        store.rollback("words", ANN, to=3)


def test_version_and_change_are_one_line_each(store):
    put(store, "Counts")
    put(store, "Counts", more='version: "a\\tb\\nc"\n')
    newest = store.versions("words", ANN)[0]
    assert (newest.version, newest.change) == ("a b c", "version (none to a b c)")
    put(store, "Counts", more=f"version: {'long' * 100}\n")
    assert len(store.versions("words", ANN)[0].version) == 200


def test_rollback_publishes_an_older_document_as_a_new_version(store):
    first = put(store, "Counts", more="# mine\ntags: [text]\n")
    put(store, "Counts well", more="share: public\n")
    restored = store.rollback("words", ANN)
    assert restored == store.get("words", ANN)
    assert restored.text == first.text.replace(first.updated_at, restored.updated_at).replace(
        f'created_at: "{restored.updated_at}"', f'created_at: "{first.created_at}"'
    )
    assert restored.share == "private"
    assert [one.id for one in store.list(ANN, tag="text")] == ["words"]
    versions = store.versions("words", ANN)
    assert [(one.number, one.is_current) for one in versions] == [(3, True), (2, False), (1, False)]
    assert versions[0].change == "restored version 1: description, share (public to private), tags added"
    assert "Counts well" in store.rollback("words", ANN).text  # the version before the restored one
    assert "Counts well" not in store.rollback("words", ANN, to=1).text


def test_rollback_that_is_not_possible_changes_nothing(store):
    first = put(store, "Counts")
    with pytest.raises(UnknownVersionError, match="no version before the current one"):
        store.rollback("words", ANN)
    second = put(store, "Counts well")
    for to in (0, 3, 2**70):
        with in_case(to), pytest.raises(UnknownVersionError, match="the platform keeps: 1, 2"):
            store.rollback("words", ANN, to=to)
    with pytest.raises(ConflictError, match="published again") as caught:
        store.rollback("words", ANN, base=first.updated_at)
    assert caught.value.current == second.updated_at
    with pytest.raises(UnknownToolError, match="did you mean 'words'"):
        store.rollback("wrds", ANN)
    assert store.get("words", ANN) == second
    assert numbers(store) == [2, 1]
    assert "Counts well" not in store.rollback("words", ANN, base=second.updated_at).text


def test_only_the_owner_and_operators_see_versions(store):
    put(store, "A secret")
    put(store, "Counts", more="share: public\n")
    for ask in (store.versions, store.rollback):
        with in_case(ask), pytest.raises(ForbiddenError, match="only its owner"):
            ask("words", BOB)
    assert numbers(store, OPERATOR) == numbers(store, ANN) == [2, 1]
    put(store, "Counts", more="share: private\n")
    with pytest.raises(UnknownToolError):
        store.versions("words", BOB)


def test_new_owner_does_not_see_the_versions_of_the_previous_one(store):
    put(store, "A secret of ann", more='version: "9.9-secret"\n')
    store.put(document("words", more="owner: bob\n"), OPERATOR, base=...)
    put(store, "Of bob", BOB)
    changes = [(one.number, one.change) for one in store.versions("words", BOB)]
    assert changes == [(3, "description"), (2, "given to another owner")]
    with pytest.raises(UnknownVersionError, match="the platform keeps: 2, 3"):
        store.rollback("words", BOB, to=1)
    restored = store.rollback("words", OPERATOR, to=1)
    assert "A secret of ann" in restored.text
    assert restored.owner == "bob"


def test_operator_who_restores_a_version_does_not_vouch_for_it(store):
    put(store, "Of ann")
    put(store, "Of the operator", OPERATOR)
    assert store.get("words", ANN).is_operators is True
    assert store.rollback("words", OPERATOR, to=1).is_operators is False
    assert store.rollback("words", ANN, to=2).is_operators is False
    assert store.rollback("words", OPERATOR, to=2).is_operators is True


def test_rollback_restores_where_calls_are_forwarded(store, database):
    put(store, "Forwards", more="endpoint: https://ann.example/words\n")
    put(store, "Forwards elsewhere", more="endpoint: https://ann.example/other\n")
    moved = PublishedStore(database, url="https://moved.example", clock=FakeClock(epoch_s=1_900_000_000.0))
    restored = moved.rollback("words", ANN)
    assert restored.upstream == "https://ann.example/words"
    assert restored.tool.endpoint == "https://moved.example/v3/tool/words"


def test_removal_deletes_the_versions(store, database):
    put(store, "A secret")
    put(store, "Counts")
    store.remove("words", ANN)
    assert database.read("SELECT id FROM toolhaft_tool_versions") == []
    for ask in (store.versions, store.rollback):
        with in_case(ask), pytest.raises(UnknownToolError):
            ask("words", ANN)
    put(store, "Counts again")
    assert [(one.number, one.change) for one in store.versions("words", ANN)] == [(1, "created")]


def test_tool_that_is_removed_during_a_rollback_stays_removed(store, monkeypatch):
    put(store, "Counts")
    put(store, "Counts well")
    read = published_store.read_version

    def read_and_remove(*given):
        found = read(*given)
        store.remove("words", ANN)
        return found

    monkeypatch.setattr(published_store, "read_version", read_and_remove)
    with pytest.raises(UnknownToolError):
        store.rollback("words", ANN)
    assert store.list(OPERATOR) == []


def test_dry_runs_check_everything_and_store_nothing(store):
    first = put(store, "Counts")
    put(store, "Counts well")
    before = (store.get("words", ANN), store.versions("words", ANN), store.revision())
    planned = store.put(document("words", "Planned"), ANN, base=..., dry_run=True)
    assert (planned.change, "Planned" in planned.text) == ("description", True)
    assert store.put(document("new"), ANN, base=None, dry_run=True).change == "created"
    assert store.rollback("words", ANN, dry_run=True).change == "restored version 1: description"
    store.remove("words", ANN, dry_run=True)
    refusals = [
        (ConflictError, lambda: store.put(document("words"), ANN, base=first.updated_at, dry_run=True)),
        (ForbiddenError, lambda: store.put(document("words"), BOB, base=..., dry_run=True)),
        (DefinitionError, lambda: store.put("id: words\n", ANN, base=..., dry_run=True)),
        (ConflictError, lambda: store.remove("words", ANN, base=first.updated_at, dry_run=True)),
        (UnknownToolError, lambda: store.remove("words", BOB, dry_run=True)),
        (ConflictError, lambda: store.rollback("words", ANN, base=first.updated_at, dry_run=True)),
    ]
    for number, (kind, ask) in enumerate(refusals):
        with in_case(number), pytest.raises(kind):
            ask()
    assert (store.get("words", ANN), store.versions("words", ANN), store.revision()) == before


def test_tools_of_earlier_databases_have_a_first_version(database):
    database.migrate("shelf", MIGRATIONS[:2])
    text = document("words", more='version: "0.9"\n')
    with database.transaction() as transaction:
        transaction.execute(
            "INSERT INTO toolhaft_tools VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            ["words", "ann", "", "public", text, None, "2026-01-01", "2026-01-01T00:00:00Z", 0, URL, 1, None],
        )
    store = PublishedStore(database, url=URL, clock=FakeClock(epoch_s=1_800_000_000.0))
    first = ToolVersion(number=1, updated_at="2026-01-01T00:00:00Z", version="0.9", change=BEFORE_VERSIONS)
    assert [(one.number, one.is_current) for one in store.versions("words", ANN)] == [(1, True)]
    put(store, "Counts well")
    assert store.versions("words", ANN)[1:] == [first]
    assert 'version: "0.9"' in store.rollback("words", ANN).text


def test_count_is_the_length_of_the_list(store):
    for number in range(4):
        more = f"tags: [t{number % 2}]\nshare: {'public' if number else 'private'}\n"
        store.put(document(f"tool-{number}", more=more), ANN, base=None)
    filters = [{}, {"tag": "t0"}, {"owner": "ann"}, {"owner": "bob"}, {"share": "public"}, {"tag": "\0"}]
    for user in (ANN, BOB, OPERATOR, PlatformUser()):
        for wanted in filters:
            with in_case(user, wanted):
                assert store.count(user, **wanted) == len(store.list(user, **wanted))


def test_change_is_described_in_one_line():
    old = {"id": "a", "description": "x", "parameters": [{"name": "p", "type": "string"}, {"name": "q"}]}
    moved = [{"name": "q"}, {"name": "p", "type": "string"}]
    many = [{"name": f"n{number}"} for number in range(9)]
    cases = [
        ({**old, "updated_at": "1", "endpoint": "u"}, "nothing"),
        ({**old, "description": "y", "tags": ["b"]}, "description, tags added"),
        ({"id": "a", "parameters": old["parameters"]}, "description removed"),
        ({**old, "parameters": moved}, "parameters (reordered)"),
        (
            {**old, "parameters": [{"name": "p", "type": "number"}, {"name": "r"}]},
            "parameters (added r; removed q; changed p)",
        ),
        ({**old, "parameters": many}, "parameters (added n0, n1, n2, n3, n4 and 4 more; removed p, q)"),
        ({**old, "is_active": False}, "is_active (none to false)"),  # nothing runs it
        ({**old, "is_active": True, "endpoint": "u"}, "is_active (false to true)"),
        ({**old, "version": "1\n2" * 100}, f"version (none to {('1 2' * 100)[:37]}...)"),
    ]
    for new, told in cases:
        with in_case(new):
            assert describe_change(old, new) == told
    active = {**old, "is_active": True, "endpoint": "u"}
    assert describe_change(active, old) == "is_active (true to false)"
    assert describe_change(active, {**active, "is_active": False}) == "is_active (true to false)"
    assert len(describe_change({}, {f"field_{number}": 1 for number in range(100)})) == 200
