"""The losses that there are, by the name that requests give them."""

from __future__ import annotations

from functools import partial

from app.domain.errors import InvalidInput
from app.domain.losses.cell_costs import ConditionalBits, LevelShare
from app.domain.losses.cells import CellLoss, DomainLoss, HeightLoss, cost_of_error, cost_of_range
from app.domain.losses.classes import AmbiguityLoss, AverageClassSizeLoss, DiscernibilityLoss
from app.domain.losses.counting import Counting
from app.domain.losses.kl_divergence import KLDivergenceLoss
from app.domain.losses.loss import Loss, LossChoice
from app.domain.tables.table import Table


def loss_of(table: Table, choice: LossChoice) -> Loss:
    """The chosen loss of a table's rules, which generalise its quasi-identifiers.

    Losses of cells are the mean of what the attributes have lost, or what else ``counting`` makes of it:
    precision of levels as a share of the height (Sweeney (2002)), non-uniform entropy of bits (Gionis and
    Tassa (2009)), ail of what cells leave open as they are shown (Cao and Karras (2012); NCP), squared error
    of squared errors where values are numbers and of the normalised loss elsewhere.

    Raises InvalidInput at ``/objective/loss/numeric`` for an attribute there that is none of these or that
    holds values which are no numbers, at ``/objective/loss/weights`` for one that is none of these or if no
    weight is above 0, at ``/objective/loss/aggregate`` for a rank of one attribute; NotSupported if a
    hierarchy with levels between is no tree.
    """
    chosen = table.quasi_identifiers
    names = [table.attributes[j] for j in chosen]
    counting = Counting.of(names, choice)
    strangers = set(choice.numeric) - set(names)
    if strangers and choice.kind in ("ail", "squared_error"):
        raise InvalidInput.of(
            "/objective/loss/numeric",
            "unknown-attribute",
            f"{min(strangers)!r} is none of the attributes that are generalised.",
            f"These are: {', '.join(names)}.",
        )
    match choice.kind:
        case "geometric" | "arithmetic":
            return DomainLoss(table, choice.kind, chosen, choice.leaves, counting)
        case "precision":
            return CellLoss(table, chosen, choice.kind, lambda _, h, own: LevelShare(h, own), counting)
        case "height":
            return HeightLoss(table, chosen, counting)
        case "non_uniform_entropy":
            # Terms are bits per record, so that they are of the size for which searches round.
            bits, n = (lambda _, h, own: ConditionalBits(h, own)), table.n_records
            return CellLoss(table, chosen, choice.kind, bits, counting, unit=n)
        case "ail":
            ranges = partial(cost_of_range, numeric=choice.numeric, domain=choice.leaves)
            return CellLoss(table, chosen, choice.kind, ranges, counting)
        case "squared_error":
            errors = partial(cost_of_error, numeric=choice.numeric, domain=choice.leaves)
            return CellLoss(table, chosen, choice.kind, errors, counting, is_monotone=False)
        case "discernibility":
            return DiscernibilityLoss()
        case "average_class_size":
            return AverageClassSizeLoss()
        case "ambiguity":
            return AmbiguityLoss(table, chosen, choice.leaves)
        case "kl_divergence":
            return KLDivergenceLoss(table, chosen, choice.leaves)
