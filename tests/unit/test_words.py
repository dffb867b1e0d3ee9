"""One word for one thing: words that once stood for what the field calls otherwise do not come back.

The descriptions of the API are looked at beside its other tests.
"""

from __future__ import annotations

import io
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.words import found

ROOT = Path(__file__).parents[2]


def test_the_words_are_found_and_names_are_passed_over():
    assert found("The record is withheld.")
    assert found("A gate holds a release\nagainst a policy.")
    assert not found("`withheld_for_missing` counts them; ``withheld`` and cells_withheld, too.")
    assert not found("It is suppressed, and hence generalised.")


PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "app").rglob("*.html")),
    *sorted((ROOT / "app" / "services" / "gates" / "policy_files").glob("*@2.yaml")),
]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_documents_pages_and_templates_use_the_words_of_the_field(path: Path):
    assert found(path.read_text(encoding="utf-8")) == []


def prose(source: str) -> Iterator[str]:
    """The comments of a module and its texts of more than one word."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and " " in token.string):
            yield token.string


NOT_YET = ("app/domain/models/", "app/domain/search/")
"""Rooms whose comments still have other words; what users read of them is in the API's description."""


def test_messages_and_comments_use_the_words_of_the_field():
    said = {}
    for room in ("app", "privacy_risk"):
        for path in sorted((ROOT / room).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if not name.startswith(NOT_YET):
                said[name] = [
                    phrase for text in prose(path.read_text(encoding="utf-8")) for phrase in found(text)
                ]
    assert {name: phrases for name, phrases in said.items() if phrases} == {}
