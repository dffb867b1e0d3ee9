"""X2: k-anonymous rules against the rules of least risk at the same utility (Fouad (2012), figure 3.2)."""

from __future__ import annotations

import numpy as np

from app.domain.analyses.k_anonymity_comparison import (
    K_ANONYMITY_COMPARISON,
    Comparison,
    ComparisonParameters,
)
from app.domain.models.entry import MeasureContext
from app.domain.risk.models import MODEL_I
from app.domain.risk.utility import build_utility
from app.experiments.report import Effort, Picture, Report, ResultTable, curves, exact, qualitative
from app.experiments.synthetic import generate

K = (1, 2, 5, 10, 25, 50, 100)
RULES = 10
COLUMNS = ("k-anonymous", "least of table-level rules", "least of record-level rules")


def run(effort: Effort) -> Report:
    """Ten random k-anonymous rules per k and seed, each beside the best rules of its utility."""
    ks = tuple(k for k in K if k <= effort.records)
    found = [_compare(seed, effort, ks) for seed in range(effort.seeds)]
    risk, table_level, record_level = (
        np.array([[getattr(at, name) for at in one.by_k] for one in found]).mean(axis=0)
        for name in ("risk", "table_level_risk", "record_level_risk")
    )
    gaps, risks = risk - record_level, np.stack([risk, table_level, record_level], axis=1)
    return Report(
        id="X2",
        title="k-anonymous rules against rules of least risk",
        setting=f"{RULES} random k-anonymous rules per k and seed, {effort.seeds} seeds, {effort.records} "
        f"records against {effort.entities} entities; record-level rules keep every record's utility",
        tables=(ResultTable.of("Mean risk", ("k", *COLUMNS), ks, risks),),
        pictures=(
            Picture(
                "x2-k-anonymity", "Risk at equal utility by k", "k", "Mean risk", curves(COLUMNS, ks, risks)
            ),
        ),
        claims=(
            exact(
                "At equal utility the least risk is never above that of the k-anonymous rule",
                all(one.never_worse for one in found),
                f"{RULES * len(ks) * effort.seeds} rules",
            ),
            qualitative(
                "The optimum is several times lower",
                bool((risk[gaps > 0] >= 2 * record_level[gaps > 0]).all()),
                "risk / least risk "
                + " ".join(f"{a / b:.2g}" for a, b in zip(risk, record_level, strict=True) if b),
            ),
            qualitative(
                "The gap grows with k, as the papers say (not in general; Definitions: gap to k-anonymity)",
                bool((np.diff(gaps) >= 0).all()),
                "gaps " + " ".join(f"{gap:.3g}" for gap in gaps),
            ),
        ),
    )


def _compare(seed: int, effort: Effort, ks: tuple[int, ...]) -> Comparison:
    data = generate(seed, effort.entities)
    table = data.table(effort.records)
    context = MeasureContext(
        table=table,
        rule=None,
        dictionary=data.dictionary(0, effort.entities),
        sensitivity=data.sensitivity(table, "linear_personal"),
        failure=None,
        utility=build_utility(table),
        model=MODEL_I,
        absent_policy="zero",
    )
    parameters = ComparisonParameters(k=ks, rules=RULES, seed=seed)
    found: Comparison = K_ANONYMITY_COMPARISON.compute(context, parameters, lambda _: None)
    return found
