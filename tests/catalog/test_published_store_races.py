"""Tests of toolhaft.catalog.published_store with concurrent publishers, and with publishers that are killed.

`TOOLHAFT_LONG=1` runs more rounds.
"""

from threading import Barrier, Thread

import pytest

from tests.catalog.kit import LONG
from tests.postgres import KINDS, new_url
from tests.storage.child import OPERATOR, PLATFORM, Child, document
from toolhaft.catalog.published_store import PublishedStore
from toolhaft.define.yaml import write_tool
from toolhaft.errors import ConflictError
from toolhaft.storage import open_database

pytestmark = pytest.mark.external
ROUNDS = 25 if LONG else 6
KILLS = (3, 8, 13, 18, 23) if LONG else (3, 10)


@pytest.fixture(params=KINDS)
def url(request, tmp_path):
    return new_url(request.param, tmp_path)


def test_one_of_two_processes_publishing_one_id_wins(url):
    with Child("put", url) as one, Child("put", url) as other:
        assert (one.hear(), other.hear()) == ("ready", "ready")
        base, winners = None, set()
        for number in range(ROUNDS):
            for name, child in (("one", one), ("other", other)):
                child.say([document("words", f"{name} {number}"), base])
            answers = {"one": one.hear(), "other": other.hear()}
            won = [name for name, answer in answers.items() if "ok" in answer]
            lost = [answer for answer in answers.values() if "ok" not in answer]
            assert len(won) == 1
            assert [answer["error"] for answer in lost] == ["ConflictError"]
            base = answers[won[0]]["ok"]
            winners.add(won[0])
            with open_database(url) as database:
                found = PublishedStore(database, url=PLATFORM).get("words", OPERATOR)
            assert (found.updated_at, found.tool.description) == (base, f"{won[0]} {number}")


def test_retried_conflicts_of_many_threads_lose_no_change(url):
    def publish(name):
        start.wait()
        for number in range(2):
            while True:
                tool = store.get("words", OPERATOR)
                text = tool.tool.replace(tags=[*tool.tool.tags, f"{name}-{number}"])
                try:
                    store.put(write_tool(text), OPERATOR, base=tool.updated_at)
                except ConflictError:
                    continue
                break

    with open_database(url) as database:
        store = PublishedStore(database, url=PLATFORM)
        store.put(document("words"), OPERATOR, base=None)
        start = Barrier(4)
        threads = [Thread(target=publish, args=[f"t{name}"]) for name in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found = store.get("words", OPERATOR)
        assert sorted(found.tool.tags) == sorted(
            f"t{name}-{number}" for name in range(4) for number in range(2)
        )
        assert store.revision() == 9


def test_acknowledged_tools_survive_a_killed_publisher(url):
    acknowledged = []
    for number, count in enumerate(KILLS):
        with Child("loop", url, f"r{number}-") as child:
            assert child.hear() == "ready"
            heard = [child.hear() for _ in range(count)]
            child.process.kill()
            # what it reported before it died counts too
            while (more := child.hear()) is not None:
                heard.append(more)
            acknowledged += heard
        with open_database(url) as database:
            store = PublishedStore(database, url=PLATFORM)
            found = store.list(OPERATOR)
            assert set(acknowledged) <= {tool.id for tool in found}
            assert (
                len(found) - len(acknowledged) <= number + 2
            )  # "shared", and one per round that was not reported
            for tool in found:
                assert tool.tool.name == tool.id
                assert tool.tool.updated_at == tool.updated_at
            if database.dialect == "sqlite":
                assert database.read("PRAGMA integrity_check") == [("ok",)]
            assert store.revision() == max(tool.revision for tool in found)


class MeddlingClock:
    """A clock; when armed, another publisher is faster between the read and the change."""

    def __init__(self, url):
        self.url = url
        self.is_armed = False

    def time(self):
        if self.is_armed:
            self.is_armed = False
            # another connection: it would be locked out if the change had begun
            with open_database(self.url, wait_s=0.5) as database:
                PublishedStore(database, url=PLATFORM).put(document("words", "theirs"), OPERATOR, base=...)
        return 1_000.0


def test_change_published_during_preparation_is_a_conflict(url):
    clock = MeddlingClock(url)
    with open_database(url) as database:
        store = PublishedStore(database, url=PLATFORM, clock=clock)
        first = store.put(document("words"), OPERATOR, base=None)
        clock.is_armed = True
        with pytest.raises(ConflictError) as caught:
            store.put(document("words", "mine"), OPERATOR, base=first.updated_at)
        theirs = store.get("words", OPERATOR)
        assert (theirs.tool.description, caught.value.current) == ("theirs", theirs.updated_at)
        clock.is_armed = True
        last = store.put(document("words", "mine"), OPERATOR, base=...)
        assert last == store.get("words", OPERATOR)
        assert last.tool.description == "mine"
        assert last.updated_at > theirs.updated_at
