"""Exports and messages fit the SDKs' types; the type checker itself finds bad ones."""

import pytest

from tests.cases import each_case
from tests.execute.defined_tools import DEFINED_TOOLS, typed_add
from tests.formats.catalogue.whole import CASES
from tests.formats.providers.bad_payloads import BAD_FIELDS, BAD_MESSAGES
from tests.formats.providers.bad_requests import GOOD_FIELDS
from tests.formats.providers.client_errors import CLIENT_ERRORS
from tests.formats.providers.every_provider import PROVIDERS
from tests.formats.providers.sdk_types import history_problems, request_problems
from tests.formats.providers.server import batched, serving, whole
from tests.formats.variants import VARIANTS
from toolhaft.formats import Choice, export_tools

pytestmark = pytest.mark.external

CHOICES = {
    "auto": "auto",
    "none": "none",
    "required": "required",
    "one": typed_add,
    "subset": ["add", "raw_add"],
    "required subset": Choice(mode="required", tools=("add", "typed_add")),
}
_SPOKEN = [variant for variant in VARIANTS if variant.format != "native"]
_SENT = [variant for variant in VARIANTS if variant.format in PROVIDERS]


@each_case(("format", "fields"), GOOD_FIELDS.items(), ids=GOOD_FIELDS)
def test_the_checker_accepts_valid_fields(format, fields):
    tools_alone = {key: value for key, value in fields.items() if key != "thinking"}
    assert _without_dropped(format, request_problems(format, tools_alone)) == []


@each_case(("format", "fields"), BAD_FIELDS)
def test_the_checker_finds_bad_fields(format, fields):
    assert _without_dropped(format, request_problems(format, fields)) != []


@each_case(("format", "message"), BAD_MESSAGES)
def test_the_checker_finds_bad_messages(format, message):
    assert history_problems(format, [message]) != []


def _without_dropped(format, problems):
    """Ollama's SDK drops this at the root of a schema, where it has no effect."""
    return [problem for problem in problems if format != "ollama" or "'additionalProperties'" not in problem]


@each_case("variant", _SPOKEN, ids=str)
def test_every_tool_of_the_catalogue_fits_the_sdk_types(variant):
    exports = {case.name: variant.export(case.tool) for case in CASES}
    found = {
        name: request_problems(variant.format, export.payload, variant.dialect)
        for name, export in exports.items()
    }
    assert {name: problems for name, problems in found.items() if problems} == {}
    assert sum(not export.refused for export in exports.values()) > len(CASES) / 2


@each_case("variant", _SPOKEN, ids=str)
def test_the_whole_catalogue_in_one_request_fits_the_sdk_types(variant):
    export = variant.export(*(case.tool for case in CASES))
    assert request_problems(variant.format, export.payload, variant.dialect) == []
    assert len(export.tools) + len(export.refused) == len(CASES)


@each_case("choice", CHOICES)
@each_case("variant", _SPOKEN, ids=str)
def test_tools_of_every_definition_style_fit_the_sdk_types_with_every_choice(variant, choice):
    for parallel in (None, True, False):
        export = export_tools(
            [*DEFINED_TOOLS[:4], typed_add, DEFINED_TOOLS[5]],
            variant.format,
            dialect=variant.dialect or None,
            strict=variant.strict,
            choice=CHOICES[choice],
            parallel=parallel,
        )
        assert request_problems(variant.format, export.payload, variant.dialect) == []


@each_case("variant", _SENT, ids=str)
def test_every_server_accepts_every_tool_from_the_real_client(variant):
    together = {
        tuple(case.name for case in cases): variant.export(*(case.tool for case in cases))
        for cases in batched(CASES)
    }
    refused_together = _refused(variant.format, together)
    alone = {name for names in refused_together for name in names}
    alone |= {
        refusal.tool for export in together.values() for refusal in export.refused
    }  # for a limit, or ever
    exports = {case.name: variant.export(case.tool) for case in CASES if case.name in alone}
    refused = _refused(variant.format, {name: made for name, made in exports.items() if not made.refused})
    assert (refused, refused_together) == ({}, {})


@each_case("variant", _SENT, ids=str)
def test_every_server_accepts_every_choice_from_the_real_client(variant):
    tools = [*DEFINED_TOOLS[:4], typed_add, DEFINED_TOOLS[5]]
    exports = {
        f"{choice} {parallel}": variant.export(*tools, choice=CHOICES[choice], parallel=parallel)
        for choice in CHOICES
        for parallel in (None, True, False)
    }
    assert _refused(variant.format, exports) == {}


def _refused(format, exports):
    """What the server refuses, by name; the SDK's client may refuse as well."""
    provider, refused = PROVIDERS[format], {}
    with serving(provider.check, provider.refuse, []) as server, provider.client(server.url) as client:
        for name, export in exports.items():
            server.script[:] = [whole(provider.final)]
            try:
                provider.ask(client, provider.question, export.payload)
            except CLIENT_ERRORS[format] as error:
                refused[name] = str(error)
        server.script.clear()
    return refused
