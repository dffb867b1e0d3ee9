"""Every promise has a row on the page of reliability, names tests that exist, and is measured by
something.
"""

from __future__ import annotations

import ast

import pytest

from tests.campaign.__main__ import MEASURING
from tests.campaign.figures import Measured, keep, kept
from tests.campaign.page import NOT_YET, PAGE, page
from tests.campaign.promises import PARTS, PROMISES
from tests.tiers import ROOT


def test_the_page_is_made_of_the_promises_and_the_figures_that_are_kept():
    assert PAGE.read_text(encoding="utf-8") == page(kept()), "python -m tests.campaign --page writes it"


def test_promises_have_names_of_their_own_and_figures_are_of_promises():
    ids = [promise.id for promise in PROMISES]
    assert len(ids) == len(set(ids))
    assert set(kept()) <= set(ids)


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.id)
def test_every_promise_names_tests_that_exist(promise):
    assert promise.tests
    for place in promise.tests:
        file, _, name = place.partition("::")
        path = ROOT / file
        assert path.is_file(), place
        if name:
            body = ast.parse(path.read_text(encoding="utf-8")).body
            found = [own.name for own in body if isinstance(own, ast.FunctionDef | ast.AsyncFunctionDef)]
            assert name in found, place


def test_every_part_measures_something():
    assert set(PARTS) == set(MEASURING)


def test_a_later_figure_takes_the_place_of_an_earlier_one(tmp_path):
    def figure(promise, text, is_kept):
        return Measured(promise, text, is_kept, "abc", "2 cores", "2026-11-28", 3)

    place = tmp_path / "kept" / "figures.json"
    keep([figure("cancel", "0.4 s", True), figure("queue", "all", True)], place)
    keep([figure("cancel", "9 s", False)], place)
    assert kept(place)["queue"].text == "all"
    shown = page(kept(place))
    assert "**not kept**: 9 s" in shown
    assert shown.count(NOT_YET) == len(PROMISES) - 2 + 0
