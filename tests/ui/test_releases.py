"""Releases by table, compared, withdrawn and deleted with their table; the report on paper."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Browser

from tests.ui.conftest import Served, new_context
from tests.ui.forms import signed_in, token_in

TABLE = "zip,sex,ill\n" + "".join(f"{n // 6:05},{'mf'[n % 2]},x{n % 3}\n" for n in range(60))
ROLES = {"zip": "quasi_identifier", "sex": "quasi_identifier", "ill": "sensitive"}
ATTRIBUTES = [{"name": name, "type": "categorical", "role": role} for name, role in ROLES.items()]
ATTRIBUTES[2]["hierarchy"] = "ills"


@pytest.fixture
def token(served: Served) -> str:
    return served.new_token()


@pytest.fixture
def program(served: Served, token: str) -> Iterator[httpx.Client]:
    """What a program sends: two tables, one with two releases by rules and a drawn one."""
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=f"{served.url}/v1", headers=headers, timeout=60) as api:
        content = {"Content-Type": "text/csv"}
        dialect = {"delimiter": ";", "encoding": "latin-1"}
        text = TABLE.replace(",", ";").replace("x0", "x\xe9").encode("latin-1")
        values = {"kind": "flat", "values": ["x\xe9", "x1", "x2"]}
        made(api, "hierarchies", name="ills", definition=values)
        for name in ("guests", "staff"):
            sent = api.post("/uploads", params={"name": name, **dialect}, content=text, headers=content)
            assert sent.status_code == 201, sent.text
            made(api, "datasets", name=name, upload=name, attributes=ATTRIBUTES)
        for name, levels in (("coarse", {"zip": 1, "sex": 1}), ("fine", {"zip": 1})):
            rule = {"kind": "table_level", "levels": levels}
            made(api, "rules", name=name, dataset="guests", rule=rule)
            made(api, "releases", name=f"guests-{name}", dataset="guests", rule=name)
        mechanism = {"kind": "perturbation", "beta": 2, "attribute": "ill"}
        made(api, "releases", name="staff-drawn", dataset="staff", mechanism=mechanism)
        yield api


def made(api: httpx.Client, kind: str, **body: object) -> None:
    answer = api.post(f"/{kind}", json=body)
    assert answer.status_code == 201, answer.text


@pytest.fixture
def browser_of(served: Served, program: httpx.Client, token: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=served.url, headers={"Accept": "text/html"}, timeout=60) as client:
        signed_in(client, token)
        yield client


def names(api: httpx.Client, kind: str) -> set[str]:
    return {own["name"] for own in api.get(f"/{kind}").json()["items"]}


def test_releases_stand_by_table_on_their_page_and_the_overview(browser_of):
    page = browser_of.get("/releases")
    tables = re.findall(r'<h2 [^>]*><a href="/datasets/(\w+)">', page.text)
    assert tables == ["staff", "guests"]
    assert page.text.index("guests-fine") > page.text.index(">guests<")
    overview = browser_of.get("/")
    assert '<a href="/releases"' in overview.text.partition("</nav>")[0]
    assert "<h3>guests</h3>" in overview.text


def test_the_picked_releases_are_compared(browser_of):
    both = {"release": ["guests-fine", "guests-coarse"]}
    page = browser_of.get("/releases/compare", params=both)
    cells = "".join(f"<td>[^/]*{own}[^/]*</(span></)?td>" for own in ("as it is", "not at all"))
    assert re.search(f'<tr><th scope="row">sex</th>{cells}</tr>', page.text)
    assert re.search(r"in an equivalence class \(k\)</th><td>30</td><td>60</td>", page.text)
    alone = browser_of.get("/releases/compare", params={"release": "guests-fine"})
    assert alone.status_code == 422
    assert "Pick two to 4 releases to be compared." in alone.text
    none = browser_of.get("/releases/compare", params={"release": ["guests-fine", "nothing"]})
    assert none.status_code == 404


def test_a_drawn_release_is_withdrawn(browser_of):
    page = browser_of.get("/releases/staff-drawn")
    assert "Withdraw it</button>" in page.text
    assert "Withdraw it</button>" not in browser_of.get("/releases/guests-fine").text
    led = browser_of.post("/releases/staff-drawn/withdrawal", data={"form_token": token_in(page)})
    assert "It was withdrawn on" in browser_of.get(led.headers["location"]).text
    assert browser_of.get("/releases/staff-drawn/data").status_code == 410


def fields(page: httpx.Response) -> dict[str, object]:
    goes = [html.unescape(own) for own in re.findall(r'name="goes" value="([^"]*)"', page.text)]
    return {"form_token": token_in(page), "goes": goes}


def test_a_table_goes_with_what_is_built_on_it_after_a_page_that_lists_it(browser_of, program):
    place = "/datasets/guests/delete"
    assert f'href="{place}"' in browser_of.get("/datasets/guests").text
    page = browser_of.get(place)
    sent = fields(page)
    assert set(sent["goes"]) == {
        "rules/coarse", "rules/fine", "releases/guests-coarse", "releases/guests-fine",
    }  # fmt: skip
    for thing in sent["goes"]:
        assert f'<a href="/{thing}">' in page.text
    # What came to it in the meantime is named, and nothing goes before that is confirmed, too.
    profile = {"name": "harm", "dataset": "guests", "family": "constant", "constant": 0.1}
    assert program.post("/sensitivity-profiles", json=profile).status_code == 201
    again = browser_of.post(place, data=sent)
    assert again.status_code == 409
    assert "More is built on it than you were shown." in again.text
    assert '<a href="/sensitivity-profiles/harm">' in again.text
    assert names(program, "releases") == {"guests-coarse", "guests-fine", "staff-drawn"}
    led = browser_of.post(place, data=fields(again))
    assert led.headers["location"] == "/datasets"
    assert names(program, "datasets") == {"staff"}
    assert names(program, "releases") == {"staff-drawn"}
    assert names(program, "rules") == set()
    assert names(program, "uploads") == {"guests", "staff"}
    twice = browser_of.post(place, data=fields(again))
    assert twice.status_code == 404
    assert "Nothing is here" in twice.text


def test_what_is_at_work_is_named_and_nothing_can_be_deleted(browser_of, program):
    least = {"kind": "min_loss", "privacy": [{"kind": "k_anonymity", "k": 2}], "suppression_limit": 1}
    asked = {"name": "at-work", "dataset": "staff", "objective": least}
    run = program.post("/optimisations", json=asked, headers={"Prefer": "respond-async"}).json()["id"]
    page = browser_of.get("/datasets/staff/delete")
    assert f'<a href="/runs/{run}">' in page.text
    assert '<button type="submit">Delete' not in page.text
    assert program.post(f"/runs/{run}/cancel").status_code == 200
    assert '<a href="/optimisations/at-work">' in browser_of.get("/datasets/staff/delete").text


def test_what_a_form_of_another_session_asks_is_not_deleted(browser_of, program):
    assert browser_of.post("/releases/guests-fine/delete", data={"form_token": "x"}).status_code == 403
    assert "guests-fine" in names(program, "releases")


def test_a_release_is_written_as_its_table_was_sent(browser_of):
    data = browser_of.get("/releases/guests-fine/data", params={"dialect": "input"})
    usual = browser_of.get("/releases/guests-fine/data")
    assert 'filename="guests-fine.csv"' in data.headers["content-disposition"]
    assert "x\xe9" in usual.content.decode()
    assert data.content.decode("latin-1") == usual.content.decode().replace(",", ";").replace("\r\n", "\n")


def test_a_search_that_keeps_no_risks_has_no_lattice(browser_of, served, program):
    asked = {"kind": "min_loss", "privacy": [{"kind": "k_anonymity", "k": 2}], "suppression_limit": 0}
    run = program.post("/optimisations", json={"name": "least", "dataset": "guests", "objective": asked})
    served.do(served.api.work_off(run.json()["id"]))
    assert "/lattice" not in browser_of.get("/optimisations/least").text
    assert browser_of.get("/optimisations/least/lattice").status_code == 404


def test_records_that_are_kept_stand_before_suppressed_ones(browser_of, program):
    hidden = [{"row": row, "steps": {"zip": 1, "sex": 1, "ill": 1}} for row in (1, 2)]
    rule = {"kind": "record_level", "records": hidden}
    made(program, "rules", name="two-hidden", dataset="guests", rule=rule)
    shown = [
        re.findall(r'<th scope="row">(\d+)</th>', browser_of.get(f"/rules/two-hidden?first={first}").text)
        for first in (1, 13, 25, 37, 49)
    ]
    assert [int(row) for page in shown for row in page] == [*range(3, 61), 1, 2]


def test_a_report_is_a_page_or_two_of_paper(browser: Browser, browser_of):
    text = browser_of.get("/releases/guests-fine/report").text
    context = new_context(browser)
    page = context.new_page()
    page.set_content(text)
    printed = page.pdf(prefer_css_page_size=True)
    context.close()
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 2
