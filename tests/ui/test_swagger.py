"""Swagger UI in a real browser: whole, from this server alone, and working."""

from __future__ import annotations

import io
import json
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Browser, Page, expect

from app.api.examples.files import UPLOAD_BODY
from app.api.openapi import ESSENTIALS
from app.services.datasets.ingest.dialect import MEDIA_TYPES, UploadFormat
from tests.api.operations import DOCUMENT
from tests.ui.conftest import MILLISECONDS, Served, Shots, Watched, new_context
from tests.unit.services.workbooks import workbook

ANSWER = ".live-responses-table tbody .response-col_status"


@pytest.fixture
def watched(browser: Browser, served: Served) -> Watched:
    page = browser.new_page(viewport={"width": 1280, "height": 1600})
    page.set_default_timeout(MILLISECONDS)
    watched = Watched(page, served)
    page.goto(f"{served.url}/docs?all")
    expect(page.locator(".opblock-tag").last).to_be_visible()
    yield watched
    page.close()


def authorize(page: Page, token: str) -> None:
    page.get_by_role("button", name="Authorize").first.click()
    schemes = page.locator(".auth-container")
    expect(schemes.locator("h4")).to_contain_text(["api_key", "identity_token"])
    key = schemes.first
    key.locator("input").fill(token)
    key.locator(".authorize").click()
    key.locator(".btn-done").click()


def unfold(page: Page, section: str) -> None:
    page.locator(f".opblock-tag[data-tag='{section}']").click()


def opened(page: Page, operation: str) -> object:
    block = page.locator(f"[id$='-{operation}']")
    block.locator(".opblock-summary-control").click()
    expect(block.locator(".opblock-body")).to_be_visible()
    return block


def sent(block: Any) -> dict[str, str]:
    """Press Execute, and wait for the answer to that: its status, and the name of what was made."""
    with block.page.expect_response(lambda answer: "/v1/" in answer.url) as caught:
        block.locator(".execute").click()
    answer = caught.value
    return {"status": str(answer.status), "name": answer.json().get("name", answer.text())}


def parquet() -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table({"id": ["p-1"], "city": ["Gary"]}), sink)
    return sink.getvalue()


def test_the_page_is_whole_without_errors_and_asks_no_other_server(watched: Watched, shots: Shots):
    sections = watched.page.locator(".opblock-tag").all_inner_texts()
    assert sections[0].startswith("example data")
    assert any(section.startswith("clean up") for section in sections)
    shots.take(watched.page, "swagger", full=False)
    assert watched.complaints == []
    assert watched.foreign == []


def test_operations_stand_in_the_order_of_the_journey(watched: Watched):
    unfold(watched.page, "clean up")
    section = watched.page.locator(".opblock-tag-section", has=watched.page.locator("[data-tag='clean up']"))
    expect(section.locator(".opblock-summary-path").first).to_be_visible()
    paths = section.locator(".opblock-summary-path").evaluate_all("all => all.map(one => one.dataset.path)")
    kinds = ["releases", "optimisations", "assessments", "rules", "datasets", "uploads", "hierarchies"]
    places = [paths.index(f"/v1/{kind}/{{ref}}") for kind in kinds]
    assert places == sorted(places)
    assert places[-1] == len(paths) - 1


def test_the_page_begins_with_the_essentials(watched: Watched, served: Served, shots: Shots):
    page = watched.page
    page.goto(f"{served.url}/docs")
    operations = page.locator(".opblock")
    expect(operations.first).to_be_visible()
    expect(operations).to_have_count(len(ESSENTIALS))
    expect(page.get_by_role("link", name=f"Essentials ({len(ESSENTIALS)})")).to_have_attribute(
        "aria-current", "page"
    )
    shots.take(page, "swagger-essentials", full=False)
    page.get_by_role("link", name="All operations").click()
    expect(page.locator(".opblock-tag[data-tag='clean up']")).to_be_visible()
    page.locator(".operation-filter-input").fill("waiver")
    expect(page.locator(".opblock-tag[data-tag='hierarchies']")).to_have_count(0)
    expect(page.locator(".opblock-tag[data-tag='waivers']")).to_be_visible()
    assert watched.complaints == []
    assert watched.foreign == []


