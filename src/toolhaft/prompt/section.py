"""A part of a prompt: its text, the tools that the text explains, and the parts within it.

Checks its own parts; a prompt checks what they are together, and knows where each section stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Generic,
    NotRequired,
    Protocol,
    Self,
    TypeAlias,
    TypedDict,
    TypeVar,
    Unpack,
    cast,
)

from toolhaft.core.conversion import flatten
from toolhaft.core.tool_policy import ToolPolicy
from toolhaft.prompt.given import claim_of, listed, name_of, params_type_of, policies_of, session_of, text_of
from toolhaft.prompt.predicates import Asked, ask
from toolhaft.prompt.troubles import Path, invalid
from toolhaft.prompt.visibility import SectionVisibility
from toolhaft.resources import ResourceRegistry
from toolhaft.session import Session

if TYPE_CHECKING:  # a variable with a default came with Python 3.13
    from typing_extensions import TypeVar as DefaultTypeVar

    ParamsT = DefaultTypeVar("ParamsT", default=Any)
else:
    ParamsT = TypeVar("ParamsT")
AnswerT_co = TypeVar("AnswerT_co", covariant=True)
ParamsT_contra = TypeVar("ParamsT_contra", contravariant=True)


class OfSession(Protocol[AnswerT_co]):
    """A function of the session."""

    def __call__(self, *, session: Session) -> AnswerT_co:
        """Decide."""
        ...


class OfBoth(Protocol[ParamsT_contra, AnswerT_co]):
    """A function of the params and the session."""

    def __call__(self, params: ParamsT_contra, /, *, session: Session) -> AnswerT_co:
        """Decide."""
        ...


Enabled: TypeAlias = (
    "bool | Callable[[ParamsT], bool] | Callable[[], bool] | OfSession[bool] | OfBoth[ParamsT, bool]"
)
"""Whether a section is there: said once, or by a function of the params, of `session=`, of both, of none."""
Shown: TypeAlias = SectionVisibility | str
Visible: TypeAlias = (
    Shown | Callable[[ParamsT], Shown] | Callable[[], Shown] | OfSession[Shown] | OfBoth[ParamsT, Shown]
)
"""How much of a section is shown: said once, or by a function like those of `enabled`."""

_KINDS: Final[dict[tuple[type, object], type]] = {}
_DEEPEST: Final = 50


class SectionOptions(TypedDict, Generic[ParamsT]):
    """What every section takes."""

    title: str
    key: str
    tools: NotRequired[object]
    children: NotRequired[Iterable[Section[Any]]]
    enabled: NotRequired[Enabled[ParamsT]]
    visibility: NotRequired[Visible[ParamsT]]
    summary: NotRequired[str | None]
    accepts_overrides: NotRequired[bool]
    policies: NotRequired[Iterable[ToolPolicy]]
    resources: NotRequired[Mapping[type, object] | ResourceRegistry | None]
    session: NotRequired[Session | None]


class Section(Generic[ParamsT]):
    """One part of a prompt; `Section[Params]` takes the values for its text from a bound `Params`.

    A section without a type of its own takes its parent's. `MarkdownSection` is for text with `$names`;
    derive from this one, and define `body`, for text that is made in code.

    Args:
        title: what its heading says.
        key: what it is known by among its siblings; with its parents' keys before it, its path.
        tools: what it explains: objects from any door.
        children: the sections within it.
        enabled: whether it is there, its tools and children with it.
        visibility: `full`, or `summary`, which keeps text, tools and children hidden until asked for.
        summary: what is shown of it until then.
        accepts_overrides: whether its texts may be replaced from outside the code.
        policies: what is asked before a tool of it, or of a section within it, is run.
        resources: what its tools touch, by type, before those of the prompt and after those that are bound.
        session: the one session that its tools work on, where they are tied to one.

    Raises:
        PromptValidationError: for a part that is not what it must be.
    """

    params_type: type | None = None
    """The type that values for this section are bound by; None where it has none of its own."""

    def __init__(
        self,
        *,
        title: str,
        key: str,
        tools: object = (),
        children: Iterable[Section[Any]] = (),
        enabled: Enabled[ParamsT] = True,
        visibility: Visible[ParamsT] = SectionVisibility.FULL,
        summary: str | None = None,
        accepts_overrides: bool = True,
        policies: Iterable[ToolPolicy] = (),
        resources: Mapping[type, object] | ResourceRegistry | None = None,
        session: Session | None = None,
    ) -> None:
        self.key = name_of("key of a section", key)
        path = (self.key,)
        self.title = " ".join(text_of("title", title, path).split())
        self.tools = tuple(flatten(tools))
        self.children = _checked_children(children, path)
        self.depth = 1 + max((child.depth for child in self.children), default=0)
        """How many levels of sections it is, itself with them."""
        if self.depth > _DEEPEST:
            raise invalid(
                f"sections are nested more than {_DEEPEST} deep",
                path=(self.key,),
                fix="put some side by side",
            )
        self.summary = None if summary is None else text_of("summary", summary, path)
        self.accepts_overrides = claim_of("accepts_overrides", accepts_overrides, path)
        self.policies = policies_of(policies, path)
        self.resources = resources
        self.session = session_of(session, path)
        self.enabled = ask("enabled", enabled, _to_bool, self.key)
        self.visibility = ask("visibility", visibility, _to_visibility, self.key)
        if self.summary is None and self.visibility.answer is not SectionVisibility.FULL:
            raise invalid("it can be summarised, and has no summary", path=path, fix="give summary='...'")

    def __class_getitem__(cls, params_type: object) -> object:
        if isinstance(params_type, TypeVar):
            # of `class MarkdownSection(Section[ParamsT])`
            return cast("Any", super()).__class_getitem__(params_type)
        return _parametrise(cls, params_type)

    def body(self, params: ParamsT) -> str:
        """The text of the section, below its heading.

        `params` is what was bound for the section's type, None where it has none.
        """
        raise NotImplementedError(f"{type(self).__name__} says nothing: define body(self, params)")

    def __copy__(self) -> Self:
        return self  # nothing changes it: one is as good as two

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.key!r}>"


class MarkdownSection(Section[ParamsT]):
    """A section whose text is a template: `$name` and `${name}` stand for values, `$$` for a dollar sign.

    The names are the fields and properties of `Params`: a dataclass, a Pydantic model, a NamedTuple. None is
    written as nothing, an enum as its value, anything else by `str`.

    Args:
        template: the text; what all of its lines are indented by is left out.
        options: those of Section: title, key, tools, children, enabled, visibility, summary, ...

    Raises:
        PromptValidationError: for a part that is not what it must be.
    """

    def __init__(self, *, template: str = "", **options: Unpack[SectionOptions[ParamsT]]) -> None:
        super().__init__(**options)
        self.template = text_of("template", template, (self.key,), may_be_empty=True)


def _parametrise(origin: type[Section[Any]], params_type: object) -> type:
    """The class of sections with this type of params; always the same one."""
    wanted = params_type_of(params_type, origin.__name__)
    known = _KINDS.get((origin, wanted))
    if known is None:
        name = f"{origin.__name__}[{'None' if wanted is None else wanted.__name__}]"
        made = type(name, (origin,), {"__module__": origin.__module__, "params_type": wanted})
        known = _KINDS.setdefault((origin, wanted), made)
    return known


def _checked_children(children: object, path: Path) -> tuple[Section[Any], ...]:
    if isinstance(children, Section):
        raise invalid("children is a list of sections, not one", path=path, fix="write children=[...]")
    sections = listed("children", children, path)
    for child in sections:
        if not isinstance(child, Section):
            raise invalid(f"{child!r:.60} is not a section", path=path, fix="children=[MarkdownSection(...)]")
    return sections


def _to_bool(given: object) -> bool:
    if isinstance(given, bool):
        return given
    raise ValueError(f"{given!r:.60} is neither True nor False")


def _to_visibility(given: object) -> SectionVisibility:
    try:
        return SectionVisibility(cast("str", given))
    except ValueError:
        raise ValueError(f"{given!r:.60} is neither 'full' nor 'summary'") from None


__all__ = ["Asked", "Enabled", "MarkdownSection", "Section", "Visible"]
