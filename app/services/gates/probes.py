"""From the criteria of a policy to their probes."""

from __future__ import annotations

from app.domain.errors import InvalidInput, NotSupported
from app.domain.policies.policy import (
    BoundDemand,
    MeasureDemand,
    OptimumDemand,
    PolicyCriterion,
    PrivacyModelDemand,
    ScoreDemand,
)
from app.services.gates.bench import Bench
from app.services.gates.bound_probe import BoundProbe
from app.services.gates.class_probe import ClassProbe
from app.services.gates.measure_probe import MeasureProbe
from app.services.gates.optimum_probe import optimum_probe
from app.services.gates.probe import UNALIGNED, Broken, Probe
from app.services.gates.score_probe import ScoreProbe
from app.services.gates.subject import Subject
from app.services.measurement_work import MeasurementPreparation, Question, measure_of
from app.services.optimisation_work import OptimisationPreparation
from app.services.ports import Store
from app.services.resources import JsonObject, TenantId
from app.services.rule_documents import rule_document
from app.services.tables import TableLoader


class ProbeMaker:
    """Makes the probes of one evaluation."""

    def __init__(
        self, store: Store, loader: TableLoader, tenant: TenantId, subject: Subject, bench: Bench
    ) -> None:
        self._measurements = MeasurementPreparation(store, loader, bench.memory_ceiling)
        self._optimisations = OptimisationPreparation(store, loader)
        self._tenant = tenant
        self._subject = subject
        self._bench = bench

    async def probe(self, criterion: PolicyCriterion) -> Probe:
        """The criterion's probe; one that only says why, if it cannot be computed."""
        try:
            return await self._probe(criterion)
        except (InvalidInput, NotSupported) as error:
            return Broken(criterion, error)

    async def _probe(self, criterion: PolicyCriterion) -> Probe:
        match criterion.demand:
            case MeasureDemand() as demand:
                return await self._measure(criterion, demand)
            case ScoreDemand() as demand:
                return ScoreProbe(criterion, demand, self._bench)
            case PrivacyModelDemand() as demand:
                return ClassProbe(criterion, demand, self._bench)
            case BoundDemand() as demand:
                return BoundProbe(criterion, demand, self._bench)
            case OptimumDemand() as demand:
                if self._bench.rule is None:
                    raise NotSupported(*UNALIGNED)
                return await optimum_probe(
                    self._optimisations, self._tenant, criterion, demand, self._subject, self._bench
                )

    async def _measure(self, criterion: PolicyCriterion, demand: MeasureDemand) -> MeasureProbe:
        subject, bench = self._subject, self._bench
        bench.scoring(demand.dictionary)
        question = Question(
            measure_of(demand.measure, demand.version),
            subject.parameters[criterion.id],
            subject.base if demand.dictionary is None else subject.slots[demand.dictionary],
            bench.scoring(demand.dictionary).options,
            self._rule(),
            subject.referred,
        )
        measurement = await self._measurements.measurement(self._tenant, question)
        return MeasureProbe(criterion, demand, measurement, bench)

    def _rule(self) -> JsonObject | None:
        """The document of the rule; of a finished release that of the rule that it comes from."""
        if self._subject.rule is not None or self._bench.rule is None:
            return self._subject.rule
        return rule_document(self._bench.rule, self._bench.table.attributes)
