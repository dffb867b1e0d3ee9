"""The optimum of every distinct record: by a scan where that decides it, else from the whole lattice.

A scan goes through the nodes with many records at a time and finds the least and the second least risk in
approximate arithmetic: exponentials of sums as products, node numbers in the last bits of the risks. Where
the two lie apart by more than a tie and all that rounding, the node is the only optimum, and its risk is
taken again as anywhere else; the other records are left to an exact evaluation. So the answers are the same.

Of what the unlinked attributes may disclose beside the linked ones, only the two ways of least harm that are
useful enough can be the least and the second least risk, since the counts are the same.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from app.domain.numbers import lowest_accepted
from app.domain.search.axes import Floats, Longs
from app.domain.search.problem import Problem
from app.domain.search.records.least_two import MOST_NODES, SLACK, LeastTwo
from app.domain.search.records.record_instance import RecordInstance
from app.domain.search.records.record_terms import Levels, Terms, are_separable
from app.domain.search.selection import INFEASIBLE, OPTIMAL, Choice, choose

Bools = npt.NDArray[np.bool_]

ROWS_AT_ONCE = 2**15
SECONDS_PER_SCANNED_NODE = 1.5e-8


def optima_of(instance: RecordInstance, problem: Problem) -> Optima:
    """The cheapest way to the optima of an instance; the answers are the same."""
    # Where all harm is alike, most records have ties.
    varied = instance.context.sensitivity.family != "constant"
    few = instance.n_nodes <= MOST_NODES
    if problem.objective == "min_risk" and varied and few and are_separable(instance):
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
        choice = choose(risk, lattices.utility, self._problem)
        return choice, risk[choice.node, np.arange(len(rows))]


class ScannedOptima(Optima):
    """The same for least risks of at least some utility, mostly by scans; rows are ranges."""

    @property
    def rows_at_once(self) -> int:
        """Distinct records to ask for at once."""
        return ROWS_AT_ONCE

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
        floor = lowest_accepted(self._problem.threshold)
        risk = np.empty(terms.n_rows)
        least = LeastTwo(risk, self._instance.n_nodes)
        companions = terms.companions()
        for linked in terms.nodes_of(terms.linked):
            useful = self._useful(terms, linked, companions, floor)
            if not useful:
                continue
            share = terms.share(linked)
            base, beyond = terms.base(linked, share), terms.is_beyond(terms.linked, linked)
            for unlinked, term in useful:
                terms.risk_into(risk, share, base, term)
                for above in (beyond, terms.is_beyond(terms.unlinked, unlinked)):
                    if above is not None:
                        risk[above] = np.inf
                if self._utility is None:
                    risk[_utility(terms, linked, unlinked) < floor] = np.inf
                least.take(terms.number(linked, unlinked))
        return _chosen(terms, least, floor)

    def _useful(
        self, terms: Terms, linked: Levels, companions: list[tuple[Levels, float | Floats]], floor: float
    ) -> list[tuple[Levels, float | Floats]]:
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


def _chosen(terms: Terms, least: LeastTwo, floor: float) -> tuple[Choice, Bools]:
    """The choices, and which of them are sure; of those the value is still to be found."""
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


def _utility(terms: Terms, linked: Levels, unlinked: Levels) -> Floats:
    levels = [0] * len(terms.shape)
    for j, level in (*zip(terms.linked, linked, strict=True), *zip(terms.unlinked, unlinked, strict=True)):
        levels[j] = level
    return terms.utility_at(levels)
