"""Drawn SQL, and what it answers: by SQLite, and by the queries that it is translated to.

The tables are `r(a, b)`, of which b may be NULL, `t(a)` and `s(b, c)`, of which b may be NULL. Shares nothing
with the product but the form of its queries.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from random import Random

from app.domain.views.queries import Constant, Query, Rule, Term
from app.services.views.published import Part, PublishedQuery

TABLES = {"r": ("a", "b"), "t": ("a",), "s": ("b", "c")}
NULLABLE = {("r", "b"), ("s", "b")}
DECLARED = """CREATE TABLE r (a INTEGER NOT NULL, b INTEGER);
CREATE TABLE t (a INTEGER NOT NULL);
CREATE TABLE s (b INTEGER, c INTEGER NOT NULL);
"""
VALUES = (0, 1, 2)
Facts = frozenset[tuple[object, ...]]


def facts() -> list[tuple[object, ...]]:
    """Every row that there can be."""
    found: list[tuple[object, ...]] = []
    for table, columns in TABLES.items():
        cells = [(*VALUES, None) if (table, column) in NULLABLE else VALUES for column in columns]
        found += [(table, *row) for row in product(*cells)]
    return found


def answered(database: sqlite3.Connection, sql: str, instance: Facts) -> Counter[tuple[object, ...]]:
    """What SQLite answers: each row with how often it is there."""
    for table, columns in TABLES.items():
        database.execute(f"DELETE FROM {table}")
        rows = sorted((fact[1:] for fact in instance if fact[0] == table), key=str)
        database.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns))})", rows)
    return Counter(database.execute(sql).fetchall())


def valuations(rule: Rule, instance: Facts) -> Iterator[dict[Term, object]]:
    """Every way in which the rows of the instance are the rule's subgoals; NULL equals nothing."""
    ways: list[dict[Term, object]] = [{}]
    for atom in rule.atoms:
        rows = [fact[1:] for fact in instance if fact[0] == atom.relation.lower()]
        ways = [
            longer
            for way in ways
            for row in rows
            if _may_hold(rule, longer := way | dict(zip(atom.terms, row, strict=True)))
        ]
    yield from ways if rule.atoms else (way for way in ways if _may_hold(rule, way))


def _may_hold(rule: Rule, value: dict[Term, object]) -> bool:
    """Whether no comparison is false of the values that are known."""
    for own in rule.comparisons:
        if all(isinstance(term, Constant) or term in value for term in (own.left, own.right)):
            left, right = (t.value if isinstance(t, Constant) else value[t] for t in (own.left, own.right))
            if left is None or right is None or not HOLDS[own.operator](left, right):
                return False
    return True


HOLDS = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def evaluated(query: PublishedQuery, instance: Facts) -> Counter[tuple[object, ...]]:
    """What the translation says that the answer is."""
    found: Counter[tuple[object, ...]] = Counter()
    for part in query.parts:
        found += _of_part(part, instance)
    return found


def _of_part(part: Part, instance: Facts) -> Counter[tuple[object, ...]]:
    rows = set()
    for rule in part.query.rules:
        for value in valuations(rule, instance):
            goal = tuple(t.value if isinstance(t, Constant) else value[t] for t in rule.goal)
            # Rules of a query that keeps duplicates are alternatives over the same rows of FROM.
            told_apart = tuple(sorted(value.items(), key=str)) if part.query.keeps_duplicates else ()
            rows.add((goal, told_apart))
    shown = [goal[: part.shown] for goal, _ in rows]
    return Counter(shown) if part.counts else Counter(set(shown))


def may_matter(query: PublishedQuery, fact: tuple[object, ...], instance: Facts) -> bool:
    """Whether the row is one of the subgoals of some way to find an answer, beside the instance."""
    for part in query.parts:
        for rule in part.query.rules:
            for value in valuations(rule, instance | {fact}):
                if any((own.relation.lower(), *(value[t] for t in own.terms)) == fact for own in rule.atoms):
                    return True
    return False


