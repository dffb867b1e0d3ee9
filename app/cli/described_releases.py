"""The release of a table that a file describes: loaded as a gate loads it, so that both judge the same."""

from __future__ import annotations

from collections.abc import Callable

from app.cli.gate_loading import Loading
from app.cli.gate_tables import Tables
from app.cli.table_header import require_described
from app.domain.errors import InvalidInput, joined
from privacy_risk import Client, Column, Progress, Roles
from privacy_risk.anonymisation import Answer, Criteria
from privacy_risk.loading import Loaded
from privacy_risk.parquet_reading import arrow_table
from privacy_risk.persons import rows_note
from privacy_risk.spellings import spellings_notes


def check_described(tables: Tables, criteria: Criteria) -> None:
    """InvalidInput for what can be told to be wrong before a service is started."""
    require_described(tables.dataset, tables.attributes)
    roles = {own.name: own.declaration["role"] for own in tables.attributes}
    place = joined(tables.dataset.place or "", "attributes")
    if "quasi_identifier" not in roles.values():
        raise InvalidInput.of(
            place,
            "missing",
            "No column is a quasi-identifier.",
            'Give role = "quasi_identifier" to what others may know of a person.',
        )
    for name in criteria.named:
        if roles.get(name) != "sensitive":
            raise InvalidInput.of(
                joined(place, name),
                "another-role",
                f"A criterion is about {name!r}, which is not described as sensitive.",
                'Give it role = "sensitive", or leave the criterion out.',
            )


def described_release(
    client: Client,
    tables: Tables,
    criteria: Criteria,
    tell: Callable[[Progress], None],
    answer: Callable[..., Answer],
) -> Answer:
    """What ``answer`` makes of the described table; InvalidInput for what a description has wrong."""
    made = Loading(client).dataset(tables)
    rows: int = made.document["rows"]
    names = [own.name for own in tables.attributes]
    criteria.check(names, rows)
    roles = Roles(
        tuple(
            Column(own.name, own.declaration["type"], own.declaration["role"], "you", "as described")
            for own in tables.attributes
        ),
        tables.rows_are,
    )
    note = rows_note(client, made.document, is_doubt_refused=True)
    notes = (note, *spellings_notes(client, made.document))
    written = {name: own for name, own in tables.release.items() if name != "missing"}
    loaded = Loaded(made.name, roles, notes, {"release": written})
    return answer(client, loaded, rows, criteria, tell, arrow_table)
