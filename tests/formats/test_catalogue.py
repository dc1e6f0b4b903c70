"""The catalogue itself: many tools, each with arguments that it takes and arguments that it refuses."""

from __future__ import annotations

import json

from tests.formats.catalogue.whole import BY_NAME, CASES
from tests.formats.each_case import each
from toolhaft.schema import InvalidArguments, ValidArguments


def test_it_has_many_tools_and_no_name_twice():
    assert len(BY_NAME) == len(CASES) >= 48


@each("name", BY_NAME)
def test_each_tool_takes_its_valid_arguments_and_refuses_the_others(name):
    case = BY_NAME[name]

    taken = [type(case.tool.validate(json.dumps(arguments))) for arguments in case.valid]
    refused = [type(case.tool.validate(json.dumps(arguments))) for arguments in case.invalid]

    assert (taken, refused) == ([ValidArguments] * len(case.valid), [InvalidArguments] * len(case.invalid))
    assert taken + refused
