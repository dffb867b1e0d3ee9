"""The map of drawn people: where they and those of the original are, who may see it, and what is refused."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import pytest
from playwright.sync_api import Browser, expect

from app.services.resources import Scope
from tests.ui.conftest import Served, Shots, Watched, new_context, sign_in
from tests.ui.forms import signed_in
from tests.ui.looks import assert_accessible, assert_quiet

MAP = "/releases/drawn/map"
PEOPLE = [("mill", "A1")] * 200 + [("mill", "A2")] * 100 + [("port", "B1")] * 100 + [("port", "B2")] * 100
PLACES = "home,x,y\n<i>,0,0\nA1,0,0\nA2,1,0\nB1,0,1\nB3,nowhere,1\nB2,,\n"


@dataclass(frozen=True)
class Commuters:
    """A tenant with drawn people, the key of somebody who reads data and that of somebody who does not."""

    api: httpx.Client
    token: str
    blind_token: str


@pytest.fixture(scope="module")
def commuters(served: Served) -> Iterator[Commuters]:
    actor, token = served.do(served.api.tenant_with_key())
    blind = served.do(served.api.key_with(actor, Scope.ASSESS))
    base = f"{served.url}/v1"
    with httpx.Client(base_url=base, headers={"Authorization": f"Bearer {token}"}, timeout=60) as api:

        def made(path: str, body: object) -> None:
            answer = api.post(path, json=body)
            assert answer.is_success, answer.text

        def declared(name: str, text: str, **roles: dict[str, str]) -> None:
            headers = {"Content-Type": "text/csv"}
            assert api.post(f"/uploads?name={name}", content=text, headers=headers).is_success
            attributes = [
                {"name": own, "type": "categorical", "role": "quasi_identifier", **roles.get(own, {})}
                for own in text.splitlines()[0].split(",")
            ]
            made("/datasets", {"name": name, "upload": name, "attributes": attributes})

        homes = ["A1", "A2", "B1", "B2", "B3"]
        made("/hierarchies", {"name": "homes", "definition": {"kind": "flat", "values": homes}})
        text = "work,home\n" + "".join(f"{work},{home}\n" for work, home in PEOPLE)
        home = {"role": "sensitive", "hierarchy": "homes", "on_unknown": "refuse"}
        declared("commutes", text, home=home)
        declared("places", PLACES)
        declared("words", "home,x,y\nA1,left,low\n")
        declared("degrees", "home,longitude,latitude\nA1,-87,40\n", longitude={"type": "number"})
        mechanism = {"kind": "dirichlet_multinomial", "partition": ["work"], "epsilon": 2}
        mechanism |= {"delta": 0.000001, "certificate": "exact_tail"}
        made("/releases", {"name": "drawn", "dataset": "commutes", "mechanism": mechanism})
        yield Commuters(api, token, blind)


def page_of(served: Served, token: str, address: str, status: int = 200) -> str:
    with httpx.Client(base_url=served.url, headers={"Accept": "text/html"}, timeout=60) as browser:
        signed_in(browser, token)
        answer = browser.get(address)
        assert answer.status_code == status, answer.text
        return answer.text


def circles(page: str) -> list[tuple[str, int]]:
    found = re.findall(r'<circle class="place"[^>]*><title>([^:]+): ([\d,]+)</title>', page)
    return [(name, int(count.replace(",", ""))) for name, count in found]


def test_drawn_people_stand_beside_those_of_the_original(served: Served, commuters: Commuters):
    assert f'href="{MAP}"' in page_of(served, commuters.token, "/releases/drawn")
    page = page_of(served, commuters.token, f"{MAP}?places=places")
    table = commuters.api.get("/releases/drawn/data").text.split()[1:]
    drawn = Counter(row.split(",")[1] for row in table)
    placed = {name: drawn[name] for name in ("A1", "A2", "B1") if drawn[name]}
    assert Counter(circles(page)) == Counter([*placed.items(), ("A1", 200), ("A2", 100), ("B1", 100)])
    text = html.unescape(page)
    assert f"Drawn people: {500 - sum(placed.values())} of 500 are at places without coordinates." in text
    assert "Original: 100 of 500 are at places without coordinates." in text
    assert "not to be published" in text


def test_one_partition_is_drawn_alone(served: Served, commuters: Commuters):
    page = page_of(served, commuters.token, f"{MAP}?places=places&of/work=mill")
    assert "of 300 are at places" in page
    assert "of 500" not in page
    assert sum(count for name, count in circles(page) if name == "A1") > 200


def test_degrees_are_coordinates_too(served: Served, commuters: Commuters):
    assert ("A1", 200) in circles(page_of(served, commuters.token, f"{MAP}?places=degrees"))


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("places=nothing", "nothing"),
        ("places=a/b", "This is no name that the service takes."),
        ("places=commutes", "It does not show home with x and y, or with longitude and latitude."),
        ("places=words", "Its columns x and y have no numbers"),
        ("places=places&of/work=office", "None of the 0 drawn people with these values is at any"),
    ],
)
def test_what_cannot_be_drawn_is_said_beside_its_field(query, said, served: Served, commuters: Commuters):
    page = page_of(served, commuters.token, f"{MAP}?{query}", 422)
    assert said in html.unescape(re.search(r'id="f-places-fault">(.*?)</p>', page)[1])
    assert "<svg" not in page


def test_nobody_who_may_not_read_the_data_sees_where_people_are(served: Served, commuters: Commuters):
    page = page_of(served, commuters.blind_token, f"{MAP}?places=places&of/work=mill")
    assert "Your key may not see this" in page
    assert "A1" not in page


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_is_accessible_and_fits_every_screen(
    width, browser: Browser, served: Served, commuters: Commuters, shots: Shots
):
    context = new_context(browser, viewport={"width": width, "height": 900})
    watched = Watched(context.new_page(), served)
    sign_in(watched.page, served, commuters.token, MAP)
    watched.page.get_by_label("Dataset of places").fill("places")
    watched.page.get_by_label("work").fill("mill")
    watched.page.get_by_role("button", name="Draw").click()
    expect(watched.page.get_by_role("heading", name="People by place")).to_be_visible()
    shots.take(watched.page, f"drawn-map.{width}")
    assert_accessible(watched.page, shots, f"drawn-map.{width}")
    assert watched.page.evaluate("document.documentElement.scrollWidth") <= width
    assert_quiet(watched, shots, f"drawn-map.{width}")
    context.close()


def test_a_withdrawn_release_has_no_map(served: Served, commuters: Commuters):
    assert commuters.api.post("/releases/drawn/withdrawal").is_success
    page = page_of(served, commuters.token, f"{MAP}?places=places")
    assert "The release was withdrawn" in page
    assert "<svg" not in page
