"""Made-up tables on which mechanisms are audited, and many releases of one of them at once.

A table has one attribute. Many releases are drawn as one of a larger table: the records of all of them,
with the number of the release as a further attribute. The code that draws is the one of a release: noise is
drawn for every cell of its own, coins and choices for every record. Of a histogram it is the whole draw. Of a
sample it is :func:`~app.domain.mechanisms.sampled_generalisation.drawn_generalisations`, in which the number
of a release is never suppressed, and what is worth how much is counted within each release. What records
become of which each is chosen against a dictionary is chosen without that number, which no dictionary knows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any, Final

import numpy as np

from app.domain.arrays import Bools, Floats, Ints, Longs
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.mechanisms.catalogue import AnyMechanism
from app.domain.mechanisms.generalised_records import Decide, GeneralisedRecords, Score
from app.domain.mechanisms.mechanism import Bits, MechanismContext
from app.domain.mechanisms.privacy_audit import Draw
from app.domain.mechanisms.sampled_generalisation import (
    SampledGeneralisation,
    constants_of,
    drawn_generalisations,
    noisy_decision,
    score_of,
)
from app.domain.mechanisms.stability_histogram import StabilityHistogram, best_of
from app.domain.tables.table import Table

ATTRIBUTE: Final = "leaf"
LEAVES: Final = Hierarchy.from_parents({"a": [None], "b": [None]})
COLUMNS: Final = ("*", "a", "b")
"""What a row can be, by its node."""
Counts = tuple[int, int, int]
"""Records of a, of b, and without a value."""
RECORDS_AT_ONCE: Final = 2**18
_RELEASES_AT_ONCE: Final = 2**12
_RELEASE: Final = "release"


def table_of(counts: Counts) -> MechanismContext:
    """So many records of each kind, of a hierarchy that is public."""
    codes = np.repeat(_nodes(), counts)[:, None].astype(np.int32)
    return MechanismContext(Table((ATTRIBUTE,), (LEAVES,), codes), public=frozenset({ATTRIBUTE}))


def _nodes() -> Ints:
    return np.array([LEAVES.node_of("a"), LEAVES.node_of("b"), 0], dtype=np.int32)


@cache
def _numbers(n: int) -> Hierarchy:
    """A leaf for each of so many releases; its node is one more than the release's number."""
    width = len(str(n))
    return Hierarchy.from_parents({f"{at:0{width}}": [None] for at in range(n)})


def _batches(runs: int, records: int) -> Iterator[int]:
    at_once = max(1, min(_RELEASES_AT_ONCE, RECORDS_AT_ONCE // max(1, records)))
    while runs > 0:
        yield min(runs, at_once)
        runs -= at_once


def _counted(release: Ints, leaf: Ints, n: int) -> Longs:
    """(n, 3) how often each release has each row; what is of no release is left out."""
    own = release > 0
    place = (release[own].astype(np.int64) - 1) * len(COLUMNS) + leaf[own]
    return np.bincount(place, minlength=n * len(COLUMNS)).reshape(n, len(COLUMNS))


def draws_of(mechanism: AnyMechanism, parameters: Any, counts: Counts, bits: Bits) -> Draw:  # noqa: ANN401
    """Releases of a table, as the mechanism draws them."""
    if isinstance(parameters, SampledGeneralisation):
        return sampled_draws(steps_of(parameters, counts, bits), counts, bits)
    nodes = _nodes()
    if isinstance(parameters, StabilityHistogram) and parameters.dictionary is not None:
        # Of this table: a choice that depended on its other records would differ between neighbours.
        records, (best,) = best_of(table_of(counts), parameters, parameters.dictionary)
        becomes = dict(zip(records.codes[:, 0].tolist(), best.tolist(), strict=True))
        nodes = np.array([becomes.get(own, own) for own in nodes.tolist()], dtype=np.int32)
        parameters = parameters.without_choice

    def draw(runs: int) -> Longs:
        found = [np.empty((0, len(COLUMNS)), dtype=np.int64)]
        for n in _batches(runs, sum(counts)):
            leaves = np.tile(np.repeat(nodes, counts), n)
            release = np.repeat(_numbers(n).leaves[:n], sum(counts))
            codes = np.stack([release, leaves], axis=1).astype(np.int32)
            table = Table((_RELEASE, ATTRIBUTE), (_numbers(n), LEAVES), codes)
            context = MechanismContext(table, public=frozenset({_RELEASE, ATTRIBUTE}))
            drawn = mechanism.draw(context, parameters, bits).columns
            found.append(_counted(drawn[0], drawn[1], n))
        return np.concatenate(found)

    return draw


@dataclass(frozen=True)
class DrawSteps:
    """What the draw of a sample is made of; a control breaks one of them on purpose."""

    rate: Fraction
    decide: Decide
    score: Score
    exponent_range: float


def steps_of(asked: SampledGeneralisation, counts: Counts, bits: Bits) -> DrawSteps:
    """Those of the mechanism, for a table."""
    context = table_of(counts)
    found = constants_of(context, asked)
    return DrawSteps(asked.rate, noisy_decision(found, bits), score_of(context, asked), found.exponent_range)


def sampled_draws(steps: DrawSteps, counts: Counts, bits: Bits) -> Draw:
    """Releases of a table by these steps."""
    there = np.array(counts) > 0

    def score(nodes: Sequence[Ints], below: Longs) -> Floats:
        return np.where(nodes[0] > 0, steps.score(nodes[1:], below), -math.inf)

    def draw(runs: int) -> Longs:
        found = [np.empty((0, len(COLUMNS)), dtype=np.int64)]
        for n in _batches(runs, sum(counts)):
            release = np.repeat(_numbers(n).leaves[:n], there.sum())
            codes = np.stack([release, np.tile(_nodes()[there], n)], axis=1).astype(np.int32)
            records = GeneralisedRecords(
                (_numbers(n), LEAVES), (1, 1), codes, np.tile(np.array(counts)[there], n)
            )
            drawn = drawn_generalisations(
                records, steps.rate, _of_releases(steps.decide, there), score, steps.exponent_range, bits
            )
            found.append(_counted(drawn[0], drawn[1], n))
        return np.concatenate(found)

    return draw


def _of_releases(decide: Decide, there: Bools) -> Decide:
    """Decides within each release alone.

    Asked first are leaves of all releases together, if there are any, then the ⊥ of each release; these are
    taken as frequent. At last come leaves of each release.
    """
    has_leaves = bool(there[:2].any())
    kept: Callable[[Longs], Bools] = lambda below: below > 0  # noqa: E731
    asked = iter((kept, kept, decide) if has_leaves else (kept,))
    return lambda below: next(asked)(below)
