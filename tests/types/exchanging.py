"""Users exchange tools, calls and results with the clients of providers.

The type checkers must report each line with `# wrong:`, and no other.
"""

from typing import Any

import anthropic
import cohere
import ollama
import openai
from anthropic.types import MessageParam
from google import genai
from google.genai import types as gemini
from mistralai.client import Mistral
from openai.types.chat import ChatCompletionMessageParam
from openai.types.responses import ResponseInputParam

from toolhaft import (
    ToolCall,
    ToolExecutor,
    ToolResult,
    tool,
)
from toolhaft.formats import (
    Export,
    StreamDecoder,
    decode_calls,
    encode_calls,
    encode_results,
    export_tools,
    import_tools,
)
from toolhaft.toolbox import calculator


@tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


executor = ToolExecutor([add, calculator])
# --- formats -----------------------------------------------------------------------------------------

export = export_tools(
    [add, calculator], "openai_chat", strict="where_possible", choice="auto", parallel=False
)
export_tools([add], "anthropic", strict="sometimes")  # wrong: no such strictness
fields: dict[str, Any] = export.payload
names: list[str] = [entry["function"]["name"] for entry in export.payload["tools"]]


def openai_turn(client: openai.OpenAI, history: list[ChatCompletionMessageParam]) -> None:
    reply = client.chat.completions.create(model="gpt-5", messages=history, **export.payload)
    print(reply.choices[0].message.content)
    print(reply.choice)  # wrong: choices
    calls = decode_calls(reply, "openai_chat", export=export)
    history += encode_calls(calls, "openai_chat", export=export)
    history += encode_results(executor.execute_all(calls), "openai_chat", export=export)
    history.extend(encode_results([(call, ToolResult.ok(1)) for call in calls], "openai_chat"))
    encode_results([result.message for result in executor.execute_all(calls)], "openai_chat")  # wrong: texts


def openai_stream(client: openai.OpenAI, history: list[ChatCompletionMessageParam]) -> list[ToolCall]:
    decoder = StreamDecoder("openai_chat", export=export)
    stream = client.chat.completions.create(model="gpt-5", messages=history, stream=True, **export.payload)
    calls = [call for event in stream for call in decoder.feed(event)]
    return [*calls, *decoder.close()]


async def openai_async(client: openai.AsyncOpenAI, history: list[ChatCompletionMessageParam]) -> None:
    reply = await client.chat.completions.create(model="gpt-5", messages=history, **export.payload)
    results = await executor.aexecute_all(decode_calls(reply, "openai_chat", export=export))
    history += encode_results(results, "openai_chat", export=export)


def responses_turn(client: openai.OpenAI, history: ResponseInputParam) -> str:
    export = export_tools([add], "openai_responses")
    reply = client.responses.create(model="gpt-5", input=history, **export.payload)
    results = executor.execute_all(decode_calls(reply, "openai_responses", export=export))
    history += encode_results(results, "openai_responses", export=export)
    return reply.output_text


def anthropic_turn(client: anthropic.Anthropic, history: list[MessageParam], export: Export) -> str | None:
    reply = client.messages.create(model="claude", max_tokens=99, messages=history, **export.payload)
    history.append({"role": "assistant", "content": reply.content})
    history += encode_results(executor.execute_all(decode_calls(reply, "anthropic")), "anthropic")
    return reply.stop_reason


def mistral_turn(client: Mistral, history: list[Any], export: Export) -> None:
    reply = client.chat.complete(model="large", messages=history, **export.payload)
    history += encode_results(executor.execute_all(decode_calls(reply, "mistral", export=export)), "mistral")


def cohere_turn(client: cohere.ClientV2, export: Export) -> str | None:
    reply = client.chat(model="command", messages=[], **export.payload)
    return reply.message.tool_plan


def ollama_turn(client: ollama.Client, history: list[ollama.Message], export: Export) -> str | None:
    reply = client.chat(model="llama", messages=history, **export.payload)  # pyright: ignore[reportUnknownMemberType] -- the client's own type
    history += encode_results(executor.execute_all(decode_calls(reply, "ollama")), "ollama")
    return reply.message.content


def gemini_turn(client: genai.Client, history: list[gemini.Content], export: Export) -> str | None:
    options = gemini.GenerateContentConfig(temperature=0, **export.payload)
    reply = client.models.generate_content(model="gemini", contents=history, config=options)  # pyright: ignore[reportUnknownMemberType] -- the client's own type
    history += encode_results(executor.execute_all(decode_calls(reply, "gemini")), "gemini")
    return reply.text


def bedrock_turn(client: Any, history: list[dict[str, Any]], export: Export) -> None:
    reply = client.converse(modelId="nova", messages=history, **export.payload)
    history += encode_results(executor.execute_all(decode_calls(reply, "bedrock")), "bedrock")


def untyped_history(results: list[ToolResult[Any]]) -> list[dict[str, str]]:
    history = [{"role": "user", "content": "Hello"}]
    history += encode_results(results, "openai_chat")
    return history


imported = import_tools(export.payload, "openai_chat")
imported_names = [each.name for each in imported]
losses = [f"{loss.tool}: {loss}" for loss in export.losses]
