"""Does the steps of an expression, one by one, on a stack of numbers.

Does not read text, but for telling where a step stands that has no answer.
"""

from __future__ import annotations

from toolhaft.errors import ToolExecutionError
from toolhaft.toolbox.calculation import refusals
from toolhaft.toolbox.calculation.reading import Step
from toolhaft.toolbox.calculation.work import Number, UndefinedError, Work


def evaluate(steps: list[Number | Step], work: Work, text: str) -> Number:
    """The number that the steps lead to.

    Raises:
        ToolExecutionError: where a step has no finite real answer, or one over the budget; says where.
    """
    stack: list[Number] = []
    place = 0
    try:
        for step in steps:
            if not isinstance(step, tuple):
                stack.append(step)
                continue
            apply, count, place = step
            if count == 2:  # noqa: PLR2004 -- as most have; without the list that any number needs
                right = stack.pop()
                stack[-1] = apply(work, stack[-1], right)
            else:
                arguments = stack[-count:]
                stack[-count:] = (apply(work, *arguments),)
    except UndefinedError as error:
        problem = str(error)
    except ZeroDivisionError:
        problem = "Division by zero"
    except OverflowError:
        problem = "Too large for a float, which ends at 1.8e308"
    else:
        return stack[0]
    raise ToolExecutionError(refusals.at_piece(text, place, problem))
