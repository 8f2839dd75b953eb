"""What the documents name is there: each claim of SECURITY.md has its test."""

import re

import pytest

from tests.helpers import compose

TEXT = (compose.ROOT / "SECURITY.md").read_text("utf-8")
TESTS = {file.name for file in (compose.ROOT / "tests").rglob("test_*.py")}


def test_every_test_and_module_that_it_names_exists() -> None:
    named = set(re.findall(r"`([\w/]+\.(?:py|yml))`", TEXT))
    assert len(named) > 20
    missing = {name for name in named if name not in TESTS and not (compose.ROOT / name).exists()}
    assert missing == set()


@pytest.mark.parametrize("readme", ["README.md", "README.zh-CN.md"])
def test_the_tree_that_a_readme_shows_is_the_tree(readme: str) -> None:
    text = (compose.ROOT / readme).read_text("utf-8")
    folders = set(re.findall(r"`((?:worker|db|tools|producers|tests)/[\w/]*)`", text))
    modules = set(re.findall(r"`(\w+(?:/\w+)*\.py)`", text))
    assert len(folders) > 12
    assert len(modules) > 7
    assert {folder for folder in folders if not (compose.ROOT / folder).is_dir()} == set()
    places = (compose.ROOT, compose.ROOT / "worker")
    assert {name for name in modules if not any((place / name).exists() for place in places)} == set()
    shown = {folder.rstrip("/") for folder in folders}
    packages = {
        f"{file.parent.relative_to(compose.ROOT)}" for file in compose.ROOT.glob("worker/*/__init__.py")
    }
    assert packages <= shown, "and nothing of the worker is left out"


def test_each_place_says_what_could_be_done_what_holds_and_what_is_left() -> None:
    _, *places = re.split(r"^## \d+\. ", TEXT.partition("## To report")[0], flags=re.MULTILINE)
    assert len(places) == 11
    for place in places:
        assert re.findall(r"^- \*\*(\w+):\*\*", place, re.MULTILINE) == ["Could", "Held", "Yours"], place
