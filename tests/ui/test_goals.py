"""What to reach, the best release of it, its files and its policy: over HTTP, as a browser without script."""

from __future__ import annotations

import csv
import html
import io
import re
from collections import Counter
from collections.abc import Iterator
from urllib.parse import unquote

import httpx
import pytest

from tests.ui.conftest import Served
from tests.ui.forms import filled_in, signed_in, token_in
from tests.ui.journey import Journey

GOAL = "/datasets/example-members/goal"


@pytest.fixture
def browser(served: Served, journey: Journey) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=served.url, headers={"Accept": "text/html"}, timeout=60) as client:
        signed_in(client, journey.token)
        yield client


def program(served: Served, key: str) -> httpx.Client:
    """What a program sends under a key."""
    return httpx.Client(base_url=served.url, headers={"Authorization": f"Bearer {key}"}, timeout=60)


def asked(browser: httpx.Client, **changed: str) -> httpx.Response:
    return browser.post(GOAL, data=filled_in(browser.get(GOAL)) | changed)


def release_of(led: httpx.Response, alternative: str = "one_level_per_column") -> str:
    """The page of one of the releases that were found."""
    return f"{led.headers['location']}?alternative={alternative}"


def fault_at(page: httpx.Response, field: str) -> str:
    """What is said beside the field, which names it as its description."""
    assert page.status_code == 422
    place = re.search(rf'<(?:input|select)[^>]* name="{field}"[^>]*>', page.text)[0]
    assert 'aria-invalid="true"' in place
    described = re.search(r'aria-describedby="([^"]*)"', place)[1].split()[-1]
    own = re.search(r' id="([^"]*)"', place)[1]
    assert f'href="#{own}"' in page.text.split("</ul>")[0] + page.text
    return re.search(rf'id="{re.escape(described)}">([^<]*)<', page.text)[1]


def test_what_is_recommended_leads_to_a_release_that_meets_it(browser):
    led = asked(browser)
    assert led.status_code == 303
    assert re.fullmatch(r"/optimisations/[a-z-]+-goal-[0-9a-f]{16}/release", led.headers["location"])
    several = browser.get(led.headers["location"])
    assert several.text.count("Look at it</a>") >= 2
    assert several.text.count(' class="suggested">') == 1
    page = browser.get(release_of(led))
    assert page.status_code == 200
    assert "with at least 4 others" in page.text
    assert "It is proven that no rule loses less" in page.text
    assert re.search(r"income has at least [3-9] different values", page.text)
    assert '<meter min="0" max="1"' in page.text


def test_the_same_goal_again_leads_to_the_same_answer(browser):
    first, second = asked(browser, k="4"), asked(browser, k="4")
    assert first.headers["location"] == second.headers["location"]
    assert asked(browser, k="6").headers["location"] != first.headers["location"]


@pytest.mark.parametrize(
    ("field", "given", "said"),
    [
        ("k", "401", "The table has 400 records, so no class can have 401. k is at most 400."),
        ("k", "-1", "k is out of range. Give a whole number from 1 to 400."),
        ("k", "2.5", "k is out of range. Give a whole number from 1 to 400."),
        ("k", "NaN", "k is no number. Give a whole number from 1 to 400."),
        ("k", "", "k is missing."),
        ("l/income", "1000", "different values, so no class can have 1,000."),
        ("l/income", "", "No number stands for any ℓ."),
        ("suppressed", "101", "The suppression limit is out of range. Give a number from 0 to 100."),
        ("suppressed", "inf", "The suppression limit is no number."),
    ],
)
def test_every_number_is_checked_and_told_beside_its_field(browser, field, given, said):
    page = asked(browser, **{field: given})
    assert said in fault_at(page, field)
    # What stood in the fields stands there still.
    assert f'value="{given}"' in page.text


def test_all_faults_are_told_at_once(browser):
    page = asked(browser, **{"k": "x", "suppressed": "x", "l/income": "x"})
    assert "3 things were not accepted" in page.text
    for field in ("k", "suppressed", "l/income"):
        assert fault_at(page, field)


