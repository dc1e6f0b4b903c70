"""Prompts: sections that carry tools, rendered, summarised, overridden, with policies and feedback."""

from toolhaft._lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.core.feedback import FeedbackContext as FeedbackContext
    from toolhaft.core.feedback import FeedbackProvider as FeedbackProvider
    from toolhaft.core.tool_policy import PolicyDecision as PolicyDecision
    from toolhaft.core.tool_policy import ToolPolicy as ToolPolicy
    from toolhaft.prompt.feedback import DeadlineFeedback as DeadlineFeedback
    from toolhaft.prompt.feedback import StaticFeedback as StaticFeedback
    from toolhaft.prompt.lending import PromptResources as PromptResources
    from toolhaft.prompt.opening import SectionsOpened as SectionsOpened
    from toolhaft.prompt.outline import Outline as Outline
    from toolhaft.prompt.outline import OutlinedSection as OutlinedSection
    from toolhaft.prompt.overrides.store import OverrideStore as OverrideStore
    from toolhaft.prompt.policies import KnownFile as KnownFile
    from toolhaft.prompt.policies import ReadBeforeWrite as ReadBeforeWrite
    from toolhaft.prompt.policies import SequenceDependency as SequenceDependency
    from toolhaft.prompt.policies import SucceededTool as SucceededTool
    from toolhaft.prompt.prompt import Prompt as Prompt
    from toolhaft.prompt.rendered import RenderedPrompt as RenderedPrompt
    from toolhaft.prompt.section import MarkdownSection as MarkdownSection
    from toolhaft.prompt.section import Section as Section
    from toolhaft.prompt.structured import StructuredOutput as StructuredOutput
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
    "PromptResources": "lending",
    "ReadBeforeWrite": "policies",
    "RenderedPrompt": "rendered",
    "Section": "section",
    "SectionVisibility": "visibility",
    "SectionsOpened": "opening",
    "SequenceDependency": "policies",
    "StaticFeedback": "feedback",
    "StructuredOutput": "structured",
    "SucceededTool": "policies",
    "ToolPolicy": "given",
}
__all__ = [*_HOMES]  # noqa: PLE0604 -- the sorted names above, said once # pyright: ignore[reportUnsupportedDunderAll] -- the same
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)
