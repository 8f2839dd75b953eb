"""The catalogue: every sentence in both languages, every one in use, and none asked for that is not there."""

import ast
import json
import re
import string
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from db.settings import Language
from tools.catalogue import _SENTENCES, LIST_SEPARATOR, listed, text

LANGUAGES: tuple[Language, ...] = ("zh", "en")
ROOT = Path(__file__).parents[3]
SOURCES = [
    file
    for folder in ("tools", "worker")
    for file in (ROOT / folder).rglob("*.py")
    if file.name != "catalogue.py"
]


def placeholders(sentence: str) -> set[str]:
    return {
        name for _text, name, _spec, _conversion in string.Formatter().parse(sentence) if name is not None
    }


@dataclass(frozen=True)
class Use:
    """A call of `text` in the sources: which key it asks for (a pattern), and the values it gives."""

    where: str
    pattern: str
    values: frozenset[str]
    more: bool  # values that only a run knows

    @property
    def keys(self) -> set[str]:
        return {key for key in _SENTENCES if re.fullmatch(self.pattern, key)}


def pattern_of(node: ast.expr, assigned: dict[str, list[ast.expr]]) -> Iterator[str]:
    """The keys an expression can have: a constant, a formatted string, one of two, or a name's values."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield re.escape(node.value)
    elif isinstance(node, ast.JoinedStr):
        parts = (re.escape(str(v.value)) if isinstance(v, ast.Constant) else ".+" for v in node.values)
        yield "".join(parts)
    elif isinstance(node, ast.IfExp):
        yield from pattern_of(node.body, assigned)
        yield from pattern_of(node.orelse, assigned)
    elif isinstance(node, ast.Name):
        for value in assigned.get(node.id, []):
            yield from pattern_of(value, assigned)


def assignments(function: ast.AST) -> dict[str, list[ast.expr]]:
    """What each name of a function was given, tuples taken apart."""
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(function):
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            pairs = (
                zip(target.elts, node.value.elts, strict=False)
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
                else [(target, node.value)]
            )
            for name, value in pairs:
                if isinstance(name, ast.Name):
                    found.setdefault(name.id, []).append(value)
    return found


def calls_of_text(function: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(function):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        if node.func.id == "text" and len(node.args) > 1:  # SQLAlchemy has a `text` too, which takes one
            yield node


def uses() -> list[Use]:
    found = []
    for file in SOURCES:
        for function in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            assigned = assignments(function)
            for call in calls_of_text(function):
                where = f"{file.name}:{call.lineno}"
                values = frozenset(word.arg for word in call.keywords if word.arg is not None)
                more = any(word.arg is None for word in call.keywords)
                patterns = list(pattern_of(call.args[1], assigned))
                assert patterns, f"{where}: which key is meant cannot be read from the source"
                found += [Use(where, pattern, values, more) for pattern in patterns]
    return found


USES = uses()


def test_the_sources_are_read() -> None:
    assert len(SOURCES) > 10
    assert len({use.where for use in USES}) > 30


@pytest.mark.parametrize("key", _SENTENCES)
def test_a_sentence_stands_in_both_languages_with_the_same_placeholders(key: str) -> None:
    sentence = _SENTENCES[key]
    assert set(sentence) == set(LANGUAGES)
    assert placeholders(sentence["zh"]) == placeholders(sentence["en"])
    for language in LANGUAGES:
        assert sentence[language].strip(), f"{key} is empty in {language}"


@pytest.mark.parametrize("key", _SENTENCES)
def test_no_english_is_left_in_chinese_sentences_nor_chinese_in_english_ones(key: str) -> None:
    chinese = re.compile(r"[\u4e00-\u9fff\u3000-\u303f\uff00-\uffef]")
    assert chinese.search(_SENTENCES[key]["zh"]), "a Chinese sentence without a Chinese character"
    assert not chinese.search(_SENTENCES[key]["en"])


@pytest.mark.parametrize("key", _SENTENCES)
def test_every_sentence_is_used(key: str) -> None:
    assert [use.where for use in USES if key in use.keys]


@pytest.mark.parametrize("use", USES, ids=lambda use: f"{use.where}:{use.pattern}")
def test_every_key_that_is_asked_for_exists(use: Use) -> None:
    assert use.keys, f"{use.where} asks for {use.pattern}, which the catalogue does not have"


@pytest.mark.parametrize("where", sorted({use.where for use in USES}))
def test_a_call_gives_the_values_that_its_sentence_wants(where: str) -> None:
    """All of them and, where the source shows them all, no other."""
    here = [use for use in USES if use.where == where]
    wrong = []
    for use in here:
        for key in use.keys:
            wanted = placeholders(_SENTENCES[key]["zh"])
            fits = use.values <= wanted if use.more else use.values == wanted
            if not fits:
                wrong.append((key, sorted(use.values), sorted(wanted)))
    # One name may hold several keys in a function; then one of them must fit each call.
    assert len(wrong) < len({key for use in here for key in use.keys}), wrong


@pytest.mark.parametrize("key", _SENTENCES)
@pytest.mark.parametrize("language", LANGUAGES)
def test_braces_and_percents_in_a_value_are_text(language: Language, key: str) -> None:
    values = dict.fromkeys(placeholders(_SENTENCES[key]["zh"]), "{0}{x}%s")
    sentence = text(language, key, **values)
    assert sentence.count("{0}{x}%s") == len(re.findall(r"(?<!\{)\{\w+\}(?!\})", _SENTENCES[key][language]))


@pytest.mark.parametrize("key", ["part.blank_next", "order.blank_next"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_an_example_of_arguments_is_json_that_a_model_can_copy(language: Language, key: str) -> None:
    sentence = text(language, key)
    example = json.loads(sentence[sentence.index("{") :])
    assert set(example) <= {"part", "diagnosis", "actions"}


def test_an_unknown_key_is_refused_by_its_name() -> None:
    with pytest.raises(KeyError, match="no_such"):
        text("zh", "no_such")


def test_lists_are_joined_as_the_language_joins_them() -> None:
    assert set(LIST_SEPARATOR) == set(LANGUAGES)
    assert listed("zh", ["张伟", "李娜"]) == "张伟、李娜"
    assert listed("en", ["Ann", "Bob"]) == "Ann, Bob"
    assert listed("zh", []) == ""
