"""Errors for a prompt or a section of it: where, what, and how to fix it."""

from __future__ import annotations

from toolhaft.errors import PromptEvaluationError, PromptValidationError

SectionPath = tuple[str, ...]


def dotted_path(path: SectionPath) -> str:
    """A section's path as a model writes it."""
    return ".".join(path)


def invalid(problem: str, *, path: SectionPath = (), fix: str = "") -> PromptValidationError:
    """The error for a prompt, or a section of it, that is not well formed."""
    return PromptValidationError(_message(problem, path, fix), section_path=path)


def evaluation_failed(problem: str, *, path: SectionPath = (), fix: str = "") -> PromptEvaluationError:
    """The error for a well-formed prompt whose function or value fails while it is rendered."""
    return PromptEvaluationError(_message(problem, path, fix), section_path=path)


def _message(problem: str, path: SectionPath, fix: str) -> str:
    text = f"section {dotted_path(path)!r}: {problem}" if path else problem
    return f"{text}. Fix: {fix}" if fix else text
