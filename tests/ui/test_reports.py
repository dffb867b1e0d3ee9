"""Readable reports in a browser: nothing to complain of, accessible, and on paper whole."""

from __future__ import annotations

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser

from app.reports.page import PAGE_POLICY, render_page
from tests.ui.conftest import Shots
from tests.unit.reports.documents import signed, statement

ADDRESS = "http://reports.test/report"


@pytest.mark.parametrize("kind", ["verdict", "assessment"])
def test_a_report_is_accessible_runs_nothing_and_prints(kind, browser: Browser, shots: Shots):
    page = browser.new_page(viewport={"width": 900, "height": 1200})
    complaints: list[str] = []
    asked: list[str] = []
    page.on("console", lambda said: complaints.append(said.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.route(
        "**/*",
        lambda route: route.fulfill(
            body=render_page(signed(statement(kind))),
            content_type="text/html; charset=utf-8",
            headers={"Content-Security-Policy": PAGE_POLICY},
        ),
    )
    page.goto(ADDRESS)
    shots.take(page, f"report-{kind}")
    found = Axe().run(page).response["violations"]
    shots.write(f"report-{kind}.axe.json", found)
    printed = page.pdf(prefer_css_page_size=True)
    if shots.folder is not None:
        (shots.folder / f"report-{kind}.pdf").write_bytes(printed)
    boxes = re.findall(rb"/MediaBox\s*\[\s*0 0 ([\d.]+) ([\d.]+)\s*\]", printed)
    assert found == []
    assert [address for address in asked if "favicon" not in address] == [ADDRESS]
    assert complaints == []
    assert {(round(float(w)), round(float(h))) for w, h in boxes} == {(595, 842)}, "A4, in points"
    page.close()
