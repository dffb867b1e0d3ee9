"""Every page in a real browser: whole, quiet, accessible, in light and dark, narrow, and without script."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from tests.ui.conftest import Served, Shots, Watched, new_context, sign_in
from tests.ui.journey import Journey
from tests.ui.looks import STATUS, assert_accessible, assert_quiet

PAGES = {
    "overview": ("/", "Overview"),
    "assessments": ("/assessments", "Assessments"),
    "start": ("/start", "Assess a table"),
    "uploads": ("/uploads", "Uploads"),
    "recognised": ("/uploads/example-members", "example-members"),
    "one-row": ("/uploads/example-members/one-row-per-person", "One row per person"),
    "dataset": ("/datasets/example-members", "example-members"),
    "profile": ("/datasets/example-members/profile", "Profile of example-members"),
    "hierarchy-city": ("/datasets/example-members/attributes/city", "city"),
    "hierarchy-birth-date": ("/datasets/example-members/attributes/birth_date", "birth_date"),
    "perturbation": (
        "/datasets/example-patients/perturbation?p=0.4&attribute=illness",
        "What groups tell after perturbation",
    ),
    "budget": ("/datasets/example-patients/budget", "Privacy budget of example-patients"),
    "perturbation-faults": (
        "/datasets/example-patients/perturbation?p=2",
        "What groups tell after perturbation",
    ),
    "goal": ("/datasets/example-members/goal", "What to reach"),
    "release": ("/optimisations/example-optimum/release", "The best release found"),
    "rule": ("/rules/example-proposal", "example-proposal"),
    "rule-of-conditions": ("/rules/careful", "careful"),
    "assessment": ("/assessments/example-score", "example-score"),
    "optimisation": ("/optimisations/example-optimum", "example-optimum"),
    "lattice": ("/optimisations/example-optimum/lattice", "Lattice"),
    "rule-on-map": ("/optimisations/example-optimum/rules/1-0-2-1", "levels city 1, birth_date 2, income 1"),
    "frontier": ("/frontiers/example-frontier", "example-frontier"),
    "run": ("/runs/example-optimum", "Run of example-optimum"),
    "verdicts": ("/evaluations", "Verdicts"),
    "verdict-fail": ("/evaluations/example-verdict", "example-members: Release to members of the club"),
    "verdict-pass": ("/evaluations/strict-verdict", "example-members: Release to members of the club"),
    "policy": ("/policies/example-policy@1", "Release to members of the club"),
    "map-of-policy": ("/optimisations/example-optimum?policy=example-policy@1", "example-optimum"),
    "gate-file": ("/policies/example-policy@1/evaluate", "Judge a release"),
    "gate-rule": ("/policies/example-policy@1/evaluate?of=rule", "Judge a release"),
    "rule-by-hand": (
        "/datasets/example-members/rule?rule%2Flevels%2Fcity=2&rule%2Fsuppress_classes_below=2"
        "&dictionary=example-census&sensitivity=example-harm",
        "A rule by hand",
    ),
    "rule-by-hand-faults": (
        "/datasets/example-members/rule?rule%2Flevels%2Fcity=9&rule%2Fsuppress_classes_below=x",
        "A rule by hand",
    ),
    "sensitivity-form": ("/datasets/example-members/sensitivity", "How much harm disclosure does"),
    "sensitivity": ("/sensitivity-profiles/example-harm", "example-harm"),
    "dictionaries": ("/dictionaries", "Dictionaries"),
    "dictionary": ("/dictionaries/example-census", "example-census"),
    "dictionary-file": ("/dictionaries/new?dataset=example-members", "A new dictionary"),
    "dictionary-links": (
        "/dictionaries/links?dataset=example-members&upload=example-census",
        "What its columns tell",
    ),
    "hierarchies": ("/hierarchies", "Hierarchies"),
    "hierarchy": ("/hierarchies/example-city", "example-city"),
    "hierarchy-editor": (
        "/datasets/example-members/attributes/city/edit",
        "Change the hierarchy of city",
    ),
    "measurement": (
        "/measurements/example-measurement",
        "k-anonymity by the quasi-identifiers, and how large the classes are",
    ),
    "view-checks": ("/view-checks", "View checks"),
    "view-check": ("/view-checks/example-views", "example-views"),
    "mechanism-audit": ("/mechanism-audits/example-audit", "example-audit"),
    "relational-schema": ("/relational-schemas/example-schema", "example-schema"),
    "manifest": ("/releases/example-release", "example-release"),
    "drawn-release": ("/releases/example-illness", "example-illness"),
    "drawn-release-of-many-values": ("/releases/example-ward", "example-ward"),
    "releases": ("/releases", "Releases"),
    "releases-compared": (
        "/releases/compare?release=example-release&release=example-optimum&release=example-illness",
        "Releases compared",
    ),
    "delete-dataset": ("/datasets/example-members/delete", "Delete example-members"),
    "missing": ("/datasets/no-such-thing", "Nothing is here"),
}
"""Name of the picture → address and heading."""


CUT_OFF = """() => {
    const scrolls = (own) => ["auto", "scroll"].includes(getComputedStyle(own).overflowX);
    const told = (own) => `${own.tagName}.${own.className}: ${own.textContent.trim().slice(0, 40)}`;
    const beyond = (own) => own.getBoundingClientRect().right > innerWidth + 1;
    const within = (own) => own && (scrolls(own) || within(own.parentElement));
    return [...document.querySelectorAll("main *, header *")]
        .filter((own) => !own.closest("svg, .hidden, .skip, .skip-picture, option"))
        .filter((own) => beyond(own) && !within(own))
        .map(told);
}"""
"""What stands beyond the side of a screen, and in no region that scrolls."""


@pytest.fixture(scope="module")
def cookies(browser: Browser, served: Served, journey: Journey) -> list[dict[str, object]]:
    """The cookies of somebody who signed in by the form."""
    context = new_context(browser)
    sign_in(context.new_page(), served, journey.token)
    cookies = context.cookies()
    context.close()
    return cookies


@pytest.fixture(scope="module")
def contexts(browser: Browser, cookies) -> Iterator[dict[str, BrowserContext]]:
    """One signed-in context per way of looking."""
    made = {
        "light": new_context(browser, viewport={"width": 1280, "height": 900}),
        "dark": new_context(browser, viewport={"width": 1280, "height": 900}, color_scheme="dark"),
        "narrow": new_context(browser, viewport={"width": 390, "height": 844}),
        "no-script": new_context(browser, viewport={"width": 1280, "height": 900}, java_script_enabled=False),
    }
    for context in made.values():
        context.add_cookies(cookies)
    yield made
    for context in made.values():
        context.close()


def opened(context: BrowserContext, served: Served, name: str) -> Watched:
    address, heading = PAGES[name]
    watched = Watched(context.new_page(), served)
    response = watched.page.goto(served.url + address)
    assert response is not None
    assert response.status == STATUS.get(name, 200)
    expect(watched.page.get_by_role("heading", level=1)).to_have_text(heading)
    return watched


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("look", ["light", "dark"])
def test_every_page_is_quiet_and_accessible(look, name, contexts, served: Served, shots: Shots):
    watched = opened(contexts[look], served, name)
    shots.take(watched.page, f"{name}.{look}")
    # The dark page is the same but for its colours.
    rules = ("color-contrast",) if look == "dark" else ()
    assert_accessible(watched.page, shots, f"{name}.{look}", rules=rules)
    if shots.folder is not None and look == "light":
        watched.page.emulate_media(media="print")
        shots.take(watched.page, f"{name}.print")
    assert_quiet(watched, shots, f"{name}.{look}")
    watched.page.close()


@pytest.mark.parametrize("name", PAGES)
def test_every_page_fits_a_narrow_screen(name, contexts, served: Served, shots: Shots):
    watched = opened(contexts["narrow"], served, name)
    shots.take(watched.page, f"{name}.narrow")
    width = watched.page.evaluate("document.documentElement.scrollWidth")
    assert width <= 390
    assert watched.page.evaluate(CUT_OFF) == []
    watched.page.close()


@pytest.mark.parametrize("name", PAGES)
def test_every_page_works_without_script(name, contexts, served: Served, shots: Shots):
    watched = opened(contexts["no-script"], served, name)
    shots.take(watched.page, f"{name}.no-script")
    assert watched.foreign == []
    watched.page.close()


def test_every_mark_of_a_map_and_lattice_is_reached_by_keyboard(contexts, served: Served):
    """From the top of the page: the skip links first, then what the page has, in its order."""
    page = opened(contexts["light"], served, "optimisation").page
    page.keyboard.press("Tab")
    expect(page.locator(".skip").first).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    walked = []
    for _ in range(12):
        page.keyboard.press("Tab")
        walked.append(page.evaluate(FOCUSED))
    assert all(step["outline"] != "none" for step in walked), walked
    labels = [step["label"] for step in walked]
    skip = labels.index("Skip the picture")
    assert labels[skip + 1].startswith("best: ")
    assert "as-is-score" in " ".join(labels[skip + 1 : skip + 4])
    page.locator(".skip-picture").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate(FOCUSED)["label"].startswith("The same as a table")
    marks = page.locator(".picture a.mark")
    expect(marks).to_have_count(300)
    marks.nth(40).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("levels")
    page.close()


FOCUSED = """() => {
  const at = document.activeElement;
  return {
    label: (at.getAttribute("aria-label") || at.textContent).trim(),
    outline: getComputedStyle(at).outlineStyle,
  };
}"""


def test_a_value_of_a_hierarchy_leads_below_it(contexts, served: Served):
    page = opened(contexts["no-script"], served, "hierarchy-city").page
    page.locator(".picture a.box").filter(has_text="Indiana").click()
    way = page.get_by_role("navigation", name="Way from the top")
    expect(way.get_by_role("listitem")).to_have_text(["*", "Midwest", "Indiana"])
    expect(page.get_by_role("cell", name="Lafayette").first).to_have_count(0)
    expect(page.get_by_role("rowheader", name="West Lafayette")).to_be_visible()
    page.close()


def test_a_sample_marks_every_generalised_cell(contexts, served: Served):
    page = opened(contexts["no-script"], served, "rule").page
    first = page.locator("table.sample tbody tr").first
    assert first.locator("td").evaluate_all("all => all.map(one => one.className)") == [
        "raised-1", "kept", "raised-1", "raised-1",
    ]  # fmt: skip
    assert "was 1975-05-10 · 1 up" in first.inner_text()
    page.get_by_role("link", name="Later records").click()
    expect(page.locator("table.sample tbody th").first).to_have_text("13")
    page.close()


def test_a_run_is_followed_live_to_its_result(contexts, served: Served, journey: Journey, shots: Shots):
    watched = Watched(contexts["light"].new_page(), served)
    page = watched.page
    page.goto(f"{served.url}/runs/{journey.waiting_run}")
    expect(page.locator("[data-part=state]")).to_have_text("queued")
    shots.take(page, "run-waiting.light")
    assert_accessible(page, shots, "run-waiting.light")
    served.do(served.api.work_off(journey.waiting_run))
    expect(page.locator("[data-part=state]")).to_have_text("succeeded")
    page.get_by_role("link", name="See the result").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("The best release found")
    expect(page.get_by_role("link", name="waiting")).to_be_visible()
    assert_quiet(watched, shots, "run-waiting")
    page.close()


def test_what_is_wrong_with_a_form_is_accessible_and_leads_to_its_field(
    contexts, served: Served, shots: Shots
):
    """With the keyboard alone, on a narrow screen."""
    page = opened(contexts["narrow"], served, "hierarchy-editor").page
    page.get_by_label("The hierarchy in lines").fill("Gary;Lake\nGary;Cook\nLima")
    page.get_by_role("button", name="Preview the lines").focus()
    page.keyboard.press("Enter")
    link = page.get_by_role("alert").get_by_role("link", name="Line 2 repeats the value of line 1.")
    expect(link).to_be_visible()
    shots.take(page, "hierarchy-editor-faults.narrow")
    assert_accessible(page, shots, "hierarchy-editor-faults.narrow")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    link.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Control+End")
    page.keyboard.type("!")
    expect(page.get_by_label("The hierarchy in lines")).to_have_value("Gary;Lake\nGary;Cook\nLima!")
    page.goto(served.url + PAGES["gate-file"][0])
    pdf = {"name": "a.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.7"}
    page.get_by_label("Release file").set_input_files(pdf)
    page.get_by_role("button", name="Send and judge").click()
    expect(page.get_by_label("Release file")).to_have_attribute("aria-invalid", "true")
    shots.take(page, "gate-file-faults.narrow")
    assert_accessible(page, shots, "gate-file-faults.narrow")
    page.close()


def test_a_rule_is_previewed_and_stored_by_keyboard_without_script(contexts, served: Served):
    page = opened(contexts["no-script"], served, "rule-by-hand").page
    page.get_by_label("birth_date").select_option("2")
    page.get_by_role("button", name="Preview").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"birth_date=2.*#scores$"))
    # A page that goes to its anchor when it has loaded takes the focus from what has it.
    page.wait_for_load_state("load")
    expect(page.get_by_label("city")).to_have_value("2")
    expect(page.get_by_text("Mean risk")).to_be_visible()
    page.get_by_label("Name").fill("by-keyboard")
    page.get_by_role("button", name="Store this rule").press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("by-keyboard")
    page.close()
