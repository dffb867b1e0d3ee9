"""Answers to invitations over HTTP: the specification's numbers, many invitations, and bad input."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.api.networks import asked_with_harm, dataset, fault_of, people, result_of

pytestmark = pytest.mark.anyio


async def begin_with(client: httpx.AsyncClient) -> None:
    """V11 of the specification: p is invited by five-friends, one-friend and nobody-in-common."""
    rows = "p,Laf,Eng\nf1,Laf,Eng\nf2,Laf,Nur\nf3,Day,Eng\nf4,Chi,Eng\nf5,Chi,Nur\n"
    await people(
        client,
        "person,city,job\n" + rows + "many,Chi,Nur\none,Chi,Nur\nnone,Chi,Nur\n",
        {
            "city": [["Laf", "IN", "*"], ["Day", "IN", "*"], ["Chi", "IL", "*"]],
            "job": [["Eng", "*"], ["Nur", "*"]],
        },
        {
            "city": {"nodes": {"Laf": 0.6, "Day": 0.6, "Chi": 0.6, "IN": 0.3, "IL": 0.3, "*": 0.1}},
            "job": {"nodes": {"Eng": 0.5, "Nur": 0.5, "*": 0.1}},
        },
    )
    edges = [f"{end},f{i}" for end in ("p", "many") for i in range(1, 6)]
    await dataset(client, "edges", "a,b\n" + "\n".join([*edges, "one,f1"]) + "\n")
    await dataset(client, "invitations", "a,b\np,many\np,one\np,none\n")


@pytest.fixture
def invited(begun: httpx.AsyncClient) -> httpx.AsyncClient:
    return begun


async def answers_of(client: httpx.AsyncClient, **question: Any) -> httpx.Response:
    usual = {"edges": "edges", "pairs": "invitations", "risk_cap": 0.3}
    return await asked_with_harm(client, "sharing_recommendation", **{**usual, **question})


@pytest.mark.spec("DN-V11", "DN-S17")
async def test_invitations_are_answered_as_the_specification_has_it(invited: httpx.AsyncClient):
    found = result_of(await answers_of(invited))
    assert (found["invitations"], found["repeated"], found["attributes"]) == (3, 0, ["city", "job"])
    assert (found["accepted"], found["unproven"]) == (2, 0)
    many, one, none = (own["recommendation"] for own in found["answers"])
    assert [own["inviter"] for own in found["answers"]] == ["many", "one", "none"]
    assert (many["accepted"], many["common_friends"], many["shown"]["levels"]) == (True, 5, [1, 1])
    assert (many["shown"]["utility"], many["shown"]["risk"]) == (1, pytest.approx(0.133333, abs=5e-7))
    assert many["utility_bound"] == 1
    town, job = many["more"]
    assert (town["levels"], town["risk"]) == ([0, 1], pytest.approx(0.35))
    assert (job["levels"], job["risk"]) == ([1, 0], pytest.approx(0.4))
    assert (one["accepted"], one["shown"]["levels"]) == (True, [2, 1])
    assert one["shown"]["risk"] == pytest.approx(0.2)
    assert (none["accepted"], none["common_friends"], none["shown"]["risk"]) == (False, 0, "inf")


async def test_repeated_invitations_are_answered_once_and_many_in_parts(invited: httpx.AsyncClient):
    await dataset(invited, "again", "a,b\np,one\np,many\np,one\np,p\n")
    found = result_of(await answers_of(invited, pairs="again"))
    assert (found["invitations"], found["repeated"]) == (2, 2)
    parts = [result_of(await answers_of(invited, most=1, skip=skip))["answers"] for skip in range(4)]
    whole = result_of(await answers_of(invited))["answers"]
    assert [row for part in parts for row in part] == whole


async def test_friends_without_a_profile_hide_nobody_but_who_shows_nothing(invited: httpx.AsyncClient):
    await dataset(invited, "more", "a,b\np,stranger\nmany,stranger\np,f1\nmany,f1\n")
    found = result_of(await answers_of(invited, edges="more", risk_cap=0.15))
    many = found["answers"][0]["recommendation"]
    assert (many["common_friends"], many["shown"]["levels"]) == (2, [2, 1])
    assert many["shown"]["risk"] == pytest.approx(0.1)


@pytest.mark.spec("DN-V11", "DN-S13", "DN-S17")
async def test_the_published_objective_is_answered_with_a_warning(invited: httpx.AsyncClient):
    found = result_of(await answers_of(invited, risk_cap=None, published_trade_off=0.2))
    assert "it is no recommendation" in found["warning"]
    shown = [own["recommendation"]["shown"] for own in found["answers"]]
    assert [own["levels"] for own in shown] == [[2, 1], [0, 0], [0, 0]]
    assert [own["published"] for own in shown] == [5, pytest.approx(3.181818, abs=5e-7), 3]
    assert [own["recommendation"]["accepted"] for own in found["answers"]] == [False, True, True]


@pytest.mark.spec("DN-V11", "DN-S13")
async def test_friends_who_are_consistent_in_any_attribute_are_counted_on_request(invited: httpx.AsyncClient):
    found = result_of(await answers_of(invited, consistent_in="any"))
    many = found["answers"][0]["recommendation"]
    assert (many["shown"]["levels"], many["shown"]["consistent_friends"]) == ([0, 0], 4)
    assert many["shown"]["risk"] == pytest.approx(0.275)
    assert (found["warning"], many["shown"]["published"]) == (None, None)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"edges": None}, ("/measure/edges", "missing")),
        ({"risk_cap": -1}, ("/measure/risk_cap", "greater-than-equal")),
        ({"risk_cap": None}, ("/measure/risk_cap", "one-of")),
        ({"published_trade_off": 1}, ("/measure/risk_cap", "one-of")),
        ({"published_trade_off": 0}, ("/measure/published_trade_off", "greater-than")),
        ({"published_exponent": 1.5}, ("/measure/published_exponent", "int-type")),
    ],
)
async def test_questions_that_are_none_are_refused(invited, changed, expected):
    place, code, _ = fault_of(await answers_of(invited, **changed))
    assert (place, code) == expected


async def test_people_without_a_profile_are_shown_nowhere(invited: httpx.AsyncClient):
    await dataset(invited, "more", "a,b\np,stranger\n")
    await dataset(invited, "strange", "a,b\nstranger,p\n")
    answer = await answers_of(invited, edges="more", pairs="strange")
    assert fault_of(answer)[:2] == ("/measure/pairs", "no-profile")
