"""Perfect privacy by its definition: every instance of a small schema, every answer.

Shares nothing with the product. A term is a text that begins with ``?`` (a variable) or a constant; NULL is
None.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from random import Random

import numpy as np

Fact = tuple[object, ...]
"""A relation's name and its cells."""
HOLDS = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


@dataclass(frozen=True)
class Relation:
    """Values per column, keys and dependencies by positions, columns that may be NULL."""

    columns: tuple[tuple[object, ...], ...]
    keys: tuple[tuple[int, ...], ...] = ()
    dependencies: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = ()
    nullable: tuple[int, ...] = ()

    def excludes(self, one: Fact, other: Fact) -> bool:
        """Whether two different rows of it cannot both be."""
        if one[0] != other[0] or one == other:
            return False
        agree = [a == b for a, b in zip(one[1:], other[1:], strict=True)]
        return any(all(agree[i] and one[1 + i] is not None for i in key) for key in self.keys) or any(
            all(agree[i] for i in x) and not all(agree[i] for i in y) for x, y in self.dependencies
        )

    def links(self, one: Fact, other: Fact) -> bool:
        """Whether two rows are one, or agree on the columns from which all keys and dependencies start.

        A row that is NULL in every key is linked to no other.
        """
        starts = [*self.keys, *(x for x, y in self.dependencies if not set(y) <= set(x))]
        starts = [start for start in starts if len(start) < len(self.columns)]
        if one == other or one[0] != other[0]:
            return one == other
        block = [i for i in range(len(self.columns)) if all(i in start for start in starts)]
        tied = (any(all(row[1 + i] is not None for i in start) for start in starts) for row in (one, other))
        return all(tied) and all(one[1 + i] == other[1 + i] for i in block)


@dataclass(frozen=True)
class Rule:
    """Goal, subgoals (relation and terms), comparisons (left, operator, right)."""

    goal: tuple[object, ...]
    atoms: tuple[Fact, ...]
    comparisons: tuple[tuple[object, str, object], ...] = ()


Schema = dict[str, Relation]


def is_variable(term: object) -> bool:
    """Whether the term is a variable."""
    return isinstance(term, str) and term.startswith("?")


