"""The privacy criteria there are; requests, rules and the catalogue's page are derived from this tuple."""

from __future__ import annotations

from typing import Final

from app.domain.criteria.anonymity import KAnonymity
from app.domain.criteria.attackers import AverageJournalistRisk, HighestJournalistRisk, MarketerRisk
from app.domain.criteria.beliefs import RhoPrivacy
from app.domain.criteria.closeness import TCloseness
from app.domain.criteria.criterion import Criterion
from app.domain.criteria.disclosure import AlphaKAnonymity, NpdRecursiveLDiversity, PdRecursiveLDiversity
from app.domain.criteria.diversity import DistinctLDiversity, EntropyLDiversity, RecursiveLDiversity
from app.domain.criteria.estimated import CorrectedEntropyLDiversity, EstimatedKMap
from app.domain.criteria.gains import BetaLikeness, DeltaDisclosure
from app.domain.criteria.population import AverageRisk, DeltaPresence, HighestRisk, KMap, SampleUniqueness
from app.domain.criteria.uniques import PopulationUniqueness

CRITERIA: Final[tuple[type[Criterion], ...]] = (
    KAnonymity,
    KMap,
    EstimatedKMap,
    DeltaPresence,
    HighestRisk,
    AverageRisk,
    HighestJournalistRisk,
    AverageJournalistRisk,
    MarketerRisk,
    SampleUniqueness,
    PopulationUniqueness,
    DistinctLDiversity,
    EntropyLDiversity,
    CorrectedEntropyLDiversity,
    RecursiveLDiversity,
    PdRecursiveLDiversity,
    NpdRecursiveLDiversity,
    AlphaKAnonymity,
    TCloseness,
    DeltaDisclosure,
    BetaLikeness,
    RhoPrivacy,
)
