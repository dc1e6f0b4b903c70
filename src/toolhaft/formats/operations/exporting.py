"""Exports tools as the fields of a provider's request, with every loss and every refused tool."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, LiteralString, Never, cast, overload

from pydantic_core import from_json, to_json

from toolhaft.core.conversion import flatten, to_tool
from toolhaft.errors import DefinitionError, WireError
from toolhaft.formats.choices import Choice, Form, ResolvedChoice, adapt_choice, read_choice, restrict_choice
from toolhaft.formats.losses import Loss, PolicyField, Refusal
from toolhaft.formats.model_limits import Limits, limits_of
from toolhaft.formats.names import fit_name
from toolhaft.formats.operations.request_limits import (
    WHERE_POSSIBLE,
    Excluded,
    Strict,
    strict_where_possible,
    within_limits,
)
from toolhaft.formats.operations.tool_entries import (
    IS_PROVIDER_TOOL,
    JSON_BYTES,
    SENT_NAME,
    Target,
    ToolEntry,
    entry_of,
    make_entry,
)
from toolhaft.formats.provider_format import ProviderFormat, RequestSettings
from toolhaft.formats.registry import dialect_of, get_format

_CACHED: Final = frozenset((list, tuple))


def entries_of(tools: object, provider: ProviderFormat, target: Target) -> list[ToolEntry]:
    """The entry of every tool, cached from earlier exports.

    Raises:
        DefinitionError: for an invalid tool, or two tools with the same name.
    """
    return _distinct(_cached_or_new(tools, provider, target), provider, target)


def _cached_or_new(tools: object, provider: ProviderFormat, target: Target) -> list[ToolEntry]:
    if type(tools) in _CACHED:
        key = target.key
        try:
            return [tool.export_cache[key] for tool in cast("Iterable[Any]", tools)]
        except (AttributeError, KeyError, TypeError):
            pass
    return [entry_of(to_tool(thing), provider, target) for thing in flatten(tools)]


def _distinct(entries: list[ToolEntry], provider: ProviderFormat, target: Target) -> list[ToolEntry]:
    """The entries with unique names as sent; a tool that is sent under its own name keeps it."""
    if len(set(map(SENT_NAME, entries))) == len(entries):
        return entries
    alone = _without_duplicates(entries)
    owners = {entry.sent_name: entry for entry in reversed(alone)}
    owners |= {entry.sent_name: entry for entry in alone if entry.sent_name == entry.name}
    return [
        entry if owners[entry.sent_name] is entry else _renamed(entry, owners, provider, target)
        for entry in alone
    ]


def _renamed(
    entry: ToolEntry, owners: dict[str, ToolEntry], provider: ProviderFormat, target: Target
) -> ToolEntry:
    """The entry under a unique name: the tool's own, or one with a hash."""
    name = fit_name(entry.name, provider.tool_names)
    if name in owners:
        name = fit_name(entry.name, provider.tool_names, is_taken=True)
    return make_entry(entry.tool, provider, target, name)


def _without_duplicates(entries: list[ToolEntry]) -> list[ToolEntry]:
    """Each tool once.

    Raises:
        DefinitionError: if different tools have the same name.
    """
    seen: dict[str, ToolEntry] = {}
    for entry in entries:
        first = seen.setdefault(entry.name, entry).tool
        if first is not entry.tool:
            raise DefinitionError(
                f"two tools have this name: {first.source} and {entry.tool.source}",
                tool=entry.name,
                fix="give each tool its own name",
            )
    return list(seen.values())


def request_losses(entries: list[ToolEntry], provider: ProviderFormat, limits: Limits) -> list[Loss]:
    """The losses of a request as a whole, besides those of each tool."""
    losses = [Loss("", "", "model", "kept", limits.note)] if limits.note else []
    most = limits.description_chars
    if most is not None:
        detail = f"some servers refuse more than {most} characters"
        losses += [
            Loss(entry.name, "", "description", "kept", detail)
            for entry in entries
            if entry.description_chars > most
        ]
    if provider.arranges and any(entry.hints for entry in entries):
        changed = provider.joint_losses([entry.hints for entry in entries])
        losses += [Loss(entries[number].name, *loss) for number, loss in changed.items()]
    return losses


