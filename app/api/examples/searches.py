"""Best rules, and all rules that are best for some threshold."""

from __future__ import annotations

from typing import Final

from app.api.examples.assessments import QUESTION, TRIAL
from app.api.examples.form import bodies
from app.domain.models.beta_likeness import BetaLikeness

OPTIMISATIONS: Final = bodies(
    {"name": "trial-optimum", **TRIAL, "objective": {"kind": "min_risk", "utility_floor": 4}},
    {
        "name": "members-optimum",
        **QUESTION,
        "objective": {"kind": "min_risk", "utility_floor": 6},
        "scope": "table_level",
        "solver": "enumeration",
    },
    {
        "name": "careful-optimum",
        **QUESTION,
        "dictionary": "any-attacker",
        "attacker_view": "worst_case",
        "objective": {"kind": "min_risk", "loss_cap": 2},
        "utility": "info_loss_lm",
    },
    {
        "name": "optimum-by-aruba",
        **QUESTION,
        "objective": {"kind": "max_utility", "risk_cap": 0.2},
        "solver": {"kind": "aruba", "moves": "reduced"},
        "budget": {"max_nodes": 100_000, "relative_gap": 0.05, "time_limit_seconds": 60},
    },
    {
        "name": "optimum-by-breeding",
        **QUESTION,
        "objective": {"kind": "min_risk", "utility_floor": 6},
        "solver": {"kind": "genetic", "seed": 1, "generations": 20},
    },
    {
        "name": "best-proposal",
        **QUESTION,
        "objective": {"kind": "min_risk", "utility_floor": 3},
        "solver": {"kind": "min_risk_of_candidates", "rules": ["proposal", "no-small-classes", "careful"]},
    },
    {
        "name": "certified-optimum",
        **QUESTION,
        "sensitivity": "members-harm-added",
        "objective": {"kind": "min_risk", "utility_floor": 6},
        "scope": "record_level",
        "solver": {"kind": "approx", "sensitivity_slack": 8},
    },
    {
        "name": "anonymous-optimum",
        "dataset": "members",
        "objective": {
            "kind": "min_loss",
            "privacy": [{"kind": "k_anonymity", "k": 2}],
            "suppression_limit": 0.2,
        },
    },
    {
        "name": "diverse-optimum",
        "dataset": "members",
        "objective": {
            "kind": "min_loss",
            "privacy": [
                {"kind": "k_anonymity", "k": 2},
                {"kind": "distinct_l_diversity", "l": 2},
                {"kind": "t_closeness", "t": 0.8, "distance": "equal"},
            ],
            "loss": "non_uniform_entropy",
            "suppression_limit": 0.2,
            "minimal_rules": True,
        },
    },
    {
        "name": "weighed-optimum",
        "dataset": "members",
        "objective": {
            "kind": "min_loss",
            "privacy": [{"kind": "k_anonymity", "k": 2}],
            "loss": {
                "kind": "arithmetic",
                "weights": {"city": 3},
                "aggregate": "rank",
                "suppression_factor": 0.75,
            },
            "suppression_limit": 0.2,
        },
    },
    {
        "name": "recoded-optimum",
        "dataset": "members",
        "objective": {"kind": "min_loss", "privacy": [{"kind": "k_anonymity", "k": 2}]},
        "scope": "record_level",
    },
    {
        "name": "like-optimum",
        "dataset": "residents",
        "objective": {
            "kind": "min_loss",
            "privacy": [{"kind": BetaLikeness.kind, "beta": 2}, {"kind": "k_anonymity", "k": 2}],
            "loss": "ail",
        },
        "scope": "record_level",
        "solver": {"kind": "burel", "seed": 1, "slack_margin": "auto"},
    },
    {
        "name": "members-compared",
        "dataset": "members",
        "objective": {
            "kind": "alternatives",
            "privacy": [{"kind": "k_anonymity", "k": 2}],
            "suppression_limit": 0.2,
            "important": ["city"],
        },
    },
    {
        "name": "aggregate-optimum",
        **QUESTION,
        "sensitivity": "members-harm-added",
        "objective": {"kind": "aggregate", "trade_off": 1, "kappa": 2},
        "scope": "record_level",
    },
    trial_optimum="least risk with at least 4 levels kept on average",
    members_optimum="least risk with at least 6 of 13 levels kept on average",
    optimum_by_aruba="by an algorithm of your choice, within a budget",
    optimum_by_breeding="by genetic search, which proves nothing",
    best_proposal="the best of three rules that are there",
    certified_optimum="by an approximation that proves for this run what it may miss",
    anonymous_optimum="2-anonymity with the least loss, at most a fifth of the records suppressed",
    diverse_optimum="several privacy criteria at once, and all rules that disclose as much as they can",
    weighed_optimum="2-anonymity, the city worth three times the others, the greatest losses compared first",
    recoded_optimum="2-anonymity with levels of their own for every record, none suppressed",
    like_optimum="2-likeness by BUREL: rows are chosen without a look at sensitive values of like frequency",
    members_compared="2-anonymity in several ways side by side, with what each of them shows",
    aggregate_optimum="without a threshold: harm and utility weighed in one number",
    careful_optimum="least risk under the worse of two dictionaries, with at most so much information lost",
)

FRONTIERS: Final = bodies(
    {"name": "members-frontier", **QUESTION, "scope": "table_level", "max_points": 100},
    {
        "name": "members-frontier-by-record",
        **QUESTION,
        "dictionary": "attackers",
        "scope": "record_level",
    },
    members_frontier="rules for the whole table",
    members_frontier_by_record="rules record by record, against two dictionaries",
)
