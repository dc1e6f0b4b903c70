"""A history begun with one provider continues with another: ids, names and opaque state are adapted."""

import pytest

from tests.cases import each_case
from tests.formats.providers.every_provider import PROVIDERS
from tests.formats.providers.provider import FINAL_TEXT
from tests.formats.providers.sdk_types import history_problems
from tests.formats.providers.server import serving, whole
from tests.formats.providers.turn_tools import TOOLS
from tests.formats.providers.turns import asked_calls
from toolhaft import ToolExecutor
from toolhaft.formats import decode_calls, encode_calls, encode_results, export_tools

pytestmark = pytest.mark.external

PAIRS = [(begun, ended) for begun in PROVIDERS for ended in PROVIDERS if begun != ended]


def _rounds(provider):
    """The calls of both rounds as one provider's model made them, each with its result."""
    export, executor = export_tools(TOOLS, provider.format), ToolExecutor(TOOLS)
    for asked in asked_calls(provider, export):
        calls = decode_calls(provider.calling(asked), provider.format, export=export)
        yield calls, executor.execute_all(calls)


@each_case(("begun", "ended"), PAIRS)
def test_a_server_accepts_the_history_of_another_provider(begun, ended):
    provider = PROVIDERS[ended]
    export = export_tools(TOOLS, ended)
    history = [*provider.question]
    for calls, results in _rounds(PROVIDERS[begun]):
        history += encode_calls(calls, ended, export=export)
        history += encode_results(results, ended, export=export)
    assert history_problems(ended, history) == []
    with (
        serving(provider.check, provider.refuse, [whole(provider.final)]) as server,
        provider.client(server.url) as client,
    ):
        assert provider.text(provider.ask(client, history, export.payload)) == FINAL_TEXT


@each_case(("begun", "ended"), PAIRS)
def test_the_extras_of_the_first_provider_are_reported_as_lost(begun, ended):
    calls, _ = next(_rounds(PROVIDERS[begun]))
    encoded = encode_calls(calls, ended, export=export_tools(TOOLS, ended))
    kept = [call.name for call in calls if call.extras]
    assert [loss.tool for loss in encoded.losses if loss.keyword == "extras"] == kept


@each_case(("begun", "ended"), PAIRS)
def test_changed_ids_are_restored(begun, ended):
    calls, results = next(_rounds(PROVIDERS[begun]))
    export = export_tools(TOOLS, ended)
    history = encode_calls(calls, ended, export=export)
    encode_results(results, ended, export=export)
    read = decode_calls(history, ended, export=export)
    if ended != "ollama":  # which has no ids
        assert [call.id for call in read] == [call.id for call in calls]
    assert [call.name for call in read] == [call.name for call in calls]
