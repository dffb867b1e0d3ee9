"""How many rows columns single out: in persons, up to the policy's largest k, of a column of any role."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from app.domain.arrays import Ints
from app.domain.direct_identifiers.recognition import RecognisedKind
from app.domain.gates.coverage import (
    Coverage,
    PersonsOfRows,
    ReleasedColumn,
    coverage_of,
    largest_k,
    reading_of,
    singled_out,
)
from app.domain.policies.policy import Policy, with_coverage
from app.domain.policies.reading import Columns
from app.services.gates.policy_documents import policy_of
from tests.unit.policies.example_policies import criterion, document, model

NOBODY: tuple[RecognisedKind, ...] = ()


def column(name: str, codes: Ints, role: str = "sensitive") -> ReleasedColumn:
    texts = tuple(f"{name}{number}" for number in range(int(codes.max()) + 1 if len(codes) else 0))
    return ReleasedColumn(name, role, "policy", texts, codes.astype(np.int32))


def policy(*criteria: dict[str, Any], **fields: Any) -> Policy:
    return with_coverage(policy_of(document(*criteria, **fields)))


def covered(
    asked: Policy,
    *columns: ReleasedColumn,
    persons: PersonsOfRows | None = None,
    looks: tuple[RecognisedKind, ...] = NOBODY,
) -> Coverage:
    quasi = frozenset(own.name for own in columns if own.role == "quasi_identifier")
    known = Columns(quasi, frozenset(own.name for own in columns) - quasi)
    readings = {own.id: reading_of(asked, own, known) for own in asked.requirements}
    return coverage_of(asked, columns, readings, lambda texts, counts: looks, persons=persons)


def rows_of_few(columns: list[Ints], persons: Ints, k: int) -> int:
    """Rows with a value in some of the columns that fewer than k persons have."""
    whose: dict[tuple[int, ...], set[int]] = defaultdict(set)
    rows = [tuple(int(own[row]) for own in columns) for row in range(len(persons))]
    for row, person in zip(rows, persons.tolist(), strict=True):
        whose[row].add(person)
    return sum(len(whose[row]) < k for row in rows if any(code >= 0 for code in row))


@pytest.mark.parametrize("seed", range(40))
def test_rows_whose_value_fewer_than_k_persons_have_are_counted(seed):
    random = np.random.default_rng(seed)
    n, k = int(random.integers(1, 60)), int(random.integers(1, 6))
    persons = np.unique(random.integers(0, max(1, n // 3), n), return_inverse=True)[1].astype(np.int32)
    codes = [random.integers(-1, 8, n) for _ in range(2)]
    asked = policy(criterion(model("k_anonymity", k=k)), singled_out_share=0.0)
    columns = [column(name, own) for name, own in zip("ab", codes, strict=True)]
    least = max(k, 2)
    whole = PersonsOfRows(persons, np.bincount(persons))
    for given, counted in ((whole, persons), (None, np.arange(n))):
        found = covered(asked, *columns, persons=given)
        expected = [rows_of_few([own], counted, least) for own in codes]
        assert [own.singled_out for own in found.columns] == expected
        assert found.least_persons == least
        together = rows_of_few(codes, counted, least)
        whys = {own.why: own.singled_out for own in found.uncovered}
        if not any(expected):
            assert whys == ({"single_out_together": together} if together else {})
        alone, _ = singled_out([own + 1 for own in codes], [9, 9], given, 2)
        assert alone.sum() == rows_of_few(codes, counted, 2)


@pytest.mark.parametrize("seed", range(40))
def test_where_nobody_knows_whose_rows_are_whose_nothing_is_decided_that_is_wrong(seed):
    random = np.random.default_rng(seed)
    n, k = int(random.integers(4, 60)), int(random.integers(2, 5))
    persons = np.unique(random.integers(0, max(1, n // 2), n), return_inverse=True)[1].astype(np.int32)
    asked = policy(criterion(model("k_anonymity", k=k)))
    shown = column("a", random.integers(0, 4, n))
    known = covered(asked, shown, persons=PersonsOfRows(persons, np.bincount(persons)))
    unknown = covered(asked, shown, persons=PersonsOfRows(None, np.bincount(persons)))
    assert unknown.columns[0].singled_out <= known.columns[0].singled_out
    if unknown.uncovered:
        assert known.uncovered
    if unknown.passes:
        assert known.passes


def test_an_amount_of_one_person_in_many_rows_singles_out():
    """180 incomes of twelve rows each: no row is unique, and each amount is one person's."""
    persons = np.repeat(np.arange(180, dtype=np.int32), 12)
    incomes = column("income", persons)
    asked = policy(criterion(model("k_anonymity", k=5)))
    found = covered(asked, incomes, persons=PersonsOfRows(persons, np.bincount(persons)))
    assert [(own.why, own.singled_out) for own in found.uncovered] == [("singles_out", 2160)]
    assert covered(asked, incomes).passes
    before = replace(asked, coverage_version=1)
    assert covered(before, incomes, persons=PersonsOfRows(persons, np.bincount(persons))).passes
    unaligned = covered(asked, incomes, persons=PersonsOfRows(None, np.bincount(persons)))
    assert (unaligned.uncovered, unaligned.undecided) == ((), ("income",))


