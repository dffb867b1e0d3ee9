"""Every promise has a row on the page of reliability, names tests that exist, and is measured by
something.
"""

from __future__ import annotations

import ast
import json
from unittest.mock import MagicMock

import pytest

import tests.campaign.__main__ as campaign
from tests.campaign.__main__ import MEASURING
from tests.campaign.figures import Figure, Measured, keep, kept
from tests.campaign.kinds_of_runs import prepared
from tests.campaign.page import NOT_YET, PAGE, page
from tests.campaign.promises import PARTS, PROMISES
from tests.campaign.shipped import looked_up
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


def test_processes_are_killed_under_every_kind_of_run_that_an_operation_begins():
    document = json.loads((ROOT / "openapi" / "openapi.json").read_text(encoding="utf-8"))
    begun = {
        path.removesuffix("/runs").rpartition("/")[2].removesuffix("s").replace("-", " ")
        for path, methods in document["paths"].items()
        for operation in methods.values()
        if "202" in operation["responses"]
    }
    assert "view check" in begun
    # Two kinds of searches are asked for by one operation.
    assert set(prepared(MagicMock(), {"dataset": "members"})) == begun | {"least loss"}


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


@pytest.fixture
def written(monkeypatch):
    """What the campaign keeps, by promise."""
    figures: dict[str, Measured] = {}
    monkeypatch.setattr(
        campaign, "keep", lambda own, shown: figures.update({one.promise: one for one in own})
    )
    return figures


def ended_by(error):
    """A part with two promises that measures one of them."""

    def part(extent):
        yield Figure("exhausted", "20 s", True)
        if error is not None:
            raise error

    return part


@pytest.mark.parametrize("error", [None, ValueError("too many")], ids=["silent", "broken off"])
def test_a_promise_that_a_part_does_not_come_to_is_not_kept(monkeypatch, written, error):
    monkeypatch.setitem(MEASURING, "exhausted", ended_by(error))
    assert campaign.main(["--parts", "exhausted"]) == 1
    assert {promise: own.is_kept for promise, own in written.items()} == {"exhausted": True, "memory": False}


def test_what_was_measured_before_an_interruption_is_kept(monkeypatch, written, capsys):
    monkeypatch.setitem(MEASURING, "exhausted", ended_by(KeyboardInterrupt()))
    assert campaign.main(["--parts", "exhausted", "cancels"]) == 130
    assert list(written) == ["exhausted"]
    assert "== cancels" not in capsys.readouterr().out


@pytest.mark.parametrize(("libraries", "said", "is_kept"), [
    ([{"skip_reason": "a is not found"}, {"skip_reason": "b is not found"}], "not looked for", True),
    ([{"vulns": []}, {"skip_reason": "b is not found"}], "of which is known: nothing; 1 could not be", True),
    ([{"name": "a", "vulns": [{"id": "CVE-1"}]}, {"vulns": []}], "of which is known: a CVE-1", False),
    ([{"vulns": []}, {"vulns": []}], "2 locked libraries, of which is known: nothing", True),
])  # fmt: skip
def test_a_library_that_could_not_be_looked_up_is_not_taken_for_sound(libraries, said, is_kept):
    figure = looked_up(libraries)
    assert said in figure.text
    assert figure.is_kept == is_kept


@pytest.mark.parametrize(("asked", "said"), [
    ([], ""), (["seed=9", "kills=40"], ""), (["kills=1"], "kills=1"), (["away=60"], "away=(60.0,)"),
    (["away=5,9"], "away=(5.0, 9.0)"), (["away=3,60"], ""),
])  # fmt: skip
def test_a_figure_says_that_less_was_done_than_the_promises_ask_for(monkeypatch, written, asked, said):
    monkeypatch.setitem(MEASURING, "clocks", lambda extent: iter([Figure("clock", "all", True)]))
    campaign.main(["--parts", "clocks", *(["--set", *asked] if asked else [])])
    assert written["clock"].text == ("all" + (f" (less than the whole campaign: {said})" if said else ""))
