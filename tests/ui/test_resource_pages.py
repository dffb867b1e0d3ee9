"""Forms that judge files, make rules, dictionaries, weights and hierarchies; and what they refuse."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from app.services.resources import Scope
from app.web import drawn_releases
from app.web.site import FILES, FORMS
from tests.ui.conftest import Served
from tests.ui.forms import signed_in, token_in
from tests.ui.journey import Journey

GATE = "/policies/example-policy@1/evaluate"
RULE = "/datasets/example-members/rule"
HARM = "/datasets/example-members/sensitivity"
CITY = "/datasets/example-members/attributes/city/edit"


class Visitor:
    """A browser without script that somebody has signed in with, and their programs."""

    def __init__(self, browser: httpx.Client, api: httpx.Client) -> None:
        self.browser, self.api = browser, api
        self._token = token_in(browser.get("/"))

    def send(
        self, path: str, fields: dict[str, Any], file: tuple[str, bytes] | None = None
    ) -> httpx.Response:
        """Send a form; with a file as a form that has one."""
        files = None if file is None else {"file": file}
        return self.browser.post(path, data={"form_token": self._token, **fields}, files=files)

    def names(self, kind: str) -> set[str]:
        return {one["name"] for one in self.api.get(f"/{kind}", params={"limit": 200}).json()["items"]}


def visitor_of(served: Served, key: str) -> Iterator[Visitor]:
    with (
        httpx.Client(base_url=served.url, headers={"Accept": "text/html"}, timeout=60) as browser,
        httpx.Client(
            base_url=f"{served.url}/v1", headers={"Authorization": f"Bearer {key}"}, timeout=60
        ) as api,
    ):
        signed_in(browser, key)
        yield Visitor(browser, api)


@pytest.fixture
def visitor(served: Served, journey: Journey) -> Iterator[Visitor]:
    yield from visitor_of(served, journey.token)


@pytest.fixture
def stranger(served: Served) -> Iterator[Visitor]:
    yield from visitor_of(served, served.new_token())


def faults(page: httpx.Response) -> dict[str, str]:
    """What is said beside each field, by the label of which the form has the field."""
    found = re.findall(r'<p class="fault" id="f-([^"]*)-fault\d*">(.*?)</p>', page.text)
    return {html.unescape(name).replace(":2F", "/"): html.unescape(said).strip() for name, said in found}


def fact(page: httpx.Response, name: str) -> str:
    found = re.search(rf"<dt>{name}</dt><dd>(.*?)</dd>", page.text)
    assert found is not None, name
    return found[1]


# --- judging -----------------------------------------------------------------------------------------------

FILE = {
    "dataset": "example-members", "of": "file", "dictionaries/register": "example-census",
    "sensitivity": "example-harm", "matching": "none", "delimiter": "comma", "encoding": "utf-8",
}  # fmt: skip


def test_a_sent_file_is_judged_and_its_verdict_shown(visitor: Visitor):
    table = visitor.api.get("/releases/example-release/data").content
    sent = visitor.send(GATE, FILE, ("final.csv", table))
    assert sent.status_code == 303
    verdict = visitor.browser.get(sent.headers["location"])
    assert "The finished file example-members-release-" in verdict.text
    name = sent.headers["location"].rpartition("/")[2]
    judged = visitor.api.get(f"/evaluations/{name}").json()
    assert judged["dictionaries"] == {"register": "example-census"}
    assert judged["release"]["key"] is None


def test_a_stored_rule_is_judged_without_a_file(visitor: Visitor):
    sent = visitor.send(GATE, {**FILE, "of": "rule", "rule": "example-proposal"}, ("", b""))
    assert sent.status_code == 303
    name = sent.headers["location"].rpartition("/")[2]
    assert visitor.api.get(f"/evaluations/{name}").json()["rule"]["name"] == "example-proposal"


def test_a_release_that_was_made_here_is_judged_by_its_name(visitor: Visitor):
    form = visitor.browser.get(f"{GATE}?dataset=example-members&of=release").text
    assert '<option value="example-release"' in form
    sent = visitor.send(GATE, {**FILE, "of": "release", "release/name": "example-release"}, ("", b""))
    assert sent.status_code == 303
    page = visitor.browser.get(sent.headers["location"]).text
    assert '<a href="/releases/example-release">example-release</a> under the rule' in page
    gone = visitor.send(GATE, {**FILE, "of": "release", "release/name": "gone"}, ("", b""))
    assert "no release with the id or name" in gone.text


def declared_illnesses(api: httpx.Client) -> str:
    """A hierarchy that says which illnesses there can be, apart from any data."""
    values = ["asthma", "flu", "gout"]
    body = {"name": "ill-ones", "definition": {"kind": "flat", "values": values}}
    assert api.post("/hierarchies", json=body).status_code in (200, 201, 409)
    return "ill-ones"


def test_the_guarantee_of_a_drawn_release_is_shown_with_what_it_rests_on(visitor: Visitor):
    cells = "".join(f"{town},{ill}\n" for town in ("Rome", "Bari") for ill in ("flu", "gout", "asthma") * 4)
    headers = {"Content-Type": "text/csv"}
    uploaded = visitor.api.post("/uploads?name=ill", content=f"town,illness\n{cells}", headers=headers)
    roles = {"town": "quasi_identifier", "illness": "sensitive"}
    columns = [{"name": name, "type": "categorical", "role": role} for name, role in roles.items()]
    columns[1]["hierarchy"] = declared_illnesses(visitor.api)
    body = {"name": "ill", "upload": "ill", "attributes": columns}
    assert uploaded.is_success
    assert visitor.api.post("/datasets", json=body).is_success
    release = {"name": "drawn", "dataset": "ill", "mechanism": {"kind": "perturbation", "beta": 1}}
    assert visitor.api.post("/releases", json=release).is_success
    guarantee = {
        "kind": "guarantee", "model": {"kind": "beta_likeness", "beta": {"at_most": 1}},
        "may_rest_on_assumptions": True,
    }  # fmt: skip
    policy = {
        "format": "privacy-risk/policy/2", "name": "promised", "version": 1, "title": "What is promised",
        "assumes": {"attacker": "Anybody."}, "not_covered": [{"columns": ["town"], "reason": "Known."}],
        "requirements": [{"id": "one", "title": "Likeness", "reason": "Doubt.", "requirement": guarantee}],
    }  # fmt: skip
    assert visitor.api.post("/policies", json=policy).is_success
    fields = {"dataset": "ill", "of": "release", "release/name": "drawn"}
    sent = visitor.send("/policies/promised@1/evaluate", fields, ("", b""))
    page = visitor.browser.get(sent.headers["location"]).text
    assert "made by the mechanism perturbation" in page
    assert "a guarantee of β-likeness (β ≤ 1), certified, which may rest on assumptions" in page
    assert "no value becomes more than 2 times as likely" in page
    assert "drawn once: assumed." in page
    assert "domain is public: assumed." in page


@pytest.mark.parametrize(
    ("kind", "tests"),
    [
        ("uniform_perturbation", {"criterion": "exact_total"}),
        ("sample_perturb_scale", {"bound": "chernoff_full"}),
    ],
)
def test_the_page_and_the_report_of_values_replaced_alike_show_the_matrix(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch, kind, tests
):
    towns = (kind, "Bari")  # of other content than the other draw
    cells = "".join(f"{town},{ill}\n" for town in towns for ill in ("flu", "gout", "asthma") * 20)
    name = kind.replace("_", "-")
    headers = {"Content-Type": "text/csv"}
    assert visitor.api.post(
        f"/uploads?name={name}", content=f"town,illness\n{cells}", headers=headers
    ).is_success
    roles = {"town": "quasi_identifier", "illness": "sensitive"}
    columns = [{"name": own, "type": "categorical", "role": role} for own, role in roles.items()]
    columns[1]["hierarchy"] = declared_illnesses(visitor.api)
    body = {"name": name, "upload": name, "attributes": columns}
    assert visitor.api.post("/datasets", json=body).is_success
    mechanism = {"kind": kind, "p": 0.4, "p_cap": 0.5, "epsilon": 0.5, "delta": 0.3, **tests}
    release = {"name": f"{name}-drawn", "dataset": name, "mechanism": mechanism}
    assert visitor.api.post("/releases", json=release).is_success
    page = visitor.browser.get(f"/releases/{name}-drawn").text
    report = visitor.browser.get(f"/releases/{name}-drawn/report").text
    assert "Transition matrix" in page
    for shown in (page, report):
        assert "Becomes each other one" in shown
        assert "Known to occur" not in shown
        assert ("What can be counted" in shown) is (kind == "uniform_perturbation")
    assert "Records by illness" in page
    assert "Whoever knows town of a person can estimate" in page
    assert re.search("Of [012] of 2 groups, with (0|60|120) of 120 records", page)
    (led,) = re.findall(r'<a href="([^"]*/perturbation[^"]*)">What an attacker gets', page)
    compared = visitor.browser.get(html.unescape(led)).text
    (criterion,) = tests.values()
    assert (
        led.partition("?")[2]
        == f"p=0.4&amp;epsilon=0.5&amp;delta=0.3&amp;criterion={criterion}&amp;attribute=illness"
    )
    monkeypatch.setattr(drawn_releases, "MOST_READ", 119)
    large = visitor.browser.get(f"/releases/{name}-drawn").text
    assert "Whoever knows town" not in large
    assert led in large
    measure = {"kind": "reconstruction_privacy", "p": 0.4, "epsilon": 0.5, "delta": 0.3, "by_mode": 1}
    measure["criterion"] = criterion
    asked = visitor.api.post("/measurements", json={"dataset": name, "measure": measure}).json()
    for own in asked["result"]["groups"][0]["by_mode"]:
        assert f'<td class="num">{100 * own["confidence"]:.3g} %</td>' in compared
    for way in ("plain: every value", "balanced_fixed", "samples, balanced", "samples, paper"):
        assert way in compared
    (sizes,) = asked["result"]["by_size"]
    assert (sizes["least"], sizes["most"], sizes["groups"], sizes["records"]) == (50, 99, 2, 120)
    failing = [sizes[own] for own in ("groups_failing", "records_failing")]
    shown = re.search(r'<th scope="row">50 to 99</th>(.*)</tr>', compared)
    assert re.findall(r">(\d+)</td>", shown[1]) == ["2", str(failing[0]), "120", str(failing[1])]
    assert f"fail by {criterion} after plain perturbation" in compared
    bound = criterion if criterion.startswith("chernoff") else "chernoff_simple"
    errors = {"kind": "expected_count_errors", "p": [0.2, 0.4], "p_cap": 0.4, "bound": bound, "delta": 0.3}
    by_p = visitor.api.post("/measurements", json={"dataset": name, "measure": errors}).json()["result"]
    for own in by_p["points"]:
        row = re.search(rf'<th scope="row" class="num">{own["p"]:g}</th>(.*)</tr>', compared)
        for kind in ("plain", "balanced_fixed", "balanced"):
            assert f">{100 * own[f'error_{kind}']:.3g} %</td>" in row[1]
    assert f"Groups that fail by {bound} after" in compared


def test_who_may_not_read_the_data_is_told_of_no_group(served: Served, journey: Journey):
    with httpx.Client(base_url=served.url, headers={"Accept": "text/html"}, timeout=60) as browser:
        signed_in(browser, journey.assessor_token)
        page = browser.get("/datasets/example-patients/perturbation?attribute=illness")
        assert page.status_code == 200
        assert "Your key may not see this" in page.text
        for told in ("worst group", '<form method="get"'):
            assert told not in page.text
        # As words: within the token of a form they occur by chance, once in 6,000 pages.
        assert not re.search(r"\b(flu|Rome)\b", page.text)


def test_a_perturbation_that_cannot_be_is_refused_beside_its_field(visitor: Visitor):
    for asked, field in (
        ("p=2", "p"),
        ("p=x", "p"),
        ("epsilon=-1", "epsilon"),
        ("delta=7", "delta"),
        ("criterion=none", "criterion"),
    ):
        page = visitor.browser.get(f"/datasets/example-patients/perturbation?{asked}&attribute=illness")
        assert page.status_code == 422
        assert list(faults(page)) == [field]
        assert "worst group" not in page.text


def test_the_page_of_a_measurement_names_the_release_that_was_measured(visitor: Visitor):
    rule = {"name": "towns", "dataset": "example-members", "rule": "example-proposal"}
    assert visitor.api.post("/releases", json=rule).is_success
    measure = {
        "name": "of-towns",
        "dataset": "example-members",
        "release": "towns",
        "measure": {"kind": "anonymity"},
    }
    sent = visitor.api.post("/measurements", json=measure)
    assert sent.is_success, sent.text
    page = visitor.browser.get("/measurements/of-towns").text
    assert 'as the release <a href="/releases/towns">towns</a> shows it' in page


def test_a_verdict_answers_the_questions_of_its_policy_one_by_one(visitor: Visitor):
    classes = {"kind": "privacy_model", "model": {"kind": "k_anonymity", "k": 2}}
    headings = [
        {"title": "Can anybody be singled out?", "requirements": ["pairs"]},
        {"title": "Can anything be inferred?", "requirements": []},
    ]
    policy = {
        "format": "privacy-risk/policy/2", "name": "asked-by-an-office", "version": 1,
        "title": "What the office asks", "assumes": {"attacker": "Anybody."},
        "not_covered": [{"columns": ["income"], "reason": "Nobody knows it."}],
        "requirements": [{"id": "pairs", "title": "Two alike", "reason": "Doubt.", "requirement": classes}],
        "outline": [{"source": "Opinion 1/2025, part 2", "text": "In words.", **own} for own in headings],
    }  # fmt: skip
    assert visitor.api.post("/policies", json=policy).is_success
    sent = visitor.send(
        "/policies/asked-by-an-office@1/evaluate",
        {"dataset": "example-members", "of": "rule", "rule": "example-proposal"},
        ("", b""),
    )
    page = visitor.browser.get(sent.headers["location"]).text.partition("Question by question")[2]
    first, second = page.split("<h3>")[1:3]
    assert "Opinion 1/2025, part 2" in first
    assert re.search(r"Two alike: <span class=.tag (passed|failed)[^/]*</span> .*k-anonymity", first)
    assert "No criterion of this policy answers it." in second


@pytest.mark.parametrize(
    ("fields", "file", "field", "said"),
    [
        ({}, ("", b""), "file", "No file was chosen."),
        ({}, ("a.pdf", b"%PDF-1.7 \xff\xfe"), "file", "The file is a PDF, not a table."),
        ({}, ("a.csv", b"city\n\xff\n"), "encoding", "not valid utf-8"),
        ({}, ("a.csv", b"city;race\nGary;White\n"), "file", "the delimiter is probably a semicolon"),
        ({}, ("a.csv", b"city,x\nGary,1\n"), "file", "columns that the dataset does not disclose"),
        ({}, ("a.csv", b"city\n" + b"Gary\n" * 210_000), "file", "larger than the 1000000 bytes"),
        ({}, ("a.parquet", b"PAR1"), "file", ""),
        ({"matching": "key", "release/key": ""}, ("a.csv", b"city\nGary\n"), "release/key", "No key column"),
        (
            {"matching": "key", "release/key": "id"},
            ("a.csv", b"city\nGary\n"),
            "release/key",
            "no column 'id'",
        ),
        ({"matching": "order"}, ("a.csv", b"city\nGary\n"), "file", ""),
    ],
)
def test_a_file_that_cannot_be_judged_is_told_beside_its_field_and_not_kept(
    visitor: Visitor, fields, file, field, said
):
    before = visitor.names("uploads")
    page = visitor.send(GATE, FILE | fields, file)
    assert page.status_code == 422
    assert said in faults(page)[field]
    assert f'href="#f-{field.replace("/", ":2F")}"' in page.text
    assert visitor.names("uploads") == before


def test_who_may_not_judge_is_refused(served: Served, journey: Journey, visitor: Visitor):
    actor = served.do(served.api.services.tenants.authenticate(journey.token))
    reader = served.do(served.api.key_with(actor, Scope.DATA_READ))
    for weak in visitor_of(served, reader):
        assert "Your key may not do this" in weak.browser.get(GATE).text
        assert weak.send(GATE, FILE, ("a.csv", b"city\nGary\n")).status_code == 403
        assert weak.send(RULE, {"do": "store", "name": "theirs"}).status_code == 403
        assert weak.send(HARM, {"name": "theirs", "family": "linear"}).status_code == 403
        assert "Your key may not score rules" in weak.browser.get(f"{RULE}?rule%2Flevels%2Fcity=1").text
    assert "theirs" not in visitor.names("rules") | visitor.names("sensitivity-profiles")


NAMED = {
    "datasets": "example-members", "uploads": "example-members", "optimisations": "example-optimum",
    "policies": "example-policy@1",
}  # fmt: skip
"""Collection → what the journey's tenant has there."""
SENT = {
    "do": "store", "name": "x", "family": "linear", "lines": "a;b", "dataset": "example-members",
    "upload": "example-census",
}  # fmt: skip
"""Fields that some form needs."""


