"""The endpoint: errors, hangs, drips, and answers that are no chat completion."""

import gzip
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

from tests.helpers.endpoint import Behaviour, Conversation, Message, Reply, completion, good, good_calls, says
from tests.misbehaviour.ways import bad_reply, first

HOUR = 3600.0


def _every(status: int, message: str = "unwell", **more: Any) -> Behaviour:
    return bad_reply(Reply.error(status, message, **more))


def _once(reply: Reply) -> Behaviour:
    """This first, and then a perfect model."""
    return first(bad_reply(reply), good)


def _midway(reply: Reply) -> Behaviour:
    """A perfect model's first turn, and then this for ever."""
    return first(good, bad_reply(reply))


def _midway_once(reply: Reply) -> Behaviour:
    return first(good, bad_reply(reply), good)


def _around(conversation: Conversation, **more: Any) -> Reply:
    return Reply.json(completion(good(conversation), **more))


def _without_usage(conversation: Conversation) -> Reply:
    body = completion(good(conversation))
    del body["usage"]
    return Reply.json(body)


def _bare(conversation: Conversation) -> Reply:
    """Nothing but the message."""
    return Reply.json({"choices": [{"message": good(conversation)}]})


def _retry_after(value: str, **headers: str) -> Reply:
    return Reply.error(429, "rate limit", headers={"Retry-After": value} | headers)


def _no_tools(conversation: Conversation) -> Message | Reply:
    """A server that does not know tools."""
    return Reply.error(400, "this model does not support tools") if conversation.tools else good(conversation)


def _drip(body: bytes) -> Iterator[bytes]:
    for byte in body:
        yield bytes([byte])


def _flood() -> Iterator[bytes]:
    yield b'{"choices": [{"message": {"role": "assistant", "content": "'
    while True:
        yield b"x" * 65_536


