"""Writes one format's export of the catalogue as readable text: schemas, losses, refusals."""

from __future__ import annotations

import json
from typing import Any, Final

from tests.formats.catalogue import named
from tests.formats.catalogue.case import Case
from tests.formats.catalogue.whole import CASES
from tests.formats.variants import VARIANTS, Variant

_WIDTH: Final = 118
_LONGEST: Final = 40
_MOST_LINES: Final = 40


def golden_text(format: str) -> str:
    """The whole text of a format."""
    variants = [variant for variant in VARIANTS if variant.format == format]
    parts = [_head(format, variants), *(_case(case, variants) for case in CASES), _together(variants)]
    return "\n".join(parts)


def _head(format: str, variants: list[Variant]) -> str:
    ways = ", ".join(_way(variant) for variant in variants)
    return f"# What {format} is sent for each tool of the catalogue ({ways})\n"


def _way(variant: Variant) -> str:
    return " ".join(filter(None, (variant.dialect, "strict" if variant.strict else ""))) or "default"


def _case(case: Case, variants: list[Variant]) -> str:
    """One tool: its own schema where some way changes it, then every way, equal ones together."""
    outcomes: dict[str, list[str]] = {}
    for variant in variants:
        outcomes.setdefault(_outcome(case, variant), []).append(_way(variant))
    title = f"== {_short(case.name)}"
    if any(not outcome.startswith("as it is") for outcome in outcomes):
        title += "\n" + laid_out(case.tool.input_schema)
    lines = [f"[{', '.join(ways)}] {outcome}".replace(" \n", "\n") for outcome, ways in outcomes.items()]
    return "\n".join([title, *lines, ""])


def _outcome(case: Case, variant: Variant) -> str:
    export = variant.export(case.tool)
    reported = "".join(
        f"\n  - {str(loss).removeprefix(case.name)}".replace("- :", "- the tool:") for loss in export.losses
    )
    if export.policy_fields:
        reported += f"\n  policy: {', '.join(field.field for field in export.policy_fields)}"
    if export.refused:
        return "refused: " + "; ".join(refusal.reason for refusal in export.refused) + reported
    (exported,) = export.tools
    schema = variant.schema(exported)
    if case.tool.output_schema is not None and case in named.CASES:
        return "tool\n" + laid_out(_shortened(exported)) + reported
    said = variant.description(exported)
    more = "" if said == case.tool.description else f"\n  description: {_short(said)!r}"
    return ("as it is" if schema == case.tool.input_schema else "\n" + laid_out(schema)) + more + reported


def _together(variants: list[Variant]) -> str:
    """Several tools in one request whose names fall together."""
    tools = [case.tool for case in named.CASES]
    lines = ["== the names of all named tools in one request"]
    for variant in variants:
        names = variant.export(*tools).names
        shown = [f"{_short(own)} -> {_short(exported)}" for exported, own in names.items() if exported != own]
        lines.append(f"[{_way(variant)}] {', '.join(shown) or 'as they are'}")
    return "\n".join(lines) + "\n"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST * 2 else f"{text[:_LONGEST]}…{text[-_LONGEST // 2 :]} ({len(text)})"


def _shortened(value: Any) -> Any:
    """The value with long texts truncated."""
    if isinstance(value, dict):
        return {_short(key): _shortened(child) for key, child in value.items()}
    if isinstance(value, list):
        return [_shortened(child) for child in value]
    return value if not isinstance(value, str) or len(value) <= 300 else _short(value)


def laid_out(value: Any) -> str:
    """JSON on as few lines as it takes to stay narrow; one that is very long is cut in the middle."""
    lines = _lines(value, 2, "", "")
    if len(lines) > _MOST_LINES:
        half = _MOST_LINES // 2
        left_out = f"    … {len(lines) - _MOST_LINES} lines; {_count(value)} values in all …"
        lines = [*lines[:half], left_out, *lines[-half:]]
    return "\n".join(lines)


def _count(value: Any) -> int:
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(_count, members))


def _lines(value: Any, indent: int, head: str, tail: str) -> list[str]:
    """A value as lines, with the text before and after it."""
    pad = " " * indent
    flat = f"{pad}{head}{json.dumps(value, ensure_ascii=False)}{tail}"
    if len(flat) <= _WIDTH or not isinstance(value, dict | list) or not value:
        return [flat]
    if isinstance(value, list) and not any(isinstance(member, dict | list) for member in value):
        return [f"{flat[: _WIDTH - 20 - len(tail)]}… ({len(value)})]{tail}"]
    opens, closes = "{}" if isinstance(value, dict) else "[]"
    keys = (
        [f"{json.dumps(key, ensure_ascii=False)}: " for key in value]
        if isinstance(value, dict)
        else [""] * len(value)
    )
    members = list(value.values()) if isinstance(value, dict) else value
    out, may_join = [pad + head + opens], True
    for number, (key, member) in enumerate(zip(keys, members, strict=True), 1):
        after = closes + tail if number == len(members) else ","
        made = _lines(member, indent + 2, key, after)
        joined = f"{out[-1]}{'' if out[-1].endswith(opens) and number == 1 else ' '}{made[0].strip()}"
        if may_join and len(made) == 1 and len(joined) <= _WIDTH:
            out[-1] = joined
        else:
            out += made
        may_join = len(made) == 1
    return out
