"""A history that one provider's model began goes on with another's: ids, names and opaque state are made to fit.

Knows Toolhaft's public verbs alone.
"""

import pytest

from tests.formats.wires.every_wire import WIRES
from tests.formats.wires.sdk_types import history_problems
from tests.formats.wires.server import serving, whole
from tests.formats.wires.turn_tools import TOOLS
from tests.formats.wires.turns import asked_calls
from tests.formats.wires.wire import FINAL_TEXT
from toolhaft import ToolExecutor
from toolhaft.formats import decode_calls, encode_calls, encode_results, export_tools

PAIRS = [(begun, ended) for begun in WIRES for ended in WIRES if begun != ended]


def _rounds(wire):
    """The calls of both rounds as one provider's model made them, each with its result."""
    export, executor = export_tools(TOOLS, wire.format), ToolExecutor(TOOLS)
    for asked in asked_calls(wire, export):
        calls = decode_calls(wire.calling(asked), wire.format, export=export)
        yield calls, executor.execute_all(calls)


@pytest.mark.parametrize(("begun", "ended"), PAIRS)
def test_another_provider_takes_the_history(begun, ended):
    wire = WIRES[ended]
    export = export_tools(TOOLS, ended)
    history = [*wire.question]
    for calls, results in _rounds(WIRES[begun]):
        history += encode_calls(calls, ended, export=export)
        history += encode_results(results, ended, export=export)
    assert history_problems(ended, history) == []
    with (
        serving(wire.check, wire.refuse, [whole(wire.final)]) as server,
        wire.connect(server.url) as client,
    ):
        assert wire.text(wire.ask(client, history, export.payload)) == FINAL_TEXT


@pytest.mark.parametrize(("begun", "ended"), PAIRS)
def test_what_the_first_provider_kept_is_told_as_lost(begun, ended):
    calls, _ = next(_rounds(WIRES[begun]))
    encoded = encode_calls(calls, ended, export=export_tools(TOOLS, ended))
    kept = [call.name for call in calls if call.extras]
    assert [loss.tool for loss in encoded.losses if loss.keyword == "extras"] == kept


@pytest.mark.parametrize(("begun", "ended"), PAIRS)
def test_changed_ids_lead_back(begun, ended):
    calls, results = next(_rounds(WIRES[begun]))
    export = export_tools(TOOLS, ended)
    history = encode_calls(calls, ended, export=export)
    encode_results(results, ended, export=export)
    read = decode_calls(history, ended, export=export)
    if ended != "ollama":  # which has no ids
        assert [call.id for call in read] == [call.id for call in calls]
    assert [call.name for call in read] == [call.name for call in calls]
