"""Whoever is looked for by name in a release: how many records may be theirs, and who is found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Final, Literal

import numpy as np
from annotated_types import Ge, Le, Len, MaxLen, doc

from app.domain.arrays import Bools, Ints, Longs
from app.domain.catalogue.meanings import HIDING, LOW, LOW_AMOUNT, LOW_ASIDE, LOW_SHARE
from app.domain.classes.grouping import positions_of
from app.domain.counting.compatibility import Compatibility
from app.domain.counting.counter import MEMORY_CEILING, Counter
from app.domain.dictionaries.dictionary import Dictionary, LinkedAttribute, own_rows
from app.domain.errors import NotSupported
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick, given
from app.domain.models.judged import ROWS_NAMED, ClassRef
from app.domain.tables.distinct import distinct_rows
from app.domain.tables.masks import shows_nothing
from app.domain.tables.numbers import exact_sum
from app.domain.tables.table import Table

SECONDS_PER_CELL: Final = 1.5e-8
UNLINKED: Final = (
    "The dictionary carries none of the quasi-identifiers. Use one that is linked to some of them."
)


class CandidateSets:
    """The released records that each person of a dictionary may be.

    A record is a candidate if every quasi-identifier that it shows agrees with what the dictionary says of
    the person. Counting turns the usual question round: the dictionary's codes are the values asked for, and
    a released value is the set of codes that agree with it.

    Parameters
    ----------
    table
        The table whose hierarchies the dictionary is linked to.
    dictionary
        The persons.
    attributes
        Positions of the quasi-identifiers in the table.
    released
        (n, m) nodes that the release shows.
    kept
        (n,) records that are in the release.
    """

    def __init__(
        self,
        table: Table,
        dictionary: Dictionary,
        attributes: tuple[int, ...],
        released: Ints,
        kept: Bools,
        memory_ceiling: int = MEMORY_CEILING,
    ) -> None:
        links = {table.position(link.attribute): link for link in dictionary.links}
        self.linked = tuple(j for j in attributes if j in links)
        if not self.linked:
            raise NotSupported.because(UNLINKED)
        self._links = [links[j] for j in self.linked]
        self.rows = np.flatnonzero(kept)
        self._released = released
        self._compatibilities = [
            Compatibility(link, np.unique(released[:, j]))
            for j, link in zip(self.linked, self._links, strict=True)
        ]
        turned = [
            _turned_round(compatibility, released[self.rows, j])
            for j, compatibility in zip(self.linked, self._compatibilities, strict=True)
        ]
        self._release = Dictionary(len(self.rows), tuple(turned))
        self._memory_ceiling = memory_ceiling
        everybody = np.arange(dictionary.n_entities, dtype=np.int64)
        self.sizes: Longs = self._counted(np.arange(len(self.rows), dtype=np.int64), everybody)

    def only_candidates(self) -> tuple[Longs, Longs]:
        """The persons with a single candidate, ascending, and the table's row, from 0, of each one's."""
        alone = np.flatnonzero(self.sizes == 1)
        if not len(alone):
            return alone, alone
        columns = [link.column for link in self._release.links]
        shown = distinct_rows(columns, [link.n_codes for link in self._release.links], len(self.rows))
        # Only a record that is shown like no other can be the only candidate of somebody.
        unlike = np.flatnonzero(shown.counts[shown.inverse] == 1)
        place = np.zeros(len(alone), dtype=np.int64)
        for bit in range(len(unlike).bit_length()):
            half = unlike[(np.arange(len(unlike)) >> bit) & 1 == 1]
            # The place of the one candidate is written in the halves that it is in.
            place += self._counted(half, alone) << bit
        return alone, self.rows[unlike[place]]

    def contain(self, persons: Longs, rows: Longs) -> Bools:
        """Per pair of a person and a row of the table, from 0, whether the row may be the person's."""
        found = np.ones(len(persons), dtype=bool)
        for j, compatibility in zip(self.linked, self._compatibilities, strict=True):
            found &= compatibility.consistent(self._released[rows, j], compatibility.link.column[persons])
        return found

    def _counted(self, records: Longs, persons: Longs) -> Longs:
        """Candidates of persons among some of the records, given by their place in ``rows``."""
        if not len(records) or not len(persons):
            return np.zeros(len(persons), dtype=np.int64)
        asked = distinct_rows(
            [link.column[persons] for link in self._links],
            [link.n_codes for link in self._links],
            len(persons),
        )
        # Code c is node c + 1 of a flat hierarchy, under ⊥.
        nodes = (asked.codes + 1).astype(np.int32)
        links = tuple(replace(link, column=link.column[records]) for link in self._release.links)
        table = Table(self._release.attributes, tuple(link.hierarchy for link in links), nodes)
        counter = Counter(table, Dictionary(len(records), links), self._memory_ceiling)
        return counter.count(nodes).values[asked.inverse]


