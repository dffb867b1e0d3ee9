"""The losses that there are, by the name that requests give them."""

from __future__ import annotations

from collections.abc import Sequence

from app.domain.losses.cells import (
    CertaintyLoss,
    DomainLoss,
    EntropyLoss,
    HeightLoss,
    PrecisionLoss,
    SquaredErrorLoss,
)
from app.domain.losses.classes import AmbiguityLoss, AverageClassSizeLoss, DiscernibilityLoss
from app.domain.losses.counting import Counting
from app.domain.losses.kl_divergence import KLDivergenceLoss
from app.domain.losses.loss import Loss, LossChoice
from app.domain.tables.table import Table


def loss_of(table: Table, choice: LossChoice, attributes: Sequence[int] | None = None) -> Loss:
    """The chosen loss of a table's rules.

    Parameters
    ----------
    attributes
        Positions of the attributes that rules generalise; None: the table's quasi-identifiers.

    Raises InvalidInput at ``/objective/loss/numeric`` for an attribute there that is none of these or that
    holds values which are no numbers, at ``/objective/loss/weights`` for one that is none of these or if no
    weight is above 0, at ``/objective/loss/aggregate`` for a rank of one attribute; NotSupported if a
    hierarchy with levels between is no tree.
    """
    chosen = table.quasi_identifiers if attributes is None else tuple(attributes)
    counting = Counting.of([table.attributes[j] for j in chosen], choice)
    match choice.kind:
        case "geometric" | "arithmetic":
            return DomainLoss(table, choice.kind, chosen, choice.leaves, counting)
        case "precision":
            return PrecisionLoss(table, chosen, counting)
        case "height":
            return HeightLoss(table, chosen, counting)
        case "non_uniform_entropy":
            return EntropyLoss(table, chosen, counting)
        case "ail":
            return CertaintyLoss(table, chosen, choice.numeric, choice.leaves, counting)
        case "squared_error":
            return SquaredErrorLoss(table, chosen, choice.numeric, choice.leaves, counting)
        case "discernibility":
            return DiscernibilityLoss()
        case "average_class_size":
            return AverageClassSizeLoss()
        case "ambiguity":
            return AmbiguityLoss(table, chosen, choice.leaves)
        case "kl_divergence":
            return KLDivergenceLoss(table, chosen, choice.leaves)
