"""From a question about a release to the drawn one: its bytes, and the manifest that goes with them."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Final

import pyarrow as pa

from app.domain.errors import Conflict, refuse
from app.domain.mechanisms.catalogue import AnyMechanism
from app.domain.mechanisms.guarantee_models import ATTRIBUTE
from app.domain.mechanisms.mechanism import MechanismContext, MechanismPlan
from app.domain.mechanisms.privacy_loss import PrivacyLoss
from app.domain.mechanisms.spending import loss_of
from app.services.fingerprints import resource_sha256
from app.services.gates.rows import rows_document
from app.services.releases.bytes_written import bytes_of_writing
from app.services.releases.draw_subjects import subjects_alike, subjects_beside
from app.services.releases.key_stream import derived_key, key_stream
from app.services.releases.mechanism_manifests import mechanism_summary, rule_summary
from app.services.releases.people_in_both import PeopleInBoth
from app.services.releases.released_tables import DrawnLines, drawn_lines
from app.services.releases.requests import ChosenMechanism, CreateRelease
from app.services.resources import JsonObject, Kind, NewResource, Stored
from app.services.scoring.measurement_documents import document_of_parameters

DRAWING_STEPS: Final = 4
"""Drawn, put in order, written, counted and hashed: all that is told of how far it is."""

SECONDS_PER_CELL: Final = 3e-7
SECONDS_PER_NOISY_COUNT: Final = 2e-6
BYTES_PER_LINE: Final = 45
BYTES_PER_CELL: Final = 4
BYTES_OF_RELEASE: Final = 16 * 1024**2

_OF_SIZE: Final = frozenset({"database-too-small", "fewer-records"})
"""Faults of a table that is too small for what is asked."""
_DRAW: Final = "draw"
_ORDER: Final = "order"
"""What a secret is for: no byte of one purpose says anything of the other's."""


@dataclass(frozen=True)
class ReleaseCost:
    """Estimated time and memory of a release, beside its table."""

    seconds: float
    bytes: int


@dataclass(frozen=True, eq=False)
class Preparation:
    """A question about a release with all that it rests on, and its plan."""

    request: CreateRelease
    chosen: ChosenMechanism
    mechanism: AnyMechanism
    context: MechanismContext
    plan: MechanismPlan
    dataset: Stored
    rule: Stored | None
    upload: Stored
    contents: tuple[str, ...]
    """The content that it is drawn of, and all that are the same table."""
    people: PeopleInBoth | None = None
    secret: bytes | None = None
    """By which the question is hashed, where nobody may find out the data by their hash."""
    lists: tuple[Stored, ...] = ()
    """The datasets that the mechanism's parameters name."""

    @property
    def uses(self) -> tuple[str, ...]:
        """The ids of what it rests on: the dataset, then the rule, if there is one."""
        rule = () if self.rule is None else (self.rule,)
        return tuple(own.id for own in (self.dataset, *rule, *self.lists))

    def require_feasible(self) -> None:
        """InvalidInput for what is in the way of a draw; Conflict if it is the number of records alone."""
        for faults in (self.plan.missing, self.mechanism.bars(self.context, self.chosen.parameters)):
            if faults and all(own.code in _OF_SIZE for own in faults):
                raise Conflict(faults[0].message, faults[0].remedy, {"records_needed": self._records_needed})
            refuse(faults)

    @property
    def _records_needed(self) -> int | None:
        """Of declarations alone; None where no table is large enough, or the source's conditions say less."""
        needed = max(self.plan.constants.get("records_needed", 0), self.least_records or 0)
        return math.ceil(needed) if math.isfinite(needed) else None

    @property
    def told_cost(self) -> JsonObject:
        """The estimate as it is told and kept: nothing where it would tell how many records there are."""
        return {} if self.mechanism.hides_records else asdict(self.cost)

    @cached_property
    def cost(self) -> ReleaseCost:
        """Of the draw, and of ordering, writing and hashing what was drawn."""
        lines = math.ceil(self.context.table.n_records * self.plan.rows_per_record)
        cells, trees = lines * self.context.table.n_attributes, self.context.table.hierarchies
        noise = SECONDS_PER_NOISY_COUNT * lines if self.mechanism.hides_records else 0.0
        return ReleaseCost(
            self.plan.seconds
            + self._of_records(self.plan.seconds_per_record)
            + noise
            + SECONDS_PER_CELL * cells,
            # What a draw holds beside its records is let go of before its labels are written.
            max(self.plan.bytes, bytes_of_writing([own.labels for own in trees], lines))
            + math.ceil(self._of_records(self.plan.bytes_per_record))
            + BYTES_PER_LINE * lines
            + BYTES_PER_CELL * cells
            + BYTES_OF_RELEASE,
        )

    def _of_records(self, each: float) -> float:
        return self.context.table.n_records * each

    @cached_property
    def subject(self) -> str:
        """Hash of the uploaded content and of the attributes that are drawn, whatever else is asked for."""
        return self.subjects[0]

    @cached_property
    def subjects(self) -> tuple[str, ...]:
        """The same of all contents that are the same table, its own first."""
        return subjects_alike(self.contents, self._drawn)

    @cached_property
    def loss(self) -> PrivacyLoss | None:
        """What it spends of the table's budget; None unless it is differentially private."""
        return loss_of(self.plan.guarantees) if self.mechanism.hides_records else None

    @property
    def least_records(self) -> int | None:
        """How many records it declares that there are; None if it declares none."""
        declared: int | None = getattr(self.chosen.parameters, "least_records", None)
        return declared

    @cached_property
    def beside(self) -> tuple[str, ...]:
        """The subjects of other draws that count with it."""
        shared = () if self.people is None else self.people.subjects
        others = subjects_beside(self.contents, self._drawn, self.upload.summary["columns"])
        return (*self.subjects[1:], *others, *shared)

    @property
    def _drawn(self) -> frozenset[str] | None:
        """The attributes that are drawn; None: whole records are."""
        if self.mechanism.hides_records:
            return None
        return attributes_drawn(self.plan)

    @cached_property
    def meaning(self) -> JsonObject:
        """What is asked for beside the dataset and the rule."""
        return {
            "neutralise_formulas": self.request.neutralise_formulas,
            "order": self.request.order,
            "mechanism": {
                "name": self.mechanism.name,
                "version": self.mechanism.version,
                "parameters": document_of_parameters(self.chosen.parameters),
            },
            "independent_of_earlier": self.request.independent_of_earlier,
        }

    @cached_property
    def question(self) -> str:
        """Hash of all that is asked for."""
        used = {"dataset": self.dataset.sha256}
        if self.rule is not None:
            used["rule"] = self.rule.sha256
        if self.secret is not None:
            used["secret"] = self.secret.hex()
        used |= {f"list {own.name}": own.sha256 for own in self.lists}
        return resource_sha256(Kind.RELEASE, self.meaning, used)

    @cached_property
    def wordings(self) -> Mapping[str, Preparation]:
        """The same question in each of its wordings, by hash: an only sensitive attribute may be left out."""
        own, found = self.chosen.parameters, {self.question: self}
        sensitive = self.context.table.sensitive
        if len(sensitive) == 1 and getattr(own, "attribute", "") in (None, *sensitive):
            (only,) = sensitive
            named = replace(own, attribute=only if own.attribute is None else None)
            other = replace(self, chosen=replace(self.chosen, parameters=named))
            found[other.question] = other
        return found


