"""Changes of a view that pass, and every pattern of rows that discloses, in words and in SQL."""

from __future__ import annotations

import pytest

from app.domain.views import changes
from app.domain.views.relational_schema import ForeignKey, RelationDefinition
from app.services.views.reading import WrittenQuery
from app.services.views.view_checks import CHECK_SECONDS, Limits, ViewCheck, checked

HOSPITAL = {
    "P": RelationDefinition(["pid", "pname"]),
    "D": RelationDefinition(["pid", "diagnosis", "medication", "ward"], {"ward": "integer"}),
}
CANCER = "S(n) :- P(p, n), D(p, 'cancer', m, w)."
TABLES = (
    'CREATE TABLE p (pid int PRIMARY KEY, "Full name" text NOT NULL);'
    "CREATE TABLE d (pid int NOT NULL, diagnosis text NOT NULL, ward int, since date NOT NULL);"
)
IN_SQL = "SELECT DISTINCT pid FROM d WHERE diagnosis = 'cancer'"


def advised(secret, view, relations=None, *, advice=("changes",), bag=False, **more):
    asked = ViewCheck(
        {} if "tables" in more else relations or HOSPITAL,
        more.pop("foreign_keys", ()),
        [WrittenQuery("s", secret)],
        [WrittenQuery("v", view, bag)],
        advice=advice,
        **more,
    )
    (pair,) = checked(asked)["pairs"]
    return pair


def changes_of(*args, **more):
    return advised(*args, **more)["advice"]["changes"]


def queries(found):
    return [own["query"] for own in found["found"]]


def test_a_filter_that_denies_the_secrets_condition_is_the_nearest_change():
    found = changes_of(CANCER, "wards(w) :- D(_, _, m, w). % of all")
    assert queries(found) == ["wards(w) :- D(_, diagnosis, m, w), diagnosis != 'cancer'."]
    ((step,),) = (own["steps"] for own in found["found"])
    assert (step["action"], step["condition"]) == ("add_condition", "diagnosis != 'cancer'")
    assert "D(_, diagnosis, m, w)" in step["explanation"]
    assert "NULL" not in step["explanation"]
    assert (found["tried"], found["complete"]) == (1, True)
    assert "1), 1 are proved" in found["summary"]


def test_that_a_filter_leaves_out_null_as_well_is_said():
    relations = {"D": RelationDefinition(["pid", "diagnosis"], nullable=["diagnosis"])}
    found = changes_of("S(p) :- D(p, 'cancer').", "V(p) :- D(p, d).", relations)
    assert queries(found) == ["V(p) :- D(p, d), d != 'cancer'."]
    assert (
        "Rows in which diagnosis is NULL are left out as well."
        in found["found"][0]["steps"][0]["explanation"]
    )


@pytest.mark.parametrize(
    ("secret", "offered"),
    [
        ("S(n) :- E(n, s, d), s < 50.", "s >= 50"),
        ("S(n) :- E(n, s, d), s >= 50.", "s < 50"),
        ("S(n) :- E(n, s, d), 50 < s.", "s <= 50"),
        ("S(n) :- E(n, s, d), s <= 50.5.", "s > 50.5"),
        ("S(n) :- E(n, s, d), d != 'hr'.", "d = 'hr'"),
        ("S() :- E(n, s, n).", "n != d"),
        ("S(n) :- E(n, s, d), s = 5.", "s != 5"),
    ],
)
def test_each_kind_of_condition_is_denied(secret, offered):
    relations = {"E": RelationDefinition(["n", "s", "d"], {"s": "number"})}
    assert f"V(n) :- E(n, s, d), {offered}." in queries(changes_of(secret, "V(n) :- E(n, s, d).", relations))


def test_two_columns_that_the_secret_compares_are_compared_the_other_way_round():
    relations = {"E": RelationDefinition(["a", "b"], dict.fromkeys("ab", "integer"))}
    found = changes_of("S() :- E(x, y), x < y.", "V(x) :- E(x, y).", relations)
    assert queries(found) == ["V(x) :- E(x, y), x >= y."]


