"""X4: risk and utility of random releases go together (Lebanon et al. (2009), section 8)."""

from __future__ import annotations

import numpy as np

from app.charts.series import Series
from app.domain.arrays import Floats
from app.domain.rules.rule import Rule, TableRule
from app.domain.sensitivity.sensitivity import build_sensitivity
from app.domain.sensitivity.weights import LeafWeights
from app.experiments.report import Claim, Effort, Picture, Report, ResultTable, exact, qualitative
from app.experiments.solving import context_at, random_record_rule, random_table_rule, score

RULES = 100
RULES_OF_MILLIONS = 6
LEAF_WEIGHTS = (0.3, 0.4, 0.5, 0.75)
KINDS = ("full-domain", "records at a common rate", "independent random nodes")


def run(effort: Effort) -> Report:
    """Correlation of risk and utility over three kinds of random release, all seeds together."""
    found = {kind: _points(kind, effort) for kind in KINDS}
    correlation = {kind: float(np.atleast_2d(np.corrcoef(points.T))[0, 1]) for kind, points in found.items()}
    clouds = tuple(
        Series(kind, tuple(points[:, 1].tolist()), tuple(points[:, 0].tolist()), "points")
        for kind, points in found.items()
    )
    return Report(
        id="X4",
        title="Risk and utility of random releases",
        setting=f"{len(found[KINDS[0]])} releases of each kind, {effort.records} records, "
        f"{effort.entities} entities; leaf weights {', '.join(map(str, LEAF_WEIGHTS))}, multiplicative; "
        "the published figure on other data is 0.858",
        tables=(
            ResultTable(
                "Pearson correlation of mean risk and mean utility",
                ("kind of release", "correlation"),
                tuple(correlation.items()),
            ),
        ),
        pictures=(
            Picture("x4-scatter", "Risk and utility of random releases", "Mean utility", "Mean risk", clouds),
            _sorted(found[KINDS[0]]),
        ),
        claims=(
            qualitative(
                "Risk and utility are clearly correlated (> 0.5) for every kind",
                all(value > 0.5 for value in correlation.values()),
                ", ".join(f"{kind} {value:.3f}" for kind, value in correlation.items()),
            ),
            *((_published_record(effort),) if effort.case_study else ()),
        ),
    )


def _published_record(effort: Effort) -> Claim:
    """What the paper computes of one member, who is the first."""
    context = context_at(0, effort)
    of = score(context.table, TableRule((0,) * 4), context.dictionary, context.sensitivity).records
    found = f"{of.counts[0]} people, loss {of.loss[0]:.6f}, utility {of.utility[0]:g}"
    text = "The paper's record has 7 consistent people, a loss of 1.004098 and a utility of 13"
    return exact(text, found == "7 people, loss 1.004098, utility 13", found)


def _points(kind: str, effort: Effort) -> Floats:
    """Risk and utility of each random release, float64 (rules, 2)."""
    points = []
    for seed in range(effort.seeds):
        context, rng = context_at(seed, effort), np.random.default_rng([seed, 4])
        table = context.table
        weights = {a: LeafWeights(w) for a, w in zip(table.attributes, LEAF_WEIGHTS, strict=True)}
        sensitivity = build_sensitivity(table, "multiplicative", weights)
        for _ in range(RULES_OF_MILLIONS if effort.case_study else RULES):
            rule: Rule
            if kind == KINDS[0]:
                rule = random_table_rule(table, rng)
            else:
                rule = random_record_rule(table, rng, rng.random() if kind == KINDS[1] else None)
            found = score(table, rule, context.dictionary, sensitivity)
            points.append((found.risk_average, found.utility_average))
    return np.array(points)


def _sorted(points: Floats) -> Picture:
    ordered = points[np.argsort(points[:, 0], kind="stable")]
    at = tuple(map(float, range(1, len(ordered) + 1)))
    return Picture(
        "x4-sorted",
        "Random full-domain releases in the order of their risk",
        "Release",
        "Mean risk, mean utility",
        (
            Series("risk", at, tuple(ordered[:, 0].tolist())),
            Series("utility", at, tuple(ordered[:, 1].tolist()), "points"),
        ),
    )
