"""A prompt: sections with tools, the params bound to them, and the policies and resources of the tools."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Generic, NoReturn, Protocol, TypeVar, cast, runtime_checkable

from toolhaft.core import notebook
from toolhaft.core.conversion import AnyTool
from toolhaft.core.prompt_hooks import FeedbackProvider, ToolPolicy
from toolhaft.core.tool import Tool
from toolhaft.errors import ToolhaftError
from toolhaft.prompt.checks import check_list, check_name, check_policies
from toolhaft.prompt.outline import Outline, outline_of
from toolhaft.prompt.overrides.apply import apply_overrides
from toolhaft.prompt.overrides.parse import Overrides
from toolhaft.prompt.problems import SectionPath, dotted_path, invalid
from toolhaft.prompt.rendering import RenderedPrompt, Rendering
from toolhaft.prompt.resources import PromptResources, ResourceSource
from toolhaft.prompt.section import Immutable, Section, check_sections
from toolhaft.prompt.structured import OutputT, StructuredOutput
from toolhaft.prompt.summary_tools import SUMMARY_TOOL_NAMES, SectionsOpened, SummaryTools, is_summary_tool
from toolhaft.prompt.tree import BoundParams, CompiledSection, SectionNode, build_tree, compile_sections
from toolhaft.prompt.visibility import SectionVisibility, to_visibility
from toolhaft.resources import ResourceRegistry
from toolhaft.schema.nearest import nearest
from toolhaft.session import Session, append_all


class OverrideLoader(Protocol):
    """Loads the overrides of a prompt, such as an OverrideStore."""

    def load(self, prompt_name: str, /) -> Overrides | None:
        """The overrides of a prompt; None if it has none."""
        ...


@runtime_checkable
class SessionPolicy(Protocol):
    """A policy that records something in the session."""

    def prepare(self, session: Session, /) -> None:
        """Register its reducers; safe to repeat."""
        ...


class Prompt(Immutable, Generic[OutputT]):
    """Sections with tools; `Prompt[Answer](...)` asks the model for an answer of a type.

    A prompt is immutable: `bind` and `with_visibility` return a new one. Rendering checks it.

    Args:
        name: its name in override files and records.
        sections: its parts, in the order of the text.
        structured_output: the type of the answer; the same as `Prompt[Answer]`.
        resources: resources of its tools, by type; those of sections, then bound ones, win over them.
        policies: checked before each call of its tools.
        feedback: asked after each call for a text for the model.
        overrides: loads texts that replace those in the code.
        max_expansions: how often a model may open sections in one session.

    Raises:
        PromptValidationError: if an argument is invalid.
    """

    output_type: object = None

    def __init__(
        self,
        *,
        name: str,
        sections: Iterable[Section[Any]] = (),
        structured_output: object = None,
        resources: ResourceSource = None,
        policies: Iterable[ToolPolicy] = (),
        feedback: Iterable[FeedbackProvider] = (),
        overrides: OverrideLoader | None = None,
        max_expansions: int = 10,
    ) -> None:
        self.name = check_name("name of a prompt", name)
        self.sections = check_sections("sections", sections)
        output = self.output_type if structured_output is None else structured_output
        self.structured_output = None if output is None else StructuredOutput[OutputT](output)
        self.policies = check_policies(policies)
        self.feedback: tuple[FeedbackProvider, ...] = check_list("feedback", feedback)
        self.overrides = _check_overrides(overrides)
        self.max_expansions = _check_count(max_expansions)
        of_sections = [section.resources for _, section in _walk(self.sections, skip_disabled=True)]
        self._sources: tuple[ResourceSource, ...] = (resources, *of_sections)
        self._resources = PromptResources(self._sources)
        self._bound: dict[type, object] = {}
        self._wanted: dict[SectionPath, SectionVisibility] = {}
        self._compiled = _CompiledCache()
        self._is_frozen = True

    def __setattr__(self, name: str, value: object) -> None:
        if "_is_frozen" in vars(self):
            raise AttributeError(
                f"a Prompt is immutable: {name!r} cannot be set; bind(...) returns a new one"
            )
        super().__setattr__(name, value)

    def __class_getitem__(cls, output_type: object) -> object:
        if isinstance(output_type, TypeVar):
            return cast("Any", super()).__class_getitem__(output_type)
        try:
            return _parametrise(cls, output_type)
        except TypeError:  # it is not hashable
            return _parametrise.__wrapped__(cls, output_type)

    def bind(self, *params: object, resources: ResourceSource = None) -> Prompt[OutputT]:
        """A new prompt with values for its sections, by their types; they replace earlier ones.

        Raises:
            PromptValidationError: for a class instead of an instance, or two values of one type.
        """
        bound: dict[type, object] = {}
        for value in params:
            if isinstance(value, type) or value is None:
                shown = value.__name__ if isinstance(value, type) else None
                raise invalid(f"bind takes values, not {shown}", fix=f"prompt.bind({shown or 'Params'}(...))")
            if type(value) in bound:
                raise invalid(f"bind was given two {type(value).__name__}", fix="bind one value of each type")
            bound[type(value)] = value
        earlier = {kind: value for kind, value in self._bound.items() if kind not in bound}
        changes: dict[str, object] = {"_bound": {**earlier, **bound}}  # in the order of binding
        if resources is not None:
            sources = (*self._sources, resources)
            changes |= {"_sources": sources, "_resources": PromptResources(sources)}
        return self._with(**changes)

    def with_visibility(
        self, overrides: Mapping[SectionPath, SectionVisibility | str] | Mapping[str, SectionVisibility | str]
    ) -> Prompt[OutputT]:
        """A new prompt that shows some sections differently, by their paths or dotted keys.

        It accepts the `requested_overrides` of a VisibilityExpansionRequired.

        Raises:
            PromptValidationError: for an unknown section, or an invalid visibility.
        """
        known = {dotted_path(node.path): node.path for node in self._walk_nodes()}
        wanted = dict(self._wanted)
        if not isinstance(overrides, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
            problem = f"with_visibility does not take {overrides!r:.60}"
            raise invalid(problem, fix="write with_visibility({'key of a section': 'full'})")
        for path, value in cast("Mapping[object, str]", overrides).items():
            key = ".".join(map(str, cast("SectionPath", path))) if isinstance(path, tuple) else str(path)
            if key not in known:
                close = nearest(key, known)
                problem = f"there is no section {key!r:.80}"
                raise invalid(f"{problem}; did you mean {close!r}?" if close else problem)
            try:
                wanted[known[key]] = to_visibility(value)
            except ValueError as error:
                raise invalid(str(error), path=known[key]) from None
        return self._with(_wanted=wanted)

    def render(self, *, session: Session | None = None) -> RenderedPrompt[OutputT]:
        """The text and the tools of every section that is enabled and shown.

        `session` is passed to the functions of sections that take one; by default it is `self.session`.

        Raises:
            PromptValidationError: if the prompt is not well formed; names the section.
            PromptEvaluationError: if a function of a section fails.
        """
        sections = self._compile()
        self._refuse_unused_params()
        rendering = self._new_rendering(session)
        rendering.write_all(sections)
        tools = tuple(rendering.tools)
        if SectionVisibility.SUMMARY in rendering.visibility.values():
            tools += self._summary_tools(sections, rendering.owners)
        return RenderedPrompt(
            name=self.name,
            text="\n\n".join(rendering.blocks),
            tools=tools,
            structured_output=self.structured_output,
            visibility=MappingProxyType(rendering.visibility),
            owners=MappingProxyType(rendering.owners),
        )

    def outline(self, *, session: Session | None = None) -> Outline:
        """The tree of sections with their tools and visibility; no params need to be bound."""
        return outline_of(self.name, self._compile(), self._new_rendering(session))

    @property
    def resources(self) -> PromptResources:
        """The resources of its tools: `with prompt.resources as resources:` opens them."""
        return self._resources

    @property
    def nodes(self) -> tuple[SectionNode, ...]:
        """Its sections at their paths, as written in the code.

        Raises:
            PromptValidationError: if two have the same path, or a tool is invalid.
        """
        if self._compiled.nodes is None:
            self._compiled.nodes = build_tree(self.sections)
        return self._compiled.nodes

    @property
    def session(self) -> Session | None:
        """The session of its sections; None if no section has one.

        Raises:
            PromptValidationError: if they have different sessions.
        """
        sessions = [(path, one.session) for path, one in _walk(self.sections) if one.session is not None]
        for path, session in sessions:
            if session is not sessions[0][1]:
                problem = f"it belongs to another session than section {dotted_path(sessions[0][0])!r}"
                raise invalid(problem, path=path, fix="use one session for all sections of a prompt")
        return sessions[0][1] if sessions else None

    def policies_for(self, tool_name: str, rendered: object = None) -> tuple[ToolPolicy, ...]:
        """The policies of a tool: the prompt's own, then those of its section and the sections around it.

        `rendered` decides which section has the tool, if several sections have a tool of that name.
        """
        if isinstance(rendered, RenderedPrompt):
            owner = cast("RenderedPrompt[object]", rendered).owners.get(tool_name)
            paths = [] if owner is None else [owner]
        else:
            paths = [
                node.path for node in self._walk_nodes() for tool in node.tools if tool.name == tool_name
            ]
        around = {path[:depth] for path in paths for depth in range(1, len(path) + 1)}
        inner = (one for path, section in _walk(self.sections) if path in around for one in section.policies)
        return tuple({id(policy): policy for policy in (*self.policies, *inner)}.values())

    def creates_tool(self, tool: object) -> bool:
        """True for `open_sections` and `read_section`, of which each rendering creates new objects."""
        return isinstance(tool, Tool) and is_summary_tool(cast("AnyTool", tool))

    def resources_for(self, given: ResourceSource = None) -> ResourceRegistry:
        """The resources of an executor: its own `given` ones first, then the prompt's."""
        return self._resources.for_executor(given)

    def prepare(self, session: Session) -> None:
        """Register the reducers of the prompt and its policies in a session."""
        session[SectionsOpened].register(append_all, log=True)
        of_sections = (policy for _, section in _walk(self.sections) for policy in section.policies)
        for policy in (*self.policies, *of_sections):
            if isinstance(policy, SessionPolicy):
                policy.prepare(session)

    def _walk_nodes(self) -> Iterator[SectionNode]:
        for root in self.nodes:
            yield from root.walk()

    def _compile(self) -> tuple[CompiledSection, ...]:
        """The sections with the current overrides applied, ready to be rendered."""
        overrides = None if self.overrides is None else self.overrides.load(self.name)
        known = self._compiled.sections
        if known is None or known[0] is not overrides:
            nodes = self.nodes if overrides is None else apply_overrides(self.nodes, overrides)
            known = self._compiled.sections = (overrides, compile_sections(nodes))
        return known[1]

    def _new_rendering(self, session: Session | None) -> Rendering:
        return Rendering(BoundParams(self._bound), self.session if session is None else session, self._wanted)

    def _summary_tools(
        self, sections: tuple[CompiledSection, ...], owners: Mapping[str, SectionPath]
    ) -> tuple[AnyTool, ...]:
        for name in SUMMARY_TOOL_NAMES:
            if name in owners:
                problem = f"a prompt with summaries adds its own tool {name!r}"
                raise invalid(problem, path=owners[name], fix="give your tool another name")
        return SummaryTools(
            prompt=self.name,
            sections=sections,
            params=BoundParams(self._bound),
            wanted=self._wanted,
            max_expansions=self.max_expansions,
        ).tools()

    def _refuse_unused_params(self) -> None:
        """A value that no section takes is a mistake: of the wrong type, or for another prompt."""
        if not self._bound:
            return
        kinds = {node.params_type for node in self._walk_nodes() if node.params_type is not None}
        for kind in self._bound:
            if not any(issubclass(kind, wanted) for wanted in kinds):
                taken = ", ".join(sorted(one.__name__ for one in kinds)) or "none"
                raise invalid(f"no section takes a {kind.__name__} (they take: {taken})")

    def _with(self, **changes: object) -> Prompt[OutputT]:
        other = cast("Prompt[OutputT]", object.__new__(type(self)))
        vars(other).update(vars(self), **changes)
        return other

    def __reduce__(self) -> NoReturn:
        raise TypeError("a prompt cannot be pickled: the handlers of its tools stay in this process")

    def __repr__(self) -> str:
        return f"<Prompt {self.name!r} of {len(self.sections)} sections>"

    def _repr_html_(self) -> str:
        """The outline of the prompt in a notebook; a prompt that is not valid shows what is wrong."""
        try:
            shown = str(self.outline()).partition("\n")[2]
        except ToolhaftError as error:
            shown = str(error)
        return notebook.frame(f"Prompt {self.name}", notebook.preformatted(shown))