@dataclass(frozen=True)
class World:
    """All rows that there can be."""

    schema: Schema

    @cached_property
    def facts(self) -> list[Fact]:
        """Every row."""
        found: list[Fact] = []
        for name, relation in self.schema.items():
            columns = [
                (*values, None) if i in relation.nullable else values
                for i, values in enumerate(relation.columns)
            ]
            found += [(name, *cells) for cells in product(*columns)]
        return found

    def valuations(self, rule: Rule) -> Iterator[tuple[Fact, list[Fact]]]:
        """Every way in which the rule can find an answer: the answer, and the rows."""
        every = [term for atom in rule.atoms for term in atom[1:]]
        variables = sorted({str(term) for term in every if is_variable(term)})
        compared = {term for a, _, b in rule.comparisons for term in (a, b)}
        values = {value for fact in self.facts for value in fact[1:]}
        choices = [
            [v for v in values if v is not None or (every.count(name) == 1 and name not in compared)]
            for name in variables
        ]
        known = set(self.facts)
        for chosen in product(*choices):
            value: dict[object, object] = dict(zip(variables, chosen, strict=True))
            rows = [(a[0], *(value.get(t, t) if is_variable(t) else t for t in a[1:])) for a in rule.atoms]
            if all(row in known for row in rows) and all(
                HOLDS[op](value.get(a, a) if is_variable(a) else a, value.get(b, b) if is_variable(b) else b)
                for a, op, b in rule.comparisons
            ):
                yield tuple(value[str(t)] if is_variable(t) else t for t in rule.goal), rows

    @cached_property
    def consistent(self) -> np.ndarray:
        """Which of all sets of rows keep the keys and dependencies; a set is a number, a row a bit."""
        sets = np.arange(2 ** len(self.facts))
        fine = np.ones(len(sets), bool)
        for i, one in enumerate(self.facts):
            for j, other in enumerate(self.facts[:i]):
                if self.schema[str(one[0])].excludes(one, other):
                    fine &= ~((sets >> i & 1).astype(bool) & (sets >> j & 1).astype(bool))
        return fine

    def answers(self, query: Sequence[Rule], *, bag: bool) -> np.ndarray:
        """Per set of rows: how often (or whether) each answer is found, one column per answer."""
        bit = {fact: 1 << i for i, fact in enumerate(self.facts)}
        sets = np.arange(2 ** len(self.facts))
        found: dict[Fact, np.ndarray] = {}
        for rule in query:
            for goal, rows in self.valuations(rule):
                mask = 0
                for row in rows:
                    mask |= bit[row]
                found.setdefault(goal, np.zeros(len(sets), int))
                found[goal] += (sets & mask) == mask
        if not found:
            return np.zeros((len(sets), 1), int)
        table = np.stack(list(found.values()), axis=1)
        return table if bag else np.minimum(table, 1)

    def critical(self, query: Sequence[Rule], *, bag: bool = False) -> set[Fact]:
        """Rows that change the answer on some consistent instance."""
        answers, sets = self.answers(query, bag=bag), np.arange(2 ** len(self.facts))
        found = set()
        for i, fact in enumerate(self.facts):
            without = sets[(sets >> i & 1) == 0]
            without = without[self.consistent[without | 1 << i]]
            if (answers[without] != answers[without | 1 << i]).any():
                found.add(fact)
        return found

    def is_private(self, secret: Sequence[Rule], view: Sequence[Rule], *, bags: Sequence[bool]) -> bool:
        """Whether no row that decides the secret is linked to one that decides the view."""
        return not any(
            one[0] == other[0] and self.schema[str(one[0])].links(one, other)
            for one in self.critical(secret, bag=bags[0])
            for other in self.critical(view, bag=bags[1])
        )

    def gives_a_row_away(self, secret: Sequence[Rule], view: Sequence[Rule], *, bags: Sequence[bool]) -> bool:
        """Whether the view has an answer with which some row is in the secret's answer on every instance."""
        secrets, views = (
            self.answers(query, bag=bag)[self.consistent]
            for query, bag in zip((secret, view), bags, strict=True)
        )
        alike = np.unique(views, axis=0, return_inverse=True)[1].ravel()
        return any((secrets[alike == own] > 0).all(axis=0).any() for own in range(alike.max() + 1))

    def are_independent(
        self, secret: Sequence[Rule], view: Sequence[Rule], random: Random, *, bags: Sequence[bool]
    ) -> bool:
        """Whether the answers are independent for one prior, drawn: odds of 1 to 5 for each row."""
        return self.are_jointly_independent(secret, [view], random, bags=bags)

    def are_jointly_independent(
        self,
        secret: Sequence[Rule],
        views: Sequence[Sequence[Rule]],
        random: Random,
        *,
        bags: Sequence[bool],
    ) -> bool:
        """As ``are_independent``, of all views' answers together; ``bags``: first the secret's."""
        weights = self.consistent.astype(object)
        for i in range(len(self.facts)):
            odds = random.randint(1, 5)
            weights = np.where(np.arange(len(weights)) >> i & 1, weights * odds, weights)
        first, *rest = (
            self.answers(query, bag=bag) for query, bag in zip((secret, *views), bags, strict=True)
        )
        ids = [
            np.unique(answers, axis=0, return_inverse=True)[1].ravel() for answers in (first, np.hstack(rest))
        ]
        joint = np.zeros((ids[0].max() + 1, ids[1].max() + 1), object)
        np.add.at(joint, (ids[0], ids[1]), weights)
        return bool((joint * joint.sum() == np.outer(joint.sum(axis=1), joint.sum(axis=0))).all())

    def least_critical(self, query: Sequence[Rule], *, bag: bool = False) -> set[Fact]:
        """The same rows as ``critical``, for worlds of which not all instances can be tried.

        A row is critical exactly if it is in a least consistent set of rows that supports an answer.
        """
        supports: dict[Fact, set[frozenset[Fact]]] = {}
        for number, rule in enumerate(query):
            for goal, rows in self.valuations(rule):
                pairs = ((a, b) for a in rows for b in rows)
                if not any(self.schema[str(a[0])].excludes(a, b) for a, b in pairs):
                    name = (goal, number, tuple(rows)) if bag else goal
                    supports.setdefault(name, set()).add(frozenset(rows))
        return {
            row for sets in supports.values() for own in sets if not any(o < own for o in sets) for row in own
        }

    def is_private_by_supports(
        self, secret: Sequence[Rule], view: Sequence[Rule], *, bags: Sequence[bool] = (False, False)
    ) -> bool:
        """As ``is_private``, by ``least_critical``."""
        return not any(
            one[0] == other[0] and self.schema[str(one[0])].links(one, other)
            for one in self.least_critical(secret, bag=bags[0])
            for other in self.least_critical(view, bag=bags[1])
        )


