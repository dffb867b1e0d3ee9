"""Files to keep: a release's table, manifest and report, and a policy."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any
from urllib.parse import quote

from starlette.responses import Response, StreamingResponse

from app.web.alternatives import result_of
from app.web.best_release import facts_of
from app.web.drawn_releases import report_facts
from app.web.release_words import file_stem
from app.web.rewriting import Way, written
from app.web.visits import TEMPLATES, Visit, found
from privacy_risk import Json
from privacy_risk.release_policy import policy_text


async def table(visit: Visit) -> Response:
    """The released table as CSV, as it is made: no more of it is held than a few pieces.

    By choice without the rows of which nothing is shown, and written as the table was that it was made of.
    """
    release = (await visit.client.releases.get(visit.ref)).document
    pieces = _pieces(visit)
    as_sent = visit.asked("dialect") == "input"
    without = visit.asked("suppressed") == "without"
    if as_sent or without:
        way = await _way_of(visit, release) if as_sent else Way()
        pieces = written(pieces, way, await _nothing(visit, release) if without else None)
    # What the interface refuses is told before the first piece is sent.
    first = await anext(pieces, b"")
    return StreamingResponse(
        _after(first, pieces), media_type="text/csv", headers=_attached(f"{file_stem(release)}.csv")
    )


async def _pieces(visit: Visit) -> AsyncIterator[bytes]:
    # The client of the visit is closed by the time that a stream is sent.
    async with visit.client_again() as client:
        async for piece in client.releases.data(visit.ref):
            yield piece


async def _way_of(visit: Visit, release: Json) -> Way:
    """How the text was written that the table was sent as; of other formats, as every release is."""
    dataset = await found(visit.client.datasets.get(release["dataset"]))
    upload = dataset and await found(visit.client.uploads.get(dataset.document["upload"]))
    dialect = upload.document["dialect"] if upload else {}
    known = {name: dialect[name] for name in ("delimiter", "quote", "encoding") if dialect.get(name)}
    return Way(**known)


async def _nothing(visit: Visit, release: Json) -> list[set[str]]:
    """By column the texts that say nothing: no text, the asterisk, and what stands above all values."""

    async def of(column: str) -> set[str]:
        asked = (release["dataset"], quote(column, safe=""))
        tree = await found(visit.client.datasets.tree(*asked, depth=0, limit=1))
        return {"", "*"} | ({tree["root"]["label"]} if tree else set())

    return list(await asyncio.gather(*map(of, release["columns"])))


async def _after(first: bytes, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async with aclosing(pieces):  # type: ignore[type-var]
        yield first
        async for piece in pieces:
            yield piece


async def manifest(visit: Visit) -> Response:
    """How a release was made, as the interface answers it."""
    release = await visit.client.releases.get(visit.ref)
    text = json.dumps(release.document, indent=2, ensure_ascii=False) + "\n"
    return _file(text, "application/json", f"{file_stem(release.document)}-manifest.json")


async def report(visit: Visit) -> Response:
    """What a release shows and what it cost, as a page that needs nothing beside it and shows no record.

    Of one that a mechanism drew it is what that promises, and what can be counted in it.
    """
    release = await visit.client.releases.get(visit.ref)
    drawn = release.document.get("mechanism")
    if drawn is not None:
        told = {"release": {"withdrawn_at": None, **release.document}, "drawn": drawn}
        text = TEMPLATES.get_template("drawn_report.html").render({**told, **report_facts(release.document)})
        return _file(text, "text/html", f"{file_stem(release.document)}-report.html")
    rule = release.document["rule"]["name"]
    result = await result_of(visit, rule)
    facts = await facts_of(visit, release.document["dataset"], rule, result)
    shown: dict[str, Any] = {**facts, "release": release.document, "result": result}
    text = TEMPLATES.get_template("release_report.html").render(shown)
    return _file(text, "text/html", f"{file_stem(release.document)}-report.html")


async def policy(visit: Visit) -> Response:
    """A policy as a YAML file, to be kept beside the pipeline that it judges."""
    document = (await visit.client.policies.get(visit.ref)).document
    stored = document["document"]
    # What a reader looks for first stands first.
    ordered = {key: stored[key] for key in ("format", "name", "version", "title") if key in stored}
    return _file(policy_text({**ordered, **stored}), "application/yaml", f"{document['name']}.yaml")


def _file(text: str, media_type: str, name: str) -> Response:
    return Response(text, media_type=media_type, headers=_attached(name))


def _attached(name: str) -> dict[str, str]:
    """Names of resources hold no quotes, slashes or blanks: they are safe in a header and a folder."""
    return {"Content-Disposition": f'attachment; filename="{name}"'}
