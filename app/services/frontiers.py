"""Use cases on frontiers: all best compromises of risk and utility at once; their work is always a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from app.domain.search.problem import Aggregate
from app.domain.search.problem import Scope as RuleScope
from app.services.dataset_schema import DISCLOSED
from app.services.fingerprints import resource_sha256
from app.services.frontier_work import FrontierPreparation
from app.services.plans import RUN_BYTES
from app.services.ports import Store, UnitOfWork
from app.services.resources import JsonObject, Kind, NewResource
from app.services.scoring_inputs import SourceRefs, Sources
from app.services.scoring_options import ScoringOptions
from app.services.searches import SearchService, warnings_about
from app.services.tables import TableLoader


@dataclass(frozen=True)
class CreateFrontier:
    """What to draw the frontier of; the answer has at most ``max_points`` points."""

    name: str
    dataset: str
    dictionary: str
    sensitivity: str
    scope: RuleScope = "table_level"
    failure: str | None = None
    options: ScoringOptions = field(default_factory=ScoringOptions)
    aggregate: Aggregate = "average"
    max_points: int = 200

    @property
    def refs(self) -> SourceRefs:
        """What the question is about."""
        return SourceRefs(self.dataset, self.dictionary, self.sensitivity, self.failure)

    @property
    def named(self) -> Sequence[tuple[str, Kind, str]]:
        """It names nothing else."""
        return ()


@dataclass(frozen=True)
class FrontierSummary:
    """The keys of a frontier's ``summary``; the uses are names."""

    dataset: str
    dictionary: str
    dictionaries: tuple[str, ...]
    sensitivity: str
    failure: str | None
    scope: str
    aggregate: str
    utility: str | JsonObject
    absent_policy: str
    risk_model: str | JsonObject
    consistency: JsonObject
    attacker_view: str
    max_points: int
    warnings: list[str]


class FrontierService(SearchService[CreateFrontier]):
    """Pose the question for all best compromises and read the answer."""

    kind: ClassVar[Kind] = Kind.FRONTIER

    def __init__(self, store: Store, loader: TableLoader, run_bytes: int = RUN_BYTES) -> None:
        super().__init__(store, FrontierPreparation(store, loader), run_bytes)

    async def _posed(self, work: UnitOfWork, request: CreateFrontier, sources: Sources) -> NewResource:
        return _new(request.name, _document(request, sources), sources)


def _document(request: CreateFrontier, sources: Sources) -> JsonObject:
    """What is asked, apart from what it is asked about, in the view that the dictionaries have."""
    view = sources.view(request.options.attacker_view)
    document: JsonObject = {
        "scope": request.scope,
        **replace(request.options, attacker_view=view).document(),
        "max_points": request.max_points,
    }
    if request.aggregate != "average":
        document["aggregate"] = request.aggregate
    return document


def _new(name: str, document: JsonObject, sources: Sources) -> NewResource:
    return NewResource(
        Kind.FRONTIER,
        name,
        resource_sha256(Kind.FRONTIER, document, sources.hashes),
        {
            "aggregate": "average",
            **document,
            **sources.shown(),
            **ScoringOptions.of(document).shown(),
            "warnings": warnings_about(sources.dataset, *DISCLOSED),
        },
        {**document, "sources": sources.refs},
        sources.ids,
    )
