"""What may stand on Celery's own list: our tasks' messages, read strictly and written anew."""

import base64
from typing import Annotated, Any, Literal, TypeVar
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError

from producers.checks import shown
from worker.tasks import CLAIM_PROBE, HANDLE_ALARM, QUEUE

MAX_HINT_BYTES = 64 * 1024
"""Far more than the longest names of a line, a code and an event come to."""

_LARGEST_ID = 2**63 - 1
_MAX_REASON_CHARACTERS = 200

T = TypeVar("T")
_Uuid = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]


class NotATask(Exception):
    """Raised for what is not a message of one of our tasks; says why in one line, and quotes no value."""


class _Part(BaseModel):
    """What is `None` here is a device of Celery's that no task of ours uses: a delay, a chain, a callback.

    Fields of other names are left out of the message that is written.
    """

    model_config = ConfigDict(strict=True, extra="ignore")


class _Headers(_Part):
    lang: Literal["py"]
    task: str
    id: _Uuid
    shadow: None = None
    eta: None = None
    expires: None = None
    group: None = None
    group_index: None = None
    retries: Literal[0] = 0
    timelimit: tuple[None, None] = (None, None)
    root_id: _Uuid | None = None
    parent_id: _Uuid | None = None
    argsrepr: str | None = None
    kwargsrepr: str | None = None
    origin: str | None = None
    ignore_result: bool | None = None
    replaced_task_nesting: Literal[0] = 0
    stamped_headers: None = None
    stamps: Annotated[dict[str, None], Field(max_length=0)] = Field(default_factory=dict)
    compression: None = None


class _DeliveryInfo(_Part):
    exchange: Annotated[str, StringConstraints(pattern=f"^({QUEUE})?$")]
    routing_key: Annotated[str, StringConstraints(pattern=f"^{QUEUE}$")]


class _Properties(_Part):
    correlation_id: _Uuid
    reply_to: _Uuid | Literal[""] | None = None
    delivery_mode: Literal[1, 2] = 2
    delivery_info: _DeliveryInfo
    priority: Annotated[int, Field(ge=0, le=9)]
    body_encoding: Literal["base64"]
    delivery_tag: str


class _Message(_Part):
    body: str
    content_encoding: Literal["utf-8"] = Field(alias="content-encoding")
    content_type: Literal["application/json"] = Field(alias="content-type")
    headers: _Headers
    properties: _Properties


class _Embed(_Part):
    callbacks: None = None
    errbacks: None = None
    chain: None = None
    chord: None = None


class _AlarmArguments(_Part):
    model_config = ConfigDict(extra="forbid")

    alarm_id: Annotated[int, Field(ge=1, le=_LARGEST_ID)]


class _ProbeArguments(_Part):
    model_config = ConfigDict(extra="forbid")

    token: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]


_MESSAGE = TypeAdapter(_Message)
_NoArguments = Annotated[list[None], Field(max_length=0)]
_BODIES: dict[str, TypeAdapter[Any]] = {
    HANDLE_ALARM: TypeAdapter(tuple[_NoArguments, _AlarmArguments, _Embed]),
    CLAIM_PROBE: TypeAdapter(tuple[_NoArguments, _ProbeArguments, _Embed]),
}


def renewed(raw: bytes) -> bytes:
    """The message for the same task with the same arguments, and with nothing else of what was sent.

    It has a delivery tag of its own: Celery tells its messages apart by it, and a sender may repeat one.
    Raises NotATask.
    """
    if len(raw) > MAX_HINT_BYTES:
        raise NotATask(f"{len(raw)} bytes, and a task's message has at most {MAX_HINT_BYTES}")
    message = _read(_MESSAGE, raw)
    body = _BODIES.get(message.headers.task)
    if body is None:
        raise NotATask("headers.task: is none of our tasks")
    try:
        coded = base64.b64decode(message.body, validate=True)
    except ValueError:
        raise NotATask("body: is not base64") from None
    content = _read(body, coded, "body")
    message.body = base64.b64encode(body.dump_json(content)).decode()
    message.properties.delivery_tag = str(uuid4())
    return message.model_dump_json(by_alias=True).encode()


def _read(kind: TypeAdapter[T], raw: bytes, *place: str) -> T:
    try:
        return kind.validate_json(raw)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(map(str, (*place, *first["loc"])))
        reason = f"{where}: {first['msg']}" if where else first["msg"]
        raise NotATask(shown(reason, _MAX_REASON_CHARACTERS)) from None
