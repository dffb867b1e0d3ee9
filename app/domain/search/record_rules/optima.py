"""The optimum of every distinct record: by a scan where that decides it, else from the whole lattice.

A scan goes through the nodes with many records at a time and finds the least and the second least risk in
approximate arithmetic: exponentials of sums as products, node numbers in the last bits of the risks. Where
the two lie apart by more than a tie and all that rounding, the node is the only optimum, and its risk is
taken again as anywhere else; the other records are left to an exact evaluation. So the answers are the same.

Of what the unlinked attributes may disclose beside the linked ones, only the two ways of least harm that are
useful enough can be the least and the second least risk, since the counts are the same.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from operator import mul

import numpy as np

from app.domain.arrays import Bools, Floats, Levels, Longs
from app.domain.counting.calibration import SECONDS_PER_SCANNED_NODE
from app.domain.counting.roll_ups import Counts
from app.domain.search.problem import Problem
from app.domain.search.record_risk import Disclosed
from app.domain.search.record_rules.instance import RecordInstance
from app.domain.search.selection import INFEASIBLE, MOST_NODES, OPTIMAL, SLACK, Choice, LeastTwo, choose

MOST_WEIGHT = 300.0
"""Above it sums of weights lose too many digits as exponents."""

ROWS_AT_ONCE = 2**15
SCANNED_PER_EVALUATED = 4
"""How many times as many records a block has where they are scanned: they are that quick, and every block
ends with a thread that has nothing left to do."""


def are_separable(instance: RecordInstance) -> bool:
    """Whether :class:`Terms` can be made: risks are sums of finite weights, or exponentials, by a count."""
    sensitivity = instance.context.sensitivity
    if instance.rolled is None or instance.context.model.name not in ("I", "III"):
        return False
    most = MOST_WEIGHT if sensitivity.is_exponential else math.inf
    with np.errstate(invalid="ignore"):
        tops = [
            max(shape[0].max(), np.nanmax(sensitivity.factors[:, j], initial=0.0) * shape[1].max())
            for j, shape in enumerate(sensitivity.shapes)
        ]
    return bool(sum(tops) < most)


Companion = tuple[Levels, float | Floats]
"""Levels of the unlinked attributes, with their factor or summand of the harm."""


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
        self._exponential = instance.context.sensitivity.is_exponential
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

    @cached_property
    def _linked_strides(self) -> list[int]:
        return [self.strides[j] for j in self.linked]

    @cached_property
    def _unlinked_strides(self) -> list[int]:
        return [self.strides[j] for j in self.unlinked]

    def nodes_of(self, attributes: Sequence[int]) -> list[Levels]:
        """All levels of some attributes."""
        return list(itertools.product(*(range(self.shape[j]) for j in attributes)))

    def number(self, linked: Levels, unlinked: Levels) -> int:
        """The node's number."""
        of_linked = sum(map(mul, self._linked_strides, linked))
        return int(of_linked + sum(map(mul, self._unlinked_strides, unlinked)))

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

    def companions(self) -> list[Companion]:
        """The levels of the unlinked attributes, with their factor or summand of the harm."""
        found: list[Companion] = []
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
            counts = self._count(rung, linked)
            share = np.zeros(self.n_rows)
            if self._model == "I":
                np.divide(1.0, counts, out=share, where=counts > 0)
            else:
                np.divide(self._entities, counts, out=share, where=counts > 0)
                np.log(share, out=share, where=counts > 0)
                np.maximum(share, 0.0, out=share)
            self._last_share = rung, share
        return self._last_share[1]

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

    def scan(
        self, risk: Floats, wanted: Callable[[Levels], Sequence[Companion]]
    ) -> Iterator[tuple[Levels, Levels]]:
        """Write the risks at one node after the other, ∞ beyond a record's own top; yields their levels.

        ``wanted`` says which levels of the unlinked attributes are looked at beside those of the linked ones.
        """
        for linked in self.nodes_of(self.linked):
            companions = wanted(linked)
            if not companions:
                continue
            share = self.share(linked)
            base, beyond = self.base(linked, share), self.is_beyond(self.linked, linked)
            for unlinked, term in companions:
                self.risk_into(risk, share, base, term)
                for above in (beyond, self.is_beyond(self.unlinked, unlinked)):
                    if above is not None:
                        risk[above] = np.inf
                yield linked, unlinked

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


def optima_of(instance: RecordInstance, problem: Problem) -> Optima:
    """The cheapest way to the optima of an instance; the answers are the same."""
    # Where all harm is alike, most records have ties.
    varied = instance.context.sensitivity.family != "constant"
    few = instance.n_nodes <= MOST_NODES
    if problem.objective.kind == "min_risk" and varied and few and are_separable(instance):
        return ScannedOptima(instance, problem)
    return Optima(instance, problem)


