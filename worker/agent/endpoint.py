"""The chat model behind an OpenAI-compatible endpoint; many of those take the protocol less exactly."""

import json
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

import httpx2
from langchain_core.language_models import LanguageModelInput
from langchain_core.outputs import ChatResult
from langchain_openai import ChatOpenAI
from openai import BaseModel, DefaultAsyncHttpxClient
from pydantic import PrivateAttr, SecretStr

from tools.redaction import SHORT, Redactor
from worker.agent.loose import clean, cleaned
from worker.settings import AgentSettings

MAX_ANSWER_BYTES = 1_000_000
"""Many times what a model says in one turn; an answer without end must not fill the memory of a worker."""


class UnreadableAnswerError(Exception):
    """Raised when an answer is no chat completion, or too long for one."""


class CompatibleChat(ChatOpenAI):
    """What it sends is taken by strict servers, and what lax servers answer is read as it was meant.

    An answer that quotes the key loses it here, before anything is logged, stored or shown of it.
    """

    _redactor: Redactor = PrivateAttr(default_factory=Redactor)

    def _get_request_payload(
        self, input_: LanguageModelInput, *, stop: list[str] | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        payload: dict[str, Any] = super()._get_request_payload(input_, stop=stop, **kwargs)
        for message in payload["messages"]:
            if message.get("content") is None:  # beside tool calls; there are servers that answer 500 to it
                message["content"] = ""
        return payload

    def _create_chat_result(self, response: Any, generation_info: dict[str, Any] | None = None) -> ChatResult:
        answer = plain(response)
        message = answer["choices"][0]["message"]
        message["content"] = self._without_key(message["content"])
        for call in message["tool_calls"]:
            function = call["function"]
            function |= {name: self._without_key(written) for name, written in function.items()}
        return super()._create_chat_result(answer, generation_info)

    def _without_key(self, written: str) -> str:
        return self._redactor.text(written, len(written))


class Address(NamedTuple):
    """A base URL in its parts: its query is no place to write a path after, and what is secret in it would
    stand in each line and error that names the URL."""

    url: str | None
    query: dict[str, str]
    login: tuple[str, str] | None

    @classmethod
    def of(cls, base_url: str | None) -> "Address":
        parts = urlsplit(base_url or "")
        login = None
        if parts.username is not None:
            login = (unquote(parts.username), unquote(parts.password or ""))
        url = parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
        return cls(url or None, dict(parse_qsl(parts.query, keep_blank_values=True)), login)


def compatible_chat(model: str, settings: AgentSettings) -> CompatibleChat:
    address = Address.of(settings.openai_base_url)
    chat = CompatibleChat(
        model=model,
        base_url=address.url,
        api_key=settings.openai_api_key or SecretStr("none"),  # local servers ask for none, the client does
        timeout=settings.llm_timeout_seconds,
        # Its own, since the library shares one among all models of a process, whatever their event loop.
        http_async_client=DefaultAsyncHttpxClient(
            timeout=settings.llm_timeout_seconds,
            params=address.query,
            auth=address.login,
            follow_redirects=False,  # each request is counted
            headers={"Accept-Encoding": "identity"},  # a short answer may unpack to a long one
            event_hooks={"response": [_not_packed, bounded(MAX_ANSWER_BYTES)]},
        ),
        max_retries=0,
        temperature=0,
        use_responses_api=False,
    )
    # A shorter one ("EMPTY", "ollama") is a word of its own, and no secret.
    secrets = [secret for secret in settings.secrets if len(secret) >= SHORT]
    chat._redactor = Redactor(secrets=[*secrets, *(json.dumps(secret)[1:-1] for secret in secrets)])
    return chat


class _Bounded(httpx2.AsyncByteStream):
    """A body that ends with an error where it becomes too long."""

    def __init__(self, stream: httpx2.AsyncByteStream, most: int) -> None:
        self._stream = stream
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self._most
        async for piece in self._stream:
            left -= len(piece)
            if left < 0:
                raise UnreadableAnswerError(f"longer than {self._most} bytes")
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _not_packed(response: httpx2.Response) -> None:
    if response.headers.get("content-encoding", "identity") != "identity":
        raise UnreadableAnswerError("packed, though it was asked for as it is")


def bounded(most: int) -> Callable[[httpx2.Response], Awaitable[None]]:
    """A hook on a client's responses: a body of more bytes than that is an error."""

    async def bound(response: httpx2.Response) -> None:
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Bounded(response.stream, most)

    return bound


def plain(response: Any) -> dict[str, Any]:
    """The answer as OpenAI would have written it. Raises UnreadableAnswerError when there is none in it."""
    body = response.model_dump(warnings=False) if isinstance(response, BaseModel) else response
    choices = body.get("choices") if isinstance(body, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict):
        raise UnreadableAnswerError("without a message")
    return {
        "choices": [{"index": 0, "finish_reason": "stop", "message": _message(message)}],
        "usage": _usage(body.get("usage")),
    }


def _message(message: dict[str, Any]) -> dict[str, Any]:
    calls = message.get("tool_calls")
    if isinstance(calls, dict):
        calls = [calls] if calls.keys() & {"function", "name"} else list(calls.values())
    if not calls and isinstance(message.get("function_call"), dict):  # as it was before there were tools
        calls = [message["function_call"]]
    if not isinstance(calls, list):
        calls = []
    return {
        "role": "assistant",
        "content": _content(message.get("content") or message.get("refusal")),
        "tool_calls": [_call(n, call) for n, call in enumerate(calls) if isinstance(call, dict) and call],
    }


def _content(content: Any) -> str:
    """Text as it is, the text of content blocks, anything else as JSON has it."""
    if isinstance(content, list):
        texts = [block.get("text") if isinstance(block, dict) else block for block in content]
        return clean("".join(text for text in texts if isinstance(text, str)))
    if isinstance(content, str):
        return clean(content)
    return "" if content is None else json.dumps(cleaned(content), ensure_ascii=False)


def _call(n: int, call: dict[str, Any]) -> dict[str, Any]:
    """Arguments that are no JSON stay as they are written; other JSON than an object stands under `input`."""
    function = call["function"] if isinstance(call.get("function"), dict) else call
    name, arguments = function.get("name"), function.get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments, strict=False)
        except (ValueError, RecursionError):
            return _written(n, name, clean(arguments))
    if not isinstance(arguments, dict):
        arguments = {"input": arguments} if arguments else {}
    return _written(n, name, json.dumps(cleaned(arguments)))


def _written(n: int, name: Any, arguments: str) -> dict[str, Any]:
    name = clean(name) if isinstance(name, str) else ""
    return {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": arguments}}


def _usage(usage: Any) -> dict[str, int] | None:
    """The tokens that were used, where an endpoint says so in numbers."""
    if not isinstance(usage, dict):
        return None
    spent, said = (_count(usage.get(name)) for name in ("prompt_tokens", "completion_tokens"))
    return {"prompt_tokens": spent, "completion_tokens": said, "total_tokens": spent + said}


def _count(value: Any) -> int:
    return int(value) if isinstance(value, int | float) and math.isfinite(value) else 0
