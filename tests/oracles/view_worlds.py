"""Perfect privacy of queries in SQL by its definition: every instance of a few rows, answered by PostgreSQL.

A world is a set of rows, of those drawn for a trial. The tables are views of the rows of one world, which a
setting names; as barriers they keep expressions that may fail from rows that the world has not. Two answers
are independent if their joint probabilities are products, in whole numbers, for priors that give every row
odds of its own. Shares nothing with the product.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from itertools import product
from random import Random

import numpy as np
import numpy.typing as npt
import psycopg
import sqlglot

Fact = tuple[object, ...]
"""A table's name and its cells."""


@dataclass(frozen=True)
class Table:
    """Columns with the type and the values of each; keys by places; tables that it refers to, by place."""

    columns: tuple[tuple[str, str, tuple[object, ...]], ...]
    keys: tuple[tuple[int, ...], ...] = ()
    refers: tuple[tuple[int, str, int], ...] = ()

    def excludes(self, one: Fact, other: Fact) -> bool:
        """Whether two different rows cannot both be."""
        return any(
            all(one[1 + i] == other[1 + i] and one[1 + i] is not None for i in key) for key in self.keys
        )


Schema = dict[str, Table]
ZERO_TO_TWO = (0, 1, 2)
PLAIN: Schema = {
    "r": Table((("a", "integer NOT NULL", ZERO_TO_TWO), ("b", "integer", (*ZERO_TO_TWO, None)))),
    "s": Table((("b", "integer", (*ZERO_TO_TWO, None)), ("c", "integer NOT NULL", ZERO_TO_TWO))),
    "t": Table((("a", "integer NOT NULL", ZERO_TO_TWO),)),
}
KEYED: Schema = {
    "r": Table((("a", "integer NOT NULL", ZERO_TO_TWO), ("b", "integer", (*ZERO_TO_TWO, None))), ((0,),)),
    "s": Table(
        (("b", "integer", (*ZERO_TO_TWO, None)), ("c", "integer NOT NULL", ZERO_TO_TWO)), ((0,), (0, 1))
    ),
    "t": Table((("a", "integer NOT NULL", ZERO_TO_TWO), ("c", "integer NOT NULL", (0, 1))), ((0,), (1,))),
}
REFERRING: Schema = {
    "r": Table((("a", "integer NOT NULL", ZERO_TO_TWO), ("b", "integer", (*ZERO_TO_TWO, None))), ((0,),)),
    "s": Table(
        (("b", "integer", (*ZERO_TO_TWO, None)), ("c", "integer NOT NULL", ZERO_TO_TWO)), (), ((0, "r", 0),)
    ),
    "t": Table((("a", "integer NOT NULL", ZERO_TO_TWO),)),
}
LISTED: Schema = {
    "r": Table(
        (
            ("a", "integer NOT NULL CHECK (a = 0 OR a IN (1, 2))", ZERO_TO_TWO),
            ("b", "integer CHECK (b IN (0, 1, 2))", (*ZERO_TO_TWO, None)),
        )
    ),
    "s": Table(
        (
            ("b", "integer CHECK (b IN (0, 1, 2))", (*ZERO_TO_TWO, None)),
            ("c", "integer NOT NULL CHECK (c IN (0, 1))", (0, 1)),
        )
    ),
    "t": Table((("a", "integer NOT NULL CHECK (a IN (0, 1, 2))", ZERO_TO_TWO),)),
}
"""With the values of columns listed by CHECK."""
INTEGERS = (PLAIN, PLAIN, KEYED, REFERRING, LISTED)


def typed(*columns: tuple[str, tuple[object, ...]], keys: tuple[tuple[int, ...], ...] = ()) -> Schema:
    """The three tables with columns of these types and values; the second and the third may be NULL."""
    names = (("a", "b"), ("b", "c"), ("a",))
    left = [
        (f"{kind} NOT NULL", values) if place not in (1, 2) else (kind, (*values, None))
        for place, (kind, values) in enumerate(columns)
    ]
    found: Schema = {}
    for table, own in zip("rst", names, strict=True):
        declared = tuple((name, *left.pop(0)) for name in own)
        found[table] = Table(declared, keys if table == "r" else ())
    return found