def test_the_essentials_run_from_the_top_to_the_bottom_with_one_click_each(
    watched: Watched, served: Served, shots: Shots
):
    """As they stand, in the order of the page: each uses what the ones before it made."""
    page = watched.page
    page.goto(f"{served.url}/docs")
    token = served.new_token()
    authorize(page, token)
    blocks = page.locator(".opblock")
    expect(blocks).to_have_count(len(ESSENTIALS))
    order = [name.rpartition("-")[2] for name in blocks.evaluate_all("all => all.map(one => one.id)")]
    assert set(order) == ESSENTIALS
    answers = {}
    for operation in order:
        block = opened(page, operation)
        with page.expect_response(lambda answer: "/v1/" in answer.url) as caught:
            block.locator(".execute").click()
        answer = caught.value
        answers[operation] = (answer.status, answer.text())
        if answer.status == 202:  # its run; here no worker but the test does it
            served.do(served.api.work_off(answer.json()["id"]))
        block.locator(".opblock-summary-control").click()
    assert {operation: own for operation, own in answers.items() if own[0] not in (200, 201, 202)} == {}
    table = answers["get_release_data"][1].splitlines()
    assert table[0] == "city,race,birth_date,income"
    assert len(table) == 13
    assert json.loads(answers["evaluate_gate"][1])["result"]["verdict"] == "fail"
    shots.take(page, "swagger-essentials-run", full=False)
    assert watched.complaints == []
    assert watched.foreign == []


def test_the_page_loads_a_section_when_it_is_unfolded_and_stays_small(browser: Browser, served: Served):
    page = new_context(browser).new_page()
    loaded: list[str] = []
    page.on("response", lambda answer: loaded.append(urlsplit(answer.url).path))
    page.goto(f"{served.url}/docs")
    expect(page.locator(".opblock")).to_have_count(len(ESSENTIALS))
    assert [path for path in loaded if path.endswith(".json")] == ["/docs/operations.json"]
    expect(opened(page, "create_measurement").locator(".execute")).to_be_visible()
    assert [path for path in loaded if path.startswith("/docs/groups/")] == ["/docs/groups/measurements.json"]
    metrics = page.context.new_cdp_session(page)
    metrics.send("Performance.enable")
    metrics.send("HeapProfiler.collectGarbage")
    heap = {own["name"]: own["value"] for own in metrics.send("Performance.getMetrics")["metrics"]}
    assert heap["JSHeapUsedSize"] < 150_000_000
    page.context.close()


def test_a_link_to_an_operation_finds_it(watched: Watched, served: Served):
    page = watched.page
    page.goto(f"{served.url}/docs#/waivers/create_waiver")
    expect(page.locator("[id$='-create_waiver'] .opblock-body")).to_be_visible()
    # Swagger UI complains of its own way to link to sections whose names have a blank.
    assert [said for said in watched.complaints if not said.startswith("Deprecated: ")] == []


def test_try_it_out_runs_an_example_as_it_stands(watched: Watched, served: Served, shots: Shots):
    page = watched.page
    page.goto(f"{served.url}/docs")
    authorize(page, served.new_token())
    example = opened(page, "create_example_data")
    example.locator(".execute").click()
    expect(example.locator(ANSWER).first).to_contain_text("201")
    block = opened(page, "create_hierarchy")
    block.locator(".execute").click()
    answer = block.locator(ANSWER).first
    expect(answer).to_contain_text("201")
    shots.take(page, "try-it-out", full=False)
    upload = opened(page, "create_upload")
    upload.locator(".execute").click()
    answer = upload.locator(ANSWER).first
    expect(answer).to_contain_text("201")
    shots.take(page, "upload", full=False)
    assert watched.complaints == []
    assert watched.foreign == []


