"""Laplace histogram: every combination that there can be is counted with exact noise.

The combinations are those of the public hierarchies at the levels of a public rule, be they in the data or
not. Each gets two-sided geometric noise, the discrete form of Laplace's (Dwork et al. (2006); Ghosh et al.
(2012)), and is published as often as its noisy count says; counts below 0 become 0, which looks at no record.

A record touches one combination by one, so that ε is kept with δ = 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
from annotated_types import doc

from app.domain.arrays import Longs
from app.domain.classes.ratios import as_written
from app.domain.errors import Fault, NotSupported, refuse
from app.domain.mechanisms.exact_noise import two_sided_geometric
from app.domain.mechanisms.guarantee_models import DIFFERENTIAL_PRIVACY
from app.domain.mechanisms.mechanism import Bits, Drawn, Mechanism, MechanismContext, MechanismPlan
from app.domain.mechanisms.noise_law import NoiseLaw
from app.domain.mechanisms.plan_constants import LAPLACE_CONSTANTS
from app.domain.mechanisms.private_release import (
    Epsilon,
    PublishedNoisyCounts,
    RuleIsPublic,
    law_constants,
    n_public_cells,
    private_guarantee,
    private_warnings,
    public_values,
    repeated,
    require_private,
    rule_faults,
    why_no_public_rule,
    why_of_data,
)
from app.domain.mechanisms.rule_before import disclosed

MOST_CELLS: Final = 1_000_000
MOST_ROWS_OF_NOISE: Final = 10_000_000
SECONDS_PER_CELL: Final = 2e-6
BYTES_PER_CELL: Final = 64
SECONDS_PER_ROW_AND_COLUMN: Final = 3e-7
BYTES_PER_ROW: Final = 45
BYTES_PER_ROW_AND_COLUMN: Final = 12


@dataclass(frozen=True, kw_only=True)
class LaplaceHistogram:
    """How near neighbours are, and what is declared of the rule."""

    epsilon: Epsilon
    rule_is_public: RuleIsPublic = False

    def __post_init__(self) -> None:
        require_private(self, self.epsilon)

    @property
    def law(self) -> NoiseLaw:
        """The noise."""
        return NoiseLaw(as_written(self.epsilon))


@dataclass(frozen=True, eq=False)
class PublishedLaplace(PublishedNoisyCounts):
    """What is told beside the rows."""

    why_not_counted = (
        "noisy counts below 0 were published as 0, which lifts sums over combinations by an amount that "
        "nothing published tells"
    )
    cells: Annotated[int, doc("Combinations that were counted, those that do not occur among them.")]


def _supports(context: MechanismContext, parameters: LaplaceHistogram) -> str | None:
    reason = why_no_public_rule(context)
    if reason is not None:
        return reason
    return why_of_data(
        context,
        ". Every combination that there can be is counted, and values that are known from the data alone "
        "would tell of them.",
    )


def _missing(context: MechanismContext, parameters: LaplaceHistogram) -> Iterator[Fault]:
    yield from rule_faults(context, parameters.rule_is_public)
    cells = n_public_cells(context)
    if cells > MOST_CELLS:
        yield Fault(
            "/mechanism",
            "too-many-cells",
            f"The hierarchies have {cells:,} combinations at these levels; at most {MOST_CELLS:,} are "
            "counted.",
            "Give a rule with more general levels, disclose fewer columns, or use stability_histogram.",
        )
    elif (rows := _rows_of_noise(cells, parameters)) > MOST_ROWS_OF_NOISE:
        yield Fault(
            "/mechanism/epsilon",
            "too-much-noise",
            f"About {rows:,.0f} rows would be published of combinations that do not occur; at most "
            f"{MOST_ROWS_OF_NOISE:,} may be expected.",
            "Give a greater epsilon, or a rule with more general levels.",
        )


def _rows_of_noise(cells: int, parameters: LaplaceHistogram) -> float:
    return cells * parameters.law.mean_above_zero


def _plan(context: MechanismContext, parameters: LaplaceHistogram) -> MechanismPlan:
    missing, cells, own = tuple(_missing(context, parameters)), n_public_cells(context), parameters
    rows, m = min(_rows_of_noise(cells, own), MOST_ROWS_OF_NOISE), context.table.n_attributes
    return MechanismPlan(
        constants={**law_constants(own.law), "cells": cells, "rows_of_noise": _rows_of_noise(cells, own)},
        missing=missing,
        seconds=SECONDS_PER_CELL * min(cells, MOST_CELLS) + SECONDS_PER_ROW_AND_COLUMN * m * rows,
        bytes=int(
            BYTES_PER_CELL * min(cells, MOST_CELLS) + (BYTES_PER_ROW + BYTES_PER_ROW_AND_COLUMN * m) * rows
        ),
        guarantees=() if missing else (private_guarantee(context, own.epsilon, 0.0, {}),),
        warnings=(
            f"Of {cells:,} combinations about {_rows_of_noise(cells, own):,.0f} rows are expected that are "
            "noise alone, with combinations that nobody has. Who counts in the table counts them, too.",
            *private_warnings(own.epsilon, 0.0, None),
        ),
    )


def clipped(counts: Longs, noise: Longs) -> Longs:
    """How often each combination is published: its noisy count, and 0 where that is below."""
    return np.asarray(np.maximum(counts + noise, 0))


def _draw(context: MechanismContext, parameters: LaplaceHistogram, bits: Bits) -> Drawn[PublishedLaplace]:
    reason = _supports(context, parameters)
    if reason is not None:
        raise NotSupported.because(reason)
    refuse(tuple(_missing(context, parameters)))
    values, shown = public_values(context), disclosed(context)
    sizes, cells = tuple(map(len, values)), n_public_cells(context)
    places = [np.searchsorted(own, shown[:, j]) for j, own in enumerate(values)]
    # (n,) the number of each combination, of any number of columns: NumPy numbers those of 64 at most
    numbers = np.zeros(context.table.n_records, dtype=np.int64)
    for own, size in zip(places, sizes, strict=True):
        numbers = numbers * size + own
    counts = np.bincount(numbers, minlength=cells)
    found = clipped(counts, two_sided_geometric(cells, parameters.law.epsilon, bits))
    which = np.flatnonzero(found)
    # Per column the places of the combinations that have these numbers
    numbers = which
    columns_places = []
    for size in reversed(sizes):
        numbers, of_column = np.divmod(numbers, size)
        columns_places.append(of_column)
    columns = [
        own.take(place).astype(np.int32) for own, place in zip(values, columns_places[::-1], strict=True)
    ]
    published = PublishedLaplace("add_or_remove_one_record", parameters.epsilon, 0.0, cells)
    return Drawn(repeated(columns, found[which]), published)


LAPLACE_HISTOGRAM: Final = Mechanism(
    name="laplace_histogram",
    title="Laplace histogram: every possible combination, counted with noise",
    source="Dwork et al. (2006); Ghosh et al. (2012), the two-sided geometric mechanism; with exact noise",
    family="noise",
    parameters=LaplaceHistogram,
    published=PublishedLaplace,
    guarantees=(DIFFERENTIAL_PRIVACY,),
    constants=LAPLACE_CONSTANTS,
    supports=_supports,
    plan=_plan,
    draw=_draw,
    keeps_records=False,
    hides_records=True,
)
