"""Seed 003, Tool Runtime Specification: *Core Schemas*, and what the rest of it says of definitions.

Knows the page; how a call is dispatched, rolled back and planned is tested where it is built.
"""

import json
from dataclasses import dataclass, field
from typing import Annotated, TypedDict

import pytest
from pydantic import BaseModel, Field

from tests.cases import each_case
from toolhaft import (
    InvalidArguments,
    Tool,
    ToolContext,
    ToolExample,
    ToolRegistry,
    ToolResult,
    ValidArguments,
)
from toolhaft import errors as toolhaft_errors
from toolhaft.errors import (
    DefinitionError,
    ToolhaftError,
)


@dataclass
class Params:
    query: Annotated[str, Field(description="What to look for", min_length=1)]
    limit: int = field(default=10, metadata={"description": "Most results", "ge": 1, "le": 100})


@dataclass
class Result:
    title: str
    score: float


def handle(params: Params, *, context: ToolContext) -> ToolResult[Result]:
    """Look a thing up."""
    return ToolResult.ok(Result(title=params.query, score=float(params.limit)), message="Found one.")


def lookup_tool(**changes) -> Tool[Params, Result]:
    return Tool[Params, Result](
        **{"name": "lookup", "description": "Look a thing up.", "handler": handle, **changes}
    )


def test_seed_003_tool_has_the_fields_of_the_table():
    """Seed 003, *Tool*."""
    example = ToolExample(
        description="A search", input=Params(query="ada"), output=Result(title="Ada", score=1.0)
    )
    made = lookup_tool(accepts_overrides=False, examples=(example,))
    assert (made.name, made.description, made.handler, made.accepts_overrides, made.examples) == (
        "lookup",
        "Look a thing up.",
        handle,
        False,
        (example,),
    )


def test_seed_003_tool_takes_overrides_and_has_no_examples_unless_it_says_so():
    """Seed 003, *Tool*: the two fields that may be left out."""
    made = lookup_tool()
    assert (made.accepts_overrides, made.examples) == (True, ())


@each_case("name", ["a", "0", "-", "_", "lookup", "look-up_2", "x" * 64])
def test_seed_003_tool_name_that_fits(name):
    """Seed 003, *Tool*: name, `^[a-z0-9_-]{1,64}$`."""
    assert lookup_tool(name=name).name == name


@each_case("name", ["", "x" * 65, "Lookup", "look up", "look.up", "lookup\n", "søk", None, 5])
def test_seed_003_tool_name_that_does_not_fit(name):
    """Seed 003, *Tool*: name, `^[a-z0-9_-]{1,64}$`."""
    with pytest.raises(DefinitionError, match="name"):
        lookup_tool(name=name)


@pytest.mark.parametrize("description", ["L", "x" * 200], ids=len)
def test_seed_003_tool_description_that_fits(description):
    """Seed 003, *Tool*: description, 1-200 chars."""
    assert lookup_tool(description=description).description == description


@pytest.mark.parametrize(
    "description", ["", "   ", "x" * 201, "x" * 200 + " ", None], ids=lambda text: len(text or "")
)
def test_seed_003_tool_description_that_does_not_fit(description):
    """Seed 003, *Tool*: description, 1-200 chars."""
    with pytest.raises(DefinitionError, match="description"):
        lookup_tool(description=description)


def test_seed_003_dataclasses_make_both_schemas():
    """Seed 003, *Principles*: Type-safe: dataclass-based params and results."""
    made = lookup_tool()
    assert made.input_schema == {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What to look for", "minLength": 1},
            "limit": {
                "type": "integer",
                "description": "Most results",
                "minimum": 1,
                "maximum": 100,
                "default": 10,
            },
        },
        "required": ["query"],
    }
    assert made.output_schema == {
        "type": "object",
        "properties": {"title": {"type": "string"}, "score": {"type": "number"}},
        "required": ["title", "score"],
    }


def test_seed_003_handler_takes_params_and_a_context_by_keyword():
    """Seed 003, *Tool*: Handler signature."""
    made = lookup_tool()
    verdict = made.validate('{"query": "ada"}')
    assert verdict == ValidArguments(Params(query="ada", limit=10))
    result = made.handler(verdict.params, context=ToolContext())
    assert result == ToolResult.ok(Result(title="ada", score=10.0), message="Found one.")
    assert made.check_output(result.value) is None


def test_seed_003_handler_signature_alone_makes_the_tool():
    """Seed 003, *Tool*: Handler signature; its name, docstring and annotations say the rest."""
    made = Tool.wrap(handle)
    assert (made.name, made.description, made.handler) == ("handle", "Look a thing up.", handle)
    assert (made.input_schema, made.output_schema) == (
        lookup_tool().input_schema,
        lookup_tool().output_schema,
    )
    assert made.params_type is Params
    assert made.result_type is Result


