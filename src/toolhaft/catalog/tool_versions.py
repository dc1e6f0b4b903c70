"""The versions of published tools: the last ones are kept, so that one of them can be restored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final, cast

from toolhaft.define.running.activation import is_active

TYPE_CHECKING = False  # a remote platform's versions must not load the database and YAML packages
if TYPE_CHECKING:
    from toolhaft.catalog.published import PublishedTool
    from toolhaft.schema.json_value import JSONObject
    from toolhaft.storage import Row, SqlValue, Transaction

MAX_VERSIONS: Final = 20
"""How many versions of a tool are kept, the current one included."""
BEFORE_VERSIONS: Final = "published before the platform kept versions"
_MAX_LINE_CHARS: Final = 200
_MAX_NAMES: Final = 5
_SET_BY_PLATFORM: Final = frozenset(("created_at", "updated_at", "endpoint"))
_SHOWN: Final = frozenset(("is_active", "owner", "share", "version"))
"""The fields whose old and new values are short enough to be shown."""
_DEFAULTS: Final = {"share": "private"}
_LISTED: Final = ("parameters", "returns")
_ALL: Final = """
    SELECT number, updated_at, published_by, version, change, owner,
        CASE WHEN change = '' THEN text ELSE '' END
    FROM toolhaft_tool_versions WHERE id = ? ORDER BY number DESC
"""
_ONE: Final = """
    SELECT number, owner, text, upstream, url, is_operators
    FROM toolhaft_tool_versions WHERE id = ? AND number = ?
"""
_LAST: Final = "SELECT COALESCE(MAX(number), 0) FROM toolhaft_tool_versions WHERE id = ?"
_SAVE: Final = """
    INSERT INTO toolhaft_tool_versions
        (id, number, owner, published_by, is_operators, version, change, text, upstream, url, updated_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_PRUNE: Final = "DELETE FROM toolhaft_tool_versions WHERE id = ? AND number <= ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolVersion:
    """One version of a published tool, without its document."""

    number: int
    updated_at: str
    published_by: str | None = None
    """The owner of the key that published it; None if that is not known."""
    version: str | None = None
    """The `version` field of its document."""
    change: str = ""
    """What it changed, in one line."""
    is_current: bool = False

    def to_json(self) -> JSONObject:
        """The version as the HTTP API and the command line show it."""
        return cast("JSONObject", asdict(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredVersion:
    """The document of a version, and what a tool that is restored from it keeps."""

    number: int
    owner: str
    text: str
    upstream: str | None
    url: str
    is_operators: bool


def read_versions(
    run: Callable[[str, Sequence[SqlValue]], list[Row]], current: PublishedTool, *, owner: str | None
) -> list[ToolVersion]:
    """The versions of a tool, the newest first; with `owner`, only those that belonged to this owner."""
    rows = cast("list[tuple[int, str, str, str | None, str, str, str]]", run(_ALL, [current.id]))
    return [
        ToolVersion(
            number=number,
            updated_at=updated_at,
            published_by=published_by or None,
            version=version if change else _written_version(text),
            change=change or BEFORE_VERSIONS,
            is_current=updated_at == current.updated_at,
        )
        for number, updated_at, published_by, version, change, had, text in rows
        if owner in (None, had)
    ]


def _written_version(text: str) -> str | None:
    """The `version` field of a document that was published before versions were kept."""
    from toolhaft.define.yaml.document import plain_value, read_document  # noqa: PLC0415 -- rarely needed

    root, _ = read_document(text)
    fields = None if root is None else plain_value(root)
    version = fields.get("version") if isinstance(fields, dict) else None
    return None if version is None else _cut(str(version), _MAX_LINE_CHARS)


def read_version(
    run: Callable[[str, Sequence[SqlValue]], list[Row]], id: str, number: int
) -> StoredVersion | None:
    """The document of a version; None if it is not kept."""
    rows = cast("list[tuple[int, str, str, str | None, str, int]]", run(_ONE, [id, number]))
    if not rows:
        return None
    number, owner, text, upstream, url, is_operators = rows[0]
    return StoredVersion(
        number=number,
        owner=owner,
        text=text,
        upstream=upstream,
        url=url,
        is_operators=bool(is_operators),
    )


def save_version(transaction: Transaction, published: PublishedTool, version: str | None) -> None:
    """Store a tool that is being published as its newest version, and drop those beyond the last ones."""
    last = cast("int", transaction.execute(_LAST, [published.id])[0][0])
    transaction.execute(
        _SAVE,
        [
            published.id,
            last + 1,
            published.owner,
            published.published_by,
            published.is_operators,
            None if version is None else _cut(version, _MAX_LINE_CHARS),
            published.change,
            published.text,
            published.upstream,
            published.url,
            published.updated_at,
        ],
    )
    transaction.execute(_PRUNE, [published.id, last + 1 - MAX_VERSIONS])


def describe_change(before: Mapping[str, object], after: Mapping[str, object]) -> str:
    """What differs between the fields of two documents, in one line, such as `description, tags added`."""
    parts: list[str] = []
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name), after.get(name)
        if name == "is_active" and is_active(before) is not is_active(after):
            old, new = is_active(before), is_active(after)  # without the field, it depends on what runs it
        if name in _SET_BY_PLATFORM or old == new:
            continue
        if name in _LISTED:
            parts.append(f"{name} ({_describe_list(old, new)})")
        elif name in _SHOWN:
            parts.append(f"{name} ({_short(name, old)} to {_short(name, new)})")
        else:
            parts.append(name if name in before and name in after else f"{name} {_verb(old)}")
    return _cut(", ".join(parts) or "nothing", _MAX_LINE_CHARS)


def _verb(old: object) -> str:
    return "added" if old is None else "removed"


def _describe_list(old: object, new: object) -> str:
    """Which parameters were added, removed or changed."""
    before, after = _by_name(old), _by_name(new)
    changes = {
        "added": [name for name in after if name not in before],
        "removed": [name for name in before if name not in after],
        "changed": [name for name in after if name in before and before[name] != after[name]],
    }
    parts = [f"{verb} {_names(names)}" for verb, names in changes.items() if names]
    return "; ".join(parts) or "reordered"


def _by_name(fields: object) -> dict[str, object]:
    members = cast("list[dict[str, object]]", fields) if isinstance(fields, list) else []
    return {str(member.get("name")): member for member in members}


def _names(names: Sequence[str]) -> str:
    more = len(names) - _MAX_NAMES
    return ", ".join(names[:_MAX_NAMES]) + (f" and {more} more" if more > 0 else "")


def _short(name: str, value: object) -> str:
    if value is None:
        return _DEFAULTS.get(name, "none")
    return _cut(str(value).lower() if isinstance(value, bool) else str(value), 40)


def _cut(text: str, max_chars: int) -> str:
    """One line of printable characters, which every database can store, of a limited length."""
    line = " ".join("".join(one if one.isprintable() else " " for one in text).split())
    return line if len(line) <= max_chars else f"{line[: max_chars - 3]}..."
