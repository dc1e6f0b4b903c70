"""What a `run` block may refer to: the tool's parameters and the fields that it returns.

Knows schemas as a file makes them; does not know values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, cast

from toolhaft.define.running.faults import Faults, Place, unknown
from toolhaft.define.running.template import ENV, Template, TemplateError, read_template
from toolhaft.schema.json_value import JSONValue

_UNKNOWN: Final[Mapping[str, object]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """A tool's parameters and returns, by name."""

    inputs: Mapping[str, Mapping[str, object]]
    required: frozenset[str]
    returns: Mapping[str, Mapping[str, object]] | None
    required_returns: frozenset[str] = frozenset()
    effect: str | None = None
    """What the file says of it; None where it says nothing."""

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters, in their order."""
        return tuple(self.inputs)

    def with_names(self, inputs: Iterable[str], returns: Iterable[str]) -> Parameters:
        """The same with more names, of which nothing is known but that they are there."""
        more = {name: _UNKNOWN for name in inputs if name not in self.inputs}
        fields = {name: _UNKNOWN for name in returns if name not in (self.returns or {})}
        if not more and not fields:
            return self
        return replace(
            self,
            inputs={**self.inputs, **more},
            required=self.required | more.keys(),
            returns={**(self.returns or {}), **fields} if fields else self.returns,
        )

    def is_sure(self, name: str) -> bool:
        """True for a parameter that has a value in every call."""
        return name in self.required or "default" in self.inputs.get(name, {})

    def template(self, text: str, place: Place, faults: Faults, *, env: bool = False) -> Template | None:
        """A text in its parts, or None where it refers to what there is not."""
        try:
            made = read_template(text)
        except TemplateError as error:
            faults.add(place, str(error), error.fix)
            return None
        known = self._are_known(made, place, faults)
        if made.variables and not env:
            what = f"${{{ENV}{made.variables[0]}}} stands outside the headers"
            faults.add(place, what, "a secret is sent in a header of run.http only")
            return None
        return made if known else None

    def _are_known(self, made: Template, place: Place, faults: Faults) -> bool:
        missing = [name for name in dict.fromkeys(made.names) if name not in self.inputs]
        for name in missing:
            listed = ", ".join(list(self.inputs)[:8]) or "none"
            fix = unknown(name, self.inputs, f"name one of the parameters ({listed}), or add it to them")
            faults.add(place, f"there is no parameter {name!r:.80}", fix)
        return not missing

    def needs_sure(self, made: Template, place: Place, faults: Faults, where: str) -> None:
        """Note the parameters of a text that may be missing from a call."""
        for name in dict.fromkeys(made.names):
            if not self.is_sure(name):
                what = f"the optional parameter {name!r:.80} stands {where}"
                faults.add(place, what, "make it required, or give it a default")


def parameters_of(
    input_schema: Mapping[str, object], output_schema: object, effect: object = None
) -> Parameters:
    """What the schemas of a tool say."""
    properties = cast("Mapping[str, Mapping[str, object]]", input_schema.get("properties", {}))
    returns: Mapping[str, Mapping[str, object]] | None = None
    needed: frozenset[str] = frozenset()
    if isinstance(output_schema, dict):
        said = cast("Mapping[str, JSONValue]", output_schema)
        returns = cast("Mapping[str, Mapping[str, object]]", said.get("properties", {}))
        needed = frozenset(cast("list[str]", said.get("required", [])))
    required = frozenset(cast("list[str]", input_schema.get("required", [])))
    told = None if effect is None else str(effect)
    return Parameters(
        inputs=properties, required=required, returns=returns, required_returns=needed, effect=told
    )