def test_seed_003_a_handler_that_cannot_be_called_is_refused_when_the_tool_is_made():
    """Seed 003, *Tool*: handler is a `ToolHandler[ParamsT, ResultT]`."""
    with pytest.raises(DefinitionError, match="handler"):
        lookup_tool(handler="handle")


def no_result(params: Params, *, context: ToolContext) -> Result: ...


def no_annotation(params, *, context) -> ToolResult[Result]: ...


def two_params(params: Params, more: Params, *, context: ToolContext) -> ToolResult[Result]: ...


@pytest.mark.parametrize("wrong", [no_result, no_annotation, two_params])
def test_seed_003_a_handler_of_another_shape_is_refused_when_the_tool_is_made(wrong):
    """Seed 003, *Handler Validation*: Fail-fast."""
    with pytest.raises(DefinitionError, match=wrong.__name__):
        Tool.wrap(wrong, description="Wrong.")


@pytest.mark.parametrize(
    ("arguments", "paths"),
    [
        ({}, ["query"]),
        ({"query": ""}, ["query"]),
        ({"query": "ada", "limit": 0}, ["limit"]),
        ({"query": 5, "limit": 101}, ["query", "limit"]),
        ({"query": "ada", "lmit": 5}, ["lmit"]),
    ],
)
def test_seed_003_arguments_are_parsed_with_extras_forbidden(arguments, paths):
    """Seed 003, *Runtime Dispatch*, step 2: Argument parsing, `extra="forbid"`."""
    verdict = lookup_tool().validate(json.dumps(arguments))
    assert isinstance(verdict, InvalidArguments)
    assert [problem.path for problem in verdict.problems] == paths


class TypedParams(TypedDict):
    query: str


class ModelParams(BaseModel):
    query: str


@pytest.mark.parametrize(
    ("params_type", "params"), [(TypedParams, {"query": "ada"}), (ModelParams, ModelParams(query="ada"))]
)
def test_seed_003_the_limit_to_dataclasses_is_lifted(params_type, params):
    """Seed 003, *Limitations*: Dataclass-only schemas; here a TypedDict or a model will do as well."""
    made = Tool[params_type, list[Result]](name="lookup", description="Look things up.")
    assert made.validate({"query": "ada"}) == ValidArguments(params)
    assert made.check_output([Result(title="Ada", score=1.0)]) is None
    assert made.check_output(Result(title="Ada", score=1.0)) is not None


def test_seed_003_a_tool_may_take_nothing_and_give_nothing():
    """Seed 003, *Parameters*: `ReadPlan` has no fields; *ToolResult*: the value may be None."""
    made = Tool[None, None](name="read_plan", description="Retrieve the current state.")
    assert made.input_schema == {"type": "object", "properties": {}}
    assert made.output_schema is None
    assert made.validate("{}") == ValidArguments(None)
    assert isinstance(made.validate({"query": "ada"}), InvalidArguments)


def test_seed_003_tool_result_has_the_fields_of_the_table():
    """Seed 003, *ToolResult*."""
    result = ToolResult(message="Found.", value=[1], success=False, exclude_value_from_context=True)
    assert (result.message, result.value, result.success, result.exclude_value_from_context) == (
        "Found.",
        [1],
        False,
        True,
    )


def test_seed_003_tool_result_factories():
    """Seed 003, *ToolResult*: Factories."""
    value = Result(title="Ada", score=1.0)
    assert ToolResult.ok(value, "Found.") == ToolResult(
        message="Found.", value=value, success=True, exclude_value_from_context=False
    )
    assert ToolResult.ok(value).message == "OK"
    assert ToolResult.error("Not found.") == ToolResult(
        message="Not found.", value=None, success=False, exclude_value_from_context=False
    )


def test_seed_003_tool_result_contract_of_failures():
    """Seed 003, *ToolResult Contract*: `value=None` unless error payload."""
    assert (ToolResult.ok(5).success, ToolResult.ok(5).value) == (True, 5)
    assert (ToolResult.error("No.").success, ToolResult.error("No.").value) == (False, None)
    payload = {"missing": ["ada"]}
    assert ToolResult.error("No.", value=payload) == ToolResult(message="No.", value=payload, success=False)


class Rendered(BaseModel):
    words: str

    def render(self) -> str:
        return f"<{self.words}>"


@each_case(
    ("result", "text"),
    [
        (ToolResult.ok(Result(title="Ada", score=1.5), "Found."), 'Found.\n\n{"title":"Ada","score":1.5}'),
        (ToolResult.ok([Result(title="Ada", score=1.5)]), 'OK\n\n[{"title":"Ada","score":1.5}]'),
        (ToolResult.ok(ModelParams(query="ø")), 'OK\n\n{"query":"ø"}'),
        (ToolResult.ok(Rendered(words="mine"), "Done."), "Done.\n\n<mine>"),
        (ToolResult.ok(None, "Done."), "Done."),
        (ToolResult.ok("text", "Done."), 'Done.\n\n"text"'),
        (ToolResult(message="Done.", value={"secret": 1}, exclude_value_from_context=True), "Done."),
        (ToolResult.error("Not found."), "Not found."),
        (ToolResult.error("Not found.", value={"near": ["adam"]}), 'Not found.\n\n{"near":["adam"]}'),
        (ToolResult(value="as it is"), "as it is"),
        (ToolResult(value={"a": [1, None]}), '{"a":[1,null]}'),
    ],
)
def test_seed_003_tool_result_renders_its_message_then_its_value(result, text):
    """Seed 003, *ToolResult*: Rendering via `render()`; the form is the design's."""
    assert result.render() == text