def test_forms_find_nothing_of_another_tenant(stranger: Visitor, visitor: Visitor):
    """Every form there is."""
    assert all(name in visitor.names(kind) for kind, name in NAMED.items())
    for path in (path for path, _ in FORMS if "{" in path or path == "/dictionaries/links"):
        address = path.replace("{ref}", NAMED.get(path.split("/")[1], "")).replace("{attribute}", "city")
        page = stranger.send(address, SENT)
        assert page.status_code == 404, path
        assert "example" not in page.text.replace(address, ""), path
    for path in (path for path, _ in FILES if "{" in path):
        address = path.replace("{ref}", NAMED[path.split("/")[1]])
        assert stranger.send(address, FILE, ("a.csv", b"city\nGary\n")).status_code == 404, path
    for kind in ("uploads", "datasets", "rules", "hierarchies", "policies", "releases", "measurements"):
        assert stranger.names(kind) == set(), kind


@pytest.mark.parametrize("name", ["../api-keys", "", ".", "a/b", "a?b"])
def test_what_a_form_names_is_never_another_address(visitor: Visitor, name):
    fields = {"dataset": name, "upload": "example-census", "name": "x", "links/0/column": "zip"}
    assert visitor.send("/dictionaries/links", fields).status_code == 404
    fields = {"dataset": "example-members", "upload": name, "name": "x"}
    assert visitor.send("/dictionaries/links", fields).status_code == 404
    assert visitor.send(GATE, {**FILE, "dataset": name}, ("a.csv", b"city\nGary\n")).status_code == 404


