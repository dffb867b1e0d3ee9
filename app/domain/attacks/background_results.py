"""What a background-knowledge attack comes to, as its answer says it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from annotated_types import doc

from app.domain.attacks.beliefs import Contradicted, Inconsistent
from app.domain.catalogue.catalogue_types import CellValue
from app.domain.catalogue.meanings import ASKED, LOW_ASIDE, LOW_SHARE
from app.domain.models.judged import ClassRef, JudgedOn


@dataclass(frozen=True)
class Step:
    """What so many statements do in the worst case."""

    negations: Annotated[int, doc("True statements about a target that rule out a value each.")]
    records_exposed: Annotated[int, doc("Records whose value the attacker then believes with confidence.")]
    share_exposed: Annotated[float, doc("Their share of the records that can be attacked.")]
    greatest_belief: Annotated[float, doc("Strongest belief in the value of a record.")]


@dataclass(frozen=True)
class ExposedRecords:
    """Records of a class with one value, exposed by the same knowledge."""

    records: Annotated[ClassRef, doc("The records.")]
    among: Annotated[int, doc("Records of their class.")]
    value: Annotated[CellValue, doc("Their value.")]
    belief: Annotated[float, doc("How probable the attacker takes it to be without any statement.")]
    negations: Annotated[int, doc("Fewest statements that expose them.")]
    belief_after: Annotated[float, doc("How probable it is then.")]


@dataclass(frozen=True)
class StrongestStatement:
    """The statement about one attribute that says most of another."""

    told_of: Annotated[ClassRef, doc("The class of the target.")]
    is_negation: Annotated[bool, doc("Whether it says that the target does not have the value.")]
    about: Annotated[CellValue, doc("The value of the attribute that the statement is about.")]
    value: Annotated[CellValue, doc("The value of the other that it makes probable.")]
    belief: Annotated[float, doc("How probable.")]


@dataclass(frozen=True)
class Elimination:
    """What a single statement about one sensitive attribute gives away of another."""

    told: Annotated[str, doc("The attribute that the statement is about.")]
    learnt: Annotated[str, doc("The attribute that is learnt from it.")]
    records_exposed: Annotated[
        int, doc("Records whose value is believed with confidence by at most one statement that is true.")
    ]
    records_exposed_without: Annotated[int, doc("Of these, records exposed without any statement.")]
    by_value: Annotated[
        StrongestStatement | None, doc("The strongest statement that a target has a value; null without one.")
    ]
    by_negation: Annotated[
        StrongestStatement | None,
        doc("The strongest statement that a target does not have a value; null if it could never be true."),
    ]


@dataclass(frozen=True)
class ValueBelief:
    """How probable one value is."""

    value: Annotated[CellValue, doc("The value.")]
    belief: Annotated[float, doc("How probable the attacker takes it to be.")]


@dataclass(frozen=True)
class TargetBelief:
    """What the attacker believes of one record."""

    row: Annotated[int, doc("The record.")]
    among: Annotated[ClassRef, doc("The records that it cannot be told from.")]
    beliefs: Annotated[
        tuple[ValueBelief, ...], doc("The values of its class, most probable first; empty if inconsistent.")
    ]
    is_confident: Annotated[bool, LOW_ASIDE, doc("Whether the most probable value reaches the confidence.")]
    is_inconsistent: Annotated[
        bool, doc("Whether what the attacker knows leaves no value possible: then there are no beliefs.")
    ]


@dataclass(frozen=True)
class KnowledgeUsed:
    """What the attacker's dictionary contributed."""

    entities: Annotated[int, doc("Its people whose values are all known exactly; only these count.")]
    entities_left_out: Annotated[int, doc("Its people of whom some value is missing or vague.")]
    known: Annotated[tuple[str, ...], doc("Quasi-identifiers that it carries.")]
    records_contradicted: Contradicted
    records_inconsistent: Inconsistent


@dataclass(frozen=True)
class Corruption:
    """Strongest beliefs in the value of a record, once those of others drawn at random are known."""

    known_records: Annotated[int, doc("Records drawn: the share asked for, rounded, of those attacked.")]
    mean_belief: Annotated[float, LOW_SHARE, doc("Mean over draws of the strongest belief.")]
    quantiles: Annotated[
        tuple[float, ...], doc("Of the same: the least, the quartiles and the greatest of the draws.")
    ]


@dataclass(frozen=True)
class BackgroundKnowledgeAttack:
    """Who is exposed to an attacker with background knowledge, and by what."""

    judged: Annotated[JudgedOn, doc("Which records were judged, and how.")]
    attribute: Annotated[str, doc("The sensitive attribute.")]
    confidence: Annotated[
        float, ASKED, doc("The belief from which on a record counts as exposed, inclusive.")
    ]
    records_attacked: Annotated[int, doc("Records with a class and a value that the attacker does not know.")]
    steps: Annotated[tuple[Step, ...], doc("What 0, 1, 2, … statements about the target do at worst.")]
    exposed: Annotated[
        tuple[ExposedRecords, ...], doc("Exposed records, those first who need the fewest statements.")
    ]
    eliminations: Annotated[
        tuple[Elimination, ...],
        doc("What other sensitive attributes give away of this one, and it of them; without the dictionary."),
    ]
    knowledge: Annotated[KnowledgeUsed | None, doc("What the dictionary contributed; null without one.")]
    target: Annotated[TargetBelief | None, doc("The target asked about; null without one.")]
    corruption: Annotated[
        Corruption | None,
        doc("What random shares of known records do; null: not asked, or asked before it was measured."),
    ] = None
