"""Catalogue: names, descriptions and the other fields of a tool."""

from __future__ import annotations

from typing import Final

from tests.formats.catalogue.case import Case, raw
from toolhaft import ToolExample

_QUERY: Final = {"properties": {"query": {"type": "string"}}, "required": ["query"]}


def _named(name: str, **options: object) -> Case:
    return raw(name, _QUERY, valid=[{"query": "a"}, {"query": ""}], invalid=[{}, {"query": 1}], **options)


CASES: Final[tuple[Case, ...]] = (
    _named("files.read_all"),
    _named("files_read_all"),
    _named("files-read-all"),
    _named("7zip", description="Packs."),
    _named("-dash", description="Dashes."),
    _named("n" * 128, description="A name of 128 letters."),
    _named("long_description", description="Looks things up. " * 80),
    _named(
        "whole",
        title="Search everything",
        description='Search.\n\nOver several lines: «ümläut», "quotes", \\backslash, emoji 🙂.',
        when_to_use="The user asks for facts.",
        examples=[
            ToolExample(input={"query": "cats"}, output={"hits": 3}, description="Three cats."),
            ToolExample(input={"query": "größe"}),
        ],
        output_schema={
            "type": "object",
            "properties": {"hits": {"type": "integer"}},
            "required": ["hits"],
            "description": "How many pages were found.",
        },
        metadata={"team": "search", "cost": 2},
        tags=["web", "read"],
        version="1.2.0",
        effect="read",
    ),
    _named("output_list", output_schema={"type": "array", "items": {"type": "string"}}),
)
