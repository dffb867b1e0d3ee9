"""How much a release loses, by cell, class and reconstruction (Definitions: losses of information)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

import numpy as np
from annotated_types import Ge, Le, Len, MaxLen, doc

from app.domain.arrays import Indices, Longs
from app.domain.catalogue.meanings import FROM_ONE, FROM_ZERO, LOW, LOW_AMOUNT, LOW_SHARE, SHARE
from app.domain.classes.grouping import EquivalenceClasses, Grouping, lacking_records, positions_of
from app.domain.classes.released import Release
from app.domain.errors import InvalidInput
from app.domain.hierarchies.numbers import number_labels
from app.domain.losses.cell_costs import ConditionalBits, LeafShare, LevelShare
from app.domain.losses.cells import cost_of_range
from app.domain.losses.kl_boxes import Divergences, seconds_of_boxes
from app.domain.losses.kl_divergence import KLDivergenceLoss
from app.domain.losses.loss import LeafDomain
from app.domain.losses.released import (
    ReleaseDivergence,
    ShownCells,
    ambiguity,
    cells_of_rows,
    generalisation_height,
    greatest_levels,
    losses_within_classes,
    shown_cells,
    weighted_mean,
)
from app.domain.models.criterion import BY_ROWS
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick, given
from app.domain.models.judged import JudgedOn, judged_on
from app.domain.models.reading import unclassed
from app.domain.rules.rule import TableRule
from app.domain.tables.numbers import FEASIBILITY_TOLERANCE
from app.domain.tables.table import Table

SECONDS_PER_MEASUREMENT: Final = 6e-3
SECONDS_PER_CELL: Final = 1.5e-8


@dataclass(frozen=True, kw_only=True)
class InformationLossParameters(Grouping):
    """Whose loss is measured, and in which domain."""

    leaf_domain: Annotated[
        LeafDomain | None,
        doc(
            "Which values count where leaves are counted: all leaves of the hierarchy (`declared`) or those "
            "that occur in the dataset (`active`); null: active for the divergence, else declared. The "
            "normalised loss is told for both."
        ),
    ] = None
    numeric: Annotated[
        tuple[Annotated[str, Len(1, 200)], ...],
        MaxLen(100),
        doc("Quasi-identifiers whose values are numbers: `ail` measures them by ranges instead of leaves."),
    ] = ()
    weights: Annotated[
        Mapping[Annotated[str, Len(1, 200)], Annotated[float, Ge(0), Le(1)]],
        MaxLen(100),
        doc("Quasi-identifier → its weight in `ail`, adding up to 1; empty: all alike."),
    ] = field(default_factory=dict)


@dataclass(frozen=True)
class AttributeLoss:
    """What one quasi-identifier loses."""

    attribute: Annotated[str, doc("The attribute.")]
    loss: Annotated[float, doc("Normalised loss over all leaves of the hierarchy, from 0 to 1.")]
    loss_active: Annotated[float, doc("The same over the values that occur in the dataset.")]
    precision_loss: Annotated[float, doc("Mean level of the cells as a share of the hierarchy's height.")]
    ail: Annotated[float, doc("Mean share of the domain that a cell leaves open, 0 for single values.")]
    non_uniform_entropy: Annotated[float, doc("Bits that its cells lose.")]


@dataclass(frozen=True)
class InformationLoss:
    """How much a release loses; all numbers but ``expected_retention`` are better the smaller they are."""

    judged: Annotated[JudgedOn, doc("Which records were grouped, and how.")]
    geometric: Annotated[
        float,
        LOW_SHARE,
        doc("Normalised loss: geometric mean of 1 + the attributes' losses, less 1; from 0 to 1."),
    ]
    arithmetic: Annotated[float, LOW_SHARE, doc("Normalised loss: mean of the attributes' losses.")]
    geometric_active: Annotated[
        float, LOW_SHARE, doc("`geometric` over the values that occur in the dataset.")
    ]
    arithmetic_active: Annotated[
        float, LOW_SHARE, doc("`arithmetic` over the values that occur in the dataset.")
    ]
    precision_loss: Annotated[
        float,
        LOW_SHARE,
        doc("Mean over cells of their level as a share of the hierarchy's height; suppressed: 1."),
    ]
    ail: Annotated[
        float,
        LOW_SHARE,
        doc("Average information loss, or normalised certainty penalty, of the cells as they are shown."),
    ]
    ail_of_classes: Annotated[
        float | None,
        LOW_SHARE,
        doc(
            "The same if every class showed the narrowest range or lowest node above its own values; null if "
            "a hierarchy is no tree."
        ),
    ]
    non_uniform_entropy: Annotated[
        float,
        LOW_AMOUNT,
        doc("Bits that an attacker or analyst lacks to tell original values from those shown."),
    ]
    ambiguity: Annotated[
        float, LOW_AMOUNT, doc("Sum over records of the number of original records that each may stand for.")
    ]
    generalisation_height: Annotated[
        int, LOW, doc("Sum of the levels; without one level per attribute, of the greatest level of each.")
    ]
    discernibility: Annotated[
        int,
        LOW,
        doc("Sum over records of how many it cannot be told from; n for records left out as suppressed."),
    ]
    average_class_size: Annotated[
        float | None,
        LOW_AMOUNT,
        doc("Records divided by classes, those left out as suppressed counted as one class; null of none."),
    ]
    mean_class_size: Annotated[
        float | None, FROM_ONE, LOW, doc("Plain mean of the sizes of judged classes; null of none.")
    ]
    kl_divergence: Annotated[
        float | None,
        LOW_AMOUNT,
        doc(
            "Nats from the original distribution to what can be reconstructed; suppressed records are spread "
            "over all values. Null if a hierarchy is no tree, or if no record is counted."
        ),
    ]
    kl_dropped: Annotated[
        float | None,
        LOW_AMOUNT,
        doc("The same from the records that are not suppressed alone; infinite if a combination vanishes."),
    ]
    kl_withheld: Annotated[
        float | None,
        FROM_ZERO,
        doc("The same if every quasi-identifier were suppressed: the baseline to compare with."),
    ]
    attributes: Annotated[tuple[AttributeLoss, ...], doc("Each quasi-identifier.")]
    expected_retention: Annotated[
        float | None,
        SHARE,
        doc(
            "Of a release that was drawn the share of its rows that are expected to show the record's own "
            "value of the attribute that was drawn, kept or met by chance. It says how much a single row is "
            "worth, not a count of many: see query_accuracy. null: nothing was drawn by a published matrix."
        ),
    ] = None


def _attribute(name: str, cells: ShownCells, parameters: InformationLossParameters) -> AttributeLoss:
    hierarchy, records, domain = cells.hierarchy, cells.records, parameters.leaf_domain or "declared"
    ail = cost_of_range(name, hierarchy, records, parameters.numeric, domain)
    return AttributeLoss(
        attribute=name,
        loss=cells.lost(LeafShare(hierarchy, records, "declared")),
        loss_active=cells.lost(LeafShare(hierarchy, records, "active")),
        precision_loss=cells.lost(LevelShare(hierarchy, records)),
        ail=cells.lost(ail),
        non_uniform_entropy=cells.total(ConditionalBits(hierarchy, records)),
    )


def _weights(table: Table, names: Sequence[str], parameters: InformationLossParameters) -> list[float] | None:
    """Weight of each quasi-identifier in ``ail``, None for all alike; InvalidInput unless they are right."""
    for where, named in (("numeric", parameters.numeric), ("weights", tuple(parameters.weights))):
        strangers = [name for name in named if name not in names]
        if strangers:
            raise InvalidInput.of(
                f"/measure/{where}",
                "unknown-attribute",
                f"{strangers[0]!r} is none of the quasi-identifiers.",
                f"These are: {', '.join(names)}.",
            )
    for name in parameters.numeric:
        number_labels(name, table.hierarchies[table.position(name)], "/measure/numeric")
    if not parameters.weights:
        return None
    weights = [parameters.weights.get(name, 0.0) for name in names]
    if abs(math.fsum(weights) - 1.0) > FEASIBILITY_TOLERANCE:
        raise InvalidInput.of(
            "/measure/weights",
            "weights-not-1",
            f"The weights add up to {math.fsum(weights):.12g}.",
            "Divide them by their sum.",
        )
    return weights


def _geometric(losses: Sequence[float]) -> float:
    return math.expm1(math.fsum(map(math.log1p, losses)) / len(losses))


@dataclass(frozen=True, eq=False)
class _OneRulesClasses:
    """Classes of a table-level rule, as losses look at them."""

    sizes: Longs
    of_row: Indices


def _divergences(
    release: Release, classes: EquivalenceClasses, domain: LeafDomain
) -> tuple[Divergences, float]:
    """The release's divergences, and that of suppressing every quasi-identifier."""
    table = release.table
    attributes = classes.attributes
    sensitive = [j for j in map(table.position, sorted(table.sensitive)) if j not in attributes]
    top = TableRule(tuple(h if j in attributes else 0 for j, h in enumerate(table.heights)))
    if classes.n_missing:
        counted = ~lacking_records(table.codes, attributes, "excluded")
        found = ReleaseDivergence(release, attributes, sensitive, domain, counted).divergences()
        suppressed = ReleaseDivergence(Release(table, top), attributes, sensitive, domain, counted)
        return found, suppressed.divergences().spread
    loss = KLDivergenceLoss(table, attributes, domain)
    whole = _OneRulesClasses(np.array([table.n_records]), np.zeros(table.reduced.size, dtype=np.intp))
    baseline = loss.of([table.heights[j] for j in attributes], whole)
    rule = release.rule
    if isinstance(rule, TableRule) and not any(rule.levels[j] for j in sensitive):
        of_row = np.empty(table.reduced.size, dtype=np.intp)
        of_row[table.reduced.inverse] = classes.of_record
        alike = loss.of([rule.levels[j] for j in attributes], _OneRulesClasses(classes.records, of_row))
        return Divergences(alike, alike), baseline
    return ReleaseDivergence(release, attributes, sensitive, domain).divergences(), baseline


