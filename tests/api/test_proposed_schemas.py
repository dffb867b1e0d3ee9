"""A hospital's export over HTTP: what is proposed for it can be declared as it stands."""

from __future__ import annotations

import httpx
import pytest

from app.samples.patients import STRAY_BIRTH_DATE, csv_of_patients

pytestmark = pytest.mark.anyio

CSV = {"Content-Type": "text/csv"}
PATIENTS = csv_of_patients(300)
QUERY = "delimiter=%3B&encoding=latin-1"
DECLARED = ("name", "type", "role", "format", "on_unreadable")


@pytest.mark.deep
async def test_the_proposal_of_an_export_is_right_and_can_be_declared(client: httpx.AsyncClient):
    uploaded = await client.post(f"/v1/uploads?name=patients&{QUERY}", content=PATIENTS, headers=CSV)
    assert uploaded.status_code == 201, uploaded.text
    assert uploaded.json()["notes"] == []
    proposal = (await client.get("/v1/uploads/patients/proposal")).json()
    found = {own["name"]: own for own in proposal["attributes"]}
    assert {name: own["role"] for name, own in found.items() if own["role"] != "other"} == {
        "Geburtsdatum": "quasi_identifier", "Geschlecht": "quasi_identifier", "PLZ": "quasi_identifier",
        "Wohnort": "quasi_identifier", "Aufnahmedatum": "quasi_identifier", "Hauptdiagnose": "sensitive",
        "Krankenkasse": "quasi_identifier", "Kosten": "sensitive",
    }  # fmt: skip
    born = found["Geburtsdatum"]
    assert (born["type"], born["format"], born["on_unreadable"]) == ("date", "dd.mm.yyyy", "missing")
    assert born["unreadable_shapes"] == ["99.99.9999"]
    assert found["Kosten"]["format"] == "1234,56"

    attributes = [{key: own[key] for key in DECLARED if own[key] is not None} for own in found.values()]
    for place, own in enumerate(found.values()):
        if own["hierarchy"] is not None:
            made = {"name": f"patients-{place}", "definition": own["hierarchy"]}
            hierarchy = await client.post("/v1/hierarchies", json=made)
            assert hierarchy.status_code == 201, (own["name"], hierarchy.text)
            attributes[place]["hierarchy"] = made["name"]
    kinds = {name: (own["hierarchy"] or {}).get("kind") for name, own in found.items()}
    assert (kinds["Geburtsdatum"], kinds["PLZ"]) == ("dates", "postcodes")
    body = {"name": "patients", "upload": "patients", "attributes": attributes}
    dataset = await client.post("/v1/datasets", json=body)
    assert dataset.status_code == 201, dataset.text
    assert dataset.json()["status"] == "ready", dataset.text
    summary = {own["name"]: own for own in dataset.json()["attributes"]}
    assert summary["Geburtsdatum"]["unreadable"] == len(born["unreadable_rows"])
    assert STRAY_BIRTH_DATE not in dataset.text + str(proposal)
    profile = (await client.get("/v1/datasets/patients/profile")).json()
    dates = next(own["frequent"] for own in profile["attributes"] if own["name"] == "Aufnahmedatum")
    assert all(own["value"][4] == own["value"][7] == "-" for own in dates)


async def test_a_stray_cell_is_refused_unless_it_is_declared_what_becomes_of_it(client: httpx.AsyncClient):
    await client.post(f"/v1/uploads?name=strays&{QUERY}", content=PATIENTS, headers=CSV)
    born = {"name": "Geburtsdatum", "type": "date", "role": "quasi_identifier", "format": "dd.mm.yyyy"}
    body = {"name": "strays", "upload": "strays", "attributes": [born]}
    refused = await client.post("/v1/datasets", json=body)
    assert refused.status_code == 422
    (error,) = refused.json()["errors"]
    assert (error["pointer"], error["code"]) == ("/attributes/0", "not-a-date")
    assert "dd.mm.yyyy" in error["message"]
    assert STRAY_BIRTH_DATE not in refused.text
    mapped = born | {"map": {STRAY_BIRTH_DATE: "1975-02-28"}}
    assert (await client.post("/v1/datasets", json=body | {"attributes": [mapped]})).status_code == 201
    unknown = await client.post("/v1/datasets", json=body | {"attributes": [born | {"format": "yy"}]})
    assert unknown.status_code == 422
    assert unknown.json()["errors"][0]["pointer"] == "/attributes/0/format"


async def test_the_wrong_delimiter_is_told(client: httpx.AsyncClient):
    refused = await client.post("/v1/uploads?name=wrong&encoding=latin-1", content=PATIENTS, headers=CSV)
    assert refused.status_code == 422
    assert "its name holds a semicolon 11 times" in refused.json()["errors"][0]["message"]
    single = await client.post("/v1/uploads?name=single", content="a;b\n1;2\n", headers=CSV)
    assert "the delimiter is probably a semicolon" in single.json()["notes"][0]