@cache
def _parametrise(origin: type, output_type: object) -> type:
    """The class of prompts with this type of answer; the same class each time."""
    name = f"{origin.__name__}[{getattr(output_type, '__name__', output_type)}]"
    return type(name, (origin,), {"__module__": origin.__module__, "output_type": output_type})


class _CompiledCache:
    """The compiled sections, shared by a prompt and all prompts made from it."""

    def __init__(self) -> None:
        self.nodes: tuple[SectionNode, ...] | None = None
        self.sections: tuple[Overrides | None, tuple[CompiledSection, ...]] | None = None
        """The compiled sections, with the overrides that were applied."""


def _walk(
    sections: Iterable[Section[Any]], parent: SectionPath = (), *, skip_disabled: bool = False
) -> Iterator[tuple[SectionPath, Section[Any]]]:
    """Every section with its path; `skip_disabled` leaves out those with `enabled=False`."""
    for section in sections:
        if skip_disabled and section.enabled.value is False:
            continue
        path = (*parent, section.key)
        yield path, section
        yield from _walk(section.children, path, skip_disabled=skip_disabled)


def _check_overrides(store: object) -> OverrideLoader | None:
    if store is None or (callable(getattr(store, "load", None)) and not isinstance(store, type)):
        return cast("OverrideLoader | None", store)
    fix = f"OverrideStore({store!r:.60})" if isinstance(store, str) else "OverrideStore('folder')"
    raise invalid(f"overrides is {store!r:.60}, and has no method load", fix=f"write overrides={fix}")


def _check_count(count: object) -> int:
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise invalid(f"max_expansions is {count!r:.40}, and must be a whole number of at least 0")
    return count
