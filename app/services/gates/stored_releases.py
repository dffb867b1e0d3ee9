"""The stored release that an evaluation is of: its rule, or what a mechanism promises of it as of now."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

from app.domain.errors import InvalidInput
from app.services.gates.requests import CreateEvaluation, StoredRelease
from app.services.ports import UnitOfWork
from app.services.releases.ledgers import spending_of
from app.services.releases.mechanism_manifests import hides_records, is_drawn
from app.services.releases.releases import ORDER_BEFORE
from app.services.releases.requests import LineOrder
from app.services.releases.standing_guarantees import standing_guarantees
from app.services.releases.withdrawal import require_given_out
from app.services.resources import JsonObject, Kind, Stored

_RULE: Final = 1
"""Where a release under a rule names that among what it uses, after its dataset."""


@dataclass(frozen=True)
class JudgedRelease:
    """A stored release and what is known of it.

    ``guarantees`` are those of a release that a mechanism made, as they stood when the evaluation was asked
    for; those of a rule's release are none. ``spending`` is what all releases of the table had spent then;
    None unless a differentially private mechanism made this one.
    """

    stored: Stored
    guarantees: tuple[JsonObject, ...] = ()
    spending: JsonObject | None = None

    @property
    def is_drawn(self) -> bool:
        """Whether a mechanism made it."""
        return is_drawn(self.stored)

    @property
    def rule_id(self) -> str | None:
        """The rule that made it; None if a mechanism did."""
        return None if self.is_drawn else self.stored.uses[_RULE]

    @property
    def order(self) -> LineOrder:
        """How its rows stand."""
        order: LineOrder = self.stored.summary.get("order", ORDER_BEFORE)
        return order

    @property
    def chosen_order(self) -> Literal["records"] | None:
        """``records`` if that order was chosen; releases from before rows were shuffled have it unchosen."""
        return "records" if self.stored.summary.get("order_chosen", False) else None

    @property
    def csv_sha256(self) -> str:
        """Hash of its table as CSV."""
        return str(self.stored.summary["csv_sha256"])

    @property
    def in_short(self) -> JsonObject:
        """How a verdict tells which it is."""
        return {
            "name": self.stored.name,
            "sha256": self.stored.sha256,
            "csv_sha256": self.csv_sha256,
            "mechanism": self.stored.summary["mechanism"]["name"] if self.is_drawn else None,
            "records": self.stored.summary["rows"],
        }


async def with_dataset(work: UnitOfWork, request: CreateEvaluation) -> CreateEvaluation:
    """The request with the dataset of the stored release, where it leaves that out; NotFound without one."""
    if request.dataset is not None or not isinstance(request.release, StoredRelease):
        return request
    stored = await work.resources.get(Kind.RELEASE, request.release.name)
    return replace(request, dataset=stored.uses[0])


async def find_release(work: UnitOfWork, ref: str, dataset: Stored) -> JudgedRelease:
    """The dataset's release of this name or id, with what it promises as of now; see :func:`given_out`."""
    found = await given_out(work, ref, dataset)
    if not found.is_drawn:
        return found
    spending = await spending_of(work, dataset) if hides_records(found.stored) else None
    return replace(found, guarantees=await standing_guarantees(work, found.stored), spending=spending)


async def given_out(work: UnitOfWork, ref: str, dataset: Stored) -> JudgedRelease:
    """The dataset's release of this name or id, whatever it promises.

    NotFound without one, InvalidInput if it is of another dataset, Withdrawn if it is given out no more.
    """
    stored = await work.resources.get(Kind.RELEASE, ref)
    if stored.uses[0] != dataset.id:
        raise InvalidInput.of(
            "/release/name",
            "other-dataset",
            f"The release {stored.name!r} is of the dataset {stored.summary['dataset']!r}.",
            "Name that dataset, or a release of this one.",
        )
    await require_given_out(work, stored)
    return JudgedRelease(stored)
