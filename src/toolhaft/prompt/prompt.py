"""A prompt: sections, the values that are bound for them, and what both bring along for an executor.

Stores until it is rendered; then all that can be wrong with it is told at once where it stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Generic, NoReturn, Protocol, Self, TypeVar, cast, runtime_checkable

from toolhaft.core.conversion import AnyTool
from toolhaft.core.feedback import FeedbackProvider
from toolhaft.core.tool import Tool
from toolhaft.core.tool_policy import ToolPolicy
from toolhaft.prompt.given import listed, name_of, policies_of
from toolhaft.prompt.lending import PromptResources, Source
from toolhaft.prompt.opening import NAMES, Opener, SectionsOpened, is_opener
from toolhaft.prompt.outline import Outline, outline_of
from toolhaft.prompt.overrides.applying import apply_overrides
from toolhaft.prompt.overrides.override import Overrides
from toolhaft.prompt.rendered import RenderedPrompt
from toolhaft.prompt.rendering import Leaf, Rendering, Values, prepare
from toolhaft.prompt.section import Section
from toolhaft.prompt.structured import OutputT, StructuredOutput
from toolhaft.prompt.tree import Node, plant
from toolhaft.prompt.troubles import Path, dotted, invalid
from toolhaft.prompt.visibility import SectionVisibility
from toolhaft.resources import ResourceRegistry
from toolhaft.schema.nearest import nearest
from toolhaft.session import Session, append_all


class Store(Protocol):
    """Where texts come from that take the place of those in the code."""

    def load(self, prompt_name: str, /) -> Overrides | None:
        """What is to be replaced in a prompt; None where nothing is."""
        ...


@runtime_checkable
class Prepared(Protocol):
    """A policy that has a session keep something."""

    def prepare(self, session: Session, /) -> None:
        """Register what it needs; safe to repeat."""
        ...


class Prompt(Generic[OutputT]):
    """Sections that carry tools; `Prompt[Answer](...)` wants its answer in the shape of a type.

    A prompt never changes: `bind` and `with_visibility` give another. It is checked when it is rendered.

    Args:
        name: what it is known by, in overrides and records.
        sections: its parts, in the order of the text.
        structured_output: the type of the answer; the same as `Prompt[Answer]`.
        resources: what its tools touch, by type; those of sections, and then those that are bound, go first.
        policies: what is asked before any of its tools is run.
        feedback: what is asked, after each call, for something to tell the model.
        overrides: where texts come from that take the place of those in the code.
        max_expansions: how often a model may have sections opened in one session.

    Raises:
        PromptValidationError: for a part that is not what it must be.
    """

    output_type: object = None

    def __init__(
        self,
        *,
        name: str,
        sections: Iterable[Section[Any]] = (),
        structured_output: object = None,
        resources: Source = None,
        policies: Iterable[ToolPolicy] = (),
        feedback: Iterable[FeedbackProvider] = (),
        overrides: Store | None = None,
        max_expansions: int = 10,
    ) -> None:
        self.name = name_of("name of a prompt", name)
        self.sections = _checked_sections(sections)
        wanted = self.output_type if structured_output is None else structured_output
        self.structured_output = None if wanted is None else StructuredOutput[OutputT](wanted)
        self.policies = policies_of(policies)
        self.feedback: tuple[FeedbackProvider, ...] = listed("feedback", feedback)
        self.overrides = _checked_store(overrides)
        self.max_expansions = _checked_count(max_expansions)
        sections_bring = [section.resources for _, section in _all(self.sections, but_off=True)]
        self._sources: tuple[Source, ...] = (resources, *sections_bring)
        self._resources = PromptResources(self._sources)
        self._bound: dict[type, object] = {}
        self._wanted: dict[Path, SectionVisibility] = {}
        self._checked = _Checked()
        self._is_made = True

    def __setattr__(self, name: str, value: object) -> None:
        if "_is_made" in vars(self):
            raise AttributeError(
                f"a Prompt never changes: {name!r} cannot be set; bind(...) gives another one"
            )
        super().__setattr__(name, value)

    def __class_getitem__(cls, output_type: object) -> object:
        if isinstance(output_type, TypeVar):
            return cast("Any", super()).__class_getitem__(output_type)
        try:
            return _parametrise(cls, output_type)
        except TypeError:  # it cannot be hashed
            return _parametrise.__wrapped__(cls, output_type)

    def bind(self, *params: object, resources: Source = None) -> Prompt[OutputT]:
        """The same prompt with values for its sections, each found by its type; a later one takes the place.

        Raises:
            PromptValidationError: for a class in place of an instance, or two of one type.
        """
        bound: dict[type, object] = {}
        for given in params:
            if isinstance(given, type) or given is None:
                shown = given.__name__ if isinstance(given, type) else None
                raise invalid(
                    f"bind takes values, and {shown} is none", fix=f"prompt.bind({shown or 'Params'}(...))"
                )
            if type(given) in bound:
                raise invalid(f"bind was given two {type(given).__name__}", fix="bind one value of each type")
            bound[type(given)] = given
        left = {kind: value for kind, value in self._bound.items() if kind not in bound}
        changes: dict[str, object] = {"_bound": {**left, **bound}}  # the last one bound is the last one here
        if resources is not None:
            sources = (*self._sources, resources)
            changes |= {"_sources": sources, "_resources": PromptResources(sources)}
        return self._with(**changes)

    def with_visibility(
        self, overrides: Mapping[Path, SectionVisibility | str] | Mapping[str, SectionVisibility | str]
    ) -> Prompt[OutputT]:
        """The same prompt with sections shown otherwise, by their paths or dotted keys.

        `requested_overrides` of a VisibilityExpansionRequired is what it takes.

        Raises:
            PromptValidationError: for a section that does not exist, or a visibility that is none.
        """
        known = {dotted(node.path): node.path for node in self._walk()}
        wanted = dict(self._wanted)
        if not isinstance(overrides, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
            problem = f"with_visibility does not take {overrides!r:.60}"
            raise invalid(problem, fix="write with_visibility({'key of a section': 'full'})")
        for key, given in cast("Mapping[object, str]", overrides).items():
            said = dotted(tuple(map(str, cast("Path", key)))) if isinstance(key, tuple) else str(key)
            if said not in known:
                meant = nearest(said, known)
                problem = f"there is no section {said!r:.80}"
                raise invalid(f"{problem}; did you mean {meant!r}?" if meant else problem)
            try:
                wanted[known[said]] = SectionVisibility(given)
            except ValueError:
                raise invalid(f"{given!r:.60} is neither 'full' nor 'summary'", path=known[said]) from None
        return self._with(_wanted=wanted)

    def render(self, *, session: Session | None = None) -> RenderedPrompt[OutputT]:
        """The text and the tools of every section that is enabled and shown.

        `session` is handed to the functions of sections that ask for it; by default the one of `.session`.

        Raises:
            PromptValidationError: for whatever is not well formed, by section path.
            PromptEvaluationError: where a function of a section fails.
        """
        leaves = self._leaves()
        self._refuse_unused()
        rendering = self._rendering(session)
        rendering.write_all(leaves)
        tools = tuple(rendering.tools)
        if SectionVisibility.SUMMARY in rendering.visibility.values():
            tools += self._openers(leaves, rendering.owners)
        return RenderedPrompt(
            name=self.name,
            text="\n\n".join(rendering.blocks),
            tools=tools,
            structured_output=self.structured_output,
            visibility=MappingProxyType(rendering.visibility),
            owners=MappingProxyType(rendering.owners),
        )

    def outline(self, *, session: Session | None = None) -> Outline:
        """The tree of sections, with their tools and what is shown of them; needs nothing to be bound."""
        return outline_of(self.name, self._leaves(), self._rendering(session))

    @property
    def resources(self) -> PromptResources:
        """What its tools touch: `with prompt.resources as resources:` opens it."""
        return self._resources

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Its sections at their paths, as they are written in the code.

        Raises:
            PromptValidationError: where two have one path, or a tool cannot be made as written.
        """
        if self._checked.nodes is None:
            self._checked.nodes = plant(self.sections)
        return self._checked.nodes

    @property
    def session(self) -> Session | None:
        """The session that its sections are tied to; None where none is.

        Raises:
            PromptValidationError: where they are tied to several.
        """
        tied = [
            (path, section.session) for path, section in _all(self.sections) if section.session is not None
        ]
        for path, session in tied:
            if session is not tied[0][1]:
                problem = f"it belongs to another session than section {dotted(tied[0][0])!r}"
                raise invalid(problem, path=path, fix="make all sections of a prompt for one session")
        return tied[0][1] if tied else None

    def policies_for(self, tool_name: str, rendered: object = None) -> tuple[ToolPolicy, ...]:
        """What is asked before a tool is run: the prompt's own, then those of the sections that it is in.

        `rendered` tells which section that is, where several that are there in turn have a tool of the name.
        """
        if isinstance(rendered, RenderedPrompt):
            owner = cast("RenderedPrompt[object]", rendered).owners.get(tool_name)
            paths = [] if owner is None else [owner]
        else:
            paths = self._holders().get(tool_name, [])
        around = {path[:depth] for path in paths for depth in range(1, len(path) + 1)}
        inner = (one for path, section in _all(self.sections) if path in around for one in section.policies)
        return tuple({id(policy): policy for policy in (*self.policies, *inner)}.values())

    def _holders(self) -> dict[str, list[Path]]:
        """The sections that have a tool, by its name."""
        holders: dict[str, list[Path]] = {}
        for node in self._walk():
            for tool in node.tools:
                holders.setdefault(tool.name, []).append(node.path)
        return holders

    def brings(self, tool: object) -> bool:
        """True for the tools that show more of a summary, which each rendering makes for itself."""
        return isinstance(tool, Tool) and is_opener(cast("AnyTool", tool))

    def lend(self, given: Source = None) -> ResourceRegistry:
        """The resources for an executor: what it was given itself, before what the prompt brings."""
        return self._resources.lend(given)

    def prepare(self, session: Session) -> None:
        """Have a session keep what must outlive a call that is rolled back."""
        session[SectionsOpened].register(append_all, log=True)
        for policy in (
            *self.policies,
            *(one for _, section in _all(self.sections) for one in section.policies),
        ):
            if isinstance(policy, Prepared):
                policy.prepare(session)

    def _walk(self) -> Iterator[Node]:
        for root in self.nodes:
            yield from root.walk()

    def _leaves(self) -> tuple[Leaf, ...]:
        """The sections ready to be written, with what takes the place of their texts now."""
        found = None if self.overrides is None else self.overrides.load(self.name)
        ready = self._checked.ready
        if ready is None or ready[0] is not found:
            nodes = self.nodes if found is None else apply_overrides(self.nodes, found)
            ready = self._checked.ready = (found, prepare(nodes))
        return ready[1]

    def _rendering(self, session: Session | None) -> Rendering:
        return Rendering(Values(self._bound), self.session if session is None else session, self._wanted)

    def _openers(self, leaves: tuple[Leaf, ...], owners: Mapping[str, Path]) -> tuple[Any, ...]:
        for name in NAMES:
            if name in owners:
                problem = f"tool {name!r} is what a prompt with summaries brings itself"
                raise invalid(problem, path=owners[name], fix="give your tool another name")
        opener = Opener(
            prompt=self.name,
            leaves=leaves,
            values=Values(self._bound),
            wanted=self._wanted,
            most=self.max_expansions,
        )
        return opener.tools()

    def _refuse_unused(self) -> None:
        """A value that no section takes is a slip: of the wrong type, or for another prompt."""
        if not self._bound:
            return
        kinds = {node.params_type for node in self._walk() if node.params_type is not None}
        for kind in self._bound:
            if not any(issubclass(kind, wanted) for wanted in kinds):
                taken = ", ".join(sorted(one.__name__ for one in kinds)) or "none"
                raise invalid(f"no section takes a {kind.__name__} (they take: {taken})")

    def _with(self, **changes: object) -> Prompt[OutputT]:
        other = cast("Prompt[OutputT]", object.__new__(type(self)))
        vars(other).update(vars(self), **changes)
        return other

    def __copy__(self) -> Self:
        return self  # nothing changes it: one is as good as two

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a prompt stays in its process, with the handlers of its tools")

    def __repr__(self) -> str:
        return f"<Prompt {self.name!r} of {len(self.sections)} sections>"


