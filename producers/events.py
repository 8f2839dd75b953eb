"""The contract between whoever raises an alarm and the line: one event, as JSON."""

import hashlib
import json
from datetime import datetime
from typing import Annotated, Any, Literal, NoReturn, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from producers import checks

MAX_EVENT_BYTES = 64 * 1024
MAX_DETAIL_CHARACTERS = 500

Unreadable = Literal["too_large", "not_utf8", "not_json", "invalid"]


class ProducerError(Exception):
    """The root of what this package raises."""


class UnreadableEvent(ProducerError):
    """Raised when bytes are not an alarm event; `detail` names the field and what it wants."""

    def __init__(self, code: Unreadable, detail: str) -> None:
        self.code: Unreadable = code
        self.detail = checks.shown(detail, MAX_DETAIL_CHARACTERS)  # it is stored, and may quote what was sent
        super().__init__(code, self.detail)

    def __str__(self) -> str:
        return self.detail


def _required(most: int, about: str) -> Any:
    return Field(min_length=1, max_length=most, description=about, json_schema_extra={"pattern": r"\S"})


def _optional(most: int, about: str) -> Any:
    return Field(max_length=most, description=about)


_Name = BeforeValidator(checks.name)

# No field of the model: an older version keeps it among the attributes too, and so with the same digest.
_HISTORICAL = {
    "type": "boolean",
    "default": False,
    "title": "Historical",
    "description": "Sent for the record (Sparkplug B's is_historical): it is kept, and part of no work order",
}


def _name_historical(schema: dict[str, Any]) -> None:
    fields = schema["properties"]
    fields["historical"] = _HISTORICAL
    fields["attributes"]["properties"] = {"historical": _HISTORICAL}


