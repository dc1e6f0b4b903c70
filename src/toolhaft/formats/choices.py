"""Which tools a model may, must or must not call: five intents, and what becomes of those without a form.

Does not know how a wire writes a choice.
"""

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
_NONE_GOES: Final = (
    "no tool goes out, for the wire cannot forbid calls; some servers then refuse a history that has calls"
)
_EXPECTED: Final = "'auto', 'none', 'required', a tool, or a list of tools"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What the model is to do: decide for itself, call nothing, or call something; maybe of few tools."""

    mode: Mode = "auto"
    tools: tuple[str, ...] | None = None
    """Their names; None is all of them."""

    def __post_init__(self) -> None:
        if self.mode not in _MODES.values():
            raise WireError(
                f"no mode {self.mode!r:.80}", path="choice", expected="'auto', 'none' or 'required'"
            )

    @property
    def form(self) -> Form:
        """What a wire must be able to say for it."""
        if self.mode == "none" or self.tools is None:
            return self.mode
        return "one" if self.mode == "required" and len(self.tools) == 1 else "subset"


class Settled(NamedTuple):
    """A choice as a wire can say it, and what had to be done for that."""

    choice: Choice | None
    """What the wire is to write; None for nothing."""
    only: frozenset[str] | None = None
    """The tools that may go out; None is all of them."""
    losses: tuple[Loss, ...] = ()
    refused: tuple[Refusal, ...] = ()


def read_choice(given: object) -> Choice | None:
    """The intent behind `auto`, `none`, `required`, a tool, a list of tools or a Choice.

    Raises:
        WireError, DefinitionError: where it is none of these.
    """
    if given is None:
        return None
    if isinstance(given, Choice):
        if given.tools is None:
            return given
        return replace(given, tools=tuple(dict.fromkeys(_name(thing) for thing in given.tools)))
    if isinstance(given, str) and given in _MODES:
        return Choice(mode=_MODES[given])
    things = [given] if isinstance(given, str) else list(flatten(given))
    is_one = len(things) == 1 and things[0] is given
    names = tuple(dict.fromkeys(_name(thing) for thing in things))
    return Choice(mode="required" if is_one else "auto", tools=names)


def among(choice: Choice | None, names: Collection[str], stay: Mapping[str, str]) -> Settled:
    """The choice among the tools that go out; of a list, those that stay behind fall away.

    Where none is left nothing may be called: a wish for a few tools must not become leave for all.

    Args:
        choice: what the caller wants.
        names: the tools that go out.
        stay: those that stay behind, with the reason.

    Raises:
        WireError: where it names a tool that is in neither.
    """
    if choice is None or choice.tools is None:
        return Settled(choice)
    for name in choice.tools:
        if name not in names and name not in stay:
            close = nearest(name, names)
            hint = f"; did you mean {close!r}?" if close else ""
            raise WireError(f"no tool {name!r} goes out{hint}", path="choice", expected=_EXPECTED)
    wished = frozenset(choice.tools)
    left = tuple(name for name in names if name in wished)  # in the tools' own order, also of a set
    if left:
        return Settled(replace(choice, tools=left))
    if not choice.tools and choice.mode == "required":
        raise WireError("one of no tools must be called", path="choice", expected=_EXPECTED)
    told = "; ".join(f"tool {name!r} stays behind: {stay[name]}" for name in choice.tools)
    return Settled(Choice(mode="none"), refused=(Refusal("", f"choice: {told}"),) if told else ())


def _name(thing: object) -> str:
    return thing if isinstance(thing, str) else to_tool(thing).name


def settle(choice: Choice | None, forms: frozenset[Form], format: str) -> Settled:
    """The choice in a form that the wire has: its own, or by holding tools back, or refused."""
    if choice is None or choice.form in forms:
        return Settled(choice)
    if choice.mode == "auto" and choice.tools is None:
        return Settled(None)  # what a wire does by itself
    if choice.mode == "none":
        told = Loss("", "", "choice", "reshaped", _NONE_GOES)
        return Settled(None, frozenset(), (told,))
    if choice.tools is None:
        return Settled(None, None, (), (_cannot_force(format),))
    only = frozenset(choice.tools)
    told = Loss("", "", "choice", "reshaped", f"no tools go out but {', '.join(choice.tools)}")
    rest = settle(replace(choice, tools=None), forms, format)
    return Settled(rest.choice, only, (told,), rest.refused)


def _cannot_force(format: str) -> Refusal:
    return Refusal("", f"choice 'required': {format} has no way to make the model call a tool")
