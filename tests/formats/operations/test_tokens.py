"""Estimated tokens: close to what tokenizers count, and in the same order."""

from typing import Any

import pytest

from tests.cases import each_case
from toolhaft import tool
from toolhaft.errors import WireError
from toolhaft.formats import FORMATS, describe, estimate_tokens, export_tools

CHAT = (
    '{"tools":[{"type":"function","function":{"name":"order","description":"Order an item.","parameters":{"type":'
    '"object","properties":{"item":{"type":"string"},"count":{"type":"integer","default":1},"color":{"enum":["red",'
    '"blue"],"default":"red"},"notes":{"type":"array","items":{"type":"string"}},"ship_to":{"anyOf":[{"type":'
    '"object","properties":{"street":{"type":"string"},"city":{"type":"string"}},"required":["street"]},{"type":'
    '"null"}],"default":null}},"required":["item"]}}}]}'
)
STUB = """\
class ShipTo:
    street: str
    city: str = ...

class OrderResult:
    total: float

def order(
    item: str,
    count: int = 1,
    color: Literal["red", "blue"] = "red",
    notes: list[str] = ...,
    ship_to: ShipTo | None = None,
) -> OrderResult:
    \"\"\"Order an item.\"\"\"
"""
TABLE = """\
## bounds_of_texts

Takes bounds of texts.

| parameter | type | required | constraints | description |
| --- | --- | --- | --- | --- |
| `query` | `str` | yes | at least 1 character, at most 500 characters | What to look for. |
| `code` | `str` | yes | pattern: ^[A-Z]{2}-\\d+$ |  |
| `part` | `str` | no | pattern: b+ |  |

**Effect:** irreversible
"""
MCP = (
    '{"resultType":"complete","tools":[{"name":"whole","title":"Search everything","description":"Search.\\n\\n'
    'Over several lines: «ümläut», \\"quotes\\", \\\\backslash, emoji 🙂.\\n\\nWhen to use: The user asks for '
    'facts.","inputSchema":{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]},'
    '"outputSchema":{"type":"object","properties":{"hits":{"type":"integer"}},"required":["hits"]},"annotations":'
    '{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":true}}],"ttlMs":0,'
    '"cacheScope":"private"}'
)
GERMAN = (
    "Sucht in der Datenbank nach passenden Einträgen und gibt höchstens zehn davon zurück; Größe und Straße "
    "sind nötig. "
) * 5
JAPANESE = "データベースから一致するレコードを検索し、最大十件を返します。都市名を入力してください。" * 5


@each_case(
    ("text", "counted"),
    [(CHAT, 120), (STUB, 86), (TABLE, 114), (MCP, 139), (GERMAN, 153), (JAPANESE, 165)],
    ids=["chat", "stub", "table", "mcp", "german", "japanese"],
)
def test_an_estimate_is_within_a_tenth_of_what_four_tokenizers_count_on_average(text, counted):
    assert abs(estimate_tokens(text) - counted) <= counted / 10


@tool
def order(item: str, count: int = 1, notes: list[str] | None = None) -> dict[str, Any]:
    """Order an item.

    Args:
        item: What to order
        count: How many of it
        notes: For the packer
    """
    return {"item": item, "count": count, "notes": notes}


def test_an_export_costs_what_its_bytes_cost_in_every_format():
    for name in FORMATS:
        export = export_tools([order], name)
        assert estimate_tokens(export) == estimate_tokens(export.json_bytes) > 20


def test_a_stub_costs_fewer_tokens_than_any_export():
    stub = estimate_tokens(describe([order], "signature"))
    assert all(stub < estimate_tokens(export_tools([order], name)) for name in FORMATS)


def test_empty_text_has_no_tokens():
    assert estimate_tokens("") == estimate_tokens(b"") == 0


def test_estimating_something_that_is_not_text_is_an_error():
    with pytest.raises(WireError, match="got list; expected an Export, or text"):
        estimate_tokens([order])
