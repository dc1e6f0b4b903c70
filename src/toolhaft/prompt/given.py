"""What prompts and sections are given, checked where it is given: texts, lists, policies, sessions.

Knows what each must be; does not know where a section stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from textwrap import dedent
from typing import Any, Final, cast, is_typeddict

from toolhaft.core.tool_policy import ToolPolicy
from toolhaft.prompt.troubles import Path, invalid
from toolhaft.session import Session

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


def name_of(what: str, name: object) -> str:
    """A name that can be part of a path.

    Raises:
        PromptValidationError: for what is none.
    """
    if isinstance(name, str) and _NAME.fullmatch(name):
        return name
    fix = "use 1 to 64 letters, digits, '_', '-' or '.', not starting with a mark"
    raise invalid(f"{name!r:.80} is not the {what}", fix=fix)


def text_of(name: str, text: object, path: Path, *, may_be_empty: bool = False) -> str:
    """A text without what all of its lines are indented by.

    Raises:
        PromptValidationError: for what is none, or says nothing.
    """
    if not isinstance(text, str):
        raise invalid(f"its {name} must be text, not {text!r:.60}", path=path)
    told = dedent(text).strip()
    if not told and not may_be_empty:
        raise invalid(f"its {name} is empty", path=path, fix=f"give {name}='...'")
    return told


def listed(name: str, given: object, path: Path = ()) -> tuple[Any, ...]:
    """The members of a list.

    Raises:
        PromptValidationError: where it is one thing, and no list.
    """
    if isinstance(given, Iterable) and not isinstance(given, str | bytes):
        return tuple(cast("Iterable[object]", given))
    shown = f"{given!r:.60}"
    raise invalid(f"{name} is a list, and {shown} is none", path=path, fix=f"write {name}=[...]")


def policies_of(given: object, path: Path = ()) -> tuple[ToolPolicy, ...]:
    """The policies in a list.

    Raises:
        PromptValidationError: for one that cannot be asked.
    """
    policies = listed("policies", given, path)
    for policy in policies:
        if isinstance(policy, type):
            fix = f"make one: {policy.__name__}(...)"
            raise invalid(f"policies holds the class {policy.__name__}", path=path, fix=fix)
        if not isinstance(policy, ToolPolicy):
            fix = "give an object with a name and the methods check and on_result"
            raise invalid(f"{policy!r:.60} is not a tool policy", path=path, fix=fix)
    return policies


def session_of(given: object, path: Path) -> Session | None:
    """The session, or None.

    Raises:
        PromptValidationError: for anything else.
    """
    if given is None or isinstance(given, Session):
        return given
    raise invalid(f"its session is {given!r:.60}, and no Session", path=path, fix="give session=Session()")


def claim_of(name: str, given: object, path: Path) -> bool:
    """True or False.

    Raises:
        PromptValidationError: for anything else, which might be taken for either.
    """
    if isinstance(given, bool):
        return given
    raise invalid(f"its {name} is {given!r:.60}, and must be True or False", path=path)


def params_type_of(given: object, owner: str) -> type | None:
    """The type that params are bound by, None for none.

    Raises:
        PromptValidationError: for what no value can be told by.
    """
    if given is None or given is type(None) or given is Any:
        return None
    if isinstance(given, type) and not is_typeddict(given) and not getattr(given, "_is_protocol", False):
        return given
    name = getattr(given, "__name__", None) or f"{given!r:.60}"
    raise invalid(
        f"{owner}[{name}]: params are bound by their type, and no value is of this one",
        fix=f"{owner}[Params], with a dataclass, a Pydantic model or a NamedTuple",
    )
