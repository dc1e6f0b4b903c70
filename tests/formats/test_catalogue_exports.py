"""Every tool of the catalogue in every format: a valid schema, and arguments that survive the round trip."""

from __future__ import annotations

import functools
import json

import jsonschema_rs

from tests.cases import each_case
from tests.formats.catalogue.whole import CASES
from tests.formats.rules import lint
from tests.formats.variants import VARIANTS
from toolhaft import ToolCall
from toolhaft.formats import decode_calls, encode_calls
from toolhaft.schema import InvalidArguments, ValidArguments


@functools.cache
def _exports(variant):
    """Each tool that is exported, with its export."""
    exports = [(case, variant.export(case.tool)) for case in CASES]
    return [(case, export) for case, export in exports if not export.refused]


def _is_narrowed(export):
    """True if some loss tells that arguments which the tool takes cannot be sent."""
    # no case has more keys than an object names, so that closing one keeps none of them back
    return any(loss.done == "narrowed" and loss.keyword != "additionalProperties" for loss in export.losses)


def _message(variant, case, export, arguments):
    """The provider's message in which a model calls the tool with these arguments."""
    return list(encode_calls([ToolCall("call00001", case.name, arguments)], variant.format, export=export))


def _arguments(message, variant, export=None):
    """The arguments of the only call of a message."""
    calls = [call for part in message for call in decode_calls(part, variant.format, export=export)]
    (call,) = calls
    given = call.arguments
    return json.loads(given) if isinstance(given, str) else given


def _plain(schema):
    """The schema with `nullable` rewritten as a null type."""
    if isinstance(schema, list):
        return [_plain(member) for member in schema]
    if not isinstance(schema, dict):
        return schema
    maps = ("properties", "$defs")
    inner = {
        key: {name: _plain(child) for name, child in value.items()} if key in maps else _plain(value)
        for key, value in schema.items()
        if key not in ("nullable", "enum", "const", "default")
    }
    inner |= {key: schema[key] for key in ("enum", "const") if key in schema}
    return {"anyOf": [inner, {"type": "null"}]} if schema.get("nullable") is True else inner


@each_case("variant", VARIANTS, ids=str)
def test_every_exported_schema_obeys_the_provider_or_the_tool_is_refused_with_a_reason(variant):
    found = {}
    for case in CASES:
        export = variant.export(case.tool)
        if export.refused:
            assert [(refusal.tool, len(refusal.reason) > 10) for refusal in export.refused] == [
                (case.name, True)
            ]
            assert export.tools == []
        else:
            found[case.name] = lint(*variant, variant.schema(export.tools[0]))

    assert {name: reported for name, reported in found.items() if reported} == {}


@each_case("variant", VARIANTS, ids=str)
def test_valid_arguments_fit_the_exported_schema_unless_it_was_narrowed(variant):
    misfits = {}
    for case, export in _exports(variant):
        validator = jsonschema_rs.validator_for(
            _plain(variant.schema(export.tools[0])), offline=True, validate_formats=True
        )
        for arguments in case.valid:
            sent = _arguments(_message(variant, case, export, arguments), variant)
            if not validator.is_valid(sent) and not _is_narrowed(export):
                misfits[case.name] = (arguments, sent)

    assert misfits == {}


@each_case("variant", VARIANTS, ids=str)
def test_valid_arguments_survive_the_round_trip(variant):
    harmed = {}
    for case, export in _exports(variant):
        for arguments in case.valid:
            back = _arguments(_message(variant, case, export, arguments), variant, export)
            before, after = case.tool.validate(json.dumps(arguments)), case.tool.validate(json.dumps(back))
            # an argument that is its own default may be left away
            if after != before and not (_is_narrowed(export) and isinstance(after, ValidArguments)):
                harmed[case.name] = (arguments, back)

    assert harmed == {}


@each_case("variant", VARIANTS, ids=str)
def test_invalid_arguments_are_refused_after_the_round_trip(variant):
    passed = {}
    for case, export in _exports(variant):
        for arguments in case.invalid:
            back = _arguments(_message(variant, case, export, arguments), variant, export)
            verdict = case.tool.validate(json.dumps(back))
            # where null stands for absent, a null that the tool refuses is read as absent
            if not isinstance(verdict, InvalidArguments) and "null" not in json.dumps(arguments):
                passed[case.name] = (arguments, back)

    assert passed == {}


@each_case("variant", VARIANTS, ids=str)
def test_nonsense_arguments_are_decoded_and_validated(variant):
    nonsense = [{}, {"x": None}, {"x": "x"}, {"x": [[{}]]}, {"x": {"x": {"x": 1}}}, {"unknown": 1}]
    for case, export in _exports(variant):
        (name,) = export.names
        for arguments in nonsense:
            message = list(encode_calls([ToolCall("call00001", name, arguments)], variant.format))
            back = _arguments(message, variant, export)
            assert isinstance(case.tool.validate(json.dumps(back)), InvalidArguments | ValidArguments)


def _leads_somewhere(schema, path):
    for step in path.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(schema, list) and name.isdecimal() and int(name) < len(schema):
            schema = schema[int(name)]
        elif isinstance(schema, dict) and name in schema:
            schema = schema[name]
        else:
            return False
    return True


@each_case("variant", VARIANTS, ids=str)
def test_every_loss_has_a_path_in_the_tools_schema(variant):
    nowhere = [
        str(loss)
        for case in CASES
        for loss in variant.export(case.tool).losses
        if not loss.path.startswith("/examples/") and not _leads_somewhere(case.tool.input_schema, loss.path)
    ]

    assert nowhere == []


@each_case("variant", VARIANTS, ids=str)
def test_exporting_all_tools_together_gives_each_a_unique_name_or_a_refusal(variant):
    export = variant.export(*(case.tool for case in CASES))

    gone_out, left = set(export.names.values()), {refusal.tool for refusal in export.refused}
    assert gone_out | left == {case.name for case in CASES}
    assert gone_out & left == set()
    assert len(export.tools) == len(gone_out)
