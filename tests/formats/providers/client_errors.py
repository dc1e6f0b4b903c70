"""What each client raises when its server refuses a request."""

import anthropic
import cohere.errors
import ollama
import openai
from botocore.exceptions import ClientError
from google.genai import errors as gemini_errors
from mistralai.client.errors import MistralError

CLIENT_ERRORS = {
    "openai_chat": openai.BadRequestError,
    "openai_responses": openai.BadRequestError,
    "anthropic": anthropic.BadRequestError,
    "bedrock": ClientError,
    "gemini": gemini_errors.ClientError,
    "mistral": MistralError,
    "cohere": cohere.errors.BadRequestError,
    "ollama": ollama.ResponseError,
}
