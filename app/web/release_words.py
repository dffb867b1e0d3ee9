"""What a release shows, in sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from app.web.goal_terms import CLOSENESS, LIKENESS
from app.web.policies import named
from app.web.words import number, share
from privacy_risk import Json
from privacy_risk.usual import others_told

Example = tuple[str, str]
"""A value of a record, and what is released in its place."""


_MADE_OF_CONTENT: Final = re.compile(r"[a-z-]+-[0-9a-f]{16}(-[a-z-]+)?")
"""Names that pages and commands make of what was asked, which say nothing to people."""


def title_of(document: Json, what: str = "release") -> str:
    """What a resource is called: by the name that somebody gave, else by its table."""
    name = str(document["name"])
    return f"{what} of {document['dataset']}" if _MADE_OF_CONTENT.fullmatch(name) else name


def file_stem(release: Json) -> str:
    """What its files are called: like the table, and like the release where somebody gave it a name."""
    dataset, name = str(release["dataset"]), str(release["name"])
    if _MADE_OF_CONTENT.fullmatch(name):
        return f"{dataset}-release"
    return name if name.startswith(dataset) else f"{dataset}-{name}"


def rows_of(release: Json) -> str:
    """What the rows of a release are; neither a noisy count nor a generalisation is a person's record."""
    mechanism = release.get("mechanism")
    kinds = {"noise": "rows of noisy counts", "generalise": "rows of generalised records"}
    return kinds.get(mechanism["family"], "records") if mechanism else "records"


def examples_of(sample: Json | None) -> dict[str, list[Example]]:
    """Attribute → generalised cells of the sample; nothing without one."""
    found: dict[str, list[Example]] = {}
    if sample is None:
        return found
    for record in sample["records"]:
        for name, cell in zip(sample["columns"], record["cells"], strict=True):
            if None not in (cell["before"], cell["after"]) and cell["before"] != cell["after"]:
                found.setdefault(name, []).append((cell["before"], cell["after"]))
    return found


def shown_of(level: int, height: int, examples: Sequence[Example]) -> str:
    """How a column is shown."""
    if level == 0:
        return "as it is"
    if level == height:
        return "not at all"
    first = next(iter(examples), None)
    if first is None:
        return f"generalised to level {level} of {height}"
    before, after = first
    such = f", such as {after} for {before}"
    kept = {len(own) for _, own in examples}
    is_begun = all(old.isalnum() and old.startswith(own) and own.isdigit() for old, own in examples)
    if is_begun and len(kept) == 1:
        n = len(after)
        return f"by its first {'digit' if n == 1 else f'{n} digits'}{such}"
    return f"generalised to level {level} of {height}{such}"


def columns_of(
    dataset: Json,
    levels: Mapping[str, int],
    losses: Mapping[str, float],
    examples: Mapping[str, list[Example]],
) -> list[dict[str, Any]]:
    """The released columns: how each is shown, and what it loses (None of what nothing was measured of)."""
    return [
        {
            "name": own["name"],
            "role": own["role"],
            "level": levels.get(own["name"], 0),
            "height": own["height"],
            "shown": shown_of(levels.get(own["name"], 0), own["height"], examples.get(own["name"], [])),
            "loss": losses.get(own["name"]),
        }
        for own in dataset["attributes"]
        if own["role"] in ("quasi_identifier", "sensitive")
    ]


def sentences(
    columns: Sequence[Json], rows: int, smallest: float | None, suppressed: int, result: Json | None
) -> Iterator[str]:
    """What holds of the release, one thing after another."""
    if suppressed == rows:
        yield "All records are suppressed: nothing is left to release."
        return
    if smallest is not None and smallest > 1:
        whose = "Every record" if not suppressed else "Every record that is shown"
        others = smallest - 1
        yield (
            f"{whose} shares its released quasi-identifier values with at least {number(others)} "
            f"{'other' if others == 1 else 'others'}."
        )
    elif smallest is not None:
        yield "Some record shares its released quasi-identifier values with nobody else's."
    if suppressed:
        yield f"{suppressed:,} of {rows:,} records are suppressed ({share(suppressed, rows)})."
    else:
        yield f"None of the {rows:,} records is suppressed."
    for own in (result or {}).get("privacy") or ():
        yield from attained(own["criterion"], number(own["attained"]))
    yield from others_told([own["criterion"] for own in (result or {}).get("privacy") or ()])
    yield from _of_columns(columns)


def attained(asked: Json, reached: str) -> Iterator[str]:
    """What the classes attain of a criterion; k-anonymity is told already."""
    if asked["kind"] == "distinct_l_diversity":
        of = f"{asked['attribute'] or 'The sensitive attribute'} has at least {reached} different values"
        yield f"{of} in every equivalence class ({number(asked['l'])} were asked for)."
    elif asked["kind"] == CLOSENESS:
        of = f"{asked['attribute'] or 'the sensitive attribute'} is at most {reached} from the whole table"
        yield f"In every equivalence class {of} ({number(asked['t'])} was asked for)."
    elif asked["kind"] == LIKENESS:
        of = (
            f"is any value of {asked['attribute'] or 'the sensitive attribute'} more likely than in the whole"
        )
        yield (
            f"In no equivalence class {of} table by more than {reached} times its share there (β = "
            f"{number(asked['beta'])} was asked for)."
        )
    elif asked["kind"] != "k_anonymity":
        yield f"Asked for was {named(asked)}; the classes attain {reached}."


def _of_columns(columns: Sequence[Json]) -> Iterator[str]:
    """How the columns are shown, in one sentence where they are shown in the same way."""
    for own in columns:
        if own["level"] is None:
            yield f"{own['name']} is shown so: {own['shown']}."
        elif 0 < own["level"] < own["height"]:
            yield f"{own['name']} is shown {own['shown']}."
    for shown, picked in (
        ("shown as they are", [own for own in columns if own["level"] == 0]),
        ("not shown at all", [own for own in columns if own["level"] == own["height"] and own["level"]]),
    ):
        names = [own["name"] for own in picked]
        if len(names) == 1:
            yield f"{names[0]} is {shown.replace('they are', 'it is')}."
        elif names:
            yield f"{', '.join(names[:-1])} and {names[-1]} are {shown}."