def test_a_form_that_was_not_made_for_the_session_makes_nothing(visitor: Visitor):
    before = visitor.names("rules") | visitor.names("hierarchies") | visitor.names("uploads")
    for path in (RULE, HARM, CITY, "/dictionaries/links"):
        assert visitor.browser.post(path, data={"do": "store", "name": "forged"}).status_code == 403
    for path in (GATE, "/dictionaries/new"):
        file = {"file": ("a.csv", b"city\nGary\n")}
        assert visitor.browser.post(path, data={"form_token": "guess"}, files=file).status_code == 403
    assert visitor.names("rules") | visitor.names("hierarchies") | visitor.names("uploads") == before


# --- a rule by hand ----------------------------------------------------------------------------------------


def test_a_preview_has_an_address_and_the_numbers_of_the_interface(visitor: Visitor):
    fields = {
        "do": "preview", "rule/levels/city": "3", "rule/levels/birth_date": "3", "name": "unused",
        "rule/suppress_classes_below": "4", "dictionary": "example-census", "sensitivity": "example-harm",
    }  # fmt: skip
    rules = visitor.names("rules")
    shown = visitor.send(RULE, fields)
    assert shown.status_code == 303
    assert "form_token" not in shown.headers["location"]
    page = visitor.browser.get(shown.headers["location"])
    levels = {"city": 3, "race": 0, "birth_date": 3, "income": 0}
    rule = {"kind": "table_level", "levels": levels, "suppress_classes_below": 4}
    asked = {"dataset": "example-members", "rule": rule}
    measured = visitor.api.post("/measurements", json={**asked, "measure": {"kind": "equivalence_classes"}})
    found = measured.json()["result"]
    assert fact(page, "Smallest class") == str(found["k"])
    assert fact(page, "Suppressed") == str(found["judged"]["records_suppressed"])
    against = {"dictionary": "example-census", "sensitivity": "example-harm"}
    score = visitor.api.post("/assessments", json={**asked, **against}).json()["result"]
    assert float(fact(page, "Mean risk")) == pytest.approx(score["risk_average"], rel=1e-3)
    assert "Records 1 to 12 of" in page.text
    assert '<option value="3" selected>3: such as ' in page.text
    assert visitor.names("rules") == rules


