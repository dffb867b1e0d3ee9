"""The whole way in a browser: a hospital's export, and a census, become releases that meet what was asked."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from app.samples.patients import csv_of_patients
from tests.conftest import PostgresServer
from tests.ui.conftest import Served, Shots, Watched, new_context, serving, sign_in
from tests.ui.forms import led_on
from tests.ui.looks import assert_accessible, assert_quiet

DATA = os.environ.get("PRIVACY_RISK_DATA")
PAGE = Path(__file__).parents[2] / "docs" / "pages.md"
RECORDS = 5000
ADULT = 30_162
QUASI_IDENTIFIERS = ["Geburtsdatum", "Geschlecht", "PLZ", "Wohnort", "Aufnahmedatum", "Krankenkasse"]


@pytest.fixture(scope="module")
def patients(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("patients") / "patients.csv"
    file.write_bytes(csv_of_patients(RECORDS))
    return file


@pytest.fixture(params=["script", "no-script"])
def context(request: pytest.FixtureRequest, browser: Browser) -> Iterator[BrowserContext]:
    context = new_context(
        browser,
        viewport={"width": 1280, "height": 900},
        java_script_enabled=request.param == "script",
        accept_downloads=True,
    )
    yield context
    context.close()


class Walk:
    """A walk through the pages that counts its clicks, and looks at each page in three ways."""

    def __init__(self, page: Page, served: Served, shots: Shots, way: str, of: str = "way") -> None:
        self.page = page
        self.watched = Watched(page, served)
        self.clicks = 0
        self._shots = shots
        self._way = way
        self._of = of

    def click(self, role: str, name: str) -> None:
        self.page.get_by_role(role, name=name, exact=True).first.click()
        self.clicks += 1

    def look(self, name: str) -> None:
        """Accessible, quiet and no wider than a telephone; axe needs script."""
        name = f"{self._of}-{name}.{self._way}"
        self._shots.take(self.page, name)
        if self._way == "script":
            assert_accessible(self.page, self._shots, name)
            self.page.set_viewport_size({"width": 390, "height": 844})
            self._shots.take(self.page, f"{name}.narrow")
            assert self.page.evaluate("document.documentElement.scrollWidth") <= 390, name
            self.page.set_viewport_size({"width": 1280, "height": 900})
        assert_quiet(self.watched, self._shots, name)


def assert_told(clicks: int, column: int) -> None:
    """That the documentation tells this many clicks from the form to the table."""
    row = re.search(r"^\| Clicks in the browser[^|]*\|(.*)\|$", PAGE.read_text(), re.MULTILINE)
    assert row is not None
    assert int(row[1].split("|")[column]) == clicks


def heading(page: Page, said: str) -> None:
    expect(page.get_by_role("heading", level=1)).to_have_text(said)
    page.wait_for_load_state()  # what is shown is wired then


def test_from_a_file_to_a_release_and_its_policy(
    context, served: Served, patients: Path, shots: Shots, request
):
    way = request.node.callspec.params["context"]
    page = context.new_page()
    sign_in(page, served, served.new_token())
    began = time.monotonic()
    walk = Walk(page, served, shots, way)
    released = up_to_the_table(walk, served, patients)
    seconds = time.monotonic() - began
    assert_told(walk.clicks, 0)
    assert_meets(released, RECORDS, QUASI_IDENTIFIERS, {"Hauptdiagnose": 3, "Kosten": 3})
    assert not {"Nachname", "Vorname", "Patientennummer"} & set(released)
    for name in ("Manifest (JSON)", "Report (HTML)"):
        with page.expect_download() as beside:
            page.get_by_role("link", name=name).click()
        assert beside.value.path().stat().st_size > 500
    walk.click("button", "Save as policy")
    heading(page, "Release with at least 5 records in every class")
    walk.look("policy")
    with page.expect_download() as policy:
        walk.click("link", "Download the policy (YAML)")
    assert policy.value.suggested_filename.endswith(".yaml")
    shots.write(f"way.{way}.json", {"clicks": walk.clicks, "seconds": round(seconds, 1)})
    assert walk.clicks == 9


@pytest.fixture(scope="module")
def roomy(postgres: PostgresServer) -> Iterator[Served]:
    yield from serving(postgres, max_bytes=4_000_000)


@pytest.mark.real_data
@pytest.mark.skipif(not DATA, reason="PRIVACY_RISK_DATA does not point at the public data sets")
def test_from_adult_to_a_release_in_eight_clicks_with_one_role_corrected(
    context, roomy: Served, shots: Shots, request
):
    page = context.new_page()
    sign_in(page, roomy, roomy.new_token())
    walk = Walk(page, roomy, shots, request.node.callspec.params["context"], "adult")

    def correct() -> None:
        # What others may know of an occupation is for whoever releases to say.
        page.get_by_label("Role").nth(7).select_option("sensitive")
        walk.clicks += 1

    file = Path(DATA or "", "arx-adult", "adult.csv")
    released = up_to_the_table(walk, roomy, file, correct)
    known = [name for name in released if name not in ("occupation", "salary-class")]
    assert len(known) == 7
    assert_meets(released, ADULT, known, {"occupation": 3, "salary-class": 2})
    assert_told(walk.clicks, 1)
    # Every column is shown to somebody, where one level for all would hide several.
    assert all((released[name] != "*").any() for name in known)


def up_to_the_table(
    walk: Walk, served: Served, file: Path, correct: Callable[[], None] = lambda: None
) -> pd.DataFrame:
    """From the file to the table that may leave, with what is recommended."""
    page = walk.page
    page.goto(f"{served.url}/start")
    walk.look("start")
    page.locator("input[type=file]").set_input_files(file)
    walk.clicks += 1
    walk.click("button", "Send the table")
    page.wait_for_url("**/uploads/**")
    walk.look("recognised")
    correct()
    walk.click("button", "Make the dataset and see its profile")
    page.wait_for_url("**/datasets/*/profile*")
    walk.look("profile")
    walk.click("link", "Set a goal")
    heading(page, "What to reach")
    walk.look("goal")
    walk.click("button", "Find the best release")
    led_on(served, page)
    heading(page, "Releases side by side")
    walk.look("release")
    walk.click("button", "Make this release")
    expect(page.get_by_role("link", name="Table (CSV)")).to_be_visible()
    with page.expect_download() as saved:
        walk.click("link", "Table (CSV)")
    assert saved.value.suggested_filename.startswith(f"{file.stem}-")
    return pd.read_csv(saved.value.path(), dtype=str, keep_default_na=False)


def assert_meets(
    release: pd.DataFrame, records: int, quasi_identifiers: Sequence[str], different: Mapping[str, int]
) -> None:
    """Recounted from the file alone: five records in every class, different values in it, few suppressed."""
    assert len(release) == records
    known = list(quasi_identifiers)
    shown = release[(release[known] != "*").any(axis=1)]
    assert len(release) - len(shown) <= records * 0.02
    classes = shown.groupby(known)
    assert classes.size().min() >= 5
    for name, least in different.items():
        if name in release:
            assert classes[name].nunique().min() >= least


def test_by_keyboard_alone_up_to_the_goal(browser: Browser, served: Served, patients: Path):
    context = new_context(browser, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    sign_in(page, served, served.new_token())
    page.goto(f"{served.url}/start")
    file = page.locator("input[type=file]")
    reach(page, "file")
    # The chooser belongs to the system; what it gives is set.
    file.set_input_files(patients)
    reach(page, "Send the table")
    page.keyboard.press("Enter")
    page.wait_for_url("**/uploads/**")
    reach(page, "Make the dataset and see its profile")
    page.keyboard.press("Enter")
    page.wait_for_url("**/datasets/*/profile*")
    reach(page, "Set a goal")
    page.keyboard.press("Enter")
    heading(page, "What to reach")
    reach(page, "template-l")
    page.keyboard.press("ArrowUp")
    expect(page.locator("#template-k")).to_be_checked()
    reach(page, "k: records, or persons, in every class, at least")
    page.keyboard.type("6")
    reach(page, "PLZ")
    page.keyboard.press("Space")
    expect(page.locator('input[name="important/PLZ"]')).to_be_checked()
    reach(page, "Find the best release")
    page.keyboard.press("Enter")
    led_on(served, page)
    heading(page, "Releases side by side")
    context.close()


def reach(page: Page, what: str) -> None:
    """Press the tabulator until this has the focus, which is to be seen."""
    for _ in range(120):
        page.keyboard.press("Tab")
        found = page.evaluate(FOCUSED)
        if what in (found["said"], found["id"], found["type"]):
            assert found["outline"] != "none", found
            return
    raise AssertionError(f"{what} is not reached by keyboard")


FOCUSED = """() => {
  const at = document.activeElement;
  return {
    said: (at.getAttribute("aria-label") || at.labels?.[0]?.textContent || at.textContent).trim(),
    id: at.id,
    type: at.type || "",
    outline: getComputedStyle(at).outlineStyle,
  };
}"""
