"""How an item spreads in a network: K·w for kernels of diffusion (Fouad (2012), section 7.3).

The rows of a kernel K sum to 1: K_vj is the share of what is placed at v that is at j afterwards. W is the
leakage, the weights of edges over their sum per person; whoever has no edges keeps everything.

``random_walk`` is exp(t(W − I)): W^k mixed with Poisson probabilities, until W^k·w hardly differs between
people. ``laplacian`` is exp(t·Lap), Lap = A − D negative semidefinite: a Chebyshev series, √(t·degree)
products. ``steps`` is W^p.

As K·w = c + K·(w − c), a usual weight c is first subtracted from those of one owner. Where trust is stated in
few people most weights are equal: few differences are not 0, and the first products read these people's edges
only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from app.domain.arrays import Floats, Longs
from app.domain.classes.libraries import Library
from app.domain.errors import InvalidInput
from app.domain.networks.graph import Graph

if TYPE_CHECKING:
    import scipy
else:
    scipy = Library("scipy")

Kernel = Literal["random_walk", "laplacian", "steps"]
WeightsOf = Callable[[Longs], Floats]
TOLERANCE: Final = 1e-13  # of the greatest weight, for the terms of a series that are left out
MOST_REACH: Final = 1e7
LEAST_TOGETHER: Final = 16  # owners in a block, whose weights of one person are read together
_IN_CACHE: Final = 160_000  # numbers of a block
_SAMPLE: Final = 1_000  # people, the median of whose weights is the usual one
_FEW: Final = 0.5  # of people and of edges, up to which only the edges of people with a value are read
_DEVIATIONS: Final = 12  # beyond which the terms of a series are nothing beside the tolerance


@dataclass(frozen=True, eq=False)
class Spread:
    """K·w of each person, and a bound on the error of cutting a series off, in which rounding is not."""

    values: Floats
    truncation_error: float


def spread(graph: Graph, weights: Floats, kernel: Kernel, time: float = 1.0, steps: int = 1) -> Spread:
    """The mean of finite weights where an item placed at each person is afterwards.

    ``weights`` are (n,), or (n, b) for b owners at once, as are the values. ``time`` is of the two
    exponentials, ``steps`` of the powers. Raises InvalidInput for a time that is negative or not finite,
    negative steps, and the Laplacian kernel of a directed network.
    """
    for name, extent in (("time", time), ("steps", steps)):
        if not (math.isfinite(extent) and extent >= 0):
            raise InvalidInput.of(f"/{name}", "out-of-range", f"{name} must be finite and at least 0.")
    if kernel == "laplacian" and graph.directed:
        raise InvalidInput.of(
            "/kernel", "directed-laplacian", "The Laplacian kernel is of undirected networks.",
            "Choose random_walk, or take the edges as undirected.",
        )  # fmt: skip
    if not graph.links.nnz or not weights.size:
        return Spread(weights, 0.0)
    some = weights[:: max(1, len(weights) // _SAMPLE)] if weights.ndim == 1 else np.zeros(1)
    usual = float(np.partition(some, len(some) // 2)[len(some) // 2])
    differences = weights - usual if usual else weights
    if kernel == "steps":
        walk = _walk(graph, weights.ndim)
        for _ in range(steps):
            differences = walk(differences)
        found = Spread(differences, 0.0)
    else:
        allowed = TOLERANCE * np.abs(weights).max(axis=0)
        by_series = _by_chebyshev if kernel == "laplacian" else _by_steps
        found = by_series(graph, differences, time, allowed)
    # Rounding must not take a mean outside of what it is the mean of.
    means = np.clip(found.values + usual, weights.min(axis=0), weights.max(axis=0))
    return Spread(means, found.truncation_error)


def spreads_of(
    graph: Graph, owners: Longs, weights_of: WeightsOf, kernel: Kernel, time: float = 1.0, steps: int = 1
) -> Iterator[tuple[Longs, Spread]]:
    """The spread for many owners, or all: blocks (b,) of them with the values (n, b) for each.

    ``weights_of`` gives the weights (n, b) of a block. b is 16, or more for fewer than 10,000 people. Some
    six arrays of n·b numbers are held: 8 MB up to 10,000 people, 400 MB for 500,000.
    """
    together = max(LEAST_TOGETHER, _IN_CACHE // max(graph.n_people, 1))
    for first in range(0, len(owners), together):
        block = owners[first : first + together]
        yield block, spread(graph, weights_of(block), kernel, time, steps)


def poisson_shares(mean: float) -> tuple[Floats, float]:
    """Poisson probabilities of 0..m, and the sum of those above; none that counts underflows.

    Multiplied up and down from the most probable number, then scaled to sum 1 (Fox and Glynn (1988)).
    """
    peak = math.floor(mean)
    numbers = np.arange(1, peak + math.ceil(_DEVIATIONS * (math.sqrt(mean) + 2)) + 10)
    down = np.cumprod(numbers[:peak][::-1] / (mean or 1.0))[::-1]
    shares = np.concatenate([down, [1.0], np.cumprod(mean / numbers[peak:])])
    return _cut_off(shares / shares.sum(), TOLERANCE / 10)


def _cut_off(shares: Floats, tolerance: float) -> tuple[Floats, float]:
    """The first terms of a series, and the sum of those left out, at most the tolerance."""
    left_out = np.append(np.cumsum(shares[::-1])[::-1], 0.0)
    length = max(1, int(np.argmax(left_out <= tolerance)))
    return shares[:length], float(left_out[length])


def _walk(graph: Graph, dimensions: int) -> Callable[[Floats], Floats]:
    """Multiplication by W."""
    stays = np.flatnonzero(graph.degrees == 0)
    factors = 1 / np.where(graph.degrees == 0, 1.0, graph.degrees)
    factors = factors if dimensions == 1 else factors[:, None]

    def walk(values: Floats) -> Floats:
        moved = _through_edges(graph, values)
        moved *= factors
        moved[stays] = values[stays]
        return moved

    return walk


def _through_edges(graph: Graph, values: Floats) -> Floats:
    """The links times values; while few are not 0, by the rows of these people: links are symmetric."""
    links = graph.links
    if values.ndim == 1 and not graph.directed and np.count_nonzero(values) <= _FEW * len(values):
        people = np.flatnonzero(values)
        if (links.indptr[people + 1] - links.indptr[people]).sum() <= _FEW * links.nnz:
            return np.asarray(links[people].T @ values[people])
    return np.asarray(links @ values)


def _by_steps(graph: Graph, weights: Floats, time: float, allowed: Floats) -> Spread:
    """exp(t(W − I))·w = Σ p_k W^k w with Poisson probabilities p_k, cut off after m steps.

    The rows of W sum to 1 and hold nothing below 0: W^k w, k > m, stays between the least and the greatest
    of W^m w. In place of the terms left out their probability times the middle of the two is added: the
    error is at most that probability times half of their difference.
    """
    walk, (shares, tail) = _walk(graph, weights.ndim), poisson_shares(time)
    later = np.cumsum(np.append(shares, tail)[::-1])[::-1]
    has_edges = graph.degrees > 0
    if graph.directed:
        has_edges = has_edges | (np.bincount(graph.links.indices, minlength=graph.n_people) > 0)
    isolated = np.flatnonzero(~has_edges)
    # Who has no edges keeps everything, and must not widen the range of the others.
    moved, linked = weights.astype(np.float64), graph.links.indices[0]
    total = np.zeros_like(moved)
    for share, left in zip(shares.tolist(), later[1:].tolist(), strict=True):
        moved[isolated] = moved[linked]
        total += share * moved
        least, greatest = moved.min(axis=0), moved.max(axis=0)
        error = left * (greatest - least) / 2
        if (error <= allowed).all():
            break
        moved = walk(moved)
    total += left * (least + greatest) / 2
    total[isolated] = weights[isolated]
    return Spread(total, float(error.max()))


def _by_chebyshev(graph: Graph, weights: Floats, time: float, allowed: Floats) -> Spread:
    """exp(t·Lap)·w by Chebyshev polynomials of X = I + 2·Lap/ρ.

    ρ, the greatest sum of the degrees of two linked people, bounds the spectrum (Anderson and Morley (1985)):
    that of X lies in [−1, 1], and exp(t·Lap) = Σ c_k T_k(X), c_k = (2 − [k = 0]) e^(−z) I_k(z), z = tρ/2. As
    X is symmetric, the terms left out are at most the sum of their c_k times the Euclidean norm of w.
    """
    links, degrees = graph.links, graph.degrees
    radius = float((np.repeat(degrees, np.diff(links.indptr)) + degrees[links.indices]).max())
    z, norms = time * radius / 2, np.linalg.norm(weights, axis=0)
    if z > MOST_REACH:
        words = f"time times the greatest degree is {2 * z:.3g}; up to {2 * MOST_REACH:g} is computed."
        raise InvalidInput.of("/time", "too-long", words, "Choose random_walk, or a shorter time.")
    if z == 0 or not norms.any():
        return Spread(weights, 0.0)
    shares = 2 * scipy.special.ive(np.arange(math.ceil(_DEVIATIONS * (math.sqrt(z) + 2)) + 30), z)
    shares[0] /= 2
    with np.errstate(invalid="ignore"):
        shares, tail = _cut_off(shares, float(np.nanmin(allowed / norms)))
    outward = degrees if weights.ndim == 1 else degrees[:, None]

    def scaled(values: Floats) -> Floats:
        moved = _through_edges(graph, values)
        return values + (moved - outward * values) * (2 / radius)

    before, current = weights, scaled(weights)
    total = shares[0] * before
    for share in shares[1:].tolist():
        total += share * current
        before, current = current, 2 * scaled(current) - before
    return Spread(total, tail * float(norms.max()))
