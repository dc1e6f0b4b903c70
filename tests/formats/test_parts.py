"""Every kind of media in every format: sent, or left out and reported."""

from base64 import b64encode

from tests.cases import each_case
from toolhaft import Audio, Document, Image, ToolCall, ToolResult, Video
from toolhaft.formats import FORMATS, Loss, encode_results

CALL = ToolCall("call00001", "look", "{}")
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
BYTES = b"bytes"
BASE64 = b64encode(BYTES).decode()
PNG_URL = f"data:image/png;base64,{BASE64}"
PDF_URL = f"data:application/pdf;base64,{BASE64}"
DOCX_URL = f"data:{DOCX};base64,{BASE64}"
WEB = "https://example.org/a"

PARTS = {
    "png": Image(data=BYTES),
    "png in a data URL": Image(url=PNG_URL, media_type="image/bmp"),
    "png elsewhere": Image(url=WEB),
    "png in a bucket": Image(url="s3://a-bucket/a.png"),
    "png in no bucket": Image(url="s3://A_bucket/a.png"),
    "png on this disk": Image(url="file:///a.png"),
    "empty png": Image(data=b""),
    "gif": Image(data=BYTES, media_type="image/gif"),
    "bmp": Image(data=BYTES, media_type="image/bmp"),
    "bmp elsewhere": Image(url=WEB, media_type="image/bmp"),
    "pdf said to be an image": Image(data=BYTES, media_type="application/pdf"),
    "wav": Audio(data=BYTES),
    "wav elsewhere": Audio(url=WEB),
    "midi": Audio(data=BYTES, media_type="audio/midi"),
    "mp4": Video(data=BYTES),
    "mp4 elsewhere": Video(url=WEB),
    "ogv": Video(data=BYTES, media_type="video/ogg"),
    "pdf": Document(data=BYTES, name="a"),
    "pdf elsewhere": Document(url=WEB),
    "docx": Document(data=BYTES, media_type=DOCX, name="a"),
    "text": Document(data=BYTES, media_type="text/plain", name="a"),
    "text elsewhere": Document(url=WEB, media_type="text/plain"),
    "blank text": Document(data=b" ", media_type="text/plain", name="a"),
    "python": Document(data=BYTES, media_type="text/x-python", name="a"),
    "json": Document(data=BYTES, media_type="application/json", name="a"),
    "zip": Document(data=BYTES, media_type="application/zip", name="a"),
    "zip elsewhere": Document(url=WEB, media_type="application/zip"),
}


def _anthropic(kind, source, **more):
    return {"type": kind, "source": source, **more}


def _base64(media_type):
    return {"type": "base64", "media_type": media_type, "data": BASE64}


def _plain(text):
    return {"type": "text", "media_type": "text/plain", "data": text}


def _bedrock(form, data=BYTES):
    return {"document": {"format": form, "name": "a", "source": {"bytes": data}}}


def _picture(form, **source):
    return {"image": {"format": form, "source": source}}


def _inline(media_type, data=BASE64):
    return {"inlineData": {"mimeType": media_type, "data": data}}


def _elsewhere(media_type):
    return {"fileData": {"fileUri": WEB, "mimeType": media_type}}


def _here(kind, media_type):
    return {"type": kind, "data": BASE64, "mimeType": media_type}


def _link(url, media_type):
    return {"type": "resource_link", "uri": url, "name": url.rpartition("/")[2], "mimeType": media_type}


def _resource(name, media_type, **inside):
    return {
        "type": "resource",
        "resource": {"uri": f"attachment:///{name}", "mimeType": media_type, **inside},
    }


def _input_image(url):
    return {"type": "input_image", "image_url": url, "detail": "auto"}


def _input_file(data_url):
    return {"type": "input_file", "filename": "a", "file_data": data_url}


def _chat_image(url):
    return {"type": "image_url", "image_url": {"url": url}}


def _text(text, kind="text"):
    return {"type": kind, "text": text}


def _cohere(**data):
    return {"type": "document", "document": {"data": data}}


