"""The functions of ``privacy_risk`` for tables in memory, against the application itself."""

from __future__ import annotations

import json

import pandas as pd
import pyarrow as pa
import pytest
import yaml

import privacy_risk as pr
from tests.api.people_in_memory import ASKED, PEOPLE, QUASI_IDENTIFIERS, ZIPS, N, classes

pytestmark = pytest.mark.anyio


async def test_the_same_is_judged_again_once_something_else_was_released(call):
    release = await call(pr.anonymise, PEOPLE, **ASKED)
    first = await call(pr.gate, release.policy, release, original=PEOPLE)
    await call(pr.anonymise, PEOPLE, **{**ASKED, "k": 5})
    again = await call(pr.gate, release.policy, release, original=PEOPLE)
    assert (first.outcome, again.outcome) == ("error", "error")  # reasons are not written


async def test_a_release_keeps_what_was_asked_as_pandas_counts_it(call):
    release = await call(pr.anonymise, PEOPLE, **ASKED)
    first, *_ = release._repr_html_().split("<details>")
    assert first.startswith(f"<p><b>{N} records in ")
    assert all(f">{name}</text>" in first for name in QUASI_IDENTIFIERS)
    counted = classes(release.frame)
    assert list(release.frame.columns) == [*QUASI_IDENTIFIERS, "diagnosis"]
    assert len(release.frame) == N
    assert (counted["size"].min(), counted["size"].sum()) == (
        release.report.k,
        N - release.report.suppressed,
    )
    assert counted["size"].min() >= 4
    assert counted["nunique"].min() >= 3
    assert release.report.suppressed_share <= 0.1
    assert {own.name for own in release.report.losses} == {*QUASI_IDENTIFIERS}
    assert release.notes == (
        "Each row counts as one person: assumed, nobody said so (person='COLUMN', rows_are='persons').",
        "Losses count the values that the table holds; of zip those that the hierarchy declares.",
        "Left out of the release: patient (not named among the quasi-identifiers); "
        "costs (not named among the quasi-identifiers).",
    )
    again = await call(pr.anonymise, PEOPLE, **ASKED)
    assert again.rule == release.rule


@pytest.mark.parametrize(("rows", "said"), [(1, "the table has one record"), (9, "Ask for a k of 2")])
async def test_a_release_that_singles_somebody_out_says_so(call, rows, said):
    frame = pd.DataFrame({"zip": [f"{47000 + i}" for i in range(rows)]})
    release = await call(pr.anonymise, frame, k=1, quasi_identifiers=["zip"])
    assert release.report.smallest_class == 1
    assert said in release.notes[-1]
    assert said in str(release)


