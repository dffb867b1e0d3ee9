"""How the members are generalised, tried and released."""

from __future__ import annotations

from typing import Final

from app.api.examples.form import Examples, bodies

RULES: Final = bodies(
    {
        "name": "trial-rule",
        "dataset": "trial",
        "rule": {"kind": "table_level", "levels": {"city": 2, "birth_date": 1}},
    },
    {
        "name": "proposal",
        "dataset": "members",
        "rule": {"kind": "table_level", "levels": {"city": 1, "birth_date": 2, "income": 1}},
    },
    {
        "name": "exceptions",
        "dataset": "members",
        "rule": {
            "kind": "record_level",
            "records": [
                {"entity": "m-08", "steps": {"city": 4, "race": 2}},
                {"row": 12, "steps": {"city": 2}, "values": {"race": None}},
            ],
        },
    },
    {
        "name": "no-small-classes",
        "dataset": "members",
        "rule": {
            "kind": "table_level",
            "levels": {"city": 3, "birth_date": 2, "income": 4},
            "suppress_classes_below": 2,
        },
    },
    {
        "name": "fewer-places",
        "dataset": "members",
        "rule": {"kind": "generalisation", "values": {"city": {"Gary": "Indiana", "Albany": "Northeast"}}},
    },
    {
        "name": "careful",
        "dataset": "members",
        "rule": {
            "kind": "conditional",
            "statements": [
                {"kind": "hide", "attribute": "income", "unless": "income < 100000"},
                {
                    "kind": "generalise",
                    "attribute": "city",
                    "unless": "member_id != 'm-08' and (race = 'White' or race = 'Black')",
                    "to": {"kind": "level", "level": 2},
                },
                {
                    "kind": "generalise",
                    "attribute": "birth_date",
                    "unless": {
                        "op": ">=",
                        "left": {"attr": "birth_date"},
                        "right": {"const": "1971-01-01"},
                    },
                    "to": {"kind": "value", "value": "1970"},
                },
            ],
        },
    },
    {
        "name": "exceptions-further",
        "dataset": "members",
        "rule": {"kind": "at_least", "rule": "exceptions", "levels": {"city": 2, "birth_date": 1}},
    },
    trial_rule="states, and no dates of birth",
    proposal="counties, years of birth, incomes by ten thousand",
    exceptions="two records that need more care than the others",
    no_small_classes="states and years of birth; records that would stand alone are suppressed",
    fewer_places="two places that are too small to be named",
    careful="suppress and generalise where conditions are not true",
    exceptions_further="a rule generalised further: of every record at most states and months",
)

RULE_PREVIEWS: Final[Examples] = {
    "proposal": {
        "summary": "a stored rule",
        "value": {"dataset": "members", "rule": "proposal", "limit": 5},
    },
    "tried": {
        "summary": "a rule that is only tried",
        "value": {
            "dataset": "members",
            "rule": {"kind": "table_level", "levels": {"city": 2, "race": 1}},
            "limit": 5,
        },
    },
}

_PERTURBED: Final = {
    "name": "residents-perturbed",
    "dataset": "residents",
    "mechanism": {"kind": "perturbation", "beta": 2},
}

MECHANISM_RELEASES: Final = bodies(
    _PERTURBED, residents_perturbed="the residents, with the education of each drawn anew"
)

_SYNTHESISED: Final = {
    "name": "residents-synthesised",
    "dataset": "residents",
    "mechanism": {"kind": "dirichlet_multinomial", "partition": ["gender", "race"], "epsilon": 2},
}

MECHANISM_PLANS: Final = bodies(
    _PERTURBED,
    _SYNTHESISED,
    {
        "name": "residents-counted",
        "dataset": "residents",
        "mechanism": {
            "kind": "stability_histogram",
            "epsilon": 1,
            "delta": 0.000001,
            "least_records": 1000,
        },
    },
    {
        "name": "residents-counted-generalised",
        "dataset": "residents",
        "mechanism": {
            "kind": "stability_histogram",
            "epsilon": 1,
            "delta": 0.000001,
            "least_records": 1000,
            "dictionary": {"education": ["Master", "Doctorate"]},
            "trade_off": 0.5,
        },
    },
    residents_perturbed="the residents, with the education of each drawn anew",
    residents_synthesised="as many people of each gender and race, their education drawn anew",
    residents_counted="how many residents there are of each kind, with noise: differentially private",
    residents_counted_generalised="the same, each resident as generalised against a public dictionary",
)

MECHANISM_AUDITS: Final[Examples] = bodies(
    {
        "name": "histogram-exactly",
        "mechanism": {"kind": "stability_histogram", "epsilon": 1, "delta": 0.01, "least_records": 1},
    },
    {
        "name": "histogram-drawn",
        "mechanism": {"kind": "laplace_histogram", "epsilon": 1},
        "method": "draws",
        "runs": 2000,
    },
    histogram_exactly="what small tables need of δ",
    histogram_drawn="what draws of hard pairs bound ε by",
)

MECHANISM_AUDIT_RUNS: Final[Examples] = bodies(
    {
        "name": "sample-drawn",
        "mechanism": {
            "kind": "sampled_generalisation",
            "epsilon": 4,
            "delta": 0.0078,
            "sampling_rate": 0.5,
            "least_records": 127,
            "trade_off": 1,
            "dictionary": {"leaf": ["a", "a", "b"]},
            "exponent_range": 0.5,
        },
        "method": "draws",
    },
    sample_drawn="draws of a sample, in the background",
)

MECHANISM_PREVIEWS: Final = bodies(
    {
        "name": "residents-sampled",
        "dataset": "residents",
        "mechanism": {
            "kind": "sampled_generalisation",
            "epsilon": 1,
            "delta": 0.000001,
            "sampling_rate": 0.1,
            "least_records": 1000,
            "trade_off": 0.001,
            "phi_offset": 1,
        },
    },
    _SYNTHESISED,
    residents_sampled="a sample of the residents, each generalised as far as chance says",
    residents_synthesised="how far people whose education is drawn anew are from those whom they stand for",
)

RELEASES: Final = bodies(
    {"name": "trial-release", "dataset": "trial", "rule": "trial-optimum"},
    {"name": "members-release", "dataset": "members", "rule": "members-optimum", "neutralise_formulas": True},
    _PERTURBED,
    trial_release="the members under the best rule that was found",
    members_release="the members under the best rule",
    residents_perturbed="the residents, with the education of each drawn anew",
)

COUNT_QUERIES: Final[Examples] = {
    "residents-perturbed": {
        "summary": "women with a higher degree, and all residents",
        "value": {
            "queries": [
                {
                    "where": [
                        {"attribute": "gender", "values": ["female"]},
                        {"attribute": "education", "values": ["Master", "Doctorate"]},
                    ]
                },
                {"where": []},
            ]
        },
    },
    "members-release": {
        "summary": "members of a state by birth and income",
        "value": {
            "queries": [
                {
                    "where": [
                        {"attribute": "city", "values": ["Indiana"]},
                        {"attribute": "birth_date", "low": "1970-01", "high": "1974"},
                        {"attribute": "income", "low": 50000},
                    ]
                }
            ]
        },
    },
}
