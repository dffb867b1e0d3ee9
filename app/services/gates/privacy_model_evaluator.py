"""The share of records whose classes fail a criterion of privacy."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from app.domain.arrays import Bools
from app.domain.classes.grouping import Grouping, seconds_of_grouping
from app.domain.classes.released import Release
from app.domain.counting.counter import Counter
from app.domain.errors import NotSupported
from app.domain.gates.class_shares import (
    allowed_of,
    failing_records,
    left_out_for_missing,
    only_quasi_identifiers_help,
    records_left_out,
    share_part,
    shown_though_lacking,
    splits_by_others,
    worst_attained,
)
from app.domain.gates.explanations import of_lacking, of_share, with_failures
from app.domain.gates.findings import Finding, Part, WorstRecords, groups_of, worst_of
from app.domain.models.criterion import merging_of
from app.domain.models.sensitive_values import BY_ITSELF
from app.domain.policies.policy import Requirement
from app.domain.policies.privacy_model_condition import PrivacyModelCondition
from app.domain.rules.rule import Rule
from app.domain.search.budget import Halted, never
from app.domain.search.full_domain.estimates import OF_VALUES
from app.services.gates.context import EvaluationContext
from app.services.gates.evaluator import UNALIGNED, Evaluator, EvaluatorCost, are_quasi_identifiers

_ROWS_SHOWN = 20


class PrivacyModelEvaluator(Evaluator):
    """Judges the classes of a release as searches judge those of their rules."""

    condition: PrivacyModelCondition

    def __init__(self, criterion: Requirement, context: EvaluationContext) -> None:
        super().__init__(criterion, context)
        self.model = self.condition.typed
        if self.model.needs_population:
            context.dictionary(self.condition.dictionary)
        table, scope = context.table, criterion.scope.attributes
        self.of_quasi_identifiers = are_quasi_identifiers(table, scope) and only_quasi_identifiers_help(
            table, self.model
        )

    @property
    def is_plain(self) -> bool:
        """Whether searches ask the very same of a whole table."""
        return self.criterion.scope.groups is None and self.criterion.scope.attributes is None

    @property
    def is_monotone(self) -> bool:
        """Generalising never makes a record fail that passed, unless it merges sensitive values."""
        persons = self.context.table.persons is not None
        is_plain = merging_of(self.model, persons=persons) == "fewer_fail" and not self.model.table_wide
        overlaps = self.condition.missing == "matches_everything"
        return is_plain and not overlaps and not self.context.table.sensitive

    @cached_property
    def cost(self) -> EvaluatorCost:
        """Of grouping, and of counting the people of every class."""
        table = self.context.table
        if self.context.alone is not None and self.model.needs_population:
            raise NotSupported(*UNALIGNED)
        seconds = seconds_of_grouping(table, self._grouping)
        if self.condition.missing == "matches_everything" and self.model.is_of_values:
            seconds *= OF_VALUES
        size = table.n_records * (4 * table.n_attributes + 80)
        counter = self._counter
        if counter is None:
            return EvaluatorCost(seconds, size, "classes")
        counting = counter.choose(table.reduced.size, 1)
        return EvaluatorCost(seconds + counting.seconds, size + counting.bytes, counting.engine)

    def find(self, rule: Rule | None, halted: Halted = never) -> Finding:
        """The share that fails, of everybody or of every group."""
        release = self._release(rule)
        counter = self._counter if rule is not None else None
        failing = failing_records(release, self.model, self._grouping, counter, absent=self.context.absent)
        parts = tuple(self._parts(release, failing))
        worst = worst_of(parts)
        of = release.table.n_records if worst.group is None else worst.group.records
        rows = np.flatnonzero(failing)
        finding = Finding(
            "at_most",
            self.condition.failing_share,
            parts,
            "exact",
            of_share(
                self.model,
                round(float(worst.value) * of),
                of,
                allowed_of(of, self.condition.failing_share),
                worst,
                None
                if worst.passes or worst.group
                else worst_attained(release, self.model, failing, self._grouping, counter),
            ),
            WorstRecords(tuple((rows[:_ROWS_SHOWN] + 1).tolist()), len(rows)) if len(rows) else None,
        )
        said = with_failures(finding)
        if not worst.passes and splits_by_others(release.table, self.model):
            said = f"{said} {BY_ITSELF}"
        if self.condition.missing == "excluded":
            said = f"{said} {self._of_lacking(release)}".rstrip()
        return replace(finding, explanation=said, of_records=of)

    def _of_lacking(self, release: Release) -> str:
        """Of the records with a missing quasi-identifier, where that is reason to suppress them."""
        lacking = left_out_for_missing(release.table, self._grouping)
        unseen = lacking & records_left_out(release, self._grouping)
        if self.context.absent is not None:
            unseen &= ~self.context.absent
        shown = shown_though_lacking(release, self._grouping)
        return of_lacking(int(unseen.sum()), int(shown.sum()))

    def _release(self, rule: Rule | None) -> Release:
        if rule is not None:
            return self.context.release(rule)
        if (
            self.context.alone is None
            or self.model.needs_population
            or self.criterion.scope.groups is not None
            # Nobody knows which of its cells are missing in the original and which are suppressed.
            or self.condition.missing != "own_category"
        ):
            raise NotSupported(*UNALIGNED)
        # Rows that are suppressed are in no class, as in a file that is aligned.
        return self.context.alone.by_itself

    def _parts(self, release: Release, failing: Bools) -> list[Part]:
        share, groups = self.condition.failing_share, self.criterion.scope.groups
        if groups is None:
            return [share_part(int(failing.sum()), release.table.n_records, share)]
        return [
            share_part(int(failing[members].sum()), group.records, share, group)
            for group, members in groups_of(release.table, groups)
        ]

    @property
    def _grouping(self) -> Grouping:
        return Grouping(
            quasi_identifiers=self.criterion.scope.attributes,
            missing=self.condition.missing,
            suppressed=self.condition.suppressed,
        )

    @cached_property
    def _counter(self) -> Counter | None:
        if not self.model.needs_population:
            return None
        dictionary = self.context.dictionary(self.condition.dictionary)
        return None if dictionary is None else self.context.counter(dictionary)
