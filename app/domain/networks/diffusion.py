"""How an item spreads in a network: K·w for kernels of diffusion (Fouad (2012), section 7.3).

The rows of a kernel K sum to 1: K_vj is the share of what is placed at v that is at j afterwards. W is the
leakage, the weights of edges over their sum per person; whoever has no edges keeps everything.

``random_walk`` is exp(t(W − I)): W^k mixed with Poisson probabilities. ``laplacian`` is exp(t·Lap),
Lap = A − D negative semidefinite: a Chebyshev series, √(t·degree) products. ``steps`` is W^p.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from app.domain.arrays import Floats
from app.domain.classes.libraries import Library
from app.domain.errors import InvalidInput
from app.domain.networks.graph import Graph

if TYPE_CHECKING:
    import scipy
else:
    scipy = Library("scipy")

Kernel = Literal["random_walk", "laplacian", "steps"]
TOLERANCE: Final = 1e-14  # of the greatest weight, for the terms of a series that are left out
MOST_REACH: Final = 1e7
_DEVIATIONS: Final = 12  # beyond which the terms of a series are nothing beside the tolerance


@dataclass(frozen=True, eq=False)
class Spread:
    """K·w of each person, and a bound on the error of cutting a series off, in which rounding is not."""

    values: Floats
    truncation_error: float


def spread(graph: Graph, weights: Floats, kernel: Kernel, time: float = 1.0, steps: int = 1) -> Spread:
    """The mean of finite weights (n,) where an item placed at each person is afterwards.

    Raises InvalidInput for a time that is negative or not finite, negative steps, and the Laplacian kernel of
    a directed network. ``time`` is of the two exponentials, ``steps`` of the powers.
    """
    for name, extent in (("time", time), ("steps", steps)):
        if not (math.isfinite(extent) and extent >= 0):
            raise InvalidInput.of(f"/{name}", "out-of-range", f"{name} must be finite and at least 0.")
    if kernel == "laplacian" and graph.directed:
        raise InvalidInput.of(
            "/kernel", "directed-laplacian", "The Laplacian kernel is of undirected networks.",
            "Choose random_walk, or take the edges as undirected.",
        )  # fmt: skip
    if kernel == "laplacian":
        return _by_chebyshev(graph, weights, time)
    walk = _walk(graph)
    if kernel == "steps":
        for _ in range(steps):
            weights = walk(weights)
        return Spread(weights, 0.0)
    shares, tail = poisson_shares(time)
    total, moved = shares[0] * weights, weights
    for share in shares[1:].tolist():
        moved = walk(moved)
        total += share * moved
    return Spread(total, tail * float(np.abs(weights).max(initial=0.0)))


def poisson_shares(mean: float) -> tuple[Floats, float]:
    """Poisson probabilities of 0..m, and the sum of those above; none that counts underflows.

    Multiplied up and down from the most probable number, then scaled to sum 1 (Fox and Glynn (1988)).
    """
    peak = math.floor(mean)
    numbers = np.arange(1, peak + math.ceil(_DEVIATIONS * (math.sqrt(mean) + 2)) + 10)
    down = np.cumprod(numbers[:peak][::-1] / (mean or 1.0))[::-1]
    shares = np.concatenate([down, [1.0], np.cumprod(mean / numbers[peak:])])
    return _cut_off(shares / shares.sum(), TOLERANCE)


def _cut_off(shares: Floats, tolerance: float) -> tuple[Floats, float]:
    """The first terms of a series, and the sum of those left out, at most the tolerance."""
    left_out = np.append(np.cumsum(shares[::-1])[::-1], 0.0)
    length = max(1, int(np.argmax(left_out <= tolerance)))
    return shares[:length], float(left_out[length])


def _walk(graph: Graph) -> Callable[[Floats], Floats]:
    """Multiplication by W."""
    stays = np.flatnonzero(graph.degrees == 0)
    factors = 1 / np.where(graph.degrees == 0, 1.0, graph.degrees)

    def walk(values: Floats) -> Floats:
        moved: Floats = graph.links @ values
        moved *= factors
        moved[stays] = values[stays]
        return moved

    return walk


def _by_chebyshev(graph: Graph, weights: Floats, time: float) -> Spread:
    """exp(t·Lap)·w by Chebyshev polynomials of X = I + 2·Lap/ρ.

    ρ, the greatest sum of the degrees of two linked people, bounds the spectrum (Anderson and Morley (1985)):
    that of X lies in [−1, 1], and exp(t·Lap) = Σ c_k T_k(X), c_k = (2 − [k = 0]) e^(−z) I_k(z), z = tρ/2. As
    X is symmetric, the terms left out are at most the sum of their c_k times the Euclidean norm of w.
    """
    links, degrees = graph.links, graph.degrees
    radius = float((np.repeat(degrees, np.diff(links.indptr)) + degrees[links.indices]).max(initial=0.0))
    z, norm = time * radius / 2, float(np.linalg.norm(weights))
    if z > MOST_REACH:
        words = f"time times the greatest degree is {2 * z:.3g}; up to {2 * MOST_REACH:g} is computed."
        raise InvalidInput.of("/time", "too-long", words, "Choose random_walk, or a shorter time.")
    if z == 0 or norm == 0:
        return Spread(weights, 0.0)
    shares = 2 * scipy.special.ive(np.arange(math.ceil(_DEVIATIONS * (math.sqrt(z) + 2)) + 30), z)
    shares[0] /= 2
    shares, tail = _cut_off(shares, TOLERANCE * float(np.abs(weights).max()) / norm)

    def scaled(values: Floats) -> Floats:
        moved: Floats = links @ values
        return values + (moved - degrees * values) * (2 / radius)

    before, current = weights, scaled(weights)
    total = shares[0] * before
    for share in shares[1:].tolist():
        total += share * current
        before, current = current, 2 * scaled(current) - before
    return Spread(np.clip(total, weights.min(), weights.max()), tail * norm)
