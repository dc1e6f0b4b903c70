"""Tool policies: read a file before writing it, and call tools in a required order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any, Final, cast

from toolhaft.core.context import ToolContext
from toolhaft.core.ports import Filesystem, RenderedPort
from toolhaft.core.ports import SessionPort as SessionView
from toolhaft.core.prompt_hooks import PolicyDecision
from toolhaft.core.result import ToolResult
from toolhaft.core.tool import Tool
from toolhaft.errors import FilesystemError, ResourceMissingError
from toolhaft.prompt.checks import check_not_blank
from toolhaft.prompt.problems import invalid
from toolhaft.session import Session, upsert_by

_BY_KEY: Final = upsert_by("key")


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFile:
    """A file whose content was read or written in this session."""

    policy: str
    path: str

    @property
    def key(self) -> tuple[str, str]:
        """The session keeps one item per policy and file."""
        return self.policy, self.path


@dataclass(frozen=True, slots=True, kw_only=True)
class SucceededTool:
    """A tool that has succeeded in this session."""

    policy: str
    tool: str

    @property
    def key(self) -> tuple[str, str]:
        """The session keeps one item per policy and tool."""
        return self.policy, self.tool


class ReadBeforeWrite:
    """An existing file may be overwritten only after it was read or written in this session.

    A new file may be written without reading. Appending to a file counts as writing. An executor without a
    filesystem allows everything.

    Args:
        read_tools: the names of the tools that read files.
        write_tools: the names of the tools that write files.
        path_argument: the name of the path argument of all these tools.
        name: the name of the policy; two policies with one name share the list of known files.

    Raises:
        PromptValidationError: for an empty name.
    """

    def __init__(
        self,
        *,
        read_tools: Iterable[str] = ("read_file", "file_reader"),
        write_tools: Iterable[str] = ("write_file",),
        path_argument: str = "path",
        name: str = "read_before_write",
    ) -> None:
        self.name = check_not_blank("name", name)
        self.read_tools = _check_names("read_tools", read_tools)
        self.write_tools = _check_names("write_tools", write_tools)
        self.path_argument = check_not_blank("path_argument", path_argument)

    def prepare(self, session: Session) -> None:
        """Register a reducer that keeps one item per file; safe to repeat."""
        _register(session, KnownFile)

    def check(self, tool: Tool[Any, Any], params: object, *, context: ToolContext) -> PolicyDecision:
        """Deny overwriting a file that was not read."""
        files = _files(context)
        if tool.name not in self.write_tools or files is None:
            return PolicyDecision.allow()
        path = self._path(params)
        if path is None:
            where = f"the argument {self.path_argument!r} of {tool.name}"
            return PolicyDecision.deny(f"the policy {self.name!r} finds no path in {where}")
        place = _existing_file(files, path)
        if place is None or any(
            one.policy == self.name and one.path == place for one in context.session[KnownFile]
        ):
            return PolicyDecision.allow()
        readers = " or ".join(self._readers(context)) or "a tool that reads"
        return PolicyDecision.deny(
            f"{path[:200]} exists and was not read in this session. Read it first with {readers}, then call "
            f"{tool.name} again"
        )

    def on_result(
        self, tool: Tool[Any, Any], params: object, result: ToolResult[Any], *, context: ToolContext
    ) -> None:
        """Record the file that was read or written."""
        if not result.success or tool.name not in self.read_tools + self.write_tools:
            return
        path = self._path(params)
        if path is not None:
            files = _files(context)
            place = (None if files is None else _existing_file(files, path)) or _normal(path)
            _record(context.session, KnownFile(policy=self.name, path=place))

    def _readers(self, context: ToolContext) -> tuple[str, ...]:
        """The read tools that the model has; all of them if it has none."""
        rendered = context.rendered_prompt
        tools = (
            cast("tuple[Tool[Any, Any], ...]", rendered.tools) if isinstance(rendered, RenderedPort) else ()
        )
        shown = {tool.name for tool in tools}
        return tuple(name for name in self.read_tools if name in shown) or self.read_tools

    def _path(self, params: object) -> str | None:
        if isinstance(params, Mapping):
            path = cast("Mapping[str, object]", params).get(self.path_argument)
        else:
            path = getattr(params, self.path_argument, None)
        if isinstance(path, PathLike):
            path = cast("PathLike[Any]", path).__fspath__()
        return path if isinstance(path, str) else None

    def __repr__(self) -> str:
        return f"<ReadBeforeWrite {self.name!r}>"


class SequenceDependency:
    """A tool may be called only after others have succeeded in this session.

    Args:
        needs: for each dependent tool, the names of the tools that must have succeeded before.
        name: the name of the policy; two policies with one name share their list of successes.

    Raises:
        PromptValidationError: for an empty name, or tools that depend on each other in a circle.
    """

    def __init__(self, needs: Mapping[str, Iterable[str]], *, name: str = "sequence_dependency") -> None:
        self.name = check_not_blank("name", name)
        if not isinstance(needs, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
            fix = "write {'deploy': ['test', 'build']}"
            raise invalid(f"SequenceDependency does not take {needs!r:.80}", fix=fix)
        self.needs = {
            check_not_blank("a tool", tool): _check_names(f"needs[{tool!r:.60}]", first)
            for tool, first in needs.items()
        }
        _refuse_circles(self.needs)
        self._awaited = frozenset(first for listed in self.needs.values() for first in listed)

    def prepare(self, session: Session) -> None:
        """Register a reducer that keeps one item per tool; safe to repeat."""
        _register(session, SucceededTool)

    def check(self, tool: Tool[Any, Any], params: object, *, context: ToolContext) -> PolicyDecision:  # noqa: ARG002 -- the arguments do not matter here
        """Deny a tool whose requirements have not succeeded."""
        needed = self.needs.get(tool.name, ())
        if not needed:
            return PolicyDecision.allow()
        done = {one.tool for one in context.session[SucceededTool] if one.policy == self.name}
        missing = [first for first in needed if first not in done]
        if not missing:
            return PolicyDecision.allow()
        return PolicyDecision.deny(
            f"it comes after {', '.join(needed)}, and in this session these have not succeeded yet: "
            f"{', '.join(missing)}. Call {'it' if len(missing) == 1 else 'them'} first"
        )

    def on_result(
        self,
        tool: Tool[Any, Any],
        params: object,  # noqa: ARG002 -- as above
        result: ToolResult[Any],
        *,
        context: ToolContext,
    ) -> None:
        """Record a success that another tool needs."""
        if result.success and tool.name in self._awaited:
            _record(context.session, SucceededTool(policy=self.name, tool=tool.name))

    def __repr__(self) -> str:
        return f"<SequenceDependency {self.name!r}>"


def _record(session: SessionView, item: KnownFile | SucceededTool) -> None:
    if isinstance(session, Session):
        _register(session, type(item))
    session[type(item)].append(item)


def _register(session: Session, kind: type) -> None:
    if not session.reduces(kind):
        session.register(kind, _BY_KEY)


def _files(context: ToolContext) -> Filesystem | None:
    try:
        return context.filesystem
    except ResourceMissingError:
        return None


def _existing_file(files: Filesystem, path: str) -> str | None:
    """The normal path of a file; None if there is no file."""
    try:
        found = files.stat(path)
    except FilesystemError:  # there is none, or the handler reports the error better
        return None
    return _normal(found.path) if found.kind == "file" else None


def _normal(path: str) -> str:
    """The path without `.`, `..` and repeated slashes, computed from the text."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def _check_names(what: str, names: object) -> tuple[str, ...]:
    """The names, without repeats, in their order."""
    if isinstance(names, str) or not isinstance(names, Iterable):  # a text would be split into letters
        raise invalid(f"{what} is {names!r:.60}, and must be a list of names", fix="write ['...']")
    checked = (check_not_blank(f"a name in {what}", name) for name in cast("Iterable[object]", names))
    return tuple(dict.fromkeys(checked))


def _refuse_circles(needs: Mapping[str, tuple[str, ...]]) -> None:
    """Refuse tools that depend on each other: none of them could ever be called."""
    cleared: set[str] = set()

    def follow(tool: str, path: tuple[str, ...]) -> None:
        if tool in path:
            circle = " -> ".join((*path[path.index(tool) :], tool))
            raise invalid(f"these tools wait for each other, and none could be run: {circle}")
        if tool not in cleared:
            for first in needs.get(tool, ()):
                follow(first, (*path, tool))
            cleared.add(tool)

    for tool in needs:
        follow(tool, ())
