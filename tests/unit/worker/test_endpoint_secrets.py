"""The key, and what a base URL holds of the kind: sent to the endpoint, and taken out of its answers."""

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from worker.agent.endpoint import Address, compatible_chat
from worker.agent.models import close
from worker.settings import AgentSettings

KEY = "sk-s3cret-key"


class Requests(HTTPServer):
    """Answers every request alike, and remembers each one's path and headers."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.seen: list[tuple[str, dict[str, str]]] = []


class _Handler(BaseHTTPRequestHandler):
    server: Requests

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.seen.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
        body = json.dumps({"choices": [{"message": {"role": "assistant", "content": f"key {KEY}"}}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Quiet: the tests' output is theirs."""


@pytest.fixture
def requests() -> Iterator[Requests]:
    with Requests() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def asked(base_url: str) -> AIMessage:
    async def ask() -> AIMessage:
        model = compatible_chat("m", AgentSettings(openai_api_key=KEY, openai_base_url=base_url))
        assert "s3cret" not in repr(model)
        try:
            return await model.ainvoke("问")
        finally:
            await close(model)

    return asyncio.run(ask())


def read(message: dict[str, Any], key: str = KEY, url: str = "http://h/v1") -> AIMessage:
    model = compatible_chat("m", AgentSettings(openai_api_key=key, openai_base_url=url))
    made = model._create_chat_result({"choices": [{"message": message}]}).generations[0].message
    assert isinstance(made, AIMessage)
    return made


def test_the_query_of_a_base_url_comes_after_the_path_of_each_request(requests: Requests) -> None:
    host = f"127.0.0.1:{requests.server_port}"
    assert asked(f"http://{host}/v1/?api-version=1&api-key=s3cret%2Fquery").text == "key ***"
    [(path, headers)] = requests.seen
    assert path == "/v1/chat/completions?api-version=1&api-key=s3cret%2Fquery"
    assert headers["authorization"] == f"Bearer {KEY}"


def test_the_login_of_a_base_url_is_sent_in_the_place_of_the_key(requests: Requests) -> None:
    asked(f"http://user:p%40ss@127.0.0.1:{requests.server_port}/v1")
    [(path, headers)] = requests.seen
    assert path == "/v1/chat/completions"
    assert headers["authorization"] == "Basic dXNlcjpwQHNz"


@pytest.mark.parametrize(
    ("base_url", "address"),
    [
        (None, (None, {}, None)),
        ("http://h:8000/v1", ("http://h:8000/v1", {}, None)),
        ("https://h/v1/?a=1&b=", ("https://h/v1/", {"a": "1", "b": ""}, None)),
        ("http://u:p%40s@[::1]:8000/v1#x", ("http://[::1]:8000/v1", {}, ("u", "p@s"))),
        ("http://u@h/v1", ("http://h/v1", {}, ("u", ""))),
    ],
)
def test_a_base_url_in_its_parts(base_url: str | None, address: tuple[Any, ...]) -> None:
    assert Address.of(base_url) == address


def test_what_an_endpoint_quotes_of_the_key_is_gone_before_anybody_sees_it() -> None:
    url = "http://u:s3cret%40url@h/v1?token=s3cret-query"
    words = f"{KEY}, s3cret@url, s3cret%40url, s3cret-query"
    arguments = {"diagnosis": words, KEY: [words], "n": 7}
    calls = [
        {"id": "1", "function": {"name": "generate_work_order", "arguments": json.dumps(arguments)}},
        {"id": "2", "function": {"name": f"ask_{KEY}", "arguments": f"{{date: '{KEY}"}},
    ]
    said = read({"content": words, "tool_calls": calls}, url=url)
    masked = "***, ***, ***, ***"
    assert said.text == masked
    assert said.tool_calls[0]["args"] == {"diagnosis": masked, "***": [masked], "n": 7}
    assert "s3cret" not in repr(said)


def test_a_key_with_marks_that_json_escapes_is_found_in_arguments() -> None:
    key = 'sk-"s3cret\\key'
    call = {"id": "1", "function": {"name": "query_spare_parts", "arguments": json.dumps({"part": key})}}
    assert read({"tool_calls": [call]}, key=key).tool_calls[0]["args"] == {"part": "***"}


@pytest.mark.parametrize("key", ["EMPTY", "ollama", "1", "none"])
def test_a_key_that_is_none_takes_no_word_out_of_an_answer(key: str) -> None:
    assert read({"content": f"EMPTY ollama 1 none: {key}"}, key=key).text == f"EMPTY ollama 1 none: {key}"
