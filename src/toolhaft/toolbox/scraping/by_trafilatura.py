"""Another judge of what is worth reading on a page: trafilatura.

Does not know how the page was fetched.
"""

from __future__ import annotations

from typing import Final

from toolhaft.errors import ToolExecutionError
from toolhaft.toolbox.scraping.orderly import put_in_order

try:
    from trafilatura import extract
except ImportError as error:
    raise ImportError("this extractor needs trafilatura: pip install 'toolhaft[readable]'") from error

MOST_ELEMENTS: Final = 20_000
"""It goes over a page many times, so that a large one would take longer than a call has."""


def extract_text(body: bytes) -> str:
    """The readable text of a page in UTF-8; empty where it finds none.

    Raises:
        ToolExecutionError: where it fails.
    """
    page = put_in_order(body, most_tags=2 * MOST_ELEMENTS)
    try:
        return extract(page.body.decode(), include_comments=False) or ""
    except (ValueError, TypeError, RecursionError, LookupError, AttributeError) as error:
        raise ToolExecutionError(f"trafilatura could not read the page ({type(error).__name__})") from error
