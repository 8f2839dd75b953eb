"""A real HTTP endpoint that speaks OpenAI's chat completions; the model's name chooses how it behaves."""

import contextlib
import json
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from tests.helpers.history import complaints

Message = dict[str, Any]
Calls = list[tuple[str, dict[str, Any]]]

SECRET = "sk-secret-0123456789"
USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


@dataclass(frozen=True)
class Conversation:
    """What the model was sent, in the `request`th request to it (from 1), failed ones included."""

    messages: list[Message]
    request: int = 1
    tools: list[dict[str, Any]] = field(default_factory=list)

    @property
    def turn(self) -> int:
        """0 for the first answer of this alarm."""
        return sum(message["role"] == "assistant" for message in self.messages)

    @property
    def calls(self) -> list[tuple[str, str, dict[str, Any]]]:
        """Id, tool and arguments of every call so far."""
        return [
            (call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]))
            for message in self.messages
            for call in message.get("tool_calls") or []
        ]

    def answers(self, tool: str) -> list[Message]:
        """The JSON results of a tool so far."""
        names = {own: name for own, name, _arguments in self.calls}
        return [
            json.loads(message["content"])
            for message in self.messages
            if message["role"] == "tool" and names.get(message["tool_call_id"]) == tool
        ]

    @cached_property
    def alarm(self) -> dict[str, Any]:
        """The alarm's facts, from the fence in the first prompt."""
        prompt: str = next(message["content"] for message in self.messages if message["role"] == "user")
        facts: dict[str, Any] = json.loads(prompt.split("```json\n", 1)[1].rsplit("\n```", 1)[0])
        return facts


@dataclass(frozen=True)
class Reply:
    """An answer below the level of messages: any status, any bytes, at any pace."""

    body: bytes | Iterable[bytes] = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)  # beside a JSON type, and a length where one is
    pause_seconds: float = 0  # before each piece of the body
    pause_before_seconds: float = 0  # before the first byte of the head
    reset: bool = False  # instead of an orderly end

    @classmethod
    def json(cls, value: Any, **more: Any) -> "Reply":
        return cls(json.dumps(value).encode(), **more)

    @classmethod
    def error(cls, status: int, message: str, **more: Any) -> "Reply":
        """As OpenAI words its errors; endpoints quote the key in it."""
        error = {"message": f"{message} (key {SECRET})", "type": "error", "code": more.pop("code", None)}
        return cls.json({"error": error}, status=status, **more)


Behaviour = Callable[[Conversation], Message | Reply]


def says(content: str | None, *calls: tuple[str, dict[str, Any]]) -> Message:
    """An assistant's message with tool calls, whose ids repeat each turn as local servers' do."""
    return {
        "role": "assistant",
        "content": content,
        "tool_calls": [
            written(name, json.dumps(arguments, ensure_ascii=False), n)
            for n, (name, arguments) in enumerate(calls)
        ],
    }


def written(name: Any, arguments: Any, n: int = 0) -> Message:
    """One tool call as it stands in a message, its arguments as they were written."""
    return {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": arguments}}


def completion(message: Any, **more: Any) -> dict[str, Any]:
    """The body of an answer around a message."""
    choice = {"index": 0, "finish_reason": more.pop("finish_reason", "stop"), "message": message}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": "a model",
        "choices": [choice],
        "usage": USAGE,
    } | more


def good_calls(conversation: Conversation) -> Calls:
    """Three turns: manual and shift; the manual's parts, without an entry the equipment; the order."""
    alarm, manual = conversation.alarm, conversation.answers("search_manual")
    if not manual:
        return [("search_manual", {}), ("query_shift", {})]
    listed = [part for entry in manual[-1].get("entries", []) for part in entry["parts"]]
    if not manual[-1].get("entries"):
        listed = [alarm["equipment"] or alarm["equipment_class"] or alarm["fault_code"]]
    asked = [
        arguments.get("part") for _id, name, arguments in conversation.calls if name == "query_spare_parts"
    ]
    wanted = [part for part in dict.fromkeys(listed) if part not in asked]
    if wanted:
        return [("query_spare_parts", {"part": part}) for part in wanted[:8]]
    return [("generate_work_order", {"diagnosis": "通讯线松动", "actions": ["上锁挂牌", "检查通讯线"]})]


def good(conversation: Conversation) -> Message:
    """What the prompt asks for, and nothing else."""
    return says("", *good_calls(conversation))


def walks_the_calendar(conversation: Conversation) -> Message:
    """The fault this project began with: another date each turn, for ever."""
    return says("换一天再查", ("query_shift", {"date": f"2026-08-{conversation.turn + 1:02d}"}))


@dataclass
class Endpoint:
    """Started on a free port of the loopback interface by `with`; counts the requests of each model.

    It reads what it is sent as the strictest of servers does, and fails its test if there was anything to
    complain of. A model's name may be followed by `@` and more: the same behaviour, counted apart.
    """

    behaviours: Mapping[str, Behaviour] = field(
        default_factory=lambda: {"good": good, "calendar": walks_the_calendar}
    )
    requests: Counter[str] = field(default_factory=Counter)
    complaints: list[str] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_exc: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        assert kind is not None or not self.complaints, "\n".join(self.complaints[:20])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def answer(self, raw: bytes) -> Reply:
        body = json.loads(raw)
        model: str = body["model"]
        self.requests[model] += 1
        self.complaints += [
            f"{model}, request {self.requests[model]}: {one}" for one in complaints(raw, body)
        ]
        said = Conversation(body["messages"], self.requests[model], body.get("tools") or [])
        answer = self.behaviours[model.partition("@")[0]](said)
        return answer if isinstance(answer, Reply) else Reply.json(completion(answer))


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512  # a worker's alarms all come at once


def _handler(endpoint: Endpoint) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1
        disable_nagle_algorithm = True

        def handle(self) -> None:
            with contextlib.suppress(OSError):  # a client that has had enough hangs up
                super().handle()

        def finish(self) -> None:
            with contextlib.suppress(OSError):
                super().finish()

        def do_POST(self) -> None:
            self._send(endpoint.answer(self.rfile.read(int(self.headers["Content-Length"]))))

        def _send(self, reply: Reply) -> None:
            endpoint.closing.wait(reply.pause_before_seconds)
            self.send_response(reply.status)
            whole = isinstance(reply.body, bytes)
            length = {"Content-Length": str(len(reply.body))} if isinstance(reply.body, bytes) else {}
            for name, value in ({"Content-Type": "application/json"} | length | dict(reply.headers)).items():
                self.send_header(name, value)
            self.end_headers()
            for piece in [reply.body] if isinstance(reply.body, bytes) else reply.body:
                if reply.pause_seconds:
                    self.wfile.flush()
                if endpoint.closing.wait(reply.pause_seconds):
                    break
                self.wfile.write(piece)
            self.wfile.flush()
            self.close_connection = not whole or "Content-Length" in reply.headers
            if reply.reset:
                linger = b"\x01\x00\x00\x00\x00\x00\x00\x00"  # on, for no time: a reset instead of an end
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                self.close_connection = True

        def do_GET(self) -> None:
            account = {"requests": endpoint.requests, "complaints": endpoint.complaints}
            self._send(Reply.json(account))

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Quiet: the tests' output is theirs."""

    return Handler
