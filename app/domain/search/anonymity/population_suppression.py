"""Whom a table-level rule suppresses where criteria compare its classes with a population.

It is told by the judge of the searches, so that a rule that somebody states suppresses whom the search that
finds the same levels does.
"""

from __future__ import annotations

from dataclasses import replace

from app.domain.classes.grouping import Bools
from app.domain.criteria.class_suppression import ClassSuppression
from app.domain.dictionaries.dictionary import Dictionary
from app.domain.errors import InvalidInput
from app.domain.rules.rule import TableRule
from app.domain.search.anonymity.problem import AnonymityProblem
from app.domain.search.anonymity.verdicts import Judge
from app.domain.tables import Table

_POINTERS = {"/objective/privacy": "/suppress_classes_failing", "/objective": ""}


def suppressed_by_population(
    table: Table, rule: TableRule, suppression: ClassSuppression, dictionary: Dictionary
) -> Bools:
    """(n,) records of the classes that fail, and those that are suppressed with them.

    Raises
    ------
    InvalidInput
        A criterion that does not fit the table or the dictionary, at ``/suppress_classes_failing`` and its
        number.
    NotSupported
        δ-presence where a record or an entity has no single tuple of generalised quasi-identifiers.
    """
    problem = AnonymityProblem(
        suppression.failing, 1.0, missing=suppression.missing, suppressed=suppression.suppressed
    )
    try:
        judge = Judge(table, problem, dictionary, order=suppression.order)
    except InvalidInput as error:
        raise InvalidInput([replace(own, pointer=_pointer(own.pointer)) for own in error.faults]) from None
    return suppressed_at(table, judge, rule.levels)


def suppressed_at(table: Table, judge: Judge, levels: tuple[int, ...]) -> Bools:
    """(n,) records that a rule of levels of all attributes suppresses, by the judge of its criteria."""
    remaining = judge.remaining(tuple(levels[j] for j in table.quasi_identifiers))
    gone: Bools = remaining.class_of_group < 0
    return gone[judge.table.reduced.inverse]


def _pointer(asked: str) -> str:
    """Where a rule says what an objective says at ``asked``."""
    for before, after in _POINTERS.items():
        if asked.startswith(before):
            return after + asked.removeprefix(before)
    return asked
