"""What is said first of a dataset: what a row is, who said so, and what speaks against it."""

from __future__ import annotations

import pytest

from privacy_risk.arguments import InvalidArgument
from privacy_risk.columns import Said, decided
from privacy_risk.persons import rows_note, rows_told

UNSAID = {"name": "visits", "rows": 15, "rows_are": None, "person": None, "persons": None}
SIGNS = {
    "signs": [{"kind": "fixes_others", "columns": ["pid"], "sentence": "Each value of 'pid' fixes 'sex'."}],
    "person": "pid",
    "persons": 8,
}
NONE = {"signs": [], "person": None, "persons": None}


class Datasets:
    """The client's datasets, of which one profile is known."""

    def __init__(self, profile):
        self.datasets, self._profile = self, profile

    def profile(self, ref, limit):
        return self._profile


@pytest.mark.parametrize(
    ("said", "signs", "told"),
    [
        ({}, NONE, "assumed, nobody said so (ways)."),
        ({"rows_are": "persons"}, NONE, "Each row counts as one person, as was said."),
        ({"person": "pid", "persons": 8}, NONE, "by the column pid: 8 have 15 rows."),
        ({}, SIGNS, "By 'pid' there are 8 persons. Each row is counted as one; to say what it is: ways."),
        ({}, {**SIGNS, "person": None}, "fixes 'sex'. Each row is counted as one"),
    ],
)
def test_the_first_line_says_which_of_the_three_holds(said, signs, told):
    assert told in rows_told({**UNSAID, **said}, {"person_signs": signs}, "ways")


@pytest.mark.parametrize(("person", "ways"), [("pid", "--person pid"), (None, "--person COLUMN")])
def test_a_doubt_is_refused_with_both_ways_on_where_a_number_would_rest_on_it(person, ways):
    client = Datasets({"person_signs": {**SIGNS, "person": person}})
    with pytest.raises(InvalidArgument) as raised:
        rows_note(client, UNSAID, is_doubt_refused=True)
    assert SIGNS["signs"][0]["sentence"] in raised.value.fault
    assert ways in raised.value.remedy
    assert "--rows-are persons" in raised.value.remedy
    assert rows_note(client, UNSAID, is_doubt_refused=False).startswith(
        "One person seems to have several rows"
    )


def test_a_column_of_persons_is_said_and_never_taken_from_a_proposal():
    proposal = [{"name": name, "type": "text", "role": "person", "reason": "so"} for name in ("a", "b")]
    assert [own.role for own in decided(Said(), proposal)] == ["other", "other"]
    assert [own.role for own in decided(Said(person="b"), proposal)] == ["other", "person"]
    with pytest.raises(InvalidArgument, match="person: 'b' is person here and sensitive elsewhere"):
        Said(sensitive=["b"], person="b").by_column(["a", "b"])
