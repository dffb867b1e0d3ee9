"""What singles people out although requirements look at every column."""

from __future__ import annotations

import numpy as np

from app.domain.gates.coverage import ReleasedColumn, coverage_of
from app.domain.gates.reading import Columns, reading_of
from app.services.policy_documents import policy_of
from tests.unit.policies.example_policies import criterion, document, model

NAMES = ("year", "village", "job")


def test_columns_each_judged_by_itself_are_not_covered_if_together_they_single_people_out():
    """Each value is shared by 25 of the 125 records, and no two records are alike in all three."""
    places = np.arange(125, dtype=np.int32)
    columns = [
        ReleasedColumn(name, "quasi_identifier", "policy", tuple("abcde"), places // 5**at % 5)
        for at, name in enumerate(NAMES)
    ]

    def uncovered(*scopes: tuple[str, ...]) -> list[tuple[tuple[str, ...], str, int]]:
        criteria = [
            criterion(model("k_anonymity", k=5), id=f"c{at}", scope={"attributes": list(own)})
            for at, own in enumerate(scopes)
        ]
        policy = policy_of(document(*criteria))
        known = Columns(frozenset(NAMES), frozenset())
        readings = {own.id: reading_of(policy, own, known) for own in policy.criteria}
        found = coverage_of(policy, columns, readings, lambda texts, counts: ())
        return [(own.columns, own.why, own.singled_out) for own in found.uncovered]

    singly = [(name,) for name in NAMES]
    assert uncovered(*singly) == [(NAMES, "single_out_together", 125)]
    assert uncovered(*singly, NAMES) == []