def test_one_condition_comes_before_two_and_two_are_tried_where_one_does_not_do():
    view = "V(n) :- P(p, n). V(n) :- D(n, d, m, w)."
    found = changes_of("S(m) :- D(p, 'cancer', m, w). S(m) :- P(p, 'x'), D(p, 'flu', m, w).", view)
    assert [len(own["steps"]) for own in found["found"]] == [3]
    assert sorted(step["condition"] for step in found["found"][0]["steps"]) == [
        "d != 'cancer'",
        "d != 'flu'",
        "n != 'x'",
    ]
    found = changes_of("S(p) :- D(p, 'flu', m, w), w > 5.", "V(p) :- D(p, d, m, w).")
    assert [len(own["steps"]) for own in found["found"]] == [1, 1]
    assert [own["steps"][0]["condition"] for own in found["found"]] == ["d != 'flu'", "w <= 5"]


def test_a_subgoal_is_left_out_where_that_passes_and_a_column_hardly_ever():
    secret = "S(p) :- D(p, d, m, w)."
    found = changes_of(secret, "V(n, w) :- P(p, n), D(p, d, m, w), w > 5.")
    assert queries(found) == ["V(n) :- P(p, n)."]
    assert found["found"][0]["steps"][0]["action"] == "drop_subgoal"
    assert queries(changes_of(secret, "V(p, w) :- D(p, d, m, w).")) == []
    relations = {"R": RelationDefinition(["a", "b"])}
    found = changes_of("S() :- R(x, 7).", "V(x, y) :- R(x, y), R(x, 5).", relations)
    assert "V(x) :- R(x, y), R(x, 5)." in queries(found)
    assert [own["steps"][0]["action"] for own in found["found"]][:2] == ["add_condition", "drop_column"]


def test_where_nothing_that_is_tried_passes_that_is_said():
    found = changes_of(CANCER, "V(n) :- P(p, n).")
    assert (found["found"], found["complete"]) == ([], True)
    assert found["summary"].startswith("No change of this view was found to try")
    relations = {"T": RelationDefinition(["name", "doctor"], keys=[["name"]])}
    found = changes_of("S(n) :- T(n, 'Drake').", "V(n) :- T(n, d).", relations)
    assert (found["found"], found["tried"]) == ([], 0)


def test_a_view_that_is_emptied_is_no_change():
    found = changes_of("S(p) :- D(p, 'cancer', m, w).", "V(p) :- D(p, 'cancer', m, w).")
    assert found["found"] == []
    domains = {"d": ["x"], "a": "any"}
    relations = {"R": RelationDefinition(["a", "d"], domains)}
    assert changes_of("S(a) :- R(a, 'x').", "V(a) :- R(a, d).", relations)["found"] == []


def test_what_a_query_cannot_write_is_not_offered():
    relations = {
        "R": RelationDefinition(["a"], {"a": (1, 2)}),
        "T": RelationDefinition(["a"], {"a": (2, 3)}),
    }
    found = changes_of("S() :- R(x), x != 1.", "V(x) :- R(x), T(x).", relations)
    assert all("3" not in own for own in queries(found))
    assert queries(found) == ["V(x) :- T(x)."]


def test_no_more_is_tried_than_is_said(monkeypatch):
    monkeypatch.setattr(changes, "MOST_TRIED", 1)
    found = changes_of("S(p) :- D(p, d, m, w), w > 5, w < 9.", "V(p) :- D(p, d, m, w), D(p, d, m2, w2).")
    assert (found["tried"], found["complete"]) == (1, False)
    assert "At most" in found["summary"] or found["found"]


def test_a_change_that_is_not_proved_is_not_offered():
    """The foreign key leaves a pair open that would be private without it."""
    relations = {"P": RelationDefinition(["pid"]), "D": RelationDefinition(["pid", "what"])}
    texts = "S(p) :- D(p, 'cancer').", "V(p) :- D(p, d)."
    key = [ForeignKey("D", "P")]
    assert changes_of(*texts, relations, foreign_keys=key)["found"] == []
    assert changes_of(*texts, relations, foreign_keys=key, ignore_foreign_keys=True)["found"]