def _compute(context: MeasureContext, parameters: InformationLossParameters, tick: Tick) -> InformationLoss:
    if context.drawn is not None:
        return _of_draw(context, parameters, tick)
    release, table = context.release, context.table
    classes = release.classes(parameters)
    positions = classes.attributes
    names = [table.attributes[j] for j in positions]
    weights = _weights(table, names, parameters)
    found = [
        _attribute(name, shown_cells(release, j), parameters)
        for name, j in zip(names, positions, strict=True)
    ]
    domain = parameters.leaf_domain or "declared"
    within = losses_within_classes(release, classes, parameters.numeric, domain)
    divergences, baseline = None, None
    are_trees = all(table.hierarchies[j].is_tree for j in (*positions, *map(table.position, table.sensitive)))
    # Records that are left out for a missing value say nothing of what can be reconstructed.
    is_counted = not classes.n_missing or not lacking_records(table.codes, positions, "excluded").all()
    if are_trees and is_counted:
        divergences, baseline = _divergences(release, classes, parameters.leaf_domain or "active")
    tick(1)
    return InformationLoss(
        **_of_cells(found, weights),
        **_of_classes(classes),
        judged=judged_on(table, parameters, classes),
        ail_of_classes=None if within is None else weighted_mean(within, weights),
        ambiguity=ambiguity(table, release.codes, positions, domain),
        generalisation_height=generalisation_height(release, positions),
        kl_divergence=None if divergences is None else divergences.spread,
        kl_dropped=None if divergences is None else divergences.dropped,
        kl_withheld=baseline,
    )


