"""`.env.example` and the settings: the same variables, the same defaults."""

import re

import pytest
from pydantic_settings import BaseSettings

from tests.helpers import compose
from worker.commands.up import FlowerSettings

SETTINGS: list[type[BaseSettings]] = [*compose.SETTINGS, FlowerSettings]
OWNER = {field.upper(): owner for owner in SETTINGS for field in owner.model_fields}
LINES = (compose.ROOT / ".env.example").read_text("utf-8").splitlines()
SHOWN = [(match[1], match[2]) for line in LINES if (match := re.fullmatch(r"# ([A-Z][A-Z0-9_]*)=(.*)", line))]
EXAMPLE = dict(SHOWN)


def test_no_settings_class_is_forgotten_here() -> None:
    sources = [
        file
        for package in ("producers", "worker", "tools", "db")
        for file in (compose.ROOT / package).rglob("*.py")
    ]
    found = {
        name
        for source in sources
        for name in re.findall(r"^class (\w+)\(BaseSettings\)", source.read_text("utf-8"), re.MULTILINE)
    }
    assert found == {owner.__name__ for owner in SETTINGS}


def test_no_field_has_two_owners() -> None:
    assert len(OWNER) == sum(len(owner.model_fields) for owner in SETTINGS)


def test_each_variable_is_shown_once_and_commented_out() -> None:
    assert len(SHOWN) == len(EXAMPLE)
    assert [line for line in LINES if line and not line.startswith("#")] == []


def test_the_example_holds_every_setting_and_what_compose_asks_for_and_nothing_else() -> None:
    asked = {name for name, _, _ in compose.variables(compose.document())}
    assert set(EXAMPLE) == set(OWNER) | asked


@pytest.mark.parametrize("name", OWNER)
def test_what_is_shown_is_the_real_default(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in OWNER:
        monkeypatch.delenv(variable, raising=False)
    owner, field = OWNER[name], name.lower()
    default = getattr(owner(_env_file=None), field)
    if not EXAMPLE[name]:
        assert default is None
        return
    monkeypatch.setenv(name, EXAMPLE[name])
    assert getattr(owner(_env_file=None), field) == default


def test_the_defaults_that_compose_has_are_shown() -> None:
    for name, kind, rest in compose.variables(compose.document()):
        assert EXAMPLE[name] == (rest if kind == "-" else "")
