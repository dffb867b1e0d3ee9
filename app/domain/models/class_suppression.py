"""Table-level rules that suppress all records of some equivalence classes (Definitions: equivalence classes).

A class holds the records that are released with the same values. The records of a suppressed class are
released as ⊥ in every attribute, so that all others are in classes that meet the criteria.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

import numpy as np

from app.domain.arrays import Bools
from app.domain.classes.grouping import Grouping, Missing, Suppressed, equivalence_classes, lacking_records
from app.domain.classes.quasi_part import required_quasi_identifiers
from app.domain.errors import NotSupported
from app.domain.hierarchies.hierarchy import TOP
from app.domain.models.criterion import Criterion, version_of
from app.domain.models.judging import JudgedRecords
from app.domain.models.k_anonymity import KAnonymity
from app.domain.models.overlapping import judged_classes
from app.domain.models.suppression import (
    Order,
    own_block,
    ranks_by_disclosure,
    require_meaning,
    suppressed_classes,
)
from app.domain.rules.rule import CellRule, Rule, TableRule, apply, apply_to_codes, suppressed_records
from app.domain.tables.distinct import distinct_rows
from app.domain.tables.masks import rows_without_values
from app.domain.tables.table import Table

Meaning = Literal[1, 2]
"""Version of what a rule means by a small class."""

ALL_ATTRIBUTES: Final = 1
"""Records with the same released values in all attributes, sensitive ones too, as before version 2."""
EQUIVALENCE_CLASSES: Final = 2
"""Records with the same released quasi-identifier values, as k-anonymity counts them."""


@dataclass(frozen=True)
class SmallClasses:
    """Classes of fewer than ``below`` records are suppressed; ``meaning`` says what a class is."""

    below: int
    meaning: Meaning = EQUIVALENCE_CLASSES


@dataclass(frozen=True)
class ClassSuppression:
    """Which equivalence classes a rule suppresses.

    Attributes
    ----------
    failing
        Classes that fail any of these criteria; for table-wide ones the smallest classes as well.
    missing
        ``excluded`` suppresses records with a missing quasi-identifier, too. With ``matches_everything``
        classes overlap: those that fail are suppressed again and again until none does.
    suppressed
        With ``own_block`` sensitive values are released even where quasi-identifiers are suppressed, except
        those of records that are left out for a missing one: no criterion has judged these.
    order
        For criteria of the whole table all classes of one size after another go, or class after class, in
        the order of ``suppression_order``, and no more than have to.

    A rule that suppresses any record also suppresses all those of which it would release no quasi-identifier:
    nobody could tell these from suppressed ones.
    """

    failing: tuple[Criterion, ...]
    missing: Missing = "own_category"
    suppressed: Suppressed = "excluded"
    order: Order = "size_by_size"

    @property
    def needs_population(self) -> bool:
        """Whether a criterion compares the classes with the people of a dictionary."""
        return any(own.needs_population for own in self.failing)


def suppress_small(table: Table, rule: TableRule, small: SmallClasses) -> tuple[Rule, Bools]:
    """The rule with its small classes suppressed, and whose these records are (n,).

    Equivalence classes are those of k-anonymity with k = ``below``, so that the rule suppresses what a search
    for that criterion does.
    """
    if small.meaning == ALL_ATTRIBUTES:
        return suppress_classes(table, rule, small.below)
    return suppress_failing(table, rule, ClassSuppression((KAnonymity(small.below),)))


def suppress_failing(table: Table, rule: Rule, suppression: ClassSuppression) -> tuple[Rule, Bools]:
    """The rule with the failing classes suppressed, and whose these records are (n,).

    Classes are of quasi-identifiers as the rule discloses them, ⊥ equal to ⊥, counted in records. A
    table-level rule that suppresses nobody is returned as it is; other rules suppress to begin with whom they
    show nothing of. Raises NotSupported for criteria that have no meaning for classes that overlap, and where
    classes of other than table-level rules would.
    """
    known, disclosed, missing = required_quasi_identifiers(table), apply(rule, table), suppression.missing
    _require_meaning(table, rule, suppression)
    silent = suppressed_records(rule, table, disclosed)
    classes = equivalence_classes(table, disclosed, silent, Grouping(missing=missing))
    left_out = classes.of_record < 0
    groups = np.where(left_out, classes.n_classes, classes.of_record)
    records = JudgedRecords(table, groups, disclosed, version=version_of(suppression.failing))
    judged = judged_classes(records, classes, shows_nothing=rows_without_values(classes.codes))
    ranks = None
    if suppression.order == "class_by_class":
        ranks = partial(ranks_by_disclosure, [table.hierarchies[j] for j in known], classes.codes)
    found = suppressed_classes(judged, suppression.failing, ranks, begun=bool(left_out.any()))
    gone: Bools = np.append(found.classes, True)[classes.of_record]
    if isinstance(rule, TableRule) and not gone.any():
        return rule, gone
    return suppress_records(table, rule, gone, missing, suppression.suppressed), gone


def _require_meaning(table: Table, rule: Rule, suppression: ClassSuppression) -> None:
    """Refuse where classes that overlap cannot be judged: NotSupported."""
    if suppression.missing == "matches_everything" and not isinstance(rule, TableRule):
        raise NotSupported(
            "Only table-level rules can suppress classes in which a missing value matches everything.",
            "Choose own_category or excluded for missing values, or a table-level rule.",
        )
    require_meaning(table, suppression.failing, suppression.missing, suppression.suppressed)


def suppress_records(
    table: Table,
    rule: Rule,
    records: Bools,
    missing: Missing = "own_category",
    suppressed: Suppressed = "excluded",
) -> CellRule:
    """The rule with the records (n,) suppressed, and the sensitive values of those :func:`are_hidden`."""
    disclosed = apply(rule, table).copy(order="F")
    hidden = are_hidden(table, records, missing, suppressed)
    for j in range(table.n_attributes):
        disclosed[records if j in table.quasi_identifiers else hidden, j] = TOP
    return CellRule(disclosed)


def are_hidden(table: Table, records: Bools, missing: Missing, suppressed: Suppressed) -> Bools:
    """(n,) of the suppressed ``records`` (n,) those whose sensitive values are not shown either.

    No criterion has looked at these: they are not of the own block.
    """
    left_out = lacking_records(table.codes, table.quasi_identifiers, missing)
    return records & ~own_block(records, left_out, suppressed)


def suppress_classes(table: Table, rule: TableRule, below: int) -> tuple[CellRule, Bools]:
    """The rule with the classes of fewer than ``below`` records suppressed, and which records these are (n,).

    This is what rules of the meaning :data:`ALL_ATTRIBUTES` do: their classes hold the records with the same
    released values in all attributes, sensitive ones too. They are counted in records, whatever their
    weights, ⊥ equal to ⊥. They are those of the rule itself: nobody joins a class by being suppressed.
    """
    reduced = table.reduced
    disclosed = apply_to_codes(rule, table, reduced.codes).copy(order="F")
    columns = [disclosed[:, j] for j in range(table.n_attributes)]
    classes = distinct_rows(columns, table.sizes, reduced.size)
    records = np.bincount(classes.inverse, reduced.counts, minlength=classes.size)
    small = (records < below)[classes.inverse]
    disclosed[small] = TOP
    return CellRule(np.asfortranarray(disclosed[reduced.inverse])), small[reduced.inverse]
