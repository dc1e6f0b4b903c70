"""Finds tools in the catalog of an executor while it runs, and opens to its calls what was found.

Knows who may use a tool; does not know how a catalog ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from toolhaft.core.conversion import AnyTool, to_tool
from toolhaft.core.principal import Principal
from toolhaft.errors import ResourceMissingError, ToolhaftError
from toolhaft.execute.setup import Setup
from toolhaft.execute.steps.access import refusal_for

_AT_FIRST: Final = 50
_AT_MOST: Final = 10_000
"""How many hits are looked at for one search: most of them may not be for this caller."""

Open = Callable[[Iterable[AnyTool]], Mapping[str, AnyTool]]


class Finder:
    """Searches on behalf of a caller.

    Args:
        catalog: anything with `search(text, limit=...)` and `get_tool(id)`, or another finder: then what is
            found is opened where that one opens it.
        setup: gives the rules of the executor, as they are now.
        open_tools: makes tools the executor's own, and gives all that it then has.
    """

    __slots__ = ("_catalog", "_open_tools", "_setup")

    def __init__(self, catalog: Any, setup: Callable[[], Setup], open_tools: Open) -> None:  # noqa: ANN401 -- anything with these two methods
        self._catalog = catalog
        self._setup = setup
        self._open_tools = open_tools

    def find_tools(self, text: str, *, limit: int, principal: Principal | None) -> tuple[AnyTool, ...]:
        """The tools that fit a text best, and that this caller may use; from now on the executor has them.

        A tool that cannot be loaded, or is not active, is passed over.

        Raises:
            ResourceMissingError: where there is no catalog that can be searched.
        """
        further = getattr(self._catalog, "find_tools", None)
        if further is not None:
            return further(text, limit=limit, principal=principal)
        search = getattr(self._catalog, "search", None)
        if search is None:
            raise ResourceMissingError(
                "there is no catalog that can be searched; give ToolExecutor(..., catalog=Catalog())"
            )
        setup = self._setup()
        found: dict[str, AnyTool] = {}
        for id in _ids(search, text, at_first=max(limit, _AT_FIRST)):
            if len(found) == limit:
                break
            if principal is not None and principal.sees is not None and id not in principal.sees:
                continue
            try:
                tool = to_tool(self._catalog.get_tool(id))
            except ToolhaftError:  # it is broken, or was taken away meanwhile, or its platform is down
                continue
            if tool.handler is not None and refusal_for(tool, setup, principal) is None:
                found.setdefault(tool.name, tool)
        has = self._open_tools(found.values())
        return tuple(has[name] for name in found)


def _ids(search: Callable[..., Sequence[Any]], text: str, *, at_first: int) -> Iterator[str]:
    """The ids of all hits, the best first; further ones are asked for only where the first are used up."""
    seen, asked = 0, at_first
    while asked <= _AT_MOST:
        hits = search(text, limit=asked)
        yield from (hit.id for hit in hits[seen:])
        if len(hits) < asked:
            return
        seen, asked = len(hits), asked * 4
