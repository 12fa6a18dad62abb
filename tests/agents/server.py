"""A local server that speaks OpenAI's chat protocol from a script, faults among its answers. What it was asked, it counts.

`Reply` is one answer of the model, `Fault` something that goes wrong before it. The script is indexed by the number of assistant messages in
the request, so that a client that was killed and continues is served as if nothing had happened.
"""

import json
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Fault:
    """Before a reply: a status, a slow answer, a body that is no JSON, a connection that is closed."""

    status: int = 200
    slow_s: float = 0.0
    body: bytes | None = None


@dataclass
class Reply:
    """One answer: text, reasoning, calls with arguments (a dict, or a text that may be broken), usage."""

    text: str = ""
    calls: list[tuple[str, Any]] = field(default_factory=list)
    reasoning: str | None = None
    finish: str | None = None
    faults: list[Fault] = field(default_factory=list)
    prompt_tokens: int = 100
    cached_tokens: int = 40
    completion_tokens: int = 20
    reasoning_tokens: int = 5

    def body(self, turn: int) -> dict[str, Any]:
        """As the protocol has it."""
        message: dict[str, Any] = {"role": "assistant", "content": self.text or None}
        if self.reasoning:
            message["reasoning_content"] = self.reasoning
        if self.calls:
            message["tool_calls"] = [
                {
                    "id": f"call_{turn}_{index}", "type": "function",
                    "function": {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given)},
                }
                for index, (name, given) in enumerate(self.calls)
            ]  # fmt: skip
        return {
            "id": f"chat-{turn}", "object": "chat.completion", "created": 1, "model": "model",
            "choices": [{"index": 0, "message": message, "finish_reason": self.finish or ("tool_calls" if self.calls else "stop")}],
            "usage": {
                "prompt_tokens": self.prompt_tokens, "completion_tokens": self.completion_tokens,
                "total_tokens": self.prompt_tokens + self.completion_tokens, "prompt_tokens_details": {"cached_tokens": self.cached_tokens},
                "completion_tokens_details": {"reasoning_tokens": self.reasoning_tokens},
            },
        }  # fmt: skip


class ModelServer:
    """The server on a port of its own. `answered` counts whole answers by turn, `asked` all requests."""

    def __init__(self, script: list[Reply]):
        self.script = script
        self.answered: Counter[int] = Counter()
        self.asked: list[dict[str, Any]] = []
        self._faults: dict[int, list[Fault]] = {turn: list(reply.faults) for turn, reply in enumerate(script)}
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                outer._serve(self)

            def log_message(self, *_: object) -> None: ...

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        request = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        turn = sum(message["role"] == "assistant" for message in request["messages"])
        with self._lock:
            self.asked.append(request)
            fault = self._faults[turn].pop(0) if self._faults.get(turn) else None
        if fault is not None and (fault.status != 200 or fault.body is not None):
            time.sleep(fault.slow_s)
            return self._send(handler, fault.status, fault.body or b'{"error": {"message": "injected", "type": "server_error"}}')
        time.sleep(fault.slow_s if fault is not None else 0)
        reply = self.script[min(turn, len(self.script) - 1)]
        with self._lock:
            self.answered[turn] += 1
        self._send(handler, 200, json.dumps(reply.body(turn)).encode())

    def _send(self, handler: BaseHTTPRequestHandler, status: int, body: bytes) -> None:
        try:
            handler.send_response(status)
            if status == 429:
                handler.send_header("Retry-After", "0")
            handler.send_header("Content-Type", "application/json")
            handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)
        except OSError:
            pass  # the client is gone: it was killed, or it waited long enough

    def __enter__(self) -> "ModelServer":
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
