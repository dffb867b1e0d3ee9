"""Persons looked up in a release: candidates by hand, every kind of cell, and who is really found."""

from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from app.domain.attacks.linking_attack import LINKING_ATTACK
from app.domain.counting.counter import dictionary_of
from app.domain.dictionaries.dictionary import Dictionary, link_age, link_identity
from app.domain.errors import NotSupported
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.rules.rule import RecordRule, TableRule
from app.domain.tables.table import Table
from tests.oracles.rules import cell_rule
from tests.unit.measures import diversity_tables as tables


def linked(found, known, rule=None, **parameters):
    context = replace(tables.context_of(found, rule), dictionary=known)
    asked = LINKING_ATTACK.parameters(**parameters)
    reason = LINKING_ATTACK.supports(context, asked)
    if reason is not None:
        raise NotSupported(reason)
    ticks = []
    result = LINKING_ATTACK.compute(context, asked, ticks.append)
    assert ticks[-1] == LINKING_ATTACK.cost(context, asked).units
    return result


def numbers(result):
    return {own.candidates: own.persons for own in result.by_candidates}


VOTERS = [
    ("13053", "31", "American"),
    ("14853", "55", "Russian"),
    ("13068", "22", "Indian"),
    (None, "35", None),
]
NAMES = ("zip", "age", "nationality")


def voters(found, rows=VOTERS):
    """People, some of whom are no patients; a missing value may be any."""
    links = tuple(
        link_identity(name, found.hierarchies[j], [row[j] for row in rows]) for j, name in enumerate(NAMES)
    )
    return Dictionary(len(rows), links)


@pytest.mark.spec("LD-S1", "LD-D02")
def test_each_voter_may_be_any_of_four_patients():
    found, rule = tables.release_1()
    result = linked(found, voters(found), rule)
    assert result.quasi_identifiers == NAMES
    # 22 is no age of the hierarchy: nobody can be that voter, for ages are shown in ranges.
    assert (result.persons, result.persons_without_candidate) == (4, 1)
    assert numbers(result) == {4: 3}
    assert (result.persons_found, result.records_found.rows) == (0, ())
    assert (result.fewest_candidates, result.greatest_probability, result.average_probability) == (
        4,
        0.25,
        0.25,
    )


@pytest.mark.spec("LD-D02")
def test_whoever_is_alone_is_found():
    found, _ = tables.release_1()
    result = linked(found, voters(found))
    # The fourth voter, of whom only the age is known, is patient 12.
    assert (result.persons_found, result.records_found.rows) == (3, (6, 9, 12))
    assert (numbers(result), result.greatest_probability) == ({1: 3}, 1.0)
    assert result.own is None


@pytest.mark.spec("LD-D02")
def test_patients_among_themselves_are_found_rightly():
    found, rule = tables.release_1()
    itself = dictionary_of(found)
    known = Dictionary(found.n_records, itself.links, found.own_ids, comparable_ids=True)
    own = linked(found, known).own
    assert (own.persons_in_release, own.rightly_found, own.wrongly_found) == (12, 12, 0)
    own = linked(found, known, rule).own
    assert (own.own_among_candidates, own.rightly_found, own.expected_found) == (12, 0, 3.0)
    stranger = replace(known, entity_ids=np.array([*range(1, 12), 0]))
    own = linked(found, stranger).own
    assert (own.own_among_candidates, own.rightly_found, own.wrongly_found) == (0, 0, 12)


def test_ages_are_sets_of_birth_dates():
    births = Hierarchy.from_rows([[d, d[:4]] for d in ("1975-05-10", "1975-12-01", "1980-01-01")])
    rows = [("1975-05-10", "x"), ("1975-12-01", "y"), ("1980-01-01", "x")]
    found = tables.table(("birth", "ill"), (births, tables.flat("xy")), rows, {"ill"})
    # On 30 June 2005 who was born on 10 May 1975 is 30, on 1 December 29.
    known = Dictionary(3, (link_age("birth", births, ["30", "29", "25"], date(2005, 6, 30)),))
    assert linked(found, known).records_found.rows == (1, 2, 3)
    by_year = linked(found, known, TableRule((1, 0)))
    assert (numbers(by_year), by_year.records_found.rows) == ({1: 1, 2: 2}, (3,))


@pytest.mark.spec("FM-5.8")
def test_suppressed_records_are_nobodys_or_anybodys():
    found, _ = tables.release_1()
    codes = found.codes.copy()
    codes[:6, :3] = TOP
    rule = cell_rule(found, codes)
    without = linked(found, voters(found), rule)
    assert (without.records, without.records_suppressed, numbers(without)) == (6, 6, {1: 2})
    among = linked(found, voters(found), rule, suppressed="own_block")
    assert (among.records, numbers(among)) == (12, {6: 2, 7: 2})


def test_rules_for_single_records_are_looked_up_cell_by_cell():
    found, _ = tables.release_1()
    steps = np.zeros((12, 4), dtype=np.int16)
    steps[8, :3] = [1, 1, 1]
    steps[9, :3] = [0, 1, 1]
    result = linked(found, voters(found, VOTERS[:1]), RecordRule(steps))
    assert numbers(result) == {2: 1}
    assert result.records_found.rows == ()


def test_a_dictionary_without_quasi_identifiers_finds_nobody():
    found, _ = tables.release_1()
    known = Dictionary(1, (link_identity("condition", found.hierarchies[3], [tables.C]),))
    with pytest.raises(NotSupported, match="none of the quasi-identifiers"):
        linked(found, known)
    assert linked(found, known, quasi_identifiers=("condition",)).fewest_candidates == 5


def test_nobody_is_looked_for():
    found, _ = tables.release_1()
    result = linked(found, voters(found, []))
    assert (result.persons, result.fewest_candidates, result.average_probability) == (0, None, 0.0)


def test_more_only_candidates_than_a_byte_counts():
    rows = [(f"{i:03}", "x") for i in range(300)]
    found = Table(
        ("place", "ill"),
        (tables.flat(row[0] for row in rows), tables.flat("x")),
        np.array([[i + 1, 1] for i in range(300)]),
        sensitive=frozenset({"ill"}),
    )
    chosen = [299, 0, 255, 256, 7]
    known = Dictionary(5, (link_identity("place", found.hierarchies[0], [rows[i][0] for i in chosen]),))
    result = linked(found, known)
    assert (result.persons_found, result.records_found.rows) == (5, (1, 8, 256, 257, 300))
