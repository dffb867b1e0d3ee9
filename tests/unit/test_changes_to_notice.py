"""The list of changes that the tests must notice still fits the product and the tests."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.mutation.changes import CHANGES, TOP, Change, files_of, place_of


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.text)
def test_every_change_stands_in_one_place_and_has_files_that_must_notice_it(change: Change) -> None:
    assert files_of(change)
    changed = place_of(change).read_text().replace(change.text, change.becomes)
    compile(changed, "changed", "exec")


def test_the_changes_are_spread_over_the_product() -> None:
    rooms = Counter(place_of(change).relative_to(TOP / "app").parts[:2] for change in CHANGES)
    assert len(CHANGES) >= 40
    assert len(rooms) >= 8
