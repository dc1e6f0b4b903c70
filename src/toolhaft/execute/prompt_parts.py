"""Reads what a prompt gives an executor: a session, tools, resources, policies, feedback providers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from toolhaft.core.conversion import AnyTool
from toolhaft.core.ports import PromptPort, RenderedPort
from toolhaft.core.prompt_hooks import FeedbackProvider, ToolPolicy
from toolhaft.errors import PromptValidationError
from toolhaft.execute.feedback_counts import register_counts
from toolhaft.execute.inputs import gather_tools, is_same_tool
from toolhaft.resources import ResourceRegistry
from toolhaft.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptParts:
    """A prompt as an executor uses it; an object that is not a prompt is only passed on to handlers."""

    prompt: object
    rendered: object
    session: Session
    has_own_session: bool
    """True if the session was created here, and not given by the user or the prompt."""
    port: PromptPort | None = None
    """The prompt, None if the object is not one."""
    feedback: tuple[FeedbackProvider, ...] = ()

    def tools_with(self, given: dict[str, AnyTool]) -> dict[str, AnyTool]:
        """The tools given to the executor and those of the prompt; the prompt's descriptions take precedence.

        Raises:
            DefinitionError: if two different tools have the same name.
        """
        if self.port is None:
            return given
        shown = gather_tools(cast("RenderedPort", self.rendered).tools, None)
        same = {name: shown[name] for name, tool in given.items() if self._is_same(tool, shown.get(name))}
        return gather_tools([*{**given, **same}.values(), *shown.values()], None)

    def _is_same(self, tool: AnyTool, shown: AnyTool | None) -> bool:
        if shown is None or self.port is None:
            return False
        return is_same_tool(tool, shown) or (self.port.creates_tool(tool) and self.port.creates_tool(shown))

    def resources_with(self, given: object) -> ResourceRegistry:
        """The resources given to the executor, then those of the prompt.

        Raises:
            ResourceError: if `given` is neither a mapping nor a registry.
        """
        resources = given if self.port is None else self.port.resources_for(given)
        return ResourceRegistry.of(cast("ResourceRegistry", resources))

    def policies_for(self, tool: AnyTool) -> tuple[ToolPolicy, ...]:
        """The tool policies of the prompt that apply to a tool."""
        found = () if self.port is None else self.port.policies_for(tool.name, self.rendered)
        return cast("tuple[ToolPolicy, ...]", tuple(found))


def read_prompt(prompt: object, rendered: object, session: Session | None) -> PromptParts:
    """Read a prompt, and render it unless that was done already.

    Raises:
        TypeError: if the session or the rendered prompt has the wrong type.
        PromptValidationError, PromptEvaluationError: if the prompt cannot be rendered.
    """
    port = port_of(prompt)
    if port is None:
        own = Session() if session is None else session
        return PromptParts(prompt=prompt, rendered=rendered, session=own, has_own_session=session is None)
    tied = port.session if session is None else session
    if tied is not None and not isinstance(tied, Session):
        raise TypeError(f"the session of prompt {port.name!r} is {tied!r:.80}, not a Session")
    own = Session() if tied is None else tied
    port.prepare(own)
    shown = port.render(session=own) if rendered is None else rendered
    if not isinstance(shown, RenderedPort):
        raise TypeError(
            f"rendered_prompt does not take {shown!r:.80}; write prompt.render(), or leave it out"
        )
    feedback = _feedback_of(port)
    if feedback:
        register_counts(own)  # not at the first call: a snapshot with logs may be restored before it
    return PromptParts(
        prompt=prompt,
        rendered=shown,
        session=own,
        has_own_session=tied is None,
        port=port,
        feedback=feedback,
    )


def port_of(prompt: object) -> PromptPort | None:
    """The prompt; None for a text or any other object."""
    if prompt is None:  # first, because the check of a protocol is slow
        return None
    # the class Prompt has all attributes of the port, too
    return prompt if isinstance(prompt, PromptPort) and not isinstance(prompt, type) else None


def required_port(prompt: object) -> PromptPort:
    """The prompt.

    Raises:
        TypeError: if the object is not a prompt.
    """
    port = port_of(prompt)
    if port is None:
        raise TypeError(
            f"change_prompt does not take {prompt!r:.80}; write executor.change_prompt(Prompt(name='...', "
            "sections=[...])), or one that prompt.with_visibility(...) or prompt.bind(...) returned"
        )
    return port


def _feedback_of(port: PromptPort) -> tuple[FeedbackProvider, ...]:
    """The feedback providers of a prompt; checks that each has a different name."""
    names: set[str] = set()
    for provider in port.feedback:
        if not isinstance(provider, FeedbackProvider):
            raise PromptValidationError(
                f"prompt {port.name!r}: {provider!r:.60} is not a feedback provider. "
                "Fix: give an object with a name and a method provide(context)"
            )
        if not isinstance(cast("object", provider.name), str) or not provider.name.strip():
            raise PromptValidationError(
                f"prompt {port.name!r}: a feedback provider is called {provider.name!r:.60}. "
                "Fix: give it a name that is not empty"
            )
        if provider.name in names:
            raise PromptValidationError(
                f"prompt {port.name!r}: two feedback providers are called {provider.name!r:.60}. "
                "Fix: give each a different name, with name='...'"
            )
        names.add(provider.name)
    return cast("tuple[FeedbackProvider, ...]", tuple(port.feedback))
