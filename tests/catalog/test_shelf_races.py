"""Tests of toolhaft.catalog.shelf where several publish at once, and where they are killed while they do."""

from threading import Barrier, Thread

import pytest

from tests.postgres import KINDS, new_url
from tests.storage.child import OPERATOR, PLATFORM, Child, document
from toolhaft.catalog.shelf import Shelf
from toolhaft.define.yaml import write_tool
from toolhaft.errors import ConflictError
from toolhaft.storage import open_database


@pytest.fixture(params=KINDS)
def url(request, tmp_path):
    return new_url(request.param, tmp_path)


def test_of_two_processes_that_publish_the_same_id_at_once_exactly_one_wins(url):
    with Child("put", url) as one, Child("put", url) as other:
        assert (one.hear(), other.hear()) == ("ready", "ready")
        base, winners = None, set()
        for number in range(25):
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
                found = Shelf(database, url=PLATFORM).get("words", OPERATOR)
            assert (found.updated_at, found.tool.description) == (base, f"{won[0]} {number}")


def test_many_threads_that_redo_a_lost_change_lose_none(url):
    def publish(name):
        start.wait()
        for number in range(3):
            while True:
                tool = shelf.get("words", OPERATOR)
                text = tool.tool.replace(tags=[*tool.tool.tags, f"{name}-{number}"])
                try:
                    shelf.put(write_tool(text), OPERATOR, base=tool.updated_at)
                except ConflictError:
                    continue
                break

    with open_database(url) as database:
        shelf = Shelf(database, url=PLATFORM)
        shelf.put(document("words"), OPERATOR, base=None)
        start = Barrier(6)
        threads = [Thread(target=publish, args=[f"t{name}"]) for name in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found = shelf.get("words", OPERATOR)
        assert sorted(found.tool.tags) == sorted(
            f"t{name}-{number}" for name in range(6) for number in range(3)
        )
        assert shelf.revision() == 19


def test_who_is_killed_while_publishing_leaves_a_whole_shelf_with_all_that_was_acknowledged(url):
    acknowledged = []
    for number in range(5):
        with Child("loop", url, f"r{number}-") as child:
            assert child.hear() == "ready"
            heard = [child.hear() for _ in range(3 + 5 * number)]
            child.process.kill()
            # what it had said before it died was true as well
            while (more := child.hear()) is not None:
                heard.append(more)
            acknowledged += heard
        with open_database(url) as database:
            shelf = Shelf(database, url=PLATFORM)
            found = shelf.list(OPERATOR)
            assert set(acknowledged) <= {tool.id for tool in found}
            assert (
                len(found) - len(acknowledged) <= number + 2
            )  # "shared", and one a round that was not heard of
            for tool in found:
                assert tool.tool.name == tool.id
                assert tool.tool.updated_at == tool.updated_at
            if database.dialect == "sqlite":
                assert database.read("PRAGMA integrity_check") == [("ok",)]
            assert shelf.revision() == max(tool.revision for tool in found)


class MeddlingClock:
    """Tells the time, and lets somebody else publish between the look at what is there and the change."""

    def __init__(self, url):
        self.url = url
        self.is_armed = False

    def time(self):
        if self.is_armed:
            self.is_armed = False
            # another connection: it would be locked out if the change had begun
            with open_database(self.url, wait_s=0.5) as database:
                Shelf(database, url=PLATFORM).put(document("words", "theirs"), OPERATOR, base=...)
        return 1_000.0


def test_what_another_publishes_while_a_change_is_prepared_is_seen(url):
    clock = MeddlingClock(url)
    with open_database(url) as database:
        shelf = Shelf(database, url=PLATFORM, clock=clock)
        first = shelf.put(document("words"), OPERATOR, base=None)
        clock.is_armed = True
        with pytest.raises(ConflictError) as caught:
            shelf.put(document("words", "mine"), OPERATOR, base=first.updated_at)
        theirs = shelf.get("words", OPERATOR)
        assert (theirs.tool.description, caught.value.current) == ("theirs", theirs.updated_at)
        clock.is_armed = True
        last = shelf.put(document("words", "mine"), OPERATOR, base=...)
        assert last == shelf.get("words", OPERATOR)
        assert last.tool.description == "mine"
        assert last.updated_at > theirs.updated_at
