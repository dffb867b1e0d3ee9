"""What the demonstration shows in the end: as text for people, as one JSON object for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from app.cli.plain_lines import number_text, text_table
from app.cli.risk_map import Point, draw_map
from app.cli.tables_file import Json
from app.cli.walk import Score, Walked

_MISSING = "(missing)"


def text_report(walked: Walked, map_path: Path, release_path: Path) -> str:
    """Before and after of the first records, the table of rules, and where the files are."""
    parts = [_first_record(walked), _records(walked), _rules(walked)]
    if walked.optimum is None:
        parts.append(f"No rule satisfies the objective: {walked.search['status']}.")
    parts.append(f"Map of the rules  {map_path}")
    if walked.optimum is not None:
        parts[-1] += f"\nReleased table    {release_path}"
    return "\n\n".join(parts)


def json_report(walked: Walked, map_path: Path, release_path: Path) -> Json:
    """The optimal rule with its risk, utility and counts, the rules it is compared with, times and sizes."""
    optimum = _score_json(walked.optimum) if walked.optimum is not None else None
    return {
        "status": walked.search["status"],
        "optimum": optimum,
        "proposal": _score_json(walked.proposal),
        "as_is": _score_json(walked.as_is),
        "first_record": walked.first_record,
        "counts": {
            key: walked.search.get(key)
            for key in ("ties", "optimal_rules", "visited_nodes", "risk_evaluations", "utility_evaluations")
        },
        "records": {"before": walked.before, "after": walked.after},
        "seconds": {**walked.seconds, "total": sum(walked.seconds.values())},
        "sizes": dict(walked.sizes),
        "files": {"map": str(map_path), "release": None if optimum is None else str(release_path)},
    }


def svg_map(walked: Walked) -> str:
    """The risk–utility map of the rules that the optimisation looked at."""
    points = [
        Point(point["utility"], float(point["risk"]), levels_text(point["levels"]))
        for point in walked.points["points"]
    ]
    return draw_map(
        points,
        _marked(walked.proposal),
        None if walked.optimum is None else _marked(walked.optimum),
        n_rules=walked.points["rules"],
        all_shown=walked.points["rules"] == len(points),
    )


def levels_text(levels: Mapping[str, int]) -> str:
    """``city 1, race 0``: how far each attribute is generalised."""
    return ", ".join(f"{attribute} {level}" for attribute, level in levels.items())


def _marked(score: Score) -> Point:
    found = score.assessment
    label = f"{levels_text(score.levels)}; highest single loss {number_text(found['risk_max'])}"
    return Point(found["utility_average"], float(found["risk_average"]), label)


def _score_json(score: Score) -> Json:
    found = score.assessment
    return {
        "rule": {"name": score.name, "levels": dict(score.levels)},
        "risk": found["risk_average"],
        "highest_loss": found["risk_max"],
        "loss_quantiles": found["loss_quantiles"],
        "utility": found["utility_average"],
        "smallest_number_of_consistent_entities": found["min_consistent"],
        "absent_records": found["absent"],
    }


def _first_record(walked: Walked) -> str:
    record = walked.first_record
    values = ", ".join(str(walked.before[0][attribute]) for attribute in walked.as_is.levels)
    return (
        f"The first record as it is ({values}):\n"
        f"  {record['count']} consistent people, sensitivity {float(record['phi']):.6f}, "
        f"loss {float(record['loss']):.6f}, utility {float(record['utility']):g}"
    )


def _records(walked: Walked) -> str:
    if walked.after is None:
        return "Nothing is released."
    columns = list(walked.after[0])
    rows: list[Sequence[str]] = [["", *columns]]
    for before, after in zip(walked.before, walked.after, strict=True):
        rows.append(["before", *(str(before[column] or _MISSING) for column in columns)])
        rows.append(["after", *(after[column] or _MISSING for column in columns)])
    return "Three records before and after the optimal rule:\n" + text_table(rows)


def _rules(walked: Walked) -> str:
    header = ["rule", "levels", "risk", "highest single loss", "utility", "fewest consistent"]
    rows: list[Sequence[str]] = [header]
    for name, score in (("as is", walked.as_is), ("proposed", walked.proposal), ("optimal", walked.optimum)):
        if score is not None:
            found = score.assessment
            rows.append(
                [
                    name,
                    levels_text(score.levels),
                    number_text(found["risk_average"]),
                    number_text(found["risk_max"]),
                    number_text(found["utility_average"]),
                    str(found["min_consistent"]),
                ]
            )
    return (
        "Risk is the mean expected harm per record, in the unit that the weights define; utility the mean\n"
        "sum of depths; fewest consistent the least number of consistent entities of a released record:\n"
        + text_table(rows)
    )
