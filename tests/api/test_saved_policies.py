"""What a saved policy says of the table is enough: its release and the next delivery are judged by it."""

from __future__ import annotations

import io
import json

import pandas as pd
import pytest
import yaml

import privacy_risk as pr
from app.domain.policies.difference import difference
from app.services.gates.policy_documents import document_of_policy, policy_of

pytestmark = pytest.mark.anyio

REASON = "Nobody outside the ward knows it."
PERSONS = ("--rows-are", "persons")
SEXES = "fm"


def cells(header: str, rows: object, sign: str = ",") -> str:
    return "\n".join((header, *(sign.join(map(str, row)) for row in rows))) + "\n"


CODED = cells(
    "sex,msp,income",
    [(SEXES[i % 2], i % 5 + 1, i % 10 + 1) for i in range(10_000)] + [("f", "N", "N") for _ in range(20)],
)
WHOLE = cells("agi,tax,years", [(20_011 + 13 * i, 3_007 + 7 * ((i * 37) % 80), i % 40) for i in range(80)])
MARKED = cells("sex,age,time", [(SEXES[i % 2], 20 + i % 3, ("-8", "1", "2", "NA")[i % 4]) for i in range(48)])
TOPPED = cells("town,sick", [(f"T{i}", "abc"[i % 3]) for i in range(12)])
GERMAN = cells(
    "geboren;plz;kosten;grund",
    [
        (f"{i % 28 + 1:02}.{i % 12 + 1:02}.{1950 + i % 50}", f"{10115 + i % 9}", f"{i % 20},50", "abc"[i % 3])
        for i in range(120)
    ]
    + [("unbekannt", "10115", "1,50", "a")],
    ";",
)
TOWNS = [(f"T{i}", f"R{i % 7}", "*") for i in range(260)]
LONG = cells("town,sex", [(f"T{i % 260}", SEXES[i % 2]) for i in range(1_040)])

KINDS = {
    "a code in later rows": (CODED, ("--k", "5"), None),
    "all-different whole numbers": (
        WHOLE,
        ("--k", "5", "--quasi-identifiers", "agi", "tax", "years", "--max-suppressed", "0.02"),
        None,
    ),
    "declared missing markers": (MARKED, ("--k", "2", "--missing-marker", "-8", "NA", ""), None),
    "everything at the top": (
        TOPPED,
        ("--k", "5", "--quasi-identifiers", "town", "--sensitive", "sick"),
        None,
    ),
    "German dates, numbers and separators": (GERMAN, ("--k", "5", "--max-suppressed", "0.1"), None),
    "many rows of a hierarchy": (LONG, ("--k", "5"), TOWNS),
}


@pytest.mark.parametrize("kind", KINDS)
async def test_a_release_is_judged_by_its_policy_alone(console, call, tmp_path, capsys, kind):
    text, asked, rows = KINDS[kind]
    table, release, policy = (tmp_path / own for own in ("t.csv", "r.csv", "p.yaml"))
    table.write_text(text, encoding="utf-8")
    if rows is not None:
        (tmp_path / "h.csv").write_text("".join(";".join(row) + "\n" for row in rows))
        asked = (*asked, "--hierarchy", f"town={tmp_path / 'h.csv'}")
    made = ("anonymise", table, *asked, *PERSONS, "-o", release, "--save-policy", policy)
    assert await console(*made) == 0, capsys.readouterr().err
    (tmp_path / "h.csv").unlink(missing_ok=True)
    document = yaml.safe_load(policy.read_text())
    columns = [name for own in document.get("not_covered", ()) for name in own["columns"]]
    gate = ("gate", policy, "--dataset", table, "--release", release, "--format", "json")
    capsys.readouterr()
    assert await console(*gate) == (2 if columns else 0)
    verdict = json.loads(capsys.readouterr().out)["result"]
    assert verdict["coverage"]["outcome"] == ("missing_reason" if columns else "covered")
    assert not verdict["coverage"]["uncovered"]
    assert {own["outcome"] for own in verdict["criteria"]} == {"passed"}
    if columns:
        assert await console(*made, "--reason", *(f"{name}={REASON}" for name in columns)) == 0
        assert await console(*gate) == 0
    # In Python the policy's markers are taken as well, and nothing else is named.
    frames = [
        pd.read_csv(io.StringIO(own), sep=sign, dtype=str, keep_default_na=False)
        for own, sign in ((release.read_text(), ","), (text, ";" if ";" in text.splitlines()[0] else ","))
    ]
    found = await call(pr.gate, policy, frames[0], original=frames[1])
    assert found.passed, found


