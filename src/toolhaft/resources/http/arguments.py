"""Checks what a caller hands to the client, so that a mistake is told at once and in the caller's words.

Does not know what the arguments are for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from toolhaft.core.limits import Deadline
from toolhaft.errors import DefinitionError, HttpRefusedError
from toolhaft.resources.http.outgoing import read_headers

_LONGEST_S: Final = 86_400


def check_user_agent(user_agent: str) -> str:
    """What a client says it is.

    Raises:
        DefinitionError: for what no header can say.
    """
    try:
        return read_headers({"User-Agent": user_agent})["user-agent"]
    except HttpRefusedError as error:
        raise DefinitionError(str(error), place="user_agent") from None


def check_parts(resolver: object, connector: object, tls: object) -> None:
    """Nothing, for parts that a client can be made of.

    Raises:
        DefinitionError: naming the one that is none.
    """
    for name, part in (("resolver", resolver), ("connector", connector)):
        if part is not None and not callable(part):
            raise DefinitionError(f"a function is wanted, not {part!r:.40}", place=name)
    if tls is not None and not hasattr(tls, "wrap_bio"):
        raise DefinitionError(
            f"an ssl.SSLContext is wanted, not {tls!r:.40}",
            place="tls",
            fix="leave it out: certificates are always verified",
        )


def check_count(name: str, value: int) -> int:
    """A limit.

    Raises:
        DefinitionError: for what is no whole number from 0 on.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
        raise DefinitionError(f"a whole number from 0 on is wanted, not {value!r:.40}", place=name)
    return value


def check_seconds(value: float) -> float:
    """A time limit.

    Raises:
        DefinitionError: for what is no number of seconds that a fetch could have.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
    if not is_number or not 0 < value <= _LONGEST_S:
        raise DefinitionError(f"seconds, more than 0 and at most a day, not {value!r:.40}", place="timeout_s")
    return value


def check_deadline(value: Deadline | None) -> Deadline | None:
    """A moment.

    Raises:
        TypeError: for a span of time and anything else.
    """
    if value is not None and not isinstance(value, Deadline):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
        raise TypeError(
            f"deadline is a Deadline, not {value!r:.40}; "
            "for a number of seconds write timeout_s=5 or deadline=Deadline.after(5)"
        )
    return value


def check_mapping(name: str, value: Mapping[str, str] | None) -> Mapping[str, str]:
    """Names and texts, none where nothing was given; no text is shown, since it may be a key.

    Raises:
        TypeError: for anything else.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
        raise TypeError(f"{name} is a mapping, such as {{'name': 'text'}}, not {type(value).__name__}")
    return value


def check_query(query: Mapping[str, str] | None) -> Mapping[str, str]:
    """Parameters of a URL.

    Raises:
        TypeError: for what is no text, of which a URL would have Python's spelling.
    """
    for name, text in check_mapping("query", query).items():
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
            raise TypeError(f"the name of a query parameter is text, not {name!r:.40}")
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
            raise TypeError(
                f"the query parameter {name[:40]!a} is text, not {type(text).__name__}; "
                "write it as text, or leave it out"
            )
    return query or {}


def check_vet(vet: object) -> None:
    """Nothing, for a function.

    Raises:
        TypeError: for anything else.
    """
    if vet is not None and not callable(vet):
        raise TypeError(f"vet is a function that is called with a URL, not {vet!r:.40}")
