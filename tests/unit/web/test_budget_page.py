"""What the page of a budget says of its numbers."""

from __future__ import annotations

from typing import Any

import pytest

from app.charts.drawing import Caption
from app.charts.ledger import Filled, Length, draw_filled
from app.web.budgets import _facts, meaning
from app.web.visits import Page, rendered


def ledger(*releases: tuple[str, str, str], limit: str | None = "1", stands: bool = True) -> dict[str, Any]:
    def sums(at: int) -> dict[str, Any]:
        whole = str(sum(float(own[at]) for own in releases))
        return {"limit": limit, "spent": whole, "reserved": "0", "remaining": limit and "0"}

    entries = [
        {"release": name, "state": "spent", "epsilon": epsilon, "delta": delta, "begun_at": None}
        for name, epsilon, delta in releases
    ]
    found = {"budget": limit and "b", "datasets": ["d"], "epsilon": sums(1), "delta": sums(2)}
    return {**found, "releases": entries, "voided_by": [], "stands": stands, "sentence": ""}


@pytest.mark.parametrize(("epsilon", "delta"), [("0.1", "0"), ("1", "0.000001"), ("900", "0.5")])
def test_no_sentence_takes_delta_for_a_chance_that_the_promise_holds(epsilon, delta):
    told = meaning(epsilon, delta)
    said = f"{told['sentence']} {told['slack']}".lower()
    assert f"at most e^{epsilon}" in said
    assert ("slack of δ" in said) == (delta != "0")
    assert "1 − δ" not in said
    assert "1 - δ" not in said
    assert "with probability" not in said


def test_odds_of_one_to_one_become_those_that_epsilon_allows():
    told = _facts(ledger(("spring", "0.5", "0"), ("<b>", "0.5", "0")))
    odds = str(told["odds"])
    assert "before: 1 to 1, 50 of 100" in odds
    assert "after spring: at most about 1.649 to 1, 62.3 of 100" in odds
    assert "after all of them: at most about 2.719 to 1, 73.2 of 100" in odds
    assert "<b>" not in odds + str(told["picture"])


def test_where_nothing_is_promised_no_odds_after_all_of_them_are_drawn():
    odds = str(_facts(ledger(("a", "0.5", "0"), ("b", "0.5", "0"), stands=False))["odds"])
    assert "after b" in odds
    assert "all of them" not in odds


def test_a_table_without_a_budget_has_no_frame_and_one_without_releases_no_odds():
    told = _facts(ledger(("spring", "0.5", "0"), limit=None))
    assert 'class="room"' not in str(told["picture"])
    assert _facts(ledger(limit=None)) == {
        "releases": [], "all": meaning("0", "0"), "picture": None, "odds": None
    }  # fmt: skip


def test_a_bar_is_filled_as_far_as_its_limit_is_spent():
    bars = [Filled("ε", (Length(1, "spent", "a"), Length(2, "reserved", "b")), 4.0, "3 of 4")]
    drawn = draw_filled(Caption("c", "Title", "Description"), bars)
    widths = [float(part.split('width="')[1].split('"')[0]) for part in drawn.split("<rect")[1:]]
    frame, spent, reserved = widths
    assert [round(frame / 4 - 2, 1), round(frame / 2 - 2, 1)] == [spent, reserved]


@pytest.mark.parametrize("holds", ["assumed", "yes"])
def test_the_page_says_whether_all_releases_of_the_people_are_known(holds):
    known = {"id": "all_draws_counted", "holds": holds, "reason": "As far as identifiers tell."}
    told = ledger(("spring", "0.5", "0")) | {"budgets": ["b"], "hypotheses": [known]}
    page = Page("budget.html", {"dataset": {"name": "d"}, "ledger": told, **_facts(told)})
    shown = bytes(rendered(page).body).decode()
    assert f"all draws counted: {holds}.</strong> As far as identifiers tell." in shown
