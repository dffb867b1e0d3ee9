"""Values of quasi-identifiers that the sensitive attribute does not tell apart: which could be merged.

A quasi-identifier that says nothing of the sensitive attribute splits groups until each is small enough,
while the estimate over all of its values tells as much as before. Two values are taken for alike if the
chi-square test of homogeneity of the sensitive values of their records does not reject that at the level α;
values that a chain of such pairs joins are one group. The groups are read off the data, the sensitive values
included.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
from annotated_types import Gt, Len, Lt, MaxLen, doc

from app.domain.arrays import Bools, Floats, Ints, Longs
from app.domain.catalogue.catalogue_types import CellValue
from app.domain.catalogue.meanings import SHARE
from app.domain.classes.grouping import positions_of
from app.domain.classes.homogeneity import LEAST_EXPECTED, chi_square_tail, homogeneity
from app.domain.errors import InvalidInput
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick
from app.domain.models.sensitive_values import SensitiveAttribute
from app.domain.tables.distinct import distinct_rows
from app.domain.tables.masks import shows_nothing

Row = tuple[CellValue, ...]

MOST_VALUES: Final = 1000
"""Of one quasi-identifier, of which all pairs are compared."""
CELLS_AT_ONCE: Final = 1 << 20
SECONDS_PER_RECORD: Final = 6e-8
SECONDS_PER_CELL: Final = 6e-8
DEPENDS: Final = (
    "Which values are merged was read off these data, the sensitive values among them: the choice itself "
    "tells of them, and no guarantee of a mechanism or a criterion covers that. Merge before you test and "
    "release, and do both with the merged table."
)


@dataclass(frozen=True, kw_only=True)
class MergeableValuesParameters:
    """Which values are compared, by what."""

    attribute: SensitiveAttribute = None
    quasi_identifiers: Annotated[
        tuple[Annotated[str, MaxLen(200)], ...] | None,
        Len(1, 100),
        doc("The quasi-identifiers whose values are compared; null: all of the dataset."),
    ] = None
    alpha: Annotated[
        float,
        Gt(0),
        Lt(1),
        doc(
            "α: two values are alike if so different sensitive values, or more so, would be as probable as "
            "this or more. The smaller, the more is merged."
        ),
    ] = 0.05


@dataclass(frozen=True)
class ValuesAlike:
    """Values that would be one."""

    values: Annotated[tuple[CellValue, ...], doc("The values, in the hierarchy's order.")]
    records: Annotated[int, doc("Records that have one of them.")]
    least_probability: Annotated[
        float,
        SHARE,
        doc(
            "The least of the probabilities of two of them: below α these two are joined by a chain of "
            "others only, and are told apart themselves."
        ),
    ]


@dataclass(frozen=True)
class MergeableAttribute:
    """The values of one quasi-identifier."""

    name: Annotated[str, doc("The quasi-identifier.")]
    values: Annotated[int, doc("Values that occur in records with a sensitive value; missing ones are none.")]
    values_merged: Annotated[int, doc("How many would be left.")]
    pairs: Annotated[int, doc("Pairs of values that were compared.")]
    pairs_alike: Annotated[int, doc("Pairs that the test does not tell apart.")]
    pairs_unreliable: Annotated[
        int,
        doc(
            f"Pairs of which fewer than {LEAST_EXPECTED:g} records are expected of some sensitive value: the "
            "test is a poor one there, and rarely tells few records apart."
        ),
    ]
    merged: Annotated[tuple[ValuesAlike, ...], doc("Groups of at least two values that would be one.")]
    rows: Annotated[
        tuple[Row, ...],
        doc(
            "A hierarchy that has each group as one value at level 1, as the definition of kind `rows` takes "
            "it: each leaf of its own one, and what that would be. Store it with `from_data`. Empty if "
            f"nothing is merged, where generalised values are shown, and of more than {MOST_VALUES:,} leaves."
        ),
    ]


@dataclass(frozen=True)
class MergeableValues:
    """What could be merged, and what that would do to the groups of records."""

    attribute: Annotated[str, doc("The sensitive attribute.")]
    alpha: Annotated[float, SHARE, doc("The level of the test.")]
    records: Annotated[int, doc("Records with a sensitive value, which are compared.")]
    records_without_value: Annotated[int, doc("Records without one, which are left out.")]
    depends_on_data: Annotated[str, doc("What the result rests on, and what no guarantee covers.")]
    attributes: Annotated[tuple[MergeableAttribute, ...], doc("By quasi-identifier, in the schema's order.")]
    groups: Annotated[int, doc("Groups of records that agree in all of these quasi-identifiers.")]
    groups_merged: Annotated[int, doc("How many would be left if all of it was merged.")]


class _Compared:
    """The values (d,) of one quasi-identifier with how often each sensitive value occurs with each."""

    def __init__(self, codes: Ints, sensitive: Ints) -> None:
        self.nodes, places = np.unique(codes, return_inverse=True)
        values, of_record = np.unique(sensitive, return_inverse=True)
        d, m = len(self.nodes), len(values)
        self.counts = np.bincount(places * m + of_record, minlength=d * m).reshape(d, m).astype(np.int64)
        self.known = np.flatnonzero(~shows_nothing(self.nodes))
        self.of_record = places

    def probabilities(self) -> tuple[Floats, int]:
        """(d, d) of each pair of values that are not missing, 1 of one with itself; and how many are poor."""
        d, m = len(self.known), self.counts.shape[1]
        counts, found, poor = self.counts[self.known], np.ones((d, d)), 0
        left, right = np.triu_indices(d, 1)
        at_once = max(1, CELLS_AT_ONCE // m)
        for start in range(0, len(left), at_once):
            some = slice(start, start + at_once)
            u, v = left[some], right[some]
            statistics, freedom, is_poor = homogeneity(counts[u], counts[v])
            found[u, v] = found[v, u] = chi_square_tail(statistics, freedom)
            poor += int(np.count_nonzero(is_poor))
        return found, poor


def _joined(alike: Bools) -> Longs:
    """(d,) the group of each value: the first value that a chain of pairs (d, d) joins it to."""
    found = np.arange(len(alike), dtype=np.int64)
    for value in range(len(alike)):
        if found[value] != value:
            continue
        reached: Bools = np.zeros(len(alike), dtype=bool)
        fresh = np.arange(len(alike)) == value
        while fresh.any():
            reached |= fresh
            fresh = alike[fresh].any(axis=0) & ~reached
        found[reached] = value
    return found


def _positions(context: MeasureContext, own: MergeableValuesParameters) -> tuple[int, tuple[int, ...]]:
    """The sensitive attribute and those that are compared; InvalidInput if there is none, or one is both."""
    table = context.table
    sensitive = table.position(context.release.sensitive(own.attribute))
    compared = positions_of(table, own.quasi_identifiers)
    if sensitive in compared:
        raise InvalidInput.of(
            "/measure/attribute",
            "sensitive-and-quasi-identifier",
            f"The attribute {table.attributes[sensitive]!r} is among the quasi-identifiers.",
            "Leave it out of quasi_identifiers, or choose another attribute.",
        )
    for j in compared:
        found = len(np.unique(context.release.codes[:, j]))
        if found > MOST_VALUES:
            raise InvalidInput.of(
                "/measure/quasi_identifiers",
                "too-many-values",
                f"{table.attributes[j]!r} has {found:,} values; at most {MOST_VALUES:,} are compared.",
                "Leave it out, or generalise it first by a rule.",
            )
    return sensitive, compared


def _compute(context: MeasureContext, own: MergeableValuesParameters, tick: Tick) -> MergeableValues:
    table = context.table
    sensitive, compared = _positions(context, own)
    codes = context.release.codes
    has_value = ~(shows_nothing(codes[:, sensitive]) & (table.sizes[sensitive] > 1))
    rows = codes[has_value]
    attributes: list[MergeableAttribute] = []
    merged = []
    for number, j in enumerate(compared):
        values = _Compared(rows[:, j], rows[:, sensitive])
        found, groups = _of_attribute(table.attributes[j], table.hierarchies[j], values, own.alpha)
        attributes.append(found)
        merged.append(groups[values.of_record])
        tick(number + 1)
    n = len(rows)
    before = distinct_rows([rows[:, j] for j in compared], [table.sizes[j] for j in compared], n)
    after = distinct_rows(merged, [int(own.max(initial=0)) + 1 for own in merged], n)
    return MergeableValues(
        attribute=table.attributes[sensitive],
        alpha=own.alpha,
        records=n,
        records_without_value=len(codes) - n,
        depends_on_data=DEPENDS,
        attributes=tuple(attributes),
        groups=before.size,
        groups_merged=after.size,
    )


def _of_attribute(
    name: str, hierarchy: Hierarchy, values: _Compared, alpha: float
) -> tuple[MergeableAttribute, Longs]:
    """What is found of an attribute, and the group of each of its values, of missing ones their own."""
    probabilities, poor = values.probabilities()
    d = len(values.known)
    alike = probabilities >= alpha
    joined = _joined(alike)
    groups = np.arange(len(values.nodes), dtype=np.int64)
    groups[values.known] = values.known[joined] if d else values.known
    merged = tuple(_groups(hierarchy.labels, values, probabilities, joined))
    is_as_it_is = bool(hierarchy.is_leaf[values.nodes[values.known]].all())
    found = MergeableAttribute(
        name=name,
        values=d,
        values_merged=len(np.unique(joined)),
        pairs=d * (d - 1) // 2,
        pairs_alike=int(np.count_nonzero(np.triu(alike, 1))),
        pairs_unreliable=poor,
        merged=merged,
        rows=tuple(_rows(hierarchy, merged)) if is_as_it_is else (),
    )
    return found, groups


def _rows(hierarchy: Hierarchy, merged: tuple[ValuesAlike, ...]) -> Iterator[Row]:
    """Each leaf with what it would be: a group is called by its first value, which no other has."""
    if not merged or hierarchy.n_leaves > MOST_VALUES:
        return
    called: dict[str, CellValue] = {}
    for group in merged:
        first, second, *others = group.values
        name = f"{first} and {1 + len(others)} others" if others else f"{first} or {second}"
        called |= dict.fromkeys(group.values, CellValue(name))
    for leaf in hierarchy.leaves.tolist():
        label = CellValue(hierarchy.labels[leaf])
        yield label, called.get(label, label)


def _groups(
    labels: tuple[str, ...], values: _Compared, probabilities: Floats, joined: Longs
) -> Iterator[ValuesAlike]:
    for first in np.unique(joined).tolist():
        own = np.flatnonzero(joined == first)
        if len(own) > 1:
            nodes = values.nodes[values.known[own]].tolist()
            yield ValuesAlike(
                values=tuple(CellValue(labels[node]) for node in nodes),
                records=int(values.counts[values.known[own]].sum()),
                least_probability=float(probabilities[np.ix_(own, own)].min()),
            )


def _supports(context: MeasureContext, own: MergeableValuesParameters) -> str | None:
    """InvalidInput for what cannot be compared."""
    _positions(context, own)
    return None


def _cost(context: MeasureContext, own: MergeableValuesParameters) -> Cost:
    sensitive, compared = _positions(context, own)
    n, m = context.table.n_records, context.table.sizes[sensitive]
    sizes = [min(context.table.sizes[j], n, MOST_VALUES) for j in compared]
    cells = sum(d * d // 2 * m for d in sizes)
    seconds = SECONDS_PER_RECORD * n * (len(compared) + 1) + SECONDS_PER_CELL * cells
    n_bytes = 16 * n * (len(compared) + 2) + 100 * CELLS_AT_ONCE + 8 * max(sizes) ** 2
    return Cost(seconds, n_bytes, len(compared), "pairs of values")


MERGEABLE_VALUES: Final = Measure(
    name="mergeable_values",
    title="Values of quasi-identifiers that the sensitive attribute does not tell apart",
    source="Press et al. (2007), section 14.3: chi-square test of two binned data sets",
    guarantee="heuristic",
    parameters=MergeableValuesParameters,
    result=MergeableValues,
    supports=_supports,
    cost=_cost,
    compute=_compute,
    protects=False,
    tells_counts=True,
    example=Example(
        "which cities and ages say nothing of the income, so that they only split groups?",
        "members-mergeable",
        parameters={"attribute": "income", "quasi_identifiers": ["city"], "alpha": 0.05},
    ),
)
