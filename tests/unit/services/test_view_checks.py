"""What is not decided in time is UNKNOWN, and denies."""

from __future__ import annotations

from itertools import count

from app.domain.views.relational_schema import RelationDefinition
from app.services.views.view_checks import CHECK_SECONDS, PAIR_SECONDS, ViewCheck, WrittenQuery, checked

ASKED = ViewCheck(
    {"R": RelationDefinition(["a", "b"])},
    (),
    [WrittenQuery("s", "S(x) :- R(x, y), R(y, 0).")],
    [WrittenQuery("v", "V() :- R(5, 6)."), WrittenQuery("constant", "V(1) :- true.")],
)


def test_all_is_decided_where_there_is_time():
    found = checked(ASKED, lambda: 0.0)
    assert [pair["verdict"] for pair in found["pairs"]] == ["DISCLOSES", "PRIVATE"]
    assert found["gate"] == "DENY"


def test_a_pair_that_takes_too_long_is_unknown():
    ticks = count(step=PAIR_SECONDS)
    found = checked(ASKED, lambda: next(ticks))
    assert [pair["verdict"] for pair in found["pairs"]] == ["UNKNOWN", "PRIVATE"]
    assert found["pairs"][0]["reason_code"] == "BUDGET_EXCEEDED"
    assert (found["verdict"], found["gate"]) == ("UNKNOWN", "DENY")


def test_the_pairs_share_the_time_of_the_check():
    views = [WrittenQuery(f"v{i}", "V() :- R(5, 6).") for i in range(3)]
    now = [0.0]

    def clock():
        now[0] += CHECK_SECONDS / 20
        return now[0]

    found = checked(ViewCheck(ASKED.relations, (), ASKED.secrets, views), clock)
    assert found["pairs"][-1]["verdict"] == "UNKNOWN"
    assert now[0] < CHECK_SECONDS * 1.5