async def test_long_hierarchies_lie_beside_the_policy_and_are_held_to_their_hash(console, tmp_path, capsys):
    table, release, policy = (tmp_path / own for own in ("t.csv", "r.csv", "p.yaml"))
    table.write_text(LONG)
    (tmp_path / "h.csv").write_text("".join(";".join(row) + "\n" for row in TOWNS))
    asked = ("--k", "5", "--hierarchy", f"town={tmp_path / 'h.csv'}", *PERSONS)
    assert await console("anonymise", table, *asked, "-o", release, "--save-policy", policy) == 0
    beside = tmp_path / "p.hierarchy-1.csv"
    assert sorted(beside.read_text().splitlines()) == sorted(";".join(row) for row in TOWNS)
    assert len(policy.read_text().splitlines()) < 60
    gate = ("gate", policy, "--dataset", table, "--release", release)
    capsys.readouterr()
    beside.write_text(beside.read_text().replace("R1", "R2"))
    assert await console(*gate) == 2
    assert "p.hierarchy-1.csv: it is not the one that the policy names" in capsys.readouterr().err
    beside.unlink()
    assert await console(*gate) == 2
    assert "p.hierarchy-1.csv: it is not there" in capsys.readouterr().err
    document = yaml.safe_load(policy.read_text())
    document["schema"]["columns"]["town"]["hierarchy"]["file"] = "../t.csv"
    policy.write_text(yaml.safe_dump(document))
    assert await console(*gate) == 2
    assert "it is not there" in capsys.readouterr().err


async def test_values_that_the_policy_lacks_in_a_next_delivery_are_told(console, call, tmp_path, capsys):
    table, release, policy = (tmp_path / own for own in ("t.csv", "r.csv", "p.yaml"))
    table.write_text(cells("town,sex", [(f"T{i % 4}", SEXES[i % 2]) for i in range(40)]))
    (tmp_path / "h.csv").write_text("".join(";".join(row) + "\n" for row in TOWNS[:4]))
    asked = ("--k", "5", "--hierarchy", f"town={tmp_path / 'h.csv'}", *PERSONS)
    assert await console("anonymise", table, *asked, "-o", release, "--save-policy", policy) == 0
    table.write_text(cells("town,sex", [(f"T{i % 6}", SEXES[i % 2]) for i in range(12)]))
    capsys.readouterr()
    assert await console("gate", policy, "--dataset", table, "--release", release) == 2
    said = capsys.readouterr().err
    assert "The hierarchy of 'town' lacks 2 of the column's values, in rows 5, 6, 11, 12" in said
    assert "Add them to the hierarchy" in said
    frame = pd.read_csv(table)
    with pytest.raises(pr.ProblemError, match="lacks 2 of the column's values, in rows 5, 6, 11, 12"):
        await call(pr.gate, policy, frame, original=frame)


async def test_another_delivery_is_read_as_the_first_one_was(call):
    """Not as its own cells would have it: of this one all ages are equal, and the marker is a number."""
    first = pd.DataFrame({"age": [str(20 + i % 10) for i in range(40)], "n": [str(i % 2) for i in range(40)]})
    release = await call(
        pr.anonymise, first, k=4, quasi_identifiers=["age", "n"], missing_markers=["-8"], rows_are="persons"
    )
    assert release.policy["schema"]["columns"]["age"]["hierarchy"]["kind"] == "intervals"
    assert release.policy["schema"]["file"] == {"missing": ["", "-8"]}
    then = pd.DataFrame({"age": ["21"] * 8 + ["-8"] * 4, "n": ["0"] * 12})
    width = int(release.policy["schema"]["columns"]["age"]["hierarchy"]["widths"][0])
    low = 21 // width * width
    shown = then.assign(age=[f"[{low}, {low + width}["] * 8 + ["*"] * 4)
    found = await call(pr.gate, release.policy, shown, original=then)
    assert found.passed, found


async def test_the_same_table_has_one_loss_however_it_is_described(console, call, tmp_path, capsys):
    text = cells("days,sex", [(1_000 + (i * 97) % 1_400, SEXES[i % 2]) for i in range(200)])
    (tmp_path / "t.csv").write_text(text)
    assert await console("describe", tmp_path / "t.csv", "-o", tmp_path / "t.toml") == 0
    losses = []
    for asked in ((tmp_path / "t.csv", *PERSONS), ("--tables", tmp_path / "t.toml")):
        capsys.readouterr()
        assert await console("anonymise", *asked, "--k", "5", "-o", tmp_path / "r.csv", "--json") == 0
        answer = json.loads(capsys.readouterr().out)
        losses.append(answer["loss"])
        assert "Losses count the values that the table holds." in answer["notes"]
    release = await call(pr.anonymise, pd.read_csv(io.StringIO(text)), k=5, rows_are="persons")
    assert [*losses, release.report.loss] == [losses[0]] * 3
    given = {"sex": [["f", "*"], ["m", "*"]]}
    release = await call(pr.anonymise, pd.read_csv(io.StringIO(text)), k=5, hierarchies=given)
    assert "of sex those that the hierarchy declares." in str(release)


