"""k people, not k rows: tables in which people have several rows, through every entry.

What is released is recounted here: each class of a release is all rows of the table that have its values
under the rule's levels, and the persons of these are counted by the table's own column.
"""

from __future__ import annotations

import io
from contextlib import contextmanager
from dataclasses import dataclass

import anyio
import pandas as pd
import pytest
import yaml

import privacy_risk as pr
from app.cli import anonymise, gate, gate_service, profile
from app.cli.program import run
from privacy_risk import anonymisation, gating, profiles
from tests.api.blocking import Blocking

pytestmark = pytest.mark.anyio

K = 5
QUASI_IDENTIFIERS = ["region", "sex"]
SENSITIVE = ["dx"]


def table_of(rows_of_person: list[int], regions: int) -> pd.DataFrame:
    """Person p has so many rows, all of one region and sex, with diagnoses that differ."""
    rows = [
        {"pid": f"p{p:03}", "region": f"R{p % regions}", "sex": "fm"[p // regions % 2], "dx": f"d{visit % 4}"}
        for p, n_rows in enumerate(rows_of_person)
        for visit in range(n_rows)
    ]
    return pd.DataFrame(rows)


@dataclass(frozen=True)
class Case:
    """A table, the column of its persons, and whether that column is in what is given to the entries."""

    table: pd.DataFrame
    names_persons: bool = True

    @property
    def given(self) -> pd.DataFrame:
        return self.table if self.names_persons else self.table.drop(columns="pid")

    def persons(self, released: pd.DataFrame, levels: dict[str, int]) -> list[int]:
        """Persons of each class of a release, smallest first."""
        assert len(released)
        shown = self.table.copy()
        for name in QUASI_IDENTIFIERS:
            if levels[name]:
                shown[name] = "*"
        found = []
        for key, rows in shown.groupby(QUASI_IDENTIFIERS):
            is_in = (released[QUASI_IDENTIFIERS] == list(key)).all(axis=1)
            assert is_in.sum() in (0, len(rows)), "a class leaves as a whole or not at all"
            if is_in.any():
                assert sorted(released[is_in]["dx"]) == sorted(rows["dx"])
                found.append(rows["pid"].nunique())
        return sorted(found)


ONCE = [
    {"pid": f"p{p:03}", "region": f"R{p % 15}", "sex": "fm"[p // 15], "dx": f"d{p % 4}"} for p in range(30)
]
CASES = {
    "several rows": Case(table_of([6] * 20, 6)),
    "whole rows 11 times": Case(pd.DataFrame(ONCE * 11)),
    "whole rows 11 times, unnamed": Case(pd.DataFrame(ONCE * 11), names_persons=False),
    "skewed visits": Case(table_of([40, 25, 12, 9, 7, 6, *([5] * 18)], 6)),
}
NAMED = {name: case for name, case in CASES.items() if case.names_persons}
DAILY = ("several rows", "whole rows 11 times, unnamed")


def tried(cases):
    """The cases, of which some are tried with the deep tests only."""
    return [name if name in DAILY else pytest.param(name, marks=pytest.mark.deep) for name in cases]


@pytest.fixture(params=tried(CASES))
def case(request) -> Case:
    return CASES[request.param]


@pytest.fixture(params=tried(NAMED))
def named(request) -> Case:
    return NAMED[request.param]


@pytest.fixture
async def service(api, monkeypatch):
    """Functions and commands find the application as their service; calls one in a thread."""
    client = pr.Client("http://service", (await api.tenant_with_key())[1], transport=Blocking(api))

    @contextmanager
    def service_client(server, operations):
        yield client

    for command in (anonymise, profile):
        monkeypatch.setattr(command, "is_small", lambda _: False)
    for command in (gate, gate_service):
        monkeypatch.setattr(command, "service_client", service_client)
    for module in (profiles, anonymisation, gating):
        monkeypatch.setattr(module, "client_of", lambda server, key: client)

    async def called(function, *arguments, **named):
        return await anyio.to_thread.run_sync(lambda: function(*arguments, **named))

    return called


async def stored(client, case: Case, **said) -> dict:
    """The dataset of the table over HTTP, with a person column if none is said."""
    sent = await client.post(
        "/v1/uploads", params={"name": "visits"}, content=case.given.to_csv(index=False).encode()
    )
    assert sent.status_code == 201, sent.text
    roles = dict.fromkeys(QUASI_IDENTIFIERS, "quasi_identifier") | dict.fromkeys(SENSITIVE, "sensitive")
    columns = [{"name": name, "type": "categorical", "role": role} for name, role in roles.items()]
    if not said and case.names_persons:
        columns.append({"name": "pid", "type": "text", "role": "person"})
    made = await client.post(
        "/v1/datasets", json={"name": "visits", "upload": "visits", "attributes": columns, **said}
    )
    assert made.status_code == 201, made.text
    return made.json()


@pytest.mark.parametrize("name", CASES)
def test_each_table_has_k_rows_and_not_k_persons_in_every_class(name):
    by_class = CASES[name].table.groupby(QUASI_IDENTIFIERS)
    assert by_class.size().min() >= K > by_class["pid"].nunique().min()


async def test_the_function_refuses_where_nobody_said_what_a_row_is(service, case):
    with pytest.raises(pr.InvalidArgument, match="One person seems to have several rows") as raised:
        await service(pr.anonymise, case.given, k=K, quasi_identifiers=QUASI_IDENTIFIERS, sensitive=SENSITIVE)
    assert raised.value.argument == "person"
    assert ("person='pid'" in raised.value.remedy) == case.names_persons
    told = await service(pr.profile, case.given, quasi_identifiers=QUASI_IDENTIFIERS)
    assert told.notes[0].startswith("One person seems to have several rows")
    assert str(told).startswith(told.notes[0])
    assert not case.names_persons or f"{case.table['pid'].nunique()} persons" in told.notes[0]


async def test_the_function_releases_classes_of_k_persons(service, named):
    asked = {"k": K, "max_suppressed": 0.6, "quasi_identifiers": QUASI_IDENTIFIERS, "sensitive": SENSITIVE}
    release = await service(pr.anonymise, named.given, **asked, person="pid")
    assert list(release.frame.columns) == [*QUASI_IDENTIFIERS, *SENSITIVE]
    shown = release.frame[(release.frame["dx"] != "*")]
    persons = named.persons(shown, release.rule["levels"])
    assert persons[0] == release.report.k >= K
    n_persons = named.table["pid"].nunique()
    assert (release.report.persons, release.report.persons_suppressed) == (
        n_persons,
        n_persons - sum(persons),
    )
    assert str(release).startswith(f"Persons are counted, by the column pid: {n_persons:,} have ")
    assert release.policy["schema"]["attributes"]["pid"] == "person"
    said = await service(pr.anonymise, named.given, **asked, rows_are="persons")
    assert said.policy["schema"]["rows_are"] == "persons"
    assert said.notes[0] == "Each row counts as one person, as was said."
    assert set(said.rule["levels"].values()) == {0}  # as it was by rows


async def test_the_command_refuses_and_releases_likewise(service, case, tmp_path, capsys):
    table, output, policy = (tmp_path / own for own in ("visits.csv", "release.csv", "policy.yaml"))
    case.given.to_csv(table, index=False)
    columns = ["--quasi-identifiers", *QUASI_IDENTIFIERS, "--sensitive", *SENSITIVE]
    criteria = ["--k", str(K), "--max-suppressed", "0.6", *columns, "-o", str(output)]
    asked = ["anonymise", str(table), *criteria, "--save-policy", str(policy)]
    assert await service(run, asked, None) == 1
    told = capsys.readouterr().err
    assert "One person seems to have several rows" in told
    assert ("--person pid" if case.names_persons else "--person COLUMN") in told
    assert "--rows-are persons" in told
    assert not output.exists()
    assert not policy.exists()
    assert await service(run, ["profile", str(table), *columns], None) == 0
    assert capsys.readouterr().out.startswith("One person seems to have several rows")
    assert await service(run, ["profile", str(table), *columns, "--rows-are", "persons"], None) == 0
    assert capsys.readouterr().out.startswith("Each row counts as one person, as was said.")
    if not case.names_persons:
        return
    assert await service(run, [*asked, "--person", "pid"], None) == 0
    n_persons = case.table["pid"].nunique()
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first == f"Persons are counted, by the column pid: {n_persons} have {len(case.table):,} rows."
    assert f"records of {n_persons} persons in" in second
    released = pd.read_csv(output)
    shown = released[released["dx"] != "*"]
    levels = {name: int((shown[name] == "*").all()) for name in QUASI_IDENTIFIERS}
    assert case.persons(shown, levels)[0] >= K
    written = yaml.safe_load(policy.read_text())
    assert written["schema"]["attributes"]["pid"] == "person"
    assert written["title"] == f"Release with at least {K} persons in every class"


async def test_a_description_says_what_a_row_is(service, named, tmp_path, capsys):
    table, tables = tmp_path / "visits.csv", tmp_path / "visits.toml"
    named.given.to_csv(table, index=False)
    described = '[dataset]\nname = "visits"\nfile = "visits.csv"\n{}' + "".join(
        f'[dataset.attributes.{name}]\nrole = "{role}"\n'
        for name, role in [("region", "quasi_identifier"), ("sex", "quasi_identifier"), ("dx", "sensitive")]
    )
    asked = ["anonymise", "--tables", str(tables), "--k", str(K), "--max-suppressed", "0.6"]
    asked += ["-o", str(tmp_path / "release.csv")]
    outcomes = {
        "": (1, "One person seems to have several rows"),
        '[dataset.attributes.pid]\nrole = "person"\n': (0, "Persons are counted, by the column pid"),
        'rows_are = "persons"\n': (0, "Each row counts as one person, as was said."),
        'rows_are = "households"\n': (1, "'households' is no rows_are"),
    }
    for said, (status, told) in outcomes.items():
        tables.write_text(described.format(said))
        assert await service(run, asked, None) == status
        shown = capsys.readouterr()
        assert told in (shown.err if status else shown.out.splitlines()[0])
    tables.write_text(described.format(""))
    assert await service(run, [*asked, "--person", "pid"], None) == 1
    assert "Say it there, and leave --person out." in capsys.readouterr().err


async def test_who_is_not_named_is_another_person_only_if_the_description_says_so(
    service, named, tmp_path, capsys
):
    table, tables = tmp_path / "visits.csv", tmp_path / "visits.toml"
    given_ = named.given.astype({"pid": "string"})
    given_.loc[0, "pid"] = pd.NA
    given_.to_csv(table, index=False)
    head = '[dataset]\nname = "visits"\nfile = "visits.csv"\n[dataset.attributes.region]\n'
    asked = ["profile", "--tables", str(tables)]
    persons = given_["pid"].nunique() + 1
    for chosen, status, told in [
        ("", 1, "The person column is empty in 1 of"),
        ('on_missing = "own_person"\n', 0, f"{persons:,} have"),
        ('on_missing = "nobody"\n', 1, "'nobody' is no on_missing"),
    ]:
        tables.write_text(f'{head}[dataset.attributes.pid]\nrole = "person"\n{chosen}')
        assert await service(run, asked, None) == status
        shown = capsys.readouterr()
        assert told in (shown.err if status else shown.out)


async def test_a_rule_over_http_and_its_stored_release_have_k_persons(client, named):
    dataset = await stored(client, named)
    assert dataset["persons"] == named.table["pid"].nunique()
    privacy = [{"kind": "k_anonymity", "k": K}]
    objective = {"kind": "min_loss", "privacy": privacy, "suppression_limit": 0.6}
    body = {"name": "best", "dataset": "visits", "objective": objective}
    begun = await client.post("/v1/optimisations", json=body, headers={"Prefer": "wait=30"})
    assert begun.status_code in (200, 201, 202), begun.text
    found = (await client.get("/v1/optimisations/best")).json()["result"]
    made = await client.post("/v1/releases", json={"name": "out", "dataset": "visits", "rule": "best"})
    assert made.status_code == 201, made.text
    released = pd.read_csv(io.StringIO((await client.get("/v1/releases/out/data?format=csv")).text))
    assert list(released.columns) == [*QUASI_IDENTIFIERS, *SENSITIVE]
    persons = named.persons(released[released["dx"] != "*"], found["rule"]["levels"])
    assert persons[0] == found["smallest_class"] >= K


@pytest.mark.parametrize("is_said", [False, True])
async def test_the_table_as_it_is_has_fewer_persons_than_k(client, named, is_said):
    await stored(client, named, **({"rows_are": "persons"} if is_said else {}))
    body = {"name": "m", "dataset": "visits", "measure": {"kind": "equivalence_classes"}}
    measured = await client.post("/v1/measurements", json=body)
    assert measured.status_code == 201, measured.text
    by_class = named.table.groupby(QUASI_IDENTIFIERS)
    expected = by_class.size() if is_said else by_class["pid"].nunique()
    assert measured.json()["result"]["k"] == expected.min()


async def test_a_table_cannot_have_both_a_person_column_and_rows_that_are_persons(service, named):
    with pytest.raises(pr.ProblemError, match="says that each is a person"):
        await service(
            pr.anonymise, named.given, k=K, quasi_identifiers=["sex"], person="pid", rows_are="persons"
        )


async def test_one_row_per_person_is_taken_as_said(service, named):
    asked = {"k": 2, "max_suppressed": 0.6, "quasi_identifiers": QUASI_IDENTIFIERS, "sensitive": SENSITIVE}
    release = await service(pr.anonymise, named.given, **asked, one_row_per_person="pid")
    assert release.notes[0] == "Each row counts as one person, as was said."
    assert release.report.records == named.table["pid"].nunique()
    assert release.policy["schema"]["rows_are"] == "persons"


@pytest.mark.parametrize(
    ("said", "in_schema"),
    [
        ({"person": "pid"}, {}),
        ({}, {"attributes": {"pid": "person"}}),
        ({"rows_are": "persons"}, {}),
        ({}, {"rows_are": "persons"}),
    ],
)
def test_a_gate_has_the_original_say_what_a_row_is(monkeypatch, said, in_schema):
    table = CASES["skewed visits"].table
    roles = dict.fromkeys(QUASI_IDENTIFIERS, "quasi_identifier") | {"dx": "sensitive"}
    schema = {**in_schema, "attributes": {"pid": "dropped", **roles, **in_schema.get("attributes", {})}}
    asked = []
    monkeypatch.setattr(gating, "client_of", lambda server, key: None)
    monkeypatch.setattr(gating, "judged", lambda *own: asked.append(own[-1]))
    pr.gate({"name": "p", "version": 1, "schema": schema}, table, original=table, **said)
    (own,) = asked
    is_named = "person" in said or "attributes" in in_schema
    assert own.by_column(table.columns)["pid"] == ("person" if is_named else "other")
    assert own.rows_are == (None if is_named else "persons")
