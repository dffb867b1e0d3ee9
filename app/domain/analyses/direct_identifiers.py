"""Which disclosed attributes look like direct identifiers, from their values alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
from annotated_types import doc

from app.domain.arrays import Ints, Longs
from app.domain.catalogue.meanings import LOW
from app.domain.direct_identifiers.recognition import RecognisedKind, recognised_kinds
from app.domain.direct_identifiers.sample import LOOKED_AT
from app.domain.hierarchies.hierarchy import TOP
from app.domain.models.criterion import BY_ROWS
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick

SECONDS_PER_TEXT: Final = 5e-5
SECONDS_OF_PLANS: Final = 0.4
"""To try the numbering plans of all countries, for attributes whose texts hold many digits."""
FEWEST_DIGITS: Final = 7
DIGITS_ASKED_OF: Final = 50
SECONDS_PER_CELL: Final = 4e-9
BYTES: Final = 100_000_000
"""The lists of names and the numbering plans of all countries, whatever the table."""
BYTES_PER_NODE: Final = 200


@dataclass(frozen=True)
class DirectIdentifiersParameters:
    """Nothing to choose: all disclosed attributes are looked at."""


@dataclass(frozen=True)
class LookedAtAttribute:
    """What was found in one attribute."""

    attribute: Annotated[str, doc("Name of the attribute.")]
    is_direct_identifier: Annotated[bool, doc("Whether it looks like a direct identifier of some kind.")]
    kinds: Annotated[tuple[RecognisedKind, ...], doc("The kinds found, in a fixed order; empty if none was.")]
    cells: Annotated[int, doc("Cells that disclose something: neither missing nor suppressed.")]
    distinct: Annotated[int, doc("Different texts in them.")]
    looked_at: Annotated[int, doc(f"Of these, how many were looked at: {LOOKED_AT:,} at most.")]


@dataclass(frozen=True)
class DirectIdentifiersFound:
    """Kinds and shares per attribute; never a cell."""

    direct_identifiers: Annotated[
        int, LOW, doc("How many disclosed attributes look like direct identifiers.")
    ]
    attributes: Annotated[tuple[LookedAtAttribute, ...], doc("The disclosed attributes in schema order.")]


def texts_and_counts(labels: tuple[str, ...], nodes: Ints) -> tuple[list[str], Longs]:
    """The distinct labels that a column discloses, and how often each does; nodes may share a label."""
    counts = np.bincount(nodes, minlength=len(labels))
    counts[TOP] = 0
    by_label: dict[str, int] = {}
    for node in np.flatnonzero(counts).tolist():
        by_label[labels[node]] = by_label.get(labels[node], 0) + int(counts[node])
    return list(by_label), np.array(list(by_label.values()), dtype=np.int64)


def _cost(context: MeasureContext, parameters: DirectIdentifiersParameters) -> Cost:
    table = context.table
    looked_at = sum(min(LOOKED_AT, len(used)) for used in table.used_nodes)
    plans = sum(
        any(sum(map(str.isdecimal, own.labels[v])) >= FEWEST_DIGITS for v in used[-DIGITS_ASKED_OF:].tolist())
        for own, used in zip(table.hierarchies, table.used_nodes, strict=True)
    )
    n_cells = table.n_records * table.n_attributes
    seconds = plans * SECONDS_OF_PLANS + looked_at * SECONDS_PER_TEXT + n_cells * SECONDS_PER_CELL
    size = BYTES + 8 * n_cells + BYTES_PER_NODE * max(table.sizes, default=0)
    return Cost(seconds, size, table.n_attributes, "texts")


def _compute(
    context: MeasureContext, parameters: DirectIdentifiersParameters, tick: Tick
) -> DirectIdentifiersFound:
    table, codes = context.table, context.release.codes
    found = []
    for j, (name, hierarchy) in enumerate(zip(table.attributes, table.hierarchies, strict=True)):
        texts, counts = texts_and_counts(hierarchy.labels, codes[:, j])
        kinds = recognised_kinds(texts, counts)
        is_direct = any(own.is_direct_identifier for own in kinds)
        looked_at = min(LOOKED_AT, len(texts))
        found.append(LookedAtAttribute(name, is_direct, kinds, int(counts.sum()), len(texts), looked_at))
        tick(j + 1)
    return DirectIdentifiersFound(sum(own.is_direct_identifier for own in found), tuple(found))


DIRECT_IDENTIFIERS: Final = Measure(
    name="direct_identifiers",
    title="Attributes that look like direct identifiers",
    source="HIPAA Privacy Rule, 45 CFR 164.514(b)(2); recognition by python-stdnum, phonenumbers, Faker",
    guarantee="heuristic",
    parameters=DirectIdentifiersParameters,
    result=DirectIdentifiersFound,
    cost=_cost,
    compute=_compute,
    protects=False,
    example=Example(
        "does what the rule discloses look like names, numbers or addresses of people?",
        "proposal-direct-identifiers",
        rule="proposal",
    ),
    by_persons=BY_ROWS,
)