@pytest.mark.deep
async def test_the_saved_policy_lets_the_release_pass_and_nothing_else(call, tmp_path):
    release = await call(pr.anonymise, PEOPLE, **ASKED)
    yaml_file, json_file = tmp_path / "policy.yaml", tmp_path / "policy.json"
    release.save_policy(yaml_file)
    release.save_policy(json_file)
    assert yaml.safe_load(yaml_file.read_text()) == json.loads(json_file.read_text()) == release.policy
    exempt = {name: own["reason"] for own in release.policy["not_covered"] for name in own["columns"]}
    assert set(exempt.values()) == {""}
    hierarchies = {"zip": ZIPS}
    unwritten = await call(pr.gate, yaml_file, release.frame, original=PEOPLE, hierarchies=hierarchies)
    assert unwritten.outcome == "error"
    assert "Nobody has written why these columns may leave" in str(unwritten)
    with pytest.raises(pr.InvalidArgument, match="reasons"):
        release.save_policy(yaml_file, reasons={"zip": "Everybody knows it."})

    for file in (yaml_file, json_file):
        release.save_policy(file, reasons=dict.fromkeys(exempt, "Nobody outside the ward knows it."))
    passed = await call(pr.gate, yaml_file, release.frame, original=PEOPLE, hierarchies=hierarchies)
    assert passed.passed
    assert passed.raise_for_fail() is passed
    assert len(passed.reasons) == 3
    half = release.frame.iloc[: len(release.frame) // 2]
    fewer = await call(pr.gate, yaml_file, half, original=PEOPLE, hierarchies=hierarchies)
    assert fewer.outcome == "fail"
    assert f"{N // 2} of {N} records are suppressed (50.00%)" in str(fewer)
    by_release = await call(pr.gate, json_file, release, original=PEOPLE, hierarchies=hierarchies)
    assert by_release.passed

    whole = await call(pr.gate, yaml_file, PEOPLE, original=PEOPLE)
    assert not whole.passed
    assert whole.reasons == tuple(
        f"The column {name} must not leave: the policy has it dropped. Drop it from the table."
        for name in ("patient", "costs")
    )
    cut = await call(pr.gate, yaml_file, PEOPLE[release.frame.columns], original=PEOPLE)
    assert cut.outcome == "fail"
    assert f"k-anonymity (k = 4): {N} of {N} records would be in classes of fewer than 4" in str(cut)
    with pytest.raises(pr.GateFailed, match="fail: release-") as raised:
        cut.raise_for_fail()
    assert raised.value.verdict is cut


@pytest.mark.deep
async def test_rows_are_matched_by_an_identifier_that_may_not_leave(call):
    release = await call(pr.anonymise, PEOPLE, **ASKED)
    policy = json.loads(json.dumps(release.policy)) | {"name": "keyed"}
    policy["schema"]["attributes"]["patient"] = "identifier"
    policy["not_covered"][0]["reason"] = "Nobody outside the ward knows it."
    keyed = PEOPLE[["patient", *release.frame.columns]]
    verdict = await call(pr.gate, policy, keyed, original=PEOPLE)
    assert verdict.outcome == "fail"
    assert verdict.document["result"]["subject"]["release"]["aligned_by"] == "key"
    assert "patient" in verdict.reasons[0]
    with pytest.raises(pr.InvalidArgument, match=r"keyed@1\. Raise the version"):
        await call(pr.gate, {**release.policy, "name": "keyed"}, release.frame, original=PEOPLE)


@pytest.mark.deep
async def test_the_saved_policy_lets_sensitive_values_leave_that_single_people_out(call, tmp_path):
    frame = PEOPLE.assign(costs=range(N))
    release = await call(pr.anonymise, frame, **ASKED | {"l": {"costs": 3}})
    reasons = {"diagnosis": "Nobody outside the ward knows it.", "costs": "Nobody knows what a stay cost."}
    asked = [name for own in release.policy.get("not_covered", ()) for name in own["columns"]]
    release.save_policy(tmp_path / "policy.yaml", reasons={name: reasons[name] for name in asked})
    verdict = await call(
        pr.gate, tmp_path / "policy.yaml", release, original=frame, hierarchies={"zip": ZIPS}
    )
    assert verdict.outcome == "pass", str(verdict)


async def test_what_is_not_said_is_proposed_and_told(call):
    found = await call(pr.profile, PEOPLE, sensitive=["diagnosis"])
    assert found.roles["patient"].role == "identifier"
    assert found.roles["birth"].type == "date"
    assert found.roles["diagnosis"].given_by == "you"
    assert {*QUASI_IDENTIFIERS} <= {*found.roles.of("quasi_identifier")}
    counted = PEOPLE.groupby(list(found.roles.of("quasi_identifier"))).size()
    assert (found["k"], found.records, found.classes) == (counted.min(), N, len(counted))
    assert "proposed" not in str(found.notes)
    assert all(text in found._repr_html_() for text in ("<table>", "patient", "distinct_l"))
    first, *_ = (html := found._repr_html_()).split("<details>")
    assert first.startswith(f"<p><b>{N} records in ")
    assert "<svg" in first
    assert first.count("<tr>") == 1 + 12
    assert "<script" not in html
    assert "  patient    identifier" in str(found)
    assert f"None of {N} people is singled out by " in str(found)


async def test_what_singles_people_out_is_said_in_words(call):
    frame = PEOPLE.drop_duplicates(list(QUASI_IDENTIFIERS))
    found = await call(pr.profile, frame, quasi_identifiers=QUASI_IDENTIFIERS)
    assert found.singled_out["singled_out"] == len(frame)
    told = f"All columns together single out {len(frame)} of {len(frame)} people"
    assert told in str(found)
    assert f"<li>{told}" in found._repr_html_()
    assert "<li>Share of all that is singled out: " in found._repr_html_()


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([["47000", "470", "*"], ["47007", "470"]], "Row 2 has 2 columns, row 1 has 3: it lacks level 2."),
        ([["47000", "470"], ["47007", ""]], "Row 2 has an empty label, at level 1."),
    ],
)
async def test_a_hierarchy_that_lacks_a_level_is_refused_by_its_column_and_level(call, rows, said):
    with pytest.raises(pr.InvalidArgument) as refused:
        await call(pr.anonymise, PEOPLE, **ASKED | {"hierarchies": {"zip": rows}})
    assert refused.value.argument == "hierarchies"
    assert "That of 'zip' cannot be made." in str(refused.value)
    assert said in str(refused.value)