_NOT_CHOSEN: Final = "the provider itself defines it, and decides when it runs"
_MARK: Final = "\0tools\0"  # a placeholder for the tools while the rest of a request is written
_MARK_BYTES: Final = to_json(_MARK)


def export_tools(
    tools: object,
    format: str,
    *,
    strict: Strict = False,
    dialect: str | None = None,
    choice: object = None,
    parallel: bool | None = None,
    examples: bool = False,
    model: str | None = None,
) -> Export:
    """The request fields that offer these tools, in one provider's format.

    Args:
        tools: tools of any definition style, in nested lists or a mapping; an executor, registry or catalog.
        format: one of `toolhaft.formats.FORMATS`.
        strict: True exports for the provider's strict mode, and refuses the tools that it cannot accept by
            name. 'where_possible' sends those without strict mode, and reports each as a loss.
        dialect: a variant of the format, if it has several.
        choice: 'auto', 'none', 'required', one tool (it must be called), a list of tools (no others may be
            called), or a `Choice`.
        parallel: whether the model may call several tools at once; None for the provider's default.
        examples: put examples into the description if the format has no field for them.
        model: the name of the model, for limits of that model.

    Raises:
        WireError: for an unknown format or dialect, or a choice of other tools.
        DefinitionError: for an invalid tool, or two tools with the same name.
    """
    provider = get_format(format)
    _check_flags(parallel=parallel, examples=examples)
    target = Target(format, dialect_of(provider, dialect), _is_strict(strict, provider), examples)
    limits = limits_of(format, model)
    entries = entries_of(tools, provider, target)
    wanted = read_choice(choice)
    forms = provider.choices if limits.can_force else provider.choices - {"required", "one"}
    plain: list[Loss] = []
    if target.strict and strict == WHERE_POSSIBLE:
        entries, target, plain = strict_where_possible(entries, provider, target, limits, _chosen(wanted))
    offered, first = _preferred(entries, wanted, forms)
    ready, excluded = within_limits(offered, limits, strict=target.strict, first=first)
    resolved = _resolve_choice(wanted, ready, excluded, provider.name, forms)
    if resolved.only is not None:
        ready = [entry for entry in ready if entry.name in resolved.only]
    if strict and not provider.has_strict:
        plain = [Loss("", "", "strict", "checked locally", f"{format} has no strict mode")]
    losses = request_losses(ready, provider, limits) + (_of_sent(plain, ready) if plain else plain)
    problem = _single_call_problem(ready, provider) if parallel is False else None
    unmet = () if problem is None else (Refusal("", f"parallel=False: {problem}"),)
    return Export(
        provider=provider,
        target=target,
        entries=ready,
        known=entries,
        excluded=excluded,
        choice=resolved.choice,
        parallel=parallel if provider.has_parallel and problem is None else None,
        losses=(*losses, *resolved.losses),
        refused=(*resolved.refused, *unmet),
    )


def _of_sent(losses: list[Loss], entries: list[ToolEntry]) -> list[Loss]:
    """The losses of the request and of the tools that are sent."""
    sent = {entry.name for entry in entries}
    return [loss for loss in losses if not loss.tool or loss.tool in sent]


def check_export(export: object, format: str) -> None:
    """Refuse an export to another format: its names and arguments differ.

    Raises:
        WireError: if it is not an export to this format.
    """
    if export is None or (isinstance(export, Export) and export.format == format):
        return
    got = f"an export to {export.format}" if isinstance(export, Export) else f"{export!r:.80}"
    raise WireError(f"got {got}", path="export", expected=f"the result of export_tools(tools, {format!r})")


def _is_strict(strict: object, provider: ProviderFormat) -> bool:
    if strict is False:  # the common case
        return False
    if strict == WHERE_POSSIBLE:
        return provider.has_strict
    if strict is not None and not isinstance(strict, bool):
        expected = f"True or False, or {WHERE_POSSIBLE!r}"
        raise WireError(f"got {strict!r:.80}", path="strict", expected=expected)
    return bool(strict) and provider.has_strict