def test_a_rule_is_stored_under_its_name_and_can_begin_another(visitor: Visitor):
    fields = {"do": "store", "rule/levels/city": "2", "name": "by-hand", "rule/suppress_classes_below": "3"}
    assert visitor.send(RULE, fields).headers["location"] == "/rules/by-hand"
    stored = visitor.api.get("/rules/by-hand").json()
    assert (stored["levels"]["city"], stored["suppress_classes_below"]) == (2, 3)
    page = visitor.browser.get(f"{RULE}?from=by-hand")
    assert '<option value="2" selected>' in page.text


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"rule/levels/city": "9", "name": "n"}, "rule/levels/city"),
        ({"rule/levels/city": "-1", "name": "n"}, "rule/levels/city"),
        ({"rule/levels/city": "²", "name": "n"}, "rule/levels/city"),
        ({"rule/suppress_classes_below": "1", "name": "n"}, "rule/suppress_classes_below"),
        ({"rule/suppress_classes_below": "9" * 30, "name": "n"}, "rule/suppress_classes_below"),
        ({"name": ""}, "name"),
        ({"name": "no name"}, "name"),
        ({"name": "example-proposal"}, "name"),
    ],
)
def test_a_rule_that_cannot_be_stored_is_told_beside_its_field(visitor: Visitor, fields, field):
    page = visitor.send(RULE, {"do": "store", **fields})
    assert page.status_code == 422
    assert set(faults(page)) == {field}