async def test_a_household_is_no_identifier_at_any_door(console, call, tmp_path, capsys):
    frame = pd.DataFrame(
        {"house": [f"H{i // 2}" for i in range(40)], "sex": [SEXES[i % 2] for i in range(40)]}
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "t.toml").write_text(
        '[dataset]\nname = "t"\nfile = "t.csv"\nidentifier = "house"\n[dataset.attributes.sex]\n'
    )
    for asked in ((tmp_path / "t.csv", "--identifier", "house"), ("--tables", tmp_path / "t.toml")):
        assert await console("anonymise", *asked, "--k", "5", "-o", tmp_path / "r.csv") == 1
        assert "n identifier is of one row" in capsys.readouterr().err
    with pytest.raises(pr.InvalidArgument, match=r"an identifier is of one row\..*person='house'"):
        await call(pr.anonymise, frame, k=5, roles={"house": "identifier"})


async def test_what_a_service_tells_of_a_dataset_is_what_a_policy_says_of_it(client):
    rows = cells("town,born,hair", [(f"T{i % 3}", f"0{i % 9 + 1}.02.1980", "b?"[i % 2]) for i in range(12)])
    csv = {"Content-Type": "text/csv"}
    await client.post("/v1/uploads?name=t&missing=%3F", content=rows.encode(), headers=csv)
    above = [(["T0", "R", "*"]), (["T1", "R", "*"]), (["T2", "S", "*"])]
    leaves = {"upload": {"upload": "t", "column": "born", "format": "dd.mm.yyyy"}}
    unbalanced = {"b": ["dark"], "dark": [None], "g": [None]}
    for name, definition in (
        ("town", {"kind": "rows", "rows": above}),
        ("born", {"kind": "dates", "levels": ["month", "year"], **leaves}),
        ("hair", {"kind": "parents", "parents": unbalanced, "top_label": "any"}),
    ):
        made = await client.post("/v1/hierarchies", json={"name": name, "definition": definition})
        assert made.status_code == 201, made.text
    own = {"role": "quasi_identifier", "type": "categorical"}
    attributes = [
        {"name": "town", "hierarchy": "town", "map": {"T9": "T0"}, "on_unknown": "missing", **own},
        {"name": "born", "hierarchy": "born", **own, "type": "date", "format": "dd.mm.yyyy"},
        {"name": "hair", "hierarchy": "hair", **own},
    ]
    await client.post("/v1/datasets", json={"name": "t", "upload": "t", "attributes": attributes})
    reading = (await client.get("/v1/datasets/t/reading")).json()
    assert reading == {
        "columns": {
            "town": {
                "type": "categorical",
                "on_unknown": "missing",
                "map": {"T9": "T0"},
                "hierarchy": {"kind": "rows", "rows": above},
            },
            "born": {
                "type": "date",
                "format": "dd.mm.yyyy",
                "hierarchy": {"kind": "dates", "levels": ["month", "year"]},
            },
            "hair": {
                "type": "categorical",
                "hierarchy": {"kind": "parents", "parents": unbalanced, "top_label": "any"},
            },
        },
        "file": {"missing": ["?"]},
    }
    asked = {
        "format": "privacy-risk/policy/2",
        "name": "as-read",
        "version": 1,
        "title": "As it is read",
        "assumes": {"attacker": "Anybody."},
        "schema": {"attributes": dict.fromkeys(reading["columns"], "quasi_identifier"), **reading},
        "requirements": [
            {
                "id": "k",
                "title": "k",
                "reason": REASON,
                "requirement": {"kind": "privacy_model", "model": {"kind": "k_anonymity", "k": 2}},
            }
        ],
    }
    stored = await client.post("/v1/policies", json=asked)
    assert stored.status_code == 201, stored.text
    kept = (await client.get("/v1/policies/as-read@1")).json()
    assert kept["document"]["schema"] == asked["schema"]
    body = {"name": "e", "dataset": "t", "rule": {"kind": "identity"}}
    judged = (await client.post("/v1/gates/as-read@1/evaluations", json=body)).json()
    evidence = await client.get(f"/v1/evaluations/{judged['id']}/evidence")
    assert "T9" not in evidence.text
    old, new = policy_of({**asked, "schema": {"attributes": asked["schema"]["attributes"]}}), policy_of(asked)
    assert document_of_policy(policy_of(document_of_policy(new))) == document_of_policy(new)
    assert difference(old, new).effect == "different"
    unknown = {**asked["schema"], "columns": {"age": {"type": "number", "hierarchy": {"widths": ["5"]}}}}
    refused = await client.post("/v1/policies/lint", json={**asked, "schema": unknown})
    assert "/schema/columns/age" in refused.text