def rechecked(secret, view, condition, **more):
    """The verdict after the condition is written into the only or first WHERE that has the place's name."""
    return advised(secret, view.replace("/*here*/", f"{condition} AND"), advice=(), **more)["verdict"]


@pytest.mark.parametrize(
    ("view", "condition", "place"),
    [
        ("SELECT ward FROM d WHERE /*here*/ TRUE", "d.diagnosis <> 'cancer'", (1, 18)),
        (
            "SELECT pid, COUNT(*)\nFROM d AS x(a, what)\nWHERE /*here*/ TRUE GROUP BY 1",
            "x.what <> 'cancer'",
            None,
        ),
        ('SELECT "X y".ward FROM d AS "X y" WHERE /*here*/ TRUE', "\"X y\".diagnosis <> 'cancer'", (1, 24)),
        (
            "WITH c AS (SELECT DISTINCT ward, pid FROM d WHERE /*here*/ TRUE) "
            "SELECT a.ward FROM c AS a JOIN c AS b USING (pid)",
            "d.diagnosis <> 'cancer'",
            (1, 43),
        ),
        (
            'SELECT "Full name" FROM p WHERE EXISTS '
            "(SELECT 1 FROM d AS e WHERE /*here*/ e.pid = p.pid) OR pid = 3",
            "e.diagnosis <> 'cancer'",
            (1, 55),
        ),
        (
            "SELECT ward FROM d WHERE /*here*/ diagnosis IN ('flu', 'cancer')",
            "d.diagnosis <> 'cancer'",
            (1, 18),
        ),
    ],
)
def test_a_condition_in_sql_is_private_where_it_is_said_to_be_written(view, condition, place):
    plain = view.replace("/*here*/ ", "")
    more = {"language": "sql", "tables": TABLES}
    if "x.what" in condition:
        plain = plain.replace("SELECT pid", "SELECT a").replace("GROUP BY 1", "GROUP BY a")
        view = view.replace("SELECT pid", "SELECT a").replace("GROUP BY 1", "GROUP BY a")
    found = changes_of(IN_SQL, plain, **more)
    steps = found["found"][0]["steps"]
    assert [own["condition"] for own in steps] == [condition]
    assert found["found"][0]["query"] is None
    if place is not None:
        assert (steps[0]["line"], steps[0]["column"]) == place
    else:
        assert steps[0]["line"] == 2
    assert advised(IN_SQL, view, advice=(), **more)["verdict"] == "DISCLOSES"
    assert rechecked(IN_SQL, view, condition, **more) == "PRIVATE"


@pytest.mark.parametrize(
    ("secret", "condition"),
    [
        ("SELECT pid FROM d WHERE since >= '2020-02-01'", "d.since < DATE '2020-02-01'"),
        (
            "SELECT pid FROM d WHERE since BETWEEN '2020-02-01' AND '2020-03-01'",
            "d.since < DATE '2020-02-01'",
        ),
        ("SELECT pid FROM d WHERE ward = 12", "d.ward <> 12"),
        ("SELECT pid FROM d WHERE diagnosis = 'it''s'", "d.diagnosis <> 'it''s'"),
        ("SELECT pid FROM d WHERE diagnosis <> 'flu'", "d.diagnosis = 'flu'"),
        ("SELECT pid FROM d WHERE pid = ward", "d.pid <> d.ward"),
    ],
)
def test_values_are_written_as_sql_writes_them(secret, condition):
    more = {"language": "sql", "tables": TABLES}
    found = changes_of(secret, "SELECT since FROM d WHERE TRUE", **more)
    conditions = [own["steps"][0]["condition"] for own in found["found"]]
    assert condition in conditions
    for own in conditions:
        assert rechecked(secret, "SELECT since FROM d WHERE /*here*/ TRUE", own, **more) == "PRIVATE"
    null = [
        own["steps"][0]["explanation"] for own in found["found"] if "ward" in own["steps"][0]["condition"]
    ]
    assert all("ward is NULL are left out" in own for own in null)


