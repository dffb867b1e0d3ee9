"""What results say of how well the shares of sensitive values in groups can be reconstructed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
from annotated_types import doc

from app.domain.arrays import Bools
from app.domain.catalogue.catalogue_types import CellValue
from app.domain.catalogue.meanings import FAILING, FROM_ZERO, HIGH, LOW, LOW_AMOUNT, MET, SHARE
from app.domain.classes.reconstruction import Bound
from app.domain.classes.reconstruction_groups import TESTS, GroupsUnderTest, ReconstructionQuestion, Test
from app.domain.models.judged import ClassRef, class_ref
from app.domain.models.reconstruction_modes import ModeFound, by_mode
from app.domain.models.sensitive_values import SensitiveValues
from app.domain.tables.numbers import lowest_accepted

_DIVISIONS: Final = np.outer(10 ** np.arange(12, dtype=np.int64), (1, 2, 5)).ravel()
"""Of sizes of groups: 1, 2, 5, 10, 20 and so on, beyond the records of any table."""


@dataclass(frozen=True)
class EstimateFound:
    """How exactly the share of one value in one group could be estimated after plain perturbation."""

    value: Annotated[CellValue, doc("The value.")]
    with_value: Annotated[int, doc("Records of the group that have it.")]
    in_group: Annotated[float, SHARE, doc("f: its share of the group, which the estimate is of.")]
    in_table: Annotated[float, SHARE, doc("Its share of the whole table.")]
    lift: Annotated[float, FROM_ZERO, doc("How many times as frequent it is in the group as in the table.")]
    bound_simple: Annotated[
        float, SHARE, doc("The bound that `chernoff_simple` compares with δ: no probability of an error.")
    ]
    bound_full: Annotated[
        float, SHARE, doc("The tighter bound that `chernoff_full` compares with δ: no probability either.")
    ]
    most_records_simple: Annotated[
        float, FROM_ZERO, doc("The largest group with these shares that passes `chernoff_simple`, unrounded.")
    ]
    most_records_full: Annotated[
        float, FROM_ZERO, doc("The largest group with these shares that passes `chernoff_full`, unrounded.")
    ]
    too_low: Annotated[
        float, SHARE, doc("The probability that the estimate is too low by more than ε of the share.")
    ]
    too_high: Annotated[float, SHARE, doc("The probability that it is too high by more than ε of the share.")]
    too_high_clipped: Annotated[
        float,
        SHARE,
        doc("The same for a reader who takes no estimate above 1 as it is: 0 where f·(1 + ε) is at least 1."),
    ]
    confidence: Annotated[
        float, SHARE, doc("The probability that the estimate is within ε of the share: the rest of both.")
    ]


@dataclass(frozen=True)
class GroupFound:
    """One group and the value of it that decides by the criterion asked for."""

    exposed: Annotated[ClassRef, doc("The group.")]
    delta: Annotated[float, SHARE, doc("The greatest δ with which it passes the criterion.")]
    decided_by: Annotated[EstimateFound, doc("The value that decides, the first of equals.")]
    told_without: Annotated[
        tuple[str, ...],
        doc(
            "Quasi-identifiers that can each be left out and leave the same records: an estimate over those "
            "who agree in the others is one of this very group."
        ),
    ]
    by_mode: Annotated[
        tuple[ModeFound, ...],
        doc(
            "What plain perturbation and each mode of `sample_perturb_scale` would leave to be estimated of "
            "the value that decides; empty where it was not asked for."
        ),
    ]


@dataclass(frozen=True)
class CriterionFound:
    """What one of the criteria says of all groups."""

    criterion: Annotated[Test, doc("The criterion.")]
    is_met: Annotated[bool, MET, doc("Whether every group passes; exactly at δ it does.")]
    groups_failing: Annotated[int, FAILING, doc("Groups that do not.")]
    records_failing: Annotated[int, FAILING, doc("Records in these groups.")]
    delta: Annotated[
        float | None, SHARE, HIGH, doc("The greatest δ with which all groups pass; null without groups.")
    ]


@dataclass(frozen=True)
class Coinciding:
    """Groups that are reached without one of the quasi-identifiers: aggregates that are one group."""

    groups: Annotated[int, doc("Groups.")]
    records: Annotated[int, doc("Records in them.")]
    groups_failing: Annotated[int, LOW_AMOUNT, doc("Those of them that fail by the criterion asked for.")]


@dataclass(frozen=True)
class SizesFound:
    """Groups of about one size, and how they do by the criterion asked for."""

    least: Annotated[int, doc("The fewest records of a group counted here.")]
    most: Annotated[int, doc("The most: sizes are divided at 1, 2, 5, 10, 20, 50 and so on.")]
    groups: Annotated[int, doc("Groups of these sizes, by their records with a value.")]
    records: Annotated[int, doc("Records in them.")]
    groups_failing: Annotated[int, FAILING, doc("Those of the groups that do not pass.")]
    records_failing: Annotated[int, FAILING, doc("Records in these groups.")]
    delta: Annotated[float, SHARE, HIGH, doc("The greatest δ with which all groups of these sizes pass.")]
    confidence: Annotated[
        float,
        SHARE,
        LOW,
        doc(
            "The probability, exact, that the estimate of a value is within ε of its share: of the value and "
            "group of these sizes that are told best."
        ),
    ]


class GroupsListed:
    """Groups of sensitive values under test, and which are the worst."""

    def __init__(
        self, values: SensitiveValues, question: ReconstructionQuestion, told_without: Bools
    ) -> None:
        self._values, self._question, self._told_without = values, question, told_without
        self.tested = GroupsUnderTest(values.counts, question)

    def by_criterion(self) -> tuple[CriterionFound, ...]:
        """What each criterion says."""
        judged, found = self._values.judged, []
        for test in TESTS:
            failing = self.tested.failing(test)
            levels = self.tested.log_levels(test)[judged]
            found.append(
                CriterionFound(
                    criterion=test,
                    is_met=not failing.any(),
                    groups_failing=int(np.count_nonzero(failing)),
                    records_failing=self._values.records_of(failing),
                    delta=min(1.0, math.exp(levels.min())) if len(levels) else None,
                )
            )
        return tuple(found)

    def by_size(self, test: Test) -> tuple[SizesFound, ...]:
        """What a criterion says of the groups by their sizes, the smallest first."""
        groups, sizes = np.flatnonzero(self._values.judged), self._values.counts.sizes
        bands = np.searchsorted(_DIVISIONS, sizes[groups], side="right") - 1
        failing, levels = self.tested.failing(test), self.tested.log_levels(test)
        off, found = self.tested.log_levels("exact_total"), []
        for band in np.unique(bands).tolist():
            members = np.zeros(len(sizes), dtype=bool)
            members[groups[bands == band]] = True
            found.append(
                SizesFound(
                    least=int(_DIVISIONS[band]),
                    most=int(_DIVISIONS[band + 1]) - 1,
                    groups=int(np.count_nonzero(members)),
                    records=self._values.records_of(members),
                    groups_failing=int(np.count_nonzero(members & failing)),
                    records_failing=self._values.records_of(members & failing),
                    delta=min(1.0, math.exp(levels[members].min())),
                    confidence=max(0.0, 1.0 - math.exp(off[members].min())),
                )
            )
        return tuple(found)

    def coinciding(self, failing: Bools) -> Coinciding:
        """Groups that one attribute fewer tells as well."""
        told = self._told_without.any(axis=1) & self._values.judged
        return Coinciding(
            groups=int(np.count_nonzero(told)),
            records=self._values.records_of(told),
            groups_failing=int(np.count_nonzero(told & failing)),
        )

    def worst(self, test: Test, top: int) -> tuple[int, ...]:
        """The groups with the least δ by a criterion, the first of equals first."""
        groups = np.flatnonzero(self._values.judged)
        order = np.argsort(self.tested.log_levels(test)[groups], kind="stable")[:top]
        return tuple(groups[order].tolist())

    def group(
        self,
        test: Test,
        group: int,
        names: tuple[str, ...],
        sizing: tuple[ReconstructionQuestion, Bound] | None,
    ) -> GroupFound:
        """One group; ``names`` are those of the attributes that records are grouped by.

        ``sizing`` is what samples would have to keep, and by which bound; None: of no mode anything is told.
        """
        entry = self.tested.deciding(test, group)
        told = [name for name, own in zip(names, self._told_without[group], strict=True) if own]
        return GroupFound(
            exposed=class_ref(self._values.classes, group),
            delta=min(1.0, math.exp(self.tested.log_levels(test)[group])),
            decided_by=self.estimate(entry),
            told_without=tuple(told),
            by_mode=() if sizing is None else by_mode(self._values.counts, entry, self._question, *sizing),
        )

    def estimates_of(self, group: int, top: int) -> tuple[EstimateFound, ...]:
        """The values of a group, the most frequent first."""
        counts = self._values.counts
        first, last = counts.starts[group : group + 2].tolist()
        order = np.argsort(-counts.counts[first:last], kind="stable")[:top]
        return tuple(self.estimate(first + int(entry)) for entry in order)

    def estimate(self, entry: int) -> EstimateFound:
        """One entry of the counts."""
        counts, own = self._values.counts, self._question
        amount = counts.counts[entry : entry + 1]
        size = counts.sizes[counts.of_entry[entry : entry + 1]]
        value = int(counts.values[entry])
        found, tails = self.tested.estimates(amount, size), self.tested.tails
        low, high = float(tails.low[entry]), float(tails.high[entry])
        in_group = int(amount[0]) / int(size[0])
        in_table = int(counts.totals[value]) / int(counts.totals.sum())
        is_clipped = in_group * (1 + own.epsilon) >= lowest_accepted(1.0)
        return EstimateFound(
            value=self._values.label(value),
            with_value=int(amount[0]),
            in_group=in_group,
            in_table=in_table,
            lift=in_group / in_table,
            bound_simple=math.exp(found.log_low("chernoff_simple")[0]),
            bound_full=math.exp(found.log_low("chernoff_full")[0]),
            most_records_simple=float(found.greatest_sizes("chernoff_simple", own.delta)[0]) / own.releases,
            most_records_full=float(found.greatest_sizes("chernoff_full", own.delta)[0]) / own.releases,
            too_low=min(1.0, low),
            too_high=min(1.0, high),
            too_high_clipped=0.0 if is_clipped else min(1.0, high),
            confidence=min(1.0, max(0.0, 1.0 - low - high)),
        )
