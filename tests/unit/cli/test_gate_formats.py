"""A gate's outcome in every format: each is read by a parser, and held to what its format demands."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.cli.gate import FORMATS
from app.cli.gate_verdict import Kept, Outcome, read_verdict
from app.cli.given_views import GivenView, GivenViews, Place
from tests.oracles.effort import examples
from tests.unit.cli.verdict_documents import ERROR, FAIL, PASS, criterion, verdict

EVIDENCE = {"id": "e", "sha256": "0" * 64}


def outcome(document, subject="data/members.csv"):
    return Outcome("policy.yaml", subject, read_verdict(document), None, "evaluation-1", EVIDENCE)


FAULT = Outcome("policy.yaml", "members.csv", None, "There is no file members.csv.")
OUTCOMES = [outcome(PASS), outcome(FAIL), outcome(ERROR), FAULT]


def test_text_says_verdict_values_and_what_would_pass():
    text = FORMATS["text"](outcome(FAIL))
    assert text.startswith("FAIL  data/members.csv under public-release@2\n")
    assert "  failed   Title of b: 1; at least 5 is required\n" in text
    assert "Of 12 records 3 are in classes of fewer than 5; none may be." in text
    assert (
        "To pass all criteria: generalise at least to city 1 and suppress 2 records (utility 10.5 → 9)."
        in text
    )
    assert "Not covered: What the choice of suppressed cells tells." in text
    assert "Waived by A. Person until 2027-01-01: Agreed." in FORMATS["text"](outcome(PASS))
    lapsed = {"approved_by": "A. Person", "until": "2027-01-01", "reason": "r"}
    for lapse, said in (
        ("other_content", "for other data."),
        ("other_criterion", "for another criterion."),
        ("expired", "not in force."),
    ):
        document = verdict(
            "fail", criterion("a", "failed", waiver=lapsed | {"in_force": False, "lapse": lapse})
        )
        assert said in FORMATS["text"](outcome(document))
    assert "no value; at least 5 is required" in FORMATS["text"](outcome(ERROR))
    assert "There is none. Give one." in FORMATS["text"](outcome(ERROR))
    assert FORMATS["text"](FAULT) == "ERROR  members.csv under policy.yaml\n  There is no file members.csv.\n"


ROWS = {"kind": "persons", "column": None, "persons": None, "said_by": "policy", "sentence": "Each <is> one."}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"rows_are": ROWS}, "Each <is> one."),
        # A service from before did not say what a row is: nobody had said so.
        ({}, "Each row counts as one person: assumed, nobody said so."),
        ({"subject": {"views": {"v": "0" * 64}}}, None),
    ],
)
def test_what_a_row_is_comes_first_in_every_format(more, said):
    one = outcome(verdict("pass", criterion("a"), **more))
    text, markdown = FORMATS["text"](one).splitlines(), FORMATS["markdown"](one).splitlines()
    junit, sarif = Xml.fromstring(FORMATS["junit"](one)), json.loads(FORMATS["sarif"](one))
    properties = {own.get("name"): own.get("value") for own in junit.findall(".//property")}
    if said is None:
        assert text[1].split()[0] == "passed"
        assert markdown[2].startswith("| |")
        assert (properties, "properties" in sarif["runs"][0]) == ({}, False)
    else:
        assert text[1] == f"  {said}"
        assert re.sub(r"\\(.)", r"\1", unescape(markdown[2])) == said
        assert properties == sarif["runs"][0]["properties"] == {"rows_are": said}


def test_text_names_what_a_pass_rests_on_and_says_nothing_more_of_others():
    said = "The release promises it, certified. Assumed, which the policy allows: dictionary is public."
    told = {
        holds: FORMATS["text"](outcome(verdict("pass", criterion("a", explanation=said, hypotheses=rests))))
        for holds, rests in {
            "assumed": [{"id": "dictionary_is_public", "holds": "assumed", "reason": "Nobody checks it."}],
            "yes": [{"id": "rule_is_public", "holds": "yes", "reason": "There is none."}],
            "none": [],
        }.items()
    }
    assert f"  passed   Title of a: 6; at least 5 is required\n           {said}\n" in told["assumed"]
    assert said not in told["yes"] + told["none"]


def test_text_answers_the_questions_of_the_policys_outline():
    headings = (
        {"title": "Who is singled out?", "source": "An office, 2025", "text": "…", "requirements": ["b"]},
        {"title": "What is inferred?", "source": "An office, 2025", "text": "…", "requirements": []},
    )
    text = FORMATS["text"](replace(outcome(FAIL), outline=headings))
    asked = text.index("  Question  Who is singled out? (An office, 2025)\n    failed   Title of b\n")
    assert text.index("    no criterion of this policy answers it\n") > asked
    assert "Question" not in FORMATS["text"](outcome(FAIL))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"status": "none_exists", "proven": True},
            "No rule that only generalises this one further passes Title of b; another rule may.",
        ),
        (
            {"status": "not_found", "proven": False},
            "No rule was found that only generalises this one further and passes Title of b; another rule "
            "may.",
        ),
        (
            {
                "status": "found", "proven": False, "levels": None, "suppressed_records": 3,
                "utility_before": 2, "utility_after": 1.5,
            },
            "To pass Title of b: generalise nothing further and suppress 3 records "
            "(utility 2 → 1.5; not proven nearest).",
        ),
    ],
)  # fmt: skip
def test_text_says_too_where_no_change_is_known(change, sentence):
    document = verdict("fail", criterion("b", "failed"), changes=[{"for": "b", **change}])
    assert sentence in FORMATS["text"](outcome(document))


SHARE = {"what": "in classes that fail k-anonymity (k = 5)", "of_records": 20_000}


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            {"value": 0.0, "threshold": 0.0, "comparison": "at_most", "quantity": SHARE},
            "0 of 20,000 records in classes that fail k-anonymity (k = 5); at most 0 is required",
        ),
        (
            {"value": 0.0156, "threshold": 0.02, "comparison": "at_most", "quantity": SHARE},
            "312 of 20,000 records in classes that fail k-anonymity (k = 5); at most 2 % is required",
        ),
        (
            {"value": 6, "quantity": {"what": "mean risk of the records", "of_records": None}},
            "mean risk of the records 6; at least 5 is required",
        ),
        ({"value": 6, "quantity": None}, "6; at least 5 is required"),
    ],
)
@pytest.mark.parametrize("format_", ["text", "markdown", "sarif", "junit"])
def test_a_number_is_told_with_what_it_is_of(found, said, format_):
    one = outcome(verdict("pass", criterion("a", "passed", **found | {"margin": 0})))
    text = FORMATS[format_](one)
    if format_ in ("text", "markdown"):
        assert said in text.replace("\\", "")
    failed = outcome(verdict("fail", criterion("a", "failed", **found)))
    assert said in FORMATS[format_](failed).replace("\\", "")


def test_no_value_is_told_with_what_it_would_be_of():
    unknown = criterion("a", "not_computable", quantity={"what": "mean risk", "of_records": None})
    assert "no value for mean risk; at least 5" in FORMATS["text"](outcome(verdict("error", unknown)))


KEPT = {
    Kept("service"): "Stored on the server as the evaluation evaluation-1",
    Kept("temporary"): "Nothing of this is stored: --report FILE writes the signed evidence",
    Kept("temporary", Path("r.json"), Path("r.keys.json")): "any change, but not who signed it",
    Kept("pipeline", Path("r.json"), Path("k")): "Evidence written to r.json, the public key to k",
}


@pytest.mark.parametrize(("kept", "said"), KEPT.items())
def test_only_what_stays_is_called_stored(kept, said):
    text = FORMATS["text"](replace(outcome(PASS), kept=kept))
    assert said in text
    assert ("Stored" in text) is (kept.signed_by == "service")


def test_a_change_that_serves_one_and_all_is_said_once():
    (for_all,) = FAIL["changes"]
    text = FORMATS["text"](outcome({**FAIL, "changes": [{**for_all, "for": "b", "examined": 3}, for_all]}))
    assert text.count("To pass") == 1


@pytest.mark.parametrize("one", OUTCOMES)
def test_json_is_one_object_with_exit_status_and_result(one):
    document = json.loads(FORMATS["json"](one))
    assert document["exit_code"] == one.exit_code
    assert document["verdict"] == one.headline.lower()
    assert document["result"] == (one.verdict and one.verdict.document)
    assert document["evidence"] == (EVIDENCE if one.verdict else None)


@pytest.mark.parametrize(
    ("one", "counts"),
    [
        (outcome(PASS), ("3", "0", "0", "2")),
        (outcome(FAIL), ("2", "1", "0", "0")),
        (outcome(ERROR), ("2", "1", "1", "0")),
        (FAULT, ("1", "0", "1", "0")),
    ],
)
def test_junit_has_a_case_per_criterion_and_counts_that_agree(one, counts):
    (suite,) = suites = Xml.fromstring(FORMATS["junit"](one))
    for element in (suites, suite):
        assert tuple(element.get(key) for key in ("tests", "failures", "errors", "skipped")) == counts
    assert len(suite.findall("testcase")) == int(counts[0])
    assert [own.tag for own in suite if own.tag != "testcase"] == ([] if one is FAULT else ["properties"])
    for case in suite.findall("testcase"):
        assert case.get("name")
        assert case.get("classname")
        assert len(case) <= 1
    if one.exit_code == 0:
        assert suite.find("testcase/failure") is suite.find("testcase/error") is None


def check_sarif(document, one):
    """What SARIF 2.1.0 demands of each object that is written, by section of the standard."""
    assert document["version"] == "2.1.0"  # 3.13.2
    assert document["$schema"].endswith("sarif-schema-2.1.0.json")
    (run,) = document["runs"]  # 3.13.4
    driver = run["tool"]["driver"]  # 3.14.6, 3.18.2
    assert driver["name"]  # 3.19.8
    ids = [rule["id"] for rule in driver["rules"]]  # 3.49.3
    assert len(set(ids)) == len(ids)
    for rule in driver["rules"]:
        assert rule["shortDescription"]["text"]  # 3.49.9, 3.12.3
        assert rule["defaultConfiguration"]["level"] in ("error", "warning")  # 3.50.3
    for invocation in run["invocations"]:
        assert invocation["executionSuccessful"] is (one.exit_code != 2)  # 3.20.14
        assert invocation["exitCode"] == one.exit_code  # 3.20.8
        for notification in invocation.get("toolExecutionNotifications", ()):
            assert notification["message"]["text"]  # 3.58.5
    for result in run["results"]:  # 3.14.23
        assert result["message"]["text"]  # 3.27.11
        assert ids[result["ruleIndex"]] == result["ruleId"]  # 3.27.5, 3.27.6
        assert result["level"] in ("none", "note", "warning", "error")  # 3.27.10
        for location in result["locations"]:
            physical = location["physicalLocation"]  # 3.28.3
            assert re.fullmatch(r"[A-Za-z0-9._~/%:-]+", physical["artifactLocation"]["uri"])  # 3.4.3
            assert physical["region"]["startLine"] >= 1  # 3.30.5
        for suppression in result.get("suppressions", ()):
            assert suppression["kind"] in ("inSource", "external")  # 3.35.2
            assert suppression["status"] in ("accepted", "underReview", "rejected")  # 3.35.3


@pytest.mark.parametrize("one", OUTCOMES)
def test_sarif_holds_what_the_standard_requires(one):
    check_sarif(json.loads(FORMATS["sarif"](one)), one)


def test_sarif_has_a_result_for_what_is_not_met_and_suppresses_what_is_waived():
    results = json.loads(FORMATS["sarif"](outcome(PASS)))["runs"][0]["results"]
    assert [(r["ruleId"], r["level"], "suppressions" in r) for r in results] == [
        ("b", "warning", False), ("c", "note", True),
    ]  # fmt: skip
    run = json.loads(FORMATS["sarif"](FAULT))["runs"][0]
    (invocation,) = run["invocations"]
    assert invocation["toolExecutionNotifications"][0]["message"]["text"] == FAULT.fault
    assert run["results"] == []


def test_markdown_is_a_heading_and_a_table_of_as_many_cells_in_every_row():
    lines = FORMATS["markdown"](outcome(PASS)).splitlines()
    assert lines[0] == r"## PASS: data/members.csv under public\-release\@2"
    rows = [line for line in lines if line.startswith("|")]
    assert len(rows) == 2 + 3
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {5}
    assert r"generalise at least to city 1" in FORMATS["markdown"](outcome(FAIL))


@pytest.mark.parametrize("format_", ["text", "markdown", "junit", "sarif"])
def test_a_view_that_fails_is_told_with_the_change_that_would_pass_by_its_file(format_):
    step = {
        "action": "add_condition", "relation": "d", "condition": "d.ill != 'x'", "line": 3, "column": 6,
        "explanation": "Add the condition d.ill != 'x' to the SELECT that reads d at line 3, column 6.",
    }  # fmt: skip
    change = {"status": "found", "steps": [step], "query": None, "explanation": step["explanation"]}
    pair = {
        "secret": "s", "view": "v", "verdict": "DISCLOSES", "explanation": "A row decides both.",
        "witness": {"view": {"places": [{"line": 3, "column": 6}]}}, "nearest_change": change,
        "not_exact": {"view": []},
    }  # fmt: skip
    cut = {**pair, "view": "w", "nearest_change": {"status": "not_looked_for", "explanation": "Not looked."}}
    document = verdict("fail", criterion("a", "failed", pairs=[pair, cut]))
    base = GivenView("base", "", "models/base.sql")
    origins = [(1, 3, Place("models/base.sql", 11))]
    views = (base, GivenView("v", "", "models/v.sql", origins, {"models/base.sql": 2}))
    given = GivenViews("m.json", {}, "s.sql", views)
    told = FORMATS[format_](replace(outcome(document, "m.json"), views=given))
    if format_ in ("markdown", "junit"):
        told = unescape(re.sub(r"\\(.)", r"\1", told))
    assert "To pass: Add the condition d.ill != 'x' to the SELECT that reads d at models/base.sql:13." in told
    assert "Not looked." in told
    assert "To pass: Not looked." not in told
    assert "A row decides both." in told


@pytest.mark.parametrize("format_", ["text", "markdown", "json"])
def test_warnings_are_told_where_the_verdict_is(format_):
    told = FORMATS[format_](outcome({**PASS, "warnings": ["The release file keeps an order."]}))
    assert "The release file keeps an order." in told


@given(
    text=st.text(max_size=40),
    subject=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20),
)
@settings(max_examples=examples(100))
def test_no_text_of_a_policy_breaks_a_format(text, subject):
    document = verdict(
        "fail",
        criterion("a", "failed", title=text, reason=text, explanation=text),
        criterion(
            "b", "waived", waiver={"approved_by": text, "reason": text, "until": text, "in_force": True}
        ),
        not_covered=[text],
        warnings=[text],
    )
    one = outcome(document, subject)
    assert Xml.fromstring(FORMATS["junit"](one)).find("testsuite/testcase/failure") is not None
    check_sarif(json.loads(FORMATS["sarif"](one)), one)
    assert json.loads(FORMATS["json"](one))["result"] == document
    for line in FORMATS["markdown"](one).splitlines():
        assert not re.search(r"(?<!\\)[<>`]", line)
        assert not line.startswith("|") or len(re.findall(r"(?<!\\)\|", line)) == 5


HOSTILE = "Fine\n::error::gone\nPASS  all\x1b[2J\x9b2J \u202eneerg\u2028##[command]\u2066\ud800"


@pytest.mark.parametrize("format_", ["text", "markdown", "junit"])
def test_no_text_of_a_policy_writes_a_line_or_moves_a_cursor(format_):
    hostile = criterion("a", "failed", title=HOSTILE, reason=HOSTILE, explanation=HOSTILE)
    known = criterion("a", "failed", title="Fine", reason="Fine", explanation="Fine")
    texts = [
        FORMATS[format_](outcome(verdict("fail", own), subject))
        for own, subject in ((hostile, HOSTILE), (known, "members.csv"))
    ]
    assert texts[0].count("\n") == texts[1].count("\n")
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066\ud800]", texts[0])
    fault = FORMATS[format_](Outcome("p", "s", None, "::stop-commands::x\n##vso[task.complete]"))
    for text in (*texts, fault):
        assert not [line for line in text.splitlines() if line.lstrip().startswith(("::", "##[", "##v"))]


@pytest.mark.parametrize("format_", ["json", "sarif"])
def test_json_shows_no_marks_either_and_loses_nothing(format_):
    hostile = criterion("a", "failed", title=HOSTILE, reason=HOSTILE, explanation=HOSTILE)
    document = verdict("fail", hostile, criterion("b", title="Größe ≥ 5"))
    text = FORMATS[format_](outcome(document, HOSTILE))
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066\ud800]", text)
    assert "Größe ≥ 5" in text
    if format_ == "json":
        assert json.loads(text)["result"] == document
        return
    (run,) = json.loads(text)["runs"]
    shown = [*run["tool"]["driver"]["rules"], *run["results"]]
    messages = [own[key]["text"] for own in shown for key in own.keys() & {"message", "shortDescription"}]
    assert messages
    assert not re.search("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066\ud800]", "".join(messages))