def _chosen(wanted: Choice | None) -> frozenset[str]:
    return frozenset() if wanted is None or wanted.tools is None else frozenset(wanted.tools)


def _check_flags(**flags: object) -> None:
    for name, value in flags.items():
        if value is not None and not isinstance(value, bool):
            raise WireError(f"got {value!r:.80}", path=name, expected="True or False")


if TYPE_CHECKING:

    class Payload(dict[str, Any]):
        """A dictionary; `client.create(**payload)` then has the type that it has without the payload.

        With values of type Any, every overload of such a function matches, and the type is unknown. With
        values of type Never the first one does. Pyright distinguishes `payload["tools"]`, which is Any.
        """

        @overload
        def __getitem__(self, key: LiteralString, /) -> Any: ...  # noqa: ANN401 -- a field of any provider
        @overload
        def __getitem__(self, key: str, /) -> Never: ...
        def __getitem__(self, key: str, /) -> object: ...


class Export:
    """Exported tools: the payload for a request, its losses, and how to restore calls."""

    def __init__(
        self,
        *,
        provider: ProviderFormat,
        target: Target,
        entries: Sequence[ToolEntry],
        known: Sequence[ToolEntry],
        excluded: Excluded,
        choice: Choice | None,
        parallel: bool | None,
        losses: tuple[Loss, ...],
        refused: tuple[Refusal, ...],
    ) -> None:
        self.format = provider.name
        self.dialect = target.dialect
        self.strict = target.strict
        self.ids: dict[str, str] = {}
        """The original call id by each changed one; filled when calls are encoded."""
        self._provider = provider
        self._entries = entries
        self._known = known
        self._choice = choice
        self._parallel = parallel
        self._losses = losses
        self._excluded = excluded
        self._refused = refused

    @cached_property
    def by_name(self) -> Mapping[str, ToolEntry]:
        """The exported tools by their names as sent."""
        return {entry.sent_name: entry for entry in self._entries}

    @cached_property
    def by_own_name(self) -> Mapping[str, ToolEntry]:
        """The exported tools by their own names."""
        return {entry.name: entry for entry in self._entries}

    @cached_property
    def unchanged(self) -> frozenset[str]:
        """The tools whose calls need no restoring."""
        plain = (entry for entry in self._entries if entry.mapping is None and entry.name == entry.sent_name)
        return frozenset(entry.name for entry in plain)

    @cached_property
    def history(self) -> Mapping[str, ToolEntry]:
        """Every tool that the format accepts, by its own name, even if this request does not offer it."""
        return {entry.name: entry for entry in self._known if entry.refusal is None}

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Each tool's own name by its name as sent."""
        return {entry.sent_name: entry.name for entry in self._entries}

    @cached_property
    def properties(self) -> Mapping[str, Mapping[str, str]]:
        """By tool, each renamed property's own name by its name as sent."""
        mappings = ((entry.name, entry.mapping) for entry in self._entries)
        return {
            name: mapping.renames for name, mapping in mappings if mapping is not None and mapping.renames
        }

    @cached_property
    def losses(self) -> tuple[Loss, ...]:
        """Everything for the model that the format does not express exactly."""
        return (*self._losses, *(loss for entry in self._entries if entry.losses for loss in entry.losses))

    @cached_property
    def policy_fields(self) -> tuple[PolicyField, ...]:
        """The options that the model does not need: they are not sent, and the executor applies them."""
        return tuple(field for entry in self._entries for field in entry.policy_fields)

    @cached_property
    def refused(self) -> tuple[Refusal, ...]:
        """The tools that are not sent and the settings that cannot be expressed, each with the reason."""
        tools = (Refusal(entry.name, reason) for reason, entries in self._excluded for entry in entries)
        return (*tools, *self._refused)

    @cached_property
    def json_bytes(self) -> bytes:
        """The payload as JSON; each tool's part is cached between exports."""
        provider, entries = self._provider, self._entries
        if not entries and not provider.sends_empty:
            return b"{}"
        choice = self._choice
        if choice is not None and choice.tools is not None:
            sent_names = {entry.name: entry.sent_name for entry in entries}
            choice = Choice(mode=choice.mode, tools=tuple(sent_names[name] for name in choice.tools))
        free_form = frozenset[str]()
        if choice is not None:
            free_form = frozenset(entry.sent_name for entry in entries if entry.is_free_form)
        settings = RequestSettings(choice, self._parallel, self.dialect, free_form, self.strict)
        head, _, tail = to_json(provider.request([_MARK], settings)).partition(_MARK_BYTES)
        members = list(map(JSON_BYTES, entries))
        if provider.wraps_functions:
            members = _wrapped(members, entries, provider.wraps_functions[self.dialect])
        if provider.arranges and any(entry.hints for entry in entries):
            members = provider.arrange([(entry.hints, entry.json_bytes) for entry in entries])
        if not members:
            return head + tail
        members[0] = head + members[0]  # not head + joined + tail: that copies a megabyte per thousand tools
        members[-1] += tail
        return b",".join(members)

    @cached_property
    def payload(self) -> Payload:
        """The fields to put into the request; a new object that you may change."""
        return cast("Payload", from_json(self.json_bytes))

    @property
    def tools(self) -> list[dict[str, Any]]:
        """Each tool as the payload has it."""
        return [cast("dict[str, Any]", from_json(entry.json_bytes)) for entry in self._entries]

    def __repr__(self) -> str:
        return (
            f"<Export of {len(self._entries)} tools to {self.format}: "
            f"{len(self.losses)} losses, {len(self.refused)} refused>"
        )


