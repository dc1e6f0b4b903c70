"""Counts consecutive failures: the attempts of a model, and the circuit of each tool."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from threading import Lock
from typing import Final, TypeAlias, cast

from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.core.result import Failure, FailureKind, failed_result
from toolhaft.execute.failures import clip, refused, without_repeat
from toolhaft.schema.problems import InvalidArguments

_COUNTED: Final[frozenset[FailureKind]] = frozenset(
    ("cancelled", "failed", "invalid_arguments", "invalid_output", "timeout")
)
_BREAKS_CIRCUIT: Final[frozenset[FailureKind]] = frozenset(("failed", "invalid_output", "timeout"))


@dataclass(frozen=True, slots=True, kw_only=True)
class CircuitBreaker:
    """When a tool that keeps failing is refused for a while.

    After `failures` failed calls in a row, each within `window_s` of the previous one, the tool is refused
    for `cooldown_s`. Then one trial call may run, and closes the circuit if it succeeds.
    """

    failures: int = 20
    window_s: float = 60.0
    cooldown_s: float = 30.0

    def __post_init__(self) -> None:
        if not (self.failures >= 1 and self.window_s >= 0 and self.cooldown_s >= 0):
            raise ValueError("CircuitBreaker needs failures >= 1, window_s >= 0 and cooldown_s >= 0")


@dataclass(slots=True)
class _Streak:
    """The failures of one tool since the last success of any tool."""

    count: int = 0
    arguments: object = None
    final_arguments: Sequence[object] = ()


EarlierFailures: TypeAlias = tuple[_Streak | None, int]
"""The failures of a tool when a call began, and their number: calls that began together are one attempt."""


@dataclass(slots=True)
class _Circuit:
    count: int = 0
    last_at: float = 0.0
    open_until: float = 0.0
    opened_until: float = 0.0
    """The value of `open_until` before the trial call."""


class Circuits:
    """The circuits of the tools that failed recently."""

    __slots__ = ("_circuits", "_clock", "_lock", "breaker", "failing")

    def __init__(self, breaker: CircuitBreaker, clock: Callable[[], float] = time.monotonic) -> None:
        self.breaker = breaker
        self.failing: set[object] = set()
        """This object and all Attempts, while they have failures; if it is empty, steps skip the checks."""
        self._clock = clock
        self._circuits: dict[str, _Circuit] = {}
        self._lock = Lock()

    def admit(self, name: str) -> AnyResult | float:
        """The refusal if the tool may not run now, else 0.0; for a trial call, a number for `give_back`."""
        if name not in self._circuits:
            return 0.0
        with self._lock:
            circuit = self._circuits.get(name)
            if circuit is None or not circuit.open_until:
                return 0.0
            left = circuit.open_until - self._clock()
            if left <= 0:  # one trial call; the others are refused until it ends
                circuit.opened_until = circuit.open_until
                circuit.open_until = self._clock() + self.breaker.cooldown_s
                return circuit.open_until
        return refused(
            "circuit_open",
            f"{name} failed {circuit.count} times in a row and is not run for now.",
            advice=f"Try again in {ceil(left)} s, or use another tool.",
        )

    def give_back(self, name: str, trial: float) -> None:
        """Allow another trial call: this one did not run, or its result shows nothing about the tool."""
        with self._lock:
            circuit = self._circuits.get(name)
            if circuit is not None and circuit.open_until == trial:
                circuit.open_until = circuit.opened_until

    def failed(self, name: str) -> None:
        """Count one more failed call of this tool."""
        now = self._clock()
        with self._lock:
            self.failing.add(self)
            circuit = self._circuits.setdefault(name, _Circuit())
            if now - circuit.last_at > self.breaker.window_s and not circuit.open_until:
                circuit.count = 0
            circuit.count += 1
            circuit.last_at = now
            if circuit.count >= self.breaker.failures:
                circuit.open_until = now + self.breaker.cooldown_s

    def succeeded(self, name: str) -> None:
        """Close the circuit."""
        with self._lock:
            self._circuits.pop(name, None)
            if not self._circuits:
                self.failing.discard(self)


class Attempts:
    """The attempts of a model in one run: which tools have failed since the last success of any tool."""

    __slots__ = ("_lock", "_streaks", "circuits", "extras", "last_call")

    def __init__(self, circuits: Circuits) -> None:
        self.extras: Mapping[str, object] = {}
        """The `ToolResponse.extras` of the last class tool, for the next call."""
        self.last_call: tuple[str, int] = ("", 0)
        """The last call, and how often it was made in a row."""
        self.circuits = circuits
        self._streaks: dict[str, _Streak] = {}
        self._lock = Lock()

    def new_run(self) -> None:
        """Forget the attempts, the last call and the extras."""
        self.extras = {}
        self.last_call = ("", 0)
        with self._lock:
            self._streaks.clear()
            self.circuits.failing.discard(self)

    def earlier_failures(self, name: str, known: EarlierFailures | None = None) -> EarlierFailures:
        """The failures of a tool when a call began: now, or the known ones if no tool has succeeded since."""
        streak = self._streaks.get(name)
        if known is None:
            return streak, 0 if streak is None else streak.count
        return known if known[0] is streak else (streak, 0)

    def admit(self, tool: AnyTool, count: int) -> AnyResult | float:
        """The refusal if this tool may not run after so many failures; else that of `Circuits.admit`."""
        if count >= tool.max_attempts:
            return refused(
                "attempts",
                f"{tool.name} failed {count} times in a row and is not run again "
                "until another tool succeeds.",
                advice="Use another tool, or tell the user what is missing.",
            )
        return self.circuits.admit(tool.name)

    def has_failed_with(self, name: str, arguments: object) -> bool:
        """True if this tool has failed with these final arguments since the last success."""
        streak = self._streaks.get(name)
        return streak is not None and arguments in streak.final_arguments

    def last_arguments(self, name: str) -> object:
        """The arguments of the last failed attempt as the model wrote them, None if there was none."""
        streak = self._streaks.get(name)
        return None if streak is None else streak.arguments

    def succeeded(self, name: str) -> None:
        """Clear the attempts of every tool: any success does."""
        with self._lock:
            self._streaks.clear()
            self.circuits.failing.discard(self)
        self.circuits.succeeded(name)

    def failed(
        self,
        tool: AnyTool,
        arguments: object,
        final: object,
        result: AnyResult,
        earlier: EarlierFailures | None = None,
    ) -> AnyResult:
        """Count a failure and add the number of the attempt to its advice.

        `final` are the checked arguments, None if they were not valid; `earlier` are the failures when the
        call began.
        """
        failure = result.failure
        if failure is None or failure.kind not in _COUNTED:
            return result
        count = self._count_failure(tool, arguments, final, earlier)
        if failure.kind in _BREAKS_CIRCUIT:
            self.circuits.failed(tool.name)
        return _with_attempt(tool, count, result)

    def refused(
        self, tool: AnyTool, arguments: object, invalid: InvalidArguments, earlier: EarlierFailures | None
    ) -> AnyResult:
        """Count arguments that are not valid; the same result as of `failed`, made at once."""
        count = self._count_failure(tool, arguments, None, earlier)

        def failure() -> Failure:
            note = _attempt_note(tool, count)
            return Failure(kind="invalid_arguments", problems=invalid.problems, advice=note, message=message)

        message = clip(invalid.message)
        return failed_result(message, failure)

    def _count_failure(
        self, tool: AnyTool, arguments: object, final: object, earlier: EarlierFailures | None
    ) -> int:
        with self._lock:
            self.circuits.failing.add(self)
            streak = self._streaks.get(tool.name)
            if streak is None:
                streak = self._streaks[tool.name] = _Streak()
            before = 0 if earlier is None or earlier[0] is not streak else earlier[1]
            if streak.count <= before:  # else another call of the same attempt has failed already
                streak.count = before + 1
            streak.arguments = arguments
            if not tool.retryable and final is not None:
                streak.final_arguments = [*streak.final_arguments[-tool.max_attempts :], final]
            return streak.count


def moves_circuit(result: AnyResult) -> bool:
    """True for a result that counts for or against a circuit."""
    return result.success or (result.failure is not None and result.failure.kind in _BREAKS_CIRCUIT)


def _attempt_note(tool: AnyTool, count: int) -> str:
    is_last = count >= tool.max_attempts
    then = ": it is not run again until another tool succeeds." if is_last else "."
    once = "" if tool.retryable or is_last else " It is not run again with the same arguments."
    return f"This was attempt {count} of {tool.max_attempts}{then}{once}"


def _with_attempt(tool: AnyTool, count: int, result: AnyResult) -> AnyResult:
    failure = cast("Failure", result.failure)
    note = _attempt_note(tool, count)
    may_repeat = tool.retryable and count < tool.max_attempts
    what_happened = failure.advice if may_repeat else without_repeat(failure.advice)
    advice = f"{what_happened} {note}" if what_happened else note
    message = result.message
    if failure.advice and message.endswith(failure.advice):
        message = message.removesuffix(failure.advice) + advice
    return result.with_fields(message=message, failure=replace(failure, advice=advice))
