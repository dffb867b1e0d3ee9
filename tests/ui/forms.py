"""Forms of the pages as a browser without script sends them."""

from __future__ import annotations

import html
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
from playwright.sync_api import Page

from tests.ui.conftest import Served


def token_in(page: httpx.Response) -> str:
    found = re.search(r'name="form_token" value="([^"]+)"', page.text)
    assert found is not None
    return found[1]


def signed_in(browser: httpx.Client, key: str, goal: str = "/") -> httpx.Response:
    form = browser.get("/sign-in", params={"next": goal})
    return browser.post("/sign-in", data={"form_token": token_in(form), "next": goal, "api_key": key})


def filled_in(page: httpx.Response) -> dict[str, str]:
    """The fields as a browser would send them."""
    fields = {}
    for found in re.findall(r"<input ([^>]*)>", page.text):
        own = dict(re.findall(r'([\w-]+)="([^"]*)"', found))
        if "name" in own and (own.get("type") not in ("radio", "checkbox") or "checked" in found):
            fields[html.unescape(own["name"])] = html.unescape(own.get("value", ""))
    for name, inner in re.findall(r'<select [^>]*name="([^"]+)"[^>]*>(.*?)</select>', page.text, re.DOTALL):
        fields[html.unescape(name)] = re.search(r'value="([^"]*)" selected', inner)[1]
    return fields


def declared(page: httpx.Response) -> dict[str, str]:
    """What a browser would send of the form that declares columns, if nobody has changed it."""
    form = page.text.partition('class="declared"')[2]
    fields = dict(re.findall(r'<input[^>]* name="([^"]+)"[^>]* value="([^"]*)"', form))
    for name, options in re.findall(r'<select[^>]* name="([^"]+)"[^>]*>(.*?)</select>', form, re.DOTALL):
        chosen = re.search(r'<option value="([^"]*)" selected', options)
        fields[name] = chosen[1] if chosen else re.search(r'<option value="([^"]*)"', options)[1]
    fields |= dict(re.findall(r'<textarea[^>]* name="([^"]+)"[^>]*>([^<]*)</textarea>', form))
    return {html.unescape(name): html.unescape(value) for name, value in fields.items()}


def sent(
    browser: httpx.Client, content: bytes, file_name: str = "patients.csv", **fields: str
) -> httpx.Response:
    form = {"form_token": token_in(browser.get("/start")), **fields}
    return browser.post("/start", data=form, files={"file": (file_name, content)})


def text_of(page: httpx.Response) -> str:
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", "", page.text)))


def followed(served: Served, browser: httpx.Client, led: httpx.Response) -> str:
    """Where a goal leads: to its releases, by the page of its run if they take a while."""
    place = led.headers["location"]
    if place.startswith("/runs/"):
        served.do(served.api.work_off(place.removeprefix("/runs/").partition("?")[0]))
        place = browser.get(place).headers["location"]
    return place


@contextmanager
def worked_off(served: Served, key: str) -> Iterator[str]:
    """Does meanwhile what runs of the key's tenant leave to a worker, which is not there otherwise."""
    ended = threading.Event()

    def work() -> None:
        with httpx.Client(base_url=served.url, headers={"Authorization": f"Bearer {key}"}) as api:
            while not ended.wait(0.5):
                for run in api.get("/v1/runs", params={"state": "queued"}, timeout=60).json()["items"]:
                    served.do(served.api.work_off(run["id"]))

    worker = threading.Thread(target=work)
    worker.start()
    try:
        yield key
    finally:
        ended.set()
        worker.join()


def led_on(served: Served, page: Page) -> None:
    """In a browser: from the page of a run, if a goal leads there, to its releases."""
    page.wait_for_url(re.compile(r"/runs/|/release$"))
    if "/runs/" in page.url:
        served.do(served.api.work_off(page.url.partition("/runs/")[2].partition("?")[0]))
        page.wait_for_url("**/release")
