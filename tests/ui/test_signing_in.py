"""Who gets in, by which cookie, what a forged form can do, and what another tenant sees: nothing."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from http.cookies import SimpleCookie

import httpx
import pytest

from app.web.site import PAGES
from app.web.words import local
from tests.ui.conftest import Served
from tests.ui.forms import signed_in, token_in
from tests.ui.journey import Journey

ADDRESSES = [
    "/uploads/example-members",
    "/uploads/example-members/one-row-per-person",
    "/datasets/example-members",
    "/datasets/example-members/profile",
    "/datasets/example-members/perturbation",
    "/datasets/example-members/budget",
    "/datasets/example-members/attributes/city",
    "/datasets/example-members/goal",
    "/datasets/example-members/delete",
    "/uploads/example-members/delete",
    "/releases/example-optimum/delete",
    "/releases/example-optimum/map",
    "/rules/example-proposal",
    "/assessments/example-score",
    "/optimisations/example-optimum",
    "/optimisations/example-optimum/lattice",
    "/optimisations/example-optimum/release",
    "/releases/example-optimum/data",
    "/releases/example-optimum/manifest",
    "/releases/example-optimum/report",
    "/optimisations/example-optimum/rules/0-0-0-0",
    "/frontiers/example-frontier",
    "/frontiers/example-frontier/rules/0-0-0-0",
    "/runs/example-optimum",
    "/runs/example-optimum/progress",
    "/evaluations/example-verdict",
    "/evaluations/example-verdict/evidence",
    "/evaluations/example-verdict/report",
    "/policies/example-policy",
    "/policies/example-policy/evaluate",
    "/datasets/example-members/rule",
    "/datasets/example-members/sensitivity",
    "/datasets/example-members/attributes/city/edit",
    "/hierarchies/example-city",
    "/dictionaries/example-census",
    "/sensitivity-profiles/example-harm",
    "/measurements/example-measurement",
    "/releases/example-release",
    "/policies/example-policy/document",
    "/view-checks/example-views",
    "/mechanism-audits/example-audit",
    "/relational-schemas/example-schema",
]
"""A page of each kind that names a resource of the journey's tenant."""


@pytest.fixture
def browser(served: Served) -> Iterator[httpx.Client]:
    """What a browser without script does."""
    with httpx.Client(base_url=served.url, headers={"Accept": "text/html"}, timeout=60) as client:
        yield client


def test_whoever_signs_in_is_led_back_to_the_page_that_was_asked_for(browser, served, journey: Journey):
    sent = browser.get("/assessments/example-score?first=13")
    assert sent.status_code == 303
    form = browser.get(sent.headers["location"])
    assert "no-store" in form.headers["cache-control"]
    goal = re.search(r'name="next" value="([^"]+)"', form.text)[1]
    back = browser.post(
        "/sign-in", data={"form_token": token_in(form), "next": goal, "api_key": journey.token}
    )
    assert (back.status_code, back.headers["location"]) == (303, "/assessments/example-score?first=13")
    page = browser.get(back.headers["location"])
    assert page.status_code == 200
    assert journey.token not in page.text
    assert journey.token not in str(back.headers)


@pytest.mark.parametrize(
    "goal", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:x", "/a\nb", "a"]
)
def test_nobody_is_led_to_another_site(goal):
    assert local(goal) == "/"


def test_the_cookie_is_for_this_site_alone_and_shows_nothing(browser, journey: Journey):
    answer = signed_in(browser, journey.token)
    cookie = SimpleCookie(answer.headers.get_list("set-cookie")[0])["privacy-risk-session"]
    assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "strict", "/")
    assert 0 < int(cookie["max-age"]) <= 8 * 3600
    assert not cookie["secure"]
    assert journey.token.split(".")[0] not in cookie.value


def test_by_https_the_cookie_never_travels_openly(served, journey: Journey):
    proxied = {"Accept": "text/html", "X-Forwarded-Proto": "https"}
    with httpx.Client(base_url=served.url, headers=proxied, timeout=60) as browser:
        form = browser.get("/sign-in")
        offered = SimpleCookie(form.headers["set-cookie"])["__Host-privacy-risk-form"]
        answer = browser.post(
            "/sign-in",
            data={"form_token": token_in(form), "api_key": journey.token},
            headers={"Cookie": f"__Host-privacy-risk-form={offered.value}"},
        )
    cookie = SimpleCookie(answer.headers.get_list("set-cookie")[0])["__Host-privacy-risk-session"]
    assert cookie["secure"] is True


