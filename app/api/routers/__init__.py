"""One file per resource; here they stand in the order of the journey down the page.

A file is loaded when the first of its operations is asked for, or the document of them all: the bodies of all
operations together take longer to make than all else that a process needs to answer.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pkgutil import resolve_name
from typing import Final, NamedTuple

from fastapi import APIRouter


class Part(NamedTuple):
    """Operations that stand together: the first words of their addresses, and the router in its file."""

    words: tuple[str, ...]
    place: str

    def router(self) -> APIRouter:
        """The router, loaded if it is not."""
        # One thread at a time: two that load files which need each other could see them half made.
        with _loading:
            found: APIRouter = resolve_name(f"{__name__}.{self.place}")
        return found


_loading: Final = threading.Lock()


_COLLECTIONS: Final = (
    "hierarchies", "uploads", "datasets", "dictionaries", "dictionary-sets", "sensitivity-profiles", "rules",
    "assessments", "optimisations", "frontiers", "releases", "measurements", "sequential-disclosures",
    "mechanism-audits", "relational-schemas", "view-checks", "policies", "evaluations", "waivers",
)  # fmt: skip

PARTS: Final = (
    Part(("example-data",), "example_data:router"),
    Part(("hierarchies",), "hierarchies:router"),
    Part(("dialect-proposals",), "uploads:proposals"),
    Part(("uploads",), "uploads:streams"),
    Part(("uploads",), "uploads:router"),
    Part(("datasets",), "datasets:router"),
    Part(("dictionaries",), "dictionaries:router"),
    Part(("dictionary-sets",), "dictionary_sets:router"),
    Part(("dictionary-orders",), "dictionary_sets:orders"),
    Part(("sensitivity-profiles",), "sensitivity_profiles:router"),
    Part(("rules",), "rules:router"),
    Part(("rule-previews",), "rules:previews"),
    Part(("assessments",), "assessments:router"),
    Part(("optimisations",), "optimisations:router"),
    Part(("frontiers",), "frontiers:router"),
    Part(("runs",), "runs:router"),
    Part(("budgets",), "budgets:router"),
    Part(("datasets",), "budgets:of_datasets"),
    Part(("releases",), "releases:router"),
    Part(("datasets",), "releases:ledgers"),
    Part(("catalogue",), "catalogue:router"),
    Part(("mechanism-audits",), "mechanism_audits:router"),
    Part(("measurements",), "measurements:router"),
    Part(("sequential-disclosures",), "sequential_disclosures:router"),
    Part(("relational-schemas",), "relational_schemas:router"),
    Part(("view-checks",), "view_checks:router"),
    Part(("policy-templates", "release-contexts"), "policies:beginnings"),
    Part(("policies",), "policies:router"),
    Part(("gates",), "evaluations:gates"),
    Part(("evaluations",), "evaluations:router"),
    Part(("waivers",), "waivers:router"),
    Part(("evaluations",), "evidence:verdicts"),
    Part(("assessments", "evidence", "signing-keys"), "evidence:router"),
    Part(("webhooks",), "webhooks:router"),
    Part(("audit-events",), "audit_events:router"),
    Part(("api-keys", "tenant", "tenants"), "access:router"),
    Part(("webhooks",), "webhooks:clean_up"),
    # What is built on others goes first, for nothing in use can be deleted.
    *(Part((word,), f"{word.replace('-', '_')}:COLLECTION.clean_up") for word in reversed(_COLLECTIONS)),
)

UPLOAD_PATHS: Final = frozenset({"/v1/uploads", "/v1/uploads/form"})
"""Addresses whose bodies are streamed and may be as large as an upload."""


def routers() -> Sequence[APIRouter]:
    """All routers in the order of the page, loaded."""
    return [part.router() for part in PARTS]
