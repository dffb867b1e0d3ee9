"""Reports computed again, against a stub of the service: what counts as the same, and what cannot be told."""

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from app.cli import embedded, gate_service
from app.cli.program import run
from app.cli.recomputed import differences, versions
from app.evidence.keys import PublicKey, keys_bytes
from app.services.fingerprints import resource_sha256
from app.services.resources import Kind
from app.services.rules.rule_documents import SUPPRESSION_KEYS, rule_sha256
from privacy_risk import Client, Retries
from tests.unit.cli.gate_stub import Stub
from tests.unit.cli.verdict_documents import PUBLIC, criterion, report_of, verdict
from tests.unit.reports.documents import KEY, withdrawn_report

POLICY = {"name": "public-release", "version": 2, "dictionaries": [], "criteria": []}
POLICY_HASH = resource_sha256(Kind.POLICY, {key: own for key, own in POLICY.items() if key != "name"}, {})
AS_IS = {"kind": "table_level", "levels": {"city": 0}}
RESULT = verdict(
    "fail",
    criterion("a", value=0.1 + 0.2, margin=0.25),
    criterion("b", "failed", value=3),
    subject={
        "dataset": "members", "dataset_sha256": "1" * 64, "rule": {"name": "proposal", "kind": "identity"},
        "dictionaries": {"register": {"name": "census", "entities": 40}}, "records": 12, "sensitivity": None,
    },
    changes=[{"for": "all", "status": "found", "levels": {"city": 1}, "rule": {"rule": "proposal"}}],
    warnings=[],
)  # fmt: skip


