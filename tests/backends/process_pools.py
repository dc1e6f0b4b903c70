"""Pools for the tests of the process backend, and a way to watch processes end."""

import os
import select
from contextlib import contextmanager

import coverage
import pytest

from toolhaft.backends import worker_handle
from toolhaft.backends.process import ProcessJob, ProcessPool

CODE = worker_handle._CODE  # noqa: SLF001 -- to put something into it
# Where coverage is measured, it is measured in supervisors and workers too: their environment is empty, so
# nothing else would tell them.
MEASURE = """
import coverage
measure = coverage.Coverage(data_file={file!r}, data_suffix=True, config_file=False, branch=True, source_pkgs=["toolhaft"], messages=False)
measure.start()
from toolhaft.backends import process_worker
def save(self, kind, payload, finish=process_worker.HostConnection.finish):
    measure.save()
    finish(self, kind, payload)
process_worker.HostConnection.finish = save
"""


def supervisor_code(prelude):
    search, _, start = CODE.partition("; from ")
    return f"{search}\n{prelude}\nfrom {start}"


@contextmanager
def open_pool(*, is_measured=False, prelude="", **options):
    """A pool; `prelude` is what its supervisors do first."""
    code = supervisor_code(prelude)
    measured = coverage.Coverage.current()
    if is_measured and measured is not None:
        file = os.path.abspath(measured.get_option("run:data_file"))  # noqa: PTH100 -- a text
        code = supervisor_code(MEASURE.format(file=file) + prelude) + "\nmeasure.stop()\nmeasure.save()"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker_handle, "_CODE", code)
        pool = ProcessPool(**options)
        try:
            yield pool
        finally:
            pool.close()


def run(pool, handler, *args, timeout_s=30, **kwargs):
    return pool.run(ProcessJob(handler=pool.check(handler), args=args, kwargs=kwargs, timeout_s=timeout_s))


class Watch:
    """Takes the pids that a handler tells, and holds a handle of each process."""

    def __init__(self, then=lambda: None):
        self.pids = []
        self._handles = []
        self.then = then

    def __call__(self, path, args, kwargs):
        assert path == "session.running"
        for pid in args:
            self.add(pid)
        self.then()

    def add(self, pid):
        self.pids.append(pid)
        self._handles.append(os.pidfd_open(pid))

    def all_dead(self, within_s=60):
        """True once all have ended; False if one lives on for that long."""
        poll = select.poll()
        for handle in self._handles:
            poll.register(handle, select.POLLIN)
            ended = poll.poll(within_s * 1000)
            poll.unregister(handle)
            os.close(handle)
            if not ended:
                return False
        self._handles.clear()
        return bool(self.pids)
