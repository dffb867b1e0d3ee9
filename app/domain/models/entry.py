"""What a measure is: a named, versioned pure function of (context, parameters) with everything said about it.

A measure's file holds two frozen dataclasses, its parameters and its result, and one function that computes.
The edges derive requests, answers and the catalogue's page from them, so the types must say everything:

* A field of the parameters is annotated with its bounds and its description, all of it ends up in the
  interface: ``samples: Annotated[int, Ge(1), Le(100_000), doc("Draws per record.")] = 1000``. Numbers need
  ``Ge`` or ``Gt`` (or ``Interval``), texts and collections ``Len`` or ``MaxLen``; choices are ``Literal``.
* Names of other resources are ``DatasetRef``, ``DictionaryRef`` or ``RuleRef``, alone, optional or in tuples,
  also as a mapping's values and inside nested dataclasses. The context holds what they lead to under the
  very text of the reference, which is the resource's name by the time that the work begins. A field marked
  :data:`RELEASED_RULES` that is None has become the rules of the dataset's releases by then. A field that an
  existing measure gets later is marked
  :data:`~app.domain.catalogue.catalogue_types.ADDED_LATER`, so that stored questions keep their text.
* Errors about a parameter point at ``/measure/<field>``.
* Numbers and booleans of a result bear the marks of :mod:`app.domain.catalogue.meanings`.
* Results consist of numbers, texts, booleans, None, tuples, mappings with keys of text, and nested frozen
  dataclasses; every field has a ``doc``. Real numbers may be +∞, never NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Final, Generic, Literal, Protocol, TypeVar, get_type_hints, overload

from app.domain.catalogue.catalogue_types import Guarantee, Need, Reads
from app.domain.classes.released import Release
from app.domain.counting.counter import MEMORY_CEILING, Counter
from app.domain.dictionaries.dictionary import Dictionary
from app.domain.mechanisms.drawn_release import DrawnRelease
from app.domain.models.criterion import NEEDS_ONE_ROW, Criterion
from app.domain.risk.loss import AbsentPolicy
from app.domain.risk.models import RiskModel
from app.domain.risk.utility import Utility
from app.domain.rules.rule import CellRule, Rule
from app.domain.sensitivity.sensitivity import Sensitivity
from app.domain.tables.table import Table


@dataclass(frozen=True)
class ReleasedRules:
    """Marks a field of rule references whose None stands for the rules of all releases of the dataset."""


RELEASED_RULES: Final = ReleasedRules()


def fields_of_releases(parameters: type) -> tuple[str, ...]:
    """The fields of a measure's parameters that are marked :data:`RELEASED_RULES`."""
    hints = get_type_hints(parameters, include_extras=True)
    return tuple(
        own.name
        for own in fields(parameters)
        if RELEASED_RULES in getattr(hints[own.name], "__metadata__", ())
    )


AS_WRITTEN: Final = {1: {"spellings": "as_written", "missing_sensitive": "own_category"}}
"""Version 1 of measures of sensitive values: each spelling is a value, and a missing one is, too."""

T = TypeVar("T")
P = TypeVar("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
Tick = Callable[[int], None]
"""Told how many of :attr:`Cost.units` are done so far; may raise to stop the work."""


@dataclass(frozen=True)
class Cost:
    """Estimated seconds and bytes, the number of units that the work ticks off, and what would do it."""

    seconds: float
    bytes: int
    units: int
    engine: str


@dataclass(frozen=True, eq=False)
class MeasureContext:
    """What a measure is computed on.

    Parameters
    ----------
    rule, dictionary, sensitivity
        None where the request names none; never where the measure's needs list them (see :func:`given`).
    failure
        Ψ, or None.
    dictionaries, rules
        What the references in the parameters lead to, by reference. Dictionaries are linked to ``table``,
        rules are those of ``table``.
    others
        What references to datasets lead to, by reference: the same question about their tables, each with
        its own table, dictionary, Φ, Ψ and utility. ``rule`` is set where the rule can be stated anew for
        that table (a rule of conditions), else None.
    drawn
        The release that a mechanism made, if it is one that is measured: ``table`` is then what it was drawn
        of, and ``rule`` None.
    make_release, make_counter
        Who has made a release or a counter before may give that one.
    threads
        How many may work at once, which changes no answer.
    """

    table: Table
    rule: Rule | None
    dictionary: Dictionary | None
    sensitivity: Sensitivity | None
    failure: Sensitivity | None
    utility: Utility
    model: RiskModel
    absent_policy: AbsentPolicy
    dictionaries: Mapping[str, Dictionary] = field(default_factory=dict)
    rules: Mapping[str, Rule] = field(default_factory=dict)
    others: Mapping[str, MeasureContext] = field(default_factory=dict)
    memory_ceiling: int = MEMORY_CEILING
    drawn: DrawnRelease | None = None
    make_release: Callable[[Table, Rule | None], Release] = Release
    make_counter: Callable[[Table, Dictionary, int], Counter] = Counter
    threads: int = 1

    @cached_property
    def release(self) -> Release:
        """The table under the rule, as it is if there is none, which keeps its classes."""
        return self.make_release(self.table, self.rule)

    @cached_property
    def counter(self) -> Counter:
        """The counter of the context's table and dictionary, which keeps what it prepares."""
        return self.make_counter(self.table, given(self.dictionary), self.memory_ceiling)

    @cached_property
    def of_rows(self) -> MeasureContext:
        """The context of the drawn rows by themselves, as if they had been the records."""
        drawn = given(self.drawn)
        rule = CellRule(drawn.table.codes) if drawn.suppresses else None
        return replace(self, table=drawn.table, rule=rule, sensitivity=None, failure=None, drawn=None)


@overload
def given(value: Rule | None) -> Rule: ...
@overload
def given(value: T | None) -> T: ...
def given(value: object) -> object:
    """What the context holds of something that the measure's needs list."""
    if value is None:
        raise ValueError("the measure does not list this among its needs")
    return value


def always_supported(context: MeasureContext, parameters: object) -> str | None:
    """``supports`` of measures that ask for no more than their needs."""
    return None


@dataclass(frozen=True)
class Example:
    """What a newcomer asks: a question in words, a measurement's name, what it is of, and its parameters."""

    question: str
    name: str
    rule: str | None = None
    dictionary: str | None = None
    sensitivity: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)


