"""Networks of 500,000 people: one item, common friends, the plan with a multiplier, recommendations.

The risk of all owners is taken of fewer, for the dense exponential grows with their cube.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg

from app.domain.arrays import Levels
from app.domain.networks.common_friends import common_friends, shared_friends
from app.domain.networks.diffusion import spread, spreads_of
from app.domain.networks.graph import Graph, graph_of_edges
from app.domain.networks.plans import Sharing, least_trade_off
from app.domain.search.lattices.branch_and_bound import search_boxes
from app.domain.search.objectives import MaxUtility
from app.domain.search.problem import Problem
from app.domain.search.recommendations import Invitations, recommendations
from tests.benchmarks.row import Report, Row, timed

PEOPLE: Final = 500_000
EDGES: Final = 2_500_000
OWNERS: Final = 4_000
ASKED_PAIRS: Final = 50_000
SHARING_PAIRS: Final = 1_000_000
ATTRIBUTES: Final = 20
TRADE_OFF: Final = 0.7
INVITATIONS: Final = 50_000
SHOWN_ATTRIBUTES: Final = 10
CAP: Final = 0.5
COMPARED: Final = 100


def rows(data: Path | None, report: Report) -> None:
    """A random network, which is the least kind to caches."""
    rng = np.random.default_rng(1)
    graph = graph_of_edges(PEOPLE, *rng.integers(0, PEOPLE, (2, EDGES)))
    weights = rng.uniform(0, 1, PEOPLE)
    weights[0] = 0.0
    report(_leaked(graph, weights, "trust stated in everybody"))
    friends = graph.links[[0]].indices
    weights = np.full(PEOPLE, 0.5)
    weights[friends] = (1 - rng.uniform(-1, 1, len(friends))) / 2
    weights[0] = 0.0
    report(_leaked(graph, weights, f"trust stated in {len(friends)} friends, 0 in others"))
    report(_leaked_of_all(rng))
    report(_common(graph, rng))
    report(_planned(rng))
    report(_recommended(rng))


def _leaked(graph: Graph, weights: np.ndarray, trust: str) -> Row:
    degrees = np.maximum(graph.degrees, 1.0)
    generator = scipy.sparse.csr_array(scipy.sparse.diags_array(1 / degrees) @ graph.links)
    generator.setdiag(np.where(graph.degrees > 0, -1.0, 0.0))
    trace = generator.trace()
    ours = timed(lambda: spread(graph, weights, "random_walk", 1.0), repeats=9)
    baseline = timed(lambda: scipy.sparse.linalg.expm_multiply(generator, weights, traceA=trace), repeats=9)
    return Row(
        f"the risk of one item at {PEOPLE:,} recipients, {EDGES:,} edges, {trust}",
        bar="0.8 s",
        aim="3 times as fast",
        ours_seconds=ours.seconds,
        baseline="scipy: expm_multiply of the same matrix, its trace given",
        baseline_seconds=baseline.seconds,
        peak_bytes=ours.peak_bytes,
        counters=ours.spent
        | {"truncation_error": ours.answer.truncation_error, "baseline_least_seconds": baseline.least},
        same_result=float(np.abs(ours.answer.values - baseline.answer).max()) <= 1e-12,
        detail="the matrix is made before; equal to 1e-12",
        bar_seconds=0.8,
        aim_seconds=baseline.seconds / 3,
    )


def _leaked_of_all(rng: np.random.Generator) -> Row:
    """The mean risk of each owner over all recipients, trust being the number of common friends."""
    graph = graph_of_edges(OWNERS, *rng.integers(0, OWNERS, (2, 5 * OWNERS)))
    links = graph.links

    def weights_of(owners: np.ndarray) -> np.ndarray:
        weights = 1 / (1 + (links @ links[owners].T).toarray())
        weights[owners, np.arange(len(owners))] = 0.0
        return np.asarray(weights)

    def in_blocks() -> np.ndarray:
        blocks = spreads_of(graph, np.arange(OWNERS), weights_of, "random_walk", 1.0)
        return np.concatenate([np.asarray(found.values.mean(axis=0)) for _, found in blocks])

    def dense() -> np.ndarray:
        leakage = links.toarray() / np.maximum(graph.degrees, 1.0)[:, None]
        np.fill_diagonal(leakage, graph.degrees == 0)
        kernel = scipy.linalg.expm(leakage - np.eye(OWNERS))
        return np.asarray((kernel @ weights_of(np.arange(OWNERS))).mean(axis=0))

    ours, baseline = timed(in_blocks), timed(dense, repeats=1, warm_up=0)
    return Row(
        f"the risk of the items of all {OWNERS:,} owners at all recipients",
        bar="4 times as fast, which is 10 times at 10,000 people",
        ours_seconds=ours.seconds,
        baseline="scipy: the dense expm of the whole matrix",
        baseline_seconds=baseline.seconds,
        peak_bytes=ours.peak_bytes,
        counters=ours.spent,
        same_result=float(np.abs(ours.answer - baseline.answer).max()) <= 1e-12,
        detail="blocks of owners, a mean per owner is kept; both count common friends; equal to 1e-12; dense "
        "time grows with the cube of the people, ours with the square",
        bar_seconds=baseline.seconds / 4,
    )


def _common(graph: Graph, rng: np.random.Generator) -> Row:
    """Half of the pairs are friends of a friend, the others anybody."""
    first, second = rng.integers(0, PEOPLE, (2, ASKED_PAIRS))
    starts, friends = graph.links.indptr, graph.links.indices
    half = np.flatnonzero(np.diff(starts) > 1)[: ASKED_PAIRS // 2]
    first[: len(half)], second[: len(half)] = friends[starts[half]], friends[starts[half] + 1]
    ours = timed(lambda: common_friends(graph, first, second))
    baseline = timed(lambda: graph.links[first].multiply(graph.links[second]).sum(axis=1))
    return Row(
        f"common friends of {ASKED_PAIRS:,} pairs among {PEOPLE:,} people",
        bar="0.2 s, without the square of the matrix",
        ours_seconds=ours.seconds,
        baseline="scipy: products of the rows of each pair, element by element",
        baseline_seconds=baseline.seconds,
        peak_bytes=ours.peak_bytes,
        counters=ours.spent | {"common": int(ours.answer.sum())},
        same_result=bool((ours.answer == baseline.answer).all()),
        bar_seconds=0.2,
    )


def _planned(rng: np.random.Generator) -> Row:
    owners, recipients = rng.integers(0, PEOPLE, (2, SHARING_PAIRS))
    sharing = Sharing(
        owners,
        recipients,
        rng.uniform(0, 1, SHARING_PAIRS),
        np.asfortranarray(rng.uniform(0, 1, (PEOPLE, ATTRIBUTES))),
        np.asfortranarray(rng.uniform(0, 1, (PEOPLE, ATTRIBUTES))),
        rng.integers(1, 6, ATTRIBUTES),
    )

    def at_once() -> np.ndarray:
        losses = sharing.risk_weights[:, None] * sharing.sensitivities[sharing.owners]
        return (TRADE_OFF * sharing.interests[sharing.recipients] > losses) * sharing.heights

    ours, baseline = timed(lambda: least_trade_off(sharing, TRADE_OFF)), timed(at_once)
    return Row(
        f"the plan of least L − λU of {SHARING_PAIRS:,} pairs × {ATTRIBUTES} attributes",
        bar="1 s",
        ours_seconds=ours.seconds,
        baseline="numpy: all cells at once",
        baseline_seconds=baseline.seconds,
        peak_bytes=ours.peak_bytes,
        counters=ours.spent | {"shown": int((ours.answer.levels > 0).sum())},
        same_result=bool((ours.answer.levels == baseline.answer).all()),
        bar_seconds=1.0,
    )


def _recommended(rng: np.random.Generator) -> Row:
    """Circles of 40 people with 20 friends each in theirs; each value is mostly that of the circle.

    Every attribute has a tree of three levels of three branches: a leaf is a number of three ternary digits.
    """
    ends = rng.integers(0, 40, (2, 10 * PEOPLE))
    graph = graph_of_edges(PEOPLE, *(ends + 40 * rng.integers(0, PEOPLE // 40, 10 * PEOPLE)))
    of_circle = rng.integers(0, 27, (PEOPLE // 40, SHOWN_ATTRIBUTES)).repeat(40, axis=0)
    is_typical = rng.random((PEOPLE, SHOWN_ATTRIBUTES)) < 0.6
    values = np.where(is_typical, of_circle, rng.integers(0, 27, (PEOPLE, SHOWN_ATTRIBUTES)))
    weights = rng.uniform(0.05, 0.3, (SHOWN_ATTRIBUTES, 4))[:, ::-1].cumsum(axis=1)[:, ::-1]
    utilities = rng.uniform(0.5, 1.5, (SHOWN_ATTRIBUTES, 4))[:, ::-1].cumsum(axis=1)[:, ::-1]
    utilities[:, 3] = 0.0
    people = rng.choice(PEOPLE, INVITATIONS, replace=False)
    inviters = people // 40 * 40 + (people + rng.integers(1, 40, INVITATIONS)) % 40

    def invitations(count: int) -> Iterator[Invitations]:
        for part, places, friends in shared_friends(graph, people[:count], inviters[:count]):
            theirs = values[people[part]][places]
            joins = sum((theirs // base != values[friends] // base).astype(np.int16) for base in (1, 3, 9))
            n = part.stop - part.start
            shape = (n, SHOWN_ATTRIBUTES, 4)
            yield Invitations(
                np.broadcast_to(weights, shape), np.broadcast_to(utilities, shape),
                np.full(shape[:2], 3), joins, np.bincount(places, minlength=n),
            )  # fmt: skip

    def by_pairs() -> list[float]:
        (asked,) = invitations(COMPARED)
        ends = np.cumsum(asked.friends)
        problem = Problem(MaxUtility(CAP), scope="record_level")
        of_friends = np.split(asked.joins, ends[:-1])
        found = [search_boxes(_OfFriends(weights, utilities, joins), problem) for joins in of_friends]
        return [one.utility if one.node else 0.0 for one in found]

    ours = timed(lambda: [recommendations(part, CAP) for part in invitations(INVITATIONS)], repeats=1)
    baseline = timed(by_pairs, repeats=1)
    utility = np.concatenate([part.utility for part in ours.answer])
    friends = np.concatenate([part.friends for part in invitations(INVITATIONS)])
    return Row(
        f"recommendations for {INVITATIONS:,} pairs, {SHOWN_ATTRIBUTES} attributes of 4 levels, cap {CAP}",
        bar="2 min",
        aim="10 times as fast",
        ours_seconds=ours.seconds,
        baseline=f"branch and bound of the searches of rules, pair by pair: {COMPARED} pairs, scaled",
        baseline_seconds=baseline.seconds * INVITATIONS / COMPARED,
        peak_bytes=ours.peak_bytes,
        counters=ours.spent
        | {
            "common_friends": int(friends.sum()),
            "accepted": int(sum(part.accepted.sum() for part in ours.answer)),
            "proven": int(sum(part.is_optimal.sum() for part in ours.answer)),
        },
        same_result=bool(np.allclose(utility[:COMPARED], baseline.answer, rtol=0, atol=1e-9)),
        detail="common friends are found and levels in common compared in the measured time",
        bar_seconds=120.0,
        aim_seconds=baseline.seconds * INVITATIONS / COMPARED / 10,
    )


class _OfFriends:
    """One invitation as a lattice of rules; nobody consistent is an infinite risk."""

    def __init__(self, weights: np.ndarray, utilities: np.ndarray, joins: np.ndarray) -> None:
        self._weights, self._utilities, self._joins = weights, utilities, joins
        self._rows = np.arange(len(weights))
        self.heights: Levels = (weights.shape[1] - 1,) * len(weights)

    def risks(self, levels: Levels) -> tuple[float, float]:
        """Risk, which is its own bound below."""
        xi = int((self._joins <= np.array(levels)).all(axis=1).sum())
        risk = float(self._weights[self._rows, levels].sum()) / xi if xi else np.inf
        return risk, risk

    def utility(self, levels: Levels) -> float:
        """Utility."""
        return float(self._utilities[self._rows, levels].sum())
