"""The tool `wikipedia`: the summary of the page that best fits a query."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, cast

from toolhaft.core.context import ToolContext
from toolhaft.core.effect import Effect
from toolhaft.core.example import ToolExample
from toolhaft.core.result import ToolResult
from toolhaft.core.tool import Tool
from toolhaft.define.config import ToolConfig, create_tool
from toolhaft.errors import DefinitionError, ToolExecutionError
from toolhaft.toolbox.encyclopaedia.wiki import FoundPage, PageSummary, best_of, fold, is_contact, open_wiki
from toolhaft.toolbox.json_service import check_endpoint, checked_query
from toolhaft.toolbox.untrusted_text import short_line, show_untrusted, untrusted_result

TIMEOUT_S: Final = 10.0
LONGEST_QUERY: Final = 300
LONGEST_SUMMARY: Final = 10_000
_LONGEST_TITLE: Final = 300
_LANGUAGE: Final = re.compile(r"[a-z]{2,3}(-[a-z0-9]+)*|simple", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class WikipediaConfig:
    """Which Wikipedia to use, and how Wikimedia can contact you.

    Args:
        language: the start of the Wikipedia's address, such as 'en', 'de', 'simple' or 'zh-min-nan'.
        contact: an e-mail address or a URL at which Wikimedia can reach the operator; None reads the
            environment variable TOOLHAFT_CONTACT when the tool is called, which may be unset.
        endpoint: replaces 'https://<language>.wikipedia.org', for example by a mirror.
        name: the tool's name, if there is more than one such tool.

    Raises:
        DefinitionError: for an invalid language, contact or endpoint.
    """

    language: str = "en"
    contact: str | None = None
    endpoint: str | None = None
    name: str = "wikipedia"

    def __post_init__(self) -> None:
        language: object = self.language
        if not isinstance(language, str) or not _LANGUAGE.fullmatch(language):  # pyright: ignore[reportUnnecessaryIsInstance] -- a caller may not check types
            raise DefinitionError(
                f"{language!r:.80} is not a language of Wikipedia",
                place="language",
                fix="write it as the address begins, such as 'en' or 'zh-min-nan'",
            )
        if self.contact is not None and not is_contact(self.contact):
            raise DefinitionError(
                f"{self.contact!r:.80} is not a contact",
                place="contact",
                fix="give an e-mail address, or a URL that begins with https://",
            )
        if self.endpoint is not None:
            check_endpoint(self.endpoint)


def make_wikipedia(config: WikipediaConfig | None = None) -> Tool[dict[str, object], object]:
    """A tool that looks things up in the configured Wikipedia, the English one by default.

    Raises:
        DefinitionError: for an argument that is not a WikipediaConfig, or an invalid tool name.
    """
    chosen = WikipediaConfig() if config is None else config
    if not isinstance(chosen, WikipediaConfig):  # pyright: ignore[reportUnnecessaryIsInstance] -- a caller may not check types
        raise DefinitionError(
            f"make_wikipedia takes a WikipediaConfig, not {chosen!r:.80}",
            tool="wikipedia",
            fix="write make_wikipedia(WikipediaConfig(language='de'))",
        )

    def look_up(input: dict[str, object], context: ToolContext) -> ToolResult[dict[str, object]]:
        return _look_up(chosen, cast("str", input["query"]), context)

    return create_tool(
        ToolConfig(
            name=chosen.name,
            title=f"Wikipedia ({chosen.language})",
            description=f"Look something up in Wikipedia ({chosen.language}): a summary and its address.",
            when_to_use="For settled facts about people, places, things and ideas that have a name.",
            input_schema={
                "type": "object",
                "properties": {"query": {"type": "string"}},
                "required": ["query"],
            },
            output_schema={
                "type": "object",
                "properties": {"summary": {"type": "string"}, "url": {"type": "string"}},
            },
            execute=look_up,
            effect=Effect.READ,
            timeout_s=TIMEOUT_S,
            max_attempts=10,  # three dead links are no reason to stop
            tags=("web",),
            examples=(
                ToolExample(
                    description="Look up a thing by its name",
                    input={"query": "Metre"},
                    output={
                        "summary": "The metre is the unit of length of the International System of Units.",
                        "url": "https://en.wikipedia.org/wiki/Metre",
                    },
                ),
            ),
        )
    )


def _look_up(config: WikipediaConfig, query: str, context: ToolContext) -> ToolResult[dict[str, object]]:
    wanted = checked_query(query, of="Wikipedia", longest=LONGEST_QUERY)
    wiki = open_wiki(config.language, config.contact, config.endpoint)
    pages = wiki.find(wanted, context)
    if not pages:
        raise ToolExecutionError(
            f"Wikipedia ({config.language}) has no page for {wanted!r}: try fewer words, or another name"
        )
    page = best_of(pages, wanted)
    found = wiki.summarize(page, context)
    text, notes = _summary_text(found, page, pages)
    shown = show_untrusted(text, longest=LONGEST_SUMMARY)
    value: dict[str, object] = {"summary": shown.text, "url": found.url or wiki.url_of(page)}
    title = show_untrusted(found.title, longest=_LONGEST_TITLE).text
    return untrusted_result(
        value, f"the page {title!r} of Wikipedia ({config.language})", *notes, *shown.notes
    )


def _summary_text(
    found: PageSummary, page: FoundPage, pages: Sequence[FoundPage]
) -> tuple[str, Sequence[str]]:
    """The text for the model, and notes about it."""
    if found.is_ambiguous:
        others = [page for page in pages if fold(page.title) != fold(found.title)]
        next_step = "with the title of one of those listed" if others else "with more words"
        return _options(found, others), (f"the name has several meanings: ask again {next_step}",)
    if found.extract:
        return found.extract, ()
    rest = "\n\n".join(filter(None, (found.description or page.description, page.excerpt.strip())))
    return rest or page.title, ("the page has no summary: this is the search result",)


def _options(found: PageSummary, others: Sequence[FoundPage]) -> str:
    names = [filter(None, (short_line(page.title), short_line(page.description))) for page in others]
    lines = [f"- {': '.join(name)}" for name in names]
    listed = "\n".join(("Possible pages:", *lines)) if lines else ""
    return "\n\n".join(filter(None, (found.extract, listed))) or found.title


wikipedia: Final = make_wikipedia()
"""The English Wikipedia."""
