"""β-likeness asked for in Python and by the command: what leaves keeps it, counted by hand."""

from __future__ import annotations

import csv
import json
import math
import random
import re
from collections import Counter
from fractions import Fraction

import pandas as pd
import pytest

import privacy_risk as pr
from app.services.gates.policies import template
from app.services.gates.policy_documents import document_of_policy

pytestmark = pytest.mark.anyio

N = 300
KNOWN = ["age", "sex", "town"]
ONCE = (
    "The rarest value of job occurs once: with β = 2 a class that has it has at least 100 of the 300 records"
)


def people() -> pd.DataFrame:
    """Two sensitive columns, of which one has a value that occurs once."""
    draw = random.Random(3)
    jobs = ["judge", *draw.choices("abcde", [30, 25, 20, 15, 10], k=N - 1)]
    return pd.DataFrame(
        {
            "age": [20 + draw.randrange(40) for _ in range(N)],
            "sex": draw.choices("fm", k=N),
            "town": draw.choices("ABCD", k=N),
            "job": jobs,
            "ward": draw.choices("xyz", [5, 3, 2], k=N),
        }
    )


def gains(whole: list[str], shown: list[tuple[tuple[str, ...], str]]) -> list[tuple[Fraction, float]]:
    """Of every class and value in it: by how much it is more likely there, and −ln of its share in all."""
    totals = Counter(whole)
    classes: dict[tuple[str, ...], Counter[str]] = {}
    for cells, value in shown:
        classes.setdefault(cells, Counter())[value] += 1
    return [
        (Fraction(n * len(whole), own.total() * totals[value]) - 1, math.log(len(whole) / totals[value]))
        for own in classes.values()
        for value, n in own.items()
    ]


def require_likeness(found: list[tuple[Fraction, float]], beta: str) -> None:
    assert all(gain <= Fraction(beta) and gain <= cap + 1e-9 for gain, cap in found)


ASKED = {"quasi_identifiers": KNOWN, "rows_are": "persons", "k": 3, "max_suppressed": 0.1}


async def test_a_release_is_like_the_table_in_each_column_that_was_named(call, capsys):
    frame = people()
    release = await call(pr.anonymise, frame, **ASKED, beta={"job": 2, "ward": 1.5})
    kept = release.frame[release.frame["job"] != "*"]
    assert len(kept) == N - release.report.suppressed > 0
    for name, beta in (("job", "2"), ("ward", "1.5")):
        cells = kept[KNOWN].itertuples(index=False, name=None)
        found = gains([*frame[name]], [*zip(cells, kept[name], strict=True)])
        require_likeness(found, beta)
        (told,) = [own for own in release.report.reached if own.criterion.get("attribute") == name]
        assert told.attained == pytest.approx(max(0.0, *(float(gain) for gain, _ in found)))
        assert f"beta = {pr.releases.number_text(told.attained)} of {name} (beta likeness" in str(release)
    assert capsys.readouterr().err.count(ONCE) == 1
    assert any(own.startswith(ONCE) for own in release.notes)

    titles = [own["title"] for own in release.policy["requirements"]]
    assert titles == ["k-anonymity, k = 3", "β-likeness of job, β = 2", "β-likeness of ward, β = 1.5"]
    reasons = dict.fromkeys(("job", "ward"), "Nobody outside the firm knows it.")
    policy = pr.release_policy.with_reasons(release.policy, reasons)
    assert (await call(pr.gate, policy, release, original=frame)).passed
    as_it_is = await call(pr.gate, policy, frame, original=frame)
    assert as_it_is.outcome == "fail"
    assert any("β-likeness of job" in own for own in as_it_is.reasons)


@pytest.mark.parametrize(
    ("counts", "at", "below"),
    [
        # Half of a class where a quarter of all are: a gain of 1 exactly.
        ([("f", "a", 5), ("f", "b", 5), ("m", "c", 5), ("m", "d", 5)], 1, 0.99),
        # 11 of 20 where half of all are: a gain of a tenth, which no binary fraction is.
        ([("f", "a", 11), ("f", "b", 9), ("m", "a", 9), ("m", "b", 11)], 0.1, 0.0999),
    ],
)
async def test_a_gain_exactly_at_the_bound_is_allowed(call, counts, at, below):
    rows = [(sex, job) for sex, job, n in counts for _ in range(n)]
    frame = pd.DataFrame(rows, columns=["sex", "job"])
    asked = {"quasi_identifiers": ["sex"], "rows_are": "persons", "k": 2, "max_suppressed": 0}
    kept = await call(pr.anonymise, frame, **asked, beta={"job": at})
    assert kept.report.loss == 0
    assert kept.report.reached[1].attained == pytest.approx(at)
    lost = await call(pr.anonymise, frame, **asked, beta={"job": below})
    assert (lost.report.loss, lost.report.reached[1].attained) == (1, 0)