def test_tables_and_columns_of_sql_can_be_left_out():
    more = {"language": "sql", "tables": TABLES}
    secret = "SELECT ward FROM d"
    view = 'SELECT "Full name", ward FROM p JOIN d USING (pid)'
    found = changes_of(secret, view, **more)
    (step,) = found["found"][0]["steps"]
    assert (step["action"], step["relation"], step["column"]) == ("drop_subgoal", "d", 38)
    assert advised(secret, 'SELECT "Full name" FROM p', advice=(), **more)["verdict"] == "PRIVATE"


def test_all_patterns_are_told_with_the_subgoals_of_both_queries():
    found = advised(CANCER, "V(n) :- P(p, n), D(p, d, m, 12), D(p, d, m, 12).", advice=("patterns",))[
        "advice"
    ]["patterns"]
    assert (found["count"], found["complete"], found["truncated"]) == (2, True, False)
    one, other = found["found"]
    assert [own["text"] for own in one["secret"]["subgoals"]] == ["P(p, n)"]
    assert [own["text"] for own in other["view"]["subgoals"]] == ["D(p, d, m, 12)"] * 2
    assert other["view"]["values"] == {"diagnosis": "cancer", "ward": 12}
    assert all(own["verified"] and own["explanation"].startswith("The row ") for own in found["found"])


def test_patterns_in_sql_have_places():
    more = {"language": "sql", "tables": TABLES, "advice": ("patterns",)}
    found = advised(IN_SQL, "SELECT ward FROM d AS e\nWHERE since < '2020-01-01'", **more)["advice"][
        "patterns"
    ]
    (pattern,) = found["found"]
    assert pattern["view"]["subgoals"] == [{"text": "d AS e", "line": 1, "column": 18}]
    assert pattern["secret"]["subgoals"] == [{"text": "d", "line": 1, "column": 26}]


def test_a_pattern_of_two_rows_that_a_key_ties_has_both():
    relations = {"T": RelationDefinition(["name", "doctor"], keys=[["name"]])}
    found = advised("S(n) :- T(n, 'Drake').", "V(n) :- T(n, 'Hu').", relations, advice=("patterns",))
    (pattern,) = found["advice"]["patterns"]["found"]
    assert pattern["secret"]["values"] == {"doctor": "Drake"}
    assert pattern["view"]["values"] == {"doctor": "Hu"}


def test_of_many_patterns_the_first_are_listed_and_said_to_be_some():
    subgoals = ", ".join(f"R(x{i}, x{i + 1})" for i in range(5))
    relations = {"R": RelationDefinition(["a", "b"])}
    found = advised(f"S(x0, x5) :- {subgoals}.", f"V(x0, x5) :- {subgoals}.", relations, advice=("patterns",))
    found = found["advice"]["patterns"]
    assert len(found["found"]) == 20
    assert found["count"] > 20
    assert found["truncated"]


@pytest.mark.parametrize(
    ("view", "why"),
    [
        ("SELECT ward, COUNT(*) FROM d GROUP BY ward", "counts or computed columns"),
        ("SELECT a.pid FROM d AS a, d AS b, d AS c, d AS e", "more than 16 rows"),
    ],
)
def test_where_a_change_of_belief_is_not_computed_that_is_said(view, why):
    pair = advised(IN_SQL, view, language="sql", tables=TABLES, advice=("leakage",))
    found = pair["advice"]["leakage"]
    assert found["change"] is found["domain"] is None
    assert found["row_probability"] == "1/2"
    assert why in found["explanation"]


