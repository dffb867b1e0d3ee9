"""Risk and utility of a range of records, attribute by attribute, for going through their nodes in turn."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from app.domain.counting.roll_ups import Counts
from app.domain.search.axes import Floats, Longs
from app.domain.search.exposure import Disclosed
from app.domain.search.records.record_instance import RecordInstance

Bools = npt.NDArray[np.bool_]
Levels = tuple[int, ...]

EXPONENTIAL = ("multiplicative", "multiplicative_centered")
MOST_WEIGHT = 300.0
"""Above it sums of weights lose too many digits as exponents."""


def are_separable(instance: RecordInstance) -> bool:
    """Whether :class:`Terms` can be made: risks are sums of finite weights, or exponentials, by a count."""
    sensitivity = instance.context.sensitivity
    if instance.rolled is None or instance.context.model.name not in ("I", "III"):
        return False
    most = MOST_WEIGHT if sensitivity.family in EXPONENTIAL else math.inf
    with np.errstate(invalid="ignore"):
        tops = [
            max(shape[0].max(), np.nanmax(sensitivity.factors[:, j], initial=0.0) * shape[1].max())
            for j, shape in enumerate(sensitivity.shapes)
        ]
    return bool(sum(tops) < most)


class Terms:
    """What each attribute adds at each of its levels to the harm and utility of a range of records.

    ``linked`` and ``unlinked`` are positions of attributes; a node's levels are those of all in the table's
    order.
    """

    def __init__(self, instance: RecordInstance, rows: slice) -> None:
        rolled = instance.rolled
        if rolled is None:
            raise ValueError("these records have no terms")
        self.rows = rows
        self.n_rows = rows.stop - rows.start
        self.shape = instance.shape
        self.linked = [j for j, linked in enumerate(instance.is_linked) if linked]
        self.unlinked = [j for j, linked in enumerate(instance.is_linked) if not linked]
        self._weights: dict[tuple[int, int], Floats] = {}
        self._last_share: tuple[Levels, Floats] | None = None
        self._kept_counts: dict[Levels, Counts] = {}
        self._prefixes: dict[Levels, Floats] = {}
        self._counts = rolled.at_levels(rows)
        self._instance = instance
        self._exponential = instance.context.sensitivity.family in EXPONENTIAL
        self._centred = instance.context.sensitivity.family == "multiplicative_centered"
        constant = instance.context.sensitivity
        self._constant = constant.constant if constant.family == "constant" else None
        self._model = instance.context.model.name
        self._entities = float(rolled.n_entities)

    def weight(self, j: int, level: int) -> Floats:
        """What an attribute adds to the harm of each record at a level."""
        found = self._weights.get((j, level))
        if found is None:
            found = self._weights[j, level] = self._instance.weights_at(j, level, self.rows)
        return found

    @cached_property
    def _beyond(self) -> list[Bools]:
        return [self._instance.beyond_top_of(j, self.rows) for j in range(len(self.shape))]

    # --- nodes ---------------------------------------------------------------------------------------

    @cached_property
    def strides(self) -> list[int]:
        """How much one level of each attribute adds to a node's number."""
        return [math.prod(self.shape[j + 1 :]) for j in range(len(self.shape))]

    def nodes_of(self, attributes: Sequence[int]) -> list[Levels]:
        """All levels of some attributes."""
        return list(itertools.product(*(range(self.shape[j]) for j in attributes)))

    def number(self, linked: Levels, unlinked: Levels) -> int:
        """The node's number."""
        pairs = (*zip(self.linked, linked, strict=True), *zip(self.unlinked, unlinked, strict=True))
        return sum(self.strides[j] * level for j, level in pairs)

    def utility_at(self, levels: Sequence[int]) -> Floats:
        """Utility of each record at a node, summed as anywhere else."""
        total = np.zeros(self.n_rows)
        for j, level in enumerate(levels):
            total = total + self._instance.utilities_at(j, level, self.rows)
        return total

    def is_beyond(self, attributes: Sequence[int], levels: Levels) -> Bools | None:
        """Records at whose own top the levels only repeat ⊥; None if there are none."""
        found = None
        for j, level in zip(attributes, levels, strict=True):
            if self._has_beyond[j][level]:
                found = self._beyond[j][level] if found is None else found | self._beyond[j][level]
        return found

    @cached_property
    def _has_beyond(self) -> list[list[bool]]:
        return [[bool(level.any()) for level in beyond] for beyond in self._beyond]

    # --- approximate risks ---------------------------------------------------------------------------

    def companions(self) -> list[tuple[Levels, float | Floats]]:
        """The levels of the unlinked attributes, with their factor or summand of the harm."""
        found: list[tuple[Levels, float | Floats]] = []
        for levels in self.nodes_of(self.unlinked):
            common, own = 0.0, None
            for j, level in zip(self.unlinked, levels, strict=True):
                alike = self._instance.common_weight(j, level)
                if alike is not None:
                    common += alike
                else:
                    own = self.weight(j, level) if own is None else own + self.weight(j, level)
            if own is None or bool((own == own[0]).all()):
                total = common if own is None else common + float(own[0])
                found.append((levels, math.exp(total) if self._exponential else total))
            else:
                found.append((levels, np.exp(own + common) if self._exponential else own + common))
        return found

    def share(self, linked: Levels) -> Floats:
        """What a unit of harm risks at levels of the linked attributes: 1/|ρ| or ln(N/|ρ|), 0 without ρ.

        Levels that the dictionary does not tell apart share one array.
        """
        rung = self._counts.node_of(linked)
        if self._last_share is None or self._last_share[0] != rung:
            self._last_share = rung, self._share(self._count(rung, linked))
        return self._last_share[1]

    def _share(self, counts: Counts) -> Floats:
        share = np.zeros(self.n_rows)
        if self._model == "I":
            np.divide(1.0, counts, out=share, where=counts > 0)
        else:
            np.divide(self._entities, counts, out=share, where=counts > 0)
            np.log(share, out=share, where=counts > 0)
            np.maximum(share, 0.0, out=share)
        return share

    def base(self, linked: Levels, share: Floats) -> Floats:
        """The share times what the linked attributes contribute to the harm."""
        if self._constant is not None:
            return share * self._constant
        harm = self._sums(linked[:-1]) + self.weight(self.linked[-1], linked[-1])
        if self._exponential:
            np.exp(harm, out=harm)
        harm *= share
        return harm

    def _sums(self, linked: Levels) -> float | Floats:
        """The weights of the first linked attributes, kept while the last one changes."""
        if not linked:
            return 0.0
        found = self._prefixes.get(linked)
        if found is None:
            own = self.weight(self.linked[len(linked) - 1], linked[-1])
            found = self._prefixes[linked] = self._sums(linked[:-1]) + own
        return found

    def risk_into(self, out: Floats, share: Floats, base: Floats, term: float | Floats) -> None:
        """Risk from the share, the base and what the unlinked attributes contribute."""
        if self._exponential:
            np.multiply(base, term, out=out)
            if self._centred:
                out -= share
                np.maximum(out, 0.0, out=out)
        else:
            np.multiply(share, term, out=out)
            out += base

    # --- exact risks ---------------------------------------------------------------------------------

    def exact_risks(self, at: Longs, nodes: Longs) -> Floats:
        """The risks of records at positions ``at`` of the range, each at a node, as taken anywhere else."""
        # Numbers of 16 bits are sorted by their digits.
        order = np.argsort(
            nodes.astype(np.uint16 if self._instance.n_nodes < 2**16 else np.int64), kind="stable"
        )
        held = np.bincount(nodes)
        weights, counts = np.zeros(len(at)), np.empty(len(at))
        ends = np.cumsum(held)
        for node in np.flatnonzero(held).tolist():
            part = slice(int(ends[node] - held[node]), int(ends[node]))
            rows = at[order[part]]
            levels = [node // stride % size for stride, size in zip(self.strides, self.shape, strict=True)]
            for j, level in enumerate(levels):
                weights[part] += self.weight(j, level)[rows]
            linked = tuple(levels[j] for j in self.linked)
            counts[part] = self._count(self._counts.node_of(linked), linked)[rows]
        phi = self._instance.context.sensitivity.of_sum(weights)
        found = np.empty(len(at))
        found[order] = self._instance.exposure.risks(Disclosed((counts,), (self._entities,), phi, None))
        return found

    def _count(self, rung: Levels, linked: Levels) -> Counts:
        """|ρ| at levels of the linked attributes, kept by the rungs that they stand on."""
        found = self._kept_counts.get(rung)
        if found is None:
            found = self._kept_counts[rung] = self._counts.counts(linked)
        return found

    def is_absent(self) -> Bools:
        """Whether nobody is consistent with each record as it is."""
        original = (0,) * len(self.linked)
        absent: Bools = self._count(self._counts.node_of(original), original) == 0
        return absent
