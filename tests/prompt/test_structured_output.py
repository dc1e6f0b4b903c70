"""The type of a prompt's answer, and the parser of a model's answer."""

from dataclasses import dataclass
from typing import Annotated, TypedDict

import pytest
from pydantic import BaseModel

from tests.cases import each_case
from toolhaft.errors import PromptEvaluationError, PromptValidationError
from toolhaft.prompt import Prompt, StructuredOutput


@dataclass(frozen=True)
class Answer:
    text: str
    score: int = 0


class Model(BaseModel):
    text: str


class Typed(TypedDict):
    text: str


def test_structured_output_is_declared_by_type_or_keyword():
    for prompt in (Prompt[Answer](name="p"), Prompt(name="p", structured_output=Answer)):
        output = prompt.render().structured_output
        assert (output.type, output.container) == (Answer, "object")
        assert output.json_schema["required"] == ["text"]
        assert prompt.bind().render().structured_output is output


@each_case(
    ("kind", "text", "value"),
    [
        (Answer, '{"text": "a", "score": 3}', Answer("a", 3)),
        (Model, ' {"text": "a"} ', Model(text="a")),
        (Typed, '{"text": "a"}', {"text": "a"}),
        (list[Answer], '[{"text": "a"}, {"text": "b"}]', [Answer("a"), Answer("b")]),
        (list[Answer], '{"items": [{"text": "a"}]}', [Answer("a")]),
        (list[Answer], "[]", []),
        (Answer, 'Here it is:\n\n```json\n{"text": "a"}\n```\nDone.', Answer("a")),
        (Answer, '```\n{"text": "draft"}\n```\n\n```json\n{"text": "final"}\n```', Answer("final")),
        (Answer, 'So:\r\n```json\r\n{"text": "a"}\r\n```\r\n', Answer("a")),
        (Answer, 'It is ```json {"text": "a"}``` then.', Answer("a")),
        (Answer, '```json5\n{"text": "a"}\n```', Answer("a")),
        (Answer, '\ufeff{"text": "a"}', Answer("a")),
        (Answer, 'Here it is: ```json\n{"text": "a"}\n```', Answer("a")),
        (Answer, '```json\n{"text": "a"}```', Answer("a")),
        (Answer, '- ```json\n  {"text": "a"}\n  ```', Answer("a")),
        (Answer, '````json\n{"text": "a"}\n````', Answer("a")),
        (Answer, '**Answer:** ```json\n{"text": "a"}\n``` Done.', Answer("a")),
        (Answer, '```json\n{"text": "Use ```py\\nprint(1)\\n```"}\n```', Answer("Use ```py\nprint(1)\n```")),
        (Answer, '```json\n{"text": "kept"}\n```\n```python\nprint()\n```', Answer("kept")),
        (Answer, '{"text": "in ```json\\n{}\\n``` a block"}', Answer("in ```json\n{}\n``` a block")),
    ],
)
def test_an_answer_is_read_whole_or_from_a_fenced_block(kind, text, value):
    assert StructuredOutput(kind).parse(text) == value


@each_case(
    ("kind", "text", "message"),
    [
        (
            Answer,
            '{"txt": "a"}',
            "the answer is not of type Answer: text: missing; expected a string; txt: unknown",
        ),
        (Answer, "no JSON", "the answer is not of type Answer"),
        (Answer, "", "the answer is not of type Answer"),
        (list[Answer], '[{"text": 5}]', "the answer is not of type list[Answer]"),
        (Answer, '```json\n{"score": 5}\n```', "text: missing"),
        (Answer, '[{"text": "a"}]', "the answer is not of type Answer"),
    ],
)
def test_an_invalid_answer_is_reported(kind, text, message):
    with pytest.raises(PromptEvaluationError) as caught:
        StructuredOutput(kind).parse(text)
    assert message in str(caught.value)


@pytest.mark.parametrize("kind", [int, str, "Answer", list[int | str] | None, object()])
def test_other_types_are_refused(kind):
    with pytest.raises(PromptValidationError, match="cannot be the type of an answer"):
        Prompt(name="p", structured_output=kind)


def test_prompts_of_one_type_are_of_one_class():
    assert Prompt[Answer] is Prompt[Answer]
    assert Prompt[Answer] is not Prompt[list[Answer]]


def test_repr_shows_the_type():
    assert repr(StructuredOutput(list[Answer])) == "<StructuredOutput list[Answer]>"


@pytest.mark.parametrize("answer", [None, 5, b"{}"])
def test_a_value_that_is_not_text_is_reported(answer):
    with pytest.raises(PromptEvaluationError, match="the answer is not text but"):
        StructuredOutput(Answer).parse(answer)


def test_an_unhashable_type_is_refused_like_any_other():
    assert Prompt[Annotated[Answer, {"k": 1}]].__name__.startswith("Prompt[")
    with pytest.raises(PromptValidationError, match="cannot be the type of an answer"):
        Prompt[[]](name="p")


def test_only_the_last_of_many_fenced_blocks_are_tried(monkeypatch):
    tried = []
    output = StructuredOutput(Answer)
    read = StructuredOutput._read  # noqa: SLF001 -- one call per block that is tried
    monkeypatch.setattr(StructuredOutput, "_read", lambda self, text: tried.append(text) or read(self, text))
    with pytest.raises(PromptEvaluationError):
        output.parse("".join(f'```json\n{{"n": {n}}}\n' for n in range(2_000)) + "```{}```" * 200)
    assert 100 < len(tried) <= 151


def test_long_white_space_is_parsed_in_linear_time():
    with pytest.raises(PromptEvaluationError):  # with quadratic work it would not end
        StructuredOutput(Answer).parse("```json\n" + " " * 200_000)
