"""Verdicts on SQL against perfect privacy by its definition, on every instance that PostgreSQL is given.

A view that is private beside a secret has an answer that is independent of the secret's, whatever the odds of
the rows are. Of small instances all are answered, and the joint probabilities are computed in whole numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import combinations, product
from random import Random

import psycopg
import pytest

from app.domain.errors import InvalidInput
from app.domain.views.decision import decide
from app.domain.views.work import Budget, Work
from app.persistence.addresses import libpq_url
from app.services.views.pair_verdicts import Decided, Understood, understood
from app.services.views.reading import WrittenQuery, read_schema, reader
from app.services.views.view_checks import ViewCheck, checked
from tests.oracles.view_worlds import (
    EXTREME,
    INTEGERS,
    LISTED,
    ONES,
    PLAIN,
    TYPED,
    Schema,
    Table,
    Worlds,
    are_independent,
    declared,
    drawn_queries,
    drawn_rows,
    in_other_order,
)

PRIORS = 2


@pytest.fixture(scope="module")
def connection(postgres) -> Iterator[psycopg.Connection]:
    with psycopg.connect(libpq_url(postgres.admin_url), autocommit=True) as own:
        own.execute("SET client_min_messages = error; SET jit = off")
        yield own


def judged(
    seed: int,
    connection: psycopg.Connection,
    schemas: Sequence[Schema] = INTEGERS,
    *,
    rows: int,
    queries: int,
) -> Counter:
    """How many pairs of drawn queries have which verdict; those that are private are independent."""
    random = Random(seed)
    schema = random.choice(schemas)
    worlds = Worlds(connection, schema, drawn_rows(random, schema, rows))
    read = read_schema({}, (), declared(schema), "postgres")
    own = reader("sql", "postgres", read)
    found: Counter = Counter()
    known = []
    for sql in drawn_queries(random, schema, queries):
        answers = worlds.answers(sql)
        try:
            query = own(WrittenQuery("q", sql))
        except InvalidInput:
            found["refused"] += 1
            continue
        if answers is not None and answers.max() > 0:
            orders = [answers]
            if schema in EXTREME:
                orders.append(worlds.answers(in_other_order(sql)))
            known.append((sql, [own for own in orders if own is not None], query))
    priors = [worlds.prior(random) for _ in range(PRIORS)]

    def side(query, name: str) -> Understood:
        work = Work(Budget(), lambda: False)
        return understood(name, query, name, schema=read.relational, work=work)

    for (secret, ours, one), (view, theirs, other) in combinations(known, 2):
        sides = side(one, "s"), side(other, "v")
        verdict = Decided(decide(sides[0].branches, sides[1].branches, read.relational), *sides).verdict
        found[verdict] += 1
        if verdict == "PRIVATE":
            for one_order, other_order, weights in product(ours, theirs, priors):
                independent = are_independent(one_order, other_order, weights)
                assert independent, (declared(schema), worlds.rows, secret, view)
    return found


def test_answers_of_private_pairs_are_independent(connection):
    found = sum((judged(seed, connection, rows=4, queries=30) for seed in (4, 7)), Counter())
    assert found["PRIVATE"] > 10
    assert found["DISCLOSES"] + found["UNKNOWN"] > 10


def test_answers_of_private_pairs_are_independent_whatever_the_types(connection):
    found = sum((judged(seed, connection, TYPED[:1], rows=4, queries=30) for seed in (4, 16)), Counter())
    assert found["PRIVATE"] > 5
    assert found["DISCLOSES"] + found["UNKNOWN"] > 5


@pytest.mark.deep
@pytest.mark.parametrize("schema", TYPED)
def test_answers_of_thousands_of_private_pairs_of_every_type_are_independent(connection, schema):
    seeds = range(2000, 2060)
    found = sum((judged(seed, connection, [schema], rows=6, queries=24) for seed in seeds), Counter())
    assert found["PRIVATE"] > 30


def test_answers_of_private_pairs_are_independent_where_values_are_extreme(connection):
    found = sum((judged(10, connection, [schema], rows=4, queries=30) for schema in EXTREME), Counter())
    assert found["PRIVATE"] > 5
    assert found["DISCLOSES"] + found["UNKNOWN"] > 5


@pytest.mark.deep
@pytest.mark.parametrize("schema", EXTREME)
def test_answers_of_thousands_of_private_pairs_of_extreme_values_are_independent(connection, schema):
    seeds = range(3000, 3080)
    found = sum((judged(seed, connection, [schema], rows=6, queries=24) for seed in seeds), Counter())
    assert found["PRIVATE"] > 30


@pytest.mark.deep
@pytest.mark.parametrize("block", range(8))
def test_answers_of_thousands_of_private_pairs_are_independent(connection, block):
    seeds = range(1000 + 75 * block, 1075 + 75 * block)
    found = sum((judged(seed, connection, rows=7, queries=24) for seed in seeds), Counter())
    assert found["PRIVATE"] > 150
    # About every second text is no query, or none that is read.
    assert found["refused"] < 0.6 * 24 * len(seeds)


C = "WITH c AS MATERIALIZED (SELECT b FROM r WHERE b = 2) SELECT t.a FROM t JOIN c ON t.a = c.b"


@pytest.mark.parametrize(
    ("rows", "secret", "view"),
    [
        # What ON names is not what stands before the comma.
        (
            [("r", 1, 0), ("t", 2), ("s", 0, 0)],
            "SELECT a FROM t WHERE a = 2",
            "SELECT t.b FROM r AS t WHERE EXISTS (SELECT 1 FROM t, s JOIN r ON t.a = 1)",
        ),
        # A row that the join leaves out makes the query fail.
        ([("r", 0, 2), ("t", 1), ("t", 2)], "SELECT a FROM t WHERE a = 1", f"{C} WHERE 2 / (t.a - 1) > 1"),
        (
            [("r", 0, 2), ("t", 1), ("s", 0, 0), ("s", 0, 1)],
            "SELECT a FROM t WHERE a = 1",
            f"{C} WHERE t.a = (SELECT s.c FROM s WHERE s.c <= t.a)",
        ),
    ],
)
def test_answers_that_depend_on_each_other_are_not_private(connection, rows, secret, view):
    worlds = Worlds(connection, PLAIN, rows)
    answers = [worlds.answers(sql) for sql in (secret, view)]
    assert not are_independent(*answers, worlds.prior(Random(1)))
    assert verdict(secret, view) != "PRIVATE"


DAYS_OF_MAY = " OR ".join(f"a = TIMESTAMP '2020-05-0{i}' AND a < '2020-06-01'" for i in range(1, 9))
SOON = f"(a < TIMESTAMP '2020-02-01' OR {DAYS_OF_MAY})"
SMALL = "(a < 5 OR a = 6 AND a < 7 OR a = 8 AND a < 9 OR a = 10 AND a < 11 OR a = 12 AND a < 13)"


@pytest.mark.parametrize(
    ("schema", "rows", "secret", "condition"),
    [
        (
            EXTREME[0],
            [("t", "300000-01-01"), ("t", "2020-01-01")],
            "a > '2021-01-01'",
            f"{SOON} AND {condition}",
        )
        for condition in (
            "date_trunc('day', a) IS NOT NULL",
            "COALESCE(a, TIMESTAMP '2020-01-01') IS NOT NULL",
            "EXTRACT(HOUR FROM a) = 0",
        )
    ]
    + [
        (EXTREME[1], [("t", "1"), ("r", "1e400", "1"), ("r", "1", "1")], "a > 50", f"{SMALL} AND {condition}")
        for condition in ("a >= b", "a BETWEEN 0 AND b", "NULLIF(a, b) IS NULL", "b IN (a, 7)")
    ],
)
def test_a_row_that_is_hidden_makes_a_view_fail_that_is_not_private(
    connection, schema, rows, secret, condition
):
    """The database tries what costs least first, which is not the condition that hides the row."""
    table = rows[-1][0]
    asked = f"SELECT a FROM {table} WHERE {secret}", f"SELECT a FROM {table} WHERE {condition}"
    worlds = Worlds(connection, schema, rows)
    answers = [worlds.answers(sql) for sql in asked]
    assert not are_independent(*answers, worlds.prior(Random(1)))
    assert verdict(*asked, schema) == "UNKNOWN"
    hiding = SOON if table == "t" else SMALL
    assert verdict(asked[0], f"SELECT a FROM {table} WHERE {hiding}", schema) == "PRIVATE"


@pytest.mark.parametrize(
    ("secret", "view"),
    [
        ("SELECT a FROM r WHERE b = 1", "SELECT EXISTS (SELECT 1 FROM r WHERE b = 2) AS any_of_two"),
        ("SELECT EXISTS (SELECT 1 FROM r WHERE b = 1)", "SELECT a FROM r WHERE b = 2 FETCH FIRST ROW ONLY"),
        ("SELECT EXISTS (SELECT 1 FROM s WHERE c = 1)", "SELECT b FROM r FETCH FIRST 2 ROWS ONLY"),
        (
            "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM r WHERE b = 2 FETCH NEXT 1 ROW ONLY) AND a <> 1",
            "SELECT (EXISTS (SELECT 1 FROM t WHERE a = 1))",
        ),
        # A list of what a column holds leaves but one value beside 0 and 1.
        ("SELECT EXISTS (SELECT 1 FROM t WHERE a > 1)", "SELECT a FROM t WHERE a < 2"),
        ("SELECT c FROM s WHERE b <> 2 AND b <> 1 AND c > 0", "SELECT c FROM s WHERE b IN (1, 2) OR c < 1"),
    ],
)
def test_what_is_asked_whether_and_cut_off_is_independent_where_it_is_private(connection, secret, view):
    rows = [("r", 0, 1), ("r", 1, 2), ("r", 2, 2), ("s", 0, 1), ("s", 1, 1), ("t", 1), ("t", 2)]
    worlds = Worlds(connection, LISTED, rows)
    answers = [worlds.answers(sql) for sql in (secret, view)]
    assert all(own.max() > 0 for own in answers)
    assert are_independent(*answers, worlds.prior(Random(1)))
    assert verdict(secret, view, LISTED) == "PRIVATE"
    assert verdict(secret, secret, LISTED) != "PRIVATE"


def test_which_of_two_equal_numbers_a_join_shows_is_no_secret_kept(connection):
    """USING shows the number of the table whose type holds both: a row that adds none may be shown."""
    schema = {
        "r": Table((("a", "integer NOT NULL", (1,)),)),
        "t": Table((("a", "numeric NOT NULL", ONES), ("b", "integer NOT NULL", (0, 1)))),
    }
    worlds = Worlds(connection, schema, [("t", Decimal("1.0"), 1), ("t", Decimal("1"), 0), ("r", 1)])
    kept = "EXISTS (SELECT 1 FROM t WHERE t.a = other.a AND t.b = 0)"
    for join in ("JOIN t AS other USING (a)", "NATURAL JOIN (SELECT a FROM t) AS other"):
        asked = "SELECT b FROM t WHERE b = 1", f"SELECT DISTINCT a FROM r {join} WHERE {kept}"
        answers = [worlds.answers(sql) for sql in asked]
        assert not are_independent(*answers, worlds.prior(Random(1)))
        assert verdict(*asked, schema) == "UNKNOWN"


def test_answers_of_different_rows_are_independent(connection):
    worlds = Worlds(connection, PLAIN, [("t", 1), ("t", 2), ("r", 1, None)])
    asked = ("SELECT a FROM t WHERE a = 1", "SELECT COUNT(*) FROM t, r WHERE t.a = 2")
    answers = [worlds.answers(sql) for sql in asked]
    assert are_independent(*answers, worlds.prior(Random(1)))
    assert verdict(*asked) == "PRIVATE"


def verdict(secret: str, view: str, schema: Schema = PLAIN) -> str:
    """What the product says of two queries."""
    queries = [WrittenQuery("q", secret)], [WrittenQuery("q", view)]
    return checked(ViewCheck({}, (), *queries, language="sql", tables=declared(schema)))["verdict"]
