"""The same question has one answer on the pages, in Python and by the command, and its policy goes along."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import httpx
import pandas as pd
import pytest
import yaml

import privacy_risk as pr
from app.cli.program import run
from app.samples.patients import csv_of_patients
from privacy_risk import anonymisation
from tests.ui.conftest import Served
from tests.ui.forms import declared, filled_in, followed, sent, signed_in, text_of, token_in, worked_off

RECORDS = 5_000
SENSITIVE = ("Hauptdiagnose", "Kosten")
ASSUMED = "whoever knows somebody knows no other sensitive value"


def by_pages(served: Served, browser: httpx.Client, content: bytes) -> tuple[str, dict[str, str]]:
    """Where the release's page is, and the fields that asked for it."""
    sent(browser, content)
    made = browser.post("/uploads/patients", data=declared(browser.get("/uploads/patients")))
    assert made.headers["location"] == "/datasets/patients/profile"
    goal = "/datasets/patients/goal"
    fields = filled_in(browser.get(goal)) | {"template": "l", "k": "5", "suppressed": "5", "l/Kosten": ""}
    return (
        f"{followed(served, browser, browser.post(goal, data=fields))}?alternative=one_level_per_column",
        fields,
    )


def by_command(server: str, key: str, monkeypatch: pytest.MonkeyPatch, *asked: object) -> int:
    monkeypatch.setenv("PRIVACY_RISK_API_KEY", key)
    return run([*map(str, asked), "--server", server], None)


def test_the_hospitals_export_is_released_alike_by_three_doors(
    served: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    content = csv_of_patients(RECORDS)
    table, release, policy = (tmp_path / own for own in ("patients.csv", "release.csv", "policy.yaml"))
    table.write_bytes(content)
    key = served.new_token()
    with httpx.Client(base_url=served.url, headers={"Accept": "text/html"}, timeout=60) as browser:
        signed_in(browser, key)
        place, fields = by_pages(served, browser, content)
        assert fields["others"] == "apart"
        shown = browser.get(place)
        assert ASSUMED in text_of(shown)
        mixed = text_of(browser.get(place.replace("one_level_per_column", "levels_per_record")))
        assert re.search(r"Kosten is shown so: level \d, such as ", mixed)
        browser.post(place, data={"form_token": token_in(shown)})
        name = place.split("/")[2]
        released = browser.get("/releases/patients-one-level-per-column/data").content
        reasons = {f"reason/{own}": "Nobody outside the ward knows it." for own in SENSITIVE}
        saved = browser.post(
            place.replace("/release", "/policy"), data={"form_token": token_in(shown), **reasons}
        )
        at = saved.headers["location"].partition("?")[0]
        policy.write_bytes(browser.get(f"{at}/document").content)
    with httpx.Client(base_url=served.url, headers={"Authorization": f"Bearer {key}"}, timeout=60) as api:
        found = api.get(f"/v1/optimisations/{name}").json()
    result = next(one for one in found["result"]["alternatives"] if one["id"] == "one_level_per_column")
    asked = ("--k", "5", "--l", "Hauptdiagnose=3", "--max-suppressed", "0.05", "-o", release, "--json")
    with worked_off(served, served.new_token()) as own_key:
        assert by_command(served.url, own_key, monkeypatch, "anonymise", table, *asked) == 0
    answer = json.loads(capsys.readouterr().out)
    frame = pd.read_csv(io.BytesIO(content), sep=";", encoding="latin-1", dtype=str, keep_default_na=False)
    with worked_off(served, served.new_token()) as own_key, pr.Client(served.url, own_key) as client:
        monkeypatch.setattr(anonymisation, "client_of", lambda server, key: client)
        python = pr.anonymise(frame, k=5, l={"Hauptdiagnose": 3}, max_suppressed=0.05)
    expected = (result["loss"], result["suppressed_records"], result["rule"]["levels"])
    assert (answer["loss"], answer["suppressed"], answer["rule"]["levels"]) == expected
    assert (python.report.loss, python.report.suppressed, python.rule["levels"]) == expected
    for notes in (answer["notes"], python.notes):
        assert any(ASSUMED in own for own in notes)
    models = [own["requirement"]["model"] for own in python.policy["requirements"]]
    assert [own["others"] for own in models if "l" in own] == ["apart"]
    schema, own = yaml.safe_load(policy.read_text())["schema"], python.policy["schema"]
    assert (schema["attributes"], schema["file"]) == (
        own["attributes"],
        {"delimiter": ";", "encoding": "iso8859-1"},
    )
    for column, reading in own["columns"].items():
        assert reading.items() <= schema["columns"][column].items()
    # On a machine that has nothing else the page's policy judges the release of the table.
    release.write_bytes(released)
    gate = ("gate", policy, "--dataset", table, "--release", release)
    judged = subprocess.run(
        [sys.executable, "-m", "app", *map(str, gate)], capture_output=True, text=True, timeout=280
    )
    assert (judged.returncode, judged.stdout[:5]) == (0, "PASS "), judged.stdout + judged.stderr
