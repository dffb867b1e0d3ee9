"""The measures there are.

Adding one takes its file and one line below, and one in the list of criteria for each that it has; and, held
by a test: a section in ``docs/measures.md`` headed by its name and title that says what the numbers mean,
assume and do not cover, and tests in a file ``test_<name>.py``. Requests, answers, examples, rules, policies
and the catalogue's page are derived.
"""

from __future__ import annotations

from typing import Any, Final

from app.domain.analyses.bayes_risk_sampled import BAYES_RISK_SAMPLED
from app.domain.analyses.cheapest_generalisation import CHEAPEST_GENERALISATION
from app.domain.analyses.consistent_entities import CONSISTENT_ENTITIES
from app.domain.analyses.direct_identifiers import DIRECT_IDENTIFIERS
from app.domain.analyses.distinction_and_separation import DISTINCTION_AND_SEPARATION
from app.domain.analyses.expected_count_errors import EXPECTED_COUNT_ERRORS
from app.domain.analyses.independence_estimate import INDEPENDENCE_ESTIMATE
from app.domain.analyses.information_loss import INFORMATION_LOSS
from app.domain.analyses.k_anonymity_comparison import K_ANONYMITY_COMPARISON
from app.domain.analyses.mergeable_values import MERGEABLE_VALUES
from app.domain.analyses.optimum_explanation import OPTIMUM_EXPLANATION
from app.domain.analyses.parametric_risk import PARAMETRIC_RISK
from app.domain.analyses.privacy_profile import PRIVACY_PROFILE
from app.domain.analyses.query_accuracy import QUERY_ACCURACY
from app.domain.analyses.record_linkage import RECORD_LINKAGE
from app.domain.analyses.risk_attribution import RISK_ATTRIBUTION
from app.domain.analyses.risk_given_releases import RISK_GIVEN_RELEASES
from app.domain.analyses.riskiest_records import RISKIEST_RECORDS
from app.domain.analyses.rule_reuse import RULE_REUSE
from app.domain.analyses.safe_harbor_values import SAFE_HARBOR_VALUES
from app.domain.analyses.sharing_measures import (
    DIFFUSION_RISK,
    SHARING_LOSS,
    SHARING_PLAN,
    SHARING_RECOMMENDATION,
)
from app.domain.analyses.singling_out import SINGLING_OUT
from app.domain.analyses.synthetic_measures import (
    SYNTHETIC_ATTACKS,
    SYNTHETIC_DISTANCES,
    SYNTHETIC_UTILITY,
)
from app.domain.attacks.background_knowledge_attack import BACKGROUND_KNOWLEDGE_ATTACK
from app.domain.attacks.definetti_attack import DEFINETTI_ATTACK
from app.domain.attacks.group_inference import GROUP_INFERENCE
from app.domain.attacks.homogeneity_attack import HOMOGENEITY_ATTACK
from app.domain.attacks.linking_attack import LINKING_ATTACK
from app.domain.attacks.micro_reconstruction import MICRO_RECONSTRUCTION
from app.domain.attacks.population_inference import POPULATION_INFERENCE
from app.domain.attacks.posterior_beliefs import POSTERIOR_BELIEFS
from app.domain.attacks.ratio_attack import RATIO_ATTACK
from app.domain.attacks.scale_attack import SCALE_ATTACK
from app.domain.attacks.similarity_attack import SIMILARITY_ATTACK
from app.domain.attacks.skewness_attack import SKEWNESS_ATTACK
from app.domain.models.alpha_k_anonymity import ALPHA_K_ANONYMITY
from app.domain.models.beta_likeness import BETA_LIKENESS
from app.domain.models.delta_disclosure import DELTA_DISCLOSURE
from app.domain.models.delta_presence import DELTA_PRESENCE
from app.domain.models.disclosure_diversity import DISCLOSURE_DIVERSITY
from app.domain.models.entry import Measure
from app.domain.models.k_anonymity import ANONYMITY, EQUIVALENCE_CLASSES
from app.domain.models.k_e_anonymity import K_E_ANONYMITY
from app.domain.models.k_map import K_MAP
from app.domain.models.l_diversity import L_DIVERSITY
from app.domain.models.population_uniqueness import POPULATION_UNIQUENESS
from app.domain.models.reconstruction_privacy import RECONSTRUCTION_PRIVACY
from app.domain.models.reidentification_risk import ATTACKER_MODELS
from app.domain.models.t_closeness import T_CLOSENESS

MEASURES: Final[tuple[Measure[Any, Any], ...]] = (
    ANONYMITY,
    PRIVACY_PROFILE,
    EQUIVALENCE_CLASSES,
    K_ANONYMITY_COMPARISON,
    RISK_ATTRIBUTION,
    RISKIEST_RECORDS,
    CONSISTENT_ENTITIES,
    CHEAPEST_GENERALISATION,
    OPTIMUM_EXPLANATION,
    RULE_REUSE,
    RISK_GIVEN_RELEASES,
    RECORD_LINKAGE,
    INDEPENDENCE_ESTIMATE,
    PARAMETRIC_RISK,
    BAYES_RISK_SAMPLED,
    ATTACKER_MODELS,
    K_MAP,
    DELTA_PRESENCE,
    POPULATION_UNIQUENESS,
    L_DIVERSITY,
    DISCLOSURE_DIVERSITY,
    ALPHA_K_ANONYMITY,
    K_E_ANONYMITY,
    HOMOGENEITY_ATTACK,
    BACKGROUND_KNOWLEDGE_ATTACK,
    POSTERIOR_BELIEFS,
    LINKING_ATTACK,
    INFORMATION_LOSS,
    QUERY_ACCURACY,
    T_CLOSENESS,
    DELTA_DISCLOSURE,
    BETA_LIKENESS,
    RECONSTRUCTION_PRIVACY,
    EXPECTED_COUNT_ERRORS,
    MICRO_RECONSTRUCTION,
    SCALE_ATTACK,
    RATIO_ATTACK,
    SKEWNESS_ATTACK,
    SIMILARITY_ATTACK,
    POPULATION_INFERENCE,
    DEFINETTI_ATTACK,
    GROUP_INFERENCE,
    DIRECT_IDENTIFIERS,
    SAFE_HARBOR_VALUES,
    DISTINCTION_AND_SEPARATION,
    SINGLING_OUT,
    MERGEABLE_VALUES,
    SYNTHETIC_ATTACKS,
    SYNTHETIC_DISTANCES,
    SYNTHETIC_UTILITY,
    DIFFUSION_RISK,
    SHARING_LOSS,
    SHARING_PLAN,
    SHARING_RECOMMENDATION,
)
