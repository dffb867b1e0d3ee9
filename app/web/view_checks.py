"""A check of views: every view beside every secret, and of one pair the rows that prove its verdict."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from markupsafe import Markup, escape

from app.web.visits import Page, Visit, found
from app.web.words import address
from privacy_risk import Json

LETTERS: Final = {"PRIVATE": "P", "DISCLOSES": "D", "UNKNOWN": "U"}
MEANINGS: Final = {
    "PRIVATE": "the view discloses nothing about the secret",
    "DISCLOSES": "it discloses something",
    "UNKNOWN": "that is not decided, which denies",
}
_QUOTED: Final = re.compile(r"'(?:[^']|'')*'")
_NAME: Final = re.compile(r'"[^"\n]*"|\w+')


async def view_check(visit: Visit) -> Page:
    """One check, with the pair that the query names, or else the first of the worst."""
    document = (await visit.client.view_checks.get(visit.ref)).document
    result = document["result"]
    run = None if result is not None else await found(visit.client.runs.get(document["name"]))
    shown = {"check": document, "run": None if run is None else run.document, "pair": None}
    if result is None:
        return Page("view_check.html", shown)
    pairs = {(own["secret"], own["view"]): own for own in result["pairs"]}
    asked = pairs.get((visit.asked("secret") or "", visit.asked("view") or ""))
    pair = asked or next(own for own in result["pairs"] if own["verdict"] == result["verdict"])
    return Page(
        "view_check.html",
        {
            **shown,
            "rows": [
                [_cell(document, pairs[secret["id"], view["id"]], pair) for secret in document["secrets"]]
                for view in document["views"]
            ],
            "letters": [(letter, verdict, MEANINGS[verdict]) for verdict, letter in LETTERS.items()],
            "pair": pair,
            "sides": [_side(document, pair, own) for own in ("secret", "view")],
        },
    )


def _cell(check: Json, own: Json, chosen: Json) -> Json:
    """A field of the grid: its letter and where its pair is shown."""
    return {
        "letter": LETTERS[own["verdict"]],
        "verdict": own["verdict"].lower(),
        "href": address("view-checks", check["name"], secret=own["secret"], view=own["view"]) + "#pair",
        "said": f"{own['view']} beside {own['secret']}: {own['verdict'].lower()}",
        "is_chosen": own is chosen,
    }


def _side(check: Json, pair: Json, side: str) -> Json:
    """The secret or the view of a pair: its text, and the rows among which one decides its answer."""
    query = next(own for own in check[f"{side}s"] if own["id"] == pair[side])
    witness = None if pair["witness"] is None else pair["witness"][side]
    return {
        "what": side,
        "id": pair[side],
        "text": None if query["query"] is None else _marked(query["query"], _spans(check, query, witness)),
        "not_exact": pair["not_exact"][side],
        "answer": None if witness is None else [_shown(own) for own in witness["answer"]],
        "tables": [] if witness is None else list(_tables(witness)),
    }


def _tables(witness: Json) -> Iterator[Json]:
    """A small table for each relation of the example, that of the deciding row first."""
    deciding = witness["deciding_row"]
    rows = [(deciding, True), *((own, False) for own in witness["other_rows"])]
    for name in dict.fromkeys(row["relation"] for row, _ in rows):
        own = [(row, decides) for row, decides in rows if row["relation"] == name]
        columns = list(own[0][0]["values"])
        yield {
            "relation": name,
            "columns": columns,
            "rows": [
                {"decides": decides, "cells": [_shown(row["values"][column]) for column in columns]}
                for row, decides in own
            ],
        }


def _shown(value: object) -> str:
    return "NULL" if value is None else str(value)


def _spans(check: Json, query: Json, witness: Json | None) -> list[tuple[int, int]]:
    """Where the text reads the relation of the deciding row: subgoals in Datalog, tables in SQL."""
    if witness is None:
        return []
    text: str = query["query"]
    starts = [_offset(text, own) for own in witness["places"]]
    if not starts and check["language"] == "datalog":
        starts = list(_subgoals(text, witness["deciding_row"]["relation"]))
    return [(start, _end(text, start)) for start in starts]


def _offset(text: str, place: Json) -> int:
    """How many characters stand before a place."""
    lines = text.split("\n")
    before: int = place["column"] - 1
    return before + sum(len(line) + 1 for line in lines[: place["line"] - 1])


def _subgoals(text: str, relation: str) -> Iterator[int]:
    """Where subgoals of a relation begin; the same words in a quoted text, or as a head, are none."""
    bare = _QUOTED.sub(lambda quoted: " " * len(quoted[0]), text)
    for own in re.finditer(rf"(?<!\w){re.escape(relation)}\s*\(", bare):
        if not re.match(r"\s*:-", bare[_end(bare, own.start()) :]):
            yield own.start()


def _end(text: str, start: int) -> int:
    """Where a name ends that begins here, with what it has in parentheses."""
    bare = _QUOTED.sub(lambda quoted: " " * len(quoted[0]), text)
    name = _NAME.match(bare, start)
    if name is None:
        return start
    opened = re.compile(r"\s*\(").match(bare, name.end())
    closed = -1 if opened is None else bare.find(")", opened.end())
    return name.end() if closed < 0 else closed + 1


def _marked(text: str, spans: Sequence[tuple[int, int]]) -> Markup:
    """The text with these parts marked."""
    parts, done = [], 0
    for start, end in sorted(spans):
        if start >= done:
            parts += [escape(text[done:start]), Markup("<mark>{}</mark>").format(text[start:end])]
            done = end
    return Markup("").join([*parts, escape(text[done:])])
