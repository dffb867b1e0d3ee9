"""One example per measure, written by hand: what a newcomer sends with "Try it out".

They build on the small journey of the other examples and are computed by a test each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

Example = Mapping[str, Any]

_RULE: Final = {"dataset": "members", "rule": "proposal"}
_POSED: Final = {"dataset": "members", "dictionary": "census", "sensitivity": "members-harm"}
_SCORED: Final = {**_POSED, "rule": "proposal"}


def _example(summary: str, name: str, of: Mapping[str, Any], **measure: object) -> Example:
    return {"summary": summary, "value": {"name": name, **of, "measure": measure}}


BY_MEASURE: Final[Mapping[str, Example]] = {
    "anonymity": _example(
        "do the members hide among each other?", "proposal-anonymity", _RULE, kind="anonymity", k=2
    ),
    "privacy_profile": _example(
        "what do all models of k-anonymity's kin say of the rule?",
        "proposal-profile",
        _RULE,
        kind="privacy_profile",
    ),
    "equivalence_classes": _example(
        "how large are the groups of members that share what others may know?",
        "proposal-classes",
        _RULE,
        kind="equivalence_classes",
        k=2,
    ),
    "risk_attribution": _example(
        "which attribute carries how much of the risk?",
        "proposal-attribution",
        _SCORED,
        kind="risk_attribution",
    ),
    "riskiest_records": _example(
        "whose records are at risk, and why?", "proposal-riskiest", _SCORED, kind="riskiest_records", top=3
    ),
    "consistent_entities": _example(
        "who of the census may the second record be?",
        "proposal-candidates",
        {"dataset": "members", "rule": "proposal", "dictionary": "census"},
        kind="consistent_entities",
        row=2,
        most=20,
    ),
    "cheapest_generalisation": _example(
        "which single step lowers the risk most?",
        "proposal-next-step",
        _SCORED,
        kind="cheapest_generalisation",
    ),
    "optimum_explanation": _example(
        "what holds the best rule, and what would more utility cost?",
        "optimum-explanation",
        {**_SCORED, "rule": "members-optimum"},
        kind="optimum_explanation",
        objective="min_risk",
        threshold=6,
    ),
    "rule_reuse": _example(
        "does the rule fit the next delivery as well?",
        "proposal-reuse",
        _SCORED,
        kind="rule_reuse",
        next_dataset="members",
    ),
    "risk_given_releases": _example(
        "what if the attacker holds what was released before?",
        "proposal-after-release",
        _SCORED,
        kind="risk_given_releases",
    ),
    "record_linkage": _example(
        "what if the attacker first links the release with a register?",
        "proposal-linkage",
        _SCORED,
        kind="record_linkage",
        auxiliary="register",
    ),
    "independence_estimate": _example(
        "how far off is it to take the attributes for independent?",
        "members-independence",
        _POSED,
        kind="independence_estimate",
        clusters=[["city", "race"]],
    ),
    "k_anonymity_comparison": _example(
        "what does k-anonymity cost against rules of least risk?",
        "members-against-k-anonymity",
        _POSED,
        kind="k_anonymity_comparison",
        k=[2, 4],
        rules=5,
    ),
    "parametric_risk": _example(
        "what would be the risk of members yet to come?",
        "proposal-parametric",
        _SCORED,
        kind="parametric_risk",
        samples=20_000,
        smoothing=0.5,
    ),
    "bayes_risk_sampled": _example(
        "what is the risk on average over attackers drawn at random?",
        "proposal-sampled-attackers",
        {**_RULE, "sensitivity": "members-harm"},
        kind="bayes_risk_sampled",
        dictionaries=["census", "members-themselves", "register"],
    ),
    "attacker_models": _example(
        "how likely are members named, by whom?",
        "proposal-attackers",
        {**_RULE, "dictionary": "census"},
        kind="attacker_models",
        threshold=0.2,
    ),
    "k_map": _example(
        "does every class stand for enough people of the census?",
        "proposal-k-map",
        {**_RULE, "dictionary": "census"},
        kind="k_map",
        k=3,
    ),
    "delta_presence": _example(
        "can one tell who is a member?",
        "proposal-presence",
        {**_RULE, "dictionary": "census"},
        kind="delta_presence",
        quasi_identifiers=["city", "race"],
        upper=0.5,
    ),
    "population_uniqueness": _example(
        "how many people would be unique if everybody were known?",
        "members-uniqueness",
        {"dataset": "members"},
        kind="population_uniqueness",
        sampling_fraction=0.1,
    ),
    "l_diversity": _example(
        "how many incomes are there where members look alike?",
        "proposal-diversity",
        _RULE,
        kind="l_diversity",
        l=2,
        c=3.0,
        deepest=3,
    ),
    "disclosure_diversity": _example(
        "can a low income be inferred, or a high one be ruled out?",
        "proposal-disclosure",
        _RULE,
        kind="disclosure_diversity",
        harmless=["[60000, 80000["],
        protected=["[100000, 200000["],
        least_percent=5.0,
    ),
    "alpha_k_anonymity": _example(
        "does one income dominate where members look alike?",
        "proposal-alpha-k",
        _RULE,
        kind="alpha_k_anonymity",
        alpha=0.5,
        k=2,
    ),
    "homogeneity_attack": _example(
        "whose income is given away by all who look alike?",
        "proposal-homogeneity",
        _RULE,
        kind="homogeneity_attack",
        theta=0.75,
    ),
    "background_knowledge_attack": _example(
        "what does a member learn who knows how incomes are distributed, and what somebody does not earn?",
        "proposal-background",
        _RULE,
        kind="background_knowledge_attack",
        known_records=[1],
        knowledge="members-themselves",
        negations=1,
        confidence=0.9,
    ),
    "posterior_beliefs": _example(
        "what does somebody learn who knows how incomes are distributed?",
        "proposal-beliefs",
        {**_RULE, "dictionary": "members-themselves"},
        kind="posterior_beliefs",
        rho_1=0.2,
        rho_2=0.7,
    ),
    "linking_attack": _example(
        "who of the census is found among the members?",
        "proposal-linking",
        {**_RULE, "dictionary": "census"},
        kind="linking_attack",
    ),
    "information_loss": _example(
        "how much of the members' data does the rule lose?",
        "proposal-loss",
        _RULE,
        kind="information_loss",
        leaf_domain="active",
    ),
    "query_accuracy": _example(
        "how well can incomes still be counted by city, race and age?",
        "proposal-queries",
        _RULE,
        kind="query_accuracy",
        attribute="income",
        queries=500,
        predicates=2,
        selectivity=0.3,
    ),
    "t_closeness": _example(
        "are incomes spread within each class as among all members?",
        "proposal-closeness",
        _RULE,
        kind="t_closeness",
        t=0.3,
        distance="ordered",
        missing_sensitive="excluded",
    ),
    "delta_disclosure": _example(
        "does a class make some income much more or less likely?",
        "proposal-delta",
        _RULE,
        kind="delta_disclosure",
        delta=1.5,
        base="2",
    ),
    "beta_likeness": _example(
        "how much more likely does any income become?",
        "proposal-likeness",
        _RULE,
        kind="beta_likeness",
        beta=2,
        top=3,
    ),
    "skewness_attack": _example(
        "who is suspected of an income far more than before?",
        "proposal-skewness",
        _RULE,
        kind="skewness_attack",
        gain=1.5,
        top=3,
    ),
    "similarity_attack": _example(
        "who is known to earn little, whatever the exact income?",
        "proposal-similarity",
        _RULE,
        kind="similarity_attack",
        groups=["[0, 100000["],
        confidence=0.9,
        top=3,
    ),
    "direct_identifiers": _example(
        "does what the rule discloses look like names, numbers or addresses of people?",
        "proposal-direct-identifiers",
        _RULE,
        kind="direct_identifiers",
    ),
    "distinction_and_separation": _example(
        "which columns tell the members apart, and which pairs of columns?",
        "members-distinction",
        {"dataset": "members"},
        kind="distinction_and_separation",
        largest_set=2,
        shown=5,
    ),
}
"""Name of the measure → its example, with the name of the measurement that it makes."""

MEASUREMENTS: Final = {str(example["value"]["name"]): dict(example) for example in BY_MEASURE.values()}

NAMES: Final = tuple(MEASUREMENTS)
"""The measurements that the examples make."""

RUN_NAME: Final = "proposal-anonymity-by-run"

RUNS: Final = {
    RUN_NAME: dict(_example("in the background, with another k", RUN_NAME, _RULE, kind="anonymity", k=3))
}
