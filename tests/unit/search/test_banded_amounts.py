"""Sensitive amounts leave at the lowest level on which each value is of so many persons."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.classes.quasi_part import level_of_persons
from app.domain.errors import InvalidInput
from app.domain.hierarchies.bounds import bounded
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.models.k_anonymity import KAnonymity
from app.domain.models.l_diversity import DistinctLDiversity
from app.domain.rules.rule import apply
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.search.least_loss import least_loss_plan
from app.domain.tables.table import Table

AMOUNTS = [str(n) for n in range(24)]
BOUNDS = (tuple(map(str, range(3, 24, 3))), ("6", "12", "18"), ("12",))
INCOME: Hierarchy = bounded(AMOUNTS, BOUNDS)
AGE: Hierarchy = bounded(AMOUNTS, (("6", "12", "18"), ("12",)))
K, L = KAnonymity(4), DistinctLDiversity(2, "income")


def table(ages: list[int], incomes: list[int | None], persons: list[int] | None = None) -> Table:
    codes = [
        AGE.encode([str(own) for own in ages])[0],
        INCOME.encode(["0" if own is None else str(own) for own in incomes])[0],
    ]
    codes[1][[own is None for own in incomes]] = 0
    found = np.column_stack(codes)
    owners = None if persons is None else np.unique(persons, return_inverse=True)[1].astype(np.int32)
    return Table(("age", "income"), (AGE, INCOME), found, sensitive=frozenset({"income"}), persons=owners)


PEOPLE = table([n * 7 % 24 for n in range(120)], [n * 11 % 24 for n in range(120)])


def band(amount: int, level: int) -> int:
    return amount if not level else sum(int(bound) <= amount for bound in BOUNDS[level - 1])


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(st.integers(0, 23), st.integers(0, 23) | st.none(), st.integers(0, 9)),
        min_size=1,
        max_size=80,
    ),
    st.integers(1, 6),
    st.integers(0, 4),
    st.booleans(),
)
def test_the_level_is_the_lowest_on_which_every_value_is_of_so_many_persons(rows, persons, spare, named):
    own = table([age for age, _, _ in rows], [income for _, income, _ in rows],
                [whose for _, _, whose in rows] if named else None)  # fmt: skip
    least = []
    for level in range(4):
        whose = {
            (band(income, level), person if named else n)
            for n, (_, income, person) in enumerate(rows)
            if income is not None
        }
        least.append(min(Counter(value for value, _ in whose).values(), default=len(rows) + 1))
    wanted = persons + spare if max(least) >= persons + spare else persons
    expected = next((level for level in range(4) if least[level] >= wanted), 4)
    assert level_of_persons(own, "income", persons, spare) == expected


@pytest.mark.parametrize("scope", ["table_level", "record_level"])
@pytest.mark.parametrize("limit", [0.0, 0.2])
def test_criteria_are_of_the_bands_and_the_rule_shows_them(scope, limit):
    problem = AnonymityProblem((K, L), limit, scope=scope, persons_per_value={"income": 10})
    level = problem.levels_of_sensitive(PEOPLE)["income"]
    assert 0 < level < INCOME.height

    def found(own: Table, asked: AnonymityProblem):
        search = least_loss_plan(own, asked)
        return search.combine({0: search.run_block(0, lambda _: None)})

    shown = PEOPLE.codes.copy(order="F")
    shown[:, 1] = INCOME.ancestors_at(level)[shown[:, 1]]
    banded = found(replace(PEOPLE, codes=shown), replace(problem, persons_per_value={}))
    asked = found(PEOPLE, problem)
    assert (asked.loss, asked.suppressed_records, asked.privacy) == (
        banded.loss,
        banded.suppressed_records,
        banded.privacy,
    )
    disclosed = apply(asked.rule, PEOPLE)
    assert np.array_equal(disclosed, apply(banded.rule, replace(PEOPLE, codes=shown)))
    assert Counter(disclosed[:, 1].tolist()).keys() <= {0, *np.unique(shown[:, 1]).tolist()}


def test_what_is_no_sensitive_attribute_is_refused_by_name():
    problem = AnonymityProblem((K,), persons_per_value={"age": 3})
    with pytest.raises(InvalidInput) as raised:
        least_loss_plan(PEOPLE, problem)
    (fault,) = raised.value.faults
    assert (fault.pointer, fault.remedy) == ("/objective/persons_per_value/age", "Sensitive are: income.")
