"""Makes docs/papers.md of docs/papers.toml and says what is wrong with either: ``python -m tests.papers``.

The data file lists what the founding works define, prove, print and draw. Each item says where the product
has it, by the product's names, whether it holds, and which test shows that.
"""

from __future__ import annotations

import ast
import json
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from app.api.schemas.catalogue import CATALOGUE
from app.domain.search.objectives import OBJECTIVES
from app.experiments.catalogue import EXPERIMENTS

ROOT = Path(__file__).parents[1]
DATA = ROOT / "docs" / "papers.toml"
PAGE = ROOT / "docs" / "papers.md"
MOST_WORDS = 12

STATUSES = {
    "holds": "as printed; the test shows it",
    "holds corrected": "what is printed is wrong, silent or ambiguous; what the product does instead holds",
    "does not hold": "a counterexample is in the definition or experiment that is named",
    "not public": "about data that nobody else has; what stands in their place is named, if anything does",
    "stated only": "only in the work: no call computes it, for the reason given",
}
INTRODUCTION = """
# The founding works, item by item

What the five founding works define, prove, print and draw; where it is here, by the names of the catalogue,
of the API and of the [experiments](experiments.md); whether it holds; and which tests show it. Numbers of
sections and items are those of the works. What stands behind a dot is a field: `aruba.moves` is the field
`moves` of the solver `aruba`.

Experiments run on synthetic data. Their exact claims are tested; what a curve looks like is a qualitative
claim, which an experiment reports as it finds it. An item that rests on such a claim alone says so, or has
no test.

Four small tables of the works are made by `POST /v1/example-data` with their names in `tables`; the answer
lists the requests that lead to what is printed of them.

The page is made of [papers.toml](papers.toml) by `python -m tests.papers`. A name, a test or a correction
that is not there fails a test.
""".strip().splitlines()
KEYS = {"item", "says", "where", "status", "tests", "correction", "why"}
KINDS = {
    "measure": "measures",
    "criterion": "criteria",
    "solver": "searches",
    "mechanism": "mechanisms",
    "risk model": "risk_models",
    "sensitivity family": "sensitivity_families",
    "utility model": "utility_models",
    "loss": "losses",
}
"""Kind of place → the part of the catalogue that lists its names."""

Item = Mapping[str, Any]


def read(path: Path = DATA) -> list[dict[str, Any]]:
    """The works, each with chapters of items."""
    found: list[dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))["work"]
    return found


def items(works: list[dict[str, Any]]) -> Iterator[tuple[str, Item]]:
    """Every item behind the name of its work."""
    for work in works:
        for chapter in work["chapters"]:
            yield from ((work["name"], item) for item in chapter["items"])


@cache
def places() -> dict[str, dict[str, frozenset[str]]]:
    """Kind → name → the fields that it takes, of everything that an item may name."""
    listed = CATALOGUE.model_dump()
    found = {
        kind: {own["name"]: frozenset(own["parameters"].get("properties", ())) for own in listed[part]}
        for kind, part in KINDS.items()
    }
    found["objective"] = {kind: frozenset() for kind in OBJECTIVES}
    found["experiment"] = {own.id: frozenset() for own in EXPERIMENTS}
    document = json.loads((ROOT / "openapi" / "openapi.json").read_text(encoding="utf-8"))
    found["operation"] = {
        own["operationId"]: frozenset(_fields(own.get("requestBody", {}), document["components"], set()))
        for path in document["paths"].values()
        for own in path.values()
    }
    return found


def _fields(schema: Any, components: Any, seen: set[str]) -> Iterator[str]:
    """Names of the fields of a body, at any depth."""
    if isinstance(schema, list):
        for own in schema:
            yield from _fields(own, components, seen)
    if not isinstance(schema, dict):
        return
    if isinstance(schema.get("properties"), dict):
        yield from schema["properties"]
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    if name and name not in seen:
        seen.add(name)
        yield from _fields(components["schemas"].get(name), components, seen)
    for key, own in schema.items():
        if key != "examples":
            yield from _fields(own, components, seen)


@cache
def tests_of(path: str) -> frozenset[str]:
    """Names of the tests of a file, those of a class behind its name; none if there is no such file."""
    if not (ROOT / path).is_file():
        return frozenset()
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    found = [own.name for own in tree.body if isinstance(own, functions)]
    for group in tree.body:
        if isinstance(group, ast.ClassDef):
            found += [f"{group.name}::{own.name}" for own in group.body if isinstance(own, functions)]
    return frozenset(name for name in found if name.rpartition("::")[2].startswith("test_"))


