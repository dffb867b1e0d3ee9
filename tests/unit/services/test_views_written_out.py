"""Views that read other views, written out: the right names in the right scope, with every line's origin."""

from __future__ import annotations

import pytest

from app.domain.errors import InvalidInput
from app.services.views.reading import WrittenQuery
from app.services.views.sql.inlining import NamedView, written_out
from app.services.views.view_checks import Limits, ViewCheck, checked

TABLES = "CREATE TABLE raw.d (pid integer NOT NULL, ill text NOT NULL, ward integer NOT NULL);"
STAGE = NamedView("stage", '"db"."m"."stage"', '-- all\nSELECT pid, ill, ward FROM "db"."raw"."d" -- ends so')


def out(*views: NamedView) -> dict[str, str]:
    return {id_: own.query for id_, own in written_out(views, "postgres").items()}


def verdicts(*views: NamedView, secret: str = "SELECT pid FROM d WHERE ill = 'cancer'") -> dict[str, str]:
    queries = [WrittenQuery(id_, query) for id_, query in out(*views).items()]
    check = ViewCheck({}, (), [WrittenQuery("s", secret)], queries, language="sql", tables=TABLES)
    return {own["view"]: own["verdict"] for own in checked(check, limits=Limits())["pairs"]}


def code(*views: NamedView) -> str:
    with pytest.raises(InvalidInput) as refused:
        written_out(views, "postgres")
    return refused.value.faults[0].code


def test_a_view_over_views_is_judged_by_the_tables_that_it_comes_from():
    over = NamedView("over", '"db"."m"."over"', "SELECT ward FROM m.stage AS x WHERE x.ill = 'flu'")
    all_ = NamedView("all", '"db"."m"."all"', 'SELECT "stage".ward FROM "db"."m"."stage"')
    deep = NamedView("deep", '"db"."m"."deep"', 'SELECT 1 AS one FROM "db"."m"."over", "db"."m"."all"')
    found = verdicts(deep, over, all_, STAGE)
    assert found == {"stage": "DISCLOSES", "all": "DISCLOSES", "over": "PRIVATE", "deep": "DISCLOSES"}


def test_names_of_a_query_are_not_seen_by_the_views_that_it_reads():
    """The view reads the table d, and whoever reads the view calls something else d."""
    plain = NamedView("plain", "m.plain", "SELECT pid, ill, ward FROM d WHERE ill = 'flu'")
    over = NamedView(
        "over",
        "m.over",
        "WITH d AS (SELECT pid FROM raw.d WHERE ill = 'hepatitis'), plain AS (SELECT * FROM m.plain)\n"
        "SELECT plain.ward FROM plain, d WHERE plain.pid = d.pid",
    )
    assert verdicts(plain, over) == {"plain": "PRIVATE", "over": "PRIVATE"}
    other = NamedView("other", "m.other", "SELECT pid, ill, ward FROM d")
    catching = NamedView("x", "m.x", "WITH d AS (SELECT 1 AS pid FROM raw.d WHERE ill = 'flu') SELECT o.pid "
                         "FROM m.other AS o, d")  # fmt: skip
    assert verdicts(other, catching) == {"other": "DISCLOSES", "x": "DISCLOSES"}


def test_a_name_of_with_is_no_view_and_within_itself_it_is_one():
    own = NamedView(
        "own", "m.own", "WITH stage AS (SELECT pid FROM raw.d WHERE ill = 'flu') SELECT * FROM stage"
    )
    assert verdicts(STAGE, own)["own"] == "PRIVATE"
    within = NamedView("w", "m.w", "WITH stage AS (SELECT pid FROM m.stage) SELECT pid FROM stage")
    assert verdicts(STAGE, within)["w"] == "DISCLOSES"
    # Within itself the name is no name of WITH: without a schema it may be the view or a table.
    assert code(
        STAGE, NamedView("w", "m.w", "WITH stage AS (SELECT pid FROM stage) SELECT * FROM stage")
    ) == ("relation-unclear")


