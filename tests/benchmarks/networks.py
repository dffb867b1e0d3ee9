"""Networks of 500,000 people: the risk of one item, common friends, and the plan with a multiplier.

The risk of all owners is taken of fewer, for the dense exponential grows with their cube.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg

from app.domain.networks.common_friends import common_friends
from app.domain.networks.diffusion import spread, spreads_of
from app.domain.networks.graph import Graph, graph_of_edges
from app.domain.networks.plans import Sharing, least_trade_off
from tests.benchmarks.row import Report, Row, timed

PEOPLE: Final = 500_000
EDGES: Final = 2_500_000
OWNERS: Final = 4_000
ASKED_PAIRS: Final = 50_000
SHARING_PAIRS: Final = 1_000_000
ATTRIBUTES: Final = 20
TRADE_OFF: Final = 0.7


def rows(data: Path | None, report: Report) -> None:
    """A random network, which is the least kind to caches."""
    rng = np.random.default_rng(1)
    graph = graph_of_edges(PEOPLE, *rng.integers(0, PEOPLE, (2, EDGES)))
    report(_leaked(graph, rng))
    report(_leaked_of_all(rng))
    report(_common(graph, rng))
    report(_planned(rng))


def _leaked(graph: Graph, rng: np.random.Generator) -> Row:
    weights = rng.uniform(0, 1, PEOPLE)
    weights[0] = 0.0
    degrees = np.maximum(graph.degrees, 1.0)
    generator = scipy.sparse.csr_array(scipy.sparse.diags_array(1 / degrees) @ graph.links)
    generator.setdiag(np.where(graph.degrees > 0, -1.0, 0.0))
    trace = generator.trace()
    ours = timed(lambda: spread(graph, weights, "random_walk", 1.0))
    baseline = timed(lambda: scipy.sparse.linalg.expm_multiply(generator, weights, traceA=trace), repeats=2)
    return Row(
        f"the risk of one item at {PEOPLE:,} recipients, {EDGES:,} edges",
        bar="0.8 s",
        aim="3 times as fast",
        ours_seconds=ours.seconds,
        baseline="scipy: expm_multiply of the same matrix, its trace given",
        baseline_seconds=baseline.seconds,
        peak_bytes=ours.peak_bytes,
        counters=ours.spent | {"truncation_error": ours.answer.truncation_error},
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
        return weights

    def in_blocks() -> np.ndarray:
        blocks = spreads_of(graph, np.arange(OWNERS), weights_of, "random_walk", 1.0)
        return np.concatenate([found.values.mean(axis=0) for _, found in blocks])

    def dense() -> np.ndarray:
        leakage = links.toarray() / np.maximum(graph.degrees, 1.0)[:, None]
        np.fill_diagonal(leakage, graph.degrees == 0)
        kernel = scipy.linalg.expm(leakage - np.eye(OWNERS))
        return (kernel @ weights_of(np.arange(OWNERS))).mean(axis=0)

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
