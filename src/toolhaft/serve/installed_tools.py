"""The tools that are installed next to the platform, as rows like those of published tools."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from toolhaft.catalog.installed import InstalledTools, ToolEntryPoint, load_entry_point
from toolhaft.catalog.published import PublishedTool
from toolhaft.catalog.yaml_export import installed_yaml
from toolhaft.core.conversion import AnyTool
from toolhaft.errors import DefinitionError
from toolhaft.serve.settings import BuiltIn

_LOG: Final = logging.getLogger("toolhaft")


@dataclass(frozen=True, kw_only=True)
class InstalledTool(PublishedTool):
    """An installed tool as a published row without owner and time."""

    @property
    def etag(self) -> str:
        """The HTTP entity tag, made from the text: another version of the distribution may change it."""
        return f'"{sha256(self.text.encode()).hexdigest()[:32]}"'


class InstalledToolRows:
    """All installed tools, each loaded when it is first needed.

    The `built_in` setting decides who sees Toolhaft's own; those of other distributions are for operators.
    """

    def __init__(self, *, url: str, built_in: BuiltIn) -> None:
        self._url = url
        self._built_in: BuiltIn = built_in
        self._installed = {entry.id: entry for entry in reversed(InstalledTools().entry_points)}
        self._tools: dict[str, AnyTool | None] = {}
        self._rows: dict[str, InstalledTool | None] = {}

    @property
    def ids(self) -> frozenset[str]:
        """The ids of all installed tools, visible or not."""
        return frozenset(self._installed)

    def tool(self, id: str) -> AnyTool | None:
        """The installed tool of an id, visible or not; None if there is none, or it cannot be loaded."""
        if id not in self._tools and id in self._installed:
            try:
                self._tools[id] = load_entry_point(self._installed[id])
            except DefinitionError as error:
                _LOG.warning("an installed tool is ignored: %s", error)
                self._tools[id] = None
        return self._tools.get(id)

    def row(self, id: str) -> InstalledTool | None:
        """The row of an id, always the same object; None if the platform does not offer it."""
        if id not in self._rows and id in self._installed:
            self._rows.setdefault(id, self._make_row(self._installed[id]))
        return self._rows.get(id)

    def rows(self) -> list[InstalledTool]:
        """All rows, sorted by id."""
        return [row for id in sorted(self._installed) if (row := self.row(id)) is not None]

    def _make_row(self, entry: ToolEntryPoint) -> InstalledTool | None:
        is_own = entry.store == "built-in"
        if is_own and self._built_in == "none":
            return None
        tool = self.tool(entry.id)
        if tool is None:
            return None
        share = "public" if is_own and self._built_in == "public" else "private"
        try:
            text = installed_yaml(tool, endpoint=f"{self._url}/v3/tool/{entry.id}", share=share)
        except DefinitionError as error:
            _LOG.warning("an installed tool is ignored: %s", error)
            return None
        return InstalledTool(
            id=entry.id,
            owner="",
            org="",
            share=share,
            text=text,
            upstream=None,
            created_at="",
            updated_at="",
            revision=0,
        )
