"""Table-level rules that withhold the records of some classes altogether (Definitions: equivalence classes).

A class is what records share that are disclosed alike. Records of a class that is withheld are disclosed as ⊥
in every attribute, so that every other record is among records as the criteria ask for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from app.domain.classes.grouping import Bools, Missing, Suppressed
from app.domain.classes.quasi_part import quasi_part
from app.domain.criteria.anonymity import KAnonymity
from app.domain.criteria.criterion import Criterion
from app.domain.criteria.judging import JudgedClasses, JudgedRecords, Withheld, withheld
from app.domain.criteria.overlapping import OverlappingClasses
from app.domain.criteria.suppression_order import Order, ranks_by_disclosure, withheld_in_order
from app.domain.criteria.uniques import require_partitions
from app.domain.distinct import Ints, distinct_rows
from app.domain.hierarchies.hierarchy import TOP
from app.domain.rules.rule import CellRule, Rule, TableRule, apply, apply_to_codes
from app.domain.tables import Table

Meaning = Literal[1, 2]
"""Version of what a rule means by a small class."""

ALL_ATTRIBUTES: Final = 1
"""Records that are disclosed alike in all attributes, sensitive ones too, as in rules of before the 2."""
EQUIVALENCE_CLASSES: Final = 2
"""Records whose quasi-identifiers are disclosed alike, as k-anonymity counts them."""


@dataclass(frozen=True)
class SmallClasses:
    """Classes of fewer than ``below`` records are suppressed; ``meaning`` says what a class is."""

    below: int
    meaning: Meaning = EQUIVALENCE_CLASSES


@dataclass(frozen=True)
class ClassSuppression:
    """Which classes of quasi-identifiers a rule withholds.

    Attributes
    ----------
    failing
        Classes that fail any of these criteria; for table-wide ones the smallest classes as well.
    missing
        ``excluded`` withholds records with a missing quasi-identifier, too. With ``matches_everything``
        classes overlap: what fails is withheld again and again until nothing does.
    suppressed
        With ``own_block`` sensitive values are shown even where quasi-identifiers are withheld, but for
        records that are left out for a missing one: no criterion has looked at these.
    order
        For criteria of the whole table all classes of one size after another go, or class after class, in
        the order of ``suppression_order``, and no more than have to.

    A rule that withholds anybody withholds all records of which it would disclose no quasi-identifier, too:
    nobody could tell these from those.
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


def suppress_failing(table: Table, rule: TableRule, suppression: ClassSuppression) -> tuple[Rule, Bools]:
    """The rule with the failing classes withheld, and whose these records are (n,).

    Classes are of quasi-identifiers as the rule discloses them, ⊥ equal to ⊥, counted in records. A rule that
    withholds nobody is returned as it is. Raises NotSupported for criteria that have no meaning for classes
    that overlap.
    """
    quasi = quasi_part(table)
    reduced = quasi.reduced
    levels = TableRule(tuple(rule.levels[j] for j in table.quasi_identifiers))
    shown = apply_to_codes(levels, quasi, reduced.codes)
    classes = distinct_rows([shown[:, j] for j in range(quasi.n_attributes)], quasi.sizes, reduced.size)
    of_group = classes.inverse.astype(np.int64)
    if suppression.missing == "excluded":
        of_group[(reduced.codes == TOP).any(axis=1)] = -1
    disclosed = apply(rule, table)
    released = JudgedRecords(table, reduced.inverse, disclosed)
    judged = released.judged(of_group, classes.size, shows_nothing=(classes.codes == TOP).all(axis=1))
    if suppression.missing == "matches_everything":
        require_partitions(table, suppression.failing)
        judged = OverlappingClasses(released, of_group, classes.size, classes.codes)
    shown_by_class = classes.codes[judged.records > 0]
    judged = judged.only(judged.records > 0)
    failing = _withheld(judged, suppression, quasi, shown_by_class, begun=bool((of_group < 0).any())).classes
    gone = np.append(failing, True)[judged.class_of_group]
    records: Bools = gone[reduced.inverse]
    if not records.any():
        return rule, records
    return withholding(table, rule, records, suppression.missing, suppression.suppressed), records


def _withheld(
    judged: JudgedClasses, suppression: ClassSuppression, quasi: Table, shown: Ints, *, begun: bool
) -> Withheld:
    if suppression.order == "size_by_size":
        return withheld(judged, suppression.failing, begun=begun)
    trees = quasi.hierarchies
    return withheld_in_order(
        judged, suppression.failing, lambda: ranks_by_disclosure(trees, shown), begun=begun
    )


def withholding(
    table: Table,
    rule: Rule,
    records: Bools,
    missing: Missing = "own_category",
    suppressed: Suppressed = "excluded",
) -> CellRule:
    """The rule with the records (n,) withheld, the sensitive values of those that :func:`are_hidden` too."""
    disclosed = apply(rule, table).copy(order="F")
    hidden = are_hidden(table, records, missing, suppressed)
    for j in range(table.n_attributes):
        disclosed[records if j in table.quasi_identifiers else hidden, j] = TOP
    return CellRule(disclosed)


def are_hidden(table: Table, records: Bools, missing: Missing, suppressed: Suppressed) -> Bools:
    """(n,) of the withheld ``records`` (n,) those whose sensitive values are not shown either.

    All, unless they are judged as one more block; then those that are left out for a missing value, at which
    no criterion has looked.
    """
    if suppressed == "excluded":
        return records
    if missing != "excluded":
        return np.zeros_like(records)
    lacking: Bools = (table.codes[:, table.quasi_identifiers] == TOP).any(axis=1)
    return records & lacking


def suppress_classes(table: Table, rule: TableRule, below: int) -> tuple[CellRule, Bools]:
    """The rule with the classes of fewer than ``below`` records withheld, and whose these records are (n,).

    This is what rules of the meaning :data:`ALL_ATTRIBUTES` do: their classes are of records that are
    disclosed alike in all attributes, sensitive ones too. They are counted in records, whatever their
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
