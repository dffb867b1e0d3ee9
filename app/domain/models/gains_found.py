"""What results say of the gain of a reader on one sensitive value in one class."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from annotated_types import doc

from app.domain.arrays import Floats, Longs, firsts_of_greatest, greatest_first
from app.domain.catalogue.catalogue_types import CellValue
from app.domain.catalogue.meanings import FROM_MINUS_ONE, GAIN, LOW, LOW_AMOUNT, RATIO, SHARE
from app.domain.classes.gains import Gains
from app.domain.classes.sensitive_counts import SensitiveCounts
from app.domain.errors import NotSupported
from app.domain.models.judged import ClassRef, class_ref
from app.domain.models.sensitive_values import SensitiveValues


@dataclass(frozen=True)
class GainFound:
    """One value in one class, beside how frequent it is in the reference."""

    exposed: Annotated[ClassRef, doc("The class.")]
    value: Annotated[CellValue, doc("The value.")]
    with_value: Annotated[int, doc("Records of the class that have it; rows that show it, if it was drawn.")]
    in_class: Annotated[
        float,
        SHARE,
        doc(
            "q: what a reader believes then: its share of the class, or its probability after the published "
            "value, if it was drawn."
        ),
    ]
    in_table: Annotated[
        float, SHARE, doc("p: its share of the reference, which is what a reader believed before.")
    ]
    ratio: Annotated[float, RATIO, doc("q / p: how many times as likely it has become.")]
    gain: Annotated[
        float, FROM_MINUS_ONE, GAIN, doc("(q − p) / p: the relative gain, one less than the ratio.")
    ]
    bound: Annotated[
        float, SHARE, doc("f(p): the largest share that β-likeness allows it, for the β asked for.")
    ]
    utilisation: Annotated[float, LOW_AMOUNT, doc("q / f(p): above 1 the bound is broken.")]
    breaks_cap: Annotated[
        bool, LOW, doc("Whether the gain exceeds −ln p: enhanced β-likeness holds for no β.")
    ]


class GainsOfClasses:
    """The gains on every value in every class, and where the greatest are.

    ``bounds`` are f(p) of each value. ``counts`` are those of ``values`` beside the reference that readers
    are taken to know, and may number values differently.
    """

    def __init__(self, values: SensitiveValues, counts: SensitiveCounts, bounds: Floats) -> None:
        self._values, self._counts, self._bounds = values, counts, bounds
        self.gains = Gains.of(counts)

    def of_entry(self, entry: int) -> GainFound:
        """One entry of the counts."""
        counts, gains = self._counts, self.gains
        value = int(counts.values[entry])
        in_class = int(gains.amounts[entry]) / int(gains.sizes[entry])
        in_table = int(gains.totals[entry]) / gains.population
        bound, expected = float(self._bounds[value]), int(gains.expected[entry])
        return GainFound(
            exposed=class_ref(self._values.classes, int(counts.of_entry[entry])),
            value=CellValue(self._values.hierarchy.labels[int(counts.nodes[value])]),
            with_value=int(gains.amounts[entry]),
            in_class=in_class,
            in_table=in_table,
            ratio=int(gains.found[entry]) / expected if expected else math.inf,
            gain=float(gains.relative[entry]),
            bound=bound,
            utilisation=in_class / bound if bound else math.inf,
            breaks_cap=bool(gains.breaks_cap[entry]),
        )

    def greatest(self, entries: Longs, top: int) -> tuple[GainFound, ...]:
        """The entries of greatest gain, the first of equals first."""
        order = greatest_first(self.gains.relative[entries], top)
        return tuple(map(self.of_entry, entries[order].tolist()))

    def one_per_class(self) -> Longs:
        """The entry of greatest gain of each class that has values, the first of equals."""
        return firsts_of_greatest(self._counts.of_entry, self._counts.n_classes, self.gains.relative)

    def one_per_value(self) -> Longs:
        """The entry of greatest gain of each value, the first of equals."""
        return firsts_of_greatest(self._counts.values, self._counts.n_values, self.gains.relative)


def require_values(values: SensitiveValues) -> None:
    """Raise NotSupported if no record of the table has a value that counts: there is no share to compare."""
    if not values.counts.n_values:
        raise NotSupported(
            f"No record has a value of {values.name!r}.",
            "Let missing sensitive values be a category of their own, or choose another attribute.",
        )
