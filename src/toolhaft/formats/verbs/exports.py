"""Tools out: any tools to any wire's request, with every loss told and the map back.

Knows the tools of one request together; what one tool becomes is made next door.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final, cast

from pydantic_core import from_json, to_json

from toolhaft.errors import WireError
from toolhaft.formats.choices import Choice, Form, Settled, among, read_choice, settle
from toolhaft.formats.losses import Loss, Refusal
from toolhaft.formats.models import limits_of
from toolhaft.formats.registry import dialect_of, wire_of
from toolhaft.formats.verbs.entries import JSON_BYTES, Entry, Target
from toolhaft.formats.verbs.requested import Staying, entries_of, told_of_all, within_limits
from toolhaft.formats.wire import Setting, Wire
from toolhaft.schema.json_value import JSONObject

_MARK: Final = "\0tools\0"  # stands for the tools while the rest of a request is written
_MARK_BYTES: Final = to_json(_MARK)


def export_tools(
    tools: object,
    format: str,
    *,
    strict: bool = False,
    dialect: str | None = None,
    choice: object = None,
    parallel: bool | None = None,
    examples: bool = False,
    model: str | None = None,
) -> Export:
    """The request fields that offer these tools, in one provider's format.

    Args:
        tools: objects from any door, nested as they come.
        format: one of `toolhaft.formats.FORMATS`.
        strict: compile for the provider's strict mode; what it cannot take is refused by name.
        dialect: a variant of the format, where it has several.
        choice: 'auto', 'none', 'required', one tool (it must be called), a list of tools (no others may be
            called), or a `Choice`.
        parallel: whether the model may call several tools at once; None leaves it to the provider.
        examples: put examples into the description where the wire has no place for them.
        model: its name, for limits that one model has and the format has not.

    Raises:
        WireError: for an unknown format or dialect, or a choice of tools that are not among these.
        DefinitionError: where a tool cannot be made as written, or two have one name.
    """
    wire = wire_of(format)
    _check_flags(strict=strict, parallel=parallel, examples=examples)
    target = Target(format, dialect_of(wire, dialect), strict and wire.has_strict, examples)
    limits = limits_of(format, model)
    entries = entries_of(tools, wire, target)
    wanted = read_choice(choice)
    forms = wire.choices if limits.can_force else wire.choices - {"required", "one"}
    offered, first = _preferred(entries, wanted, forms)
    ready, stay = within_limits(offered, limits, strict=target.strict, first=first)
    settled = _settle(wanted, ready, stay, wire.name, forms)
    if settled.only is not None:
        ready = [entry for entry in ready if entry.name in settled.only]
    losses = told_of_all(ready, wire, limits)
    if strict and not wire.has_strict:
        losses.append(Loss("", "", "strict", "checked locally", f"{format} has no strict mode"))
    refused = settled.refused
    why_not = _why_not_single(ready, wire) if parallel is False else None
    if why_not is not None:
        refused = (*refused, Refusal("", f"parallel=False: {why_not}"))
    return Export(
        wire=wire,
        target=target,
        entries=ready,
        known=entries,
        stay=stay,
        choice=settled.choice,
        parallel=parallel if wire.has_parallel and why_not is None else None,
        losses=(*losses, *settled.losses),
        refused=refused,
    )


def check_export(export: object, format: str) -> None:
    """Refuse an export of another format: its names and arguments would be turned by the wrong tables.

    Raises:
        WireError: where it is none of this format.
    """
    if export is None or (isinstance(export, Export) and export.format == format):
        return
    given = f"an export to {export.format}" if isinstance(export, Export) else f"{export!r:.80}"
    raise WireError(f"got {given}", path="export", expected=f"what export_tools(tools, {format!r}) gave")


def _check_flags(**flags: object) -> None:
    for name, given in flags.items():
        if given is not None and not isinstance(given, bool):
            raise WireError(f"got {given!r:.80}", path=name, expected="True or False")


class Export:
    """Tools on a wire: the payload for the request, what was lost, and the way back for calls."""

    def __init__(
        self,
        *,
        wire: Wire,
        target: Target,
        entries: Sequence[Entry],
        known: Sequence[Entry],
        stay: Staying,
        choice: Choice | None,
        parallel: bool | None,
        losses: tuple[Loss, ...],
        refused: tuple[Refusal, ...],
    ) -> None:
        self.format = wire.name
        self.dialect = target.dialect
        self.strict = target.strict
        self.ids: dict[str, str] = {}
        """Call ids that were changed for the wire, with what they were; filled as calls are encoded."""
        self._wire = wire
        self._entries = entries
        self._known = known
        self._choice = choice
        self._parallel = parallel
        self._losses = losses
        self._stay = stay
        self._refused = refused

    @cached_property
    def by_name(self) -> Mapping[str, Entry]:
        """What went out, by its name on the wire."""
        return {entry.wire_name: entry for entry in self._entries}

    @cached_property
    def by_own_name(self) -> Mapping[str, Entry]:
        """The same, by each tool's own name."""
        return {entry.name: entry for entry in self._entries}

    @cached_property
    def unchanged(self) -> frozenset[str]:
        """The tools whose calls come off the wire as the tool takes them."""
        plain = (entry for entry in self._entries if entry.turn is None and entry.name == entry.wire_name)
        return frozenset(entry.name for entry in plain)

    @cached_property
    def history(self) -> Mapping[str, Entry]:
        """Every tool that the format can take by its own name, also those held back from this request."""
        return {entry.name: entry for entry in self._known if entry.refusal is None}

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Each tool's name on the wire, with its own."""
        return {entry.wire_name: entry.name for entry in self._entries}

    @cached_property
    def properties(self) -> Mapping[str, Mapping[str, str]]:
        """By tool, each renamed property's name on the wire, with its own."""
        turns = ((entry.name, entry.turn) for entry in self._entries)
        return {name: turn.renames for name, turn in turns if turn is not None and turn.renames}

    @cached_property
    def losses(self) -> tuple[Loss, ...]:
        """Everything that the wire does not carry as the tools have it."""
        return (*self._losses, *(loss for entry in self._entries if entry.losses for loss in entry.losses))

    @cached_property
    def refused(self) -> tuple[Refusal, ...]:
        """Tools that this format cannot take, and wishes that it has no form for, each with its reason."""
        tools = (Refusal(entry.name, reason) for reason, entries in self._stay for entry in entries)
        return (*tools, *self._refused)

    @cached_property
    def json_bytes(self) -> bytes:
        """The payload as JSON; each tool's part of it is kept from one export to the next."""
        wire, entries = self._wire, self._entries
        if not entries and not wire.sends_empty:
            return b"{}"
        choice = self._choice
        if choice is not None and choice.tools is not None:
            wire_names = {entry.name: entry.wire_name for entry in entries}
            choice = Choice(mode=choice.mode, tools=tuple(wire_names[name] for name in choice.tools))
        free_form = frozenset[str]() if choice is None else self._free_form()
        setting = Setting(choice, self._parallel, self.dialect, free_form, self.strict)
        head, _, tail = to_json(wire.request([_MARK], setting)).partition(_MARK_BYTES)
        members = list(map(JSON_BYTES, entries))
        if wire.arranges and any(entry.hints for entry in entries):
            members = wire.arrange([(entry.hints, entry.json_bytes) for entry in entries])
        if not members:
            return head + tail
        members[0] = head + members[0]  # into the ends: of a thousand tools each more copy is a megabyte
        members[-1] += tail
        return b",".join(members)

    def _free_form(self) -> frozenset[str]:
        return frozenset(entry.wire_name for entry in self._entries if entry.is_free_form)

    @cached_property
    def payload(self) -> JSONObject:
        """The fields to put into the request; yours to change."""
        return cast("JSONObject", from_json(self.json_bytes))

    @property
    def tools(self) -> list[JSONObject]:
        """Each tool as the wire has it, one by one."""
        return [cast("JSONObject", from_json(entry.json_bytes)) for entry in self._entries]

    def __repr__(self) -> str:
        return (
            f"<Export of {len(self._entries)} tools to {self.format}: "
            f"{len(self.losses)} losses, {len(self.refused)} refused>"
        )


