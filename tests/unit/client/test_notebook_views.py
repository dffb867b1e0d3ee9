"""What notebooks and completion show of the functions for Python."""

from __future__ import annotations

import re

import pytest

import privacy_risk as pr
from privacy_risk.columns import meant
from privacy_risk.gating import Verdict
from privacy_risk.notebook_views import BAD, GOOD, ROWS_FIRST, Bar, bars, view


def test_completion_shows_what_is_for_callers_and_nothing_else():
    shown = dir(pr)
    assert {"profile", "anonymise", "compare", "gate", "dp_counts", "Client"} <= {*shown}
    assert not {"Any", "annotations", "Final", "TYPE_CHECKING", "import_module"} & {*shown}
    assert all(getattr(pr, name) is not None for name in shown)


@pytest.mark.parametrize(("rows", "folded"), [(3, 0), (ROWS_FIRST, 0), (ROWS_FIRST + 5, 5)])
def test_twelve_rows_stand_first_and_the_others_are_folded(rows, folded):
    table = [("name",), *((f"row {n}",) for n in range(rows))]
    first, *more = view("head<line>", "<svg/>", ["said"], table, [("notes", "<ul/>"), ("none", "")]).split(
        "<details>"
    )
    assert first.startswith("<p><b>head&lt;line&gt;</b></p><svg/>")
    assert first.count("<td>") == min(rows, ROWS_FIRST)
    assert len(more) == bool(folded) + 1
    assert "".join(more).count("<td>") == folded
    if folded:
        assert f"<summary>{folded} more</summary>" in more[0]


def test_a_picture_is_drawn_in_proportion_and_holds_no_markup_of_names():
    shown = bars("<b>", [Bar("a<b>", 0.5, "50 %"), Bar("whole", 1.0, "all", GOOD), Bar("beyond", 7, "7")])
    widths = [float(own) for own in re.findall(r'<rect[^>]* width="([\d.]+)"', shown)]
    assert widths[0] * 2 == widths[1] == widths[2]
    assert "<b>" not in shown
    assert "<script" not in shown


def test_a_verdict_shows_each_criterion_in_the_colour_of_its_outcome():
    criteria = [{"title": "k-anonymity", "outcome": "passed"}, {"title": "t-closeness", "outcome": "failed"}]
    reasons = tuple(f"reason {n}" for n in range(14))
    html = Verdict("fail", "rules@1", reasons, {"result": {"criteria": criteria}})._repr_html_()
    assert html.startswith("<p><b>fail: rules@1</b></p><svg")
    assert (html.count(f'fill="{GOOD}"'), html.count(f'fill="{BAD}"')) == (1, 1)
    assert html.index("reason 11") < html.index("<summary>2 more</summary>") < html.index("reason 12")
    refused = Verdict("fail", "rules@1", ("It must not leave.",))._repr_html_()
    assert refused.count(f'fill="{BAD}"') == 1


@pytest.mark.parametrize(
    ("name", "said"),
    [("aeg", "Did you mean 'Age'? "), ("AGE", "Did you mean 'Age'? "), ("postcode", ""), (7, "")],
)
def test_a_column_whose_name_is_nearly_so_is_named(name, said):
    assert meant(name, ("Age", "zip")) == said
