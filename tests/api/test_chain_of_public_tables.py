"""Public tables from the file to the verdict: the policy that is saved with a release is all a gate needs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import yaml

from app.services.datasets.ingest.dialect import UploadLimits
from app.services.questions import DirectBudget
from tests.api.service import build_api

DATA = os.environ.get("PRIVACY_RISK_DATA")
pytestmark = [
    pytest.mark.anyio,
    pytest.mark.real_data,
    pytest.mark.deep,
    pytest.mark.skipif(not DATA, reason="PRIVACY_RISK_DATA does not point at the public data sets"),
]
FOLDER = Path(DATA or "")
ROWS = 3_000
TABLES = {
    "arx-adult/adult.csv": (("sex", "age", "race", "education"), "occupation", ()),
    "cps-wages/cpssw8.csv": (("gender", "age", "region", "education"), "earnings", ()),
    "creditcard-int/creditcard_int.csv": (
        ("LIMIT_BAL", "SEX", "EDUCATION", "AGE"),
        "default-payment-next-month",
        (),
    ),
    "eusilc-synthetic/eusilc.csv": (("db040", "hsize", "age", "rb090"), "eqIncome", ()),
    "gss-wages/gss_wages.csv": (("age", "gender", "educcat", "maritalcat"), "realrinc", ()),
    "hospital-small/hospital_extended.csv": (("age", "gender", "city"), "disease", ()),
    "network-lazega-lawyers/people.csv": (("status", "gender", "office", "age"), "practice", ()),
    "nist-acs-ma/ma2018.csv": (("AGEP", "SEX", "MSP", "RAC1P", "EDU"), "PINCP", ()),
    "pums-sample/PUMS.csv": (("age", "sex", "educ", "race"), "income", ()),
    "synthpop-sd2011/sd2011.csv": (
        ("sex", "age", "region", "edu", "marital", "unempdur"),
        "income",
        ("--missing-marker", "", "-8"),
    ),
}


@pytest.fixture
def api(store, registry, clock):
    """Without a worker: nothing becomes a run that nobody does."""
    return build_api(store, registry, clock, UploadLimits(), budget=DirectBudget(seconds=1e6))


@pytest.mark.parametrize("file", TABLES)
async def test_the_chain_holds_with_nothing_named_but_the_reason(console, tmp_path, capsys, file):
    known, sensitive, read = TABLES[file]
    table, release, policy = (tmp_path / own for own in ("t.csv", "r.csv", "p.yaml"))
    lines = (FOLDER / file).read_text(encoding="utf-8").splitlines()
    table.write_text("\n".join((*lines[: ROWS + 1], "")), encoding="utf-8")
    columns = ("--quasi-identifiers", *known, "--sensitive", sensitive, "--rows-are", "persons", *read)
    asked = ("--k", "5", "--max-suppressed", "0.1", "-o", release, "--save-policy", policy)
    assert await console("anonymise", table, *columns, *asked) == 0, capsys.readouterr().err
    assert {*yaml.safe_load(policy.read_text())["schema"]["columns"]} == {*known, sensitive}
    gate = ("gate", policy, "--dataset", table, "--release", release, "--format", "json")
    capsys.readouterr()
    # Amounts leave in bands, which single nobody out: no reason is asked for.
    is_banded = "not_covered" not in yaml.safe_load(policy.read_text())
    assert await console(*gate) == (0 if is_banded else 2)
    verdict = json.loads(capsys.readouterr().out)["result"]
    assert verdict["coverage"]["outcome"] == ("covered" if is_banded else "missing_reason")
    assert not verdict["coverage"]["uncovered"]
    assert {own["outcome"] for own in verdict["criteria"]} == {"passed"}
    reason = ("--reason", f"{sensitive}=Nobody but the person knows it.")
    assert await console("anonymise", table, *columns, *asked, *reason) == 0
    assert await console(*gate) == 0, capsys.readouterr()
