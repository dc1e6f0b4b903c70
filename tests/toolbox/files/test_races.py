"""Whatever is swapped for a link while a tool runs, nothing outside the root is read, written or listed.

`TOOLHAFT_LONG=1` tries a hundred times as often.
"""

import os
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager

import pytest

from toolhaft import ToolCall, ToolExecutor
from toolhaft.execute.attempts import CircuitBreaker
from toolhaft.resources import Filesystem, HostFilesystem
from toolhaft.resources.system import System
from toolhaft.toolbox import file_info, file_reader, list_directory, read_file, write_file

TRIES = 6_000 if os.environ.get("TOOLHAFT_LONG") else 60
MOST_ROUNDS = 20
SECRET = "secret of the outside\n"  # noqa: S105 -- the bait
INSIDE = "inside\n"
TOOLS = {tool.name: tool for tool in (read_file, file_reader, list_directory, file_info, write_file)}


@pytest.fixture
def places(quick_path):
    """A root with a file three levels down, and an outside that looks the same but for what is in it."""
    for name, content in (("root", INSIDE), ("outside", SECRET)):
        folder = quick_path / name / "one/two"
        folder.mkdir(parents=True)
        (folder / "file.txt").write_text(content)
    (quick_path / "outside/one/two/bait.txt").write_text(SECRET)
    return quick_path


def picture(folder):
    """All that could have changed."""
    return {
        (path.relative_to(folder).as_posix(), path.lstat().st_mtime_ns, path.is_file() and path.read_bytes())
        for path in folder.rglob("*")
    }


@contextmanager
def swapping(way, place, target, config):
    link = place.parent / "link"
    link.symlink_to(target)
    program = [sys.executable, "-m", "tests.toolbox.files.swapper", way, place, link, target]
    with subprocess.Popen(
        list(map(str, program)), cwd=config.rootpath, stdin=-1, stdout=-1, text=True
    ) as swapper:
        assert swapper.stdout.readline() == "ready\n"
        try:
            yield
        finally:
            count, _ = swapper.communicate("\n", timeout=60)
    assert swapper.returncode == 0
    assert int(count) > TRIES, "it swapped as often as the tools were called"
    link.unlink()


def arguments_of(name, number):
    path = "one/two" if name == "list_directory" else "one/two/file.txt"
    more = {
        "write_file": {"content": INSIDE * (1 + number % 3)},
        "list_directory": {"recursive": bool(number % 2)},
    }
    return {"path": path, **more.get(name, {})}


def check(name, result, seen):
    """Nothing of the outside is in a result, and no refusal tells where it is."""
    told = result.render()
    for word in ("secret", "bait", "outside", "root", "/one"):
        assert word not in told
    is_there = result.success and (name != "file_info" or result.value["exists"])
    seen[name, "done" if is_there else "refused"] += 1
    if is_there and name == "file_info":
        assert result.value["size"] in (0, *(len(INSIDE) * times for times in (1, 2, 3)))


def met_both(seen, place):
    """True if every tool met what is inside, and the link; which of them a try meets is up to the machine."""
    beside = {"list_directory"} if place.endswith("file.txt") else set()
    return all(seen[name, "done"] and (name in beside or seen[name, "refused"]) for name in TOOLS)


WAYS = [
    ("exchanged", "one"),
    ("exchanged", "one/two"),
    ("exchanged", "one/two/file.txt"),
    ("moved", "one/two"),
    ("replaced", "one/two/file.txt"),
]


@pytest.mark.external
@pytest.mark.parametrize("has_openat2", [True, False], ids=["openat2", "walk"])
@pytest.mark.parametrize(("way", "place"), WAYS, ids=[f"{place} {way}" for way, place in WAYS])
def test_nothing_outside_is_reached_while_links_are_swapped_in(places, pytestconfig, way, place, has_openat2):
    outside = places / "outside"
    before = picture(outside)
    seen = Counter()
    fs = HostFilesystem(places / "root", system=System(openat2=has_openat2), durable=False)
    executor = ToolExecutor(
        TOOLS.values(), resources={Filesystem: fs}, breaker=CircuitBreaker(failures=10**9)
    )
    with swapping(way, places / "root" / place, outside / place, pytestconfig):
        for number in range(MOST_ROUNDS * TRIES):
            if number >= TRIES and met_both(seen, place):
                break
            for name in TOOLS:
                executor.new_run()
                result = executor.execute(ToolCall(name=name, arguments=arguments_of(name, number)))
                check(name, result, seen)
    assert picture(outside) == before, "nothing there was changed"
    assert met_both(seen, place), seen
