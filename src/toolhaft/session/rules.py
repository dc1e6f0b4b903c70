"""Which reducers each slice has, and so what becomes of an event.

Knows no items; a table never changes, so that forks share it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from toolhaft.session.reducers import Step, append_all
from toolhaft.session.vector import Vector

Targets: TypeAlias = tuple[tuple[type, Step], ...]
"""What a write does: slices, each with a step to take there, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One reducer of one slice."""

    on: type
    function: object
    step: Step
    is_policy: bool = False

    def takes_the_place_of(self, other: Rule) -> bool:
        """True for the same reducer again, and for a policy where there is one."""
        if self.on is not other.on:
            return False
        return self.function == other.function or (self.is_policy and other.is_policy)


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """Reducers for a slice, and whether it is a log."""

    kind: type
    parts: tuple[object, ...]
    """What `register` was given."""
    log: bool | None = None
    rules: tuple[Rule, ...] = field(compare=False)


class Rules:
    """The reducers of all slices."""

    __slots__ = ("_by_kind", "_routes", "_steps", "history", "logs")

    def __init__(
        self,
        by_kind: Mapping[type, tuple[Rule, ...]],
        logs: frozenset[type],
        history: tuple[Registration, ...],
    ) -> None:
        self._by_kind = by_kind
        self.logs = logs
        """The slices that do not roll back."""
        self.history = history
        """What was registered, in order."""
        self._routes: dict[type, Targets] = {}
        self._steps: dict[tuple[type, type], Targets] = {}

    @property
    def kinds(self) -> tuple[type, ...]:
        """The slices that something was registered for."""
        return tuple(self._by_kind)

    def with_registration(self, new: Registration) -> Rules:
        """This table with one more registration."""
        rules = list(self._by_kind.get(new.kind, ()))
        for rule in new.rules:
            places = [place for place, old in enumerate(rules) if rule.takes_the_place_of(old)]
            if places:
                rules[places[0]] = rule
            else:
                rules.append(rule)
        if not rules:
            rules = [Rule(on=new.kind, function=append_all, step=append_all.step, is_policy=True)]
        logs = self.logs
        if new.log is not None:
            logs = logs | {new.kind} if new.log else logs - {new.kind}
        history = tuple(old for old in self.history if old != new)
        return Rules({**self._by_kind, new.kind: tuple(rules)}, logs, (*history, new))

    def steps(self, kind: type, item_type: type) -> Targets:
        """What appending an item to a slice does."""
        targets = self._steps.get((kind, item_type))
        if targets is None:
            targets = self._targets(kind, item_type) or ((kind, Vector.append),)
            self._steps[kind, item_type] = targets
        return targets

    def route(self, event_type: type) -> Targets:
        """What dispatching an event does: in each slice, the reducers for its type or its nearest base."""
        targets = self._routes.get(event_type)
        if targets is None:
            found = [target for kind in self._by_kind for target in self._targets(kind, event_type)]
            targets = self._routes[event_type] = tuple(found) or ((event_type, Vector.append),)
        return targets

    def knows(self, event_type: type) -> bool:
        """True if a slice was registered for this type, or reduces it."""
        return event_type in self._by_kind or any(self._targets(kind, event_type) for kind in self._by_kind)

    def _targets(self, kind: type, event_type: type) -> Targets:
        rules = self._by_kind.get(kind, ())
        for base in event_type.__mro__:
            found = tuple((kind, rule.step) for rule in rules if rule.on is base)
            if found:
                return found
        return ()


NO_RULES: Final = Rules({}, frozenset(), ())
