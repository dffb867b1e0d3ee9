"""Direct identifiers as a measure: what the table holds, what a rule leaves of it, and never a cell."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.analyses.direct_identifiers import DIRECT_IDENTIFIERS, DirectIdentifiersParameters
from app.domain.direct_identifiers.checked_numbers import NATIONAL, SHAPED, TAX
from app.domain.direct_identifiers.recognition import RECOGNISERS
from app.domain.direct_identifiers.sample import LOOKED_AT
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.models.entry import MeasureContext
from app.domain.risk.models import MODEL_I
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import TableRule
from app.domain.tables.table import Table
from app.services.scoring.measurement_documents import document_of_result
from tests.oracles.effort import examples
from tests.oracles.identifiers_by_hand import CERTAIN, texts

PEOPLE = [f"person{n}@example.org" for n in range(20)]
CONTACT = Hierarchy.from_parents({**{own: ["example.org"] for own in PEOPLE}, "example.org": [None]})
WARD = Hierarchy.from_parents({"green": [None], "brown": [None]})


def measured(rows, rule=None, contact=CONTACT):
    columns = [tree.encode([row[j] for row in rows])[0] for j, tree in enumerate((contact, WARD))]
    table = Table(("contact", "ward"), (contact, WARD), np.stack(columns, axis=1))
    context = MeasureContext(
        table, rule, None, None, None, build_utility(table, "depth_sum"), MODEL_I, "zero"
    )
    asked = DirectIdentifiersParameters()
    assert DIRECT_IDENTIFIERS.supports(context, asked) is None
    ticks = []
    found = DIRECT_IDENTIFIERS.compute(context, asked, ticks.append)
    assert ticks[-1] == DIRECT_IDENTIFIERS.cost(context, asked).units
    return found


ROWS = [(own, ("green", "brown")[n % 2]) for n, own in enumerate(PEOPLE)]


def test_the_table_as_it_is_discloses_addresses():
    found = measured([*ROWS, (None, "green")])
    assert found.direct_identifiers == 1
    contact, ward = found.attributes
    assert (contact.attribute, contact.is_direct_identifier) == ("contact", True)
    assert [(own.kind, own.share) for own in contact.kinds] == [("email", 1.0)]
    assert (contact.cells, contact.distinct, contact.looked_at) == (20, 20, 20)
    assert (ward.is_direct_identifier, ward.kinds, ward.cells, ward.distinct) == (False, (), 21, 2)


def test_a_rule_is_judged_by_what_it_shows():
    assert measured(ROWS, TableRule((1, 0))).direct_identifiers == 0
    suppressed = measured(ROWS, TableRule((2, 0))).attributes[0]
    assert (suppressed.cells, suppressed.distinct, suppressed.kinds) == (0, 0, ())


def test_no_cell_is_in_the_answer():
    text = json.dumps(document_of_result(DIRECT_IDENTIFIERS, measured(ROWS)))
    assert "person" not in re.sub("personal_name", "", text)
    assert "example.org" not in text


def test_the_page_names_every_kind_and_the_numbers_that_the_code_has():
    page = (Path(__file__).parents[3] / "docs" / "measures.md").read_text(encoding="utf-8")
    section = page.partition("## `direct_identifiers`")[2].partition("**What it assumes.**")[0]
    for recogniser in RECOGNISERS:
        (row,) = [
            line for line in section.splitlines() if line.startswith("| ") and f"`{recogniser.kind}`" in line
        ]
        assert f"| {100 * recogniser.least_share:.0f} % " in row
    assert f"{len(NATIONAL) + len(SHAPED)} and {len(TAX)} schemes" in section
    assert f"{LOOKED_AT:,} different texts" in page


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(texts(), min_size=1, max_size=12), st.integers(0, 20), st.booleans())
def test_kinds_that_rules_of_their_own_decide_are_found_with_their_shares(column, gaps, is_suppressed):
    cells = [text for text, _ in column] + [None] * gaps
    contact = Hierarchy.from_parents({text: [None] for text, _ in column})
    rows = [(own, "green") for own in cells]
    found = measured(rows, TableRule((1, 0)) if is_suppressed else None, contact)
    shown = [] if is_suppressed else column
    own, other = found.attributes
    assert (own.cells, own.distinct) == (len(shown), len({text for text, _ in shown}))
    assert (other.cells, other.distinct, other.kinds) == (len(cells), 1, ())
    counts = Counter(kind for _, kind in shown if kind)
    shares = {one.kind: one.share for one in own.kinds if one.kind in CERTAIN}
    assert shares == pytest.approx({kind: n / len(shown) for kind, n in counts.items()})
    # One in a hundred is enough, and there are fewer cells.
    assert all(one.is_direct_identifier for one in own.kinds if one.kind in CERTAIN)
    assert own.is_direct_identifier >= bool(counts)
    assert found.direct_identifiers == own.is_direct_identifier