def _of_cells(found: Sequence[AttributeLoss], weights: Sequence[float] | None) -> dict[str, Any]:
    """What follows from the losses of the attributes."""
    return {
        "geometric": _geometric([own.loss for own in found]),
        "arithmetic": math.fsum(own.loss for own in found) / len(found),
        "geometric_active": _geometric([own.loss_active for own in found]),
        "arithmetic_active": math.fsum(own.loss_active for own in found) / len(found),
        "precision_loss": math.fsum(own.precision_loss for own in found) / len(found),
        "ail": weighted_mean([own.ail for own in found], weights),
        "non_uniform_entropy": math.fsum(own.non_uniform_entropy for own in found),
        "attributes": tuple(found),
    }


def _of_classes(classes: EquivalenceClasses) -> dict[str, Any]:
    """What follows from the sizes of the classes."""
    everybody, n_classes = classes.n_judged + classes.n_suppressed, classes.n_classes
    return {
        "discernibility": int(classes.records @ classes.sizes) + everybody * classes.n_suppressed,
        "average_class_size": everybody / (n_classes + (classes.n_suppressed > 0)) if everybody else None,
        "mean_class_size": classes.n_judged / n_classes if n_classes else None,
    }


def _of_draw(context: MeasureContext, parameters: InformationLossParameters, tick: Tick) -> InformationLoss:
    """What the drawn rows lose by their own nodes; whose they are is not known, nor needed for that."""
    table, drawn, rows = context.table, given(context.drawn), context.of_rows
    classes, shown = rows.release.classes(parameters), drawn.table.codes
    positions = classes.attributes
    weights = _weights(table, [table.attributes[j] for j in positions], parameters)
    cells = [cells_of_rows(table, shown, j) for j in positions]
    found = [
        _attribute(table.attributes[j], own, parameters) for j, own in zip(positions, cells, strict=True)
    ]
    tick(1)
    return InformationLoss(
        **_of_cells(found, weights),
        **_of_classes(classes),
        judged=judged_on(rows.table, parameters, classes),
        ail_of_classes=None,
        ambiguity=ambiguity(table, shown, positions, parameters.leaf_domain or "declared"),
        generalisation_height=greatest_levels(cells),
        kl_divergence=None,
        kl_dropped=None,
        kl_withheld=None,
        expected_retention=drawn.expected_retention,
    )