ONES = (Decimal("1"), Decimal("1.0"), Decimal("2.00"))
WORDS = ("x", "x ", "X")
DAYS = (date(2019, 12, 31), date(2020, 1, 1))
MOMENTS = (datetime(2020, 1, 1), datetime(2020, 1, 1, 12))
OUTSIDE_OF_THE_SCHEMA = {"amount": "DOMAIN amount AS numeric"}
ENUMS = {"mood": "TYPE mood AS ENUM ('y', 'x')"}
SCALED, SCALED_TWICE = ("numeric(4, 1)", ONES[1:]), ("numeric(5,2)", ONES[1:])
UNSCALED, WHOLE = ("numeric", ONES), ("integer", (1, 2))
ONE_LETTER, TWO_LETTERS, THREE_LETTERS = ((f"char({size})", ("x", "y")) for size in (1, 2, 3))
TEXT, LISTED_TEXT = ("text", WORDS), ("varchar(2) CHECK (b IN ('x', 'y'))", ("x", "y"))
DAY, MOMENT = ("date", DAYS), ("timestamp", MOMENTS)
AMOUNT, REAL = ("amount", ONES), ("real", (0.0, -0.0, 1.0))
TYPED = (
    typed(SCALED, UNSCALED, SCALED_TWICE, WHOLE, UNSCALED),
    typed(UNSCALED, WHOLE, UNSCALED, SCALED_TWICE, UNSCALED, keys=((0,),)),
    typed(WHOLE, UNSCALED, UNSCALED, ("numeric(3)", (1, 2)), SCALED),
    typed(ONE_LETTER, TWO_LETTERS, ("char(2)", ("x", "xy")), THREE_LETTERS, THREE_LETTERS),
    typed(TWO_LETTERS, TEXT, ("varchar(2)", WORDS), TEXT, TWO_LETTERS),
    typed(TEXT, LISTED_TEXT, TEXT, ("varchar(2)", ("x", "y")), TEXT),
    typed(*5 * [("mood", ("x", "y"))]),
    typed(*5 * [("boolean", (True, False))]),
    typed(DAY, MOMENT, DAY, MOMENT, MOMENT),
    typed(AMOUNT, WHOLE, AMOUNT, UNSCALED, AMOUNT),
    typed(REAL, ("float8", (0.0, -0.0, float("nan"))), ("float8", (0.0, -0.0)), ("integer", (0, 1)), REAL),
    typed(*5 * [("interval", ("1 day", "24 hours"))]),
)
"""With values of other types, among them some that are equal and shown differently."""
FAR_DAY, FAR_MOMENT = ("date", ("2020-01-01", "300000-01-01")), ("timestamp", ("2020-01-01", "4714-11-24 BC"))
HUGE, DOUBLE = ("numeric", ("1", "1e400")), ("double precision", ("1", "1.7e308"))
EXTREME = (
    typed(FAR_DAY, FAR_MOMENT, FAR_DAY, FAR_MOMENT, FAR_DAY),
    typed(HUGE, DOUBLE, HUGE, DOUBLE, ("real", ("1", "3e38"))),
    typed(
        ("smallint", (1, -32768)), HUGE, ("bigint", (1, -(2**63))), DOUBLE, ("numeric(4, 1)", ("1", "-999.9"))
    ),
)
"""With values on which some expressions fail that others of the type let pass."""
FUNCTIONS = {
    "moment": (
        "date_trunc('day', {0}) = '2020-01-01'",
        "date_trunc('day', {0}) <> DATE '2020-01-01'",
        "date_trunc('day', {0}) <= {2}",
        "date_trunc('hour', {0}) > '2020-01-01 11:00'",
        "date_trunc('hour', {0}) BETWEEN '2020-01-01' AND {2}",
        "date_trunc('month', {0}) = {2}",
        "date_part('year', {0}) = 2020",
        "date_part('year', {0}) > 2019",
        "date_part('hour', {0}) = 12",
    ),
    "date": (
        "GREATEST({0}, {1}) > {2}",
        "NULLIF({0}, {1}) IS NULL",
        "date_trunc('day', {0}) = {2}",
        "date_trunc('year', {0}) = {2}",
        "EXTRACT(HOUR FROM {0}) = 0",
        "EXTRACT(YEAR FROM {0}) > 2020",
        "CAST({0} AS timestamp) = {2}",
        "{0} IN ({1}, {2})",
        "{0} BETWEEN {1} AND {2}",
    ),
    "number": (
        "LEAST({0}, {1}) < {2}",
        "NULLIF({0}, {1}) IS NULL",
        "{0} IN ({1}, {2})",
        "{0} BETWEEN {1} AND {2}",
        "abs({0}) = {2}",
        "- {0} < {1}",
        "round({0}) = {1}",
        "CAST({0} AS bigint) = 1",
        "{0} = {1}",
    ),
}
"""Conditions of two columns and a constant."""


