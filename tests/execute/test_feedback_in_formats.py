"""Every wire carries the feedback that a result has, and what a program reads stays as it was."""

import json

from tests.cases import each_case
from tests.execute.calls import call
from tests.execute.prompt_kit import BarePrompt, Words
from toolhaft import ToolExecutor, tool
from toolhaft.formats import FORMATS, encode_results, export_tools

FRAME = '<feedback provider="words">\nmind the gap\n</feedback>'


@tool
def find(word: str) -> dict[str, int]:
    """Find."""
    if word == "fail":
        raise ValueError("no")
    return {"hits": 1}


@tool
def say(word: str) -> str:
    """Say."""
    return word


def results(text="mind the gap"):
    executor = ToolExecutor(prompt=BarePrompt(tools=(find, say), feedback=(Words(lambda _: text),)))
    calls = [call("find", id="a", word="x"), call("find", id="b", word="fail"), call("say", id="c", word="x")]
    return executor.execute_all(calls)


def texts_in(value):
    """Every text anywhere in a payload, also in JSON within texts."""
    if isinstance(value, str):
        yield value
        if value.startswith("{"):
            yield from texts_in(json.loads(value.partition("\n\n<feedback")[0]))
    elif isinstance(value, dict):
        for member in value.values():
            yield from texts_in(member)
    elif isinstance(value, list):
        for item in value:
            yield from texts_in(item)


@each_case("format", FORMATS)
def test_every_format_includes_feedback_on_successes_and_failures(format):
    sent = [encode_results([one], format) for one in results()]
    assert [sum(FRAME in text for text in texts_in(list(one))) for one in sent] == [1, 1, 1]


@each_case("format", FORMATS)
def test_the_value_is_unchanged(format):
    (found, *_) = results()
    assert "hits" in json.dumps(list(encode_results([found], format)))


def test_structured_content_is_only_the_value():
    export = export_tools([find, say], "mcp")

    def structured(sent):
        return [message.get("structuredContent") for message in sent]

    told = structured(encode_results(results(), "mcp", export=export))
    assert told == structured(encode_results(results(None), "mcp", export=export))
    assert told[:2] == [{"hits": 1}, None]


@each_case("format", ["bedrock", "cohere"])
def test_a_format_with_object_values_still_has_them(format):
    def objects(value):
        if isinstance(value, dict):
            yield value
            for member in value.values():
                yield from objects(member)
        elif isinstance(value, list):
            for item in value:
                yield from objects(item)
        elif isinstance(value, str) and value.startswith("{"):
            yield from objects(json.loads(value))

    (found, *_) = results()
    sent = list(encode_results([found], format))
    assert any(one.get("hits") == 1 for one in objects(sent))
    assert FRAME in "".join(texts_in(sent))
