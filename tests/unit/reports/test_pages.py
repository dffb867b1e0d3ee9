"""Pages of reports: complete, for people, for print, and harmless whatever stands in a document."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest

from app.evidence.canonical import sha256_of_bytes
from app.evidence.faults import EvidenceError
from app.reports.numbers import number, records
from app.reports.page import PAGE_POLICY, render_page
from tests.unit.reports.documents import (
    KEY,
    assessment_result,
    criterion,
    signed,
    statement,
    verdict_result,
)


class Outline(HTMLParser):
    """Tags, headings and texts of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words))

    def named(self, tag):
        return [attributes for own, attributes in self.tags if own == tag]


def page_of(made=None) -> Outline:
    return Outline(render_page(signed(made)))


def verdict_with(**members) -> Outline:
    return page_of(statement(result=verdict_result() | members))


ASSESSMENT = statement("assessment")


def test_a_verdict_says_all_that_an_officer_needs():
    text = page_of().text
    for said in (
        "Failed The release does not keep every blocking criterion of the policy: do not release it.",
        "Of 5 criteria: 1 passed, 2 failed (1 of them only a warning), 1 failed, waived, 1 not computable",
        "public-release, version 3",
        "members, 20,000 records",
        "What a row is Each row counts as one person: assumed, nobody said so.",
        "Anyone who can look people up in a population register",
        "census (1,250,000 people)",
        "On average a record carries a risk of 0.124 ; the record at greatest risk one of 0.8 .",
        "Half of the records carry at most 0.1, 95 % at most 0.4.",
        "Nobody stands out: 312 records, among them rows 3, 17, 19500.",
        "0.07 ± 0.004",
        "Ids are not comparable. Declare the identifiers.",
        "until-the-census D. P. Officer 2027-01-31 The region is new.",
        "The nearest change that passes: generalise every record at least as far as city to level 2, race to "
        "level 1, and suppress 4 records. The mean utility then is 7.25 instead of 8.5.",
        "No change that only generalises this rule further passes; another rule may.",
        "Attackers who know incomes were not assessed.",
        "hierarchy (city) city " + "f" * 64,
        "k_map version 1",
        "estimate: 7",
        "python -m app verify report.json --keys keys.json --html report.html",
        KEY.id,
        sha256_of_bytes(signed()),
    ):  # fmt: skip
        assert said in text, said


def test_a_verdict_follows_the_questions_that_its_policy_names():
    outline = [
        {
            "title": "Singling out",
            "source": "Opinion <05/2014>",
            "text": "Told apart?",
            "requirements": ["bound"],
        },
        {"title": "Actual knowledge", "source": "The rule", "text": "Ask yourself.", "requirements": []},
    ]
    page = page_of(statement(policy={"outline": outline}))
    text = page.text
    assert "Singling out Opinion <05/2014> Told apart?" in text
    assert "Actual knowledge The rule Ask yourself. No criterion of this policy answers it." in text
    first, second, rest = (
        text.index(said) for said in ("Singling out", "Actual knowledge", "What else the policy requires")
    )
    assert first < text.index("Ids are not comparable. Declare the identifiers.") < second
    assert rest < text.index("Nobody stands out: the value is 312")
    assert text.count("Why this number:") == len(verdict_result()["criteria"])
    assert "Question by question" not in page_of(statement(policy={"outline": []})).text
    assert "Question by question" not in page_of().text