def _wrapped(members: list[bytes], entries: Sequence[ToolEntry], wrapper: str) -> list[bytes]:
    """The functions in one object, at the position of the first; tools of the provider stay outside."""
    functions = members
    if any(map(IS_PROVIDER_TOOL, entries)):
        functions = [entry.json_bytes for entry in entries if not entry.is_provider_tool]
    if functions:
        functions[0] = b'{"%b":[%b' % (wrapper.encode(), functions[0])
        functions[-1] += b"]}"
    if len(functions) == len(members):
        return functions
    others = [entry.json_bytes for entry in entries if entry.is_provider_tool]
    before = next((number for number, entry in enumerate(entries) if not entry.is_provider_tool), 0)
    return [*others[:before], *functions, *others[before:]]


def _single_call_problem(entries: list[ToolEntry], provider: ProviderFormat) -> str | None:
    """Why the format cannot ask for one call at a time; None if it can."""
    if not provider.has_parallel:
        return f"{provider.name} has no way to ask for one call at a time"
    return provider.parallel_only_reason([entry.hints for entry in entries if entry.hints])


def _preferred(
    entries: list[ToolEntry], wanted: Choice | None, forms: frozenset[Form]
) -> tuple[list[ToolEntry], frozenset[str]]:
    """The tools to offer before limits apply, and the names that the caller chose.

    If the format cannot express a choice of tools, only the chosen ones are offered.
    """
    if wanted is None or wanted.tools is None:
        return entries, frozenset()
    chosen = _chosen(wanted)
    if not chosen or wanted.form in forms or not chosen.issubset(entry.name for entry in entries):
        return entries, chosen
    return [entry for entry in entries if entry.name in chosen], chosen


def _resolve_choice(
    wanted: Choice | None, entries: list[ToolEntry], excluded: Excluded, format: str, forms: frozenset[Form]
) -> ResolvedChoice:
    if wanted is None:
        return ResolvedChoice(None)
    reasons = {entry.name: reason for reason, left in excluded for entry in left}
    reasons |= {entry.name: _NOT_CHOSEN for entry in entries if entry.is_provider_tool}
    names = [entry.name for entry in entries if not entry.is_provider_tool]
    chosen = restrict_choice(wanted, names, reasons)
    resolved = adapt_choice(chosen.choice, forms, format)
    return resolved._replace(refused=chosen.refused + resolved.refused)
