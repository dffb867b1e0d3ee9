"""Group inference: what a release tells of the sensitive values of groups with the same quasi-identifiers.

The distribution of a perturbed release in a group is reconstructed through the inverse of the matrix (Cao and
Karras (2012), section 5), with its standard error over draws. Of a large group it is nearly the truth, and
whoever is known to belong to it has each value with that probability.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Final

import numpy as np
from annotated_types import Ge, Gt, Le, doc

from app.domain.arrays import Floats, Ints, Longs
from app.domain.attacks.population_inference import QuasiIdentifiers
from app.domain.attacks.shown_values import ShownValues, shown_values
from app.domain.catalogue.catalogue_types import CellValue
from app.domain.catalogue.meanings import FROM_ZERO, LOW, LOW_AMOUNT, SHARE
from app.domain.classes.grouping import SensitiveName
from app.domain.mechanisms.count_estimates import deviations
from app.domain.mechanisms.transition_matrix import DENSE_LIMIT
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick
from app.domain.tables.distinct import distinct_rows

NUMBERS_AT_ONCE: Final = 2**20
SECONDS_PER_CELL: Final = 6e-8
SECONDS_PER_ESTIMATE: Final = 4e-8
SECONDS_PER_PRODUCT: Final = 5e-10


@dataclass(frozen=True, kw_only=True)
class GroupParameters:
    """Which groups are looked at, and from what gain on they count as exposed."""

    quasi_identifiers: QuasiIdentifiers = None
    attribute: SensitiveName = None
    least_records: Annotated[int, Ge(1), Le(10**9), doc("Groups of fewer rows are not looked at.")] = 100
    errors: Annotated[
        float,
        Ge(0),
        Le(100),
        doc("Standard errors that are taken off an estimated gain before it counts."),
    ] = 2.0
    gain: Annotated[
        float,
        Gt(0),
        Le(1e6),
        doc("A group is exposed if what is left of the gain on some value is more: 1 is twice as likely."),
    ] = 1.0
    top: Annotated[int, Ge(1), Le(200), doc("Most groups to list.")] = 10


@dataclass(frozen=True)
class GroupTold:
    """A group, and the value of which most is told."""

    shows: Annotated[tuple[CellValue, ...], doc("What its rows show, in the order of `quasi_identifiers`.")]
    records: Annotated[int, doc("Rows of the group that show a value.")]
    value: Annotated[CellValue, doc("The value.")]
    before: Annotated[float, SHARE, doc("p: how likely it is without the release.")]
    estimated: Annotated[float, doc("Estimated share of the group that has it; may be below 0 or above 1.")]
    standard_error: Annotated[float, FROM_ZERO, doc("Of that share, over draws; 0 where nothing was drawn.")]
    gain: Annotated[float, doc("(estimated − p) / p.")]
    gain_left: Annotated[float, doc("The same less the standard errors asked for.")]


@dataclass(frozen=True)
class GroupInference:
    """How much more likely values are told to be in large groups."""

    attribute: Annotated[str, doc("The sensitive attribute.")]
    quasi_identifiers: Annotated[tuple[str, ...], doc("Attributes that rows were grouped by.")]
    groups: Annotated[int, doc("Groups that were looked at.")]
    records: Annotated[int, doc("Rows in these groups.")]
    groups_exposed: Annotated[int, LOW, doc("Groups with more of a gain left than was asked for.")]
    records_exposed: Annotated[int, LOW, doc("Rows in these groups.")]
    worst_gain: Annotated[
        float | None, LOW_AMOUNT, doc("Greatest gain that is left, at least 0; null without a group.")
    ]
    worst: Annotated[
        tuple[GroupTold, ...], doc("Groups of the greatest gain left, each with its value, highest first.")
    ]


@dataclass(frozen=True, eq=False)
class _Estimates:
    """Of each group (g,): its rows, the value of which most is told, and what is told of that."""

    records: Floats
    values: Longs
    shares: Floats
    errors: Floats
    gains: Floats
    left: Floats


class _Estimator:
    """Estimates the shares of values in groups, with their standard errors."""

    def __init__(self, shown: ShownValues, errors: float) -> None:
        self._shown, self._taken_off = shown, errors
        each = np.eye(shown.n_values)
        self._deviations = deviations(shown.matrix, shown.inverse.weights(each), each)

    def of(self, published: Floats) -> _Estimates:
        """Of groups with these published counts (g, m)."""
        prior, records = self._shown.prior, published.sum(axis=1)
        counts = self._shown.inverse.applied(published)
        errors = np.sqrt(np.maximum(counts, 0.0) @ self._deviations.T) / records[:, None]
        shares = counts / records[:, None]
        gains = (shares - prior) / prior
        left = gains - self._taken_off * errors / prior
        values = left.argmax(axis=1)
        own = (np.arange(len(values)), values)
        return _Estimates(records, values, shares[own], errors[own], gains[own], left[own])


def _estimates(
    shown: ShownValues, parameters: GroupParameters, sizes: Sequence[int]
) -> tuple[Ints, _Estimates]:
    """What each large group shows (g, known), and what is estimated of it."""
    has_value, known, m = shown.numbers >= 0, shown.quasi_identifiers, shown.n_values
    numbers = shown.numbers[has_value].astype(np.int64)
    rows = distinct_rows([shown.codes[has_value, j] for j in known], [sizes[j] for j in known], len(numbers))
    large = np.flatnonzero(rows.counts >= parameters.least_records)
    place = np.full(rows.size, -1, dtype=np.int64)
    place[large] = np.arange(len(large))
    of_row = place[rows.inverse]
    order = np.argsort(of_row, kind="stable")[np.count_nonzero(of_row < 0) :]
    of_row, numbers = of_row[order], numbers[order]
    estimator, parts = _Estimator(shown, parameters.errors), []
    at_once = max(1, NUMBERS_AT_ONCE // m)
    for start in range(0, len(large), at_once):
        n = min(at_once, len(large) - start)
        block = slice(*np.searchsorted(of_row, (start, start + n)).tolist())
        cells = (of_row[block] - start) * m + numbers[block]
        parts.append(estimator.of(np.bincount(cells, minlength=n * m).reshape(n, m).astype(np.float64)))
    if not parts:
        nothing = np.empty(0)
        return rows.codes[large], _Estimates(nothing, nothing.astype(np.int64), *[nothing] * 4)
    every = ([getattr(own, field.name) for own in parts] for field in fields(_Estimates))
    return rows.codes[large], _Estimates(*map(np.concatenate, every))


def _compute(context: MeasureContext, parameters: GroupParameters, tick: Tick) -> GroupInference:
    table = context.table
    shown = shown_values(context, parameters.attribute, parameters.quasi_identifiers)
    groups, found = _estimates(shown, parameters, table.sizes)
    exposed = found.left > parameters.gain
    labels = [table.hierarchies[j].labels for j in shown.quasi_identifiers]

    def told(g: int) -> GroupTold:
        value = int(found.values[g])
        return GroupTold(
            shows=tuple(CellValue(own[node]) for own, node in zip(labels, groups[g].tolist(), strict=True)),
            records=int(found.records[g]),
            value=shown.labels[value],
            before=float(shown.prior[value]),
            estimated=float(found.shares[g]),
            standard_error=float(found.errors[g]),
            gain=float(found.gains[g]),
            gain_left=float(found.left[g]),
        )

    tick(1)
    return GroupInference(
        attribute=shown.name,
        quasi_identifiers=tuple(table.attributes[j] for j in shown.quasi_identifiers),
        groups=len(groups),
        records=int(found.records.sum()),
        groups_exposed=int(np.count_nonzero(exposed)),
        records_exposed=int(found.records[exposed].sum()),
        worst_gain=max(0.0, float(found.left.max())) if len(groups) else None,
        worst=tuple(map(told, np.argsort(-found.left, kind="stable")[: parameters.top].tolist())),
    )


def _supports(context: MeasureContext, parameters: GroupParameters) -> str | None:
    """Why not; NotSupported for a matrix without an inverse."""
    shown = shown_values(context, parameters.attribute, parameters.quasi_identifiers)
    _ = shown.inverse
    if shown.n_values <= DENSE_LIMIT:
        return None
    return (
        f"{shown.name!r} shows {shown.n_values:,} values. Errors are estimated of up to {DENSE_LIMIT:,}: "
        "generalise the values, or count those of interest in the release."
    )


def _cost(context: MeasureContext, parameters: GroupParameters) -> Cost:
    shown = shown_values(context, parameters.attribute, parameters.quasi_identifiers)
    rows, m, known = len(shown.numbers), shown.n_values, len(shown.quasi_identifiers)
    table = context.table if context.drawn is None else context.drawn.table
    groups = min(table.reduced.size, rows // parameters.least_records)
    seconds = SECONDS_PER_CELL * rows * (known + 2)
    seconds += groups * m * (SECONDS_PER_ESTIMATE + SECONDS_PER_PRODUCT * m)
    return Cost(seconds, 40 * rows + 48 * groups + 80 * NUMBERS_AT_ONCE, 1, "classes")


GROUP_INFERENCE: Final = Measure(
    name="group_inference",
    title="Group inference: sensitive values of large groups",
    source="Cao and Karras (2012), section 5",
    guarantee="statistical",
    parameters=GroupParameters,
    result=GroupInference,
    cost=_cost,
    compute=_compute,
    example=Example(
        "which incomes are told of whole groups?",
        "proposal-groups",
        rule="proposal",
        parameters={"quasi_identifiers": ("race",), "least_records": 2, "top": 3},
    ),
    supports=_supports,
    protects=False,
    reads=frozenset({"records", "matrix_and_prior"}),
)