@pytest.mark.parametrize(
    ("views", "why"),
    [
        ([NamedView("a", "m.a", "SELECT * FROM m.a")], "circle"),
        ([NamedView("a", "m.a", "SELECT * FROM m.b"), NamedView("b", "m.b", "SELECT * FROM m.a")], "circle"),
        ([STAGE, NamedView("a", "m.a", "SELECT * FROM stage")], "relation-unclear"),
        ([STAGE, NamedView("a", "other.m.stage", "SELECT 1 FROM raw.d"),
          NamedView("b", "m.b", "SELECT * FROM m.stage")], "relation-unclear"),
        ([STAGE, NamedView("a", "m.stage.x.y", "SELECT 1")], "relation-unclear"),
        ([NamedView("a", "alone", "SELECT 1 FROM raw.d")], "relation-unclear"),
        ([NamedView("a", "m.a", "SELECT 1 FROM raw.d; SELECT 2 FROM raw.d")], "several-statements"),
        ([NamedView("a", "m.a", "SELECT FROM WHERE")], "sql-syntax"),
        ([NamedView("a", "m.a", "CREATE VIEW m.a AS SELECT 1 FROM raw.d")], "not-a-query"),
        ([NamedView("a", "m.a", 'SELECT 1 AS "__view_0" FROM raw.d')], "reserved-name"),
        ([STAGE, NamedView("a", "m.a", "SELECT * FROM m.stage WHERE ill IN (" + "'x'," * 5000 + "'y')")],
         "query-too-large"),
    ],
)  # fmt: skip
def test_what_is_not_clear_is_refused(views, why):
    assert code(*views) == why


def test_the_circle_is_named():
    with pytest.raises(InvalidInput, match="a reads b reads c reads a"):
        written_out(
            [NamedView(one, f"m.{one}", f"SELECT * FROM m.{other}") for one, other in ("ab", "bc", "ca")],
            "postgres",
        )


def test_every_line_is_told_where_it_was_written():
    over = NamedView(
        "over", '"db"."m"."over"', "-- who\nWITH a AS (\n  SELECT * FROM m.stage\n)\nSELECT ward\nFROM a"
    )
    found = written_out([STAGE, over], "postgres")["over"]
    lines = {"stage": STAGE.query.split("\n"), "over": over.query.split("\n")}
    whole = found.query.split("\n")
    (at,) = [number for number, line in enumerate(whole, 1) if "raw" in line]
    assert found.origin(at) == ("stage", 2)
    for number, line in enumerate(whole, 1):
        view, own = found.origin(number)
        if line.strip() in ("SELECT ward", "FROM a", "-- who", "-- all"):
            assert lines[view][own - 1] == line
    assert found.reads == {"stage": 3}


def test_a_thousand_views_and_a_diamond_of_many_layers_are_written_out_once_each():
    layers = [STAGE] + [
        NamedView(f"v{i}", f"m.v{i}", f"SELECT a.pid FROM m.{name} AS a, m.{name} AS b WHERE a.pid = b.pid")
        for i, name in enumerate(["stage"] + [f"v{i}" for i in range(20)])
    ]
    rest = [NamedView(f"w{i}", f"m.w{i}", "SELECT ward FROM m.stage WHERE ill = 'flu'") for i in range(979)]
    found = out(*layers, *rest)
    assert len(found) == 1001
    assert found["v20"].count("raw") == 1


def test_a_view_may_be_called_like_a_table_of_another_schema():
    clash = NamedView("d", "m.d", "SELECT pid FROM raw.d WHERE ill = 'flu'")
    over = NamedView("o", "m.o", "SELECT pid FROM m.d")
    assert verdicts(clash, over) == {"d": "PRIVATE", "o": "PRIVATE"}


def test_a_name_of_a_recursive_with_is_no_view_before_it_is_given_either():
    """There a query sees those that come later, and itself: the row of d with cancer would be shown."""
    file = NamedView("stage", "", "SELECT pid, ill FROM raw.d WHERE ill = 'flu'", ("stage",))
    query = (
        "WITH RECURSIVE x AS (SELECT pid FROM stage), stage AS (SELECT pid, ill FROM raw.d) "
        "SELECT x.pid FROM x, stage WHERE stage.ill = 'flu'"
    )
    with pytest.raises(InvalidInput) as refused:
        verdicts(file, NamedView("over", "", query, ("over",)))
    assert refused.value.faults[0].code == "recursive-query"
    plain = query.replace("RECURSIVE", "")
    assert verdicts(file, NamedView("over", "", plain, ("over",)))["over"] == "PRIVATE"
