"""A release: what was published, how it was made, and what else was published of the same dataset."""

from __future__ import annotations

import asyncio

from app.web.drawn_releases import MOST_BARS, drawn_facts
from app.web.release_words import title_of
from app.web.rules import ladder
from app.web.visits import Page, Visit, found
from app.web.words import heights_of


async def release(visit: Visit) -> Page:
    """The manifest of a release in words."""
    document = (await visit.client.releases.get(visit.ref)).document
    dataset, others = await asyncio.gather(
        found(visit.client.datasets.get(document["dataset"])),
        found(visit.client.datasets.releases(document["dataset"], limit=50)),
    )
    drawn = document.get("mechanism")
    heights = {} if dataset is None else heights_of(dataset.document)
    return Page(
        "release.html",
        {
            "release": document,
            "drawn": drawn,
            "most_bars": MOST_BARS,
            **({} if drawn is None else await drawn_facts(visit, document)),
            "withdrawn_at": document.get("withdrawn_at"),
            "ladder": ladder(document["rule"]["levels"], heights) if document["rule"]["name"] else [],
            "others": []
            if others is None
            else [
                {**one.document, "title": title_of(one.document)}
                for one in others.items
                if one.name != document["name"]
            ],
            "title": title_of(document),
        },
    )
