"""What pages read of forms: fields, a file behind them, and what is wrong with which field."""

from __future__ import annotations

from collections.abc import AsyncIterator
from urllib.parse import urlencode

import pytest
from starlette.requests import Request

from app.multipart import MalformedMultipart
from app.web.forms import LARGEST_FORM, Form, form_of, form_with_file, is_of_this_site
from app.web.words import anchor
from privacy_risk import ProblemError

pytestmark = pytest.mark.anyio


def request(body: bytes, pieces: int = 7, **headers: str) -> Request:
    """A request whose body arrives in pieces of so many bytes."""
    sent = [body[at : at + pieces] for at in range(0, len(body), pieces)] or [b""]

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": sent.pop(0), "more_body": bool(sent)}

    named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "method": "POST", "path": "/", "headers": named}, receive)


def multipart(*parts: tuple[str, str | None, bytes], end: bytes = b"--x--\r\n") -> Request:
    body = b""
    for name, file_name, content in parts:
        file = "" if file_name is None else f'; filename="{file_name}"'
        head = f'--x\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n'
        body += head.encode() + content + b"\r\n"
    return request(body + end, content_type="multipart/form-data; boundary=x")


async def read(pieces: AsyncIterator[bytes]) -> bytes:
    return b"".join([piece async for piece in pieces])


async def test_a_field_keeps_its_values_in_order_and_what_was_not_sent_has_its_default():
    form = await form_of(request(urlencode([("role", " a "), ("role", "b"), ("empty", "")]).encode()))
    assert form.sent["role"] == [" a ", "b"]
    assert (form.text("role"), form.text("empty", "x"), form.text("other", "x")) == ("a", "", "x")
    assert Form().is_on("box", default=True)
    assert not form.is_on("box", default=True)


async def test_a_number_is_finite_or_refused():
    form = Form({"k": ["5"], "nothing": [""], "word": ["five"], "far": ["inf"], "nan": ["nan"]})
    assert (form.number("k"), form.number("nothing", 2), form.number("other", 3)) == (5, 2, 3)
    for name in ("word", "far", "nan"):
        with pytest.raises(ValueError, match=r"five|finite"):
            form.number(name)


@pytest.mark.parametrize("body", [b"\xff=1", b"a=1&" * 6_000, b"a=" + b"x" * LARGEST_FORM])
async def test_what_is_no_form_has_no_fields(body):
    assert not (await form_of(request(body, pieces=65536))).sent


async def test_the_file_behind_the_fields_is_read_as_it_arrives():
    content = b"id;zip\r\n--\r\n1;10115\r\n" * 40
    sent = multipart(
        ("form_token", None, b"t"), ("name", None, "Müller".encode()), ("file", "a b.csv", content)
    )
    form, file = await form_with_file(sent)
    assert (form.text("form_token"), form.text("name"), file.name) == ("t", "Müller", "a b.csv")
    assert await read(file.content) == content


async def test_without_a_file_the_fields_are_all_there_is():
    form, file = await form_with_file(multipart(("a", None, b"1"), ("b", None, b"2")))
    assert (form.text("a"), form.text("b"), file.name, await read(file.content)) == ("1", "2", "", b"")


async def test_a_file_that_breaks_off_is_not_taken_for_a_whole_one():
    _, file = await form_with_file(multipart(("file", "a.csv", b"id\n1\n"), end=b""))
    with pytest.raises(MalformedMultipart, match="ends before"):
        await read(file.content)


async def test_what_is_wrong_stands_beside_its_field():
    document = {
        "status": 422,
        "title": "Invalid input",
        "errors": [{"pointer": "/attributes/0/role", "message": "No such role.", "remedy": "Choose one."}],
    }
    form = Form({"attributes/0/role": ["x"]}).refused(ProblemError(document))
    (fault,) = form.at("attributes/0/role")
    assert (fault.said, fault.remedy) == ("No such role.", "Choose one.")
    assert form.at("attributes/0/type") == []


async def test_what_no_form_can_mend_is_no_fault_of_the_form():
    with pytest.raises(ProblemError):
        Form().refused(ProblemError({"status": 503, "title": "Unavailable"}))


def test_ids_of_fields_differ_and_hold_no_blanks():
    names = ["a b", "a/b", "a-b", "a:b", "é", "a%20b"]
    ids = {anchor(name) for name in names}
    assert len(ids) == len(names)
    assert not any(" " in own or "%" in own for own in ids)


@pytest.mark.parametrize(
    ("origin", "own"),
    [("http://here:8000", True), ("http://elsewhere", False), ("null", False), (None, False)],
)
def test_a_form_of_another_site_is_known_by_its_origin(origin, own):
    headers = {"host": "here:8000"} | ({} if origin is None else {"origin": origin})
    assert is_of_this_site(request(b"", **headers)) == own