def test_each_example_of_an_upload_is_sent_under_its_own_name(watched: Watched, served: Served, shots: Shots):
    page = watched.page
    page.goto(f"{served.url}/docs")
    authorize(page, served.new_token())
    upload = opened(page, "create_upload")
    name = upload.locator("tr[data-param-name=name] input")
    for number, key in enumerate(UPLOAD_BODY["requestBody"]["content"]["text/csv"]["examples"]):
        if number:  # the first is chosen already
            upload.locator(".opblock-section-request-body .examples-select-element").select_option(key)
        expect(name).to_have_value(key)
        assert sent(upload) == {"status": "201", "name": key}
    # Whoever chooses the name has that, whatever is chosen as the body.
    upload.locator("tr[data-param-name=name] .examples-select-element").select_option("members")
    expect(name).to_have_value("members")
    shots.take(page, "uploads-in-a-row", full=False)
    assert [said for said in watched.complaints if "409" not in said] == []


@pytest.mark.parametrize("kind", ["parquet", "xlsx"])
def test_a_file_of_another_format_can_be_chosen(watched: Watched, served: Served, kind: str):
    page = watched.page
    page.goto(f"{served.url}/docs")
    authorize(page, served.new_token())
    upload = opened(page, "create_upload")
    upload.locator("select.content-type").first.select_option(MEDIA_TYPES[UploadFormat(kind)])
    name = upload.locator("tr[data-param-name=name] input")
    name.fill(f"by-{kind}")
    content = parquet() if kind == "parquet" else workbook(("id", "city"), ("p-1", "Gary"))
    chooser = upload.locator("input[type=file]")
    chooser.set_input_files({"name": f"t.{kind}", "mimeType": "", "buffer": content})
    assert sent(upload) == {"status": "201", "name": f"by-{kind}"}
    assert watched.complaints == []


def test_answers_but_the_one_hoped_for_take_a_line_each(watched: Watched, served: Served, shots: Shots):
    page = watched.page
    page.goto(f"{served.url}/docs")
    block = opened(page, "create_assessment")
    answers = block.locator(".responses-table tr.response")
    expect(answers.first).to_be_visible()
    documented = DOCUMENT["paths"]["/v1/assessments"]["post"]["responses"]
    assert answers.evaluate_all("all => all.map(one => one.dataset.code)") == sorted(documented)
    examples = block.locator(".responses-table .highlight-code")
    expect(examples).to_have_count(1)
    assert block.bounding_box()["height"] < 2_600
    shots.take(page, "answers-folded", full=False)
    block.get_by_role("button", name="Example of 409").click()
    expect(examples).to_have_count(2)
    expect(block.locator("tr[data-code='409']")).to_contain_text("/problems/conflict")
    assert watched.complaints == []


def test_the_form_offers_a_file_chooser(watched: Watched, served: Served, shots: Shots):
    page = watched.page
    authorize(page, served.new_token())
    unfold(page, "uploads")
    form = opened(page, "create_upload_from_form")
    chooser = form.locator("input[type=file]")
    expect(chooser).to_be_visible()
    chooser.set_input_files({"name": "t.csv", "mimeType": "text/csv", "buffer": b"a,b\n1,2\n"})
    form.locator(".execute").click()
    answer = form.locator(ANSWER).first
    expect(answer).to_contain_text("201")
    shots.take(page, "form", full=False)
    assert watched.complaints == []


def test_the_page_of_a_problem_is_readable(browser: Browser, served: Served, shots: Shots):
    page = browser.new_page()
    watched = Watched(page, served)
    page.goto(f"{served.url}/problems/invalid-input")
    expect(page.get_by_role("heading")).to_be_visible()
    shots.take(page, "problem", full=False)
    page.close()
    assert watched.complaints == []
    assert watched.foreign == []
