"""What pages say of a release, in sentences."""

from __future__ import annotations

import pytest

from app.web.release_words import columns_of, sentences, shown_of


@pytest.mark.parametrize(
    ("level", "examples", "said"),
    [
        (0, [], "as it is"),
        (4, [], "not at all"),
        (2, [], "generalised to level 2 of 4"),
        (2, [("40223", "40"), ("04109", "04")], "by its first 2 digits, such as 40 for 40223"),
        (3, [("40223", "4")], "by its first digit, such as 4 for 40223"),
        (2, [("40223", "40"), ("04109", "0")], "generalised to level 2 of 4, such as 40 for 40223"),
        (2, [("2023-01-27", "2023")], "generalised to level 2 of 4, such as 2023 for 2023-01-27"),
        (1, [("Munich", "Bavaria")], "generalised to level 1 of 4, such as Bavaria for Munich"),
    ],
)
def test_a_column_is_told_by_what_is_shown_of_it(level, examples, said):
    assert shown_of(level, 4, examples) == said


DATASET = {
    "attributes": [
        {"name": "zip", "role": "quasi_identifier", "height": 4},
        {"name": "sex", "role": "quasi_identifier", "height": 1},
        {"name": "born", "role": "quasi_identifier", "height": 3},
        {"name": "cost", "role": "sensitive", "height": 1},
        {"name": "name", "role": "identifier", "height": 0},
    ]
}


def told(smallest: int | None, suppressed: int, result=None) -> list[str]:
    columns = columns_of(DATASET, {"zip": 2, "born": 3}, {"zip": 0.5}, {"zip": [("40223", "40")]})
    return list(sentences(columns, 5000, smallest, suppressed, result))


def test_a_release_is_told_in_sentences():
    attained = {
        "privacy": [
            {"criterion": {"kind": "k_anonymity", "k": 5}, "attained": 5},
            {"criterion": {"kind": "distinct_l_diversity", "l": 3, "attribute": "cost"}, "attained": 4},
            {"criterion": {"kind": "t_closeness", "t": 0.3, "attribute": "cost"}, "attained": 0.25},
        ]
    }
    assert told(5, 60, attained) == [
        "Every record that is shown shares its released quasi-identifier values with at least 4 others.",
        "60 of 5,000 records are suppressed (1.2 %).",
        "cost has at least 4 different values in every equivalence class (3 were asked for).",
        "In every equivalence class cost is at most 0.25 from the whole table (0.3 was asked for).",
        "zip is shown by its first 2 digits, such as 40 for 40223.",
        "sex and cost are shown as they are.",
        "born is not shown at all.",
    ]


def test_who_stands_alone_and_who_is_left_is_not_glossed_over():
    assert told(1, 0)[0] == "Some record shares its released quasi-identifier values with nobody else's."
    assert told(2, 0)[0] == (
        "Every record shares its released quasi-identifier values with at least 1 other."
    )
    assert told(None, 5000) == ["All records are suppressed: nothing is left to release."]
    assert told(2, 0)[1] == "None of the 5,000 records is suppressed."
