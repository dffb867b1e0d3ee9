"""A synthetic table is judged in a browser: what it is compared with is chosen in the form."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from app.services.gates.policies import template
from app.services.gates.policy_documents import document_of_policy
from tests.ui.conftest import Served, Shots, new_context, sign_in
from tests.ui.looks import assert_accessible

ROLES = {"age": "quasi_identifier", "town": "quasi_identifier", "pay": "sensitive"}
FORM = "/policies/synthetic-release@4/evaluate?dataset=synthetic"


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = new_context(browser, viewport={"width": 1280, "height": 900})
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext, served: Served) -> Page:
    """The form of a tenant with an original, people who were held out, and a copy of half of the original."""
    token = served.new_token()
    drawn = random.Random(1)
    rows = [f"{drawn.randrange(90)},t{drawn.randrange(9)},{drawn.randrange(9000)}\n" for _ in range(900)]
    tables = {"original": rows[:300], "held-out": rows[300:600], "synthetic": rows[:150] + rows[600:750]}
    columns = [{"name": name, "type": "categorical", "role": role} for name, role in ROLES.items()]
    with httpx.Client(base_url=f"{served.url}/v1", headers={"Authorization": f"Bearer {token}"}) as api:
        for name, own in tables.items():
            text, headers = "age,town,pay\n" + "".join(own), {"Content-Type": "text/csv"}
            assert api.post(f"/uploads?name={name}", content=text, headers=headers).is_success
            body = {"name": name, "upload": name, "attributes": columns}
            assert api.post("/datasets", json=body).is_success
        policy: dict[str, Any] = document_of_policy(template("synthetic-release").policy)
        policy |= {"schema": {"attributes": ROLES, "rows_are": "persons"}}
        policy["requirements"][0]["requirement"]["measure"]["attacks"] = 100
        assert api.post("/policies", json=policy).is_success
    page = context.new_page()
    sign_in(page, served, token, FORM)
    return page


def test_a_dataset_is_judged_beside_its_original_and_people_held_out(page: Page, shots: Shots):
    assert_accessible(page, shots, "gate-of-synthetic")
    page.get_by_label("Original").select_option("original")
    page.get_by_label("Records held out").select_option("held-out")
    page.get_by_role("button", name="Judge synthetic").click()
    page.wait_for_url("**/evaluations/*")
    expect(page.locator("main")).to_contain_text("No attack succeeds much more often")
    expect(page.locator("main")).to_contain_text("made of the original")


def test_what_is_missing_is_told_beside_its_field(page: Page):
    page.get_by_role("button", name="Judge synthetic").click()
    expect(page.locator("main")).to_contain_text("judges synthetic tables by their originals")
    expect(page.get_by_label("Original")).to_have_attribute("aria-invalid", "true")


def test_of_a_release_made_here_the_original_is_not_asked_for(page: Page):
    page.get_by_role("link", name="A release made here").click()
    expect(page.get_by_label("Records held out")).to_be_visible()
    expect(page.get_by_label("Original")).to_have_count(0)
