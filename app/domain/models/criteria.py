"""The criteria of privacy that there are, as searches and policies read them.

They stand apart from the catalogue of measures so that whoever reads a criterion loads no analysis and no
attack. Those of a measure belong to it: that the two lists are the same is held by a test.
"""

from __future__ import annotations

from typing import Final

from app.domain.models.alpha_k_anonymity import AlphaKAnonymity
from app.domain.models.beta_likeness import BetaLikeness
from app.domain.models.criterion import Criterion
from app.domain.models.delta_disclosure import DeltaDisclosure
from app.domain.models.delta_presence import DeltaPresence
from app.domain.models.disclosure_diversity import NpdRecursiveLDiversity, PdRecursiveLDiversity
from app.domain.models.distinct_l_diversity import DistinctLDiversity
from app.domain.models.entropy_l_diversity import CorrectedEntropyLDiversity, EntropyLDiversity
from app.domain.models.journalist_risk import AverageJournalistRisk, HighestJournalistRisk, MarketerRisk
from app.domain.models.k_anonymity import KAnonymity
from app.domain.models.k_e_anonymity import KEAnonymity
from app.domain.models.k_map import EstimatedKMap, KMap
from app.domain.models.population_uniqueness import PopulationUniqueness, SampleUniqueness
from app.domain.models.prosecutor_risk import AverageRisk, HighestRisk
from app.domain.models.reconstruction_privacy import ReconstructionPrivacy
from app.domain.models.recursive_l_diversity import RecursiveLDiversity
from app.domain.models.rho_privacy import RhoPrivacy
from app.domain.models.t_closeness import TCloseness

CRITERIA: Final[tuple[type[Criterion], ...]] = (
    KAnonymity,
    HighestRisk,
    AverageRisk,
    HighestJournalistRisk,
    AverageJournalistRisk,
    MarketerRisk,
    KMap,
    EstimatedKMap,
    DeltaPresence,
    SampleUniqueness,
    PopulationUniqueness,
    DistinctLDiversity,
    EntropyLDiversity,
    CorrectedEntropyLDiversity,
    RecursiveLDiversity,
    PdRecursiveLDiversity,
    NpdRecursiveLDiversity,
    AlphaKAnonymity,
    KEAnonymity,
    RhoPrivacy,
    TCloseness,
    DeltaDisclosure,
    BetaLikeness,
    ReconstructionPrivacy,
)
