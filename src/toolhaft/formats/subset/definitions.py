"""The definitions that a lowered schema refers to: each by one name, lowered once.

Does not know how they are lowered.
"""

from __future__ import annotations

import re
from typing import Final

from toolhaft.formats.subset.references import write_references
from toolhaft.formats.subset.turns import Later
from toolhaft.formats.subset.walk import Frame, Nothing
from toolhaft.schema.json_value import JSONObject

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_.-]")


class Definition:
    """One definition on its way."""

    __slots__ = ("frame", "is_done", "is_used_early", "later", "name", "nothing", "schema", "target")

    def __init__(self, target: JSONObject, name: str) -> None:
        self.target = target
        self.name = name
        self.frame = Frame()
        self.later = Later()
        self.schema: JSONObject = {}
        self.nothing: Nothing | None = None
        self.is_done = False
        self.is_used_early = False
        """Whether something refers to it that was written before it was finished."""

    @property
    def pointer(self) -> str:
        """What a reference to it says."""
        return f"#/$defs/{self.name}"


class Definitions:
    """All definitions of one schema."""

    def __init__(self, root: JSONObject) -> None:
        self._root = root
        self._by_target: dict[int, Definition] = {}
        self._by_name: dict[str, Definition] = {}
        self.waiting: list[Definition] = []

    def get(self, target: JSONObject) -> Definition | None:
        """The definition of a schema, if it has one."""
        return self._by_target.get(id(target))

    def add(self, target: JSONObject, said: str) -> Definition:
        """A definition for a schema, by the name that is said or one near it."""
        safe = name = _UNSAFE.sub("_", said) or "definition"
        number = 1
        while name in self._by_name:
            number += 1
            name = f"{safe}_{number}"
        found = Definition(target, name)
        self._by_target[id(target)] = self._by_name[name] = found
        return found

    def document(self) -> JSONObject:
        """What is finished, for references to lead into."""
        return {"$defs": {name: each.schema for name, each in self._by_name.items() if each.is_done}}

    def used_by(self, schema: JSONObject) -> list[Definition]:
        """The definitions that a schema refers to, with those that these refer to, in the root's order."""
        if not self._by_name:
            return []
        found: dict[str, Definition] = {}
        waiting = [schema]
        while waiting:
            for name in write_references(waiting.pop()):
                if name in self._by_name and name not in found:
                    found[name] = self._by_name[name]
                    waiting.append(found[name].schema)
        listed = {name: index for index, name in enumerate(self._listed())}
        return sorted(found.values(), key=lambda each: listed.get(each.name, len(listed)))

    def _listed(self) -> list[str]:
        held = self._root.get("$defs", self._root.get("definitions"))
        return list(held) if isinstance(held, dict) else []