# --- dictionaries and weights ------------------------------------------------------------------------------


def test_a_file_becomes_a_dictionary_in_two_steps(visitor: Visitor):
    lines = "race;zip;age\nWhite;47906;30\nBlack;47901;40\n"
    first = {"dataset": "example-members", "delimiter": "semicolon", "encoding": "utf-8"}
    sent = visitor.send("/dictionaries/new", first, ("My census.csv", lines.encode()))
    second = visitor.browser.get(sent.headers["location"])
    assert '<option value="race" selected>race</option>' in second.text
    upload = sent.headers["location"].partition("upload=")[2]
    fields = {
        "dataset": "example-members", "upload": upload, "name": "sent-census",
        "links/1/column": "race", "links/2/column": "age", "links/2/transform/kind": "age",
    }  # fmt: skip
    page = visitor.send("/dictionaries/links", fields)
    assert set(faults(page)) == {"links/2/transform/reference_date"}
    made = visitor.send("/dictionaries/links", {**fields, "links/2/transform/reference_date": "2020-04-01"})
    shown = visitor.browser.get(made.headers["location"])
    assert "ages in years" in shown.text
    assert visitor.api.get("/dictionaries/sent-census").json()["entities"] == 2


@pytest.mark.parametrize(
    ("fields", "places"),
    [
        ({"name": "x"}, {"links/0/column"}),
        ({"name": "", "links/1/column": "race"}, {"name"}),
        ({"name": "x", "links/1/column": "nothing"}, {"links/1/column"}),
        ({"name": "x", "links/1/column": "race", "identifier": "nothing"}, {"links/1/column"}),
        ({"name": "example-census", "links/1/column": "race"}, {"name"}),
    ],
)
def test_links_that_cannot_be_made_are_told_beside_their_fields(visitor: Visitor, fields, places):
    about = {"dataset": "example-members", "upload": "example-census"}
    page = visitor.send("/dictionaries/links", about | fields)
    assert page.status_code == 422
    assert set(faults(page)) == places


def test_weights_become_a_profile_and_bad_ones_are_told(visitor: Visitor):
    bad = {"name": "w", "family": "linear", "attributes/city/leaves": "-1", "attributes/race/leaves": "much"}
    page = visitor.send(HARM, bad)
    assert set(faults(page)) == {"attributes/city/leaves", "attributes/race/leaves"}
    fields = {"name": "sent-harm", "family": "linear", "attributes/city/leaves": "0.25", "unit": "euro"}
    made = visitor.send(HARM, fields)
    assert made.headers["location"] == "/sensitivity-profiles/sent-harm"
    assert "euro" in visitor.browser.get(made.headers["location"]).text
    assert visitor.api.get("/sensitivity-profiles/sent-harm").json()["attributes"]["city"]["max"] == 0.25


# --- hierarchies -------------------------------------------------------------------------------------------


def lines_in(page: httpx.Response) -> str:
    found = re.search(r"<textarea[^>]*>(.*?)</textarea>", page.text, re.DOTALL)
    assert found is not None
    return html.unescape(found[1])


def levels_in(page: httpx.Response) -> list[list[str]]:
    """Level by level: groups, records of the smallest and of the greatest."""
    rows = re.findall(r'<tr><th scope="row">\d[^<]*</th>((?:<td class="num">[^<]*</td>){3})</tr>', page.text)
    return [re.findall(r">([^<]+)<", row) for row in rows]


def test_values_are_regrouped_by_ticking_and_the_sizes_follow(visitor: Visitor):
    lines = lines_in(visitor.browser.get(CITY))
    assert lines.startswith("West Lafayette;Tippecanoe County;Indiana;Midwest\n")
    two = ["Lafayette", "West Lafayette"]
    fields = {"lines": lines, "level": "0", "pick": two, "into": "Monroe County", "do": "move"}
    page = visitor.send(CITY, fields)
    assert page.status_code == 200
    moved = lines_in(page)
    assert moved.startswith("West Lafayette;Monroe County;Indiana;Midwest\nLafayette;Monroe County;")
    merged = visitor.send(
        CITY, {"lines": moved, "level": "3", "pick": "South", "into": "Dixie", "do": "merge"}
    )
    renamed = lines_in(merged)
    assert "South\n" not in renamed
    more = visitor.send(CITY, {"lines": renamed, "level": "3", "do": "add"})
    fewer = visitor.send(CITY, {"lines": lines_in(more), "level": "4", "do": "remove"})
    assert lines_in(fewer) == renamed
    made = visitor.send(CITY, {"lines": renamed, "do": "store", "name": "city-2", "dataset": "members-2"})
    assert made.headers["location"] == "/datasets/members-2"
    tree = visitor.api.get("/datasets/members-2/attributes/city/tree", params={"depth": 3}).json()["root"]
    counties = [county for region in tree["children"] for state in region["children"]
                for county in state["children"]]  # fmt: skip
    sizes = [county["records"] for county in counties if county["records"]]
    assert levels_in(fewer)[1] == [str(len(counties)), str(min(sizes)), str(max(sizes))]
    old = {one["name"]: one for one in visitor.api.get("/datasets/example-members").json()["attributes"]}
    assert old["city"]["hierarchy"] == "example-city"
    uses = visitor.browser.get("/hierarchies/city-2").text
    assert "/datasets/members-2/attributes/city" in uses