def _why_not_single(entries: list[Entry], wire: Wire) -> str | None:
    """Why the wire cannot ask for one call at a time; None where it can."""
    if not wire.has_parallel:
        return f"{wire.name} has no way to ask for one call at a time"
    return wire.can_be_single([entry.hints for entry in entries if entry.hints])


def _preferred(
    entries: list[Entry], wanted: Choice | None, forms: frozenset[Form]
) -> tuple[list[Entry], frozenset[str]]:
    """The tools to offer before limits cut, and those of them that the caller chose.

    Where the wire has no form for a choice of tools, the others are held back at once.
    """
    if wanted is None or wanted.tools is None:
        return entries, frozenset()
    chosen = frozenset(wanted.tools)
    if not chosen or wanted.form in forms or not chosen.issubset(entry.name for entry in entries):
        return entries, chosen
    return [entry for entry in entries if entry.name in chosen], chosen


def _settle(
    wanted: Choice | None, entries: list[Entry], stay: Staying, format: str, forms: frozenset[Form]
) -> Settled:
    if wanted is None:
        return Settled(None)
    reasons = {entry.name: reason for reason, left in stay for entry in left}
    chosen = among(wanted, [entry.name for entry in entries], reasons)
    settled = settle(chosen.choice, forms, format)
    return settled._replace(refused=chosen.refused + settled.refused)
