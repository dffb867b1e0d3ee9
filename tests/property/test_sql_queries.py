"""SQL against SQLite, and against the same queries in Datalog."""

from __future__ import annotations

import sqlite3
from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.errors import InvalidInput
from app.domain.views.decision import decide
from app.domain.views.work import Budget, Work
from app.services.views.column_types import type_of
from app.services.views.pair_verdicts import understood
from app.services.views.reading import ReadSchema, WrittenQuery, read_schema, reader
from app.services.views.view_checks import ViewCheck, checked
from tests.oracles.effort import examples
from tests.oracles.query_view_cases import Case, tiny_case, unbounded_case
from tests.oracles.sql_queries import DECLARED, Drawn, answered, evaluated, facts, in_sql, may_matter

RANDOM = st.integers(0, 2**32).map(Random)
READ = reader("sql", "postgres", read_schema({}, (), DECLARED, "postgres"))
FACTS = facts()
REFUSED = ("query-too-large", "not-read", "not-understood")
"""What is drawn may be too large, name a query by WITH and not use it, or be too much for SQLite."""


@pytest.fixture(scope="module")
def database():
    connection = sqlite3.connect(":memory:")
    connection.executescript(DECLARED)
    yield connection
    connection.close()


def drawn_instance(random: Random):
    return frozenset(random.sample(FACTS, random.randint(0, 8)))


def as_counted(found: Counter, sql: str) -> Counter:
    """The rows that a query counts, as the query shows their number."""
    if "GROUP BY" not in sql:
        return Counter({(found.total(),): 1})
    return Counter((*row, times) for row, times in found.items())


def is_understood(database, sql: str) -> bool:
    """Whether SQLite understands the query: it refuses a few joins of subqueries that have RIGHT JOIN."""
    try:
        database.execute(f"EXPLAIN {sql}")
    except sqlite3.OperationalError as error:
        assert "ON clause references tables to its right" in str(error)  # noqa: PT017 - it is no failure
        return False
    return True


def is_read_as_a_database_does(database, random: Random, *, wild: bool) -> str:
    """What is read exactly has the same answers; what is not depends on no row outside of its envelope."""
    drawn = Drawn(random, wild)
    sql = drawn.query()
    if not is_understood(database, sql):
        return "not-understood"
    try:
        query = READ(WrittenQuery("q", sql))
    except InvalidInput as error:
        return error.faults[0].code
    for _ in range(3):
        rows, fact = drawn_instance(random), random.choice(FACTS)
        expected = answered(database, sql, rows)
        if not query.not_exact:
            found = evaluated(query, rows)
            assert (as_counted(found, sql) if drawn.counts else found) == expected, (sql, rows)
        if answered(database, sql, rows | {fact}) != answered(database, sql, rows - {fact}):
            assert may_matter(query, fact, rows - {fact}), (sql, fact, rows)
    return "envelope" if query.not_exact else "exact"


@pytest.mark.deep
@pytest.mark.parametrize("wild", [False, True])
@given(random=RANDOM)
@settings(max_examples=examples(1_200))
def test_a_query_is_read_as_a_database_answers_it(database, wild, random):
    kind = is_read_as_a_database_does(database, random, wild=wild)
    assert kind in ("exact", "envelope", *REFUSED)


@pytest.mark.deep
@pytest.mark.parametrize("wild", [False, True])
def test_ten_thousand_queries_are_read_as_a_database_answers_them(database, wild):
    kinds = Counter(is_read_as_a_database_does(database, Random(seed), wild=wild) for seed in range(10_000))
    assert kinds["exact"] > 1_500
    assert kinds["envelope"] > 500
    assert kinds["query-too-large"] < 50
    assert kinds["not-read"] < 1_500
    assert kinds["not-understood"] < 10
    assert kinds.keys() <= {"exact", "envelope", *REFUSED}


def changed_by(database, sql: str, fact: tuple, rows: frozenset) -> bool:
    """Whether the row changes what SQLite answers beside the others."""
    return answered(database, sql, rows | {fact}) != answered(database, sql, rows - {fact})


def is_judged_as_a_database_shows(database, random: Random, *, wild: bool) -> str:
    """No row changes both answers of a private pair; the witness of a disclosure changes both."""
    sqls = [Drawn(random, wild).query() for _ in range(2)]
    if not all(is_understood(database, sql) for sql in sqls):
        return "not-understood"
    queries = [WrittenQuery("q", sql) for sql in sqls]
    asked = ViewCheck({}, (), queries[:1], queries[1:], False, "sql", "postgres", DECLARED)
    try:
        (pair,) = checked(asked)["pairs"]
    except InvalidInput as error:
        return error.faults[0].code
    if pair["verdict"] == "PRIVATE":
        for fact in FACTS:
            tried = [drawn_instance(random) for _ in range(4)]
            changed = [any(changed_by(database, sql, fact, rows) for rows in tried) for sql in sqls]
            assert not all(changed), (sqls, fact)
    for sql, side in zip(sqls, ("secret", "view"), strict=True):
        if pair["witness"] is not None:
            fact, *others = (
                (own["relation"], *own["values"].values())
                for own in (pair["witness"][side]["deciding_row"], *pair["witness"][side]["other_rows"])
            )
            assert changed_by(database, sql, fact, frozenset(others)), (sqls, pair)
    return pair["verdict"]


@pytest.mark.deep
@pytest.mark.parametrize("wild", [False, True])
@given(random=RANDOM)
@settings(max_examples=examples(300))
def test_a_verdict_is_what_a_database_shows(database, wild, random):
    verdict = is_judged_as_a_database_shows(database, random, wild=wild)
    assert verdict in ("PRIVATE", "DISCLOSES", "UNKNOWN", *REFUSED)


def verdict_in_sql(case: Case) -> str:
    """The verdict, or the code of the fault for which the pair is refused, or that it has an envelope."""
    types = {name: list(map(type_of, own.ranges)) for name, own in case.schema.relations.items()}
    read = reader("sql", "postgres", ReadSchema(case.schema, types))
    columns = {name: own.attributes for name, own in case.schema.relations.items()}
    try:
        secret, view = (read(WrittenQuery("q", in_sql(query, columns))) for query in case.parsed())
    except InvalidInput as error:
        return error.faults[0].code
    if secret.not_exact or view.not_exact:
        return "envelope"
    work = Work(Budget(), lambda: False)
    sides = [
        understood(name, query, name, schema=case.schema, work=work).branches
        for name, query in (("s", secret), ("v", view))
    ]
    return decide(*sides, case.schema).verdict


@pytest.mark.deep
@given(RANDOM)
@settings(max_examples=examples(500))
def test_a_query_in_sql_has_the_verdict_of_the_same_in_datalog(random):
    kind = random.choice(["any", "number", "integer"])
    for case in (tiny_case(random, 9), unbounded_case(random, kind)):
        assert verdict_in_sql(case) in (case.verdict().verdict, "outside-domain", "envelope"), case