def _supports(context: MeasureContext, parameters: InformationLossParameters) -> str | None:
    if context.drawn is None:
        return None
    rows, records = context.drawn.table.n_records, context.table.n_records
    if rows != records:
        return (
            f"The release has {rows:,} rows of a dataset of {records:,} records: what a record has lost "
            "cannot be told. Choose query_accuracy."
        )
    return unclassed(context, parameters)


def _cost(context: MeasureContext, parameters: InformationLossParameters) -> Cost:
    table = context.table
    attributes = positions_of(table, parameters.quasi_identifiers)
    looked_at = [*attributes, *map(table.position, table.sensitive)]
    n, width = table.n_records, len(looked_at)
    seconds, size = n * (width + 4) * SECONDS_PER_CELL, 8 * n * (3 * width + 16)
    seconds += SECONDS_PER_MEASUREMENT
    trees = [table.hierarchies[j] for j in looked_at]
    if all(tree.is_tree for tree in trees) and not isinstance(context.release.rule, TableRule):
        shown = [context.release.codes[:, j] for j in looked_at]
        seconds += seconds_of_boxes(trees, shown, table.reduced.size)
    return Cost(seconds, size, 1, "classes")


INFORMATION_LOSS: Final = Measure(
    name="information_loss",
    title="Information lost, by cell, class and reconstruction",
    source=(
        "Definitions: losses of information; KL divergence: Machanavajjhala (2008), section 3.6; "
        "average information loss: Cao and Karras (2012), section 4.1"
    ),
    guarantee="exact",
    parameters=InformationLossParameters,
    result=InformationLoss,
    supports=_supports,
    cost=_cost,
    compute=_compute,
    protects=False,
    example=Example(
        "how much of the members' data does the rule lose?",
        "proposal-loss",
        rule="proposal",
        parameters={"leaf_domain": "active"},
    ),
    looks_at="originals",
    reads=frozenset({"records", "rows"}),
    by_persons=BY_ROWS,
)
