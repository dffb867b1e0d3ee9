"""What a privacy criterion is: which classes of a release fail it, and what that says of other rules.

A criterion's file holds frozen dataclasses derived from :class:`Criterion`. Their fields have bounds and
descriptions as the parameters of measures do (``Annotated[int, Ge(1), doc("…")]``); requests, rules and
the catalogue's page are derived from them. Errors about a field point at ``/<field>``; who asks puts its own
place before it.

What is known of a criterion when classes are put together decides how much a search may conclude:

``fewer_fail``
    Generalising never makes a record fail that passed: k-anonymity, k-map, distinct ℓ of one attribute. Who
    fails at a rule fails at every more specific one.
``passes_stay``
    Classes that pass pass together: entropy and recursive ℓ, t-closeness, β-likeness, δ-disclosure. A class
    that fails cannot be split into classes that all pass; how many of its records fail is not said.
``none``
    Neither.

Where a column names the person of each record, classes count persons (Definitions: several records per
person). :attr:`Criterion.by_persons` says what becomes of a criterion then, and :func:`of_units` what
searches may know then: of sensitive values nothing, since two classes that pass can make one that fails.

With other sensitive attributes in the classes even distinct ℓ is only ``passes_stay``: a block of
one class may join a class that had no such block. Such a criterion implies that of one attribute apart, which
is ``fewer_fail``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Annotated, ClassVar, Final, Literal

import numpy as np
from annotated_types import Ge, Le, doc

from app.documents import refuse_out_of_bounds
from app.domain.arrays import Bools, Floats, Longs
from app.domain.classes.gains import LikenessBound
from app.domain.classes.persons import ONE_ROW
from app.domain.errors import NotSupported
from app.domain.models.judging import NEWEST_READING, JudgedClasses, Others

Merging = Literal["fewer_fail", "passes_stay", "none"]

COUNTS_PERSONS: Final = "counts persons"
BY_ROWS: Final = "as by rows"
NEEDS_ONE_ROW: Final = "refused: it is defined for one record of each person"
"""What becomes of a measure or criterion where a person may have several records; other reasons to refuse
begin with ``refused: `` as well."""


@dataclass(frozen=True)
class GainBound:
    """The greatest relative gain on each value of a sensitive attribute (None: the only one)."""

    beta: Fraction
    kind: LikenessBound
    attribute: str | None


@dataclass(frozen=True)
class Criterion(ABC):
    """A condition on the classes of a release.

    Attributes
    ----------
    kind
        The field's term in snake_case.
    title, source
        A heading, and where the definition is from.
    merging
        What is known when classes are put together; see the module's docstring.
    table_wide
        The criterion is about all remaining classes together, and no single class fails it.
    adds_up
        It is table-wide and a quotient of sums over classes, which :meth:`surpluses` tells.
    needs_population
        It looks at :meth:`JudgedClasses.population`.
    needs_beliefs
        It looks at :meth:`JudgedClasses.beliefs`, for which the population has to say sensitive values.
    passes_by_fewer_values
        Whether who fails may pass once the values of the sensitive attribute are generalised.
    needs_tuples
        It compares tuples of the population: whoever is shown is shown on the same levels, and each person
        has one tuple there.
    needs_partition
        It has no meaning for classes that overlap.
    guarantee
        ``heuristic`` for what rests on an estimate without a bound of its error.
    by_persons
        What becomes of it where a person may have several records: it counts persons, or why it is refused.
    merging_by_persons
        ``merging`` there; ``None`` where searches refuse it.
    """

    kind: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    merging: ClassVar[Merging]
    table_wide: ClassVar[bool] = False
    adds_up: ClassVar[bool] = False
    needs_population: ClassVar[bool] = False
    needs_beliefs: ClassVar[bool] = False
    passes_by_fewer_values: ClassVar[bool] = True
    needs_tuples: ClassVar[bool] = False
    needs_partition: ClassVar[bool] = False
    guarantee: ClassVar[Literal["exact", "heuristic"]] = "exact"
    by_persons: ClassVar[str] = NEEDS_ONE_ROW
    merging_by_persons: ClassVar[Merging | None] = None

    def __post_init__(self) -> None:
        refuse_out_of_bounds(self)

    @property
    def is_of_values(self) -> bool:
        """Whether it looks at the values of a sensitive attribute, not at who is in a class alone."""
        return any(own.name == "attribute" for own in fields(self))

    @property
    def tells_apart(self) -> bool:
        """Whether it bounds how well records can be told apart, whatever their sensitive values are."""
        return not self.is_of_values

    @property
    def of_values_alone(self) -> Criterion:
        """What it asks of the values of a sensitive attribute, in classes of any size."""
        return self

    @property
    def asks_nothing(self) -> bool:
        """Whether its numbers alone say that every release meets it.

        One record or value is in every class, and no risk or share is above 1. A criterion that bounds more
        than one number says so itself.
        """
        return any(getattr(self, name, None) == 1 for name in ("k", "l", "threshold"))

    @property
    def least_class_size(self) -> int | None:
        """k, if all that it requires of an equivalence class is k records, as k-anonymity does."""
        return None

    @property
    def gain_bound(self) -> GainBound | None:
        """The gain that it allows, if that is all that it requires of a class."""
        return None

    @property
    def enough_records(self) -> int | None:
        """From how many records on a class passes whatever the population; None if no number is enough."""
        return None

    @property
    def grows_by_size(self) -> bool:
        """Whether all its :meth:`surpluses` are the greater the fewer records a class has."""
        return not self.needs_population

    @property
    def bars_outsiders(self) -> bool:
        """Whether it fails as soon as somebody of the population is known to be in no class."""
        return False

    @abstractmethod
    def failing(self, judged: JudgedClasses) -> Bools:
        """(G,) which classes fail; none if the criterion is table-wide."""

    @abstractmethod
    def attained(self, judged: JudgedClasses) -> float | None:
        """What the classes attain of what the criterion bounds, in its unit; None without classes.

        For k-anonymity the size of the smallest class, for t-closeness the greatest distance.
        """

    @property
    def failing_in_words(self) -> str | None:
        """What is wrong with records whose classes fail, to follow their number; None: just that."""
        return None

    def worst_in_words(self, worst: float) -> str | None:
        """What the worst of these records are up against, given what their class attains; None: not said."""
        return None

    def satisfied(self, judged: JudgedClasses) -> bool:
        """Whether the classes meet the criterion together; table-wide criteria say how."""
        return not self.failing(judged).any()

    def failing_alone(self, alone: JudgedClasses) -> Bools:
        """(G,) which records fail if each is alone in its class; if none does, it protects nobody."""
        if self.table_wide:
            return np.full(len(alone.records), not self.satisfied(alone))
        return self.failing(alone)

    def unavoidable(self, judged: JudgedClasses) -> Longs:
        """(G,) of the records of each class, how many fail at least in whatever classes it is split into.

        0 for classes that pass. Sharper proven bounds make searches faster.
        """
        if self.merging == "none" or self.table_wide:
            return np.zeros(len(judged.records), dtype=np.int64)
        failing = self.failing(judged)
        # Of classes that pass together at least one part must fail, and it has a record.
        return np.where(failing, judged.records if self.merging == "fewer_fail" else 1, 0)

    def surpluses(self, judged: JudgedClasses) -> tuple[Floats, ...]:
        """(G,) each: numbers of the classes whose sums over those that are kept may not be above 0.

        A criterion that ``adds_up`` is met exactly if none of these sums is above 0; others have none. All
        of a class's numbers are above 0, or none is.
        """
        return ()

    def least_suppressed(self, judged: JudgedClasses) -> int:
        """Records that this rule and every more specific one suppress at least, if these are all classes.

        Of a table-wide criterion; 0 where nothing is known.
        """
        return 0

    def implied(self, whole: JudgedClasses) -> tuple[Criterion, ...]:
        """Criteria with ``fewer_fail`` that every class meets which meets this one.

        ``whole`` is the table as one class.
        """
        return ()

    def implied_by_persons(self, whole: JudgedClasses) -> tuple[Criterion, ...]:
        """The same where persons are counted, who may have several values."""
        return ()

    @abstractmethod
    def impossible(self, whole: JudgedClasses) -> str | None:
        """If not even the table as one class meets the criterion, why and by how much, as one sentence.

        Of a table-wide criterion: if no classes of any of its records do, but for none at all. Values of
        cells are not named in it.
        """

    def alternative(self, whole: JudgedClasses) -> str:
        """A sentence on what the table as one class would meet instead; empty if nothing is known."""
        return ""


@dataclass(frozen=True)
class ValueCriterion(Criterion):
    """A criterion of how the values of a sensitive attribute are distributed in classes."""

    version: Annotated[
        int,
        Ge(1),
        Le(NEWEST_READING),
        doc(
            "What is one value: 1 each spelling, missing too; 2 what a person reads as one (case, blanks, "
            "invisible signs, look-alike letters, 1000 and 1000.0). Stored without it: 1."
        ),
    ] = field(default=NEWEST_READING, kw_only=True)


def version_of(criteria: Sequence[Criterion]) -> int:
    """The version by which criteria are judged together; NotSupported where they have several."""
    found = {own.version for own in criteria if isinstance(own, ValueCriterion)}
    if len(found) > 1:
        raise NotSupported("Criteria of two versions are not judged together.", "Give all the same version.")
    return min(found, default=1)


@dataclass(frozen=True)
class _ByPersons(Criterion):
    """A criterion of classes that count persons: as it is, but for what it says of other classes.

    All bounds of numbers of records that it knows rest on one record of each person.
    """

    criterion: Criterion

    def __post_init__(self) -> None:
        object.__setattr__(self, "merging", self.criterion.merging_by_persons)
        for name in (
            "kind",
            "title",
            "source",
            "table_wide",
            "adds_up",
            "passes_by_fewer_values",
            "guarantee",
        ):
            object.__setattr__(self, name, getattr(self.criterion, name))

    @property
    def is_of_values(self) -> bool:
        return self.criterion.is_of_values

    @property
    def grows_by_size(self) -> bool:
        return False

    def failing(self, judged: JudgedClasses) -> Bools:
        return self.criterion.failing(judged)

    def attained(self, judged: JudgedClasses) -> float | None:
        return self.criterion.attained(judged)

    def satisfied(self, judged: JudgedClasses) -> bool:
        return self.criterion.satisfied(judged)

    def surpluses(self, judged: JudgedClasses) -> tuple[Floats, ...]:
        return self.criterion.surpluses(judged)

    def implied(self, whole: JudgedClasses) -> tuple[Criterion, ...]:
        return self.criterion.implied_by_persons(whole)

    def impossible(self, whole: JudgedClasses) -> str | None:
        return None


def merging_of(criterion: Criterion, *, persons: bool) -> Merging:
    """What is known of the criterion when classes are put together that count records, or ``persons``."""
    return (criterion.merging_by_persons or "none") if persons else criterion.merging


def of_units(criteria: Sequence[Criterion], *, persons: bool) -> tuple[Criterion, ...]:
    """The criteria as searches ask them of classes that count records, or ``persons``.

    NotSupported for one of which searches know nothing there.
    """
    if not persons:
        return tuple(criteria)
    for criterion in criteria:
        require_persons(criterion.kind, criterion.by_persons)
        if criterion.merging_by_persons is None:
            raise NotSupported(
                f"Searches do not take {criterion.kind} where a person may have several records: it is "
                "measured and required by gates only.",
                f"Leave it out, or search a table with {ONE_ROW}.",
            )
    return tuple(
        own if own.merging_by_persons == own.merging == "fewer_fail" else _ByPersons(own) for own in criteria
    )


def require_persons(name: str, by_persons: str) -> None:
    """Refuse a measure or criterion that has no meaning where a person may have several records."""
    refused, _, reason = by_persons.partition(": ")
    if refused == "refused":
        raise NotSupported(
            f"{name} is not available for a dataset with a person column: {reason}.",
            f"Ask for it of a table with {ONE_ROW}.",
        )


def failing_classes(judged: JudgedClasses, attribute: str | None, others: Others, failing: Bools) -> Bools:
    """(G,) which classes have a failing block; ``failing`` as of ``judged.counts(attribute, others)``."""
    if others == "apart":
        return failing
    found = np.zeros(len(judged.sizes), dtype=bool)
    found[judged.class_of_block(attribute)[failing]] = True
    return found
