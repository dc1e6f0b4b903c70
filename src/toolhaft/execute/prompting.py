"""Reads a prompt into what an executor takes from it: a session, tools, resources, feedback.

Knows the port; does not know how a prompt is rendered, nor what its policies and providers say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from toolhaft.core.conversion import AnyTool
from toolhaft.core.feedback import FeedbackProvider
from toolhaft.core.ports import PromptPort, RenderedPort
from toolhaft.errors import PromptValidationError
from toolhaft.execute.chains import unknown_tool
from toolhaft.execute.gathering import gather_tools
from toolhaft.execute.masks import mask_of
from toolhaft.execute.pace import keep_pace
from toolhaft.execute.twins import is_same_tool
from toolhaft.resources import ResourceRegistry
from toolhaft.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompting:
    """A prompt as an executor uses it; any other object is handed to handlers, and brings nothing."""

    prompt: object
    rendered: object
    session: Session
    is_given: bool
    """True if the session is somebody's own, and not made for this executor."""
    port: PromptPort | None = None
    feedback: tuple[FeedbackProvider, ...] = ()

    def tools_with(self, given: dict[str, AnyTool]) -> dict[str, AnyTool]:
        """The tools that an executor was given itself, and those of the prompt, in the words of the prompt.

        Raises:
            DefinitionError: where two have one name, and are not one tool in other words.
        """
        if self.port is None:
            return given
        shown = gather_tools(cast("RenderedPort", self.rendered).tools, None)
        twins = {name: shown[name] for name, tool in given.items() if self._is_shown(tool, shown.get(name))}
        return gather_tools([*{**given, **twins}.values(), *shown.values()], None)

    def _is_shown(self, tool: AnyTool, shown: AnyTool | None) -> bool:
        if shown is None or self.port is None:
            return False
        return is_same_tool(tool, shown) or (self.port.brings(tool) and self.port.brings(shown))

    def resources_with(self, given: object) -> ResourceRegistry:
        """What calls may touch: what the executor was given itself, before what the prompt brings.

        Raises:
            ResourceError: where it was given something else.
        """
        lent = given if self.port is None else self.port.lend(given)
        return ResourceRegistry.of(cast("ResourceRegistry", lent))

    def taken(self, tools: Mapping[str, AnyTool]) -> dict[str, Any]:
        """What a setup has from the prompt, and from all tools."""
        return {
            "prompt": self.prompt,
            "rendered_prompt": self.rendered,
            "port": self.port,
            "feedback": self.feedback,
            "has_class_tools": any(tool.takes == "runtime" for tool in tools.values()),
            "has_secrets": any(mask_of(tool) is not None for tool in tools.values()),
            "unknown": partial(unknown_tool, tools),
        }


def read_prompt(prompt: object, rendered: object, session: Session | None) -> Prompting:
    """What a prompt brings; it is rendered where nobody has done so.

    Raises:
        TypeError: for a session or a rendering that is none.
        PromptValidationError, PromptEvaluationError: where the prompt cannot be rendered.
    """
    port = port_of(prompt)
    if port is None:
        own = Session() if session is None else session
        return Prompting(prompt=prompt, rendered=rendered, session=own, is_given=session is not None)
    tied = port.session if session is None else session
    if tied is not None and not isinstance(tied, Session):
        raise TypeError(f"the session of prompt {port.name!r} is {tied!r:.80}, and no Session")
    own = Session() if tied is None else tied
    port.prepare(own)
    shown = port.render(session=own) if rendered is None else rendered
    if not isinstance(shown, RenderedPort):
        raise TypeError(
            f"rendered_prompt does not take {shown!r:.80}; write prompt.render(), or leave it out"
        )
    feedback = _checked(port)
    if feedback:
        keep_pace(own)  # now, and not at the first call: a snapshot with logs is restored before it
    return Prompting(
        prompt=prompt,
        rendered=shown,
        session=own,
        is_given=tied is not None,
        port=port,
        feedback=feedback,
    )


def port_of(prompt: object) -> PromptPort | None:
    """The prompt, if it is one that brings anything; a text or any other object does not."""
    # the class itself has all of the names, too
    return prompt if isinstance(prompt, PromptPort) and not isinstance(prompt, type) else None


def needed_port(prompt: object) -> PromptPort:
    """The prompt.

    Raises:
        TypeError: where it is one that brings nothing.
    """
    port = port_of(prompt)
    if port is None:
        raise TypeError(
            f"change_prompt does not take {prompt!r:.80}; write executor.change_prompt(Prompt(name='...', "
            "sections=[...])), or one that prompt.with_visibility(...) or prompt.bind(...) gave"
        )
    return port


def _checked(port: PromptPort) -> tuple[FeedbackProvider, ...]:
    """The providers of feedback, each with a name of its own: by it they are told apart."""
    names: set[str] = set()
    for provider in port.feedback:
        if not isinstance(provider, FeedbackProvider):
            raise PromptValidationError(
                f"prompt {port.name!r}: {provider!r:.60} gives no feedback. "
                "Fix: give an object with a name and a method provide(context)"
            )
        if not isinstance(cast("object", provider.name), str) or not provider.name.strip():
            raise PromptValidationError(
                f"prompt {port.name!r}: a provider of feedback is called {provider.name!r:.60}. "
                "Fix: give it a name that is a text and not empty"
            )
        if provider.name in names:
            raise PromptValidationError(
                f"prompt {port.name!r}: two providers of feedback are called {provider.name!r:.60}. "
                "Fix: give each a name of its own, with name='...'"
            )
        names.add(provider.name)
    return cast("tuple[FeedbackProvider, ...]", tuple(port.feedback))
