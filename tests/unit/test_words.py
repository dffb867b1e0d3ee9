"""One word for one thing: words that once stood for what the field calls otherwise do not come back.

The descriptions of the API are looked at beside its other tests.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.words import CONTRACT, IN_NAMES, PATTERN, found, is_gone

ROOT = Path(__file__).parents[2]
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
PIECE = re.compile(r"""^#|^[bfru]{0,2}(\"{3}|\"|')|(\"{3}|\"|')$""", re.IGNORECASE)
"""What is about a comment or a piece of a text and not of it."""
TEXTS = {getattr(tokenize, name, None) for name in ("FSTRING_START", "FSTRING_MIDDLE", "FSTRING_END")}
"""What texts with names in braces are taken apart into, from Python 3.12 on."""
MARK = re.compile(r'(?:\b[bfru]{1,2})?"|#', re.IGNORECASE)


def test_the_words_are_found_and_names_are_passed_over():
    assert found("The record is withheld.")
    assert found("A gate holds a release\nagainst a policy.")
    assert not found("`withheld_for_missing` counts them; ``withheld`` and cells_withheld, too.")
    assert not found("It is suppressed, and hence generalised.")


PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "app").rglob("*.html")),
    *sorted((ROOT / "app" / "services" / "gates" / "policy_files").glob("*@4.yaml")),
]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_documents_pages_and_templates_use_the_words_of_the_field(path: Path):
    assert found(path.read_text(encoding="utf-8")) == []


def words_of(source: str) -> tuple[list[str], set[str]]:
    """The comments of a module and its texts, those in pieces put together; and the names in its code."""
    prose, names, last = [""], set(), 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in (tokenize.NL, tokenize.INDENT, tokenize.DEDENT):
            continue
        kind = tokenize.STRING if token.type in TEXTS else token.type
        if kind == tokenize.NAME:
            names.add(token.string)
        elif kind in (tokenize.COMMENT, tokenize.STRING):
            text = PIECE.sub("", token.string)
            prose[-1:] = [prose[-1] + text] if kind == last else [prose[-1], text]
        last = kind
    return [text for text in prose if " " in text.strip()], names


def modules() -> Iterator[tuple[str, str]]:
    """The files of Python of the product and of its client, and their texts."""
    for room in ("app", "privacy_risk"):
        for path in sorted((ROOT / room).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def wrong_words(source: str) -> list[str]:
    """The names and phrases of a module that hold a word that is gone."""
    # Taking a module apart is slow, so only those are in which a text or a name looks like one.
    plain = " ".join(MARK.sub(" ", source).split())
    if not PATTERN.search(plain) and not any(map(is_gone, IDENTIFIER.findall(source))):
        return []
    prose, names = words_of(source)
    return [*filter(is_gone, sorted(names)), *(phrase for text in prose for phrase in found(text))]


def test_names_and_texts_of_a_module_are_looked_at():
    assert wrong_words("def is_withheld(): ...") == ["is_withheld"]
    assert wrong_words("class ClassDemand: ...") == ["ClassDemand"]
    assert wrong_words("FEWEST_ALIKE = 2") == ["FEWEST_ALIKE"]
    assert wrong_words("x = 1  # of whom it\n# is withheld")
    assert wrong_words('raise ValueError("They are disclosed "\n    f"alike in {n}.")')
    assert wrong_words('kl_withheld = document["withhold"]  # ``kl_withheld``, made on demand') == []


def test_names_messages_and_comments_use_the_words_of_the_field():
    said = {name: wrong_words(source) for name, source in modules()}
    assert {name: words for name, words in said.items() if words} == {}


def test_files_and_folders_are_named_with_the_words_of_the_field():
    assert [name for name, _ in modules() if any(map(is_gone, Path(name).with_suffix("").parts))] == []


def test_names_that_may_hold_such_a_word_are_names_of_the_contract():
    contract = (ROOT / "openapi" / "openapi.json").read_text(encoding="utf-8")
    assert [name for name in CONTRACT if f'"{name}"' not in contract] == []
    assert [name for name in CONTRACT if not IN_NAMES.search(name.replace("_", " "))] == []
