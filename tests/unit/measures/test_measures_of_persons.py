"""What becomes of each measure and criterion where a person may have several records: one table."""

from __future__ import annotations

from pathlib import Path

from app.domain.analyses.catalogue import MEASURES
from app.domain.models.criteria import CRITERIA
from app.domain.models.criterion import BY_ROWS, COUNTS_PERSONS

PAGE = Path(__file__).parents[3] / "docs" / "privacy-models.md"
HEADING = "| Name | Measure | Criterion of gates and rules | Searches |\n|---|---|---|---|\n"
SEARCHED = {
    None: "refused",
    "none": "without bounds",
    "passes_stay": "with bounds",
    "fewer_fail": "with bounds",
}


def lines():
    """One row per measure and criterion, those of one name together."""
    measures = {own.name: own for own in MEASURES}
    criteria = {own.kind: own for own in CRITERIA}
    for name in dict.fromkeys([*measures, *criteria]):
        measure = measures[name].by_persons if name in measures else "–"
        criterion, searches = "–", "–"
        if name in criteria:
            criterion, searches = criteria[name].by_persons, SEARCHED[criteria[name].merging_by_persons]
        yield f"| `{name}` | {measure} | {criterion} | {searches} |\n"


def test_the_page_says_of_each_what_the_catalogue_says():
    expected = HEADING + "".join(lines())
    assert expected in PAGE.read_text(encoding="utf-8"), f"the table should be:\n{expected}"


def test_each_counts_persons_or_reads_rows_or_is_refused_with_a_reason():
    for entry in (*MEASURES, *CRITERIA):
        kind, _, reason = entry.by_persons.partition(": ")
        assert entry.by_persons in (COUNTS_PERSONS, BY_ROWS) or (kind == "refused" and reason), entry
    for criterion in CRITERIA:
        assert criterion.merging_by_persons is None or criterion.by_persons == COUNTS_PERSONS
