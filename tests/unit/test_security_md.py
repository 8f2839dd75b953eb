"""SECURITY.md names what shows each of its claims: all of that is there."""

import re

from tests import compose

TEXT = (compose.ROOT / "SECURITY.md").read_text("utf-8")
TESTS = {file.name for file in (compose.ROOT / "tests").rglob("test_*.py")}


def test_every_test_and_module_that_it_names_exists() -> None:
    named = set(re.findall(r"`([\w/]+\.(?:py|yml))`", TEXT))
    assert len(named) > 20
    missing = {name for name in named if name not in TESTS and not (compose.ROOT / name).exists()}
    assert missing == set()


def test_each_place_says_what_could_be_done_what_holds_and_what_is_left() -> None:
    _, *places = re.split(r"^## \d+\. ", TEXT.partition("## To report")[0], flags=re.MULTILINE)
    assert len(places) == 11
    for place in places:
        assert re.findall(r"^- \*\*(\w+):\*\*", place, re.MULTILINE) == ["Could", "Held", "Yours"], place
