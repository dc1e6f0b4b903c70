"""The tool policies that come with Toolhaft: read before write, and what must have succeeded before.

Know what they keep in the session; do not know how a call is run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any, Final, cast

from toolhaft.core.context import ToolContext
from toolhaft.core.ports import Filesystem, RenderedPort
from toolhaft.core.ports import Session as SessionView
from toolhaft.core.result import ToolResult
from toolhaft.core.tool import Tool
from toolhaft.core.tool_policy import PolicyDecision
from toolhaft.errors import FilesystemError, PromptValidationError, ResourceMissingError
from toolhaft.session import Session, upsert_by

_BY_KEY: Final = upsert_by("key")


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFile:
    """A file whose content was read or written in this session."""

    policy: str
    path: str

    @property
    def key(self) -> tuple[str, str]:
        """One item a policy and file."""
        return self.policy, self.path


@dataclass(frozen=True, slots=True, kw_only=True)
class SucceededTool:
    """A tool that has succeeded in this session."""

    policy: str
    tool: str

    @property
    def key(self) -> tuple[str, str]:
        """One item a policy and tool."""
        return self.policy, self.tool


class ReadBeforeWrite:
    """A file that exists is overwritten only once its content is known: read, or written, in this session.

    A new file may be written at once. Adding to a file counts as writing it. Where the executor has no
    filesystem, everything is allowed.

    Args:
        read_tools: the names of the tools after which a file is known.
        write_tools: the names of those that must not overwrite one that is not.
        path_argument: what all of these call the file.
        name: what the policy is known by; two with one name know the same files.

    Raises:
        PromptValidationError: for a name that is none.
    """

    def __init__(
        self,
        *,
        read_tools: Iterable[str] = ("read_file", "file_reader"),
        write_tools: Iterable[str] = ("write_file",),
        path_argument: str = "path",
        name: str = "read_before_write",
    ) -> None:
        self.name = _checked_name("name", name)
        self.read_tools = tuple(_checked_names("read_tools", read_tools))
        self.write_tools = tuple(_checked_names("write_tools", write_tools))
        self.path_argument = _checked_name("path_argument", path_argument)

    def prepare(self, session: Session) -> None:
        """Have a session keep one item a file; safe to repeat."""
        _keep_one_a_key(session, KnownFile)

    def check(self, tool: Tool[Any, Any], params: object, *, context: ToolContext) -> PolicyDecision:
        """Deny the overwriting of a file that is not known."""
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
        """Note the file that was read or written."""
        if not result.success or tool.name not in self.read_tools + self.write_tools:
            return
        path = self._path(params)
        if path is not None:
            files = _files(context)
            place = (None if files is None else _existing_file(files, path)) or _normal(path)
            _keep(context.session, KnownFile(policy=self.name, path=place))

    def _readers(self, context: ToolContext) -> tuple[str, ...]:
        """The tools that read, as far as the model has them."""
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
    """A tool is run only once others have succeeded in this session.

    Args:
        needs: for each tool that waits, the names of those that must have succeeded before it.
        name: what the policy is known by; two with one name count the same successes.

    Raises:
        PromptValidationError: for a name that is none, and for tools that wait for each other.
    """

    def __init__(self, needs: Mapping[str, Iterable[str]], *, name: str = "sequence_dependency") -> None:
        self.name = _checked_name("name", name)
        if not isinstance(needs, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
            raise PromptValidationError(
                f"SequenceDependency does not take {needs!r:.80}. Fix: write {{'deploy': ['test', 'build']}}"
            )
        self.needs = {
            _checked_name("a tool", tool): tuple(_checked_names(f"needs[{tool!r:.60}]", first))
            for tool, first in needs.items()
        }
        _refuse_circles(self.needs)
        self._awaited = frozenset(first for listed in self.needs.values() for first in listed)

    def prepare(self, session: Session) -> None:
        """Have a session keep one item a tool; safe to repeat."""
        _keep_one_a_key(session, SucceededTool)

    def check(self, tool: Tool[Any, Any], params: object, *, context: ToolContext) -> PolicyDecision:  # noqa: ARG002 -- a rule about tools, whatever their arguments
        """Deny what comes before its time."""
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
        """Note a success that another tool waits for."""
        if result.success and tool.name in self._awaited:
            _keep(context.session, SucceededTool(policy=self.name, tool=tool.name))

    def __repr__(self) -> str:
        return f"<SequenceDependency {self.name!r}>"


def _keep(session: SessionView, item: KnownFile | SucceededTool) -> None:
    if isinstance(session, Session):
        _keep_one_a_key(session, type(item))
    session[type(item)].append(item)


def _keep_one_a_key(session: Session, kind: type) -> None:
    if not session.reduces(kind):
        session.register(kind, _BY_KEY)


def _files(context: ToolContext) -> Filesystem | None:
    try:
        return context.filesystem
    except ResourceMissingError:
        return None


def _existing_file(files: Filesystem, path: str) -> str | None:
    """Where a file is, the same for each way to write its path; None where there is none."""
    try:
        found = files.stat(path)
    except FilesystemError:  # there is none, or the handler says better why not
        return None
    return _normal(found.path) if found.kind == "file" else None


def _normal(path: str) -> str:
    """The path without what makes no difference, worked out from the text alone."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def _checked_name(what: str, name: object) -> str:
    if isinstance(name, str) and name.strip():
        return name
    raise PromptValidationError(f"{what} is {name!r:.60}, and must be a text that is not empty")


def _checked_names(what: str, names: object) -> dict[str, None]:
    """The names, each once, in their order."""
    if isinstance(names, str) or not isinstance(
        names, Iterable
    ):  # the letters of a text would be taken for names
        raise PromptValidationError(
            f"{what} is {names!r:.60}, and must be a list of names. Fix: write ['...']"
        )
    return {_checked_name(f"a name in {what}", name): None for name in cast("Iterable[object]", names)}


def _refuse_circles(needs: Mapping[str, tuple[str, ...]]) -> None:
    """Refuse tools that wait for each other: none of them could ever be run."""
    cleared: set[str] = set()

    def follow(tool: str, way: tuple[str, ...]) -> None:
        if tool in way:
            circle = " -> ".join((*way[way.index(tool) :], tool))
            raise PromptValidationError(f"these tools wait for each other, and none could be run: {circle}")
        if tool not in cleared:
            for first in needs.get(tool, ()):
                follow(first, (*way, tool))
            cleared.add(tool)

    for tool in needs:
        follow(tool, ())
