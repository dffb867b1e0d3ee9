"""The experiments of the papers that can be run."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Final

from app.domain.errors import InvalidInput
from app.experiments import (
    ENTRIES,
    aggregate_objective,
    audited_mechanisms,
    branch_and_bound,
    commuters,
    dirichlet_examples,
    diversity_figures,
    errors_of_samples,
    estimated_dictionary,
    frontier_share,
    genetic_risk,
    genetic_time,
    groups,
    growing_attributes,
    k_anonymity,
    likeness_figures,
    minimal_risk,
    network_sharing,
    noisy_ratios,
    optimal_generalisation,
    perturbed_counts,
    private_samples,
    published_samples,
    random_releases,
    reconstruction_examples,
    risk_models,
    thresholds,
    view_examples,
    view_formulas,
    view_growth,
    violating_groups,
)
from app.experiments.report import Effort, Experiment, Report

_RUNS: Final[Mapping[str, Callable[[Effort], Report]]] = {
    "X1": minimal_risk.run,
    "X2": k_anonymity.run,
    "X3": estimated_dictionary.run,
    "X4": random_releases.run,
    "X5": thresholds.run,
    "X6": branch_and_bound.run,
    "X7": optimal_generalisation.run,
    "X8": frontier_share.run,
    "X9": growing_attributes.run,
    "X10": risk_models.run,
    "X11": genetic_time.run,
    "X12": genetic_risk.run,
    "X13": aggregate_objective.run,
    "X14": perturbed_counts.run,
    "B1": likeness_figures.same_distance,
    "B2": likeness_figures.given_distance,
    "B3": likeness_figures.given_loss,
    "B4": likeness_figures.by_beta,
    "B5": likeness_figures.by_attributes,
    "B6": likeness_figures.by_records,
    "B7": likeness_figures.queries,
    "B9": likeness_figures.closeness_and_diversity,
    "B10": likeness_figures.attacks,
    "R0": reconstruction_examples.run,
    "R1": violating_groups.education,
    "R2": errors_of_samples.education,
    "R3": violating_groups.occupation,
    "R4": errors_of_samples.occupation,
    "R5": noisy_ratios.education,
    "R6": noisy_ratios.occupation,
    "D1": private_samples.over_epsilon,
    "D2": private_samples.over_rates,
    "D3": published_samples.counterexamples,
    "D4": published_samples.utility_against_privacy,
    "D5": audited_mechanisms.run,
    "V1": view_growth.run,
    "V2": view_examples.run,
    "V3": view_formulas.run,
    "S1": dirichlet_examples.constants,
    "S2": commuters.all_within_200,
    "S3": commuters.short_within_200,
    "S4": commuters.all_within_100,
    "S5": commuters.short_within_100,
    "S6": dirichlet_examples.capital,
    "S7": dirichlet_examples.failing_claims,
    "N1": network_sharing.algorithms,
    "N2": network_sharing.study,
    "N3": network_sharing.friends_in_common,
    "N4": network_sharing.leakage,
    "L1": diversity_figures.complete,
    "L2": diversity_figures.near,
    "L3": diversity_figures.times,
    "L4": diversity_figures.heights,
    "L5": diversity_figures.group_sizes,
    "L6": diversity_figures.discernibilities,
    "L7": diversity_figures.divergences,
    "L8": diversity_figures.more_divergences,
    "L9": diversity_figures.whole_table,
    "L10": diversity_figures.limits,
}
EXPERIMENTS: Final = tuple(Experiment(run=_RUNS[own["id"]], **own) for own in ENTRIES)
ALL: Final = "all"


def chosen(names: tuple[str, ...]) -> tuple[Experiment, ...]:
    """The experiments of these names or groups, in order; InvalidInput with the nearest for another."""
    wanted = {name.upper() for name in names}
    known = {ALL.upper(), *(name for own in EXPERIMENTS for name in (own.id[0], own.id))}
    for name in sorted(wanted - known):
        near = difflib.get_close_matches(name, sorted({"LIST", *known}), 1, 0.5)
        meant = f"Did you mean {near[0]}? " if near else ""
        raise InvalidInput.of(
            "NAME",
            "unknown-choice",
            f"There is no experiment {name!r}.",
            f"{meant}Choose from {', '.join(groups())}, a group by its letter, or {ALL}.",
        )
    return tuple(own for own in EXPERIMENTS if wanted & {own.id, own.id[0], ALL.upper()})
