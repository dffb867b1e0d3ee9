"""What singles people out although requirements look at every column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from app.domain.arrays import Longs
from app.domain.direct_identifiers.recognition import RecognisedKind
from app.domain.gates.coverage import Coverage, ReleasedColumn, coverage_of, reading_of
from app.domain.policies.reading import Columns, Reading
from app.services.gates.policy_documents import policy_of
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
        readings = {own.id: reading_of(policy, own, known) for own in policy.requirements}
        found = coverage_of(policy, columns, readings, lambda texts, counts: ())
        return [(own.columns, own.why, own.singled_out) for own in found.uncovered]

    singly = [(name,) for name in NAMES]
    assert uncovered(*singly) == [(NAMES, "single_out_together", 125)]
    assert uncovered(*singly, NAMES) == []


def uncovered_of(
    columns: list[ReleasedColumn],
    *criteria: dict[str, Any],
    looks: frozenset[str] = frozenset(),
    **policy_fields: Any,
) -> Coverage:
    """What is found of quasi-identifiers under these criteria; texts that begin with a name in ``looks``."""
    policy = policy_of(document(*criteria, **policy_fields))
    quasi = frozenset(own.name for own in columns if own.role == "quasi_identifier")
    known = Columns(quasi, frozenset(own.name for own in columns) - quasi)
    readings = {own.id: reading_of(policy, own, known) for own in policy.requirements}

    def recognise(texts: Sequence[str], counts: Longs) -> tuple[RecognisedKind, ...]:
        return tuple(RecognisedKind("email", 1.0, True) for own in looks if texts[0].startswith(own))

    return coverage_of(policy, columns, readings, recognise)


def column(name: str, role: str, codes: list[int], distinct: int | None = None) -> ReleasedColumn:
    number = max(codes) + 1 if distinct is None else distinct
    texts = tuple(f"{name}{n}" for n in range(number))
    return ReleasedColumn(name, role, "policy", texts, np.array(codes, dtype=np.int32))


def whys(found: Coverage) -> list[tuple[str, ...]]:
    return [(own.why, *own.columns) for own in found.uncovered]


CLOSE = criterion(model("t_closeness", t=0.2, attribute="mail"))
K = criterion(model("k_anonymity", k=2))
PAIRS = [n // 2 for n in range(8)]


def test_a_column_of_identifiers_is_covered_only_by_what_bounds_telling_records_apart():
    looks = frozenset({"mail"})
    judged = uncovered_of([column("mail", "sensitive", PAIRS)], CLOSE, looks=looks)
    assert (judged.columns[0].judged_by, whys(judged)) == (("it",), [("direct_identifier", "mail")])
    apart = uncovered_of([column("mail", "quasi_identifier", PAIRS)], K, looks=looks)
    assert (whys(apart), apart.passes) == ([], True)


def test_a_requirement_on_values_covers_no_column_that_singles_people_out():
    """ℓ-diversity keeps people from learning a value; who knows it finds the record."""
    town = column("town", "quasi_identifier", [0] * 8)
    diverse = criterion(model("distinct_l_diversity", l=2, attribute="income"))
    each = column("income", "sensitive", list(range(8)))
    judged = uncovered_of([town, each], diverse)
    assert (judged.columns[1].judged_by, whys(judged)) == (("it",), [("singles_out", "income")])
    assert whys(uncovered_of([town, column("income", "sensitive", PAIRS)], diverse)) == []
    # Each value is shared by four, and no two records are alike in both.
    jointly = [column(name, "sensitive", [n // 4**at % 4 for n in range(16)]) for at, name in enumerate("ab")]
    both = [criterion(model("t_closeness", t=0.2, attribute=name), id=name) for name in "ab"]
    assert whys(uncovered_of(jointly, *both)) == [("single_out_together", "a", "b")]


def test_a_score_covers_what_the_dictionary_carries_and_not_what_the_profile_weighs():
    columns = [column(name, "quasi_identifier", list(range(8))) for name in ("town", "job")]
    score = {"kind": "score", "value": "risk_average", "comparison": "at_most", "threshold": 0.1}
    policy = policy_of(document(criterion(score), dictionaries=[{"name": "register", "description": "r"}]))
    known = Columns(
        frozenset({"town", "job"}), frozenset(), {"register": frozenset({"town"})}, frozenset({"job"})
    )
    readings = {own.id: reading_of(policy, own, known) for own in policy.requirements}
    found = coverage_of(policy, columns, readings, lambda texts, counts: ())
    assert [own.judged_by for own in found.columns] == [("it",), ("it",)]
    assert whys(found) == [("singles_out", "job")]


def test_records_of_which_nothing_is_shown_single_nobody_out_together():
    nothing = [-1, 0, 0, 0, 0, 0, 0, 0]
    columns = [column("a", "sensitive", nothing, 1), column("b", "sensitive", nothing, 1)]
    assert whys(uncovered_of(columns, K)) == []
    shown = [column("a", "sensitive", nothing, 1), column("b", "sensitive", [0, 0, *[1] * 6])]
    assert whys(uncovered_of(shown, K)) == [("single_out_together", "a", "b")]


def test_a_quasi_identifier_with_a_reason_need_not_be_bounded_with_the_others():
    columns = [
        column(name, "quasi_identifier", [n // 4**at % 4 for n in range(16)]) for at, name in enumerate("ab")
    ]
    each = [
        criterion(model("k_anonymity", k=4), id=name, scope={"attributes": [name]}) for name in ("a", "b")
    ]
    assert whys(uncovered_of(columns, *each)) == [("single_out_together", "a", "b")]
    given = [{"columns": ["a"], "reason": "Drawn at random."}]
    assert whys(uncovered_of(columns, *each, not_covered=given)) == []


def test_nothing_passes_that_is_not_covered_or_that_nobody_has_confirmed():
    alone = [column("a", "sensitive", list(range(8)))]
    assert not uncovered_of(alone, K).passes
    confirmed = {"attributes": {"a": "sensitive"}}
    covered = [column("a", "sensitive", PAIRS)]
    assert uncovered_of(covered, K, schema=confirmed).passes
    assert not uncovered_of(covered, K, schema=confirmed | {"to_confirm": ["a"]}).passes


def test_a_waived_requirement_neither_reads_nor_tells_apart():
    columns = [column("a", "quasi_identifier", list(range(8)))]
    policy = policy_of(document(K))
    readings = {"it": Reading(frozenset("a"), frozenset("a"))}
    held = coverage_of(policy, columns, readings, lambda texts, counts: ())
    waived = coverage_of(policy, columns, readings, lambda texts, counts: (), frozenset({"it"}))
    assert (whys(held), whys(waived)) == ([], [("singles_out", "a")])
    assert (waived.columns[0].judged_by, waived.columns[0].waived) == ((), ("it",))