def in_datalog(query: Sequence[Rule], name: str) -> str:
    """The query as it is written."""

    def shown(term: object) -> str:
        if is_variable(term):
            return str(term)[1:]
        return f"'{term}'" if isinstance(term, str) else str(term)

    lines = []
    for rule in query:
        items = [f"{a[0]}({', '.join(map(shown, a[1:]))})" for a in rule.atoms]
        items += [f"{shown(a)} {op} {shown(b)}" for a, op, b in rule.comparisons]
        lines.append(f"{name}({', '.join(map(shown, rule.goal))}) :- {', '.join(items or ['true'])}.")
    return "\n".join(lines)


@dataclass(frozen=True)
class Kinds:
    """What a drawn pair of queries may have."""

    keys: bool = False
    nullable: bool = False
    comparisons: bool = False
    unions: bool = False
    bags: bool = False
    atoms: int = 3
    variables: int = 3


def drawn_rule(random: Random, schema: Schema, kinds: Kinds, goal_length: int) -> Rule:
    """A rule over the schema, with those of the constants 0, 1 and 2 that a column has."""
    variables = [f"?{letter}" for letter in "wxyz"[: kinds.variables]]
    share = random.choice((0.9, 0.7, 0.3))

    def term(values: tuple[object, ...]) -> object:
        known = [value for value in (0, 0, 0, 1, 1, 1, 2) if value in values]
        return random.choice(variables) if random.random() < share else random.choice(known)

    names = sorted(schema)
    atoms = []
    for _ in range(random.randint(1, kinds.atoms)):
        name = random.choice(names)
        atoms.append((name, *map(term, schema[name].columns)))

    def columns_of(variable: object) -> Iterator[tuple[object, ...]]:
        for name, *terms in atoms:
            yield from (own for t, own in zip(terms, schema[str(name)].columns, strict=True) if t == variable)

    used = sorted({str(t) for atom in atoms for t in atom[1:] if is_variable(t)})
    goal = tuple(random.choice([*used, *used, 0]) for _ in range(goal_length))
    comparisons = []
    if kinds.comparisons and used:
        for _ in range(random.randint(0, 2)):
            variable, other = random.choice(used), random.choice(used)
            ordered = all(any(map(is_ordered, columns_of(own))) for own in (variable, other))
            operator = random.choice(sorted(HOLDS) if ordered else ["!=", "="])
            known = [
                value
                for value in (0, 1, 2)
                if operator not in ("=", "!=") or all(value in own for own in columns_of(variable))
            ]
            comparisons.append((variable, operator, random.choice([other, other, *known])))
    return Rule(goal, tuple(atoms), tuple(comparisons))


def is_ordered(values: tuple[object, ...]) -> bool:
    """Whether all of a column's values are numbers."""
    return not any(isinstance(value, str) for value in values)


def drawn_query(random: Random, schema: Schema, kinds: Kinds) -> tuple[Rule, ...]:
    """One rule or two."""
    length = random.randint(0, 2)
    number = random.randint(1, 2) if kinds.unions else 1
    return tuple(drawn_rule(random, schema, kinds, length) for _ in range(number))


def drawn_relation(random: Random, columns: Sequence[tuple[object, ...]], kinds: Kinds) -> Relation:
    """A relation of these columns, perhaps with keys, a dependency, or columns that may be NULL."""
    places = range(len(columns))
    nullable = tuple(i for i in places if kinds.nullable and random.random() < 0.4)
    free = [i for i in places if i not in nullable]
    keys, dependencies = [], []
    if kinds.keys and free:
        for _ in range(random.randint(0, 2)):
            of = places if random.random() < 0.3 else free
            keys.append(tuple(sorted(random.sample(of, random.randint(1, max(1, len(of) - 1))))))
        if len(free) > 1 and random.random() < 0.3:
            one, other = random.sample(free, 2)
            dependencies.append(((one,), (other,)))
    return Relation(tuple(columns), tuple(keys), tuple(dependencies), nullable)
