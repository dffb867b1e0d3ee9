"""What Safe Harbor lets leave of dates, ages and ZIP codes: read from texts, and counted in a table."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from app.domain.analyses.safe_harbor_values import SAFE_HARBOR_VALUES, SafeHarborParameters
from app.domain.direct_identifiers.safe_harbor import (
    RESTRICTED_ZIP_CODES,
    is_finer_than_a_year,
    is_finer_than_three_digits,
    tells_ages_above_89,
    tells_years_of_ages_above_89,
)
from app.domain.errors import InvalidInput
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.models.entry import MeasureContext
from app.domain.risk.models import MODEL_I
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import TableRule
from app.domain.tables.table import Table

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    "text",
    [
        "1975-05-10", "1975-05", "1975-Q2", "1975-W07", "[1975-05-10, 1975-08-02]", "1975-05-10T09:15",
        "10.05.1975", "5/10/1975", "10/5/75", "05/1975", "1975/05", "1975.05.10", "19750510", "May 1975",
        "10 May 1975", "May 10, 1975", "10th of May", "sept. 2001", "12-31-1999",
        "1975-5-10", "10-May-75", "10MAY1975", "May-1975",
    ],
)  # fmt: skip
def test_more_of_a_date_than_its_year_is_seen(text):
    assert is_finer_than_a_year(text)


@pytest.mark.parametrize(
    "text",
    ["1975", "1970s", "1975-1980", "[1970, 1980[", "1975.05", "2.10.13", "09:15", "may take two", "52k",
     "2 decimals", "12-34", "197505101", "99/5/1", "West Lafayette", "2001-20"],
)  # fmt: skip
def test_a_year_and_what_is_no_date_are_not(text):
    assert not is_finer_than_a_year(text)


@pytest.mark.parametrize(
    ("text", "tells"),
    [
        ("89", False), ("90", True), ("95", True), ("90+", False), ("95+", True), ("90 or more", False),
        ("90 or older", False), (">89", False), (">90", True), ("≥ 90", False), (">= 91", True),
        ("over 89", False), ("85 or over", False), ("[85, 90[", False), ("[85, 90)", False),
        ("[85, 90]", True), ("85-89", False), ("85-94", True), ("[80, 120]", False), ("[92, 130[", True),
        ("below 18", False), ("below 90", False), ("below 95", True), ("adult", False), ("7", False),
        ("≤ 90", True), ("<= 90", True), ("90 or less", True), ("90 and under", True), ("89 or less", False),
        ("< 90", False), ("under 91", True),
    ],
)  # fmt: skip
def test_ages_above_89_are_told_only_in_one_class(text, tells):
    assert tells_ages_above_89(text) is tells


@pytest.mark.parametrize(
    ("text", "tells"),
    [
        ("1936", True), ("1937", False), ("1936-05-10", True), ("1930s", True), ("[1940, 1950[", False),
        ("below 1937", False), ("before 1936", False), ("before 1935", True), ("unknown", False),
    ],
)  # fmt: skip
def test_years_of_birth_tell_ages_above_89_only_in_one_class(text, tells):
    assert tells_years_of_ages_above_89(text, 2026) is tells


@pytest.mark.parametrize(
    ("text", "finer"),
    [
        ("02139", True), ("2139", True), ("0213*", True), ("021", False), ("021**", False), ("02", False),
        ("000", False), ("036", True), ("036**", True), ("[021, 036]", True), ("Vermont", False),
        ("02139-4307", True),
    ],
)  # fmt: skip
def test_three_digits_of_a_zip_code_may_leave_unless_few_people_share_them(text, finer):
    assert is_finer_than_three_digits(text, RESTRICTED_ZIP_CODES) is finer
    assert is_finer_than_three_digits("036", ()) is False


BORN = Hierarchy.from_parents(
    {"1930-01-01": ["1930"], "1930-02-01": ["1930"], "1970-05-10": ["1970"], "1930": [None], "1970": [None]}
)
ZIP = Hierarchy.from_parents({"02139": ["021"], "03601": ["036"], "021": [None], "036": [None]})
AGE = Hierarchy.from_parents({"96": ["90+"], "56": ["50-59"], "90+": [None], "50-59": [None]})
ROWS = [("1930-01-01", "02139", "96"), ("1930-02-01", "03601", "96"), ("1970-05-10", None, "56")]
NAMED = SafeHarborParameters(ages=("age",), birth_years=("born",), as_of=2026, zip_codes=("zip",))


def measured(rule=None, asked=NAMED):
    trees = (BORN, ZIP, AGE)
    columns = [tree.encode([row[j] for row in ROWS])[0] for j, tree in enumerate(trees)]
    table = Table(("born", "zip", "age"), trees, np.stack(columns, axis=1))
    context = MeasureContext(
        table, rule, None, None, None, build_utility(table, "depth_sum"), MODEL_I, "zero"
    )
    ticks = []
    found = SAFE_HARBOR_VALUES.compute(context, asked, ticks.append)
    assert ticks[-1] == SAFE_HARBOR_VALUES.cost(context, asked).units
    return found


def test_the_table_as_it_is_says_too_much_of_all_of_them():
    found = measured()
    assert (found.dates, found.birth_years, found.zip_codes, found.ages) == (3, 2, 2, 2)
    assert found.cells == 9
    assert [(own.attribute, own.kind) for own in found.attributes] == [
        ("born", "date"), ("born", "birth_year"), ("zip", "zip_code"), ("age", "age"),
    ]  # fmt: skip


def test_a_rule_is_judged_by_what_it_shows():
    found = measured(TableRule((1, 1, 1)))
    assert (found.dates, found.birth_years, found.zip_codes, found.ages) == (0, 2, 1, 0)
    assert measured(TableRule((2, 2, 1))).cells == 0


def test_only_dates_are_looked_for_in_attributes_that_are_not_named():
    assert measured(asked=SafeHarborParameters()).cells == 3


def test_attributes_that_there_are_not_are_refused_and_not_passed_over():
    with pytest.raises(InvalidInput) as refused:
        measured(asked=SafeHarborParameters(ages=("age", "years")))
    assert [own.pointer for own in refused.value.faults] == ["/measure/ages/1"]
    with pytest.raises(InvalidInput, match="depends on the year"):
        SafeHarborParameters(birth_years=("born",))


def test_the_page_on_regulations_lists_the_restricted_zip_codes():
    page = (ROOT / "docs" / "regulations.md").read_text(encoding="utf-8")
    listed = re.search(r"census of 2000:\s+((?:\d{3}[,\s]+)+\d{3})", page)
    assert listed is not None
    assert tuple(re.findall(r"\d{3}", listed.group(1))) == RESTRICTED_ZIP_CODES