def stated_rule(definition: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A rule as reports state it, with its hash for the dataset of these tests."""
    empty = dict.fromkeys(("name", "levels", "records", *SUPPRESSION_KEYS))
    return {**empty, **definition, "sha256": rule_sha256(definition, "1" * 64), **more}


def predicate(**more: Any) -> dict[str, Any]:
    return copy.deepcopy({
        "report": "verdict",
        "version": 1,
        "issued_at": "2026-11-20T12:00:00.000000Z",
        "service": {"version": "0.1.0", "python": "3.11.2", "libraries": {"numpy": "2.3.0"}},
        "resource": {"name": "members-gate", "sha256": "0" * 64},
        "inputs": [
            {"role": "dataset", "name": "members", "sha256": "1" * 64, "slot": None},
            {"role": "dictionary", "name": "census", "sha256": "2" * 64, "slot": "register"},
            {"role": "waiver", "name": "w", "sha256": "3" * 64, "slot": None},
            {"role": "policy", "name": "public-release@2", "sha256": POLICY_HASH, "slot": None},
        ],
        "parameters": {
            "dataset": "members",
            "rule": stated_rule(AS_IS, kind="identity"),
            "release": None, "dictionaries": {}, "sensitivity": None, "failure": None, "options": {},
            "change_rules": 100,
        },
        "policy": POLICY,
        "measures": {},
        "seeds": {},
        "hypotheses": [],
        "result": RESULT,
        "tolerance": {"absolute": 1e-9},
        **more,
    })  # fmt: skip


def with_result(**changes: Any) -> dict[str, Any]:
    return predicate(result={**RESULT, **changes})


def with_criterion(number: int, **changes: Any) -> dict[str, Any]:
    criteria = copy.deepcopy(RESULT["criteria"])
    criteria[number] |= changes
    return with_result(criteria=criteria)


def test_what_is_the_same_has_no_differences():
    assert differences(predicate(), predicate()) == []
    assert versions(predicate(), predicate()) == []


def test_names_are_nothing_to_recompute():
    now = predicate()
    now["inputs"][0]["name"] = "members-0123"
    now["result"]["subject"] |= {"dataset": "members-0123", "rule": {"name": None, "kind": "table_level"}}
    now["result"]["subject"]["dictionaries"]["register"]["name"] = "census-0123"
    now["result"]["changes"][0]["rule"] = {"rule": "other"}
    assert differences(predicate(), now) == []


def test_what_would_make_a_view_pass_is_advice_and_verdicts_on_pairs_are_compared():
    change = {"status": "found", "steps": [], "query": "v(x) :- r(x).", "explanation": "Leave it out."}
    pair = {"secret": "s", "view": "v", "verdict": "DISCLOSES"}
    advised, not_looked_for, private = (
        with_criterion(1, pairs=[own])
        for own in ({**pair, "nearest_change": change}, pair, {**pair, "verdict": "PRIVATE"})
    )
    assert differences(advised, not_looked_for) == differences(not_looked_for, advised) == []
    assert differences(advised, private) == [
        "result/criteria/1/pairs/0/verdict: DISCLOSES in the report, PRIVATE now"
    ]


@pytest.mark.parametrize(("factor", "same"), [(1 + 1e-13, True), (1 + 1e-11, False), (1 - 1e-11, False)])
def test_reals_agree_to_twelve_digits(factor, same):
    found = differences(predicate(), with_criterion(0, value=(0.1 + 0.2) * factor))
    assert (found == []) is same
    assert same or found[0].startswith("result/criteria/0/value: 0.3")


@pytest.mark.parametrize(
    "now",
    [
        with_criterion(1, value=4),
        with_criterion(1, value=3.0000001),
        with_criterion(1, value=True),
        with_criterion(1, value=None),
        with_criterion(1, outcome="passed"),
        with_result(criteria=RESULT["criteria"][:1]),
        with_result(changes=[]),
        with_result(not_covered=[]),
    ],
)
def test_integers_outcomes_and_texts_are_equal_or_differ(now):
    assert differences(predicate(), now)


def test_what_only_later_versions_say_is_no_difference():
    now = with_result(assumptions=["The rows leave in an order of their own."])
    now["result"]["subject"] |= {"order": "shuffled", "order_chosen": False}
    assert differences(predicate(), now) == []
    assert differences(now, predicate())
    other = copy.deepcopy(now)
    other["result"]["subject"]["order"] = "records"
    assert differences(now, other) == ["result/subject/order: shuffled in the report, records now"]


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ([{"role": "dataset", "sha256": "9" * 64}], "the dataset is another one"),
        ([], "the dictionary of register is only in one of the two"),
    ],
)
def test_other_inputs_are_named(inputs, said):
    now = predicate(inputs=inputs)
    assert any(said in line for line in differences(predicate(), now))


@pytest.mark.parametrize(
    ("changes", "follows"),
    [
        ({"verdict": "pass"}, "fail"),
        ({"verdict": "error"}, "fail"),
        ({"criteria": [criterion("a")], "verdict": "pass", "coverage": {"uncovered": [{}]}}, "fail"),
        ({"criteria": [criterion("a")], "verdict": "pass", "coverage": {"outcome": "draft_schema"}}, "error"),
    ],
)
def test_a_verdict_that_its_own_criteria_contradict_is_not_the_same(changes, follows):
    claimed = with_result(**changes)
    (line,) = differences(claimed, copy.deepcopy(claimed))
    assert (
        line
        == f"result/verdict: {changes['verdict']} in the report, whose own criteria and columns say {follows}"
    )


def test_how_a_finding_is_worded_is_nothing_to_recompute():
    assert differences(predicate(), with_criterion(1, explanation="Of 12 records 4 are.")) == []


def test_a_waiver_is_no_number():
    """What people waived then is computed as failed now, and is not a difference."""
    then = with_criterion(1, outcome="waived", waiver={"name": "w", "in_force": True})
    then["result"]["verdict"] = "pass"
    assert differences(then, predicate()) == []
    assert differences(then, with_criterion(1, outcome="passed"))


def test_another_budget_for_suggestions_is_no_difference_and_another_suggestion_is():
    now = with_result(changes=[])
    assert differences(predicate(), now)
    now["parameters"]["change_rules"] = 7
    assert differences(predicate(), now) == []


def test_other_libraries_are_named_and_do_not_count():
    now = predicate()
    now["service"]["libraries"]["numpy"] = "2.4.0"
    assert versions(predicate(), now) == ["service/libraries/numpy: 2.3.0 in the report, 2.4.0 now"]
    assert differences(predicate(), now) == []


class Recomputing(Stub):
    """Answers the evidence ``now``."""

    def __init__(self) -> None:
        super().__init__()
        self.now = predicate()

    def __call__(self, request: httpx.Request) -> httpx.Response:
        answer = super().__call__(request)
        if request.url.path.endswith("/evidence") and answer.is_success:
            return httpx.Response(200, content=report_of(self.now))
        return answer


@pytest.fixture
def recomputing(monkeypatch) -> Recomputing:
    answering = Recomputing()

    def client(url: str, key: str, **_: object) -> Client:
        return Client(url, key, transport=httpx.MockTransport(answering), retries=Retries(attempts=1))

    monkeypatch.setattr(gate_service, "Client", client)
    monkeypatch.setattr(embedded, "Client", client)
    return answering


@pytest.fixture
def reproduce(recomputing, operations, files):
    def reproduce(then: dict[str, Any], *more: str) -> int:
        (files / "report.json").write_bytes(report_of(then))
        argv = ["reproduce", "report.json", "--dataset", "members.csv", "--tables", "tables.toml"]
        return run([*argv, *more], operations)

    return reproduce


@pytest.mark.parametrize(
    "withheld",
    [
        {},
        {"suppress_classes_below": 5, "meaning": 2},
        {"suppress_classes_below": 5, "meaning": 1},
        {"suppress_classes_failing": [{"kind": "k_anonymity", "k": 5}], "suppressed": "own_block"},
        {
            "suppress_classes_failing": [{"kind": "average_risk", "threshold": 0.2}],
            "suppression_order": "class_by_class",
        },
    ],
)
def test_the_policy_and_the_rule_of_the_report_are_asked_again(reproduce, recomputing, capsys, withheld):
    definition = {"kind": "table_level", "levels": {"city": 1}, **withheld}
    then = predicate()
    then["parameters"]["rule"] = stated_rule(definition, name="proposal", records=3)
    assert reproduce(then) == 0
    assert recomputing.sent["POST /policies"] == POLICY
    asked = recomputing.sent["POST /gates/public-release@2/evaluations"]
    assert asked["rule"] == definition
    assert "sensitivity" not in asked
    captured = capsys.readouterr()
    assert captured.out.startswith("Same: verdict 'members-gate'")
    assert "The signature is not checked" in captured.err


def test_the_dataset_is_made_again_with_its_columns_in_their_order(recomputing, operations, files):
    (files / "members.csv").write_text("id,city,age\n1,Gary,40\n")
    # Reports are written with their keys sorted.
    roles = {"age": "quasi_identifier", "city": "quasi_identifier", "id": "identifier"}
    policy = {**POLICY, "schema": {"attributes": roles}}
    meaning = {key: own for key, own in policy.items() if key != "name"}
    then = predicate(policy=policy)
    then["inputs"][-1]["sha256"] = resource_sha256(Kind.POLICY, meaning, {})
    then["result"]["coverage"] = {"columns": [{"name": "city"}, {"name": "age"}]}
    (files / "report.json").write_bytes(report_of(then))
    run(["reproduce", "report.json", "--dataset", "members.csv"], operations)
    declared = recomputing.sent["POST /datasets"]["attributes"]
    assert [own["name"] for own in declared] == ["id", "city", "age"]


def mapped(**more: Any) -> dict[str, Any]:
    """A report of a rule without a name that suppresses classes by comparing them with a population."""
    definition = {
        "kind": "table_level",
        "levels": {"city": 1},
        "suppress_classes_failing": [{"kind": "k_map", "k": 4}],
    }
    then = predicate()
    # Its hash is of whom it suppresses as well, which the report does not list.
    then["parameters"]["rule"] = stated_rule(definition, dictionary="census", records=3, sha256="8" * 64)
    then["parameters"]["dictionaries"] = {"register": "census"}
    then["parameters"] |= more
    return then


def test_a_rule_by_a_population_is_asked_again_with_the_file_of_its_dictionary(reproduce, recomputing):
    recomputing.now = then = mapped()
    assert reproduce(then, "--dictionary", "register=census.csv") == 0
    asked = recomputing.sent["POST /gates/public-release@2/evaluations"]
    assert asked["rule"] == {
        "kind": "table_level",
        "levels": {"city": 1},
        "suppress_classes_failing": [{"kind": "k_map", "k": 4}],
        "dictionary": recomputing.sent["POST /dictionaries"]["name"],
    }
    assert asked["dictionaries"] == {"register": asked["rule"]["dictionary"]}


def test_a_rule_by_a_population_in_no_slot_is_refused_before_anything_is_computed(
    reproduce, recomputing, capsys
):
    assert reproduce(mapped(dictionaries={"register": "other"}), "--dictionary", "register=census.csv") == 2
    assert not recomputing.sent
    said = capsys.readouterr().err
    assert "'census', which fills no slot" in said
    assert "--server URL" in said


def test_a_rule_by_a_population_and_by_values_has_to_be_given(reproduce, recomputing, capsys):
    then = mapped()
    values = {"kind": "alpha_k_anonymity", "alpha": 0.5, "k": 2, "values": None}
    then["parameters"]["rule"]["suppress_classes_failing"].append(values)
    assert reproduce(then, "--dictionary", "register=census.csv") == 2
    assert "by its hash only" in capsys.readouterr().err
    assert not recomputing.sent


def test_a_difference_is_1_and_is_named(reproduce, recomputing, capsys):
    recomputing.now = with_criterion(1, value=4)
    assert reproduce(predicate()) == 1
    assert "  result/criteria/1/value: 3 in the report, 4 now" in capsys.readouterr().out


def test_an_assessment_is_asked_again_with_its_options(reproduce, recomputing):
    recomputing.now = then = scored()
    assert reproduce(then) == 0
    asked = recomputing.sent["POST /assessments"]
    assert asked["absent_policy"] == "zero"
    assert asked["dictionary"] == recomputing.sent["POST /dictionaries"]["name"]
    assert asked["sensitivity"] == recomputing.sent["POST /sensitivity-profiles"]["name"]
    recomputing.now = copy.deepcopy(then)
    recomputing.now["result"]["risk_average"] = 0.5 + 1e-9
    assert reproduce(then) == 1


def test_the_signature_is_checked_where_keys_are_given(reproduce, files, capsys):
    (files / "keys.json").write_bytes(keys_bytes([PUBLIC]))
    assert reproduce(predicate(), "--keys", "keys.json") == 0
    other = Ed25519PrivateKey.from_private_bytes(b"o" * 32)
    stranger = PublicKey(other.public_key().public_bytes_raw(), datetime(2026, 1, 1, tzinfo=UTC), None)
    (files / "keys.json").write_bytes(keys_bytes([stranger]))
    assert reproduce(predicate(), "--keys", "keys.json") == 2
    assert "key set" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"rule": {"kind": "record_level", "levels": None, "records": 12, "sha256": "4" * 64}}, "--rule"),
        ({"rule": stated_rule(AS_IS, sha256="4" * 64)}, "--rule"),
        ({"failure": "members-suspicion"}, "--failure"),
        ({"dictionaries": {"register": "census", "other": "census"}}, "--dictionary"),
        ({"rule": None, "release": {"upload": "out", "key": None}}, "--release"),
    ],
)
def test_what_the_report_does_not_hold_cannot_be_told(reproduce, capsys, changes, said):
    then = predicate()
    then["parameters"] |= changes
    assert reproduce(then) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"", b"{}", b'{"payload": "x"}', b"\xff", json.dumps(RESULT).encode()])
def test_what_is_no_report_cannot_be_told(operations, files, content):
    (files / "report.json").write_bytes(content)
    assert run(["reproduce", "report.json", "--dataset", "members.csv"], operations) == 2


def test_a_service_that_refuses_cannot_be_told(reproduce, recomputing, capsys):
    recomputing.answers["POST /policies"] = httpx.Response(422, json={"status": 422, "title": "No"})
    assert reproduce(predicate()) == 2
    assert "422 No" in capsys.readouterr().err


def test_a_policy_whose_values_are_left_out_is_never_stored(reproduce, recomputing, files, capsys):
    """It would be another policy, under the name of the whole one."""
    then = predicate(policy=POLICY | {"criteria": [{"id": "a", "demand": {"measure": None}}]})
    assert reproduce(then) == 2
    assert "--policy" in capsys.readouterr().err
    assert "POST /policies" not in recomputing.sent
    (files / "whole.json").write_text(json.dumps(POLICY))
    assert reproduce(then, "--policy", "whole.json") == 0


def scored(**parameters: Any) -> dict[str, Any]:
    then = predicate(report="assessment", policy=None, result={"risk_average": 0.5, "records": 12})
    then["parameters"] |= {
        "dictionaries": {"dictionary": "census"}, "sensitivity": "harm", "bounds": None,
        "options": {"absent_policy": "zero"}, **parameters,
    }  # fmt: skip
    return then


def test_a_failure_profile_is_a_file_for_the_dataset_that_is_asked_about(
    reproduce,
    recomputing,
    files,
    capsys,
):
    recomputing.now = then = scored(failure="suspicion")
    assert reproduce(then) == 2
    (files / "weights.csv").write_text("id,attribute,weight\n1,city,2\n")
    (files / "suspicion.yaml").write_text(
        "family: multiplicative\nattributes: {city: {constant: .inf}}\n"
        "overrides: {upload: weights.csv, by: entity}\n"
    )
    (files / "harm.json").write_text('{"family": "multiplicative", "attributes": {"city": {"leaves": 1}}}')
    assert reproduce(then, "--sensitivity", "harm.json", "--failure", "suspicion.yaml") == 0
    asked = recomputing.sent["POST /assessments"]
    made = recomputing.sent["POST /sensitivity-profiles"]
    assert asked["failure"] == made["name"]
    assert asked["sensitivity"].startswith("sensitivity-")
    assert (made["dataset"], made["attributes"]) == (asked["dataset"], {"city": {"constant": "inf"}})
    assert recomputing.uploads[made["overrides"]["upload"]][0] == (files / "weights.csv").read_bytes()
    (files / "suspicion.yaml").write_text("dataset: members\n")
    assert reproduce(then, "--failure", "suspicion.yaml") == 2
    assert "/dataset" in capsys.readouterr().err


@pytest.mark.parametrize("true", [None, "census-of-2020"])
def test_a_bound_is_asked_for_with_the_dictionary_it_was_about(reproduce, recomputing, capsys, true):
    recomputing.now = then = scored(bounds={"true_dictionary": true})
    if true is None:
        assert reproduce(then) == 0
        assert recomputing.sent["POST /assessments"]["bounds"] == {"true_dictionary": None}
        return
    assert reproduce(then) == 2
    assert "--true-dictionary" in capsys.readouterr().err
    assert reproduce(then, "--true-dictionary", "census.csv") == 0
    asked = recomputing.sent["POST /assessments"]
    assert asked["bounds"] == {"true_dictionary": recomputing.sent["POST /dictionaries"]["name"]}
    assert asked["dictionary"] == asked["bounds"]["true_dictionary"]


def test_values_of_a_utility_are_given_again(reproduce, recomputing, files, capsys):
    masked = {"kind": "custom", "values": {"city": {"sha256": "5" * 64}}}
    recomputing.now = then = scored(options={"absent_policy": "zero", "utility": masked})
    assert reproduce(then) == 2
    assert "--utility" in capsys.readouterr().err
    (files / "utility.yaml").write_text("kind: custom\nvalues: {city: {Gary: 1}}\n")
    assert reproduce(then, "--utility", "utility.yaml") == 0
    assert recomputing.sent["POST /assessments"]["utility"]["values"] == {"city": {"Gary": 1}}
    recomputing.now = copy.deepcopy(then)
    recomputing.now["parameters"]["options"]["utility"]["values"]["city"]["sha256"] = "6" * 64
    assert reproduce(then, "--utility", "utility.yaml") == 1
    assert "options/utility/values/city/sha256" in capsys.readouterr().out


def test_a_release_file_is_aligned_by_the_key_of_the_report(reproduce, recomputing):
    then = predicate()
    then["parameters"] |= {"rule": None, "release": {"upload": "out", "key": "id"}}
    assert reproduce(then, "--release", "release.csv") == 0
    asked = recomputing.sent["POST /gates/public-release@2/evaluations"]["release"]
    assert asked["key"] == "id"
    assert recomputing.uploads[asked["upload"]][0] == b"id,city\n1,*\n"
    assert "order" not in asked
    assert reproduce(then, "--rule", "rule.yaml") == 2
    assert reproduce(predicate(), "--release", "release.csv") == 2


@pytest.mark.parametrize(
    ("stated", "order"),
    [
        ({"key": None}, "records"),  # before an order could be named, a file without a key had to keep it
        ({"key": None, "order": "records"}, "records"),
        ({"key": None, "order": None}, None),
        ({"key": "id", "order": "records"}, "records"),
    ],
)
def test_a_release_file_is_aligned_by_the_order_that_the_report_says(reproduce, recomputing, stated, order):
    then = predicate()
    then["parameters"] |= {"rule": None, "release": {"upload": "out", **stated}}
    assert reproduce(then, "--release", "release.csv") == 0
    asked = recomputing.sent["POST /gates/public-release@2/evaluations"]["release"]
    assert (asked.get("order"), asked.get("key")) == (order, stated["key"])


@pytest.mark.parametrize(
    ("role", "said"),
    [("dictionary_set", "--dictionary register=NAME"), ("released_rule", "released before")],
)
def test_what_no_file_describes_is_on_a_server(reproduce, capsys, role, said):
    then = predicate()
    then["inputs"].append({"role": role, "name": "s", "sha256": "7" * 64, "slot": "register"})
    assert reproduce(then, "--dictionary", "register=census.csv") == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("stored", [True, False])
def test_on_a_server_what_is_not_given_goes_by_the_names_of_the_report(
    recomputing, operations, files, monkeypatch, stored
):  # fmt: skip
    monkeypatch.setenv("PRIVACY_RISK_API_KEY", "pre.secret")
    if not stored:
        recomputing.answers["GET /policies/public-release@2"] = httpx.Response(404, json={"status": 404})
    then = predicate()
    then["parameters"] |= {
        "rule": {"name": "by-record", "kind": "record_level", "levels": None, "sha256": "4" * 64},
        "sensitivity": "harm", "failure": "suspicion", "dictionaries": {"register": "census"},
    }  # fmt: skip
    (files / "report.json").write_bytes(report_of(then))
    assert run(["reproduce", "report.json", "--server", "http://s"], operations) == 0
    asked = recomputing.sent["POST /gates/public-release@2/evaluations"]
    assert {key: own for key, own in asked.items() if key != "name"} == {
        "dataset": "members", "rule": "by-record", "dictionaries": {"register": "census"},
        "sensitivity": "harm", "failure": "suspicion",
    }  # fmt: skip
    assert ("POST /policies" in recomputing.sent) is not stored


def test_of_a_release_that_a_server_made_that_is_asked_again(
    recomputing, operations, files, monkeypatch, capsys
):
    then = predicate()
    then["parameters"] |= {"rule": None, "release": {"name": "drawn"}}
    (files / "report.json").write_bytes(report_of(then))
    assert run(["reproduce", "report.json", "--dataset", "members.csv"], operations) == 2
    assert "rests on a release that a service has made and keeps" in capsys.readouterr().err
    monkeypatch.setenv("PRIVACY_RISK_API_KEY", "pre.secret")
    argv = ["reproduce", "report.json", "--server", "http://s"]
    assert run(argv, operations) == 0
    asked = recomputing.sent["POST /gates/public-release@2/evaluations"]
    assert {key: own for key, own in asked.items() if key != "name"} == {
        "dataset": "members", "release": {"name": "drawn"}, "dictionaries": {},
    }  # fmt: skip
    assert run([*argv, "--rule", "other"], operations) == 2
    (files / "report.json").write_bytes(report_of(predicate()))
    assert run([*argv, "--stored-release", "drawn"], operations) == 2
    assert "not about a release that a server made" in capsys.readouterr().err


@pytest.mark.parametrize("trusted", [True, False])
def test_a_release_that_was_withdrawn_is_not_measured_again(
    recomputing, operations, files, monkeypatch, capsys, trusted
):
    monkeypatch.setenv("PRIVACY_RISK_API_KEY", "pre.secret")
    (files / "report.json").write_bytes(withdrawn_report())
    (files / "trusted.json").write_bytes(keys_bytes([KEY]))
    argv = ["reproduce", "report.json", "--server", "http://s"]
    assert run([*argv, *(["--keys", "trusted.json"] if trusted else [])], operations) == 2
    assert "The release was withdrawn on" in capsys.readouterr().err
    assert not recomputing.sent


def test_what_was_released_meanwhile_is_no_difference_and_other_columns_are():
    then = {"inputs": [], "parameters": {}, "report": "verdict"}
    result = {"criteria": [], "changes": [], "subject": {}, "verdict": "pass"}
    ledger = [{"earlier_releases": {"total": total}, "coverage": {"outcome": "covered"}} for total in (0, 1)]
    first, second = ({**then, "result": result | own} for own in ledger)
    assert differences(first, second) == []
    second["result"]["coverage"] = {"outcome": "not_covered"}
    assert differences(first, second) == ["result/coverage/outcome: covered in the report, not_covered now"]
    del first["result"]["coverage"]
    assert differences(first, second) == []
