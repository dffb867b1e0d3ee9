"""What the criteria say of one rule, and hence of the rules that disclose more.

A criterion of the kind ``fewer_fail`` has the same records fail at every more specific rule, and the records
of a class that fails another one cannot all be kept there (``Criterion.unavoidable``). Records that fail at
every more specific rule are the rule's *lost* ones.

Where a missing value matches everything, classes overlap, and suppressing one makes others smaller. Whoever
is like a record stays like it at every more general rule, hence of all sets of records that meet a criterion
of the kind ``fewer_fail`` among themselves the largest never shrinks under generalisation: what is outside of
it is lost. Nothing follows from the other criteria, whose classes would have to pass or fail together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from app.domain.classes.grouping import Bools, EquivalenceClasses
from app.domain.classes.population import entities_of_classes, require_tuples
from app.domain.classes.quasi_part import group_of_row, quasi_part, rule_for
from app.domain.counting.counter import Counter
from app.domain.criteria.anonymity import KAnonymity
from app.domain.criteria.criterion import Criterion
from app.domain.criteria.judging import (
    JudgedClasses,
    JudgedRecords,
    Population,
    failing_any,
    peeled,
    withheld,
)
from app.domain.criteria.knowledge import Knowledge
from app.domain.criteria.overlapping import OverlappingClasses
from app.domain.criteria.population import DeltaPresence
from app.domain.criteria.uniques import require_partitions
from app.domain.dictionaries import Dictionary
from app.domain.distinct import Ints, Longs
from app.domain.errors import pointing_into
from app.domain.hierarchies import TOP
from app.domain.search.anonymity.class_sizes import ClassSizes, Levels
from app.domain.search.anonymity.estimates import seconds_of_believing, seconds_of_overlapping
from app.domain.search.anonymity.problem import AnonymityProblem, Attained, Refusal
from app.domain.tables import Table


@dataclass(frozen=True, eq=False)
class Verdict:
    """What is known of a rule.

    Attributes
    ----------
    unavoidable
        Records that this rule and every more specific one suppress at least.
    suppressed
        Records that it suppresses; not all of them counted if ``unavoidable`` is too many.
    allowed
        It suppresses few enough, and what remains meets the criteria.
    withheld, lost
        (d,) distinct records that it suppresses, and that every more specific rule does; None: those of small
        classes, nothing else counting.
    """

    unavoidable: int
    suppressed: int
    allowed: bool
    withheld: Bools | None = None
    lost: Bools | None = None


class Judge:
    """Judges the rules of one table.

    Attributes
    ----------
    table
        The quasi-identifiers alone; levels are theirs.
    classes
        Their classes, records that are left out not counted.
    k
        Every class needs so many records: what can be told fastest.
    allowed
        Records that may be suppressed.
    left_out, rows_left_out
        Records that are suppressed by every rule, for a missing value, and which distinct ones (d,) they are.
    is_plain
        Nothing but the sizes of classes counts.
    overlaps
        A missing value matches everything, and there is one.
    """

    def __init__(self, table: Table, problem: AnonymityProblem, dictionary: Dictionary | None = None) -> None:
        self.table = quasi_part(table)
        self.allowed = problem.suppression_allowed(table.n_records)
        self._problem = problem
        if dictionary is not None and any(isinstance(own, DeltaPresence) for own in problem.privacy):
            levels = (0,) * table.n_attributes
            require_tuples(table, dictionary, table.quasi_identifiers, levels, "/objective")
        reduced = self.table.reduced
        self.rows_left_out: Bools = np.zeros(reduced.size, dtype=bool)
        if problem.missing == "excluded":
            self.rows_left_out = (reduced.codes == TOP).any(axis=1)
        self.left_out = int(reduced.counts[self.rows_left_out].sum())
        self.classes = ClassSizes(self.table, self.rows_left_out if self.left_out else None)
        rows = table.reduced
        groups = group_of_row(table, self.table)
        self.records = JudgedRecords(table, groups, rows.codes, rows.counts)
        self._entities = None if dictionary is None else _Entities(table, self.table, dictionary)
        self.overlaps = problem.missing == "matches_everything" and bool((reduced.codes == TOP).any())
        if problem.missing == "matches_everything":
            require_partitions(table, problem.privacy)
        self._monotone, self._others = self._sorted(problem.privacy)
        self.k = max((own.k for own in self._monotone if isinstance(own, KAnonymity)), default=1)
        self._table_wide = [own for own in self._others if own.table_wide]
        self.is_plain = not self._others and all(isinstance(own, KAnonymity) for own in self._monotone)
        self.is_plain &= problem.suppressed == "excluded" and not self.overlaps

    @property
    def tries_rules(self) -> bool:
        """Whether a criterion says nothing of other rules than the one that is judged."""
        return any(
            own.merging == "none" or (self.overlaps and own.merging != "fewer_fail")
            for own in self._problem.privacy
        )

    @property
    def pairs(self) -> int:
        """Pairs of a kind of person and a sensitive value that beliefs are computed of."""
        told = sum(own.needs_beliefs for own in self._problem.privacy)
        return told * self.table.reduced.size * max(self.records.n_values, default=0)

    @property
    def more_seconds(self) -> float:
        """Estimated time per rule of what other criteria and partitions do not take."""
        seconds = seconds_of_believing(self.pairs, after_k=self.k > 1)
        if self.overlaps:
            of_values = any(own.is_of_values for own in self._problem.privacy)
            seconds += seconds_of_overlapping(self.table, of_values=of_values)
        return seconds

    def _sorted(self, privacy: Sequence[Criterion]) -> tuple[list[Criterion], list[Criterion]]:
        """Criteria that generalising never breaks for a record, implied ones included, and the others."""
        whole = self._whole
        given = [own for own in privacy if own.merging == "fewer_fail" and not own.table_wide]
        others = [own for own in privacy if own not in given]
        implied: list[Criterion] = []
        for i, own in enumerate(privacy):
            with pointing_into(f"/objective/privacy/{i}"):
                if self._nobody_left:
                    break
                implied += own.implied(whole)
                # What is wrong with a criterion for this table shows when it is asked.
                own.failing(whole)
        k = max((own.k for own in (*given, *implied) if isinstance(own, KAnonymity)), default=1)
        rest = [own for own in dict.fromkeys((*given, *implied)) if not isinstance(own, KAnonymity)]
        return [KAnonymity(k), *rest], others

    def refusals(self) -> tuple[Refusal, ...]:
        """The criteria that no rule can meet, known without looking at any."""
        found = []
        for criterion in () if self._nobody_left else self._problem.privacy:
            own, reason = self._lost_as_one_class(criterion)
            least = self.left_out + own
            if own and least > self.allowed:
                found.append(Refusal(criterion, f"{reason} {self._of_the_limit(least)}"))
        if not found and self.left_out > self.allowed:
            reason = f"{self.left_out} records have a missing quasi-identifier and would be suppressed."
            found.append(Refusal(None, f"{reason} {self._of_the_limit(self.left_out)}"))
        return tuple(found)

    def _lost_as_one_class(self, criterion: Criterion) -> tuple[int, str]:
        """Records that no rule keeps, known from all of them as one class, and why."""
        whole, cannot = self._whole, "The criterion cannot be met."
        everybody = int(whole.records.sum())
        if criterion.table_wide:
            reason = criterion.impossible(whole)
            return (0, "") if reason is None else (everybody, reason)
        if not self.overlaps:
            return int(criterion.unavoidable(whole).sum()), criterion.impossible(whole) or cannot
        # Classes that overlap may all meet what their records as one class do not.
        for own in (criterion, *criterion.implied(whole)):
            if own.merging == "fewer_fail" and own.failing(whole).any():
                return everybody, own.impossible(whole) or cannot
        return 0, ""

    @cached_property
    def _whole(self) -> JudgedClasses:
        """The records that are not left out as the classes of the most general rule."""
        return self._judged(self.table.heights)

    def _of_the_limit(self, least: int) -> str:
        return f"At least {least} records would have to be suppressed, and {self.allowed} may be."

    @property
    def _nobody_left(self) -> bool:
        """Every record has a missing value and is suppressed by every rule."""
        return self.left_out == self.table.n_records

    def judge(self, levels: Levels) -> Verdict:
        """The verdict on a rule."""
        if self._nobody_left:
            allowed = self.left_out <= self.allowed
            if allowed and self._problem.suppressed == "own_block":
                nothing = np.zeros(self.records.n_groups, dtype=np.int64)
                allowed = self._meets_all(levels, nothing)
            return Verdict(self.left_out, self.left_out, allowed, self.rows_left_out, self.rows_left_out)
        if self.overlaps:
            return self._judge_overlapping(levels)
        small = self.left_out + self.classes.below(levels, self.k)
        if small > self.allowed or self.is_plain:
            return Verdict(small, small, small <= self.allowed)
        judged = self._judged(levels)
        sizes = judged.sizes
        failing = failing_any(judged, self._monotone)
        least = np.where(failing, sizes, 0)
        others = np.zeros_like(failing)
        for criterion in self._others:
            if not criterion.table_wide:
                np.maximum(least, criterion.unavoidable(judged), out=least)
                others |= criterion.failing(judged)
        unavoidable = self.left_out + int(least.sum())
        lost = self._rows(judged, least >= sizes)
        if unavoidable > self.allowed:
            return Verdict(unavoidable, unavoidable, False, lost, lost)
        return self._verdict(levels, judged, failing | others, unavoidable, lost)

    def _judge_overlapping(self, levels: Levels) -> Verdict:
        judged = self._judged(levels)
        outside = peeled(judged, self._monotone, np.zeros(judged.n_classes, dtype=bool), self.allowed)
        unavoidable, lost = int(judged.records[outside].sum()), self._rows(judged, outside)
        if unavoidable > self.allowed:
            return Verdict(unavoidable, unavoidable, False, lost, lost)
        found = withheld(judged, self._problem.privacy, self.allowed)
        rows, suppressed = self._rows(judged, found.classes), int(judged.records[found.classes].sum())
        allowed = found.satisfied and suppressed <= self.allowed
        if allowed and suppressed and self._problem.suppressed == "own_block":
            allowed = self._block_passes(levels, judged, found.classes, rows)
        return Verdict(unavoidable, suppressed, allowed, rows, lost)

    def alike(self, levels: Levels, rows: Bools) -> Longs:
        """(d,) for each distinct record how many of those not in ``rows`` cannot be told from it."""
        judged = self._judged(levels)
        kept = np.ones(judged.n_classes, dtype=bool)
        kept[judged.class_of_group[rows]] = False
        remaining = judged.only(kept)
        return np.append(remaining.sizes, 0)[remaining.class_of_group]

    def attained(self, levels: Levels) -> tuple[Attained, ...]:
        """What the classes that a rule keeps attain of each criterion."""
        judged = self.remaining(levels)
        return tuple(Attained(own, own.attained(judged)) for own in self._problem.privacy)

    def remaining(self, levels: Levels) -> JudgedClasses:
        """The classes that a rule keeps."""
        judged = self._judged(levels)
        return judged.only(~withheld(judged, self._problem.privacy, self.allowed).classes)

    def withheld_rows(self, levels: Levels, verdict: Verdict) -> Bools:
        """(d,) distinct records that a rule suppresses."""
        return self._small_rows(levels) if verdict.withheld is None else verdict.withheld

    def withheld_values(self, levels: Levels, verdict: Verdict) -> list[Longs]:
        """Per attribute, how many of the suppressed records have each value."""
        return self._values(levels, verdict.withheld)

    def lost_values(self, levels: Levels, verdict: Verdict) -> list[Longs]:
        """Per attribute, how many of the records that every more specific rule suppresses have each value."""
        return self._values(levels, verdict.lost)

    def _values(self, levels: Levels, rows: Bools | None) -> list[Longs]:
        if rows is None and not self.left_out:
            return self.classes.values_below(levels, self.k)
        return self.classes.values_of(self._small_rows(levels) if rows is None else rows)

    def _small_rows(self, levels: Levels) -> Bools:
        judged = self._judged(levels)
        return self._rows(judged, judged.sizes < self.k)

    def _judged(self, levels: Levels) -> JudgedClasses:
        """The classes of a rule but for the records that are left out."""
        groups = self.classes.classes(levels)
        of_group = groups.of.astype(np.int64, copy=False)
        population = None if self._entities is None else self._entities.of(levels, of_group, groups.size)
        if self.overlaps:
            shown = self._shown(levels, of_group, groups.size)
            return OverlappingClasses(self.records, of_group, groups.size, shown, population)
        if not self.left_out:
            return self.records.judged(of_group, groups.size, population)
        judged = self.records.judged(np.where(self.rows_left_out, -1, of_group), groups.size, population)
        return judged.only(judged.records > 0)

    @staticmethod
    def _rows(judged: JudgedClasses, classes: Bools) -> Bools:
        """(d,) the distinct records of some classes and those that are left out."""
        return np.append(classes, True)[judged.class_of_group]

    def _verdict(
        self, levels: Levels, judged: JudgedClasses, failing: Bools, unavoidable: int, lost: Bools
    ) -> Verdict:
        satisfied = True
        if self._table_wide:
            found = withheld(judged, self._problem.privacy, self.allowed - self.left_out)
            failing, satisfied = found.classes, found.satisfied
            if not satisfied and self.allowed == self.left_out and self._stays_broken(judged):
                unavoidable = self.allowed + 1
        suppressed = self.left_out + int(judged.sizes[failing].sum())
        rows = self._rows(judged, failing)
        allowed = satisfied and suppressed <= self.allowed
        if allowed and suppressed and self._problem.suppressed == "own_block":
            allowed = self._block_passes(levels, judged, failing, rows)
        return Verdict(unavoidable, suppressed, allowed, rows, lost)

    def _stays_broken(self, judged: JudgedClasses) -> bool:
        """Whether a table-wide criterion fails that no more specific rule meets without suppression."""
        return any(own.merging != "none" and not own.satisfied(judged) for own in self._table_wide)

    def _block_passes(self, levels: Levels, judged: JudgedClasses, failing: Bools, rows: Bools) -> bool:
        """Whether the suppressed records pass as one more class, with whoever is disclosed as they are."""
        number = np.append(np.where(failing, 0, np.cumsum(~failing)), 0)
        of_group = np.where(rows | self._shown_as_nothing(levels), 0, number[judged.class_of_group])
        return self._meets_all(levels, of_group)

    def _meets_all(self, levels: Levels, of_group: Longs) -> bool:
        """Whether classes meet all criteria, class 0 being the block of those that are suppressed."""
        n_classes, population = int(of_group.max()) + 1, self._population_of(levels, of_group)
        found = self.records.judged(of_group, n_classes, population)
        if self.overlaps:
            shown = self._shown(levels, of_group, n_classes)
            # Who is withheld is like nobody who is not: everybody else shows something.
            shown[0] = [hierarchy.n_nodes for hierarchy in self.table.hierarchies]
            found = OverlappingClasses(self.records, of_group, n_classes, shown, population)
        found = found.only(found.records > 0)
        return all(criterion.satisfied(found) for criterion in self._problem.privacy)

    def _shown(self, levels: Levels, of_group: Longs, n_classes: int) -> Ints:
        """(G, q) what the classes that groups make at levels show."""
        return shown_by_classes(self.table, levels, of_group, n_classes)

    def _population_of(self, levels: Levels, of_group: Longs) -> Population | None:
        """The population with one block of everybody that is withheld: nothing is known of its members."""
        if self._entities is None:
            return None
        found = self._entities.of(levels, of_group, int(of_group.max()) + 1)
        found.entities[0] = self._entities.total
        if found.shown is not None:
            found.shown[0] = TOP
        # Who is disclosed like a withheld record was is not outside the table.
        groups = self.classes.classes(levels)
        outside = self._entities.of(levels, groups.of.astype(np.int64, copy=False), groups.size).outside
        return replace(found, outside=outside)

    def _shown_as_nothing(self, levels: Levels) -> Bools:
        """(d,) distinct records all of whose quasi-identifiers the levels disclose as ⊥."""
        found: Bools = np.ones(self.table.reduced.size, dtype=bool)
        for column, hierarchy, level in zip(
            self.table.reduced.codes.T, self.table.hierarchies, levels, strict=True
        ):
            found &= (hierarchy.ancestors_at(level) == TOP)[column]
        return found


def shown_by_classes(quasi: Table, levels: Levels, of_group: Longs, n_classes: int) -> Ints:
    """(G, q) what classes of a table's distinct records show at levels; any if a class has none."""
    one = np.zeros(n_classes, dtype=np.intp)
    one[of_group] = np.arange(len(of_group))
    columns = zip(quasi.hierarchies, levels, quasi.reduced.codes[one].T, strict=True)
    return np.stack([tree.ancestors_at(level)[column] for tree, level, column in columns], axis=1)


class _Entities:
    """Counts the entities of a dictionary that are disclosed like the classes of rules."""

    def __init__(self, table: Table, quasi: Table, dictionary: Dictionary) -> None:
        self._table = table
        self._quasi = quasi
        self._counter = Counter(table, dictionary)
        self._knowledge = Knowledge(table, dictionary, quasi.reduced.codes)
        self.total = dictionary.n_entities

    def of(self, levels: Levels, of_group: Longs, n_classes: int) -> Population:
        """The population of the classes that groups make at levels."""
        shown = shown_by_classes(self._quasi, levels, of_group, n_classes)
        none = np.zeros(n_classes, dtype=np.int64)
        classes = EquivalenceClasses(
            self._table.quasi_identifiers, shown, none, none, np.empty(0, dtype=np.int32), 0, 0
        )
        entities = entities_of_classes(self._counter, classes, rule_for(self._table, levels).levels)
        return Population(entities, max(0, self.total - int(entities.sum())), shown, self._knowledge)
