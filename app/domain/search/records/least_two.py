"""The least and the second least of many risks, with the node of the least, in one minimum per risk."""

from __future__ import annotations

import numpy as np

from app.domain.search.axes import Floats, Longs

MOST_NODES = 2**12
SLACK = 4e-12
"""More than a tie (1e-12) and the rounding of two risks (1e-12 each at 4,096 nodes), also relative."""


class LeastTwo:
    """The least and the second least of what is written to ``risk`` (rows,), all at least 0, and the node.

    The node's number takes the place of the last bits, so that one minimum finds both; non-negative doubles
    are ordered as the integers of their bits. Several may share one array.
    """

    def __init__(self, risk: Floats, n_nodes: int) -> None:
        self._bits = risk.view(np.int64)
        self._last = (1 << max(1, (n_nodes - 1).bit_length())) - 1
        most = np.iinfo(np.int64).max
        self._least, self._second = np.full(len(risk), most), np.full(len(risk), most)
        self._larger = np.empty(len(risk), dtype=np.int64)

    def take(self, node: int) -> None:
        """Take what was written to ``risk`` as that of a node."""
        np.bitwise_and(self._bits, ~self._last, out=self._bits)
        np.bitwise_or(self._bits, node, out=self._bits)
        np.maximum(self._least, self._bits, out=self._larger)
        np.minimum(self._second, self._larger, out=self._second)
        np.minimum(self._least, self._bits, out=self._least)

    def found(self) -> tuple[Floats, Floats, Longs]:
        """Least and second least, ∞ where there is none, and the node of the least."""
        return self._value(self._least), self._value(self._second), self._least & self._last

    def _value(self, bits: Longs) -> Floats:
        infinite = np.float64(np.inf).view(np.int64)
        value: Floats = np.minimum(bits & ~self._last, infinite).view(np.float64)
        return value
