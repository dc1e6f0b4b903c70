"""Tools by id, from whatever is installed: found without loading them, loaded when one is asked for.

Knows entry points; does not know what the tools do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.metadata import EntryPoint, entry_points
from typing import Final, cast

from toolhaft.core.doors import AnyTool, to_tool
from toolhaft.errors import DefinitionError, UnknownToolError
from toolhaft.schema.nearest import nearest

GROUP: Final = "toolhaft.tools"
"""The group of entry points under which a distribution offers its tools, each by its id."""
_OWN: Final = "toolhaft"


class Catalog:
    """Every tool that is installed, for `ToolExecutor(["calculator"], catalog=Catalog())`.

    Its members are ids. Where two distributions offer one id, the built-in tool wins, then the distribution
    that comes first by name; `shadowed` tells the others.

    Args:
        found: entry points to take the place of the installed ones.
    """

    __slots__ = ("_entries", "_loaded", "shadowed")

    shadowed: tuple[str, ...]
    """What lost its id to another, as 'id (distribution)'."""

    def __init__(self, found: Iterable[EntryPoint] | None = None) -> None:
        self._entries: dict[str, EntryPoint] = {}
        self._loaded: dict[str, AnyTool] = {}
        hidden: list[str] = []
        for entry in sorted(entry_points(group=GROUP) if found is None else found, key=_rank):
            first = self._entries.setdefault(entry.name, entry)
            if first.value != entry.value:
                hidden.append(f"{entry.name} ({_owner(entry)})")
        self.shadowed = tuple(hidden)

    def get_tool(self, id: str) -> AnyTool:
        """The tool of that id, loaded now if it was not before.

        Raises:
            UnknownToolError: (a KeyError) naming the nearest id there is.
            DefinitionError: where what its distribution offers cannot be loaded, or is not that tool.
        """
        tool = self._loaded.get(id) if isinstance(id, str) else None  # pyright: ignore[reportUnnecessaryIsInstance] -- ids come from anywhere
        if tool is None:
            entry = self._entries.get(id) if isinstance(id, str) else None  # pyright: ignore[reportUnnecessaryIsInstance] -- the same
            if entry is None:
                close = nearest(str(id), self._entries)
                hint = f"; did you mean {close!r}?" if close else ""
                raise UnknownToolError(f"no tool {id!r:.140} is installed{hint}")
            tool = self._loaded[id] = _load(entry)
        return tool

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and id in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._entries))

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"<Catalog of {len(self._entries)} tools>"


def _rank(entry: EntryPoint) -> tuple[bool, str, str]:
    owner = _owner(entry)
    return owner != _OWN, owner, entry.name


def _owner(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else "unknown"


def _load(entry: EntryPoint) -> AnyTool:
    place = f"entry point {entry.value} of {_owner(entry)}"
    try:
        tool = to_tool(cast("object", entry.load()))
    except DefinitionError as error:
        raise error.of(entry.name) from error.__cause__
    except (Exception, SystemExit) as error:  # a stranger's module may fail in any way, and must end nothing
        raise DefinitionError(
            f"it cannot be loaded: {type(error).__name__}: {error!s:.200}",
            tool=entry.name,
            place=place,
            fix=f"install what {_owner(entry)} needs, or repair its entry point",
        ) from error
    if tool.name != entry.name:
        raise DefinitionError(
            f"its tool is called {tool.name!r}",
            tool=entry.name,
            place=place,
            fix="offer a tool under its own name",
        )
    return tool
