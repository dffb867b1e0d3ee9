"""Whoever is looked for by name in a release: how many records may be theirs, and who is found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final, Literal

import numpy as np
from annotated_types import Ge, Le, Len, MaxLen, doc

from app.domain.arrays import Longs
from app.domain.attacks.linking import CandidateSets
from app.domain.catalogue.meanings import HIDING, LOW, LOW_AMOUNT, LOW_ASIDE, LOW_SHARE
from app.domain.classes.grouping import positions_of
from app.domain.dictionaries.dictionary import own_rows
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick, given
from app.domain.models.judged import ROWS_NAMED, ClassRef
from app.domain.tables.numbers import exact_sum

SECONDS_PER_CELL: Final = 1.5e-8


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


def _own(
    context: MeasureContext, sets: CandidateSets, found: tuple[Longs, Longs], disclosed_kept: Longs
) -> OwnRecords | None:
    dictionary = given(context.dictionary)
    if not dictionary.comparable_ids:
        return None
    person_of = own_rows(context.table, dictionary)
    rows = disclosed_kept[person_of[disclosed_kept] >= 0]
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
        own=_own(context, sets, found, sets.rows),
    )


def _supports(context: MeasureContext, parameters: LinkingParameters) -> str | None:
    table, known = context.table, given(context.dictionary).attributes
    if any(table.attributes[j] in known for j in positions_of(table, parameters.quasi_identifiers)):
        return None
    return "The dictionary carries none of the quasi-identifiers. Use one that is linked to some of them."


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
