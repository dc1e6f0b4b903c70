"""Shows a person how far a call has come, on standard error, while it runs.

Knows rich; nothing is shown where nobody looks.
"""

from __future__ import annotations

import sys
from typing import Final

from toolhaft.cli import output
from toolhaft.core.events import Progress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rich.progress import Progress as Bar

PATIENCE_S: Final = 0.4
"""A call that is over sooner shows nothing: a bar that flashes up only disturbs."""
_LONGEST: Final = 60


class Display:
    """One line that moves; `open` it once, tell it what comes, and `close` it.

    Args:
        name: the tool's.
        color: False if the person wants none.
    """

    def __init__(self, name: str, *, color: bool) -> None:
        self._name = output.show(name)
        self._color = color
        self._bar: Bar | None = None
        self._last: Progress | None = None
        self._is_over = False

    @property
    def is_wanted(self) -> bool:
        """True if a person sees it."""
        return output.is_terminal(sys.stderr)

    def tell(self, news: Progress) -> None:
        """The call has come so far; the first report is shown at once."""
        self._last = news
        self.open()
        if self._bar is not None:
            self._show(self._bar, news)

    def open(self) -> None:
        """Show the line."""
        if self._bar is not None or self._is_over or not self.is_wanted:
            return
        from rich.progress import (  # noqa: PLC0415 -- for a terminal only
            BarColumn,
            SpinnerColumn,
            TextColumn,
            TimeElapsedColumn,
        )
        from rich.progress import Progress as Made  # noqa: PLC0415 -- the same

        self._bar = Made(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[share]}", markup=False),
            TimeElapsedColumn(),
            console=output.console(color=self._color, stderr=True),
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._bar.add_task(self._name, total=None, share="")
        self._bar.start()

    def close(self) -> None:
        """Take the line away."""
        self._is_over = True
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _show(self, bar: Bar, news: Progress) -> None:
        said = output.show(" ".join(news.message.split()))[:_LONGEST]
        share = "" if news.done is None else f"{news.done:g}"
        if share and news.total is not None:
            share += f"/{news.total:g}"
        bar.update(
            bar.task_ids[0],
            completed=news.done or 0,
            total=news.total,
            description=f"{self._name}: {said}" if said else self._name,
            share=share,
        )
