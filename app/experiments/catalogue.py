"""The experiments of the papers that can be run."""

from __future__ import annotations

from typing import Final

from app.domain.errors import InvalidInput
from app.experiments import (
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
from app.experiments.report import Experiment

EXPERIMENTS: Final = (
    Experiment("X1", minimal_risk.run),
    Experiment("X2", k_anonymity.run),
    Experiment("X3", estimated_dictionary.run),
    Experiment("X4", random_releases.run),
    Experiment("X5", thresholds.run),
    Experiment("X6", branch_and_bound.run),
    Experiment("X7", optimal_generalisation.run),
    Experiment("X8", frontier_share.run),
    Experiment("X9", growing_attributes.run),
    Experiment("X10", risk_models.run),
    Experiment("X11", genetic_time.run),
    Experiment("X12", genetic_risk.run),
    Experiment("X13", aggregate_objective.run),
    Experiment("X14", perturbed_counts.run),
    Experiment("B1", likeness_figures.same_distance),
    Experiment("B2", likeness_figures.given_distance),
    Experiment("B3", likeness_figures.given_loss),
    Experiment("B4", likeness_figures.by_beta),
    Experiment("B5", likeness_figures.by_attributes),
    Experiment("B6", likeness_figures.by_records),
    Experiment("B7", likeness_figures.queries),
    Experiment("B9", likeness_figures.closeness_and_diversity),
    Experiment("B10", likeness_figures.attacks),
    Experiment("R0", reconstruction_examples.run),
    Experiment("R1", violating_groups.education),
    Experiment("R2", errors_of_samples.education),
    Experiment("R3", violating_groups.occupation),
    Experiment("R4", errors_of_samples.occupation),
    Experiment("R5", noisy_ratios.education),
    Experiment("R6", noisy_ratios.occupation),
    Experiment("D1", private_samples.over_epsilon),
    Experiment("D2", private_samples.over_rates),
    Experiment("D3", published_samples.counterexamples),
    Experiment("D4", published_samples.utility_against_privacy),
    Experiment("D5", audited_mechanisms.run),
    Experiment("V1", view_growth.run),
    Experiment("V2", view_examples.run),
    Experiment("V3", view_formulas.run),
    Experiment("S1", dirichlet_examples.constants),
    Experiment("S2", commuters.all_within_200),
    Experiment("S3", commuters.short_within_200),
    Experiment("S4", commuters.all_within_100),
    Experiment("S5", commuters.short_within_100),
    Experiment("S6", dirichlet_examples.capital),
    Experiment("S7", dirichlet_examples.failing_claims),
    Experiment("N1", network_sharing.algorithms),
    Experiment("N2", network_sharing.study),
    Experiment("N3", network_sharing.friends_in_common),
    Experiment("N4", network_sharing.leakage),
    Experiment("L1", diversity_figures.complete),
    Experiment("L2", diversity_figures.near),
    Experiment("L3", diversity_figures.times),
    Experiment("L4", diversity_figures.heights),
    Experiment("L5", diversity_figures.group_sizes),
    Experiment("L6", diversity_figures.discernibilities),
    Experiment("L7", diversity_figures.divergences),
    Experiment("L8", diversity_figures.more_divergences),
    Experiment("L9", diversity_figures.whole_table),
    Experiment("L10", diversity_figures.limits),
)
ALL: Final = "all"


def chosen(names: tuple[str, ...]) -> tuple[Experiment, ...]:
    """The experiments of these ids, in the order of the catalogue; InvalidInput for an unknown one."""
    by_id = {experiment.id: experiment for experiment in EXPERIMENTS}
    wanted = {name.upper() for name in names if name.lower() != ALL}
    for name in sorted(wanted - set(by_id)):
        raise InvalidInput.of(
            "NAME",
            "unknown-choice",
            f"There is no experiment {name!r}.",
            f"Choose {', '.join(by_id)} or {ALL}.",
        )
    if len(wanted) < len(set(names)):
        return EXPERIMENTS
    return tuple(experiment for experiment in EXPERIMENTS if experiment.id in wanted)
