"""Which earlier releases a verdict took into account, and what it says of their order."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from app.services.gates.ledger import MOST_NAMED, ledger_document, ledger_warnings

DATASET: Any = SimpleNamespace(sha256="ours")


def released(name: str, dataset: str, rule: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "dataset_sha256": dataset, "rule": rule, **more}


def test_a_rule_of_the_same_name_for_other_data_was_not_taken_into_account():
    earlier = [
        released("a", "ours", "coarse"),
        released("b", "other", "coarse"),
        released("c", "ours", "fine"),
    ]
    parameters = {"given": SimpleNamespace(earlier=("coarse",)), "alone": SimpleNamespace()}
    found = ledger_document(earlier, DATASET, parameters)
    assert [(own["name"], own["judged_by"]) for own in found["releases"]] == [
        ("c", []), ("b", []), ("a", ["given"]),
    ]  # fmt: skip
    assert (found["total"], found["taken_into_account"]) == (3, 1)


@pytest.mark.parametrize(("order", "said"), [("records", "line by line"), ("shuffled", "by the values")])
def test_releases_in_the_records_order_are_warned_of(order: str, said: str):
    earlier = [released(f"r{n}", "ours", "coarse", order="records") for n in range(MOST_NAMED + 2)]
    (warning,) = ledger_warnings([*earlier, released("s", "ours", "fine", order="shuffled")], order)
    assert said in warning
    assert ("'r2'" in warning, "'r1'," in warning, "and 2 more" in warning, "'s'" in warning) == (
        True, False, True, False,
    )  # fmt: skip
    # Of releases that evaluations of earlier versions listed nothing is known.
    assert ledger_warnings([released("old", "ours", "coarse")], order) == []