async def test_a_comparison_says_what_the_implied_values_and_distance_would_cost(call):
    frame = people()
    compared = await call(pr.compare, frame, **ASKED, sensitive=["job"], beta=2)
    for name in compared:
        release = await call(compared.release, name)
        kept = release.frame[release.frame["job"] != "*"]
        cells = kept[KNOWN].itertuples(index=False, name=None)
        require_likeness(gains([*frame["job"]], [*zip(cells, kept["job"], strict=True)]), "2")
    like, *weaker = compared.curves["likeness"]
    assert like["loss"] == compared["one_level_per_column"]["loss"]
    assert [own["privacy"][0]["kind"] for own in weaker] == ["distinct_l_diversity", "t_closeness"]
    assert all(own["loss"] <= like["loss"] for own in weaker)
    assert weaker[1]["privacy"][0]["t"] == 0.6667
    for own, sign in zip(compared.curves["likeness"], ("β = 2", "ℓ = 2", "t = 0.6667"), strict=True):
        (note,) = [one for one in compared.notes if one.startswith(f"One level per column, {sign} of job (")]
        assert note.endswith(f"loses {pr.releases.number_text(own['loss'])}.")
    assert "beta of job" in compared.table[0]
    without = await call(pr.compare, frame, **ASKED, sensitive=["job"])
    assert without.curves["likeness"] == []


async def test_what_likeness_needs_is_told_of_columns_with_one_or_with_missing_values(call):
    asked = {"quasi_identifiers": ["sex"], "rows_are": "persons", "k": 2, "max_suppressed": 0.1}
    same = pd.DataFrame({"sex": [*"fm"] * 10, "ill": ["flu"] * 20})
    release = await call(pr.anonymise, same, **asked, beta={"ill": 2})
    assert (
        "ill has one value only, which everybody knows then: β-likeness asks nothing of it." in release.notes
    )
    assert (release.report.loss, release.report.reached[1].attained) == (0, 0)
    some = pd.DataFrame({"sex": [*"fm"] * 10, "ill": [None] * 4 + ["flu", "Flu ", "cold", "cold"] * 4})
    release = await call(pr.anonymise, some, **asked, beta={"ill": 2})
    assert "4 records have no value of ill: that counts as one value more." in release.notes
    # Two spellings of one illness are one value, which half of the others have.
    assert any(
        own.startswith("The rarest value of ill occurs 4 times: with β = 2 a") for own in release.notes
    )


@pytest.mark.parametrize("named", [True, False])
async def test_the_command_writes_a_release_that_is_like_the_table(console, tmp_path, capsys, named):
    data, out = tmp_path / "people.csv", tmp_path / "out.csv"
    frame = people().drop(columns="ward")
    frame.to_csv(data, index=False)
    likeness = "job=2" if named else "2"
    sensitive = () if named else ("--sensitive", "job")
    asked = ("anonymise", data, "--quasi-identifiers", *KNOWN, *sensitive, "--rows-are", "persons", "--k", 3)
    capsys.readouterr()
    assert await console(*asked, "--beta", likeness, "--max-suppressed", 0.1, "-o", out) == 0
    told = capsys.readouterr()
    assert told.err.startswith(ONCE)
    with out.open(encoding="utf-8") as lines:
        rows = [own for own in csv.DictReader(lines) if own["job"] != "*"]
    found = gains([*frame["job"]], [(tuple(own[name] for name in KNOWN), own["job"]) for own in rows])
    require_likeness(found, "2")
    most = pr.releases.number_text(max(0.0, *(float(gain) for gain, _ in found)))
    assert f"beta = {most} of job (beta likeness, 2 asked for)" in told.out
    assert await console(*asked, "--beta", likeness, "--max-suppressed", 0.1, "--compare", "--json") == 0
    points = json.loads(capsys.readouterr().out)["curves"]["likeness"]
    assert [own["privacy"][0].get("attribute") for own in points] == ["job"] * 3


async def test_the_template_lets_a_release_that_is_like_the_table_pass_and_a_diverse_one_fail(call):
    frame = people().drop(columns="ward")
    policy = document_of_policy(template("little-gain").policy)
    roles = {**dict.fromkeys(KNOWN, "quasi_identifier"), "job": "sensitive"}
    policy |= {"name": "ours", "not_covered": [{"columns": ["job"], "reason": "Nobody outside knows it."}]}
    asked = {**ASKED, "k": 5, "max_suppressed": 0.05, "sensitive": ["job"]}
    outcomes = []
    for number, likeness in enumerate(({"beta": 2}, {"l": 2})):
        release = await call(pr.anonymise, frame, **asked, **likeness)
        columns = release.policy["schema"]["columns"]
        own = {**policy, "version": 4 + number, "schema": {"attributes": roles, "rows_are": "persons"}}
        own["schema"]["columns"] = columns
        verdict = await call(pr.gate, own, release, original=frame)
        failing = re.search(r"(\w+) of 300 records would be in classes that raise", str(verdict.reasons))
        outcomes.append((verdict.outcome, failing[1] != "none"))
    assert outcomes == [("pass", False), ("fail", True)]


async def test_a_column_that_is_not_sensitive_has_no_likeness(call, console, tmp_path, capsys):
    with pytest.raises(pr.InvalidArgument, match="It is about sensitive attributes, and the table has none"):
        await call(pr.anonymise, people()[["age", "sex", "town"]], **ASKED, beta=2)
    data = tmp_path / "people.csv"
    people().to_csv(data, index=False)
    asked = ("--quasi-identifiers", *KNOWN, "--rows-are", "persons", "--k", 3, "-o", tmp_path / "out.csv")
    assert await console("anonymise", data, *asked, "--beta", "age=2") == 1
    assert "'age' is sensitive here and quasi_identifier elsewhere" in capsys.readouterr().err
