"""Release files that hold more than their cells show: what a verdict has not looked at does not leave."""

from __future__ import annotations

import io

import httpx
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest

from app.services.gates.policies import template
from app.services.gates.policy_documents import document_of_policy
from tests.api.problem_documents import problem_of
from tests.api.tables import made

pytestmark = pytest.mark.anyio


def hiding() -> dict[str, tuple[str, bytes]]:
    """Files of the table ``sex``, ``zip`` that hold a name which none of their cells shows."""
    sexes, zips = pa.array(["f"] * 10), pa.array(["7"] * 10)
    plain = pa.table({"sex": sexes, "zip": zips})
    names = pa.array(["f", "Jane Doe"])
    unused = pa.DictionaryArray.from_arrays(pa.array([0] * 10, pa.int32()), names)
    below = pa.array(["Jane Doe"] * 10)
    emptied = pa.StringArray.from_buffers(10, *below.buffers()[1:], pa.py_buffer(b"\0\0"), 10)
    tables = {
        "metadata": plain.replace_schema_metadata({"patient": "Jane Doe"}),
        "values of no row": pa.table({"sex": unused, "zip": zips}),
        "values below empty cells": pa.table({"sex": emptied, "zip": zips}),
        "nothing": plain,
    }
    found = {}
    for name, table in tables.items():
        parquet, arrow = io.BytesIO(), io.BytesIO()
        pyarrow.parquet.write_table(table, parquet)
        with pyarrow.ipc.new_stream(arrow, table.schema) as stream:
            stream.write_table(table)
        found[f"parquet with {name}"] = ("parquet", parquet.getvalue())
        found[f"arrow with {name}"] = ("arrow", arrow.getvalue())
    return found


@pytest.mark.deep
@pytest.mark.parametrize("hidden", hiding())
async def test_a_file_that_may_hold_more_than_its_cells_show_is_no_release(
    client: httpx.AsyncClient, hidden: str
):
    format_, content = hiding()[hidden]
    table = "sex,zip\n" + "f,7\n" * 10
    for name, body, own in (("seen", table.encode(), "csv"), ("binary", content, format_)):
        path = f"/v1/uploads?name={name}&format={own}"
        headers = {"Content-Type": "application/octet-stream"}
        answer = await client.post(path, content=body, headers=headers)
        assert answer.status_code == 201, answer.text
    roles = {"sex": "quasi_identifier", "zip": "quasi_identifier"}
    declared = [{"name": own, "type": "categorical", "role": role} for own, role in roles.items()]
    await made(client, "datasets", {"name": "seen", "upload": "seen", "attributes": declared})
    policy = document_of_policy(template("internal-analytics").policy)
    model = {"kind": "privacy_model", "model": {"kind": "k_anonymity", "k": 3}}
    criterion = {"id": "threes", "title": "Threes", "reason": "For the test.", "requirement": model}
    more = {"name": "seen", "schema": {"attributes": roles}, "dictionaries": [], "requirements": [criterion]}
    await made(client, "policies", policy | more)
    verdicts = {}
    for upload in ("seen", "binary"):
        body = {"name": upload, "dataset": "seen", "release": {"upload": upload}}
        verdicts[upload] = await client.post("/v1/gates/seen/evaluations", json=body)
    assert verdicts["seen"].json()["result"]["verdict"] == "pass"
    problem = problem_of(verdicts["binary"], 422, "invalid-input")
    assert problem["errors"][0]["code"] == "not-read-as-written"
