"""A network of people as a sparse matrix, made from edges (Fouad (2012), section 7.3)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from app.domain.arrays import Floats, Integers
from app.domain.classes.libraries import Library
from app.domain.errors import InvalidInput, counted, having

if TYPE_CHECKING:
    import scipy
else:
    scipy = Library("scipy")

ROW_TOLERANCE: Final = 1e-9  # by which stated leakage may differ from 1 in sum


@dataclass(frozen=True, eq=False)
class Graph:
    """A network without loops and repeated edges, which are counted; people are numbers from 0.

    ``links`` is (n, n) in compressed rows, ascending in each: the weight > 0 of the edge from the row's
    person to the column's, symmetric unless ``directed``.
    """

    links: scipy.sparse.csr_array
    directed: bool = False
    loops: int = 0
    repeated: int = 0

    @property
    def n_people(self) -> int:
        """People, those without edges included."""
        return int(self.links.shape[0])

    @cached_property
    def degrees(self) -> Floats:
        """(n,) sum of the weights of the edges that lead away from each person."""
        return np.asarray(self.links.sum(axis=1), dtype=np.float64).reshape(-1)

    def require_leakage(self) -> None:
        """Raise InvalidInput unless the weights that lead away from each person who has edges sum to 1."""
        off = int(((self.degrees > 0) & (np.abs(self.degrees - 1) > ROW_TOLERANCE)).sum())
        if off:
            raise InvalidInput.of(
                "/weight", "leakage-not-one",
                f"The weights of the edges from {counted(off, 'person', 'people')}, loops left out, do not "
                f"sum to 1 within {ROW_TOLERANCE:g}.",
                "Give each edge the share of what is passed on, or let the weights be divided by their sum.",
            )  # fmt: skip


def graph_of_edges(
    n_people: int, sources: Integers, targets: Integers, weights: Floats | None = None, directed: bool = False
) -> Graph:
    """Make a network of edges between people; without weights each counts 1. Time O(e log e).

    Raises InvalidInput, with the rows, for a weight that is not above 0, and for another weight of an edge
    given before; of an undirected network the edge back is the same one.
    """
    given = np.ones(len(sources)) if weights is None else weights
    bad = np.flatnonzero(~((given >= 1e-100) & (given <= 1e100)))
    if len(bad):
        raise InvalidInput.of(
            "/weight", "weight-out-of-range",
            f"{having(len(bad), 'edge')} a weight that is not from 1e-100 to 1e100 ({rows_named(bad)}).",
            "Give every edge a weight above 0; leave out edges along which nothing flows.",
        )  # fmt: skip
    places = np.flatnonzero(sources != targets)
    first, second = (np.asarray(ends, dtype=np.int64)[places] for ends in (sources, targets))
    if not directed:
        first, second = np.minimum(first, second), np.maximum(first, second)
    _, kept, edge = np.unique(first * n_people + second, return_index=True, return_inverse=True)
    values, given = given[places][kept], given[places]
    bad = places[given != values[edge]]
    if len(bad):
        raise InvalidInput.of(
            "/weight", "conflicting-weights",
            f"{having(len(bad), 'edge')} another weight than the same edge before ({rows_named(bad)}).",
            "Give every edge once.",
        )  # fmt: skip
    first, second = first[kept].astype(np.int32), second[kept].astype(np.int32)
    if not directed:
        first, second = np.concatenate([first, second]), np.concatenate([second, first])
        values = np.concatenate([values, values])
    links = scipy.sparse.csr_array((values, (first, second)), shape=(n_people, n_people))
    links.sort_indices()
    return Graph(links, directed, len(sources) - len(places), len(places) - len(kept))


def rows_named(rows: Integers) -> str:
    """The first of some rows, from 0, as a message names them."""
    return f"first rows: {', '.join(str(row + 1) for row in rows[:10].tolist())}"
