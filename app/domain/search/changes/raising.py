"""A rule generalised further: its join with a level of every attribute.

What a rule discloses of a cell and what a level discloses of it both lie above the original, in a tree on one
path. Their join is therefore the level applied to what the rule discloses. A hierarchy that is no tree has
the levels 0 and ⊥ alone.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from app.domain.classes.grouping import Bools
from app.domain.criteria.class_suppression import ClassSuppression, are_hidden, suppress_failing, withholding
from app.domain.criteria.judging import JudgedRecords, withheld
from app.domain.distinct import Ints, distinct_rows
from app.domain.errors import NotSupported
from app.domain.harm.weights import Floats
from app.domain.hierarchies.hierarchy import TOP
from app.domain.numbers import exact_sum
from app.domain.rules.rule import CellRule, RecordRule, Rule, TableRule, apply, apply_to_codes
from app.domain.search.changes.change import Levels
from app.domain.tables import Table
from app.domain.utility import Utility


class Raising:
    """All rules that generalise a rule further.

    Attributes
    ----------
    shown
        What the rule discloses, as a table: its rules of levels are the changes.
    choices
        Per attribute the levels that differ in what they disclose, the least of those that do not; 0 first.
    terms
        Per attribute and choice the mean utility of its cells, never rising.
    """

    def __init__(
        self, table: Table, rule: Rule, utility: Utility, attributes: tuple[int, ...] | None = None
    ) -> None:
        self.table = table
        self.rule = rule
        self.utility = utility
        self.shown = Table(
            table.attributes,
            table.hierarchies,
            apply(rule, table),
            weights=table.weights,
            sensitive=table.sensitive,
        )
        raised = range(table.n_attributes) if attributes is None else attributes
        every = [self._of_attribute(j, j in set(raised)) for j in range(table.n_attributes)]
        self.choices: tuple[Levels, ...] = tuple(levels for levels, _ in every)
        self.terms: tuple[Floats, ...] = tuple(terms for _, terms in every)

    @cached_property
    def entropies(self) -> tuple[Floats, ...]:
        """Per attribute and choice the entropy of what is disclosed, in nats."""
        return tuple(
            np.array([self._entropy(j, level) for level in levels]) for j, levels in enumerate(self.choices)
        )

    def _entropy(self, j: int, level: int) -> float:
        becomes = self.table.hierarchies[j].ancestors_at(level)[self.shown.codes[:, j]]
        counts = np.bincount(becomes)
        shares = counts[counts > 0] / self.table.n_records
        return -float(shares @ np.log(shares))

    def _of_attribute(self, j: int, is_raised: bool) -> tuple[Levels, Floats]:
        hierarchy = self.table.hierarchies[j]
        nodes = self.shown.used_nodes[j]
        mass = np.bincount(self.shown.codes[:, j], self.table.weights, hierarchy.n_nodes)[nodes]
        values = self.utility.values[j]
        possible = range(hierarchy.height + 1) if hierarchy.is_tree else (0, hierarchy.height)
        levels: list[int] = []
        terms: list[float] = []
        before = None
        for level in possible if is_raised else (0,):
            becomes = hierarchy.ancestors_at(level)[nodes]
            if before is None or not np.array_equal(becomes, before):
                levels.append(level)
                # Rounding must not let a general value look more useful than one below it.
                mean = exact_sum(values[becomes] * mass) / self._total
                terms.append(min(mean, terms[-1]) if terms else mean)
                before = becomes
        return tuple(levels), np.array(terms)

    @cached_property
    def _total(self) -> float:
        weights = self.table.weights
        return float(self.table.n_records) if weights is None else exact_sum(weights)

    def raised(self, levels: Levels) -> Rule:
        """The rule with every record generalised at least to the levels."""
        return _joined(self.table, self.rule, levels, self.shown.codes)

    @cached_property
    def own_withheld(self) -> Bools:
        """(n,) records of which a rule for single records by itself discloses nothing."""
        if isinstance(self.rule, TableRule):
            return np.zeros(self.table.n_records, dtype=bool)
        found: Bools = (self.shown.codes == TOP).all(axis=1)
        return found

    def withheld_loss(self, levels: Levels, records: Bools, suppression: ClassSuppression) -> float:
        """What withholding the records (n,) takes from the mean utility at the levels."""
        rows = np.flatnonzero(records)
        hidden = are_hidden(self.table, records, suppression.missing, suppression.suppressed)[rows]
        lost = np.zeros(len(rows))
        for j in range(self.table.n_attributes):
            values = self.utility.values[j]
            becomes = self.table.hierarchies[j].ancestors_at(levels[j])
            less = (values[becomes] - values[TOP])[self.shown.codes[rows, j]]
            lost += less if j in self.table.quasi_identifiers else less * hidden
        if self.table.weights is not None:
            lost *= self.table.weights[rows]
        return exact_sum(lost) / self._total

    def withholding(self, levels: Levels, suppression: ClassSuppression) -> tuple[Rule, Bools]:
        """The raised rule with failing classes withheld, and whose these records are (n,)."""
        rule = self.raised(levels)
        if isinstance(rule, TableRule):
            return suppress_failing(self.table, rule, suppression)
        return withhold_failing(self.table, rule, suppression)


def join(table: Table, rule: Rule, levels: Levels) -> Rule:
    """The rule with every record generalised at least to the levels, of its own kind where that can say it.

    NotSupported for a level between 0 and ⊥ where the hierarchy is no tree.
    """
    for hierarchy, level, name in zip(table.hierarchies, levels, table.attributes, strict=True):
        if 0 < level < hierarchy.height:
            hierarchy.require_tree(f"A level of attribute {name!r}")
    return _joined(table, rule, levels, apply(rule, table))


def _joined(table: Table, rule: Rule, levels: Levels, disclosed: Ints) -> Rule:
    if isinstance(rule, TableRule):
        return TableRule(tuple(map(max, rule.levels, levels)))
    is_tree = all(
        hierarchy.is_tree for hierarchy, level in zip(table.hierarchies, levels, strict=True) if level
    )
    if isinstance(rule, CellRule) or not is_tree:
        return CellRule(apply_to_codes(TableRule(levels), table, disclosed))
    steps = rule.steps.copy(order="F")
    for j, (hierarchy, level) in enumerate(zip(table.hierarchies, levels, strict=True)):
        if level:
            depth = hierarchy.depth[table.codes[:, j]]
            np.maximum(steps[:, j], depth - (hierarchy.height - level), out=steps[:, j])
    return RecordRule(steps)


def withhold_failing(table: Table, rule: Rule, suppression: ClassSuppression) -> tuple[CellRule, Bools]:
    """Any rule with the failing classes withheld, and whose these records are (n,).

    As ``suppress_failing`` of ``class_suppression`` does it for table-level rules, but that records of
    which a rule for single records discloses no quasi-identifier are withheld to begin with. NotSupported
    where a missing value matches everything.
    """
    if suppression.missing not in ("own_category", "excluded"):
        raise NotSupported(
            "Classes in which a missing value matches everything are withheld of table-level rules alone.",
            "Choose own_category or excluded for missing values, or a table-level rule.",
        )
    disclosed = apply(rule, table)
    known = table.quasi_identifiers
    classes = distinct_rows(
        [disclosed[:, j] for j in known], [table.sizes[j] for j in known], table.n_records
    )
    of_record = classes.inverse.astype(np.int64)
    if suppression.missing == "excluded":
        of_record[(table.codes[:, known] == TOP).any(axis=1)] = -1
    of_record[(disclosed[:, known] == TOP).all(axis=1)] = -1
    everyone = np.arange(table.n_records, dtype=np.int32)
    judged = JudgedRecords(table, everyone, disclosed).judged(of_record, classes.size)
    judged = judged.only(judged.sizes > 0)
    gone = np.append(withheld(judged, suppression.failing).classes, True)[judged.class_of_group]
    return withholding(table, rule, gone, suppression.missing, suppression.suppressed), gone
