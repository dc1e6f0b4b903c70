"""Chooses the tools that fit into one request, and those that can use the provider's strict mode."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Literal, NamedTuple, cast

from toolhaft.formats.losses import Loss
from toolhaft.formats.model_limits import Limits
from toolhaft.formats.operations.tool_entries import (
    REFUSAL,
    Target,
    ToolEntry,
    entry_of,
    make_entry,
)
from toolhaft.formats.provider_format import ProviderFormat

Excluded = list[tuple[str, Iterable[ToolEntry]]]
"""The tools that are not sent, grouped by reason."""
WHERE_POSSIBLE: Final = "where_possible"
Strict = bool | Literal["where_possible"]


class MixedEntries(NamedTuple):
    """The tools of a request of which some are strict."""

    entries: list[ToolEntry]
    target: Target
    losses: list[Loss]
    """Which tools are not strict, and why."""


def strict_where_possible(
    entries: list[ToolEntry],
    provider: ProviderFormat,
    target: Target,
    limits: Limits,
    first: frozenset[str],
) -> MixedEntries:
    """The entries, with a plain one for each tool that cannot be strict.

    The tools that the caller chose come first. If the provider declares strict mode once for all tools,
    either all are strict or none.
    """
    reasons = {entry.name: entry.refusal for entry in entries if entry.refusal is not None}
    candidates = [entry for entry in entries if entry.refusal is None]
    excluded: Excluded = []
    _within_strict(sorted(candidates, key=lambda entry: entry.name not in first), limits, excluded)
    reasons |= {entry.name: reason for reason, left in excluded for entry in left}
    losses = [
        Loss(name, "", "strict", "checked locally", f"sent without strict mode: {reason}")
        for name, reason in reasons.items()
    ]
    plain = target._replace(strict=False, restores_strict=False)
    if reasons and not provider.has_strict_tools:
        count = f"{len(reasons)} of {len(entries)}"
        why = f"it applies to all tools of a request, and {count} cannot be strict"
        losses.append(Loss("", "", "strict", "checked locally", why))
        return MixedEntries([_plain(entry, provider, plain) for entry in entries], plain, losses)
    mixed = [_plain(entry, provider, plain) if entry.name in reasons else entry for entry in entries]
    return MixedEntries(mixed, target, losses)


def _plain(entry: ToolEntry, provider: ProviderFormat, plain: Target) -> ToolEntry:
    """The entry of the same tool without strict mode, under the same name."""
    made = entry_of(entry.tool, provider, plain)
    is_same = made.sent_name == entry.sent_name
    return made if is_same else make_entry(entry.tool, provider, plain, entry.sent_name)


def within_limits(
    entries: list[ToolEntry], limits: Limits, *, strict: bool, first: frozenset[str]
) -> tuple[list[ToolEntry], Excluded]:
    """The entries that fit into one request, and the others grouped by reason.

    The tools that the caller chose come first.
    """
    excluded: Excluded = []
    if any(map(REFUSAL, entries)):
        excluded += [(entry.refusal, (entry,)) for entry in entries if entry.refusal is not None]
        entries = [entry for entry in entries if entry.refusal is None]
    order = {id(entry): number for number, entry in enumerate(entries)} if first else {}
    if first:
        entries = sorted(entries, key=lambda entry: entry.name not in first)
    if limits.tools is not None and len(entries) > limits.tools:
        excluded.append((f"one request takes at most {limits.tools} tools", entries[limits.tools :]))
        entries = entries[: limits.tools]
    if strict:
        entries = _within_strict(entries, limits, excluded)
    return (sorted(entries, key=lambda entry: order[id(entry)]) if first else entries), excluded


def _within_strict(entries: list[ToolEntry], limits: Limits, excluded: Excluded) -> list[ToolEntry]:
    kept: list[ToolEntry] = []
    used = [0] * len(_STRICT_COUNTS)
    most = [cast("int | None", getattr(limits, name)) for name, _, _ in _STRICT_COUNTS]
    for entry in entries:
        more = [count(entry) if entry.is_strict else 0 for _, count, _ in _STRICT_COUNTS]
        over = [
            f"{limit} {words}"
            for limit, had, new, (_, _, words) in zip(most, used, more, _STRICT_COUNTS, strict=True)
            if limit is not None and had + new > limit
        ]
        if over:
            excluded.append((f"strict tools of one request: at most {over[0]}", (entry,)))
        else:
            kept.append(entry)
            used = [had + new for had, new in zip(used, more, strict=True)]
    return kept


_STRICT_COUNTS: Final[tuple[tuple[str, Callable[[ToolEntry], int], str], ...]] = (
    # the limit's name, how much of it a tool uses, and the text for messages
    ("strict_tools", lambda _: 1, "tools"),
    ("strict_optional", lambda entry: entry.optional, "optional parameters together"),
    ("strict_unions", lambda entry: entry.unions, "parameters with unions together"),
    ("strict_properties", lambda entry: entry.properties, "parameters together"),
)