def literals(schema: Schema) -> list[str]:
    """Constants for queries of the schema."""
    found = []
    for value in dict.fromkeys(own for fact in facts(schema) for own in fact[1:]):
        match value:
            case None:
                found.append("NULL")
            case bool():
                found += [str(value).upper(), f"'{str(value)[0]}'"]
            case int():
                found += [str(value), f"'{value}'"]
            case Decimal() | float():
                found.append(str(value) if value == value else "'NaN'")
            case _:
                found.append(f"'{value}'")
    return found


def stored_type(kind: str) -> str:
    """The type without constraints."""
    return re.split(" (?:NOT NULL|CHECK)", kind)[0]


def named_types(schema: Schema, known: dict[str, str]) -> list[str]:
    """Of these types the definitions of those that columns have."""
    kinds = {stored_type(kind) for table in schema.values() for _, kind, _ in table.columns}
    return [known[kind] for kind in sorted(kinds) if kind in known]


def declared(schema: Schema) -> str:
    """The schema as CREATE TABLE statements."""
    found = [f"CREATE {own};" for own in named_types(schema, ENUMS)]
    for name, table in schema.items():
        parts = [f"{column} {kind}" for column, kind, _ in table.columns]
        parts += [f"UNIQUE ({', '.join(table.columns[i][0] for i in key)})" for key in table.keys]
        parts += [
            f"FOREIGN KEY ({table.columns[i][0]}) REFERENCES {other} ({schema[other].columns[j][0]})"
            for i, other, j in table.refers
        ]
        found.append(f"CREATE TABLE {name} ({', '.join(parts)});")
    return "\n".join(found)


def facts(schema: Schema) -> list[Fact]:
    """Every row that there can be."""
    return [
        (name, *cells)
        for name, table in schema.items()
        for cells in product(*(values for _, _, values in table.columns))
    ]


@dataclass
class Worlds:
    """All sets of a few rows of a schema, in a database of their own."""

    connection: psycopg.Connection[tuple[object, ...]]
    schema: Schema
    rows: Sequence[Fact]

    def __post_init__(self) -> None:
        statements = [
            f"CREATE {own.replace(' ', ' pg_temp.', 1)}"
            for own in named_types(self.schema, ENUMS | OUTSIDE_OF_THE_SCHEMA)
        ]
        for name, table in self.schema.items():
            columns = ", ".join(f"{column} {stored_type(kind)}" for column, kind, _ in table.columns)
            named = ", ".join(column for column, *_ in table.columns)
            statements += [
                f"CREATE TEMP TABLE of_{name} (id integer, {columns})",
                f"CREATE TEMP VIEW {name} WITH (security_barrier) AS SELECT {named} FROM of_{name} "
                "WHERE (current_setting('views.world')::integer >> id) & 1 = 1",
            ]
        self.connection.execute("DISCARD TEMP")
        self.connection.execute("; ".join(statements))
        for number, (of, *cells) in enumerate(self.rows):
            places = ", ".join(["%s"] * (1 + len(cells)))
            self.connection.execute(f"INSERT INTO of_{of} VALUES ({places})", (number, *cells), prepare=False)

    @property
    def number(self) -> int:
        """How many worlds there are."""
        return 1 << len(self.rows)

    def answers(self, sql: str) -> npt.NDArray[np.int64] | None:
        """For each world which answer it has, as a number; None: the database does not take the query.

        An answer is a multiset of rows; after ORDER BY, in that order. That it fails is an answer, too.
        """
        order = "" if "ORDER BY" in sql.rpartition(")")[2] else " ORDER BY (own.*)::text"
        body = f"SELECT string_agg((own.*)::text, '|'{order}) FROM ({sql}) AS own"
        try:
            self.connection.execute("SET views.world = 0")
            self.connection.execute(f"EXPLAIN {body}")
        except psycopg.Error:
            return None
        self.connection.execute(
            "CREATE OR REPLACE FUNCTION pg_temp.answered() RETURNS SETOF text LANGUAGE plpgsql AS $body$ "
            f"BEGIN FOR world IN 0 .. {self.number - 1} LOOP "
            "PERFORM set_config('views.world', world::text, false); "
            f"BEGIN RETURN NEXT ({body}); EXCEPTION WHEN OTHERS THEN RETURN NEXT 'failed'; END; "
            "END LOOP; END $body$"
        )
        found = [row[0] for row in self.connection.execute("SELECT * FROM pg_temp.answered()").fetchall()]
        known: dict[object, int] = {}
        return np.array([known.setdefault(own, len(known)) for own in found], dtype=np.int64)

    def consistent(self) -> npt.NDArray[np.int64]:
        """1 for worlds that keep keys and references, 0 for others."""
        worlds = np.arange(self.number)
        has = [(worlds >> i & 1).astype(bool) for i in range(len(self.rows))]
        fine = np.ones(self.number, dtype=bool)
        for i, one in enumerate(self.rows):
            table = self.schema[str(one[0])]
            for j in range(i):
                if self.rows[j][0] == one[0] and table.excludes(one, self.rows[j]):
                    fine &= ~(has[i] & has[j])
            for place, other, referred in table.refers:
                if one[1 + place] is not None:
                    meets = [
                        has[k]
                        for k, row in enumerate(self.rows)
                        if row[0] == other and row[1 + referred] == one[1 + place]
                    ]
                    fine &= ~has[i] | np.logical_or.reduce([np.zeros(self.number, dtype=bool), *meets])
        return fine.astype(np.int64)

    def prior(self, random: Random) -> npt.NDArray[np.int64]:
        """A weight for each world: odds of 1 to 4 for each row, conditioned on what is declared."""
        weights = self.consistent()
        for i in range(len(self.rows)):
            odds = random.randint(1, 4)
            weights = weights * np.where(np.arange(self.number) >> i & 1, odds, 1)
        return weights


