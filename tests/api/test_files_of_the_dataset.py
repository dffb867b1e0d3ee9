"""A released file is one that the dataset can have produced, at every door and against every ready policy."""

from __future__ import annotations

import random
from contextlib import contextmanager
from typing import Any

import anyio
import httpx
import pandas as pd
import pytest
import yaml

import privacy_risk as pr
from app.cli import gate
from app.cli.operations import Operations
from app.cli.program import run
from app.domain.classes import row_matching
from app.services.gates.policies import template, templates
from app.services.gates.policy_documents import document_of_policy
from privacy_risk import gating
from tests.api.blocking import Blocking
from tests.api.tables import made

pytestmark = pytest.mark.anyio

Json = dict[str, Any]
CSV = {"Content-Type": "text/csv"}
REGIONS = {"north": [None], "south": [None], **{f"n{i}": ["north"] for i in range(3)},
           **{f"s{i}": ["south"] for i in range(3)}}  # fmt: skip
ROLES = {"region": "quasi_identifier", "sex": "quasi_identifier", "dx": "sensitive"}


def people_of(seed: int) -> pd.DataFrame:
    """360 people of a year: 30 in each class of region and sex, of four diagnoses and a year's own share."""
    drawn = random.Random(seed)
    rows = [(f"{'ns'[p % 2]}{p // 2 % 3}", "fm"[p // 6 % 2], f"d{drawn.randrange(4)}") for p in range(360)]
    return pd.DataFrame(drawn.sample(rows, len(rows)), columns=list(ROLES))


PEOPLE, LAST_YEAR = people_of(1), people_of(2)
UNIQUE = pd.DataFrame({"region": [f"r{i}" for i in range(120)], "sex": ["f"] * 120, "dx": ["d0"] * 120})


def raised(frame: pd.DataFrame) -> pd.DataFrame:
    """The people with their part of the country, in another order."""
    north = frame["region"].str.startswith("n").map({True: "north", False: "south"})
    return frame.assign(region=north).sample(frac=1, random_state=3)


def swapped(frame: pd.DataFrame) -> pd.DataFrame:
    """Every cell occurs as often as it did, but the diagnoses are other people's."""
    return frame.assign(dx=sorted(frame["dx"]))


OF_OTHERS = {
    "every row 11 times": lambda: pd.concat([PEOPLE.iloc[:30]] * 11),
    "one sex throughout": lambda: raised(PEOPLE).assign(sex="f"),
    "the year before": lambda: raised(LAST_YEAR),
    "diagnoses swapped": lambda: raised(swapped(PEOPLE)),
    "one row twice": lambda: pd.concat([raised(PEOPLE), raised(PEOPLE).iloc[:1]]),
    "more empty rows": lambda: pd.concat([raised(PEOPLE), pd.DataFrame([["*"] * 3], columns=list(ROLES))]),
    "diagnoses alone, of the year before": lambda: LAST_YEAR.assign(region="*", sex="*"),
}
"""Files that the people cannot have produced, by what is wrong with them; all values are known."""
OF_THESE = {
    "as it is": lambda: PEOPLE,
    "raised": lambda: raised(PEOPLE),
    "levels that differ": lambda: pd.concat([raised(PEOPLE.iloc[:200]), PEOPLE.iloc[200:]]),
    "some rows empty": lambda: raised(PEOPLE).mask(PEOPLE["dx"] == "d3", "*"),
    "half of it": lambda: raised(PEOPLE).iloc[:180],
    "diagnoses alone": lambda: PEOPLE.assign(region="*", sex="*").iloc[::-1],
}


MERGED = {
    "a blank": ("&trim=true", 0, "north "),
    "a marker of what is missing": ("&missing=unknown", 15, "unknown"),
    "another word for it": ("", 0, "NORD"),
}
"""By what is merged: how the file is read, how many regions it hides, and its one odd region."""


def ready_policies(in_every_run: str) -> list[Any]:
    """The names of the ready policies for files: one in every run, and all in that of the deep tests."""
    names = [own.policy.name for own in templates() if own.policy.name != "synthetic-release"]
    return [pytest.param(name, marks=[] if name == in_every_run else pytest.mark.deep) for name in names]


def fewest_left_over(file: pd.DataFrame) -> int:
    """Rows that are over where the file shows north or south, a sex and a diagnosis: counted by pandas."""
    own, those = (frame.value_counts() for frame in (file, raised(PEOPLE)))
    return int((own - those.reindex(own.index, fill_value=0)).clip(lower=0).sum())


async def begin_with(client: httpx.AsyncClient) -> None:
    """A client with the people of this year, by regions with parts of the country above them."""
    hierarchy = {"kind": "parents", "parents": REGIONS}
    await made(client, "hierarchies", {"name": "regions", "definition": hierarchy})
    await dataset(client, "people", PEOPLE, {"region": {"hierarchy": "regions", "map": {"NORD": "north"}}})
    await sent(client, "register", pd.concat([PEOPLE[["region", "sex"]]] * 2))
    links = [
        {"attribute": name, "column": name, "transform": {"kind": "identity"}} for name in ("region", "sex")
    ]
    await made(client, "dictionaries", {"name": "register", "upload": "register", "links": links})
    await made(
        client,
        "sensitivity-profiles",
        {"name": "harm", "dataset": "people", "family": "constant", "constant": 1},
    )


@pytest.fixture
def people(begun: httpx.AsyncClient) -> httpx.AsyncClient:
    return begun


async def sent(client: httpx.AsyncClient, name: str, frame: pd.DataFrame) -> None:
    text = frame.to_csv(index=False)
    answer = await client.post(f"/v1/uploads?name={name}", content=text, headers=CSV)
    assert answer.status_code in (200, 201), answer.text


async def dataset(client: httpx.AsyncClient, name: str, frame: pd.DataFrame, more: Json) -> None:
    await sent(client, name, frame)
    columns = [
        {"name": column, "type": "categorical", "role": role, **more.get(column, {})}
        for column, role in ROLES.items()
    ]
    await made(
        client, "datasets", {"name": name, "upload": name, "attributes": columns, "rows_are": "persons"}
    )


async def judged(
    client: httpx.AsyncClient,
    policy: str,
    file: pd.DataFrame,
    of: str = "people",
    reading: str = "",
    **more: Any,
) -> Json:
    """The verdict of the policy on the file, of a dataset that is there."""
    await sent(client, f"file{reading}", file)
    body = {"dataset": of, **more, "release": {"upload": "file", **more.get("release", {})}}
    answer = await client.post(f"/v1/gates/{policy}/evaluations", json=body)
    assert answer.status_code in (200, 201), answer.text
    found: Json = answer.json()["result"]
    assert (await client.delete(f"/v1/evaluations/{answer.json()['name']}")).status_code == 204
    assert (await client.delete("/v1/uploads/file")).status_code == 204
    return found


def requires(k: int = 11, **more: Any) -> Json:
    """A policy of a class size, and of at most a twentieth of the records suppressed."""
    few = {"kind": "measure", "measure": {"kind": "equivalence_classes"}, "comparison": "at_most",
           "value": "judged.records_suppressed", "threshold": 18}  # fmt: skip
    demands = {"k": {"kind": "privacy_model", "model": {"kind": "k_anonymity", "k": k}}, "few": few, **more}
    return {
        "format": "privacy-risk/policy/2", "name": "eleven", "version": 1, "title": "Eleven in every class",
        "assumes": {"attacker": "Who knows region and sex."},
        "schema": {"attributes": ROLES, "rows_are": "persons"},
        "not_covered": [{"columns": ["dx"], "reason": "Nobody outside knows it."}],
        "requirements": [
            {"id": id_, "title": id_, "reason": "For the test.", "requirement": own}
            for id_, own in demands.items()
        ],
    }  # fmt: skip


async def ready(client: httpx.AsyncClient, name: str) -> Json:
    """Store the ready policy with the people's columns as ``ready``; gives what is asked with it."""
    document = document_of_policy(template(name).policy)
    schema = {"attributes": ROLES, "rows_are": "persons"}
    reason = [{"columns": ["dx"], "reason": "Nobody outside knows it."}]
    await made(client, "policies", {**document, "name": "ready", "schema": schema, "not_covered": reason})
    dictionaries = {own["name"]: "register" for own in document["dictionaries"]}
    sensitivity = {"sensitivity": "harm"} if name in ("public-release", "trusted-partner") else {}
    return {"dictionaries": dictionaries, **sensitivity}


@pytest.mark.parametrize("name", ready_policies("public-release"))
async def test_no_template_passes_a_file_that_the_dataset_cannot_produce(
    people: httpx.AsyncClient, name: str
):
    more = await ready(people, name)
    for what, file in OF_OTHERS.items():
        result = await judged(people, "ready", file(), **more)
        assert (result["verdict"], result["coverage"]["outcome"]) == ("fail", "not_of_dataset"), what
    for what, file in OF_THESE.items():
        result = await judged(people, "ready", file(), **more)
        assert result["coverage"]["outcome"] != "not_of_dataset", what
        assert result["coverage"]["rows"]["matched"] == len(file()), what
        too_many = [own["message"] for own in result["coverage"]["uncovered"] if own["why"] == "suppressed"]
        # Of diagnoses alone the columns are generalised to the top, as if they had been left out.
        assert len(too_many) == (what in ("half of it", "some rows empty")), what
        assert result["verdict"] != "pass" or not too_many


@pytest.mark.parametrize("name", ready_policies("clinical-reports"))
async def test_no_template_takes_two_spellings_for_one_where_the_file_keeps_them_apart(
    people: httpx.AsyncClient, name: str
):
    """One person's cell is spelled as no other's is; the upload says that both spellings mean the same."""
    more = await ready(people, name)
    for what, (reading, hidden, text) in MERGED.items():
        spelled = raised(PEOPLE).sort_values("region", ignore_index=True)
        spelled.iloc[:hidden, 0] = "*"
        spelled.iloc[0, 0] = text
        result = await judged(people, "ready", spelled, reading=reading, **more)
        assert result["verdict"] != "pass", what
        (region,) = [own for own in result["coverage"]["columns"] if own["name"] == "region"]
        assert region["spellings"][0]["rows"] == 1, what
        # The other hidden ones count as a value of their own, too, which may be too few for the template.
        assert region["singled_out"] in (1, hidden), what


async def test_a_revoked_verdict_is_not_had_again_for_the_same_rows_in_another_dialect(
    people: httpx.AsyncClient,
):
    await made(people, "policies", requires())
    text = raised(PEOPLE).to_csv(index=False)
    dialects = {"one": text, "two": text.replace("\n", "\r\n"), "three": f"\ufeff{text}"}
    for name, content in dialects.items():
        await people.post(f"/v1/uploads?name={name}", content=content.encode(), headers=CSV)

    async def asked(name: str) -> httpx.Response:
        body = {"name": name, "dataset": "people", "release": {"upload": name}}
        return await people.post("/v1/gates/eleven/evaluations", json=body)

    assert (await asked("one")).json()["result"]["verdict"] == "pass"
    reason = {"reason": "The register was of other people."}
    assert (await people.post("/v1/evaluations/one/revocation", json=reason)).status_code == 200
    assert [(await asked(name)).status_code for name in ("two", "three")] == [409, 409]


@pytest.mark.parametrize("what", ["one sex throughout", "the year before", "diagnoses swapped"])
async def test_what_cannot_be_matched_is_counted_and_an_example_named(people: httpx.AsyncClient, what: str):
    await made(people, "policies", requires())
    file = OF_OTHERS[what]()
    result = await judged(people, "eleven", file)
    rows, over = result["coverage"]["rows"], fewest_left_over(file)
    assert over > 0
    assert (rows["rows"], rows["matched"], rows["without_row"]) == (len(file), len(file) - over, over)
    assert len(rows["unmatched"]) == min(20, over)
    told = result["coverage"]["explanation"]
    assert f"{over:,} of its {len(file):,} rows" in told
    assert f"rows {', '.join(map(str, rows['unmatched'][:3]))}" in told
    page = result["coverage"]["uncovered"][0]
    assert (page["why"], page["columns"]) == ("rows", [])
    # The rows that are named can be left out: the dataset can have produced the others.
    assert over > 20 or fewest_left_over(file.drop(file.index[[row - 1 for row in rows["unmatched"]]])) == 0


async def test_empty_rows_and_records_without_a_row_are_suppressed_once(people: httpx.AsyncClient):
    closeness = {"kind": "privacy_model", "model": {"kind": "t_closeness", "t": 0.25, "distance": "equal"}}
    await made(people, "policies", requires(t=closeness))
    whole = raised(PEOPLE)
    cases = (0, 0, "pass"), (18, 0, "pass"), (10, 8, "pass"), (9, 10, "fail"), (120, 40, "fail")
    for empty, without, verdict in cases:
        file = whole.iloc[without:].copy()
        file.iloc[:empty] = "*"
        result = await judged(people, "eleven", file)
        by_id = {own["id"]: own for own in result["criteria"]}
        assert by_id["few"]["value"] == empty + without
        assert result["verdict"] == verdict
        rows = result["coverage"]["rows"]
        assert (rows["suppressed"], rows["without_row"]) == (empty + without, without)
        # The distribution of the whole table is that of all people, whoever is suppressed.
        assert by_id["t"]["outcome"] == "passed"
        said = f"{360 - without} rows of the file stand for as many of 360 records; {empty + without} records"
        assert said in result["coverage"]["explanation"]


async def test_most_of_the_rows_deleted_is_no_release_of_few_suppressed(people: httpx.AsyncClient):
    await made(people, "policies", requires())
    result = await judged(people, "eleven", raised(PEOPLE).iloc[:140])
    few = next(own for own in result["criteria"] if own["id"] == "few")
    assert (result["verdict"], few["outcome"], few["value"]) == ("fail", "failed", 220)


@pytest.mark.parametrize(
    ("limit", "verdict"),
    [
        (0.05, "pass"),
        (0.049, "fail"),
        pytest.param(0, "fail", marks=pytest.mark.deep),
        pytest.param(None, "pass", marks=pytest.mark.deep),
    ],
)
async def test_more_suppressed_records_than_the_policy_allows_fail_in_files_and_rules(
    people: httpx.AsyncClient, limit: float | None, verdict: str
):
    """18 of 360 records, a twentieth, are suppressed: in empty rows, or without any."""
    policy = requires() if limit is None else requires() | {"suppression_limit": limit}
    policy["requirements"] = policy["requirements"][:1]
    await made(people, "policies", policy)
    whole = raised(PEOPLE)
    empty = whole.iloc[:18].assign(**dict.fromkeys(ROLES, "*"))
    for file in (whole.iloc[18:], pd.concat([whole.iloc[18:], empty])):
        result = await judged(people, "eleven", file)
        assert result["verdict"] == verdict
        if verdict == "fail":
            first = result["coverage"]["uncovered"][0]
            assert (result["coverage"]["outcome"], first["why"]) == ("not_covered", "suppressed")
            assert "18 of 360 records are suppressed (5.00%)" in result["coverage"]["explanation"]
    # Without the columns nobody is suppressed; a rule that suppresses all classes of 30 suppresses all.
    assert (await judged(people, "eleven", whole[["dx"]]))["verdict"] == "pass"
    for below, passes in ((30, True), (31, limit is None)):
        rule = {"kind": "table_level", "levels": {"region": 0, "sex": 0}, "suppress_classes_below": below}
        body = {"dataset": "people", "rule": rule, "name": f"below-{below}"}
        answer = await people.post("/v1/gates/eleven/evaluations", json=body)
        assert answer.json()["result"]["verdict"] == ("pass" if passes else "fail")


async def test_an_order_that_was_asked_for_and_does_not_fit_is_an_error(people: httpx.AsyncClient):
    await made(people, "policies", requires())
    in_order = {"release": {"order": "records"}}
    for file in (raised(PEOPLE), raised(PEOPLE).iloc[:180]):
        result = await judged(people, "eleven", file, **in_order)
        assert (result["verdict"], result["coverage"]["outcome"]) == ("error", "not_computable")
        assert {own["outcome"] for own in result["criteria"]} == {"not_computable"}
        assert {own["error"]["code"] for own in result["criteria"]} == {"other-order"}
        assert "360" in result["coverage"]["explanation"] or "first rows" in result["coverage"]["explanation"]
    assert (await judged(people, "eleven", PEOPLE, **in_order))["verdict"] == "pass"


WRONG_KEYS = {
    "missing-key": {"no": ["", *range(1, 360)]},
    "unknown-key": {"no": [1000, *range(1, 360)]},
    "repeated-key": {"no": [1, *range(1, 360)]},
    "not-a-generalisation": {"region": "n0"},
}


async def test_a_key_that_was_named_and_does_not_fit_is_an_error(people: httpx.AsyncClient):
    numbered = PEOPLE.assign(no=range(360))
    await sent(people, "numbered", numbered)
    columns = [{"name": "no", "type": "categorical", "role": "identifier"}] + [
        {"name": name, "type": "categorical", "role": role} for name, role in ROLES.items()
    ]
    body = {"name": "numbered", "upload": "numbered", "attributes": columns, "rows_are": "persons"}
    await made(people, "datasets", body)
    policy = requires()
    policy["schema"]["attributes"] = {"no": "identifier", **ROLES}
    await made(people, "policies", policy | {"not_covered": [
        {"columns": ["dx", "no"], "reason": "The key is taken out before the file leaves."}
    ]})  # fmt: skip
    by_key = {"of": "numbered", "release": {"key": "no"}}
    assert (await judged(people, "eleven", numbered, **by_key))["verdict"] == "pass"
    for code, wrong in WRONG_KEYS.items():
        result = await judged(people, "eleven", numbered.assign(**wrong), **by_key)
        assert (result["verdict"], result["coverage"]["outcome"]) == ("error", "not_computable"), code
        assert {own["error"]["code"] for own in result["criteria"]} == {code}
        assert "row" in result["coverage"]["explanation"], code


@pytest.mark.parametrize("limit", ["MOST_PAIRS", "MOST_TRIED"])
async def test_a_matching_beyond_its_limits_is_an_error(people: httpx.AsyncClient, monkeypatch, limit: str):
    monkeypatch.setattr(row_matching, limit, 10)
    await made(people, "policies", requires())
    result = await judged(people, "eleven", raised(PEOPLE))
    assert (result["verdict"], result["coverage"]["outcome"]) == ("error", "not_computable")
    assert "was not found out: more than 10 pairs" in result["coverage"]["explanation"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("region,sex,dx,note\nn0,f,d0,x\n", "columns-not-judged"),
        ("region,sex\n", "empty-release"),
        ("region,sex,dx\nn0,f,d0\nn1,m,d\n", "unknown-value"),
    ],
    ids=["other columns", "only a header", "half written"],
)
async def test_a_file_that_is_no_release_at_all_is_refused(people: httpx.AsyncClient, text: str, code: str):
    await made(people, "policies", requires())
    assert (await people.post("/v1/uploads?name=bad", content=text, headers=CSV)).status_code == 201
    body = {"dataset": "people", "release": {"upload": "bad"}}
    answer = await people.post("/v1/gates/eleven/evaluations", json=body)
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, code)


async def test_a_file_that_ends_within_a_row_is_no_upload(people: httpx.AsyncClient):
    text = PEOPLE.to_csv(index=False)
    answer = await people.post("/v1/uploads?name=cut", content=text[: text.rindex(",")], headers=CSV)
    assert answer.status_code == 422, answer.text


ALONE = Operations(**dict.fromkeys(Operations.__dataclass_fields__, lambda *_: None))
"""A command that finds no service to ask."""


@pytest.fixture
async def doors(api, monkeypatch, tmp_path, capsys):
    """What ``gate`` ends with and tells, and the verdict of ``pr.gate``, of a file beside its original."""
    client = pr.Client("http://service", (await api.tenant_with_key())[1], transport=Blocking(api))

    @contextmanager
    def service_client(server, operations):
        yield client

    monkeypatch.setattr(gate, "service_client", service_client)
    monkeypatch.setattr(gating, "client_of", lambda server, key: client)

    async def called(original: pd.DataFrame, file: pd.DataFrame, *more: str) -> tuple[int, str, pr.Verdict]:
        original.to_csv(tmp_path / "original.csv", index=False)
        file.to_csv(tmp_path / "file.csv", index=False)
        (tmp_path / "policy.yaml").write_text(yaml.safe_dump(requires()))
        asked = ["gate", str(tmp_path / "policy.yaml"), "--dataset", str(tmp_path / "original.csv")]
        asked += ["--release", str(tmp_path / "file.csv"), *more]
        status = await anyio.to_thread.run_sync(lambda: run(asked, ALONE))
        told = capsys.readouterr()
        verdict = await anyio.to_thread.run_sync(lambda: pr.gate(requires(), file, original=original))
        return status, told.out + told.err, verdict

    return called


@pytest.mark.parametrize(
    ("original", "file"),
    [
        (UNIQUE, pd.concat([UNIQUE] * 11)),
        pytest.param(PEOPLE, PEOPLE.assign(sex="f"), marks=pytest.mark.deep),
        pytest.param(PEOPLE, LAST_YEAR.iloc[::-1], marks=pytest.mark.deep),
    ],
    ids=["120 unique records 11 times", "one sex throughout", "last year's"],
)
async def test_at_the_command_and_in_python_such_a_file_fails(doors, original, file):
    status, told, verdict = await doors(original, file)
    assert status == 1
    assert "not of dataset: The dataset cannot have produced the file" in told
    assert verdict.outcome == "fail"
    assert "cannot have produced the file" in str(verdict)


async def test_at_the_command_and_in_python_it_is_told_what_rows_stand_for(doors):
    status, told, verdict = await doors(PEOPLE, PEOPLE.iloc[15:].iloc[::-1])
    said = "345 rows of the file stand for as many of 360 records; 15 records are suppressed, 15 of them"
    assert (status, verdict.outcome) == (0, "pass")
    assert said in told
    assert said in str(verdict)


async def test_at_the_command_another_order_than_asked_ends_with_2(doors):
    status, told, _ = await doors(PEOPLE, PEOPLE.iloc[::-1], "--order", "records")
    assert status == 2
    assert "not those of the dataset in their order" in told


async def test_without_an_original_nothing_is_judged(doors, tmp_path, capsys):
    await doors(PEOPLE, PEOPLE)
    asked = ["gate", str(tmp_path / "policy.yaml"), "--release", str(tmp_path / "file.csv")]
    assert await anyio.to_thread.run_sync(lambda: run(asked, ALONE)) == 2
    assert "ERROR" in capsys.readouterr().out
    with pytest.raises(pr.WrongType, match="original"):
        await anyio.to_thread.run_sync(lambda: pr.gate(requires(), PEOPLE))


async def test_a_plan_counts_the_pairs_that_have_to_be_matched(people: httpx.AsyncClient):
    await made(people, "policies", requires())
    drawn = random.Random(4)
    holes = PEOPLE.map(lambda cell: "*" if drawn.random() < 0.5 else cell)
    seconds = []
    for name, file in (("whole", PEOPLE), ("holes", holes)):
        await sent(people, name, file)
        body = {"dataset": "people", "release": {"upload": name}}
        answer = await people.post("/v1/gates/eleven/evaluations/plans", json=body)
        seconds.append(answer.json()["seconds"])
    # Of all eight ways to hide some of three columns one is more than the least that rows can have.
    different = len(PEOPLE.drop_duplicates())
    assert seconds[1] - seconds[0] == pytest.approx(7 * different * 1e-6, rel=0.3)


async def test_the_report_for_people_says_that_the_file_is_not_of_the_dataset(people: httpx.AsyncClient):
    await made(people, "policies", requires())
    await sent(people, "file", raised(LAST_YEAR))
    body = {"name": "e", "dataset": "people", "release": {"upload": "file"}}
    assert (await people.post("/v1/gates/eleven/evaluations", json=body)).json()["result"][
        "verdict"
    ] == "fail"
    page = (await people.get("/v1/evaluations/e/report")).text
    assert "The dataset cannot have produced the rows of the release file: do not release it." in page
    assert "rows of the release file are of no record" in page