GIF_URL = f"data:image/gif;base64,{BASE64}"
MCP = {
    "png": _here("image", "image/png"),
    "png in a data URL": _here("image", "image/png"),
    "png elsewhere": _link(WEB, "image/png"),
    "png in a bucket": _link("s3://a-bucket/a.png", "image/png"),
    "png in no bucket": _link("s3://A_bucket/a.png", "image/png"),
    "png on this disk": _link("file:///a.png", "image/png"),
    "empty png": {"type": "image", "data": "", "mimeType": "image/png"},
    "gif": _here("image", "image/gif"),
    "bmp": _here("image", "image/bmp"),
    "bmp elsewhere": _link(WEB, "image/bmp"),
    "pdf said to be an image": _here("image", "application/pdf"),
    "wav": _here("audio", "audio/wav"),
    "wav elsewhere": _link(WEB, "audio/wav"),
    "midi": _here("audio", "audio/midi"),
    "mp4": _resource("video", "video/mp4", blob=BASE64),
    "mp4 elsewhere": _link(WEB, "video/mp4"),
    "ogv": _resource("video", "video/ogg", blob=BASE64),
    "pdf": _resource("a", "application/pdf", blob=BASE64),
    "pdf elsewhere": _link(WEB, "application/pdf"),
    "docx": _resource("a", DOCX, blob=BASE64),
    "text": _resource("a", "text/plain", text="bytes"),
    "text elsewhere": _link(WEB, "text/plain"),
    "blank text": _resource("a", "text/plain", text=" "),
    "python": _resource("a", "text/x-python", text="bytes"),
    "json": _resource("a", "application/json", blob=BASE64),
    "zip": _resource("a", "application/zip", blob=BASE64),
    "zip elsewhere": _link(WEB, "application/zip"),
}
CARRIED = {
    "anthropic": {
        "png": _anthropic("image", _base64("image/png")),
        "png in a data URL": _anthropic("image", _base64("image/png")),
        "png elsewhere": _anthropic("image", {"type": "url", "url": WEB}),
        "gif": _anthropic("image", _base64("image/gif")),
        "pdf": _anthropic("document", _base64("application/pdf"), title="a"),
        "pdf elsewhere": _anthropic("document", {"type": "url", "url": WEB}),
        "text": _anthropic("document", _plain("bytes"), title="a"),
        "python": _anthropic("document", _plain("bytes"), title="a"),
    },
    "bedrock": {
        "png": _picture("png", bytes=BYTES),
        "png in a data URL": _picture("png", bytes=BYTES),
        "png in a bucket": _picture("png", s3Location={"uri": "s3://a-bucket/a.png"}),
        "gif": _picture("gif", bytes=BYTES),
        "mp4": {"video": {"format": "mp4", "source": {"bytes": BYTES}}},
        "pdf": _bedrock("pdf"),
        "docx": _bedrock("docx"),
        "text": _bedrock("txt"),
        "blank text": _bedrock("txt", b" "),
    },
    "cohere": {
        "pdf elsewhere": _cohere(url=WEB),
        "text": _cohere(title="a", text="bytes"),
        "text elsewhere": _cohere(url=WEB),
        "blank text": _cohere(title="a", text=" "),
        "python": _cohere(title="a", text="bytes"),
        "zip elsewhere": _cohere(url=WEB),
    },
    "gemini": {
        "png": _inline("image/png"),
        "png in a data URL": _inline("image/png"),
        "png elsewhere": _elsewhere("image/png"),
        "mp4": _inline("video/mp4"),
        "mp4 elsewhere": _elsewhere("video/mp4"),
        "pdf": _inline("application/pdf"),
        "pdf elsewhere": _elsewhere("application/pdf"),
        "text": _inline("text/plain"),
        "text elsewhere": _elsewhere("text/plain"),
        "blank text": _inline("text/plain", "IA=="),
        "python": _inline("text/plain"),
    },
    "mcp": MCP,
    "mistral": {
        "png": {"type": "image_url", "image_url": PNG_URL},
        "png in a data URL": {"type": "image_url", "image_url": PNG_URL},
        "png elsewhere": {"type": "image_url", "image_url": WEB},
        "gif": {"type": "image_url", "image_url": GIF_URL},
        "wav": {"type": "input_audio", "input_audio": BASE64},
        "wav elsewhere": {"type": "input_audio", "input_audio": WEB},
        "pdf": {"type": "document_url", "document_url": PDF_URL, "document_name": "a"},
        "pdf elsewhere": {"type": "document_url", "document_url": WEB},
        "docx": {"type": "document_url", "document_url": DOCX_URL, "document_name": "a"},
        "text": _text("a:\nbytes"),
        "blank text": _text("a:\n "),
        "python": _text("a:\nbytes"),
    },
    "native": MCP,
    "ollama": {"png": BASE64, "png in a data URL": BASE64},
    "openai_chat": {
        "png": _chat_image(PNG_URL),
        "png in a data URL": _chat_image(PNG_URL),
        "png elsewhere": _chat_image(WEB),
        "gif": _chat_image(GIF_URL),
        "wav": {"type": "input_audio", "input_audio": {"data": BASE64, "format": "wav"}},
        "pdf": {"type": "file", "file": {"filename": "a", "file_data": PDF_URL}},
        "text": _text("a:\nbytes"),
        "blank text": _text("a:\n "),
        "python": _text("a:\nbytes"),
    },
    "openai_responses": {
        "png": _input_image(PNG_URL),
        "png in a data URL": _input_image(PNG_URL),
        "png elsewhere": _input_image(WEB),
        "gif": _input_image(GIF_URL),
        "pdf": _input_file(PDF_URL),
        "pdf elsewhere": {"type": "input_file", "file_url": WEB},
        "docx": _input_file(DOCX_URL),
        "text": _text("a:\nbytes", "input_text"),
        "text elsewhere": {"type": "input_file", "file_url": WEB},
        "blank text": _text("a:\n ", "input_text"),
        "python": _text("a:\nbytes", "input_text"),
        "json": _input_file(f"data:application/json;base64,{BASE64}"),
    },
}