def test_a_report_on_classes_alone_speaks_of_no_risk_and_no_sensitivity_that_nobody_asked_for():
    classes = criterion(
        "k", "Nobody stands out", "passed", 0.0, "at_most", 0.0,
        demand={"kind": "privacy_model", "model": {"kind": "k_anonymity", "k": 5}},
        quantity={"what": "in classes that fail k-anonymity (k = 5)", "of_records": 20_000},
    )  # fmt: skip
    result = verdict_result()
    result["subject"] |= {"dictionaries": {}, "sensitivity": None}
    text = page_of(statement(result=result | {"criteria": [classes], "risk": None, "changes": []})).text
    for never in (
        "model I",
        "sensitivity profile",
        "Harm is valued",
        "dictionary fits",
        "no safety",
        "risk_model",
    ):
        assert never not in text, never
    assert "in classes that fail k-anonymity (k = 5)" in text
    assert "0 of 20,000 records at most 0" in text
    assert "k: 0 of 20,000 records in classes that fail k-anonymity (k = 5) (at most 0), passes" in text
    spoken = page_of().text
    for said in ("(model I)", "sensitivity profile harm", "no safety", "risk_model"):
        assert said in spoken, said


def test_a_report_says_who_asked_which_file_it_is_about_and_whose_key_signed_it():
    files = [{"role": "release", "name": "out.csv", "sha256": "9" * 64}]
    key = {"kind": "key", "id": "k-1", "name": "nightly"}
    text = page_of(statement(files=files, asked_by=key, signed_by="service")).text
    for said in (
        "Release file out.csv " + "9" * 64,
        "Asked by the key “nightly” (k-1)",
        "service's public keys",
    ):
        assert said in text, said
    pipeline = {"kind": "pipeline", "id": None, "name": None}
    text = page_of(statement(asked_by=pipeline, signed_by="temporary")).text
    assert "a pipeline that says nothing of itself" in text
    assert "It does not prove who signed it" in text
    assert "shows who signed" not in text
    assert "pipeline's public keys" in page_of(statement(signed_by="pipeline")).text


def test_an_assessment_says_what_it_found_and_judges_nothing():
    text = page_of(ASSESSMENT).text
    for said in (
        "members under proposal",
        "An assessment states numbers.",
        "risk of 0.124 ; the record at greatest risk one of 0.8 .",
        "If every record's own person were known to the attacker, the average would be 0.2.",
        "Hardest to hide: 4 records that fit only 2 of the people in the dictionary.",
        "The smallest equivalence class has 1 record;",
        "3 records fit nobody in the dictionary.",
        "Warning: One warning.",
        "Attackers with other knowledge than the named dictionary were not assessed.",
    ):
        assert said in text, said


@pytest.mark.parametrize(
    ("verdict", "word"), [("pass", "Passed"), ("fail", "Failed"), ("error", "Not decided")]
)
def test_no_verdict_can_be_taken_for_another(verdict, word):
    page = verdict_with(verdict=verdict)
    assert {"Passed", "Failed", "Not decided"} & {data.strip() for data in page.words} == {word}
    assert [own["class"] for own in page.named("div") if "verdict" in own["class"]] == [f"verdict {verdict}"]


@pytest.mark.parametrize("made", [None, ASSESSMENT], ids=["verdict", "assessment"])
def test_a_mean_is_never_without_its_maximum_and_quantiles(made):
    page = page_of(made)
    described = [data for data in page.words if data.startswith("mean 0.124")]
    assert described == [
        "mean 0.124; 5 % are at most 0.01; 50 % are at most 0.1; 95 % are at most 0.4; greatest 0.8"
    ]


@pytest.mark.parametrize("made", [None, ASSESSMENT], ids=["verdict", "assessment"])
def test_a_page_runs_and_loads_nothing(made):
    page = page_of(made)
    assert not {"script", "link", "img", "iframe", "form", "a"} & {tag for tag, _ in page.tags}
    assert not [attributes for _, attributes in page.tags if "style" in attributes]
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
    style = re.search(r"<style>(.*?)</style>", render_page(signed(made)), re.DOTALL).group(1)
    hashed = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{hashed}'" in PAGE_POLICY
    (policy,) = [own["content"] for own in page.named("meta") if own.get("http-equiv")]
    assert policy + "; frame-ancestors 'none'" == PAGE_POLICY


