"""The page of the founding works says nothing that is not there, and leaves no experiment out."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.papers import PAGE, STATUSES, faults, items, page, read

WORKS = read()
ITEM = {
    "item": "Definition 0",
    "says": "what a test needs",
    "where": ["measure l_diversity"],
    "status": "holds",
    "tests": [f"tests/unit/{__name__.rpartition('.')[2]}.py::test_every_item_is_where_it_is_said_to_be"],
}


def with_item(**changes: Any) -> list[str]:
    """The faults of the works with one item more, which has these values in place of right ones."""
    works = copy.deepcopy(WORKS)
    item = {name: own for name, own in (ITEM | changes).items() if own is not None}
    works[0]["chapters"][0]["items"].append(item)
    return faults(works)


def test_every_item_is_where_it_is_said_to_be():
    assert faults(WORKS) == []
    assert with_item() == []


def test_the_page_is_that_of_the_data():
    assert PAGE.read_text(encoding="utf-8") == page(WORKS), "python -m tests.papers"


def test_there_is_an_item_of_every_status_in_words_of_the_reader():
    assert {item["status"] for _, item in items(WORKS)} == set(STATUSES)
    assert all(len(item["why"]) <= 120 for _, item in items(WORKS) if "why" in item)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"where": ["measure l_diversification"]}, "no measure l_diversification"),
        ({"where": ["criterion l_diversity"]}, "no criterion l_diversity"),
        ({"where": ["solver aruba.leaps"]}, "no solver aruba.leaps"),
        ({"where": ["mechanism burel"]}, "no mechanism burel"),
        ({"where": ["objective btda"]}, "no objective btda"),
        ({"where": ["operation guess"]}, "no operation guess"),
        ({"where": ["operation create_rule.guess"]}, "no operation create_rule.guess"),
        ({"where": ["experiment X99"]}, "no experiment X99"),
        ({"where": ["l_diversity"]}, "no l_diversity"),
        (
            {"tests": ["tests/unit/test_papers.py::test_nothing"]},
            "no test tests/unit/test_papers.py::test_nothing",
        ),
        ({"tests": ["tests/unit/test_papers.py::with_item"]}, "no test tests/unit/test_papers.py::with_item"),
        ({"tests": ["tests/unit/nowhere.py::test_it"]}, "no test tests/unit/nowhere.py::test_it"),
        ({"tests": ["tests/unit/test_papers.py"]}, "no test tests/unit/test_papers.py"),
        ({"tests": None}, "what holds has a place and a test"),
        ({"where": None}, "what holds has a place and a test"),
        ({"status": "holds corrected", "tests": None}, "what holds has a place and a test"),
        ({"status": "holds corrected", "correction": "tea"}, "no section tea in definitions.md"),
        ({"correction": "hardness"}, "what is corrected does not hold as printed"),
        (
            {"status": "not public", "why": "data", "correction": "hardness", "tests": None},
            "a correction has a test",
        ),
        ({"status": "does not hold"}, "a counterexample in a definition or an experiment"),
        ({"status": "stated only", "where": None, "tests": None}, "what is stated only has a reason"),
        ({"status": "stated only", "why": "a picture"}, "what is stated only has no place"),
        ({"status": "not public"}, "what is not public has a reason"),
        ({"status": "perhaps"}, "no status perhaps"),
        ({"status": None}, "no status None"),
        (
            {"says": "one two three four five six seven eight nine ten eleven twelve thirteen"},
            "at most 12 words",
        ),
        ({"says": ""}, "at most 12 words"),
        ({"wher": ["measure l_diversity"]}, "unknown key wher"),
        ({"item": WORKS[0]["chapters"][1]["items"][0]["item"]}, "listed 2 times"),
    ],
)
def test_what_is_wrong_with_an_item_is_found(changes, fault):
    found = with_item(**changes)
    assert any(fault in own for own in found), found


def test_an_experiment_without_an_item_and_a_work_that_is_not_listed_are_found():
    works = copy.deepcopy(WORKS)
    for _, item in items(works):
        if "experiment X3" in item.get("where", ()):
            item["where"].remove("experiment X3")
    assert "experiment X3: in no item" in faults(works)
    works[0]["name"] = "Nobody (2012)"
    assert "Nobody (2012): no such work in references.md" in faults(works)
