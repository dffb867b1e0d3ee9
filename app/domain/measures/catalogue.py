"""The measures there are.

Adding one takes its file here and one line below; and, held by a test: an example in
``api/examples/measurements.py``, a section in ``docs/measures.md`` headed by its name and title that says
what the numbers mean, assume and do not cover, and tests in a file ``test_<name>.py``.
"""

from __future__ import annotations

from typing import Any, Final

from app.domain.measures.alpha_k_anonymity import ALPHA_K_ANONYMITY
from app.domain.measures.anonymity import ANONYMITY
from app.domain.measures.attacker_models import ATTACKER_MODELS
from app.domain.measures.background_knowledge_attack import BACKGROUND_KNOWLEDGE_ATTACK
from app.domain.measures.bayes_risk_sampled import BAYES_RISK_SAMPLED
from app.domain.measures.beta_likeness import BETA_LIKENESS
from app.domain.measures.cheapest_generalisation import CHEAPEST_GENERALISATION
from app.domain.measures.consistent_entities import CONSISTENT_ENTITIES
from app.domain.measures.delta_disclosure import DELTA_DISCLOSURE
from app.domain.measures.delta_presence import DELTA_PRESENCE
from app.domain.measures.direct_identifiers import DIRECT_IDENTIFIERS
from app.domain.measures.disclosure_diversity import DISCLOSURE_DIVERSITY
from app.domain.measures.distinction_and_separation import DISTINCTION_AND_SEPARATION
from app.domain.measures.entry import Measure
from app.domain.measures.equivalence_classes import EQUIVALENCE_CLASSES
from app.domain.measures.homogeneity_attack import HOMOGENEITY_ATTACK
from app.domain.measures.independence_estimate import INDEPENDENCE_ESTIMATE
from app.domain.measures.information_loss import INFORMATION_LOSS
from app.domain.measures.k_anonymity_comparison import K_ANONYMITY_COMPARISON
from app.domain.measures.k_map import K_MAP
from app.domain.measures.l_diversity import L_DIVERSITY
from app.domain.measures.linking_attack import LINKING_ATTACK
from app.domain.measures.optimum_explanation import OPTIMUM_EXPLANATION
from app.domain.measures.parametric_risk import PARAMETRIC_RISK
from app.domain.measures.population_uniqueness import POPULATION_UNIQUENESS
from app.domain.measures.posterior_beliefs import POSTERIOR_BELIEFS
from app.domain.measures.privacy_profile import PRIVACY_PROFILE
from app.domain.measures.query_accuracy import QUERY_ACCURACY
from app.domain.measures.record_linkage import RECORD_LINKAGE
from app.domain.measures.risk_attribution import RISK_ATTRIBUTION
from app.domain.measures.risk_given_releases import RISK_GIVEN_RELEASES
from app.domain.measures.riskiest_records import RISKIEST_RECORDS
from app.domain.measures.rule_reuse import RULE_REUSE
from app.domain.measures.similarity_attack import SIMILARITY_ATTACK
from app.domain.measures.skewness_attack import SKEWNESS_ATTACK
from app.domain.measures.t_closeness import T_CLOSENESS

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
    HOMOGENEITY_ATTACK,
    BACKGROUND_KNOWLEDGE_ATTACK,
    POSTERIOR_BELIEFS,
    LINKING_ATTACK,
    INFORMATION_LOSS,
    QUERY_ACCURACY,
    T_CLOSENESS,
    DELTA_DISCLOSURE,
    BETA_LIKENESS,
    SKEWNESS_ATTACK,
    SIMILARITY_ATTACK,
    DIRECT_IDENTIFIERS,
    DISTINCTION_AND_SEPARATION,
)
