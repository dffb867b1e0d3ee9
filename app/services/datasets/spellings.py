"""What a file writes in several ways and a dataset takes for one value, and the table as it is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
from annotated_types import Ge

from app.domain.arrays import Ints
from app.domain.catalogue.catalogue_types import Example
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.services.datasets.dataset_encoding import EncodedAttribute
from app.services.datasets.text_columns import MISSING, TextColumn

MOST_NAMED: Final = 100
"""So many spellings of a column are named, the rarest first: they are the ones that tell records apart."""


@dataclass(frozen=True)
class Spelling:
    """One of several ways in which a file writes a value."""

    text: Annotated[str, Example("Lafayette ")]
    """As it is written."""
    value: Annotated[str | None, Example("Lafayette")]
    """What it is read as; null: as missing."""
    rows: Annotated[int, Ge(0), Example(1)]
    """Rows that have it."""


def spellings_of(column: TextColumn) -> tuple[Spelling, ...]:
    """The texts that are read as the same value as another text of the column, or as a missing one."""
    written = column.as_written
    means, values = _of_texts(column.positions, written), (*column.values, None)
    ways = np.bincount(means[means != MISSING], minlength=len(values))
    merged = np.flatnonzero((means == MISSING) | (ways[means] > 1)).tolist()
    found = [Spelling(written.values[i], values[means[i]], int(written.rows_per_value[i])) for i in merged]
    return tuple(sorted(found, key=lambda own: (own.rows, own.value or "", own.text))[:MOST_NAMED])


def as_written(attribute: EncodedAttribute) -> EncodedAttribute:
    """The attribute with a value of its own for each text of the file, below what it is read as.

    A text that is the only one of its value, or else the value itself or the most frequent one, keeps its
    node; whatever finds records by values, as dictionaries do, finds the others by what they mean.
    """
    written, hierarchy = attribute.column.as_written, attribute.hierarchy
    labels, parents = list(hierarchy.labels), list(hierarchy.parents)
    means = _of_texts(attribute.codes(), written)
    nodes, taken = means.copy(), {TOP}
    texts = enumerate(zip(written.values, means.tolist(), written.rows_per_value.tolist(), strict=True))
    # The texts that keep their nodes come first.
    for place, (text, node, _) in sorted(texts, key=lambda own: (own[1][0] != labels[own[1][1]], -own[1][2])):
        if node in taken:
            nodes[place] = len(labels)
            labels.append(text)
            parents.append((node,))
        taken.add(node)
    apart = Hierarchy(tuple(labels), tuple(parents), hierarchy.warnings)
    return EncodedAttribute(attribute.declaration, written, apart, nodes)


def _of_texts(cells: Ints, written: TextColumn) -> Ints:
    """(len(values),) the number of each text's first cell."""
    found = np.full(len(written.values) + 1, MISSING, dtype=np.int32)
    found[written.positions[::-1]] = cells[::-1]
    return found[:-1]