def test_a_forged_form_signs_nobody_in_or_out_and_makes_nothing(browser, served, journey: Journey):
    key = served.new_token()
    browser.get("/sign-in")
    forged = browser.post("/sign-in", data={"form_token": "guess", "api_key": key})
    assert forged.status_code == 403
    assert "privacy-risk-session" not in browser.cookies
    signed_in(browser, key)
    for path in ("/sign-out", "/example-data"):
        assert browser.post(path, data={"form_token": "guess"}).status_code == 403
        assert browser.post(path).status_code == 403
    assert "None yet." in browser.get("/datasets").text
    page = browser.get("/")
    out = browser.post("/sign-out", data={"form_token": token_in(page)})
    assert out.headers["location"] == "/sign-in"
    assert browser.get("/").status_code == 303


def test_after_signing_out_a_copy_of_the_cookie_opens_nothing(browser, served, journey: Journey):
    signed_in(browser, journey.token)
    copy = {"Cookie": f"privacy-risk-session={browser.cookies['privacy-risk-session']}"}
    page = httpx.get(f"{served.url}/datasets", headers=copy, timeout=60)
    assert page.status_code == 200
    browser.post("/sign-out", data={"form_token": token_in(page)})
    assert httpx.get(f"{served.url}/datasets", headers=copy, timeout=60).status_code == 303
    for path in ("/example-data", "/sign-out"):
        answer = httpx.post(
            f"{served.url}{path}", headers=copy, data={"form_token": token_in(page)}, timeout=60
        )
        assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")


def test_signing_in_anew_ends_the_session_of_before(browser, served, journey: Journey):
    signed_in(browser, journey.token)
    before = {"Cookie": f"privacy-risk-session={browser.cookies['privacy-risk-session']}"}
    signed_in(browser, journey.assessor_token)
    assert browser.get("/datasets").status_code == 200
    assert httpx.get(f"{served.url}/datasets", headers=before, timeout=60).status_code == 303


def test_a_wrong_key_an_altered_cookie_and_an_old_one_are_refused(browser, served, journey: Journey):
    assert signed_in(browser, "0123456789abcdef.nonsense").status_code == 403
    assert signed_in(browser, "ключ").status_code == 403
    signed_in(browser, journey.token)
    value = browser.cookies["privacy-risk-session"]
    altered = value[:-2] + ("AA" if value[-2:] != "AA" else "BB")
    for bad in (altered, value[:20], "=", "é".encode().decode("latin-1")):
        cookie = f"privacy-risk-session={bad}".encode("latin-1")
        answer = httpx.get(f"{served.url}/", headers={b"Cookie": cookie}, timeout=60)
        assert answer.status_code == 303
    assert browser.get("/").status_code == 200
    served.clock.advance(8 * 3600)
    try:
        expired = browser.get("/datasets")
        assert expired.headers["location"] == "/sign-in?next=%2Fdatasets"
    finally:
        served.clock.advance(-8 * 3600)


def test_the_form_cookie_opens_no_page(browser, served):
    browser.get("/sign-in")
    swapped = {"Cookie": f"privacy-risk-session={browser.cookies['privacy-risk-form']}"}
    assert httpx.get(f"{served.url}/", headers=swapped, timeout=60).status_code == 303


def test_no_page_shows_another_tenants_names(browser, served, journey: Journey):
    signed_in(browser, served.new_token())
    covered = {re.sub(r"\{\w+\}", "{}", path) for path, _ in PAGES if "{" in path}
    assert covered == {
        re.sub(r"(?<=/)(example|0-0)[\w-]*|(?<=attributes/)city", "{}", address) for address in ADDRESSES
    }
    for address in ADDRESSES:
        answer = browser.get(address)
        assert answer.status_code == 404, address
        assert "example" not in answer.text.replace(address, "")
    for kind in ("datasets", "assessments", "optimisations", "rules", "runs", "frontiers"):
        assert "None yet." in browser.get(f"/{kind}").text


def test_who_may_not_read_the_data_sees_no_value_of_it(browser, journey: Journey):
    signed_in(browser, journey.assessor_token)
    page = browser.get("/assessments/example-score")
    assert page.status_code == 200
    assert "West Lafayette" not in page.text
    assert "data:read" in page.text
    tree = browser.get("/datasets/example-members/attributes/city").text
    assert "leaves are counted instead" in tree


def test_the_log_knows_pages_by_their_template(browser, served, journey: Journey):
    signed_in(browser, journey.token)
    browser.get("/rules/example-proposal")
    routes = [line["route"] for line in served.api.log_lines()]
    assert {"/sign-in", "/rules/{ref}", "/v1/rules/{ref}"} <= set(routes)
    assert "example-proposal" not in served.api.log.getvalue()
    assert journey.token not in served.api.log.getvalue()


