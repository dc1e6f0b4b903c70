"""How what is wrong with a prompt is told: where, what, and what to do.

Knows paths; does not know what is checked.
"""

from __future__ import annotations

from toolhaft.errors import PromptEvaluationError, PromptValidationError

Path = tuple[str, ...]


def dotted(path: Path) -> str:
    """A section's path as a model writes it."""
    return ".".join(path)


def invalid(problem: str, *, path: Path = (), fix: str = "") -> PromptValidationError:
    """What to raise for a prompt, or a section of it, that is not well formed."""
    return PromptValidationError(_told(problem, path, fix), section_path=path)


def unevaluated(problem: str, *, path: Path = (), fix: str = "") -> PromptEvaluationError:
    """What to raise where a prompt is well formed, and something that it asked has failed."""
    return PromptEvaluationError(_told(problem, path, fix), section_path=path)


def _told(problem: str, path: Path, fix: str) -> str:
    text = f"section {dotted(path)!r}: {problem}" if path else problem
    return f"{text}. Fix: {fix}" if fix else text
