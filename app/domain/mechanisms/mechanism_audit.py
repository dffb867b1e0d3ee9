"""Audits of what the catalogue calls certified, as it is asked for: exactly, and by drawing.

Nothing that is audited is a dataset: tables are made up, few records about the mechanism's own thresholds.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Final, Literal

import numpy as np

from app.domain.classes.ratios import as_written
from app.domain.errors import InvalidInput, NotSupported, TooLarge, refuse
from app.domain.mechanisms.audit_tables import COLUMNS, Counts, draws_of, table_of
from app.domain.mechanisms.catalogue import AnyMechanism
from app.domain.mechanisms.declared_samples import records_of
from app.domain.mechanisms.guarantee_models import DIFFERENTIAL_PRIVACY
from app.domain.mechanisms.histogram_laws import (
    BEYOND,
    Law,
    greatest_delta,
    laplace_law,
    out_of_reach,
    stability_law,
)
from app.domain.mechanisms.mechanism import Bits
from app.domain.mechanisms.noise_law import NoiseLaw
from app.domain.mechanisms.privacy_audit import (
    ROOM,
    Neighbours,
    Refutation,
    error_of_each,
    greatest_epsilon,
    tested,
)
from app.domain.mechanisms.sample_audit import Need, SamplePromise, greatest_needs, worst_needs
from app.domain.mechanisms.sample_laws import SampleSteps, noise_reaches, noisy_sets
from app.domain.mechanisms.sampled_generalisation import SampledGeneralisation, constants_of, score_of
from app.domain.mechanisms.stability_histogram import StabilityHistogram, cells_of

AuditMethod = Literal["exact", "draws"]
ERROR: Final = 1e-6
"""All tests of a mechanism by draws err with at most this."""
MOST_NOISE: Final = 200
"""Noise of two cells is enumerated together: values of one."""
MOST_RECORDS: Final = 400
MOST_OF_A_TABLE: Final = 100_000
"""Records of a table that is drawn again and again."""
MOST_CROWD: Final = 60
"""Beside a leaf of more records another of as many has too many outcomes."""
MOST_CROWD_ALONE: Final = 250
"""So many a leaf may have where no other leaf is beside it."""
MOST_RUNS: Final = 10_000_000
"""Releases of a table that are drawn and kept until they are counted."""
FEW: Final = (2, 3)
"""Records of a leaf, of which one is left out, where what records become is chosen."""
CERTIFIED: Final = "certified"


@dataclass(frozen=True)
class AuditedMechanism:
    """A mechanism as it is asked for, and what it promises."""

    mechanism: AnyMechanism
    parameters: Any
    epsilon: float
    delta: float

    @classmethod
    def of(cls, mechanism: AnyMechanism, parameters: Any) -> AuditedMechanism:  # noqa: ANN401
        """InvalidInput of what a plan names as missing, NotSupported where nothing certified is promised."""
        if DIFFERENTIAL_PRIVACY not in mechanism.guarantees or not mechanism.hides_records:
            raise NotSupported.because(f"{mechanism.name} promises no differential privacy.")
        plan = mechanism.plan(table_of((1, 0, 0)), parameters)
        refuse(plan.missing)
        (own,) = plan.guarantees
        if own.standing != CERTIFIED:
            raise NotSupported.because(
                f"What {mechanism.name} promises is not certified: there is nothing to refute."
            )
        return cls(mechanism, parameters, float(own.parameters["epsilon"]), float(own.parameters["delta"]))

    @property
    def least_records(self) -> int:
        """So many records every table must have."""
        return int(getattr(self.parameters, "least_records", 1))


ExactPart = Callable[[], tuple[Need, ...]]
"""A table, or all of them, with its neighbours: what they need of δ at most, and of its parts."""
DrawnPart = Callable[[], tuple[Refutation, ...]]
"""A hard pair: what draws of it bound ε by, in both orders."""


def exact_parts(own: AuditedMechanism) -> tuple[ExactPart, ...]:
    """The tables about the mechanism's thresholds with all neighbours, part by part.

    TooLarge where they have too many outcomes; nothing is computed before a part is called.
    """
    if isinstance(own.parameters, SampledGeneralisation):
        return _parts_of_sample(own.parameters)
    noise = NoiseLaw(as_written(own.epsilon))
    if 2 * noise.tail(MOST_NOISE // 2) >= BEYOND:  # before a reach is looked for that takes long to find
        raise _too_large("ε is so small that noise has too many values", "Give a greater epsilon.")
    return (partial(_needs_of_histogram, own, noise),)


def exact_needs(own: AuditedMechanism) -> tuple[Need, ...]:
    """What small tables need of δ at most, in both orders of all neighbours, and of its parts.

    TooLarge where the tables about the mechanism's thresholds have too many outcomes.
    """
    return worst_needs([part() for part in exact_parts(own)])


def _needs_of_histogram(own: AuditedMechanism, noise: NoiseLaw) -> tuple[Need, ...]:
    _, beyond = out_of_reach(noise)
    # Of outcomes that are lumped together, what is beyond takes part in e^ε times the other law.
    error = 2 * beyond * (1 + math.exp(own.epsilon)) + 1e-12
    asked = own.parameters

    def law(counts: tuple[int, ...]) -> Law:
        if isinstance(asked, StabilityHistogram):
            # How many records each node is counted with, of a table of so many records of each leaf.
            nodes, n = cells_of(table_of((counts[0], counts[1], 0)), asked)
            shown = np.zeros(len(COLUMNS), dtype=np.int64)
            shown[nodes[:, 0]] = n
            return stability_law(tuple(shown.tolist()), noise, asked.threshold)
        return laplace_law(counts, noise)

    return (Need("delta", greatest_delta(law, 3, 2, own.epsilon), own.delta, error),)


def _too_large(why: str, remedy: str) -> TooLarge:
    return TooLarge(f"No exact audit is made: {why}.", f"{remedy} Or draw.")


def _parts_of_sample(asked: SampledGeneralisation) -> tuple[ExactPart, ...]:
    found = constants_of(table_of((1, 0, 0)), asked)
    crowd, threshold = int(found.crowd), int(found.threshold)
    if threshold > MOST_CROWD_ALONE or asked.least_records > MOST_RECORDS:
        raise _too_large(
            f"a table about the threshold has {max(threshold, asked.least_records):,} records, and too many "
            f"outcomes; at most {MOST_CROWD_ALONE} for the threshold and {MOST_RECORDS} declared records",
            "Audit with a greater epsilon and delta, or with a dictionary.",
        )
    reaches = noise_reaches(found.scale, threshold)

    @cache
    def steps(counts: tuple[int, ...]) -> SampleSteps:
        context = table_of((counts[0], counts[1], counts[2]))
        records, score = records_of(context), score_of(context, asked)
        return SampleSteps(records, asked.rate, tuple(noisy_sets(records, score, reaches)))

    promise = SamplePromise(
        asked.epsilon,
        asked.delta,
        found.of_frequent,
        found.of_size,
        found.of_exchange,
        found.crowd,
        asked.rate,
    )
    places = (1, crowd, threshold - 1, threshold, threshold + 1)
    others = (0, 2, threshold) if threshold <= MOST_CROWD else (0,)
    tables = [(a, b, max(0, asked.least_records - a - b)) for a, b in itertools.product(places, others)]
    return tuple(partial(greatest_needs, [table], steps, promise) for table in tables)


def hard_pairs(own: AuditedMechanism) -> Mapping[str, tuple[Counts, Counts]]:
    """A record that is alone, records that are all alike, counts about thresholds, and a few of a leaf."""
    return dict(_pairs(own))


def _pairs(own: AuditedMechanism) -> Iterator[tuple[str, tuple[Counts, Counts]]]:
    least = own.least_records
    rest = max(5, least)
    yield "alone", ((1, rest, 0), (0, rest, 0))
    yield "alike", ((rest + 1, 0, 0), (rest, 0, 0))
    for name, at in _thresholds(own):
        yield name, ((at, 0, max(1, least + 1 - at)), (at - 1, 0, max(1, least + 1 - at)))
    if isinstance(own.parameters, StabilityHistogram) and own.parameters.dictionary is not None:
        # A choice that looked at other records may change with so few, as in the tables of the exact audit.
        for at in FEW:
            yield f"{at} of a", ((at, rest, 0), (at - 1, rest, 0))
            yield f"{at} of b", ((rest, at, 0), (rest, at - 1, 0))


def _thresholds(own: AuditedMechanism) -> Iterator[tuple[str, int]]:
    if isinstance(own.parameters, SampledGeneralisation):
        found = constants_of(table_of((1, 0, 0)), own.parameters)
        yield "crowd", int(found.crowd)
        yield "threshold", int(found.threshold)
        yield "threshold and one", int(found.threshold) + 1
    else:
        yield "threshold", int(getattr(own.parameters, "threshold", 8))


def least_runs(own: AuditedMechanism) -> int:
    """The fewest runs, in steps of doubling, by which an audit could refute what is promised."""
    tests = 2 * len(hard_pairs(own))
    runs = 400
    while greatest_epsilon(runs, own.delta, ERROR / tests) < own.epsilon + ROOM:
        runs *= 2
    return runs


def records_drawn(own: AuditedMechanism, runs: int) -> int:
    """Records of all tables that are drawn."""
    return runs * sum(sum(more) + sum(less) for more, less in hard_pairs(own).values())


def drawn_parts(own: AuditedMechanism, runs: int, bits: Bits) -> tuple[DrawnPart, ...]:
    """The hard pairs, each to be drawn so often; nothing is drawn before a part is called.

    InvalidInput for too few to refute anything, TooLarge for more than are kept, and for tables that are not
    drawn so often.
    """
    pairs = hard_pairs(own)
    largest = max(sum(more) for more, _ in pairs.values())
    if largest > MOST_OF_A_TABLE:
        raise TooLarge(
            f"A table about its thresholds has {largest:,} records; at most {MOST_OF_A_TABLE:,} are drawn.",
            "Declare fewer records, or give a greater delta.",
            MOST_OF_A_TABLE,
        )
    least = least_runs(own)
    if least > MOST_RUNS:
        raise TooLarge(
            f"To refute ε = {own.epsilon:g} takes {least:,} runs, and at most {MOST_RUNS:,} are kept to be "
            "counted.",
            "Audit exactly, or give a smaller epsilon.",
            MOST_RUNS,
        )
    if runs > MOST_RUNS:
        raise TooLarge(
            f"{runs:,} runs are more than are kept to be counted.", f"Give at most {MOST_RUNS:,}.", MOST_RUNS
        )
    if runs < least:
        raise InvalidInput.of(
            "/runs",
            "out-of-range",
            f"{runs:,} runs could hardly refute ε = {own.epsilon:g}, whatever is drawn.",
            f"Give {least:,} or more.",
        )
    each = error_of_each(ERROR, len(pairs))

    def part(name: str, more: Counts, less: Counts) -> tuple[Refutation, ...]:
        draws = (draws_of(own.mechanism, own.parameters, counts, bits) for counts in (more, less))
        return tested(Neighbours(name, COLUMNS, *draws), own.epsilon, own.delta, runs, each)

    return tuple(partial(part, name, *pair) for name, pair in pairs.items())


def refutations_of(own: AuditedMechanism, runs: int, bits: Bits) -> tuple[Refutation, ...]:
    """What so many draws of each hard pair find; refused as ``drawn_parts`` is."""
    return tuple(itertools.chain.from_iterable(part() for part in drawn_parts(own, runs, bits)))


@dataclass(frozen=True)
class Audit:
    """What was found: what small tables need of δ, or what draws bound ε by."""

    mechanism: str
    epsilon: float
    delta: float
    needs: tuple[Need, ...]
    tests: tuple[Refutation, ...]

    @property
    def is_refuted(self) -> bool:
        """Whether anything breaks what is promised."""
        return any(one.is_refuted for one in self.needs) or any(one.is_refuted for one in self.tests)

    @property
    def verdict(self) -> str:
        """The worst of what was found; never that a promise holds, which takes a proof."""
        broken = [one for one in self.needs if one.is_refuted]
        if broken:
            worst = max(broken, key=lambda one: one.excess)
            return f"refuted: {worst.part} ≥ {worst.least - worst.error:.6g}"
        return max(self.tests, key=lambda one: one.least_epsilon).verdict if self.tests else "not refuted"


def exact_audit(own: AuditedMechanism, found: Sequence[Sequence[Need]]) -> Audit:
    """What the parts of an exact audit have found, together."""
    return Audit(own.mechanism.name, own.epsilon, own.delta, worst_needs(found), ())


def audit_by_draws(own: AuditedMechanism, found: Sequence[Sequence[Refutation]]) -> Audit:
    """What the hard pairs have shown, together."""
    return Audit(own.mechanism.name, own.epsilon, own.delta, (), tuple(itertools.chain.from_iterable(found)))