def test_a_column_that_matters_most_loses_less_in_one_of_the_releases(browser):
    led = asked(browser, **{"important/city": "on"})
    usual, kept = (browser.get(release_of(led, way)) for way in ("one_level_per_column", "important_columns"))
    assert loss_of(kept, "city") < loss_of(usual, "city")
    again = filled_in(browser.get(GOAL + "?from=" + led.headers["location"].split("/")[2]))
    assert (again["important/city"], again["k"]) == ("on", "5")
    assert "important/race" not in again


def test_what_keeping_a_hidden_column_costs_is_seen_before_anything_is_given_up(browser):
    led = asked(browser, k="60", suppressed="0")
    page = browser.get(led.headers["location"])
    hidden = re.findall(r">Compare with ([^<]*) important</button>", page.text)
    assert hidden
    assert "Important columns first" not in page.text
    forms = re.findall(r"<form[^>]*>.*?</form>", page.text, re.DOTALL)
    form = next(own for own in forms if f"Compare with {hidden[0]} important<" in own)
    fields = filled_in(httpx.Response(200, text=form))
    assert (fields[f"important/{hidden[0]}"], fields["k"]) == ("on", "60")
    again = browser.get(browser.post(GOAL, data=fields).headers["location"])
    assert "Important columns first" in again.text
    assert f"Compare with {hidden[0]} important" not in again.text
    # The ones of before stand beside it, each with all that it hides.
    assert "One level per column" in again.text
    name = led.headers["location"].split("/")[2]
    assert browser.get(f"/optimisations/{name}").headers["location"] == led.headers["location"]
    assert browser.get(release_of(led, "important_columns")).status_code == 404


def test_likeness_is_asked_for_beside_what_it_implies_and_saved_as_a_policy(
    browser, served, journey: Journey
):
    form = browser.get(GOAL)
    assert re.search(
        r"The rarest value of income occurs \S+( times)?: with β = 2 a class that has it", form.text
    )
    led = asked(browser, template="beta", **{"beta/income": "2.5"})
    several = html.unescape(browser.get(led.headers["location"]).text)
    assert "What β-likeness costs beside ℓ and t" in several
    table = several.partition("What β-likeness costs beside ℓ and t")[2].partition("</table>")[0]
    rows = re.findall(r'<th scope="row">(.*?)</th><td>.*?</td><td class="num">(.*?)</td>', table)
    assert [own for own, _ in rows][::2] == ["β = 2.5 of income", "t = 0.7143 of income"]
    assert re.fullmatch(r"ℓ = \d+ of income", rows[1][0])
    assert float(rows[0][1]) >= max(float(loss) for _, loss in rows[1:])
    place = release_of(led)
    page = browser.get(place)
    assert re.search(r"of income more likely than in the whole table by more than [0-9.]+ times", page.text)
    assert "Greatest relative gain on a value of income in a class (β)" in page.text
    again = filled_in(browser.get(GOAL + "?from=" + led.headers["location"].split("/")[2]))
    assert (again["template"], again["beta/income"]) == ("beta", "2.5")
    (field,) = set(re.findall(r'name="(reason/[^"]+)"', page.text))
    save = {"form_token": token_in(page), field: "Nobody outside the club knows it."}
    saved = browser.post(place.replace("/release", "/policy"), data=save)
    ref = unquote(saved.headers["location"].partition("?")[0].removeprefix("/policies/"))
    name = f"{place.split('/')[2]}-one-level-per-column"
    with program(served, journey.token) as api:
        body = {"name": "like", "dataset": "example-members", "rule": name}
        verdict = api.post(f"/v1/gates/{ref}/evaluations", json=body).json()["result"]
    assert verdict["verdict"] == "pass"
    refused = asked(browser, template="beta", **{"beta/income": "0"})
    assert "β of income is out of range." in fault_at(refused, "beta/income")


def test_shares_are_told_in_per_cent(browser):
    page = browser.get(release_of(asked(browser)))
    assert "with at most 2 % of the records suppressed" in page.text
    alone = r'alone in their class</th><td class="num">[0-9.]+ %</td><td class="num"><b>0 %</b>'
    assert re.search(alone, page.text)


def loss_of(page: httpx.Response, column: str) -> float:
    return float(re.search(rf'<meter[^>]*value="([^"]*)" aria-label="Loss of {column}"', page.text)[1])


