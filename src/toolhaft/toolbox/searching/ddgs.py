"""Searches with the package `ddgs`, which reads the result pages of several services and needs no key.

The package brings its own HTTP client, so the guarded client protects nothing here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol, cast

from toolhaft.errors import ToolExecutionError
from toolhaft.schema.json_value import JSONObject
from toolhaft.toolbox.searching.engine import PackageEngine, SearchHit
from toolhaft.toolbox.untrusted_json import text_at
from toolhaft.toolbox.untrusted_text import show_untrusted

INSTALL: Final = "pip install 'toolhaft[ddgs]'"
_NOTHING: Final = "No results found."
_ROUNDS: Final = 3
"""The package tries its services in rounds, each as long as its timeout."""
_LONGEST_REASON: Final = 300


class _Client(Protocol):
    def text(self, query: str, *, max_results: int) -> list[JSONObject]: ...


class _Package(Protocol):
    DDGS: Callable[..., _Client]


def load() -> _Package:
    """The package.

    Raises:
        ImportError: if it is not installed.
    """
    import ddgs  # noqa: PLC0415 -- an optional package

    return cast("_Package", cast("object", ddgs))


def find(query: str, count: int, seconds: float) -> list[SearchHit]:
    """The hits for a query.

    Raises:
        ToolExecutionError: if the package is missing, or none of its services responded.
    """
    try:
        client = load().DDGS(timeout=max(1, int(seconds / _ROUNDS)))  # imports its dependencies
        from ddgs.exceptions import (  # noqa: PLC0415 -- an optional package
            DDGSException,
            RatelimitException,
            TimeoutException,
        )
    except ImportError as error:
        raise ToolExecutionError(f"the engine 'ddgs' needs a package that is missing: {INSTALL}") from error
    try:
        found = client.text(query, max_results=count)
    except RatelimitException as error:
        raise ToolExecutionError("the services behind ddgs are busy; try again in a minute") from error
    except TimeoutException as error:
        raise ToolExecutionError("the services behind ddgs did not answer in time; try again") from error
    except DDGSException as error:
        if str(error) == _NOTHING:
            return []
        reason = show_untrusted(" ".join(str(error).split()), longest=_LONGEST_REASON).text
        raise ToolExecutionError(
            f"no service behind ddgs answered, the last one failed with {reason!r}"
        ) from error
    return [SearchHit(text_at(row, "title"), text_at(row, "body"), text_at(row, "href")) for row in found]


ENGINE = PackageEngine(
    name="ddgs",
    title="ddgs",
    find=find,
    load=load,
    install=INSTALL,
    notice="ddgs uses its own HTTP client, so this search did not go through the guarded one",
)
