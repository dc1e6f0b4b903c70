"""Every error that Toolhaft raises, in one tree.

    ToolhaftError
    ├── DefinitionError (ValueError)          a tool that cannot be made as written
    ├── UnknownToolError (KeyError)           a name that no tool has
    ├── ToolError                             what a handler may raise
    │   ├── ToolExecutionError (RuntimeError)
    │   ├── ToolTimeoutError (TimeoutError)
    │   ├── ToolValidationError (ValueError)
    │   └── ToolAuthorizationError (PermissionError)
    ├── DeadlineExceededError (TimeoutError)
    ├── BudgetExceededError (RuntimeError)
    ├── PromptError
    │   ├── PromptValidationError (ValueError)
    │   ├── PromptEvaluationError (RuntimeError)
    │   └── VisibilityExpansionRequired
    └── WireError (ValueError)                a provider's message of the wrong shape

It knows nothing of who raises them.
"""


class ToolhaftError(Exception):
    """The root of the tree."""


class DefinitionError(ToolhaftError, ValueError):
    """A tool that cannot be made as written: says which tool, which place in it, and what to do."""

    def __init__(self, problem: str, *, tool: str = "", place: str = "", fix: str = "") -> None:
        self.problem = problem
        self.tool = tool
        self.place = place
        self.fix = fix
        where = ", ".join(part for part in (f"tool {tool!r}" if tool else "", place) if part)
        text = f"{where}: {problem}" if where else problem
        super().__init__(f"{text}. Fix: {fix}" if fix else text)

    def of(self, tool: str) -> "DefinitionError":
        """The same error, with the tool named where it was not yet."""
        if self.tool:
            return self
        return DefinitionError(self.problem, tool=tool, place=self.place, fix=self.fix)


class UnknownToolError(ToolhaftError, KeyError):
    """No tool has this name; says which one was most likely meant."""

    def __str__(self) -> str:
        return str(self.args[0])  # a KeyError would show its message in quotes


class ToolError(ToolhaftError):
    """What a handler raises to say which kind of failure it met."""


class ToolExecutionError(ToolError, RuntimeError):
    """The tool's own work failed."""


class ToolTimeoutError(ToolError, TimeoutError):
    """The tool exceeded its time."""


class ToolValidationError(ToolError, ValueError):
    """The tool found its input, or its result, not valid."""


class ToolAuthorizationError(ToolError, PermissionError):
    """The tool is not authorized for this caller."""


class DeadlineExceededError(ToolhaftError, TimeoutError):
    """The overall deadline has passed."""


class BudgetExceededError(ToolhaftError, RuntimeError):
    """A budget of tokens, calls or time is used up."""


class PromptError(ToolhaftError):
    """Something went wrong around a prompt."""


class PromptValidationError(PromptError, ValueError):
    """A prompt, or a section of it, is not well formed."""


class PromptEvaluationError(PromptError, RuntimeError):
    """A prompt could not be evaluated to its end."""


class VisibilityExpansionRequired(PromptError):  # noqa: N818 -- the seed's own name; it is a signal, not a fault
    """A summarised section must be shown in full before the run can go on."""


class WireError(ToolhaftError, ValueError):
    """A provider's payload does not have the shape that its format promises."""
