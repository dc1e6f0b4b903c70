"""Listing a file without making its tool gives the listing, and the verdict, of the tool."""

import json

import pytest

from tests.cases import in_case
from tests.catalog.kit import make_project
from toolhaft.catalog import folder as folder_module
from toolhaft.catalog.folder import read_folder
from toolhaft.catalog.published import PublishedTool
from toolhaft.define import yaml
from toolhaft.define.yaml import definition, lint_text, parse_tool, quick_fields, tool, tool_fields
from toolhaft.errors import DefinitionError

HEAD = "id: one\nname: One\ndescription: Does one thing\n"
PUBLISHED = 'owner: "ann"\nshare: org\ncreated_at: "2026-01-01"\nupdated_at: "2026-01-01T00:00:00Z"\nis_active: true\n'
RUN = 'run: {http: {url: "https://example.com/${q}", method: GET}}\n'


def parameters(*keywords):
    return "parameters:\n" + "".join(
        f"  - {{name: p{number}, description: word, {one}}}\n" for number, one in enumerate(keywords)
    )


USUAL = [
    HEAD,
    HEAD + PUBLISHED,
    HEAD + "is_active: false\nendpoint: https://example.com/run\n",
    HEAD
    + 'owner: null\nversion: "1.2"\nwhen_to_use: often\neffect: read\ntags: [a, "b c", ü]\nshare: private\n',
    HEAD + "tags: null\nparameters: []\nreturns: null\neffect: irreversible\nrun: null\n",
    HEAD + RUN + "parameters:\n  - {name: q, type: string, description: word}\n",
    HEAD
    + parameters(
        "type: string, minLength: 1, maxLength: 19, format: date, default: 2026-01-01",
        "type: integer, required: false, minimum: 1, maximum: 5, default: 3",
        "type: number, default: 1.0, multipleOf: 0.5, title: Number",
        "type: array, items: {type: string, enum: [a, b]}, minItems: 1, default: [a]",
        "type: object, properties: {a: {type: integer}}, required: [a], additionalProperties: false",
        "type: boolean, const: true",
        "type: integer, default: 123456789012345678901234567890",
    ),
    HEAD + "returns:\n  - {name: total, type: number, description: sum}\n",
    HEAD + "<<: {share: public, tags: &tags [a, b]}\nwhen_to_use: >\n  folded\n  text\n",
    HEAD + "timeout_s: null\nstall_s: 30\n",
    HEAD + "timeout_s: 5\nstall_s: 2\ncache_s: 3\neffect: read\nmetadata: {a: 1, b: [ü, {c: 2.0}]}\n",
    HEAD
    + "timeout_s: 10\nrequires: [net]\nrate: 5/min\nmax_parallel: 2\nisolation: thread\nmax_attempts: 4\n",
    HEAD + "timeout_s: 2.5\nretryable: false\naccepts_overrides: true\nmetadata: {}\nrequires: []\n",
    HEAD + "metadata: {version: '2', tags: [a, b], performance: {rate_limit: 5/min}}\n",
    HEAD + "metadata: {version: '2', tags: [a, b]}\ntags: []\nversion: '3'\n",
    HEAD.replace("One", '"\\u00fcber \\U0001F600 \\t"'),
]
ONLY_THE_TOOL_KNOWS = [
    HEAD + parameters("type: string, writeOnly: true, default: abc"),
    HEAD + parameters("type: string, format: password"),
    HEAD + parameters("type: array, items: {$ref: '#'}"),
    HEAD + parameters("type: object, properties: {a: {anyOf: [{type: string}, {type: integer}]}}"),
    HEAD + parameters("type: object, default: {$ref: '#/x'}"),
    HEAD + parameters("type: string, pattern: '^a+$'"),
    HEAD + parameters("type: string") + "examples:\n  - input: {p0: a}\n",
    HEAD + parameters("type: string") + "metadata: {examples: [{input: {p0: a}}]}\n",
    HEAD + parameters("type: string") + "idempotency: [p0]\n",
]
INVALID = [
    "",
    "- a\n",
    "id: one\n",
    HEAD + "id: two\n",
    HEAD + "nonsense: 1\n",
    HEAD.replace("one\n", "One!\n"),
    HEAD + "owner: 7\n",
    HEAD + "cache_s: 5\n",
    HEAD + "stall_s: 30\n",
    HEAD + "timeout_s: -1\n",
    HEAD + "rate: often\n",
    HEAD + "metadata: [1]\n",
    HEAD + "metadata: {tags: a}\n",
    HEAD + "metadata: {performance: {rate_limit: often}}\n",
    HEAD + parameters("type: string") + "metadata: {examples: [{input: {p0: 1}}]}\n",
    HEAD + "title: One\n",
    HEAD + "idempotency: [missing]\n",
    HEAD + "effect: often\n",
    HEAD + 'when_to_use: ""\n',
    HEAD + 'description: "\\u200b"\n',
    HEAD.replace("thing", "th\u200bing"),
    HEAD + "tags: [1]\n",
    HEAD.replace("One", '"\\ud800"'),
    HEAD + "run: {http: {}}\n",
    HEAD + parameters("type: string") + "examples:\n  - input: {p0: 1}\n",
    *(
        HEAD + parameters(one)
        for one in (
            "type: text",
            "type: string, minLength: -1",
            "type: string, minLength: a",
            "type: integer, default: a",
            "type: string, enum: a",
            "type: array, items: {type: text}",
            "type: object, properties: {a: 1}",
            "type: object, required: [1]",
            "type: string, required: [a]",
            "type: array, items: {$ref: '#/nowhere'}",
            "type: string, pattern: '('",
            "type: string, default: ghp_0123456789012345678901234567890123456789",
        )
    ),
    HEAD + parameters("type: string").replace("p0", '"p0", name: p0'),
    HEAD + parameters("type: string") + "  - {name: p0, type: string, description: again}\n",
    HEAD + "x" * 1_000_001,
]


