"""The scripted models made fit for every set-up: they read prose as well as JSON, and stop at their order."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.helpers.endpoint import Behaviour, Conversation, Endpoint, Message, Reply, says

_STATUSES = (
    ("invalid", re.compile("Error|还不能生成|缺少|最多查询|cannot be made yet|is missing|At most")),
    ("not_found", re.compile("未找到|No (manual entry|roster|spare part) found")),
    ("unavailable", re.compile("暂时无法查询|cannot be asked")),
)
_PARTS = re.compile("^(?:备件|Parts): (.+)$", re.MULTILINE)


class AnyEndpoint(Endpoint):
    """Takes a history as a lax server does; one that no script can read gets a 500, as from a strict one."""

    def answer(self, raw: bytes) -> Reply:
        try:
            return super().answer(raw)
        except Exception:  # whatever a plain agent sends back
            return Reply.error(500, "cannot read the history")
        finally:
            self.complaints.clear()


def fit(behaviours: Mapping[str, Behaviour]) -> dict[str, Behaviour]:
    """Nothing ends a plain agent's run but its model: when its order is made, it says so; loops do not."""
    return {name: _fit(behaves, name.startswith("loops/")) for name, behaves in behaviours.items()}


def _fit(behaves: Behaviour, stubborn: bool) -> Behaviour:
    def fitted(conversation: Conversation) -> Message | Reply:
        read = replace(conversation, messages=readable(conversation.messages))
        made = any(answer["status"] == "success" for answer in read.answers("generate_work_order"))
        return says("工单已生成。") if made and not stubborn else behaves(read)

    return fitted


def readable(messages: list[Message]) -> list[Message]:
    """As the scripts read it: an id of its own for each call, and each tool's answer as JSON."""
    found: list[Message] = []
    open_ids: list[tuple[str, str]] = []  # as sent, and of its own
    for turn, message in enumerate(messages):
        if message["role"] == "tool":
            own = next((pair for pair in open_ids if pair[0] == message["tool_call_id"]), None)
            if own is not None:
                open_ids.remove(own)
                message = message | {"tool_call_id": own[1]}  # noqa: PLW2901
            found.append(message | {"content": as_read(message["content"])})
            continue
        sent = message.get("tool_calls") or []
        calls = [call | {"id": f"{turn}-{n}"} for n, call in enumerate(sent)]
        open_ids = [(before["id"], call["id"]) for before, call in zip(sent, calls, strict=True)]
        found.append(message | {"tool_calls": calls} if calls else message)
    return found


def as_read(content: str) -> str:
    """A tool's answer as JSON with a status, from prose too."""
    try:
        if isinstance(json.loads(content), dict):
            return content
    except ValueError:
        pass
    status = next((status for status, words in _STATUSES if words.search(content)), "success")
    answer: dict[str, Any] = {"status": status, "message": content}
    entries = [{"parts": re.split("、|, ", parts)} for parts in _PARTS.findall(content)]
    return json.dumps(answer | ({"entries": entries} if entries else {}), ensure_ascii=False)
