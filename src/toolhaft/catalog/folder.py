"""The tools of a project's own folder, listed without reading files that have not changed.

Knows files and listings; how a file becomes a tool is the YAML door's to say.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field, replace
from stat import S_ISREG
from typing import Final, cast

from toolhaft.catalog.cached import keep, read_kept
from toolhaft.catalog.listing import Listing, digest_of_file, listing_of
from toolhaft.catalog.project import Project
from toolhaft.errors import DefinitionError

TYPE_CHECKING = False  # a list from the cache must not load the YAML door
if TYPE_CHECKING:
    from toolhaft.define.yaml import YamlTool

_TOO_FRESH_NS: Final = 100_000_000
"""A file that was just written may be written again within one tick of the clock."""
_ENDINGS: Final = (".yaml", ".yml")
_WORDS: Final = ("problem", "tool", "place", "fix")


@dataclass(slots=True, kw_only=True)
class Folder:
    """What a project's folder holds at one moment."""

    listings: list[Listing] = field(default_factory=list[Listing])
    """By file name."""
    problems: list[DefinitionError] = field(default_factory=list[DefinitionError])
    """One for each file that defines no tool, and one for each id that several claim."""
    broken: dict[str, DefinitionError] = field(default_factory=dict[str, DefinitionError])
    """The problems by the id that a file is named for, or that several files claim."""


def read_folder(project: Project) -> Folder:
    """The tools of a project; where there is no folder for them, none."""
    names = _names(project)
    if not names:
        return Folder()
    file = project.state_folder / "listing.json"
    kept = read_kept(file).get("files")
    known = cast("dict[str, object]", kept) if isinstance(kept, dict) else {}
    rows: dict[str, object] = {}
    found: dict[str, Listing | DefinitionError] = {}
    latest = time.time_ns() - _TOO_FRESH_NS
    for name in names:
        stamp = _stamp(project, name)
        member = _member_in(known.get(name), stamp) or _look_at(project, name)
        # what could not be read may be readable next time, though nothing of it has changed
        if stamp and max(stamp[1:3]) < latest and not _is_unread(member):
            rows[name] = {"stamp": stamp, **_to_row(member)}
        found[name] = member
    if rows != known and project.tools_folder.is_dir():
        _keep(project, rows)
    return _settle(found)


def load_file(project: Project, place: str) -> YamlTool[dict[str, object], object]:
    """The tool of one of the project's files, by the place in its listing.

    Raises:
        DefinitionError: with every problem of the file.
    """
    from toolhaft.define.yaml import load_tool  # noqa: PLC0415 -- whoever only lists tools does not pay for it

    try:
        return load_tool(project.root / place)
    except DefinitionError as error:
        raise _within(project, error) from error.__cause__


def _names(project: Project) -> list[str]:
    try:
        with os.scandir(project.tools_folder) as found:
            names = [entry.name for entry in found]
    except OSError:
        return []
    return sorted(name for name in names if name.endswith(_ENDINGS) and not name.startswith("."))


def _stamp(project: Project, name: str) -> list[int]:
    try:
        facts = os.stat(f"{project.tools_folder}/{name}")  # noqa: PTH116 -- a text, for speed
    except (OSError, ValueError):
        return []
    # also when it was last touched in any way: its rights decide whether it can be read
    times = [facts.st_mtime_ns, facts.st_ctime_ns]
    return [facts.st_size, *times, facts.st_ino] if S_ISREG(facts.st_mode) else []


def _member_in(row: object, stamp: list[int]) -> Listing | DefinitionError | None:
    fields = cast("dict[str, object]", row) if isinstance(row, dict) else {}
    if not stamp or fields.get("stamp") != stamp:
        return None
    try:
        if "listing" in fields:
            return Listing.from_row(fields["listing"])
        return _error_from(fields["problem"])
    except (KeyError, TypeError, ValueError):
        return None


def _is_unread(member: Listing | DefinitionError) -> bool:
    return isinstance(member, DefinitionError) and isinstance(member.__cause__, OSError)


def _to_row(member: Listing | DefinitionError) -> dict[str, object]:
    if isinstance(member, Listing):
        return {"listing": member.to_row()}
    return {"problem": _words_of(member)}


def _words_of(error: DefinitionError) -> dict[str, object]:
    words: dict[str, object] = {key: getattr(error, key) for key in _WORDS}
    several = [one for one in error.problems if one is not error]
    return {**words, "problems": [_words_of(one) for one in several]}


def _error_from(row: object) -> DefinitionError:
    """The error that a cache holds.

    Raises:
        KeyError, TypeError, ValueError: where it holds none.
    """
    fields = cast("dict[str, object]", row)
    words = [fields[key] for key in _WORDS]
    if not all(isinstance(word, str) for word in words):
        raise TypeError("no text")
    problem, tool, place, fix = cast("list[str]", words)
    several = tuple(_error_from(one) for one in cast("list[object]", fields["problems"]))
    return DefinitionError(problem, tool=tool, place=place, fix=fix, problems=several)


def _look_at(project: Project, name: str) -> Listing | DefinitionError:
    place = f"local-kit/tools/{name}"
    try:
        tool = load_file(project, place)
        return replace(listing_of(tool, store="project", place=place), digest=digest_of_file(tool))
    except DefinitionError as error:
        return error


def _within(project: Project, error: DefinitionError) -> DefinitionError:
    """The error with files named from the project on, as people know them."""
    root = f"{project.root}{os.sep}"
    place, problem = error.place.replace(root, ""), error.problem.replace(root, "")
    several = tuple(_within(project, one) for one in error.problems if one is not error)
    return DefinitionError(problem, tool=error.tool, place=place, fix=error.fix, problems=several)


def _keep(project: Project, rows: dict[str, object]) -> None:
    try:
        folder = project.make_state_folder()
    except OSError:
        return
    keep(folder / "listing.json", {"files": rows})


def _settle(found: dict[str, Listing | DefinitionError]) -> Folder:
    """Bad files and claimed ids apart from the tools; where several files claim one id, none has it."""
    folder = Folder()
    claims: dict[str, list[Listing]] = {}
    for name, member in found.items():
        if isinstance(member, Listing):
            claims.setdefault(member.id, []).append(member)
        else:
            folder.problems.append(member)
            folder.broken[name.rpartition(".")[0]] = member
    for id, claimed in claims.items():
        if len(claimed) == 1:
            folder.listings.append(claimed[0])
        else:
            first, *others = (listing.place for listing in claimed)
            told = DefinitionError(
                f"the id {id!r} is taken by {first}",
                place=", ".join(others),
                fix="give each file an id of its own",
            )
            folder.problems.append(told)
            folder.broken[id] = told
    return folder
