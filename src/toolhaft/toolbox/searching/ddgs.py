"""The `ddgs` package, which reads the result pages of several search services and needs no key.

Does not know the guarded client: the package brings its own, so nothing of what that guards holds here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol, cast

from toolhaft.errors import ToolExecutionError
from toolhaft.schema.json_value import JSONObject
from toolhaft.toolbox.answers import text_at
from toolhaft.toolbox.outside import show_outside
from toolhaft.toolbox.searching.engine import Hit, PackageEngine

INSTALL: Final = "pip install 'toolhaft[ddgs]'"
_NOTHING: Final = "No results found."
_ROUNDS: Final = 3
"""The package asks its services in rounds, each as long as its timeout."""
_LONGEST_REASON: Final = 300


class _Client(Protocol):
    def text(self, query: str, *, max_results: int) -> list[JSONObject]: ...


class _Package(Protocol):
    DDGS: Callable[..., _Client]


def load() -> _Package:
    """The package itself.

    Raises:
        ImportError: where it is not installed.
    """
    import ddgs  # noqa: PLC0415 -- an optional package

    return cast("_Package", cast("object", ddgs))


def find(query: str, count: int, seconds: float) -> list[Hit]:
    """The hits for a query.

    Raises:
        ToolExecutionError: where the package is missing, or none of its services answered.
    """
    try:
        client = load().DDGS(timeout=max(1, int(seconds / _ROUNDS)))  # which loads what it needs itself
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
        said = show_outside(" ".join(str(error).split()), longest=_LONGEST_REASON).text
        raise ToolExecutionError(
            f"no service behind ddgs answered, the last one failed with {said!r}"
        ) from error
    return [Hit(text_at(row, "title"), text_at(row, "body"), text_at(row, "href")) for row in found]


ENGINE = PackageEngine(
    name="ddgs",
    title="ddgs",
    find=find,
    load=load,
    install=INSTALL,
    notice="ddgs uses a client of its own, so this search did not go through the guarded one",
)
