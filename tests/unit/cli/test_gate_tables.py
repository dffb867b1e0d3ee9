"""What a policy's schema says of a dataset that nothing else describes."""

from __future__ import annotations

from pathlib import Path

from app.cli.gate_tables import tables_of_policy


def test_columns_that_the_policy_drops_are_none_of_the_dataset():
    roles = {"name": "dropped", "id": "identifier", "city": "quasi_identifier", "income": "sensitive"}
    tables = tables_of_policy({"schema": {"attributes": roles}}, Path("members.csv"))
    assert tables.dataset.identifier == "id"
    assert {own.name: own.declaration["role"] for own in tables.attributes} == {
        "city": "quasi_identifier",
        "income": "sensitive",
    }


def test_a_policy_and_the_command_say_what_a_row_is():
    roles = {"pid": "dropped", "visit": "identifier", "city": "quasi_identifier"}
    silent = {"schema": {"attributes": roles}}
    says = {"schema": {"attributes": roles | {"pid": "person"}}}
    members = Path("members.csv")
    for tables in (tables_of_policy(says, members), tables_of_policy(silent, members, person="pid")):
        assert tables.dataset.identifier == "visit"
        assert [own.name for own in tables.attributes if own.declaration["role"] == "person"] == ["pid"]
        assert tables.rows_are is None
    rows = {"schema": {"attributes": roles, "rows_are": "persons"}}
    assert tables_of_policy(rows, members).rows_are == "persons"
    assert tables_of_policy(silent, members, rows_are="persons").rows_are == "persons"