def test_what_is_edited_stays_from_data_if_what_it_was_made_of_is(visitor: Visitor):
    """From a column's own values, and from what was edited from them; a declared hierarchy stays declared."""
    known = visitor.api.get("/hierarchies/example-city").json()
    assert known["from_data"] is False
    attributes = [{"name": "city", "type": "categorical", "role": "quasi_identifier"}]
    upload = visitor.api.get("/datasets/example-members").json()["upload"]
    body = {"name": "undeclared", "upload": upload, "attributes": attributes}
    assert visitor.api.post("/datasets", json=body).status_code == 201
    for page, hierarchy, dataset, from_data in (
        ("/datasets/undeclared/attributes/city/edit", "first-edit", "edited-once", True),
        ("/datasets/edited-once/attributes/city/edit", "second-edit", "edited-twice", True),
        (CITY, "declared-edit", "declared-edited", False),
    ):
        lines = lines_in(visitor.browser.get(page))
        sent = {"lines": lines, "do": "store", "name": hierarchy, "dataset": dataset}
        assert visitor.send(page, sent).headers["location"] == f"/datasets/{dataset}"
        assert visitor.api.get(f"/hierarchies/{hierarchy}").json()["from_data"] is from_data


@pytest.mark.parametrize(
    ("fields", "field", "said"),
    [
        ({"lines": "a;b\na;c", "do": "show"}, "lines", "repeats the value"),
        ({"lines": "a;b;c\nd;b;e", "do": "show"}, "lines", "puts the group b into e"),
        ({"lines": 'a;"b', "do": "store", "name": "x"}, "lines", "quotes"),
        ({"lines": "a;b", "do": "merge", "level": "1", "pick": "b"}, "into", "no name"),
        (
            {"lines": "a;b", "do": "merge", "level": "0", "pick": "a", "into": "c"},
            "level",
            "cannot be merged",
        ),
        ({"lines": "a;b", "do": "move", "level": "1", "pick": "b", "into": "c"}, "level", "no level above"),
        ({"lines": "a;b", "do": "remove", "level": "0"}, "level", "cannot be removed"),
        ({"lines": "a;b", "do": "store", "name": "no name"}, "name", "no name"),
        ({"lines": "a;b", "do": "store", "name": "example-city"}, "name", "exists with other content"),
        ({"lines": "a;b", "do": "store", "name": "n", "dataset": "no name"}, "dataset", "no name"),
    ],
)
def test_a_change_that_cannot_be_made_is_told_beside_its_field(visitor: Visitor, fields, field, said):
    page = visitor.send(CITY, fields)
    assert page.status_code == 422
    assert said in faults(page)[field]


def test_lines_that_leave_values_of_the_data_out_say_so(visitor: Visitor):
    lines = lines_in(visitor.browser.get(CITY)).split("\n", 1)[1]
    page = visitor.send(CITY, {"lines": lines, "do": "show"})
    assert re.search(r"No line is about 1 values that \d+ records have", page.text)


def test_a_hierarchy_of_too_many_values_is_not_offered_in_lines(visitor: Visitor):
    page = visitor.browser.get("/datasets/example-members/attributes/birth_date/edit")
    assert "up to 2,000 can be changed by hand" in page.text
    assert "<textarea" not in page.text


def test_without_the_data_sizes_are_not_told(served: Served, journey: Journey):
    for assessor in visitor_of(served, journey.assessor_token):
        page = assessor.browser.get(CITY)
        assert levels_in(page)[0] == ["52", "–", "–"]
        assert "may not see how many records" in page.text
        release = assessor.browser.get("/releases/example-release").text
        assert "Your key may not download the table" in release


# --- what was measured and released ------------------------------------------------------------------------


def test_every_kind_is_listed_from_the_overview(visitor: Visitor):
    overview = visitor.browser.get("/").text
    for kind in (
        "hierarchies", "dictionaries", "sensitivity-profiles", "measurements", "releases", "view-checks",
        "relational-schemas", "mechanism-audits",
    ):  # fmt: skip
        assert f'<a href="/{kind}">' in overview
        assert "example-" in visitor.browser.get(f"/{kind}").text


def test_a_measurement_says_what_its_numbers_mean(visitor: Visitor):
    page = visitor.browser.get("/measurements/example-measurement").text
    assert "Size of the smallest class; null if no record was judged." in html.unescape(page)
    assert "The result is exact." in page


def test_an_audit_shows_what_is_needed_of_what_is_promised(visitor: Visitor):
    page = visitor.browser.get("/mechanism-audits/example-audit").text
    assert "<strong>not refuted</strong> <span>Nothing was found, which is no proof.</span>" in page
    assert '<th scope="row">delta</th><td class="num">0.00492583</td><td class="num">0.01</td>' in page
    assert "δ = 0.01, against a dictionary of 3 entities, by the exact laws" in page


def test_a_check_shows_each_pair_by_its_letter_and_the_chosen_one_with_its_rows(visitor: Visitor):
    page = visitor.browser.get("/view-checks/example-views").text
    letters = re.findall(r'class="pair-letter (\w+)" href="[^"]*"[^>]*>([PDU])<', page)
    assert letters == [
        ("discloses", "D"), ("discloses", "D"), ("private", "P"), ("private", "P"), ("unknown", "U"),
        ("private", "P"),
    ]  # fmt: skip
    # Not chosen: the first of the worst. The deciding row is said in words, not by its colour alone.
    assert '<h2 id="pair">wards beside cancer-patients</h2>' in page
    assert page.count("▶ decides") == 2
    assert "FROM patient JOIN <mark>diagnosis</mark> USING (pid)" in page
    assert "FROM <mark>diagnosis</mark>\nGROUP BY ward" in page
    assert "Some view discloses something about a secret. Keys are considered.</span>" in page
    assert '<p><span class="tag">discloses</span> With the keys left out: The row diagnosis(' in page
    assert "Even if keys are unknown to readers, some pair discloses something." in page
    chosen = visitor.browser.get("/view-checks/example-views?secret=cancer-patients&view=not-c").text
    assert "Not read exactly: NOT LIKE at line 1, column 33." in chosen
    assert "▶ decides" not in chosen
    assert visitor.browser.get("/view-checks/example-views?secret=no&view=no").text.count("▶ decides") == 2


