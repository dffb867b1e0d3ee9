"""D5: audits of every mechanism that is called certified, and of some that are broken on purpose."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

import numpy as np

from app.domain.arrays import Longs
from app.domain.mechanisms.audit_tables import (
    COLUMNS,
    Counts,
    DrawSteps,
    sampled_draws,
    steps_of,
    table_of,
)
from app.domain.mechanisms.catalogue import MECHANISMS
from app.domain.mechanisms.exact_choice import sampled
from app.domain.mechanisms.guarantee_models import DIFFERENTIAL_PRIVACY
from app.domain.mechanisms.mechanism import Bits
from app.domain.mechanisms.mechanism_audit import (
    ERROR,
    AuditedMechanism,
    exact_needs,
    least_runs,
    refutations_of,
)
from app.domain.mechanisms.privacy_audit import Draw, Neighbours, Refutation, audited
from app.domain.mechanisms.sample_audit import Need
from app.domain.mechanisms.sampled_generalisation import SampledGeneralisation, constants_of
from app.experiments.report import Claim, Effort, Report, ResultTable, exact

RUNS_OF_A_SEED: Final = 200
RUNS_OF_BROKEN: Final = 20_000
SEED: Final = 2012
_NAMED: Final = 8
"""Records of the control that tells whose rows it shows."""
CERTIFIED: Final[Mapping[str, Mapping[str, Any]]] = {
    "stability_histogram": {"epsilon": 1.0, "delta": 0.01, "least_records": 1},
    "laplace_histogram": {"epsilon": 1.0},
    "sampled_generalisation": {
        "epsilon": 4.0,
        "delta": 0.0078,
        "sampling_rate": 0.5,
        "least_records": 127,
        "trade_off": 1.0,
        "dictionary": {"leaf": ("a", "a", "b")},
        "exponent_range": 0.5,
    },
}
"""By what each is asked for."""
COUNTED: Final[Mapping[str, Any]] = {
    "epsilon": 4.0,
    "delta": 0.006,
    "sampling_rate": 0.5,
    "least_records": 152,
    "trade_off": 1.0,
    "sensitivity": {"leaf": (0.0, 0.0)},
}
"""The sample whose scores are counted in the data, of which only the laws are computed."""


def bits_of(seed: int) -> Bits:
    """Random bytes of a seed, by whole words."""
    source = np.random.PCG64(seed)
    return lambda n: bytes(source.random_raw(-(-n // 8)).tobytes()[:n])


def certified() -> tuple[AuditedMechanism, ...]:
    """All of the catalogue that promise differential privacy; KeyError for one that is not asked."""
    return tuple(
        AuditedMechanism.of(own, own.parameters(**CERTIFIED[own.name]))
        for own in MECHANISMS
        if DIFFERENTIAL_PRIVACY in own.guarantees
    )


def sampled_one() -> AuditedMechanism:
    """The certified sample, of which the controls are made."""
    return next(own for own in certified() if isinstance(own.parameters, SampledGeneralisation))


def broken(bits: Bits) -> tuple[Neighbours, ...]:
    """The draw of the certified sample, broken so that an audit must find it out.

    Who is sampled, what is frequent, or whose row is shown is not hidden.
    """
    own = sampled_one()
    threshold = int(constants_of(table_of((1, 0, 0)), own.parameters).threshold)

    def pair(name: str, more: Counts, change: Callable[[DrawSteps], DrawSteps]) -> Neighbours:
        less = (more[0] - 1, more[1], more[2])
        draws = [
            sampled_draws(change(steps_of(own.parameters, counts, bits)), counts, bits)
            for counts in (more, less)
        ]
        return Neighbours(name, COLUMNS, *draws)

    return (
        pair("no sampling", (2, 5, 0), lambda own: replace(own, rate=Fraction(1))),
        pair("no noise", (threshold, 1, 0), lambda own: replace(own, decide=lambda n: n >= threshold)),
        Neighbours(
            "rows with their records",
            tuple(f"of record {at + 1}" for at in range(_NAMED)),
            _named(_NAMED, own.parameters.rate, bits),
            _named(_NAMED - 1, own.parameters.rate, bits),
        ),
        pair("all is frequent", (1, 5, 0), lambda own: replace(own, decide=lambda n: n > 0)),
    )


def _named(records: int, rate: Fraction, bits: Bits) -> Draw:
    """Which of some records are shown, record by record: what a release must never tell."""

    def draw(runs: int) -> Longs:
        shown = sampled(runs * records, rate, bits).reshape(runs, records)
        return np.pad(shown, ((0, 0), (0, _NAMED - records))).astype(np.int64)

    return draw


def audit_of_broken(runs: int, seed: int = SEED) -> tuple[Refutation, ...]:
    """The same audit of those that are broken, by what the certified sample promises."""
    own = sampled_one()
    return audited(broken(bits_of(seed)), own.epsilon, own.delta, runs, ERROR)


def run(effort: Effort) -> Report:
    """Exact laws of small tables, and draws of hard pairs."""
    owns = certified()
    runs = {own.mechanism.name: max(least_runs(own), RUNS_OF_A_SEED * effort.seeds) for own in owns}
    sample = sampled_one().mechanism
    counted = AuditedMechanism.of(sample, sample.parameters(**COUNTED))
    exactly = {own.mechanism.name: exact_needs(own) for own in owns}
    exactly[f"{sample.name}, counted in the data"] = exact_needs(counted)
    drawn = {own.mechanism.name: refutations_of(own, runs[own.mechanism.name], bits_of(SEED)) for own in owns}
    controls = audit_of_broken(max(RUNS_OF_BROKEN, *runs.values()))
    rows = [(name, one) for name, found in drawn.items() for one in found]
    return Report(
        id="D5",
        title="Audits of what is called differentially private",
        setting=f"{min(runs.values()):,} to {max(runs.values()):,} releases of each table, seeded; all tests "
        f"of a mechanism err with at most {ERROR:g}. Not refuted is no proof.",
        tables=(
            ResultTable(
                "Exactly, of small tables: what is needed of δ, and of its parts, beside the promised ε",
                ("mechanism", "part", "least", "promised", "error below"),
                tuple(
                    (name, one.part, one.least, one.promised, one.error)
                    for name, needs in exactly.items()
                    for one in needs
                ),
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
                "The same of some that are broken on purpose",
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
    owns: tuple[AuditedMechanism, ...],
    exactly: Mapping[str, tuple[Need, ...]],
    drawn: Mapping[str, tuple[Refutation, ...]],
    controls: tuple[Refutation, ...],
) -> tuple[Claim, ...]:
    found_out = {one.pair for one in controls if one.is_refuted}
    names = [own.mechanism.name for own in owns]
    needs = [(name, one) for name, found in exactly.items() for one in found]
    return (
        exact(
            "Every mechanism of the catalogue that is called certified is audited",
            set(names) == {own.name for own in MECHANISMS if DIFFERENTIAL_PRIVACY in own.guarantees},
            ", ".join(names),
        ),
        exact(
            "No two neighbours among small tables need more of δ, or of a part of it, than is promised",
            not any(one.is_refuted for _, one in needs),
            ", ".join(f"{name} {one.part} {one.least:.3g} of {one.promised:.3g}" for name, one in needs),
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