def _messages(text, *written):
    """For each format, what answers the call with this text and these parts."""
    more = list(written)
    blocks = [_text(text), *more]
    content = blocks if more else text
    tool = {"role": "tool", "tool_call_id": CALL.id}
    block = {"type": "tool_result", "tool_use_id": CALL.id, "content": content}
    result = {"toolUseId": CALL.id, "content": [{"text": text}, *more], "status": "success"}
    response = {"id": CALL.id, "name": "look", "response": {"output": text}}
    shown = {"role": "user", "content": [_text(f"From look ({CALL.id}):"), *more]}
    output = [_text(text, "input_text"), *more] if more else text
    return {
        "anthropic": [{"role": "user", "content": [block]}],
        "bedrock": [{"role": "user", "content": [{"toolResult": result}]}],
        "cohere": [{**tool, "content": content}],
        "gemini": [
            {"role": "user", "parts": [{"functionResponse": response | ({"parts": more} if more else {})}]}
        ],
        "mcp": [{"resultType": "complete", "content": blocks}],
        "mistral": [{**tool, "name": "look", "content": content}],
        "native": [{"call_id": CALL.id, "name": "look", "success": True, "content": blocks}],
        "ollama": [{**tool, "tool_name": "look", "content": text} | ({"images": more} if more else {})],
        "openai_chat": [{**tool, "content": text}, *([shown] if more else [])],
        "openai_responses": [{"type": "function_call_output", "call_id": CALL.id, "output": output}],
    }


@each_case("format", FORMATS)
@each_case("name", PARTS)
def test_a_media_part_is_sent_or_reported_as_lost(format, name):
    """Images, documents, audio where the format carries them, a reported loss where it does not."""
    part = PARTS[name]
    encoded = encode_results([(CALL, ToolResult(message="so", content=(part,)))], format)
    if name in CARRIED[format]:
        wanted, losses = _messages("so", CARRIED[format][name]), ()
    elif isinstance(part, Document) and part.text is not None:
        wanted = _messages(f"so\n\n{part.name}:\n{part.text}")
        losses = (Loss("look", "/content/0", "document", "reshaped", "its text is appended to the result"),)
    else:
        wanted = _messages(f"so\n\n[{part.kind} left out: {part.media_type}]")
        losses = (Loss("look", "/content/0", part.kind, "left out"),)
    assert (list(encoded), encoded.losses) == (wanted[format], losses)


@each_case("format", FORMATS)
def test_a_data_url_is_never_sent_as_text(format):
    long = f"data:image/bmp;base64,{b64encode(BYTES * 100).decode()}"
    link = {"type": "resource_link", "uri": long, "name": "a"}
    encoded = encode_results([(CALL, ToolResult(message="so", content=(Image(url=long), link)))], format)
    picture = Image(data=BYTES * 100, media_type="image/bmp")
    assert encoded == encode_results([(CALL, ToolResult(message="so", content=(picture, picture)))], format)
    assert long not in str(list(encoded))


HALF = "a\udcffb"
SHOWN = "a\\udcffb"


@each_case("format", FORMATS)
@each_case(
    "result",
    [
        ToolResult.ok(HALF, message=""),
        ToolResult(message=HALF),
        ToolResult(content=(HALF,)),
        ToolResult(content=({"type": "text", "text": HALF},)),
    ],
    ids=["value", "message", "text", "text of MCP"],
)
def test_a_lone_surrogate_is_escaped(format, result):
    """A file's name can hold one, and every client fails on it: the turn would have no answer."""
    assert encode_results([(CALL, result)], format) == _messages(SHOWN)[format]


@each_case("format", FORMATS)
def test_a_lone_surrogate_is_escaped_in_every_field(format):
    parts = (
        Document(data=BYTES, name=HALF),
        Document(data=BYTES, media_type="text/plain", name=HALF),
        Image(url=f"{WEB}/{HALF}"),
        Image(data=BYTES, media_type=HALF),
    )
    shown = (
        Document(data=BYTES, name=SHOWN),
        Document(data=BYTES, media_type="text/plain", name=SHOWN),
        Image(url=f"{WEB}/{SHOWN}"),
        Image(data=BYTES, media_type=SHOWN),
    )
    results = [ToolResult(message="so", content=parts), ToolResult.error(HALF)]
    wanted = [ToolResult(message="so", content=shown), ToolResult.error(SHOWN)]
    calls = [CALL, ToolCall("call00002", "look", "{}")]
    encoded = encode_results(results, format, calls=calls)
    assert encoded == encode_results(wanted, format, calls=calls)
    assert encoded.losses == encode_results(wanted, format, calls=calls).losses