def are_independent(
    one: npt.NDArray[np.int64], other: npt.NDArray[np.int64], weights: npt.NDArray[np.int64]
) -> bool:
    """Whether two answers are independent of each other, exactly."""
    joint = np.zeros((one.max() + 1, other.max() + 1), dtype=np.int64)
    np.add.at(joint, (one, other), weights)
    return bool((joint * joint.sum() == np.outer(joint.sum(axis=1), joint.sum(axis=0))).all())


Source = tuple[str, tuple[str, ...]]
"""What an item of FROM is called, and its columns."""
ALIASES = ("r", "s", "t", "u", "v")


@dataclass
class Grammar:
    """Draws queries of PostgreSQL; some of them name what there is not, which the database refuses."""

    random: Random
    schema: Schema
    plain: bool
    """Whether only what is a union of joins is drawn."""
    constants: Sequence[str] = ("0", "1", "2", "1", "2", "'1'", "NULL", "(1)", "-1")
    named: list[Source] = field(default_factory=list)
    """Queries of WITH."""
    functions: Sequence[str] = ()
    """Further conditions, of two columns and a constant."""

    def chance(self, share: float) -> bool:
        """Whether something of this share happens."""
        return self.random.random() < share

    def query(self) -> str:
        """A whole query."""
        if self.chance(0.15):
            arity = self.random.randint(1, 2)
            name = self.random.choice(["w", "w", "r", "t"])
            inner = self.combined(1, arity, ())
            columns = tuple("ab"[:arity])
            self.named = [(name, columns)]
            query = self.combined(1, self.random.randint(1, 2), ())
            return f"WITH {name}({', '.join(columns)}) AS ({inner}) {query}"
        return self.combined(2, self.random.randint(1, 2), ())

    def combined(self, depth: int, arity: int, outer: Sequence[Source]) -> str:
        """SELECTs joined by set operations without parentheses, perhaps with an order and a limit."""
        parts = [self.select(depth, arity, outer)]
        while self.chance(0.2) and len(parts) < 5:
            how = self.random.choice(
                ["UNION", "UNION ALL", "INTERSECT", "EXCEPT", "EXCEPT ALL", "INTERSECT ALL"]
            )
            parts += [how, self.select(depth, arity, outer)]
        text = " ".join(parts)
        if not self.plain and self.chance(0.12):
            text += f" ORDER BY {', '.join(str(i + 1) for i in range(arity))}"
            if self.chance(0.7):
                text += f" LIMIT {self.random.randint(0, 2)}"
                text += " OFFSET 1" if self.chance(0.3) else ""
        return text

    def select(self, depth: int, arity: int, outer: Sequence[Source]) -> str:
        """A SELECT of so many columns."""
        text, own = self.sources(depth, outer)
        # The nearest query comes first, as names are looked up.
        scopes = [*own, *outer] if self.chance(0.9) else list(own)
        where = f" WHERE {self.condition(depth, scopes)}" if self.chance(0.85) else ""
        draw = self.random.random()
        if draw < 0.14:
            return self.grouped(arity, text, own, where, depth, scopes)
        shown = [self.shown(depth, own, scopes) for _ in range(arity)]
        if draw < 0.2 and not self.plain:
            shown[-1] = self.window(own)
        distinct = self.random.choice(["", "", "DISTINCT "])
        if self.chance(0.02) and not self.plain:
            return f"SELECT DISTINCT ON ({shown[0]}) {', '.join(shown)} FROM {text}{where}"
        return f"SELECT {distinct}{', '.join(shown)} FROM {text}{where}"

    def grouped(
        self, arity: int, text: str, own: Sequence[Source], where: str, depth: int, scopes: Sequence[Source]
    ) -> str:
        """Groups and counts."""
        keys = [self.column(own) for _ in range(self.random.randint(0, arity))]
        column = self.column(own)
        aggregates = ["COUNT(*)", f"COUNT({column})", f"COUNT(DISTINCT {column})"]
        if not self.plain:
            aggregates += [f"SUM({column})", f"MIN({column})", f"MAX({column})"]
            aggregates += [f"COUNT(CASE WHEN {self.leaf(own)} THEN 1 END)"]
            aggregates += [f"{self.random.choice(aggregates)} FILTER (WHERE {self.leaf(own)})"]
        shown = [*keys, *(self.random.choice(aggregates) for _ in range(arity - len(keys)))]
        sets = self.random.choice(["{}", "{}", "{}", "{}", "ROLLUP ({})", "CUBE ({})"])
        by = f" GROUP BY {('{}' if self.plain else sets).format(', '.join(keys))}" if keys else ""
        having = f" HAVING {aggregates[-3]} > {self.value()}" if not self.plain and self.chance(0.3) else ""
        if keys and not self.plain and self.chance(0.3):
            having = f" HAVING {keys[0]} = {self.value()}" + having.replace(" HAVING", " AND")
        return f"SELECT {', '.join(shown)} FROM {text}{where}{by}{having}"

    def shown(self, depth: int, own: Sequence[Source], scopes: Sequence[Source]) -> str:
        """What is shown in a column."""
        draw, column = self.random.random(), self.column(own)
        if draw < 0.72 or self.plain:
            return column
        choices: list[Callable[[], str]] = [
            self.value,
            lambda: f"COALESCE({column}, {self.value()})",
            lambda: f"CASE WHEN {self.leaf(scopes)} THEN {column} ELSE {self.value()} END",
            lambda: f"{column} + {self.value()}",
            lambda: f"2 / {column}",
            lambda: f"(SELECT {self.random.choice(['MIN', 'MAX', 'COUNT'])}({column}))",
            lambda: self.scalar(depth, scopes),
        ]
        return self.random.choice(choices)()

    def scalar(self, depth: int, scopes: Sequence[Source]) -> str:
        """A subquery of one value."""
        text, own = self.sources(0, scopes)
        where = f" WHERE {self.condition(0, [*own, *scopes])}" if self.chance(0.8) else ""
        return (
            f"(SELECT {self.random.choice(['MIN', 'MAX', 'COUNT'])}({self.column(own)}) FROM {text}{where})"
        )

    def window(self, own: Sequence[Source]) -> str:
        """A window function."""
        function = self.random.choice(["COUNT(*)", "ROW_NUMBER()", "RANK()", f"SUM({self.column(own)})"])
        parts = f"PARTITION BY {self.column(own)}" if self.chance(0.4) else ""
        order = f" ORDER BY {self.column(own)}" if self.chance(0.6) or "(*)" not in function else ""
        return f"{function} OVER ({parts}{order})"

    def column(self, sources: Sequence[Source]) -> str:
        """A column, often without its table's name, so that the nearest table that has it is meant."""
        alias, columns = self.random.choice(sources)
        name = self.random.choice(columns)
        return name if self.chance(0.2) else f"{alias}.{name}"

    def value(self) -> str:
        """A constant."""
        return self.random.choice(self.constants)

    def sources(self, depth: int, outer: Sequence[Source]) -> tuple[str, list[Source]]:
        """A FROM, and what it has."""
        text, found = self.joined(depth, outer, ())
        for _ in range(self.random.choice([0, 0, 0, 1, 1, 2])):
            item, added = self.joined(depth, outer, found)
            own = self.random.choice(added)
            wild = [] if self.plain else [" LEFT JOIN ", " RIGHT JOIN ", " FULL JOIN "]
            how = self.random.choice([", ", " CROSS JOIN ", " JOIN ", " JOIN ", *wild])
            if how in (", ", " CROSS JOIN "):
                text += how + item
            elif self.chance(0.25) and how != ", ":
                text += f" NATURAL{how}{item}"
            elif self.chance(0.3):
                text += f"{how}{item} USING ({self.random.choice(own[1])})"
            else:
                visible = [*found, *added, *outer] if self.chance(0.5) else [*found[-1:], own]
                full = how == " FULL JOIN "
                on = self.equal([*found, *added]) if full else self.condition(min(depth, 1), visible)
                text += f"{how}{item} ON {on}"
            found += added
        return text, found

    def joined(
        self, depth: int, outer: Sequence[Source], before: Sequence[Source]
    ) -> tuple[str, list[Source]]:
        """An item of FROM, sometimes a join in parentheses, and what it has."""
        text, own = self.item(depth, outer, before)
        if not self.chance(0.07) or len(before) > 3:
            return text, [own]
        other, its = self.item(depth, outer, [*before, own])
        how = self.random.choice(["JOIN", "JOIN", *([] if self.plain else ["LEFT JOIN", "RIGHT JOIN"])])
        on = self.condition(min(depth, 1), [own, its, *outer])
        return f"({text} {how} {other} ON {on})", [own, its]

    def item(self, depth: int, outer: Sequence[Source], before: Sequence[Source]) -> tuple[str, Source]:
        """A table or a subquery, called otherwise than those before it, and perhaps as one around it."""
        taken = [name for name, _ in before]
        alias = self.random.choice([own for own in ALIASES if own not in taken])
        if depth and self.chance(0.15):
            arity = self.random.randint(1, 2)
            names = tuple(self.random.sample("abc", arity))
            inner = self.combined(depth - 1, arity, outer if self.chance(0.2) else ())
            return f"({inner}) AS {alias}({', '.join(names)})", (alias, names)
        if not self.plain and self.chance(0.04):
            names = tuple(self.random.sample("abc", 2))
            what = f"VALUES {', '.join(f'({self.value()}, {self.value()})' for _ in '12')}"
            what, is_lateral = self.random.choice(
                [(what, ""), (self.combined(min(depth, 1), 2, [*before, *outer]), "LATERAL ")]
            )
            return f"{is_lateral}({what}) AS {alias}({', '.join(names)})", (alias, names)
        tables = [(name, tuple(own for own, *_ in table.columns)) for name, table in self.schema.items()]
        name, columns = self.random.choice([*tables, *self.named * 2])
        if name not in taken and self.chance(0.3):
            return name, (name, columns)
        return f"{name} AS {alias}", (alias, columns)

    def equal(self, sources: Sequence[Source]) -> str:
        """That two columns are equal."""
        return f"{self.column(sources)} = {self.column(sources)}"

    def leaf(self, sources: Sequence[Source]) -> str:
        """A condition without a subquery."""
        column, other = (
            self.column(sources),
            self.random.choice([self.column(sources), self.value(), self.value()]),
        )
        operator = self.random.choice(["=", "=", "=", "<>", "<>", "<", "<=", ">", ">="])
        if self.functions and self.chance(0.3):
            return self.random.choice(self.functions).format(column, self.column(sources), self.value())
        if self.plain:
            return f"{column} {operator} {other}"
        return self.random.choice(
            [
                *[f"{column} {operator} {other}"] * 8,
                f"{self.value()} {operator} {column}",
                f"{column} {self.random.choice(['', 'NOT '])}IN ({self.value()}, {self.value()})",
                f"{column} {self.random.choice(['', 'NOT '])}BETWEEN {self.value()} AND {other}",
                f"{column} IS {self.random.choice(['NOT ', ''])}NULL",
                f"{column} IS {self.random.choice(['NOT ', ''])}DISTINCT FROM {other}",
                f"COALESCE({column}, {self.value()}) {operator} {self.value()}",
                f"({column}, {self.column(sources)}) {operator} ({self.value()}, {other})",
                f"({column}, {self.column(sources)}) {self.random.choice(['', 'NOT '])}IN "
                f"(({self.value()}, {self.value()}), ({self.value()}, {self.value()}))",
                f"{column} = ANY('{{1,{self.random.choice(['2', 'null', 'x'])}}}')",
                f"{column} {self.random.choice(['LIKE', 'NOT LIKE', '~~', '!~~'])} "
                f"'{self.random.choice(['x', 'x%', '_', 'x_%'])}'",
                f"{self.random.choice(['LOWER', 'UPPER'])}({column}) {operator} {self.value()}",
                f"EXTRACT(YEAR FROM {column}) {operator} {self.random.choice(['2019', '2020'])}",
                f"EXTRACT(YEAR FROM {column}) {self.random.choice(['', 'NOT '])}BETWEEN 2018 AND 2019",
                f"{column} + 1 {operator} {self.value()}",
                f"2 / {column} {operator} {self.value()}",
                f"({column} {operator} {other}) IS {self.random.choice(['NOT TRUE', 'TRUE', 'UNKNOWN'])}",
                f"CASE WHEN {column} = 1 THEN TRUE ELSE {self.column(sources)} = 2 END",
                self.random.choice(["TRUE", "FALSE", "1 = 1", "1 <> 1"]),
            ]
        )

    def condition(self, depth: int, sources: Sequence[Source]) -> str:
        """A condition."""
        draw = self.random.random()
        if draw < 0.2:
            return f"{self.condition(depth, sources)} AND {self.condition(depth, sources)}"
        if draw < 0.28:
            return f"({self.condition(depth, sources)} OR {self.condition(depth, sources)})"
        if draw < 0.31:
            return f"{self.leaf(sources)} OR {self.leaf(sources)} AND {self.leaf(sources)}"
        if draw < 0.37:
            return f"NOT {self.leaf(sources)}"
        if draw < 0.4:
            return f"NOT ({self.condition(0, sources)})"
        if draw < 0.56 and depth:
            return self.with_subquery(depth, sources)
        return self.leaf(sources)

    def with_subquery(self, depth: int, sources: Sequence[Source]) -> str:
        """A condition with a subquery, which may name the columns around it."""
        column, not_ = self.column(sources), "" if self.plain else self.random.choice(["", "", "NOT "])
        draw = 0.78 * self.random.random() if self.plain else self.random.random()
        if draw < 0.45:
            return f"{not_}EXISTS ({self.combined(depth - 1, 1, sources)})"
        if draw < 0.7:
            return f"{column} {not_}IN ({self.combined(depth - 1, 1, sources)})"
        if draw < 0.78:
            other = self.random.choice([self.column(sources), self.value()])
            return f"({column}, {other}) {not_}IN ({self.combined(depth - 1, 2, sources)})"
        if draw < 0.88:
            operator = self.random.choice(["=", "<", ">="])
            return f"{column} {operator} ANY ({self.combined(depth - 1, 1, sources)})"
        return f"{column} {self.random.choice(['=', '<>', '<', '>='])} {self.scalar(depth - 1, sources)}"


