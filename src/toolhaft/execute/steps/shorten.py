"""Says how much of a result the model is shown, where the executor has a limit of its own.

Knows results; does not know what is in them.
"""

from __future__ import annotations

from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.core.result import LONGEST_OUTPUT
from toolhaft.execute.run import Run, Step, then
from toolhaft.execute.setup import Setup


def compose(_: AnyTool, setup: Setup, inner: Step) -> Step:
    """Absent where the limit is the common one, which every result knows."""
    longest = setup.max_output_chars
    if longest == LONGEST_OUTPUT:
        return inner

    def shorten(_: Run, result: AnyResult) -> AnyResult:
        return result.with_rest(longest=longest)

    return then(inner, shorten)