async def test_hierarchies_that_nobody_gives_fit_the_types(call):
    release = await call(
        pr.anonymise, PEOPLE, k=2, max_suppressed=0.5, quasi_identifiers=["birth", "sex", "costs"]
    )
    kinds = {own.name: own.hierarchy["kind"] for own in release.roles if own.hierarchy}
    assert kinds == {"birth": "dates", "sex": "flat", "costs": "intervals"}


async def test_hierarchies_that_nobody_gives_hold_what_german_cells_mean(call):
    # Remarks are not to be released, so that no hierarchy is proposed for them; their format is.
    days = pd.DataFrame({"sex": PEOPLE["sex"], "remark": PEOPLE["birth"].dt.strftime("%d.%m.%Y")})
    costs = pd.DataFrame({"sex": PEOPLE["sex"], "remark": [f"{100 + i % 40},50" for i in range(N)]})
    for frame, kind in ((days, "dates"), (costs, "intervals")):
        asked = {"k": 10, "roles": {"remark": "quasi_identifier"}, "importance": {"remark": 9}}
        asked["rows_are"] = "persons"  # each row occurs twice or more
        release = await call(pr.anonymise, frame, **asked)
        assert release.roles["remark"].hierarchy["kind"] == kind
        assert release.roles["remark"].hierarchy_reason != "shown or not"
        counted = release.frame.groupby(["sex", "remark"]).size()
        assert counted.min() >= 10
        assert 1 < release.frame["remark"].nunique() < frame["remark"].nunique()


@pytest.mark.deep
async def test_a_table_of_arrow_gives_the_same_release_as_one_of_pandas(call):
    of_pandas = await call(pr.anonymise, PEOPLE, **ASKED)
    of_arrow = await call(pr.anonymise, pa.Table.from_pandas(PEOPLE), **ASKED)
    assert isinstance(of_arrow.frame, pa.Table)
    assert of_arrow.rule == of_pandas.rule
    columns = [*QUASI_IDENTIFIERS, "diagnosis"]
    pd.testing.assert_frame_equal(
        of_arrow.frame.to_pandas().sort_values(columns, ignore_index=True),
        of_pandas.frame.sort_values(columns, ignore_index=True),
        check_dtype=False,
    )


@pytest.mark.parametrize(("important", "lost"), [("left", "right"), ("right", "left")])
async def test_what_matters_more_loses_less(call, important, lost):
    square = pd.DataFrame([(a, b) for a in "abc" for b in "xyz"], columns=["left", "right"])
    release = await call(pr.anonymise, square, k=3, importance={important: 2})
    assert {own.name: own.loss for own in release.report.losses} == {important: 0, lost: 1}


