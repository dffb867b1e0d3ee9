"""What a mechanism is: a named, versioned way to make a release that is not a rule.

A mechanism's file holds two frozen dataclasses, its parameters and what it publishes, and functions that plan
and draw. The edges derive requests, manifests and the catalogue's page from them, as they do of measures: a
field is annotated with its bounds and its description (see :mod:`app.domain.models.entry`). Parameters check
what can be told without a table when they are made, with faults at ``/<field>``; all others point at
``/mechanism/<field>``.

Nothing of a draw can be told from a plan. What is secret of a draw appears nowhere but in the released table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

from app.domain.arrays import Ints
from app.domain.catalogue.catalogue_types import Need
from app.domain.errors import Fault
from app.domain.mechanisms.expected_people import ExpectedPeople
from app.domain.mechanisms.expected_value import ExpectedValue
from app.domain.mechanisms.guarantee import PrivacyGuarantee
from app.domain.rules.rule import Rule
from app.domain.tables.table import Table

P = TypeVar("P")
D = TypeVar("D")
Family = Literal["generalise", "perturb", "sample", "noise", "synthesise"]
Bits = Callable[[int], bytes]
"""So many bytes that nobody can foresee and that were given to nobody before: ``os.urandom``, or the next
bytes of a key stream that follows from a sealed secret."""


@dataclass(frozen=True)
class Origin:
    """Where the hierarchy of an attribute comes from.

    ``is_of_data``: whether it was made from an upload's column, or may have been where nobody recorded it.
    """

    hierarchy: str
    is_of_data: bool
    is_recorded: bool = True


@dataclass(frozen=True, eq=False)
class MechanismContext:
    """What a release is made of: a table, and a rule that generalises its quasi-identifiers first, if any.

    ``public`` are the attributes of which a hierarchy declares every value, with none attached that the data
    have; ``rule_is_of_data`` says that the rule is known to depend on records: a search in the data found it,
    or it may suppress some. ``releases`` are those that readers will have of somebody, this one included, at
    most: groups are tested for who has so many. ``origins`` are those of declared hierarchies by attribute;
    ``numeric`` are the attributes whose values are numbers, however these are written. ``lists`` are the
    tables of datasets that the parameters name, by name: public lists, none of which has the same records.
    """

    table: Table
    rule: Rule | None = None
    public: frozenset[str] = frozenset()
    rule_is_of_data: bool = False
    releases: int = 1
    origins: Mapping[str, Origin] = field(default_factory=dict)
    numeric: frozenset[str] = frozenset()
    lists: Mapping[str, Table] = field(default_factory=dict)


@dataclass(frozen=True)
class MechanismPlan:
    """All that can be said before anything is drawn.

    Parameters
    ----------
    constants
        Numbers that follow from the table and the parameters, by name.
    missing
        Why nothing can be drawn with these parameters, with the numbers that are missing and what would do;
        empty if it can.
    seconds, bytes
        Estimated cost of the draw, beside the table.
    rows_per_record
        Rows that are released for each record at most, as expected: above 1 where noise adds some.
    seconds_per_record, bytes_per_record
        Estimated cost of the draw for each record, where a plan that looks at none cannot know the whole.
    guarantees
        What the release will promise; none where nothing can be drawn.
    warnings
        What whoever publishes it must know, as sentences.
    """

    constants: Mapping[str, float]
    missing: tuple[Fault, ...]
    seconds: float
    bytes: int
    guarantees: tuple[PrivacyGuarantee, ...]
    warnings: tuple[str, ...] = ()
    rows_per_record: float = 1.0
    seconds_per_record: float = 0.0
    bytes_per_record: float = 0.0

    @property
    def is_feasible(self) -> bool:
        """Whether something can be drawn."""
        return not self.missing


@dataclass(frozen=True, eq=False)
class Drawn(Generic[D]):
    """A release that was drawn.

    Parameters
    ----------
    columns
        One per attribute of the table: the nodes of the released records, int32, in the order of the table's
        records if the mechanism keeps them. Columns that are as in the table are the table's own arrays.
    published
        What a reader of the release needs and may have.
    """

    columns: tuple[Ints, ...]
    published: D


def nothing_bars(context: MechanismContext, parameters: object) -> tuple[Fault, ...]:
    """``bars`` of mechanisms whose plan may look at the records."""
    return ()


def no_leak(parameters: object) -> bool:
    """``accepts_leak`` of mechanisms that are not known to tell more than they promise."""
    return False


@dataclass(frozen=True)
class Mechanism(Generic[P, D]):
    """An entry of the catalogue.

    Parameters
    ----------
    name
        The field's term in snake_case.
    version
        Grows when a correction changes what is drawn or promised.
    title, source
        A heading, and where the definition is from (paper, section).
    family
        What is done to the records.
    parameters, published
        Frozen dataclasses.
    needs
        What a request must come with.
    randomised
        Whether it draws: such a release is made once and stored.
    keeps_records
        Whether the released records are the table's, one for each, with some cells changed.
    takes_rule
        Whether a rule may generalise the quasi-identifiers first.
    accepts_leak
        Whether the parameters ask for what is known to tell more than mechanisms promise: only who governs
        may.
    hides_records
        Whether it is differentially private: whole records are drawn from, how many there are is secret, and
        nothing that is told beside the released table depends on any of them. Its plan looks at none; where
        totals are public, at these alone.
    bars
        What of the records themselves is in the way of a draw, which the plan of such a mechanism cannot
        tell.
    value
        What a draw would be worth on average, and what the release of the same question tells, if one was
        drawn: it depends on the records. None where that is not told.
    guarantees
        The models of which it may promise something, as :mod:`~app.domain.mechanisms.guarantee_models` names
        them; none where the status of all that its plans state is ``none``.
    constants
        What each constant of its plans means, in plain words, by name.
    supports
        None if it fits a table, else why not and what would make it fit.
    plan
        What can be said before the draw; raises InvalidInput for parameters that say nothing about the table.
    draw
        The release; raises InvalidInput for what the plan says is missing.
    """

    name: str
    title: str
    source: str
    family: Family
    parameters: type[P]
    published: type[D]
    guarantees: tuple[str, ...]
    constants: Mapping[str, str]
    supports: Callable[[MechanismContext, P], str | None]
    plan: Callable[[MechanismContext, P], MechanismPlan]
    draw: Callable[[MechanismContext, P, Bits], Drawn[D]]
    version: int = 1
    needs: frozenset[Need] = frozenset()
    randomised: bool = True
    keeps_records: bool = True
    takes_rule: bool = True
    accepts_leak: Callable[[P], bool] = no_leak
    hides_records: bool = False
    bars: Callable[[MechanismContext, P], tuple[Fault, ...]] = nothing_bars
    value: Callable[[MechanismContext, P, Table | None], ExpectedValue | ExpectedPeople] | None = None
