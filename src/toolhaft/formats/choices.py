"""The choice of which tools a model may, must or must not call, adapted to what a format can express."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple

from toolhaft.core.conversion import flatten, to_tool
from toolhaft.errors import WireError
from toolhaft.formats.losses import Loss, Refusal
from toolhaft.schema.nearest import nearest

Mode = Literal["auto", "none", "required"]
Form = Literal["auto", "none", "required", "one", "subset"]
ALL_FORMS: Final[frozenset[Form]] = frozenset(("auto", "none", "required", "one", "subset"))
_MODES: Final[Mapping[str, Mode]] = {
    "auto": "auto",
    "none": "none",
    "required": "required",
    "any": "required",
}
_NO_TOOLS_SENT: Final = (
    "no tools are sent, because the format cannot forbid calls; some servers then refuse a history with calls"
)
_EXPECTED: Final = "'auto', 'none', 'required', a tool, or a list of tools"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Whether the model may, must or must not call tools, and which tools."""

    mode: Mode = "auto"
    tools: tuple[str, ...] | None = None
    """Their names; None for all tools."""

    def __post_init__(self) -> None:
        if self.mode not in _MODES.values():
            raise WireError(
                f"no mode {self.mode!r:.80}", path="choice", expected="'auto', 'none' or 'required'"
            )

    @property
    def form(self) -> Form:
        """What a format must be able to express."""
        if self.mode == "none" or self.tools is None:
            return self.mode
        return "one" if self.mode == "required" and len(self.tools) == 1 else "subset"


class ResolvedChoice(NamedTuple):
    """A choice that a format can express, and what was changed to get there."""

    choice: Choice | None
    """The choice to write; None to write no choice."""
    only: frozenset[str] | None = None
    """The tools that may be sent; None for all."""
    losses: tuple[Loss, ...] = ()
    refused: tuple[Refusal, ...] = ()


def read_choice(value: object) -> Choice | None:
    """The Choice for `auto`, `none`, `required`, a tool, a list of tools or a Choice.

    Raises:
        WireError, DefinitionError: for anything else.
    """
    if value is None:
        return None
    if isinstance(value, Choice):
        if value.tools is None:
            return value
        return replace(value, tools=tuple(dict.fromkeys(_name(thing) for thing in value.tools)))
    if isinstance(value, str) and value in _MODES:
        return Choice(mode=_MODES[value])
    things = [value] if isinstance(value, str) else list(flatten(value))
    is_one = len(things) == 1 and things[0] is value
    names = tuple(dict.fromkeys(_name(thing) for thing in things))
    return Choice(mode="required" if is_one else "auto", tools=names)


def restrict_choice(
    choice: Choice | None, names: Collection[str], excluded: Mapping[str, str]
) -> ResolvedChoice:
    """The choice without the tools that are not sent.

    If none of the listed tools is left, nothing may be called: a short list must not become all tools.

    Args:
        choice: what the caller wants.
        names: the tools that are sent.
        excluded: the tools that are not sent, with the reason.

    Raises:
        WireError: if it names any other tool.
    """
    if choice is None or choice.tools is None:
        return ResolvedChoice(choice)
    for name in choice.tools:
        if name not in names and name not in excluded:
            close = nearest(name, names)
            hint = f"; did you mean {close!r}?" if close else ""
            raise WireError(f"no tool {name!r} is exported{hint}", path="choice", expected=_EXPECTED)
    wanted = frozenset(choice.tools)
    left = tuple(name for name in names if name in wanted)  # in the order of the tools: a set has none
    if left:
        return ResolvedChoice(replace(choice, tools=left))
    if not choice.tools and choice.mode == "required":
        raise WireError(
            "a call is required, but the list of tools is empty", path="choice", expected=_EXPECTED
        )
    reasons = "; ".join(f"tool {name!r} is not sent: {excluded[name]}" for name in choice.tools)
    return ResolvedChoice(
        Choice(mode="none"), refused=(Refusal("", f"choice: {reasons}"),) if reasons else ()
    )


def _name(thing: object) -> str:
    return thing if isinstance(thing, str) else to_tool(thing).name


def adapt_choice(choice: Choice | None, forms: frozenset[Form], format: str) -> ResolvedChoice:
    """The choice as the format can express it: directly, by not sending other tools, or refused."""
    if choice is None or choice.form in forms:
        return ResolvedChoice(choice)
    if choice.mode == "auto" and choice.tools is None:
        return ResolvedChoice(None)  # the default of every format
    if choice.mode == "none":
        loss = Loss("", "", "choice", "reshaped", _NO_TOOLS_SENT)
        return ResolvedChoice(None, frozenset(), (loss,))
    if choice.tools is None:
        reason = f"choice 'required': {format} has no way to make the model call a tool"
        return ResolvedChoice(None, refused=(Refusal("", reason),))
    only = frozenset(choice.tools)
    loss = Loss("", "", "choice", "reshaped", f"only these tools are sent: {', '.join(choice.tools)}")
    rest = adapt_choice(replace(choice, tools=None), forms, format)
    return ResolvedChoice(rest.choice, only, (loss,), rest.refused)
