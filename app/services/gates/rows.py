"""What a row of the judged data is: one person, as somebody said or nobody did, or one of several."""

from __future__ import annotations

import asyncio

from app.domain.errors import Fault
from app.domain.policies.policy import Policy
from app.domain.policies.schema import PolicySchema
from app.reports.assumptions import NOT_SAID
from app.services.datasets.dataset_schema import RowsAre, rows_are_of
from app.services.datasets.person_signs import PersonSigns, signs_of
from app.services.datasets.tables import TableLoader
from app.services.datasets.text_columns import read_columns
from app.services.ports import Store
from app.services.resources import JsonObject, Kind, Stored, TenantId, document_of


def rows_document(dataset: Stored, by_policy: RowsAre | None = None) -> JsonObject:
    """What a row is, as verdicts and manifests say before all else; ``by_policy`` is what a policy says."""
    column, persons = dataset.summary.get("person"), dataset.summary.get("persons")
    kind, said_by, said = "not_said", None, NOT_SAID
    if column is not None:
        kind, said_by, rows = "person_column", "dataset", dataset.summary["rows"]
        said = f"Persons are counted by column {column!r}: {persons:,} persons in {rows:,} rows."
    elif (by_policy or rows_are_of(dataset)) is not None:
        kind, said_by = "persons", "dataset" if by_policy is None else "policy"
        said = f"Each row is a person, as the {said_by} says."
    return {"kind": kind, "column": column, "persons": persons, "said_by": said_by, "sentence": said}


def joinable(pointer: str) -> Fault:
    """The fault of a release in the order of the records of a dataset with a column of persons."""
    return Fault(
        pointer, "rows-can-be-joined",
        "In the order of the dataset's records the rows of one person can be joined.",
        "Have the release made here without an order, which shuffles its rows, or shuffle them.",
    )  # fmt: skip


async def doubt_about_rows(
    store: Store, loader: TableLoader, tenant: TenantId, policy: Policy, dataset: Stored, *, in_order: bool
) -> Fault | None:
    """Why nothing can be judged while it is not clear what a row is; None if nothing speaks against it.

    The policy says another thing of persons than the dataset; or the rows of one person can be joined in a
    file that is ``in_order`` of the records; or nobody said what a row is, and one person seems to have
    several.
    """

    async def load() -> tuple[PersonSigns, int]:
        async with store.work(tenant) as work:
            upload = await work.resources.get(Kind.UPLOAD, document_of(dataset)["upload"]["id"])
            columns = await read_columns(work, upload, upload.summary["columns"], "/dataset")
        return await asyncio.to_thread(signs_of, columns), 2000

    schema, column = policy.schema or PolicySchema({}), dataset.summary.get("person")
    by_policy = schema.person or schema.rows_are
    # Where a policy is silent the dataset's persons are counted, which is stricter.
    if schema.person not in (None, column) or (schema.rows_are and column):
        return Fault(
            "/dataset", "other-person",
            f"What a row is about is said by {by_policy} in the policy {policy.name!r}, and by "
            f"{column or 'no column'} in the dataset {dataset.name!r}.",
            "Make a new version of the policy, or another dataset, so that both name the same column.",
        )  # fmt: skip
    if column is not None:
        return joinable("/release/order") if in_order else None
    if (schema.rows_are or rows_are_of(dataset)) is not None:
        return None
    found: PersonSigns = await loader.profile(tenant, dataset, load, "person signs")
    if not found.signs:
        return None
    person = repr(found.person) if found.person else "the column that says whom a row is about"
    return Fault(
        "/dataset", "several-rows-per-person", found.doubt,
        f"Give {person} the role person in a new dataset, and in a new version of the policy if that has a "
        "schema. Or, if each row is another person, say rows_are: persons in the schema of a new version of "
        "the policy, or in a new dataset.",
    )  # fmt: skip
