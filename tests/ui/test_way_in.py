"""From a file to its profile by the pages, as a browser without script does it."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

import httpx
import pytest

from app.samples.patients import csv_of_patients
from app.services.resources import Scope
from tests.ui.conftest import Served
from tests.ui.forms import declared, followed, sent, signed_in, text_of, token_in

PATIENTS = csv_of_patients(300)


@pytest.fixture
def browser(served: Served) -> Iterator[httpx.Client]:
    """Signed in with the key of a new tenant."""
    with httpx.Client(base_url=served.url, headers={"Accept": "text/html"}, timeout=60) as client:
        signed_in(client, served.new_token())
        yield client


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
    made = browser.post("/uploads/patients", data=declared(page))
    assert (made.status_code, made.headers["location"]) == (303, "/datasets/patients/profile")
    profile = text_of(browser.get("/datasets/patients/profile"))
    assert re.search(r"\d+ of 300 records are unique by Geburtsdatum, Geschlecht, PLZ", profile)
    assert re.search(r"single out \d+ of 300 people, and no fewer columns do", profile)
    assert re.search(r"Share of all that is singled out: (\w+ \d+ %, )+\w+ \d+ %\.", profile)
    assert re.search(r"Kosten: \d+ rows have a value that no other person has\.", profile)
    assert "Made of it: patients" in text_of(browser.get("/uploads/patients"))
    # The back button, and a second tab.
    again = browser.post("/uploads/patients", data=declared(page))
    assert again.headers["location"] == made.headers["location"]
    assert text_of(browser.get("/datasets")).count("300 records") == 1


@pytest.mark.parametrize(
    ("content", "fields", "field", "said"),
    [
        (b"", {}, "file", "The file is empty."),
        (b"a;b;c\n" + b"1;2;3\n" * 3 + b"1;2\n", {}, "file", "more or fewer cells in row 4"),
        (
            b"%PDF-1.7\n%\xe2\xe3\n1 0 obj\n",
            {},
            "file",
            "it is a PDF document. Send the table that it was made of",
        ),
        (
            b"c1;c2;c3;c4;c5;c6;c7;c8;c9;c10\n" + b"1;2;3;4;5;6;7;8;9\n" * 20,
            {},
            "file",
            "The table has 10 columns, but there are more or fewer cells in rows 1, 2, 3,",
        ),
        (b"a,b,c\n", {}, "file", "has no record below them. Send a table with one record at least"),
        (b"a,a\n1,2\n", {"header": "true"}, "file", "Columns 1 and 2 are both called 'a'."),
        (
            b"a,b\n" + b"1,2\n" * 300_000,
            {},
            "file",
            "larger than the 1000000 bytes that are accepted here. Send fewer",
        ),
        ("a,b\nä,2\n".encode("latin-1"), {"encoding": "utf-8"}, "encoding", "are not valid utf-8"),
        (b"a,b\n1,2\n", {"name": "no blanks"}, "name", "no name that the service takes. Write up to 100"),
    ],
)
def test_what_is_refused_stands_beside_its_field_with_a_remedy(browser, content, fields, field, said):
    page = sent(browser, content, "t.csv", **fields)
    assert page.status_code == 422
    assert said in fault_at(page, field)
    assert f'href="#f-{field}"' in page.text
    assert "None yet." in browser.get("/uploads").text


def test_a_first_line_that_was_taken_for_a_record_is_told_with_what_to_do(browser):
    content = b"a,a,b\n1,2,3\n4,5,6\n"
    asked = sent(browser, content, "t.csv")
    assert asked.status_code == 422
    assert "the name of another column in column 2" in fault_at(asked, "header")
    sent(browser, content, "t.csv", header="false")
    page = browser.get("/uploads/t")
    assert "names of columns differ from each other" in text_of(page)
    again = html.unescape(re.search(r'<a href="([^"]*)">send the file again</a>', page.text)[1])
    assert '<option value="true" selected>names of the columns' in browser.get(again).text


def test_a_marker_that_may_be_a_value_is_asked_about(browser):
    content = b"land,n\nDE,1\nNA,2\nFR,3\n"
    assert "NA looks like other values of land" in fault_at(sent(browser, content, "t.csv"), "missing")
    sent(browser, content, "t.csv", missing="empty")
    assert "3 different values" in text_of(browser.get("/uploads/t"))
    sent(browser, content, "u.csv", missing="usual")
    assert "2 different values, 1 missing" in text_of(browser.get("/uploads/u"))


def test_days_and_months_that_may_change_places_have_to_be_told_apart(browser):
    content = b"born\n".replace(b"\n", b",n\n") + b"".join(
        b"01/%02d/1980,%d\n" % (n % 12 + 1, n) for n in range(36)
    )
    sent(browser, content, "t.csv")
    page = browser.get("/uploads/t")
    form = declared(page)
    assert form["attributes/0/format"] == "undecided"
    refused = browser.post("/uploads/t", data=form)
    assert refused.status_code == 422
    assert "what of the dates of born is the month" in text_of(refused)
    told = browser.post("/uploads/t", data=form | {"attributes/0/format": "mm/dd/yyyy"})
    assert told.status_code == 303, text_of(told)


def test_different_values_are_told_of_the_records_that_were_looked_at(browser):
    rows = b"".join(b"%d,%d\n" % (n % 90, n) for n in range(60_000))
    sent(browser, b"age,n\n" + rows, "t.csv")
    found = re.search(
        r"90 different values in the first ([\d,]+) records", text_of(browser.get("/uploads/t"))
    )
    assert int(found[1].replace(",", "")) < 60_000


def test_a_file_that_breaks_off_leaves_nothing(browser):
    token = token_in(browser.get("/start"))
    body = (
        f'--x\r\nContent-Disposition: form-data; name="form_token"\r\n\r\n{token}\r\n'
        '--x\r\nContent-Disposition: form-data; name="file"; filename="t.csv"\r\n\r\na,b\n1,2\n'
    )
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    page = browser.post("/start", content=body.encode(), headers=headers)
    assert page.status_code == 422
    assert "broke off before its end" in fault_at(page, "file")
    assert "None yet." in browser.get("/uploads").text


def test_what_was_said_of_the_file_is_heeded_and_a_taken_name_is_not_proposed(browser):
    first = sent(browser, b"a|b;c\n1|2;3\n", "t.csv", delimiter="|")
    second = sent(browser, b"a\tb\n1\t2\n", "t.csv", delimiter="tab")
    assert [one.headers["location"] for one in (first, second)] == ["/uploads/t", "/uploads/t-2"]
    assert "2 columns" in text_of(browser.get("/uploads/t"))
    assert 'href="/start?delimiter=tab&amp;encoding=utf-8"' in browser.get("/uploads/t-2").text
    chosen = browser.get("/start?delimiter=tab&encoding=utf-8").text
    assert '<option value="tab" selected>' in chosen


def test_without_a_file_the_form_says_so_and_a_forged_one_takes_nothing_in(browser):
    token = token_in(browser.get("/start"))
    page = browser.post("/start", data={"form_token": token}, files={"file": ("", b"")})
    assert "No file was chosen." in fault_at(page, "file")
    forged = browser.post("/start", data={"form_token": "guess"}, files={"file": ("t.csv", b"a\n1\n")})
    assert forged.status_code == 403
    assert "None yet." in browser.get("/uploads").text


def test_a_script_is_told_where_the_upload_is(browser):
    token = token_in(browser.get("/start"))
    answer = browser.post(
        "/start",
        data={"form_token": token},
        files={"file": ("t.csv", b"a,b\n1,2\n")},
        headers={"Prefer": "return=minimal"},
    )
    assert (answer.status_code, answer.headers["location"]) == (201, "/uploads/t")


def test_where_the_session_has_ended_what_was_said_of_the_file_is_kept(browser, served):
    browser.cookies.clear()
    page = browser.post(
        "/start",
        data={"form_token": "of before", "name": "mine", "delimiter": ";"},
        files={"file": ("t.csv", b"a\n1\n")},
        headers={"Origin": served.url},
    )
    assert page.status_code == 401
    assert "choose the file again" in page.text
    assert 'name="next" value="/start?name=mine&amp;delimiter=%3B"' in page.text


TABLE = b"zip,sex,ill\n" + b"".join(b"%05d,%s,x%d\n" % (n // 2, b"mf"[n % 2 :][:1], n % 3) for n in range(60))


def test_what_is_wrong_with_a_column_stands_there_and_a_second_try_is_not_blocked(browser):
    sent(browser, TABLE, "people.csv")
    page = browser.get("/uploads/people")
    fields = declared(page)
    wrong = browser.post("/uploads/people", data={**fields, "attributes/1/map": "m f"})
    assert "Line 1 is no replacement." in fault_at(wrong, "attributes:2F1:2Fmap")
    assert html.unescape(wrong.text).count("m f</textarea>") == 1
    # Hierarchies that suit other values: the table needs attention, and is not kept so.
    stray = browser.post(
        "/uploads/people", data={**fields, "attributes/1/map": "m → male", "attributes/1/hierarchy": "flat"}
    )
    assert stray.status_code == 422
    assert "30 cells of sex hold values" in fault_at(stray, "attributes:2F1:2Fon_unknown")
    assert "None yet." in browser.get("/datasets").text
    mended = browser.post("/uploads/people", data={**declared(stray), "attributes/1/on_unknown": "attach"})
    assert mended.headers["location"] == "/datasets/people/profile"
    other = browser.post("/uploads/people", data=fields)
    assert "exists with other content" in fault_at(other, "name")


def test_a_refusal_names_the_column_of_the_form_although_others_are_left_out(browser):
    sent(browser, TABLE, "people.csv")
    fields = declared(browser.get("/uploads/people"))
    page = browser.post(
        "/uploads/people",
        data={
            **fields,
            "attributes/0/role": "other",
            "attributes/2/type": "number",
            "attributes/2/on_unreadable": "refuse",
        },
    )
    assert "holds cells that are no number" in fault_at(page, "attributes:2F2:2Fon_unreadable")
    for role in ("other", "identifier"):
        none = {**fields, **{f"attributes/{place}/role": "other" for place in range(3)}}
        page = browser.post("/uploads/people", data={**none, "attributes/1/role": role})
        assert page.status_code == 422
        assert "No column would be released" in fault_at(page, "attributes:2F0:2Frole")


def test_a_table_without_quasi_identifiers_is_profiled_without_uniqueness(browser):
    sent(browser, TABLE, "people.csv")
    fields = declared(browser.get("/uploads/people"))
    fields |= {f"attributes/{place}/role": role for place, role in enumerate(("other", "other", "sensitive"))}
    made = browser.post("/uploads/people", data=fields)
    assert "No column is a quasi-identifier" in text_of(browser.get(made.headers["location"]))


def test_who_may_not_read_data_declares_the_columns_unseen(served):
    actor, _ = served.do(served.api.tenant_with_key())
    writer = served.do(served.api.key_with(actor, Scope.DATA_WRITE))
    reader = served.do(served.api.key_with(actor, Scope.DATA_READ))
    with httpx.Client(base_url=served.url, headers={"Accept": "text/html"}, timeout=60) as browser:
        signed_in(browser, reader)
        assert "may not store data" in browser.get("/start").text
        signed_in(browser, writer)
        sent(browser, TABLE, "people.csv")
        page = browser.get("/uploads/people")
        assert "nothing can be proposed" in page.text
        # As a word: within ids and tokens it occurs by chance.
        assert not re.search(r"\b00001\b", page.text)
        fields = {**declared(page), "attributes/0/role": "quasi_identifier"}
        made = browser.post("/uploads/people", data=fields)
        assert made.headers["location"] == "/datasets/people/profile"
        assert browser.get(made.headers["location"]).status_code == 403


COSTS = b"pid,day,cost\n1,2026-01-02,5\n1,2026-01-01,2\n2,2026-01-01,4\n,2026-01-03,1\n"


def test_one_row_per_person_is_made_by_a_form(browser):
    assert sent(browser, COSTS, "visits.csv").headers["location"] == "/uploads/visits"
    there = "/uploads/visits/one-row-per-person"
    assert f'href="{there}"' in browser.get("/uploads/visits").text
    asked = {
        "form_token": token_in(browser.get(there)),
        "name": "people",
        "person": "pid",
        "order_by": "day",
        "columns/pid": "most_frequent",  # as the form sends it of every column
        "columns/day": "last",
        "columns/cost": "sum",
    }
    refused = browser.post(there, data=asked)
    assert refused.status_code == 422
    assert "empty in 1 of 4 rows, in row 4" in fault_at(refused, "person")
    assert re.search(r'<option value="sum" selected>', refused.text)
    assert browser.get("/uploads/people").status_code == 404
    made = browser.post(there, data=asked | {"on_missing": "on"})
    assert (made.status_code, made.headers["location"]) == (303, "/uploads/people")
    page = browser.get("/uploads/people")
    said = text_of(page)
    assert "One row per person by column pid: 4 rows became 3 persons." in said
    assert "of visits" in said
    assert "<td>7</td>" in page.text
    wrong = browser.post(there, data=asked | {"on_missing": "on", "name": "others", "columns/day": "mean"})
    assert "no number in rows 1, 2, 3, 4" in fault_at(wrong, "columns:2Fday")


def test_who_may_not_make_uploads_is_told_so_and_makes_none(served):
    actor, writer = served.do(served.api.tenant_with_key())
    reader = served.do(served.api.key_with(actor, Scope.DATA_READ))
    there = "/uploads/visits/one-row-per-person"
    with httpx.Client(base_url=served.url, headers={"Accept": "text/html"}, timeout=60) as browser:
        signed_in(browser, writer)
        sent(browser, COSTS, "visits.csv")
        signed_in(browser, reader)
        page = browser.get(there)
        assert "may not make uploads" in page.text
        asked = {"form_token": token_in(page), "name": "people", "person": "pid"}
        assert browser.post(there, data=asked).status_code == 403
        assert browser.get("/uploads/people").status_code == 404


VISITS = b"pid,region,sex,dx\n" + b"".join(
    f"p{p:02},R{p % 6},{'fm'[p // 6 % 2]},d{visit % 4}\n".encode() for p in range(24) for visit in range(6)
)


def test_a_table_of_visits_is_refused_until_somebody_says_what_a_row_is(browser, served: Served):
    sent(browser, VISITS, "visits.csv")
    page = browser.get("/uploads/visits")
    assert "Each row is a person" in page.text
    roles = ("other", "quasi_identifier", "quasi_identifier", "sensitive")
    fields = declared(page) | {f"attributes/{place}/role": role for place, role in enumerate(roles)}
    del fields["rows_are"]  # a box that is not ticked sends nothing
    made = browser.post("/uploads/visits", data={**fields, "name": "unsaid"})
    goal = {"template": "k", "k": "5", "suppressed": "0", "loss": "geometric"}
    told = "One person seems to have several rows"
    for place in (made.headers["location"], "/datasets/unsaid", "/datasets/unsaid/goal"):
        shown = text_of(browser.get(place))
        assert told in shown
        assert "By 'pid' there are 24 persons." in shown
    goal["form_token"] = token_in(browser.get("/datasets/unsaid/goal"))
    refused = browser.post("/datasets/unsaid/goal", data=goal)
    assert refused.status_code == 422
    assert "with a column of the role person or with each row as a person" in text_of(refused)
    both = browser.post("/uploads/visits", data={**fields, "attributes/0/role": "person", "rows_are": "on"})
    assert both.status_code == 422
    assert "says whom a row is about, and rows_are says that each is a person" in fault_at(both, "rows_are")
    for name, said, first, shows in (
        # By region and sex two persons each, with six rows.
        (
            "people",
            {"attributes/0/role": "person"},
            "by the column pid: 24 have 144 rows.",
            "not shown at all",
        ),
        ("rows", {"rows_are": "on"}, "Each row counts as one person, as was said.", "shown as they are"),
    ):
        made = browser.post("/uploads/visits", data={**fields, **said, "name": name})
        assert made.headers["location"] == f"/datasets/{name}/profile"
        shown = text_of(browser.get(made.headers["location"]))
        assert told not in shown
        assert shown.index(first) < shown.index("records, or persons, in the smallest class")
        found = browser.post(f"/datasets/{name}/goal", data=goal)
        assert found.status_code == 303
        place = f"{followed(served, browser, found)}?alternative=one_level_per_column"
        release = text_of(browser.get(place))
        assert re.search(rf"region[a-z, ]* (is|are) {shows}", release)
