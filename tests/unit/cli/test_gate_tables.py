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
