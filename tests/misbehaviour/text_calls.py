"""Text instead of a call: the formats in which models write what they mean to call."""

from typing import Any

from tests.helpers.endpoint import Behaviour, Conversation, Message
from tests.misbehaviour.ways import as_json, one_call, text_as

THOUGHT = "<think>先查手册，再查排班。也许调用 generate_work_order？\n不，太早了。</think>\n"


def _call(name: str, arguments: dict[str, Any]) -> str:
    return as_json({"name": name, "arguments": arguments})


def _action(name: str, arguments: dict[str, Any]) -> str:
    return f"Action: {name}\nAction Input: {as_json(arguments)}"


def _python(name: str, arguments: dict[str, Any]) -> str:
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"


def _tagged(name: str, arguments: dict[str, Any]) -> str:
    return f"<tool_call>\n{_call(name, arguments)}\n</tool_call>"


def _word(value: Any) -> str:
    return value if isinstance(value, str) else as_json(value)


def _xml(name: str, arguments: dict[str, Any]) -> str:
    inner = [f"<parameter={key}>\n{_word(value)}\n</parameter>" for key, value in arguments.items()]
    return "\n".join(["<tool_call>", f"<function={name}>", *inner, "</function>", "</tool_call>"])


def _one_action(conversation: Conversation) -> Message:
    """One step a turn, as ReAct has it, and an observation made up after it."""
    call = _action(*one_call(conversation))
    made_up = "Observation: {'status': 'success'}\nThought: 完成\nFinal Answer: 工单已生成"
    return {"role": "assistant", "content": f"Thought: 该查了\n{call}\n{made_up}"}


def _glm(name: str, arguments: dict[str, Any]) -> str:
    pairs = [
        f"<arg_key>{key}</arg_key>\n<arg_value>{_word(value)}</arg_value>" for key, value in arguments.items()
    ]
    return "\n".join([f"<tool_call>{name}", *pairs, "</tool_call>"])


def _deepseek(name: str, arguments: dict[str, Any]) -> str:
    inner = f"function<｜tool▁sep｜>{name}\n```json\n{as_json(arguments)}\n```"
    return f"<｜tool▁call▁begin｜>{inner}<｜tool▁call▁end｜>"


def _fence(name: str, arguments: dict[str, Any]) -> str:
    return f"```json\n{_call(name, arguments)}\n```"


BEHAVIOURS: dict[str, Behaviour] = {
    "Action and Action Input": text_as(_action, before="Thought: 该查了\n"),
    "Action in Chinese punctuation": text_as(lambda n, a: f"Action：{n}\nAction Input：{as_json(a)}"),
    "one action a turn, answered by itself": _one_action,
    "tool_call blocks": text_as(_tagged),
    "tool_call blocks after thinking": text_as(_tagged, before=THOUGHT),
    "a tool_call block never closed": text_as(lambda n, a: f"<tool_call>{_call(n, a)}"),
    "tool_call blocks with parameters": text_as(_xml),
    "functions with arguments": text_as(lambda n, a: f"<function={n}>{as_json(a)}</function>"),
    "tool_call blocks with keys and values": text_as(_glm),
    "marks that the server left in": text_as(
        _deepseek, before="<｜tool▁calls▁begin｜>", after="<｜tool▁calls▁end｜>"
    ),
    "marks without a fence": text_as(
        lambda n, a: f"<｜tool▁call▁begin｜>{n}<｜tool▁sep｜>{as_json(a)}<｜tool▁call▁end｜>"
    ),
    "a fenced object each": text_as(_fence, before="好的，我来调用工具：\n"),
    "a fenced object after thinking": text_as(_fence, before=THOUGHT),
    "a fence without a language": text_as(lambda n, a: f"```\n{_call(n, a)}\n```"),
    "a fenced list": text_as(_call, before="```json\n[", between=", ", after="]\n```"),
    "a fence never closed": text_as(_call, before="```json\n[", between=", ", after="]"),
    "a bare object each": text_as(_call),
    "bare objects in prose": text_as(_call, before="我将调用 ", between=" 和 ", after="。请稍候。"),
    "single quotes": text_as(lambda n, a: str({"name": n, "arguments": a})),
    "a trailing comma": text_as(lambda n, a: f'```json\n{{"name": "{n}", "arguments": {as_json(a)},}}\n```'),
    "parameters for arguments": text_as(lambda n, a: as_json({"name": n, "parameters": a})),
    "tool and tool_input": text_as(lambda n, a: as_json({"tool": n, "tool_input": a})),
    "action and action_input": text_as(lambda n, a: as_json({"action": n, "action_input": as_json(a)})),
    "an OpenAI message as text": text_as(
        lambda n, a: as_json({"tool_calls": [{"id": "1", "function": {"name": n, "arguments": as_json(a)}}]})
    ),
    "TOOL_CALLS before a list": text_as(_call, before="[TOOL_CALLS][", between=", ", after="]"),
    "a python tag before it": text_as(_call, before="<|python_tag|>", between="; "),
    "python calls": text_as(_python, before="```tool_code\n", after="\n```"),
    "python calls in a list": text_as(_python, before="[", between=", ", after="]"),
    "python calls that are printed": text_as(lambda n, a: f"print({_python(n, a)})"),
    "thinking that is never closed": text_as(_call, before="<think>我应该调用"),
    "thinking closed and never opened": text_as(_tagged, before="先查手册。</think>"),
    "calls in the thinking, none after": text_as(_call, before="<think>", after="</think>好的。"),
    "a call described": text_as(lambda n, a: f"请调用工具 {n}，参数 {as_json(a)}"),
}

# Thinking is not a call, and what no format marks as one may be talk.
_AIDED = {"thinking that is never closed", "calls in the thinking, none after", "a call described"}
UNAIDED = frozenset(BEHAVIOURS) - _AIDED