def test_a_schema_shows_its_relations_and_what_weakens_a_verdict(visitor: Visitor):
    listed = visitor.browser.get("/relational-schemas").text
    assert '<a href="/relational-schemas/example-schema">example-schema</a>' in listed
    page = visitor.browser.get("/relational-schemas/example-schema")
    rows = re.findall(r'<tr><th scope="row">(.*?)</th><td>(.*?)</td><td>(.*?)</td></tr>', page.text)
    assert rows[:4] == [
        ("pid", "whole numbers", "never"),
        ("ward", "whole numbers", "possible"),
        ("diagnosis", "any value, compared by equality", "never"),
        ("insured", "only false, true", "never"),
    ]
    assert [fact(page, own) for own in ("Keys", "Refers to")] == ["(pid, diagnosis)", "patient"]
    said = html.unescape(page.text)
    for own in ("Columns whose values are listed", "What foreign keys tell", "Keys and dependencies change"):
        assert f"<li>{own}" in said
    (warning,) = visitor.api.get("/relational-schemas/example-schema").json()["warnings"]
    assert f'<p class="notice">{warning}</p>' in said


def test_a_schema_of_relations_and_of_datasets_says_what_it_was_made_of(visitor: Visitor):
    attributes = ["zip", "city", "<b>"]
    domains = {"zip": [*range(25)], "city": "number"}
    declared = {"attributes": attributes, "domains": domains, "fds": [[["zip"], ["city"]]]}
    body = {"name": "declared", "relations": {f"r{i}": declared for i in range(102)}}
    assert visitor.api.post("/relational-schemas", json=body).status_code == 201
    page = visitor.browser.get("/relational-schemas/declared").text
    assert "The first 100; the interface answers 2 more." in page
    assert "(zip) determines (city)" in page
    assert "17, 18, 19 and 5 more" in page
    assert "none: two rows may be alike" in page
    assert "&lt;b&gt;" in page
    made = {"name": "of-members", "datasets": ["example-members"]}
    assert visitor.api.post("/relational-schemas", json=made).status_code == 201
    page = visitor.browser.get("/relational-schemas/of-members").text
    assert ', made of stored datasets: <a href="/datasets/example-members">example-members</a>.' in page
    assert 'class="notice">' in page
    asked = {
        "name": "by-schema", "relational_schema": "declared",
        "secrets": [{"id": "s", "query": "s(z) :- r0(z, c, b)."}],
        "views": [{"id": "v", "query": "v(z) :- r1(z, c, b)."}],
    }  # fmt: skip
    assert visitor.api.post("/view-checks", json=asked).status_code == 201
    check = visitor.browser.get("/view-checks/by-schema").text
    assert 'by the schema <a href="/relational-schemas/declared">declared</a>' in check


def test_the_verdict_on_a_view_says_what_would_pass(visitor: Visitor):
    condition = {
        "kind": "perfect_privacy", "language": "datalog",
        "secrets": [{"id": "ill", "query": "s(p) :- stay(p, 'ill').", "reason": "As promised."}],
    }  # fmt: skip
    policy = {
        "format": "privacy-risk/policy/2", "name": "views", "version": 1, "title": "Views",
        "assumes": {"attacker": "Any reader."},
        "requirements": [{"id": "s", "title": "Nothing leaks", "reason": "So.", "requirement": condition}],
    }  # fmt: skip
    assert visitor.api.post("/policies", json=policy).status_code == 201
    asked = {
        "name": "views-verdict",
        "relational_schema": {"relations": {"stay": {"attributes": ["pid", "state"]}}},
        "views": [{"id": "people", "query": "v(p) :- stay(p, x)."}],
    }
    assert visitor.api.post("/gates/views/evaluations", json=asked).status_code == 201
    page = html.unescape(visitor.browser.get("/evaluations/views-verdict").text)
    assert "<b>people beside ill</b>: discloses. The row stay(" in page
    assert "<b>To pass:</b> Add the condition x != 'ill' to the rule" in page
    assert "<code>v(p) :- stay(p, x), x != 'ill'.</code>" in page
    assert "Keys are considered.</span>" in page


def test_a_verdict_that_ignores_keys_says_so_where_it_says_what_it_is(visitor: Visitor):
    condition = {
        "kind": "perfect_privacy", "language": "datalog",
        "secrets": [{"id": "ill", "query": "s(p) :- stay(p, 'ill').", "reason": "As promised."}],
        "keys": "ignored", "keys_reason": "Numbers are new in each list.",
    }  # fmt: skip
    policy = {
        "format": "privacy-risk/policy/2", "name": "without-keys", "version": 1, "title": "Views",
        "assumes": {"attacker": "Any reader."},
        "requirements": [{"id": "s", "title": "Nothing leaks", "reason": "So.", "requirement": condition}],
    }  # fmt: skip
    assert visitor.api.post("/policies", json=policy).status_code == 201
    asked = {
        "name": "verdict-without-keys",
        "relational_schema": {"relations": {"stay": {"attributes": ["pid", "state"], "keys": [["pid"]]}}},
        "views": [{"id": "well", "query": "v(p) :- stay(p, 'well')."}],
    }
    assert visitor.api.post("/gates/without-keys/evaluations", json=asked).status_code == 201
    page = html.unescape(visitor.browser.get("/evaluations/verdict-without-keys").text)
    assert "Keys are ignored.</span>" in page
    assert (
        "is private if keys are unknown to readers. Keys are ignored: Numbers are new in each list." in page
    )
    assert "<td>every view is private if keys are unknown to readers, beside ill</td>" in page


