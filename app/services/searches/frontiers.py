"""Use cases on frontiers: all Pareto-optimal rules of risk and utility; their work is always a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from app.domain.search.problem import Aggregate
from app.domain.search.problem import Scope as RuleScope
from app.services.datasets.dataset_schema import DISCLOSED
from app.services.datasets.tables import TableLoader
from app.services.fingerprints import new_resource
from app.services.ports import Store, UnitOfWork
from app.services.questions import RUN_BYTES
from app.services.resources import JsonObject, Kind, NewResource
from app.services.scoring.scoring_inputs import SourceRefs, Sources
from app.services.scoring.scoring_options import ScoringOptions
from app.services.searches.frontier_work import FrontierPreparation
from app.services.searches.searches import SearchService, warnings_about


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


class FrontierService(SearchService[CreateFrontier]):
    """Pose the question for all Pareto-optimal rules and read the answer."""

    kind: ClassVar[Kind] = Kind.FRONTIER

    def __init__(self, store: Store, loader: TableLoader, run_bytes: int = RUN_BYTES) -> None:
        super().__init__(store, FrontierPreparation(store, loader), run_bytes)

    async def _resource(self, work: UnitOfWork, request: CreateFrontier, sources: Sources) -> NewResource:
        document = _document(request, sources)
        return new_resource(
            self.kind,
            request.name,
            document,
            sources.hashes,
            {
                "aggregate": "average",
                **document,
                **sources.shown(),
                **ScoringOptions.of(document).shown(),
                "warnings": warnings_about(sources.dataset, *DISCLOSED),
            },
            {"sources": sources.refs},
            sources.ids,
        )


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
