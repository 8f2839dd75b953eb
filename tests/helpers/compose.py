"""docker-compose.yml and the Dockerfile as the tests read them: loaded, and interpolated as Compose does."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic_settings import BaseSettings

from db.settings import DatabaseSettings, PlantSettings
from producers.settings import BrokerSettings
from worker.settings import AgentSettings, WorkerSettings

SETTINGS: list[type[BaseSettings]] = [
    BrokerSettings,
    DatabaseSettings,
    PlantSettings,
    AgentSettings,
    WorkerSettings,
]
ROOT = Path(__file__).parents[2]
FILE = ROOT / "docker-compose.yml"

_VARIABLE = re.compile(r"\$\$|\$\{(?P<name>\w+)(?::(?P<kind>[-?])(?P<rest>[^{}]*))?\}")


def document() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return loaded


def services() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = document()["services"]
    return found


def texts(value: object) -> Iterator[str]:
    """Every text in a part of the document; keys are never interpolated, so they are left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)


def variables(value: object) -> set[tuple[str, str, str]]:
    """The interpolated variables in a part of the document: name, `?`, `-` or nothing, and what follows."""
    found = (match for text in texts(value) for match in _VARIABLE.finditer(text) if match["name"])
    return {(match["name"], match["kind"] or "", match["rest"] or "") for match in found}


def interpolate(text: str, values: Mapping[str, str]) -> str:
    """Raises KeyError, with Compose's own message, when a variable that is needed has no value."""

    def value(match: re.Match[str]) -> str:
        name, kind, rest = match["name"], match["kind"], match["rest"]
        if name is None:
            return "$"
        if values.get(name):
            return values[name]
        if kind == "?":
            raise KeyError(f"required variable {name} is missing a value: {rest}")
        return rest if kind == "-" else values.get(name, "")

    return _VARIABLE.sub(value, text)


def environment(service: Mapping[str, Any], values: Mapping[str, str]) -> dict[str, str]:
    """What the service's processes find in their environment; a name without a value comes from outside."""
    stated: Mapping[str, str | None] = service.get("environment", {})
    found = {
        name: values.get(name) if text is None else interpolate(text, values) for name, text in stated.items()
    }
    return {name: text for name, text in found.items() if text is not None}


def command(service: Mapping[str, Any], values: Mapping[str, str]) -> list[str]:
    return [interpolate(word, values) for word in service["command"]]


def seconds(duration: str) -> float:
    """`45s` or `1m30s` in seconds."""
    assert re.fullmatch(r"(\d+[hms])+", duration), f"{duration} is not a duration as this file writes them"
    return sum(
        int(n) * {"h": 3600, "m": 60, "s": 1}[unit] for n, unit in re.findall(r"(\d+)([hms])", duration)
    )


def megabytes(size: str) -> int:
    """`64m` or `2g` in megabytes."""
    assert re.fullmatch(r"\d+[mg]", size), f"{size} is not a size as this file writes them"
    return int(size[:-1]) * {"m": 1, "g": 1024}[size[-1]]


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's instructions: the word, and what follows it."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines if line.strip())]


def final_stage() -> list[tuple[str, str]]:
    found = instructions()
    last = max(n for n, (word, _) in enumerate(found) if word == "FROM")
    return found[last:]