def test_a_reason_covers_the_singling_out_and_the_requirement_goes_on():
    asked = policy(
        criterion(model("distinct_l_diversity", l=2, attribute="income")),
        not_covered=[{"columns": ["income"], "reason": "Nobody knows it."}],
    )
    found = covered(asked, column("income", np.arange(9)))
    assert (found.passes, found.columns[0].judged_by) == (True, ("it",))
    unwritten = policy(
        criterion(model("k_anonymity", k=2)), not_covered=[{"columns": ["income"], "reason": ""}]
    )
    missing = covered(unwritten, column("income", np.zeros(9, dtype=np.int64)))
    assert (missing.without_reason, missing.uncovered, missing.passes) == (("income",), (), False)


def test_direct_identifiers_are_looked_for_also_where_k_anonymity_holds():
    mails = column("mail", np.arange(20) // 5, "quasi_identifier")
    looks = (RecognisedKind("email", 1.0, True),)
    asked = policy(criterion(model("k_anonymity", k=5)))
    assert [own.why for own in covered(asked, mails, looks=looks).uncovered] == ["direct_identifier"]
    assert covered(replace(asked, coverage_version=1), mails, looks=looks).passes
    excused = policy(
        criterion(model("k_anonymity", k=5)), not_covered=[{"columns": ["mail"], "reason": "Of offices."}]
    )
    assert covered(excused, mails, looks=looks).passes


def measure(kind: str, value: str, threshold: float, **parameters: Any) -> dict[str, Any]:
    asked = {"kind": kind, **parameters}
    return {
        "kind": "measure",
        "measure": asked,
        "value": value,
        "comparison": "at_least",
        "threshold": threshold,
    }


def optimum(k: int) -> dict[str, Any]:
    objective = {"kind": "min_loss", "privacy": [{"kind": "k_anonymity", "k": k}], "suppression_limit": 0.0}
    return {"kind": "optimum", "objective": objective}


@pytest.mark.parametrize(
    ("asked", "k"),
    [
        ([criterion(model("k_anonymity", k=7))], 7),
        ([criterion(model("k_anonymity", k=7)), criterion(model("k_anonymity", k=11), id="more")], 11),
        ([criterion(model("k_anonymity", k=3)), criterion(model("k_anonymity", k=9), severity="warn")], 3),
        ([criterion(model("alpha_k_anonymity", k=4, alpha=0.5, attribute="income"))], 4),
        ([criterion(model("k_map", k=20))], 2),
        ([criterion(model("distinct_l_diversity", l=6))], 2),
        ([criterion(measure("equivalence_classes", "k", 6))], 6),
        ([criterion(measure("equivalence_classes", "records_below_k", 0, k=8))], 8),
        ([criterion(measure("equivalence_classes", "judged.records_suppressed", 9))], 2),
        ([criterion(optimum(5))], 5),
    ],
)  # fmt: skip
def test_the_largest_k_is_that_of_what_blocks(asked, k):
    assert largest_k(policy_of(document(*asked))) == k
