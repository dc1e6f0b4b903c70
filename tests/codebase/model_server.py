"""A server on loopback that answers Chat Completions requests the way a model with tools does."""

import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


@contextmanager
def chat_server(calls):
    """Serve `/v1/chat/completions`; yields the base URL and the list of requests that arrived.

    The server answers the first request of a conversation with the given `(name, arguments)` calls, and a request that
    carries tool results with text.
    """
    requests = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            requests.append(request)
            body = json.dumps(_completion(request, calls)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=[0.01])  # seconds between looks at the shutdown flag
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", requests
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _completion(request, calls):
    known = {tool["function"]["name"] for tool in request["tools"]}
    message = {"role": "assistant", "content": "Done."}
    if not any(sent["role"] == "tool" for sent in request["messages"]):
        assert {name for name, _ in calls} <= known, known
        message = {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": f"call_{n}",
                    "type": "function",
                    "function": {"name": name, "arguments": json.dumps(given)},
                }
                for n, (name, given) in enumerate(calls)
            ],
        }
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": request["model"],
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
    }
