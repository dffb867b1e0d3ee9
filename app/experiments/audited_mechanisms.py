"""D5: audits of every mechanism that is called certified, and of three that are broken on purpose."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np

from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.mechanisms.catalogue import MECHANISMS, AnyMechanism
from app.domain.mechanisms.declared_samples import scores_of
from app.domain.mechanisms.generalised_records import Decide, GeneralisedRecords
from app.domain.mechanisms.mechanism import Bits, MechanismContext
from app.domain.mechanisms.noise_law import NoiseLaw
from app.domain.mechanisms.sampled_generalisation import (
    SampledGeneralisation,
    constants_of,
    drawn_generalisations,
    exponents_of,
    noisy_decision,
)
from app.domain.tables.table import Table
from app.experiments.privacy_audit import Draw, Neighbours, Refutation, Release, audited
from app.experiments.release_laws import (
    Counts,
    Law,
    OneAttribute,
    both_orders,
    greatest_delta,
    laplace_law,
    stability_law,
)
from app.experiments.report import Claim, Effort, Report, ResultTable, exact

LEAVES: Final = Hierarchy.from_parents({"a": [None], "b": [None]})
ERROR: Final = 1e-6
RUNS_OF_A_SEED: Final = 200
RUNS_OF_BROKEN: Final = 1200
SEED: Final = 2012
CERTIFIED: Final[Mapping[str, Mapping[str, Any]]] = {
    "stability_histogram": {"epsilon": 1.0, "delta": 0.01, "least_records": 1},
    "laplace_histogram": {"epsilon": 1.0},
    "sampled_generalisation": {
        "epsilon": 1.0,
        "delta": 1e-3,
        "sampling_rate": 0.5,
        "least_records": 380,
        "trade_off": 0.01,
    },
}
"""By what each is asked for."""
AUDITED_STATUS: Final = "certified"


@dataclass(frozen=True)
class Audited:
    """A mechanism as it is asked for, and its hard neighbours: counts of the leaves a and b."""

    mechanism: AnyMechanism
    parameters: Any
    pairs: Mapping[str, tuple[Counts, Counts]]

    def draw(self, counts: Counts, bits: Bits) -> Draw:
        """Draws a release of a table with so many records of a and b."""
        codes = np.repeat([LEAVES.node_of("a"), LEAVES.node_of("b")], counts)[:, None]
        table = Table(("leaf",), (LEAVES,), codes.astype(np.int32))
        context = MechanismContext(table, public=frozenset({"leaf"}))

        def drawn() -> Release:
            (column,) = self.mechanism.draw(context, self.parameters, bits).columns
            return Counter(LEAVES.labels[node] for node in column.tolist())

        return drawn


def promised(mechanism: AnyMechanism, parameters: Any) -> tuple[str, float, float]:  # noqa: ANN401
    """Status, ε and δ of its guarantee for a table of one column."""
    table = Table(("leaf",), (LEAVES,), np.ones((1, 1), dtype=np.int32))
    plan = mechanism.plan(MechanismContext(table, public=frozenset({"leaf"})), parameters)
    (own,) = plan.guarantees
    return own.standing, float(own.parameters["epsilon"]), float(own.parameters["delta"])


def certified() -> tuple[Audited, ...]:
    """All of the catalogue that hide records and are called certified; KeyError for one without a pair."""
    found = []
    for own in MECHANISMS:
        if own.hides_records and own.name not in PUBLISHED_ONLY:
            parameters = own.parameters(**CERTIFIED[own.name])
            found.append(Audited(own, parameters, _pairs(parameters)))
    return tuple(found)


PUBLISHED_ONLY: Final = frozenset({"sampled_generalisation_published"})
"""Promises that no proof supports are not audited but computed: D3."""


def _pairs(parameters: Any) -> Mapping[str, tuple[Counts, Counts]]:  # noqa: ANN401
    """A record that is alone, records that are all alike, and counts about the threshold."""
    if not isinstance(parameters, SampledGeneralisation):
        return {"alone": ((1, 5), (0, 5)), "alike": ((6, 0), (5, 0)), "at the threshold": ((8, 1), (7, 1))}
    table = Table(("leaf",), (LEAVES,), np.ones((1, 1), dtype=np.int32))
    found = constants_of(MechanismContext(table, public=frozenset({"leaf"})), parameters)
    crowd, threshold = int(found.crowd), int(found.threshold)
    least = parameters.least_records
    return {
        "alone": ((1, least), (0, least)),
        "alike": ((least + 1, 0), (least, 0)),
        **{
            f"{name}, {'at' if not shift else 'one above'}": ((at + shift, least), (at + shift - 1, least))
            for name, at in (("crowd", crowd), ("threshold", threshold))
            for shift in (0, 1)
        },
    }


def audit_of(own: Audited, runs: int, seed: int = SEED) -> tuple[Refutation, ...]:
    """The statistical audit of a mechanism as it is asked for."""
    _, epsilon, delta = promised(own.mechanism, own.parameters)
    bits = np.random.default_rng(seed).bytes
    pairs = [
        Neighbours(name, own.draw(more, bits), own.draw(less, bits))
        for name, (more, less) in own.pairs.items()
    ]
    return audited(pairs, epsilon, delta, runs, ERROR)


def exact_audit_of(own: Audited) -> tuple[float, float]:
    """The greatest δ that small neighbours need, and what is promised."""
    _, epsilon, delta = promised(own.mechanism, own.parameters)
    if isinstance(own.parameters, SampledGeneralisation):
        return _exact_of_sample(own.parameters, epsilon), delta
    noise = NoiseLaw(Fraction(repr(epsilon)))
    if own.mechanism.name == "laplace_histogram":
        return greatest_delta(lambda counts: laplace_law(counts, noise), 2, 2, epsilon), delta
    threshold = own.parameters.threshold

    def law(counts: Counts) -> Law:
        return stability_law(counts, noise, threshold)

    return greatest_delta(law, 3, 2, epsilon), delta


def _exact_of_sample(asked: SampledGeneralisation, epsilon: float) -> float:
    """Of tables all of whose records are at one leaf, by the law of its size and that of ⊥.

    Their number is above the threshold, so that nothing is learnt of how frequent leaves are decided.
    """
    table = Table(("leaf",), (LEAVES,), np.ones((1, 1), dtype=np.int32))
    found = constants_of(MechanismContext(table, public=frozenset({"leaf"})), asked)
    model = OneAttribute(
        asked.sampling_rate, found.exponent, asked.trade_off, asked.phi_offset, asked.phi_offset + 1.0
    )
    sizes = {asked.least_records, int(found.threshold) + asked.least_records // 4}
    laws = {
        n: model.noisy_law((n,), found.scale, int(found.threshold))
        for size in sizes
        for n in (size, size - 1)
    }
    return max(max(both_orders(laws[n], laws[n - 1], epsilon)) for n in sizes)


def broken(bits: Bits) -> tuple[Neighbours, ...]:
    """The draw of the certified sample, broken in three ways that an audit must find out."""
    own = next(own for own in certified() if isinstance(own.parameters, SampledGeneralisation))
    asked, table = own.parameters, Table(("leaf",), (LEAVES,), np.ones((1, 1), dtype=np.int32))
    context = MechanismContext(table, public=frozenset({"leaf"}))
    found, scores = constants_of(context, asked), scores_of(context, asked)
    threshold = int(found.threshold)

    def drawn(counts: Counts, rate: Fraction, decide: Decide) -> Draw:
        leaves = np.array([[LEAVES.node_of("a")], [LEAVES.node_of("b")]], dtype=np.int32)
        is_there = np.array(counts) > 0
        records = GeneralisedRecords((LEAVES,), (1,), leaves[is_there], np.array(counts)[is_there])
        score = exponents_of(scores, found, asked.least_records)

        def release() -> Release:
            (column,) = drawn_generalisations(records, rate, decide, score, found.exponent_range, bits)
            return Counter(LEAVES.labels[node] for node in column.tolist())

        return release

    def pair(name: str, more: Counts, rate: Fraction, decide: Decide) -> Neighbours:
        less = (more[0] - 1, more[1])
        return Neighbours(name, drawn(more, rate, decide), drawn(less, rate, decide))

    return (
        pair("no sampling", (2, 5), Fraction(1), noisy_decision(found, bits)),
        pair("no noise", (threshold, 1), asked.rate, lambda counts: counts >= found.threshold),
        pair("all is frequent", (1, 5), asked.rate, lambda counts: counts > 0),
    )


def audit_of_broken(runs: int, seed: int = SEED) -> tuple[Refutation, ...]:
    """The same audit of the three that are broken, by what the certified sample promises."""
    own = next(own for own in certified() if isinstance(own.parameters, SampledGeneralisation))
    _, epsilon, delta = promised(own.mechanism, own.parameters)
    return audited(broken(np.random.default_rng(seed).bytes), epsilon, delta, runs, ERROR)


def run(effort: Effort) -> Report:
    """Exact laws of small tables, and draws of hard pairs."""
    runs, owns = max(400, RUNS_OF_A_SEED * effort.seeds), certified()
    exactly = {own.mechanism.name: exact_audit_of(own) for own in owns}
    drawn = {own.mechanism.name: audit_of(own, runs) for own in owns}
    controls = audit_of_broken(max(runs, RUNS_OF_BROKEN))
    rows = [(name, one) for name, found in drawn.items() for one in found]
    return Report(
        id="D5",
        title="Audits of what is called differentially private",
        source="Clopper and Pearson (1934); the hockey-stick divergence of exact laws",
        setting=f"{runs} releases of each table, seeded; all tests of a mechanism err with at most "
        f"{ERROR:g}. Not refuted is no proof.",
        tables=(
            ResultTable(
                "Exactly, of small tables: the least δ that holds beside the promised ε",
                ("mechanism", "least δ", "promised δ"),
                tuple((name, *found) for name, found in exactly.items()),
            ),
            ResultTable(
                "By draws of hard pairs: the least ε that may hold beside the promised δ",
                (
                    "mechanism",
                    "pair",
                    "order",
                    "event",
                    "least ε",
                    "promised ε",
                    "greatest ε to be found",
                    "verdict",
                ),
                tuple((name, *_row(one)) for name, one in rows),
            ),
            ResultTable(
                "The same of three that are broken on purpose",
                (
                    "broken by",
                    "order",
                    "event",
                    "least ε",
                    "promised ε",
                    "greatest ε to be found",
                    "verdict",
                ),
                tuple(_row(one) for one in controls),
            ),
        ),
        pictures=(),
        claims=_claims(owns, exactly, drawn, controls),
    )


def _row(one: Refutation) -> tuple[str, str, str, float, float, float, str]:
    return one.pair, one.order, one.event, one.least_epsilon, one.claimed, one.attainable, one.verdict


def _claims(
    owns: tuple[Audited, ...],
    exactly: Mapping[str, tuple[float, float]],
    drawn: Mapping[str, tuple[Refutation, ...]],
    controls: tuple[Refutation, ...],
) -> tuple[Claim, ...]:
    statuses = {own.mechanism.name: promised(own.mechanism, own.parameters)[0] for own in owns}
    found_out = {one.pair for one in controls if one.is_refuted}
    return (
        exact(
            "Every mechanism of the catalogue that is called certified is audited",
            set(statuses.values()) == {AUDITED_STATUS},
            ", ".join(statuses),
        ),
        exact(
            "No two neighbours among small tables need more δ than is promised",
            all(least <= delta + 1e-12 for least, delta in exactly.values()),
            ", ".join(f"{name} {least:.3g} of {delta:.3g}" for name, (least, delta) in exactly.items()),
        ),
        exact(
            "No draw of a hard pair refutes what is promised",
            not any(one.is_refuted for one in itertools.chain(*drawn.values())),
            f"{sum(map(len, drawn.values()))} tests",
        ),
        exact(
            "What is broken on purpose is refuted",
            len(found_out) == len({one.pair for one in controls}),
            ", ".join(sorted(found_out)),
        ),
    )
