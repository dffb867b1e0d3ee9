"""Conditions that are offered for views in SQL, written into the views by their parse trees."""

from __future__ import annotations

from random import Random

from sqlglot import exp, parse_one

from app.services.views.reading import WrittenQuery
from app.services.views.view_checks import ViewCheck, checked
from tests.benchmarks.views import TABLES, drawn_secret, drawn_view

WITHOUT_KEYS = TABLES.replace(", PRIMARY KEY (order_id, line)", "").replace("PRIMARY KEY", "NOT NULL")


def with_conditions(view: str, steps: list[dict]) -> str:
    """The view with each condition in the WHERE of the SELECT that has a table at its place."""
    tree = parse_one(view, read="postgres")
    tables = {}
    lines = view.split("\n")
    for table in tree.find_all(exp.Table):
        offset = min(own.meta["start"] for own in table.walk() if "start" in own.meta)
        tables[offset] = table
    for step in steps:
        offset = sum(len(line) + 1 for line in lines[: step["line"] - 1]) + step["column"] - 1
        tables[offset].find_ancestor(exp.Select).where(step["condition"], copy=False, dialect="postgres")
    return tree.sql(dialect="postgres")


def test_conditions_of_a_warehouse_pass_once_they_are_written_into_the_views():
    random = Random(5)
    secrets = [WrittenQuery(f"s{i}", drawn_secret(i, random)) for i in range(4)]
    views = [WrittenQuery(f"v{i}", drawn_view(i, random)) for i in (0, 1, 3, 6)]
    asked = ViewCheck({}, (), secrets, views, language="sql", tables=WITHOUT_KEYS, advice=("changes",))
    texts = {own.id: own.query for own in (*secrets, *views)}
    changed = []
    for pair in checked(asked, lambda: 0.0)["pairs"]:
        for change in (pair["advice"] or {"changes": {"found": []}})["changes"]["found"]:
            if all(step["action"] == "add_condition" for step in change["steps"]):
                changed.append((pair["secret"], with_conditions(texts[pair["view"]], change["steps"])))
    assert len(changed) >= 3, changed
    for secret, view in changed:
        again = ViewCheck(
            {},
            (),
            [WrittenQuery("s", texts[secret])],
            [WrittenQuery("v", view)],
            language="sql",
            tables=WITHOUT_KEYS,
        )
        (pair,) = checked(again, lambda: 0.0)["pairs"]
        assert pair["verdict"] == "PRIVATE", (texts[secret], view)


def test_a_column_that_is_called_like_who_asks_is_offered_in_quotes():
    tables = 'CREATE TABLE t (a integer NOT NULL, "user" integer NOT NULL);'
    secrets = [WrittenQuery("s", "SELECT a FROM t x WHERE x.user <= 7")]
    views = [WrittenQuery("v", "SELECT a FROM t q1")]
    asked = ViewCheck({}, (), secrets, views, language="sql", tables=tables, advice=("changes",))
    (pair,) = checked(asked, lambda: 0.0)["pairs"]
    offered = [step["condition"] for own in pair["advice"]["changes"]["found"] for step in own["steps"]]
    assert 'q1."user" > 7' in offered
