"""A prompt as a model gets it: the text, the tools that the text explains, the shape of the answer.

Does not know how it came about.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Generic, Self

from toolhaft.core.conversion import AnyTool
from toolhaft.prompt.structured import OutputT, StructuredOutput
from toolhaft.prompt.troubles import Path
from toolhaft.prompt.visibility import SectionVisibility


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RenderedPrompt(Generic[OutputT]):
    """One rendering of a prompt; `str` of it is the text."""

    name: str
    text: str
    tools: tuple[AnyTool, ...] = ()
    """Of the sections that are shown in full, in the order of the text; last, those that show more."""
    structured_output: StructuredOutput[OutputT] | None = None
    visibility: Mapping[Path, SectionVisibility] = field(
        default_factory=lambda: MappingProxyType[Path, SectionVisibility]({})
    )
    """How each section that is there is shown; what stands within a summary is left out."""
    owners: Mapping[str, Path] = field(default_factory=lambda: MappingProxyType[str, Path]({}))
    """The section that each of the tools is in, by the tool's name."""

    def __str__(self) -> str:
        return self.text

    def __copy__(self) -> Self:
        return self  # nothing changes it: one is as good as two

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self

    def __reduce__(self) -> tuple[Callable[..., RenderedPrompt[Any]], tuple[str, str]]:
        return _without_tools, (self.name, self.text)  # tools stay with whoever runs them


def _without_tools(name: str, text: str) -> RenderedPrompt[Any]:
    return RenderedPrompt(name=name, text=text)
