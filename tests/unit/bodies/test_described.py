"""What a field of a body is may stand below it; the document has it in one line."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, create_model

from app.api.schemas.common import Answer, Ref, Request


class Sent(Request):
    """A body."""

    short: Annotated[int, Field(description="Said in its line.")]
    long: Annotated[str, Field(max_length=5)] = "a"
    """Said below it, in words that
    take two lines.
    """
    ref: Ref
    """Another thing than references are in general."""
    plain: int | None = None


class More(Sent):
    """A body with a further field."""

    further: list[Sent]
    """The last one."""


def described(model: type[Answer] | type[Request]) -> dict[str, str | None]:
    properties = model.model_json_schema()["properties"]
    return {name: own.get("description") for name, own in properties.items()}


SENT = {
    "short": "Said in its line.",
    "long": "Said below it, in words that take two lines.",
    "ref": "Another thing than references are in general.",
    "plain": None,
}


def test_a_text_below_a_field_describes_it():
    assert described(Sent) == SENT
    assert Sent.model_json_schema()["properties"]["long"]["maxLength"] == 5


def test_what_a_body_adds_is_described_beside_what_it_has():
    assert described(More) == {**SENT, "further": "The last one."}


def test_bodies_without_source_are_made_all_the_same():
    assert described(create_model("Sent", __base__=Sent, other=(int, ...))) == {**SENT, "other": None}
    namespace: dict[str, object] = {"Answer": Answer, "__name__": "nowhere"}
    exec("class Made(Answer):\n    field: int\n    'Never read.'\n", namespace)
    assert described(namespace["Made"]) == {"field": None}