def test_seed_003_tool_context_has_the_fields_of_the_table():
    """Seed 003, *ToolContext*: its fields; the properties come with the rooms that fill them."""
    parts = dict.fromkeys(
        ("prompt", "rendered_prompt", "adapter", "session", "deadline", "budget_tracker"), "part"
    )
    context = ToolContext(**parts)
    assert {name: getattr(context, name) for name in parts} == parts
    assert (ToolContext().deadline, ToolContext().budget_tracker) == (None, None)
    with pytest.raises(AttributeError, match="read-only"):
        context.session = "another"


def test_seed_003_tool_context_never_reaches_the_schema():
    """Seed 003, *Tool*: Handler signature: the context is injected, not sent by the model."""
    assert "context" not in lookup_tool().input_schema["properties"]
    assert isinstance(lookup_tool().validate({"query": "ada", "context": {}}), InvalidArguments)


def test_seed_003_tool_example_has_the_fields_of_the_table():
    """Seed 003, *ToolExample*."""
    example = ToolExample(
        description="A search", input=Params(query="ada"), output=Result(title="Ada", score=1.0)
    )
    assert (example.description, example.input, example.output) == (
        "A search",
        Params(query="ada", limit=10),
        Result(title="Ada", score=1.0),
    )
    assert ToolExample(input=Params(query="ada")) == ToolExample(
        description="", input=Params(query="ada"), output=None
    )


def test_seed_003_tool_example_description_has_at_most_200_characters():
    """Seed 003, *ToolExample*: description, ≤200 chars."""
    longest = ToolExample(description="x" * 200, input=Params(query="ada"))
    assert lookup_tool(examples=(longest,)).examples == (longest,)
    with pytest.raises(DefinitionError, match="200"):
        lookup_tool(examples=(ToolExample(description="x" * 201, input=Params(query="ada")),))


@pytest.mark.parametrize(
    "examples", [5, "ada", [5], [ToolExample(description=None, input=Params(query="ada"))]]
)
def test_seed_003_tool_examples_that_are_no_examples_are_refused(examples):
    """Seed 003, *Tool*: examples is a `tuple[ToolExample, ...]`; *ToolExample*: its description is text."""
    with pytest.raises(DefinitionError, match="example"):
        lookup_tool(examples=examples)


GOOD = Params(query="ada")


@each_case(
    "example",
    [
        ToolExample(input=Result(title="Ada", score=1.0)),
        ToolExample(input=Params(query="")),
        ToolExample(input=Params(query="ada", limit="many")),
        ToolExample(input=None),
        ToolExample(input=GOOD, output=Params(query="ada")),
        ToolExample(input=GOOD, output=Result(title="Ada", score="high")),
        ToolExample(input=GOOD, output="Ada"),
    ],
)
def test_seed_003_tool_example_must_fit_both_types(example):
    """Seed 003, *ToolExample* and *Prompt Rendering*, 2: examples against params/result dataclasses."""
    with pytest.raises(DefinitionError, match="example 2"):
        lookup_tool(examples=(ToolExample(input=GOOD, output=Result(title="Ada", score=1.0)), example))


def test_seed_003_tool_examples_reach_the_spec_as_json():
    """Seed 003, *ToolExample*: dataclass instances, written as the JSON that a model would send."""
    made = lookup_tool(examples=(ToolExample(input=GOOD, output=Result(title="Ada", score=1.0)),))
    assert ToolRegistry([made]).get_all_tool_specs()[0]["examples"] == [
        {"input": {"query": "ada", "limit": 10}, "output": {"title": "Ada", "score": 1.0}}
    ]


@pytest.mark.parametrize(
    "name",
    [
        "ToolValidationError",
        "VisibilityExpansionRequired",
        "PromptValidationError",
        "PromptEvaluationError",
        "DeadlineExceededError",
    ],
)
def test_seed_003_every_exception_of_the_page_exists_and_says_its_message(name):
    """Seed 003, *Exception Handling* and *Prompt Rendering*; TypeError is Python's own."""
    kind = getattr(toolhaft_errors, name)
    assert issubclass(kind, ToolhaftError)
    assert str(kind("what went wrong")) == "what went wrong"


def test_seed_003_a_failed_result_needs_no_more_than_its_flag():
    """Seed 003, *Exception Handling*: `ToolResult(success=False)`."""
    result = ToolResult(success=False)
    assert (result.success, result.value, result.render()) == (False, None, "")
