"""Bing's search API, which Microsoft has retired: it is still a name, so that old programs are told.

Does not know which engines live.
"""

from __future__ import annotations

from toolhaft.toolbox.searching.engine import RetiredEngine

ENGINE = RetiredEngine(name="bing", title="the Bing Search API", retired_on="2025-08-11")
