"""Makes calls that a handler makes on its own threads part of its call.

A new thread begins with an empty context, so such a call would commit although the handler fails. Python
does not record which thread started another, so `Thread.start` and `ThreadPoolExecutor.submit` are wrapped.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache, partial
from threading import Thread
from typing import Any, Final

from toolhaft.execute.active_call import CURRENT, IN_POOL, ActiveCall

_OWN: Final = "toolhaft"
"""How the names and the modules of this package's threads begin."""


@cache  # of two threads that wrap at the same time, each may do so: that does no harm
def follow_threads() -> None:
    """Wrap the two functions, once per process."""
    start, submit = Thread.start, ThreadPoolExecutor.submit

    def start_nested(self: Thread) -> None:
        parent = CURRENT.get()
        if parent is not None and not _is_own(self):
            self.run = partial(_run, parent, self.run, in_pool=False)  # pyright: ignore[reportAttributeAccessIssue] -- its value is ignored
        start(self)

    def submit_nested(
        self: ThreadPoolExecutor,
        fn: Callable[..., Any],
        /,
        *args: Any,  # noqa: ANN401 -- those of the function
        **kwargs: Any,  # noqa: ANN401 -- as above
    ) -> Future[Any]:
        parent = CURRENT.get()
        if parent is None:
            return submit(self, fn, *args, **kwargs)
        token = CURRENT.set(None)  # a thread that the pool starts now also works for others
        try:
            return submit(self, _run, parent, partial(fn, *args, **kwargs), in_pool=True)
        finally:
            CURRENT.reset(token)

    Thread.start = start_nested
    ThreadPoolExecutor.submit = submit_nested


def _is_own(thread: Thread) -> bool:
    """True for a thread of this package, which works for many calls, each in its own context."""
    # both: a user's thread may have such a name, or run a method of an executor
    target: object = getattr(thread, "_target", None)
    return thread.name.startswith(f"{_OWN}-") and getattr(target, "__module__", "").startswith(f"{_OWN}.")


def _run(parent: ActiveCall, function: Callable[[], object], *, in_pool: bool) -> object:
    current, pool = CURRENT.set(parent), IN_POOL.set(in_pool)
    try:
        return function()
    finally:
        IN_POOL.reset(pool)
        CURRENT.reset(current)
