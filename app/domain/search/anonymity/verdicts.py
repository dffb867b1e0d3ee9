"""What the criteria say of one rule, and hence of the rules that disclose more.

A criterion of the kind ``fewer_fail`` has the same records fail at every more specific rule, and the records
of a class that fails another one cannot all be kept there (``Criterion.unavoidable``). Records that fail at
every more specific rule are the rule's *lost* ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from app.domain.classes.grouping import Bools, EquivalenceClasses
from app.domain.classes.population import entities_of_classes, require_tuples
from app.domain.classes.quasi_part import group_of_row, quasi_part, rule_for
from app.domain.counting.counter import Counter
from app.domain.criteria.anonymity import KAnonymity
from app.domain.criteria.criterion import Criterion
from app.domain.criteria.judging import JudgedClasses, JudgedRecords, Population, failing_any, withheld
from app.domain.criteria.population import DeltaPresence
from app.domain.dictionaries import Dictionary
from app.domain.distinct import Longs
from app.domain.errors import pointing_into
from app.domain.hierarchies import TOP
from app.domain.search.anonymity.class_sizes import ClassSizes, Levels
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
        self._monotone, self._others = self._sorted(problem.privacy)
        self.k = max((own.k for own in self._monotone if isinstance(own, KAnonymity)), default=1)
        self._table_wide = [own for own in self._others if own.table_wide]
        self.is_plain = not self._others and all(isinstance(own, KAnonymity) for own in self._monotone)
        self.is_plain &= problem.suppressed == "excluded"

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
        whole = self._whole
        found = []
        for criterion in () if self._nobody_left else self._problem.privacy:
            own = int(criterion.unavoidable(whole).sum())
            least = self.left_out + own
            if own and least > self.allowed:
                reason = criterion.impossible(whole) or "The criterion cannot be met."
                found.append(Refusal(criterion, f"{reason} {self._of_the_limit(least)}"))
        if not found and self.left_out > self.allowed:
            reason = f"{self.left_out} records have a missing quasi-identifier and would be suppressed."
            found.append(Refusal(None, f"{reason} {self._of_the_limit(self.left_out)}"))
        return tuple(found)

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
        if not self.left_out:
            return self.records.judged(of_group, groups.size, population)
        judged = self.records.judged(np.where(self.rows_left_out, -1, of_group), groups.size, population)
        return judged.only(judged.sizes > 0)

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
        found = self.records.judged(of_group, int(of_group.max()) + 1, self._population_of(levels, of_group))
        found = found.only(found.sizes > 0)
        return all(criterion.satisfied(found) for criterion in self._problem.privacy)

    def _population_of(self, levels: Levels, of_group: Longs) -> Population | None:
        """The population with one block of everybody that is withheld: nothing is known of its members."""
        if self._entities is None:
            return None
        entities = self._entities.of(levels, of_group, int(of_group.max()) + 1).entities
        entities[0] = self._entities.total
        # Who is disclosed like a withheld record was is not outside the table.
        groups = self.classes.classes(levels)
        outside = self._entities.of(levels, groups.of.astype(np.int64, copy=False), groups.size).outside
        return Population(entities, outside)

    def _shown_as_nothing(self, levels: Levels) -> Bools:
        """(d,) distinct records all of whose quasi-identifiers the levels disclose as ⊥."""
        found: Bools = np.ones(self.table.reduced.size, dtype=bool)
        for column, hierarchy, level in zip(
            self.table.reduced.codes.T, self.table.hierarchies, levels, strict=True
        ):
            found &= (hierarchy.ancestors_at(level) == TOP)[column]
        return found


class _Entities:
    """Counts the entities of a dictionary that are disclosed like the classes of rules."""

    def __init__(self, table: Table, quasi: Table, dictionary: Dictionary) -> None:
        self._table = table
        self._quasi = quasi
        self._counter = Counter(table, dictionary)
        self.total = dictionary.n_entities

    def of(self, levels: Levels, of_group: Longs, n_classes: int) -> Population:
        """The population of the classes that groups make at levels."""
        one = np.zeros(n_classes, dtype=np.intp)
        one[of_group] = np.arange(len(of_group))
        codes = self._quasi.reduced.codes[one]
        shown = np.stack(
            [
                hierarchy.ancestors_at(level)[column]
                for hierarchy, level, column in zip(self._quasi.hierarchies, levels, codes.T, strict=True)
            ],
            axis=1,
        )
        none = np.zeros(n_classes, dtype=np.int64)
        classes = EquivalenceClasses(
            self._table.quasi_identifiers, shown, none, none, np.empty(0, dtype=np.int32), 0, 0
        )
        entities = entities_of_classes(self._counter, classes, rule_for(self._table, levels).levels)
        return Population(entities, max(0, self.total - int(entities.sum())))