def in_other_order(sql: str) -> str:
    """The query with the sides of every AND exchanged: of conditions of one cost the first is tried first."""
    tree = sqlglot.parse_one(sql, read="postgres")
    for node in list(tree.find_all(sqlglot.exp.And)):
        left, right = node.this, node.expression
        node.set("this", right)
        node.set("expression", left)
    return tree.sql("postgres")


def drawn_rows(random: Random, schema: Schema, most: int) -> list[Fact]:
    """A few of all rows, of one or two tables above all, so that queries have some in common."""
    every = facts(schema)
    favoured = random.sample(sorted(schema), 2)
    weighed = [own for own in every if own[0] in favoured or random.random() < 0.3]
    return random.sample(weighed, min(most, len(weighed)))


def drawn_queries(random: Random, schema: Schema, number: int) -> Iterator[str]:
    """Queries of the schema."""
    more = {} if schema in INTEGERS else {"constants": literals(schema)}
    if schema in EXTREME:
        more["functions"] = FUNCTIONS["date" if schema is EXTREME[0] else "number"]
    if any(kind == "timestamp" for table in schema.values() for _, kind, _ in table.columns):
        more["functions"] = (*more.get("functions", ()), *FUNCTIONS["moment"])
    for _ in range(number):
        yield Grammar(random, schema, random.random() < 0.45, **more).query()