@cache
def headings(page: str) -> dict[str, str]:
    """Fragment → heading of the sections of a page."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    names = re.findall(r"^###? (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", name.lower()).replace(" ", "-"): name for name in names}


def faults(works: list[dict[str, Any]]) -> list[str]:
    """What is wrong with the data, each with its item."""
    found = []
    for (work, name), times in Counter((work, item.get("item")) for work, item in items(works)).items():
        if times > 1:
            found.append(f"{work}, {name}: listed {times} times")
    for work in works:
        if work["name"] not in headings("references.md").values():
            found.append(f"{work['name']}: no such work in references.md")
    for work, item in items(works):
        found += [f"{work}, {item.get('item')}: {fault}" for fault in _faults(item)]
    named = {place for _, item in items(works) for place in item.get("where", ())}
    found += [
        f"experiment {own.id}: in no item" for own in EXPERIMENTS if f"experiment {own.id}" not in named
    ]
    return found


def _faults(item: Item) -> Iterator[str]:
    yield from (f"unknown key {key}" for key in sorted(set(item) - KEYS))
    if not item.get("item") or not 0 < len(item.get("says", "").split()) <= MOST_WORDS:
        yield f"an item has a name and says something in at most {MOST_WORDS} words"
    yield from (f"no {place}" for place in item.get("where", ()) if not _is_there(place))
    for test in item.get("tests", ()):
        path, _, name = test.partition("::")
        if name not in tests_of(path):
            yield f"no test {test}"
    correction = item.get("correction")
    if correction and correction not in headings("definitions.md"):
        yield f"no section {correction} in definitions.md"
    status = item.get("status")
    if status not in STATUSES:
        yield f"no status {status}"
    if status in ("holds", "holds corrected") and not (item.get("where") and item.get("tests")):
        yield "what holds has a place and a test"
    if status == "holds" and correction:
        yield "what is corrected does not hold as printed"
    if correction and not item.get("tests"):
        yield "a correction has a test"
    by_experiment = any(place.startswith("experiment ") for place in item.get("where", ()))
    if status == "does not hold" and not (correction or by_experiment):
        yield "what does not hold has a counterexample in a definition or an experiment"
    if status in ("stated only", "not public") and not item.get("why"):
        yield f"what is {status} has a reason"
    if status == "stated only" and item.get("where"):
        yield "what is stated only has no place"


def _is_there(place: str) -> bool:
    """Whether there is such a place: a kind, a name and perhaps a field, as in ``solver aruba.moves``."""
    kind, _, name = place.rpartition(" ")
    name, _, field = name.partition(".")
    fields = places().get(kind, {}).get(name)
    return fields is not None and (not field or field in fields)


def page(works: list[dict[str, Any]]) -> str:
    """The page of the works."""
    lines = [
        *INTRODUCTION,
        "",
        *(f"* **{status}**: {meaning}." for status, meaning in STATUSES.items()),
        "",
        f"| Work | {' | '.join(STATUSES)} | all |",
        f"|---|{'---|' * len(STATUSES)}---|",
    ]
    totals: Counter[str] = Counter()
    for work in works:
        counted = Counter(item["status"] for _, item in items([work]))
        totals += counted
        lines.append(_counts(_link(work["name"]), counted))
    lines += [_counts("all", totals)]
    for work in works:
        lines += ["", f"## {work['name']}", "", f"*{work['title']}*: {_link(work['name'])}."]
        for chapter in work["chapters"]:
            lines += ["", f"### {chapter['title']}", ""]
            lines += ["| Item | What it says | Where | Holds? | Test |", "|---|---|---|---|---|"]
            lines += [_row(item) for item in chapter["items"]]
    return "\n".join(lines) + "\n"


def _counts(name: str, counted: Counter[str]) -> str:
    return f"| {name} | {' | '.join(str(counted[own]) for own in STATUSES)} | {counted.total()} |"


def _link(work: str) -> str:
    fragment = next(own for own, name in headings("references.md").items() if name == work)
    return f"[{work}](references.md#{fragment})"


def _row(item: Item) -> str:
    where = [re.sub(r" (\S+)$", r" `\1`", place) for place in item.get("where", ())]
    holds = item["status"]
    if correction := item.get("correction"):
        holds += f": [{headings('definitions.md')[correction]}](definitions.md#{correction})"
    if why := item.get("why"):
        holds += f"; {why}" if correction else f": {why}"
    shown = (f"[`{test}`](../{test.partition('::')[0]})" for test in item.get("tests", ()))
    cells = (item["item"], item["says"], ", ".join(where), holds, ", ".join(shown))
    return "| " + " | ".join(cell.replace("|", "\\|") or "–" for cell in cells) + " |"


def main() -> int:
    """Write the page; 1 if anything is wrong with the data."""
    works = read()
    found = faults(works)
    print(*found, sep="\n", end="\n" if found else "")
    if not found:
        PAGE.write_text(page(works), encoding="utf-8")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
