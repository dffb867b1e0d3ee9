"""All minimal full-domain generalisations that meet a criterion, by the searches of least loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from app.domain.arrays import Floats, Indices, Levels, Longs
from app.domain.classes.quasi_part import group_of_row
from app.domain.losses.catalogue import loss_of
from app.domain.losses.loss import LossChoice, LossKind, SummedLoss
from app.domain.models.criterion import Criterion
from app.domain.models.k_anonymity import KAnonymity
from app.domain.search.budget import UNLIMITED
from app.domain.search.full_domain.checks import Progress
from app.domain.search.full_domain.minimal_rules import minimal_rules
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.search.full_domain.verdicts import Judge
from app.domain.tables.table import Table

KINDS: Final[tuple[LossKind, ...]] = ("height", "average_class_size", "discernibility", "kl_divergence")


@dataclass(frozen=True, eq=False)
class MinimalTables:
    """The minimal rules of a table, none if no rule meets the criterion, and how many rules were checked."""

    judge: Judge
    rules: tuple[Levels, ...]
    checked: int

    @classmethod
    def of(cls, table: Table, criterion: Criterion) -> MinimalTables:
        """Nothing is suppressed."""
        judge = Judge(table, AnonymityProblem((criterion,)))
        progress = Progress(judge, UNLIMITED, lambda _: None)
        return cls(judge, minimal_rules(progress) or (), progress.counted)


@dataclass(frozen=True, eq=False)
class _Classes:
    """What losses look at of the classes of a rule."""

    sizes: Longs
    of_row: Indices


class Losses:
    """Losses of a table's minimal rules; what a rule loses is computed once."""

    def __init__(self, table: Table, kinds: Sequence[LossKind] = KINDS) -> None:
        self.table = table
        self._losses = [loss_of(table, LossChoice(kind)) for kind in kinds]
        self._known: dict[Levels, Floats] = {}

    @cached_property
    def base(self) -> Floats:
        """(kinds,) what is lost if all quasi-identifiers are suppressed."""
        judge = Judge(self.table, AnonymityProblem((KAnonymity(1),)))
        return self._of(judge, judge.table.heights)

    def of(self, found: MinimalTables) -> Floats:
        """(rules, kinds) the losses of the minimal rules."""
        return np.array([self._of(found.judge, rule) for rule in found.rules])

    def least(self, criterion: Criterion) -> Floats:
        """(kinds,) the least of each loss under a criterion: a minimal rule has it; ∞ where there is none."""
        found = MinimalTables.of(self.table, criterion)
        return self.of(found).min(axis=0) if found.rules else np.full(len(self._losses), np.inf)

    def _of(self, judge: Judge, rule: Levels) -> Floats:
        if rule not in self._known:
            judged = judge.remaining(rule)
            of_row = judged.class_of_group[group_of_row(self.table, judge.table)]
            classes = _Classes(judged.sizes, of_row)
            self._known[rule] = np.array(
                [
                    loss.of(rule) if isinstance(loss, SummedLoss) else loss.of(rule, classes)
                    for loss in self._losses
                ]
            )
        return self._known[rule]
