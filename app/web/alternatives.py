"""Several releases that answer one goal, side by side: what each shows, whom it leaves out, what it costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from markupsafe import Markup

from app.charts.curves import Curve, draw_curves
from app.charts.drawing import Caption
from app.web.goal_terms import ALTERNATIVES, important
from app.web.release_words import attained
from app.web.visits import NoSuchPage, Visit, found
from app.web.words import number
from privacy_risk import Json
from privacy_risk.comparison import in_words, likeness_costs, rule_name
from privacy_risk.usual import others_told

TITLES: Final[Mapping[str, str]] = {
    "one_level_per_column": "One level per column",
    "levels_per_record": "Levels for every record",
    "every_column_shown": "Every column shown",
    "important_columns": "Important columns first",
    "fewer_suppressed": "Nobody suppressed",
}
WAYS: Final[Mapping[str, str]] = {
    "one_level_per_column": "Every record is generalised alike, which is easiest to work with.",
    "levels_per_record": "Each record shows as much as the records like it allow.",
    "every_column_shown": "One level per column, and no column is hidden altogether.",
    "important_columns": "One level per column; the columns that you named lose least.",
    "fewer_suppressed": "Each record shows something, at levels of its own.",
}


def is_compared(search: Json) -> bool:
    """Whether a search answers with several releases."""
    return bool(search["objective"]["kind"] == ALTERNATIVES)


def chosen(search: Json, id_: str | None) -> tuple[str, Json]:
    """The name of the rule that was chosen of a search, and what was found of it.

    A search for one rule has no other; NoSuchPage for an alternative that a comparison does not have.
    """
    result = search["result"]
    if not is_compared(search):
        return search["name"], result
    own = next((one for one in result["alternatives"] if id_ in (one["id"], *one["also"])), None)
    if own is None:
        raise NoSuchPage
    limit = result["suppression_allowed"]
    return rule_name(search["name"], own["id"]), {**own, "suppression_allowed": limit}


async def result_of(visit: Visit, rule: str) -> Json | None:
    """What was found of a rule, by the name of the rule; None if no search has found it."""
    search = await found(visit.client.optimisations.get(rule))
    if search is not None:
        return cast("Json | None", search.document["result"])
    for way in TITLES:
        name = rule.removesuffix(rule_name("", way))
        several = None if name == rule else await found(visit.client.optimisations.get(name))
        if several is not None and is_compared(several.document) and several.document["result"] is not None:
            return chosen(several.document, way)[1]
    return None


def columns_mixed(dataset: Json, alternative: Json) -> list[dict[str, Any]]:
    """The released columns under a rule with levels of their own for records, as pages list them.

    The level is None where records show a column at different ones.
    """
    known = {own["attribute"] for own in alternative["columns"]}
    found = {own["attribute"]: own for own in (*alternative["columns"], *alternative["sensitive"])}
    columns = []
    for own in dataset["attributes"]:
        if own["role"] not in ("quasi_identifier", "sensitive"):
            continue
        name = own["name"]
        levels = [level["level"] for level in found[name]["levels"]]
        columns.append(
            {
                "name": name,
                "role": own["role"],
                "level": levels[0] if len(levels) == 1 else None,
                "height": own["height"],
                "shown": in_words(found[name]),
                "loss": found[name]["loss"] if name in known else None,
            }
        )
    return columns


def compared(search: Json, fields: dict[str, str] | None) -> dict[str, Any]:
    """What the page of a comparison shows."""
    result = search["result"]
    cards = [
        {
            "id": own["id"],
            "titles": [TITLES[way] for way in (own["id"], *own["also"])],
            "way": WAYS[own["id"]],
            "is_suggested": own["id"] == result["suggested"],
            "columns": [
                (column["attribute"], in_words(column)) for column in (*own["columns"], *own["sensitive"])
            ],
            "attained": [
                said for one in own["privacy"] for said in attained(one["criterion"], number(one["attained"]))
            ],
            **{key: own[key] for key in _FIGURES},
        }
        for own in result["alternatives"]
    ]
    cards.sort(key=lambda card: not card["is_suggested"])
    return {
        "cards": cards,
        "missing": [TITLES[way] for way in result["not_found"]],
        "assumed": list(others_told([own["criterion"] for own in result["alternatives"][0]["privacy"]])),
        "short": result["records_short"],
        "keeping": list(_keeping(result["alternatives"], fields)),
        "curves": [Markup(drawn) for drawn in _curves(result["curves"])],  # noqa: S704 - made here, escaped
        "points": result["curves"],
        "likeness": list(likeness_costs(result["curves"])),
    }


_FIGURES: Final = (
    "status",
    "loss",
    "gap",
    "suppressed_records",
    "persons",
    "persons_suppressed",
    "smallest_class",
    "highest_risk",
    "mean_risk",
)


def _keeping(alternatives: Sequence[Json], fields: dict[str, str] | None) -> Iterator[dict[str, Any]]:
    """Columns that some alternative hides, each with the goal that makes it important, too."""
    hidden = {
        own["attribute"]: None
        for alternative in alternatives
        for own in alternative["columns"]
        if own["shown_share"] == 0
    }
    for name in hidden if fields is not None else ():
        if important(name) not in (fields or {}):
            yield {"name": name, "fields": {**(fields or {}), important(name): "on"}}


def _curves(curves: Json) -> Iterator[str]:
    """The loss against the share of suppressed records, and against k; none of fewer than two points."""
    for axis, label, told in (
        ("suppression", "Share of the records that may be suppressed", "the suppression limit"),
        ("k", "k", "k"),
    ):
        points = [(own["at"], own["loss"]) for own in curves[axis] if own["loss"] is not None]
        if len(points) > 1:
            x, y = zip(*points, strict=True)
            caption = Caption(
                f"curve-{axis}",
                f"Loss against {told}",
                "Each point is the rule of one level per column that loses least. The table has the numbers.",
            )
            yield draw_curves(caption, [Curve("loss", x, y)], label, "Loss", is_linear=True)
