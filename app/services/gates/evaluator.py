"""An evaluator answers for one criterion what it finds of any rule; an error instead is never a pass."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from app.domain.errors import Fault, InvalidInput, NotSupported
from app.domain.gates.findings import Finding
from app.domain.policies.comparison import number
from app.domain.policies.condition import Condition
from app.domain.policies.policy import Requirement
from app.domain.rules.rule import Rule
from app.domain.search.answers import Answers
from app.domain.search.budget import Halted, never
from app.domain.tables.table import Table
from app.services.gates.context import EvaluationContext

UNALIGNED = (
    "The release file could not be aligned with the records of the dataset, so that only what needs nothing "
    "but its own classes can be computed.",
    "Name a key column that both have, give the rule that made the file, or, if the file keeps the order of "
    'the dataset\'s records, say so by "order": "records".',
)

OF_RECORDS = (
    "It is computed of the rows that records are released as, and nobody can tell whose a row is that a "
    "mechanism made.",
    "Require the guarantee, or a measure of which the catalogue tells in reads: classes, matrix or rows.",
)

AS_IT_IS = (
    "A synthetic table is judged as the dataset is: what a rule makes of it is another table.",
    "Give the rule of the kind identity, or a stored release that a mechanism drew of its original.",
)

OF_THIS_DRAW = (
    "The policy requires no guarantee of the mechanism, and what is found of the rows is of this draw: who "
    "draws until one passes has chosen a lucky table by looking at the data.",
    "Require a guarantee that blocks as well, or let this only warn.",
)

OF_NOBODY = (
    "Persons have several rows, and nobody knows whose the rows of the file are.",
    "Name a key column that both have, or judge the rule or stored release that made the file.",
)


@dataclass(frozen=True)
class EvaluatorCost:
    """Estimated seconds and bytes of one answer, and what would compute it."""

    seconds: float
    bytes: int
    engine: str


class Evaluator(ABC):
    """Answers for one criterion.

    ``of_quasi_identifiers`` says that a table-level rule that fails does not pass by generalising others.
    """

    of_draws: ClassVar[bool] = False
    """Whether it can be computed of a release that a mechanism made, of which nobody knows whose a row is."""
    of_quasi_identifiers: bool = False
    answers: Answers | None = None
    """What a long search for the value has found out, for another attempt; None: the value is had at once."""

    condition: Condition

    def __init__(self, criterion: Requirement, context: EvaluationContext) -> None:
        self.criterion = criterion
        self.condition = criterion.condition
        self.context = context

    @classmethod
    async def prepared(cls, criterion: Requirement, context: EvaluationContext) -> Evaluator:
        """The evaluator with all that has to be loaded or planned for it."""
        return cls(criterion, context)

    @property
    @abstractmethod
    def cost(self) -> EvaluatorCost:
        """The estimate; raises InvalidInput or NotSupported where nothing can be computed."""

    @abstractmethod
    def find(self, rule: Rule | None, halted: Halted = never) -> Finding:
        """What is found of a rule; None: of the release file that could not be aligned with the dataset.

        Raises InvalidInput or NotSupported where the value cannot be had.
        """

    @property
    def is_monotone(self) -> bool:
        """Whether a rule that passes still does when any of its cells are generalised further."""
        return False

    @property
    def complete(self) -> bool:
        """False if what was found depends on when the work was halted."""
        return True


class Broken(Evaluator):
    """A criterion that cannot be computed, whatever the rule."""

    def __init__(
        self, criterion: Requirement, context: EvaluationContext, error: InvalidInput | NotSupported
    ) -> None:
        super().__init__(criterion, context)
        self.error = error

    @property
    def cost(self) -> EvaluatorCost:
        """Raises the reason."""
        raise self.error

    def find(self, rule: Rule | None, halted: Halted = never) -> Finding:
        """Raises the reason."""
        raise self.error


def required(rule: Rule | None) -> Rule:
    """The rule; NotSupported without one."""
    if rule is None:
        raise NotSupported(*UNALIGNED)
    return rule


def by_fewest_persons(finding: Finding) -> Finding:
    """What is found of the fewest persons that the classes of a file can have; NotSupported if that fails."""
    bound, value = "a lower bound", finding.worst.value
    if finding.comparison in ("at_least", "above"):
        bound += f", at least {number(value)} {'person' if value == 1 else 'persons'}"
    if not finding.passes:
        raise NotSupported(f"{OF_NOBODY[0]} By {bound}, it is not shown to pass.", OF_NOBODY[1])
    said = f"Nobody knows whose the rows are, and their order is assumed not to tell: persons by {bound}."
    return replace(finding, guarantee="bound", explanation=f"{finding.explanation} {said}")


def are_quasi_identifiers(table: Table, names: Sequence[str] | None) -> bool:
    """Whether all of these attributes (None: what records are usually grouped by) are quasi-identifiers."""
    known = {table.attributes[j] for j in table.quasi_identifiers}
    return known.issuperset(names or ())


def fault_of(error: InvalidInput | NotSupported) -> Fault:
    """The error as the one fault that is shown of it."""
    if isinstance(error, InvalidInput):
        return error.faults[0]
    return Fault("", error.code, error.message, error.remedy)