def _turned_round(compatibility: Compatibility, shown: Ints) -> LinkedAttribute:
    """The released values of one attribute as cells over the codes that the dictionary has for it."""
    link = compatibility.link
    flat = Hierarchy(("⊥", *map(str, range(link.n_codes))), ((), *((TOP,),) * link.n_codes))
    used, column = np.unique(shown, return_inverse=True)
    none = np.empty(0, dtype=np.int32)
    is_open = shows_nothing(used)
    lists = [
        none if everything else np.flatnonzero(compatibility.fitting(node))
        for node, everything in zip(used.tolist(), is_open.tolist(), strict=True)
    ]
    starts = np.zeros(len(used) + 1, dtype=np.int64)
    np.cumsum([len(own) for own in lists], out=starts[1:])
    leaves = np.concatenate([none, *lists]).astype(np.int32)
    return LinkedAttribute(link.attribute, flat, column.astype(np.int32).reshape(-1), starts, leaves, is_open)


@dataclass(frozen=True, kw_only=True)
class LinkingParameters:
    """What the attacker knows of persons, and which released records count."""

    quasi_identifiers: Annotated[
        tuple[Annotated[str, MaxLen(1000)], ...] | None,
        Len(1, 100),
        doc("Attributes that the attacker looks by; null: those of the role quasi_identifier."),
    ] = None
    suppressed: Annotated[
        Literal["excluded", "own_block"],
        doc(
            "Whether records all of whose quasi-identifiers are suppressed are taken out (`excluded`), or "
            "stay in the release and may be anybody's (`own_block`)."
        ),
    ] = "excluded"
    top: Annotated[int, Ge(1), Le(200), doc("Most numbers of candidates to list.")] = 50


@dataclass(frozen=True)
class CandidateNumber:
    """Persons with so many candidates."""

    candidates: Annotated[int, doc("Records that may be such a person's.")]
    persons: Annotated[int, doc("How many persons there are.")]


@dataclass(frozen=True)
class OwnRecords:
    """What of it is right, where the dictionary's identifiers are the dataset's."""

    persons_in_release: Annotated[int, doc("Persons whose own record is in the release.")]
    own_among_candidates: Annotated[int, doc("Of these, persons whose own record is among their candidates.")]
    rightly_found: Annotated[int, LOW, doc("Persons whose only candidate is their own record.")]
    wrongly_found: Annotated[int, doc("Persons whose only candidate is somebody else's record.")]
    expected_found: Annotated[
        float,
        LOW_AMOUNT,
        doc("Persons found rightly, on average, if everybody is taken to be a candidate at random."),
    ]


@dataclass(frozen=True)
class LinkingAttack:
    """The persons of the dictionary, looked up in the release one by one."""

    quasi_identifiers: Annotated[
        tuple[str, ...], doc("Attributes looked by: the quasi-identifiers that the dictionary carries.")
    ]
    suppressed: Annotated[
        Literal["excluded", "own_block"], doc("What became of records that are suppressed altogether.")
    ]
    records: Annotated[int, doc("Records looked among.")]
    records_suppressed: Annotated[
        int, LOW_ASIDE, doc("Records taken out because they are suppressed altogether.")
    ]
    persons: Annotated[int, doc("Persons looked for.")]
    persons_without_candidate: Annotated[int, doc("Persons no record can be of.")]
    persons_found: Annotated[int, LOW, doc("Persons with exactly one candidate.")]
    records_found: Annotated[ClassRef, LOW, doc("The records that are the only candidate of somebody.")]
    fewest_candidates: Annotated[
        int | None, HIDING, doc("Fewest candidates of a person who has any; null without one.")
    ]
    greatest_probability: Annotated[
        float, LOW_SHARE, doc("Greatest probability of a match: 1 / fewest candidates, 0 without candidates.")
    ]
    average_probability: Annotated[
        float, LOW_SHARE, doc("Mean of 1 / candidates over the persons who have any, 0 without such.")
    ]
    by_candidates: Annotated[
        tuple[CandidateNumber, ...], doc("How many persons have how many candidates, the fewest first.")
    ]
    own: Annotated[
        OwnRecords | None, doc("What of it is right; null unless the identifiers can be compared.")
    ]


