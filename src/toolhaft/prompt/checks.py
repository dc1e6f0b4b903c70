"""Checks of the arguments of prompts, sections, policies and feedback.

Each returns a valid value, and raises PromptValidationError for an invalid one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from textwrap import dedent
from typing import Any, Final, cast, is_typeddict

from toolhaft.core.prompt_hooks import ToolPolicy
from toolhaft.prompt.problems import SectionPath, invalid
from toolhaft.session import Session

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


def check_name(what: str, name: object) -> str:
    """Return a name that can be part of a path."""
    if isinstance(name, str) and _NAME.fullmatch(name):
        return name
    fix = "use 1 to 64 letters, digits, '_', '-' or '.', starting with a letter or digit"
    raise invalid(f"{name!r:.80} cannot be the {what}", fix=fix)


def check_text(name: str, text: object, path: SectionPath, *, may_be_empty: bool = False) -> str:
    """Return a text without the common indentation of its lines."""
    if not isinstance(text, str):
        raise invalid(f"its {name} must be text, not {text!r:.60}", path=path)
    dedented = dedent(text).strip()
    if not dedented and not may_be_empty:
        raise invalid(f"its {name} is empty", path=path, fix=f"give {name}='...'")
    return dedented


def check_not_blank(what: str, text: object) -> str:
    """Return a text that is not blank, unchanged."""
    if isinstance(text, str) and text.strip():
        return text
    raise invalid(f"{what} is {text!r:.60}, and must be a text that is not empty")


def check_list(name: str, value: object, path: SectionPath = ()) -> tuple[Any, ...]:
    """Return the members of a list."""
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return tuple(cast("Iterable[object]", value))
    raise invalid(f"{name} is not a list: {value!r:.60}", path=path, fix=f"write {name}=[...]")


def check_policies(value: object, path: SectionPath = ()) -> tuple[ToolPolicy, ...]:
    """Return the policies in a list."""
    policies = check_list("policies", value, path)
    for policy in policies:
        if isinstance(policy, type):
            fix = f"create one: {policy.__name__}(...)"
            raise invalid(f"policies contains the class {policy.__name__}", path=path, fix=fix)
        if not isinstance(policy, ToolPolicy):
            fix = "give an object with a name and the methods check and on_result"
            raise invalid(f"{policy!r:.60} is not a tool policy", path=path, fix=fix)
    return policies


def check_session(value: object, path: SectionPath) -> Session | None:
    """Return a session, or None."""
    if value is None or isinstance(value, Session):
        return value
    raise invalid(f"its session is {value!r:.60}, not a Session", path=path, fix="give session=Session()")


def check_bool(name: str, value: object, path: SectionPath) -> bool:
    """Return True or False."""
    if isinstance(value, bool):
        return value
    raise invalid(f"its {name} is {value!r:.60}, and must be True or False", path=path)


def check_params_type(value: object, owner: str) -> type | None:
    """Return the type of a section's params; None for no params."""
    if value is None or value is type(None) or value is Any:
        return None
    if isinstance(value, type) and not is_typeddict(value) and not getattr(value, "_is_protocol", False):
        return value
    name = getattr(value, "__name__", None) or f"{value!r:.60}"
    raise invalid(
        f"{owner}[{name}]: params are found by isinstance, which this type does not support",
        fix=f"{owner}[Params], with a dataclass, a Pydantic model or a NamedTuple",
    )
