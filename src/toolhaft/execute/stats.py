"""What an executor counts in the open, so that nothing leaks in silence.

Knows numbers only.
"""

from __future__ import annotations

from threading import Lock

from toolhaft.backends.threads import ThreadPool


class Stats:
    """Counters of one executor; read them at any time."""

    __slots__ = (
        "_lock",
        "_pool",
        "abandoned_tasks",
        "abandoned_threads",
        "killed_processes",
        "overruns",
    )

    def __init__(self, pool: ThreadPool) -> None:
        self._lock = Lock()
        self._pool = pool
        self.abandoned_threads = 0
        """Thread handlers that were cut off at their time limit or by a cancellation."""
        self.abandoned_tasks = 0
        """Async handlers that swallowed their cancellation and were given up."""
        self.killed_processes = 0
        """Process handlers that were killed."""
        self.overruns = 0
        """Handlers that could not be stopped and came back after their time limit."""

    @property
    def abandoned(self) -> int:
        """Every handler that was given up while it still ran."""
        return self.abandoned_threads + self.abandoned_tasks

    @property
    def stuck_threads(self) -> int:
        """Threads that at this moment still work on a call that is over."""
        return self._pool.stuck

    @property
    def threads(self) -> int:
        """Threads of the pool, the stuck ones left out."""
        return self._pool.threads

    def count(self, name: str) -> None:
        """Add one to a counter."""
        with self._lock:
            setattr(self, name, getattr(self, name) + 1)

    def to_dict(self) -> dict[str, int]:
        """Every figure by name."""
        names = ("abandoned_threads", "abandoned_tasks", "killed_processes", "overruns")
        own = {name: int(getattr(self, name)) for name in names}
        return {**own, "stuck_threads": self.stuck_threads, "threads": self.threads}

    def __repr__(self) -> str:
        return f"Stats({', '.join(f'{name}={value}' for name, value in self.to_dict().items())})"