async def test_what_no_rule_meets_is_told_with_its_reason(call):
    with pytest.raises(pr.Infeasible, match="have 5 different sensitive values, 1 fewer than 6") as raised:
        await call(pr.anonymise, PEOPLE, **ASKED | {"l": {"diagnosis": 6}})
    assert len(raised.value.because) == 1
    assert "Sensitive, too" not in str(raised.value)
    apart = {"sensitive": ["costs"], "hierarchies": {"zip": ZIPS, "costs": {"kind": "flat"}}}
    with pytest.raises(pr.Infeasible, match=r"Sensitive, too, .*: costs\. .*roles=\{'costs': 'other'\}"):
        await call(pr.anonymise, PEOPLE.assign(costs=range(N)), **ASKED | apart, others="in_classes")


async def test_a_table_without_quasi_identifiers_and_l_without_sensitive_ones_are_refused(call):
    alone = PEOPLE[["patient"]]
    with pytest.raises(pr.InvalidArgument, match=r"No column of the table is a quasi-identifier \(patient: "):
        await call(pr.anonymise, alone, k=2)
    with pytest.raises(pr.InvalidArgument, match="l: It is about sensitive attributes"):
        await call(pr.anonymise, PEOPLE, k=2, l=2, quasi_identifiers=["sex"])


async def test_a_criterion_of_all_sensitive_attributes_is_one_of_each(call):
    release = await call(
        pr.anonymise, PEOPLE, k=2, t=0.5, l=2, quasi_identifiers=["sex"], sensitive=["diagnosis", "costs"]
    )
    asked = [(own.criterion["kind"], own.criterion.get("attribute")) for own in release.report.reached]
    assert asked == [
        ("k_anonymity", None),
        *(
            (kind, name)
            for kind in ("distinct_l_diversity", "t_closeness")
            for name in ("costs", "diagnosis")
        ),
    ]


async def test_missing_cells_and_one_column_are_taken(call):
    frame = pd.DataFrame({"age": [30.0, None, 30.0, None, 41.0, 41.0]})
    release = await call(pr.anonymise, frame, k=2)
    assert sorted(release.frame["age"]) == ["*", "*", "30", "30", "41", "41"]


@pytest.mark.parametrize(
    ("hierarchy", "fault"),
    [
        ({"values": ["f", "m"]}, "The definition for 'sex' has no kind"),
        (["f", "m"], "The rows for 'sex' are not all lists"),
        ("nowhere.csv", "There is no file nowhere.csv, for 'sex'"),
        (5, "A int, for 'sex', is no hierarchy"),
    ],
)
async def test_what_is_no_hierarchy_is_refused(call, hierarchy, fault):
    with pytest.raises((pr.InvalidArgument, pr.WrongType), match="hierarchies: ") as raised:
        await call(pr.anonymise, PEOPLE, k=2, quasi_identifiers=["sex"], hierarchies={"sex": hierarchy})
    assert fault in raised.value.fault


@pytest.mark.deep
async def test_a_hierarchy_is_given_as_rows_a_table_a_definition_or_a_file(call, tmp_path):
    file, definition = tmp_path / "zip.csv", tmp_path / "zip.json"
    file.write_text("".join(";".join(row) + "\n" for row in ZIPS))
    definition.write_text(json.dumps({"kind": "rows", "rows": ZIPS}))
    given = [ZIPS, pd.DataFrame(ZIPS, columns=["value", "city", "region", "all"]), file, str(definition)]
    levels = []
    for hierarchy in given:
        asked = ASKED | {"hierarchies": {"zip": hierarchy}}
        release = await call(pr.anonymise, PEOPLE, **asked)
        levels.append(release.rule["levels"])
    assert levels == [levels[0]] * len(given)
    masked = await call(pr.anonymise, PEOPLE, **ASKED | {"hierarchies": {"zip": {"kind": "masking"}}})
    assert masked.roles["zip"].hierarchy["kind"] == "masking"


