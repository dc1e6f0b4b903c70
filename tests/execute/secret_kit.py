"""Tools that take a secret, and all that a call of them tells anybody."""

from typing import Annotated

from pydantic import BaseModel

from tests.execute.calls import hear
from toolhaft import Secret, tool
from toolhaft.errors import ToolExecutionError

TOKEN = "hunter22-swordfish"  # noqa: S105 -- made up


CREDENTIALS = {"user": "u", "token": TOKEN}


class Credentials(BaseModel):
    user: str
    token: Annotated[str, Secret]


def scold(value):
    """What careless handlers do."""
    raise ToolExecutionError(f"cannot use {value!r}")


def everything_said(executor, one, run=lambda executor, one: executor.execute(one)):
    """All that a call tells anybody, as one text, and its result."""
    events = hear(executor)
    result = run(executor, one)
    (event,) = events
    failure = result.failure
    told = [result.message, result.render() if not result.success else "", repr(event), str(event.to_dict())]
    if failure is not None:
        told += [repr(failure), failure.advice, repr(failure.error), *map(str, failure.problems)]
    return "\n".join(told), result, event


def assert_hidden(executor, one, secret=TOKEN, **rest):
    said, result, event = everything_said(executor, one, **rest)
    assert secret not in said
    return result, event


@tool
def plain(user: str, token: Annotated[str, Secret]) -> str:
    """Log in."""
    return scold(token)


@tool
def nested(credentials: Credentials) -> str:
    """Log in."""
    return scold(credentials)
