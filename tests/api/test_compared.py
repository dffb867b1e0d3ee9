"""``compare``: several releases of a table in memory, against the application itself."""

from __future__ import annotations

import csv
import json
import random
import sys
from typing import Any

import pandas as pd
import pytest

import privacy_risk as pr
from tests.api.people_in_memory import ASKED, PEOPLE, QUASI_IDENTIFIERS, N, classes

pytestmark = pytest.mark.anyio


async def test_every_release_of_a_comparison_is_as_it_was_told(call):
    compared = await call(pr.compare, PEOPLE, **ASKED, important=["sex"])
    one = await call(pr.anonymise, PEOPLE, **ASKED)
    assert compared["one_level_per_column"]["loss"] == pytest.approx(one.report.loss)
    assert compared.suggested in compared
    for name in compared:
        told, release = compared[name], await call(compared.release, name)
        counted = classes(release.frame)
        assert (counted["size"].min(), counted["size"].sum()) == (
            told["smallest_class"],
            N - told["suppressed_records"],
        )
        assert counted["size"].min() >= 4
        assert counted["nunique"].min() == told["privacy"][1]["attained"] >= 3
        kept = release.frame[(release.frame[QUASI_IDENTIFIERS] != "*").any(axis=1)]
        for column in told["columns"]:
            cells = kept[column["attribute"]]
            assert column["shown_share"] == pytest.approx((cells != "*").mean())
            assert {own["example"] for own in column["levels"]} - {None} <= {*cells}
        assert release.report.suppressed == told["suppressed_records"]
        assert release.report.loss == told["loss"]
        assert release.policy == one.policy
        assert str(release)
    assert (await call(compared.release)).report.loss == compared[compared.suggested]["loss"]
    assert (await call(compared.release, "one_level_per_column")).rule["levels"] == one.rule["levels"]


async def test_a_comparison_is_printed_and_shown_as_a_table(call):
    compared = await call(pr.compare, PEOPLE, **ASKED)
    head, *rows = compared.table
    assert head == [
        "alternative", *QUASI_IDENTIFIERS, "diagnosis", "suppressed", "loss", "k", "l of diagnosis",
        "highest risk", "mean risk",
    ]  # fmt: skip
    assert sum(row[0].endswith("(suggested)") for row in rows) == 1
    text, html = str(compared), compared._repr_html_()
    assert html.startswith(f"<p><b>{len(rows)} ways to release {len(PEOPLE)} records; suggested: ")
    assert "<svg" in html
    for row in rows:
        assert row[0] in text
        assert all(f"<td>{cell}</td>" in html for cell in row[4:])
    assert "such as" in text
    with pytest.raises(pr.InvalidArgument, match="one_level_per_column"):
        compared["another"]


async def test_a_comparison_is_plotted_with_the_losses_that_it_tells(call, monkeypatch):
    compared = await call(pr.compare, PEOPLE, **ASKED)
    bars, by_limit, by_k = compared.plot().axes
    assert [bar.get_width() for bar in bars.patches] == [compared[name]["loss"] for name in compared]
    assert [own.get_text() for own in bars.get_yticklabels()] == list(compared)
    for axes, curve in ((by_limit, "suppression"), (by_k, "k")):
        told = [(own["at"], own["loss"]) for own in compared.curves[curve] if own["loss"] is not None]
        (line,) = axes.lines
        assert list(zip(*line.get_data(), strict=True)) == told
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"privacy-risk\[plot\]"):
        compared.plot()


async def test_what_cannot_be_compared_is_refused_as_by_anonymise(call):
    with pytest.raises(pr.InvalidArgument, match="town") as refused:
        await call(pr.compare, PEOPLE, **ASKED, important=["town"])
    assert refused.value.argument == "important"
    with pytest.raises(pr.Infeasible, match="values"):
        await call(pr.compare, PEOPLE, **ASKED | {"l": {"diagnosis": 6}})


async def test_persons_are_counted(call):
    rows = pd.concat([PEOPLE, PEOPLE.iloc[:60]], ignore_index=True)
    asked: dict[str, Any] = {**ASKED, "l": None, "person": "patient"}
    compared = await call(pr.compare, rows, **asked)
    for name in compared:
        assert compared[name]["persons"] == N
        release = await call(compared.release, name)
        assert release.report.persons_suppressed == compared[name]["persons_suppressed"]


async def test_amounts_in_bands_are_told_as_bands(call):
    draw = random.Random(5)
    paid = [f"{draw.randrange(20_000, 90_000)}" for _ in range(300)]
    people = pd.DataFrame({"age": [20 + n % 30 for n in range(300)], "salary": paid})
    compared = await call(pr.compare, people, k=5, rows_are="persons", sensitive=["salary"])
    for own in compared.alternatives.values():
        (pay,) = own["sensitive"]
        assert (pay["attribute"], [one["level"] for one in pay["levels"]]) == ("salary", [1])
    assert "salary" in compared.table[0]
    place = compared.table[0].index("salary")
    assert all(row[place].startswith("level 1, such as ") for row in compared.table[1:])


@pytest.mark.parametrize("is_described", [False, True])
async def test_the_command_prints_alternatives_and_writes_the_one_that_is_chosen(
    console, tmp_path, capsys, is_described
):
    data, tables, out = (tmp_path / own for own in ("people.csv", "tables.toml", "out.csv"))
    rows = [("ABCDEFG"[i * i % 7], 20 + i % 45, "xyz"[i % 3]) for i in range(150)]
    data.write_text("".join(f"{town},{age},{ill}\n" for town, age, ill in [("town", "age", "ill"), *rows]))
    if is_described:
        assert await console("describe", data, "-o", tables) == 0
        text = tables.read_text().replace('role = "other"', 'role = "quasi_identifier"')
        tables.write_text(text)
        of = ("--tables", tables)
    else:
        of = (data, "--quasi-identifiers", "town", "age", "--sensitive", "ill", "--rows-are", "persons")
    asked = ("anonymise", *of, "--k", 4, "--max-suppressed", 0.1, "--compare", "--important", "age")
    capsys.readouterr()
    assert await console(*asked) == 0
    assert "(suggested)" in capsys.readouterr().out
    assert await console(*asked, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["suggested"] in [own["id"] for own in told["alternatives"]]
    assert [own["at"] for own in told["curves"]["k"]] == [2, 3, 4, 5, 10, 20]
    for own in told["alternatives"]:
        assert await console(*asked, "--choose", own["id"], "-o", out, "--json") == 0
        shown = json.loads(capsys.readouterr().out)
        assert (shown["loss"], shown["suppressed"]) == (own["loss"], own["suppressed_records"])
        with out.open() as lines:
            cells = [row["age"] for row in csv.DictReader(lines)]
        assert cells.count("*") >= own["suppressed_records"]
