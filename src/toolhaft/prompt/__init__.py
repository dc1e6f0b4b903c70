"""Prompts: sections that carry tools, rendered, summarised, overridden, with policies and feedback."""

from toolhaft._lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.core.prompt_hooks import FeedbackContext as FeedbackContext
    from toolhaft.core.prompt_hooks import FeedbackProvider as FeedbackProvider
    from toolhaft.core.prompt_hooks import PolicyDecision as PolicyDecision
    from toolhaft.core.prompt_hooks import ToolPolicy as ToolPolicy
    from toolhaft.prompt.feedback import DeadlineFeedback as DeadlineFeedback
    from toolhaft.prompt.feedback import StaticFeedback as StaticFeedback
    from toolhaft.prompt.outline import Outline as Outline
    from toolhaft.prompt.outline import OutlinedSection as OutlinedSection
    from toolhaft.prompt.overrides.store import OverrideStore as OverrideStore
    from toolhaft.prompt.policies import KnownFile as KnownFile
    from toolhaft.prompt.policies import ReadBeforeWrite as ReadBeforeWrite
    from toolhaft.prompt.policies import SequenceDependency as SequenceDependency
    from toolhaft.prompt.policies import SucceededTool as SucceededTool
    from toolhaft.prompt.prompt import Prompt as Prompt
    from toolhaft.prompt.rendering import RenderedPrompt as RenderedPrompt
    from toolhaft.prompt.resources import PromptResources as PromptResources
    from toolhaft.prompt.section import MarkdownSection as MarkdownSection
    from toolhaft.prompt.section import Section as Section
    from toolhaft.prompt.structured import StructuredOutput as StructuredOutput
    from toolhaft.prompt.summary_tools import SectionsOpened as SectionsOpened
    from toolhaft.prompt.visibility import SectionVisibility as SectionVisibility

_HOMES = {
    "DeadlineFeedback": "feedback",
    "FeedbackContext": "feedback",
    "FeedbackProvider": "prompt",
    "KnownFile": "policies",
    "MarkdownSection": "section",
    "Outline": "outline",
    "OutlinedSection": "outline",
    "OverrideStore": "overrides.store",
    "PolicyDecision": "policies",
    "Prompt": "prompt",
    "PromptResources": "resources",
    "ReadBeforeWrite": "policies",
    "RenderedPrompt": "rendering",
    "Section": "section",
    "SectionVisibility": "visibility",
    "SectionsOpened": "summary_tools",
    "SequenceDependency": "policies",
    "StaticFeedback": "feedback",
    "StructuredOutput": "structured",
    "SucceededTool": "policies",
    "ToolPolicy": "checks",
}
__all__ = [*_HOMES]  # noqa: PLE0604 -- the sorted names above # pyright: ignore[reportUnsupportedDunderAll] -- the same
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)
