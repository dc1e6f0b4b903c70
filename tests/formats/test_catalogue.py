"""The catalogue: many tools, each with valid and invalid arguments."""

from __future__ import annotations

import json

from tests.cases import each_case
from tests.formats.catalogue.whole import BY_NAME, CASES
from toolhaft.schema import InvalidArguments, ValidArguments


def test_the_catalogue_has_many_tools_with_unique_names():
    assert len(BY_NAME) == len(CASES) >= 48


@each_case("name", BY_NAME)
def test_each_tool_accepts_its_valid_arguments_and_refuses_its_invalid_ones(name):
    case = BY_NAME[name]

    taken = [type(case.tool.validate(json.dumps(arguments))) for arguments in case.valid]
    refused = [type(case.tool.validate(json.dumps(arguments))) for arguments in case.invalid]

    assert (taken, refused) == ([ValidArguments] * len(case.valid), [InvalidArguments] * len(case.invalid))
    assert taken + refused
