"""X3: the risk under an estimated dictionary bounds the true one (Fouad (2012), figure 3.3)."""

from __future__ import annotations

import numpy as np

from app.charts.series import Series
from app.domain.arrays import Floats
from app.experiments.report import Effort, Picture, Report, ResultTable, exact
from app.experiments.solving import random_record_rule, random_table_rule, score
from app.experiments.synthetic import generate

SHARES = (0.1, 0.25, 0.5, 1.0)
RULES = 40
VAGUE_SHARE = 0.2


def run(effort: Effort) -> Report:
    """Risk of random rules under the disclosed records themselves and under nested vaguer dictionaries."""
    sizes = [max(effort.records, round(share * effort.entities)) for share in SHARES]
    found = np.concatenate([_risks(seed, effort, sizes) for seed in range(effort.seeds)])
    estimated, true = found[:, 0], found[:, 1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(true > 0, estimated[:, None] / true, 1.0)
    rows = tuple(
        (size, float(column.min()), float(column.mean()), float(column.max()))
        for size, column in zip(sizes, ratio.T, strict=True)
    )
    clouds = [
        Series(f"{size} entities", tuple(column.tolist()), tuple(estimated.tolist()), "points")
        for size, column in zip(sizes, true.T, strict=True)
    ]
    most = float(estimated.max())
    equal = Series("equal", (0.0, most), (0.0, most))
    return Report(
        id="X3",
        title="Estimated against true risk",
        setting=f"{len(found)} random rules on {effort.records} records; estimated dictionary: the records "
        f"themselves; true ones hold them, {VAGUE_SHARE:.0%} of their cells one step vaguer, and others",
        tables=(
            ResultTable(
                "Estimated / true risk", ("entities in the true dictionary", "least", "mean", "most"), rows
            ),
        ),
        pictures=(
            Picture(
                "x3-bound", "Estimated against true risk", "True risk", "Estimated risk", (*clouds, equal)
            ),
        ),
        claims=(
            exact(
                "The estimated risk is never below the true one (Definitions: upper bound)",
                bool((estimated[:, None] >= true - 1e-9).all()),
                f"{true.size} pairs, least difference {float((estimated[:, None] - true).min()):.3g}",
            ),
            exact(
                "Its ratio to the true risk never falls as the true dictionary grows",
                bool((np.diff(ratio, axis=1) >= -1e-9 * ratio[:, 1:]).all()),
                "mean ratios " + " ".join(f"{value:.3g}" for value in ratio.mean(axis=0)),
            ),
        ),
    )


def _risks(seed: int, effort: Effort, sizes: list[int]) -> Floats:
    """Risk per random rule (rows) under the estimated and each true dictionary (columns)."""
    data, rng = generate(seed, effort.entities), np.random.default_rng([seed, 3])
    table = data.table(effort.records)
    sensitivity = data.sensitivity(table, "linear_personal")
    vague = data.leaves.copy()
    for j, hierarchy in enumerate(data.hierarchies):
        chosen = rng.random(data.n_entities) < VAGUE_SHARE
        vague[chosen, j] = hierarchy.ancestor_steps(1)[vague[chosen, j]]
    dictionaries = [data.dictionary(0, effort.records), *(data.dictionary(0, n, vague) for n in sizes)]
    rules = [
        random_table_rule(table, rng) if i % 2 else random_record_rule(table, rng, rng.random())
        for i in range(RULES)
    ]
    return np.array(
        [[score(table, rule, d, sensitivity).risk_average for d in dictionaries] for rule in rules]
    )