@dataclass
class Drawn:
    """Draws a query; ``wild`` ones have what is no conjunctive query."""

    random: Random
    wild: bool
    names: int = 0
    counts: bool = False
    """Whether the query that was drawn counts."""

    def query(self) -> str:
        """A whole query."""
        if self.random.random() < 0.2:
            return self.counted()
        if self.random.random() < 0.15:
            name, arity = self.name(), self.random.randint(1, 2)
            columns = ", ".join(f"w{i}" for i in range(arity))
            inner = self.combined(1, arity)
            return f"WITH {name}({columns}) AS ({inner}) " + self.select(
                1, self.random.randint(1, 2), (), extra=[(name, tuple(f"w{i}" for i in range(arity)))]
            )
        return self.combined(2, self.random.randint(1, 2))

    def name(self) -> str:
        """A new name."""
        self.names += 1
        return f"q{self.names}"

    def combined(self, depth: int, arity: int) -> str:
        """One SELECT, or two joined by a set operation."""
        one = self.select(depth, arity, ())
        if self.random.random() < 0.7:
            return one
        how = ["UNION", "UNION ALL", "INTERSECT", *(["EXCEPT"] if self.wild else [])]
        return f"{one} {self.random.choice(how)} {self.select(depth, arity, ())}"

    def counted(self) -> str:
        """A count by groups, or groups alone."""
        source, columns = self.sources(1)
        group = self.random.sample(columns, self.random.randint(0, min(2, len(columns))))
        counts = ["COUNT(*)", f"COUNT(DISTINCT {self.random.choice(columns)})", f"COUNT({columns[0]})"]
        if self.wild:
            counts += [f"SUM({columns[0]})", f"MAX({columns[-1]})"]
        self.counts = not group or self.random.random() < 0.7
        shown = [*group, *([self.random.choice(counts)] if self.counts else [])]
        by = f" GROUP BY {', '.join(group)}" if group else ""
        having = " HAVING COUNT(*) > 1" if self.wild and group and self.random.random() < 0.3 else ""
        return f"SELECT {', '.join(shown)} FROM {source} WHERE {self.condition(1, columns)}{by}{having}"

    def select(
        self,
        depth: int,
        arity: int,
        outer: Sequence[str],
        extra: Sequence[tuple[str, tuple[str, ...]]] = (),
    ) -> str:
        """A SELECT of so many columns, which may name those of a query around it."""
        source, columns = self.sources(depth, extra)
        shown = [self.random.choice(columns) for _ in range(arity)]
        if self.random.random() < 0.1:
            shown[-1] = str(self.random.choice(VALUES))
        if self.wild and self.random.random() < 0.15:
            shown[0] = self.random.choice(
                [f"abs({shown[0]})", f"{shown[0]} + 1", f"COUNT(*) OVER () + {shown[0]}"]
            )
        distinct = "DISTINCT " if self.random.random() < 0.4 else ""
        where = f" WHERE {self.condition(depth, [*columns, *outer])}" if self.random.random() < 0.8 else ""
        return f"SELECT {distinct}{', '.join(shown)} FROM {source}{where}"

    def sources(self, depth: int, extra: Sequence[tuple[str, tuple[str, ...]]] = ()) -> tuple[str, list[str]]:
        """A FROM and its columns."""
        text, columns = "", []
        choices = [*TABLES.items(), *extra, *extra]
        for number in range(self.random.choice([1, 1, 2])):
            alias = self.name()
            if depth and self.random.random() < 0.2:
                arity = self.random.randint(1, 2)
                inner, names = self.combined(0, arity), tuple(f"c{i}" for i in range(arity))
                named = ", ".join(names)
                item = f"(WITH i({named}) AS ({inner}) SELECT * FROM i) AS {alias}"
                if self.wild and self.random.random() < 0.3:
                    item = f"(WITH i({named}) AS ({inner}) SELECT * FROM i ORDER BY 1 LIMIT 1) AS {alias}"
            else:
                table, names = self.random.choice(choices)
                item = f"{table} AS {alias}"
            own = [f"{alias}.{name}" for name in names]
            if number:
                text += self.joined(item, columns, own)
            else:
                text = item
            columns += own
        return text, columns

    def joined(self, item: str, columns: Sequence[str], own: Sequence[str]) -> str:
        """A second item of FROM, with how it is joined."""
        names = [[column.partition(".")[2] for column in side] for side in (columns, own)]
        shared = [name for name in names[0] if name in names[1]]
        how = self.random.choice([", ", " JOIN ", " CROSS JOIN ", " JOIN ", " NATURAL JOIN "])
        if self.wild and self.random.random() < 0.5:
            # SQLite refuses some conditions beside a FULL JOIN that it is to read from within FROM.
            how = f" {self.random.choice(['LEFT', 'LEFT', 'RIGHT'])} JOIN "
        if how in (", ", " CROSS JOIN ", " NATURAL JOIN "):
            return how + item
        if shared and self.random.random() < 0.4:
            return f"{how}{item} USING ({self.random.choice(shared)})"
        return f"{how}{item} ON {self.condition(0, [*columns, *own])}"

    def condition(self, depth: int, columns: Sequence[str]) -> str:
        """A condition on the columns."""
        draw = self.random.random()
        if draw < 0.15:
            return f"({self.condition(depth, columns)} AND {self.condition(depth, columns)})"
        if draw < 0.3:
            return f"({self.condition(depth, columns)} OR {self.condition(depth, columns)})"
        if draw < 0.37:
            return f"NOT ({self.condition(0, columns)})"
        if draw < 0.5 and depth:
            return self.subquery(depth, columns)
        column, value = self.random.choice(columns), self.random.choice(VALUES)
        other = self.random.choice([self.random.choice(columns), str(self.random.choice(VALUES))])
        leaves = [
            f"{column} {self.random.choice(['=', '=', '=', '<>', '<', '<=', '>', '>='])} {other}",
            f"{column} {self.random.choice(['', 'NOT '])}IN ({value}, {self.random.choice([0, 1, 'NULL'])})",
            f"{column} {self.random.choice(['', 'NOT '])}BETWEEN {value} AND {other}",
            f"{column} IS {self.random.choice(['NOT ', ''] if self.wild else ['NOT '])}NULL",
        ]
        if self.wild:
            leaves += [f"{column} LIKE '1%'", f"abs({column}) = 1", f"{column} + 1 > {value}"]
        return self.random.choice(leaves)

    def subquery(self, depth: int, columns: Sequence[str]) -> str:
        """A condition with a subquery."""
        inner, column = self.select(depth - 1, 1, columns), self.random.choice(columns)
        found = [f"EXISTS ({inner})", f"{column} IN ({inner})"]
        if self.wild:
            found += [f"NOT EXISTS ({inner})", f"{column} NOT IN ({inner})", f"{column} >= ({inner})"]
        return self.random.choice(found)


