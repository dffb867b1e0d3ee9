"""Use cases on measurements: one measure of the catalogue, computed for the tenant's own resources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from app.domain.errors import Fault, InvalidInput, NotSupported, refuse
from app.domain.models.entry import fields_of_releases
from app.services.datasets.cell_values import require_to_name_values, shown_parameters
from app.services.datasets.tables import TableLoader
from app.services.direct_questions import DirectService
from app.services.fingerprints import new_resource
from app.services.named import all_resources
from app.services.ports import Store, UnitOfWork
from app.services.questions import DirectBudget, Route
from app.services.releases.mechanism_manifests import is_drawn
from app.services.releases.withdrawal import require_given_out
from app.services.resources import Actor, JsonObject, Kind, NewResource, Stored, document_of
from app.services.rules.rule_definitions import RuleDefinition
from app.services.rules.rules import find_rule, rule_kept
from app.services.scoring.measurement_documents import document_of_parameters, references_in, with_references
from app.services.scoring.measurement_work import Measurement, MeasurementPreparation, Question, measure_of
from app.services.scoring.scoring_inputs import SourceRefs, find_sources, missing_inputs
from app.services.scoring.scoring_options import ScoringOptions


@dataclass(frozen=True)
class CreateMeasurement:
    """What to measure: ``parameters`` is a value of the measure's own type.

    Whether rule, dictionary and sensitivity are needed depends on the measure; ``rule`` is a stored rule or a
    definition. A stored ``release`` may take the place of the rule: then the dataset is known, too. Without a
    name one is made of the hash.
    """

    dataset: str | None
    measure: str
    parameters: Any
    rule: str | RuleDefinition | None = None
    dictionary: str | None = None
    sensitivity: str | None = None
    failure: str | None = None
    name: str | None = None
    options: ScoringOptions = field(default_factory=ScoringOptions)
    release: str | None = None

    @property
    def refs(self) -> SourceRefs:
        """What the measure rests on, but for the rule and what its parameters name."""
        return SourceRefs(self.dataset or "", self.dictionary, self.sensitivity, self.failure)

    @property
    def named(self) -> Sequence[tuple[str, Kind, str]]:
        """The rule, if it is a stored one, and what the parameters name."""
        rule = [("/rule", Kind.RULE, self.rule)] if isinstance(self.rule, str) else []
        return [*rule, *((found.pointer, found.kind, found.ref) for found in references_in(self.parameters))]

    def require_whole(self) -> None:
        """Raise InvalidInput for fields that do not fit together."""
        faults = []
        if self.release is not None and self.rule is not None:
            faults.append(
                Fault(
                    "/rule",
                    "rule-beside-release",
                    "Both a rule and a release say what is measured.",
                    "Leave the rule out: the release was made by one, or by a mechanism.",
                )
            )
        if self.release is None and self.dataset is None:
            faults.append(
                Fault(
                    "/dataset",
                    "missing",
                    "Neither a dataset nor a release says what is measured.",
                    "Name a dataset, or a stored release.",
                )
            )
        refuse(faults)

    async def of_release(self, work: UnitOfWork) -> tuple[CreateMeasurement, Stored | None]:
        """The request with the dataset of the release that it names, and the rule if that made it.

        Of what was drawn for groups the rule is the one that made these groups, if there was one.

        Withdrawn if it is given out no more, InvalidInput if the request names another dataset.
        """
        if self.release is None:
            return self, None
        release = await work.resources.get(Kind.RELEASE, self.release)
        await require_given_out(work, release)
        dataset = await work.resources.get(Kind.DATASET, release.uses[0])
        if self.dataset is not None:
            named = await work.resources.get(Kind.DATASET, self.dataset)
            if named.id != dataset.id:
                raise InvalidInput.of(
                    "/dataset",
                    "other-dataset",
                    f"The release {release.name!r} is not of the dataset {named.name!r}.",
                    f"Leave the dataset out: it is {dataset.name!r}.",
                )
        made = not is_drawn(release) or "groups" in measure_of(self.measure).reads
        rule = release.uses[1] if made and release.summary["rule"]["name"] else None
        return replace(self, dataset=dataset.id, rule=rule), release


class MeasurementService(DirectService[CreateMeasurement, Question, Measurement]):
    """Compute measures, directly where that is small and by a run where it is not."""

    kind: ClassVar[Kind] = Kind.MEASUREMENT

    def __init__(self, store: Store, loader: TableLoader, budget: DirectBudget) -> None:
        super().__init__(store, loader, budget)
        self._preparation = MeasurementPreparation(store, loader, budget.bytes)

    def _require_for(self, actor: Actor, request: CreateMeasurement) -> None:
        """Parameters that name values ask who has them."""
        super()._require_for(actor, request)
        request.require_whole()
        require_to_name_values(actor, request.parameters)

    async def _missing(self, work: UnitOfWork, request: CreateMeasurement) -> tuple[Fault, ...]:
        """As of any question, the release first: it may lead to the rest."""
        if request.release is not None:
            faults = await missing_inputs(work, [("/release", Kind.RELEASE, request.release)])
            if request.dataset is not None:
                faults += await missing_inputs(work, [("/dataset", Kind.DATASET, request.dataset)])
            if faults:
                return faults
            request, _ = await request.of_release(work)
        return await super()._missing(work, request)

    async def _resolve(
        self, store: Store, actor: Actor, request: CreateMeasurement, route: Route
    ) -> tuple[Question, NewResource]:
        async with store.work(actor.tenant) as work:
            request, release = await request.of_release(work)
            sources = await find_sources(work, request.refs)
            parameters = await with_released_rules(work, request.parameters, sources.dataset)
            by_pointer = {
                reference.pointer: await work.resources.get(reference.kind, reference.ref)
                for reference in references_in(parameters)
            }
        rule = None
        if request.rule is not None:
            rule = await find_rule(store, self._loader, actor, request.rule, sources.dataset)
        refuse(
            [
                Fault(
                    pointer,
                    "other-dataset",
                    f"The rule {stored.name!r} is not for the dataset {sources.dataset.name!r}.",
                    "Name rules of the dataset that is measured.",
                )
                for pointer, stored in by_pointer.items()
                if stored.kind is Kind.RULE
                and document_of(stored)["dataset"]["sha256"] != sources.dataset.sha256
            ]
        )
        question = Question(
            measure_of(request.measure),
            with_references(parameters, lambda reference: by_pointer[reference.pointer].name),
            sources,
            request.options,
            rule,
            {(stored.kind, stored.name): stored for stored in by_pointer.values()},
            release,
        )
        return question, _resource(request, question, by_pointer)

    async def _prepare(self, actor: Actor, question: Question) -> Measurement:
        return await self._preparation.measurement(actor.tenant, question)

    async def _beside(self, work: UnitOfWork, actor: Actor, stored: Stored) -> JsonObject:
        """The parameters; values of cells only with data:read."""
        return {"parameters": shown_parameters(actor, document_of(stored)["measure"])}


def _resource(
    request: CreateMeasurement,
    question: Question,
    by_pointer: Mapping[str, Stored],
) -> NewResource:
    """The measurement as it will be stored.

    Results may name what the parameters refer to, so the names count among what gives it its meaning.
    """
    measure, sources, rule, release = question.measure, question.sources, question.rule, question.release
    asked = {
        "name": measure.name,
        "version": measure.version,
        "parameters": document_of_parameters(question.parameters),
    }
    shown = request.options.shown()
    del shown["attacker_view"]
    return new_resource(
        Kind.MEASUREMENT,
        request.name,
        {**request.options.document(), "measure": asked},
        {
            **sources.hashes,
            **{pointer: stored.sha256 for pointer, stored in by_pointer.items()},
            **({} if rule is None else {"rule": rule.sha256}),
            **({} if release is None else _hashes_of(release)),
        },
        {
            **dict.fromkeys(("dictionary", "sensitivity", "failure")),
            **sources.names,
            **shown,
            "measure": measure.name,
            "version": measure.version,
            "guarantee": measure.guarantee,
            "rule": None if rule is None else rule.in_short,
            "release": None if release is None else release.name,
        },
        {
            "sources": sources.refs,
            **rule_kept(rule),
            **({} if release is None else {"release": release.id}),
        },
        (
            *sources.ids,
            *(() if rule is None else rule.uses),
            *(() if release is None else (release.id,)),
            *(stored.id for stored in by_pointer.values()),
        ),
    )


def _hashes_of(release: Stored) -> Mapping[str, str]:
    """What a release is hashed by: what was asked for, and of one that was drawn what came of it."""
    drawn = {"release_table": release.summary["csv_sha256"]} if is_drawn(release) else {}
    return {"release": release.sha256, **drawn}


async def with_released_rules(work: UnitOfWork, parameters: Any, dataset: Stored) -> Any:  # noqa: ANN401
    """The parameters with the rules of the dataset's releases, oldest first, where they ask for these.

    NotSupported if a mechanism made one of these releases.
    """
    asked = [name for name in fields_of_releases(type(parameters)) if getattr(parameters, name) is None]
    if not asked:
        return parameters
    releases = [
        release
        for release in reversed(await all_resources(work, Kind.RELEASE))
        if release.summary["dataset_sha256"] == dataset.sha256
    ]
    drawn = [release.name for release in releases if is_drawn(release)]
    if drawn:
        raise NotSupported(
            f"The release {drawn[0]!r} was made by a mechanism: what it tells of a record follows from no "
            f"rule ({len(drawn)} of {len(releases)} releases of the dataset are such).",
            f"Name in {asked[0]} the rules of the releases that are to be taken into account.",
        )
    rules = [release.summary["rule"]["name"] for release in releases]
    return replace(parameters, **dict.fromkeys(asked, tuple(dict.fromkeys(rules))))
