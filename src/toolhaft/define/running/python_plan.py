"""Reads `run: {python: "module:function"}`.

Does not import anything: the function is looked for at the first call.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from toolhaft.define.running.faults import Faults
from toolhaft.define.running.parameters import Parameters
from toolhaft.schema.json_value import JSONObject

_NAME: Final = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_TARGET: Final = re.compile(rf"({_NAME}):({_NAME})")


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonPlan:
    """A function by its module and its name there."""

    module: str
    function: str
    returns: tuple[str, ...] | None


def read_python(fields: JSONObject, parameters: Parameters, faults: Faults) -> PythonPlan | None:
    """The plan, or None where the name leads nowhere for sure."""
    target = fields["python"]
    found = _TARGET.fullmatch(target) if isinstance(target, str) else None
    if found is None:
        faults.add(("python",), "python does not name a function", 'write python: "package.module:function"')
        return None
    returns = None if parameters.returns is None else tuple(parameters.returns)
    return PythonPlan(module=found[1], function=found[2], returns=returns)
