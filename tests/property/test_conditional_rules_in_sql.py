"""The specification's own SQL for hide and gen, run by PostgreSQL, against conditional rules."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import numpy as np
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import sql

from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.rules.condition_truth import Column
from app.domain.rules.conditional import Generalise, Hide, ToEntities, conditional_rule
from app.domain.rules.conditions import Attribute, Comparison, Condition, Constant, Junction, Not
from app.domain.tables.table import Table
from app.persistence.addresses import libpq_url
from tests.oracles.conditions import COLUMNS, TEXTS, Relation, conditions, relations
from tests.oracles.effort import examples

GROUPS = {text: f"group {i % 3}" for i, text in enumerate(TEXTS)}
CITY = Hierarchy.from_parents(
    {text: [group] for text, group in GROUPS.items()} | {group: [None] for group in GROUPS.values()}
)
SQL_TYPES = {"number": "numeric", "date": "date", "text": 'text COLLATE "C"'}
TYPES = {"id": "number", **COLUMNS}
OTHERS = [name for name in COLUMNS if name != "city"]

sql_rules = settings(max_examples=examples(200), suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def connection(database_urls) -> Iterator[psycopg.Connection]:
    columns = ", ".join(f'"{name}" {SQL_TYPES[type_]}' for name, type_ in TYPES.items())
    with psycopg.connect(libpq_url(database_urls.admin), autocommit=True) as connection:
        connection.execute(f"CREATE TEMPORARY TABLE t ({columns})")
        connection.execute('CREATE TEMPORARY TABLE g (id numeric, city text COLLATE "C")')
        yield connection


def in_sql(condition: Condition) -> sql.Composable:
    match condition:
        case Not(argument):
            return sql.SQL("(NOT {})").format(in_sql(argument))
        case Junction(connective, arguments):
            return sql.SQL("({})").format(sql.SQL(f" {connective} ").join(map(in_sql, arguments)))
        case Comparison(operator, left, right):
            types = {TYPES[o.name] for o in (left, right) if isinstance(o, Attribute)}
            operands = [operand_in_sql(o, "date" in types) for o in (left, right)]
            return sql.SQL("({} {} {})").format(operands[0], sql.SQL(operator), operands[1])


def operand_in_sql(operand: Attribute | Constant, is_date: bool) -> sql.Composable:
    match operand:
        case Attribute(name):
            return sql.SQL("t.{}").format(sql.Identifier(name))
        case Constant(Decimal() as number):
            return sql.SQL("{}::numeric").format(sql.Literal(number))
        case Constant(text):
            return sql.SQL("{}::date" if is_date else '{}::text COLLATE "C"').format(sql.Literal(text))


def fill(connection: psycopg.Connection, relation: Relation) -> None:
    connection.execute("TRUNCATE t")
    insert = sql.SQL("INSERT INTO t VALUES ({})").format(sql.SQL(", ").join([sql.Placeholder()] * len(TYPES)))
    with connection.cursor() as cursor:
        rows = [(i + 1, *(row[name] for name in COLUMNS)) for i, row in enumerate(relation.rows)]
        cursor.executemany(insert, rows)


def everything(connection: psycopg.Connection, query: sql.Composed) -> list[tuple]:
    return sorted(connection.execute(query).fetchall())


def as_rows(relation: Relation, cities: list[str | None]) -> list[tuple]:
    """id, city, and every other column as PostgreSQL shows it."""
    shown = []
    for i, row in enumerate(relation.rows):
        others = [None if row[o] is None else value_of(o, row[o]) for o in OTHERS]
        shown.append((i + 1, cities[i], *others))
    return shown


def value_of(name: str, text: str) -> object:
    return Decimal(text) if COLUMNS[name] == "number" else text


def domain_of(relation: Relation) -> tuple[Table, dict[str, Column]]:
    n = len(relation.rows)
    codes = CITY.encode([row["city"] for row in relation.rows])[0].reshape(n, 1)
    ids = [str(i + 1) for i in range(n)]
    table = Table(("city",), (CITY,), codes, np.array(ids, dtype=object))
    identifier = Column("number", ids, np.arange(n, dtype=np.int32))
    return table, {"id": identifier, **relation.columns()}


def cities_of(codes: np.ndarray) -> list[str | None]:
    labels = (None, *CITY.labels[1:])
    return [labels[code] for code in codes[:, 0].tolist()]


def selected() -> sql.Composed:
    others = [
        sql.SQL("t.{}::text" if COLUMNS[name] == "date" else "t.{}").format(sql.Identifier(name))
        for name in OTHERS
    ]
    return sql.SQL(", ").join(others)


HIDE = """
SELECT t.id, s.city, {others}
FROM (SELECT id, city FROM t WHERE {f}) AS s RIGHT OUTER JOIN t ON s.id = t.id
"""
GEN = """
SELECT t.id, complete.city, {others}
FROM t JOIN (
    SELECT t.id, CASE WHEN {f} THEN t.city ELSE g.city END AS city FROM t LEFT JOIN g ON g.id = t.id
) AS complete ON complete.id = t.id
"""


@pytest.mark.deep
@pytest.mark.spec("E-29", "INV-13")
@given(relation=relations(), condition=conditions(TYPES))
@sql_rules
def test_hide_is_the_outer_join_of_the_specification(connection, relation, condition):
    fill(connection, relation)
    in_database = everything(connection, sql.SQL(HIDE).format(others=selected(), f=in_sql(condition)))
    table, columns = domain_of(relation)
    codes = conditional_rule(table, [Hide("city", condition)], columns).rule.codes
    assert in_database == as_rows(relation, cities_of(codes))


@pytest.mark.spec("E-31", "INV-13")
@given(relation=relations(), condition=conditions(TYPES), random=st.randoms())
@sql_rules
def test_gen_is_the_join_with_the_completed_table_of_values(connection, relation, condition, random):
    fill(connection, relation)
    values: dict[str, str | None] = {}
    for i, row in enumerate(relation.rows):
        city = row["city"]
        values[str(i + 1)] = None if city is None else random.choice([city, GROUPS[city], None])
    connection.execute("TRUNCATE g")
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO g VALUES (%s, %s)", [(int(key), city) for key, city in values.items()]
        )
    in_database = everything(connection, sql.SQL(GEN).format(others=selected(), f=in_sql(condition)))
    table, columns = domain_of(relation)
    statement = Generalise("city", condition, ToEntities(values))
    codes = conditional_rule(table, [statement], columns).rule.codes
    assert in_database == as_rows(relation, cities_of(codes))