def test_an_attacker_with_a_register_is_asked_about_where_there_is_one(browser):
    page = browser.get(asked(browser, template="register").headers["location"])
    assert "Its mean risk is" in page.text
    assert '<svg class="picture"' in page.text or "<svg" in page.text
    assert "No policy can be saved of this: the least risk" in page.text
    assert "No policy can be saved of it" in browser.get(GOAL).text
    assert "Save as policy" not in page.text


def test_where_no_rule_meets_it_what_is_near_is_one_click_away(served):
    key = served.new_token()
    rows = "\n".join(f"{i % 3},{i},{i % 7}" for i in range(60))
    roles = (("a", "quasi_identifier"), ("b", "sensitive"), ("c", "sensitive"))
    attributes = [{"name": name, "type": "categorical", "role": role} for name, role in roles]
    body = {"name": "d", "upload": "u", "attributes": attributes}
    with program(served, key) as api:
        assert api.post("/v1/uploads?name=u", content=f"a,b,c\n{rows}\n").is_success
        assert api.post("/v1/datasets", json=body).is_success
    with httpx.Client(base_url=served.url, timeout=60) as browser:
        signed_in(browser, key)
        fields = filled_in(browser.get("/datasets/d/goal"))
        assert fields["others"] == "apart"
        assert fields["t/b"] == ""
        led = browser.post("/datasets/d/goal", data=fields | {"others": "in_classes"})
        page = browser.get(led.headers["location"])
        assert "No release meets this" in page.text
        assert "different sensitive values" in page.text
        first = re.search(r'<ul class="nearest">.*?</form>', page.text, re.DOTALL)[0]
        led = browser.post("/datasets/d/goal", data=filled_in(httpx.Response(200, text=first)))
        assert "Look at it</a>" in browser.get(led.headers["location"]).text


def test_the_table_that_is_downloaded_meets_what_was_asked(browser):
    place = release_of(asked(browser))
    page = browser.get(place)
    assert re.search(r'value="example-members-one-level-per-column(-\d+)?"', page.text)
    unnamed = browser.post(place, data={"form_token": token_in(page), "name": " "})
    assert "The release has no name. Say whom or what it is for." in fault_at(unnamed, "name")
    named = {"form_token": token_in(page), "name": "members for the ministry"}
    led = browser.post(place, data=named)
    assert led.headers["location"] == f"{place}#download"
    other = release_of(asked(browser, k="9"))
    taken = browser.post(other, data=named | {"form_token": token_in(browser.get(other))})
    assert "exists with other content" in fault_at(taken, "name")
    links = [
        html.unescape(own)
        for own in re.findall(r'href="(/releases/[^"]*)" download', browser.get(place).text)
    ]
    data, fewer, as_sent, manifest, report = (browser.get(link) for link in links)
    for file in (data, fewer, as_sent):
        assert (
            'filename="example-members-members-for-the-ministry.csv"' in file.headers["content-disposition"]
        )
    rows = list(csv.DictReader(io.StringIO(data.text)))
    shown = [row for row in rows if any(row[column] != "*" for column in ("city", "race", "birth_date"))]
    classes = Counter((row["city"], row["race"], row["birth_date"]) for row in shown)
    assert min(classes.values()) >= 5
    assert len(rows) - len(shown) <= 8
    assert manifest.json()["suppressed_records"] == len(rows) - len(shown)
    assert list(csv.DictReader(io.StringIO(fewer.text))) == shown
    assert as_sent.text == fewer.text
    assert "It is proven that no rule loses less" in report.text
    assert "<script" not in report.text
    assert "West Lafayette" not in report.text.replace("such as", "")


