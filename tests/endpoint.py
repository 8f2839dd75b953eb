"""A real HTTP endpoint that speaks OpenAI's chat completions; the model's name chooses how it behaves."""

import contextlib
import json
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

Message = dict[str, Any]
Behaviour = Callable[["Conversation"], Message]


@dataclass(frozen=True)
class Conversation:
    """What the model was sent."""

    messages: list[Message]

    @property
    def turn(self) -> int:
        """0 for the first answer of this alarm."""
        return sum(message["role"] == "assistant" for message in self.messages)

    def answers(self, tool: str) -> list[Message]:
        """The JSON results of a tool so far."""
        names = {
            call["id"]: call["function"]["name"]
            for message in self.messages
            for call in message.get("tool_calls") or []
        }
        return [
            json.loads(message["content"])
            for message in self.messages
            if message["role"] == "tool" and names.get(message["tool_call_id"]) == tool
        ]


def says(content: str, *calls: tuple[str, dict[str, Any]]) -> Message:
    """An assistant's message with tool calls, whose ids repeat each turn as local servers' do."""
    return {
        "role": "assistant",
        "content": content,
        "tool_calls": [
            {
                "id": f"call_{n}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)},
            }
            for n, (name, arguments) in enumerate(calls)
        ],
    }


def good(conversation: Conversation) -> Message:
    """Three turns: manual and shift, the manual's parts, the order."""
    manual = conversation.answers("search_manual")
    if not manual:
        return says("", ("search_manual", {}), ("query_shift", {}))
    parts = [part for entry in manual[-1].get("entries", []) for part in entry["parts"]] or ["equipment"]
    if not conversation.answers("query_spare_parts"):
        return says("", *(("query_spare_parts", {"part": part}) for part in dict.fromkeys(parts)))
    return says(
        "", ("generate_work_order", {"diagnosis": "通讯线松动", "actions": ["上锁挂牌", "检查通讯线"]})
    )


def walks_the_calendar(conversation: Conversation) -> Message:
    """The fault this project began with: another date each turn, for ever."""
    return says("换一天再查", ("query_shift", {"date": f"2026-08-{conversation.turn + 1:02d}"}))


@dataclass
class Endpoint:
    """Started on a free port of the loopback interface by `with`; counts the requests of each model."""

    behaviours: dict[str, Behaviour] = field(
        default_factory=lambda: {"good": good, "calendar": walks_the_calendar}
    )
    requests: Counter[str] = field(default_factory=Counter)

    def __enter__(self) -> Self:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        self.requests[body["model"]] += 1
        message = self.behaviours[body["model"]](Conversation(body["messages"]))
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
        }


def _handler(endpoint: Endpoint) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle(self) -> None:
            with contextlib.suppress(OSError):  # a client that has had enough hangs up
                super().handle()

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = json.dumps(endpoint.answer(body), ensure_ascii=False).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Quiet: the tests' output is theirs."""

    return Handler