class AlarmEvent(BaseModel):
    """An equipment alarm. `source` and `event_id` together are its identity: sent twice, it is one alarm.

    Fields of other names are welcome and are kept in `attributes`.
    """

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True, json_schema_extra=_name_historical)

    event_id: Annotated[str, _required(200, "The sender's own id of this event, unique in its source"), _Name]
    source: Annotated[str, _required(200, "The system that raised it"), _Name]
    line_name: Annotated[str, _required(200, "The production line"), _Name]
    equipment: Annotated[str, _optional(200, "The machine on that line"), _Name] = ""
    equipment_class: Annotated[str, _optional(200, "Its kind, where machines share codes"), _Name] = ""
    fault_code: Annotated[str, _required(100, "The fault's code, as the machine writes it"), _Name]
    severity: Annotated[
        int, Field(ge=1, le=1000, description="1 to 1000, higher is worse"), BeforeValidator(checks.severity)
    ] = 500
    state: Annotated[
        Literal["active", "cleared"], Field(description="A cleared event is kept, and makes no work order")
    ] = "active"
    message: Annotated[str, _optional(4000, "The machine's own words"), BeforeValidator(checks.note)] = ""
    occurred_at: Annotated[
        datetime,
        Field(description="ISO 8601 with an offset from UTC, 1970 to 2199"),
        BeforeValidator(checks.moment),
    ]
    attributes: Annotated[
        dict[str, JsonValue], Field(description="Whatever else was sent"), BeforeValidator(checks.json_object)
    ] = Field(default_factory=dict)

    @property
    def historical(self) -> bool:
        """Whether it is of the past and sent only for the record."""
        return self.attributes.get("historical") is True

    @classmethod
    def parse(cls, raw: bytes) -> Self:
        """The event in a stream entry's bytes; raises UnreadableEvent and nothing else."""
        if len(raw) > MAX_EVENT_BYTES:
            detail = f"{len(raw)} bytes, and an event has at most {MAX_EVENT_BYTES}"
            raise UnreadableEvent("too_large", detail)
        try:
            fields = json.loads(
                raw.decode("utf-8-sig"),  # some editors and PLC gateways write a byte-order mark
                parse_constant=_refuse_constant,
                object_pairs_hook=_refuse_repeated,
            )
        except UnicodeDecodeError as error:
            detail = f"is not UTF-8 from byte {error.start} on; send the event as UTF-8"
            raise UnreadableEvent("not_utf8", detail) from None
        except json.JSONDecodeError as error:
            detail = f"is not JSON: {error.msg} (line {error.lineno}, column {error.colno})"
            raise UnreadableEvent("not_json", detail) from None
        except ValueError:  # Python's own limit on the length of a whole number
            raise UnreadableEvent("invalid", "a number has too many digits; send it as text") from None
        except RecursionError:
            raise UnreadableEvent("invalid", "objects and arrays are nested too deeply") from None
        if not isinstance(fields, dict):
            raise UnreadableEvent("invalid", "wants one JSON object with the event's fields")
        try:
            return cls.model_validate(fields)
        except ValidationError as error:
            problems = error.errors(include_url=False, include_input=False)
        too_large = any(problem["type"] == "too_large" for problem in problems)
        detail = "; ".join(_said(problem) for problem in problems)
        raise UnreadableEvent("too_large" if too_large else "invalid", detail)

    def to_json(self) -> str:
        """The event as one line of JSON, Chinese unescaped; `parse` reads it back."""
        return self._json(sort_keys=False)

    def digest(self) -> str:
        """SHA-256 of the content in hex, whatever the order of keys or the offset it was sent with."""
        return hashlib.sha256(self._json(sort_keys=True).encode()).hexdigest()

    def _json(self, *, sort_keys: bool) -> str:
        content = {field: getattr(self, field) for field in type(self).model_fields}
        content["occurred_at"] = self.occurred_at.isoformat().replace("+00:00", "Z")
        return json.dumps(
            content, ensure_ascii=False, allow_nan=False, sort_keys=sort_keys, separators=(",", ":")
        )

    @model_validator(mode="before")
    @classmethod
    def _gather(cls, data: Any) -> Any:
        """Null in an optional field is its default; fields of other names become attributes."""
        if not isinstance(data, dict):
            return data
        known = cls.model_fields
        fields = {
            field: value
            for field, value in data.items()
            if field in known and (value is not None or known[field].is_required())
        }
        others = {field: value for field, value in data.items() if field not in known}
        attributes = fields.get("attributes", {})
        if others and isinstance(attributes, dict):
            if both := others.keys() & attributes.keys():
                names = checks.shown(", ".join(sorted(map(str, both))), 200)
                wants = "attributes: stands there and beside it as well: {names}; send it once"
                raise PydanticCustomError("sent_twice", wants, {"names": names})
            fields["attributes"] = attributes | others
        return fields

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if not isinstance(self.attributes.get("historical"), bool | None):
            raise PydanticCustomError("historical", "historical: wants true or false")
        # Defaults and notation can make the written event longer than the one that was read.
        size = len(self.to_json().encode())
        if size > MAX_EVENT_BYTES:
            wants = "{size} bytes as it is stored, and an event has at most {most}"
            raise PydanticCustomError("too_large", wants, {"size": size, "most": MAX_EVENT_BYTES})
        return self


def _refuse_constant(constant: str) -> NoReturn:
    raise UnreadableEvent("not_json", f"is not JSON: {constant} is not a JSON number")


def _refuse_repeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):  # readers differ in which of the two they take
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise UnreadableEvent("invalid", f"{repeated[:100]}: stands twice in one object; send it once")
    return fields


_WANTS = {
    "missing": "is required and was not sent",
    "string_type": "wants text",
    "string_too_short": "wants text that is not blank",
    "string_too_long": "wants at most {max_length} characters",
    "literal_error": "wants {expected}",
}


def _said(problem: ErrorDetails) -> str:
    wants = _WANTS.get(problem["type"])
    text = wants.format(**problem.get("ctx", {})) if wants else problem["msg"]
    where = ".".join(map(str, problem["loc"]))
    return f"{where}: {text}" if where else text
