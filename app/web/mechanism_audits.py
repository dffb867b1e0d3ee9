"""An audit of a mechanism: what it promises, and whether anything was found that breaks it."""

from __future__ import annotations

from app.web.visits import Page, Visit, found


async def mechanism_audit(visit: Visit) -> Page:
    """One audit, with its run while it has found nothing yet."""
    document = (await visit.client.mechanism_audits.get(visit.ref)).document
    run = None if document["result"] else await found(visit.client.runs.get(document["name"]))
    dictionary = document["parameters"].get("dictionary")
    return Page(
        "mechanism_audit.html",
        {
            "audit": document,
            "run": None if run is None else run.document,
            "entities": 0 if dictionary is None else max(map(len, dictionary.values())),
        },
    )
