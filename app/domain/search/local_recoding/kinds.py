"""What searches for single records need of each kind of loss: costs of cells, gains of moves and a bound."""

from __future__ import annotations

from collections.abc import Callable

from app.domain.losses.catalogue import loss_of
from app.domain.losses.cells import CellLoss, DomainLoss
from app.domain.losses.counting import Counting
from app.domain.losses.loss import LossChoice
from app.domain.search.local_recoding.bounds import (
    AmbiguityBound,
    Bound,
    DivergenceBound,
    LeafLogarithms,
    LossBound,
    least_average_class_size,
    least_discernibility,
)
from app.domain.search.local_recoding.cells import Cells
from app.domain.search.local_recoding.class_losses import (
    Ambiguity,
    AverageClassSize,
    Discernibility,
    Divergence,
    Height,
)
from app.domain.search.local_recoding.demands import Demands
from app.domain.search.local_recoding.losses import CellSums, RecodingLoss
from app.domain.tables.table import Table


def cell_loss_of(table: Table, choice: LossChoice) -> CellLoss:
    """The loss, if it is a sum over cells; else one of cells that says which nodes are dear."""
    loss = loss_of(table, choice)
    if isinstance(loss, CellLoss):
        return loss
    if choice.kind == "ambiguity":
        return LeafLogarithms(table, table.quasi_identifiers, choice.leaves)
    return DomainLoss(table, "geometric", table.quasi_identifiers)


def recoding_loss_of(cells: Cells, choice: LossChoice) -> RecodingLoss:
    """The loss of recodings; NotSupported if it is the divergence and a hierarchy is no tree."""
    match choice.kind:
        case "discernibility":
            return Discernibility(cells)
        case "average_class_size":
            return AverageClassSize(cells)
        case "ambiguity":
            return Ambiguity(cells, choice.leaves)
        case "kl_divergence":
            return Divergence(cells, choice.leaves)
        case "height":
            names = [cells.table.attributes[j] for j in cells.attributes]
            return Height(cells, Counting.of(names, choice))
        case _:
            return CellSums(cells)


def bound_of(cells: Cells, demands: Demands, choice: LossChoice, least_height: Callable[[], float]) -> Bound:
    """A lower bound of the loss of all recodings; ``least_height`` bounds the height where that is asked."""
    match choice.kind:
        case "discernibility":
            return Bound(least_discernibility(cells, demands))
        case "average_class_size":
            return Bound(least_average_class_size(cells, demands))
        case "ambiguity":
            return AmbiguityBound(cells, demands, choice.leaves)
        case "kl_divergence":
            return DivergenceBound(cells, demands, choice.leaves)
        case "height":
            return Bound(least_height())
        case _:
            return LossBound(cells, demands)