def test_quick_fields_are_those_of_the_tool_or_none():
    for text in (*USUAL, *ONLY_THE_TOOL_KNOWS):
        with in_case(text):
            fields = tool_fields(parse_tool(text)) if text in USUAL else None
            assert json.dumps(quick_fields(text)) == json.dumps(fields)
    for text in INVALID:
        with in_case(text):
            assert quick_fields(text) is None
            with pytest.raises(DefinitionError):
                parse_tool(text)


def test_quick_listing_of_a_folder_is_that_of_its_tools(tmp_path, monkeypatch):
    texts = [text.replace("id: one", f"id: one{n}") for n, text in enumerate((*USUAL, *ONLY_THE_TOOL_KNOWS))]
    project = make_project(tmp_path)
    for number, text in enumerate([*texts, *INVALID]):
        (project.tools_folder / f"{number:03}.yaml").write_text(text, encoding="utf-8")
    quick = read_folder(project)
    with monkeypatch.context() as patch:
        patch.setattr(yaml, "load_quick_fields", lambda _file: None)
        patch.setattr(folder_module, "read_cache", lambda _file: {})
        thorough = read_folder(project)
    assert quick.listings == thorough.listings
    assert [str(problem) for problem in quick.problems] == [str(problem) for problem in thorough.problems]
    assert len(quick.listings) == len(texts)
    assert len(quick.problems) == len(INVALID)


def test_usual_documents_are_listed_without_making_their_tools(tmp_path, monkeypatch):
    def refuse(*_arguments, **_options):
        raise AssertionError("a tool was made")

    monkeypatch.setattr(tool.YamlTool, "__init__", refuse)
    project = make_project(tmp_path)
    for number, text in enumerate(USUAL):
        (project.tools_folder / f"{number}.yaml").write_text(text.replace("one", f"one{number}"))
    assert len(read_folder(project).listings) == len(USUAL)
    older = PublishedTool(
        id="one",
        owner="",
        org="",
        share="private",
        text=USUAL[1],
        upstream=None,
        created_at="",
        updated_at="",
        revision=1,
    )
    assert older.fields["owner"] == "ann"


def test_schemas_that_differ_only_in_values_are_checked_once(monkeypatch):
    definition._is_valid.cache_clear()  # noqa: SLF001 -- what it remembers is the subject
    for number in range(5):
        text = HEAD + parameters(
            f"type: string, default: word{number}",
            f"type: integer, minimum: {number}, maximum: {number + 9}",
            f"type: string, enum: [a{number}, b]",
        )
        assert quick_fields(text) is not None
    assert definition._is_valid.cache_info().misses == 3  # noqa: SLF001 -- one for each parameter
    github = "ghp_0123456789012345678901234567890123456789"
    values = ["a", "1", "-1", "1.5", "null", "[a, b]", "[a, a]", "[]", "[1]", "[a, 1]", '"é"', github]
    for keyword in ("default", "enum", "minimum", "enum: [a, b], default", "minimum: 3, default"):
        for kind in ("string", "integer", "number"):
            text = "".join(parameters(f"type: {kind}, {keyword}: {value}") for value in values)
            text = HEAD + "parameters:\n" + text.replace("parameters:\n", "")
            remembered = lint_text(text)
            with in_case(kind, keyword), monkeypatch.context() as patch:
                patch.setattr(definition, "_MAX_REMEMBERED", -1)
                assert remembered == lint_text(text)
