"""From a file to its profile by the pages, as a browser without script does it."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

import httpx
import pytest

from app.samples.patients import csv_of_patients
from tests.ui.conftest import Served
from tests.ui.forms import signed_in, token_in

PATIENTS = csv_of_patients(300)


@pytest.fixture
def browser(served: Served) -> Iterator[httpx.Client]:
    """Signed in with the key of a new tenant."""
    with httpx.Client(base_url=served.url, headers={"Accept": "text/html"}, timeout=60) as client:
        signed_in(client, served.new_token())
        yield client


def sent(
    browser: httpx.Client, content: bytes, file_name: str = "patients.csv", **fields: str
) -> httpx.Response:
    form = {"form_token": token_in(browser.get("/start")), **fields}
    return browser.post("/start", data=form, files={"file": (file_name, content)})


def filled_in(page: httpx.Response) -> dict[str, str]:
    """What a browser would send of a form that nobody has changed."""
    form = page.text.partition('class="declared"')[2]
    fields = dict(re.findall(r'<input[^>]* name="([^"]+)"[^>]* value="([^"]*)"', form))
    for name, options in re.findall(r'<select[^>]* name="([^"]+)"[^>]*>(.*?)</select>', form, re.DOTALL):
        chosen = re.search(r'<option value="([^"]*)" selected', options)
        fields[name] = chosen[1] if chosen else re.search(r'<option value="([^"]*)"', options)[1]
    fields |= dict(re.findall(r'<textarea[^>]* name="([^"]+)"[^>]*>([^<]*)</textarea>', form))
    return {html.unescape(name): html.unescape(value) for name, value in fields.items()}


def text_of(page: httpx.Response) -> str:
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", "", page.text)))


def fault_at(page: httpx.Response, field: str) -> str:
    found = re.search(rf'<p class="fault" id="f-{field}-fault">([^<]*)</p>', page.text)
    assert found is not None, text_of(page)
    return html.unescape(found[1])


def test_a_hospitals_export_is_recognised_declared_and_profiled(browser):
    answer = sent(browser, PATIENTS)
    assert (answer.status_code, answer.headers["location"]) == (303, "/uploads/patients")
    page = browser.get("/uploads/patients")
    said = text_of(page)
    for words in ("300 records of 12 columns", "Latin-1", "direct identifier", "as proposed: dates"):
        assert words in said
    made = browser.post("/uploads/patients", data=filled_in(page))
    assert (made.status_code, made.headers["location"]) == (303, "/datasets/patients/profile")
    profile = text_of(browser.get("/datasets/patients/profile"))
    assert re.search(r"\d+ of 300 records are unique by Geburtsdatum, Geschlecht, PLZ", profile)
    assert "contributes most" in profile
    assert "Made of it: patients" in text_of(browser.get("/uploads/patients"))
    # The back button, and a second tab.
    again = browser.post("/uploads/patients", data=filled_in(page))
    assert again.headers["location"] == made.headers["location"]
    assert text_of(browser.get("/datasets")).count("300 records") == 1