@cache
def _parametrise(origin: type, output_type: object) -> type:
    """The class of prompts with this type of answer; always the same one."""
    name = f"{origin.__name__}[{getattr(output_type, '__name__', output_type)}]"
    return type(name, (origin,), {"__module__": origin.__module__, "output_type": output_type})


class _Checked:
    """What was found to be well formed, for a prompt and all that were made from it."""

    def __init__(self) -> None:
        self.nodes: tuple[Node, ...] | None = None
        self.ready: tuple[Overrides | None, tuple[Leaf, ...]] | None = None
        """The sections ready to be written, and what took the place of their texts."""


def _all(
    sections: Iterable[Section[Any]], above: Path = (), *, but_off: bool = False
) -> Iterator[tuple[Path, Section[Any]]]:
    """Every section at its path; `but_off` leaves out those that are never there."""
    for section in sections:
        if but_off and section.enabled.answer is False:
            continue
        path = (*above, section.key)
        yield path, section
        yield from _all(section.children, path, but_off=but_off)


def _checked_sections(sections: object) -> tuple[Section[Any], ...]:
    if isinstance(sections, Section):
        raise invalid("sections is a list of sections, not one", fix="write sections=[...]")
    checked = listed("sections", sections)
    for section in checked:
        if not isinstance(section, Section):
            raise invalid(f"{section!r:.60} is not a section", fix="sections=[MarkdownSection(...)]")
    return checked


def _checked_store(store: object) -> Store | None:
    if store is None or (callable(getattr(store, "load", None)) and not isinstance(store, type)):
        return cast("Store | None", store)
    fix = f"OverrideStore({store!r:.60})" if isinstance(store, str) else "OverrideStore('folder')"
    raise invalid(f"overrides is {store!r:.60}, and no store", fix=f"write overrides={fix}")


def _checked_count(count: object) -> int:
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise invalid(f"max_expansions is {count!r:.40}, and must be a whole number from 0 on")
    return count
