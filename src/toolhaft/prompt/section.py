"""Sections: parts of a prompt with a text, the tools that the text explains, and child sections."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Generic, NotRequired, Self, TypedDict, TypeVar, Unpack, cast

from toolhaft.core.conversion import flatten
from toolhaft.core.prompt_hooks import ToolPolicy
from toolhaft.prompt.checks import (
    check_bool,
    check_list,
    check_name,
    check_params_type,
    check_policies,
    check_session,
    check_text,
)
from toolhaft.prompt.problems import SectionPath, invalid
from toolhaft.prompt.visibility import (
    EnabledOption,
    SectionVisibility,
    VisibilityOption,
    read_setting,
    to_bool,
    to_visibility,
)
from toolhaft.resources import ResourceRegistry
from toolhaft.session import Session

if TYPE_CHECKING:  # TypeVar defaults came with Python 3.13
    from typing_extensions import TypeVar as DefaultTypeVar

    ParamsT = DefaultTypeVar("ParamsT", default=Any)
else:
    ParamsT = TypeVar("ParamsT")

_CLASSES: Final[dict[tuple[type, object], type]] = {}
"""The class of `Section[Params]`, by section class and params type."""
_MAX_DEPTH: Final = 50


class Immutable:
    """Copies of an object that never changes are the object itself."""

    __slots__ = ()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self


class SectionOptions(TypedDict, Generic[ParamsT]):
    """The arguments of every section."""

    title: str
    key: str
    tools: NotRequired[object]
    children: NotRequired[Iterable[Section[Any]]]
    enabled: NotRequired[EnabledOption[ParamsT]]
    visibility: NotRequired[VisibilityOption[ParamsT]]
    summary: NotRequired[str | None]
    accepts_overrides: NotRequired[bool]
    policies: NotRequired[Iterable[ToolPolicy]]
    resources: NotRequired[Mapping[type[Any], object] | ResourceRegistry | None]
    session: NotRequired[Session | None]


class Section(Immutable, Generic[ParamsT]):
    """One part of a prompt; `Section[Params]` takes the values for its text from a bound `Params`.

    A section without its own type takes its parent's. Use `MarkdownSection` for a text with `$names`; derive
    from this class, and define `body`, for a text that is made in code.

    Args:
        title: the text of its heading.
        key: its name among its siblings; the keys of its parents and its own are its path.
        tools: the tools that it explains, defined in any way.
        children: the sections within it.
        enabled: whether the section is part of the prompt, with its tools and children.
        visibility: `full`, or `summary`, which hides text, tools and children until the model opens it.
        summary: the text that is shown until then.
        accepts_overrides: whether an override file may replace its texts.
        policies: checked before each call of its tools and of its children's tools.
        resources: resources of its tools, by type; they win over the prompt's, bound ones win over them.
        session: the only session that its tools work with; None if any will do.

    Raises:
        PromptValidationError: if an argument is invalid.
    """

    params_type: type | None = None
    """The type of the values for this section; None for the type of its parent."""

    def __init__(
        self,
        *,
        title: str,
        key: str,
        tools: object = (),
        children: Iterable[Section[Any]] = (),
        enabled: EnabledOption[ParamsT] = True,
        visibility: VisibilityOption[ParamsT] = SectionVisibility.FULL,
        summary: str | None = None,
        accepts_overrides: bool = True,
        policies: Iterable[ToolPolicy] = (),
        resources: Mapping[type[Any], object] | ResourceRegistry | None = None,
        session: Session | None = None,
    ) -> None:
        self.key = check_name("key of a section", key)
        path = (self.key,)
        self.title = " ".join(check_text("title", title, path).split())
        self.tools = tuple(flatten(tools))
        self.children = check_sections("children", children, path)
        self.depth = 1 + max((child.depth for child in self.children), default=0)
        """The number of levels of sections, with this one."""
        if self.depth > _MAX_DEPTH:
            problem = f"sections are nested more than {_MAX_DEPTH} deep"
            raise invalid(problem, path=path, fix="put some side by side")
        self.summary = None if summary is None else check_text("summary", summary, path)
        self.accepts_overrides = check_bool("accepts_overrides", accepts_overrides, path)
        self.policies = check_policies(policies, path)
        self.resources = resources
        self.session = check_session(session, path)
        self.enabled = read_setting("enabled", enabled, to_bool, self.key)
        self.visibility = read_setting("visibility", visibility, to_visibility, self.key)
        if self.summary is None and self.visibility.value is not SectionVisibility.FULL:
            raise invalid("it can be summarised, and has no summary", path=path, fix="give summary='...'")

    def __class_getitem__(cls, params_type: object) -> object:
        if isinstance(params_type, TypeVar):
            # for `class MarkdownSection(Section[ParamsT])`
            return cast("Any", super()).__class_getitem__(params_type)
        return _parametrise(cls, params_type)

    def body(self, params: ParamsT) -> str:
        """The text of the section, below its heading.

        `params` is the value bound for the section's type; None if it has no type.
        """
        raise NotImplementedError(f"{type(self).__name__} has no text: define body(self, params)")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.key!r}>"


class MarkdownSection(Section[ParamsT]):
    """A section whose text is a template: `$name` and `${name}` are replaced by values, `$$` by `$`.

    The names are the fields and properties of `Params`: a dataclass, a Pydantic model, a NamedTuple. None is
    written as an empty text, an enum as its value, anything else with `str`.

    Args:
        template: the text; the common indentation of its lines is removed.
        options: the arguments of Section: title, key, tools, children, enabled, visibility, summary, ...

    Raises:
        PromptValidationError: if an argument is invalid.
    """

    def __init__(self, *, template: str = "", **options: Unpack[SectionOptions[ParamsT]]) -> None:
        super().__init__(**options)
        self.template = check_text("template", template, (self.key,), may_be_empty=True)


def _parametrise(origin: type[Section[Any]], params_type: object) -> type:
    """The class of sections with this type of params; the same class each time."""
    checked = check_params_type(params_type, origin.__name__)
    known = _CLASSES.get((origin, checked))
    if known is None:
        name = f"{origin.__name__}[{'None' if checked is None else checked.__name__}]"
        made = type(name, (origin,), {"__module__": origin.__module__, "params_type": checked})
        known = _CLASSES.setdefault((origin, checked), made)
    return known


def check_sections(name: str, value: object, path: SectionPath = ()) -> tuple[Section[Any], ...]:
    """The sections in a list.

    Raises:
        PromptValidationError: if it is not a list of sections.
    """
    if isinstance(value, Section):
        raise invalid(f"{name} is a list of sections, not one", path=path, fix=f"write {name}=[...]")
    sections = check_list(name, value, path)
    for section in sections:
        if not isinstance(section, Section):
            raise invalid(
                f"{section!r:.60} is not a section", path=path, fix=f"{name}=[MarkdownSection(...)]"
            )
    return sections
