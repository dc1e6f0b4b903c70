"""Makes calls that a handler makes on its own threads part of its call.

A new thread begins with an empty context, so such a call would commit although the handler fails. Nothing in
Python tells which thread started another, so `Thread.start` and `ThreadPoolExecutor.submit` are wrapped.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from threading import Thread
from typing import Any, Final

from toolhaft.execute.active_call import CURRENT, IN_POOL, ActiveCall

_LOCK: Final = threading.Lock()
_WRAPPED: Final[list[bool]] = []
"""Not empty once it was done; not found out from `Thread.start`, because others may wrap it again."""
_OWN: Final = "toolhaft"
"""How the names of this package's threads begin: they work for many calls, each in its own context."""


def follow_threads() -> None:
    """Wrap the two functions, once per process."""
    with _LOCK:
        if _WRAPPED:
            return
        _WRAPPED.append(True)
        start, submit = Thread.start, ThreadPoolExecutor.submit

        def start_nested(self: Thread) -> None:
            parent = CURRENT.get()
            if parent is not None and not self.name.startswith(_OWN):
                self.run = partial(_run, parent, self.run)  # pyright: ignore[reportAttributeAccessIssue] -- its value is ignored
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
                return submit(self, _run_task, parent, partial(fn, *args, **kwargs))
            finally:
                CURRENT.reset(token)

        Thread.start = start_nested
        ThreadPoolExecutor.submit = submit_nested


def _run_task(parent: ActiveCall, function: Callable[[], object]) -> object:
    token = IN_POOL.set(True)
    try:
        return _run(parent, function)
    finally:
        IN_POOL.reset(token)


def _run(parent: ActiveCall, function: Callable[[], object]) -> object:
    token = CURRENT.set(parent)
    try:
        return function()
    finally:
        CURRENT.reset(token)
