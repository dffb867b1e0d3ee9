"""Perturbation: every sensitive value is replaced at random, so that none is learnt too well of a record.

Quasi-identifiers stay as they are, or as a rule generalises them; each record's sensitive value is replaced
by one that the transition matrix draws for it (Cao and Karras (2012), section 5; Definitions: perturbation).
Who knows the matrix can still count: see :mod:`app.domain.mechanisms.count_estimates`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Final

import numpy as np
from annotated_types import doc

from app.domain.catalogue.catalogue_types import CellValue
from app.domain.classes.gains import saturation
from app.domain.errors import Fault, NotSupported, refuse
from app.domain.mechanisms.drawing import (
    BYTES_PER_RECORD,
    MOST_VALUES,
    RECORDS_AT_ONCE,
    replaced,
    require_values,
)
from app.domain.mechanisms.drawn_release import PublishedValues
from app.domain.mechanisms.guarantee_models import LIKENESS
from app.domain.mechanisms.inverse_matrix import InverseMatrix
from app.domain.mechanisms.likeness_matrix import greatest_floor
from app.domain.mechanisms.mechanism import Bits, Drawn, Mechanism, MechanismContext, MechanismPlan
from app.domain.mechanisms.perturbation_guarantee import likeness_guarantee, warnings_of
from app.domain.mechanisms.perturbed_column import Perturbation, PerturbedColumn
from app.domain.mechanisms.plan_constants import PERTURBATION_CONSTANTS
from app.domain.mechanisms.rule_before import changes, disclosed, touched
from app.domain.mechanisms.transition_matrix import TransitionMatrix
from app.domain.tables.numbers import rounded_down

SECONDS_PER_RECORD: Final = 1.5e-7
SECONDS_PER_VALUE: Final = 2e-6
BYTES_PER_VALUE: Final = 200


@dataclass(frozen=True, eq=False)
class PublishedPerturbation(PublishedValues):
    """What a reader needs to count: the matrix and what it was made for."""

    prior: Annotated[tuple[float, ...], doc("P: the share of each value before the release.")]
    retention: Annotated[
        tuple[float, ...], doc("α: with this probability a value is kept by the coin, whatever the draw.")
    ]
    elsewhere: Annotated[
        tuple[float, ...],
        doc(
            "Y: the probability that a value becomes some one other. The matrix has Y of the true value in "
            "every row of its column, and its α on top on the diagonal."
        ),
    ]

    @cached_property
    def matrix(self) -> TransitionMatrix:
        """The matrix of the retention."""
        return TransitionMatrix(np.array(self.retention))


def _supports(context: MechanismContext, parameters: Perturbation) -> str | None:
    column = PerturbedColumn.of(context, parameters)
    require_values(column.table, column.column)
    if len(column.nodes) > MOST_VALUES:
        return (
            f"{column.attribute!r} has {len(column.nodes):,} values. Group them into at most "
            f"{MOST_VALUES:,} in the data."
        )
    if changes(context, column.column):
        return touched(column.attribute, "perturbed")
    return None


def _missing(column: PerturbedColumn) -> tuple[Fault, ...]:
    """What is in the way of a draw."""
    if len(column.nodes) == 1:
        return ()
    own, m = column.parameters, len(column.nodes)
    if own.mode == "paper":
        retention = column.found.matrix.retention
        below = int(np.count_nonzero(retention <= 0))
        if below:
            fault = Fault(
                "/mechanism/mode",
                "invalid-alpha",
                f"The published formula gives {below:,} of {len(retention):,} values a retention of at most "
                f"0, the least {retention.min():.6g}: its proof does not hold then.",
                "Choose the mode safe.",
            )
            return (fault,)
    most = greatest_floor(column.excess)
    if own.alpha_floor is not None and own.alpha_floor > most:
        fault = Fault(
            "/mechanism/alpha_floor",
            "alpha-floor-too-large",
            f"The bound is proved for a retention of at most {most:.9g} of all {m:,} values; asked for "
            f"is {own.alpha_floor:g}.",
            f"Give at most {rounded_down(most)}, or a greater beta.",
        )
        return (fault,)
    return ()


def _plan(context: MechanismContext, parameters: Perturbation) -> MechanismPlan:
    column = PerturbedColumn.of(context, parameters)
    missing, m = _missing(column), len(column.nodes)
    return MechanismPlan(
        constants=_constants(column, bool(missing)),
        missing=missing,
        seconds=SECONDS_PER_RECORD * context.table.n_records + SECONDS_PER_VALUE * m,
        bytes=4 * context.table.n_records + BYTES_PER_VALUE * m + 6 * BYTES_PER_RECORD * RECORDS_AT_ONCE,
        guarantees=() if missing else (likeness_guarantee(column),),
        warnings=(*warnings_of(column), *(() if missing else _of_no_use(column))),
    )


def _of_no_use(column: PerturbedColumn) -> tuple[str, ...]:
    """A warning where nobody could count in the release."""
    try:
        InverseMatrix(column.found.matrix)
    except NotSupported:
        return (
            f"So little of {column.attribute!r} is kept that nothing can be counted in the release: the "
            "transition matrix has no useful inverse. Ask for a greater alpha_floor.",
        )
    return ()


def _constants(column: PerturbedColumn, infeasible: bool) -> dict[str, float]:
    """What follows from the prior, and, if there is a matrix to draw with, from that."""
    m = len(column.nodes)
    constants: dict[str, float] = {
        "values": m,
        "values_unused": column.unused,
        "beta_saturation": saturation(column.totals),
    }
    if m > 1:
        constants |= {
            "gamma_least": 1 + float(column.excess.min()),
            "gamma_greatest": 1 + float(column.excess.max()),
            "alpha_floor_greatest": greatest_floor(column.excess),
        }
    if infeasible:
        return constants
    found, gains = column.found, column.posteriors / column.prior - 1
    return constants | {
        "least_entry": found.least_entry,
        "alpha_least": float(found.matrix.retention.min()),
        "alpha_greatest": float(found.matrix.retention.max()),
        "expected_retention": float(column.prior @ found.matrix.kept),
        "greatest_posterior": float(column.posteriors.max()),
        "beta_achieved": max(0.0, float(gains.max())),
        "bound_used": float((column.posteriors / column.bounds).max()),
    }


def _draw(context: MechanismContext, parameters: Perturbation, bits: Bits) -> Drawn[PublishedPerturbation]:
    reason = _supports(context, parameters)
    if reason is not None:
        raise NotSupported.because(reason)
    column = PerturbedColumn.of(context, parameters)
    refuse(_missing(column))
    matrix, shown = column.found.matrix, disclosed(context)
    number = np.zeros(context.table.sizes[column.column], dtype=np.int32)
    number[column.nodes] = np.arange(len(column.nodes), dtype=np.int32)
    drawn = replaced(number.take(shown[:, column.column]), matrix, bits)
    columns = [shown[:, j] for j in range(shown.shape[1])]
    columns[column.column] = column.nodes.take(drawn)
    published = PublishedPerturbation(
        column.attribute,
        tuple(CellValue(label) for label in column.labels),
        tuple(column.prior.tolist()),
        tuple(matrix.retention.tolist()),
        tuple(matrix.elsewhere.tolist()),
    )
    return Drawn(tuple(columns), published)


PERTURBATION: Final = Mechanism(
    name="perturbation",
    title="Perturbation: sensitive values replaced at random",
    source="Cao and Karras (2012), section 5, with theorem 3 corrected (Definitions: perturbation)",
    family="perturb",
    parameters=Perturbation,
    published=PublishedPerturbation,
    guarantees=(LIKENESS,),
    constants=PERTURBATION_CONSTANTS,
    supports=_supports,
    plan=_plan,
    draw=_draw,
)
