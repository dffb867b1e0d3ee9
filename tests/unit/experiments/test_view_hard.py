"""V1 shows the classes that have no bound below the exponential, too."""

from __future__ import annotations

import pytest

from app.experiments import view_hard


def test_pairs_of_one_relation_stand_beside_the_classes_with_a_bound(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(view_hard, "SIZES", (2, 3))
    tried = view_hard.hard_pairs(2)
    work, growth = view_hard.hard_tables(tried)
    assert [row[:3] for row in work.rows] == [
        (name, n, 6) for name in (view_hard.JOINED, view_hard.COMPARED) for n in (2, 3)
    ]
    assert all(0 < row[3] < row[2] for row in work.rows), "some are private, and some disclose"
    assert all(times > 1 for _, times, _ in growth.rows)
    assert all(own.holds for own in view_hard.hard_claims(tried))
    plain = [own for (name, _), pairs in tried.items() if name == view_hard.JOINED for own, _ in pairs]
    assert {own.method for own in plain} <= {"pattern", "no_overlap", "row_determined"}