def test_foreign_keys_leave_no_number_for_a_belief():
    relations = {"P": RelationDefinition(["pid"]), "D": RelationDefinition(["pid"])}
    key = [ForeignKey("D", "P")]
    texts = "S(p) :- D(p).", "V(p) :- D(p)."
    found = advised(*texts, relations, foreign_keys=key, advice=("leakage",))["advice"]["leakage"]
    assert "foreign keys" in found["explanation"]
    found = advised(*texts, relations, foreign_keys=key, ignore_foreign_keys=True, advice=("leakage",))
    assert found["advice"]["leakage"]["change"] == "1/2"


def test_alternatives_of_a_condition_are_about_the_same_rows():
    """One row with ward 1 and pid 1 fits both alternatives, and is shown once."""
    schema = {"d": RelationDefinition(["pid", "ward"], dict.fromkeys(("pid", "ward"), (0, 1)))}
    view = "SELECT pid, ward FROM d WHERE pid = 1 OR ward = 1"
    found = advised("SELECT pid FROM d WHERE pid = 1", view, schema, language="sql", advice=("leakage",))[
        "advice"
    ]["leakage"]
    assert all(found["view_answer"].count(row) == 1 for row in found["view_answer"])
    assert found["possible_rows"] == 3


def test_every_pair_that_discloses_gets_advice_and_no_other():
    views = [
        WrittenQuery("wards", "V(w) :- D(p, d, m, w)."),
        WrittenQuery("flu", "V(p) :- D(p, 'flu', m, w)."),
    ]
    asked = ViewCheck(HOSPITAL, (), [WrittenQuery("s", CANCER)], views, advice=("changes", "leakage"))
    wards, flu = checked(asked)["pairs"]
    assert (wards["verdict"], wards["advice"] is None) == ("DISCLOSES", False)
    assert (flu["verdict"], flu["advice"]) == ("PRIVATE", None)


def test_without_time_no_change_is_offered():
    asked = ViewCheck(
        HOSPITAL, (), [WrittenQuery("s", CANCER)], [WrittenQuery("v", "V(w) :- D(p, d, m, w).")]
    )
    calls = []

    def counting():
        calls.append(0)
        return 0.0

    checked(asked, counting)
    # The last look at the clock without advice is at how long the pair took.
    until = len(calls) - 1

    def clock():
        calls.append(0)
        return 0.0 if len(calls) <= until else 100.0

    calls.clear()
    more = ViewCheck(
        asked.relations, (), asked.secrets, asked.views, advice=("changes", "patterns", "leakage")
    )
    (pair,) = checked(more, clock)["pairs"]
    assert pair["verdict"] == "DISCLOSES"
    assert pair["advice"]["changes"]["found"] == []
    assert not pair["advice"]["changes"]["complete"]
    assert pair["advice"]["patterns"]["truncated"]
    assert "not enough time" in pair["advice"]["leakage"]["explanation"]


def test_advice_on_many_subgoals_ends_in_its_time():
    rules = " ".join(
        f"Q(x) :- {', '.join(f'R(x, {100 * i + j})' for j in range(12))}, x != {i}." for i in range(40)
    )
    now = [0.0]

    def clock():
        now[0] += 1e-4
        return now[0]

    asked = ViewCheck(
        {"R": RelationDefinition(["a", "b"])},
        (),
        [WrittenQuery("s", rules)],
        [WrittenQuery("v", rules)],
        advice=("changes", "patterns", "leakage"),
    )
    (pair,) = checked(asked, clock)["pairs"]
    assert pair["verdict"] == "DISCLOSES"
    assert not pair["advice"]["changes"]["complete"]
    assert pair["advice"]["patterns"]["truncated"]
    assert now[0] < CHECK_SECONDS + 1


def test_advice_that_makes_an_answer_too_large_is_left_out():
    asked = ViewCheck(
        HOSPITAL,
        (),
        [WrittenQuery("s", CANCER)],
        [WrittenQuery("v", "V(w) :- D(p, d, m, w).")],
        advice=("patterns",),
    )
    (pair,) = checked(asked, limits=Limits(witness_characters=800))["pairs"]
    assert pair["witness"] is not None
    assert pair["advice"] is None