def attributes_drawn(plan: MechanismPlan) -> frozenset[str]:
    """The attributes that its guarantees are about."""
    stated = (own.parameters.get(ATTRIBUTE) for own in plan.guarantees)
    return frozenset(str(own) for own in stated if own is not None)


def drawn_release(
    prepared: Preparation, secret: bytes, tick: Callable[[int], None] = lambda done: None
) -> tuple[NewResource, bytes]:
    """The release as it will be stored and its table as Parquet: the same for the same secret.

    ``tick`` takes how many of the :data:`DRAWING_STEPS` are done.
    """
    table = prepared.context.table
    tick(0)
    drawn = prepared.mechanism.draw(prepared.context, prepared.chosen.parameters, key_stream(secret, _DRAW))
    tick(1)
    released = drawn_lines(table, drawn.columns, derived_key(secret, _ORDER))
    _give_back()
    tick(2)
    parquet = io.BytesIO()
    parquet.writelines(released.parquet_chunks(_origin(prepared)))
    tick(3)
    kind = {"kind": prepared.mechanism.name, "version": prepared.mechanism.version}
    document = {**prepared.meaning, "published": {**kind, **document_of_parameters(drawn.published)}}
    summary = _manifest(prepared, released)
    _give_back()
    tick(DRAWING_STEPS)
    name, question = prepared.request.name, prepared.question
    return NewResource(Kind.RELEASE, name, question, summary, document, prepared.uses), parquet.getvalue()


def _give_back() -> None:
    """Let go of memory that a step has used: what the next one takes would come on top of it."""
    pa.default_memory_pool().release_unused()


def _manifest(prepared: Preparation, released: DrawnLines) -> JsonObject:
    """The summary of the release; what it counts is counted in the released table, which anybody can."""
    request, dataset = prepared.request, prepared.dataset
    cells, records = released.suppressed()
    csv_sha256 = released.csv_sha256(neutralise_formulas=request.neutralise_formulas)
    return {
        "rows_are": rows_document(dataset),
        "dataset": dataset.name,
        "dataset_sha256": dataset.sha256,
        "rule": rule_summary(prepared.rule, prepared.context.table, dataset.sha256),
        "columns": list(released.columns),
        "rows": released.n_records,
        "suppressed_cells": cells,
        "suppressed_records": records,
        "classes": released.n_classes,
        "neutralise_formulas": request.neutralise_formulas,
        "order": request.order,
        "order_chosen": False,
        "csv_sha256": csv_sha256,
        "mechanism": mechanism_summary(
            prepared.mechanism,
            prepared.plan,
            independent=request.independent_of_earlier,
            csv_sha256=csv_sha256,
            people=None if prepared.people is None else prepared.people.kept,
        ),
    }


def _origin(prepared: Preparation) -> dict[str | bytes, str | bytes]:
    """What the file says of itself; of data of which nobody may learn anything else, no hash of them."""
    if prepared.mechanism.hides_records:
        return {"privacy-risk.mechanism": f"{prepared.mechanism.name}/{prepared.mechanism.version}"}
    found: dict[str | bytes, str | bytes] = {
        "privacy-risk.release": prepared.question,
        "privacy-risk.dataset": prepared.dataset.sha256,
        "privacy-risk.mechanism": f"{prepared.mechanism.name}/{prepared.mechanism.version}",
    }
    return found if prepared.rule is None else {**found, "privacy-risk.rule": prepared.rule.sha256}