def test_what_was_asked_is_saved_as_a_policy_that_its_release_passes(browser, served, journey: Journey):
    place = release_of(asked(browser))
    shown = browser.get(place)
    (field,) = set(re.findall(r'name="(reason/[^"]+)"', shown.text))
    save = {"form_token": token_in(shown)}
    empty = browser.post(place.replace("/release", "/policy"), data=save)
    assert "no reason has been written yet" in browser.get(empty.headers["location"]).text
    reason = "Nobody outside the club knows it."
    led = browser.post(place.replace("/release", "/policy"), data=save | {field: reason})
    page = browser.get(led.headers["location"])
    assert f"{field.removeprefix('reason/')}: {reason}" in page.text
    unwritten = unquote(empty.headers["location"].partition("?")[0].removeprefix("/policies/"))
    name = f"{place.split('/')[2]}-one-level-per-column"
    ref = re.search(r"privacy-risk gate (\S+) --server (\S+) --dataset-id (\S+) --rule ([^\s<]+)<", page.text)
    assert ref.groups()[1:] == (served.url, "example-members", name)
    text = browser.get(led.headers["location"].partition("?")[0] + "/document")
    assert text.text.startswith("format: privacy-risk/policy/2\nname: release-")
    with program(served, journey.token) as api:
        yaml = {"Content-Type": "application/yaml"}
        sent = api.post("/v1/policies/yaml", content=text.content, headers=yaml)
        assert (sent.status_code, sent.json()["name"]) == (200, ref[1])
        body = {"name": "of-the-way", "dataset": "example-members", "rule": name}
        verdict = api.post(f"/v1/gates/{ref[1]}/evaluations", json=body)
        error = api.post(f"/v1/gates/{unwritten}/evaluations", json=body | {"name": "unwritten"})
    assert error.json()["result"]["coverage"]["outcome"] == "missing_reason"
    assert error.json()["result"]["verdict"] == "error"
    assert verdict.json()["result"]["verdict"] == "pass"


def test_a_key_that_may_not_read_the_data_gets_no_table_and_sees_no_value(browser, served, journey: Journey):
    place = release_of(asked(browser))
    browser.post(place, data={"form_token": token_in(browser.get(place))})
    name = re.search(r'href="/releases/([^"/]+)/data"', browser.get(place).text)[1]
    with httpx.Client(base_url=served.url, timeout=60) as other:
        signed_in(other, journey.assessor_token)
        page = other.get(place)
        assert page.status_code == 200
        assert "West Lafayette" not in page.text
        assert "needs the scope <code>govern</code>" in page.text
        refused = other.get(f"/releases/{name}/data")
        assert refused.status_code == 403
        assert refused.headers["content-type"].startswith("text/html")


def test_forged_forms_start_and_make_nothing(browser):
    for place in (GOAL, "/optimisations/example-optimum/release", "/optimisations/example-optimum/policy"):
        assert (
            browser.post(place, data={"form_token": "forged", "template": "k", "k": "5"}).status_code == 403
        )


REGISTER = {"dictionary": "example-census", "sensitivity": "example-harm"}
FIVE = {"kind": "k_anonymity", "k": 5}
OTHER_SEARCHES = [
    ({**REGISTER, "objective": {"kind": "max_utility", "risk_cap": 1e-9}}, "No release meets this"),
    ({"scope": "record_level", "objective": {"kind": "min_loss", "privacy": [FIVE]}}, "at least 4 others"),
    (
        {"objective": {"kind": "min_loss", "privacy": [{"kind": "entropy_l_diversity", "l": 2}]}},
        "A policy can be saved of",
    ),
    (
        {"objective": {"kind": "min_loss", "privacy": [{**FIVE, "k": 400}], "suppression_limit": 0}},
        "No quasi-identifier is shown any more",
    ),
]


@pytest.mark.parametrize("number", range(len(OTHER_SEARCHES)))
def test_what_programs_have_searched_for_has_the_same_page(browser, served, journey: Journey, number):
    asked, said = OTHER_SEARCHES[number]
    body = {"name": f"other-{number}", "dataset": "example-members", **asked}
    with program(served, journey.token) as api:
        run = api.post("/v1/optimisations", json=body, headers={"Prefer": "wait=20"})
        assert run.json()["state"] == "succeeded", run.text
    page = browser.get(f"/optimisations/other-{number}/release")
    assert page.status_code == 200
    assert said in page.text
    if "No release" not in said:
        place = f"/optimisations/other-{number}/policy"
        saved = browser.post(place, data={"form_token": token_in(page)})
        assert saved.status_code == (303 if number == 3 else 404)
