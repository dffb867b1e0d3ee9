"""What the numbers of plans mean, by mechanism: in plain words, for the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from app.domain.classes.reconstruction_groups import TESTS

_GROUPS: Final = "Groups of records that agree in all quasi-identifiers, as a rule leaves them."

PERTURBATION_CONSTANTS: Final[Mapping[str, str]] = {
    "values": "Values that can be published.",
    "values_unused": "Values of the hierarchy that no record and no reference has: they are never published.",
    "beta_saturation": "From this beta on a greater one changes nothing.",
    "gamma_least": "The least factor by which probabilities in one row of the matrix may differ.",
    "gamma_greatest": "The greatest such factor.",
    "alpha_floor_greatest": "The greatest alpha_floor for which the bound is proved.",
    "least_entry": "No probability in the matrix is below it (C of the source).",
    "alpha_least": "The least retention of a value.",
    "alpha_greatest": "The greatest retention of a value.",
    "expected_retention": "The share of records that are expected to show their own value.",
    "greatest_posterior": "How strongly a reader of one record may believe in a value of it, at most.",
    "beta_achieved": "The greatest relative gain that is really possible, at most beta.",
    "bound_used": "How near the greatest posterior comes to its bound; 1 is at the bound.",
}

_UNIFORM: Final[Mapping[str, str]] = {
    "values": "Values that can be published, whether a record has them or not.",
    "p_cap": "The greatest p that is allowed.",
    "gamma": "The greatest factor by which one published value changes odds between two values.",
    "rho_2_reached": (
        "How strongly a reader of one record may believe, with this p, what was at most rho_1 likely before; "
        "only where rho_1 is given."
    ),
    "groups": _GROUPS,
}

UNIFORM_CONSTANTS: Final[Mapping[str, str]] = {
    **_UNIFORM,
    "kept": "The probability that a value is published as itself, by the coin or by chance.",
    "elsewhere": "The probability that a value becomes some one other.",
    **{f"groups_failing_{test}": f"Groups that fail by {test}." for test in TESTS},
    **{f"records_failing_{test}": f"Records in groups that fail by {test}." for test in TESTS},
    **{f"delta_{test}": f"The greatest delta by which no group fails by {test}." for test in TESTS},
    "releases": (
        "Independent releases that somebody is in, this one included, at most: all groups are tested for who "
        "has so many."
    ),
    "greatest_p_chernoff_simple": "The greatest p by which no group fails by chernoff_simple.",
}

SAMPLE_CONSTANTS: Final[Mapping[str, str]] = {
    **_UNIFORM,
    "sample_size_whatever_is_shown": (
        "So many records of a larger group are within the bound whatever values they have."
    ),
    "groups_sampled": "Groups of which fewer records are drawn than they have.",
    "records_of_groups_sampled": "Records in these groups.",
    "groups_suppressed": "Groups that are not published; where that is chance, expected, to one digit.",
    "records_suppressed": "Records in groups that are not published; expected likewise.",
}

_NOISE: Final = {
    "factor": "e^ε: by what factor one record changes the probability of a table, at most.",
    "noise_standard_deviation": "Standard deviation of the noise of one count.",
}

STABILITY_CONSTANTS: Final[Mapping[str, str]] = {
    **_NOISE,
    "threshold": "τ: a combination is published if its noisy count is at least this.",
    "delta_of_threshold": "The probability that a combination of one record is published: all of δ.",
    "count_likely": "A combination of so many records is published with a probability of at least 0.95.",
    "generalisations": "H: no record has more generalisations to choose from; told with a dictionary only.",
}

LAPLACE_CONSTANTS: Final[Mapping[str, str]] = {
    **_NOISE,
    "cells": "Combinations of the hierarchies' values at the rule's levels, whether they occur or not.",
    "rows_of_noise": "Rows that are expected of combinations that do not occur.",
}

RATES_COMPARED: Final = (0.01, 0.05, 0.1, 0.2, 0.3)
"""Sampling rates whose constants a plan tells beside those of the one that is asked for."""

_OF_SCORES: Final = {
    "phi_least": "φ_l: no generalisation is less sensitive; of the declared weights.",
    "phi_greatest": "φ_u: none is more sensitive.",
    "utility_greatest": "ν: none is of more use.",
    "exponent": "Generalisations are drawn with probabilities proportional to the exponential of this times "
    "the objective, which is divided by the number of records where it counts these.",
    "exponent_range": "No two exponents of a record differ by more: near 0 the draw is nearly uniform.",
    "size_needed": "From so many records on the size of the sample takes its share of δ at most.",
}

SAMPLED_CONSTANTS: Final[Mapping[str, str]] = {
    **_OF_SCORES,
    "generalisations": "H: no record has more generalisations.",
    "drift": "ρ: one record changes the draws of all others by no more than the factor e^ρ.",
    "exchange_factor": "K: by what factor one copy more of a generalisation may change probabilities.",
    "least_mass": "S: expected copies of a frequent generalisation, were all records sampled, at least.",
    "crowd": "t: so many records are below each frequent generalisation, but for δ.",
    "noise_scale": "b of the noise of each count: Pr[Z = z] ∝ exp(−|z|/b); 0 where nothing is counted.",
    "gap": "What a noisy count must have above t.",
    "threshold": "t + gap: a generalisation is frequent if its noisy count, and those above it, reach it.",
    "records_needed": "The fewest records that must be declared.",
    "epsilon_of_rounding": "What of ε is kept for the rounding of exponentials.",
    "delta_of_frequent_set": "The part of δ of generalisations that noise alone makes frequent.",
    "delta_of_sample_size": "The part of δ of samples that are larger than expected by half or more.",
    "delta_of_exchange": "The part of δ of one copy more that stands out.",
    **{
        f"{name}_at_rate_{rate:g}": f"{told} with the sampling rate {rate:g}."
        for rate in RATES_COMPARED
        for name, told in (
            ("exponent_range", "exponent_range"),
            ("threshold", "threshold"),
            ("records_needed", "records_needed"),
        )
    },
}

PUBLISHED_SAMPLE_CONSTANTS: Final[Mapping[str, str]] = {
    **_OF_SCORES,
    "lattice_bound": "h^k: the source's bound on how many generalisations a record has.",
    "floor_of_unsampled": "t′: unsampled records below a frequent generalisation, at least, by the source.",
    "crowd_needed": "t_min: records below a frequent generalisation that the source's conditions ask for.",
    "share_needed": "t_min as a share of the declared records: θ0 must be at least this.",
    "delta_of_exchange_and_size": "What the sample takes of δ by the repaired argument.",
    "delta_of_frequent_set": "2·h^k/(m·(1 − θ0)): how often frequent sets of neighbours differ, at most.",
}

EPSILONS_COMPARED: Final = (0.5, 1.0, 2.0, 4.0, 8.0)
"""ε whose noise a plan of drawn people tells, with the same certificate and δ."""

DIRICHLET_CONSTANTS: Final[Mapping[str, str]] = {
    "partitions": "Combinations of the public attributes that occur.",
    "partitions_of_one": "Those of one person, whom no δ helps.",
    "size_median": "People in the median partition.",
    "size_greatest": "People in the largest partition.",
    "values": "K: values or parts that can be drawn, whether anybody has them or not.",
    "alpha_least": "The least prior of a value in a partition.",
    "alpha_greatest": "The greatest of the partitions' least priors.",
    "greatest_loss": "By no output, however improbable, do odds between two values change by more than the "
    "exponential of this.",
    "delta_of_partition": "The probability of an output of a partition by which they change by more.",
    "delta_of_table": "The same of any partition: the sum, at most 1.",
    "noise_share": "The share of the drawn people who are expected to be of the prior; where values are kept "
    "by chance, at most.",
    **{
        f"noise_share_at_epsilon_{epsilon:g}": f"The same of a median partition with ε = {epsilon:g}; where "
        "tails are too much work, at most."
        for epsilon in EPSILONS_COMPARED
    },
}