def test_a_check_in_datalog_marks_the_subgoals_that_meet(visitor: Visitor):
    query = "s(n) :- stay(n, 'stay(1)', w),\n  bed(w)."
    body = {
        "name": "in-datalog",
        "relational_schema": {
            "relations": {"stay": {"attributes": list("abc")}, "bed": {"attributes": ["a"]}}
        },
        "secrets": [{"id": "s", "query": query}],
        "views": [
            {"id": "v", "query": "stay(n) :- stay(n, 'stay(1)', 5)."},
            {"id": "<b>", "query": "v() :- bed(1)."},
        ],
    }
    assert visitor.api.post("/view-checks", json=body).status_code == 422
    body["views"].pop()
    assert visitor.api.post("/view-checks", json=body).status_code == 201
    page = html.unescape(visitor.browser.get("/view-checks/in-datalog").text)
    assert "s(n) :- <mark>stay(n, 'stay(1)', w)</mark>,\n  bed(w)." in page
    assert "stay(n) :- <mark>stay(n, 'stay(1)', 5)</mark>." in page


def test_a_release_says_how_it_was_made(visitor: Visitor):
    page = visitor.browser.get("/releases/example-release").text
    assert "in an order that says nothing of the records" in page
    assert 'href="/releases/example-release/data"' in page


def test_rows_of_noisy_counts_are_not_called_records(stranger: Visitor):
    table = "town,illness\n" + "Rome,flu\nBari,gout\n" * 40
    columns = [
        {"name": "town", "type": "categorical", "role": "quasi_identifier"},
        {"name": "illness", "type": "categorical", "role": "sensitive"},
    ]
    mechanism = {"kind": "stability_histogram", "epsilon": 1, "delta": 1e-6, "least_records": 50}
    headers = {"Content-Type": "text/csv"}
    api = stranger.api
    api.post("/uploads?name=counted", content=table, headers=headers).raise_for_status()
    body = {"name": "counted", "upload": "counted", "attributes": columns}
    api.post("/datasets", json=body).raise_for_status()
    question = {"name": "noisy", "dataset": "counted", "mechanism": mechanism}
    rows = api.post("/releases", json=question).raise_for_status().json()["rows"]
    page = html.unescape(stranger.browser.get("/releases/noisy").text)
    assert f"{rows} rows of noisy counts; no row is a person’s record" in page
    assert f"{rows} records" not in page
    assert "uppressed" not in page
    listed = stranger.browser.get("/releases").text
    assert f"{rows} rows of noisy counts" in listed
    assert f"{rows} records" not in listed


def test_a_release_that_was_drawn_says_what_it_promises_and_whether_it_is_withdrawn(stranger: Visitor):
    table = "town,illness\n" + "Rome,flu\nRome,asthma\nBari,flu\nBari,gout\n" * 10
    columns = [
        {"name": "town", "type": "categorical", "role": "quasi_identifier"},
        {"name": "illness", "type": "categorical", "role": "sensitive"},
    ]
    drawn = {"name": "drawn", "dataset": "ill", "mechanism": {"kind": "perturbation", "beta": 1}}
    api = stranger.api
    columns[1]["hierarchy"] = declared_illnesses(api)
    api.post(
        "/uploads", params={"name": "ill"}, content=table, headers={"Content-Type": "text/csv"}
    ).raise_for_status()
    api.post("/datasets", json={"name": "ill", "upload": "ill", "attributes": columns}).raise_for_status()
    sentence = (
        api.post("/releases", json=drawn).raise_for_status().json()["mechanism"]["guarantees"][0]["sentence"]
    )
    page = html.unescape(stranger.browser.get("/releases/drawn").text)
    assert "with what the mechanism perturbation drew" in page
    assert sentence in page
    assert re.search(r'<th scope="row">drawn once</th><td>assumed</td>', page)
    assert re.search(r'<th scope="row">domain is public</th><td>assumed</td>', page)
    assert re.search(r"<dt>β</dt><dd>1</dd>", page)
    assert page.count("published as") == 9
    (after,) = re.findall(r'<th scope="row">gout</th><td class="num">10</td><td class="num">(\d+)</td>', page)
    assert int(after) == stranger.browser.get("/releases/drawn/data").text.count("gout")
    assert "standard error" in page
    assert stranger.browser.get("/releases/drawn/data").text.startswith("town,illness\n")
    report = stranger.browser.get("/releases/drawn/report")
    assert 'filename="ill-drawn-report.html"' in report.headers["content-disposition"]
    assert sentence in html.unescape(report.text)
    assert '<th scope="row">3 gout</th><td class="num">25 %</td>' in report.text
    assert "src=" not in report.text
    assert "drawn" in stranger.browser.get("/releases").text
    assert 'href="/releases/drawn"' in stranger.browser.get("/datasets/ill").text
    api.post("/releases/drawn/withdrawal").raise_for_status()
    withdrawn = stranger.browser.get("/releases/drawn").text
    assert "It was withdrawn on" in withdrawn
    assert "After, as expected" in withdrawn
    assert 'href="/releases/drawn/data"' not in withdrawn