def _chunked(pieces: Iterator[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        yield b"%x\r\n%s\r\n" % (len(piece), piece)
    yield b"0\r\n\r\n"


def _drips(conversation: Conversation) -> Reply:
    body = json.dumps(completion(good(conversation))).encode()
    return Reply(_drip(body), headers={"Content-Length": str(len(body))}, pause_seconds=0.2)


def _drips_for_ever(_conversation: Conversation) -> Reply:
    return Reply(_chunked(_drip(b" " * 100_000)), headers={"Transfer-Encoding": "chunked"}, pause_seconds=0.1)


def _floods(_conversation: Conversation) -> Reply:
    return Reply(_chunked(_flood()), headers={"Transfer-Encoding": "chunked"})


def _cut_short(conversation: Conversation) -> Reply:
    """Half of what its head announces, and a closed connection."""
    body = json.dumps(completion(good(conversation))).encode()
    return Reply(body[: len(body) // 2], headers={"Content-Length": str(len(body))})


def _as_a_stream(conversation: Conversation) -> Reply:
    """Streamed, though nobody asked for it."""
    choice = {"index": 0, "delta": good(conversation)}
    body = f"data: {json.dumps({'choices': [choice]})}\n\ndata: [DONE]\n\n"
    return Reply(body.encode(), headers={"Content-Type": "text/event-stream"})


def _in_parts(conversation: Conversation) -> Reply:
    """A good answer in small chunks."""
    body = json.dumps(completion(good(conversation))).encode()
    pieces = (body[n : n + 50] for n in range(0, len(body), 50))
    return Reply(_chunked(pieces), headers={"Transfer-Encoding": "chunked"})


def _zipped(conversation: Conversation) -> Reply:
    body = gzip.compress(json.dumps(completion(good(conversation))).encode())
    return Reply(body, headers={"Content-Encoding": "gzip"})


def _two_choices(conversation: Conversation) -> Reply:
    choices = [{"index": 0, "message": good(conversation)}, {"index": 1, "message": None}, None]
    return Reply.json(completion(None, choices=choices))


HTML = Reply(b"<html><body><h1>Welcome to nginx</h1></body></html>", headers={"Content-Type": "text/html"})
BOMB = Reply(gzip.compress(b'{"x": "' + b"x" * 50_000_000), headers={"Content-Encoding": "gzip"})

BEHAVIOURS: dict[str, Behaviour] = {
    "500": _every(500),
    "500 once": _once(Reply.error(500, "unwell")),
    "500 without a word": bad_reply(Reply(status=500)),
    "502 from a proxy": bad_reply(Reply(HTML.body, 502, {"Content-Type": "text/html"})),
    "503 midway": _midway(Reply.error(503, "overloaded")),
    "503 once, midway": _midway_once(Reply.error(503, "overloaded")),
    "529": _every(529, "overloaded"),
    "408 once": _once(Reply.error(408, "too slow")),
    "418": _every(418, "a teapot"),
    "429": _every(429, "rate limit"),
    "429 twice": first(*[bad_reply(Reply.error(429, "rate limit"))] * 2, good),
    "429 once, Retry-After 1": _once(_retry_after("1")),
    "429 once, Retry-After in milliseconds": _once(_retry_after("9", **{"Retry-After-Ms": "300"})),
    "429 once, Retry-After in the past": _once(_retry_after("Tue, 04 Aug 2026 02:30:00 GMT")),
    "429, Retry-After a date in an hour": _every(
        429, headers={"Retry-After": format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)}
    ),
    "429, Retry-After a day": _every(429, headers={"Retry-After": "86400"}),
    "429 once, Retry-After no time": _once(_retry_after("soon")),
    "429 once, Retry-After below nothing": _once(_retry_after("-5")),
    "429, Retry-After infinity": _every(429, headers={"Retry-After": "inf"}),
    "429 once, Retry-After NaN": _once(_retry_after("nan")),
    "401": _every(401, "Incorrect API key provided"),
    "401 midway": _midway(Reply.error(401, "Incorrect API key provided")),
    "403": _every(403, "no access"),
    "404, no such model": _every(404, "model not found", code="model_not_found"),
    "402, no money": _every(402, "insufficient balance"),
    "context length at once": _every(400, "maximum context length", code="context_length_exceeded"),
    "context length midway": _midway(
        Reply.error(400, "maximum context length", code="context_length_exceeded")
    ),
    "413 midway": _midway(Reply.error(413, "too large")),
    "422": _every(422, "unprocessable"),
    "400 to tools": _no_tools,
    "an error with status 200": bad_reply(Reply.json({"error": {"message": "overloaded", "code": 503}})),
    "redirected without end": bad_reply(Reply(status=307, headers={"Location": "/v1/chat/completions"})),
    "204, no content": bad_reply(Reply(status=204)),
    "an empty body": bad_reply(Reply()),
    "HTML with status 200": bad_reply(HTML),
    "HTML midway": _midway(HTML),
    "HTML called JSON": bad_reply(Reply(HTML.body)),
    "half of a JSON": bad_reply(Reply(b'{"choices": [{"message": {"role": "assis')),
    "a JSON string": bad_reply(Reply(b'"ok"')),
    "a JSON list": bad_reply(Reply(b"[]")),
    "a JSON number": bad_reply(Reply(b"7")),
    "null": bad_reply(Reply(b"null")),
    "bytes that are no text": bad_reply(Reply(bytes(range(256)) * 20)),
    "bytes called gzip": bad_reply(Reply(b"\x00\x01\x02", headers={"Content-Encoding": "gzip"})),
    "no choices": bad_reply(Reply.json(completion(None, choices=[]))),
    "null choices": bad_reply(Reply.json(completion(None, choices=None))),
    "choices that are a word": bad_reply(Reply.json(completion(None, choices="none"))),
    "a choice that is empty": bad_reply(Reply.json(completion(None, choices=[{}]))),
    "a message that is null": bad_reply(Reply.json(completion(None))),
    "a message that is a word": bad_reply(Reply.json(completion("好的"))),
    "a second choice that is null": _two_choices,
    "finish_reason length, no words": bad_reply(
        Reply.json(completion({"role": "assistant", "content": None}, finish_reason="length"))
    ),
    "finish_reason length": lambda c: _around(c, finish_reason="length"),
    "finish_reason content_filter": bad_reply(
        Reply.json(completion({"role": "assistant", "content": ""}, finish_reason="content_filter"))
    ),
    "a refusal": bad_reply(Reply.json(completion({"role": "assistant", "content": None, "refusal": "不行"}))),
    "usage missing": _without_usage,
    "usage null": lambda c: _around(c, usage=None),
    "usage in words": lambda c: _around(c, usage={"prompt_tokens": "many", "completion_tokens": None}),
    "usage beyond measure": lambda c: _around(c, usage={"prompt_tokens": 10**30, "completion_tokens": -5}),
    "usage a number": lambda c: _around(c, usage=7),
    "nothing but the message": _bare,
    "a good answer in chunks": _in_parts,
    "a good answer zipped": _zipped,
    "a stream that nobody asked for": _as_a_stream,
    "a dropped connection": bad_reply(Reply(b"", headers={"Content-Length": "100"}, reset=True)),
    "a connection dropped once": _once(Reply(b"{", headers={"Content-Length": "100"}, reset=True)),
    "a connection dropped midway": _midway(Reply(b"{", headers={"Content-Length": "100"}, reset=True)),
    "cut short": _cut_short,
    "slow but good": lambda c: Reply.json(completion(good(c)), pause_before_seconds=0.3),
}

SLOW: dict[str, Behaviour] = {
    "a hang": bad_reply(Reply(pause_before_seconds=HOUR)),
    "a hang midway": _midway(Reply(pause_before_seconds=HOUR)),
    "a hang after the head": bad_reply(
        Reply(_drip(b"x"), headers={"Content-Length": "10"}, pause_seconds=HOUR)
    ),
    "a slow drip": _drips,
    "a drip for ever": _drips_for_ever,
    "a flood without end": _floods,
    "a bomb of zeros": bad_reply(BOMB),
    "a drip for an error": bad_reply(
        Reply(_drip(b"x" * 1000), 500, {"Content-Length": "1000"}, pause_seconds=0.2)
    ),
    "429 for ever, Retry-After 1": _every(429, headers={"Retry-After": "1"}),
    "good, but a second late": lambda c: Reply.json(
        completion(says("", *good_calls(c))), pause_before_seconds=1.0
    ),
}
"""Those that only the deadline ends."""

UNAIDED = frozenset(
    {
        "500 once",
        "503 once, midway",
        "408 once",
        "429 twice",
        "429 once, Retry-After 1",
        "429 once, Retry-After in milliseconds",
        "429 once, Retry-After in the past",
        "429 once, Retry-After no time",
        "429 once, Retry-After below nothing",
        "429 once, Retry-After NaN",
        "a second choice that is null",
        "finish_reason length",
        "usage missing",
        "usage null",
        "usage in words",
        "usage beyond measure",
        "usage a number",
        "nothing but the message",
        "a good answer in chunks",
        "a connection dropped once",
        "slow but good",
    }
)
