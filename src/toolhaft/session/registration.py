"""Reads what was given to `register` into rules, and says what is wrong with it.

Does not know the session that they are for.
"""

from __future__ import annotations

from inspect import iscoroutinefunction, signature
from typing import cast

from toolhaft.errors import SessionError
from toolhaft.session.freezing import Custody
from toolhaft.session.reducers import Policy, Reduce, function_step, marks_of, method_step
from toolhaft.session.rules import Registration, Rule


def read_registration(
    kind: type, parts: tuple[object, ...], *, log: bool | None, custody: Custody
) -> Registration:
    """The rules in what was registered for a slice.

    Raises:
        SessionError: for what is no reducer, or none for this slice.
    """
    if len(parts) == 2 and isinstance(parts[0], type):  # noqa: PLR2004 -- an event and its reducer
        rules = [_rule(kind, parts[0], parts[1], custody)]
    elif parts:
        rules = [rule for part in parts for rule in _marked(kind, part, custody)]
    else:
        rules = _methods(kind, custody)
        if not rules and log is None:
            name = kind.__qualname__
            raise SessionError(
                f"slice {name}: no method of {name} is marked with @reducer. Fix: mark one with "
                f"@reducer(on=Event), or give a reducer: session[{name}].register(append_all)"
            )
    return Registration(kind=kind, parts=parts, log=log, rules=tuple(rules))


def _marked(kind: type, part: object, custody: Custody) -> list[Rule]:
    if isinstance(part, Policy):
        return [_rule(kind, kind, part, custody)]
    events = marks_of(part)
    if not events:
        name = getattr(part, "__qualname__", repr(part))
        raise SessionError(
            f"slice {kind.__qualname__}: {name} does not say which event it reduces. Fix: mark it with "
            f"@reducer(on=Event), or name the event: session[{kind.__qualname__}].register(Event, {name})"
        )
    return [_rule(kind, event, part, custody) for event in events]


def _rule(kind: type, event: type, function: object, custody: Custody) -> Rule:
    if isinstance(function, Policy):
        if not issubclass(event, kind):
            name = kind.__qualname__
            raise SessionError(
                f"slice {name}: {function!r} keeps the event itself, and {event.__qualname__} is no {name}. "
                f"Fix: give a function that makes a {name} of the event"
            )
        return Rule(on=event, function=function, step=function.step, is_policy=True)
    reduce = _checked(kind, function, "the view and the event")
    return Rule(on=event, function=function, step=function_step(kind, reduce, custody))


def _methods(kind: type, custody: Custody) -> list[Rule]:
    members: dict[str, object] = {}
    for base in reversed(kind.__mro__):
        members.update(vars(base))
    rules: list[Rule] = []
    for member in members.values():
        inner = cast(
            "object", getattr(member, "__func__", member)
        )  # of a static method, marked above or below
        for event in dict.fromkeys((*marks_of(member), *marks_of(inner))):
            if isinstance(member, staticmethod):
                rules.append(_rule(kind, event, inner, custody))
            else:
                method = _checked(kind, member, "self and the event")
                rules.append(Rule(on=event, function=method, step=method_step(kind, method, custody)))
    return rules


def _checked(kind: type, function: object, wants: str) -> Reduce:
    name = getattr(function, "__qualname__", repr(function))
    if not callable(function) or isinstance(function, type):
        raise SessionError(
            f"slice {kind.__qualname__}: {name} cannot reduce an event. Fix: give a function of {wants}"
        )
    if iscoroutinefunction(function):
        raise SessionError(
            f"slice {kind.__qualname__}: reducer {name} is async, and a change cannot wait. Fix: write it "
            "with `def`, and wait before dispatching"
        )
    try:
        signature(function).bind(None, None)
    except TypeError as error:
        raise SessionError(
            f"slice {kind.__qualname__}: reducer {name} cannot be called with {wants}: {error}. Fix: write "
            f"`def {name.rpartition('.')[2]}({'self' if 'self' in wants else 'view'}, event)`"
        ) from error
    except ValueError:  # a builtin that does not tell its signature
        pass
    return cast("Reduce", function)
