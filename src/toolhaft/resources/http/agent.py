"""What toolhaft calls itself where a request says whom it comes from.

Does not know requests.
"""

from __future__ import annotations

from functools import cache


@cache
def usual_user_agent() -> str:
    """Its name and version; the name alone where it runs without being installed."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 -- slow, and rarely needed

    try:
        return f"toolhaft/{version('toolhaft')}"
    except PackageNotFoundError:
        return "toolhaft"