def _own(context: MeasureContext, sets: CandidateSets, found: tuple[Longs, Longs]) -> OwnRecords | None:
    dictionary = given(context.dictionary)
    if not dictionary.comparable_ids:
        return None
    person_of = own_rows(context.table, dictionary)
    rows = sets.rows[person_of[sets.rows] >= 0]
    persons = person_of[rows]
    agrees = sets.contain(persons, rows)
    own_row = np.full(dictionary.n_entities, -1, dtype=np.int64)
    own_row[persons] = rows
    right = int(np.count_nonzero(own_row[found[0]] == found[1]))
    return OwnRecords(
        persons_in_release=len(rows),
        own_among_candidates=int(np.count_nonzero(agrees)),
        rightly_found=right,
        wrongly_found=len(found[0]) - right,
        expected_found=exact_sum(1.0 / sets.sizes[persons[agrees]]),
    )


def _compute(context: MeasureContext, parameters: LinkingParameters, tick: Tick) -> LinkingAttack:
    table, release = context.table, context.release
    attributes = positions_of(table, parameters.quasi_identifiers)
    kept = (
        ~release.is_suppressed
        if parameters.suppressed == "excluded"
        else np.ones(table.n_records, dtype=bool)
    )
    sets = CandidateSets(
        table, given(context.dictionary), attributes, release.codes, kept, context.memory_ceiling
    )
    found = sets.only_candidates()
    rows = np.unique(found[1])
    numbers, persons = np.unique(sets.sizes[sets.sizes > 0], return_counts=True)
    total = int(persons.sum())
    tick(1)
    return LinkingAttack(
        quasi_identifiers=tuple(table.attributes[j] for j in sets.linked),
        suppressed=parameters.suppressed,
        records=len(sets.rows),
        records_suppressed=table.n_records - len(sets.rows),
        persons=len(sets.sizes),
        persons_without_candidate=len(sets.sizes) - total,
        persons_found=len(found[0]),
        records_found=ClassRef(tuple((rows[:ROWS_NAMED] + 1).tolist()), len(rows)),
        fewest_candidates=int(numbers[0]) if total else None,
        greatest_probability=1 / int(numbers[0]) if total else 0.0,
        average_probability=exact_sum(persons / numbers) / total if total else 0.0,
        by_candidates=tuple(
            CandidateNumber(number, count)
            for number, count in zip(
                numbers[: parameters.top].tolist(), persons[: parameters.top].tolist(), strict=True
            )
        ),
        own=_own(context, sets, found),
    )


def _supports(context: MeasureContext, parameters: LinkingParameters) -> str | None:
    table, known = context.table, given(context.dictionary).attributes
    if any(table.attributes[j] in known for j in positions_of(table, parameters.quasi_identifiers)):
        return None
    return UNLINKED


def _cost(context: MeasureContext, parameters: LinkingParameters) -> Cost:
    table, persons = context.table, given(context.dictionary).n_entities
    cells = (table.n_records + persons) * (table.n_attributes + 2)
    # Who the only candidates are is counted once per bit of a record's number.
    times = 1 + table.n_records.bit_length() / 2
    return Cost(cells * times * SECONDS_PER_CELL, 16 * cells, 1, "sorted_keys")


LINKING_ATTACK: Final = Measure(
    name="linking_attack",
    title="Persons who are looked for in the release",
    source="Machanavajjhala (2008), sections 1.3.2 and 3.1",
    guarantee="exact",
    parameters=LinkingParameters,
    result=LinkingAttack,
    needs=frozenset({"dictionary"}),
    supports=_supports,
    cost=_cost,
    compute=_compute,
    example=Example(
        "who of the census is found among the members?",
        "proposal-linking",
        rule="proposal",
        dictionary="census",
    ),
)