def test_the_evidence_of_a_verdict_is_a_file_to_keep(browser, journey: Journey):
    signed_in(browser, journey.token)
    evidence = browser.get("/evaluations/example-verdict/evidence")
    assert set(evidence.json()) == {"payloadType", "payload", "signatures"}
    report = browser.get("/evaluations/example-verdict/report")
    for answer in (evidence, report):
        assert answer.status_code == 200
        assert answer.headers["content-disposition"].startswith('attachment; filename="example-verdict-')
        assert answer.headers["content-security-policy"].startswith("default-src 'self'")


@pytest.mark.parametrize("path", ["/nothing", "/rules/%2e%2e", "/optimisations/x/rules/abc"])
def test_an_address_that_nothing_has_is_a_readable_page(browser, served, path):
    signed_in(browser, served.new_token())
    answer = browser.get(path)
    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("text/html")
    assert "<h1>" in answer.text


def test_programs_still_get_problems(browser, served):
    for path, accept in (("/nothing", "*/*"), ("/v1/nothing", "text/html")):
        answer = browser.get(path, headers={"Accept": accept})
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.status_code == 404


def test_every_page_has_the_strict_policy(browser, journey: Journey):
    signed_in(browser, journey.token)
    for path in ("/", "/optimisations/example-optimum", "/optimisations/example-optimum/lattice", "/nothing"):
        answer = browser.get(path)
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'self';")
        assert "unsafe" not in policy
        assert not re.search(r"<style|\sstyle=|<script>|\son\w+=", answer.text)


def test_names_are_written_not_obeyed(served, journey: Journey):
    """A label of a hierarchy that is markup is shown as text."""
    with httpx.Client(
        base_url=served.url, headers={"Authorization": f"Bearer {served.new_token()}"}, timeout=60
    ) as client:
        nasty = "<img src=x onerror=alert(1)>"
        rows = [["a", nasty], ["b", nasty]]
        key = client.headers["authorization"].split()[1]
        for path, body in (
            ("/v1/hierarchies", {"name": "h", "definition": {"kind": "rows", "rows": rows}}),
            ("/v1/uploads?name=u", "v,w\na,1\nb,2\n"),
            (
                "/v1/datasets",
                {
                    "name": "d",
                    "upload": "u",
                    "attributes": [
                        {"name": "v", "type": "text", "role": "quasi_identifier", "hierarchy": "h"}
                    ],
                },
            ),
        ):
            sent = {"content": body} if isinstance(body, str) else {"json": body}
            assert client.post(path, **sent).is_success
    with httpx.Client(base_url=served.url, timeout=60) as browser:
        signed_in(browser, key)
        page = browser.get("/datasets/d/attributes/v")
    assert page.status_code == 200
    assert nasty not in page.text
    assert "&lt;img src=x" in page.text


def test_the_button_of_the_first_page_makes_the_example_data(browser, served):
    signed_in(browser, served.new_token())
    first = browser.get("/")
    assert "Make the example data" in first.text
    made = browser.post("/example-data", data={"form_token": token_in(first)})
    assert made.headers["location"].startswith("/runs/")
    assert browser.get(made.headers["location"]).status_code == 200
    assert "Make the example data" not in browser.get("/").text


def test_what_was_filled_in_when_the_session_ended_can_be_sent_again(browser, served, journey: Journey):
    fields = {"form_token": "of the session before", "name": 'é "quoted" <b>', "empty": ""}
    asked = browser.post("/example-data", data=fields, headers={"Origin": served.url})
    assert asked.status_code == 401
    assert "kept" in asked.text
    kept = html.unescape(re.search(r'name="kept" value="([^"]*)"', asked.text)[1])
    form = {"form_token": token_in(asked), "next": "/example-data", "kept": kept}
    refused = browser.post("/sign-in", data=form | {"api_key": "wrong"})
    assert html.unescape(re.search(r'name="kept" value="([^"]*)"', refused.text)[1]) == kept
    again = browser.post("/sign-in", data=form | {"form_token": token_in(refused), "api_key": journey.token})
    assert again.status_code == 200
    assert '<form method="post" action="/example-data"' in again.text
    assert "of the session before" not in again.text
    sent = dict(re.findall(r'name="(\w+)" value="([^"]*)"', again.text))
    assert html.unescape(sent["name"]) == fields["name"]
    assert sent["empty"] == ""
    assert browser.post("/sign-out", data={"form_token": sent["form_token"]}).status_code == 303


def test_nothing_is_kept_of_a_form_of_another_site(browser, served):
    asked = browser.post("/example-data", data={"name": "x"}, headers={"Origin": "https://evil.example"})
    assert (asked.status_code, asked.headers["location"]) == (303, "/sign-in")