async def test_views_are_judged_by_their_queries_and_told_what_would_pass(call):
    query = "SELECT name FROM patient JOIN diagnosis USING (pid) WHERE diagnosis = 'cancer'"
    condition = {
        "kind": "perfect_privacy", "language": "sql",
        "secrets": [{"id": "cancer", "reason": "As promised.", "query": query}],
    }  # fmt: skip
    policy = {
        "format": "privacy-risk/policy/2", "name": "register", "version": 1, "title": "Register",
        "assumes": {"attacker": "Any reader of the views."},
        "requirements": [{"id": "s", "title": "Nothing leaks", "reason": "So.", "requirement": condition}],
    }  # fmt: skip
    schema = "CREATE TABLE patient (pid int, name text); CREATE TABLE diagnosis (pid int, diagnosis text);"
    asked = {"relational_schema": schema, "views": {"ids": "SELECT pid FROM diagnosis"}}
    failed = await call(pr.gate, policy, **asked)
    assert (failed.outcome, failed.document["views"]) == ("fail", 1)
    _, of_pair = failed.reasons
    assert of_pair.startswith("ids beside cancer: The row diagnosis(")
    condition = "diagnosis.diagnosis <> 'cancer'"
    assert f" To pass: Add the condition {condition} to the whole WHERE" in of_pair
    changed = {"ids": f"SELECT pid FROM diagnosis WHERE {condition}"}
    passed = await call(pr.gate, policy, **{**asked, "views": changed})
    assert passed.raise_for_fail() is passed
    assert passed.reasons[1] == (
        "Nothing leaks: The only pair of a secret and a view is private. Keys are considered."
    )


@pytest.mark.parametrize("loads", ["pandas", "pyarrow"])
async def test_a_table_that_is_suppressed_as_a_whole_says_so_and_gives_no_number(call, loads):
    table = pd.DataFrame(
        {"a": [f"u{n}" for n in range(6)], "b": [f"w{n}" for n in range(6)], "s": [0, 1] * 3}
    )
    given = table if loads == "pandas" else pa.Table.from_pandas(table)
    asked = {"quasi_identifiers": ["a", "b"], "sensitive": ["s"], "rows_are": "persons"}
    release = await call(pr.anonymise, given, k=2, max_suppressed=1.0, **asked)
    frame = release.frame if loads == "pandas" else release.frame.to_pandas()
    assert frame.shape == (6, 3)
    assert (frame == "*").all(axis=None)
    assert (release.report.k, release.report.classes, release.report.suppressed_share) == (None, 0, 1)
    for shown in (repr(release), release._repr_html_(), str(release.report)):
        assert "6 records, all suppressed (100.00 %): every cell of the release is *" in shown
        assert "k =" not in shown
    policy = {**release.policy, "not_covered": [{"columns": ["s"], "reason": "Nobody outside knows it."}]}
    assert (await call(pr.gate, policy, release, original=table)).passed


async def test_whole_numbers_that_are_said_to_be_known_are_shown_in_intervals(call):
    table = pd.DataFrame(
        {"income": [2_000 + 37 * n for n in range(300)], "town": [f"T{n % 150}" for n in range(300)]}
    )
    asked = {"quasi_identifiers": ["income", "town"], "rows_are": "persons", "max_suppressed": 0}
    release = await call(pr.anonymise, table, k=5, **asked)
    assert all("[" in text for text in release.frame["income"])
    assert (release.report.suppressed, release.report.k >= 5) == (0, True)
    hidden = [own.name for own in release.report.losses if own.loss == 1]
    assert hidden == [name for name in table if (release.frame[name] == "*").all()] == ["town"]
    assert "town: generalised to the top in every row, which does not count as suppressed" in str(release)
    assert (await call(pr.gate, release.policy, release, original=table)).passed
    # A number that is written with zeros in front of it is a code.
    codes = table.assign(income=[f"{n:05}" for n in table["income"]])
    release = await call(pr.anonymise, codes, k=5, **asked)
    assert {*release.frame["income"]} == {"0", "1"}  # their first digits
