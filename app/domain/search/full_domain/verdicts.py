"""What the criteria say of one rule, and hence of the rules that disclose more.

A criterion of the kind ``fewer_fail`` has the same records fail at every more specific rule, and the records
of a class that fails another one cannot all be kept there (``Criterion.unavoidable``). Records that fail at
every more specific rule are the rule's *lost* ones. A rule that suppresses any record also suppresses every
record of which its levels disclose nothing; if any is lost, so is hence every record whose quasi-identifiers
are all missing.

Where a missing value matches everything, classes overlap, and suppressing one makes others smaller. Whoever
is like a record stays like it at every more general rule, hence of all sets of records that meet a criterion
of the kind ``fewer_fail`` among themselves the largest never shrinks under generalisation: what is outside of
it is lost. Nothing follows from the other criteria, whose classes would have to pass or fail together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Final

import numpy as np

from app.domain.arrays import Bools, Levels, Longs
from app.domain.classes.grouping import lacking_records
from app.domain.classes.quasi_part import group_of_row, quasi_part
from app.domain.dictionaries.dictionary import Dictionary
from app.domain.models.criterion import Criterion, of_units, version_of
from app.domain.models.judging import JudgedClasses, JudgedRecords
from app.domain.models.overlapping import OverlappingClasses
from app.domain.models.suppression import (
    Order,
    SuppressedClasses,
    failing_any,
    own_block,
    passes_with_block,
    peeled,
    ranks_by_disclosure,
    require_meaning,
    suppressed_classes,
)
from app.domain.risk.class_populations import require_tuples
from app.domain.search.class_entities import ClassEntities
from app.domain.search.full_domain.class_sizes import ClassSizes
from app.domain.search.full_domain.classes import ClassesOfRules, ShowsNothing, classes_of, shown_by_classes
from app.domain.search.full_domain.estimates import seconds_of_believing, seconds_of_overlapping
from app.domain.search.full_domain.problem import AnonymityProblem, Refusal, refusals_of, sorted_criteria
from app.domain.search.full_domain.verdict import Choice, Verdict, choice_of, least_records
from app.domain.tables.masks import shows_nothing
from app.domain.tables.table import Table

MUCH: Final = 0.4
"""Where more of the records may be suppressed, small classes alone seldom forbid a rule."""


class Judge:
    """Judges the rules of one table.

    ``suppresses`` says that failing classes are suppressed, so that readers cannot tell a record that shows
    nothing from a suppressed one; where the records of failing classes are only counted, they can. ``order``
    is that in which classes are suppressed for criteria of the whole table.

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
        Nothing but the records of classes counts.
    overlaps
        A missing value matches everything, and there is one.
    chooses
        Whether criteria of the whole table leave open which classes a rule suppresses.
    """

    def __init__(
        self,
        table: Table,
        problem: AnonymityProblem,
        dictionary: Dictionary | None = None,
        *,
        suppresses: bool = True,
        order: Order = "class_by_class",
    ) -> None:
        self._order = order
        require_meaning(table, problem.privacy, problem.missing, problem.suppressed)
        counts_persons = table.persons is not None
        version = version_of(problem.privacy)
        problem = replace(problem, privacy=of_units(problem.privacy, persons=counts_persons))
        self.table = quasi_part(table)
        self.allowed = problem.suppression_allowed(table.n_records)
        self._problem = problem
        self._bars_outsiders = suppresses and any(own.bars_outsiders for own in problem.privacy)
        if dictionary is not None and any(own.needs_tuples for own in problem.privacy):
            levels = (0,) * table.n_attributes
            require_tuples(table, dictionary, table.quasi_identifiers, levels, "/objective")
        reduced = self.table.reduced
        self._counts = reduced.counts
        known = self.table.quasi_identifiers
        self.rows_left_out: Bools = lacking_records(reduced.codes, known, problem.missing)
        self.left_out = int(reduced.counts[self.rows_left_out].sum())
        self.classes = ClassSizes(self.table, self.rows_left_out if self.left_out else None)
        self._shows_nothing = ShowsNothing(self.table, matters=suppresses)
        rows = table.reduced
        groups = group_of_row(table, self.table)
        if counts_persons:
            self.records = JudgedRecords(table, groups[rows.inverse], version=version)
        else:
            self.records = JudgedRecords(table, groups, rows.codes, rows.counts, version)
        self._classes = ClassesOfRules(self.classes, self.records)
        self._entities = None if dictionary is None else ClassEntities(table, dictionary, reduced.codes)
        self.overlaps = problem.missing == "matches_everything" and bool(self.table.reduced_missing.any())
        self._monotone, self._others = sorted_criteria(
            problem.privacy, None if self._nobody_left else self._whole
        )
        self.k = max(own.least_class_size or 1 for own in self._monotone)
        self._table_wide = [own for own in self._others if own.table_wide]
        self.chooses = bool(self._table_wide) and order == "class_by_class"
        alone = not self._others and all(own.least_class_size for own in self._monotone)
        of_records = problem.suppressed == "excluded" and not (self.overlaps or counts_persons)
        self.is_plain = alone and of_records

    @property
    def tries_rules(self) -> bool:
        """Whether a criterion says nothing of other rules than the one that is judged."""
        return any(
            own.merging != "fewer_fail" if self.overlaps else own.merging == "none" and not own.adds_up
            for own in self._problem.privacy
        )

    @property
    def only_grows(self) -> bool:
        """Whether a rule that discloses more suppresses whomever one that discloses less does."""
        return not self._others and not self.overlaps

    @property
    def bounds_are_dear(self) -> bool:
        """Whether what a rule says of those that disclose more takes long to compute."""
        return not self.overlaps and any(own.merging == "passes_stay" for own in self._others)

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

    @property
    def most_general(self) -> Iterator[Levels]:
        """The rules to begin with: mostly the first is allowed.

        Where records are left out, the one that discloses nothing suppresses all others with them.
        """
        heights = self.table.heights
        yield heights
        if self.left_out:
            for j, height in enumerate(heights):
                if height:
                    yield (*heights[:j], height - 1, *heights[j + 1 :])

    def refusals(self) -> tuple[Refusal, ...]:
        """The criteria that no rule can meet, known without looking at any."""
        whole = None if self._nobody_left else self._whole
        return refusals_of(self._problem, whole, self.allowed, self.left_out, overlaps=self.overlaps)

    def attained_by_all(self, criterion: Criterion) -> float | None:
        """What the records that are not left out attain of a criterion as one class."""
        return None if self._nobody_left else criterion.attained(self._whole)

    @cached_property
    def _whole(self) -> JudgedClasses:
        """The records that are not left out as the classes of the most general rule."""
        return self._judged(tuple(own.level_of_top for own in self.table.hierarchies))

    @property
    def _nobody_left(self) -> bool:
        """Every record has a missing value and is suppressed by every rule."""
        return self.left_out == self.table.n_records

    def judge(self, levels: Levels, *, bounds: bool = True) -> Verdict:
        """The verdict on a rule.

        Without ``bounds`` less is said of the rules that disclose more, only what is known at once.
        """
        if self._nobody_left:
            rows, gone = self.rows_left_out, self.left_out
            return Verdict(gone, gone, gone <= self.allowed, rows, rows)
        if self.overlaps:
            judged = self._judged(levels)
            outside = peeled(judged, self._monotone, np.zeros(judged.n_classes, dtype=bool), self.allowed)
            unavoidable, lost = int(judged.records[outside].sum()), self._rows(judged, outside)
            if unavoidable > self.allowed:
                return Verdict(unavoidable, unavoidable, False, lost, lost)
            return self._concluded(levels, judged, self._suppressed(levels, judged), unavoidable, lost)
        if self.is_plain or self.allowed < MUCH * self.table.n_records:
            small = self.left_out + self.classes.below(levels, self.k)
            if small > self.allowed:
                return Verdict(small, small, False)
            if self.is_plain:
                # The verdict where ``small`` records, few enough, are left out or in small classes
                nothing = self._shows_nothing.at(levels) if small else None
                if nothing is None:
                    return Verdict(small, small, True)
                rows = self.small_rows(levels)
                suppressed_rows, never_shown = rows | nothing, self._shows_nothing.always
                lost = rows if never_shown is None else rows | never_shown
                unavoidable, suppressed = (int(self._counts[own].sum()) for own in (lost, suppressed_rows))
                return Verdict(unavoidable, suppressed, suppressed <= self.allowed, suppressed_rows, lost)
        judged = self._judged(levels)
        records = judged.records
        failing = failing_any(judged, self._monotone)
        least = np.where(failing, records, 0)
        others = np.zeros_like(failing)
        for criterion in self._others:
            if not criterion.table_wide:
                if bounds:
                    np.maximum(least, criterion.unavoidable(judged), out=least)
                others |= criterion.failing(judged)
        never_shown = self._shows_nothing.always if least.any() and not self.left_out else None
        lost_classes = least >= records
        lost = self._rows(judged, lost_classes)
        if never_shown is not None:
            own = judged.class_of_group[never_shown][0]
            least[own] = max(least[own], int(self._counts[never_shown].sum()))
            lost |= never_shown
        unavoidable = self.left_out + max(int(least.sum()), self._least_together(judged, lost_classes))
        if unavoidable > self.allowed:
            return Verdict(unavoidable, unavoidable, False, lost, lost)
        found = self._suppressed(levels, judged, failing | others)
        verdict = self._concluded(levels, judged, found, unavoidable, lost)
        return replace(verdict, more=unavoidable - int(self._counts[lost].sum()))

    def indistinguishable(self, levels: Levels, rows: Bools) -> Longs:
        """(d,) for each distinct record how many of those not in ``rows`` cannot be told from it."""
        judged = self._judged(levels)
        kept = np.ones(judged.n_classes, dtype=bool)
        kept[judged.class_of_group[rows]] = False
        remaining = judged.only(kept)
        return np.append(remaining.sizes, 0)[remaining.class_of_group]

    def remaining(self, levels: Levels) -> JudgedClasses:
        """The classes that a rule keeps."""
        judged = self._judged(levels)
        return judged.only(~self._suppressed(levels, judged).classes)

    def suppressed_rows(self, levels: Levels, verdict: Verdict) -> Bools:
        """(d,) distinct records that a rule suppresses."""
        return self.small_rows(levels) if verdict.suppressed_rows is None else verdict.suppressed_rows

    def suppressed_values(self, levels: Levels, verdict: Verdict) -> list[Longs]:
        """Per attribute, how many of the suppressed records have each value."""
        return self._values(levels, verdict.suppressed_rows)

    def lost_values(self, levels: Levels, verdict: Verdict) -> list[Longs]:
        """Per attribute, how many of the records that every more specific rule suppresses have each value."""
        return self._values(levels, verdict.lost)

    def _values(self, levels: Levels, rows: Bools | None) -> list[Longs]:
        if rows is None and not self.left_out:
            return self.classes.values_below(levels, self.k)
        return self.classes.values_of(self.small_rows(levels) if rows is None else rows)

    def small_rows(self, levels: Levels) -> Bools:
        """(d,) distinct records that are left out or in small classes."""
        judged = self._judged(levels)
        return self._rows(judged, judged.sizes < self.k)

    def _judged(self, levels: Levels) -> JudgedClasses:
        """The classes of a rule but for the records that are left out."""
        rows = self._shows_nothing.at(levels)
        if not (self.overlaps or self.left_out or self._entities is not None):
            return self._classes.judged(levels, rows)
        groups = self.classes.classes(levels)
        of_group = groups.of.astype(np.int64, copy=False)
        population = None
        if self._entities is not None or self.overlaps:
            shown = shown_by_classes(self.table, levels, of_group, groups.size)
            population = None if self._entities is None else self._entities.under_rule(levels, shown)
        if self.overlaps:
            # Below the highest level only what is missing is disclosed as ⊥.
            is_wildcard = shows_nothing(shown) & (np.array(levels) < self.table.heights)
            return OverlappingClasses(self.records, of_group, groups.size, shown, is_wildcard, population)
        nothing = None if rows is None else classes_of(rows, of_group, groups.size)
        if self.left_out:
            of_group = np.where(self.rows_left_out, -1, of_group)
        judged = self.records.judged(of_group, groups.size, population, nothing)
        return judged.only(judged.records > 0) if self.left_out else judged

    @staticmethod
    def _rows(judged: JudgedClasses, classes: Bools) -> Bools:
        """(d,) the distinct records of some classes and those that are left out."""
        return np.append(classes, True)[judged.class_of_group]

    def _least_together(self, judged: JudgedClasses, lost: Bools) -> int:
        """Records that this and every more specific rule suppress at least, with the ``lost`` classes."""
        records = int(judged.records[lost].sum())
        if not self._table_wide:
            return records
        remaining = judged.only(~lost)
        return records + max(own.least_suppressed(remaining) for own in self._table_wide)

    def _suppressed(
        self, levels: Levels, judged: JudgedClasses, failing: Bools | None = None
    ) -> SuppressedClasses:
        """The classes that a rule suppresses, beside the records that are left out."""

        def ranks() -> Longs:
            shown = shown_by_classes(self.table, levels, judged.class_of_group, judged.n_classes)
            return ranks_by_disclosure(self.table.hierarchies, shown)

        return suppressed_classes(
            judged,
            self._problem.privacy,
            ranks if self._order == "class_by_class" else None,
            self.allowed - self.left_out,
            begun=self.left_out > 0,
            failing=failing,
        )

    def _concluded(
        self, levels: Levels, judged: JudgedClasses, found: SuppressedClasses, unavoidable: int, lost: Bools
    ) -> Verdict:
        """The verdict on a rule that suppresses some classes beside the records that are left out."""
        suppressed = self.left_out + int(judged.records[found.classes].sum())
        rows = self._rows(judged, found.classes)
        allowed = found.satisfied and suppressed <= self.allowed
        if allowed and suppressed and self._entities is not None and self._bars_outsiders:
            allowed = self._entities.outside(levels, rows) == 0
        if allowed and own_block(rows, self.rows_left_out, self._problem.suppressed).any():
            allowed = passes_with_block(judged, self._problem.privacy, found.classes)
        verdict = Verdict(unavoidable, suppressed, allowed, rows, lost)
        return replace(verdict, choice=self._choice(judged, found, verdict))

    def _choice(self, judged: JudgedClasses, found: SuppressedClasses, verdict: Verdict) -> Choice | None:
        """What bounds the other sets of classes; None if no other may be better, or be allowed."""
        if not self.chooses:
            return None
        necessary = self._rows(judged, found.necessary)
        if judged.overlaps and verdict.lost is not None:
            # What fails among all others might pass among fewer.
            necessary = verdict.lost
        is_least = found.satisfied and np.array_equal(self._rows(judged, found.classes), necessary)
        if is_least and (verdict.allowed or verdict.suppressed > self.allowed):
            return None
        spare = self.allowed - int(self._counts[necessary].sum())
        if not judged.overlaps and not (judged.records[~found.necessary] <= spare).any():
            # The necessary classes do not do, and no class more may be suppressed.
            return None
        choice = choice_of(judged, found.necessary, necessary, () if judged.overlaps else self._table_wide)
        return None if least_records(choice, self._counts) > self.allowed else choice
