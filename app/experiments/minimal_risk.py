"""X1: least risk against the utility floor and the size of the dictionary (Fouad (2012), figure 3.1)."""

from __future__ import annotations

import numpy as np

from app.domain.arrays import Floats
from app.domain.sensitivity.sensitivity import Family
from app.experiments.report import Claim, Effort, Picture, Report, ResultTable, curves, exact, qualitative
from app.experiments.solving import context_of, least_risk, never_falls
from app.experiments.synthetic import Synthetic, generate

SHARES = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
SIZE_FLOOR = 8
FAMILIES: tuple[Family, ...] = ("linear_personal", "multiplicative")
NAMES = ("additive", "multiplicative")
HOLDING = ("holding the records", "not holding them")


def run(effort: Effort) -> Report:
    """Least mean risk of record-level rules, every random quantity averaged over the seeds."""
    data = [generate(seed, effort.entities) for seed in range(effort.seeds)]
    floors = range(sum(h.height for h in data[0].hierarchies) + 1)
    by_floor = {
        family: np.array([[_at(d, effort, family, d.n_entities, c) for c in floors] for d in data])
        for family in FAMILIES
    }
    sizes = [max(effort.records, round(share * effort.entities)) for share in SHARES]
    nested = np.array([[_at(d, effort, "linear_personal", n, SIZE_FLOOR) for n in sizes] for d in data])
    strangers = np.array([_without_records(d, effort, sizes) for d in data])
    of_families = np.stack([values.mean(axis=0) for values in by_floor.values()], axis=1)
    of_sizes = np.stack([nested.mean(axis=0), strangers.mean(axis=0)], axis=1)
    return Report(
        id="X1",
        title="Least risk against utility floor and dictionary size",
        setting=f"{effort.records} records, {effort.entities} entities, mean of {effort.seeds} seeds; "
        "random weights, record-level rules, utility = sum of depths",
        tables=(
            ResultTable.of("Least risk by utility floor", ("utility floor", *NAMES), floors, of_families),
            ResultTable.of(
                f"Least risk by dictionary size at utility floor {SIZE_FLOOR}",
                ("entities", *HOLDING),
                sizes,
                of_sizes,
            ),
        ),
        pictures=(
            Picture(
                "x1-floor",
                "Least risk by utility floor",
                "Utility floor",
                "Mean risk",
                curves(NAMES, floors, of_families),
            ),
            Picture(
                "x1-dictionary",
                "Least risk by dictionary size",
                "Entities in the dictionary",
                "Mean risk",
                curves(HOLDING, sizes, of_sizes),
            ),
        ),
        claims=_claims(by_floor, nested, strangers),
    )


def _at(data: Synthetic, effort: Effort, family: Family, size: int, floor: float) -> float:
    return least_risk(context_of(data, effort.records, data.dictionary(0, size), family), floor)


def _without_records(data: Synthetic, effort: Effort, sizes: list[int]) -> list[float]:
    """Dictionaries of the same sizes that do not hold the disclosed records, as far as there are others."""
    first = effort.records
    return [
        least_risk(
            context_of(
                data,
                effort.records,
                data.dictionary(first, min(first + size, data.n_entities)),
                "linear_personal",
            ),
            SIZE_FLOOR,
        )
        for size in sizes
    ]


def _claims(by_floor: dict[Family, Floats], nested: Floats, strangers: Floats) -> tuple[Claim, ...]:
    additive, multiplicative = (by_floor[family] for family in FAMILIES)
    return (
        exact(
            "The least risk never falls as the utility floor rises",
            never_falls(additive) and never_falls(multiplicative),
            f"{additive.size + multiplicative.size} optima",
        ),
        exact(
            "For nested dictionaries that hold the records it never rises with the dictionary",
            never_falls(-nested),
            " ".join(f"{value:.4g}" for value in nested.mean(axis=0)),
        ),
        exact(
            "The multiplicative minimum is above the additive one",
            bool((multiplicative > additive).all()),
            f"least difference {float((multiplicative - additive).min()):.3g}",
        ),
        qualitative(
            "Without the records it starts near 0 and need not fall (Definitions: growing dictionaries)",
            bool(strangers.mean(axis=0)[0] < nested.mean(axis=0)[0]),
            " ".join(f"{value:.4g}" for value in strangers.mean(axis=0)),
        ),
    )
