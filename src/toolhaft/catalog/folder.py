"""The tools in a project's `local-kit/tools`, listed without reading files that have not changed."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field, replace
from stat import S_ISREG
from typing import Final, cast

from toolhaft.catalog.cache_file import FRESH_NS, read_cache, write_cache
from toolhaft.catalog.listing import Listing, digest_fields, listing_of_fields
from toolhaft.catalog.project import Project
from toolhaft.define.running.platform_settings import DEFAULT_URL
from toolhaft.errors import DefinitionError

TYPE_CHECKING = False  # a list from the cache must not load the YAML package
if TYPE_CHECKING:
    from toolhaft.catalog.published import AnyYamlTool

_ENDINGS: Final = (".yaml", ".yml")
_ERROR_FIELDS: Final = ("problem", "tool", "place", "fix")


@dataclass(slots=True, kw_only=True)
class FolderContents:
    """The content of a project's folder at one moment."""

    listings: list[Listing] = field(default_factory=list[Listing])
    """By file name."""
    problems: list[DefinitionError] = field(default_factory=list[DefinitionError])
    """One for each file that defines no tool, and one for each id that several files claim."""
    broken: dict[str, DefinitionError] = field(default_factory=dict[str, DefinitionError])
    """The problems by the name of the file without its ending, or by the id that several files claim."""


def read_folder(project: Project) -> FolderContents:
    """The tools of a project; none if it has no folder for them."""
    names = _names(project)
    if not names:
        return FolderContents()
    cached = read_cache(project.state_folder / "listing.json").get("files")
    known = cast("dict[str, object]", cached) if isinstance(cached, dict) else {}
    rows: dict[str, object] = {}
    found: dict[str, Listing | DefinitionError] = {}
    latest = time.time_ns() - FRESH_NS
    folder = str(project.tools_folder)
    for name in names:
        stamp = _stamp(folder, name)
        result = _cached_result(known.get(name), stamp) or _read_file(project, name)
        # a file that could not be opened may be readable next time without any change
        is_unread = isinstance(result, DefinitionError) and isinstance(result.__cause__, OSError)
        if stamp and max(stamp[1:3]) < latest and not is_unread:
            rows[name] = {"stamp": stamp, **_to_row(result)}
        found[name] = result
    if rows != known and project.tools_folder.is_dir():
        _write_rows(project, rows)
    return _separate_problems(found)


def load_file(project: Project, place: str) -> AnyYamlTool:
    """The tool of one of the project's files, by the place in its listing.

    Raises:
        DefinitionError: with every problem of the file.
    """
    from toolhaft.define.yaml import load_definition  # noqa: PLC0415 -- listing does not need it

    try:
        return load_definition(project.root / place)
    except DefinitionError as error:
        raise _with_relative_paths(project, error) from error.__cause__


def _names(project: Project) -> list[str]:
    try:
        with os.scandir(project.tools_folder) as found:
            names = [entry.name for entry in found]
    except OSError:
        return []
    return sorted(name for name in names if name.endswith(_ENDINGS) and not name.startswith("."))


def _stamp(folder: str, name: str) -> list[int]:
    try:
        stat = os.stat(f"{folder}/{name}")  # noqa: PTH116 -- faster than a Path
    except (OSError, ValueError):
        return []
    # the change time too: permissions decide whether a file can be read
    times = [stat.st_mtime_ns, stat.st_ctime_ns]
    return [stat.st_size, *times, stat.st_ino] if S_ISREG(stat.st_mode) else []


def _cached_result(row: object, stamp: list[int]) -> Listing | DefinitionError | None:
    fields = cast("dict[str, object]", row) if isinstance(row, dict) else {}
    if not stamp or fields.get("stamp") != stamp:
        return None
    try:
        if "listing" in fields:
            return Listing.from_row(fields["listing"])
        return _error_from_row(fields["problem"])
    except (KeyError, TypeError, ValueError):
        return None


def _to_row(result: Listing | DefinitionError) -> dict[str, object]:
    if isinstance(result, Listing):
        return {"listing": result.to_row()}
    return {"problem": _error_to_row(result)}


def _error_to_row(error: DefinitionError) -> dict[str, object]:
    row: dict[str, object] = {key: getattr(error, key) for key in _ERROR_FIELDS}
    return {**row, "problems": [_error_to_row(one) for one in error.problems if one is not error]}


def _error_from_row(row: object) -> DefinitionError:
    """The error in a cache row.

    Raises:
        KeyError, TypeError, ValueError: if the row holds none.
    """
    fields = cast("dict[str, object]", row)
    texts = [fields[key] for key in _ERROR_FIELDS]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("no text")
    problem, tool, place, fix = cast("list[str]", texts)
    problems = tuple(_error_from_row(one) for one in cast("list[object]", fields["problems"]))
    return DefinitionError(problem, tool=tool, place=place, fix=fix, problems=problems)


def _read_file(project: Project, name: str) -> Listing | DefinitionError:
    from toolhaft.define.yaml import load_quick_fields, tool_fields  # noqa: PLC0415 -- listing does not need it

    place = f"local-kit/tools/{name}"
    try:
        fields = load_quick_fields(f"{project.root}{os.sep}{place}")
        if fields is None:
            fields = tool_fields(load_file(project, place))
    except DefinitionError as error:
        return error
    listing = listing_of_fields(fields, store="project", place=place)
    changes: dict[str, str] = {}
    if "endpoint" in fields and "run" not in fields:
        from toolhaft.catalog.addresses import tool_id_at  # noqa: PLC0415 -- few files need it

        changes["forwards_to"] = tool_id_at(DEFAULT_URL, cast("str", fields["endpoint"])) or ""
    if listing.updated_at:  # only a file that was published can be the same tool as one on a platform
        changes["digest"] = digest_fields(fields)
    return replace(listing, **changes) if changes else listing


def _with_relative_paths(project: Project, error: DefinitionError) -> DefinitionError:
    """The error with file names relative to the project."""
    root = f"{project.root}{os.sep}"
    place, problem = error.place.replace(root, ""), error.problem.replace(root, "")
    problems = tuple(_with_relative_paths(project, one) for one in error.problems if one is not error)
    return DefinitionError(problem, tool=error.tool, place=place, fix=error.fix, problems=problems)


def _write_rows(project: Project, rows: dict[str, object]) -> None:
    try:
        folder = project.make_state_folder()
    except OSError:
        return
    write_cache(folder / "listing.json", {"files": rows})


def _separate_problems(found: dict[str, Listing | DefinitionError]) -> FolderContents:
    """Separate bad files and repeated ids from the tools; an id that several files claim has no tool."""
    contents = FolderContents()
    claims: dict[str, list[Listing]] = {}
    for name, result in found.items():
        if isinstance(result, Listing):
            claims.setdefault(result.id, []).append(result)
        else:
            contents.problems.append(result)
            contents.broken[name.rpartition(".")[0]] = result
    for id, claimed in claims.items():
        if len(claimed) == 1:
            contents.listings.append(claimed[0])
            continue
        first, *others = (listing.place for listing in claimed)
        error = DefinitionError(
            f"the id {id!r} is taken by {first}",
            place=", ".join(others),
            fix="give each file a different id",
        )
        contents.problems.append(error)
        contents.broken[id] = error
    return contents
