"""The way in with script: dropped files, progress, what breaks off; and how people leave and come back."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from app.samples.patients import csv_of_patients
from app.services.questions import DirectBudget
from tests.conftest import PostgresServer
from tests.ui.conftest import Served, Shots, new_context, serving, sign_in
from tests.ui.forms import led_on
from tests.ui.looks import assert_accessible
from tests.unit.services.workbooks import workbook

DROP = """([name, text]) => {
    const carried = new DataTransfer();
    carried.items.add(new File([text], name, {type: "text/csv"}));
    const area = document.querySelector("[data-drop]");
    for (const kind of ["dragover", "drop"])
        area.dispatchEvent(new DragEvent(kind, {dataTransfer: carried, bubbles: true, cancelable: true}));
}"""
REMEMBER = """() => {
    const words = document.querySelector("[data-words]");
    const before = () => sessionStorage.getItem("said") || "";
    const keep = () => sessionStorage.setItem("said", `${before()}${words.textContent}\\n`);
    new MutationObserver(keep).observe(words, {childList: true, characterData: true, subtree: true});
}"""
TABLE = "zip,sex,ill\n" + "".join(f"{n // 2:05},{'mf'[n % 2]},x{n % 3}\n" for n in range(60))


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = new_context(browser, viewport={"width": 1280, "height": 900})
    yield context
    context.close()


@pytest.fixture
def token(served: Served) -> str:
    return served.new_token()


@pytest.fixture
def page(context: BrowserContext, served: Served, token: str) -> Page:
    page = context.new_page()
    sign_in(page, served, token, "/start")
    return page


def choose(page: Page, content: str | bytes, name: str = "people.csv") -> None:
    raw = content if isinstance(content, bytes) else content.encode()
    page.locator("input[type=file]").set_input_files({"name": name, "mimeType": "text/csv", "buffer": raw})


def send(page: Page) -> None:
    page.get_by_role("button", name="Send the table").click()


def made(page: Page) -> None:
    """From the form to the profile."""
    send(page)
    page.wait_for_url("**/uploads/people")
    page.get_by_role("button", name="Make the dataset and see its profile").click()
    page.wait_for_url("**/datasets/people/profile")


def test_a_file_that_is_dropped_is_sent_and_what_is_sent_so_far_is_told(page: Page):
    page.evaluate(DROP, ["people.csv", TABLE])
    assert page.evaluate("document.querySelector('input[type=file]').files[0].name") == "people.csv"
    page.evaluate(REMEMBER)
    send(page)
    page.wait_for_url("**/uploads/people")
    assert "All sent; it is being read.\n" in page.evaluate("sessionStorage.getItem('said')")
    expect(page.get_by_text("60 records of 3 columns")).to_be_visible()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a,b\n" + b"1,2\n" * 300_000, "larger than the 1000000 bytes that are accepted here. Send fewer"),
        (b"%PDF-1.7\n%\xe2\xe3\n", "it is a PDF document. Send the table that it was made of"),
        (b"", "The file is empty. Send a table"),
        (b"c1,c2,c3,c4,c5,c6,c7,c8,c9,c10\n" + b"1,2,3,4,5,6,7,8,9\n" * 3, "The table has 10 columns"),
    ],
)
def test_what_is_refused_is_read_first_and_the_form_can_be_sent_again(
    page: Page, shots: Shots, content, said
):
    choose(page, content)
    send(page)
    fault = page.locator("#f-file-fault")
    expect(fault).to_contain_text(said)
    expect(page.locator("#faults")).to_be_focused()
    assert page.title().startswith("Error: ")
    assert_accessible(page, shots, f"refused-{re.sub('[^a-z]', '', said.lower())[:20]}")
    choose(page, TABLE)
    send(page)
    page.wait_for_url("**/uploads/people")


def test_where_the_connection_breaks_off_it_is_told_and_sent_again(page: Page, context: BrowserContext):
    choose(page, TABLE)
    context.set_offline(True)
    send(page)
    expect(page.get_by_role("status")).to_have_text(
        "The connection broke off. Nothing was kept; please send it again."
    )
    context.set_offline(False)
    send(page)
    page.wait_for_url("**/uploads/people")


def test_where_the_session_ended_what_was_said_of_the_file_is_there_after_signing_in(
    page: Page, context: BrowserContext, token: str
):
    page.get_by_label("Name (optional)").fill("people")
    choose(page, TABLE, "t.csv")
    context.clear_cookies()
    send(page)
    expect(page.get_by_text("Your session has ended. Sign in, and choose the file again.")).to_be_visible()
    page.get_by_label("API key").fill(token)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/start?name=people**")
    choose(page, TABLE, "t.csv")
    send(page)
    page.wait_for_url("**/uploads/people")


def test_whoever_closes_the_browser_goes_on_by_the_link(
    page: Page, browser: Browser, served: Served, token: str
):
    choose(page, TABLE)
    send(page)
    page.wait_for_url("**/uploads/people")
    page.context.close()
    other = new_context(browser)
    again = other.new_page()
    sign_in(again, served, token, "/uploads/people")
    again.get_by_role("button", name="Make the dataset and see its profile").click()
    again.wait_for_url("**/datasets/people/profile")
    other.close()


def test_the_back_button_and_a_second_tab_make_nothing_twice(page: Page, served: Served, token: str):
    choose(page, TABLE)
    made(page)
    page.go_back()
    page.wait_for_url("**/uploads/people")
    # Another dataset of it is only made by who wants one, under another name.
    expect(page.get_by_text("Made of it: people.")).to_be_visible()
    expect(page.get_by_label("Name of the dataset")).to_have_value("people-2")
    tabs = [page, page.context.new_page()]
    for tab in tabs:
        tab.goto(f"{served.url}/datasets/people/goal")
    for tab in tabs:
        tab.get_by_role("button", name="Find the best release").click()
        led_on(served, tab)
    assert tabs[0].url == tabs[1].url
    for tab in tabs:
        # In the second tab the button stands there still.
        tab.get_by_role("button", name="Make this release").first.click()
        expect(tab.get_by_role("link", name="Table (CSV)")).to_be_visible()
    with httpx.Client(
        base_url=f"{served.url}/v1", headers={"Authorization": f"Bearer {token}"}, timeout=60
    ) as api:
        for kind in ("datasets", "optimisations", "releases"):
            assert len(api.get(f"/{kind}").json()["items"]) == 1, kind


@pytest.fixture
def slow(postgres: PostgresServer) -> Iterator[Served]:
    """To it every table is large."""
    yield from serving(postgres, 1_000_000, DirectBudget(seconds=0.0))


def test_the_profile_of_a_large_table_is_followed_until_it_is_there(
    context: BrowserContext, slow: Served, shots: Shots
):
    page = context.new_page()
    sign_in(page, slow, slow.new_token(), "/start")
    choose(page, TABLE)
    send(page)
    page.wait_for_url("**/uploads/people")
    page.get_by_role("button", name="Make the dataset and see its profile").click()
    page.wait_for_url("**/datasets/people/profile?run=*")
    expect(page.get_by_text("This page shows the profile as soon as it is there")).to_be_visible()
    assert_accessible(page, shots, "profile-measured")
    shots.take(page, "profile-measured")
    # It can be left: the address without the run begins none anew.
    run = page.url.partition("run=")[2]
    page.goto(f"{slow.url}/datasets/people/profile")
    expect(page.get_by_role("link", name="the run")).to_have_attribute("href", f"/runs/{run}")
    slow.do(slow.api.work_off(run))
    expect(page.locator(".headline")).to_contain_text("unique by zip")


def test_the_goal_of_the_sent_patients_can_be_left_when_a_session_ends(
    page: Page, served: Served, token: str
):
    choose(page, csv_of_patients(300))
    made(page)
    page.get_by_role("link", name="Set a goal").click()
    page.get_by_label("k: records, or persons, in every class, at least").fill("7")
    page.context.clear_cookies()
    page.get_by_role("button", name="Find the best release").click()
    expect(page.get_by_text("What you had filled in is kept")).to_be_visible()
    page.get_by_label("API key").fill(token)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name="Send it now").click()
    led_on(served, page)
    page.get_by_role("link", name="Change what to reach").click()
    expect(page.get_by_label("k: records, or persons, in every class, at least")).to_have_value("7")


def book_of_two(hidden: bool) -> bytes:
    def more(book: Any) -> None:
        book.create_sheet("Notes").append(["written by"])
        sheet = book.create_sheet("Guests 2026")
        for row in (("zip", "sex"), ("00001", "m"), ("00002", "f")):
            sheet.append(row)

    book = workbook(("id", "city"), ("p-1", "Gary"), change=more)
    return changed(book, "xl/workbook.xml", b'state="visible"', b'state="hidden"') if hidden else book


def changed(archive: bytes, part: str, old: bytes, new: bytes) -> bytes:
    """The archive with a text of one part replaced; what writes workbooks hides no last sheet."""
    sink = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as before, zipfile.ZipFile(sink, "w") as after:
        for name in before.namelist():
            content = before.read(name)
            assert name != part or old in content
            after.writestr(name, content.replace(old, new) if name == part else content)
    return sink.getvalue()


def test_zeros_that_only_formats_show_are_decided_on_the_page(page: Page):
    def zeros(book: Any) -> None:
        book.active["A2"].number_format = "00000"

    choose(page, workbook(("zip", "city"), (2139, "Cambridge"), change=zeros), "zips.xlsx")
    send(page)
    ways = page.get_by_label("Zeros before numbers, which only formats show")
    expect(ways.locator("option")).to_have_text(["read the zeros", "leave them out"])
    ways.select_option("read the zeros")
    send(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("zips")
    expect(page.locator("main")).to_contain_text("02139")


@pytest.mark.parametrize("hidden", [False, True])
def test_the_sheets_of_a_workbook_are_a_list_and_the_file_stays_chosen(
    hidden: bool, page: Page, shots: Shots
):
    choose(page, book_of_two(hidden), "guests.xlsx")
    send(page)
    sheets = page.get_by_label("Sheet of the workbook")
    expect(sheets.locator("option")).to_have_text(["People", "Notes", "Guests 2026"])
    assert_accessible(page, shots, f"sheets-hidden-{hidden}")
    shots.take(page, f"sheets-hidden-{hidden}")
    sheets.select_option("Guests 2026")
    send(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("guests")
    expect(page.locator("main")).to_contain_text("zip")
    expect(page.locator("main")).not_to_contain_text("city")
