"""Pages are read in a warm worker process, which is killed when its time is over or its call has ended."""

import asyncio
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.toolbox.scraping.kit import page_request, site
from toolhaft import Deadline, ToolCall, ToolExecutor
from toolhaft.core.context import ToolContext
from toolhaft.errors import CallEndedError, ToolExecutionError, ToolTimeoutError
from toolhaft.resources.http import HttpClient
from toolhaft.toolbox import web_scraper
from toolhaft.toolbox.scraping import scraper
from toolhaft.toolbox.scraping.parse_worker import ParseWorkers
from toolhaft.toolbox.scraping.selectors import check_selector

pytestmark = pytest.mark.external

ENDLESS = "<p>" * 330_000
"""A page on which `SLOW` takes minutes."""
LARGE = b"<p>" + b"".join(b"<b a=%d>" % n for n in range(12)) + b"</p>" + b"<p>x" * 100_000
"""A page whose formatting is opened again in each paragraph."""
SLOW = "x ~ p ~ p"


def endless():
    return page_request(ENDLESS.encode(), selector=check_selector(SLOW))


@pytest.fixture(scope="module")
def shared():
    workers = ParseWorkers(timeout_s=60.0)
    yield workers
    workers.close()


@pytest.fixture
def workers(shared):
    """Workers, one of which is running."""
    shared.timeout_s = 60.0
    shared.read(page_request(b"<p>x"), ToolContext())
    return shared


class Watcher:
    """Ends its call after some beats."""

    def __init__(self, beats):
        self.beats = beats

    def beat(self):
        self.beats -= 1
        if self.beats < 0:
            raise CallEndedError("the call is over")


def test_worker_stays_warm_for_the_next_page(workers):
    started = workers.pool.started
    assert [workers.read(page_request(b"<p>%d" % n), ToolContext()).text for n in range(5)] == [*"01234"]
    assert workers.pool.started <= max(started, 2)  # one that works, one that is ready


def test_page_that_takes_too_long_is_given_up_and_its_worker_killed(workers):
    killed = workers.pool.killed
    workers.timeout_s = 0.5
    with pytest.raises(
        ToolExecutionError, match=r"the page could not be read within 0\.5 s; it may be built to"
    ):
        workers.read(endless(), ToolContext())
    assert workers.pool.killed == killed + 1


def test_deadline_of_the_call_kills_the_worker(workers):
    killed = workers.pool.killed
    with pytest.raises(ToolTimeoutError):
        workers.read(endless(), ToolContext(deadline=Deadline.after(0.5)))
    assert workers.pool.killed == killed + 1


def test_call_that_has_ended_kills_the_worker(workers):
    killed = workers.pool.killed
    with pytest.raises(CallEndedError):
        workers.read(endless(), ToolContext(watcher=Watcher(beats=2)))
    assert workers.pool.killed == killed + 1


def test_page_that_takes_too_much_memory_is_given_up():
    workers = ParseWorkers(timeout_s=60.0, memory_bytes=256 * 1024**2)
    try:
        with pytest.raises(ToolExecutionError, match="takes more than 256 MB of memory"):
            workers.read(page_request(LARGE), ToolContext())
        assert workers.read(page_request(b"<p>x"), ToolContext()).text == "x"
    finally:
        workers.close()


def test_error_of_the_reader_comes_back_as_it_is(workers):
    with pytest.raises(
        ToolExecutionError, match=r"^selector matches nothing; 'b' alone matches 0; try without"
    ):
        workers.read(page_request(b"<p>x", selector=check_selector("b")), ToolContext())


def test_many_calls_share_the_workers(workers):
    with ThreadPoolExecutor(8) as threads:
        texts = threads.map(lambda n: workers.read(page_request(b"<p>%d" % n), ToolContext()).text, range(40))
        assert list(texts) == [str(n) for n in range(40)]
    assert workers.pool.started <= max(2, os.cpu_count() or 2) + 1


def test_closed_workers_start_again(workers):
    for _ in range(2):
        assert workers.read(page_request(b"<p>x"), ToolContext()).text == "x"
        workers.close()


def test_cancelled_caller_kills_the_worker(workers, monkeypatch):
    killed = workers.pool.killed
    monkeypatch.setattr(scraper, "parse_workers", workers)
    reading, done = threading.Event(), threading.Event()
    read = ParseWorkers.read

    def observed(self, request, context):
        reading.set()
        try:
            return read(self, request, context)
        finally:
            done.set()

    monkeypatch.setattr(ParseWorkers, "read", observed)

    async def cancel(executor, call):
        task = asyncio.create_task(executor.aexecute(call))
        assert await asyncio.to_thread(reading.wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with site({"/": ENDLESS}) as served:
        executor = ToolExecutor([web_scraper], resources={HttpClient: served.client})
        call = ToolCall(name="web_scraper", arguments={"url": served.web.url, "selector": SLOW})
        asyncio.run(cancel(executor, call))
        assert done.wait(60)
    assert workers.pool.killed == killed + 1


SCRIPT = """
from toolhaft.core.context import ToolContext
from toolhaft.toolbox.scraping.page_reader import PageRequest
from toolhaft.toolbox.scraping.parse_worker import parse_workers

print(parse_workers.read(PageRequest(b"<p>read", "", False, None, "readable", 100), ToolContext()).text)
"""


def test_script_needs_no_main_guard_and_ends_with_its_workers():
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60, check=False
    )
    assert (run.stdout, run.stderr, run.returncode) == ("read\n", "", 0)


FORKING = """
import os
from toolhaft.core.context import ToolContext
from toolhaft.toolbox.scraping.page_reader import PageRequest
from toolhaft.toolbox.scraping.parse_worker import parse_workers

def read(text):
    request = PageRequest(text, "", False, None, "readable", 100)
    print(parse_workers.read(request, ToolContext()).text, flush=True)

read(b"<p>before")
child = os.fork()
if not child:
    read(b"<p>child")
    parse_workers.close()
    os._exit(0)
os.waitpid(child, 0)
read(b"<p>after")
"""


def test_fork_of_the_program_has_its_own_workers():
    command = [sys.executable, "-W", "ignore", "-c", FORKING]  # newer Pythons warn of forks with threads
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (run.stdout.split(), run.stderr, run.returncode) == (["before", "child", "after"], "", 0)
