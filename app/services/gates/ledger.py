"""What was released before of the same data, and whether a verdict took it into account."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from app.domain.errors import InvalidInput
from app.services.ports import UnitOfWork
from app.services.releases.mechanism_manifests import is_drawn
from app.services.releases.releases import ORDER_BEFORE
from app.services.releases.shown_otherwise import releases_of_upload
from app.services.resources import JsonObject, Stored

MOST_SHOWN: Final = 100
MOST_NAMED: Final = 10


async def find_earlier_releases(work: UnitOfWork, dataset: Stored) -> tuple[JsonObject, ...]:
    """The stored releases of all datasets made of the same upload or table, the oldest first."""
    return tuple(
        {
            "name": own.name,
            "date": own.created_at.date().isoformat(),
            "csv_sha256": own.summary["csv_sha256"],
            "dataset": own.summary["dataset"],
            "dataset_sha256": own.summary["dataset_sha256"],
            "rule": own.summary["rule"]["name"],
            "order": own.summary.get("order", ORDER_BEFORE),
            **({"mechanism": own.summary["mechanism"]["name"]} if is_drawn(own) else {}),
        }
        for _, own in await releases_of_upload(work, dataset, with_parts=True)
    )


def refuse_drawn(upload: Stored, earlier: Sequence[JsonObject]) -> None:
    """Refuse a file that is the table of a release which a mechanism drew.

    What it shows of a record is not above its original, and criteria would judge classes by drawn values.
    """
    contents = (upload.summary["content_sha256"], upload.summary.get("canonical_sha256"))
    for own in earlier:
        if own.get("mechanism") and own["csv_sha256"] in contents:
            raise InvalidInput.of(
                "/release/upload",
                "made-by-mechanism",
                f"The file is the table of the release {own['name']!r}, whose values the mechanism "
                f"{own['mechanism']} drew: criteria would take them for those of the records.",
                'Judge the stored release itself, by "release": {"name": …}, with a requirement on its '
                "guarantee.",
            )


def ledger_document(
    earlier: Sequence[JsonObject], dataset: Stored, parameters: Mapping[str, Any]
) -> JsonObject:
    """The earlier releases with the requirements that took each into account, the latest ones first.

    ``parameters`` are those of the requirements on measures by id: a measure that looks at earlier releases
    has their rules in its field ``earlier``.
    """
    rules = {id_: frozenset(getattr(own, "earlier", None) or ()) for id_, own in parameters.items()}
    listed = [
        {
            **own,
            "order": own.get("order"),
            "judged_by": [
                id_
                for id_, named in rules.items()
                if own["dataset_sha256"] == dataset.sha256 and own["rule"] in named and "mechanism" not in own
            ],
        }
        for own in earlier
    ]
    counted = sum(bool(own["judged_by"]) for own in listed)
    return {
        "releases": listed[::-1][:MOST_SHOWN],
        "total": len(listed),
        "taken_into_account": counted,
        "explanation": _said(len(listed), counted),
    }


def ledger_warnings(earlier: Sequence[JsonObject], order: str) -> list[str]:
    """A warning where earlier releases left in the records' order: it says whose their rows are.

    ``order`` is that of the release which is judged.
    """
    names = [own["name"] for own in earlier if own.get("order") == "records"]
    if not names:
        return []
    listed = ", ".join(map(repr, names[-MOST_NAMED:]))
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    left = f"Of the same data there left in the records' order before: {listed}{more}."
    if order == "records":
        return [
            f"{left} So does this release: line by line they are of the same people, and who has both knows "
            "more of each than either says."
        ]
    return [
        f"{left} Who knows that order knows whose their rows are, and may find these people's rows here by "
        "the values that both show."
    ]


def _said(total: int, counted: int) -> str:
    if not counted:
        known = "1 earlier release" if total == 1 else f"{total or 'no'} earlier releases"
        verb = "is" if total == 1 else "are"
        return f"This release was judged alone; {known} of the same data {verb} known here."
    return f"{counted} of {total} earlier releases of the same data were taken into account."
