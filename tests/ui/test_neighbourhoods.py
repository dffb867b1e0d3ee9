"""The page of an item that spreads: who is near its owner, at which time, and who may see it."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import numpy as np
import pytest
from playwright.sync_api import Browser, expect

from app.services.resources import Scope
from tests.ui.conftest import Served, Shots, Watched, new_context, sign_in
from tests.ui.forms import signed_in
from tests.ui.looks import assert_accessible, assert_quiet

ADDRESS = "/measurements/near-ann"


@dataclass(frozen=True)
class Network:
    """A tenant with a network, the key of somebody who reads data and that of somebody who does not."""

    api: httpx.Client
    token: str
    blind_token: str


def network_csvs() -> tuple[str, str, str]:
    """Ann has 12 friends, and they have 5 each: more than are drawn. One of them has markup for a name."""
    friends = ["<b>bo</b>", *(f"friend {i}" for i in range(1, 12))]
    others = [f"other {i}" for i in range(60)]
    edges = [("ann", friend) for friend in friends]
    edges += [(friends[i // 5], other) for i, other in enumerate(others)]
    edges += [(friends[0], friends[1]), ("far away", others[0])]
    people = ["ann", *friends, *others, "far away"]
    trust = np.linspace(1, -1, len(people))
    return (
        "person,town\n" + "".join(f"{own},Ulm\n" for own in people),
        "a,b\n" + "".join(f"{a},{b}\n" for a, b in edges),
        "a,b,trust\n" + "".join(f"ann,{own},{t:.3f}\n" for own, t in zip(people, trust, strict=True)),
    )


@pytest.fixture(scope="module")
def network(served: Served) -> Iterator[Network]:
    actor, token = served.do(served.api.tenant_with_key())
    blind = served.do(served.api.key_with(actor, Scope.ASSESS))
    with httpx.Client(
        base_url=f"{served.url}/v1", headers={"Authorization": f"Bearer {token}"}, timeout=60
    ) as api:
        for name, text in zip(("people", "edges", "thoughts"), network_csvs(), strict=True):
            headers = {"Content-Type": "text/csv"}
            assert api.post(f"/uploads?name={name}", content=text, headers=headers).is_success
            roles = {"person": "identifier"}
            attributes = [
                {"name": own, "type": "categorical", "role": roles.get(own, "quasi_identifier")}
                for own in text.splitlines()[0].split(",")
            ]
            assert api.post(
                "/datasets", json={"name": name, "upload": name, "attributes": attributes}
            ).is_success
        asked = {
            "kind": "diffusion_risk", "edges": "edges", "source": "a", "target": "b", "owner": "ann",
            "trust_table": "thoughts",
        }  # fmt: skip
        sent = api.post("/measurements", json={"name": "near-ann", "dataset": "people", "measure": asked})
        assert sent.is_success, sent.text
        harm = {"town": {"nodes": {"Ulm": 0.6, "*": 0.1}}}
        profile = {"name": "harm", "dataset": "people", "family": "linear", "attributes": harm}
        sent = api.post("/sensitivity-profiles", json={**profile, "allow_positive_top": True})
        assert sent.is_success, sent.text
        asked = {
            "kind": "sharing_recommendation", "edges": "edges", "pairs": "thoughts", "source": "a",
            "target": "b", "risk_cap": 0.2,
        }  # fmt: skip
        body = {"name": "answers-of-ann", "dataset": "people", "sensitivity": "harm", "measure": asked}
        sent = api.post("/measurements", json=body)
        assert sent.is_success, sent.text
        yield Network(api, token, blind)


def page_of(served: Served, token: str, address: str = ADDRESS) -> str:
    with httpx.Client(base_url=served.url, headers={"Accept": "text/html"}, timeout=60) as browser:
        signed_in(browser, token)
        answer = browser.get(address)
        assert answer.status_code == 200
        return answer.text


def radii(page: str) -> dict[str, float]:
    return {
        name: float(radius)
        for name, radius in re.findall(r"<title>([^<]+): risk.*?<circle [^>]*r=\"([\d.]+)\"", page)
    }


def test_the_picture_shows_those_near_and_says_how_many_are_left_out(served: Served, network: Network):
    page = page_of(served, network.token)
    assert page.count('<g class="node">') == 61
    assert "12 more are within two steps and not drawn" in page
    assert "&lt;b&gt;bo&lt;/b&gt;: risk" in page
    assert "<b>bo</b>" not in page
    result = network.api.get(ADDRESS).json()["result"]
    assert "far away" not in {own["id"] for own in result["neighbourhood"]}
    sizes = radii(page)
    risks = {html.escape(own["id"]): own["risk"] for own in result["neighbourhood"]}
    assert sizes[max(risks, key=risks.__getitem__)] == max(sizes.values())
    assert sizes[min(risks, key=risks.__getitem__)] == min(sizes.values())


def test_another_time_is_a_link_and_draws_another_picture(served: Served, network: Network):
    page = page_of(served, network.token)
    assert "<strong>1</strong>" in page
    assert re.findall(r'href="\?time=([\d.]+)"', page) == ["0.25", "0.5", "2", "4"]
    later = page_of(served, network.token, f"{ADDRESS}?time=4")
    assert "<strong>4</strong>" in later
    assert radii(later) != radii(page)
    for wrong in ("7", "x", "-1", ""):
        assert radii(page_of(served, network.token, f"{ADDRESS}?time={wrong}")) == radii(page)


def test_trust_is_drawn_for_nobody_who_may_not_read_the_data(served: Served, network: Network):
    page = page_of(served, network.blind_token)
    assert "Who is near" not in page
    assert "other 1" not in page
    result = httpx.get(
        f"{served.url}/v1{ADDRESS}", headers={"Authorization": f"Bearer {network.blind_token}"}
    ).json()["result"]
    assert {own["id"] for own in result["neighbourhood"]} == {None}
    assert all(set(own["friends"] or ()) <= {None} for own in result["neighbourhood"])


def test_answers_to_invitations_stand_in_words(served: Served, network: Network):
    page = html.unescape(page_of(served, network.token, "/measurements/answers-of-ann"))
    rows = dict(re.findall(r"<td>ann</td><td>(other \d+|far away)</td>\n(.*?)</tr>", page, re.DOTALL))
    words = re.sub(r"<[^>]+>", " ", rows["other 0"])
    assert "Accept, and show nothing" in words
    assert "1 friend in common, 1 of whom may be meant: risk 0.1" in words
    assert "town: risk 0.6" in words
    blind = page_of(served, network.blind_token, "/measurements/answers-of-ann")
    assert "other 0" not in blind
    assert "<td>–</td><td>–</td>" in blind


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize(
    ("address", "heading"),
    [(ADDRESS, "Who is near"), ("/measurements/answers-of-ann", "The answers in words")],
)
def test_the_pages_are_accessible_and_fit_every_screen(
    address, heading, width, browser: Browser, served: Served, network: Network, shots: Shots
):
    context = new_context(browser, viewport={"width": width, "height": 900})
    watched = Watched(context.new_page(), served)
    sign_in(watched.page, served, network.token, address)
    expect(watched.page.get_by_role("heading", name=heading)).to_be_visible()
    shots.take(watched.page, f"{address[14:]}.{width}")
    assert_accessible(watched.page, shots, f"{address[14:]}.{width}")
    assert watched.page.evaluate("document.documentElement.scrollWidth") <= width
    assert_quiet(watched, shots, f"{address[14:]}.{width}")
    context.close()
