"""A prompt that is nothing but its port, policies that write down what they hear, and feedback that says it."""

from dataclasses import dataclass, field
from types import SimpleNamespace

from toolhaft.core.prompt_hooks import PolicyDecision
from toolhaft.resources import ResourceRegistry


@dataclass(eq=False)
class BarePrompt:
    """Has the port and no more: what an executor may rely on."""

    tools: tuple = ()
    policies: dict = field(default_factory=dict)
    feedback: tuple = ()
    session: object = None
    resources: object = None
    name: str = "bare"
    text: str = "the text"
    prepared: list = field(default_factory=list)
    rendered: list = field(default_factory=list)

    def render(self, *, session=None):
        self.rendered.append(session)
        return SimpleNamespace(tools=self.tools, text=self.text)

    def policies_for(self, name, rendered):
        return (*self.policies.get("*", ()), *self.policies.get(name, ()))

    def creates_tool(self, tool):
        return False

    def resources_for(self, given):
        return ResourceRegistry.merged((self.resources, given))

    def prepare(self, session):
        self.prepared.append(session)


@dataclass(frozen=True)
class Heard:
    """What a policy wrote down: who, of which tool, how it ended."""

    policy: str
    tool: str
    success: bool


class Rule:
    """Allows what `allows` says, and writes each result into the session."""

    def __init__(self, name="rule", *, allows=lambda *_: True, deny="first do something else"):
        self.name = name
        self.allows = allows
        self.deny = deny
        self.checked = []
        self.told = []

    def check(self, tool, params, *, context):
        self.checked.append((tool.name, params, context))
        return (
            PolicyDecision.allow() if self.allows(tool, params, context) else PolicyDecision.deny(self.deny)
        )

    def on_result(self, tool, params, result, *, context):
        self.told.append((tool.name, params, result, context))
        context.session[Heard].append(Heard(self.name, tool.name, result.success))


class Words:
    """Feedback by a function of its context."""

    def __init__(self, provide, name="words"):
        self.name = name
        self._provide = provide
        self.contexts = []

    def provide(self, context):
        self.contexts.append(context)
        return self._provide(context)


def heard(executor):
    """What policies wrote down, as plain tuples."""
    return [(one.policy, one.tool, one.success) for one in executor.session[Heard]]
