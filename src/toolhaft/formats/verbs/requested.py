"""The tools of one request: each made ready, no two under one name, no more than the wire holds.

Knows tools, names and limits; does not know what is done with those that go out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, cast

from toolhaft.core.conversion import flatten, to_tool
from toolhaft.errors import DefinitionError
from toolhaft.formats.losses import Loss
from toolhaft.formats.models import Limits
from toolhaft.formats.names import fit
from toolhaft.formats.verbs.entries import REFUSAL, WIRE_NAME, Entry, Target, entry_of, make_entry
from toolhaft.formats.wire import Wire

Staying = list[tuple[str, Iterable[Entry]]]
"""The tools that stay behind, by the reason."""
_CACHED: Final = frozenset((list, tuple))


def entries_of(tools: object, wire: Wire, target: Target) -> list[Entry]:
    """Every tool made ready; by one look each where all of them were before.

    Raises:
        DefinitionError: where a tool cannot be made as written, or two have one name.
    """
    return _distinct(_made(tools, wire, target), wire, target)


def _made(tools: object, wire: Wire, target: Target) -> list[Entry]:
    if type(tools) in _CACHED:
        key = target.key
        try:
            return [tool._exports[key] for tool in cast("Iterable[Any]", tools)]  # noqa: SLF001 -- kept for this room
        except (AttributeError, KeyError, TypeError):
            pass
    return [entry_of(to_tool(thing), wire, target) for thing in flatten(tools)]


def _distinct(entries: list[Entry], wire: Wire, target: Target) -> list[Entry]:
    """The same entries, no two with one name on the wire; those that need no other name keep theirs."""
    if len(set(map(WIRE_NAME, entries))) == len(entries):
        return entries
    alone = _without_twins(entries)
    owners = {entry.wire_name: entry for entry in reversed(alone)}
    owners |= {entry.wire_name: entry for entry in alone if entry.wire_name == entry.name}
    return [
        entry if owners[entry.wire_name] is entry else _renamed(entry, owners, wire, target)
        for entry in alone
    ]


def _renamed(entry: Entry, owners: dict[str, Entry], wire: Wire, target: Target) -> Entry:
    """The entry under a name that is no other's: its tool's own, or one with its hash."""
    name = fit(entry.name, wire.tool_names)
    if name in owners:
        name = fit(entry.name, wire.tool_names, is_taken=True)
    return make_entry(entry.tool, wire, target, name)


def _without_twins(entries: list[Entry]) -> list[Entry]:
    """Each tool once."""
    seen: dict[str, Entry] = {}
    for entry in entries:
        twin = seen.setdefault(entry.name, entry).tool
        if twin is not entry.tool:
            raise DefinitionError(
                f"two tools have this name: {twin.source} and {entry.tool.source}",
                tool=entry.name,
                fix="give each tool a name of its own",
            )
    return list(seen.values())


def within_limits(
    entries: list[Entry], limits: Limits, *, strict: bool, first: frozenset[str]
) -> tuple[list[Entry], Staying]:
    """The entries that one request can hold, and the others by the reason that keeps them back.

    Where a limit cuts, the tools that the caller chose are kept before others.
    """
    stay: Staying = []
    if any(map(REFUSAL, entries)):
        stay += [(entry.refusal, (entry,)) for entry in entries if entry.refusal is not None]
        entries = [entry for entry in entries if entry.refusal is None]
    order = {id(entry): number for number, entry in enumerate(entries)} if first else {}
    if first:
        entries = sorted(entries, key=lambda entry: entry.name not in first)
    if limits.tools is not None and len(entries) > limits.tools:
        stay.append((f"one request takes at most {limits.tools} tools", entries[limits.tools :]))
        entries = entries[: limits.tools]
    if strict:
        entries = _within_strict(entries, limits, stay)
    return (sorted(entries, key=lambda entry: order[id(entry)]) if first else entries), stay


def _within_strict(entries: list[Entry], limits: Limits, stay: Staying) -> list[Entry]:
    kept: list[Entry] = []
    used = [0] * len(_STRICT_COUNTS)
    most = [cast("int | None", getattr(limits, name)) for name, _, _ in _STRICT_COUNTS]
    for entry in entries:
        more = [count(entry) for _, count, _ in _STRICT_COUNTS]
        over = [
            f"{limit} {words}"
            for limit, had, new, (_, _, words) in zip(most, used, more, _STRICT_COUNTS, strict=True)
            if limit is not None and had + new > limit
        ]
        if over:
            stay.append((f"strict tools of one request: at most {over[0]}", (entry,)))
        else:
            kept.append(entry)
            used = [had + new for had, new in zip(used, more, strict=True)]
    return kept


_STRICT_COUNTS: Final[tuple[tuple[str, Callable[[Entry], int], str], ...]] = (
    # the limit's name, what of a tool counts, and the words for all of them
    ("strict_tools", lambda _: 1, "tools"),
    ("strict_optional", lambda entry: entry.optional, "optional parameters together"),
    ("strict_unions", lambda entry: entry.unions, "parameters with unions together"),
    ("strict_properties", lambda entry: entry.properties, "parameters together"),
)


def told_of_all(entries: list[Entry], wire: Wire, limits: Limits) -> list[Loss]:
    """What is to be told of the tools of one request together, beside what each tells of itself."""
    losses = [Loss("", "", "model", "kept", limits.note)] if limits.note else []
    most = limits.description_chars
    if most is not None:
        told = f"some servers refuse more than {most} characters"
        losses += [
            Loss(entry.name, "", "description", "kept", told)
            for entry in entries
            if entry.description_chars > most
        ]
    if wire.arranges and any(entry.hints for entry in entries):
        changed = wire.told_together([entry.hints for entry in entries])
        losses += [Loss(entries[number].name, *told) for number, told in changed.items()]
    return losses