def in_sql(query: Query, columns: Mapping[str, Sequence[str]]) -> str:
    """A query as SQL writes it, given the columns of its relations."""
    union = " UNION ALL " if query.keeps_duplicates else " UNION "
    return union.join(_select(rule, columns, bag=query.keeps_duplicates) for rule in query.rules)


def _select(rule: Rule, columns: Mapping[str, Sequence[str]], *, bag: bool) -> str:
    where: list[str] = []
    found: dict[Term, str] = {}

    def shown(term: Term) -> str:
        if isinstance(term, Constant):
            return f"'{term.value}'" if isinstance(term.value, str) else str(term.value)
        return found[term]

    for number, atom in enumerate(rule.atoms):
        for name, term in zip(columns[atom.relation], atom.terms, strict=True):
            column = f"x{number}.{name}"
            if isinstance(term, Constant) or term in found:
                where.append(f"{column} = {shown(term)}")
            else:
                found[term] = column
    where += [
        f"{shown(own.left)} {'<>' if own.operator == '!=' else own.operator} {shown(own.right)}"
        for own in rule.comparisons
    ]
    goal = ", ".join(map(shown, rule.goal)) or "1"
    source = ", ".join(f"{atom.relation} x{number}" for number, atom in enumerate(rule.atoms))
    text = f"SELECT {'' if bag else 'DISTINCT '}{goal}{f' FROM {source}' if source else ''}"
    return f"{text} WHERE {' AND '.join(where)}" if where else text
