"""One whole turn with a real client: export, decode, execute, encode, until the final text."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from tests.formats.providers.provider import Provider, ScriptedCall
from tests.formats.providers.server import serving, whole
from tests.formats.providers.turn_tools import TOOLS, first_calls, second_calls
from toolhaft import ToolCall, ToolExecutor, ToolResult
from toolhaft.formats import Export, StreamDecoder, decode_calls, encode_calls, encode_results, export_tools


class Turn(NamedTuple):
    """What came of it."""

    text: str
    calls: list[list[ToolCall]]
    results: list[list[ToolResult]]
    bodies: list[Any]
    encoded: list[Any]
    """What Toolhaft added to the history."""

    @property
    def reported(self) -> tuple[str, list[list[str]], list[list[str | None]]]:
        """The final text, what the results say, and why those that failed did."""
        failures = [[result.failure for result in results] for results in self.results]
        return (
            self.text,
            [[result.render() for result in results] for results in self.results],
            [[failure and failure.kind for failure in row] for row in failures],
        )


def asked_calls(provider: Provider, export: Export) -> list[list[ScriptedCall]]:
    """The calls of both rounds, with the names that the model was shown."""
    names = {own: shown for shown, own in export.names.items()}
    return [first_calls(provider.ids, names), second_calls(provider.ids, names)]


def whole_turn(
    provider: Provider,
    *,
    replays: bool,
    dumps: bool = False,
    fields: Mapping[str, Any] | None = None,
    **wishes: Any,
) -> Turn:
    """A turn of whole responses; the history is the SDK's own message, or the calls encoded anew.

    With `dumps` the calls are read from the dictionary that the SDK makes of its response.
    """
    export = export_tools(TOOLS, provider.format, **wishes)
    asked = asked_calls(provider, export)
    script = [*(whole(provider.calling(calls)) for calls in asked), whole(provider.final)]
    rounds = _Rounds(provider, export)
    with serving(provider.check, provider.refuse, script) as server, provider.client(server.url) as client:
        for _ in asked:
            response = provider.ask(client, rounds.history, {**export.payload, **(fields or {})})
            calls = decode_calls(
                provider.dump(response) if dumps else response, provider.format, export=export
            )
            rounds.add(calls, provider.replay(response) if replays else None)
        final = provider.ask(client, rounds.history, {**export.payload, **(fields or {})})
    return Turn(provider.text(final), rounds.calls, rounds.results, server.bodies(), rounds.encoded)


def streamed_turn(provider: Provider, *, fields: Mapping[str, Any] | None = None, **wishes: Any) -> Turn:
    """The same over streams, event by event."""
    export = export_tools(TOOLS, provider.format, **wishes)
    asked = asked_calls(provider, export)
    script = [
        *(provider.frame(provider.calling_events(calls)) for calls in asked),
        provider.frame(provider.final_events),
    ]
    rounds = _Rounds(provider, export)
    with serving(provider.check, provider.refuse, script) as server, provider.client(server.url) as client:
        for _ in asked:
            decoder = StreamDecoder(provider.format, export=export)
            events = provider.stream(client, rounds.history, {**export.payload, **(fields or {})})
            rounds.add([call for event in events for call in decoder.feed(event)] + decoder.close())
        final = provider.stream(client, rounds.history, {**export.payload, **(fields or {})})
    return Turn(provider.stream_text(final), rounds.calls, rounds.results, server.bodies(), rounds.encoded)


class _Rounds:
    """What was asked and answered so far."""

    def __init__(self, provider: Provider, export: Export) -> None:
        self.calls: list[list[ToolCall]] = []
        self.results: list[list[ToolResult]] = []
        self.history: list[Any] = [*provider.question]
        self.encoded: list[Any] = []
        self._provider = provider
        self._export = export
        self._executor = ToolExecutor(TOOLS)

    def add(self, calls: list[ToolCall], said: list[Any] | None = None) -> None:
        """Run the calls and append them to the history: the SDK's message, or encoded."""
        results = self._executor.execute_all(calls)
        encoded = [] if said is not None else encode_calls(calls, self._provider.format, export=self._export)
        answers = encode_results(results, self._provider.format, export=self._export)
        self.calls.append(calls)
        self.results.append(results)
        self.history += [*(said or ()), *encoded, *answers]
        self.encoded += [*encoded, *answers]