@pytest.mark.parametrize("made", [None, ASSESSMENT], ids=["verdict", "assessment"])
def test_a_page_can_be_read_by_those_who_do_not_see_it(made):
    page = page_of(made)
    tags = [tag for tag, _ in page.tags]
    assert page.named("html") == [{"lang": "en"}]
    assert [tags.count(tag) for tag in ("header", "main", "footer", "h1")] == [1, 1, 1, 1]
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for section in page.named("section"):
        assert section["aria-labelledby"] in ids
    for picture in page.named("svg"):
        assert set(picture["aria-labelledby"].split()) <= set(ids)
    assert all(own.get("scope") in ("row", "col") for own in page.named("th"))
    assert tags.count("figure") == tags.count("figcaption") > 0


def test_texts_of_a_document_cannot_become_part_of_the_page():
    bad = '</title></style><script>alert(1)</script><img src=x onerror="alert(1)">'
    result = verdict_result()
    result["policy"] |= {"title": bad, "attacker": bad}
    result["subject"] |= {
        "dataset": bad,
        "dictionaries": {bad: {"name": bad, "sha256": "c" * 64, "entities": 3}},
    }
    result["criteria"] = [criterion(bad, bad, "failed", 3, "at_most", 0, explanation=bad, reason=bad)]
    result |= {"not_covered": [bad], "warnings": [bad], "risk": {bad: result["risk"]["register"]}}
    made = statement(result=result, parameters={"dataset": bad, "options": {"risk_model": bad}})
    page = page_of(made)
    assert not {"script", "img"} & {tag for tag, _ in page.tags}
    assert page.named("style") == [{}]


def test_verdicts_without_pictures_risks_or_changes_have_a_page():
    unknown = criterion("x", "X", "not_computable", None, "equals", True)
    page = verdict_with(criteria=[unknown], risk=None, changes=[], not_covered=[])
    assert "Attackers with other knowledge than what is assumed above." in page.text
    assert page.named("svg") == []


def test_what_a_verdict_takes_for_granted_of_the_order_is_on_its_page():
    page = verdict_with(assumptions=["The rows leave in an order of their own."])
    assert "The rows leave in an order of their own." in page.text


def test_a_release_file_and_infinite_numbers_are_shown():
    subject = verdict_result()["subject"] | {
        "rule": None,
        "release": {"upload": "final", "upload_sha256": "a" * 64, "aligned_by": "key", "records": 19_999},
    }
    infinite = criterion("inf", "Prohibited", "failed", "inf", "at_most", 1, margin="-inf")
    page = verdict_with(
        subject=subject,
        criteria=[infinite],
        risk={"register": verdict_result()["risk"]["register"] | {"risk_max": "inf"}},
    )
    assert "final, 19,999 records, aligned with the data set by key" in page.text
    assert "∞ (at most 1)" in page.text
    assert "the record at greatest risk one of ∞" in page.text


def test_an_assessment_of_several_dictionaries_has_a_page():
    result = assessment_result() | {"n_entities": None, "add_self_risk_average": None, "infinite": 2}
    result["histogram"] = result["histogram"] | {"counts": None}
    text = page_of(statement("assessment", result=result)).text
    assert "2 records of infinite risk" in text
    assert "How the risk would be if every record's own person were known" in text


def test_what_is_no_report_has_no_page():
    with pytest.raises(EvidenceError):
        render_page(signed() + b"\n")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"), (True, "yes"), (1_234_567, "1,234,567"), ("inf", "∞"), ("-inf", "−∞"), (0.5, "0.5"),
        (2.0, "2"), (1e-9, "1.000e-09"), (12345.678, "12,345.7"), (1 / 3, "0.3333"), (0.0, "0"),
    ],
)  # fmt: skip
def test_numbers_are_written_for_people(value, text):
    assert number(value) == text


def test_words_go_with_numbers():
    assert (records(1), records(20_000)) == ("1 record", "20,000 records")