class Optima:
    """The optima of distinct records, from all nodes of their lattices."""

    def __init__(self, instance: RecordInstance, problem: Problem) -> None:
        self._instance = instance
        self._problem = problem

    @property
    def rows_at_once(self) -> int:
        """Distinct records to ask for at once."""
        return self._instance.rows_at_once

    @property
    def rows_per_block(self) -> int:
        """Distinct records of a run's block."""
        return self._instance.rows_per_block

    @property
    def seconds_per_record(self) -> float:
        """Estimated time to solve one record that is counted for."""
        return self._instance.seconds_per_record

    def of(self, rows: Longs) -> tuple[Choice, Floats]:
        """The choices of some distinct records, whose counts must have been prepared, and their risks."""
        lattices = self._instance.evaluate(rows)
        risk, beyond = lattices.risk, self._instance.beyond_top(rows)
        if beyond is not None:
            # A node that repeats another is no tie of it; the other comes first and is never lost.
            risk[beyond] = np.inf
        choice = choose(risk, lattices.utility, self._problem.objective)
        return choice, risk[choice.node, np.arange(len(rows))]


class ScannedOptima(Optima):
    """The same for least risks of at least some utility, mostly by scans; rows are ranges."""

    @property
    def rows_at_once(self) -> int:
        """Distinct records to ask for at once."""
        return ROWS_AT_ONCE

    @property
    def rows_per_block(self) -> int:
        """Distinct records of a run's block."""
        return SCANNED_PER_EVALUATED * self._instance.rows_per_block

    @property
    def seconds_per_record(self) -> float:
        """Estimated time to scan the lattice of one record."""
        return self._instance.n_linked_nodes * SECONDS_PER_SCANNED_NODE

    def of(self, rows: Longs) -> tuple[Choice, Floats]:
        """As of :class:`Optima`; ``rows`` must be consecutive."""
        terms = Terms(self._instance, slice(int(rows[0]), int(rows[-1]) + 1))
        choice, is_sure = self._scan(terms)
        sure = np.flatnonzero(is_sure)
        choice.value[sure] = terms.exact_risks(sure, choice.node[sure])
        risk = choice.value.copy()
        choice.value[choice.code == INFEASIBLE] = np.inf
        open_ = np.flatnonzero(~is_sure)
        for start in range(0, len(open_), self._instance.rows_at_once):
            at = open_[start : start + self._instance.rows_at_once]
            exact, exact_risk = super().of(rows[at])
            for name in ("node", "code", "value", "ties", "reach"):
                getattr(choice, name)[at] = getattr(exact, name)
            risk[at] = exact_risk
        return choice, risk

    def _scan(self, terms: Terms) -> tuple[Choice, Bools]:
        floor = self._problem.objective.lowest_utility
        risk = np.empty(terms.n_rows)
        least = LeastTwo(risk, self._instance.n_nodes)
        companions = terms.companions()
        for linked, unlinked in terms.scan(risk, lambda at: self._useful(terms, at, companions, floor)):
            if self._utility is None:
                risk[_utility(terms, linked, unlinked) < floor] = np.inf
            least.take(terms.number(linked, unlinked))
        # The choices, and which of them are sure; of those the value is still to be found
        value, second, node = least.found()
        reach = terms.utility_at([0] * len(terms.shape))
        is_short = reach < floor
        is_sure = (second - np.where(np.isinf(value), 0.0, value) > SLACK * (1.0 + value)) | is_short
        ties = np.ones(terms.n_rows, dtype=np.int64)
        # A record that nobody is consistent with risks nothing as it is, and nothing is more useful.
        absent = terms.is_absent() & ~is_short & ((second == 0.0) | (second > SLACK))
        node[absent | is_short] = 0
        ties[absent & (second == 0.0)], ties[is_short] = 2, 0
        code = np.where(is_short, INFEASIBLE, OPTIMAL).astype(np.int8)
        return Choice(node, code, np.zeros(terms.n_rows), ties, reach), is_sure | absent

    def _useful(
        self, terms: Terms, linked: Levels, companions: list[Companion], floor: float
    ) -> list[Companion]:
        """The levels of the unlinked attributes that may make the least or second least risk."""
        utility = self._utility
        if utility is None:
            return companions
        useful = [
            (levels, term) for levels, term in companions if utility[terms.number(linked, levels)] >= floor
        ]
        if any(not isinstance(term, float) for _, term in useful) or any(
            terms.is_beyond(terms.unlinked, levels) is not None for levels, _ in useful
        ):
            return useful
        return sorted(useful, key=lambda companion: companion[1])[:2]

    @cached_property
    def _utility(self) -> Floats | None:
        return self._instance.common_utilities


def _utility(terms: Terms, linked: Levels, unlinked: Levels) -> Floats:
    levels = [0] * len(terms.shape)
    for j, level in (*zip(terms.linked, linked, strict=True), *zip(terms.unlinked, unlinked, strict=True)):
        levels[j] = level
    return terms.utility_at(levels)