class MeasurePlan(Protocol[R_co]):
    """A measure cut in blocks, which other processes may compute in any order: it must pickle."""

    n_blocks: int

    def run_block(self, index: int, tick: Tick) -> bytes:
        """Compute one block; its bytes depend on nothing else. ``tick`` takes its units done so far."""

    def combine(self, blocks: Mapping[int, bytes]) -> R_co:
        """The result from all blocks by number."""


SECONDS_PER_BLOCK = 0.5


def blocks_of(seconds: float, parts: int) -> int:
    """In how many blocks a measure is cut: none is worth less than half a second or holds no part."""
    return min(max(1, math.ceil(seconds / SECONDS_PER_BLOCK)), parts)


@dataclass(frozen=True)
class Measure(Generic[P, R]):
    """An entry of the catalogue.

    Parameters
    ----------
    name
        The field's term in snake_case.
    version
        Grows when a correction changes what the measure means; a result of an older version stays.
    title, source
        A heading, and where the definition is from (paper, section).
    guarantee
        What a result is worth at best; a result that can be worth less says so itself.
    parameters, result
        Frozen dataclasses; see the module's docstring.
    needs
        What the context must have; checked before ``supports`` is asked.
    supports
        None if the measure can be computed, else why not and what would make it possible.
    cost
        An estimate that takes a small part of the work itself.
    compute
        The work; tells its third argument the units done so far, some times a second if it can.
    example
        A question about the sample data.
    criteria
        The criteria of privacy that its file holds.
    judges
        The criterion that a value of the result, named by its path, tells of for these parameters; None if
        that is compared with other data.
    looks_at
        ``quasi_identifiers`` where it makes no difference what is shown beside them; ``originals`` where the
        original values are compared with what is shown, so that a file alone would have lost nothing.
    protects
        Whether a bound on its numbers can protect people. False for what says how useful a release is, what
        other releases would be like, what columns look like, or whom one record may be: a requirement on it
        covers no column.
    reads
        As what it can read a release; see :func:`app.domain.models.reading.unreadable`.
    tells_counts
        Whether counts of few records may follow from its numbers, so that only those may ask who may read
        the data.
    by_persons
        What becomes of it where a person may have several records (see
        :mod:`app.domain.models.criterion`): it counts persons, reads records, or is refused, and why.
    repeats
        Whether other datasets in the parameters are asked the same; False where they are of another kind.
    bounded_by_persons
        Values of which the fewest persons that classes can have give a bound, and from which side.
    plan
        The same work cut in blocks, if it is worth sharing: ``compute`` gives what these combine to.
    judges_synthetic
        Whether it is computed of an original, beside a synthetic table that its parameters name. A gate
        judges the latter, and is told the former.
    """

    name: str
    title: str
    source: str
    guarantee: Guarantee
    parameters: type[P]
    result: type[R]
    cost: Callable[[MeasureContext, P], Cost]
    compute: Callable[[MeasureContext, P, Tick], R]
    example: Example
    version: int = 1
    plan: Callable[[MeasureContext, P], MeasurePlan[R]] | None = None
    needs: frozenset[Need] = frozenset()
    supports: Callable[[MeasureContext, P], str | None] = always_supported
    criteria: tuple[type[Criterion], ...] = ()
    judges: Callable[[P, str], Criterion | None] | None = None
    looks_at: Literal["disclosed", "quasi_identifiers", "originals"] = "disclosed"
    protects: bool = True
    reads: frozenset[Reads] = frozenset({"records"})
    tells_counts: bool = False
    by_persons: str = NEEDS_ONE_ROW
    repeats: bool = True
    bounded_by_persons: Mapping[str, Literal["lower", "upper"]] = field(default_factory=dict)
    judges_synthetic: bool = False

    @property
    def earlier(self) -> Mapping[int, Mapping[str, Any]]:
        """Versions of before that are still computed → the parameters that mean them, if none are given."""
        return AS_WRITTEN if hasattr(self.parameters, "spellings") else {}
