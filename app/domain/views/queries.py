"""Queries as they are written: unions of conjunctive queries with comparisons."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from app.domain.views.ranges import Cell

Operator = Literal["=", "!=", "<", "<=", ">", ">="]


@dataclass(frozen=True, slots=True)
class Variable:
    """Stands for any value of the columns where it is written."""

    name: str


@dataclass(frozen=True, slots=True)
class Constant:
    """Stands for itself; None, which no query can write, is NULL in a row that a witness has."""

    value: Cell


Term = Variable | Constant


@dataclass(frozen=True, slots=True)
class Atom:
    """A subgoal: a row of the relation, one term per column."""

    relation: str
    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What must hold between two terms."""

    left: Term
    operator: Operator
    right: Term


@dataclass(frozen=True)
class Rule:
    """A conjunctive query: the goal, for every way in which its atoms are rows and its comparisons hold."""

    goal: tuple[Term, ...]
    atoms: tuple[Atom, ...]
    comparisons: tuple[Comparison, ...] = ()

    @property
    def occurrences(self) -> Iterator[tuple[Term, str, int]]:
        """Each term of the atoms with its relation and column."""
        for atom in self.atoms:
            for column, term in enumerate(atom.terms):
                yield term, atom.relation, column


@dataclass(frozen=True)
class Query:
    """A union of conjunctive queries with goals of one length."""

    rules: tuple[Rule, ...]
    keeps_duplicates: bool = False
    """Whether the answer says how often each of its rows is found (SQL without DISTINCT)."""
