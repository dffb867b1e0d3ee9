"""Use cases on optimisations: the question which rule is best; its work is always a run."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final, Literal

from app.domain.errors import Conflict, Fault, InvalidInput, NotFound, refuse
from app.domain.search.alternatives.questions import WAYS
from app.domain.search.alternatives.questions import document_of as document_of_alternatives
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.search.objectives import Alternatives, MinRisk, Objective, OfPrivacy
from app.domain.search.problem import Aggregate, Constraint, Problem
from app.domain.search.solvers import AUTO, Solver
from app.services.datasets.cell_values import require_to_name_values
from app.services.datasets.dataset_schema import DISCLOSED, Role
from app.services.datasets.tables import TableLoader
from app.services.fingerprints import new_resource
from app.services.named import add_resource, ending_of
from app.services.ports import Store, UnitOfWork
from app.services.questions import RUN_BYTES
from app.services.resources import (
    Actor,
    JsonObject,
    Kind,
    NewResource,
    Run,
    RunState,
    Stored,
    document_of,
)
from app.services.rules.rule_documents import require_rule_of
from app.services.scoring.measurement_documents import references_in, with_references
from app.services.scoring.scoring_inputs import SourceRefs, Sources
from app.services.scoring.scoring_options import ScoringOptions
from app.services.searches.alternatives import require_short
from app.services.searches.objectives import SearchBudget, scored_problem, solver_document
from app.services.searches.optimisation_work import (
    OptimisationPreparation,
    OptimisationQuestion,
    found_rules,
)
from app.services.searches.searches import SearchService, warnings_about


@dataclass(frozen=True)
class CreateOptimisation:
    """What to optimise; the optimal rule will be stored under the same name.

    ``constraint`` says of record-level rules whether the threshold holds for every record (None) or for the
    mean of the table; ``aggregate`` whether the risk of a table is the mean of its records' or the greatest.
    Of all this the objective ``min_loss`` takes name, dataset, scope and budget, and a dictionary where a
    criterion needs a population; ``alternatives`` the same but the scope; others need dictionary and
    sensitivity.
    """

    name: str
    dataset: str
    dictionary: str | None
    sensitivity: str | None
    objective: Objective
    scope: Literal["table_level", "record_level"] = "table_level"
    solver: Solver = AUTO
    failure: str | None = None
    options: ScoringOptions = field(default_factory=ScoringOptions)
    constraint: Constraint | None = None
    aggregate: Aggregate = "average"
    budget: SearchBudget = field(default_factory=SearchBudget)

    @property
    def refs(self) -> SourceRefs:
        """What the question is about."""
        dictionary = None if self.ignores_dictionary else self.dictionary
        return SourceRefs(self.dataset, dictionary, self.sensitivity, self.failure)

    @property
    def ignores_dictionary(self) -> bool:
        """Whether a dictionary is named that the objective does not need."""
        objective = self.objective
        unneeded = isinstance(objective, OfPrivacy) and not objective.needs_population
        return unneeded and self.dictionary is not None

    @property
    def named(self) -> Sequence[tuple[str, Kind, str]]:
        """The rules that the solver is to choose from."""
        return [(found.pointer, found.kind, found.ref) for found in references_in(self.solver, "/solver")]


class OptimisationService(SearchService[CreateOptimisation, OptimisationQuestion]):
    """Ask questions and read their answers."""

    kind: ClassVar[Kind] = Kind.OPTIMISATION

    def __init__(
        self, store: Store, loader: TableLoader, run_bytes: int = RUN_BYTES, threads: int = 1
    ) -> None:
        super().__init__(store, loader, OptimisationPreparation(store, loader, threads), run_bytes)

    def _require_for(self, actor: Actor, request: CreateOptimisation) -> None:
        """Criteria that name values ask who has them."""
        super()._require_for(actor, request)
        if isinstance(request.objective, OfPrivacy):
            require_to_name_values(actor, *request.objective.privacy)

    async def _ask(
        self, work: UnitOfWork, request: CreateOptimisation, sources: Sources
    ) -> tuple[OptimisationQuestion, NewResource]:
        objective = request.objective
        if isinstance(objective, OfPrivacy):
            if objective.needs_population and (sources.dictionary is None or sources.is_set):
                raise InvalidInput.of(
                    "/dictionary",
                    "missing" if sources.dictionary is None else "not-supported",
                    "A criterion compares the classes with a population, which is one dictionary.",
                    "Name a dictionary that lists it.",
                )
            if isinstance(objective, Alternatives):
                require_short(request.name)
                asked = {"objective": document_of_alternatives(objective), "scope": request.scope}
                new = _least_loss(request, asked, sources)
                return OptimisationQuestion(new, sources, request.options, objective, request.budget), new
            least = AnonymityProblem.of(objective, request.scope)
            new = _least_loss(request, least.to_document(), sources)
            question = OptimisationQuestion(
                new, sources, request.options, least, request.budget, request.solver
            )
            return question, new
        request = _resolved(request, sources)
        candidates = {pointer: await work.resources.get(kind, ref) for pointer, kind, ref in request.named}
        _require_rules_of(sources.dataset, candidates)
        is_mean = request.scope == "record_level" and request.constraint == "average"
        constraint: Constraint = "average" if is_mean else "per_record"
        problem = scored_problem(objective, request.scope, request.options, constraint, request.aggregate)
        solver = with_references(request.solver, lambda found: candidates[found.pointer].sha256, "/solver")
        new = _scored(request, _document(request, problem, solver), sources, candidates)
        by_hash = {rule.sha256: rule for rule in candidates.values()}
        question = OptimisationQuestion(
            new, sources, request.options, problem, request.budget, solver, by_hash
        )
        return question, new

    async def _refuse_in_vain(self, work: UnitOfWork, new: NewResource) -> None:
        """Refuse the work whose rule could not be stored; one that an equal question found is no obstacle."""
        is_one = document_of(new)["objective"]["kind"] != Alternatives.kind
        for name in (new.name,) if is_one else (f"{new.name}{ending_of(way)}" for way in WAYS):
            try:
                rule = await work.resources.get(Kind.RULE, name)
            except NotFound:
                continue
            if document_of(rule)["found_by"] != new.sha256 and not await _has_succeeded(work, new):
                raise Conflict(
                    f"A rule named {name!r} exists already; the best rule is to be stored under this name.",
                    "Choose another name for the optimisation, or delete that rule first.",
                    {"existing": {"kind": Kind.RULE.value, "name": rule.name, "id": rule.id}},
                )

    async def _complete(
        self,
        work: UnitOfWork,
        actor: Actor,
        question: OptimisationQuestion,
        stored: Stored,
        result: JsonObject,
        run: Run | None,
    ) -> None:
        """Store the rule that an equal question has found.

        A search that was stopped keeps its answer, even if an equal question has found another since.
        """
        if run is not None and run.state is RunState.SUCCEEDED and await work.runs.result(run.id) != result:
            return
        for new in found_rules(result, stored.name, question.sources, stored.sha256):
            await add_resource(work, actor, new)


async def _has_succeeded(work: UnitOfWork, new: NewResource) -> bool:
    """Whether this very optimisation is stored and has its answer, be it of a search that was stopped."""
    try:
        stored = await work.resources.get(Kind.OPTIMISATION, new.name)
    except NotFound:
        return False
    runs, _ = await work.runs.list(resource_id=stored.id, state=None, limit=1, cursor=None)
    return stored.sha256 == new.sha256 and bool(runs) and runs[0].state is RunState.SUCCEEDED


def _require_rules_of(dataset: Stored, candidates: Mapping[str, Stored]) -> None:
    """Raise InvalidInput for every candidate, by its pointer, that is a rule for another dataset."""
    faults: list[Fault] = []
    for pointer, rule in candidates.items():
        try:
            require_rule_of(rule, dataset)
        except InvalidInput as error:
            faults += [replace(fault, pointer=pointer) for fault in error.faults]
    refuse(faults)


def _resolved(request: CreateOptimisation, sources: Sources) -> CreateOptimisation:
    """The request with the view that its dictionaries have; InvalidInput where parts do not fit."""
    missing = [
        Fault(f"/{role}", "missing", f"The objective needs a {role}.", "Name one.")
        for role in ("dictionary", "sensitivity")
        if getattr(request, role) is None
    ]
    refuse(missing)
    if request.scope == "table_level" and request.constraint == "per_record":
        raise InvalidInput.of(
            "/constraint",
            "constraint-of-records",
            "Table-level rules are compared with the threshold as a whole, by the mean over the table.",
            "Leave constraint out, choose average, or ask for record_level.",
        )
    if isinstance(request.objective, MinRisk):
        # A loss of information is capped, any other utility has a floor (Definitions: losses as utilities).
        is_loss = request.options.utility.kind.startswith("info_loss")
        given, wanted = ("loss_cap", "utility_floor") if request.objective.utility_floor is None else (
            "utility_floor", "loss_cap"
        )  # fmt: skip
        if is_loss != (given == "loss_cap"):
            kind = "a loss: less of it is better" if is_loss else "no loss: more of it is better"
            raise InvalidInput.of(
                f"/objective/{given}",
                "wrong-direction",
                f"The utility {request.options.utility.kind} is {kind}.",
                f"Give {wanted} instead.",
            )
    view = sources.view(request.options.attacker_view)
    return replace(request, options=replace(request.options, attacker_view=view))


_IGNORED: Final = (
    "The dictionary is ignored: no criterion of the objective compares the classes with a population."
)


def _least_loss(request: CreateOptimisation, asked: JsonObject, sources: Sources) -> NewResource:
    """The question for the least loss: it rests on the dataset and on nothing that scores its rules."""
    solver = solver_document(request.solver)
    document = {**asked, "solver": solver, **request.budget.document()}
    shown = {
        **dict.fromkeys(("utility", "absent_policy", "risk_model", "consistency", "attacker_view")),
        "solver": solver,
        "warnings": warnings_about(sources.dataset, Role.QUASI_IDENTIFIER),
        **({"notes": [_IGNORED]} if request.ignores_dictionary else {}),
    }
    return _new(request, document, shown, sources)


def _document(request: CreateOptimisation, problem: Problem, solver: Solver) -> JsonObject:
    """What is asked, apart from what it is asked about; all of it has meaning.

    The ``solver`` has the rules to choose from by their hashes.
    """
    document = {
        "objective": problem.to_document()["objective"],
        "scope": request.scope,
        "solver": solver_document(solver),
        **request.options.document(),
        **request.budget.document(),
    }
    # Only what is not as usual is written down, so that it means and hashes the same if it is left out.
    if problem.constraint == "average":
        document["constraint"] = "average"
    if request.aggregate != "average":
        document["aggregate"] = request.aggregate
    return document


def _scored(
    request: CreateOptimisation, document: JsonObject, sources: Sources, candidates: Mapping[str, Stored]
) -> NewResource:
    """The question for the best rule by risk and utility."""
    per_record = request.scope == "record_level" and request.constraint != "average"
    named = with_references(request.solver, lambda found: candidates[found.pointer].name, "/solver")
    shown = {
        "solver": solver_document(named),
        **request.options.shown(),
        "constraint": "per_record" if per_record else "average",
        "aggregate": request.aggregate,
        # Among given rules nothing is generalised or suppressed that they do not.
        "warnings": [] if candidates else warnings_about(sources.dataset, *DISCLOSED),
    }
    return _new(request, document, shown, sources, candidates.values())


def _new(
    request: CreateOptimisation,
    document: JsonObject,
    shown: JsonObject,
    sources: Sources,
    candidates: Collection[Stored] | None = None,
) -> NewResource:
    common = {
        **sources.shown(),
        "objective": document["objective"],
        "scope": request.scope,
        "budget": request.budget.shown(),
    }
    kept: JsonObject = {"sources": sources.refs}
    if candidates is not None:
        kept["candidates"] = {rule.sha256: rule.id for rule in candidates}
    uses = (*sources.ids, *(rule.id for rule in candidates or ()))
    summary = common | shown
    return new_resource(Kind.OPTIMISATION, request.name, document, sources.hashes, summary, kept, uses)
